/* SPDX-License-Identifier: Apache-2.0
 *
 * Three vectors that together are larger than what a DSP can be shown: added in four launches, each
 * of a quarter of them, as sub-buffers. On small_66ak2x.xml, where that is 24 MiB. */
#include "synopsis.h"

enum { PARTS = 4, COUNT = 32 << 18, SIZE = COUNT * sizeof(cl_int), PART = SIZE / PARTS };

static const char *const source =
    "kernel void add(global const int *a, global const int *b, global int *c)\n"
    "{ size_t i = get_global_id(0); c[i] = a[i] + b[i]; }\n";

static cl_int launch(cl_kernel kernel, const cl_mem *vectors, size_t size)
{
    const size_t items = size / sizeof(cl_int);
    for (cl_uint i = 0; i < 3; i++)
        set(kernel, i, sizeof vectors[i], &vectors[i]);
    return clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, NULL, 0, NULL, NULL);
}

static void add_part(cl_kernel kernel, const cl_mem *vectors, size_t origin)
{
    const cl_buffer_region region = {origin, PART};
    cl_mem parts[3];
    cl_int status;
    for (int i = 0; i < 3; i++) {
        parts[i] = clCreateSubBuffer(vectors[i], 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &status);
        check(status, "clCreateSubBuffer");
    }
    check(launch(kernel, parts, PART), "clEnqueueNDRangeKernel");
    for (int i = 0; i < 3; i++)
        clReleaseMemObject(parts[i]);
}

int main(void)
{
    cl_int *data = malloc(SIZE);
    const cl_mem_flags kinds[3] = {CL_MEM_READ_ONLY, CL_MEM_READ_ONLY, CL_MEM_WRITE_ONLY};
    cl_mem vectors[3];
    int wrong = 0;
    begin();
    cl_kernel kernel = kernel_of(source, "add");
    for (int i = 0; i < COUNT; i++)
        data[i] = i;
    for (int i = 0; i < 3; i++)
        vectors[i] = buffer_of(kinds[i], SIZE);
    for (int i = 0; i < 2; i++)
        check(clEnqueueWriteBuffer(queue, vectors[i], CL_TRUE, 0, SIZE, data, 0, NULL, NULL),
              "clEnqueueWriteBuffer");
    if (launch(kernel, vectors, SIZE) != CL_OUT_OF_RESOURCES)
        wrong++;
    for (size_t part = 0; part < PARTS; part++)
        add_part(kernel, vectors, part * PART);
    check(clEnqueueReadBuffer(queue, vectors[2], CL_TRUE, 0, SIZE, data, 0, NULL, NULL),
          "clEnqueueReadBuffer");
    for (int i = 0; i < COUNT; i++)
        wrong += data[i] != 2 * i;
    for (int i = 0; i < 3; i++)
        clReleaseMemObject(vectors[i]);
    clReleaseKernel(kernel);
    free(data);
    return end(wrong);
}
