/* SPDX-License-Identifier: Apache-2.0
 *
 * One direction of a cable between two boards: a ring of bytes in a file that the processes at its
 * two ends map. One process has the writing end, one the reading end; it may be the same one. */
#pragma once
#include <stddef.h>
#include <stdint.h>
/* cffi */
/* An end of a ring. */
struct link;
/* Opens the writing or the reading end of the ring in the file `path`. The first end creates the
 * file; it is removed once both ends are open. `depth`: the packets that it holds, 0 for a depth
 * that is fast. `patience_ms`: how long a kernel waits for the other end to be opened. NULL, and
 * words, on failure. */
struct link *link_open(const char *path, const char *cable, int writing, uint64_t depth,
                       uint32_t patience_ms, char *words, size_t size);
/* Closes the end; threads that wait at the other end are notified. */
void link_close(struct link *link);
/* Removes the file of a ring whose other end was never opened, unless it contains packets that
 * this end has written. */
void link_retire(struct link *link);
/* Returns the number of all bytes that went through this end. */
uint64_t link_moved(const struct link *link);
/* Returns the bytes of a packet at the writing end; 0 before the first packet. */
uint32_t link_packet(const struct link *link);
/* For a cable to another machine: return the bytes that were read, or written, at once; wait so
 * long for the first. -1: the other end is closed, and the ring is empty. */
int64_t link_take(struct link *link, char *data, size_t size, uint32_t milliseconds);
int64_t link_put(struct link *link, const char *data, size_t size, uint32_t packet,
                 uint32_t milliseconds);
/* Returns the most bytes of a packet. */
uint32_t link_largest_packet(void);
/* Returns the bytes in the ring. */
uint64_t link_level(const struct link *link);
/* 1 if a kernel at the other end sleeps until a packet is moved here. */
int link_is_awaited(const struct link *link);
/* The traffic of one launch through an end: positions in the stream of all bytes, and the times
 * (CLOCK_MONOTONIC) of its first and last packet. */
struct link_use {
    struct link *link;
    uint64_t begin;
    uint64_t end;
    uint64_t packet;
    uint64_t first_ns;
    uint64_t last_ns;
};
/* cffi */
#include <stdbool.h>

enum link_state { LINK_SOUND, LINK_MISSING, LINK_GONE, LINK_DIFFERS };

bool link_is_writing(const struct link *link);
/* True if a packet can be moved at this end. */
bool link_ready(const struct link *link, uint32_t packet);
/* Moves one packet; link_ready() must be true. */
void link_move(struct link *link, void *data, uint32_t packet);
/* Sleeps until a packet can be moved, at most for that time. */
void link_sleep(struct link *link, uint32_t packet, uint32_t milliseconds);
/* Wakes the thread that sleeps at this end. */
void link_wake(struct link *link);
/* Returns LINK_SOUND if a thread that has waited for a packet since `since_ms` may continue to
 * wait; else the reason why not. */
enum link_state link_state(const struct link *link, uint32_t packet, uint64_t since_ms);
/* Describes the state in words. */
void link_describe(const struct link *link, enum link_state state, uint32_t packet, char *words,
                   size_t size);
