/* SPDX-License-Identifier: Apache-2.0
 *
 * finds: usm: leak */
#include "check.h"

static void run(void)
{
    start(&host, ADD_ONE);
    find_usm(&host);
    void *memory = host_memory(SIZE);
    if (fixed)
        must(mem_free(host.context, memory), "clMemFreeINTEL");
}
