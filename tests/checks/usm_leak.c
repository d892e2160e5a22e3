/* SPDX-License-Identifier: Apache-2.0
 *
 * finds: usm: leak */
#include "check.h"

int main(int argc, char **argv)
{
    begin(argc, argv, ADD_ONE);
    find_usm(&host);
    void *memory = host_memory(SIZE);
    if (fixed)
        must(mem_free(host.context, memory), "clMemFreeINTEL");
    return 0;
}
