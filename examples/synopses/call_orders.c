/* SPDX-License-Identifier: Apache-2.0
 *
 * One buffer for a kernel that wants it in HBM: `call_orders sycl` writes it and then sets the
 * argument, as the SYCL runtime does; `call_orders preferred` does it the other way round. Both
 * give the same result. Written first, the buffer is in the board's default memory, and the launch
 * has to move it. */
#include "synopsis.h"

enum { COUNT = 1 << 18 };

static const char *const source =
    "kernel void twice(global __attribute__((buffer_location(\"HBM\"))) int *x)\n"
    "{ x[get_global_id(0)] *= 2; }\n";

_Alignas(64) static cl_int data[COUNT]; /* where a board's DMA engine reaches it */

static void write_it(cl_mem buffer)
{
    check(clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 0, sizeof data, data, 0, NULL, NULL),
          "clEnqueueWriteBuffer");
}

int main(int count, char **words)
{
    const size_t items = COUNT;
    int wrong = 0;
    if (count != 2)
        return 2;
    begin();
    cl_kernel kernel = kernel_of(source, "twice");
    cl_mem buffer = buffer_of(CL_MEM_READ_WRITE, sizeof data);
    for (int i = 0; i < COUNT; i++)
        data[i] = i;
    if (strcmp(words[1], "sycl") == 0) {
        write_it(buffer);
        set(kernel, 0, sizeof buffer, &buffer);
    } else {
        set(kernel, 0, sizeof buffer, &buffer);
        write_it(buffer);
    }
    check(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, NULL, 0, NULL, NULL),
          "clEnqueueNDRangeKernel");
    check(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof data, data, 0, NULL, NULL),
          "clEnqueueReadBuffer");
    for (int i = 0; i < COUNT; i++)
        wrong += data[i] != 2 * i;
    clReleaseMemObject(buffer);
    clReleaseKernel(kernel);
    return end(wrong);
}
