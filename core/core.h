/* SPDX-License-Identifier: Apache-2.0
 *
 * The command processor: command queues, commands and events (OpenCL 3.0, 5.11 to 5.15).
 *
 * A command is *carried* by an engine, which runs it in a queue of its own, or *decided* by a
 * caller, who takes it when it is ready, runs it and reports its end. The core orders both, keeps
 * the status and the times of each, and calls back. An event is its command. */
#pragma once

#include "for_python.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* cffi */
struct core_board;
struct core_caller;
struct core_queue;
struct core_command;

/* The engine runs its commands on a few threads, and a kernel that polls memory may keep all of
 * them: it must not wait for a command that waits for a thread. */
enum core_kind {
    CORE_CARRIED, /* a kernel that waits for no other command */
    CORE_POLLS,   /* a kernel that may */
    CORE_TASK,    /* a kernel that waits for no other command, and occupies one core of its board */
    CORE_MOVES    /* a transfer, marker or barrier: it is handed over if, at its turn, one may poll
                     that it is not known to follow, or the caller runs one of another queue */
};

/* A marker or a barrier without a wait list waits for every earlier command of its queue; later
 * commands of an out-of-order queue wait for a barrier, but not for a marker. */
FOR_PYTHON enum core_role { CORE_WORK, CORE_MARKER, CORE_BARRIER };

/* An engine, which runs carried commands. The core calls these functions without a lock, on
 * any thread. `event` and `after` are events of the engine. */
struct core_engine {
    /* Puts an operation at the end of a queue of the engine, behind `count` events of other queues.
     * Returns CL_SUCCESS and the event of the operation, or the error that the command ends with.
     */
    int32_t (*submit)(void *lane, void *operation, uint32_t count, void *const *after,
                      void **event);
    /* Is called once after each carried command: the core does not use its operation again. */
    void (*ended)(void *operation, int32_t status);
    /* Returns the execution status of an event: CL_QUEUED to CL_COMPLETE, or an error. */
    int32_t (*status)(void *event);
    /* Waits until the event has ended. */
    void (*wait)(void *event);
    /* Writes the nanoseconds at which the operation began and ended, in the clock of `now`. */
    void (*times)(void *event, uint64_t *start, uint64_t *end);
    /* Requests one call of `ended(data)`, on any thread, when the event has ended. */
    int32_t (*notify)(void *event, void (*ended)(void *data), void *data);
    void (*release)(void *event);
    /* Returns the time in nanoseconds, by the clock that all times are from. The lock may be held.
     */
    uint64_t (*now)(void);
};

/* A board: the resources that carried commands of several queues use and the caller changes.
 * It admits carried commands only while it is not held, and only those of its present epoch.
 * A command is admitted as soon as it can be submitted; a carried command that waits until
 * then is not open. `idle(data)` is called without a lock, on any thread. The caller gets a
 * reference. */
struct core_board *core_board_new(void (*idle)(void *data), void *data);
void core_board_release(struct core_board *board);
/* Sets the number of cores of a board, which has no queues yet. A kernel occupies all of them, a
 * CORE_TASK one, and follows the kernels that were admitted for them before: the engine has it wait
 * for them, so that it fails if the engine fails one of them. Returns false without memory. */
bool core_board_has_cores(struct core_board *board, uint32_t cores);
/* Admits no carried command until core_board_resume() has been called as often. Returns true
 * if carried commands are open; idle() is then called once for all that hold the board. */
FOR_PYTHON bool core_board_hold(struct core_board *board);
AT_ONCE void core_board_resume(struct core_board *board);
AT_ONCE bool core_board_is_open(struct core_board *board);
/* Notes the ends of carried commands in all its queues. `only_polling`: only in those with
 * CORE_POLLS, up to the first command of each that has not ended, so that later CORE_MOVES are not
 * handed over because of these. */
FOR_PYTHON void core_board_note(struct core_board *board, bool only_polling);
/* Returns the nanoseconds until `now` in which carried kernels of the board were open. */
FOR_PYTHON uint64_t core_board_kernel_time(struct core_board *board, uint64_t now);
/* Returns when ended() has returned, on whichever thread, for all commands whose ends were
 * noted before; at once within ended(). */
FOR_PYTHON void core_settle(void);
/* Returns true if this thread is within ended(). */
bool core_in_ended(void);
/* Returns true if this thread is in a callback that the core makes. */
AT_ONCE bool core_in_callback(void);
/* Lets the thread of core_observe() note the end of each carried command that is in a queue now. */
void core_board_observe(struct core_board *board);
void core_queue_observe(struct core_queue *queue);
/* Returns true if `uses(operation, data)`, which is called with the lock, is true for an open
 * command. */
bool core_board_uses(struct core_board *board, bool (*uses)(const void *operation, void *data),
                     void *data);
/* A thread that looks up what a carried command needs asks for the epoch first. A thread that
 * changes that ends the epoch afterwards, before the board admits commands again. */
AT_ONCE uint64_t core_board_epoch(struct core_board *board); /* from 1 */
AT_ONCE void core_board_end_epoch(struct core_board *board);

/* A caller, who runs decided commands. Those that are ready are in a list until they are
 * taken. `call(data)` is called when some became ready, or all came to rest, in other calls than
 * the caller's own (core_decide(), core_let_follow(), core_wait_for_caller()), after each of which
 * the caller takes what is ready. It runs on the observing thread, where core_in_ended() is true.
 * NULL: no call. */
AT_ONCE struct core_caller *core_caller_new(void (*call)(void *data), void *data);
AT_ONCE void core_caller_release(struct core_caller *caller);
/* Takes up to `most` commands that are ready, in their order. Writes the caller's number of
 * each, and CL_SUCCESS or the error with which it has to end without running. Returns how
 * many there are. */
AT_ONCE uint32_t core_take_ready(struct core_caller *caller, uint32_t most, uintptr_t *known,
                                 int32_t *errors);

AT_ONCE bool core_has_ready(struct core_caller *caller);
/* Returns true if every command of the caller's queues that has not ended waits for a user event.
 * If not, the caller is called when that is so; somebody has to note the ends of carried commands.
 */
AT_ONCE bool core_is_at_rest(struct core_caller *caller);

/* A queue of decided commands. */
AT_ONCE struct core_queue *core_queue_new(struct core_caller *caller, bool in_order);
/* Lets an engine carry commands of a queue from now on, on a board. Returns false if one already
 * does. `lane`: the engine's queue, in order if this one is. */
struct core_lane {
    const struct core_engine *engine;
    void *lane;
    /* Is called at a carried command's turn in a later epoch, on any thread, without a lock:
     * updates its operation. Returns false if the facts for that are missing. NULL: they
     * always are. */
    bool (*renews)(struct core_command *command, uint64_t epoch);
    /* Is called at the turn of a carried command that the engine must not get, or that the board
     * does not admit: the caller runs it, or calls core_retry(). It runs on the observing thread,
     * where core_in_ended() is true. */
    void (*hand_over)(struct core_command *command);
    /* Is called when the queue has no command left. */
    void (*freed)(void *lane);
};
bool core_queue_carry(struct core_queue *queue, struct core_board *board,
                      const struct core_lane *lane);
AT_ONCE void core_queue_retain(struct core_queue *queue);
AT_ONCE void core_queue_release(struct core_queue *queue);

void *core_lane(const struct core_queue *queue);

/* Puts a carried command at the end of a queue. The caller gets a reference. The command
 * keeps a copy of `operation` for the engine. `epoch`: the one in which it may be admitted.
 * Returns NULL if the board does not admit the command, or without memory. */
struct core_command *core_enqueue(struct core_queue *queue, enum core_role role,
                                  enum core_kind kind, uint64_t epoch, const void *operation,
                                  size_t size, uint32_t count,
                                  struct core_command *const *wait_list);
/* Returns the command's copy of the operation; after the end it has what the engine left. */
void *core_operation(struct core_command *command);
/* Returns true if a marker or barrier of which nobody has the event need not be enqueued: it
 * changes no order, or later commands of its out-of-order queue follow an earlier one from now on,
 * behind which they are behind all that the barrier would follow. */
bool core_keeps_order(struct core_queue *queue, enum core_role role, uint32_t count,
                      struct core_command *const *wait_list);
/* Puts a decided command at the end of a queue. `known` is the caller's number for it, not 0.
 * The caller gets a reference. Returns NULL without memory. */
FOR_PYTHON struct core_command *core_decide(struct core_queue *queue, enum core_role role,
                                            uintptr_t known, uint32_t count,
                                            struct core_command *const *wait_list);
bool core_is_decided(const struct core_command *command);

/* Begins a carried command that the calling thread runs itself; it keeps `operation` until
 * the end. Returns false if the board does not admit it, or if a command of the queue has not
 * ended. Later commands of an in-order queue follow it. */
bool core_begin_directly(struct core_queue *queue, uint64_t epoch, const void *operation);
void core_end_directly(struct core_queue *queue);
/* Returns a new user event. The caller gets a reference. */
AT_ONCE struct core_command *core_user_event(void);
bool core_is_user_event(const struct core_command *command);
/* Returns true for the first call, whose caller has to end the user event. */
AT_ONCE bool core_claim(struct core_command *event);
/* The end of a user event, or of a decided command that was taken, in two steps. core_set() sets
 * the status: waits end, and a command's callbacks are due. It returns false if the status was set
 * before. core_let_follow() then lets the followers begin. `takes`: the caller takes what is ready
 * afterwards; returns true if something is. */
AT_ONCE bool core_set(struct core_command *event, int32_t status);
FOR_PYTHON bool core_let_follow(struct core_command *event, bool takes);
/* Makes the callbacks of a user event between these two steps, on the calling thread: they have
 * returned before followers begin. If the thread is in 16 callbacks within each other, that of
 * core_serve() makes them. */
FOR_PYTHON void core_call_back(struct core_command *event);
/* Removes a callback of a user event that nothing can set any more. Returns its data; NULL: there
 * is none, or the event has been set. */
void *core_drop_callback(struct core_command *event);
AT_ONCE void core_retain(struct core_command *command);
AT_ONCE void core_release(struct core_command *command);

/* Records that a command which the caller runs has begun. */
AT_ONCE void core_begin(struct core_command *command);
/* Does the same for a command that was handed over and waits for no other one while it runs.
 * Returns false if its board does not admit it. */
bool core_begin_here(struct core_command *command);
/* Returns true if the epoch of a carried command that was handed over has ended. core_retry()
 * submits it again, after the caller has found the facts that renews() needs. */
bool core_is_outdated(const struct core_command *command);
void core_retry(struct core_command *command);
/* Ends a command that the caller has run. */
FOR_PYTHON void core_end(struct core_command *command, int32_t status);

/* Returns the execution status (5.15). */
FOR_PYTHON int32_t core_status(struct core_command *command);
/* Returns true if the end has been noted, without asking the engine. */
AT_ONCE bool core_has_ended(const struct core_command *command);
/* Waits until the command has ended, then settles as core_settle(). Returns the status. */
int32_t core_wait(struct core_command *command);
/* Waits until every command that is in the queue at the call has ended, then settles. */
void core_finish(struct core_queue *queue);
/* The same for a caller that runs what it waits for. core_enqueued() returns the number of
 * commands that the queue has had. core_unfinished() returns one of the first `last` that has
 * not ended, with a reference, and writes its number (0: it is carried). It returns NULL,
 * after core_settle(), if there is none. */
AT_ONCE uint64_t core_enqueued(struct core_queue *queue);
FOR_PYTHON struct core_command *core_unfinished(struct core_queue *queue, uint64_t last,
                                                uintptr_t *known);
/* Return true if a wait for a command, or for all of a queue, needs no caller: the engine has
 * all commands that have not ended, or none is decided. No caller runs a user event. */
bool core_waits_alone(struct core_command *command);
bool core_finishes_alone(struct core_queue *queue);
/* Finds what a thread that waits for a command can do. Returns the caller's number of a
 * decided command that is ready and has to end before, or 0. `carried`: one that the engine
 * has and that has to end before, with a reference, or NULL. With neither, the thread can
 * only sleep. */
AT_ONCE uintptr_t core_needed(struct core_command *command, struct core_command **carried);
/* Does the same as core_wait(), for a caller that takes afterwards what became ready. */
FOR_PYTHON void core_wait_for_caller(struct core_command *command);
/* For descriptions of commands. core_awaited() writes the decided commands that one waits
 * for, `most` of them at most; the others return the number of commands that wait for it, and
 * of threads that sleep until it has ended. */
AT_ONCE uint32_t core_awaited(struct core_command *command, uint32_t most, uintptr_t *known);
AT_ONCE uint32_t core_followers(struct core_command *command);
AT_ONCE uint32_t core_sleepers(struct core_command *command);
/* Is called when nothing can set a user event any more. Writes the decided commands that
 * therefore never begin, `most` at most, and each only once. */
AT_ONCE uint32_t core_forget(struct core_command *event, uint32_t most, uintptr_t *known);
/* Returns the oldest carried command that has not ended, of those behind `behind` if that is
 * not NULL. The caller gets a reference. NULL: there is none. */
struct core_command *core_next(struct core_queue *queue, const struct core_command *behind);
/* Notes the ends of the queue's carried commands: of all, or up to the first that has not ended. */
void core_note_queue(struct core_queue *queue, bool all);
/* Writes the nanoseconds at which a carried command reached CL_QUEUED, CL_SUBMITTED,
 * CL_RUNNING and CL_COMPLETE, at the index of that status. The command has ended. */
FOR_PYTHON void core_times(struct core_command *command, uint64_t times[4]);
/* Registers a callback for a status (clSetEventCallback). That of a command is called on the thread
 * of core_serve(), in the order in which callbacks are due; that of a user event by
 * core_call_back(), or at once if the event has the status. While a callback waits for a command
 * that the engine does not have, those behind it are called, because the command may need
 * what they do. Returns false without memory. */
bool core_callback(struct core_command *command, int32_t status,
                   void (*call)(struct core_command *command, int32_t status, void *data),
                   void *data);

/* The bodies of two threads of the driver: one notes the ends of carried commands that others
 * wait for, one makes callbacks. Each returns after core_close(), once nothing is left to do.
 * core_open() undoes that. */
void core_observe(void);
void core_serve(void);
void core_close(void);
void core_open(void);
/* cffi */
