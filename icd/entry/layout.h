/* SPDX-License-Identifier: Apache-2.0
 *
 * The operation of a launch: the engine's kernel, and the arguments in the engine's form. */
#pragma once

#include "for_python.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct carried;
struct fpgart_carried_queue;
struct held;

struct fpgart_nd_range {
    uint64_t sizes[9]; /* offset, global and local size */
    uint32_t dimensions;
    uint32_t has_local;
};

AT_ONCE void fpgart_kernel_is(uintptr_t kernel, uintptr_t board, uint64_t epoch,
                              uintptr_t engine_kernel, const char *image, uint32_t size,
                              const uint32_t *locations, const uint64_t *limits);
/* Writes the operation of a launch from its arguments and ND-range; 0 leaves it to Python.
 * The buffers that it uses are held from then on. */
int fpgart_lay_out_launch(struct held *held, const struct fpgart_carried_queue *queue,
                          const struct fpgart_nd_range *nd_range, uint64_t epoch,
                          struct carried *carried, size_t room);
/* fpgart_renew_launch() updates a launch's addresses; true if the kernel is known in the
 * epoch, and its buffers are in the right memories. fpgart_kernel_holds(), for Python: the
 * kernel's facts hold in the epoch. */
bool fpgart_renew_launch(const struct held *held, const struct fpgart_carried_queue *queue,
                         uint64_t epoch, struct carried *carried);
AT_ONCE void fpgart_kernel_holds(uintptr_t kernel, uintptr_t board, uint64_t epoch);
