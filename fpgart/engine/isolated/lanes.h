/* SPDX-License-Identifier: Apache-2.0
 *
 * Lanes between a host and its board process: shared memory, in which a thread of the host passes a
 * launch to a thread of the board process, and gets its end. Both sides spin for a moment and then
 * sleep on a word (futex). Other requests go through a socket beside the lane. The board process
 * does not trust a lane: it copies a request before it checks it. */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
/* cffi */
/* Bytes of a lane, and those for the arguments of one launch. */
enum lane_bytes { LANE_BYTES = 65536, LANE_ROOM = 65024 };
/* The kinds of requests: a message in the lane's socket; a launch. */
enum lane_request { LANE_MESSAGE = 1, LANE_LAUNCH };
/* The results of waiting for the board process: an answer; it has ended (`life` is readable);
 * the time is over; a signal of the thread's was handled, or interrupts() has changed. */
enum lane_outcome { LANE_ANSWERED, LANE_LOST, LANE_LATE, LANE_INTERRUPTED };
/* In the high half of a result: the board process refused the request. */
enum lane_refusal { LANE_REFUSED = -4 };

/* The host's side. One thread at a time uses a lane. */
void lane_announce(uintptr_t lane);
/* Passes a launch; `kernel` is the number that the board process gave to it. */
void lane_launch(uintptr_t lane, uint32_t kernel, const char *image, uint32_t image_bytes,
                 uint32_t dimensions, const char *sizes, int has_local);
/* 1 if the board process has ended: its keeper has reported it, or has ended, too. */
int lane_is_lost(int life);
/* Waits for the answer; `milliseconds` 0: no limit. `interrupted`: the value of interrupts()
 * before. */
int lane_wait(uintptr_t lane, int life, uint32_t milliseconds, uint32_t interrupted);
/* Passes a launch and waits for the answer. */
int lane_run(uintptr_t lane, uint32_t kernel, const char *image, uint32_t image_bytes,
             uint32_t dimensions, const char *sizes, int has_local, int life, uint32_t milliseconds,
             uint32_t interrupted);
/* Returns the answer to a launch, as driver_launch() does. */
int64_t lane_result(uintptr_t lane);
/* The board process's side. Gives a kernel a number, by which the host launches it; 0 without
 * memory. After lane_withdraw() it runs on no lane. */
uint32_t lane_offer(uintptr_t kernel, uint32_t arguments);
void lane_withdraw(uint32_t number);
/* Sets the memory in which requests may be. */
void lane_stretch(uintptr_t begin, uint64_t size);
/* 1 if the values of all arguments of a launch are within its bytes. */
int launch_is_whole(const char *image, uint64_t bytes, uint32_t arguments);
/* Writes the buffered output of kernels and their engine. */
void flush_output(void);
/* Runs the launches of a lane on a queue of the driver's until there is a message to read. */
void lane_serve(uintptr_t lane, uintptr_t queue);
/* cffi */
struct offered {
    uintptr_t kernel; /* 0: the number is free */
    uint32_t arguments;
    uint32_t running;
};
/* Returns the kernel of a number, which stays until offer_drop(); kernel 0 for an unknown number.
 */
struct offered offer_take(uint32_t number);
void offer_drop(uint32_t number);
bool is_in_stretch(uint64_t begin, uint64_t size);
/* Waits until a word is not `seen`, which it sets `sleeps` for; returns the word. */
uint32_t lane_await(_Atomic uint32_t *word, uint32_t seen, _Atomic uint32_t *sleeps);
