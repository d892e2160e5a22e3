/* SPDX-License-Identifier: Apache-2.0
 *
 * The steps of a command: submission to the engine, begin, end, and the followers of the end. */
#include "command.h"

#include <stdlib.h>

#ifdef CORE_EXPLORED
enum { FEW_EVENTS = 2 };
#else
enum { FEW_EVENTS = 16 };
#endif

int32_t core_error(const struct core_command *command)
{
    for (uint32_t i = 0; command->error == 0 && i < command->link_count; i++)
        if (command->links[i].listed && atomic_load(&command->links[i].before->status) < 0)
            return CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
    return command->error;
}

/* The numbers of commands that have ended and are not dropped, by generation. core_settle()
 * begins a new generation, so that it does not wait for later ends. */
static struct core_word endings[2];
static bool generation, is_settling;
static struct core_word settled; /* counted up after each core_settle() */
#ifndef CORE_EXPLORED
_Thread_local bool core_is_ending, core_is_serving, core_is_taking;
_Thread_local unsigned core_depth;
#endif

void core_note_end(struct core_command *command, int32_t status, struct core_work *work)
{
    struct core_queue *queue = command->queue;
    if (atomic_load(&command->status) <= CL_COMPLETE)
        return;
    if (status == CL_COMPLETE)
        status = core_error(command);
    command->generation = generation;
    atomic_fetch_add(&endings[generation].value, 1); /* before others can see the end */
    atomic_store(&command->status, status);
    core_pause();
    core_leave_queue(queue, command, work);
    core_satisfy(command, true, work);
    core_stops(queue->caller, work);
    core_queue_callbacks(command, status);
    core_step(command);
    *work->last_ended = command;
    work->last_ended = &command->next_ended;
}

/* Ends a command that does not run, in its turn, because those that follow it follow none of those
 * that it follows. */
static void end_in_turn(struct core_command *command, int32_t error, struct core_work *work)
{
    core_lock();
    command->error = error;
    core_follow_ends(command, work);
    if (command->unmet == 0)
        core_note_end(command, error, work);
    core_unlock();
}

static void reach(struct core_command *command, int32_t status)
{
    core_lock();
    atomic_store(&command->status, status);
    if (!command->decided)
        command->times[status] = command->queue->lane.engine->now();
    core_queue_callbacks(command, status);
    core_unlock();
}

static int32_t give_to_engine(struct core_command *command, void **event)
{
    const struct core_queue *queue = command->queue;
    void *few[FEW_EVENTS], **after = few;
    uint32_t count = 0;
    if (command->link_count > FEW_EVENTS) {
        after = malloc(command->link_count * sizeof *after);
        if (after == NULL)
            return CL_OUT_OF_HOST_MEMORY;
    }
    for (uint32_t i = 0; i < command->link_count; i++) {
        const struct core_link *link = &command->links[i];
        bool is_in_lane = link->before->queue == queue && queue->in_order && !link->listed;
        void *before = atomic_load(&link->before->event); /* NULL: it failed without the engine */
        if (!link->until_ended && !is_in_lane && before != NULL)
            after[count++] = before;
    }
    int32_t status = queue->lane.engine->submit(queue->lane.lane, command->operation, count,
                                                count != 0 ? after : NULL, event);
    if (after != few)
        free(after);
    return status;
}

bool core_begin_directly(struct core_queue *queue, uint64_t epoch, const void *operation)
{
    core_lock();
    bool may = queue->open == 0 && queue->direct == NULL && core_admits(queue, epoch);
    if (may) {
        queue->direct = operation;
        atomic_store(&queue->at_once.status, CL_RUNNING);
        queue->caller->moving++;
        core_admit(queue, CORE_MOVES);
    }
    core_unlock();
    return may;
}

void core_end_directly(struct core_queue *queue)
{
    struct core_work work;
    core_begin_work(&work);
    queue->direct = NULL;
    atomic_store(&queue->at_once.status, CL_COMPLETE);
    core_satisfy(&queue->at_once, true, &work);
    core_stops(queue->caller, &work);
    core_leave(queue, CORE_MOVES, &work);
    core_end_work(&work);
}

static void submit(struct core_command *command, struct core_work *work)
{
    struct core_queue *queue = command->queue;
    void *event = NULL;
    int32_t error = give_to_engine(command, &event);
    if (error != CL_SUCCESS) {
        end_in_turn(command, error, work);
        return;
    }
    core_lock();
    atomic_store(&command->event, event);
    queue->in_engine++;
    if (queue->in_order)
        queue->submitted = command;
    core_satisfy(command, false, work);
    if (command->followers != NULL || command->callbacks != NULL || command->observed)
        core_watch(command, work);
    core_step(command);
    core_unlock();
}

/* Returns true if the board admits a carried command, which is renewed if necessary. The lock
 * is held, but released meanwhile. */
static bool is_admitted(struct core_command *command)
{
    const struct core_queue *queue = command->queue;
    while (!core_admits(queue, command->epoch)) {
        uint64_t epoch = atomic_load(&queue->board->epoch);
        if (queue->lane.renews == NULL || !core_admits(queue, epoch))
            return false;
        core_unlock();
        bool is_renewed = queue->lane.renews(command, epoch);
        core_lock();
        if (!is_renewed)
            return false;
        command->epoch = epoch;
    }
    return true;
}

/* Returns true if a carried command may be submitted or handed over now. One that is admitted first
 * waits until the engine has the kernels on its cores. If its facts do not hold, its board is held,
 * or the engine must not get it, it is handed over, and first waits for the ends of those that it
 * follows. */
static bool take_turn(struct core_command *command, struct core_work *work)
{
    if (command->admitted || command->handed_over)
        return true;
    core_lock();
    if (is_admitted(command) && core_is_for_engine(command)) {
        command->admitted = true;
        core_admit(command->queue, command->kind);
        core_occupy(command, work);
    } else {
        command->handed_over = true;
        core_follow_ends(command, work);
    }
    bool may = command->unmet == 0;
    core_unlock();
    return may;
}

static void dispatch(struct core_command *command, struct core_work *work)
{
    int32_t error = core_error(command);
    if (error == CL_SUCCESS && !take_turn(command, work))
        return;
    if (command->handed_over) /* one that it follows may have failed meanwhile */
        error = core_error(command);
    if (error != CL_SUCCESS) {
        end_in_turn(command, error, work);
        return;
    }
    if (atomic_load(&command->status) > CL_SUBMITTED)
        reach(command, CL_SUBMITTED);
    if (command->handed_over)
        core_hand_over(command);
    else
        submit(command, work);
}

/* Releases a command without followers, and those that it followed. */
static void drop(struct core_command *command)
{
    for (uint32_t i = 0; i < command->link_count; i++)
        core_release(command->links[i].before);
    core_release(command);
}

static void tell_engine(struct core_command *command)
{
    bool of = command->generation, was_ending = core_is_ending;
    core_is_ending = true;
    command->queue->lane.engine->ended(command->operation, atomic_load(&command->status));
    core_is_ending = was_ending;
    if (atomic_fetch_sub(&endings[of].value, 1) == 1)
        core_wake(&endings[of]);
}

bool core_in_ended(void)
{
    return core_is_ending;
}

static void begin_to_settle(void)
{
    core_lock();
    while (is_settling) {
        uint32_t seen = atomic_load(&settled.value);
        core_unlock();
        core_sleep(&settled, seen);
        core_lock();
    }
    is_settling = true;
    generation = !generation;
    core_unlock();
}

void core_settle(void)
{
    if (core_is_ending ||
        (atomic_load(&endings[0].value) == 0 && atomic_load(&endings[1].value) == 0))
        return;
    begin_to_settle();
    struct core_word *left = &endings[!generation]; /* constant now */
    for (uint32_t seen; (seen = atomic_load(&left->value)) != 0;)
        core_sleep(left, seen);
    core_lock();
    is_settling = false;
    core_unlock();
    atomic_fetch_add(&settled.value, 1);
    core_wake(&settled);
}

static void notify(struct core_command *command)
{
    if (command->queue->lane.engine->notify(command->event, core_ended, command) != CL_SUCCESS)
        core_ended(command); /* the observing thread waits for the end instead */
}

void core_end_work(struct core_work *work)
{
    core_unlock();
    for (;;) {
        struct core_command *command;
        struct core_board *board;
        if ((command = work->ready) != NULL) {
            if ((work->ready = command->next_ready) == NULL)
                work->last_ready = &work->ready;
            dispatch(command, work);
        } else if ((command = work->watched) != NULL) {
            work->watched = command->next_watched;
            notify(command);
        } else if ((command = work->ended) != NULL) {
            work->ended = command->next_ended;
            tell_engine(command);
            drop(command);
        } else if ((board = work->idle) != NULL) {
            work->idle = board->next_idle;
            core_call_idle(board);
        } else {
            return;
        }
    }
}

void core_begin(struct core_command *command)
{
    core_lock();
    command->is_begun = true;
    core_runs(command->queue, true);
    core_unlock();
    reach(command, CL_RUNNING);
}

bool core_begin_here(struct core_command *command)
{
    core_lock();
    bool may = core_admits(command->queue, command->epoch);
    if (may) {
        command->admitted = true;
        core_admit(command->queue, command->kind);
    }
    core_unlock();
    if (may)
        reach(command, CL_RUNNING);
    return may;
}

void core_retry(struct core_command *command)
{
    struct core_work work;
    core_begin_work(&work);
    command->handed_over = false;
    core_make_ready(command, &work);
    core_end_work(&work);
}

bool core_claim(struct core_command *event)
{
    return !atomic_exchange(&event->claimed, true);
}

bool core_set(struct core_command *event, int32_t status)
{
    struct core_queue *queue = event->queue;
    core_lock();
    bool is_first = atomic_load(&event->status) > CL_COMPLETE;
    if (is_first) {
        atomic_store(&event->status, status);
        if (queue != NULL) {
            core_leave_queue(queue, event, NULL);
            core_queue_callbacks(event, status);
        }
        core_step(event);
    }
    core_unlock();
    return is_first;
}

bool core_let_follow(struct core_command *event, bool takes)
{
    struct core_work work;
    core_begin_work(&work);
    work.takes |= takes;
    core_satisfy(event, true, &work);
    if (event->queue != NULL)
        core_stops(event->queue->caller, &work);
    core_end_work(&work);
    if (event->queue != NULL)
        drop(event);
    return work.has_ready;
}

void core_end(struct core_command *command, int32_t status)
{
    struct core_work work;
    command->times[CL_COMPLETE] = command->queue->lane.engine->now();
    core_begin_work(&work);
    core_note_end(command, status, &work);
    core_end_work(&work);
}
