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

/* Whether it has closed with nothing under way, and all of these are events. */
int fpgart_all_ended(cl_uint count, const cl_event *events);

/* What can be said without any interpreter (lobby.c): the platform, and what loaders ask while they
 * hold their lock, and programs that list platforms. The latter are true when `status` is the
 * answer. */
struct fpgart_personality {
    const char *key; /* value of FPGART_PLATFORM; NULL behind the last one */
    const char *name, *vendor, *version;
    const char *short_name; /* for hosts with too little memory for the name; "" if there is none */
};
extern const struct fpgart_personality fpgart_personalities[]; /* the first one: of FPGA boards */
extern const char fpgart_profile[], fpgart_platform_extensions[], fpgart_icd_suffix[];
uintptr_t fpgart_platform(void);

/* The working folder when a host first asked for platforms; relative paths in options begin there.
 */
const char *fpgart_first_folder(void);
void fpgart_count_devices(cl_uint count);
cl_int fpgart_say_platform(cl_uint room, cl_platform_id *platforms, cl_uint *count);
int fpgart_lobby_platforms(cl_uint room, cl_platform_id *platforms, cl_uint *count, cl_int *status);
int fpgart_lobby_platform_info(cl_platform_id platform, cl_platform_info query, size_t size,
                               void *value, size_t *size_ret, cl_int *status);
int fpgart_lobby_device_count(cl_platform_id platform, cl_device_type type, cl_uint room,
                              cl_device_id *devices, cl_uint *count, cl_int *status);

/* Handles. An address is only dereferenced once it is known to be one of ours. */
uintptr_t fpgart_handle_new(int kind, uint32_t references);
void fpgart_handle_free(uintptr_t handle);
int fpgart_handle_kind(uintptr_t handle);
uint32_t fpgart_handle_references(uintptr_t handle);
uint64_t fpgart_handle_serial(uintptr_t handle);

int fpgart_handle_is_held(uintptr_t handle);

/* Has what had that serial live on if the host holds it, as a command would, until
 * fpgart_unhold(), which may call into Python. */
int fpgart_hold(uintptr_t handle, int kind, uint64_t serial);
void fpgart_unhold(uintptr_t handle, int kind);

/* Objects that C has made, and Python knows nothing of: events, kernels, queues, buffers,
 * sub-buffers. Each holds its parent (queue, program, context, context, buffer), which the caller
 * of fpgart_is_unseen() has held. Python makes a view of one when somebody asks it about that.
 * fpgart_view() gives what it needs for that, once; 0 if Python knows the object. */
struct fpgart_unseen {
    uint32_t kind;
    uint32_t type; /* of an event's command */
    uintptr_t parent;
    uintptr_t command;            /* of an event */
    const char *name;             /* of a kernel */
    uint64_t flags, origin, size; /* of a buffer */
    uint64_t block;               /* of that, by its address on the board; 0: it has none */
};
void fpgart_is_unseen(uintptr_t handle, uintptr_t parent);
uintptr_t fpgart_owner_of(uintptr_t buffer); /* which a sub-buffer is of; others themselves */
int fpgart_view(uintptr_t handle, struct fpgart_unseen *found);
void fpgart_unview(uintptr_t handle);
uintptr_t fpgart_next_unseen(uintptr_t handle, int kind);

/* Events. fpgart_event_carry() makes a new handle one of C's (a carried command's, or a user
 * event), which takes over a reference of the command, and what it holds: its queue; a user event
 * (no queue) its context. fpgart_event_is() says what command one of Python's stands for. The
 * command is there as long as the event is held. */
struct fpgart_event {
    struct core_command *command;
    uintptr_t queue, context;
    cl_command_type type;
};
void fpgart_event_carry(uintptr_t event, const struct fpgart_event *made);
void fpgart_event_is(uintptr_t event, uintptr_t command, uintptr_t context, cl_command_type type);
int fpgart_event_of(uintptr_t event, struct fpgart_event *found);
int fpgart_event_is_pythons(uintptr_t event); /* Python has made it, or has a view of it */

/* What the host has said of a buffer. A sub-buffer is a region of another one. */
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
/* Numbers a new one, which nobody else finds before fpgart_keep_mapping(). */
int fpgart_add_mapping(uintptr_t buffer, struct fpgart_mapping *mapping);
void fpgart_keep_mapping(uintptr_t buffer, uint64_t number);
int fpgart_take_mapping(uintptr_t buffer, uintptr_t pointer, struct fpgart_mapping *taken);
int fpgart_take_any_mapping(uintptr_t buffer, struct fpgart_mapping *taken);
void fpgart_forget_mapping(uintptr_t buffer, uint64_t number);
void fpgart_void_mapping(uintptr_t buffer, uint64_t number);
void fpgart_mappings_free(struct fpgart_mapped **first);

int fpgart_is_handle(uintptr_t address); /* or was one */

/* Answers that Python has given once and that cannot change (remembered.c). `kind`: of the object
 * that the function asks about. */
typedef _Atomic(struct fpgart_answer *) fpgart_answers;
fpgart_answers *fpgart_answers_of(uintptr_t handle, int kind); /* NULL if it is of another kind */
void fpgart_forget(fpgart_answers *answers);
void fpgart_remember(uintptr_t handle, cl_uint query, const char *bytes, size_t length);
void fpgart_remember_nothing(void); /* from now on */
int fpgart_knows(const void *object, int kind, cl_uint query, size_t size, void *value,
                 size_t *size_ret);
int fpgart_knows_ends(cl_uint count, const cl_event *events);

int fpgart_watched(void); /* whether nothing is remembered, because each call is to be seen */

/* Calls that fail on request (call_faults.c): each entry point asks first, before C answers
 * anything by itself. `object`: the call's first argument, where that is a pointer. */
extern atomic_int fpgart_asks_about_calls;
void fpgart_ask_about_calls(int flag);
int fpgart_call_fails(const char *name, uintptr_t object, cl_int *status);

/* Kernel arguments that need no decision (arguments.c). fpgart_arguments_new() gives where it can
 * be seen whether the kernel has to hear of any: not 0 then. fpgart_take_arguments() gives how
 * many, with room for FPGART_ARGUMENTS. */
enum { FPGART_ARGUMENTS = 64, FPGART_VALUE = 64 };
struct fpgart_argument {
    uint32_t index;
    uint32_t size;     /* bytes of a value, or of local memory */
    uintptr_t pointer; /* an address that the kernel dereferences; 0: something else */
    uintptr_t buffer;  /* its handle, and what it stood for; 0: a value */
    uint64_t serial;
    uint64_t is_local;
    unsigned char value[FPGART_VALUE];
};
typedef _Atomic(struct fpgart_arguments *) fpgart_arguments_slot;
/* The same for all kernels of a name; NULL where C does not know that. */
fpgart_answers *fpgart_kernel_answers(fpgart_arguments_slot *slot);
fpgart_arguments_slot *fpgart_arguments_of(uintptr_t kernel); /* NULL if it is no kernel */
void fpgart_arguments_free(fpgart_arguments_slot *slot);
uint64_t *fpgart_arguments_new(uintptr_t kernel, uint32_t count, uintptr_t program,
                               const char *name);
void fpgart_let_value_pass(uintptr_t kernel, uint32_t index, size_t size);
void fpgart_let_local_pass(uintptr_t kernel, uint32_t index);
void fpgart_let_buffers_pass(uintptr_t kernel, uint32_t index, uintptr_t context, int placed);
void fpgart_let_svm_pass(uintptr_t kernel, uint32_t index, uintptr_t context);
void fpgart_let_usm_pass(uintptr_t kernel, uint32_t index, uintptr_t context, size_t alignment);
int fpgart_sets_argument(const void *kernel, cl_uint index, size_t size, const void *value);
int fpgart_sets_svm_pointer(const void *kernel, cl_uint index, const void *pointer);
int fpgart_sets_usm_pointer(const void *kernel, cl_uint index, const void *pointer);
uint32_t fpgart_take_arguments(uintptr_t kernel, struct fpgart_argument *taken);
const char *
fpgart_name_of(fpgart_arguments_slot *slot); /* the kernel's; NULL where C does not know */

/* The kernels of a program that C has made (kernels.c). */
typedef _Atomic(struct fpgart_kernels *) fpgart_kernels_slot;
fpgart_kernels_slot *fpgart_kernels_of(uintptr_t program); /* NULL if it is no program */
void fpgart_kernels_free(fpgart_kernels_slot *slot);
void fpgart_kernel_goes(uintptr_t program);
int fpgart_kernels_end(uintptr_t program);

/* Objects that C makes by what the host passed; NULL leaves the call to Python. */
cl_kernel fpgart_makes_kernel(const void *program, const char *name);
cl_command_queue fpgart_makes_queue(const void *context, const void *device,
                                    cl_command_queue_properties properties);
cl_command_queue fpgart_makes_queue_with(const void *context, const void *device,
                                         const cl_queue_properties *list);
cl_mem fpgart_makes_buffer(const void *context, cl_mem_flags flags, size_t size, const void *host);
cl_mem fpgart_makes_sub_buffer(const void *buffer, cl_mem_flags flags, cl_buffer_create_type type,
                               const void *region);

/* Allocations of unified shared memory that are alive (allocations.c); contexts are also meant by
 * their serials. */
void fpgart_allocation_made(uintptr_t context, uintptr_t begin, size_t size, int is_plain);
void fpgart_allocation_goes(uintptr_t context, uintptr_t begin);
void fpgart_allocations_go(uint64_t context);
int fpgart_is_allocated(uint64_t context, uintptr_t pointer);
uintptr_t fpgart_plain_allocation(uint64_t context, uintptr_t pointer);

/* The bodies of clRetain* and clRelease*: `invalid` is the status for a handle of another kind. */
cl_int fpgart_retain(const void *handle, int kind, cl_int invalid);
cl_int fpgart_release(const void *handle, int kind, cl_int invalid);

/* Calls into Python made by the handles: the host's first reference came back, its last one went,
 * last ones went that were put off. */
void fpgart_host_retained(uintptr_t handle);
void fpgart_host_released(uintptr_t handle);
void fpgart_reap(void);

/* A call into Python: the status with which a call of the host fails, 0 if it does not. Threads are
 * counted in the order of their first calls. */
cl_int fpgart_fault_of_call(const char *name, uintptr_t object, uint32_t thread);

/* What fpgart_control() asks of the Python side; JSON, to be freed. */
char *fpgart_control_request(const char *request, size_t length);

/* Last references that were put off: whether there are any; the next one, 0 for none; said after
 * each. */
int fpgart_any_released(void);
uintptr_t fpgart_next_released(void);
void fpgart_released_done(void);
void fpgart_callbacks_are_left(int flag);
void fpgart_destructors_are_watched(void);

/* Writing answers and reading arguments for Python, which sees addresses as integers. */
cl_int fpgart_answer(uintptr_t value, size_t size, size_t *size_ret, const char *bytes,
                     size_t length);
uint64_t fpgart_load(uintptr_t address, size_t size);

/* The host's return addresses, innermost first, behind the entry point that runs on this thread;
 * gives how many there are. */
size_t fpgart_host_frames(uintptr_t *frames, size_t most);

/* What is alive as the driver closes, in groups with words for each; told when the process has
 * ended, but for what was released in between. `file` "": stderr. The descriptor `findings`, if it
 * is not -1, gets a JSON object per group: how many there are, and behind that its `facts`. */
void fpgart_leaks_expected(size_t count_of_groups, char **nouns, char **makers, char **facts,
                           size_t count, const uintptr_t *things, const uint64_t *bytes,
                           const uint32_t *group_of, const char *file, int findings);

/* The host frees memory, which may be among that. */
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

/* The host's Python frames behind the call that this thread serves, innermost first, each as four
 * lines: module, file, line, function. Gives how many bytes the text has. */
size_t fpgart_host_python_frames(char *text, size_t room, size_t most);

/* The door for the host's Python (control.c). fpgart_text(): a copy, to be given back. */
char *fpgart_text(const char *words);
int fpgart_control_runs(void);
char *fpgart_control(const char *request, size_t length);
void fpgart_control_read(char *answer);

void *fpgart_address_of(const char *name);

#endif
