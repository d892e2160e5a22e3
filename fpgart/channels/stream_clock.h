/* SPDX-License-Identifier: Apache-2.0 */
/* The times of kernels with channels on a board: each is a process that runs through its loops
 * in the board's cycles, and waits if a channel is full or empty. The result does not depend on
 * the order in which processes are resumed: a channel has one writer and one reader, and both
 * block. */
#pragma once
#include <stddef.h>
#include <stdint.h>

/* cffi */
#define STREAM_DEEPEST 64

/* An instruction of a process: its kind and two numbers. Times have any unit. */
enum stream_kind {
    STREAM_LOOP,  /* `first` iterations, one each `second` at least, up to the NEXT of the loop */
    STREAM_NEXT,  /* `first`: the number of its LOOP's instruction */
    STREAM_READ,  /* a packet from channel `first` */
    STREAM_WRITE, /* a packet to channel `first`, `second` after the begin of the iteration */
    STREAM_PASS,  /* `first` passes */
    STREAM_END,
};

struct stream_step {
    int64_t kind;
    int64_t first;
    int64_t second;
};

/* The waits of a process at one instruction: their sum, and the begin of the first and end of
 * the last. */
struct stream_wait {
    int64_t total;
    int64_t begin;
    int64_t end;
    int64_t packets;
};

struct stream_clock;

struct stream_clock *stream_clock_new(void);
void stream_clock_free(struct stream_clock *clock);
/* Makes a channel with so many packets; returns its number, -1 without memory. */
int stream_clock_channel(struct stream_clock *clock, int64_t capacity);
/* Makes a process that begins at a time; returns its number, -1 without memory or for invalid
 * steps. */
int stream_clock_process(struct stream_clock *clock, const struct stream_step *steps, size_t count,
                         int64_t begin);
/* Runs all until they have ended or wait for others, at most so many steps; returns the steps
 * left. */
uint64_t stream_clock_run(struct stream_clock *clock, uint64_t most);
/* Returns a process that has ended, each once; -1 if there is none. */
int stream_clock_ended(struct stream_clock *clock);
/* Returns the number of times that it resumed a process. */
uint64_t stream_clock_looks(const struct stream_clock *clock);
/* Returns the time of a process, and the time without waits; the result is 1 if it has ended. */
int stream_clock_at(const struct stream_clock *clock, int process, int64_t *at, int64_t *unstalled);
void stream_clock_waits(const struct stream_clock *clock, int process, size_t step,
                        struct stream_wait *wait);
/* Removes a process that stream_clock_ended() has returned; its number may be used again. */
void stream_clock_remove(struct stream_clock *clock, int process);
/* cffi */
