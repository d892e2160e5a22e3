/* SPDX-License-Identifier: Apache-2.0
 *
 * Regions that the host has mapped. */
#pragma once

#include "for_python.h"
#include "handles.h"

#include <stdint.h>

FOR_PYTHON struct fpgart_mapping {
    uint64_t pointer, offset, size, flags;
    uint64_t number; /* of its own */
};
/* Adds and numbers a mapping, which is pending until fpgart_keep_mapping(). */
int fpgart_add_mapping(uintptr_t buffer, struct fpgart_mapping *mapping);
void fpgart_keep_mapping(uintptr_t buffer, uint64_t number);
int fpgart_take_mapping(uintptr_t buffer, uintptr_t pointer, struct fpgart_mapping *taken);
AT_ONCE int fpgart_take_any_mapping(uintptr_t buffer, struct fpgart_mapping *taken);
void fpgart_forget_mapping(uintptr_t buffer, uint64_t number);
void fpgart_void_mapping(uintptr_t buffer, uint64_t number);
void fpgart_mappings_free(struct fpgart_mappings *mappings);
/* Forgets so many mapped regions of a buffer: those of a sub-buffer that was freed. */
void fpgart_forget_mappings(uintptr_t buffer, uint32_t mapped);
/* Writes the number of a buffer's regions that are mapped; returns 0 for other memory objects. */
int fpgart_counts_mappings(uintptr_t buffer, cl_uint *count);
/* 1 if the host has mapped a region of a buffer, of one of its sub-buffers, or of their parent. */
AT_ONCE int fpgart_is_mapped(uintptr_t buffer);
/* Python has mapped so many regions more, or fewer. */
AT_ONCE void fpgart_python_maps(uintptr_t buffer, int more);
