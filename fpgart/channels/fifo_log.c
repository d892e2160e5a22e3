/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "fifo_log.h"

#include "clock.h"
#include "fifo.h"
#include <stdlib.h>
#include <string.h>

enum { FIRST_LEAST_NS = 1000 };

static atomic_bool of_process;
atomic_bool *fifos_watched = &of_process;

void fifo_share_watch(uintptr_t memory)
{
    fifos_watched = (atomic_bool *)memory;
}

void fifo_watch(int on)
{
    *fifos_watched = on != 0;
}

void fifo_log_begin(struct fifo_log *log)
{
    *log = (struct fifo_log){.stride = 1, .least = FIRST_LEAST_NS};
}

/* NULL without memory: then the FIFO works without a history. */
static struct fifo_log *log_of(struct fifo *fifo)
{
    if (fifo->log == NULL) {
        fifo->log = calloc(1, sizeof *fifo->log);
        if (fifo->log != NULL)
            fifo_log_begin(fifo->log);
    }
    return fifo->log;
}

void fifo_log_free(struct fifo_log *log)
{
    free(log);
}

/* Keeps levels in pairs, and an odd stride: if packets are written and read by turns, both kinds
 * of levels are recorded. */
static void thin_levels(struct fifo_log *log)
{
    for (size_t i = 0; i < FIFO_LEVELS / 2; i++)
        log->level[i] = log->level[2 * (i & ~(size_t)1) + (i & 1)];
    log->levels = FIFO_LEVELS / 2;
    log->stride = 2 * log->stride + 1;
}

void fifo_log_move(struct fifo *fifo)
{
    struct fifo_log *log = log_of(fifo);
    if (log == NULL || ++log->moved < log->stride)
        return;
    log->moved = 0;
    if (log->levels == FIFO_LEVELS)
        thin_levels(log);
    log->level[log->levels++] = (struct fifo_level){now_ns(), fifo->used / fifo->packet};
}

static void thin_stalls(struct fifo_log *log)
{
    while (log->stalls == FIFO_STALLS) {
        size_t kept = 0;
        log->least *= 2;
        for (size_t i = 0; i < log->stalls; i++)
            if (log->stall[i].end - log->stall[i].begin >= log->least)
                log->stall[kept++] = log->stall[i];
        log->stalls = kept;
    }
}

void fifo_log_stall(struct fifo *fifo, const char *kernel, bool writing, uint64_t begin)
{
    uint64_t end = now_ns();
    struct fifo_log *log = log_of(fifo);
    if (log == NULL || end - begin < log->least)
        return;
    if (log->stalls == FIFO_STALLS)
        thin_stalls(log);
    struct fifo_stall *stall = &log->stall[log->stalls++];
    *stall = (struct fifo_stall){.begin = begin, .end = end, .writing = writing};
    strncpy(stall->kernel, kernel, STALLED_NAME - 1);
}

uint64_t fifo_history(struct fifo *fifo, struct fifo_level *levels, struct fifo_stall *stalls)
{
    uint64_t counts = 0;
    fifo_lock(fifo);
    struct fifo_log *log = fifo->log;
    if (log != NULL) {
        memcpy(levels, log->level, log->levels * sizeof *levels);
        memcpy(stalls, log->stall, log->stalls * sizeof *stalls);
        counts = (uint64_t)log->stalls << 32 | log->levels;
        log->levels = log->stalls = 0;
    }
    fifo_unlock(fifo);
    return counts;
}
