/* SPDX-License-Identifier: Apache-2.0
 *
 * Launches that C carries while a trace is written, or while checks are on. C notes what each
 * call and each launch was; Python reads the notes later, many at once
 * (fpgart/bridge/watched.py). Until then the launch holds its queue, kernel and buffers, so that
 * their handles stay valid. */
#define _GNU_SOURCE
#include "watched.h"

#include "arguments.h"
#include "boards.h"
#include "callers.h"
#include "clock.h"
#include "handles.h"
#include "held.h"
#include "interpreter.h"
#include "permissions.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_LEFT = 1 << 16, FACTS = 7 };

static atomic_int describes_calls; /* 1: launches are described when they are enqueued */
static uintptr_t around_launches;
static atomic_ullong numbers;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;      /* guards the lists */
static struct fpgart_launch *called, **last_called = &called; /* whose calls Python has to read */
static struct fpgart_launch *ended, **last_ended = &ended;    /* whose ends Python has to read */
static _Atomic uint32_t left;
static _Thread_local uint64_t last_number;

void fpgart_watch_launches(int how, uintptr_t around)
{
    around_launches = around;
    if (how != FPGART_UNWATCHED)
        atomic_store(&describes_calls, (how & FPGART_CHECKED) != 0);
    fpgart_note_launches(how);
}

/* Python has to write what is left, and a host in Python has frames that C does not see. */
int fpgart_may_watch_launch(void)
{
    return fpgart_watches_launches() && atomic_load(&left) < MOST_LEFT && !fpgart_is_guest();
}

uint64_t fpgart_number_command(void)
{
    return atomic_fetch_add(&numbers, 1) + 1;
}

uint64_t fpgart_last_launch(void)
{
    return last_number;
}

uint64_t fpgart_call_begins(void)
{
    return fpgart_watches_launches() ? now_ns() : 0;
}

/* All that distinguishes a launch from another one when it is enqueued, but for its number. */
static void describe(struct fpgart_launch *launch, const struct held *held,
                     const struct carried *carried)
{
    launch->carried = (uintptr_t)carried;
    launch->buffers = held->buffers;
    launch->uses = held->uses;
    const uint64_t facts[FACTS] = {held->queue,       fpgart_handle_serial(held->queue),
                                   held->kernel,      fpgart_handle_serial(held->kernel),
                                   held->type,        carried->dimensions,
                                   carried->has_local};
    uint64_t *key = memcpy(launch + 1, facts, sizeof facts);
    key = memcpy(key + FACTS, carried->sizes, sizeof carried->sizes);
    key += sizeof carried->sizes / sizeof *key;
    for (uint32_t i = 0; i < held->buffers; i++)
        *key++ = fpgart_handle_serial(held->uses[i].buffer);
    launch->key = (uintptr_t)(launch + 1);
    memcpy((char *)launch->key + launch->key_size - launch->arguments, carried->more,
           launch->arguments);
}

/* Prepares what is checked around the kernel. C runs it only if its buffers are still in their
 * places: fpgart_renews() refuses others. */
static void check(struct fpgart_launch *launch, struct checked *checked, const struct held *held,
                  struct carried *carried)
{
    const char *call = held->type == CL_COMMAND_TASK ? "clEnqueueTask" : "clEnqueueNDRangeKernel";
    snprintf(checked->words, sizeof checked->words, "%s ('%s') in queue %u", call,
             fpgart_name_of(fpgart_arguments_of(held->kernel)),
             fpgart_carried_queue(held->queue)->number);
    _Static_assert(sizeof checked->frames == sizeof launch->frames, "as many frames");
    memcpy(checked->frames, launch->frames, sizeof checked->frames);
    checked->frame_count = launch->frame_count;
    checked->count = held->buffers;
    for (uint32_t i = 0; i < held->buffers; i++) {
        uintptr_t owner = fpgart_owner_of(held->uses[i].buffer);
        uintptr_t begin = fpgart_place_of(owner)->address;
        checked->blocks[i] =
            (struct marked){.begin = begin, .end = begin + fpgart_region_of(owner)->size};
    }
    launch->checked = (uintptr_t)checked;
    carried->checked = checked;
    carried->around = (void (*)(struct checked *, int))around_launches;
}

struct fpgart_launch *fpgart_launch_new(const struct held *held, struct carried *carried,
                                        uint64_t begin, size_t arguments, int in_python)
{
    int is_checked = atomic_load(&describes_calls);
    size_t key = (FACTS + held->buffers) * sizeof(uint64_t) + sizeof carried->sizes + arguments;
    size_t room = (key + 15) / 16 * 16, more = 0;
    if (is_checked && around_launches != 0)
        more = sizeof(struct checked) + held->buffers * sizeof(struct marked);
    struct fpgart_launch *made = calloc(1, sizeof *made + room + more);
    if (made == NULL)
        return NULL;
    made->key_size = key;
    made->number = last_number = fpgart_number_command();
    made->begin = begin;
    made->type = held->type;
    made->thread = (uint32_t)gettid();
    made->is_served = in_python != 0;
    made->is_called = in_python && !is_checked;
    made->queue = held->queue;
    made->kernel = held->kernel;
    made->frame_count = (uint32_t)fpgart_frames_of_call(
        made->frames, sizeof made->frames / sizeof made->frames[0], in_python);
    made->arguments = arguments;
    if (more != 0)
        check(made, (struct checked *)((char *)(made + 1) + room), held, carried);
    return made;
}

enum { BY_PLACE, BY_KEY, BY_END };

/* Returns 1 if two launches have the same place, and, as `how` says, the same key and end. */
static int are_alike(const struct fpgart_launch *one, const struct fpgart_launch *other, int how)
{
    if (one->type != other->type || one->thread != other->thread ||
        one->frame_count != other->frame_count ||
        memcmp(one->frames, other->frames, sizeof one->frames) != 0)
        return 0;
    if (how == BY_END && (one->status != other->status || one->has_run != other->has_run ||
                          one->wrote_beside != other->wrote_beside))
        return 0;
    return how == BY_PLACE ||
           (one->key_size == other->key_size &&
            memcmp((const void *)one->key, (const void *)other->key, one->key_size) == 0);
}

/* Appends a launch to those that Python reads; returns the first of those like it. */
static uint32_t append(struct fpgart_launch **found, uint32_t count, uint32_t first,
                       struct fpgart_launch *launch, int how)
{
    found[count] = launch;
    if (count == 0 || !are_alike(found[first], launch, how))
        first = count;
    launch->alike = 0;
    found[first]->alike++;
    return first;
}

/* Adds a launch to the calls that Python has to read, and to those of its queue in order that have
 * not ended. The lock is held, as for has_ended(). */
static void note(struct fpgart_launch *launch)
{
    struct fpgart_carried_queue *queue = fpgart_carried_queue(launch->queue);
    launch->is_noted = 1;
    if (!launch->is_called) {
        *last_called = launch;
        last_called = &launch->next_called;
    }
    if ((queue->properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) != 0)
        return;
    if (queue->newest != NULL) {
        queue->newest->successor = launch;
        launch->is_behind = 1;
    }
    queue->newest = launch;
}

/* Lets Python read the end of a launch, if it is over, and of those that waited for it: threads
 * learn of ends in another order than that of a queue. */
static void has_ended(struct fpgart_launch *launch)
{
    while (launch != NULL && launch->is_noted && launch->is_over && !launch->is_behind) {
        struct fpgart_carried_queue *queue = fpgart_carried_queue(launch->queue);
        if (queue->newest == launch)
            queue->newest = NULL;
        *last_ended = launch;
        last_ended = &launch->next_ended;
        launch = launch->successor;
        if (launch != NULL)
            launch->is_behind = 0;
    }
}

void fpgart_launch_called(struct fpgart_launch *launch, struct core_command *command,
                          const struct held *held)
{
    core_retain(command);
    launch->command = command;
    launch->duration = now_ns() - launch->begin; /* nobody may watch any more */
    if (atomic_load(&describes_calls))
        describe(launch, held, core_operation(command));
    pthread_mutex_lock(&lock);
    note(launch);
    has_ended(launch);
    atomic_fetch_add(&left, 1);
    pthread_mutex_unlock(&lock);
}

void fpgart_launch_over(const struct carried *carried, const struct held *held, int32_t status)
{
    struct fpgart_launch *launch = held->watched;
    launch->status = status;
    launch->has_run = carried->is_begun && !held->handed_over;
    if (carried->checked != NULL)
        launch->wrote_beside = carried->checked->found;
    if (!atomic_load(&describes_calls))
        describe(launch, held, carried);
    pthread_mutex_lock(&lock);
    launch->is_over = 1;
    has_ended(launch);
    pthread_mutex_unlock(&lock);
}

struct fpgart_launch *fpgart_launch_of(struct core_command *command)
{
    return fpgart_held_by(core_operation(command))->watched;
}

uint32_t fpgart_launches_left(void)
{
    return atomic_load(&left);
}

/* One thread at a time calls the following functions. */
uint32_t fpgart_take_calls(uint32_t most, struct fpgart_launch **found)
{
    uint32_t count = 0, first = 0;
    int how = atomic_load(&describes_calls) ? BY_KEY : BY_PLACE;
    pthread_mutex_lock(&lock);
    for (; called != NULL && count < most; called = called->next_called) {
        called->is_called = 1;
        first = append(found, count++, first, called, how);
    }
    if (called == NULL)
        last_called = &called;
    pthread_mutex_unlock(&lock);
    return count;
}

/* Finds launches in the order of their ends. */
uint32_t fpgart_take_launches(uint32_t most, struct fpgart_launch **found)
{
    uint32_t count = 0, first = 0;
    pthread_mutex_lock(&lock);
    for (; ended != NULL && ended->is_called && count < most; ended = ended->next_ended)
        first = append(found, count++, first, ended, BY_END);
    if (ended == NULL)
        last_ended = &ended;
    pthread_mutex_unlock(&lock);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t times[4];
        core_times(found[i]->command, times);
        found[i]->start = times[CL_RUNNING];
        found[i]->end = times[CL_COMPLETE];
    }
    return count;
}

/* The thread that reads has a lock. */
void fpgart_launches_written(uint32_t count, struct fpgart_launch **launches)
{
    for (uint32_t i = 0; i < count; i++) {
        fpgart_let_go_later(fpgart_held_by(core_operation(launches[i]->command)));
        core_release(launches[i]->command);
        free(launches[i]);
    }
    atomic_fetch_sub(&left, count);
}
