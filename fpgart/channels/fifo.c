/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "fifo.h"

#include "clock.h"
#include "futex.h"
#include "io_file.h"
#include <stdlib.h>

uint64_t fifo_bytes(const char *name, uint32_t packet, uint64_t capacity, int shared)
{
    return sizeof(struct fifo) + (shared ? sizeof(struct fifo_log) : 0) + packet * capacity +
           strlen(name) + 1;
}

/* A process may die with the lock of a FIFO that it shares with another. */
static void make_lock(pthread_mutex_t *lock, int shared)
{
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    if (shared) {
        pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
        pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    }
    pthread_mutex_init(lock, &attributes);
    pthread_mutexattr_destroy(&attributes);
}

struct fifo *fifo_make(uintptr_t memory, const char *name, uint32_t packet, uint64_t capacity,
                       int hosted, int shared)
{
    struct fifo *fifo = (struct fifo *)memory;
    *fifo = (struct fifo){.packet = packet, .hosted = hosted != 0, .capacity = capacity * packet};
    fifo->data = (char *)(fifo + 1);
    fifo->shared = shared != 0;
    if (fifo->shared) { /* a lock that a process allocated later would be private to that process */
        fifo->log = (struct fifo_log *)(fifo + 1);
        fifo->data = (char *)(fifo->log + 1);
        fifo_log_begin(fifo->log);
    }
    fifo->name = strcpy(fifo->data + fifo->capacity, name);
    for (uint32_t blocking = 0; blocking < 2; blocking++)
        fifo->ends[blocking] = (struct pipe_end){fifo, blocking};
    make_lock(&fifo->lock, shared);
    return fifo;
}

struct fifo *fifo_new(const char *name, uint32_t packet, uint64_t capacity, int hosted)
{
    void *memory = malloc(fifo_bytes(name, packet, capacity, 0));
    if (memory == NULL)
        return NULL;
    return fifo_make((uintptr_t)memory, name, packet, capacity, hosted, 0);
}

void fifo_free(struct fifo *fifo)
{
    pthread_mutex_destroy(&fifo->lock);
    io_file_free(fifo->io);
    if (!fifo->shared)
        fifo_log_free(fifo->log);
    free(fifo);
}

void fifo_lock(struct fifo *fifo)
{
    if (pthread_mutex_lock(&fifo->lock) == EOWNERDEAD)
        pthread_mutex_consistent(&fifo->lock);
}

void fifo_unlock(struct fifo *fifo)
{
    pthread_mutex_unlock(&fifo->lock);
}

uintptr_t fifo_end(struct fifo *fifo, int blocking)
{
    return (uintptr_t)&fifo->ends[blocking != 0];
}

uint64_t fifo_level(struct fifo *fifo)
{
    fifo_lock(fifo);
    uint64_t level = fifo->used / fifo->packet;
    fifo_unlock(fifo);
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
    fifo->moved++;
    futex_wake(&fifo->moved);
}

void fifo_alarm(struct fifo *fifo)
{
    fifo_wake(fifo);
    if (fifo->link != NULL)
        link_wake(fifo->link);
}

/* The other end takes no lock: other threads may use this end meanwhile. */
static void sleep_on_link(struct fifo *fifo, uint32_t milliseconds)
{
    fifo_unlock(fifo);
    link_sleep(fifo->link, fifo->packet, milliseconds);
    fifo_lock(fifo);
}

void fifo_sleep(struct fifo *fifo, uint32_t milliseconds)
{
    if (fifo->link != NULL) {
        sleep_on_link(fifo, milliseconds);
        return;
    }
    uint32_t seen = fifo->moved;
    fifo->sleepers++;
    fifo_unlock(fifo);
    futex_sleep(&fifo->moved, seen, milliseconds);
    fifo_lock(fifo);
    fifo->sleepers--;
}

static bool move_within(struct fifo *fifo, bool writing, void *data, uint32_t milliseconds)
{
    uint64_t end = now_ms() + milliseconds;
    fifo_lock(fifo);
    while (!fifo_ready(fifo, writing)) {
        uint64_t now = now_ms();
        if (now >= end)
            break;
        fifo_sleep(fifo, (uint32_t)(end - now));
    }
    bool can = fifo_ready(fifo, writing);
    if (can)
        fifo_move(fifo, writing, data);
    fifo_unlock(fifo);
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
    fifo_lock(fifo);
    uint64_t total = writing ? fifo->capacity - fifo->used : fifo->used;
    uint64_t place = (fifo->begin + (writing ? fifo->used : 0) + skip) % fifo->capacity;
    total = total > skip ? total - skip : 0;
    *bytes = total < fifo->capacity - place ? total : fifo->capacity - place;
    fifo_unlock(fifo);
    return fifo->data + place;
}

void fifo_commit(struct fifo *fifo, int writing, uint64_t bytes)
{
    fifo_lock(fifo);
    if (writing) {
        fifo->used += bytes;
    } else {
        fifo->begin = (fifo->begin + bytes) % fifo->capacity;
        fifo->used -= bytes;
    }
    if (fifo->sleepers > 0)
        fifo_wake(fifo);
    fifo_unlock(fifo);
}
