/* SPDX-License-Identifier: Apache-2.0
 *
 * Command queues: the commands that each new one follows. */
#include "command.h"

#include <stdlib.h>
#include <string.h>

#ifndef CORE_EXPLORED
pthread_mutex_t core_mutex = PTHREAD_MUTEX_INITIALIZER;
#endif

/* While more than MANY_OPEN commands are open, one of NOTED_EVERY new ones notes the ends of up
 * to NOTED of the next LOOKED_AT. */
#ifdef CORE_EXPLORED
enum { MANY_OPEN = 2, NOTED_EVERY = 1, NOTED = 2, LOOKED_AT = 8 };
#else
enum { MANY_OPEN = 1024, NOTED_EVERY = 16, NOTED = 32, LOOKED_AT = 128 };
#endif

struct core_queue *core_queue_new(struct core_caller *caller, bool in_order)
{
    struct core_queue *queue = calloc(1, sizeof *queue);
    if (queue == NULL)
        return NULL;
    atomic_fetch_add(&caller->references, 1);
    queue->caller = caller;
    queue->in_order = in_order;
    atomic_store(&queue->at_once.references, 1);
    atomic_store(&queue->references, 1);
    return queue;
}

bool core_queue_carry(struct core_queue *queue, struct core_board *board,
                      const struct core_lane *lane)
{
    core_lock();
    bool is_first = queue->lane.engine == NULL;
    if (is_first) {
        queue->lane = *lane;
        core_board_add(board, queue);
    }
    core_unlock();
    return is_first;
}

void core_queue_retain(struct core_queue *queue)
{
    atomic_fetch_add(&queue->references, 1);
}

void core_queue_release(struct core_queue *queue)
{
    if (queue == NULL || atomic_fetch_sub(&queue->references, 1) != 1)
        return;
    if (queue->board != NULL)
        core_board_remove(queue->board, queue);
    if (queue->lane.freed != NULL)
        queue->lane.freed(queue->lane.lane);
    core_caller_release(queue->caller);
    free(queue);
}

void *core_lane(const struct core_queue *queue)
{
    return queue->lane.lane;
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
    struct core_command *event = new_command(NULL, 1, NULL, 0);
    if (event != NULL)
        atomic_store(&event->status, CL_SUBMITTED);
    return event;
}

bool core_is_user_event(const struct core_command *command)
{
    return command->queue == NULL;
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
        command->queue->lane.engine->release(command->event);
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
    core_lock();
    *work = (struct core_work){
        .last_ready = &work->ready, .last_ended = &work->ended, .takes = core_is_taking};
}

void core_make_ready(struct core_command *command, struct core_work *work)
{
    if (command->decided) {
        core_announce(command, work);
        return;
    }
    command->next_ready = NULL;
    *work->last_ready = command;
    work->last_ready = &command->next_ready;
}

bool core_is_carried(const struct core_command *command)
{
    return command->queue != NULL && !command->decided;
}

bool core_is_decided(const struct core_command *command)
{
    return command->decided;
}

/* Returns true if the engine keeps the order of the two once it has the first: by a wait list, or
 * in a lane that is in order. The second is being enqueued. */
static bool engine_orders(const struct core_command *before, const struct core_command *command)
{
    return core_is_carried(before) && !before->handed_over && core_is_carried(command) &&
           before->queue->lane.engine == command->queue->lane.engine;
}

/* Adds a link whose condition is not met. */
static void await(struct core_link *link, struct core_work *work)
{
    struct core_command *before = link->before;
    if (link->follower->unmet++ == 0)
        core_stops(link->follower->queue->caller, work);
    link->next = before->followers;
    before->followers = link;
    if (link->until_ended && before->event != NULL)
        core_watch(before, work);
}

void core_follow(struct core_command *command, struct core_command *before, bool listed,
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
    if (link->until_ended || before->event == NULL)
        await(link, work);
}

void core_follow_ends(struct core_command *command, struct core_work *work)
{
    for (uint32_t i = 0; i < command->link_count; i++) {
        struct core_link *link = &command->links[i];
        link->until_ended = true;
        if (atomic_load(&link->before->status) > CL_COMPLETE)
            await(link, work);
    }
}

void core_satisfy(struct core_command *before, bool ended, struct core_work *work)
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
        link->next = first; /* reverses the order, as the newest link comes first */
        first = link;
    }
    for (; first != NULL; first = first->next) {
        struct core_command *follower = first->follower;
        if (--follower->unmet != 0)
            continue;
        follower->queue->caller->moving++;
        core_make_ready(follower, work);
    }
}

static void enter(struct core_queue *queue, struct core_command *command, struct core_work *work)
{
    command->older = queue->newest;
    if (queue->newest != NULL)
        queue->newest->newer = command;
    else
        queue->oldest = command;
    queue->newest = command;
    command->number = ++queue->enqueued;
    queue->open++;
    if (command->decided) {
        atomic_fetch_add(&core_decided, 1);
        return;
    }
    command->admitted = command->unmet == 0 && core_is_for_engine(command);
    if (!command->admitted)
        return;
    core_admit(queue, command->kind);
    core_occupy(command, work);
    atomic_store(&command->status, CL_SUBMITTED); /* nobody has seen it: no callback is due */
    command->times[CL_SUBMITTED] = command->times[CL_QUEUED];
}

/* Returns the barrier that later commands follow when `barrier` has ended. One that has failed with
 * its wait list may have ended before an earlier one. */
static struct core_command *barrier_before(const struct core_command *barrier)
{
    struct core_command *each = atomic_load(&barrier->status) < 0 ? barrier->older : NULL;
    while (each != NULL && !each->is_barrier)
        each = each->older;
    return each;
}

void core_leave_queue(struct core_queue *queue, struct core_command *command,
                      struct core_work *work)
{
    if (command->older != NULL)
        command->older->newer = command->newer;
    else
        queue->oldest = command->newer;
    if (command->newer != NULL)
        command->newer->older = command->older;
    else
        queue->newest = command->older;
    if (queue->next_noted == command)
        queue->next_noted = command->newer;
    if (queue->submitted == command)
        queue->submitted = NULL;
    queue->in_engine -= command->event != NULL;
    if (queue->barrier == command)
        queue->barrier = barrier_before(command);
    queue->open--;
    if (command->is_begun)
        core_runs(queue, false);
    if (command->decided)
        atomic_fetch_sub(&core_decided, 1);
    else if (command->admitted) {
        core_vacate(command);
        core_leave(queue, command->kind, work);
    }
}

/* For a marker or barrier that follows all before it: returns the next older command that it has
 * to follow itself, or NULL. */
static struct core_command *next_followed(const struct core_command *each)
{
    return each->follows_all ? NULL : each->older;
}

/* Returns the largest number of commands of its own queue that a new one may follow. */
static uint32_t followed(const struct core_queue *queue, enum core_role role, uint32_t count)
{
    if (queue->in_order || role == CORE_WORK || count != 0)
        return 1;
    uint32_t number = 0;
    for (const struct core_command *each = queue->newest; each != NULL; each = next_followed(each))
        number++;
    return number;
}

static void follow_queue(struct core_queue *queue, struct core_command *command,
                         enum core_role role, uint32_t count, struct core_work *work)
{
    if (queue->in_order) {
        struct core_command *newest = queue->newest;
        if (newest == NULL && queue->direct != NULL)
            newest = &queue->at_once;
        if (newest != NULL)
            core_follow(command, newest, false, !engine_orders(newest, command), work);
    } else if (role != CORE_WORK && count == 0) {
        for (struct core_command *each = queue->newest; each != NULL; each = next_followed(each))
            core_follow(command, each, false, !engine_orders(each, command), work);
        command->follows_all = true;
    } else if (queue->barrier != NULL) {
        core_follow(command, queue->barrier, false, !engine_orders(queue->barrier, command), work);
    }
}

static bool make_room(struct core_command *command, uint32_t links)
{
    if (links <= sizeof command->few / sizeof command->few[0])
        return true;
    command->links = calloc(links, sizeof *command->links);
    return command->links != NULL;
}

/* Frees a command that was not enqueued. */
static void discard(struct core_command *command)
{
    atomic_store(&command->references, 1);
    core_release(command);
}

/* Links a command and adds it to its queue. Returns false without memory. The lock is held. */
static bool put(struct core_queue *queue, struct core_command *command, enum core_role role,
                uint32_t count, struct core_command *const *wait_list, struct core_work *work)
{
    uint32_t cores = command->decided ? 0 : core_cores(queue, command->kind);
    if (!make_room(command, followed(queue, role, count) + count + cores))
        return false;
    queue->caller->moving++;
    for (uint32_t i = 0; i < count; i++)
        core_follow(command, wait_list[i], true, !engine_orders(wait_list[i], command), work);
    follow_queue(queue, command, role, count, work);
    enter(queue, command, work);
    command->is_barrier = role == CORE_BARRIER;
    if (command->is_barrier)
        queue->barrier = command;
    if (command->unmet == 0)
        core_make_ready(command, work);
    return true;
}

/* Returns true if all open commands have ended when `newest` has. The lock is held. */
static bool is_last(const struct core_queue *queue, const struct core_command *newest)
{
    const struct core_command *barrier = queue->barrier;
    return newest->older == NULL || newest->follows_all ||
           (newest->older == barrier && barrier->follows_all);
}

/* Lets later commands follow an earlier one, if that is as good as a barrier. The lock is held. */
static bool is_barred(struct core_queue *queue, struct core_command *listed)
{
    struct core_command *command = listed != NULL ? listed : queue->newest;
    if (command == NULL || atomic_load(&command->status) == CL_COMPLETE)
        return true;
    if (atomic_load(&command->status) < 0 || command->queue != queue)
        return false;
    if (listed == NULL && !is_last(queue, command))
        return false;
    if (queue->barrier != NULL && command->number < queue->barrier->number)
        return false;
    command->follows_all |= listed == NULL;
    command->is_barrier = true;
    queue->barrier = command;
    return true;
}

bool core_keeps_order(struct core_queue *queue, enum core_role role, uint32_t count,
                      struct core_command *const *wait_list)
{
    if (queue->in_order)
        return count == 0;
    if (role == CORE_MARKER || count > 1)
        return role == CORE_MARKER;
    core_lock();
    bool is = is_barred(queue, count != 0 ? wait_list[0] : NULL);
    core_unlock();
    return is;
}

struct core_command *core_decide(struct core_queue *queue, enum core_role role, uintptr_t known,
                                 uint32_t count, struct core_command *const *wait_list)
{
    struct core_command *command = new_command(queue, 2, NULL, 0);
    struct core_work work;
    if (command == NULL)
        return NULL;
    command->decided = true;
    command->known = known;
    core_begin_work(&work);
    work.takes = true;
    bool is_put = put(queue, command, role, count, wait_list, &work);
    core_end_work(&work);
    if (!is_put) {
        discard(command);
        return NULL;
    }
    return command;
}

/* Returns some commands, others each time, whose end may never be asked for, with references.
 * Of an in-order queue it is one, which stands for those before it. The lock is held. */
static uint32_t find_some(struct core_queue *queue, struct core_command **some)
{
    uint32_t count = 0;
    struct core_command *each = queue->in_order ? NULL : queue->next_noted;
    if (each == NULL)
        each = queue->oldest;
    for (int i = 0; i < LOOKED_AT && count < NOTED && each != NULL; i++, each = each->newer)
        if (each->event != NULL)
            some[count++] = each;
    queue->next_noted = each;
    if (queue->in_order && count != 0) {
        some[0] = some[count - 1];
        count = 1;
    }
    for (uint32_t i = 0; i < count; i++)
        core_retain(some[i]);
    return count;
}

struct core_command *core_enqueue(struct core_queue *queue, enum core_role role,
                                  enum core_kind kind, uint64_t epoch, const void *operation,
                                  size_t size, uint32_t count,
                                  struct core_command *const *wait_list)
{
    struct core_command *command = new_command(queue, 2, operation, size);
    if (command == NULL)
        return NULL;
    command->kind = kind;
    command->epoch = epoch;
    command->times[CL_QUEUED] = queue->lane.engine->now();

    struct core_work work;
    core_begin_work(&work);
    bool is_put = core_admits(queue, epoch) && put(queue, command, role, count, wait_list, &work);
    struct core_command *some[NOTED];
    bool does_note = is_put && queue->open > MANY_OPEN && queue->enqueued % NOTED_EVERY == 0;
    uint32_t found = does_note ? find_some(queue, some) : 0;
    core_end_work(&work);
    if (!is_put) {
        discard(command);
        return NULL;
    }
    for (uint32_t i = 0; i < found; i++) {
        core_note_carried(some[i], false);
        core_release(some[i]);
    }
    return command;
}
