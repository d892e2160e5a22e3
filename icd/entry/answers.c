/* SPDX-License-Identifier: Apache-2.0
 *
 * Python sees the host's pointers as integers; these read and write through them. */
#include "answers.h"

#include <string.h>

cl_int fpgart_answer(uintptr_t value, size_t size, size_t *size_ret, const char *bytes,
                     size_t length)
{
    if (value != 0 && size < length)
        return CL_INVALID_VALUE;
    if (value != 0)
        memcpy((void *)value, bytes, length);
    if (size_ret != NULL)
        *size_ret = length;
    return CL_SUCCESS;
}

uint64_t fpgart_load(uintptr_t address, size_t size)
{
    uint64_t value = 0;
    memcpy(&value, (const void *)address, size <= sizeof value ? size : sizeof value);
    return value;
}
