/* SPDX-License-Identifier: Apache-2.0
 *
 * Launches that Python has carried out before: the same kernel in the same queue, over the same
 * ND-range, with arguments that decide nothing (arguments.c). Enqueueing such a one again is to
 * record it. Whoever calls into Python next, or the driver's keeper within half a millisecond,
 * takes in what was recorded: it enters its queue before anything else happens
 * (fpgart/api/launches.py).
 *
 * Locks, in their order: a queue's `lock`, the kernel's arguments', `listing`. */
#include "icd.h"

#include "../fpgart/engine/clock.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define MOST_PATIENCE 61
#define MANY                                                                                       \
    64 /* launches that are not to wait for the keeper's next look where nothing may run           \
        */

struct fpgart_recorder {
    pthread_mutex_t lock;
    struct fpgart_launches *filling; /* NULL while nothing is recorded */
    uintptr_t queue;
    uint64_t serial;      /* of the queue */
    struct calls *caller; /* whose launch was the last one that may recur */
    uint64_t calls;       /* how many of its calls Python had seen then */
    int with_events;      /* whether launches that the host wants events of may be recorded */
    int in_rows;          /* the last one that was recorded was not alone */
    uint32_t alone;       /* launches that were not recorded because they were alone */
    uint32_t patience;    /* after how many of them one is: C may run it when it is waited for */
    int is_fresh; /* the host has taken in what was recorded before, and may be idle since */
    struct fpgart_recorder *next;
    int listed; /* whether it is among those with something recorded; `listing` guards it */
};

/* To record a launch is worth while in a row of them only: the next call into Python takes it in.
 */
static _Thread_local struct calls {
    uint64_t count; /* calls of this thread into Python */
    int is_known;   /* whether the launch that it is about recurs, or need not be asked about */
} mine;

static pthread_mutex_t listing = PTHREAD_MUTEX_INITIALIZER;
static struct fpgart_recorder *first, *last;
/* A record for the next launches, so that none is mapped anew in a loop. */
static _Atomic(struct fpgart_launches *) spare;
/* How many recorders are listed, or are being taken in. */
static atomic_size_t waiting;
/* When there was something to take in last where there was nothing. */
static _Atomic uint64_t waiting_since;
/* Not while the process exits. */
static atomic_int records = 1;
/* Whether the keeper looks. */
static atomic_int tended;
/* Requests that were let pass in an earlier epoch are for Python again. */
static _Atomic uint64_t epoch = 1;

void fpgart_recorder_free(fpgart_recorder_slot *slot)
{
    struct fpgart_recorder *recorder = atomic_load(slot);
    if (recorder == NULL)
        return;
    pthread_mutex_lock(&recorder->lock);
    free(recorder->filling);
    recorder->filling = NULL;
    recorder->serial = 0;
    pthread_mutex_unlock(&recorder->lock);
}

/* One for each slot of a handle, once made: whoever had a queue's may still be about to look. */
static struct fpgart_recorder *recorder_for(uintptr_t queue)
{
    fpgart_recorder_slot *slot = fpgart_recorder_of(queue);
    if (slot == NULL)
        return NULL;
    struct fpgart_recorder *recorder = atomic_load(slot), *none = NULL;
    if (recorder == NULL) {
        recorder = calloc(1, sizeof *recorder);
        if (recorder == NULL)
            return NULL;
        pthread_mutex_init(&recorder->lock, NULL);
        if (!atomic_compare_exchange_strong(slot, &none, recorder)) {
            free(recorder);
            recorder = none;
        }
    }
    return recorder;
}

static void describe(struct fpgart_request *request, uintptr_t queue, cl_uint dimensions,
                     const size_t *offset, const size_t *global, const size_t *local)
{
    *request = (struct fpgart_request){.queue = queue,
                                       .serial = fpgart_handle_serial(queue),
                                       .epoch = atomic_load(&epoch),
                                       .dimensions = dimensions,
                                       .has_local = local != NULL};
    for (cl_uint i = 0; i < dimensions; i++) {
        request->offset[i] = offset != NULL ? offset[i] : 0;
        request->global[i] = global[i];
        request->local[i] = local != NULL ? local[i] : 0;
    }
}

void fpgart_let_launch_pass(uintptr_t kernel, uintptr_t queue, cl_uint dimensions,
                            const size_t *offset, const size_t *global, const size_t *local,
                            const struct fpgart_nd_range *nd_range, const char *image,
                            uint32_t size, const uint32_t *locations, int with_events)
{
    struct fpgart_request request;
    struct fpgart_recorder *recorder = recorder_for(queue);
    if (recorder == NULL)
        return;
    describe(&request, queue, dimensions, offset, global, local);
    pthread_mutex_lock(&recorder->lock);
    recorder->queue = queue;
    recorder->serial = request.serial;
    recorder->caller = &mine;
    recorder->calls = mine.count;
    recorder->with_events = with_events;
    pthread_mutex_unlock(&recorder->lock);
    fpgart_keep_request(kernel, &request, nd_range, image, size, locations);
}

void fpgart_withdraw_launches(void)
{
    atomic_fetch_add(&epoch, 1);
}

/* Something is recorded where nothing was: 0 if nobody would look for it. */
static int list(struct fpgart_recorder *recorder)
{
    int added;
    pthread_mutex_lock(&listing);
    added = !recorder->listed;
    if (added) {
        recorder->listed = 1;
        recorder->next = NULL;
        if (first == NULL)
            first = recorder;
        else
            last->next = recorder;
        last = recorder;
        if (atomic_fetch_add(&waiting, 1) == 0)
            atomic_store(&waiting_since, now_ns());
    }
    pthread_mutex_unlock(&listing);
    return !added || atomic_load(&tended);
}

static int has_ended_here(uintptr_t queue, const cl_event *event)
{
    cl_context own, queues;
    return fpgart_knows_ends(1, event) &&
           fpgart_knows(*event, FPGART_EVENT, CL_EVENT_CONTEXT, sizeof own, &own, NULL) &&
           fpgart_knows((void *)queue, FPGART_QUEUE, CL_QUEUE_CONTEXT, sizeof queues, &queues,
                        NULL) &&
           own == queues;
}

/* Events that a recorded launch may wait for: those that have ended, and one of the same record,
 * behind which it comes anyway; but it fails with that. 0 for others. */
static int may_wait_for(const struct fpgart_recorder *recorder, cl_uint count,
                        const cl_event *events, uint32_t *after)
{
    uint64_t record = recorder->filling != NULL ? recorder->filling->number : 0;
    *after = 0;
    for (cl_uint i = 0; i < count; i++) {
        uint32_t number;
        if (record != 0 && fpgart_event_is_of((uintptr_t)events[i], record, &number)) {
            if (*after != 0 && *after != number + 1)
                return 0;
            *after = number + 1;
        } else if (!has_ended_here(recorder->queue, &events[i]))
            return 0;
    }
    return 1;
}

static int record(struct fpgart_recorder *recorder, uintptr_t kernel,
                  const struct fpgart_request *request, cl_uint waits, const cl_event *wait_list,
                  cl_event *event)
{
    uint32_t after;
    if (recorder->serial != request->serial || !fpgart_knows_request(kernel, request))
        return 0;
    mine.is_known = 1;
    if (event != NULL && !recorder->with_events)
        return 0;
    int follows = recorder->caller == &mine && recorder->calls == mine.count;
    int is_alone = !follows && !recorder->in_rows;
    if ((is_alone && recorder->alone++ < recorder->patience) ||
        !may_wait_for(recorder, waits, wait_list, &after)) {
        recorder->caller = &mine;
        recorder->calls = mine.count + 1; /* Python sees this one */
        return 0;
    }
    if (recorder->filling == NULL) {
        recorder->filling = atomic_exchange(&spare, NULL);
        if (recorder->filling == NULL)
            recorder->filling = malloc(sizeof *recorder->filling);
        if (recorder->filling == NULL)
            return 0;
        fpgart_begin_record(recorder->filling);
    }
    struct fpgart_launches *filling = recorder->filling;
    uintptr_t made = event != NULL ? fpgart_event_unborn(filling->number, filling->count) : 0;
    if (event != NULL && made == 0)
        return 0;
    if (!fpgart_record_arguments(kernel, request, filling)) {
        if (made != 0)
            fpgart_handle_free(made);
        return 0;
    }
    filling->launches[filling->count - 1].event = made;
    filling->launches[filling->count - 1].after = after;
    filling->waits += after != 0;
    if (event != NULL)
        *event = (cl_event)made;
    return 1;
}

/* The driver's keeper takes in what is recorded, and this thread records on; 0 if there is none. */
static int hurry_keeper(void)
{
    struct fpgart_visit visit;
    if (!fpgart_slip_in(&visit))
        return 0;
    int looks = fpgart_hurry_keeper();
    fpgart_leave(&visit);
    return looks;
}

/* A record is full: it enters its queue, and the next launch finds an empty one. Other queues' may
 * wait, for this is no call that could tell. 0 if it did not. */
static int take_in_queue(uintptr_t queue)
{
    struct fpgart_visit visit;
    if (!fpgart_slip_in(&visit))
        return 0;
    int taken = fpgart_take_in_queue(queue);
    fpgart_leave(&visit);
    return taken;
}

int fpgart_records_launch(const void *queue, const void *kernel, cl_uint dimensions,
                          const size_t *offset, const size_t *global, const size_t *local,
                          cl_uint waits, const cl_event *wait_list, cl_event *event)
{
    fpgart_recorder_slot *slot = fpgart_recorder_of((uintptr_t)queue);
    struct fpgart_recorder *recorder = slot != NULL ? atomic_load(slot) : NULL;
    mine.is_known = 0;
    if (recorder == NULL || (waits != 0) != (wait_list != NULL) || dimensions < 1 ||
        dimensions > 3 || global == NULL || !atomic_load(&records) || fpgart_watched() ||
        fpgart_state != FPGART_RUNNING)
        return 0;
    struct fpgart_request request;
    describe(&request, (uintptr_t)queue, dimensions, offset, global, local);
    int someone_looks = 1, are_many = 0;
    pthread_mutex_lock(&recorder->lock);
    int done = record(recorder, (uintptr_t)kernel, &request, waits, wait_list, event);
    if (done && recorder->filling->count == 1)
        someone_looks = list(recorder);
    if (done && recorder->filling->count == MANY && recorder->is_fresh) {
        recorder->is_fresh = 0;
        are_many =
            atomic_load(&waiting) == 1; /* else threads enqueue at once, and something runs */
    }
    int is_full = !done && mine.is_known && recorder->filling != NULL &&
                  recorder->filling->count == FPGART_LAUNCHES;
    pthread_mutex_unlock(&recorder->lock);
    if (is_full && take_in_queue((uintptr_t)queue))
        return fpgart_records_launch(queue, kernel, dimensions, offset, global, local, waits,
                                     wait_list, event);
    struct fpgart_visit visit;
    if ((are_many || !someone_looks) && !hurry_keeper() && fpgart_enter(&visit))
        fpgart_leave(&visit); /* entering takes it in */
    return done;
}

/* Events of tasks say so, so Python makes them. */
int fpgart_records_task(const void *queue, const void *kernel, cl_uint waits,
                        const cl_event *wait_list, cl_event *event)
{
    static const size_t one = 1;
    mine.is_known = 1;
    return event == NULL &&
           fpgart_records_launch(queue, kernel, 1, NULL, &one, &one, waits, wait_list, NULL);
}

void fpgart_record_launches(int flag)
{
    atomic_store(&records, flag);
}

int fpgart_launch_is_known(void)
{
    return mine.is_known;
}

void fpgart_count_call(void)
{
    mine.count++;
}

/* A call that a row of launches may have in it: hosts that drop each event release the one of a
 * launch that was not recorded; those of recorded ones do not come to Python. */
void fpgart_uncount_call(void)
{
    mine.count--;
}

int fpgart_any_launches(void)
{
    return atomic_load(&waiting) != 0;
}

/* Whether something has been recorded for so long, or for longer. */
int fpgart_launches_wait_for(uint64_t nanoseconds)
{
    return fpgart_any_launches() && now_ns() - atomic_load(&waiting_since) >= nanoseconds;
}

void fpgart_launches_tended(int flag)
{
    atomic_store(&tended, flag);
}

/* The oldest with something recorded, `only` that one if it is not NULL; it is in the list no more.
 */
static struct fpgart_recorder *unlist(const struct fpgart_recorder *only)
{
    pthread_mutex_lock(&listing);
    struct fpgart_recorder **place = &first, *before = NULL;
    while (*place != NULL && only != NULL && *place != only) {
        before = *place;
        place = &before->next;
    }
    struct fpgart_recorder *found = *place;
    if (found != NULL) {
        *place = found->next;
        if (last == found)
            last = before;
    }
    pthread_mutex_unlock(&listing);
    return found;
}

/* `only`: of that queue, 0 for any. `by_keeper`: no call of the host has ended the row. */
struct fpgart_launches *fpgart_take_launches(uintptr_t only, uintptr_t *queue, uint64_t *serial,
                                             int by_keeper)
{
    struct fpgart_launches *taken = NULL;
    fpgart_recorder_slot *slot = only != 0 ? fpgart_recorder_of(only) : NULL;
    struct fpgart_recorder *wanted = slot != NULL ? atomic_load(slot) : NULL;
    while (taken == NULL && (only == 0) == (wanted == NULL)) {
        struct fpgart_recorder *recorder = unlist(wanted);
        if (recorder == NULL)
            return NULL;
        pthread_mutex_lock(&recorder->lock);
        taken = recorder->filling;
        recorder->filling = NULL;
        recorder->is_fresh = !by_keeper && taken != NULL && taken->count < FPGART_LAUNCHES;
        if (taken != NULL && taken->count == 1 && recorder->alone != 0)
            recorder->patience = 2 * recorder->patience + 1 < MOST_PATIENCE
                                     ? 2 * recorder->patience + 1
                                     : MOST_PATIENCE;
        recorder->alone = 0;
        if (!by_keeper)
            recorder->in_rows = taken != NULL && taken->count > 1;
        if (!by_keeper && !recorder->in_rows)
            recorder->caller = NULL; /* the next one is for Python, unless it follows another */
        *queue = recorder->queue;
        *serial = recorder->serial;
        pthread_mutex_lock(&listing);
        recorder->listed = 0;
        pthread_mutex_unlock(&listing);
        pthread_mutex_unlock(&recorder->lock);
        if (taken == NULL) /* its queue died meanwhile */
            atomic_fetch_sub(&waiting, 1);
    }
    return taken;
}

void fpgart_launches_taken(struct fpgart_launches *launches)
{
    fpgart_run_over(launches);
    atomic_fetch_sub(&waiting, 1);
}

/* C may run what is recorded next, although it is alone. */
void fpgart_record_single(uintptr_t queue)
{
    struct fpgart_recorder *recorder = recorder_for(queue);
    if (recorder == NULL)
        return;
    pthread_mutex_lock(&recorder->lock);
    recorder->alone = recorder->patience = 0;
    pthread_mutex_unlock(&recorder->lock);
}

/* The queue that alone has something recorded; 0 if there is none, or another one, too. */
uintptr_t fpgart_only_recorded(void)
{
    pthread_mutex_lock(&listing);
    uintptr_t queue = first != NULL && atomic_load(&waiting) == 1 ? first->queue : 0;
    pthread_mutex_unlock(&listing);
    return queue;
}

/* What is recorded of a queue is the caller's, to run it, if nothing else is recorded or just being
 * taken in, and `accepts` says so, which is asked while nothing is recorded in that queue. */
int fpgart_take_run(uintptr_t queue, int (*accepts)(struct fpgart_launches *, void *), void *data)
{
    fpgart_recorder_slot *slot = fpgart_recorder_of(queue);
    struct fpgart_recorder *recorder = slot != NULL ? atomic_load(slot) : NULL;
    if (recorder == NULL)
        return 0;
    pthread_mutex_lock(&recorder->lock);
    int taken = recorder->filling != NULL && atomic_load(&waiting) == 1 &&
                accepts(recorder->filling, data) && unlist(recorder) != NULL;
    if (taken) {
        recorder->in_rows = recorder->filling->count > 1;
        recorder->is_fresh = recorder->filling->count < FPGART_LAUNCHES;
        if (!recorder->in_rows)
            recorder->caller = NULL;
        recorder->filling = NULL;
        recorder->alone = recorder->patience = 0;
        pthread_mutex_lock(&listing);
        recorder->listed = 0;
        pthread_mutex_unlock(&listing);
        atomic_fetch_sub(&waiting, 1);
    }
    pthread_mutex_unlock(&recorder->lock);
    return taken;
}

/* The launches have been run, or are in their queue. */
void fpgart_run_over(struct fpgart_launches *launches)
{
    free(atomic_exchange(&spare, launches));
}
