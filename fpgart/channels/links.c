/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "links.h"

#include "clock.h"
#include "futex.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    LARGEST_PACKET = 4096,
    FAST_BYTES = 65536, /* of a ring whose depth is not given */
    FAST_LEAST = 16,    /* packets */
    LOOKS = 100,        /* number of looks for a packet before a thread sleeps: about 1 us */
    ONLY_OWNER = 0600,
};

/* The bytes of the file that are locked: one for each end, and one while an end is opened. */
enum lock_place { READING_END, WRITING_END, TAKING };

/* The contents of the file. Positions count all bytes that were ever moved. */
struct ring {
    _Alignas(64) _Atomic uint64_t written;
    _Atomic uint32_t reader_sleeps;
    _Alignas(64) _Atomic uint64_t read;
    _Atomic uint32_t writer_sleeps;
    _Alignas(64) _Atomic uint32_t taken[2]; /* each end was open at some time */
    _Atomic uint32_t packet;                /* of the writing end; 0 before its first packet */
    _Alignas(4096) char data[];
};

struct link {
    struct ring *ring;
    uint64_t room; /* bytes of `data` */
    uint64_t depth;
    uint32_t patience_ms;
    int file;
    bool writing;
    struct link *next; /* the next open link */
    char *path;        /* NULL once it is removed */
    char cable[];
};

/* A child of fork() does not use ends of cables, but would keep their locks after the process of
 * the run has ended. */
static struct link *opened;
static pthread_mutex_t opened_lock = PTHREAD_MUTEX_INITIALIZER;

static void before_fork(void)
{
    pthread_mutex_lock(&opened_lock);
}

static void after_fork(void)
{
    pthread_mutex_unlock(&opened_lock);
}

static void after_fork_in_child(void)
{
    for (struct link *link = opened; link != NULL; link = link->next) {
        close(link->file);
        link->file = -1;
    }
    opened = NULL;
    after_fork();
}

static void watch_forks(void)
{
    pthread_atfork(before_fork, after_fork, after_fork_in_child);
}

static void enlist(struct link *link)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
    pthread_mutex_lock(&opened_lock);
    link->next = opened;
    opened = link;
    pthread_mutex_unlock(&opened_lock);
}

static void strike_off(const struct link *link)
{
    pthread_mutex_lock(&opened_lock);
    struct link **place = &opened;
    while (*place != NULL && *place != link)
        place = &(*place)->next;
    if (*place != NULL)
        *place = link->next;
    pthread_mutex_unlock(&opened_lock);
}

/* Open file description locks: they end with the process, however it ends, and are between
 * two ends in one process, too. */
static int lock_byte(int file, int command, short type, enum lock_place place, short *found)
{
    struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_start = place, .l_len = 1};
    int result;
    do
        result = fcntl(file, command, &lock);
    while (result < 0 && errno == EINTR);
    if (found != NULL)
        *found = lock.l_type;
    return result;
}

static enum lock_place end_of(bool writing)
{
    return writing ? WRITING_END : READING_END;
}

static bool is_held(const struct link *link, bool writing)
{
    short found = F_UNLCK;
    lock_byte(link->file, F_OFD_GETLK, F_WRLCK, end_of(writing), &found);
    return found != F_UNLCK;
}

uint64_t link_level(const struct link *link)
{
    return atomic_load(&link->ring->written) - atomic_load(&link->ring->read);
}

static uint64_t room_for(uint64_t depth)
{
    uint64_t room = depth * LARGEST_PACKET;
    return room < FAST_BYTES ? FAST_BYTES : room;
}

/* Maps the ring and opens the end; the caller holds the lock TAKING. Writes words on failure. */
static const char *take_end(struct link *link)
{
    size_t size = sizeof(struct ring) + link->room;
    struct stat found;
    if (fstat(link->file, &found) != 0 ||
        ((size_t)found.st_size < size && ftruncate(link->file, (off_t)size) != 0))
        return strerror(errno);
    if (lock_byte(link->file, F_OFD_SETLK, F_WRLCK, end_of(link->writing), NULL) != 0)
        return errno == EAGAIN || errno == EACCES ? "another process has this end"
                                                  : strerror(errno);
    link->ring = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, link->file, 0);
    if (link->ring == MAP_FAILED) {
        link->ring = NULL;
        return strerror(errno);
    }
    bool other = is_held(link, !link->writing);
    if (!other && link_level(link) == 0) /* left by an earlier run */
        memset(link->ring, 0, sizeof *link->ring);
    atomic_store(&link->ring->taken[link->writing], 1);
    if (other) { /* no other process needs its name */
        unlink(link->path);
        free(link->path);
        link->path = NULL;
    }
    return NULL;
}

/* Does as link_open(), for a file that the other end may remove while it is opened. */
static const char *open_ring(struct link *link)
{
    struct stat by_name, opened;
    while (true) {
        link->file = open(link->path, O_RDWR | O_CREAT | O_CLOEXEC, ONLY_OWNER);
        if (link->file < 0)
            return strerror(errno);
        if (lock_byte(link->file, F_OFD_SETLKW, F_WRLCK, TAKING, NULL) != 0)
            return strerror(errno);
        if (stat(link->path, &by_name) == 0 && fstat(link->file, &opened) == 0 &&
            by_name.st_ino == opened.st_ino)
            return NULL;
        close(link->file);
    }
}

struct link *link_open(const char *path, const char *cable, int writing, uint64_t depth,
                       uint32_t patience_ms, char *words, size_t size)
{
    struct link *link = calloc(1, sizeof *link + strlen(cable) + 1);
    const char *wrong = "no memory is left";
    if (link != NULL) {
        strcpy(link->cable, cable);
        link->file = -1;
        link->writing = writing != 0;
        link->depth = depth;
        link->room = room_for(depth);
        link->patience_ms = patience_ms;
        link->path = strdup(path);
        wrong = link->path != NULL ? open_ring(link) : wrong;
        if (wrong == NULL)
            wrong = take_end(link);
        if (link->file >= 0)
            lock_byte(link->file, F_OFD_SETLK, F_UNLCK, TAKING, NULL);
    }
    if (wrong == NULL) {
        enlist(link);
        return link;
    }
    snprintf(words, size, "%s: %s", cable, wrong);
    if (link != NULL) {
        free(link->path);
        link->path = NULL; /* the other end removes it */
        link_close(link);
    }
    return NULL;
}

void link_retire(struct link *link)
{
    bool has_unread = link->ring != NULL && link->writing && link_level(link) > 0;
    if (link->path == NULL || has_unread) /* a later reader finds the packets */
        return;
    unlink(link->path);
    free(link->path);
    link->path = NULL;
}

void link_close(struct link *link)
{
    link_retire(link);
    strike_off(link);
    if (link->ring != NULL)
        munmap(link->ring, sizeof(struct ring) + link->room);
    if (link->file >= 0)
        close(link->file);
    free(link->path);
    free(link);
}

bool link_is_writing(const struct link *link)
{
    return link->writing;
}

uint64_t link_moved(const struct link *link)
{
    return atomic_load(link->writing ? &link->ring->written : &link->ring->read);
}

uint32_t link_packet(const struct link *link)
{
    return atomic_load(&link->ring->packet);
}

uint32_t link_largest_packet(void)
{
    return LARGEST_PACKET;
}

static uint64_t capacity_for(const struct link *link, uint32_t packet)
{
    if (link->depth > 0)
        return link->depth * packet;
    return packet * FAST_LEAST > FAST_BYTES ? packet * FAST_LEAST : FAST_BYTES;
}

bool link_ready(const struct link *link, uint32_t packet)
{
    if (link->writing)
        return link_level(link) + packet <= capacity_for(link, packet);
    uint32_t theirs = atomic_load(&link->ring->packet);
    return link_level(link) >= packet && (theirs == packet || theirs == 0);
}

static void wake(_Atomic uint32_t *sleeps)
{
    if (atomic_load(sleeps) != 0 && atomic_exchange(sleeps, 0) != 0)
        futex_wake(sleeps);
}

/* Copies between the caller and the ring, which may wrap around. */
static void copy_in(struct link *link, uint64_t position, const char *data, size_t size)
{
    size_t place = position % link->room;
    size_t first = size < link->room - place ? size : link->room - place;
    memcpy(link->ring->data + place, data, first);
    memcpy(link->ring->data, data + first, size - first);
}

static void copy_out(const struct link *link, uint64_t position, char *data, size_t size)
{
    size_t place = position % link->room;
    size_t first = size < link->room - place ? size : link->room - place;
    memcpy(data, link->ring->data + place, first);
    memcpy(data + first, link->ring->data, size - first);
}

static void write_bytes(struct link *link, const char *data, size_t size)
{
    struct ring *ring = link->ring;
    uint64_t position = atomic_load_explicit(&ring->written, memory_order_relaxed);
    copy_in(link, position, data, size);
    atomic_store(&ring->written, position + size);
    wake(&ring->reader_sleeps);
}

static void read_bytes(struct link *link, char *data, size_t size)
{
    struct ring *ring = link->ring;
    uint64_t position = atomic_load_explicit(&ring->read, memory_order_relaxed);
    copy_out(link, position, data, size);
    atomic_store(&ring->read, position + size);
    wake(&ring->writer_sleeps);
}

void link_move(struct link *link, void *data, uint32_t packet)
{
    if (!link->writing) {
        read_bytes(link, data, packet);
        return;
    }
    if (atomic_load_explicit(&link->ring->packet, memory_order_relaxed) != packet)
        atomic_store(&link->ring->packet, packet);
    write_bytes(link, data, packet);
}

static _Atomic uint32_t *own_sleep(struct link *link)
{
    return link->writing ? &link->ring->writer_sleeps : &link->ring->reader_sleeps;
}

/* 0: only checks; for a futex that is no end. */
static void sleep_for(_Atomic uint32_t *sleeps, uint32_t milliseconds)
{
    if (milliseconds > 0)
        futex_sleep(sleeps, 1, milliseconds);
}

void link_sleep(struct link *link, uint32_t packet, uint32_t milliseconds)
{
    for (int i = 0; i < LOOKS; i++)
        if (link_ready(link, packet))
            return;
    atomic_store(own_sleep(link), 1);
    if (!link_ready(link, packet)) /* otherwise it was woken already, or will be without need */
        sleep_for(own_sleep(link), milliseconds);
}

void link_wake(struct link *link)
{
    wake(own_sleep(link));
}

enum link_state link_state(const struct link *link, uint32_t packet, uint64_t since_ms)
{
    const struct ring *ring = link->ring;
    if (!atomic_load(&ring->taken[!link->writing]))
        return now_ms() - since_ms >= link->patience_ms ? LINK_MISSING : LINK_SOUND;
    if (!is_held(link, !link->writing))
        return link_ready(link, packet) ? LINK_SOUND : LINK_GONE; /* its last packets count */
    uint32_t theirs = atomic_load(&ring->packet);
    bool differs = !link->writing && link_level(link) > 0 && theirs != 0 && theirs != packet;
    return differs ? LINK_DIFFERS : LINK_SOUND;
}

void link_describe(const struct link *link, enum link_state state, uint32_t packet, char *words,
                   size_t size)
{
    switch (state) {
    case LINK_SOUND:
        snprintf(words, size, "%s", link->cable);
        break;
    case LINK_MISSING:
        snprintf(words, size, "%s: no process has taken its other end for %u s", link->cable,
                 link->patience_ms / 1000);
        break;
    case LINK_GONE:
        snprintf(words, size, "%s: the process at its other end has ended", link->cable);
        break;
    case LINK_DIFFERS:
        snprintf(words, size, "%s: packets of %u bytes are written, and packets of %u bytes read",
                 link->cable, link_packet(link), packet);
        break;
    }
}

static bool wait_for_bytes(struct link *link, size_t wanted, uint32_t milliseconds)
{
    uint64_t limit = link->writing ? capacity_for(link, (uint32_t)wanted) - wanted : 0;
    for (int i = 0; i < 2; i++) {
        if (link->writing ? link_level(link) <= limit : link_level(link) > 0)
            return true;
        atomic_store(own_sleep(link), 1);
        if (link->writing ? link_level(link) > limit : link_level(link) == 0)
            sleep_for(own_sleep(link), milliseconds);
    }
    return link->writing ? link_level(link) <= limit : link_level(link) > 0;
}

int link_is_awaited(const struct link *link)
{
    const struct ring *ring = link->ring;
    return atomic_load(link->writing ? &ring->reader_sleeps : &ring->writer_sleeps) != 0;
}

static bool is_lost(const struct link *link)
{
    return atomic_load(&link->ring->taken[!link->writing]) && !is_held(link, !link->writing);
}

int64_t link_take(struct link *link, char *data, size_t size, uint32_t milliseconds)
{
    if (!wait_for_bytes(link, 1, milliseconds) && is_lost(link) && link_level(link) == 0)
        return -1;
    uint64_t there = link_level(link);
    size_t count = there < size ? there : size;
    if (count > 0)
        read_bytes(link, data, count);
    return (int64_t)count;
}

int64_t link_put(struct link *link, const char *data, size_t size, uint32_t packet,
                 uint32_t milliseconds)
{
    atomic_store(&link->ring->packet, packet);
    if (!wait_for_bytes(link, packet, milliseconds))
        return is_lost(link) ? -1 : 0;
    uint64_t room = capacity_for(link, packet) - link_level(link);
    size_t count = room / packet * packet < size ? room / packet * packet : size;
    write_bytes(link, data, count);
    return (int64_t)count;
}
