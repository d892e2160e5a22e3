/* SPDX-License-Identifier: Apache-2.0
 *
 * Recorded launches that somebody waits for, and that need no decision: Python has carried out such
 * launches before, it has told where their buffers are and which kernels of the engine they are,
 * and the board is lent to their queue (fpgart/board/loan.h). C then has the engine run them,
 * without the interpreter. Everything else, and whatever fails, is for Python (fpgart/api/runs.py).
 *
 * The queue, the kernels and the buffers are held meanwhile, as a command holds them. Python may
 * want the loan back meanwhile: the run then counts as a command of the queue, and its end is told.
 * Its events are not born before its end: whoever asks for one waits for that, but not for long.
 * Then the loan is called in, and the event is a late one of the command that the run is. */
#include "icd.h"

#include "../fpgart/board/loan.h"
#include "../fpgart/engine/calls.h"
#include "../fpgart/engine/clock.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LAUNCHES = 4 };
enum { PATIENCE_NS = 3000000 }; /* runs have taken less before, a third of that at most */

/* What one run needs while it is under way. */
struct room {
    uintptr_t engine_kernels[FPGART_KERNELS];
    uintptr_t kernels[FPGART_KERNELS], uses[FPGART_USES]; /* what is held */
    uintptr_t events[FPGART_LAUNCHES];                    /* of those that the engine has taken */
    uint32_t numbers[FPGART_LAUNCHES];                    /* which launches those are */
    int32_t statuses[FPGART_LAUNCHES];                    /* of those */
    int64_t
        outcomes[FPGART_LAUNCHES]; /* of all, as the engine's calls give them; 0: it went well */
    _Alignas(16) char laid_out[FPGART_LAUNCHES * sizeof(struct submission) + FPGART_IMAGES];
};

struct run {
    struct loan *loan;
    uintptr_t queue;
    uint64_t serial;
    struct fpgart_launches *launches;
    struct room *room;
    cl_uint waits; /* for which events the host waits; NULL: for all that is in the queue */
    const cl_event *events;
    int is_taken; /* what was recorded is the run's */
    uint32_t held_kernels, held_uses;
    uintptr_t command;         /* the event that it is, once late ones end with that; held */
    struct run *next, *before; /* while it is listed */
};

/* One that is not used, so that none is mapped anew for each run. */
static _Atomic(struct room *) spare;
static _Atomic(fpgart_submit) engine_submits;
static _Atomic(fpgart_await) engine_awaits;
static _Thread_local int was_missed;

/* Runs that may have events which are not born: how many, those that the engine has or is about to
 * be given, and who waits for their ends. */
static uint32_t under_way;
static struct run *first;
static pthread_mutex_t counting = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t one_ended;
static pthread_once_t waiting_once = PTHREAD_ONCE_INIT;

void fpgart_let_runs_pass(uintptr_t queue, uintptr_t submits, uintptr_t awaits)
{
    atomic_store(&engine_submits, (fpgart_submit)submits);
    atomic_store(&engine_awaits, (fpgart_await)awaits);
    fpgart_record_single(queue);
}

int fpgart_run_was_missed(void)
{
    return was_missed;
}

/* Of a clock that nobody sets. */
static void prepare_waiting(void)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&one_ended, &attributes);
    pthread_condattr_destroy(&attributes);
}

static void count(int more)
{
    pthread_once(&waiting_once, prepare_waiting);
    pthread_mutex_lock(&counting);
    under_way += (uint32_t)more;
    if (more < 0)
        pthread_cond_broadcast(&one_ended);
    pthread_mutex_unlock(&counting);
}

static void list(struct run *run)
{
    pthread_mutex_lock(&counting);
    run->next = first;
    if (first != NULL)
        first->before = run;
    first = run;
    pthread_mutex_unlock(&counting);
}

/* From now on nobody but the run itself sees to its events. */
static void unlist(struct run *run)
{
    pthread_mutex_lock(&counting);
    if (run->before != NULL)
        run->before->next = run->next;
    else
        first = run->next;
    if (run->next != NULL)
        run->next->before = run->before;
    pthread_mutex_unlock(&counting);
}

/* The run that an event is, or was, to be born of; NULL if that has ended. With `counting` held. */
static struct run *run_of(uintptr_t event)
{
    struct run *run = first;
    while (run != NULL && run->launches->number != fpgart_event_record(event))
        run = run->next;
    return run;
}

static struct timespec after_patience(void)
{
    struct timespec then;
    clock_gettime(CLOCK_MONOTONIC, &then);
    then.tv_nsec += PATIENCE_NS;
    then.tv_sec += then.tv_nsec / 1000000000;
    then.tv_nsec %= 1000000000;
    return then;
}

/* Gives 0 when an event is not unborn any more. A kernel may run until the host has done something:
 * so if the run takes long, gives its queue, for Python to make a command of the run. */
uintptr_t fpgart_await_birth(uintptr_t event)
{
    if (fpgart_handle_kind(event) != FPGART_EVENT || !fpgart_event_is_unborn(event))
        return 0;
    uintptr_t queue = 0;
    struct timespec then = after_patience();
    pthread_once(&waiting_once, prepare_waiting);
    pthread_mutex_lock(&counting);
    while (queue == 0 && under_way != 0 && fpgart_event_is_unborn(event)) {
        if (pthread_cond_timedwait(&one_ended, &counting, &then) == 0)
            continue;
        struct run *run = run_of(event);
        if (run != NULL)
            queue = run->queue;
        else
            then = after_patience(); /* it is about to begin, or has just ended */
    }
    pthread_mutex_unlock(&counting);
    return queue;
}

/* `command`, which the run of an unborn event is by now, is held until the run's end, and the event
 * ends with that. Nothing is done if the run has ended. */
void fpgart_run_becomes(uintptr_t event, uintptr_t command)
{
    pthread_mutex_lock(&counting);
    struct run *run = run_of(event);
    uint32_t number;
    if (run != NULL && run->command == 0) {
        fpgart_keep_parent(command);
        run->command = command;
    }
    if (run != NULL && fpgart_event_is_of(event, run->launches->number, &number)) {
        fpgart_event_late(event, command); /* or it is free, for the host has just released it */
        run->launches->launches[number].is_late = 1;
    }
    pthread_mutex_unlock(&counting);
}

/* Whether the host waits for the last launch, and so for all of them: one behind what it waits for
 * may need what the host does next. */
static int needs_all(const struct run *run, const struct fpgart_launches *launches)
{
    uint32_t number;
    for (cl_uint i = 0; i < run->waits && run->events != NULL; i++)
        if (fpgart_event_is_of((uintptr_t)run->events[i], launches->number, &number) &&
            number == launches->count - 1)
            return 1;
    return run->events == NULL;
}

/* Whether the loan covers all that the launches need; that is held from then on. Python has never
 * seen the addresses that this leaves behind where it does not. */
static int accepts(struct fpgart_launches *launches, void *data)
{
    struct run *run = data;
    if (!needs_all(run, launches) ||
        !loan_runs(run->loan, run->queue, run->serial, launches->count))
        return 0;
    for (uint32_t i = 0; i < launches->kernel_count; i++) {
        const struct fpgart_launched *kernel = &launches->kernels[i];
        run->room->engine_kernels[i] = loan_find_kernel(run->loan, kernel->handle, kernel->serial);
        if (run->room->engine_kernels[i] == 0)
            return 0;
    }
    for (uint32_t i = 0; i < launches->use_count; i++) {
        struct fpgart_use *use = &launches->uses[i];
        use->address = use->serial == 0
                           ? 0
                           : loan_find_use(run->loan, use->buffer, use->serial, use->location);
        if (use->address == 0)
            return 0;
    }
    for (; run->held_kernels < launches->kernel_count; run->held_kernels++) {
        const struct fpgart_launched *kernel = &launches->kernels[run->held_kernels];
        if (!fpgart_hold(kernel->handle, FPGART_KERNEL, kernel->serial))
            return 0;
        run->room->kernels[run->held_kernels] = kernel->handle;
    }
    for (; run->held_uses < launches->use_count; run->held_uses++) {
        const struct fpgart_use *use = &launches->uses[run->held_uses];
        if (!fpgart_hold(use->buffer, FPGART_MEM, use->serial))
            return 0;
        run->room->uses[run->held_uses] = use->buffer;
    }
    run->launches = launches;
    return 1;
}

static int64_t failed_as_kernel(int32_t status)
{
    return (int64_t)((uint64_t)(uint32_t)-2 << 32 | (uint32_t)status);
}

/* Gives the engine all launches, also those behind one that it refuses: how many it has taken. */
static uint32_t submit(const struct run *run)
{
    struct room *room = run->room;
    uint32_t count = run->launches->count, taken = 0;
    for (uint32_t next = 0; next < count;) {
        int64_t outcome = 0;
        uint32_t done = atomic_load(&engine_submits)(loan_engine_queue(run->loan),
                                                     room->engine_kernels, room->laid_out, next,
                                                     count, room->events + taken, &outcome);
        for (uint32_t i = 0; i < done; i++) {
            room->outcomes[next] = 0;
            room->numbers[taken++] = next++;
        }
        if (next < count)
            room->outcomes[next++] = outcome;
    }
    return taken;
}

static int wants_end(const struct fpgart_launch *launch)
{
    return launch->event != 0 && !launch->is_late;
}

static int has_events(const struct fpgart_launches *launches)
{
    for (uint32_t i = 0; i < launches->count; i++)
        if (launches->launches[i].event != 0)
            return 1;
    return 0;
}

/* What the events of launches that have gone well end with, made while the engine runs them, and
 * held. 0: the host wants none, or there can be none. */
static uintptr_t make_parent(const struct run *run)
{
    static const cl_int complete = CL_COMPLETE;
    struct fpgart_visit visit;
    cl_context context;
    if (!has_events(run->launches) || !fpgart_slip_in(&visit))
        return 0;
    uintptr_t parent = fpgart_ended_parent(run->queue);
    fpgart_leave(&visit);
    if (parent == 0)
        return 0;
    fpgart_keep_parent(parent);
    fpgart_remember(parent, CL_EVENT_COMMAND_EXECUTION_STATUS, (const char *)&complete,
                    sizeof complete);
    if (fpgart_knows((const void *)run->queue, FPGART_QUEUE, CL_QUEUE_CONTEXT, sizeof context,
                     &context, NULL))
        fpgart_remember(parent, CL_EVENT_CONTEXT, (const char *)&context, sizeof context);
    return parent;
}

/* Whether all went well; an event without a parent cannot end well. */
static int all_went_well(const struct run *run, uintptr_t parent)
{
    int64_t *outcomes = run->room->outcomes;
    int all_well = 1;
    for (uint32_t i = 0; i < run->launches->count; i++) {
        if (wants_end(&run->launches->launches[i]) && parent == 0 && outcomes[i] == 0)
            outcomes[i] = failed_as_kernel(CL_OUT_OF_HOST_MEMORY);
        all_well &= outcomes[i] == 0;
    }
    return all_well;
}

/* Python tells of launches that have failed, and of those that fail with them. */
static void fail(const struct run *run)
{
    struct fpgart_visit visit;
    if (!fpgart_slip_in(&visit))
        return; /* the process ends, and nobody waits */
    fpgart_run_failed(run->queue, (uintptr_t)run->launches, (uintptr_t)run->room->outcomes);
    fpgart_leave(&visit);
}

/* Whether all launches went well; Python has heard of those that did not. */
static int carry_out(struct run *run)
{
    struct fpgart_launches *launches = run->launches;
    struct room *room = run->room;
    fpgart_address_images(launches);
    fpgart_lay_out(launches, 0, launches->count, room->laid_out);
    uint64_t begin = now_ns();
    list(run);
    uint32_t taken = submit(run);
    uintptr_t parent = make_parent(run);
    if (taken != 0)
        atomic_load (&engine_awaits)(room->events, taken, room->statuses);
    for (uint32_t i = 0; i < taken; i++)
        if (room->statuses[i] < 0)
            room->outcomes[room->numbers[i]] = failed_as_kernel(room->statuses[i]);
    loan_count_run(run->loan, launches->count, now_ns() - begin);
    unlist(run);
    int all_well = all_went_well(run, parent);
    if (!all_well)
        fail(run);
    for (uint32_t i = 0; i < launches->count; i++)
        if (wants_end(&launches->launches[i]) && room->outcomes[i] == 0)
            fpgart_event_late(launches->launches[i].event, parent);
    if (parent != 0)
        fpgart_unhold(parent, FPGART_EVENT);
    return all_well;
}

static void tell_end(struct loan *loan)
{
    struct fpgart_visit visit;
    if (!fpgart_enter(&visit))
        return; /* the process ends, and nobody waits */
    fpgart_copy_ended((uintptr_t)loan);
    fpgart_leave(&visit);
}

/* What was held, without the loan: the host may have released it meanwhile. */
static void unhold(const struct run *run)
{
    for (uint32_t i = 0; i < run->held_uses; i++)
        fpgart_unhold(run->room->uses[i], FPGART_MEM);
    for (uint32_t i = 0; i < run->held_kernels; i++)
        fpgart_unhold(run->room->kernels[i], FPGART_KERNEL);
    if (run->command != 0)
        fpgart_unhold(run->command, FPGART_EVENT);
    fpgart_unhold(run->queue, FPGART_QUEUE);
}

/* While the loan is borrowed. */
static int take_and_carry_out(struct run *run)
{
    run->is_taken = fpgart_take_run(run->queue, accepts, run);
    return run->is_taken && carry_out(run);
}

static struct room *find_room(void)
{
    struct room *found = atomic_exchange(&spare, NULL);
    return found != NULL ? found : malloc(sizeof *found);
}

static int runs_here(void)
{
    return fpgart_running() && !fpgart_watched() && fpgart_has_stack() &&
           !(fpgart_is_guest() && fpgart_holds_interpreter()); /* others shall have it meanwhile */
}

static int finishes(const void *queue, cl_uint waits, const cl_event *events)
{
    was_missed = 0;
    if (!fpgart_any_launches())
        return 0;
    fpgart_loan_slot *slot = fpgart_loan_of((uintptr_t)queue);
    if (slot == NULL || !runs_here())
        return 0;
    was_missed = 1;
    struct run run = {.loan = atomic_load(slot),
                      .queue = (uintptr_t)queue,
                      .serial = fpgart_handle_serial((uintptr_t)queue),
                      .waits = waits,
                      .events = events};
    if (run.loan == NULL || !fpgart_hold(run.queue, FPGART_QUEUE, run.serial))
        return 0;
    int done = 0, cancel_state;
    fpgart_disable_cancel(&cancel_state);
    run.room = find_room();
    count(1);
    if (run.room != NULL && loan_borrow(run.loan, LAUNCHES)) {
        done = take_and_carry_out(&run);
        if (loan_return(run.loan))
            tell_end(run.loan);
    }
    count(-1);
    unhold(&run);
    if (run.is_taken)
        fpgart_run_over(run.launches);
    free(atomic_exchange(&spare, run.room));
    fpgart_restore_cancel(cancel_state);
    return done;
}

int fpgart_finishes(const void *queue)
{
    return finishes(queue, 0, NULL);
}

int fpgart_finishes_events(cl_uint count_of_events, const cl_event *events)
{
    was_missed = 0;
    if (!fpgart_any_launches() || count_of_events == 0 || events == NULL)
        return 0;
    uintptr_t queue = fpgart_only_recorded();
    return queue != 0 && finishes((const void *)queue, count_of_events, events) &&
           fpgart_knows_ends(count_of_events, events);
}
