/* SPDX-License-Identifier: Apache-2.0
 *
 * The list of decided commands that are ready, and the search for what a waiting thread can do. */
#include "command.h"

#include <stdlib.h>

enum { WALK = 64 }; /* steps of core_needed() */

_Atomic uint32_t core_decided;

struct core_caller *core_caller_new(void (*call)(void *data), void *data)
{
    struct core_caller *caller = calloc(1, sizeof *caller);
    if (caller == NULL)
        return NULL;
    atomic_store(&caller->references, 1);
    caller->call = call;
    caller->data = data;
    caller->last_ready = &caller->ready;
    return caller;
}

void core_caller_release(struct core_caller *caller)
{
    if (atomic_fetch_sub(&caller->references, 1) == 1)
        free(caller);
}

static void tell(struct core_caller *caller, struct core_work *work)
{
    work->has_ready = true;
    if (!work->takes)
        core_call_soon(caller);
}

void core_announce(struct core_command *command, struct core_work *work)
{
    struct core_caller *caller = command->queue->caller;
    command->error = core_error(command);
    if (command->error == CL_SUCCESS) {
        atomic_store(&command->status, CL_SUBMITTED);
        core_queue_callbacks(command, CL_SUBMITTED);
    }
    command->next_ready = NULL;
    *caller->last_ready = command;
    caller->last_ready = &command->next_ready;
    tell(caller, work);
}

void core_stops(struct core_caller *caller, struct core_work *work)
{
    if (--caller->moving == 0 && caller->awaits_rest)
        tell(caller, work);
}

bool core_is_at_rest(struct core_caller *caller)
{
    core_lock();
    bool is_at_rest = caller->moving == 0;
    caller->awaits_rest = !is_at_rest;
    core_unlock();
    return is_at_rest;
}

uint32_t core_take_ready(struct core_caller *caller, uint32_t most, uintptr_t *known,
                         int32_t *errors)
{
    uint32_t count = 0;
    core_lock();
    while (count < most && caller->ready != NULL) {
        const struct core_command *command = caller->ready;
        caller->ready = command->next_ready;
        errors[count] = command->error;
        known[count++] = command->known;
    }
    if (caller->ready == NULL)
        caller->last_ready = &caller->ready;
    core_unlock();
    return count;
}

bool core_has_ready(struct core_caller *caller)
{
    core_lock();
    bool has_ready = caller->ready != NULL;
    core_unlock();
    return has_ready;
}

bool core_waits_alone(struct core_command *command)
{
    return command->queue == NULL || atomic_load(&command->status) <= CL_COMPLETE ||
           atomic_load(&command->event) != NULL || atomic_load(&core_decided) == 0;
}

bool core_finishes_alone(struct core_queue *queue)
{
    if (atomic_load(&core_decided) == 0)
        return true;
    core_lock();
    bool has_all = queue->in_engine == queue->open;
    core_unlock();
    return has_all;
}

/* Returns a command that `command` waits for: one that the caller may run, or else one that
 * the engine has. */
static struct core_command *unfinished(const struct core_command *command)
{
    struct core_command *carried = NULL;
    for (uint32_t i = 0; i < command->link_count; i++) {
        struct core_command *before = command->links[i].before;
        int32_t status = atomic_load(&before->status);
        if (status <= CL_COMPLETE || before->queue == NULL)
            continue;
        if (before->event == NULL && status > CL_RUNNING)
            return before;
        if (before->event != NULL)
            carried = before;
    }
    return carried;
}

uintptr_t core_needed(struct core_command *command, struct core_command **carried)
{
    uintptr_t known = 0;
    *carried = NULL;
    core_lock();
    for (int i = 0; i < WALK && command != NULL && *carried == NULL && known == 0; i++) {
        struct core_queue *queue = command->queue;
        int32_t status = atomic_load(&command->status);
        if (queue == NULL || status <= CL_COMPLETE || command->handed_over)
            break;
        if (command->event != NULL) {
            core_retain(command);
            *carried = command;
        } else if (status <= CL_RUNNING) {
            break;
        } else if (command->decided && command->unmet == 0) {
            known = command->known;
        } else if (queue->in_order && queue->oldest != command) {
            command = queue->submitted != NULL ? queue->submitted : queue->oldest;
        } else {
            command = unfinished(command);
        }
    }
    core_unlock();
    return known;
}

void core_wait_for_caller(struct core_command *command)
{
    bool was_taking = core_is_taking;
    core_is_taking = true;
    core_wait(command);
    core_is_taking = was_taking;
}

uint32_t core_awaited(struct core_command *command, uint32_t most, uintptr_t *known)
{
    uint32_t count = 0;
    core_lock();
    bool is_open = atomic_load(&command->status) > CL_COMPLETE;
    for (uint32_t i = 0; is_open && i < command->link_count && count < most; i++) {
        const struct core_command *before = command->links[i].before;
        if (before->decided && before->known != 0 && atomic_load(&before->status) > CL_COMPLETE)
            known[count++] = before->known;
    }
    core_unlock();
    return count;
}

uint32_t core_followers(struct core_command *command)
{
    uint32_t count = 0;
    core_lock();
    for (const struct core_link *each = command->followers; each != NULL; each = each->next)
        count++;
    core_unlock();
    return count;
}

uint32_t core_sleepers(struct core_command *command)
{
    return atomic_load(&command->steps.sleepers);
}

/* Links the commands that wait for `event`, directly or indirectly, by next_ready, which is free
 * because none of them is ready. */
uint32_t core_forget(struct core_command *event, uint32_t most, uintptr_t *known)
{
    static uint64_t visits;
    struct core_command *last = event;
    uint32_t count = 0;
    core_lock();
    bool is_open = event->queue == NULL && atomic_load(&event->status) > CL_COMPLETE;
    visits++;
    event->next_ready = NULL; /* an earlier call has left its list there */
    for (struct core_command *each = is_open ? event : NULL; each != NULL && count < most;
         each = each->next_ready) {
        for (const struct core_link *link = each->followers; link != NULL; link = link->next) {
            if (link->follower->visit == visits)
                continue;
            link->follower->visit = visits;
            link->follower->next_ready = NULL;
            last = last->next_ready = link->follower;
        }
        if (each->known != 0)
            known[count++] = each->known;
        each->known = 0;
    }
    core_unlock();
    return count;
}
