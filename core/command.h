/* SPDX-License-Identifier: Apache-2.0
 *
 * Declarations that the files of the core share. The lock of the core guards everything here
 * that is not atomic or constant. */
#pragma once

#include "core.h"
#include "sync.h"

#include <CL/cl.h>

/* A link makes `follower` wait for `before`: until it has ended, or only until the engine has
 * it. `listed`: it comes from a wait list, so that the follower fails if `before` does. */
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
 * callback that is due. */
struct core_command {
    _Atomic uint32_t references;
    _Atomic int32_t status;
    struct core_word steps;   /* changes when sleeping threads have to look again */
    _Atomic(void *) event;    /* the engine's; NULL until it has been submitted */
    struct core_queue *queue; /* NULL: a user event */
    uintptr_t known;          /* the caller's number of a decided command */
    uint64_t number;          /* in its queue, from 1 */
    uint64_t epoch;           /* the epoch in which it may be admitted */
    uint64_t visit;           /* used by core_forget() */
    struct core_command *older, *newer;
    struct core_command *next_ready, *next_ended, *next_watched;
    struct core_link *followers;
    struct core_link *links; /* to those that it follows */
    struct core_link few[3];
    uint32_t link_count;
    uint32_t unmet; /* links that keep it from being submitted */
    bool decided;
    bool is_barrier;     /* it is or was the barrier of its queue */
    bool follows_all;    /* each earlier one of its out-of-order queue ends before it */
    enum core_kind kind; /* of a carried command */
    bool admitted;       /* of a carried command: the board counts it as open */
    uint64_t polling;    /* the number of an admitted CORE_POLLS, from 1 */
    uint64_t behind;     /* it follows the CORE_POLLS with numbers up to this, or they have ended */
    bool handed_over;    /* the engine does not get it */
    bool is_begun;       /* the caller runs it */
    _Atomic bool claimed; /* of a user event */
    bool observed;        /* the observing thread has to note its end */
    bool watched;         /* the engine will notify the core of its end */
    bool generation;      /* the generation of core_settle() in which it ended */
    int32_t error;        /* the error with which it ends at its turn; 0 for none */
    struct core_callback *callbacks;
    uint64_t times[4];
    _Atomic bool has_times; /* the engine's times are in `times` */
    _Alignas(16) char operation[];
};

/* References: the caller's, one for each queue, and one until idle() has been called. */
struct core_board {
    _Atomic uint32_t references;
    _Atomic uint64_t epoch;
    void (*idle)(void *data);
    void *data;
    uint32_t holders;
    uint32_t open;                 /* carried commands that are admitted and have not ended */
    uint32_t kernels;              /* of these, kernels */
    uint64_t kernels_since;        /* when the first of them was admitted */
    uint64_t kernels_ns;           /* the time before that in which there were some */
    bool awaited;                  /* idle() has to be called, or runs */
    uint32_t core_count;           /* 0: kernels occupy none */
    uint32_t next_core;            /* the one that a task occupies next, if none is free */
    struct core_command **on_core; /* the newest admitted kernel of each, or NULL */
    struct core_board *next_idle;
    struct core_queue *queues;
};

/* References: its owner's, one for each queue, and one until call() has returned. */
struct core_caller {
    _Atomic uint32_t references;
    void (*call)(void *data);
    void *data;
    struct core_command *ready, **last_ready; /* decided commands that may begin */
    bool is_called;                           /* call() has to be called */
    uint32_t moving;  /* its commands that wait for no other, until they have let others follow */
    bool awaits_rest; /* call() is due once `moving` is 0 */
    struct core_caller *next_called;
};

/* References: those of its owners, and one for each command, which may outlive its end. */
struct core_queue {
    _Atomic uint32_t references;
    struct core_caller *caller;
    struct core_board *board; /* NULL: the queue has no lane */
    struct core_queue *next;  /* of its board */
    struct core_lane lane;
    bool in_order;
    struct core_command *oldest, *newest; /* those that have not ended */
    struct core_command *next_noted;      /* the next to note, if many are open */
    struct core_command *submitted;       /* of an in-order queue: the newest that the engine has */
    uint32_t open;
    uint32_t in_engine;           /* of these, those that the engine has */
    uint32_t polling;             /* of the admitted ones, CORE_POLLS */
    uint32_t running;             /* that the caller runs */
    uint64_t enqueued;            /* the number of commands so far */
    struct core_command *barrier; /* that later commands of an out-of-order queue follow */
    const void *direct;           /* the operation of a command that a thread runs at once */
    struct core_command at_once;  /* stands for that command; it has no queue */
};

/* The work of a thread after it has released the lock. */
struct core_work {
    struct core_command *ready, **last_ready; /* to be submitted, in this order */
    struct core_command *ended, **last_ended; /* the engine is told of, in this order */
    struct core_command *watched;
    struct core_board *idle;
    bool takes;     /* the thread takes decided commands that became ready */
    bool has_ready; /* some became ready, or the caller's came to rest */
};

/* True if core_observe() and core_serve() have to return. */
extern bool core_is_closed;
void core_wake_observer(void);

/* The lock is held. core_admits() is true if the board admits a carried command, core_admit()
 * counts one, core_leave() records its end, and core_board_add() adds a queue to a board.
 * core_cores() is the number of cores that a kernel occupies; core_occupy() makes an admitted one
 * follow the kernels on its cores, and core_vacate() frees them.
 * core_engine_may_get() is true for kernels, and for CORE_MOVES if no command that is admitted may
 * keep the threads of the engine until it has run; `behind`: that of the command.
 * core_is_for_engine() finds out what a command is behind, and returns that for it. */
bool core_engine_may_get(const struct core_queue *queue, enum core_kind kind, uint64_t behind);
bool core_is_for_engine(struct core_command *command);
bool core_admits(const struct core_queue *queue, uint64_t epoch);
void core_admit(struct core_queue *queue, enum core_kind kind);
void core_leave(struct core_queue *queue, enum core_kind kind, struct core_work *work);
uint32_t core_cores(const struct core_queue *queue, enum core_kind kind);
void core_occupy(struct core_command *command, struct core_work *work);
void core_vacate(const struct core_command *command);
/* Records that the caller begins or ends to run a command of the queue. The lock is held. */
void core_runs(struct core_queue *queue, bool begins);
void core_board_add(struct core_board *board, struct core_queue *queue);
/* The lock is not held. */
void core_board_remove(struct core_board *board, struct core_queue *queue);
void core_call_idle(struct core_board *board);

bool core_is_carried(const struct core_command *command);
/* Returns the error that a command has to end with, as far as it is known. */
int32_t core_error(const struct core_command *command);
/* The number of decided commands that have not ended. */
extern _Atomic uint32_t core_decided;
/* Puts a decided command that may begin, or has to end with an error, into its caller's list.
 * The lock is held. */
void core_announce(struct core_command *command, struct core_work *work);
/* Records that a command of the caller waits for others, or has let them follow. The lock is held.
 */
void core_stops(struct core_caller *caller, struct core_work *work);
/* Lets the observing thread call the caller. The lock is held. */
void core_call_soon(struct core_caller *caller);
/* The lock is held. */
void core_observe_open(struct core_queue *queue, struct core_work *work);

/* The lock is held. core_follow() links a command to one before it; core_satisfy() makes
 * commands ready after a submission or an end; core_leave_queue() removes a command from its
 * queue. */
void core_follow(struct core_command *command, struct core_command *before, bool listed,
                 bool until_ended, struct core_work *work);
void core_satisfy(struct core_command *before, bool ended, struct core_work *work);
/* Makes a command that may be submitted wait for the ends of those that it follows. The lock
 * is held. */
void core_follow_ends(struct core_command *command, struct core_work *work);
void core_make_ready(struct core_command *command, struct core_work *work);
void core_leave_queue(struct core_queue *queue, struct core_command *command,
                      struct core_work *work);

/* Is called by the engine when a command has ended; another thread notes the end. The lock is not
 * held. */
void core_ended(void *command);
/* Removes and returns the first command whose end has to be noted, and those behind it that are in
 * the same in-order queue. The lock is held. */
struct core_command *core_next_noted(void);
/* Notes the ends of commands of one queue. The lock is not held. */
void core_note(struct core_command *command);
/* True while the thread of core_serve() has nothing to do. */
extern bool core_server_rests;
void core_wake_servers(void);
/* Lets the observing thread hand a command over. */
void core_hand_over(struct core_command *command);

/* core_begin_work() takes the lock. core_end_work() releases it, and then submits, notifies and
 * releases until no work is left. */
void core_begin_work(struct core_work *work);
void core_end_work(struct core_work *work);
/* Records the end of a command, unless it has been. The lock is held. */
void core_note_end(struct core_command *command, int32_t status, struct core_work *work);
/* Requests a notification from the engine, once per command. The lock is held. */
void core_watch(struct core_command *command, struct core_work *work);
void core_step(struct core_command *command);
/* Notes the ends of carried commands, up to this one in an in-order queue. `ended`: it is
 * known to have ended, so that the older ones of its queue end without an action of the host. */
void core_note_carried(struct core_command *command, bool ended);
/* Queues the callbacks that are due at a status, in the order of their states; an end makes all
 * due. The lock is held. */
void core_queue_callbacks(struct core_command *command, int32_t status);
