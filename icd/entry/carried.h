/* SPDX-License-Identifier: Apache-2.0
 *
 * Commands that C gives to the engine: boards and queues (boards.c), arguments of launches
 * (arguments.c), the commands (commands.c), the host's calls that make them (calls.c) and those
 * about them (events.c). */
#ifndef FPGART_CARRIED_H
#define FPGART_CARRIED_H

#include "core.h"
#include "icd.h"

#include <stdatomic.h>

/* Is called when the host has released an object that a carried command holds, so that it is
 * released soon after the end. */
void fpgart_observe_commands(void);
void fpgart_note_ends(void); /* of carried commands, on all boards */

/* The facts that Python has found for commands that C gives to the engine (commands.c). They
 * hold in one epoch of a board (core/core.h). */
struct fpgart_board {
    struct core_board *core;
    struct fpgart_board *next;
    uintptr_t handle;           /* the device's */
    struct fpgart_block *spare; /* the spare blocks of its memory, lowest first */
    uint64_t memory_epoch;
    const struct carrier *carrier;
    uintptr_t context, device; /* the engine's */
    uint64_t (*traffic)[2];    /* calls and bytes: written, read, copied, programmed */
    _Atomic uint64_t launches;
    _Atomic uint64_t program; /* Python's number of the loaded one */
};
struct fpgart_program { /* of a kernel: its number, and the size of its binary */
    uint64_t number, size;
};
struct fpgart_place {       /* of a buffer */
    _Atomic uint64_t epoch; /* 0: unknown, or about to change */
    const struct fpgart_board *board;
    uintptr_t address;
    uint64_t locations; /* a bit for each memory that it counts for, by Python's numbers */
    uintptr_t store;    /* the host's memory in which it is mapped; 0: none */
};
struct fpgart_carried_queue {
    struct core_queue *core;
    struct fpgart_board *board;
    uintptr_t context;
    int in_order, has_profiling;
    int has_list; /* 1: the host created the queue with a list of properties */
    uint64_t properties;
};
struct fpgart_nd_range {
    uint64_t sizes[9]; /* offset, global and local size */
    uint32_t dimensions;
    uint32_t has_local;
};
enum { FPGART_IN_ALLOCATION = 16, FPGART_ANYWHERE = 64 };
struct fpgart_use { /* of a buffer by a command: the first byte, or the index of the argument */
    uintptr_t buffer;
    uint64_t at;
};
typedef _Atomic(struct fpgart_carried_queue *) fpgart_queue_slot;
fpgart_queue_slot *fpgart_queue_of(uintptr_t queue);                /* NULL if it is no queue */
struct fpgart_carried_queue *fpgart_carried_queue(uintptr_t queue); /* NULL: none is carried */
struct fpgart_place *fpgart_place_of(uintptr_t buffer);
void fpgart_queue_free(struct fpgart_carried_queue *queue);
/* Returns the board of a context with one device; NULL for others, and before C carries its
 * commands. */
struct fpgart_board *fpgart_only_board(uintptr_t context);
/* Returns the block of a buffer that C has made (blocks.c); NULL if Python knows the buffer.
 * A buffer without a block gets a spare one; 0: Python has to place it. */
struct fpgart_block **fpgart_block_of(uintptr_t buffer);
int fpgart_settle_buffer(uintptr_t buffer, struct fpgart_board *board, uint64_t epoch,
                         uint32_t location);
void fpgart_block_goes(struct fpgart_block **slot);
uint64_t fpgart_take_block(struct fpgart_block **slot); /* returns its address */
/* For Python: fpgart_block_spare() adds a spare block, fpgart_take_spare() removes one and
 * returns its address (0: there is none), and fpgart_memory_changed() records that other
 * memory of the board was freed. */
int fpgart_block_spare(uintptr_t board, uint64_t number, uint64_t size, uintptr_t pointer,
                       uint64_t locations);
uint64_t fpgart_take_spare(uintptr_t board);
void fpgart_memory_changed(uintptr_t board);
/* A launch that C carries while a trace is written (watched.c). `is_called`: the line of its call
 * is written, or is Python's; `has_run`: C has run it, and it was not handed over; `key`:
 * launches whose lines differ only in numbers and times have the same bytes. The members
 * behind `is_over` are valid once that is 1. */
enum { FPGART_FRAMES = 12 };
struct fpgart_launch {
    uint64_t number, begin, duration;
    uint32_t type, thread, is_called, frame_count;
    uintptr_t frames[FPGART_FRAMES];
    uintptr_t queue, kernel;
    uint32_t is_over, has_run;
    int32_t status;
    uint64_t start, end;
    uintptr_t carried; /* the operation */
    uint64_t buffers;
    const struct fpgart_use *uses;
    uintptr_t key;
    uint64_t key_size;
    struct core_command *command;
    uint64_t arguments; /* bytes */
    struct fpgart_launch *next;
};
/* For Python: 1 lets C carry launches although entry points are watched, and notes each. */
void fpgart_watch_launches(int flag);
int fpgart_watches_launches(void);
int fpgart_may_watch_launch(void); /* 1: C may carry one now */
int fpgart_may_carry_launches(void);
uint64_t fpgart_number_command(void);
uint64_t fpgart_last_launch(void); /* the number of the one that this thread enqueued last */
uint32_t fpgart_launches_left(void);
uint32_t fpgart_take_calls(uint32_t most, struct fpgart_launch **found);
uint32_t fpgart_take_launches(uint32_t most, struct fpgart_launch **found);
void fpgart_launches_written(uint32_t count, struct fpgart_launch **launches);
/* Returns the note of a carried command; NULL if there is none. */
struct fpgart_launch *fpgart_launch_of(struct core_command *command);
enum { FPGART_MOST_BOARDS = 4 }; /* for which C makes a context's queues */
typedef _Atomic(struct fpgart_board *) fpgart_board_slot;
fpgart_board_slot *fpgart_boards_of(uintptr_t context); /* NULL if it is no context */
void fpgart_queue_says(uintptr_t queue, uintptr_t *device, uint64_t *properties, int *has_list);
uintptr_t fpgart_board_new(uintptr_t device, uintptr_t carrier, uintptr_t engine_context,
                           uintptr_t engine_device, uintptr_t traffic);
uint64_t fpgart_board_epoch(uintptr_t board);
void fpgart_board_end_epoch(uintptr_t board);
int fpgart_board_hold(uintptr_t board);
void fpgart_board_resume(uintptr_t board);
int fpgart_board_is_open(uintptr_t board);
/* Returns 1 if a command that the engine has uses one of the buffers. */
int fpgart_board_uses(uintptr_t board, uint32_t count, const uintptr_t *buffers);
uint64_t fpgart_board_take_launches(uintptr_t board);
void fpgart_board_loaded(uintptr_t board, uint64_t program);
uint64_t fpgart_board_program(uintptr_t board);
int fpgart_queue_carries(uintptr_t queue, struct core_queue *core, uintptr_t board,
                         uintptr_t context, int in_order, int has_profiling);
struct core_queue *fpgart_core_queue(uintptr_t queue);
void fpgart_decides(struct core_caller *caller);
void fpgart_call_scheduler(void *nothing);
void fpgart_context_has(uintptr_t context, uintptr_t board, int is_only);
void fpgart_queue_flush(uintptr_t queue);
void fpgart_settle_ends(void);
/* Returns the queue's oldest carried command behind `behind` that has not ended and has an
 * address in the range as argument, with a reference. NULL: there is none, and ended ones
 * have been settled. */
struct core_command *fpgart_next_user(uintptr_t queue, const struct core_command *behind,
                                      uintptr_t begin, uintptr_t end);
void fpgart_buffer_is_at(uintptr_t buffer, uintptr_t board, uint64_t epoch, uintptr_t address,
                         uint64_t locations, uintptr_t store);
void fpgart_kernel_is(uintptr_t kernel, uintptr_t board, uint64_t epoch, uintptr_t engine_kernel,
                      const char *image, uint32_t size, const uint32_t *locations,
                      const uint64_t *limits);
void fpgart_carry(int flag);  /* 0: the process exits, or watchers listen */
int fpgart_has_threads(void); /* 0: no board was made, or the system gave no threads */
int fpgart_may_carry(void);
/* Returns 1 if this thread may wait: it has no interpreter's lock that others need, and no
 * callbacks that Python has to make behind its own. */
int fpgart_may_wait(void);
int fpgart_in_callback(void);

/* Writes the operation of a launch from its arguments and ND-range (arguments.c); 0 leaves it
 * to Python. `uses`: the buffers that it uses, which are held from then on. */
struct carried;
bool fpgart_renews(struct core_command *command, uint64_t epoch);
void fpgart_hand_over(struct core_command *command); /* for struct core_lane */
/* fpgart_renew_launch() updates a launch's addresses; true if the kernel is known in the
 * epoch, and its buffers are in the right memories. fpgart_kernel_holds(), for Python: the
 * kernel's facts hold in the epoch. */
bool fpgart_renew_launch(uintptr_t kernel, const struct fpgart_carried_queue *queue, uint64_t epoch,
                         struct carried *carried, uint32_t count, const struct fpgart_use *uses);
void fpgart_kernel_holds(uintptr_t kernel, uintptr_t board, uint64_t epoch);
int fpgart_others_run(const struct fpgart_carried_queue *queue);
int fpgart_place_in(uintptr_t buffer, const struct fpgart_carried_queue *queue, uint64_t epoch,
                    uint32_t location, struct fpgart_place *found);
int fpgart_lay_out_launch(uintptr_t kernel, const struct fpgart_carried_queue *queue,
                          const struct fpgart_nd_range *nd_range, uint64_t epoch,
                          struct carried *carried, size_t room, struct fpgart_use *uses,
                          uint32_t *count, struct fpgart_program *program);
void fpgart_argument_changed(uintptr_t kernel, uint32_t index);
void fpgart_kernel_changed(uintptr_t kernel);

/* Calls that C carries out, with the host's arguments; 0 leaves the call to Python. Python
 * may find the missing facts and let C try again: fpgart_carry_again() returns 1 if that
 * succeeded. */
int fpgart_carries_launch(const void *queue, const void *kernel, cl_uint dimensions,
                          const size_t *offset, const size_t *global, const size_t *local,
                          cl_uint waits, const cl_event *wait_list, cl_event *event);
int fpgart_carries_task(const void *queue, const void *kernel, cl_uint waits,
                        const cl_event *wait_list, cl_event *event);
int fpgart_carries_read(const void *queue, const void *buffer, cl_bool blocking, size_t offset,
                        size_t size, void *host, cl_uint waits, const cl_event *wait_list,
                        cl_event *event);
int fpgart_carries_write(const void *queue, const void *buffer, cl_bool blocking, size_t offset,
                         size_t size, const void *host, cl_uint waits, const cl_event *wait_list,
                         cl_event *event);
int fpgart_carries_copy(const void *queue, const void *from, const void *to, size_t from_offset,
                        size_t to_offset, size_t size, cl_uint waits, const cl_event *wait_list,
                        cl_event *event);
int fpgart_carries_fill(const void *queue, const void *buffer, const void *pattern,
                        size_t pattern_size, size_t offset, size_t size, cl_uint waits,
                        const cl_event *wait_list, cl_event *event);
int fpgart_carries_unmap(const void *queue, const void *buffer, const void *pointer, cl_uint waits,
                         const cl_event *wait_list, cl_event *event);
void *fpgart_carries_map(const void *queue, const void *buffer, cl_bool blocking,
                         cl_map_flags flags, size_t offset, size_t size, cl_uint waits,
                         const cl_event *wait_list, cl_event *event); /* NULL: left to Python */
int fpgart_carries_marker(const void *queue, int is_barrier, cl_uint waits,
                          const cl_event *wait_list, cl_event *event);
int fpgart_carry_again(void);
int fpgart_finishes(const void *queue);
int fpgart_flushes(const void *queue);
int fpgart_waits_for(cl_uint count, const cl_event *events);
int fpgart_says_event(const void *event, cl_event_info query, size_t size, void *value,
                      size_t *size_ret);
int fpgart_says_times(const void *event, cl_profiling_info query, size_t size, void *value,
                      size_t *size_ret);
int fpgart_calls_back(const void *event, cl_int status,
                      void(CL_CALLBACK *call)(cl_event, cl_int, void *), void *data);
void *fpgart_new_user_event(const void *context); /* NULL: left to Python */
int fpgart_sets_user_event(const void *event, cl_int status);
/* For Python: registers a callback for the view of a carried command. */
int fpgart_view_calls_back(uintptr_t event, cl_int status, uintptr_t call, uintptr_t data);

/* Calls into Python: no carried command runs on a board that is held; decided commands are
 * ready; a user event has ended of which a view was made meanwhile; a command has failed; the
 * facts for a command are needed in the present epoch (0: it cannot be carried); a command is
 * handed over. */
void fpgart_board_idle(uintptr_t device);
void fpgart_commands_ready(void);
void fpgart_user_event_ended(uintptr_t event, cl_int status);
void fpgart_carried_failed(uintptr_t queue, uintptr_t kernel, cl_int status, cl_int place);
int fpgart_renew(uintptr_t queue, uintptr_t kernel, cl_uint count, const struct fpgart_use *uses);
void fpgart_run_handed_over(uintptr_t command, uintptr_t queue, uintptr_t kernel, cl_uint type,
                            uintptr_t carried, cl_uint traffic, cl_uint count,
                            const struct fpgart_use *uses);

#endif
