/* SPDX-License-Identifier: Apache-2.0
 *
 * The places in the host behind the call on this thread. */
#pragma once

#include "for_python.h"

#include <stddef.h>
#include <stdint.h>

/* Writes the host's return addresses, innermost first, behind the entry point that runs on
 * this thread. Returns their number. `through_interpreter`: the entry point has called the
 * interpreter. */
FOR_PYTHON size_t fpgart_frames_of_call(uintptr_t *frames, size_t most, int through_interpreter);
