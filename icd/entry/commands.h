/* SPDX-License-Identifier: Apache-2.0
 *
 * Makes a command of a call of the host. */
#pragma once

#include "boards.h"
#include "for_python.h"
#include "held.h"
#include "layout.h"

#include <stddef.h>
#include <stdint.h>

enum { ROOM = 6144 };

/* A region of up to three dimensions in linear memory: its first byte, and from row to row and from
 * slice to slice. */
struct box {
    const size_t *origin, *region;
    size_t row_pitch, slice_pitch;
};

/* A call of the host. */
struct call {
    int (*carry)(const struct call *call);
    uintptr_t queue, kernel, buffer, other;
    struct fpgart_nd_range nd_range;
    size_t offset, other_offset, size;
    struct box boxes[2]; /* of a rectangular command: in `buffer`, and in `other` or `host` */
    const void *host;
    int is_write, is_blocking;
    int is_checked; /* 1: Python has checked it */
    size_t pattern;
    cl_map_flags flags; /* of a mapping */
    cl_command_type type;
    cl_uint waits;
    const cl_event *wait_list;
    cl_event *event;
};

struct command {
    const struct call *call;
    struct fpgart_carried_queue *queue;
    uint64_t epoch;
    struct carried *carried; /* in `room` */
    struct held held;        /* follows it */
    _Alignas(16) char room[ROOM + sizeof(struct held)];
};

/* Initializes what each call that enqueues a command has, from parameters with the API's names. The
 * entry points that generate.py writes initialize the rest. */
#define FPGART_CALL(function, command_type)                                                        \
    .carry = (function), .queue = (uintptr_t)command_queue, .type = (command_type),                \
    .waits = num_events_in_wait_list, .wait_list = event_wait_list, .event = event

/* Tries to carry out a call. Returns 1 on success. If not, Python may find the missing facts and
 * let C try again: fpgart_carry_again() returns 1 if that succeeded. */
int fpgart_carries(const struct call *call);
FOR_PYTHON int fpgart_carry_again(void);

/* A command begins with fpgart_begin_command() and ends with give_up or enqueue. It holds its
 * queue, kernel and buffers until it has ended. Each function returns 0 to leave the call to
 * Python. */
int fpgart_begin_command(struct command *command, const struct call *call);
/* Holds a buffer for the command, and finds the address of its bytes, if it has none of the
 * flags in `refused`. */
int fpgart_use_buffer(struct command *command, uintptr_t buffer, uint64_t refused, size_t offset,
                      size_t size, struct fpgart_place *place);
int fpgart_give_up(struct command *command);
int fpgart_is_task(const struct command *command); /* 1 for a launch that occupies one core */
/* `size`: the bytes behind the operation. */
int fpgart_enqueue_command(struct command *command, enum core_role role, size_t size);

/* Returns 1 if a command that the engine has uses one of the buffers. */
AT_ONCE int fpgart_board_uses(uintptr_t board, uint32_t count, const uintptr_t *buffers);
/* Returns the queue's oldest carried command behind `behind` that has not ended, and has an
 * address in the range as argument or may reach allocations of the kind, with a reference. NULL:
 * there is none, and ended ones have been settled. */
FOR_PYTHON struct core_command *fpgart_next_user(uintptr_t queue, const struct core_command *behind,
                                                 uintptr_t begin, uintptr_t end, uint64_t kind);

/* Reports a failed command. */
OF_PYTHON void fpgart_carried_failed(uintptr_t queue, uintptr_t kernel, cl_int status,
                                     cl_int place);
/* Reports the end of a command that frees SVM. */
OF_PYTHON void fpgart_svm_goes(uintptr_t queue, cl_uint count, const uintptr_t *pointers);
/* Requests the facts for a command in the present epoch. Returns 0 if it cannot be carried. */
OF_PYTHON int fpgart_renew(uintptr_t queue, uintptr_t kernel, cl_uint count,
                           const struct fpgart_use *uses);
/* Hands a command over. */
OF_PYTHON void fpgart_run_handed_over(uintptr_t command, uintptr_t queue, uintptr_t kernel,
                                      cl_uint type, uintptr_t carried, cl_uint traffic,
                                      cl_uint count, const struct fpgart_use *uses);
