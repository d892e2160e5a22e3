/* SPDX-License-Identifier: Apache-2.0
 *
 * Launches that C carries while a trace is written, or while checks are on. */
#pragma once

#include "for_python.h"
#include "held.h"

#include <stddef.h>
#include <stdint.h>

/* `is_called`: Python has read the call, or need not; `is_served`: it has served the call, and a
 * trace reads the note before the thread's next one; `alike`: in the first of launches in the list
 * that Python reads which differ in numbers and times only, how many they are (of a trace's calls
 * only the places are compared); `has_run`: C has run it, and it was not handed over;
 * `wrote_beside`: the kernel wrote beside a block; `key`: launches with the same bytes differ in
 * numbers, times and ends only. The members behind `is_over` are valid once that is 1; those behind
 * `wrote_beside` are valid at once while checks are on. `is_noted`: the call has returned;
 * `is_behind`: an earlier launch of its queue in order, whose `successor` this is, has not ended.
 */
FOR_PYTHON enum { FPGART_FRAMES = 24 };
FOR_PYTHON struct fpgart_launch {
    uint64_t number, begin, duration;
    uint32_t type, thread, is_called, is_served, frame_count;
    uintptr_t frames[FPGART_FRAMES];
    uintptr_t queue, kernel;
    uint32_t alike;
    uint32_t is_noted, is_behind, is_over, has_run;
    int32_t status;
    uint64_t start, end;
    uint32_t wrote_beside;
    uintptr_t carried; /* the operation */
    uint64_t buffers;
    const struct fpgart_use *uses;
    uintptr_t key;
    uint64_t key_size;
    struct core_command *command;
    uintptr_t checked;  /* struct checked of carrier.h; 0: nothing is checked around the kernel */
    uint64_t arguments; /* bytes */
    struct fpgart_launch *successor, *next_called, *next_ended;
};

int fpgart_may_watch_launch(void); /* 1: C may carry one now */
/* fpgart_call_begins() returns the time, or 0 if nobody watches; fpgart_launch_new() notes a
 * launch with so many bytes of arguments (`in_python`: Python has C try the call again),
 * fpgart_launch_called() that its call returns, fpgart_launch_over() its end. */
uint64_t fpgart_call_begins(void);
struct fpgart_launch *fpgart_launch_new(const struct held *held, struct carried *carried,
                                        uint64_t begin, size_t arguments, int in_python);
void fpgart_launch_called(struct fpgart_launch *launch, struct core_command *command,
                          const struct held *held);
void fpgart_launch_over(const struct carried *carried, const struct held *held, int32_t status);

/* For Python: FPGART_TRACED, FPGART_CHECKED or both let C carry launches although entry points
 * are watched, and note each (permissions.h). `around`: the function that checks need around each
 * (carrier.h), or 0. */
AT_ONCE void fpgart_watch_launches(int how, uintptr_t around);
/* For Python: the numbers of commands; the launches whose notes it has not read. */
AT_ONCE uint64_t fpgart_number_command(void);
/* The number of the one that this thread enqueued last. */
AT_ONCE uint64_t fpgart_last_launch(void);
AT_ONCE uint32_t fpgart_launches_left(void);
AT_ONCE uint32_t fpgart_take_calls(uint32_t most, struct fpgart_launch **found);
FOR_PYTHON uint32_t fpgart_take_launches(uint32_t most, struct fpgart_launch **found);
AT_ONCE void fpgart_launches_written(uint32_t count, struct fpgart_launch **launches);
/* Returns the note of a carried command; NULL if there is none. */
AT_ONCE struct fpgart_launch *fpgart_launch_of(struct core_command *command);
