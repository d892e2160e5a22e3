/* SPDX-License-Identifier: Apache-2.0
 *
 * The order of commands: which ones each follows, when it is submitted, what its end allows. */
#include "command.h"

#include <stdlib.h>
#include <string.h>

#ifndef CORE_EXPLORED
pthread_mutex_t core_mutex = PTHREAD_MUTEX_INITIALIZER;
#endif

enum { FEW_EVENTS = 16, MANY_OPEN = 1024 };

struct core_queue *core_queue_new(struct core_board *board, const struct core_engine *engine,
                                  void *lane, bool in_order,
                                  void (*ready)(struct core_command *command),
                                  void (*freed)(void *lane))
{
    struct core_queue *queue = calloc(1, sizeof *queue);
    if (queue == NULL)
        return NULL;
    queue->engine = engine;
    queue->lane = lane;
    queue->in_order = in_order;
    queue->ready = ready;
    queue->freed = freed;
    queue->held.queue = queue;
    atomic_store(&queue->references, 1);
    if (board != NULL)
        core_board_add(board, queue);
    return queue;
}

void core_queue_release(struct core_queue *queue)
{
    if (queue == NULL || atomic_fetch_sub(&queue->references, 1) != 1)
        return;
    if (queue->board != NULL)
        core_board_remove(queue->board, queue);
    if (queue->freed != NULL)
        queue->freed(queue->lane);
    free(queue);
}

void *core_lane(const struct core_queue *queue)
{
    return queue->lane;
}

static struct core_command *new_command(struct core_queue *queue, uint32_t references,
                                        const void *operation, size_t size)
{
    struct core_command *command = calloc(1, sizeof *command + size);
    if (command == NULL)
        return NULL;
    if (size != 0)
        memcpy(command->operation, operation, size);
    command->queue = queue;
    if (queue != NULL)
        atomic_fetch_add(&queue->references, 1);
    command->links = command->few;
    atomic_store(&command->references, references);
    atomic_store(&command->status, CL_QUEUED);
    return command;
}

struct core_command *core_user_event(void)
{
    struct core_command *event = new_command(NULL, 2, NULL, 0);
    if (event != NULL)
        atomic_store(&event->status, CL_SUBMITTED);
    return event;
}

void core_retain(struct core_command *command)
{
    atomic_fetch_add(&command->references, 1);
}

void core_release(struct core_command *command)
{
    if (atomic_fetch_sub(&command->references, 1) != 1)
        return;
    if (command->event != NULL)
        command->queue->engine->release(command->event);
    core_queue_release(command->queue);
    if (command->links != command->few)
        free(command->links);
    free(command);
}

void *core_operation(struct core_command *command)
{
    return command->operation;
}

void core_begin_work(struct core_work *work)
{
    *work = (struct core_work){.last_ready = &work->ready};
}

static void make_ready(struct core_command *command, struct core_work *work)
{
    command->next_ready = NULL;
    *work->last_ready = command;
    work->last_ready = &command->next_ready;
}

bool core_is_carried(const struct core_command *command)
{
    return command->queue != NULL && command->queue->engine != NULL && !command->decided;
}

/* The engine itself keeps the order of the two once it has been given the first: in a lane that is
 * in order, or by a wait list, which passes failures on. */
static bool engine_orders(const struct core_command *before, const struct core_command *command,
                          bool listed)
{
    return core_is_carried(before) && core_is_carried(command) &&
           before->queue->engine == command->queue->engine && (listed || command->queue->in_order);
}

static void follow(struct core_command *command, struct core_command *before, bool listed,
                   bool until_ended, struct core_work *work)
{
    int32_t status = atomic_load(&before->status);
    if (status <= CL_COMPLETE) {
        if (listed && status < 0)
            command->error = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
        return;
    }
    struct core_link *link = &command->links[command->link_count++];
    *link = (struct core_link){before, command, NULL, until_ended, listed};
    core_retain(before);
    if (!link->until_ended && before->event != NULL)
        return;
    command->unmet++;
    link->next = before->followers;
    before->followers = link;
    if (link->until_ended && before->event != NULL)
        core_watch(before, work);
}

/* The links that a submission, or an end, satisfies. */
static void satisfy(struct core_command *before, bool ended, struct core_work *work)
{
    struct core_link **place = &before->followers;
    struct core_link *first = NULL;
    while (*place != NULL) {
        struct core_link *link = *place;
        if (link->until_ended && !ended) {
            place = &link->next;
            continue;
        }
        *place = link->next;
        link->next = first; /* the newest link comes first: turn that round */
        first = link;
    }
    for (; first != NULL; first = first->next)
        if (--first->follower->unmet == 0)
            make_ready(first->follower, work);
}

static void enter(struct core_queue *queue, struct core_command *command)
{
    command->older = queue->newest;
    if (queue->newest != NULL)
        queue->newest->newer = command;
    else
        queue->oldest = command;
    queue->newest = command;
    command->number = ++queue->enqueued;
    queue->open++;
    if (core_is_carried(command))
        core_enter(queue);
}

static void leave(struct core_queue *queue, struct core_command *command, struct core_work *work)
{
    if (command->older != NULL)
        command->older->newer = command->newer;
    else
        queue->oldest = command->newer;
    if (command->newer != NULL)
        command->newer->older = command->older;
    else
        queue->newest = command->older;
    if (queue->barrier == command)
        queue->barrier = NULL;
    queue->open--;
    if (core_is_carried(command))
        core_leave(queue, work);
}

/* How many commands of its own queue a new one follows at most. */
static uint32_t followed(const struct core_queue *queue, enum core_role role, uint32_t count)
{
    return !queue->in_order && role != CORE_WORK && count == 0 ? queue->open : 1;
}

static void follow_queue(struct core_queue *queue, struct core_command *command,
                         enum core_role role, uint32_t count, struct core_work *work)
{
    if (queue->in_order) {
        if (queue->newest != NULL)
            follow(command, queue->newest, false, !engine_orders(queue->newest, command, false),
                   work);
    } else if (role != CORE_WORK && count == 0) {
        for (struct core_command *each = queue->oldest; each != NULL; each = each->newer)
            follow(command, each, false, true, work);
    } else if (queue->barrier != NULL) {
        follow(command, queue->barrier, false, true, work);
    }
}

static bool make_room(struct core_command *command, uint32_t links)
{
    if (links <= sizeof command->few / sizeof command->few[0])
        return true;
    command->links = calloc(links, sizeof *command->links);
    return command->links != NULL;
}

/* It was never enqueued. */
static void discard(struct core_command *command)
{
    command->links = command->few;
    atomic_store(&command->references, 1);
    core_release(command);
}

struct core_command *core_enqueue(struct core_queue *queue, enum core_role role, bool decided,
                                  uint64_t epoch, const void *operation, size_t size,
                                  uint32_t count, struct core_command *const *wait_list)
{
    struct core_command *command = new_command(queue, 2, operation, size);
    if (command == NULL)
        return NULL;
    command->decided = decided;
    command->times[CL_QUEUED] = queue->engine != NULL ? queue->engine->now() : 0;

    struct core_work work;
    core_begin_work(&work);
    core_lock();
    if ((core_is_carried(command) && !core_admits(queue, epoch)) ||
        !make_room(command, followed(queue, role, count) + count + 1)) { /* one for end_in_turn() */
        core_unlock();
        discard(command);
        return NULL;
    }
    for (uint32_t i = 0; i < count; i++)
        follow(command, wait_list[i], true, !engine_orders(wait_list[i], command, true), &work);
    follow_queue(queue, command, role, count, &work);
    enter(queue, command);
    if (role == CORE_BARRIER)
        queue->barrier = command;
    if (command->unmet == 0)
        make_ready(command, &work);
    struct core_command *old =
        queue->open > MANY_OPEN && core_is_carried(queue->oldest) ? queue->oldest : NULL;
    if (old != NULL)
        core_retain(old);
    core_unlock();
    core_do(&work);
    if (old != NULL) {
        core_note_carried(old, false);
        core_release(old);
    }
    return command;
}

static int32_t error_of(const struct core_command *command)
{
    for (uint32_t i = 0; command->error == 0 && i < command->link_count; i++)
        if (command->links[i].listed && atomic_load(&command->links[i].before->status) < 0)
            return CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
    return command->error;
}

/* Commands that have ended and were not dropped yet, of the present generation and of the one
 * before. Whoever settles begins a new one, so that ends that come later do not keep it waiting. */
static _Atomic uint32_t endings[2];
static bool generation, is_settling;
static _Atomic uint32_t settled; /* counts */
#ifndef CORE_EXPLORED
_Thread_local bool core_is_ending;
#endif

bool core_note_end(struct core_command *command, int32_t status, struct core_work *work)
{
    struct core_queue *queue = command->queue;
    if (atomic_load(&command->status) <= CL_COMPLETE)
        return false;
    if (status == CL_COMPLETE)
        status = error_of(command);
    command->generation = generation;
    atomic_fetch_add(&endings[generation], 1); /* before others can see the end */
    atomic_store(&command->status, status);
    core_pause();
    if (queue != NULL)
        leave(queue, command, work);
    satisfy(command, true, work);
    core_queue_callbacks(command, status);
    core_step(command);
    command->next_ended = work->ended;
    work->ended = command;
    return true;
}

/* A command that does not run ends in its turn, too: those behind it follow the ones before it. */
static void end_in_turn(struct core_command *command, int32_t error, struct core_work *work)
{
    core_lock();
    command->error = error;
    if (command->queue->in_order && command->older != NULL)
        follow(command, command->older, false, true, work);
    else
        core_note_end(command, error, work);
    core_unlock();
}

static void reach(struct core_command *command, int32_t status)
{
    core_lock();
    if (atomic_load(&command->status) > status) {
        atomic_store(&command->status, status);
        if (command->queue != NULL && command->queue->engine != NULL)
            command->times[status] = command->queue->engine->now();
        core_queue_callbacks(command, status);
    }
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
        if (!link->until_ended && !is_in_lane)
            after[count++] = link->before->event;
    }
    int32_t status = queue->engine->submit(queue->lane, command->operation, count,
                                           count != 0 ? after : NULL, event);
    if (after != few)
        free(after);
    return status;
}

bool core_begin_directly(struct core_queue *queue, uint64_t epoch)
{
    core_lock();
    bool may = queue->open == 0 && core_admits(queue, epoch);
    if (may) {
        queue->is_direct = true;
        core_enter(queue);
    }
    core_unlock();
    return may;
}

void core_end_directly(struct core_queue *queue)
{
    struct core_work work;
    core_begin_work(&work);
    core_lock();
    queue->is_direct = false;
    core_leave(queue, &work);
    core_unlock();
    core_do(&work);
}

static void submit(struct core_command *command, struct core_work *work)
{
    void *event = NULL;
    int32_t error = give_to_engine(command, &event);
    if (error != CL_SUCCESS) {
        end_in_turn(command, error, work);
        return;
    }
    core_lock();
    atomic_store(&command->event, event);
    satisfy(command, false, work);
    if (command->followers != NULL || command->callbacks != NULL || command->observed)
        core_watch(command, work);
    core_step(command);
    core_unlock();
}

static void dispatch(struct core_command *command, struct core_work *work)
{
    int32_t error = error_of(command);
    if (error != CL_SUCCESS) {
        end_in_turn(command, error, work);
        return;
    }
    reach(command, CL_SUBMITTED);
    if (core_is_carried(command))
        submit(command, work);
    else if (command->decided)
        command->queue->ready(command);
    else
        end_in_turn(command, CL_COMPLETE, work);
}

/* Nobody follows it any more, and it follows nobody. */
static void drop(struct core_command *command)
{
    bool of = command->generation, was_ending = core_is_ending;
    core_is_ending = true;
    if (core_is_carried(command))
        command->queue->engine->ended(command->operation, atomic_load(&command->status));
    core_is_ending = was_ending;
    for (uint32_t i = 0; i < command->link_count; i++)
        core_release(command->links[i].before);
    core_release(command);
    if (atomic_fetch_sub(&endings[of], 1) == 1)
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
        uint32_t seen = atomic_load(&settled);
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
    if (core_is_ending || (atomic_load(&endings[0]) == 0 && atomic_load(&endings[1]) == 0))
        return;
    begin_to_settle();
    _Atomic uint32_t *left = &endings[!generation]; /* nobody else changes the generation now */
    for (uint32_t seen; (seen = atomic_load(left)) != 0;)
        core_sleep(left, seen);
    core_lock();
    is_settling = false;
    core_unlock();
    atomic_fetch_add(&settled, 1);
    core_wake(&settled);
}

static void ended(void *data);

static void notify(struct core_command *command)
{
    if (command->queue->engine->notify(command->event, ended, command) != CL_SUCCESS)
        ended(command); /* the thread that observes waits for it instead */
}

void core_do(struct core_work *work)
{
    for (;;) {
        struct core_command *command;
        struct core_held *held;
        if ((command = work->ready) != NULL) {
            work->ready = command->next_ready;
            if (work->ready == NULL)
                work->last_ready = &work->ready;
            dispatch(command, work);
        } else if ((command = work->watched) != NULL) {
            work->watched = command->next_watched;
            notify(command);
        } else if ((command = work->ended) != NULL) {
            work->ended = command->next_ended;
            drop(command);
        } else if ((held = work->idle) != NULL) {
            work->idle = held->next_idle;
            core_call_idle(held);
        } else {
            return;
        }
    }
}

void core_begin(struct core_command *command)
{
    reach(command, CL_RUNNING);
}

bool core_end(struct core_command *command, int32_t status)
{
    struct core_work work;
    core_begin_work(&work);
    if (command->queue != NULL && command->queue->engine != NULL)
        command->times[CL_COMPLETE] = command->queue->engine->now();
    core_lock();
    bool first = core_note_end(command, status, &work);
    core_unlock();
    core_do(&work);
    return first;
}

/* Commands whose end the engine has notified the core of. */
static struct core_command *noted, **last_noted = &noted;
static _Atomic uint32_t notes;

void core_watch(struct core_command *command, struct core_work *work)
{
    if (command->watched)
        return;
    command->watched = true;
    core_retain(command);
    command->next_watched = work->watched;
    work->watched = command;
}

void core_observe_open(struct core_queue *queue, struct core_work *work)
{
    for (struct core_command *each = queue->newest; each != NULL; each = each->older) {
        if (!core_is_carried(each))
            continue;
        each->observed = true;
        if (each->event != NULL)
            core_watch(each, work);
        if (queue->in_order) /* those before it are noted with it */
            return;
    }
}

void core_observe_command(struct core_command *command)
{
    struct core_work work;
    core_begin_work(&work);
    core_lock();
    command->observed = true;
    if (command->event != NULL)
        core_watch(command, &work);
    core_unlock();
    core_do(&work);
}

void core_observe_queue(struct core_queue *queue)
{
    struct core_work work;
    core_begin_work(&work);
    core_lock();
    core_observe_open(queue, &work);
    core_unlock();
    core_do(&work);
}

static void ended(void *data)
{
    struct core_command *command = data;
    core_lock();
    command->next_watched = NULL;
    *last_noted = command;
    last_noted = &command->next_watched;
    atomic_fetch_add(&notes, 1);
    core_unlock();
    core_wake(&notes);
}

void core_observe(void)
{
    for (;;) {
        core_lock();
        uint32_t seen = atomic_load(&notes);
        struct core_command *command = noted;
        if (command != NULL) {
            noted = command->next_watched;
            if (noted == NULL)
                last_noted = &noted;
        }
        bool over = command == NULL && core_is_closed;
        core_unlock();
        if (over)
            return;
        if (command == NULL) {
            core_sleep(&notes, seen);
        } else {
            core_note_carried(command, true);
            core_release(command);
        }
    }
}

void core_wake_observer(void)
{
    atomic_fetch_add(&notes, 1);
    core_wake(&notes);
}
