/* SPDX-License-Identifier: Apache-2.0
 *
 * Builds a program of which compilers warn; the build succeeds, and nothing may be on stderr. */
#include "../../conformance/c/host.h"

static const char *SOURCE = "kernel void fall(global int *data)\n"
                            "{\n"
                            "    if (data[0] = 1) data[1] = 2;\n"
                            "}\n";

int main(void)
{
    struct host host;
    start(&host, SOURCE);
    stop(&host);
    return 0;
}
