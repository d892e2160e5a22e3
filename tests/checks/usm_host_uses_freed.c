/* SPDX-License-Identifier: Apache-2.0
 *
 * finds: usm: use after free */
#include "check.h"

static void run(void)
{
    start(&host, ADD_ONE);
    find_usm(&host);
    volatile cl_int *memory = host_memory(SIZE);
    memory[1] = 1;
    if (fixed)
        memory[1] = 2;
    must(mem_free(host.context, (void *)memory), "clMemFreeINTEL");
    if (!fixed)
        memory[1] = 2;
}
