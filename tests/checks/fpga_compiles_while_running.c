/* SPDX-License-Identifier: Apache-2.0
 *
 * finds: fpga: compiled while the host runs
 *
 * A host for boards reads what was compiled before: words[2]. */
#include "check.h"

static void run(void)
{
    static unsigned char binary[1 << 20];
    const unsigned char *binaries = binary;
    cl_int status;
    if (!fixed) {
        start(&host, ADD_ONE);
        return;
    }
    FILE *file = fopen(words[2], "rb");
    must_be(file != NULL, "the .aocx is there");
    const size_t size = fread(binary, 1, sizeof binary, file);
    fclose(file);
    find_context(&host);
    host.program =
        clCreateProgramWithBinary(host.context, 1, &host.device, &size, &binaries, NULL, &status);
    must(status, "clCreateProgramWithBinary");
    MUST(clBuildProgram(host.program, 1, &host.device, "", NULL, NULL));
}
