/* SPDX-License-Identifier: Apache-2.0
 *
 * FIFOs of packets with one size, between kernels, the host and files. channels.h has the functions
 * that the host calls. Every function here but fifo_lock() and
 * fifo_wake() expects the caller to hold the FIFO's lock. */
#pragma once
#include "channels.h"
#include "fifo_log.h"
#include "links.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct io_file;

struct fifo {
    pthread_mutex_t lock;
    _Atomic uint32_t moved; /* changes with each packet; threads sleep on it */
    uint32_t packet;        /* bytes */
    uint32_t sleepers;
    bool hosted;        /* the host is at one end */
    struct io_file *io; /* a file at one end, for which `data` is a buffer; else NULL */
    struct link *link;  /* instead of `data`: the other end is on another board; else NULL */
    uint64_t capacity;  /* bytes, a whole number of packets */
    uint64_t begin;
    uint64_t used; /* bytes */
    char *data;
    struct fifo_log *log; /* NULL unless watched */
    struct fifo *next;
    char *name;
    struct pipe_end ends[2]; /* non-blocking, blocking */
    bool shared;             /* with another process, and the log with it */
};

/* Acquire and release the lock. If a process died with it, the FIFO may contain an incomplete
 * packet. */
void fifo_lock(struct fifo *fifo);
void fifo_unlock(struct fifo *fifo);
/* Reads as much from the file at one end as fits, if the FIFO contains no packet. */
void fifo_fill(struct fifo *fifo);
/* Writes as much to the file at one end as it accepts; true if the FIFO is empty then. */
bool fifo_drained(struct fifo *fifo);
/* Wakes the threads that sleep on the FIFO. */
void fifo_wake(struct fifo *fifo);
/* Wakes them wherever they sleep, so that they check if they have to end; needs no lock. */
void fifo_alarm(struct fifo *fifo);
/* Sleeps until a packet was moved, at most for that time. */
void fifo_sleep(struct fifo *fifo, uint32_t milliseconds);

/* True if a packet (`writing`: the room for one) is there. */
static inline bool fifo_ready(struct fifo *fifo, bool writing)
{
    if (fifo->link != NULL)
        return link_ready(fifo->link, fifo->packet);
    if (fifo->io != NULL && writing)
        return fifo_drained(fifo);
    if (fifo->io != NULL)
        fifo_fill(fifo);
    return writing ? fifo->used < fifo->capacity : fifo->used >= fifo->packet;
}

/* Moves one packet; fifo_ready() must be true. */
static inline void fifo_move(struct fifo *fifo, bool writing, void *data)
{
    if (fifo->link != NULL) {
        link_move(fifo->link, data, fifo->packet);
        return;
    }
    if (writing) {
        memcpy(fifo->data + (fifo->begin + fifo->used) % fifo->capacity, data, fifo->packet);
        fifo->used += fifo->packet;
    } else {
        memcpy(data, fifo->data + fifo->begin, fifo->packet);
        fifo->begin = (fifo->begin + fifo->packet) % fifo->capacity;
        fifo->used -= fifo->packet;
    }
    if (*fifos_watched)
        fifo_log_move(fifo);
    if (fifo->sleepers > 0)
        fifo_wake(fifo);
}
