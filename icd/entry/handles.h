/* SPDX-License-Identifier: Apache-2.0
 *
 * Object handles: slots with the counts of references, and what C keeps for each object.
 * An address is dereferenced only after it was recognised as a handle. */
#pragma once

#include "core.h"

#include <CL/cl.h>
#include <CL/cl_icd.h>

#include <stdatomic.h>
#include <stdint.h>

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

extern const struct _cl_icd_dispatch fpgart_dispatch;

/* The host's arguments for a buffer. A sub-buffer is a region of another one. */
struct fpgart_region {
    uint64_t flags, origin, size;
    uint64_t context; /* its serial; 0 for memory objects of other kinds */
    uintptr_t host;   /* over which C has made the buffer; 0: none, or Python knows it */
};
enum {
    FPGART_ACCESS = CL_MEM_READ_WRITE | CL_MEM_WRITE_ONLY | CL_MEM_READ_ONLY,
    FPGART_HOST_ACCESS = CL_MEM_HOST_WRITE_ONLY | CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_NO_ACCESS
};
struct fpgart_board;
struct fpgart_block {           /* memory of a board that C has allocated */
    struct fpgart_board *board; /* NULL: none */
    uint64_t address, size;
    int is_moving;   /* 1: a thread copies the buffer's contents into it */
    uintptr_t store; /* the host's memory in which C maps the buffer; 0: none */
};
struct fpgart_place {       /* of a buffer */
    _Atomic uint64_t epoch; /* 0: unknown, or about to change */
    const struct fpgart_board *board;
    uintptr_t address;
    uint64_t locations; /* a bit for each memory that it counts for, by Python's numbers */
    uintptr_t store;    /* the host's memory in which it is mapped; 0: none */
};
struct fpgart_mappings {
    struct fpgart_mapped *first;
    uint32_t in_python; /* the number of those that Python knows */
    uint32_t of_all;    /* the number of all, with those of its sub-buffers */
};
/* The slots of a context: those of the boards for which C makes queues; FPGART_FIRST_BOARD of the
 * first device's board, whose memory buffers get; FPGART_OVER_HOST of the same board if C also
 * makes buffers over the host's memory, and maps buffers that Python does not know. */
enum {
    FPGART_MOST_BOARDS = 4,
    FPGART_FIRST_BOARD = FPGART_MOST_BOARDS,
    FPGART_OVER_HOST,
    FPGART_SLOTS
};

typedef _Atomic(struct fpgart_answer *) fpgart_answers;
typedef _Atomic(struct fpgart_kernels *) fpgart_kernels_slot;
typedef _Atomic(struct fpgart_arguments *) fpgart_arguments_slot;
typedef _Atomic(struct fpgart_carried_queue *) fpgart_queue_slot;
typedef _Atomic(struct fpgart_board *) fpgart_board_slot;

/* What C keeps for an object. The headers of these structures say what they are. */
struct fpgart_contents {
    fpgart_answers answers;
    fpgart_kernels_slot kernels;            /* of a program */
    fpgart_arguments_slot arguments;        /* of a kernel */
    fpgart_queue_slot carried;              /* of a queue */
    fpgart_board_slot boards[FPGART_SLOTS]; /* of a context */
    struct fpgart_region region;            /* of a buffer */
    struct fpgart_mappings mappings;        /* of a buffer */
    struct fpgart_block block;              /* of a buffer, while Python does not know it */
    struct fpgart_place place;              /* of a buffer that is no sub-buffer */
};

AT_ONCE uintptr_t fpgart_handle_new(int kind, uint32_t references);
AT_ONCE void fpgart_handle_free(uintptr_t handle);
int fpgart_is_handle(uintptr_t address); /* 1 also for a handle that was freed */
AT_ONCE int fpgart_handle_kind(uintptr_t handle);
AT_ONCE uint32_t fpgart_handle_references(uintptr_t handle);
AT_ONCE uint64_t fpgart_handle_serial(uintptr_t handle);
AT_ONCE int fpgart_handle_is_held(uintptr_t handle);

/* Holds an object, as a command would, if the host holds it; until fpgart_unhold(), which may call
 * into Python. Returns 1 on success. `serial`: of the object that the handle has to have still. */
int fpgart_hold(uintptr_t handle, int kind);
int fpgart_hold_same(uintptr_t handle, int kind, uint64_t serial);
void fpgart_unhold(uintptr_t handle, int kind);
/* The same for threads with locks: it calls nothing of Python's, if there is memory. */
void fpgart_unhold_later(uintptr_t handle, int kind);

/* NULL if the handle is of another kind. Kernels of one name share their answers. */
fpgart_answers *fpgart_answers_of(uintptr_t handle, int kind);
fpgart_kernels_slot *fpgart_kernels_of(uintptr_t program);
fpgart_arguments_slot *fpgart_arguments_of(uintptr_t kernel);
fpgart_queue_slot *fpgart_queue_of(uintptr_t queue);
fpgart_board_slot *fpgart_boards_of(uintptr_t context);
struct fpgart_region *fpgart_region_of(uintptr_t buffer);
struct fpgart_mappings *fpgart_mappings_of(uintptr_t buffer);
struct fpgart_block *fpgart_block_of(uintptr_t buffer); /* NULL, too, if Python knows the buffer */
struct fpgart_place *fpgart_place_of(uintptr_t buffer); /* that of the parent of a sub-buffer */

AT_ONCE void fpgart_buffer_is(uintptr_t buffer, uintptr_t context, uintptr_t parent, uint64_t flags,
                              uint64_t origin, uint64_t size);
uintptr_t fpgart_owner_of(uintptr_t buffer); /* the parent of a sub-buffer; others themselves */

/* Objects that C has made and Python does not know: events, kernels, queues, buffers,
 * sub-buffers. Each holds its parent (queue, program, context, context, buffer; the context for a
 * user event), which the caller of fpgart_is_unseen() has held. Python makes a view of one when it
 * is asked about it.
 * fpgart_begin_view() returns 0 if Python knows the object; it writes the parent. */
void fpgart_is_unseen(uintptr_t handle, uintptr_t parent);
struct fpgart_contents *fpgart_begin_view(uintptr_t handle, uintptr_t *parent);
AT_ONCE void fpgart_unview(uintptr_t handle);
AT_ONCE uintptr_t fpgart_next_unseen(uintptr_t handle, int kind);

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
AT_ONCE void fpgart_event_is(uintptr_t event, uintptr_t command, uintptr_t context,
                             cl_command_type type);
/* Returns the command of an event and writes its type and its parent; NULL if it has none. */
struct core_command *fpgart_command_of(uintptr_t event, cl_command_type *type, uintptr_t *parent);
int fpgart_event_is_pythons(uintptr_t event); /* 1: Python has made it, or has a view of it */

/* The bodies of clRetain* and clRelease*; `invalid` is the status for a handle of another kind. */
cl_int fpgart_retain(const void *handle, int kind, cl_int invalid);
cl_int fpgart_release(const void *handle, int kind, cl_int invalid);

/* Deferred releases: whether there are any; the next one, 0 for none; called after each. */
int fpgart_any_released(void);
AT_ONCE uintptr_t fpgart_next_released(void);
AT_ONCE void fpgart_released_done(void);
AT_ONCE void fpgart_callbacks_are_left(int flag);
AT_ONCE void fpgart_destructors_are_watched(void);

/* Returns 1 if the driver has closed after all work had ended, and all of these are events. */
int fpgart_all_ended(cl_uint count, const cl_event *events);

/* What handles.c needs of the files above it (objects.c, boards.c, events.c). A kernel's answers
 * may be those of its name. fpgart_object_ends() is called when an object is freed, for what nobody
 * uses any more; fpgart_slot_begins() when its slot gets another one, for what readers without a
 * lock may still use before. */
fpgart_answers *fpgart_shared_answers(struct fpgart_contents *contents);
void fpgart_object_ends(struct fpgart_contents *contents, int kind, uint64_t serial);
/* Of an object that C has made. `mapped`: the number of its mapped regions. */
void fpgart_child_ends(uintptr_t parent, int kind, uint32_t mapped);
void fpgart_slot_begins(struct fpgart_contents *contents);
/* Is called when the host has released an object that a carried command holds, so that it is
 * released soon after the end. */
void fpgart_observe_commands(void);
/* The host's last reference goes, but commands hold the queue, or callbacks hold the event: those
 * of a user event that has not been set will never come. */
void fpgart_queue_goes(uintptr_t queue);
void fpgart_event_goes(uintptr_t event);

/* Calls into Python: the host has taken its first reference again, has released its last one and
 * no command holds the object, has tried to retain or release what it has no reference to, or
 * deferred releases have to be done. */
OF_PYTHON void fpgart_host_retained(uintptr_t handle);
OF_PYTHON void fpgart_host_released(uintptr_t handle);
OF_PYTHON void fpgart_count_refused(uintptr_t handle, int kind, int releases);
OF_PYTHON void fpgart_reap(void);
