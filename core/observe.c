/* SPDX-License-Identifier: Apache-2.0
 *
 * The observing thread: notes the ends of carried commands that others wait for, and calls
 * callers. While the serving thread has nothing to do, it notes the ends of commands that have
 * callbacks, because it makes these next. */
#include "command.h"

/* Commands whose end the engine has notified, and those that have to be handed over. */
static struct core_command *noted, **last_noted = &noted;
static struct core_command *handed_over, **last_handed_over = &handed_over;
static struct core_caller *called;
static struct core_word notes;

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
        if (each->event == NULL)
            continue; /* it will be watched when it is submitted */
        core_watch(each, work);
        if (queue->in_order) /* those before it are noted with it */
            return;
    }
}

void core_ended(void *data)
{
    struct core_command *command = data;
    core_lock();
    command->next_watched = NULL;
    *last_noted = command;
    last_noted = &command->next_watched;
    bool serves = core_server_rests && command->callbacks != NULL;
    core_unlock();
    if (serves)
        core_wake_servers();
    else
        core_wake_observer();
}

void core_hand_over(struct core_command *command)
{
    core_lock();
    command->next_ready = NULL;
    *last_handed_over = command;
    last_handed_over = &command->next_ready;
    core_unlock();
    core_wake_observer();
}

struct core_command *core_next_noted(void)
{
    struct core_command *first = noted, *last = first;
    if (first == NULL)
        return NULL;
    struct core_queue *queue = first->queue;
    while (queue->in_order && last->next_watched != NULL && last->next_watched->queue == queue)
        last = last->next_watched;
    if ((noted = last->next_watched) == NULL)
        last_noted = &noted;
    last->next_watched = NULL;
    return first;
}

/* If there are several, the queue is in order, so that the newest stands for all; the engine may
 * have notified them in another order. Functions that are called here must not wait, because this
 * thread notes the ends that others wait for. */
void core_note(struct core_command *command)
{
    struct core_command *newest = command;
    for (struct core_command *each = command; each != NULL; each = each->next_watched)
        if (each->number > newest->number)
            newest = each;
    core_note_carried(newest, true);
    while (command != NULL) {
        struct core_command *next = command->next_watched;
        core_release(command);
        command = next;
    }
}

void core_call_soon(struct core_caller *caller)
{
    if (caller->is_called || caller->call == NULL)
        return;
    atomic_fetch_add(&caller->references, 1);
    caller->is_called = true;
    caller->next_called = called;
    called = caller;
    core_wake_observer();
}

/* Removes and returns the first caller that has to be called. The lock is held. */
static struct core_caller *next_called(void)
{
    struct core_caller *caller = called;
    if (caller != NULL) {
        called = caller->next_called;
        caller->is_called = false;
    }
    return caller;
}

/* The functions may take locks under which other threads wait for this one. */
static void call(struct core_command *command, struct core_caller *caller)
{
    if (command != NULL) {
        command->queue->lane.hand_over(command);
    } else {
        caller->call(caller->data);
        core_caller_release(caller);
    }
}

void core_observe(void)
{
    core_is_ending = true;
    for (;;) {
        core_lock();
        uint32_t seen = atomic_load(&notes.value);
        struct core_command *ended = core_next_noted(), *ready = ended == NULL ? handed_over : NULL;
        if (ready != NULL && (handed_over = ready->next_ready) == NULL)
            last_handed_over = &handed_over;
        struct core_caller *caller = ended == NULL && ready == NULL ? next_called() : NULL;
        bool over = ended == NULL && ready == NULL && caller == NULL && core_is_closed;
        core_unlock();
        if (over)
            return;
        if (ended != NULL)
            core_note(ended);
        else if (ready != NULL || caller != NULL)
            call(ready, caller);
        else
            core_rest(&notes, seen);
    }
}

void core_wake_observer(void)
{
    atomic_fetch_add(&notes.value, 1);
    core_wake(&notes);
}
