/* SPDX-License-Identifier: Apache-2.0
 *
 * The entry point for requests of the host's Python to the driver: tests, faults. In a host
 * written in Python the driver's objects are in another interpreter, so requests and answers are
 * texts (fpgart/control/answers.py). */
#include "control.h"

#include "interpreter.h"

#include <stdlib.h>
#include <string.h>

char *fpgart_text(const char *words)
{
    return strdup(words);
}

__attribute__((visibility("default"))) int fpgart_control_runs(void)
{
    return fpgart_running();
}

/* Returns the answer, which the caller frees; NULL if the driver does not run. */
__attribute__((visibility("default"))) char *fpgart_control(const char *request, size_t length)
{
    struct fpgart_visit visit;
    if (!fpgart_enter(&visit))
        return NULL;
    char *answer = fpgart_control_request(request, length);
    fpgart_leave(&visit);
    return answer;
}

__attribute__((visibility("default"))) void fpgart_control_read(char *answer)
{
    free(answer);
}
