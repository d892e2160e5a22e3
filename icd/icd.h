/* SPDX-License-Identifier: Apache-2.0
 *
 * What the C side of the driver shares: object handles, the state of the process, the dispatch
 * table. Nothing in icd/ knows what an OpenCL call means; that is fpgart/api's business. */
#ifndef FPGART_ICD_H
#define FPGART_ICD_H

#include <stddef.h>
#include <stdint.h>

#include <CL/cl.h>
#include <CL/cl_icd.h>

enum fpgart_kind {
    FPGART_FREE = 0,
    FPGART_PLATFORM,
    FPGART_DEVICE,
    FPGART_CONTEXT,
    FPGART_QUEUE,
    FPGART_MEM,
    FPGART_PROGRAM,
    FPGART_KERNEL,
    FPGART_EVENT,
    FPGART_SAMPLER
};

enum fpgart_state {
    FPGART_NOT_STARTED = 0,
    FPGART_RUNNING,
    FPGART_FAILED, /* the interpreter could not be started: there is no platform */
    FPGART_FORKED, /* a child of fork(): the interpreter's threads did not come along */
    FPGART_CLOSED  /* the process is exiting */
};

extern volatile int fpgart_state;
extern const struct _cl_icd_dispatch fpgart_dispatch;

/* True when a call may go on into Python; starts the interpreter when that has not happened yet. */
int fpgart_enter(void);

/* Whether Python can be called: the driver runs, and the host's interpreter has not begun to end.
 */
int fpgart_running(void);

/* Whether it ran, and the process ends. */
int fpgart_ending(void);

/* Whether the calling thread might have to wait for a thread of the host to enter Python. */
int fpgart_interpreter_may_be_busy(void);

/* What cffi generates: starts the interpreter's side of the embedding. 0 on success. */
int fpgart_start_embedding(void);

/* A Python host may call with an exception on its way (destructors do): it is put aside for the
 * time of the call, or our own Python would trip over it. */
struct fpgart_aside {
    int held;
    void *type, *value, *traceback;
};
void fpgart_put_aside(struct fpgart_aside *aside);
void fpgart_put_back(struct fpgart_aside *aside);

/* One line on stderr that says why there is no platform. */
void fpgart_complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Called while the Python side starts: there will be no platform, for a reason that is told. */
void fpgart_refuse(const char *reason);

/* Handles. An address is only dereferenced once it is known to be one of ours. */
uintptr_t fpgart_handle_new(int kind, uint32_t references);
void fpgart_handle_free(uintptr_t handle);
int fpgart_handle_kind(uintptr_t handle);
uint32_t fpgart_handle_references(uintptr_t handle);
uint64_t fpgart_handle_serial(uintptr_t handle);

int fpgart_is_handle(uintptr_t address); /* or was one */

/* The bodies of clRetain* and clRelease*: `invalid` is the status for a handle of another kind. */
cl_int fpgart_retain(const void *handle, int kind, cl_int invalid);
cl_int fpgart_release(const void *handle, int kind, cl_int invalid);

/* Calls into Python made by the handles: the host's first reference came back, its last one went,
 * last ones went that were put off. */
void fpgart_host_retained(uintptr_t handle);
void fpgart_host_released(uintptr_t handle);
void fpgart_reap(void);

/* Last references that were put off: whether there are any; the next one, 0 for none; said after
 * each. */
int fpgart_any_released(void);
uintptr_t fpgart_next_released(void);
void fpgart_released_done(void);

/* Python side of the end of the process. */
void fpgart_shut_down(void);

/* Where this library lies and whether it started the interpreter itself. */
const char *fpgart_library_directory(void);
int fpgart_owns_interpreter(void);
void fpgart_close(void);
void fpgart_close_at_exit(void);

/* Writing answers and reading arguments for Python, which sees addresses as integers. */
cl_int fpgart_answer(uintptr_t value, size_t size, size_t *size_ret, const char *bytes,
                     size_t length);
uint64_t fpgart_load(uintptr_t address, size_t size);

/* The host's return addresses, innermost first, behind the entry point that runs on this thread;
 * gives how many there are. */
size_t fpgart_host_frames(uintptr_t *frames, size_t most);

/* What is alive as the driver closes, in groups with words for each; told when the process has
 * ended, but for what was released in between. `file` "": stderr. */
void fpgart_leaks_expected(size_t count_of_groups, char **nouns, char **makers, size_t count,
                           const uintptr_t *things, const uint64_t *bytes, const uint32_t *group_of,
                           const char *file);

/* The host frees memory, which may be among that. */
void fpgart_freed(const void *pointer);

void *fpgart_address_of(const char *name);

#endif
