/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <sys/types.h>
/* Does as write(), for a compiler's library. On standard error it leaves out the line in which
 * clang counts its messages ("2 warnings and 1 error generated."), which are in the build log. */
ssize_t diagnostics_write(int file, const void *bytes, size_t size);
