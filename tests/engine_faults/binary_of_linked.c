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

static void ask_for_binary(cl_program program)
{
    size_t size;
    must(clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, NULL),
         "CL_PROGRAM_BINARY_SIZES");
    must_be(size > 0, "the binary has bytes");
    unsigned char *binary = malloc(size);
    must_be(binary != NULL, "there is memory for the binary");
    must(clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof binary, &binary, NULL),
         "CL_PROGRAM_BINARIES");
    free(binary);
}

int main(void)
{
    struct host host;
    cl_int status;
    start(&host, SOURCE);
    ask_for_binary(host.program);
    cl_program part = new_source(&host, SOURCE);
    MUST(clCompileProgram(part, 1, &host.device, "", 0, NULL, NULL, NULL, NULL));
    cl_program linked =
        clLinkProgram(host.context, 1, &host.device, "", 1, &part, NULL, NULL, &status);
    must(status, "clLinkProgram");
    ask_for_binary(linked);
    return 0;
}
