/* Makes the same calls forty times, then some in a second thread, and prints those that fail. Most
 * are answered without the driver's Python by then. */
#include "host.h"

#define TIMES 40
#define SIZE 64

static struct host host;
static cl_mem buffer;
static cl_kernel kernel;

static void tell(int round, const char *call, cl_int status)
{
    if (status != CL_SUCCESS)
        printf("%d %s %d\n", round, call, status);
}

static void make(void)
{
    static const char *source =
        "kernel void add(global int *x, int n) { x[get_global_id(0)] += n; }";
    const int zeros[SIZE] = {0};
    start(&host, source);
    buffer = buffer_with(&host, sizeof zeros, zeros);
    kernel = new_kernel(&host, "add");
    MUST(clReleaseProgram(host.program));
}

static void go_round(int round, int *back)
{
    cl_uint count;
    cl_int one = 1, ended;
    size_t global = SIZE;
    cl_event event = NULL;
    tell(round, "clSetKernelArg", clSetKernelArg(kernel, 0, sizeof buffer, &buffer));
    set_argument(kernel, 1, sizeof one, &one);
    cl_int status =
        clEnqueueNDRangeKernel(host.queue, kernel, 1, NULL, &global, NULL, 0, NULL, &event);
    tell(round, "clEnqueueNDRangeKernel", status);
    tell(round, "clFinish", clFinish(host.queue));
    if (status == CL_SUCCESS) {
        tell(round, "clWaitForEvents", clWaitForEvents(1, &event));
        tell(round, "clGetEventInfo",
             clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof ended, &ended, NULL));
        tell(round, "clRetainEvent", clRetainEvent(event));
        tell(round, "clReleaseEvent", clReleaseEvent(event));
    }
    tell(round, "clEnqueueReadBuffer",
         clEnqueueReadBuffer(host.queue, buffer, CL_TRUE, 0, SIZE * sizeof *back, back, 0, NULL,
                             NULL));
    tell(round, "clGetContextInfo",
         clGetContextInfo(host.context, CL_CONTEXT_NUM_DEVICES, sizeof count, &count, NULL));
    tell(round, "clRetainMemObject", clRetainMemObject(buffer));
    tell(round, "clReleaseMemObject", clReleaseMemObject(buffer));
}

static void *in_a_thread(void *back)
{
    go_round(1000, back);
    return NULL;
}

int main(void)
{
    int back[SIZE] = {0};
    cl_uint references;
    pthread_t thread;
    make();
    for (int round = 1; round <= TIMES; round++)
        go_round(round, back);
    printf("launches: %d\n", back[SIZE - 1]);
    MUST(clGetMemObjectInfo(buffer, CL_MEM_REFERENCE_COUNT, sizeof references, &references, NULL));
    printf("references: %u\n", references);
    if (pthread_create(&thread, NULL, in_a_thread, back) != 0)
        return 1;
    pthread_join(thread, NULL);
    return 0;
}
