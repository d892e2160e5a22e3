/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "for_python.h"
#include "links.h"
#include <stddef.h>
#include <stdint.h>
/* cffi */
/* The depth of channels by CL_CONFIG_CHANNEL_DEPTH_EMULATION_MODE. */
enum depth_mode { DEPTH_IGNORED, DEPTH_DEFAULT, DEPTH_STRICT };
/* In the high half of what network_launch() returns. */
enum launch_end { LAUNCH_GAVE_UP = -3 };

/* Packets of one size, first in, first out; any number of threads at both ends. */
struct fifo;
/* `hosted`: the host has one end, so that a waiting kernel may wait for the host. */
struct fifo *fifo_new(const char *name, uint32_t packet, uint64_t capacity, int hosted);
void fifo_free(struct fifo *fifo);
/* Makes a FIFO in the caller's memory of fifo_bytes(); `shared`: other processes use it, too. */
struct fifo *fifo_make(uintptr_t memory, const char *name, uint32_t packet, uint64_t capacity,
                       int hosted, int shared);
uint64_t fifo_bytes(const char *name, uint32_t packet, uint64_t capacity, int shared);
/* Returns its address as a pipe argument of a kernel: that of a struct pipe_end. */
uintptr_t fifo_end(struct fifo *fifo, int blocking);
/* The complete packets in it, its capacity in packets, and the bytes of a packet. */
uint64_t fifo_level(struct fifo *fifo);
uint64_t fifo_capacity(struct fifo *fifo);
uint32_t fifo_packet(struct fifo *fifo);
const char *fifo_name(struct fifo *fifo);
/* Moves one packet from or to the host's memory; 0 if it cannot within the time. */
int fifo_read(struct fifo *fifo, void *data, uint32_t milliseconds);
int fifo_write(struct fifo *fifo, const void *data, uint32_t milliseconds);
/* Returns the address of the packets (writing 0) or the room (writing 1) behind the first `skip`
 * bytes, and the bytes in one piece; fifo_commit() ends the use of so many of them. */
void *fifo_window(struct fifo *fifo, int writing, uint64_t skip, uint64_t *bytes);
void fifo_commit(struct fifo *fifo, int writing, uint64_t bytes);

struct pipe_end {
    struct fifo *fifo;
    uint32_t blocking;
};

/* The channels and global variables of one program on one board, and the kernels that use them. */
struct network;
struct network *network_new(uint32_t depth_mode, uint32_t timeout_ms);
/* Called before any kernel uses it: multiplies the depths of the source; with a seed, kernels
 * reach their channels at other times, and find them not ready although they are. */
void network_explore(struct network *network, uint32_t factor, uint64_t seed);
/* Makes every running kernel end at its next wait. */
void network_stop(struct network *network);
/* Stops it; it is freed when the last kernel has ended. */
void network_release(struct network *network);
/* Connects the I/O channel `name` to a cable, before any kernel runs. 0 without memory. */
int network_plug(struct network *network, const char *name, struct link *link);
/* NULL for a name that no kernel has used yet. */
struct fifo *network_channel(struct network *network, const char *name);
/* Writes up to `room` channels; returns their number. */
size_t network_channels(struct network *network, struct fifo **channels, size_t room);
void *network_variable(struct network *network, const char *name, uint64_t *size);
/* Describes the waits of the kernels that were stopped last. */
size_t network_report(struct network *network, char *words, size_t size);
/* Writes the traffic of the calling thread's last launch on cables, at most `most`; returns the
 * number. */
uint32_t network_uses(struct link_use *uses, uint32_t most);
/* A thread of the host begins, or ends, to wait for kernels; deadlocks are detected only
 * meanwhile. */
AT_ONCE void network_host_waits(int begins);
/* Keeps this number in memory of a host and its board process. */
void network_share_host_waits(uintptr_t memory);
/* Returns the address at which kernels find operation(); 0 if there is no room. `wanted` is
 * tried first. */
uintptr_t network_table(uintptr_t wanted);
/* Does as driver_launch(), on a driver that runs a kernel on the thread that enqueues it. Queue
 * and kernel belong to the launch, and are lost if it is stopped. */
int64_t network_launch(struct network *network, const char *name, uint64_t compute_id, int autorun,
                       uintptr_t queue, uintptr_t kernel, uint32_t arguments, const char *image,
                       uint32_t dimensions, const char *sizes, int has_local);
/* cffi */
