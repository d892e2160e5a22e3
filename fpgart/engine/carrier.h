/* SPDX-License-Identifier: Apache-2.0
 *
 * The engine of the command processor (core/core.h): carried commands, in queues of the engine's
 * driver. */
#pragma once
#include "core.h"
/* cffi */
/* CARRIED_MARKER does nothing. CARRIED_MOVE copies a box of bytes, CARRIED_FILL repeats the
 * pattern behind the operation. CARRIED_LAUNCH runs a kernel with the arguments behind the
 * operation (struct argument in calls.h). */
enum carried_kind { CARRIED_MARKER, CARRIED_MOVE, CARRIED_FILL, CARRIED_LAUNCH };

/* A block that a kernel may write, and where it wrote beside it: the bytes between the block and
 * the first one behind it (-1: none), and how far in front of the block (0: nowhere). */
struct marked {
    uintptr_t begin, end;
    int32_t past;
    uint32_t before;
};
/* What checks need around a launch: its name, the return addresses of its call, and its blocks. */
struct checked {
    char words[120];
    uintptr_t frames[24];
    uint32_t frame_count;
    int32_t operation; /* its number in fpgart/check/pages/faults.h, while `runs` is 1 */
    uint32_t runs;
    uint32_t found; /* 1: the kernel wrote beside a block */
    uint32_t count;
    struct marked blocks[];
};

/* The operation of a carried command: the part before `more`, with further data or without. */
struct carried {
    uint32_t kind;
    int32_t place; /* origin of a refused launch: -1 or the argument's index */
    /* Called when the command has ended, unless NULL. */
    void (*ended)(struct carried *carried, int32_t status);
    /* Called before the driver gets a launch. */
    void (*begins)(struct carried *carried);
    void *data; /* for these functions */
    /* Called by the driver directly in front of a launch, and directly behind it, unless NULL. It
     * is called once more at the end of the command, which the driver may not have run. */
    void (*around)(struct checked *checked, int is_over);
    struct checked *checked;
    uintptr_t from, to;
    uint64_t size[3]; /* of a box: bytes, rows, slices; a fill has the bytes alone */
    uint64_t from_pitch[2], to_pitch[2]; /* from row to row, and from slice to slice */
    uintptr_t kernel;
    uint64_t sizes[9]; /* offset, global and local size */
    uint32_t dimensions;
    uint32_t has_local;
    uint32_t count;    /* arguments, or bytes of the pattern */
    uint32_t is_begun; /* the driver has the launch */
    char more[];
};

struct core_engine;
/* Moves or fills, on this thread. */
void carrier_do(const struct carried *carried);
/* The functions of an engine, for a library that is not linked with this one. */
struct carrier {
    const struct core_engine *engine;
    /* Makes a lane of the engine; NULL if the driver refuses. */
    void *(*lane_new)(uintptr_t context, uintptr_t device, bool in_order, bool has_profiling);
    void (*lane_free)(void *lane);
    void (*flush)(void *lane); /* makes the driver begin all commands of the lane */
    /* Returns true if the engine reaches all bytes that a move or a fill needs. NULL: it does. */
    bool (*reaches)(uintptr_t context, const struct carried *carried);
    void (*move)(const struct carried *carried); /* on this thread */
};
/* carrier_can() must be true for the driver's device. */
const struct carrier *carrier_functions(void);
bool carrier_can(uintptr_t device);
/* cffi */
