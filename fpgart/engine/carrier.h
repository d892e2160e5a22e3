/* SPDX-License-Identifier: Apache-2.0
 *
 * The engine behind the command processor (core/core.h): what carried commands do, in queues of the
 * engine's driver. */
#ifndef FPGART_CARRIER_H
#define FPGART_CARRIER_H
#include "core.h"
/* cffi */
/* CARRIED_MARKER does nothing. CARRIED_MOVE copies a box of bytes, CARRIED_FILL repeats a pattern
 * that stands behind the operation. CARRIED_LAUNCH runs a kernel with the arguments that stand
 * there (struct argument in calls.h). */
enum carried_kind { CARRIED_MARKER, CARRIED_MOVE, CARRIED_FILL, CARRIED_LAUNCH };

/* The operation of a carried command: what stands before `more`, or all of it if there is more. */
struct carried {
    uint32_t kind;
    int32_t place; /* where a launch was refused: -1 or that argument's index */
    /* The command has ended. NULL: nobody wants to know. */
    void (*ended)(struct carried *carried, int32_t status);
    /* The driver is about to be given a launch. */
    void (*begins)(struct carried *carried);
    void *data; /* for these */
    uintptr_t from, to;
    uint64_t size[3]; /* of a box: bytes, rows, slices; a fill has the bytes alone */
    uint64_t from_pitch[2], to_pitch[2]; /* from row to row, and from slice to slice */
    uintptr_t kernel;
    uint64_t sizes[9]; /* offset, global and local size */
    uint32_t dimensions;
    uint32_t has_local;
    uint32_t count;    /* arguments, or bytes of the pattern */
    uint32_t is_begun; /* the driver has been given the launch */
    char more[];
};

struct core_engine;
/* For core_queue_new(), whose lane is one of carrier_lane_new(): NULL if the driver refuses. The
 * driver's device has to be one of carrier_can(). */
const struct core_engine *carrier_engine(void);
bool carrier_can(uintptr_t device);
void *carrier_lane_new(uintptr_t context, uintptr_t device, bool in_order, bool has_profiling);
void carrier_lane_free(void *lane);
/* The driver begins all that the lane has. */
void carrier_flush(void *lane);
/* All of that in one place, for a library that this one is not linked with. */
struct carrier {
    const struct core_engine *engine;
    void *(*lane_new)(uintptr_t context, uintptr_t device, bool in_order, bool has_profiling);
    void (*lane_free)(void *lane);
    void (*flush)(void *lane);
};
const struct carrier *carrier_functions(void);
/* cffi */
#endif
