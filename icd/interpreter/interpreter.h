/* SPDX-License-Identifier: Apache-2.0
 *
 * The interpreter in a host's process, which is the same for each library of the package that hosts
 * open: libfpgart.so, the driver, and libfpgart_mmd.so, the boards behind their own interface
 * (mmd/). Each has a copy of its own of what is declared here. */
#ifndef FPGART_INTERPRETER_H
#define FPGART_INTERPRETER_H

#include "place.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

enum fpgart_state {
    FPGART_NOT_STARTED = 0,
    FPGART_STARTING,
    FPGART_RUNNING,
    FPGART_FAILED, /* the interpreter could not be started, which was told */
    FPGART_FORKED, /* a child of fork(): the interpreter's threads did not come along */
    FPGART_CLOSED  /* the process is exiting */
};

extern atomic_int fpgart_state;

/* What each library does at the beginning of each call. */
void fpgart_entered(void);
void fpgart_forget_missed(void); /* a call of this thread has been in Python (commands.c) */

/* One call into Python, from fpgart_enter() to fpgart_leave(); calls may nest. */
struct fpgart_visit {
    int held;         /* the thread came with the lock of the host's interpreter */
    void *host;       /* which state of the host's an outer call came with */
    int cancel_state; /* whether the host may cancel the thread, as it was before */
};

/* A thread that is cancelled in a call would leave locks of the driver, of Python or of the engine
 * taken. So a call that may wait disables that, as calls of the C library do; fpgart_enter() does
 * it until fpgart_leave(). The thread is cancelled when the host's own code lets it be. */
void fpgart_disable_cancel(int *before);
void fpgart_restore_cancel(int before);

/* True when a call may go on into Python, where this thread then is until fpgart_leave(); starts
 * the interpreter when that has not happened yet. */
int fpgart_enter(struct fpgart_visit *visit);
int fpgart_slip_in(
    struct fpgart_visit *visit); /* for what is no call; only where the driver runs */
void fpgart_leave(const struct fpgart_visit *visit);

/* Whether the calling thread has enough of its stack left to enter. */
int fpgart_has_stack(void);

/* Whether Python can be called: the driver runs, and the host's interpreter has not begun to end.
 */
int fpgart_running(void);

/* Whether it ran, and the process ends. */
int fpgart_ending(void);

/* Whether nothing was left under way when it ended. */
int fpgart_settled(void);

/* What cffi generates: starts the interpreter's side of the embedding. 0 on success. */
int fpgart_start_embedding(void);

/* The driver's own interpreter in the process of a host that is written in Python (guest.c).
 * fpgart_become_guest() makes it, called with the lock of the host's; false: that was not possible.
 * Entering and leaving does nothing where the driver is no guest. */
int fpgart_become_guest(void);
int fpgart_is_guest(void);
void fpgart_guest_runs(void); /* said when all is set up */
int fpgart_go_in(struct fpgart_visit *visit);
void fpgart_go_out(const struct fpgart_visit *visit);

/* Whether the calling thread has the lock of the interpreter that it is in. */
int fpgart_holds_interpreter(void);

/* Around every call of a function of the host's: Python of the host's that runs in it finds the
 * host's interpreter. Without the interpreter's lock. */
struct fpgart_excursion {
    void *driver, *host;
};
void fpgart_call_out(struct fpgart_excursion *excursion);
void fpgart_call_back(const struct fpgart_excursion *excursion);
#define FPGART_OUTSIDE(call)                                                                       \
    do {                                                                                           \
        struct fpgart_excursion excursion;                                                         \
        fpgart_call_out(&excursion);                                                               \
        call;                                                                                      \
        fpgart_call_back(&excursion);                                                              \
    } while (0)

/* For a new interpreter: where the driver's package and what it needs are. `host_path`: sys.path of
 * the host's interpreter, NULL for none. */
void fpgart_add_search_directories(void *host_path);

/* Threads that wait for Python's lock in one interpreter are not noticed by those that have it in
 * another (usher.c). The ushers see to that; they sleep while nobody calls and nothing runs. */
void fpgart_start_ushers(void *driver, void *host);
void fpgart_wake_ushers(void);

/* Whether calls come from an interpreter that is not the driver's, as far as that is known before
 * the start. */
int fpgart_in_python_host(void);

/* Whether all is where it belongs that an interpreter of our own needs: as far as a look at the
 * file system tells. */
int fpgart_looks_installed(void);

/* Called while the Python side starts: it will not, for a reason that is told. */
void fpgart_refuse(const char *reason);

/* Whether anything runs or could: asked by an usher. */
int fpgart_busy(void);

/* Python side of the end of the process; of a host in Python, others may still call after that.
 * Whether nothing was left under way. */
int fpgart_shut_down(void);
int fpgart_settle(void);

/* Whether this library started the interpreter itself. */
int fpgart_owns_interpreter(void);
void fpgart_close(void);
void fpgart_close_at_exit(void);

/* Whether the host's interpreter has imported a module. */
int fpgart_host_imported(const char *module);

/* Calls function(request) of a module in the host's interpreter: bytes to bytes, on a thread of the
 * driver. NULL: an exception, which was printed. What is read is given back with
 * fpgart_answer_read(). */
char *fpgart_ask_host(const char *module, const char *function, const char *request, size_t length,
                      size_t *answer_length);
void fpgart_answer_read(char *answer);

#endif
