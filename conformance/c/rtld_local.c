/* SPDX-License-Identifier: Apache-2.0
 *
 * Does what an ICD loader does: opens the driver with RTLD_LOCAL, asks clIcdGetPlatformIDsKHR, and
 * calls everything through the dispatch table that each object starts with.
 *
 *     rtld_local DRIVER.so */
#include "host.h"

#include <CL/cl_icd.h>
#include <dlfcn.h>

static const char *const source =
    "kernel void add(global int *data, int amount) { data[get_global_id(0)] += amount; }\n";

static const struct _cl_icd_dispatch *table_of(const void *object)
{
    const struct _cl_icd_dispatch *table;
    memcpy(&table, object, sizeof table);
    return table;
}

static void *entry(void *library, const char *name)
{
    void *symbol = dlsym(library, name);
    void *(*extension)(const char *) = NULL;
    if (symbol != NULL)
        return symbol;
    symbol = dlsym(library, "clGetExtensionFunctionAddress");
    must_be(symbol != NULL, "the driver has clGetExtensionFunctionAddress");
    memcpy(&extension, &symbol, sizeof symbol);
    return extension(name);
}

int main(int count, char **arguments)
{
    cl_int (*get_platforms)(cl_uint, cl_platform_id *, cl_uint *) = NULL;
    cl_platform_id platform;
    cl_device_id device;
    cl_int status, amount = 5, back[64];
    cl_uint platforms = 0;
    char text[4096];
    size_t size = 64;
    must_be(count == 2, "the driver is named");
    void *library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
        fprintf(stderr, "%s\n", dlerror());
    must_be(library != NULL, "the driver can be opened");
    void *symbol = entry(library, "clIcdGetPlatformIDsKHR");
    must_be(symbol != NULL, "the driver has clIcdGetPlatformIDsKHR");
    memcpy(&get_platforms, &symbol, sizeof symbol);
    must(get_platforms(0, NULL, &platforms), "clIcdGetPlatformIDsKHR");
    must_be(platforms > 0, "there is a platform");
    must(get_platforms(1, &platform, NULL), "clIcdGetPlatformIDsKHR");
    const struct _cl_icd_dispatch *api = table_of(platform);
    must(api->clGetPlatformInfo(platform, CL_PLATFORM_EXTENSIONS, sizeof text, text, NULL),
         "CL_PLATFORM_EXTENSIONS");
    must_be(strstr(text, "cl_khr_icd") != NULL, "the platform says cl_khr_icd");
    must_be(strstr(text, "cl_khr_icd_unloadable") == NULL, "the library must not be unloaded");
    must(api->clGetPlatformInfo(platform, 0x0920, sizeof text, text, NULL),
         "CL_PLATFORM_ICD_SUFFIX_KHR");
    must_be(text[0] != '\0', "the platform has a suffix");
    must(api->clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs");
    cl_context context = table_of(device)->clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    must(status, "clCreateContext");
    cl_command_queue queue =
        table_of(context)->clCreateCommandQueueWithProperties(context, device, NULL, &status);
    must(status, "clCreateCommandQueueWithProperties");
    cl_mem buffer =
        table_of(context)->clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof back, NULL, &status);
    must(status, "clCreateBuffer");
    cl_program program = table_of(context)->clCreateProgramWithSource(
        context, 1, (const char **)&source, NULL, &status);
    must(status, "clCreateProgramWithSource");
    must(table_of(program)->clBuildProgram(program, 1, &device, "", NULL, NULL), "clBuildProgram");
    cl_kernel kernel = table_of(program)->clCreateKernel(program, "add", &status);
    must(status, "clCreateKernel");
    must(table_of(queue)->clEnqueueFillBuffer(queue, buffer, &amount, sizeof amount, 0, sizeof back,
                                              0, NULL, NULL),
         "clEnqueueFillBuffer");
    must(table_of(kernel)->clSetKernelArg(kernel, 0, sizeof buffer, &buffer), "clSetKernelArg");
    must(table_of(kernel)->clSetKernelArg(kernel, 1, sizeof amount, &amount), "clSetKernelArg");
    cl_event event;
    must(table_of(queue)->clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &size, NULL, 0, NULL,
                                                 &event),
         "clEnqueueNDRangeKernel");
    must(table_of(event)->clWaitForEvents(1, &event), "clWaitForEvents");
    must(table_of(queue)->clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof back, back, 0, NULL,
                                              NULL),
         "clEnqueueReadBuffer");
    must_be(back[0] == 10 && back[63] == 10, "5 + 5 is 10");
    must(table_of(event)->clReleaseEvent(event), "clReleaseEvent");
    must(table_of(kernel)->clReleaseKernel(kernel), "clReleaseKernel");
    must(table_of(program)->clReleaseProgram(program), "clReleaseProgram");
    must(table_of(buffer)->clReleaseMemObject(buffer), "clReleaseMemObject");
    must(table_of(queue)->clReleaseCommandQueue(queue), "clReleaseCommandQueue");
    must(table_of(context)->clReleaseContext(context), "clReleaseContext");
    puts("right");
    return 0;
}
