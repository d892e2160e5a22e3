/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "lanes.h"

#include "calls.h"
#include "clock.h"
#include "futex.h"
#include "interrupts.h"
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SPINS = 500, /* looks at a word before a thread sleeps: some ten microseconds */
    MANY_PROCESSORS = 8,
    LOOK_EVERY = 50,  /* milliseconds between two checks that the other side exists */
    SIZES_BYTES = 72, /* offset, global and local size */
};

/* `request` and `answered` count requests; if they differ, one is under way. */
struct lane {
    _Atomic uint32_t request;
    _Atomic uint32_t answered;
    _Atomic uint32_t host_sleeps;
    _Atomic uint32_t board_sleeps;
    uint32_t kind;
    uint32_t kernel;
    uint32_t image_bytes;
    uint32_t dimensions;
    uint32_t has_local;
    int64_t result;
    char sizes[SIZES_BYTES];
    char image[LANE_ROOM];
};
_Static_assert(sizeof(struct lane) <= LANE_BYTES, "a lane has room for what is in it");

static void relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* On few processors, a spinning thread delays the thread that it waits for: on two, an empty
 * launch took 8 us more with 500 spins than without, and 200 us more with 4000. */
static int spins(void)
{
    static _Atomic int known = -1;
    if (known < 0) {
        cpu_set_t processors;
        bool many = sched_getaffinity(0, sizeof processors, &processors) == 0 &&
                    CPU_COUNT(&processors) >= MANY_PROCESSORS;
        known = many ? SPINS : 0;
    }
    return known;
}

/* True if the word changes from `seen` while the thread spins. */
static bool changes_soon(_Atomic uint32_t *word, uint32_t seen)
{
    for (int i = spins(); i > 0; i--) {
        if (atomic_load_explicit(word, memory_order_acquire) != seen)
            return true;
        relax();
    }
    return atomic_load_explicit(word, memory_order_acquire) != seen;
}

static void set_and_wake(_Atomic uint32_t *word, uint32_t value, _Atomic uint32_t *sleeps)
{
    atomic_store(word, value);
    if (atomic_load(sleeps))
        futex_wake(word);
}

/* The host's side */

static void post(struct lane *lane, enum lane_request kind)
{
    lane->kind = kind;
    set_and_wake(&lane->request, atomic_load(&lane->request) + 1, &lane->board_sleeps);
}

void lane_announce(uintptr_t address)
{
    post((struct lane *)address, LANE_MESSAGE);
}

void lane_launch(uintptr_t address, uint32_t kernel, const char *image, uint32_t image_bytes,
                 uint32_t dimensions, const char *sizes, int has_local)
{
    struct lane *lane = (struct lane *)address;
    lane->kernel = kernel;
    lane->image_bytes = image_bytes;
    lane->dimensions = dimensions;
    lane->has_local = has_local != 0;
    memcpy(lane->sizes, sizes, SIZES_BYTES);
    memcpy(lane->image, image, image_bytes);
    post(lane, LANE_LAUNCH);
}

int lane_is_lost(int descriptor)
{
    struct pollfd life = {.fd = descriptor, .events = POLLIN};
    return poll(&life, 1, 0) > 0;
}

int lane_wait(uintptr_t address, int life, uint32_t milliseconds, uint32_t interrupted)
{
    struct lane *lane = (struct lane *)address;
    _Atomic uint32_t *word = &lane->answered;
    uint32_t seen = atomic_load(&lane->request) - 1;
    if (changes_soon(word, seen))
        return LANE_ANSWERED;
    uint64_t end = now_ms() + milliseconds;
    int outcome = LANE_ANSWERED;
    atomic_store(&lane->host_sleeps, 1);
    while (outcome == LANE_ANSWERED && atomic_load(word) == seen) {
        bool signalled = futex_sleep(word, seen, LOOK_EVERY);
        if (atomic_load(word) != seen)
            break;
        if (lane_is_lost(life))
            outcome = LANE_LOST;
        else if (milliseconds > 0 && now_ms() >= end)
            outcome = LANE_LATE;
        else if (signalled || interrupts() != interrupted)
            outcome = LANE_INTERRUPTED;
    }
    atomic_store(&lane->host_sleeps, 0);
    return outcome;
}

int lane_run(uintptr_t lane, uint32_t kernel, const char *image, uint32_t image_bytes,
             uint32_t dimensions, const char *sizes, int has_local, int life, uint32_t milliseconds,
             uint32_t interrupted)
{
    lane_launch(lane, kernel, image, image_bytes, dimensions, sizes, has_local);
    return lane_wait(lane, life, milliseconds, interrupted);
}

int64_t lane_result(uintptr_t lane)
{
    return ((struct lane *)lane)->result;
}

/* The board process's side: kernels by their numbers */

static struct offered *offers;
static uint32_t offers_room = 0;
static pthread_mutex_t offers_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t offers_left = PTHREAD_COND_INITIALIZER;

static bool make_room(void)
{
    uint32_t room = offers_room > 0 ? 2 * offers_room : 64;
    struct offered *made = realloc(offers, room * sizeof *made);
    if (made == NULL)
        return false;
    memset(made + offers_room, 0, (room - offers_room) * sizeof *made);
    offers = made;
    offers_room = room;
    return true;
}

uint32_t lane_offer(uintptr_t kernel, uint32_t arguments)
{
    uint32_t number = 0;
    pthread_mutex_lock(&offers_lock);
    while (number < offers_room && offers[number].kernel != 0)
        number++;
    bool there = number < offers_room || make_room();
    if (there)
        offers[number] = (struct offered){kernel, arguments, 0};
    pthread_mutex_unlock(&offers_lock);
    return there ? number + 1 : 0;
}

void lane_withdraw(uint32_t number)
{
    pthread_mutex_lock(&offers_lock);
    if (number - 1 < offers_room) {
        while (offers[number - 1].running > 0)
            pthread_cond_wait(&offers_left, &offers_lock);
        offers[number - 1].kernel = 0;
    }
    pthread_mutex_unlock(&offers_lock);
}

struct offered offer_take(uint32_t number)
{
    struct offered found = {0, 0, 0};
    pthread_mutex_lock(&offers_lock);
    if (number - 1 < offers_room && offers[number - 1].kernel != 0) {
        offers[number - 1].running++;
        found = offers[number - 1];
    }
    pthread_mutex_unlock(&offers_lock);
    return found;
}

void offer_drop(uint32_t number)
{
    pthread_mutex_lock(&offers_lock);
    if (--offers[number - 1].running == 0)
        pthread_cond_broadcast(&offers_left);
    pthread_mutex_unlock(&offers_lock);
}

/* The board process's side: requests */

static uintptr_t stretch_begin;
static uint64_t stretch_size;

void lane_stretch(uintptr_t begin, uint64_t size)
{
    stretch_begin = begin;
    stretch_size = size;
}

bool is_in_stretch(uint64_t begin, uint64_t size)
{
    return begin >= stretch_begin && size <= stretch_size &&
           begin - stretch_begin <= stretch_size - size;
}

static int64_t refusal(void)
{
    return (int64_t)((uint64_t)(uint32_t)LANE_REFUSED << 32 | 1);
}

int launch_is_whole(const char *image, uint64_t bytes, uint32_t arguments)
{
    if (bytes / sizeof(struct argument) < arguments)
        return 0;
    for (uint32_t i = 0; i < arguments; i++) {
        struct argument each;
        memcpy(&each, image + i * sizeof each, sizeof each);
        if (each.kind > ARGUMENT_NULL ||
            (each.kind == ARGUMENT_BYTES && (each.value > bytes || each.size > bytes - each.value)))
            return 0;
    }
    return 1;
}

void flush_output(void)
{
    fflush(stdout);
}

static int64_t run_one(struct lane *lane, uintptr_t queue)
{
    uint32_t number = lane->kernel, bytes = lane->image_bytes, dimensions = lane->dimensions;
    char sizes[SIZES_BYTES];
    if (bytes > LANE_ROOM)
        return refusal();
    memcpy(sizes, lane->sizes, sizeof sizes);
    struct offered kernel = offer_take(number);
    if (kernel.kernel == 0)
        return refusal();
    char *image = malloc(bytes + 1);
    int64_t result = refusal();
    if (image != NULL)
        memcpy(image, lane->image, bytes);
    if (image != NULL && launch_is_whole(image, bytes, kernel.arguments))
        result = driver_launch(queue, kernel.kernel, kernel.arguments, image, dimensions, sizes,
                               lane->has_local != 0, NULL);
    free(image);
    offer_drop(number);
    flush_output();
    return result;
}

uint32_t lane_await(_Atomic uint32_t *word, uint32_t seen, _Atomic uint32_t *sleeps)
{
    if (!changes_soon(word, seen)) {
        atomic_store(sleeps, 1);
        while (atomic_load(word) == seen)
            futex_sleep(word, seen, 0);
        atomic_store(sleeps, 0);
    }
    return atomic_load(word);
}

void lane_serve(uintptr_t address, uintptr_t queue)
{
    struct lane *lane = (struct lane *)address;
    while (true) {
        uint32_t request =
            lane_await(&lane->request, atomic_load(&lane->answered), &lane->board_sleeps);
        uint32_t kind = lane->kind;
        if (kind == LANE_LAUNCH && queue != 0)
            lane->result = run_one(lane, queue);
        else if (kind != LANE_MESSAGE)
            lane->result = refusal();
        set_and_wake(&lane->answered, request, &lane->host_sleeps);
        if (kind == LANE_MESSAGE)
            break;
    }
}
