/* SPDX-License-Identifier: Apache-2.0
 *
 * What is freed with an object, and the facts for Python about one that C has made. */
#pragma once

#include "for_python.h"

#include <stdint.h>

FOR_PYTHON struct fpgart_unseen {
    uint32_t kind;
    uint32_t type; /* of an event's command */
    uintptr_t parent;
    uintptr_t command;            /* of an event */
    uintptr_t core;               /* of a queue */
    uint32_t has_list;            /* of a queue: 1 if it was made with a list of properties */
    const char *name;             /* of a kernel */
    uint64_t flags, origin, size; /* of a buffer; the first are the properties of a queue */
    uintptr_t device;             /* of a queue; of a buffer: that with its block; 0: it has none */
    uint64_t block;               /* its address on the board */
    uintptr_t host;               /* of a buffer: the memory over which it is made */
    uintptr_t store;              /* of a buffer: the memory in which C has mapped it; 0: none */
};
/* Writes the facts for a view, once; returns 0 if Python knows the object. */
AT_ONCE int fpgart_view(uintptr_t handle, struct fpgart_unseen *found);
