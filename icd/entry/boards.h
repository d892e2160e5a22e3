/* SPDX-License-Identifier: Apache-2.0
 *
 * Boards and queues whose commands C gives to the engine. The facts that Python has found for
 * these commands hold in one epoch of a board (core/core.h). */
#pragma once

#include "board_memory.h"
#include "core.h"
#include "handles.h"

#include <CL/cl.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct fpgart_board {
    struct core_board *core;
    struct fpgart_board *next;
    uintptr_t handle; /* the device's */
    const struct carrier *carrier;
    uintptr_t context, device; /* the engine's */
    int has_svm;
    uint32_t cores; /* a launch of one work-item occupies one, others all; 0: they occupy none */
    struct board_memory *memory;
    /* The heap of buffers without a request (blocks.c): allocations of up to `room` bytes are C's,
     * those of more than `small` bytes only while `spare` bytes are free. They have the board's
     * addresses; `shift` leads from those to addresses of this process. */
    struct first_fit *heap;
    _Atomic uint64_t room;
    uint64_t small, spare, shift, locations;
    _Atomic uint64_t launches;
    _Atomic uint64_t program; /* Python's number of the loaded one */
};
struct fpgart_carried_queue {
    struct core_queue *core;
    struct fpgart_board *board;
    uintptr_t context;
    uint64_t properties;
    uint32_t number;              /* in findings */
    int has_list;                 /* 1: the host created the queue with a list of properties */
    struct fpgart_launch *newest; /* in order, noted and not ended (watched.c) */
};

FOR_PYTHON uintptr_t fpgart_board_new(uintptr_t device, uintptr_t carrier, uintptr_t engine_context,
                                      uintptr_t engine_device, uintptr_t memory, int has_svm,
                                      uint32_t cores);
AT_ONCE struct core_board *fpgart_core_board(uintptr_t board);
AT_ONCE uint64_t fpgart_board_take_launches(uintptr_t board);
AT_ONCE void fpgart_board_loaded(uintptr_t board, uint64_t program);
AT_ONCE uint64_t fpgart_board_program(uintptr_t board);
AT_ONCE void fpgart_context_has(uintptr_t context, uintptr_t board, int is_first, int is_over_host);
/* Returns the board in the slot FPGART_FIRST_BOARD or FPGART_OVER_HOST; NULL before C carries its
 * commands. */
struct fpgart_board *fpgart_board_in(uintptr_t context, int slot);
AT_ONCE void fpgart_buffer_is_at(uintptr_t buffer, uintptr_t board, uint64_t epoch,
                                 uintptr_t address, uint64_t locations, uintptr_t store);

/* NULL leaves the call to Python. */
cl_command_queue fpgart_makes_queue(const void *context, const void *device,
                                    cl_command_queue_properties properties);
cl_command_queue fpgart_makes_queue_with(const void *context, const void *device,
                                         const cl_queue_properties *list);
FOR_PYTHON int fpgart_queue_carries(uintptr_t queue, struct core_queue *core, uintptr_t board,
                                    uintptr_t context, uint32_t number, uint64_t properties);
struct fpgart_carried_queue *fpgart_carried_queue(uintptr_t queue); /* NULL: none is carried */
FOR_PYTHON void fpgart_queue_flush(uintptr_t queue);
void fpgart_queue_free(struct fpgart_carried_queue *queue);
int fpgart_event_of(uintptr_t event, struct fpgart_event *found);

AT_ONCE void fpgart_decides(struct core_caller *caller);
FOR_PYTHON void fpgart_call_scheduler(void *nothing);
FOR_PYTHON void fpgart_note_ends(int only_polling); /* core_board_note() of all boards */

/* What boards.c needs of commands.c, for struct core_lane. */
bool fpgart_renews(struct core_command *command, uint64_t epoch);
void fpgart_hand_over(struct core_command *command);

/* Calls into Python: no carried command runs on a board that is held; decided commands are
 * ready. */
OF_PYTHON void fpgart_board_idle(uintptr_t device);
OF_PYTHON void fpgart_commands_ready(void);
