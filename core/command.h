/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of the core share. The lock of the core guards everything here that is not atomic
 * or constant. */
#ifndef CORE_COMMAND_H
#define CORE_COMMAND_H

#include "core.h"
#include "sync.h"

#include <CL/cl.h>

/* `follower` waits for `before`: until it has ended, or only until the engine has been given it.
 * `listed`: from a wait list, so that a failure of `before` is the follower's, too. */
struct core_link {
    struct core_command *before, *follower;
    struct core_link *next; /* of the followers of `before` */
    bool until_ended, listed;
};

struct core_callback {
    void (*call)(struct core_command *command, int32_t status, void *data);
    void *data;
    int32_t status;
    struct core_command *command;
    struct core_callback *next;
};

/* References: the caller's; one until the command has ended; one for each link in which it is
 * `before`, until the follower has ended; one for a notification of the engine; one for each
 * callback that is due; one while it stands in the caller's list. */
struct core_command {
    _Atomic uint32_t references;
    _Atomic int32_t status;
    _Atomic uint32_t steps; /* counts what threads sleep for */
    _Atomic uint32_t sleepers;
    _Atomic(void *) event;    /* the engine's; NULL until it has been submitted */
    struct core_queue *queue; /* NULL: a user event */
    uintptr_t known;          /* what the caller knows a decided command by */
    uint64_t number;          /* in its queue, from 1 */
    uint64_t epoch;           /* in which it may be admitted */
    uint64_t visit;           /* of core_forget() */
    struct core_command *older, *newer;
    struct core_command *next_ready, *next_ended, *next_watched;
    struct core_link *followers;
    struct core_link *links; /* to those that it follows */
    struct core_link few[3];
    uint32_t link_count;
    uint32_t unmet; /* links that keep it from being submitted */
    bool decided;
    bool alone;           /* CORE_ALONE */
    bool admitted;        /* the board counts it as open; of a carried command */
    bool deferred;        /* it was not, when it was enqueued */
    bool handed_over;     /* it was not admitted when it was its turn: the caller runs it */
    bool is_begun;        /* the caller runs it */
    _Atomic bool claimed; /* of a user event */
    bool observed;        /* the thread that observes is to note its end */
    bool watched;         /* the engine notifies the core of its end */
    bool generation;      /* when it ended; of core_settle() */
    int32_t error;        /* with which it ends when it is its turn; 0: none so far */
    struct core_callback *callbacks;
    uint64_t times[4];
    _Atomic bool has_times; /* the engine's are among them */
    _Alignas(16) char operation[];
};

/* References: the caller's, one for each queue, and one until idle() has been called. */
struct core_board {
    _Atomic uint32_t references;
    _Atomic uint64_t epoch;
    void (*idle)(void *data);
    void *data;
    uint32_t holders;
    uint32_t open; /* carried commands that are admitted and have not ended */
    bool awaited;  /* idle() is to be called, or is being called */
    struct core_board *next_idle;
    struct core_queue *queues;
};

/* References: its owner's, one for each queue, and one until call() has been called. The list holds
 * its commands: one that was given to the engine behind another may have ended by then. */
struct core_caller {
    _Atomic uint32_t references;
    void (*call)(void *data);
    void *data;
    struct core_command *ready, **last_ready; /* decided commands that may begin */
    bool is_called;                           /* call() is to be called */
    struct core_caller *next_called;
};

/* References: those of its owners, and one for each command, which may outlive its end. */
struct core_queue {
    _Atomic uint32_t references;
    struct core_caller *caller;
    struct core_board *board;
    struct core_queue *next;          /* of its board */
    const struct core_engine *engine; /* lane.engine */
    struct core_lane lane;
    bool in_order;
    struct core_command *oldest, *newest; /* those that have not ended */
    struct core_command *next_noted; /* where notes of ends go on, if many are open; NULL: oldest */
    struct core_command *submitted;  /* in order: the newest that the engine has */
    uint32_t open;
    uint32_t in_engine; /* of those, the engine has */
    uint32_t admitted;
    uint32_t running;  /* by the caller */
    uint64_t enqueued; /* commands so far */
    struct core_command *barrier;
    const void *direct;          /* the operation of a command that a thread runs at once */
    struct core_command at_once; /* stands for it; each one of the queue has it in turn */
};

/* What a thread has to do once it has released the lock. */
struct core_work {
    struct core_command *ready, **last_ready; /* to be submitted, in this order */
    struct core_command *ended;
    struct core_command *watched;
    struct core_board *idle;
    bool takes;     /* the thread takes what became ready of decided commands */
    bool has_ready; /* there was something */
};

/* The threads of core_observe() and core_serve() return. */
extern bool core_is_closed;
void core_wake_observer(void);

/* With the lock: whether the board admits a carried command; one is admitted; one that was has
 * ended; a queue is one of the board's. */
bool core_admits(const struct core_queue *queue, uint64_t epoch, bool alone);
void core_admit(struct core_queue *queue);
void core_leave(struct core_queue *queue, struct core_work *work);
/* With the lock: the caller runs a command of the queue from now on, or no more. */
void core_runs(struct core_queue *queue, bool begins);
void core_board_add(struct core_board *board, struct core_queue *queue);
/* Without the lock. */
void core_board_remove(struct core_board *board, struct core_queue *queue);
void core_call_idle(struct core_board *board);

bool core_is_carried(const struct core_command *command);
/* The error that a command has to end with, as far as it is known. */
int32_t core_error(const struct core_command *command);
/* How many decided commands have not ended. */
extern _Atomic uint32_t core_decided;
/* A decided command may begin, or has to end with an error. With the lock. */
void core_announce(struct core_command *command, struct core_work *work);
/* Has the thread that observes call those who decide; with the lock. */
void core_call_soon(struct core_caller *caller);
/* With the lock. */
void core_observe_open(struct core_queue *queue, struct core_work *work);

/* With the lock: `command` follows another; a submission, or an end, allows those that follow to be
 * submitted; a command leaves its queue. */
void core_follow(struct core_command *command, struct core_command *before, bool listed,
                 bool until_ended, struct core_work *work);
void core_satisfy(struct core_command *before, bool ended, struct core_work *work);
/* With the lock: one that has ended waits for nothing any more. */
void core_unlink(struct core_command *command);
/* With the lock: a command that may be submitted follows once more what has not ended. */
void core_follow_ends(struct core_command *command, struct core_work *work);
void core_make_ready(struct core_command *command, struct core_work *work);
void core_leave_queue(struct core_queue *queue, struct core_command *command,
                      struct core_work *work);

/* The engine says that a command has ended; the thread that observes notes it. Without the lock. */
void core_ended(void *command);
/* Has the thread that observes hand a command over. */
void core_hand_over(struct core_command *command);

void core_begin_work(struct core_work *work);
/* Submits, notifies and releases until nothing is left. Without the lock. */
void core_do(struct core_work *work);
/* With the lock. Returns false if the command had ended before. */
bool core_note_end(struct core_command *command, int32_t status, struct core_work *work);
/* Has the engine notify the core, unless it does. With the lock. */
void core_watch(struct core_command *command, struct core_work *work);
void core_step(struct core_command *command);
/* With the lock: the engine has the command from now on. */
void core_has(struct core_queue *queue, struct core_command *command, void *event);
/* Notes the ends of carried commands, up to this one in an in-order queue. `ended`: it is known to
 * have ended, so that the older ones of its queue end without the host's doing. */
void core_note_carried(struct core_command *command, bool ended);
/* With the lock: the callbacks that are due at a status, and those that are at its end. */
void core_queue_callbacks(struct core_command *command, int32_t status);
#endif
