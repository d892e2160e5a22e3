/* SPDX-License-Identifier: Apache-2.0
 *
 * Declarations that the C side of the driver shares: object handles, the state of the process,
 * the dispatch table. icd/ knows no semantics of OpenCL calls; fpgart/api does. */
#ifndef FPGART_ICD_H
#define FPGART_ICD_H

#include <stddef.h>
#include <stdint.h>

#include <CL/cl.h>
#include <CL/cl_icd.h>

#include "interpreter.h"

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

struct core_board;
struct core_queue;
struct core_command;

extern const struct _cl_icd_dispatch fpgart_dispatch;

/* Returns 1 if the driver has closed after all work had ended, and all of these are events. */
int fpgart_all_ended(cl_uint count, const cl_event *events);

/* Answers without an interpreter (lobby.c): the platform, and the queries of loaders, which
 * they make under their lock, and of programs that list platforms. The functions for the
 * latter return 1 if `status` is the answer. */
struct fpgart_personality {
    const char *key; /* value of FPGART_PLATFORM; NULL behind the last one */
    const char *name, *vendor, *version;
    const char *short_name; /* for hosts with too little memory for the name; "" if there is none */
};
extern const struct fpgart_personality fpgart_personalities[]; /* the first one: of FPGA boards */
extern const char fpgart_profile[], fpgart_platform_extensions[], fpgart_icd_suffix[];
uintptr_t fpgart_platform(void);

/* Returns the working folder at the host's first query for platforms. Relative paths in
 * options begin there. */
const char *fpgart_first_folder(void);
void fpgart_count_devices(cl_uint count);
cl_int fpgart_say_platform(cl_uint room, cl_platform_id *platforms, cl_uint *count);
int fpgart_lobby_platforms(cl_uint room, cl_platform_id *platforms, cl_uint *count, cl_int *status);
int fpgart_lobby_platform_info(cl_platform_id platform, cl_platform_info query, size_t size,
                               void *value, size_t *size_ret, cl_int *status);
int fpgart_lobby_device_count(cl_platform_id platform, cl_device_type type, cl_uint room,
                              cl_device_id *devices, cl_uint *count, cl_int *status);

/* Handles. An address is dereferenced only after it was recognised as a handle. */
uintptr_t fpgart_handle_new(int kind, uint32_t references);
void fpgart_handle_free(uintptr_t handle);
int fpgart_handle_kind(uintptr_t handle);
uint32_t fpgart_handle_references(uintptr_t handle);
uint64_t fpgart_handle_serial(uintptr_t handle);

int fpgart_handle_is_held(uintptr_t handle);

/* Holds the object with that serial, as a command would, if the host holds it; until
 * fpgart_unhold(), which may call into Python. Returns 1 on success. */
int fpgart_hold(uintptr_t handle, int kind, uint64_t serial);
void fpgart_unhold(uintptr_t handle, int kind);

/* Objects that C has made and Python does not know: events, kernels, queues, buffers,
 * sub-buffers. Each holds its parent (queue, program, context, context, buffer), which the
 * caller of fpgart_is_unseen() has held. Python makes a view of one when it is asked about
 * it. fpgart_view() writes the facts for that, once; it returns 0 if Python knows the object. */
struct fpgart_unseen {
    uint32_t kind;
    uint32_t type; /* of an event's command */
    uintptr_t parent;
    uintptr_t command;            /* of an event */
    const char *name;             /* of a kernel */
    uint64_t flags, origin, size; /* of a buffer */
    uint64_t block;               /* of a buffer, by its address on the board; 0: it has none */
};
void fpgart_is_unseen(uintptr_t handle, uintptr_t parent);
uintptr_t fpgart_owner_of(uintptr_t buffer); /* the parent of a sub-buffer; others themselves */
int fpgart_view(uintptr_t handle, struct fpgart_unseen *found);
void fpgart_unview(uintptr_t handle);
uintptr_t fpgart_next_unseen(uintptr_t handle, int kind);

/* Events. fpgart_event_carry() gives a new handle to a command of C's, which is carried or a
 * user event. The handle gets a reference of the command, and holds its queue or, for a user
 * event, its context. fpgart_event_is() sets the command of an event of Python's. The command
 * exists as long as the event is held. */
struct fpgart_event {
    struct core_command *command;
    uintptr_t queue, context;
    cl_command_type type;
};
void fpgart_event_carry(uintptr_t event, const struct fpgart_event *made);
void fpgart_event_is(uintptr_t event, uintptr_t command, uintptr_t context, cl_command_type type);
int fpgart_event_of(uintptr_t event, struct fpgart_event *found);
int fpgart_event_is_pythons(uintptr_t event); /* 1: Python has made it, or has a view of it */

/* The host's arguments for a buffer. A sub-buffer is a region of another one. */
struct fpgart_region {
    uint64_t flags, origin, size;
    uint64_t context; /* its serial; 0 for memory objects of other kinds */
};
enum {
    FPGART_ACCESS = CL_MEM_READ_WRITE | CL_MEM_WRITE_ONLY | CL_MEM_READ_ONLY,
    FPGART_HOST_ACCESS = CL_MEM_HOST_WRITE_ONLY | CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_NO_ACCESS
};
struct fpgart_region *fpgart_region_of(uintptr_t buffer); /* NULL if it is no memory object */
void fpgart_buffer_is(uintptr_t buffer, uintptr_t context, uintptr_t parent, uint64_t flags,
                      uint64_t origin, uint64_t size);
/* A region that the host has mapped (mappings.c). */
struct fpgart_mapping {
    uint64_t pointer, offset, size, flags;
    uint64_t number; /* of its own */
};
struct fpgart_mapped;
struct fpgart_mapped **fpgart_mapped_of(uintptr_t buffer); /* NULL if it is no memory object */
/* Adds and numbers a mapping, which is pending until fpgart_keep_mapping(). */
int fpgart_add_mapping(uintptr_t buffer, struct fpgart_mapping *mapping);
void fpgart_keep_mapping(uintptr_t buffer, uint64_t number);
int fpgart_take_mapping(uintptr_t buffer, uintptr_t pointer, struct fpgart_mapping *taken);
int fpgart_take_any_mapping(uintptr_t buffer, struct fpgart_mapping *taken);
void fpgart_forget_mapping(uintptr_t buffer, uint64_t number);
void fpgart_void_mapping(uintptr_t buffer, uint64_t number);
void fpgart_mappings_free(struct fpgart_mapped **first);

int fpgart_is_handle(uintptr_t address); /* 1 also for a handle that was freed */

/* Answers that Python has given once and that cannot change (remembered.c). `kind`: that of
 * the object in question. */
typedef _Atomic(struct fpgart_answer *) fpgart_answers;
fpgart_answers *fpgart_answers_of(uintptr_t handle, int kind); /* NULL if it is of another kind */
void fpgart_forget(fpgart_answers *answers);
void fpgart_remember(uintptr_t handle, cl_uint query, const char *bytes, size_t length);
void fpgart_remember_nothing(void); /* forgets all answers, and keeps none from now on */
int fpgart_knows(const void *object, int kind, cl_uint query, size_t size, void *value,
                 size_t *size_ret);
int fpgart_knows_ends(cl_uint count, const cl_event *events);

int fpgart_watched(void); /* 1: no answers are kept, because watchers have to see each call */

/* Faults of API calls (call_faults.c): each entry point asks first, before C answers
 * anything. `object`: the call's first argument if that is a pointer. */
extern atomic_int fpgart_asks_about_calls;
void fpgart_ask_about_calls(int flag);
int fpgart_call_fails(const char *name, uintptr_t object, cl_int *status);

/* Kernel arguments that C sets (arguments.c). fpgart_arguments_new() returns the address of a
 * word that is not 0 while Python has not got all of them. fpgart_take_arguments() writes up
 * to FPGART_ARGUMENTS of these and returns their number. */
enum { FPGART_ARGUMENTS = 64, FPGART_VALUE = 64 };
struct fpgart_argument {
    uint32_t index;
    uint32_t size;     /* bytes of a value, or of local memory */
    uintptr_t pointer; /* an address that the kernel dereferences; 0: something else */
    uintptr_t buffer;  /* its handle, and its serial then; 0: a value */
    uint64_t serial;
    uint64_t is_local;
    unsigned char value[FPGART_VALUE];
};
typedef _Atomic(struct fpgart_arguments *) fpgart_arguments_slot;
/* Returns the answers for all kernels of a name; NULL if C does not know the name. */
fpgart_answers *fpgart_kernel_answers(fpgart_arguments_slot *slot);
fpgart_arguments_slot *fpgart_arguments_of(uintptr_t kernel); /* NULL if it is no kernel */
void fpgart_arguments_free(fpgart_arguments_slot *slot);
uint64_t *fpgart_arguments_new(uintptr_t kernel, uint32_t count, uintptr_t program,
                               const char *name);
void fpgart_accept_values(uintptr_t kernel, uint32_t index, size_t size);
void fpgart_accept_local_sizes(uintptr_t kernel, uint32_t index);
void fpgart_accept_buffers(uintptr_t kernel, uint32_t index, uintptr_t context, int placed);
void fpgart_accept_svm_pointers(uintptr_t kernel, uint32_t index, uintptr_t context);
void fpgart_accept_usm_pointers(uintptr_t kernel, uint32_t index, uintptr_t context,
                                size_t alignment);
int fpgart_sets_argument(const void *kernel, cl_uint index, size_t size, const void *value);
int fpgart_sets_svm_pointer(const void *kernel, cl_uint index, const void *pointer);
int fpgart_sets_usm_pointer(const void *kernel, cl_uint index, const void *pointer);
uint32_t fpgart_take_arguments(uintptr_t kernel, struct fpgart_argument *taken);
const char *
fpgart_name_of(fpgart_arguments_slot *slot); /* the kernel's name; NULL if C does not know it */

/* The kernels of a program that C has made (kernels.c). */
typedef _Atomic(struct fpgart_kernels *) fpgart_kernels_slot;
fpgart_kernels_slot *fpgart_kernels_of(uintptr_t program); /* NULL if it is no program */
void fpgart_kernels_free(fpgart_kernels_slot *slot);
void fpgart_kernel_goes(uintptr_t program);
int fpgart_kernels_end(uintptr_t program);

/* Objects that C makes with the host's arguments; NULL leaves the call to Python. */
cl_kernel fpgart_makes_kernel(const void *program, const char *name);
cl_command_queue fpgart_makes_queue(const void *context, const void *device,
                                    cl_command_queue_properties properties);
cl_command_queue fpgart_makes_queue_with(const void *context, const void *device,
                                         const cl_queue_properties *list);
cl_mem fpgart_makes_buffer(const void *context, cl_mem_flags flags, size_t size, const void *host);
cl_mem fpgart_makes_sub_buffer(const void *buffer, cl_mem_flags flags, cl_buffer_create_type type,
                               const void *region);

/* Allocations of unified shared memory (allocations.c); `uint64_t context` is the context's
 * serial. */
void fpgart_allocation_made(uintptr_t context, uintptr_t begin, size_t size, int is_plain);
void fpgart_allocation_goes(uintptr_t context, uintptr_t begin);
void fpgart_allocations_go(uint64_t context);
int fpgart_is_allocated(uint64_t context, uintptr_t pointer);
uintptr_t fpgart_plain_allocation(uint64_t context, uintptr_t pointer);

/* The bodies of clRetain* and clRelease*; `invalid` is the status for a handle of another kind. */
cl_int fpgart_retain(const void *handle, int kind, cl_int invalid);
cl_int fpgart_release(const void *handle, int kind, cl_int invalid);

/* Calls into Python: the host has taken its first reference again, has released its last one,
 * or deferred releases have to be done. */
void fpgart_host_retained(uintptr_t handle);
void fpgart_host_released(uintptr_t handle);
void fpgart_reap(void);

/* A call into Python: returns the status with which a call of the host fails, 0 if it does
 * not. Threads are numbered in the order of their first calls. */
cl_int fpgart_fault_of_call(const char *name, uintptr_t object, uint32_t thread);

/* A call into Python for fpgart_control(): returns JSON, which the caller frees. */
char *fpgart_control_request(const char *request, size_t length);

/* Deferred releases: whether there are any; the next one, 0 for none; called after each. */
int fpgart_any_released(void);
uintptr_t fpgart_next_released(void);
void fpgart_released_done(void);
void fpgart_callbacks_are_left(int flag);
void fpgart_destructors_are_watched(void);

/* Writes answers and reads arguments for Python, which has addresses as integers. */
cl_int fpgart_answer(uintptr_t value, size_t size, size_t *size_ret, const char *bytes,
                     size_t length);
uint64_t fpgart_load(uintptr_t address, size_t size);

/* Writes the host's return addresses, innermost first, behind the entry point that runs on
 * this thread. Returns their number. */
size_t fpgart_host_frames(uintptr_t *frames, size_t most);
/* The same, for an entry point that has not called the interpreter, too. */
size_t fpgart_frames_of_call(uintptr_t *frames, size_t most, int through_interpreter);

/* Passes the objects that exist as the driver closes, in groups with words for each. Those
 * that are not released until the process has ended are reported then. `file` "": stderr. The
 * descriptor `findings`, if it is not -1, gets a JSON object per group: the number of
 * objects, then its `facts`. */
void fpgart_leaks_expected(size_t count_of_groups, char **nouns, char **makers, char **facts,
                           size_t count, const uintptr_t *things, const uint64_t *bytes,
                           const uint32_t *group_of, const char *file, int findings);

/* Is called when the host frees memory, which may be one of these objects. */
void fpgart_freed(const void *pointer);

/* Calls of the host's functions. */
void fpgart_call_about_object(uintptr_t function, uintptr_t object, uintptr_t data);
void fpgart_call_about_event(uintptr_t function, uintptr_t event, cl_int status, uintptr_t data);
void fpgart_call_to_free(uintptr_t function, uintptr_t queue, cl_uint count, uintptr_t *pointers,
                         uintptr_t data);
void fpgart_call_about_error(uintptr_t function, const char *words, uintptr_t data);
void fpgart_call_about_exception(uintptr_t function, cl_uint kind, uintptr_t data);
void fpgart_call_about_live_object(uintptr_t function, uintptr_t data, uintptr_t object,
                                   const char *type, cl_uint references);

/* Writes the host's Python frames behind the call on this thread, innermost first, each as
 * four lines: module, file, line, function. Returns the size of the text in bytes. */
size_t fpgart_host_python_frames(char *text, size_t room, size_t most);

/* The entry point for the host's Python (control.c). fpgart_text() returns a copy, which the
 * caller frees. */
char *fpgart_text(const char *words);
int fpgart_control_runs(void);
char *fpgart_control(const char *request, size_t length);
void fpgart_control_read(char *answer);

void *fpgart_address_of(const char *name);

#endif
