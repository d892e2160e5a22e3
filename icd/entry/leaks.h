/* SPDX-License-Identifier: Apache-2.0
 *
 * Passes the objects that exist as the driver closes, in groups with words for each. Those
 * that are not released until the process has ended are reported then, on the descriptor
 * `text`. `findings`, if it is not -1, gets a JSON object per group: the number of objects, then
 * its `facts`. */
#pragma once

#include "for_python.h"

#include <stddef.h>
#include <stdint.h>

FOR_PYTHON void fpgart_leaks_expected(size_t count_of_groups, char **nouns, char **makers,
                                      char **facts, size_t count, const uintptr_t *things,
                                      const uint64_t *bytes, const uint32_t *group_of, int text,
                                      int findings);

/* Is called when the host frees memory, which may be one of these objects. */
void fpgart_freed(const void *pointer);
