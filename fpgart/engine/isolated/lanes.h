/* SPDX-License-Identifier: Apache-2.0
 *
 * Lanes between a host and its board process: memory of both, in which a thread of the host hands a
 * launch over to a thread of the board process, and gets its end. Both sides spin for a moment and
 * then sleep on a word (futex). What is not a launch goes through a socket beside the lane.
 *
 * The board process believes nothing that is in a lane: it copies a request before it checks it. */
#ifndef FPGART_LANES_H
#define FPGART_LANES_H
#include <stddef.h>
#include <stdint.h>
/* cffi */
/* Bytes of a lane, and how many of them are for the arguments of one launch. */
enum lane_bytes { LANE_BYTES = 65536, LANE_ROOM = 65024 };
/* What a request is: a message is to be read from the lane's socket; one launch; several. */
enum lane_request { LANE_MESSAGE = 1, LANE_LAUNCH, LANE_SUBMIT };
/* What came of waiting for the board process: an answer; it has ended (`life` is readable); the
 * time is over; a signal of the thread's was handled, or interrupts() counts others than before. */
enum lane_outcome { LANE_ANSWERED, LANE_LOST, LANE_LATE, LANE_INTERRUPTED };
/* In the high half of a result: the board process did not take the request. */
enum lane_refusal { LANE_REFUSED = -4 };
/* Of launches whose board process has died: none of them had begun; it is not known how many. */
enum lane_count { LANE_UNTOUCHED = -1, LANE_UNKNOWN = -2 };

/* The host's side. One thread at a time uses a lane. */
void lane_announce(uintptr_t lane);
/* Hands a launch over; `kernel` is the number that the board process gave for it. */
void lane_launch(uintptr_t lane, uint32_t kernel, const char *image, uint32_t image_bytes,
                 uint32_t dimensions, const char *sizes, int has_local);
/* Hands over the launches `from` to before `to` of an array (calls.h) that is in memory of both at
 * `data`, with the numbers of their kernels and room for their statuses behind it. */
void lane_submit(uintptr_t lane, uintptr_t data, uint64_t bytes, uint32_t kernels, uint32_t from,
                 uint32_t to);
/* Whether the board process has ended: its keeper has said how, or is gone, too. */
int lane_is_lost(int life);
/* Waits for the answer; `milliseconds` 0: as long as it takes. `interrupted`: of interrupts(), so
 * many before. */
int lane_wait(uintptr_t lane, int life, uint32_t milliseconds, uint32_t interrupted);
/* Hands a launch over and waits for the answer. */
int lane_run(uintptr_t lane, uint32_t kernel, const char *image, uint32_t image_bytes,
             uint32_t dimensions, const char *sizes, int has_local, int life, uint32_t milliseconds,
             uint32_t interrupted);
/* The answer to a launch, as driver_launch() gives it, or to several: how many were begun, and the
 * result of the last one tried. */
int64_t lane_result(uintptr_t lane);
uint32_t lane_submitted(uintptr_t lane);
/* Waits until more than `seen` of the launches have ended, and gives how many. */
int lane_wait_ended(uintptr_t lane, uint32_t seen, int life, uint32_t milliseconds,
                    uint32_t interrupted, uint32_t *ended);
/* How many of several launches had ended when their board process died; the next one may have
 * begun, those behind it have not. Or one of lane_count. */
int64_t lane_completed(uintptr_t lane);
/* How many the board process has told of; their statuses are there. */
uint32_t lane_told(uintptr_t lane);
/* Where the statuses of several launches are, in bytes from `data`. */
uint64_t lane_statuses(uint64_t bytes, uint32_t kernels);

/* The board process's side. A kernel gets a number, by which the host launches it from then on; 0
 * where there is no memory. Without one again, it runs on no lane any more. */
uint32_t lane_offer(uintptr_t kernel, uint32_t arguments);
void lane_withdraw(uint32_t number);
/* The memory that requests may lie in. */
void lane_stretch(uintptr_t begin, uint64_t size);
/* Whether the values of all arguments of a launch are within its bytes. */
int launch_is_whole(const char *image, uint64_t bytes, uint32_t arguments);
/* What kernels and their engine have printed leaves the process. */
void flush_output(void);
/* Runs the launches of a lane on a queue of the driver's until there is a message to be read. */
void lane_serve(uintptr_t lane, uintptr_t queue);
/* cffi */
#endif
