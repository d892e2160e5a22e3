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

#include "../fpgart/engine/calls.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct fpgart_recorder {
    pthread_mutex_t lock;
    struct fpgart_launches *filling; /* NULL while nothing is recorded */
    uintptr_t queue;
    uint64_t serial;      /* of the queue */
    struct calls *caller; /* whose launch was the last one that may recur */
    uint64_t calls;       /* how many of its calls Python had seen then */
    int with_events;      /* whether launches that the host wants events of may be recorded */
    int in_rows;          /* the last one that was recorded was not alone */
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
                            const struct fpgart_nd_range *nd_range, int with_events)
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
    fpgart_keep_request(kernel, &request, nd_range);
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
        atomic_fetch_add(&waiting, 1);
    }
    pthread_mutex_unlock(&listing);
    return !added || atomic_load(&tended);
}

static int record(struct fpgart_recorder *recorder, uintptr_t kernel,
                  const struct fpgart_request *request, cl_event *event)
{
    if (recorder->serial != request->serial || !fpgart_knows_request(kernel, request))
        return 0;
    mine.is_known = 1;
    if (event != NULL && !recorder->with_events)
        return 0;
    int follows = recorder->caller == &mine && recorder->calls == mine.count;
    if (!follows && !recorder->in_rows) {
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
        recorder->filling->count = recorder->filling->changed = 0;
    }
    uintptr_t made = event != NULL ? fpgart_event_unborn() : 0;
    if (event != NULL && made == 0)
        return 0;
    if (!fpgart_record_arguments(kernel, request, recorder->filling)) {
        if (made != 0)
            fpgart_handle_free(made);
        return 0;
    }
    recorder->filling->launches[recorder->filling->count - 1].event = made;
    if (event != NULL)
        *event = (cl_event)made;
    return 1;
}

int fpgart_records_launch(const void *queue, const void *kernel, cl_uint dimensions,
                          const size_t *offset, const size_t *global, const size_t *local,
                          cl_uint waits, const cl_event *wait_list, cl_event *event)
{
    fpgart_recorder_slot *slot = fpgart_recorder_of((uintptr_t)queue);
    struct fpgart_recorder *recorder = slot != NULL ? atomic_load(slot) : NULL;
    mine.is_known = waits != 0;
    if (recorder == NULL || waits != 0 || wait_list != NULL || dimensions < 1 || dimensions > 3 ||
        global == NULL || !atomic_load(&records) || fpgart_watched() ||
        fpgart_state != FPGART_RUNNING)
        return 0;
    struct fpgart_request request;
    describe(&request, (uintptr_t)queue, dimensions, offset, global, local);
    int someone_looks = 1;
    pthread_mutex_lock(&recorder->lock);
    int done = record(recorder, (uintptr_t)kernel, &request, event);
    if (done && recorder->filling->count == 1)
        someone_looks = list(recorder);
    pthread_mutex_unlock(&recorder->lock);
    struct fpgart_visit visit;
    if (!someone_looks && fpgart_enter(&visit))
        fpgart_leave(&visit); /* entering takes it in, which wakes the keeper */
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

void fpgart_launches_tended(int flag)
{
    atomic_store(&tended, flag);
}

struct fpgart_launches *fpgart_take_launches(uintptr_t *queue, uint64_t *serial)
{
    struct fpgart_launches *taken = NULL;
    while (taken == NULL) {
        pthread_mutex_lock(&listing);
        struct fpgart_recorder *recorder = first;
        if (recorder != NULL)
            first = recorder->next;
        pthread_mutex_unlock(&listing);
        if (recorder == NULL)
            return NULL;
        pthread_mutex_lock(&recorder->lock);
        taken = recorder->filling;
        recorder->filling = NULL;
        recorder->in_rows = taken != NULL && taken->count > 1;
        if (!recorder->in_rows)
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
    free(atomic_exchange(&spare, launches));
    atomic_fetch_sub(&waiting, 1);
}

static uint32_t number_of(const struct fpgart_launched *kernels, uint32_t count,
                          const struct fpgart_launch *launch)
{
    uint32_t k = 0;
    while (k < count &&
           (kernels[k].handle != launch->kernel || kernels[k].serial != launch->serial))
        k++;
    return k;
}

uint32_t fpgart_launched_kernels(const struct fpgart_launches *launches,
                                 struct fpgart_launched *kernels, uint32_t most)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < launches->count; i++) {
        const struct fpgart_launch *launch = &launches->launches[i];
        if (number_of(kernels, count, launch) < count)
            continue;
        if (count == most)
            return 0;
        kernels[count++] =
            (struct fpgart_launched){.handle = launch->kernel, .serial = launch->serial};
    }
    return count;
}

/* The launches whose events the host holds, which it knows by their handles already. */
uint32_t fpgart_launch_events(const struct fpgart_launches *launches, uint32_t *numbers)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < launches->count; i++)
        if (launches->launches[i].event != 0 && fpgart_event_born(launches->launches[i].event))
            numbers[count++] = i;
    return count;
}

/* Different ones, by kernel, argument and buffer; `most` + 1 if there are more. */
uint32_t fpgart_launch_changes(const struct fpgart_launches *launches,
                               const struct fpgart_launched *kernels, uint32_t kernel_count,
                               struct fpgart_change *changes, uint32_t most)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < launches->count; i++) {
        const struct fpgart_launch *launch = &launches->launches[i];
        uint32_t kernel = number_of(kernels, kernel_count, launch), begin = launch->first_change;
        for (uint32_t c = begin; c < begin + launch->changes; c++) {
            const struct fpgart_argument *set = &launches->changes[c];
            uint32_t k = 0;
            while (k < count &&
                   (changes[k].kernel != kernel || changes[k].argument.index != set->index ||
                    changes[k].argument.buffer != set->buffer ||
                    changes[k].argument.serial != set->serial))
                k++;
            if (k == most)
                return most + 1;
            changes[k] = (struct fpgart_change){.kernel = kernel, .launch = c, .argument = *set};
            count += k == count;
        }
    }
    return count;
}

static void change(struct fpgart_launched *kernel, const struct fpgart_argument *set,
                   const struct fpgart_place *places, uint32_t count)
{
    struct argument *argument = (struct argument *)kernel->image + set->index;
    if (set->buffer == 0) {
        memcpy(kernel->image + argument->value, set->value, set->size);
        return;
    }
    uint32_t p = 0;
    while (p < count && (places[p].buffer != set->buffer || places[p].serial != set->serial))
        p++;
    if (p < count)
        *argument = (struct argument){ARGUMENT_POINTER, 8, places[p].address};
}

uint32_t fpgart_lay_out(const struct fpgart_launches *launches, uint32_t from, uint32_t count,
                        struct fpgart_launched *kernels, uint32_t kernel_count,
                        const struct fpgart_place *places, uint32_t place_count, char *out)
{
    struct submission *entries = (struct submission *)out;
    size_t end = count * sizeof *entries;
    for (uint32_t k = 0; k < kernel_count; k++)
        kernels[k].laid_out = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct fpgart_launch *launch = &launches->launches[from + i];
        const struct fpgart_nd_range *nd_range = &launch->nd_range;
        uint32_t number = number_of(kernels, kernel_count, launch);
        struct fpgart_launched *kernel = &kernels[number];
        for (uint32_t c = 0; c < launch->changes; c++)
            change(kernel, &launches->changes[launch->first_change + c], places, place_count);
        if (kernel->laid_out == 0 || launch->changes != 0) {
            memcpy(out + end, kernel->image, kernel->size);
            kernel->laid_out = end;
            end += kernel->size;
        }
        entries[i] = (struct submission){.kernel = number,
                                         .image = kernel->laid_out,
                                         .arguments = kernel->arguments,
                                         .dimensions = nd_range->dimensions,
                                         .has_local = nd_range->has_local};
        memcpy(entries[i].sizes, nd_range->sizes, sizeof entries[i].sizes);
        memcpy(entries[i].sizes + 6, nd_range->engine_local, sizeof nd_range->engine_local);
    }
    return (uint32_t)end;
}
