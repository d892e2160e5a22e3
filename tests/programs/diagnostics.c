/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes each argument to standard error, as a compiler's library does. */
#include "engine/containment/diagnostics.h"

#include <string.h>
#include <unistd.h>

int main(int count, char **words)
{
    for (int i = 1; i < count; i++)
        if (diagnostics_write(STDERR_FILENO, words[i], strlen(words[i])) !=
            (ssize_t)strlen(words[i]))
            return 1;
    return 0;
}
