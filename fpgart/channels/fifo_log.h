/* SPDX-License-Identifier: Apache-2.0
 *
 * The history of a FIFO while channels are watched: its levels and the waits of kernels. Both are
 * bounded: if there is no room for more, half of the levels are removed, and fewer are recorded
 * from then on; of the waits, the shortest are removed. */
#pragma once
#include "channels.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
/* cffi */
enum { FIFO_LEVELS = 512, FIFO_STALLS = 256, STALLED_NAME = 64 };

/* The number of packets at a time of the monotonic clock, in nanoseconds. */
struct fifo_level {
    uint64_t at;
    uint64_t packets;
};

/* A kernel that waited to write or to read. */
struct fifo_stall {
    uint64_t begin;
    uint64_t end;
    int32_t writing;
    char kernel[STALLED_NAME];
};

/* Switches the recording for all FIFOs of the process. */
void fifo_watch(int on);
/* Keeps this switch in memory of a host and its board process. */
void fifo_share_watch(uintptr_t memory);
/* Writes the history since the last call to arrays of FIFO_LEVELS and FIFO_STALLS; returns the
 * number of levels, and in the high half that of stalls. */
uint64_t fifo_history(struct fifo *fifo, struct fifo_level *levels, struct fifo_stall *stalls);
/* cffi */

struct fifo_log {
    size_t levels;
    size_t stalls;
    uint64_t stride; /* packets moved between two levels */
    uint64_t moved;  /* since the last level */
    uint64_t least;  /* nanoseconds; shorter waits are not recorded */
    struct fifo_level level[FIFO_LEVELS];
    struct fifo_stall stall[FIFO_STALLS];
};

extern atomic_bool *fifos_watched;

/* The FIFO's lock is held. */
void fifo_log_move(struct fifo *fifo);
void fifo_log_stall(struct fifo *fifo, const char *kernel, bool writing, uint64_t begin);
void fifo_log_begin(struct fifo_log *log);
void fifo_log_free(struct fifo_log *log);
