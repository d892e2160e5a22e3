/* SPDX-License-Identifier: Apache-2.0
 *
 * Makes a command of a call of the host. */
#ifndef FPGART_COMMANDS_H
#define FPGART_COMMANDS_H

#include "core.h"
#include "carrier.h"
#include "carried.h"

#include <stdatomic.h>

enum { ROOM = 6144 };
enum { WRITTEN, READ, COPIED }; /* rows of a board's traffic */

/* The data behind an operation; `data` is its address. */
struct held {
    struct fpgart_board *board;
    uintptr_t queue, kernel;
    cl_command_type type;
    uint32_t handed_over; /* Python has run the command, counted it and told watchers */
    uint32_t is_renewed;  /* 1: Python was asked once whether it can be carried in another epoch */
    uintptr_t event;
    struct fpgart_launch *watched; /* NULL: no trace is written */
    uint32_t traffic;              /* the row in the board's counters */
    uint64_t calls, bytes;
    struct fpgart_program program; /* of a launch */
    uint64_t mapping;              /* the number of the mapping in the first buffer; 0: none */
    uint64_t buffers;
    struct fpgart_use uses[FPGART_ARGUMENTS];
};

/* A call of the host. */
struct call {
    int (*carry)(const struct call *call);
    uintptr_t queue, kernel, buffer, other;
    struct fpgart_nd_range nd_range;
    size_t offset, other_offset, size;
    const void *host;
    int is_write, is_blocking, is_barrier;
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
    uint32_t buffers;
    _Alignas(16) char room[ROOM + sizeof(struct held)];
};

/* Tries to carry out a call, which may be tried again. Returns 1 on success. */
int fpgart_carries(const struct call *call);

/* A command begins with fpgart_begin_command() and ends with give_up or enqueue. It holds its
 * queue, kernel and buffers until it has ended. Each function returns 0 to leave the call to
 * Python. */
int fpgart_begin_command(struct command *command, const struct call *call);
/* Holds a buffer for the command, and finds the address of its bytes, if it has none of the
 * flags in `refused`. */
int fpgart_use_buffer(struct command *command, uintptr_t buffer, uint64_t refused, size_t offset,
                      size_t size, struct fpgart_place *place);
int fpgart_give_up(struct command *command);
/* `size`: the bytes behind the operation. */
int fpgart_enqueue_command(struct command *command, enum core_role role, size_t size);

/* Counts the bytes or the launch of a command that has succeeded. */
void fpgart_count_command(const struct held *held);
void fpgart_let_go_of(const struct held *held);

/* Launches that a trace shows (watched.c). fpgart_call_begins() returns the time, or 0 if none
 * is written; fpgart_launch_new() notes a launch with so many bytes of arguments,
 * fpgart_launch_called() that its call returns, fpgart_launch_over() its end, after which
 * Python releases what it held by fpgart_release_launch(). */
uint64_t fpgart_call_begins(void);
struct fpgart_launch *fpgart_launch_new(const struct command *command, uint64_t begin,
                                        size_t arguments);
void fpgart_launch_called(struct fpgart_launch *launch, struct core_command *command);
void fpgart_launch_over(const struct carried *carried, const struct held *held, int32_t status);
void fpgart_release_launch(struct core_command *command);
/* 1 while Python has C try a call again. */
void fpgart_launched_by_python(int flag);

#endif
