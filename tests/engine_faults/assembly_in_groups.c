/* SPDX-License-Identifier: Apache-2.0
 *
 * Launches a kernel with inline assembly in a work-group of 4. A compiler for FPGAs gets a
 * program-scope variable instead, which the driver makes such code of. */
#include "../../conformance/c/host.h"

enum { ITEMS = 4 };

static const char *SOURCE = "#ifdef INTELFPGA_CL\n"
                            "global int seven = 7;\n"
                            "int number(void) { return seven; }\n"
                            "#else\n"
                            "int number(void)\n"
                            "{\n"
                            "    int value = 7;\n"
                            "    __asm__ volatile(\"\" : \"+r\"(value));\n"
                            "    return value;\n"
                            "}\n"
                            "#endif\n"
                            "kernel void copy(global int *x) { x[get_global_id(0)] = number(); }\n";

int main(void)
{
    struct host host;
    cl_int found[ITEMS];
    const size_t items = ITEMS;
    start(&host, SOURCE);
    cl_mem buffer = new_buffer(&host, sizeof found);
    cl_kernel copy = new_kernel(&host, "copy");
    set_argument(copy, 0, sizeof buffer, &buffer);
    MUST(clEnqueueNDRangeKernel(host.queue, copy, 1, NULL, &items, &items, 0, NULL, NULL));
    read_back(host.queue, buffer, sizeof found, found);
    for (int i = 0; i < ITEMS; i++)
        must_be(found[i] == 7, "each work-item has the value");
    return 0;
}
