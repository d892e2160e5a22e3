/* SPDX-License-Identifier: Apache-2.0
 *
 * finds: fpga: compiled while the host runs
 *
 * A host for boards reads what was compiled before: argv[2]. */
#include "check.h"

int main(int argc, char **argv)
{
    static unsigned char binary[1 << 20];
    const unsigned char *binaries = binary;
    cl_int status;
    fixed = argc > 2 && strcmp(argv[1], "fixed") == 0;
    if (!fixed) {
        begin(argc, argv, ADD_ONE);
        return 0;
    }
    FILE *file = fopen(argv[2], "rb");
    must_be(file != NULL, "the .aocx is there");
    const size_t size = fread(binary, 1, sizeof binary, file);
    fclose(file);
    find_context(&host);
    host.program =
        clCreateProgramWithBinary(host.context, 1, &host.device, &size, &binaries, NULL, &status);
    must(status, "clCreateProgramWithBinary");
    MUST(clBuildProgram(host.program, 1, &host.device, "", NULL, NULL));
    return 0;
}
