/* SPDX-License-Identifier: Apache-2.0
 *
 * One direction of a cable between two boards: a ring of bytes in a file that the processes at its
 * two ends map. One process has the writing end, one the reading end; it may be the same one. */
#ifndef FPGART_LINKS_H
#define FPGART_LINKS_H
#include <stddef.h>
#include <stdint.h>
/* cffi */
/* An end of a ring. */
struct link;
/* Takes the writing or the reading end of the ring in the file `path`, which is made if it is not
 * there, and removed once both ends are taken. `depth`: the packets that it holds, 0 for as many
 * as is fast. `patience_ms`: how long a kernel waits for an other end that nobody has taken.
 * NULL, and words, on failure. */
struct link *link_open(const char *path, const char *cable, int writing, uint64_t depth,
                       uint32_t patience_ms, char *words, size_t size);
/* Gives the end back; whoever waits at the other end is told that it is gone. */
void link_close(struct link *link);
/* Removes the file of a ring whose other end was never taken, unless packets are in it that this
 * end has written. */
void link_retire(struct link *link);
/* All bytes that ever went through this end. */
uint64_t link_moved(const struct link *link);
/* Bytes of a packet as the writing end has them; 0 before the first packet. */
uint32_t link_packet(const struct link *link);
/* For a cable that goes on elsewhere. Bytes that were taken out, or put in, at once; waits so long
 * for the first. -1: the other end is gone, and nothing is left. */
int64_t link_take(struct link *link, char *data, size_t size, uint32_t milliseconds);
int64_t link_put(struct link *link, const char *data, size_t size, uint32_t packet,
                 uint32_t milliseconds);
/* The most bytes that a packet may have. */
uint32_t link_largest_packet(void);
/* Bytes that are in the ring. */
uint64_t link_level(const struct link *link);
/* Whether a kernel at the other end sleeps until something is moved here. */
int link_is_awaited(const struct link *link);
/* What one launch moved through an end: positions in the stream of all bytes, and the times
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
/* Whether a packet can be moved at this end. */
bool link_ready(const struct link *link, uint32_t packet);
/* Moves one packet; link_ready() is true. */
void link_move(struct link *link, void *data, uint32_t packet);
/* Sleeps until a packet can be moved, for at most so long. */
void link_sleep(struct link *link, uint32_t packet, uint32_t milliseconds);
/* Wakes who sleeps at this end. */
void link_wake(struct link *link);
/* Whether whoever has waited for a packet since `since_ms` may expect it; if not, why. */
enum link_state link_state(const struct link *link, uint32_t packet, uint64_t since_ms);
/* Says in words what is wrong with it. */
void link_describe(const struct link *link, enum link_state state, uint32_t packet, char *words,
                   size_t size);
#endif
