/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels that wait for a FIFO, and those that wait for each other for ever. */
#ifndef FPGART_WAITING_H
#define FPGART_WAITING_H
#include "network.h"

/* Moves a packet as soon as that is possible. Does not return if the launch has to leave. */
void launch_move(struct launch *launch, struct fifo *fifo, bool writing, void *data);
/* Ends a kernel at once, on its own thread. */
_Noreturn void launch_leave(struct launch *launch);
#endif
