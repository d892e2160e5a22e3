/* SPDX-License-Identifier: Apache-2.0
 *
 * A host that loads what `fpgart aoc scale.cl` made: `container scale.aocx`. One buffer, one write,
 * a two-dimensional launch. clCreateBuffer allocates nothing on the board; the write does. */
#include "synopsis.h"

enum { WIDTH = 64, HEIGHT = 16, WORDS = 8, COUNT = WIDTH * HEIGHT * WORDS };

static unsigned char *contents_of(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        perror(path);
        exit(1);
    }
    fseek(file, 0, SEEK_END);
    *size = (size_t)ftell(file);
    rewind(file);
    unsigned char *contents = malloc(*size);
    if (fread(contents, 1, *size, file) != *size)
        exit(1);
    fclose(file);
    return contents;
}

int main(int count, char **words)
{
    static cl_uint data[COUNT];
    const size_t global[2] = {WIDTH, HEIGHT}, local[2] = {8, 4};
    size_t size;
    cl_int status, loaded;
    cl_event written, ran;
    int wrong = 0;
    if (count != 2)
        return 2;
    begin();
    unsigned char *contents = contents_of(words[1], &size);
    cl_program program = clCreateProgramWithBinary(
        context, 1, &device, &size, (const unsigned char **)&contents, &loaded, &status);
    check(loaded, "this binary on this device");
    check(status, "clCreateProgramWithBinary");
    check(clBuildProgram(program, 1, &device, "", NULL, NULL), "clBuildProgram");
    cl_kernel kernel = clCreateKernel(program, "scale", &status);
    check(status, "clCreateKernel");
    for (cl_uint i = 0; i < COUNT; i++)
        data[i] = i;
    cl_mem buffer = buffer_of(CL_MEM_READ_WRITE, sizeof data);
    check(clEnqueueWriteBuffer(queue, buffer, CL_FALSE, 0, sizeof data, data, 0, NULL, &written),
          "clEnqueueWriteBuffer");
    set(kernel, 0, sizeof buffer, &buffer);
    check(clEnqueueNDRangeKernel(queue, kernel, 2, NULL, global, local, 1, &written, &ran),
          "clEnqueueNDRangeKernel");
    check(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof data, data, 1, &ran, NULL),
          "clEnqueueReadBuffer");
    for (cl_uint i = 0; i < COUNT; i++)
        wrong += data[i] != 2 * i;
    clReleaseEvent(written);
    clReleaseEvent(ran);
    clReleaseMemObject(buffer);
    clReleaseKernel(kernel);
    clReleaseProgram(program);
    free(contents);
    return end(wrong);
}
