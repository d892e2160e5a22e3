// SPDX-License-Identifier: Apache-2.0
//
// A C++ host with CL/opencl.hpp and exceptions: vector addition through a functor, a sub-buffer, a
// mapping, an event callback, and a build that must throw with its log.
#define CL_HPP_ENABLE_EXCEPTIONS
#define CL_HPP_TARGET_OPENCL_VERSION 300
#define CL_HPP_MINIMUM_OPENCL_VERSION 200
#include <CL/opencl.hpp>

#include <atomic>
#include <iostream>
#include <numeric>
#include <string>
#include <vector>

namespace
{

const std::string source = R"(
kernel void add(global const float *a, global const float *b, global float *c)
{
    size_t i = get_global_id(0);
    c[i] = a[i] + b[i];
}
)";

std::atomic<int> completed{0};

void CL_CALLBACK on_complete(cl_event, cl_int status, void *)
{
    if (status == CL_COMPLETE)
        completed++;
}

bool adds(const cl::Context &context, cl::CommandQueue &queue, const cl::Program &program)
{
    const std::size_t length = 4096;
    std::vector<float> a(length), b(length), c(length);
    std::iota(a.begin(), a.end(), 0.0f);
    std::iota(b.begin(), b.end(), 1.0f);
    cl::Buffer in_a(context, a.begin(), a.end(), true), in_b(context, b.begin(), b.end(), true);
    cl::Buffer out(context, CL_MEM_WRITE_ONLY, length * sizeof(float));
    cl::KernelFunctor<cl::Buffer, cl::Buffer, cl::Buffer> add(program, "add");
    cl::Event event =
        add(cl::EnqueueArgs(queue, cl::NDRange(length), cl::NDRange(64)), in_a, in_b, out);
    event.setCallback(CL_COMPLETE, on_complete);
    queue.enqueueReadBuffer(out, CL_TRUE, 0, length * sizeof(float), c.data());
    for (std::size_t i = 0; i < length; i++)
        if (c[i] != a[i] + b[i])
            return false;
    return event.getInfo<CL_EVENT_COMMAND_EXECUTION_STATUS>() == CL_COMPLETE;
}

bool maps(const cl::Context &context, cl::CommandQueue &queue, const cl::Device &device)
{
    const std::size_t align = device.getInfo<CL_DEVICE_MEM_BASE_ADDR_ALIGN>() / 8;
    cl::Buffer parent(context, CL_MEM_READ_WRITE, 4 * align);
    cl_buffer_region region = {align, align};
    cl::Buffer part =
        parent.createSubBuffer(CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region);
    queue.enqueueFillBuffer<cl_uchar>(parent, 1, 0, 4 * align);
    auto *bytes =
        static_cast<cl_uchar *>(queue.enqueueMapBuffer(part, CL_TRUE, CL_MAP_WRITE, 0, align));
    for (std::size_t i = 0; i < align; i++)
        bytes[i] = 2;
    queue.enqueueUnmapMemObject(part, bytes);
    std::vector<cl_uchar> all(4 * align);
    queue.enqueueReadBuffer(parent, CL_TRUE, 0, all.size(), all.data());
    return std::accumulate(all.begin(), all.end(), std::size_t{0}) == 5 * align;
}

bool throws(const cl::Context &context)
{
    try {
        cl::Program(context, "kernel void broken() { nowhere(); ", true);
    } catch (const cl::BuildError &error) {
        return error.err() == CL_BUILD_PROGRAM_FAILURE && !error.getBuildLog().empty() &&
               !error.getBuildLog()[0].second.empty();
    }
    return false;
}

} // namespace

int main()
{
    try {
        std::vector<cl::Platform> platforms;
        cl::Platform::get(&platforms);
        std::vector<cl::Device> devices;
        platforms.at(0).getDevices(CL_DEVICE_TYPE_ALL, &devices);
        const cl::Device &device = devices.at(0);
        cl::Context context(device);
        cl::CommandQueue queue(context, device);
        cl::Program program(context, source, true);
        std::cout << device.getInfo<CL_DEVICE_NAME>() << '\n';
        if (!adds(context, queue, program) || !maps(context, queue, device) || !throws(context)) {
            std::cerr << "wrong\n";
            return 1;
        }
        bool refused = false;
        try {
            cl::Kernel missing(program, "missing");
        } catch (const cl::Error &error) {
            refused = error.err() == CL_INVALID_KERNEL_NAME;
        }
        queue.finish();
        std::cout << (refused ? "right\n" : "a missing kernel was found\n");
        return refused ? 0 : 1;
    } catch (const cl::Error &error) {
        std::cerr << error.what() << ": " << error.err() << '\n';
        return 1;
    }
}
