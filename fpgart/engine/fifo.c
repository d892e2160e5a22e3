/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "fifo.h"

#include "clock.h"
#include "io_file.h"
#include <stdlib.h>
#include <time.h>

struct fifo *fifo_new(const char *name, uint32_t packet, uint64_t capacity, int hosted)
{
    struct fifo *fifo = calloc(1, sizeof *fifo);
    pthread_condattr_t clock;
    if (fifo == NULL)
        return NULL;
    fifo->packet = packet;
    fifo->hosted = hosted != 0;
    fifo->capacity = capacity * packet;
    fifo->data = malloc(fifo->capacity);
    fifo->name = strdup(name);
    if (fifo->data == NULL || fifo->name == NULL) {
        free(fifo->data);
        free(fifo->name);
        free(fifo);
        return NULL;
    }
    pthread_mutex_init(&fifo->lock, NULL);
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&fifo->moved, &clock);
    pthread_condattr_destroy(&clock);
    return fifo;
}

void fifo_free(struct fifo *fifo)
{
    pthread_cond_destroy(&fifo->moved);
    pthread_mutex_destroy(&fifo->lock);
    io_file_free(fifo->io);
    fifo_log_free(fifo->log);
    free(fifo->data);
    free(fifo->name);
    free(fifo);
}

uint64_t fifo_level(struct fifo *fifo)
{
    pthread_mutex_lock(&fifo->lock);
    uint64_t level = fifo->used / fifo->packet;
    pthread_mutex_unlock(&fifo->lock);
    return level;
}

uint64_t fifo_capacity(struct fifo *fifo)
{
    return fifo->capacity / fifo->packet;
}

uint32_t fifo_packet(struct fifo *fifo)
{
    return fifo->packet;
}

const char *fifo_name(struct fifo *fifo)
{
    return fifo->name;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

void fifo_fill(struct fifo *fifo)
{
    uint64_t count = 1;
    while (fifo->used < fifo->packet && count > 0) {
        uint64_t place = (fifo->begin + fifo->used) % fifo->capacity;
        uint64_t room = smaller(fifo->capacity - fifo->used, fifo->capacity - place);
        count = io_file_read(fifo->io, fifo->data + place, room);
        fifo->used += count;
    }
}

bool fifo_drained(struct fifo *fifo)
{
    uint64_t count = 1;
    while (fifo->used > 0 && count > 0) {
        uint64_t piece = smaller(fifo->used, fifo->capacity - fifo->begin);
        count = io_file_write(fifo->io, fifo->data + fifo->begin, piece);
        fifo->begin = (fifo->begin + count) % fifo->capacity;
        fifo->used -= count;
    }
    return fifo->used == 0;
}

void fifo_wake(struct fifo *fifo)
{
    pthread_cond_broadcast(&fifo->moved);
}

void fifo_sleep(struct fifo *fifo, uint32_t milliseconds)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += (long)(milliseconds % 1000) * 1000000;
    until.tv_sec += milliseconds / 1000 + until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    fifo->sleepers++;
    pthread_cond_timedwait(&fifo->moved, &fifo->lock, &until);
    fifo->sleepers--;
}

static bool move_within(struct fifo *fifo, bool writing, void *data, uint32_t milliseconds)
{
    uint64_t end = now_ms() + milliseconds;
    pthread_mutex_lock(&fifo->lock);
    while (!fifo_ready(fifo, writing)) {
        uint64_t now = now_ms();
        if (now >= end)
            break;
        fifo_sleep(fifo, (uint32_t)(end - now));
    }
    bool can = fifo_ready(fifo, writing);
    if (can)
        fifo_move(fifo, writing, data);
    pthread_mutex_unlock(&fifo->lock);
    return can;
}

int fifo_read(struct fifo *fifo, void *data, uint32_t milliseconds)
{
    return move_within(fifo, false, data, milliseconds);
}

int fifo_write(struct fifo *fifo, const void *data, uint32_t milliseconds)
{
    return move_within(fifo, true, (void *)data, milliseconds);
}

void *fifo_window(struct fifo *fifo, int writing, uint64_t skip, uint64_t *bytes)
{
    pthread_mutex_lock(&fifo->lock);
    uint64_t total = writing ? fifo->capacity - fifo->used : fifo->used;
    uint64_t place = (fifo->begin + (writing ? fifo->used : 0) + skip) % fifo->capacity;
    total = total > skip ? total - skip : 0;
    *bytes = total < fifo->capacity - place ? total : fifo->capacity - place;
    pthread_mutex_unlock(&fifo->lock);
    return fifo->data + place;
}

void fifo_commit(struct fifo *fifo, int writing, uint64_t bytes)
{
    pthread_mutex_lock(&fifo->lock);
    if (writing) {
        fifo->used += bytes;
    } else {
        fifo->begin = (fifo->begin + bytes) % fifo->capacity;
        fifo->used -= bytes;
    }
    if (fifo->sleepers > 0)
        fifo_wake(fifo);
    pthread_mutex_unlock(&fifo->lock);
}
