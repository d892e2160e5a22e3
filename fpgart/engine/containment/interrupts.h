/* SPDX-License-Identifier: Apache-2.0
 *
 * Ctrl-C in a host that handles it later, as Python does: kernels that run meanwhile hear of it. */
#ifndef FPGART_INTERRUPTS_H
#define FPGART_INTERRUPTS_H
#include <stdint.h>
/* cffi */
/* Counts SIGINT from now on, each before the handler that the host has for it now gets it. A
 * handler that the host installs later takes the signal over. Nothing happens if it has none. */
void interrupts_watch(void);
/* How many there were. */
uint32_t interrupts(void);
/* cffi */
#endif
