/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels that wait for a FIFO, and deadlocks of kernels. */
#pragma once
#include "network.h"

/* Moves a packet as soon as it can. Does not return if the launch has to end. */
void launch_move(struct launch *launch, struct fifo *fifo, bool writing, void *data);
/* Moves a packet that can be moved, and records it; the FIFO's lock is held. */
void launch_pass(struct launch *launch, struct fifo *fifo, bool writing, void *data);
/* Ends a kernel that uses the wrong end of a cable; the FIFO's lock is held. */
void launch_check(struct launch *launch, struct fifo *fifo, bool writing);
/* Ends a kernel at once, on its own thread. */
_Noreturn void launch_leave(struct launch *launch);
