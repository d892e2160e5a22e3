/* SPDX-License-Identifier: Apache-2.0
 *
 * Status, times, waits and callbacks of commands. */
#include "command.h"

#include <stdlib.h>

bool core_is_closed, core_server_rests;

/* Callbacks whose time has come, in this order. */
struct callbacks {
    struct core_callback *first, **last;
};

static struct callbacks due = {NULL, &due.first};
static struct core_word dues;
static _Atomic uint32_t sleeping_servers;

void core_wake_servers(void)
{
    atomic_fetch_add(&dues.value, 1);
    core_wake(&dues);
}

/* Makes sleeping threads look again. The lock is held. */
void core_step(struct core_command *command)
{
    atomic_fetch_add(&command->steps.value, 1);
    core_wake(&command->steps);
    if (atomic_load(&sleeping_servers) != 0)
        core_wake_servers();
}

/* DEEPEST: the most callbacks within each other. */
#ifdef CORE_EXPLORED
enum { NOTED_TOGETHER = 2, DEEPEST = 2 };
#else
enum { NOTED_TOGETHER = 16, DEEPEST = 16 };
#endif

/* Writes the oldest commands of an in-order queue up to `command`, as far as the engine has
 * them, or `command` alone, with references. Returns 0 if its end has been noted. */
static uint32_t find_oldest(struct core_command *command, struct core_command **found)
{
    const struct core_queue *queue = command->queue;
    uint32_t count = 0;
    core_lock();
    struct core_command *each = queue->in_order ? queue->oldest : command;
    if (atomic_load(&command->status) <= CL_COMPLETE)
        each = NULL;
    while (each != NULL && each->event != NULL && count < NOTED_TOGETHER) {
        core_retain(each);
        found[count++] = each;
        each = each == command ? NULL : each->newer;
    }
    core_unlock();
    return count;
}

static int32_t ask_engine(struct core_command *command, bool ended)
{
    const struct core_engine *engine = command->queue->lane.engine;
    int32_t status = engine->status(command->event);
    if (status <= CL_COMPLETE || !ended)
        return status;
    engine->wait(command->event);
    return engine->status(command->event);
}

static void note_ends(uint32_t count, struct core_command *const *commands, const int32_t *statuses)
{
    struct core_work work;
    core_begin_work(&work);
    for (uint32_t i = 0; i < count; i++)
        core_note_end(commands[i], statuses[i], &work);
    core_end_work(&work);
}

void core_note_carried(struct core_command *command, bool ended)
{
    struct core_command *found[NOTED_TOGETHER];
    int32_t statuses[NOTED_TOGETHER];
    uint32_t count, over = 0;
    do {
        count = find_oldest(command, found);
        for (over = 0; over < count; over++)
            if ((statuses[over] = ask_engine(found[over], ended)) > CL_COMPLETE)
                break;
        if (over != 0)
            note_ends(over, found, statuses);
        for (uint32_t i = 0; i < count; i++)
            core_release(found[i]);
    } while (count != 0 && over == count);
}

int32_t core_status(struct core_command *command)
{
    int32_t known = atomic_load(&command->status);
    void *event = atomic_load(&command->event);
    if (known <= CL_COMPLETE || event == NULL)
        return known;
    int32_t status = command->queue->lane.engine->status(event);
    if (status > CL_COMPLETE)
        return status < known ? status : known;
    core_note_carried(command, true);
    return atomic_load(&command->status);
}

bool core_has_ended(const struct core_command *command)
{
    return atomic_load(&command->status) <= CL_COMPLETE;
}

/* Removes and returns the first one, or NULL. The lock is held for `due`. */
static struct core_callback *next_of(struct callbacks *callbacks)
{
    struct core_callback *callback = callbacks->first;
    if (callback != NULL && (callbacks->first = callback->next) == NULL)
        callbacks->last = &callbacks->first;
    return callback;
}

/* A callback that runs while a caller waits does not take what it makes ready, because the wait
 * may need that. */
static void call(struct core_callback *callback)
{
    bool was_taking = core_is_taking;
    core_is_taking = false;
    core_depth++;
    callback->call(callback->command, callback->status, callback->data);
    core_depth--;
    core_is_taking = was_taking;
    core_release(callback->command);
    free(callback);
}

bool core_in_callback(void)
{
    return core_depth != 0;
}

/* Makes one callback. Returns false if none is due. */
static bool serve_one(void)
{
    core_lock();
    struct core_callback *callback = next_of(&due);
    core_unlock();
    if (callback != NULL)
        call(callback);
    return callback != NULL;
}

static bool is_not_in_engine(struct core_command *command)
{
    return atomic_load(&command->status) > CL_COMPLETE && atomic_load(&command->event) == NULL;
}

/* Makes a callback that is due, or sleeps until one is. A wait within a callback calls it, because
 * the command may wait for what another callback does. */
static void serve_for(struct core_command *command)
{
    core_pause();
    atomic_fetch_add(&sleeping_servers, 1);
    uint32_t seen = atomic_load(&dues.value);
    if (!serve_one() && is_not_in_engine(command))
        core_sleep(&dues, seen);
    atomic_fetch_sub(&sleeping_servers, 1);
}

/* Waits for the command without settling. */
static int32_t wait_for(struct core_command *command)
{
    for (;;) {
        uint32_t seen =
            atomic_load(&command->steps.value); /* before the status: see core_sleep() */
        core_pause();
        int32_t status = atomic_load(&command->status);
        void *event = atomic_load(&command->event);
        if (status <= CL_COMPLETE)
            return status;
        if (event != NULL) {
            command->queue->lane.engine->wait(event);
            core_note_carried(command, true);
        } else if (core_is_serving) {
            serve_for(command);
        } else {
            core_sleep(&command->steps, seen);
        }
    }
}

int32_t core_wait(struct core_command *command)
{
    int32_t status = wait_for(command);
    core_settle();
    return status;
}

uint64_t core_enqueued(struct core_queue *queue)
{
    core_lock();
    uint64_t enqueued = queue->enqueued;
    core_unlock();
    return enqueued;
}

struct core_command *core_unfinished(struct core_queue *queue, uint64_t last, uintptr_t *known)
{
    core_lock();
    struct core_command *command = queue->in_order ? queue->newest : queue->oldest;
    while (queue->in_order && command != NULL && command->number > last)
        command = command->older;
    if (command != NULL && command->number > last)
        command = NULL;
    if (command != NULL) {
        core_retain(command);
        *known = command->known;
    }
    core_unlock();
    if (command == NULL)
        core_settle();
    return command;
}

void core_finish(struct core_queue *queue)
{
    uint64_t last = core_enqueued(queue);
    struct core_command *command;
    uintptr_t known;
    while ((command = core_unfinished(queue, last, &known)) != NULL) {
        wait_for(command);
        core_release(command);
    }
}

/* Returns the next carried command behind `behind`, or the first, with a reference. `in_engine`:
 * the next whose end has to be noted; in an in-order queue the newest one stands for all. */
static struct core_command *next_behind(const struct core_queue *queue,
                                        const struct core_command *behind, bool in_engine)
{
    uint64_t number = behind != NULL ? behind->number : 0;
    core_lock();
    bool is_there = behind != NULL && atomic_load(&behind->status) > CL_COMPLETE;
    struct core_command *next = is_there ? behind->newer : queue->oldest;
    if (in_engine && queue->in_order)
        next = behind == NULL ? queue->submitted : NULL;
    while (next != NULL &&
           (next->number <= number || (in_engine ? next->event == NULL : !core_is_carried(next))))
        next = next->newer;
    if (next != NULL)
        core_retain(next);
    core_unlock();
    return next;
}

struct core_command *core_next(struct core_queue *queue, const struct core_command *behind)
{
    return next_behind(queue, behind, false);
}

void core_note_queue(struct core_queue *queue, bool all)
{
    struct core_command *command = NULL, *next;
    bool is_open = false;
    do {
        next = next_behind(queue, command, true);
        if (command != NULL)
            core_release(command);
        if ((command = next) != NULL) {
            core_note_carried(command, false);
            is_open |= atomic_load(&command->status) > CL_COMPLETE;
        }
    } while (command != NULL && (all || !is_open));
    if (command != NULL)
        core_release(command);
}

void core_times(struct core_command *command, uint64_t times[4])
{
    uint64_t begin = 0, end = 0;
    bool is_known = atomic_load(&command->has_times) || command->event == NULL;
    if (!is_known)
        command->queue->lane.engine->times(command->event, &begin, &end);
    core_lock();
    if (!is_known && !atomic_load(&command->has_times)) {
        uint64_t earliest =
            command->times[CL_SUBMITTED]; /* the clocks of the two may differ a little */
        command->times[CL_RUNNING] = begin > earliest ? begin : earliest;
        command->times[CL_COMPLETE] = command->times[CL_RUNNING] + (end - begin);
        atomic_store(&command->has_times, true);
    }
    for (int i = 0; i < 4; i++)
        times[i] = command->times[i];
    core_unlock();
}

/* The lock is held. */
static void make_due(struct core_callback *callback, struct callbacks *callbacks)
{
    core_retain(callback->command);
    callback->next = NULL;
    *callbacks->last = callback;
    callbacks->last = &callback->next;
    if (callbacks == &due)
        core_wake_servers();
}

/* Makes the callbacks for a state due, with the status of the command if that is an error. */
static void make_due_at(struct core_command *command, int32_t state, int32_t status,
                        struct callbacks *callbacks)
{
    struct core_callback **place = &command->callbacks;
    while (*place != NULL) {
        struct core_callback *callback = *place;
        if (callback->status != state) {
            place = &callback->next;
            continue;
        }
        *place = callback->next;
        if (status < 0)
            callback->status = status;
        make_due(callback, callbacks);
    }
}

static void make_all_due(struct core_command *command, int32_t status, struct callbacks *callbacks)
{
    int32_t last = status > CL_COMPLETE ? status : CL_COMPLETE;
    for (int32_t state = CL_SUBMITTED; state >= last && command->callbacks != NULL; state--)
        make_due_at(command, state, status, callbacks);
}

void core_queue_callbacks(struct core_command *command, int32_t status)
{
    make_all_due(command, status, &due);
}

/* Returns the list for callbacks of a command; `own`: the one that the calling thread works off. */
static struct callbacks *list_for(const struct core_command *command, struct callbacks *own)
{
    return command->queue == NULL && core_depth < DEEPEST ? own : &due;
}

static void call_all(struct callbacks *own)
{
    struct core_callback *callback;
    while ((callback = next_of(own)) != NULL)
        call(callback);
}

void core_call_back(struct core_command *event)
{
    struct callbacks own = {NULL, &own.first};
    core_lock();
    make_all_due(event, atomic_load(&event->status), list_for(event, &own));
    core_unlock();
    call_all(&own);
}

void *core_drop_callback(struct core_command *event)
{
    struct core_callback *dropped = NULL;
    core_lock();
    if (event->queue == NULL && atomic_load(&event->status) > CL_COMPLETE)
        dropped = event->callbacks;
    if (dropped != NULL)
        event->callbacks = dropped->next;
    core_unlock();
    void *data = dropped != NULL ? dropped->data : NULL;
    free(dropped);
    return data;
}

bool core_callback(struct core_command *command, int32_t status,
                   void (*call)(struct core_command *command, int32_t status, void *data),
                   void *data)
{
    struct core_callback *callback = malloc(sizeof *callback);
    struct callbacks own = {NULL, &own.first};
    struct core_work work;
    if (callback == NULL)
        return false;
    *callback = (struct core_callback){call, data, status, command, NULL};
    core_begin_work(&work);
    int32_t now = atomic_load(&command->status);
    if (now <= status) {
        if (now < 0)
            callback->status = now;
        make_due(callback, list_for(command, &own));
    } else {
        struct core_callback **place = &command->callbacks;
        while (*place != NULL)
            place = &(*place)->next;
        *place = callback;
        if (command->event != NULL)
            core_watch(command, &work);
    }
    core_end_work(&work);
    call_all(&own);
    return true;
}

/* It notes ends before it makes a callback: what waits for them may not wait for the callback. */
void core_serve(void)
{
    bool over = false;
    core_is_serving = true;
    while (!over) {
        uint32_t seen = atomic_load(&dues.value);
        core_lock();
        struct core_command *ended = core_next_noted();
        struct core_callback *callback = ended == NULL ? next_of(&due) : NULL;
        bool is_idle = ended == NULL && callback == NULL;
        over = is_idle && core_is_closed;
        core_server_rests = is_idle && !over;
        core_unlock();
        core_is_ending = ended != NULL;
        if (ended != NULL)
            core_note(ended);
        else if (callback != NULL)
            call(callback);
        else if (!over)
            core_rest(&dues, seen);
    }
}

void core_open(void)
{
    core_lock();
    core_is_closed = false;
    core_unlock();
}

void core_close(void)
{
    core_lock();
    core_is_closed = true;
    core_unlock();
    core_wake_servers();
    core_wake_observer();
}
