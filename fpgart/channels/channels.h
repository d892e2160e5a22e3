/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FPGART_CHANNELS_H
#define FPGART_CHANNELS_H
#include "links.h"
#include <stddef.h>
#include <stdint.h>
/* cffi */
/* How deep channels are: what CL_CONFIG_CHANNEL_DEPTH_EMULATION_MODE chooses. */
enum depth_mode { DEPTH_IGNORED, DEPTH_DEFAULT, DEPTH_STRICT };
/* In the high half of what network_launch() returns. */
enum launch_end { LAUNCH_GAVE_UP = -3 };

/* Packets of one size, first in, first out; any number of threads at both ends. */
struct fifo;
/* `hosted`: the host has one end, so that a kernel that waits may be waiting for the host. */
struct fifo *fifo_new(const char *name, uint32_t packet, uint64_t capacity, int hosted);
void fifo_free(struct fifo *fifo);
/* One in so many bytes of memory that is somebody else's; `shared`: other processes use it, too. */
struct fifo *fifo_make(uintptr_t memory, const char *name, uint32_t packet, uint64_t capacity,
                       int hosted, int shared);
uint64_t fifo_bytes(const char *name, uint32_t packet, uint64_t capacity, int shared);
/* What a kernel is given for it as a pipe argument: the address of a struct pipe_end. */
uintptr_t fifo_end(struct fifo *fifo, int blocking);
/* Whole packets that are in it, that it can hold, and bytes of one. */
uint64_t fifo_level(struct fifo *fifo);
uint64_t fifo_capacity(struct fifo *fifo);
uint32_t fifo_packet(struct fifo *fifo);
const char *fifo_name(struct fifo *fifo);
/* Move one packet from or to the host's memory; 0 if that has to wait longer than so long. */
int fifo_read(struct fifo *fifo, void *data, uint32_t milliseconds);
int fifo_write(struct fifo *fifo, const void *data, uint32_t milliseconds);
/* Where the packets (writing 0) or the room (writing 1) behind the first `skip` bytes are, and how
 * many bytes there are in one piece; fifo_commit() says that so many bytes were used. */
void *fifo_window(struct fifo *fifo, int writing, uint64_t skip, uint64_t *bytes);
void fifo_commit(struct fifo *fifo, int writing, uint64_t bytes);

struct pipe_end {
    struct fifo *fifo;
    uint32_t blocking;
};

/* The channels and global variables of one program on one board, and the kernels that use them. */
struct network;
struct network *network_new(uint32_t depth_mode, uint32_t timeout_ms);
/* Before any kernel uses it: depths that the source gives are so many times as deep; with a seed,
 * kernels come to their channels at other times, and find them not ready when they could be. */
void network_explore(struct network *network, uint32_t factor, uint64_t seed);
/* Every kernel that runs in it leaves at its next wait. */
void network_stop(struct network *network);
/* Stops it, and frees it when the last kernel has left. */
void network_release(struct network *network);
/* The I/O channel `name` leads into a cable; before any kernel runs. 0 when there is no memory. */
int network_plug(struct network *network, const char *name, struct link *link);
/* NULL for a name that no kernel has used yet. */
struct fifo *network_channel(struct network *network, const char *name);
/* The channels, up to `room` of them; returns how many there are. */
size_t network_channels(struct network *network, struct fifo **channels, size_t room);
void *network_variable(struct network *network, const char *name, uint64_t *size);
/* What the kernels that were given up last were waiting for. */
size_t network_report(struct network *network, char *words, size_t size);
/* What the last launch of the calling thread has moved through cables: how many, of at most
 * `most`. */
uint32_t network_uses(struct link_use *uses, uint32_t most);
/* A thread of the host begins, or stops, to wait for what kernels do; only meanwhile are kernels
 * given up. */
void network_host_waits(int begins);
/* From now on that is written down, and read, in memory of a host and its board process. */
void network_share_host_waits(uintptr_t memory);
/* Where kernels find the function that they call; 0 if there is no room. `wanted` is tried first.
 */
uintptr_t network_table(uintptr_t wanted);
/* As driver_launch(), on a driver that runs a kernel on the thread that enqueues it. The queue and
 * the kernel are the launch's own, and lost if it gives up. */
int64_t network_launch(struct network *network, const char *name, uint64_t compute_id, int autorun,
                       uintptr_t queue, uintptr_t kernel, uint32_t arguments, const char *image,
                       uint32_t dimensions, const char *sizes, int has_local);
/* cffi */
#endif
