/* SPDX-License-Identifier: Apache-2.0
 *
 * What is remembered of a FIFO while somebody watches: how full it was, and who waited for it. Both
 * are bounded: when there is no room for more, half of the levels are forgotten, and from then on
 * fewer are kept; of the waits, the shortest are forgotten. */
#ifndef FPGART_FIFO_LOG_H
#define FPGART_FIFO_LOG_H
#include "channels.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
/* cffi */
enum { FIFO_LEVELS = 512, FIFO_STALLS = 256, STALLED_NAME = 64 };

/* So many packets at a time of the monotonic clock, in nanoseconds. */
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

/* From now on, all FIFOs of the process are watched, or none. */
void fifo_watch(int on);
/* From now on that is written down, and read, in memory of a host and its board process. */
void fifo_share_watch(uintptr_t memory);
/* What was remembered of one since the last call, into arrays of FIFO_LEVELS and FIFO_STALLS;
 * returns the number of levels, and in the high half that of stalls. */
uint64_t fifo_history(struct fifo *fifo, struct fifo_level *levels, struct fifo_stall *stalls);
/* cffi */

struct fifo_log {
    size_t levels;
    size_t stalls;
    uint64_t stride; /* packets that are moved between two levels */
    uint64_t moved;  /* since the last level */
    uint64_t least;  /* shorter waits are not remembered, in nanoseconds */
    struct fifo_level level[FIFO_LEVELS];
    struct fifo_stall stall[FIFO_STALLS];
};

extern atomic_bool *fifos_watched;

/* The FIFO's lock is held. */
void fifo_log_move(struct fifo *fifo);
void fifo_log_stall(struct fifo *fifo, const char *kernel, bool writing, uint64_t begin);
void fifo_log_begin(struct fifo_log *log);
void fifo_log_free(struct fifo_log *log);
#endif
