/* SPDX-License-Identifier: Apache-2.0
 *
 * A host that tries each command again until it succeeds: the results have to be right however many
 * fail, no wait may last for ever, and a buffer that no command touches keeps its contents. It says
 * how many commands failed, and how many exceptions the board reported. */
#include "host.h"

#include <CL/cl_ext_intelfpga.h>

enum { ROUNDS = 40, COUNT = 1000, SIZE = COUNT * sizeof(cl_int), MOST_TRIES = 60 };

static const char *const source = "kernel void triple(global const int *in, global int *out)\n"
                                  "{ out[get_global_id(0)] = 3 * in[get_global_id(0)]; }\n";

static struct host host;
static cl_kernel kernel;
static cl_int numbers[COUNT], got[COUNT];
static int failures, exceptions;

struct buffers {
    cl_mem in, out, copy;
};

typedef cl_int (*command)(struct buffers *buffers, cl_event *event);

static cl_int write_numbers(struct buffers *buffers, cl_event *event)
{
    return clEnqueueWriteBuffer(host.queue, buffers->in, CL_FALSE, 0, SIZE, numbers, 0, NULL,
                                event);
}

static cl_int run_kernel(struct buffers *buffers, cl_event *event)
{
    size_t size = COUNT;
    set_argument(kernel, 0, sizeof buffers->in, &buffers->in);
    set_argument(kernel, 1, sizeof buffers->out, &buffers->out);
    return clEnqueueNDRangeKernel(host.queue, kernel, 1, NULL, &size, NULL, 0, NULL, event);
}

static cl_int copy_result(struct buffers *buffers, cl_event *event)
{
    return clEnqueueCopyBuffer(host.queue, buffers->out, buffers->copy, 0, 0, SIZE, 0, NULL, event);
}

static cl_int read_result(struct buffers *buffers, cl_event *event)
{
    return clEnqueueReadBuffer(host.queue, buffers->copy, CL_TRUE, 0, SIZE, got, 0, NULL, event);
}

static cl_int map_result(struct buffers *buffers, cl_event *event)
{
    cl_int status;
    void *mapped = clEnqueueMapBuffer(host.queue, buffers->copy, CL_TRUE, CL_MAP_READ, 0, SIZE, 0,
                                      NULL, NULL, &status);
    must_be((mapped != NULL) == (status == CL_SUCCESS), "a map that fails gives NULL");
    if (status != CL_SUCCESS)
        return status;
    memcpy(got, mapped, SIZE);
    return clEnqueueUnmapMemObject(host.queue, buffers->copy, mapped, 0, NULL, event);
}

static bool succeeds(command enqueue, struct buffers *buffers)
{
    cl_event event = NULL;
    cl_int status = enqueue(buffers, &event);
    if (status != CL_SUCCESS)
        return false;
    MUST(clFinish(host.queue));
    MUST(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL));
    must_be(status <= CL_COMPLETE, "nothing is under way after clFinish");
    must_be((clWaitForEvents(1, &event) == CL_SUCCESS) == (status == CL_COMPLETE),
            "clWaitForEvents agrees with the event");
    clReleaseEvent(event);
    return status == CL_COMPLETE;
}

static void until_it_succeeds(command enqueue, struct buffers *buffers, const char *what)
{
    for (int i = 0; i < MOST_TRIES; i++) {
        if (succeeds(enqueue, buffers))
            return;
        failures++;
    }
    must_be(false, what);
}

static void expect_result(const char *what)
{
    for (int i = 0; i < COUNT; i++)
        must_be(got[i] == 3 * numbers[i], what);
    memset(got, 0, SIZE);
}

static void CL_CALLBACK count_exception(CL_EXCEPTION_TYPE_INTEL type, const void *private_info,
                                        size_t size, void *user_data)
{
    must_be(type == CL_DEVICE_EXCEPTION_ECC_CORRECTABLE_INTEL, "only correctable errors");
    must_be(private_info == NULL && size == 0, "nothing private");
    ++*(int *)user_data;
}

static void listen_to_exceptions(void)
{
    cl_int(CL_API_CALL * set)(
        cl_uint, const cl_device_id *, CL_EXCEPTION_TYPE_INTEL,
        void(CL_CALLBACK *)(CL_EXCEPTION_TYPE_INTEL, const void *, size_t, void *), void *) = NULL;
    void *address = clGetExtensionFunctionAddressForPlatform(
        host.platform, "clSetDeviceExceptionCallbackIntelFPGA");
    if (address == NULL)
        return;
    memcpy(&set, &address, sizeof set);
    must(set(1, &host.device, CL_DEVICE_EXCEPTION_ECC_CORRECTABLE_INTEL, count_exception,
             &exceptions),
         "clSetDeviceExceptionCallbackIntelFPGA");
}

int main(void)
{
    start(&host, source);
    listen_to_exceptions();
    kernel = new_kernel(&host, "triple");
    struct buffers others = {new_buffer(&host, SIZE), NULL, NULL};
    for (int i = 0; i < COUNT; i++)
        numbers[i] = -i;
    until_it_succeeds(write_numbers, &others, "the bystander is written");
    for (int round = 0; round < ROUNDS; round++) {
        struct buffers buffers = {new_buffer(&host, SIZE), new_buffer(&host, SIZE),
                                  new_buffer(&host, SIZE)};
        for (int i = 0; i < COUNT; i++)
            numbers[i] = round * COUNT + i;
        until_it_succeeds(write_numbers, &buffers, "a write succeeds at last");
        until_it_succeeds(run_kernel, &buffers, "a launch succeeds at last");
        until_it_succeeds(copy_result, &buffers, "a copy succeeds at last");
        until_it_succeeds(read_result, &buffers, "a read succeeds at last");
        expect_result("what is read is right");
        until_it_succeeds(map_result, &buffers, "a map succeeds at last");
        expect_result("what is mapped is right");
        clReleaseMemObject(buffers.in);
        clReleaseMemObject(buffers.out);
        clReleaseMemObject(buffers.copy);
    }
    others.copy = others.in;
    until_it_succeeds(read_result, &others, "the bystander is read");
    for (int i = 0; i < COUNT; i++)
        must_be(got[i] == -i, "the bystander has kept its contents");
    clReleaseMemObject(others.in);
    clReleaseKernel(kernel);
    stop(&host);
    printf("%d failures, %d exceptions\n", failures, exceptions);
    return 0;
}
