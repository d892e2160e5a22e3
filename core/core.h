/* SPDX-License-Identifier: Apache-2.0
 *
 * The command processor: command queues, commands and events (OpenCL 3.0, 5.11 to 5.15).
 *
 * A command is *carried* by an engine, which runs it in a queue of its own, or *decided* by the
 * caller, who runs it when the core says that it is ready and reports its end. The core orders
 * both, keeps the status and the times of each, and calls back. An event is its command. */
#ifndef CORE_H
#define CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* cffi */
struct core_board;
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
    /* The end has been noted: called at least once for each, and for one that is observed on the
     * observing thread. core_settle() does not wait for it. NULL: nothing. */
    void (*told)(void *operation, int32_t status);
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

/* A queue without an engine has decided commands only; one without a board admits every command.
 * `lane`: the engine's queue, in order if this one is. `ready(command)`: a decided command may
 * begin; called without a lock, once for each. A carried command that the board does not admit when
 * it is its turn is handed over: ready() is called for it, too, on the observing thread, where
 * core_in_ended() is true. The caller runs it as a decided one. */
struct core_queue *core_queue_new(struct core_board *board, const struct core_engine *engine,
                                  void *lane, bool in_order,
                                  void (*ready)(struct core_command *command),
                                  void (*freed)(void *lane));
/* Gives the caller's reference back. `freed(lane)` is called once no command needs the queue. */
void core_queue_release(struct core_queue *queue);
/* The same as core_board_hold() for one queue: the caller has commands in it that are none of the
 * core's, and follow those that are open. `idle(data)` is the function of core_queue_call(). */
void core_queue_call(struct core_queue *queue, void (*idle)(void *data), void *data);
bool core_queue_hold(struct core_queue *queue);
void core_queue_resume(struct core_queue *queue);
bool core_queue_is_held(struct core_queue *queue);

void *core_lane(const struct core_queue *queue);

enum core_kind {
    CORE_CARRIED,
    CORE_ALONE, /* carried; it is not admitted later while commands of other queues are open */
    CORE_DECIDED
};
/* Puts a command at the end of a queue; the caller gets a reference. `operation`: the command keeps
 * a copy for the engine; NULL for a decided command. `epoch`: that of a carried command. NULL if
 * the board does not admit the command, if a carried one would wait for a user event in a queue
 * that is out of order, or without memory. */
struct core_command *core_enqueue(struct core_queue *queue, enum core_role role,
                                  enum core_kind kind, uint64_t epoch, const void *operation,
                                  size_t size, uint32_t count,
                                  struct core_command *const *wait_list);
/* The copy; of a carried command that has ended, what the engine left of it. */
void *core_operation(struct core_command *command);

/* A carried command that the caller runs at once, on the thread that calls, which keeps `operation`
 * until the end. Returns false if the board does not admit it, or if a command of the queue has not
 * ended. A queue that is in order admits no other meanwhile. */
bool core_begin_directly(struct core_queue *queue, uint64_t epoch, const void *operation);
void core_end_directly(struct core_queue *queue);
/* A user event; the caller gets a reference. */
struct core_command *core_user_event(void);
bool core_is_user_event(const struct core_command *command);
/* Whether the caller is the first to set its status, and has to end it. */
bool core_claim(struct core_command *event);
/* Sets the status: threads that wait for the event go on, and callbacks are due. What follows the
 * event may begin after core_let_follow(). */
void core_set(struct core_command *event, int32_t status);
void core_let_follow(struct core_command *event);
void core_retain(struct core_command *command);
void core_release(struct core_command *command);

/* Of a command, after ready(): it runs from now on; it has ended. */
void core_begin(struct core_command *command);
/* Returns false if it had ended before. */
bool core_end(struct core_command *command, int32_t status);

/* The execution status (5.15). */
int32_t core_status(struct core_command *command);
/* Returns when the command has ended, and as core_settle() does; with its status. */
int32_t core_wait(struct core_command *command);
/* Returns when every command that is in the queue now has ended, and as core_settle() does. */
void core_finish(struct core_queue *queue);
/* The oldest carried command that has not ended, of those behind `behind` if that is not NULL; the
 * caller gets a reference. NULL: none. */
struct core_command *core_next(struct core_queue *queue, const struct core_command *behind);
/* Notes which carried commands of the queue have ended. */
void core_note_queue(struct core_queue *queue);
/* Has the thread of core_observe() note the end of each that is in the queue now; of one command.
 */
void core_observe_queue(struct core_queue *queue);
void core_observe_command(struct core_command *command);
/* When the command reached CL_QUEUED, CL_SUBMITTED, CL_RUNNING and CL_COMPLETE, in nanoseconds, at
 * the index of that status. It has ended. */
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
