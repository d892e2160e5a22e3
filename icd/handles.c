/* SPDX-License-Identifier: Apache-2.0
 *
 * Handles live in one reserved stretch of address space, in slots of equal size. So a pointer from
 * the host can be judged by arithmetic alone, before anything is read through it. Freed slots wait
 * in a queue before they are used again: a stale handle stays recognisable for long. */
#include "icd.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>

struct handle {
    const struct _cl_icd_dispatch *dispatch; /* first, as cl_khr_icd asks */
    atomic_int kind;
    /* The host's below CHILD; the events that end with this one, and who holds it for a while,
     * CHILD each; the driver's own are Python references. */
    _Atomic uint64_t references;
    uint64_t serial;
    size_t next_free;
    atomic_int birth; /* enum birth; of an event */
    uintptr_t parent; /* of a LATE one: the event that it ends with */
    uint64_t record;  /* of an UNBORN one: where its launch is recorded, and as which */
    uint32_t number;
    fpgart_answers answers;
    fpgart_arguments_slot arguments; /* of a kernel */
    fpgart_recorder_slot recorder;   /* of a queue, or of one that was here before */
    fpgart_loan_slot loan;           /* the same */
};

/* Whether Python has the event: it does; its launch is recorded, and Python knows nothing of it; it
 * has its parent, and makes this one when it is asked for; the host has released it before. */
enum birth { BORN, UNBORN, LATE, NEVER_BORN };

#define CHILD (UINT64_C(1) << 32)

#define ARENA_SLOTS ((size_t)1 << 23)
#define QUARANTINE ((size_t)1 << 12) /* freed slots that wait before the oldest is used again */
#define NONE ((size_t)-1)

static struct handle *arena;
static size_t used_slots;
static size_t free_head = NONE, free_tail = NONE, free_count;
static uint64_t last_serial;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct handle *find(uintptr_t address)
{
    uintptr_t base = (uintptr_t)arena;
    if (base == 0 || address < base || address >= base + ARENA_SLOTS * sizeof(struct handle))
        return NULL;
    if ((address - base) % sizeof(struct handle) != 0)
        return NULL;
    return (struct handle *)address;
}

int fpgart_is_handle(uintptr_t address)
{
    return find(address) != NULL;
}

static struct handle *take_slot(void)
{
    if (arena == NULL) {
        void *memory = mmap(NULL, ARENA_SLOTS * sizeof(struct handle), PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED)
            return NULL;
        arena = memory;
    }
    if (free_count > QUARANTINE || (used_slots == ARENA_SLOTS && free_count > 0)) {
        struct handle *slot = &arena[free_head];
        free_head = slot->next_free;
        free_count--;
        return slot;
    }
    return used_slots < ARENA_SLOTS ? &arena[used_slots++] : NULL;
}

uintptr_t fpgart_handle_new(int kind, uint32_t references)
{
    pthread_mutex_lock(&lock);
    struct handle *slot = take_slot();
    if (slot != NULL) {
        slot->dispatch = &fpgart_dispatch;
        slot->serial = ++last_serial;
        fpgart_forget(&slot->answers);
        fpgart_arguments_free(&slot->arguments);
        atomic_store(&slot->references, references);
        atomic_store(&slot->birth, BORN);
        atomic_store(&slot->kind, kind);
    }
    pthread_mutex_unlock(&lock);
    return (uintptr_t)slot;
}

void fpgart_handle_free(uintptr_t handle)
{
    struct handle *slot = find(handle);
    int kind = slot != NULL ? atomic_exchange(&slot->kind, FPGART_FREE) : FPGART_FREE;
    if (kind == FPGART_FREE)
        return;
    fpgart_recorder_free(&slot->recorder);
    if (kind == FPGART_CONTEXT)
        fpgart_allocations_go(slot->serial);
    pthread_mutex_lock(&lock);
    size_t index = (size_t)(slot - arena);
    atomic_store(&slot->references, 0);
    slot->next_free = NONE;
    if (free_count == 0)
        free_head = index;
    else
        arena[free_tail].next_free = index;
    free_tail = index;
    free_count++;
    pthread_mutex_unlock(&lock);
}

int fpgart_handle_kind(uintptr_t handle)
{
    struct handle *slot = find(handle);
    return slot == NULL ? FPGART_FREE : atomic_load(&slot->kind);
}

uint32_t fpgart_handle_references(uintptr_t handle)
{
    struct handle *slot = find(handle);
    return slot == NULL ? 0 : (uint32_t)atomic_load(&slot->references);
}

fpgart_answers *fpgart_answers_of(uintptr_t handle, int kind)
{
    struct handle *slot = find(handle);
    return slot != NULL && atomic_load(&slot->kind) == kind ? &slot->answers : NULL;
}

fpgart_arguments_slot *fpgart_arguments_of(uintptr_t kernel)
{
    struct handle *slot = find(kernel);
    return slot != NULL && atomic_load(&slot->kind) == FPGART_KERNEL ? &slot->arguments : NULL;
}

fpgart_recorder_slot *fpgart_recorder_of(uintptr_t queue)
{
    struct handle *slot = find(queue);
    return slot != NULL && atomic_load(&slot->kind) == FPGART_QUEUE ? &slot->recorder : NULL;
}

fpgart_loan_slot *fpgart_loan_of(uintptr_t queue)
{
    struct handle *slot = find(queue);
    return slot != NULL && atomic_load(&slot->kind) == FPGART_QUEUE ? &slot->loan : NULL;
}

/* Whether the host holds it, or an event that ends with it. */
int fpgart_handle_is_held(uintptr_t handle)
{
    struct handle *slot = find(handle);
    return slot != NULL && atomic_load(&slot->references) != 0;
}

uintptr_t fpgart_event_unborn(uint64_t record, uint32_t number)
{
    uintptr_t event = fpgart_handle_new(FPGART_EVENT, 1);
    if (event != 0) {
        find(event)->record = record;
        find(event)->number = number;
        atomic_store(&find(event)->birth, UNBORN);
    }
    return event;
}

int fpgart_event_is_of(uintptr_t event, uint64_t record, uint32_t *number)
{
    struct handle *slot = find(event);
    if (slot == NULL || atomic_load(&slot->kind) != FPGART_EVENT ||
        atomic_load(&slot->birth) != UNBORN || slot->record != record)
        return 0;
    *number = slot->number;
    return 1;
}

uint64_t fpgart_event_record(uintptr_t event)
{
    return find(event)->record;
}

int fpgart_event_is_unborn(uintptr_t event)
{
    return atomic_load(&find(event)->birth) == UNBORN;
}

/* Python has the event from now on; or the host has released it, and its handle is free. */
int fpgart_event_born(uintptr_t event)
{
    int expected = UNBORN;
    if (atomic_compare_exchange_strong(&find(event)->birth, &expected, BORN))
        return 1;
    fpgart_handle_free(event);
    return 0;
}

int fpgart_event_late(uintptr_t event, uintptr_t parent)
{
    struct handle *slot = find(event);
    int expected = UNBORN;
    slot->parent = parent;
    atomic_fetch_add(&find(parent)->references, CHILD);
    if (atomic_compare_exchange_strong(&slot->birth, &expected, LATE))
        return 1;
    atomic_fetch_sub(&find(parent)->references, CHILD);
    fpgart_handle_free(event);
    return 0;
}

/* Until fpgart_unhold(). */
void fpgart_keep_parent(uintptr_t parent)
{
    atomic_fetch_add(&find(parent)->references, CHILD);
}

uintptr_t fpgart_event_parent(uintptr_t event)
{
    struct handle *slot = find(event);
    return slot != NULL && atomic_load(&slot->kind) == FPGART_EVENT &&
                   atomic_load(&slot->birth) == LATE
               ? slot->parent
               : 0;
}

/* A late event's parent, which stays until fpgart_unhold_parent(); 0 if there is none. The host
 * holds the event only: another thread may have it made meanwhile, and its parent is free then. */
uintptr_t fpgart_hold_parent(uintptr_t event)
{
    uintptr_t parent = fpgart_event_parent(event);
    if (parent == 0)
        return 0;
    struct handle *slot = find(parent);
    uint64_t references = atomic_load(&slot->references);
    do {
        if (references == 0)
            return 0;
    } while (!atomic_compare_exchange_weak(&slot->references, &references, references + CHILD));
    if (fpgart_event_parent(event) == parent) /* so it has been all the while */
        return parent;
    fpgart_unhold_parent(parent);
    return 0;
}

/* The first late event behind that handle, or behind none; 0 if there are no more. */
uintptr_t fpgart_next_late(uintptr_t event)
{
    pthread_mutex_lock(&lock);
    size_t slots = used_slots;
    pthread_mutex_unlock(&lock);
    for (size_t i = event != 0 ? (size_t)(find(event) - arena) + 1 : 0; i < slots; i++)
        if (fpgart_event_parent((uintptr_t)&arena[i]) != 0)
            return (uintptr_t)&arena[i];
    return 0;
}

int fpgart_event_bear(uintptr_t event)
{
    int expected = LATE;
    return atomic_compare_exchange_strong(&find(event)->birth, &expected, BORN);
}

/* Whether that was the last one who held it. */
int fpgart_event_loses_child(uintptr_t parent)
{
    return atomic_fetch_sub(&find(parent)->references, CHILD) == CHILD;
}

static int dies_unborn(struct handle *slot)
{
    int expected = UNBORN;
    return atomic_compare_exchange_strong(&slot->birth, &expected, NEVER_BORN);
}

uint64_t fpgart_handle_serial(uintptr_t handle)
{
    struct handle *slot = find(handle);
    return slot == NULL ? 0 : slot->serial;
}

/* Last references that were given back by threads without the interpreter's lock, in a host written
 * in Python. Taking that lock there would hang the hosts that release under a lock of their own,
 * for which a thread of theirs waits that holds the interpreter's. So the next call into Python
 * sees to them, or a thread of ours. */
struct release {
    uintptr_t handle;
    uint64_t serial; /* what it stood for: another thread may have seen to that by then */
};
static struct release *released;
static size_t released_count, released_room, released_first;
static atomic_size_t unfinished; /* not seen to yet, or just being seen to */
static int reaper_runs;
static pthread_mutex_t released_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t released_more = PTHREAD_COND_INITIALIZER;

static void *reap(void *nothing)
{
    (void)nothing;
    for (;;) {
        pthread_mutex_lock(&released_lock);
        while (released_first == released_count)
            pthread_cond_wait(&released_more, &released_lock);
        pthread_mutex_unlock(&released_lock);
        struct fpgart_visit visit;
        if (!fpgart_enter(&visit))
            return NULL;
        fpgart_leave(&visit); /* entering has seen to them */
    }
}

static int start_reaper(void)
{
    pthread_t thread;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* the host's signals are for its own threads */
    int status = pthread_create(&thread, NULL, reap, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return status == 0 && pthread_detach(thread) == 0;
}

/* Memory objects and contexts have destructor callbacks, which hosts expect before the call
 * returns. */
static int nobody_watches(int kind)
{
    return kind != FPGART_MEM && kind != FPGART_CONTEXT;
}

/* `wakes`: nobody else is about to call into Python. */
static int release_later(uintptr_t handle, int wakes)
{
    int taken = 0;
    pthread_mutex_lock(&released_lock);
    if (released_count == released_room) {
        size_t room = released_room == 0 ? 64 : 2 * released_room;
        struct release *larger = realloc(released, room * sizeof *released);
        if (larger != NULL) {
            released = larger;
            released_room = room;
        }
    }
    if (!reaper_runs)
        reaper_runs = start_reaper();
    if (reaper_runs && released_count < released_room) {
        released[released_count++] = (struct release){handle, find(handle)->serial};
        atomic_fetch_add(&unfinished, 1);
        if (wakes || !fpgart_any_launches())
            pthread_cond_signal(&released_more);
        taken = 1;
    }
    pthread_mutex_unlock(&released_lock);
    return taken;
}

void fpgart_wake_reaper(void)
{
    pthread_mutex_lock(&released_lock);
    if (released_first < released_count)
        pthread_cond_signal(&released_more);
    pthread_mutex_unlock(&released_lock);
}

int fpgart_any_released(void)
{
    return atomic_load(&unfinished) != 0;
}

uintptr_t fpgart_next_released(void)
{
    uintptr_t handle = 0;
    pthread_mutex_lock(&released_lock);
    while (handle == 0 && released_first < released_count) {
        const struct release *next = &released[released_first++];
        if (find(next->handle)->serial == next->serial)
            handle = next->handle;
        else
            atomic_fetch_sub(&unfinished, 1);
    }
    if (released_first == released_count)
        released_first = released_count = 0;
    pthread_mutex_unlock(&released_lock);
    return handle;
}

void fpgart_released_done(void)
{
    atomic_fetch_sub(&unfinished, 1);
}

cl_int fpgart_retain(const void *handle, int kind, cl_int invalid)
{
    if (fpgart_state == FPGART_FORKED)
        return CL_OUT_OF_RESOURCES;
    struct handle *slot = find((uintptr_t)handle);
    if (slot == NULL || atomic_load(&slot->kind) != kind)
        return invalid;
    struct fpgart_visit visit;
    if (atomic_fetch_add(&slot->references, 1) == 0 && fpgart_running() && fpgart_enter(&visit)) {
        fpgart_host_retained((uintptr_t)handle);
        fpgart_leave(&visit);
    }
    return CL_SUCCESS;
}

/* The last one who held it has let go: Python lets go, too. */
static void let_go(uintptr_t handle, int kind)
{
    struct fpgart_visit visit;
    if (!fpgart_running())
        return;
    if (nobody_watches(kind) && fpgart_is_guest() && !fpgart_holds_interpreter() &&
        release_later(handle, 1))
        return;
    /* Launches that recur stay a row; whoever takes them in sees to the event. */
    if (kind == FPGART_EVENT && fpgart_any_launches() && !fpgart_watched() &&
        release_later(handle, 0))
        return;
    if (fpgart_enter(&visit)) {
        if (kind == FPGART_EVENT)
            fpgart_uncount_call();
        fpgart_host_released(handle);
        fpgart_leave(&visit);
    }
}

int fpgart_hold(uintptr_t handle, int kind, uint64_t serial)
{
    struct handle *slot = find(handle);
    if (slot == NULL || atomic_load(&slot->kind) != kind || slot->serial != serial)
        return 0;
    uint64_t references = atomic_load(&slot->references);
    do {
        if (references % CHILD == 0)
            return 0;
    } while (!atomic_compare_exchange_weak(&slot->references, &references, references + CHILD));
    if (atomic_load(&slot->kind) == kind && slot->serial == serial)
        return 1;
    /* It has gone, and something else has its slot. */
    fpgart_unhold(handle, atomic_load(&slot->kind));
    return 0;
}

void fpgart_unhold(uintptr_t handle, int kind)
{
    if (atomic_fetch_sub(&find(handle)->references, CHILD) == CHILD)
        let_go(handle, kind);
}

/* The caller may have locks, so Python hears of it later. */
void fpgart_unhold_parent(uintptr_t parent)
{
    if (atomic_fetch_sub(&find(parent)->references, CHILD) == CHILD)
        release_later(parent, 1); /* without memory or a thread for that, one event stays */
}

/* Python has never heard of it, only of its parent. */
static int dies_late(struct handle *slot)
{
    int expected = LATE;
    uintptr_t parent = slot->parent;
    if (!atomic_compare_exchange_strong(&slot->birth, &expected, NEVER_BORN))
        return 0;
    fpgart_handle_free((uintptr_t)slot);
    if (fpgart_event_loses_child(parent))
        let_go(parent, FPGART_EVENT);
    return 1;
}

cl_int fpgart_release(const void *handle, int kind, cl_int invalid)
{
    if (fpgart_state == FPGART_FORKED)
        return CL_OUT_OF_RESOURCES;
    struct handle *slot = find((uintptr_t)handle);
    if (slot == NULL || atomic_load(&slot->kind) != kind)
        return invalid;
    uint64_t references = atomic_load(&slot->references);
    do {
        if (references % CHILD == 0)
            return invalid;
    } while (!atomic_compare_exchange_weak(&slot->references, &references, references - 1));
    if (references == 1 && !dies_unborn(slot) && !dies_late(slot))
        let_go((uintptr_t)handle, kind);
    return CL_SUCCESS;
}

const char fpgart_loss[] = "no platform";

void fpgart_entered(void)
{
    fpgart_count_call();
    if (fpgart_any_launches())
        fpgart_take_in();
    if (fpgart_any_released())
        fpgart_reap();
}

int fpgart_all_ended(cl_uint count, const cl_event *events)
{
    for (cl_uint i = 0; i < count; i++)
        if (events == NULL || fpgart_handle_kind((uintptr_t)events[i]) != FPGART_EVENT)
            return 0;
    return fpgart_settled() && fpgart_ending();
}
