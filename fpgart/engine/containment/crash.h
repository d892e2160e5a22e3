/* SPDX-License-Identifier: Apache-2.0
 *
 * The description of the signal that ends a board process. */
#pragma once
#include <stdint.h>
/* cffi */
/* In memory of the host and the board process. `signal` is written last; 0: no description. */
struct crash {
    uint32_t signal;
    int32_t code;     /* si_code */
    uint64_t address; /* si_addr: the address that the instruction accessed, or its own */
    uint64_t stack;   /* the stack pointer */
};
/* Installs handlers that describe each fatal signal of the process in `crash` before the process
 * ends. */
void crash_watch(uintptr_t crash);
/* cffi */
