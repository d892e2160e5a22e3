/* SPDX-License-Identifier: Apache-2.0
 *
 * The command processor: command queues, commands and events (OpenCL 3.0, 5.11 to 5.15).
 *
 * A command is *carried* by an engine, which runs it in a queue of its own, or *decided* by a
 * caller, who takes it when it is ready, runs it and reports its end. The core orders both, keeps
 * the status and the times of each, and calls back. An event is its command. */
#ifndef CORE_H
#define CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* cffi */
struct core_board;
struct core_caller;
struct core_queue;
struct core_command;

/* A marker or a barrier without a wait list waits for every earlier command of its queue; later
 * commands of an out-of-order queue wait for a barrier, but not for a marker. */
enum core_role { CORE_WORK, CORE_MARKER, CORE_BARRIER };

/* What carries commands. The core calls these functions without a lock, on any thread. `event` and
 * `after` are events of the engine. */
struct core_engine {
    /* Puts an operation at the end of a queue of the engine, behind `count` events of other queues.
     * Returns CL_SUCCESS and the event of the operation, or the error that the command ends with.
     */
    int32_t (*submit)(void *lane, void *operation, uint32_t count, void *const *after,
                      void **event);
    /* A carried command has ended: its operation needs nothing any more. Called once for each. */
    void (*ended)(void *operation, int32_t status);
    /* The execution status of an event: CL_QUEUED to CL_COMPLETE, or an error. */
    int32_t (*status)(void *event);
    /* Returns when the event has ended. */
    void (*wait)(void *event);
    /* Nanoseconds at which the operation began and ended, in the clock of `now`. */
    void (*times)(void *event, uint64_t *start, uint64_t *end);
    /* Has `ended(data)` called once, on any thread, when the event has ended. */
    int32_t (*notify)(void *event, void (*ended)(void *data), void *data);
    void (*release)(void *event);
    /* Has the operations of a lane begun; called behind those that were submitted later than they
     * were enqueued. NULL: nothing. */
    void (*flush)(void *lane);
    uint64_t (*now)(void);
};

/* What the carried commands of several queues use, and the caller changes. It admits carried
 * commands only while nobody holds it, and only those of its present epoch. A command is admitted
 * as soon as it can be submitted; a carried command that waits until then is not open.
 * `idle(data)` is called without a lock, on any thread. The caller gets a reference. */
struct core_board *core_board_new(void (*idle)(void *data), void *data);
void core_board_release(struct core_board *board);
/* Admits no carried command until core_board_resume() has been called as often. Returns whether
 * carried commands are open; if so, idle() follows, once for all that hold the board then. */
bool core_board_hold(struct core_board *board);
void core_board_resume(struct core_board *board);
bool core_board_is_open(struct core_board *board);
/* Notes which carried commands have ended, in all its queues. */
void core_board_note(struct core_board *board);
/* Returns whether carried commands of other queues of the board than that one are open. */
bool core_board_has_others(struct core_board *board, const struct core_queue *queue);
/* Returns whether callers run commands of other queues. */
bool core_others_run(const struct core_queue *queue);
/* Returns when ended() has returned for all commands whose ends were noted before, on whichever
 * thread; at once within ended(). */
void core_settle(void);
/* Returns whether this thread is within ended(). */
bool core_in_ended(void);
/* Has the thread of core_observe() note the end of each carried command that is in a queue now. */
void core_board_observe(struct core_board *board);
/* Returns whether `uses(operation, data)`, which is called with the lock, is true for one of those
 * that are open. */
bool core_board_uses(struct core_board *board, bool (*uses)(const void *operation, void *data),
                     void *data);
/* Who finds out what a carried command needs asks for the epoch first; who changes that ends the
 * epoch afterwards, before the board admits commands again. */
uint64_t core_board_epoch(struct core_board *board);
void core_board_end_epoch(struct core_board *board);

/* Who decides commands. Those that are ready stand in a list until they are taken. `call(data)`:
 * some are there that became ready beside the caller's own calls (core_decide(), core_let_follow(),
 * core_wait_for_caller()), behind each of which the caller takes what is ready. It is called on the
 * observing thread, where core_in_ended() is true. NULL: nothing. */
struct core_caller *core_caller_new(void (*call)(void *data), void *data);
void core_caller_release(struct core_caller *caller);
/* Takes up to `most` commands that are ready, the first one first: what the caller knows each by,
 * and CL_SUCCESS, or the error with which it has to end without being run. Returns how many. */
uint32_t core_take_ready(struct core_caller *caller, uint32_t most, uintptr_t *known,
                         int32_t *errors);

bool core_has_ready(struct core_caller *caller);

/* A queue of decided commands. */
struct core_queue *core_queue_new(struct core_caller *caller, bool in_order);
/* Has an engine carry commands of a queue from now on; returns false if one does. A queue without a
 * board admits every command. `lane`: the engine's queue, in order if this one is. */
struct core_lane {
    const struct core_engine *engine;
    void *lane;
    /* It is a carried command's turn in a later epoch: has its operation be as that wants it, on
     * any thread, without a lock. Returns false if that is not known. NULL: it never is. */
    bool (*renews)(struct core_command *command, uint64_t epoch);
    /* The board does not admit a carried command when it is its turn: the caller runs it, or has it
     * tried once more. Called on the observing thread, where core_in_ended() is true. */
    void (*hand_over)(struct core_command *command);
    /* No command needs the queue any more. */
    void (*freed)(void *lane);
};
bool core_queue_carry(struct core_queue *queue, struct core_board *board,
                      const struct core_lane *lane);
void core_queue_retain(struct core_queue *queue);
void core_queue_release(struct core_queue *queue);

void *core_lane(const struct core_queue *queue);

enum core_kind {
    CORE_CARRIED,
    CORE_ALONE /* it is not admitted later while commands of other queues are open, or running */
};
/* Puts a carried command at the end of a queue; the caller gets a reference. `operation`: the
 * command keeps a copy for the engine. `epoch`: in which it may be admitted. NULL if the board does
 * not admit the command, or without memory. */
struct core_command *core_enqueue(struct core_queue *queue, enum core_role role,
                                  enum core_kind kind, uint64_t epoch, const void *operation,
                                  size_t size, uint32_t count,
                                  struct core_command *const *wait_list);
/* The copy; of a command that has ended, what the engine left of it. */
void *core_operation(struct core_command *command);
/* Puts a decided command at the end of a queue, which the caller knows by `known`, not 0; the
 * caller gets a reference. NULL without memory. */
struct core_command *core_decide(struct core_queue *queue, enum core_role role, uintptr_t known,
                                 uint32_t count, struct core_command *const *wait_list);
bool core_is_decided(const struct core_command *command);

/* A carried command that the caller runs at once, on the thread that calls, which keeps `operation`
 * until the end. Returns false if the board does not admit it, or if a command of the queue has not
 * ended. Later commands of a queue that is in order follow it. */
bool core_begin_directly(struct core_queue *queue, uint64_t epoch, const void *operation);
void core_end_directly(struct core_queue *queue);
/* A user event; the caller gets a reference. */
struct core_command *core_user_event(void);
bool core_is_user_event(const struct core_command *command);
/* Whether the caller is the first to set its status, and has to end it. */
bool core_claim(struct core_command *event);
/* A user event, or a decided command, has ended, in two steps. First the status: threads that wait
 * for it go on, and callbacks are due; returns false if it was set before. Then what follows it may
 * begin. `takes`: this is a call of the caller's, who takes what is ready behind it; returns
 * whether there is something. */
bool core_set(struct core_command *event, int32_t status);
bool core_let_follow(struct core_command *event, bool takes);
void core_retain(struct core_command *command);
void core_release(struct core_command *command);

/* Of a command that the caller runs: it runs from now on. */
void core_begin(struct core_command *command);
/* Of a carried one that was handed over: whether that was in an earlier epoch than the present one;
 * the caller has found out what renews() needs. */
bool core_is_outdated(const struct core_command *command);
void core_retry(struct core_command *command);
/* Of one that the caller has run: it has ended. Returns false if it had before. */
bool core_end(struct core_command *command, int32_t status);

/* The execution status (5.15). */
int32_t core_status(struct core_command *command);
/* The same without asking the engine: whether the end has been noted. */
bool core_has_ended(const struct core_command *command);
/* Returns when the command has ended, and as core_settle() does; with its status. */
int32_t core_wait(struct core_command *command);
/* Returns when every command that is in the queue now has ended, and as core_settle() does. */
void core_finish(struct core_queue *queue);
/* The same for a caller that runs what it waits for: how many commands the queue has had so far,
 * and one of the first `last` of them that has not ended, with a reference, and what the caller
 * knows it by (0: it is carried). NULL if there is none, behind core_settle(). */
uint64_t core_enqueued(struct core_queue *queue);
struct core_command *core_unfinished(struct core_queue *queue, uint64_t last, uintptr_t *known);
/* Whether a wait for a command, or for all of a queue, needs nothing of a caller: the engine has
 * all that has not ended, or there are no decided commands. Nobody runs a user event either. */
bool core_waits_alone(struct core_command *command);
bool core_finishes_alone(struct core_queue *queue);
/* What a thread that waits for a command can do, so that it ends. Returns what the caller knows a
 * decided command by that is ready and has to end before, or 0; `carried`: one that the engine has
 * and that has to end before, with a reference, or NULL. With neither it can sleep only. */
uintptr_t core_needed(struct core_command *command, struct core_command **carried);
/* As core_wait(), for a caller that takes afterwards what became ready. */
void core_wait_for_caller(struct core_command *command);
/* The decided command that is the next one in its queue and waits for that one alone; 0: none. */
uintptr_t core_next_in_line(struct core_command *command);
/* For those who describe commands: the decided ones that a command waits for, at most so many, and
 * how many wait for it; how many threads sleep until it has ended. */
uint32_t core_awaited(struct core_command *command, uint32_t most, uintptr_t *known);
uint32_t core_followers(struct core_command *command);
uint32_t core_sleepers(struct core_command *command);
/* Nobody can set a user event any more: gives the decided commands that never begin because of
 * that, at most so many that no call has given before. */
uint32_t core_forget(struct core_command *event, uint32_t most, uintptr_t *known);
/* The oldest carried command that has not ended, of those behind `behind` if that is not NULL; the
 * caller gets a reference. NULL: none. */
struct core_command *core_next(struct core_queue *queue, const struct core_command *behind);
/* Notes which carried commands of the queue have ended: of all, or until one is found that has not.
 */
void core_note_queue(struct core_queue *queue, bool all);
/* When a carried command reached CL_QUEUED, CL_SUBMITTED, CL_RUNNING and CL_COMPLETE, in
 * nanoseconds, at the index of that status. It has ended. */
void core_times(struct core_command *command, uint64_t times[4]);
/* Calls back when the command has reached a status (clSetEventCallback), on the thread of
 * core_serve(), in the order in which they are due. While a callback waits for a command that the
 * engine does not have, those behind it are called: the command may need what they do. False
 * without memory. */
bool core_callback(struct core_command *command, int32_t status,
                   void (*call)(struct core_command *command, int32_t status, void *data),
                   void *data);

/* Two threads of the driver: one notes the ends of carried commands that others wait for, one calls
 * back. Each returns after core_close(), once nothing is left to do; core_open() undoes that. */
void core_observe(void);
void core_serve(void);
void core_close(void);
void core_open(void);
/* cffi */
#endif
