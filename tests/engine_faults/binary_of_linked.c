/* SPDX-License-Identifier: Apache-2.0
 *
 * Builds a kernel that requires a size of its work-groups and asks for the program's binary; then
 * compiles and links the same source and asks for the binary of the linked program. */
#include "../../conformance/c/host.h"

static const char *SOURCE =
    "kernel __attribute__((reqd_work_group_size(64, 1, 1))) void add(global int *data)\n"
    "{\n"
    "    data[get_global_id(0)] += 1;\n"
    "}\n";

int main(void)
{
    struct host host;
    cl_int status;
    size_t size;
    start(&host, SOURCE);
    free(binary_of(host.program, &size));
    cl_program part = new_source(&host, SOURCE);
    MUST(clCompileProgram(part, 1, &host.device, "", 0, NULL, NULL, NULL, NULL));
    cl_program linked =
        clLinkProgram(host.context, 1, &host.device, "", 1, &part, NULL, NULL, &status);
    must(status, "clLinkProgram");
    free(binary_of(linked, &size));
    return 0;
}
