/* Launches the same kernels again and again, for a trace: in order and out of order, with and
 * without a local size, with a sub-buffer, behind a user event that fails, and of buffers that the
 * host releases at once. */
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include "host.h"

enum { TIMES = 5, ITEMS = 64, PART = 1024 };

static struct host host;

static cl_kernel kernel_with(const char *name, cl_mem first, cl_mem second)
{
    cl_kernel made = new_kernel(&host, name);
    set_argument(made, 0, sizeof first, &first);
    set_argument(made, 1, sizeof second, &second);
    return made;
}

int main(void)
{
    static const char *source =
        "kernel void one(global int *x, global int *y) { y[get_global_id(0)] = x[0]; }\n"
        "kernel void other(global int *x, global int *y) { y[get_global_id(0)] += x[1]; }";
    cl_int status;
    start(&host, source);
    cl_command_queue out_of_order = new_queue_with(&host, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    cl_mem x = new_buffer(&host, 4 * ITEMS), y = new_buffer(&host, 2 * PART), last;
    cl_buffer_region half = {PART, PART};
    cl_mem part = clCreateSubBuffer(y, 0, CL_BUFFER_CREATE_TYPE_REGION, &half, &status);
    must(status, "clCreateSubBuffer");
    cl_kernel one = kernel_with("one", x, y), other = kernel_with("other", x, part);
    size_t items = ITEMS, local = 8, offset = 0;
    for (int i = 0; i < TIMES; i++) {
        launch(host.queue, one, ITEMS, NULL);
        MUST(clFinish(host.queue));
    }
    for (int i = 0; i < TIMES; i++) {
        MUST(
            clEnqueueNDRangeKernel(out_of_order, other, 1, &offset, &items, &local, 0, NULL, NULL));
        MUST(clFinish(out_of_order));
    }
    cl_event failed = user_event(&host);
    MUST(clEnqueueTask(host.queue, one, 1, &failed, NULL));
    MUST(clSetUserEventStatus(failed, -1));
    clFinish(host.queue);
    for (int i = 0; i < TIMES; i++) {
        last = new_buffer(&host, 8 * ITEMS);
        set_argument(one, 1, sizeof last, &last);
        for (int j = 0; j < 2; j++)
            launch(host.queue, one, ITEMS, NULL);
        MUST(clReleaseMemObject(last));
    }
    MUST(clFinish(host.queue));
    return 0;
}
