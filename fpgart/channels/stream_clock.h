/* SPDX-License-Identifier: Apache-2.0 */
/* When kernels that talk through channels would do so on a board: each is a process that runs
 * through its loops in the board's cycles, and waits where a channel is full or empty. The order in
 * which processes are looked at makes no difference: a channel has one writer and one reader, and
 * both block. */
#ifndef FPGART_STREAM_CLOCK_H
#define FPGART_STREAM_CLOCK_H
#include <stddef.h>
#include <stdint.h>

/* cffi */
#define STREAM_DEEPEST 64

/* An instruction of a process: what it is, and two numbers. Times have any unit. */
enum stream_kind {
    STREAM_LOOP,  /* `first` times, an iteration each `second` at least, what stands until its NEXT
                   */
    STREAM_NEXT,  /* `first`: the number of its LOOP's instruction */
    STREAM_READ,  /* a packet from channel `first` */
    STREAM_WRITE, /* a packet into channel `first`, `second` later than the iteration begins */
    STREAM_PASS,  /* `first` passes */
    STREAM_END,
};

struct stream_step {
    int64_t kind;
    int64_t first;
    int64_t second;
};

/* How long a process waited at one instruction: in all, and from when to when waits happened. */
struct stream_wait {
    int64_t total;
    int64_t begin;
    int64_t end;
    int64_t packets;
};

struct stream_clock;

struct stream_clock *stream_clock_new(void);
void stream_clock_free(struct stream_clock *clock);
/* A channel that holds so many packets; returns its number, -1 without memory. */
int stream_clock_channel(struct stream_clock *clock, int64_t capacity);
/* A process that begins at a time; returns its number, -1 without memory or for steps that are
 * none. */
int stream_clock_process(struct stream_clock *clock, const struct stream_step *steps, size_t count,
                         int64_t begin);
/* Run all until they have ended or wait for others, at most so many steps; returns the steps left.
 */
uint64_t stream_clock_run(struct stream_clock *clock, uint64_t most);
/* A process that has ended since it was asked, each once; -1 if there is none. */
int stream_clock_ended(struct stream_clock *clock);
/* How often it went to a process to run it. */
uint64_t stream_clock_looks(const struct stream_clock *clock);
/* Where a process is, and where it would be if it had never waited; returns whether it has ended.
 */
int stream_clock_at(const struct stream_clock *clock, int process, int64_t *at, int64_t *unstalled);
void stream_clock_waits(const struct stream_clock *clock, int process, size_t step,
                        struct stream_wait *wait);
/* A process has ended, as stream_clock_ended() has said, and its number may be used for another. */
void stream_clock_remove(struct stream_clock *clock, int process);
/* cffi */
#endif
