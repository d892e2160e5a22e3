/* SPDX-License-Identifier: Apache-2.0
 *
 * The flow of a host for a board: a compiled program from a file, a buffer, a write, a kernel
 * argument, an ND-range of two dimensions, the result. `aocx_host FILE.aocx` (kernel "twice" of one
 * int pointer). */
#include "host.h"

enum { WIDTH = 64, HEIGHT = 16, COUNT = WIDTH * HEIGHT };

int main(int count, char **words)
{
    struct host host;
    cl_int status, binary_status = 12345, data[COUNT], got[COUNT];
    const size_t whole[2] = {WIDTH, HEIGHT}, local[2] = {8, 4};
    must_be(count == 2, "one file");
    size_t size;
    unsigned char *contents = file_contents(words[1], &size);
    find_context(&host);
    host.queue = new_queue(&host);
    host.program = program_from(&host, contents, size);
    cl_kernel kernel = new_kernel(&host, "twice");
    cl_mem buffer = new_buffer(&host, sizeof data);
    for (int i = 0; i < COUNT; i++)
        data[i] = i;
    MUST(clEnqueueWriteBuffer(host.queue, buffer, CL_FALSE, 0, sizeof data, data, 0, NULL, NULL));
    set_argument(kernel, 0, sizeof buffer, &buffer);
    MUST(clEnqueueNDRangeKernel(host.queue, kernel, 2, NULL, whole, local, 0, NULL, NULL));
    read_back(host.queue, buffer, sizeof got, got);
    for (int i = 0; i < COUNT; i++)
        must_be(got[i] == 2 * i, "the kernel's result");
    unsigned char *source = memmem(contents, size, "kernel void", 11);
    must_be(source != NULL, "the source is in the file");
    source[0] ^= 1;
    must_be(clCreateProgramWithBinary(host.context, 1, &host.device, &size,
                                      (const unsigned char **)&contents, &binary_status,
                                      &status) == NULL &&
                status == CL_INVALID_BINARY && binary_status == CL_INVALID_BINARY,
            "a file that was changed is refused");
    size = 100;
    must_be(clCreateProgramWithBinary(host.context, 1, &host.device, &size,
                                      (const unsigned char **)&contents, &binary_status,
                                      &status) == NULL &&
                status == CL_INVALID_BINARY,
            "a file that was cut off is refused");
    free(contents);
    clReleaseMemObject(buffer);
    clReleaseKernel(kernel);
    stop(&host);
    puts("ok");
    return 0;
}
