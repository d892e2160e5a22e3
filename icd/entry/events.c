/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls about queues and about events of carried commands: waits, status, times, callbacks. Each
 * function returns 0 to leave the call to Python. */
#include "events.h"

#include "answers.h"
#include "boards.h"
#include "callbacks.h"
#include "core.h"
#include "handles.h"
#include "interpreter.h"
#include "permissions.h"
#include "remembered.h"

#include <stdlib.h>

int fpgart_finishes(const void *queue)
{
    if (!fpgart_may_carry() || !fpgart_may_wait() || !fpgart_hold((uintptr_t)queue, FPGART_QUEUE))
        return 0;
    int cancel_state, done = 0;
    fpgart_disable_cancel(&cancel_state);
    const struct fpgart_carried_queue *of = fpgart_carried_queue((uintptr_t)queue);
    if (of != NULL && core_finishes_alone(of->core)) {
        core_finish(of->core);
        done = 1;
    }
    fpgart_unhold((uintptr_t)queue, FPGART_QUEUE);
    fpgart_restore_cancel(cancel_state);
    return done;
}

int fpgart_flushes(const void *queue)
{
    if (!fpgart_may_carry() || !fpgart_hold((uintptr_t)queue, FPGART_QUEUE))
        return 0;
    const struct fpgart_carried_queue *of = fpgart_carried_queue((uintptr_t)queue);
    int done = of != NULL && core_finishes_alone(of->core);
    if (done)
        fpgart_queue_flush((uintptr_t)queue);
    fpgart_unhold((uintptr_t)queue, FPGART_QUEUE);
    return done;
}

/* Finds the facts about a user event, or the event of a carried command. The caller then
 * holds it. */
static int find_event(const void *event, struct fpgart_event *found)
{
    if (!fpgart_may_carry() || !fpgart_hold((uintptr_t)event, FPGART_EVENT))
        return 0;
    int is_found = fpgart_event_of((uintptr_t)event, found) && !core_is_decided(found->command);
    if (!is_found)
        fpgart_unhold((uintptr_t)event, FPGART_EVENT);
    return is_found;
}

/* Returns 1 if the event has succeeded and is of the same context as those before it, if any. */
static int waits_for_one(cl_event event, uintptr_t *context, int may_block)
{
    struct fpgart_event found;
    uintptr_t before = *context;
    if (fpgart_in_callback() || !find_event(event, &found))
        return fpgart_knows_success(event, context) && (before == 0 || *context == before);
    int done = before == 0 || found.context == before;
    *context = found.context;
    if (may_block)
        done = done && core_waits_alone(found.command) && core_wait(found.command) == CL_COMPLETE;
    else /* core_wait() may wait for other threads after the end, too */
        done = done && core_status(found.command) == CL_COMPLETE;
    fpgart_unhold((uintptr_t)event, FPGART_EVENT);
    return done;
}

int fpgart_waits_for(cl_uint count, const cl_event *events)
{
    uintptr_t context = 0;
    if (count == 0 || events == NULL)
        return 0;
    int cancel_state, done = 1, may_block = fpgart_may_wait();
    fpgart_disable_cancel(&cancel_state);
    for (cl_uint i = 0; done && i < count; i++)
        done = waits_for_one(events[i], &context, may_block);
    fpgart_restore_cancel(cancel_state);
    return done;
}

static int answers(const void *answer, size_t length, size_t size, void *value, size_t *size_ret)
{
    return fpgart_answer((uintptr_t)value, size, size_ret, answer, length) == CL_SUCCESS;
}

int fpgart_says_event(const void *event, cl_event_info query, size_t size, void *value,
                      size_t *size_ret)
{
    struct fpgart_event found;
    if (!find_event(event, &found))
        return 0;
    cl_int status;
    int done = 0;
    if (query == CL_EVENT_COMMAND_EXECUTION_STATUS) {
        status = core_status(found.command);
        done = answers(&status, sizeof status, size, value, size_ret);
    } else if (query == CL_EVENT_COMMAND_TYPE) {
        done = answers(&found.type, sizeof found.type, size, value, size_ret);
    } else if (query == CL_EVENT_COMMAND_QUEUE) {
        done = answers(&found.queue, sizeof found.queue, size, value, size_ret);
    } else if (query == CL_EVENT_CONTEXT) {
        done = answers(&found.context, sizeof found.context, size, value, size_ret);
    }
    fpgart_unhold((uintptr_t)event, FPGART_EVENT);
    return done;
}

int fpgart_says_times(const void *event, cl_profiling_info query, size_t size, void *value,
                      size_t *size_ret)
{
    static const int statuses[] = {CL_QUEUED, CL_SUBMITTED, CL_RUNNING, CL_COMPLETE, CL_COMPLETE};
    struct fpgart_event found;
    if (!find_event(event, &found))
        return 0;
    int done = 0;
    if (query >= CL_PROFILING_COMMAND_QUEUED && query <= CL_PROFILING_COMMAND_COMPLETE &&
        found.queue != 0 &&
        (fpgart_carried_queue(found.queue)->properties & CL_QUEUE_PROFILING_ENABLE) != 0 &&
        core_status(found.command) == CL_COMPLETE) {
        uint64_t times[4];
        core_times(found.command, times);
        done = answers(&times[statuses[query - CL_PROFILING_COMMAND_QUEUED]], sizeof times[0], size,
                       value, size_ret);
    }
    fpgart_unhold((uintptr_t)event, FPGART_EVENT);
    return done;
}

struct callback {
    void(CL_CALLBACK *call)(cl_event, cl_int, void *);
    void *data;
    uintptr_t event; /* held */
};

static void call_back(struct core_command *command, int32_t status, void *given)
{
    struct callback *callback = given;
    (void)command;
    fpgart_call_about_event((uintptr_t)callback->call, callback->event, status,
                            (uintptr_t)callback->data);
    fpgart_unhold(callback->event, FPGART_EVENT);
    free(callback);
}

/* `found`: of an event that the caller holds; it is released if this fails. */
static int calls_back(uintptr_t event, const struct fpgart_event *found, cl_int status,
                      void(CL_CALLBACK *call)(cl_event, cl_int, void *), void *data)
{
    struct callback *callback = malloc(sizeof *callback);
    if (callback != NULL) {
        *callback = (struct callback){call, data, event};
        if (core_callback(found->command, status, call_back, callback))
            return 1;
    }
    free(callback);
    fpgart_unhold(event, FPGART_EVENT);
    return 0;
}

int fpgart_view_calls_back(uintptr_t event, cl_int status, uintptr_t call, uintptr_t data)
{
    struct fpgart_event found;
    return fpgart_hold(event, FPGART_EVENT) && fpgart_event_of(event, &found) &&
           calls_back(event, &found, status, (void(CL_CALLBACK *)(cl_event, cl_int, void *))call,
                      (void *)data);
}

int fpgart_calls_back(const void *event, cl_int status,
                      void(CL_CALLBACK *call)(cl_event, cl_int, void *), void *data)
{
    struct fpgart_event found;
    int cancel_state, done = 0;
    if (call == NULL || status < CL_COMPLETE || status > CL_SUBMITTED || !find_event(event, &found))
        return 0;
    fpgart_disable_cancel(&cancel_state); /* the callback may run here */
    if (!core_is_user_event(found.command) || !fpgart_event_is_pythons((uintptr_t)event))
        done = calls_back((uintptr_t)event, &found, status, call, data);
    else
        fpgart_unhold((uintptr_t)event, FPGART_EVENT);
    fpgart_restore_cancel(cancel_state);
    return done;
}

void fpgart_event_goes(uintptr_t event)
{
    struct fpgart_event found;
    void *dropped;
    while (fpgart_event_of(event, &found) &&
           (dropped = core_drop_callback(found.command)) != NULL) {
        free(dropped);
        fpgart_unhold(event, FPGART_EVENT);
    }
}

/* The event holds its context. */
void *fpgart_new_user_event(const void *context)
{
    struct fpgart_event made = {.context = (uintptr_t)context, .type = CL_COMMAND_USER};
    if (!fpgart_may_carry() || !fpgart_hold(made.context, FPGART_CONTEXT))
        return NULL;
    made.command = core_user_event();
    uintptr_t event = made.command != NULL ? fpgart_handle_new(FPGART_EVENT, 1) : 0;
    if (event != 0) {
        fpgart_event_carry(event, &made);
        return (void *)event;
    }
    if (made.command != NULL)
        core_release(made.command);
    fpgart_unhold(made.context, FPGART_CONTEXT);
    return NULL;
}

int fpgart_sets_user_event(const void *event, cl_int status)
{
    struct fpgart_event found;
    int cancel_state;
    if (status > CL_COMPLETE || !find_event(event, &found))
        return 0;
    fpgart_disable_cancel(&cancel_state);
    int done = core_is_user_event(found.command) && !fpgart_event_is_pythons((uintptr_t)event) &&
               core_claim(found.command);
    if (done) {
        core_set(found.command, status);
        core_call_back(found.command);
        core_let_follow(found.command, false);
    }
    fpgart_unhold((uintptr_t)event, FPGART_EVENT);
    fpgart_restore_cancel(cancel_state);
    return done;
}
