/* SPDX-License-Identifier: Apache-2.0
 *
 * What a board process leaves behind when it dies of a signal. */
#ifndef FPGART_CRASH_H
#define FPGART_CRASH_H
#include <stdint.h>
/* cffi */
/* In memory of the host and the board process. `signal` is written last; 0: nothing was said. */
struct crash {
    uint32_t signal;
    int32_t code;     /* si_code */
    uint64_t address; /* si_addr: what the instruction wanted to reach, or where it is */
    uint64_t stack;   /* the stack pointer */
};
/* Has every signal that kills from within described in `crash` before the process dies of it. */
void crash_watch(uintptr_t crash);
/* cffi */
#endif
