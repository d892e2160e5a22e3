/* SPDX-License-Identifier: Apache-2.0
 *
 * Shapes of hosts that differ in their kernels, arguments, buffers and transfers. */
#include "host.h"

cl_int programs_in_turn(int count)
{
    for (int i = 0; i < count; i++)
        launch_of(queue, kernels[i % PROGRAMS], ITEMS, 0, NULL, NULL);
    finish();
    return count;
}

cl_int kernels_in_turn(int count)
{
    cl_kernel scale = new_kernel("scale");
    set(scale, buffers[1], buffers[0], 3);
    for (int i = 0; i < count; i++)
        launch_of(queue, i % 2 ? scale : kernels[0], ITEMS, 0, NULL, NULL);
    finish();
    must(clReleaseKernel(scale), "clReleaseKernel");
    return UNKNOWN;
}

cl_int arguments(int count)
{
    for (int i = 0; i < count; i++) {
        set(kernels[0], buffers[i % 4], buffers[4 + i % 4], i);
        launch();
    }
    finish();
    return UNKNOWN;
}

cl_int ping_pong(int count)
{
    for (int i = 0; i < count; i++) {
        set(kernels[0], buffers[i % 2], buffers[1 - i % 2], 1);
        launch();
    }
    finish();
    return UNKNOWN;
}

cl_int write_launch_read(int count)
{
    cl_int data[ITEMS] = {0}, result[ITEMS];
    for (int i = 0; i < count; i++) {
        must(clEnqueueWriteBuffer(queue, buffers[1], CL_FALSE, 0, SMALL, data, 0, NULL, NULL),
             "clEnqueueWriteBuffer");
        launch();
        read_small(buffers[0], CL_TRUE, result, 0, NULL, NULL);
    }
    return count;
}

cl_int write_launch_read_events(int count)
{
    cl_int data[ITEMS] = {0}, result[ITEMS];
    for (int i = 0; i < count; i++) {
        cl_event written, launched, read;
        must(clEnqueueWriteBuffer(queue, buffers[1], CL_FALSE, 0, SMALL, data, 0, NULL, &written),
             "clEnqueueWriteBuffer");
        launch_of(queue, kernels[0], ITEMS, 1, &written, &launched);
        read_small(buffers[0], CL_FALSE, result, 1, &launched, &read);
        wait_and_release(read);
        must(clReleaseEvent(written), "clReleaseEvent");
        must(clReleaseEvent(launched), "clReleaseEvent");
    }
    return count;
}

cl_int map_launch(int count)
{
    for (int i = 0; i < count; i++) {
        cl_int status;
        cl_int *mapped = clEnqueueMapBuffer(queue, buffers[0], CL_TRUE, CL_MAP_WRITE, 0, SMALL, 0,
                                            NULL, NULL, &status);
        must(status, "clEnqueueMapBuffer");
        mapped[0] = i;
        must(clEnqueueUnmapMemObject(queue, buffers[0], mapped, 0, NULL, NULL),
             "clEnqueueUnmapMemObject");
        launch();
    }
    finish();
    return count;
}

cl_int copy_launch(int count)
{
    for (int i = 0; i < count; i++) {
        must(clEnqueueCopyBuffer(queue, buffers[1], buffers[0], 0, 0, SMALL, 0, NULL, NULL),
             "clEnqueueCopyBuffer");
        launch();
    }
    finish();
    return 1;
}

cl_int fill_launch(int count)
{
    const cl_int zero = 0;
    for (int i = 0; i < count; i++) {
        must(clEnqueueFillBuffer(queue, buffers[1], &zero, sizeof zero, 0, SMALL, 0, NULL, NULL),
             "clEnqueueFillBuffer");
        launch();
    }
    finish();
    return count;
}

cl_int rectangles(int count)
{
    const size_t origin[3] = {0}, region[] = {SMALL / 4, 4, 1};
    cl_int data[ITEMS] = {0};
    for (int i = 0; i < count; i++) {
        must(clEnqueueWriteBufferRect(queue, buffers[1], CL_FALSE, origin, origin, region, SMALL, 0,
                                      0, 0, data, 0, NULL, NULL),
             "clEnqueueWriteBufferRect");
        launch();
    }
    finish();
    return count;
}

cl_int rectangles_copied(int count)
{
    const size_t origin[3] = {0}, region[] = {SMALL / 4, 4, 1};
    for (int i = 0; i < count; i++) {
        must(clEnqueueCopyBufferRect(queue, buffers[2], buffers[1], origin, origin, region, SMALL,
                                     0, SMALL, 0, 0, NULL, NULL),
             "clEnqueueCopyBufferRect");
        launch();
    }
    finish();
    return count;
}

cl_int migrations(int count)
{
    for (int i = 0; i < count; i++) {
        must(clEnqueueMigrateMemObjects(queue, 2, buffers, 0, 0, NULL, NULL),
             "clEnqueueMigrateMemObjects");
        launch();
    }
    finish();
    return count;
}

cl_int structures(int count)
{
    struct {
        cl_int a, b, c, d;
    } value = {0, 1, 0, 0};
    cl_kernel shift = new_kernel("shift");
    must(clSetKernelArg(shift, 0, sizeof buffers[0], &buffers[0]), "clSetKernelArg, x");
    for (int i = 0; i < count; i++) {
        value.a = i;
        must(clSetKernelArg(shift, 1, sizeof value, &value), "clSetKernelArg, n");
        launch_of(queue, shift, ITEMS, 0, NULL, NULL);
    }
    finish();
    must(clReleaseKernel(shift), "clReleaseKernel");
    return count;
}

cl_int many_arguments(int count)
{
    enum { NUMBERS = 70, LAST = NUMBERS + 1 };
    cl_int large[150] = {0};
    cl_kernel many = new_kernel("many");
    must(clSetKernelArg(many, 0, sizeof buffers[0], &buffers[0]), "clSetKernelArg, x");
    for (cl_uint i = 2; i < LAST; i++)
        must(clSetKernelArg(many, i, sizeof large[0], &large[0]), "clSetKernelArg, a number");
    for (int i = 0; i < count; i++) {
        cl_int number = 1 - i;
        large[149] = i;
        must(clSetKernelArg(many, 1, sizeof large, large), "clSetKernelArg, n");
        must(clSetKernelArg(many, LAST, sizeof number, &number), "clSetKernelArg, the last");
        launch_of(queue, many, ITEMS, 0, NULL, NULL);
    }
    finish();
    must(clReleaseKernel(many), "clReleaseKernel");
    return count;
}

cl_int buffer_each(int count)
{
    cl_int data[ITEMS] = {0}, result[ITEMS];
    for (int i = 0; i < count; i++) {
        cl_mem buffer = new_buffer(CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, SMALL, data);
        set(kernels[0], buffer, buffers[1], 1);
        launch();
        read_small(buffer, CL_TRUE, result, 0, NULL, NULL);
        must(clReleaseMemObject(buffer), "clReleaseMemObject");
    }
    return 0;
}

/* Each is of another size than the one before. */
cl_int buffer_of_a_size_each(int count)
{
    for (int i = 0; i < count; i++) {
        cl_mem buffer = new_buffer(CL_MEM_READ_WRITE, (size_t)SMALL * (1 + i % 7), NULL);
        set(kernels[0], buffer, buffers[1], 1);
        launch();
        must(clReleaseMemObject(buffer), "clReleaseMemObject");
    }
    finish();
    return UNKNOWN;
}

cl_int kernel_each(int count)
{
    for (int i = 0; i < count; i++) {
        cl_kernel kernel = new_kernel("add");
        set(kernel, buffers[0], buffers[1], 1);
        launch_of(queue, kernel, ITEMS, 0, NULL, NULL);
        must(clReleaseKernel(kernel), "clReleaseKernel");
    }
    finish();
    return count;
}

cl_int queue_each(int count)
{
    for (int i = 0; i < count; i++) {
        cl_command_queue own = new_queue(0);
        launch_of(own, kernels[0], ITEMS, 0, NULL, NULL);
        must(clFinish(own), "clFinish");
        must(clReleaseCommandQueue(own), "clReleaseCommandQueue");
    }
    return count;
}

cl_int sub_buffers(int count)
{
    for (int i = 0; i < count; i++) {
        cl_int status;
        const cl_buffer_region region = {LARGE / 2 * (size_t)(i % 2), LARGE / 2};
        cl_mem part = clCreateSubBuffer(buffers[2], CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION,
                                        &region, &status);
        must(status, "clCreateSubBuffer");
        set(kernels[0], part, buffers[1], 1);
        launch();
        must(clReleaseMemObject(part), "clReleaseMemObject");
    }
    finish();
    return 0;
}
