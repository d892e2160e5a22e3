/* SPDX-License-Identifier: Apache-2.0
 *
 * The C host that `fpgart doctor` runs. It opens a library (a loader, or the driver itself),
 * runs a kernel on the first device, and prints lines `word: value` about the loader, platform
 * and device. It is linked without OpenCL, so that it starts where there is none. */
#define _GNU_SOURCE
#include <CL/cl.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT 64

static void *library;

static void fail(const char *what, int status)
{
    printf("failed: %s returned %d\n", what, status);
    exit(1);
}

static void *function(const char *name)
{
    void *found = dlsym(library, name);
    if (found == NULL) {
        printf("failed: %s\n", dlerror());
        exit(1);
    }
    return found;
}

#define CALL(name) ((__typeof__(&name))function(#name))
#define CHECK(status, what)                                                                        \
    do {                                                                                           \
        int checked = (status);                                                                    \
        if (checked != CL_SUCCESS)                                                                 \
            fail(what, checked);                                                                   \
    } while (0)

static void tell_file(const char *word, const void *address)
{
    Dl_info info;
    if (address != NULL && dladdr(address, &info) != 0)
        printf("%s: %s\n", word, info.dli_fname);
}

/* ocl-icd and newer loaders of Khronos have functions for their name and version. */
static void tell_loader(void)
{
    static const cl_uint name = 3, version = 2; /* CL_ICDL_NAME, CL_ICDL_VERSION */
    char called[256] = "", numbered[256] = "";
    void *found = dlsym(library, "clGetICDLoaderInfoOCLICD");
    cl_int (*info)(cl_uint, size_t, void *, size_t *);
    if (found == NULL)
        found = CALL(clGetExtensionFunctionAddress)("clGetICDLoaderInfoOCLICD");
    memcpy(&info, &found, sizeof info);
    if (found != NULL && info(name, sizeof called, called, NULL) == CL_SUCCESS &&
        info(version, sizeof numbered, numbered, NULL) == CL_SUCCESS)
        printf("loader: %s %s\n", called, numbered);
}

static void tell_device(cl_device_id device)
{
    char text[256] = "";
    CHECK(CALL(clGetDeviceInfo)(device, CL_DEVICE_NAME, sizeof text, text, NULL),
          "clGetDeviceInfo");
    printf("device: %s\n", text);
}

static void run_kernel(cl_device_id device)
{
    const char *source = "__kernel void triple(__global int *a) { a[get_global_id(0)] *= 3; }";
    cl_int status, data[COUNT];
    size_t items = COUNT;
    for (int i = 0; i < COUNT; i++)
        data[i] = i;
    cl_context context = CALL(clCreateContext)(NULL, 1, &device, NULL, NULL, &status);
    CHECK(status, "clCreateContext");
    cl_command_queue queue =
        CALL(clCreateCommandQueueWithProperties)(context, device, NULL, &status);
    CHECK(status, "clCreateCommandQueueWithProperties");
    cl_program program = CALL(clCreateProgramWithSource)(context, 1, &source, NULL, &status);
    CHECK(status, "clCreateProgramWithSource");
    CHECK(CALL(clBuildProgram)(program, 0, NULL, NULL, NULL, NULL), "clBuildProgram");
    cl_kernel kernel = CALL(clCreateKernel)(program, "triple", &status);
    CHECK(status, "clCreateKernel");
    cl_mem buffer = CALL(clCreateBuffer)(context, CL_MEM_COPY_HOST_PTR, sizeof data, data, &status);
    CHECK(status, "clCreateBuffer");
    CHECK(CALL(clSetKernelArg)(kernel, 0, sizeof buffer, &buffer), "clSetKernelArg");
    CHECK(CALL(clEnqueueNDRangeKernel)(queue, kernel, 1, NULL, &items, NULL, 0, NULL, NULL),
          "clEnqueueNDRangeKernel");
    CHECK(CALL(clEnqueueReadBuffer)(queue, buffer, CL_TRUE, 0, sizeof data, data, 0, NULL, NULL),
          "clEnqueueReadBuffer");
    for (int i = 0; i < COUNT; i++)
        if (data[i] != 3 * i) {
            printf("failed: the kernel ran, but element %d is %d instead of %d\n", i, data[i],
                   3 * i);
            exit(1);
        }
    CHECK(CALL(clReleaseMemObject)(buffer), "clReleaseMemObject");
    CHECK(CALL(clReleaseKernel)(kernel), "clReleaseKernel");
    CHECK(CALL(clReleaseProgram)(program), "clReleaseProgram");
    CHECK(CALL(clReleaseCommandQueue)(queue), "clReleaseCommandQueue");
    CHECK(CALL(clReleaseContext)(context), "clReleaseContext");
    printf("ran: %d work-items\n", COUNT);
}

int main(int count, char **words)
{
    cl_platform_id platform;
    cl_device_id device;
    library = dlopen(count > 1 ? words[1] : "libOpenCL.so.1", RTLD_NOW);
    if (library == NULL) {
        printf("failed: %s\n", dlerror());
        return 1;
    }
    tell_file("library", function("clGetPlatformIDs"));
    tell_loader();
    CHECK(CALL(clGetPlatformIDs)(1, &platform, NULL), "clGetPlatformIDs");
    CHECK(CALL(clGetDeviceIDs)(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs");
    tell_device(device);
    run_kernel(device);
    tell_file("libpython", dlsym(RTLD_DEFAULT, "Py_GetVersion"));
    return 0;
}
