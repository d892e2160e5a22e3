/* SPDX-License-Identifier: Apache-2.0
 *
 * What calls cost that FPGART_CHECK looks at; see checks.py. Prints a line per measurement: its
 * name and microseconds. */
#include "../conformance/c/usm.h"

enum { MIB = 1 << 20, ROUNDS = 300, CHAIN = 3000 };

static struct host host;

static void say(const char *name, double begin, int rounds)
{
    printf("%s %.3f\n", name, (seconds() - begin) * 1e6 / rounds);
}

static void finish(void)
{
    must(clFinish(host.queue), "clFinish");
}

static void kernels(cl_mem buffer, void *memory)
{
    const cl_int one = 1;
    cl_kernel kernel = new_kernel(&host, "add");
    set_argument(kernel, 0, sizeof buffer, &buffer);
    set_argument(kernel, 1, sizeof one, &one);
    launch(host.queue, kernel, 1, NULL);
    finish();
    double begin = seconds();
    for (int i = 0; i < ROUNDS; i++) {
        launch(host.queue, kernel, 1, NULL);
        finish();
    }
    say("round_trip", begin, ROUNDS);
    begin = seconds();
    for (int i = 0; i < CHAIN; i++)
        launch(host.queue, kernel, 1, NULL);
    finish();
    say("chain", begin, CHAIN);
    must(set_pointer(kernel, 0, memory), "clSetKernelArgMemPointerINTEL");
    begin = seconds();
    for (int i = 0; i < ROUNDS; i++) {
        launch(host.queue, kernel, 1, NULL);
        finish();
    }
    say("usm_round_trip", begin, ROUNDS);
}

static void transfers(cl_mem buffer, char *data)
{
    double begin = seconds();
    for (int i = 0; i < ROUNDS; i++)
        must(clEnqueueWriteBuffer(host.queue, buffer, CL_TRUE, 0, 4096, data, 0, NULL, NULL),
             "clEnqueueWriteBuffer");
    say("write_4k", begin, ROUNDS);
    begin = seconds();
    for (int i = 0; i < ROUNDS; i++) {
        must(clEnqueueWriteBuffer(host.queue, buffer, CL_FALSE, 0, MIB, data, 0, NULL, NULL),
             "clEnqueueWriteBuffer");
        finish();
    }
    say("write_1m", begin, ROUNDS);
    begin = seconds();
    for (int i = 0; i < ROUNDS; i++) {
        cl_mem made = new_buffer(&host, 4096);
        must(clEnqueueWriteBuffer(host.queue, made, CL_TRUE, 0, 4096, data, 0, NULL, NULL),
             "clEnqueueWriteBuffer");
        must(clReleaseMemObject(made), "clReleaseMemObject");
    }
    say("place", begin, ROUNDS);
}

int main(void)
{
    static char data[MIB];
    cl_int status;
    start(&host, SPIN_SOURCE);
    find_usm(&host);
    cl_mem buffer = new_buffer(&host, MIB);
    void *memory = device_alloc(host.context, host.device, NULL, MIB, 0, &status);
    must(status, "clDeviceMemAllocINTEL");
    fill(host.queue, buffer, 0, MIB);
    must(mem_fill(host.queue, memory, "", 1, MIB, 0, NULL, NULL), "clEnqueueMemFillINTEL");
    kernels(buffer, memory);
    transfers(buffer, data);
    must(blocking_free(host.context, memory), "clMemBlockingFreeINTEL");
    must(clReleaseMemObject(buffer), "clReleaseMemObject");
    stop(&host);
    return 0;
}
