// SPDX-License-Identifier: Apache-2.0
// A host as those for Intel's boards are written: a binary made by aoc, a queue for each kernel.
#include "AOCLUtils/aocl_utils.h"

#include <cstdio>

using namespace aocl_utils;

static const int COUNT = 1 << 16;

static cl_kernel kernelOf(cl_program program, const char *name)
{
    cl_int status;
    cl_kernel kernel = clCreateKernel(program, name, &status);
    checkError(status, name);
    return kernel;
}

static cl_command_queue queueOf(cl_context context, cl_device_id device)
{
    cl_int status;
    cl_command_queue queue =
        clCreateCommandQueue(context, device, CL_QUEUE_PROFILING_ENABLE, &status);
    checkError(status, "clCreateCommandQueue");
    return queue;
}

static cl_mem bufferOf(cl_context context, cl_mem_flags flags)
{
    cl_int status;
    cl_mem buffer = clCreateBuffer(context, flags, COUNT * sizeof(float), NULL, &status);
    checkError(status, "clCreateBuffer");
    return buffer;
}

static void setArgument(cl_kernel kernel, cl_uint index, std::size_t size, const void *value)
{
    checkError(clSetKernelArg(kernel, index, size, value), "clSetKernelArg");
}

int main()
{
    if (!setCwdToExeDir())
        return 1;
    cl_platform_id platform = findPlatform("Intel(R) FPGA");
    if (platform == NULL) {
        std::fprintf(stderr, "there is no platform 'Intel(R) FPGA'\n");
        return 1;
    }
    std::vector<cl_device_id> devices = getDevices(platform, CL_DEVICE_TYPE_ALL);
    cl_int status;
    cl_context context = clCreateContext(NULL, 1, devices.data(), NULL, NULL, &status);
    checkError(status, "clCreateContext");
    const std::string file = getBoardBinaryFile("vector_add", devices[0]);
    std::printf("device %s, binary %s\n", getDeviceName(devices[0]).c_str(), file.c_str());
    cl_program program = createProgramFromBinary(context, file, {devices[0]});
    checkError(clBuildProgram(program, 0, NULL, "", NULL, NULL), "clBuildProgram");

    cl_kernel add = kernelOf(program, "add"), store = kernelOf(program, "store");
    cl_command_queue adding = queueOf(context, devices[0]);
    cl_command_queue storing = queueOf(context, devices[0]);
    cl_mem x = bufferOf(context, CL_MEM_READ_ONLY | CL_CHANNEL_1_INTELFPGA);
    cl_mem y = bufferOf(context, CL_MEM_READ_ONLY);
    cl_mem z = bufferOf(context, CL_MEM_WRITE_ONLY);
    auto ones = alignedArray<float>(COUNT), numbers = alignedArray<float>(COUNT);
    for (int i = 0; i < COUNT; i++) {
        ones[i] = 1;
        numbers[i] = static_cast<float>(i);
    }
    const std::size_t bytes = COUNT * sizeof(float);
    checkError(clEnqueueWriteBuffer(adding, x, CL_FALSE, 0, bytes, ones.get(), 0, NULL, NULL), "x");
    checkError(clEnqueueWriteBuffer(adding, y, CL_FALSE, 0, bytes, numbers.get(), 0, NULL, NULL),
               "y");
    setArgument(add, 0, sizeof(x), &x);
    setArgument(add, 1, sizeof(y), &y);
    setArgument(add, 2, sizeof(COUNT), &COUNT);
    setArgument(store, 0, sizeof(z), &z);
    setArgument(store, 1, sizeof(COUNT), &COUNT);
    cl_event stored;
    checkError(clEnqueueTask(adding, add, 0, NULL, NULL), "add");
    checkError(clEnqueueTask(storing, store, 0, NULL, &stored), "store");
    auto sums = alignedArray<float>(COUNT);
    checkError(clEnqueueReadBuffer(storing, z, CL_TRUE, 0, bytes, sums.get(), 0, NULL, NULL), "z");

    int wrong = 0;
    for (int i = 0; i < COUNT; i++)
        wrong += sums[i] != static_cast<float>(i) + 1;
    std::printf("%d sums in %.3f ms, %s\n", COUNT, seconds(stored) * 1e3,
                wrong ? "wrong" : "all right");
    clReleaseEvent(stored);
    for (cl_mem buffer : {x, y, z})
        clReleaseMemObject(buffer);
    for (cl_command_queue queue : {adding, storing})
        clReleaseCommandQueue(queue);
    for (cl_kernel kernel : {add, store})
        clReleaseKernel(kernel);
    clReleaseProgram(program);
    clReleaseContext(context);
    return wrong ? 1 : 0;
}
