/* SPDX-License-Identifier: Apache-2.0
 *
 * Commands that C gives to the engine by itself: boards and queues (boards.c), arguments of
 * launches (arguments.c), the commands (commands.c), the calls of the host that make them (calls.c)
 * and that ask about them (events.c). */
#ifndef FPGART_CARRIED_H
#define FPGART_CARRIED_H

#include "icd.h"

#include <stdatomic.h>

/* The host has let go of what a carried command holds: it is to be let go of soon after the end. */
void fpgart_observe_commands(void);

/* What Python has found out for commands that C gives to the engine by itself (commands.c). It
 * holds in one epoch of a board (core/core.h). */
struct fpgart_board {
    struct core_board *core;
    struct fpgart_board *next;
    const struct carrier *carrier;
    uintptr_t context, device; /* the engine's */
    uint64_t (*traffic)[2];    /* calls and bytes: written, read, copied, programmed */
    _Atomic uint64_t launches;
    _Atomic uint64_t program; /* the one that is loaded, by Python's number */
};
struct fpgart_program { /* of a kernel: its number, and the bytes that the board is given */
    uint64_t number, size;
};
struct fpgart_place {       /* of a buffer */
    _Atomic uint64_t epoch; /* 0: unknown, or about to change */
    const struct fpgart_board *board;
    uintptr_t address;
    uint64_t size;
    uint64_t
        locations; /* a bit for each of the memories, by Python's numbers, that it counts for */
    uint32_t ways; /* 1: the host may write it, 2: and read it */
    uintptr_t context;
};
struct fpgart_carried_queue {
    struct core_queue *core;
    struct fpgart_board *board;
    uintptr_t context;
    int in_order, has_profiling;
};
struct fpgart_nd_range {
    uint64_t sizes[9]; /* offset, global and local size */
    uint32_t dimensions;
    uint32_t has_local;
};
enum { FPGART_WAYS_TO = 1, FPGART_WAYS_FROM = 2, FPGART_IN_ALLOCATION = 16 };
typedef _Atomic(struct fpgart_carried_queue *) fpgart_queue_slot;
fpgart_queue_slot *fpgart_queue_of(uintptr_t queue);                /* NULL if it is no queue */
struct fpgart_carried_queue *fpgart_carried_queue(uintptr_t queue); /* NULL: none is carried */
struct fpgart_place *fpgart_place_of(uintptr_t buffer);
void fpgart_queue_free(struct fpgart_carried_queue *queue);
uintptr_t fpgart_board_new(uintptr_t device, uintptr_t carrier, uintptr_t engine_context,
                           uintptr_t engine_device, uintptr_t traffic);
uint64_t fpgart_board_epoch(uintptr_t board);
void fpgart_board_end_epoch(uintptr_t board);
int fpgart_board_hold(uintptr_t board);
void fpgart_board_resume(uintptr_t board);
int fpgart_board_is_open(uintptr_t board);
uint64_t fpgart_board_take_launches(uintptr_t board);
void fpgart_board_loaded(uintptr_t board, uint64_t program);
uint64_t fpgart_board_program(uintptr_t board);
int fpgart_queue_carries(uintptr_t queue, uintptr_t board, uintptr_t context, int in_order,
                         int has_profiling);
int fpgart_queue_hold(uintptr_t queue);
void fpgart_queue_resume(uintptr_t queue);
void fpgart_queue_finish(uintptr_t queue);
void fpgart_queue_flush(uintptr_t queue);
void fpgart_queue_note(uintptr_t queue);
void fpgart_settle_ends(void);
void fpgart_buffer_is_at(uintptr_t buffer, uintptr_t board, uint64_t epoch, uintptr_t address,
                         uint64_t size, uint64_t locations, uint32_t ways, uintptr_t context);
void fpgart_kernel_is(uintptr_t kernel, uintptr_t board, uint64_t epoch, uintptr_t engine_kernel,
                      const char *image, uint32_t size, const uint32_t *locations,
                      const uint64_t *limits);
void fpgart_carry(int flag); /* whether C may; not while the process exits, or somebody watches */
int fpgart_may_carry(void);
int fpgart_may_wait(void); /* this thread does not keep the interpreter from others meanwhile */

/* The same for the arguments and the ND-range of a launch (arguments.c): 0 where that is for
 * Python. `held`: room for the handles of the buffers that it uses. */
struct carried;
int fpgart_others_run(const struct fpgart_carried_queue *queue);
int fpgart_place_in(uintptr_t buffer, const struct fpgart_carried_queue *queue, uint64_t epoch,
                    struct fpgart_place *found);
int fpgart_lay_out_launch(uintptr_t kernel, const struct fpgart_carried_queue *queue,
                          const struct fpgart_nd_range *nd_range, uint64_t epoch,
                          struct carried *carried, size_t room, uintptr_t *held, uint32_t *count,
                          struct fpgart_program *program);
void fpgart_argument_changed(uintptr_t kernel, uint32_t index);
void fpgart_kernel_changed(uintptr_t kernel);
uintptr_t fpgart_next_unseen(uintptr_t event);

/* Calls that C carries out, by what the host passed; 0: for Python. Python may find out what is
 * missing and have it tried again. fpgart_carry_again() gives whether that was done. */
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
int32_t fpgart_command_watch(uintptr_t command);
int32_t fpgart_command_status(uintptr_t command);
int32_t fpgart_command_wait(uintptr_t command);
void fpgart_command_times(uintptr_t command, uint64_t *times);

/* Calls into Python: a board, or a queue, that is held has no carried command any more; one of
 * which there is a view has ended; one has failed. */
void fpgart_board_idle(uintptr_t device);
void fpgart_queue_idle(uintptr_t queue);
void fpgart_view_ended(uintptr_t event, uint64_t serial, cl_int status);
void fpgart_carried_failed(uintptr_t queue, uintptr_t kernel, cl_int status, cl_int place);

#endif
