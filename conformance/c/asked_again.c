/* SPDX-License-Identifier: Apache-2.0
 *
 * Asks each question several times, and again after what changes the answer: counts of references
 * and mappings, what a kernel's arguments change, and what another build changes. A driver may not
 * give an answer that it gave before. */
#include "host.h"

static const char source[] =
    "#ifdef SIZE\n__attribute__((reqd_work_group_size(SIZE, 1, 1)))\n#endif\n"
    "kernel void sum(global int *total, local int *part, int NAME)\n"
    "{\n    part[0] = NAME;\n    total[0] = part[0];\n}\n"
    "#ifdef SIZE\nkernel void nothing(global int *total) {}\n#endif\n";
enum { TIMES = 3, BYTES = 256 };

static cl_ulong local_size(cl_kernel kernel, cl_device_id device)
{
    cl_ulong size;
    MUST(clGetKernelWorkGroupInfo(kernel, device, CL_KERNEL_LOCAL_MEM_SIZE, sizeof size, &size,
                                  NULL));
    return size;
}

static size_t required_size(cl_kernel kernel, cl_device_id device)
{
    size_t size[3];
    MUST(clGetKernelWorkGroupInfo(kernel, device, CL_KERNEL_COMPILE_WORK_GROUP_SIZE, sizeof size,
                                  size, NULL));
    return size[0];
}

static void ask_about_kernel(struct host *host, cl_kernel kernel, size_t required, const char *name)
{
    char text[64];
    size_t length;
    cl_uint word;
    for (int i = 0; i < TIMES; i++) {
        must_be(required_size(kernel, host->device) == required &&
                    required_size(kernel, NULL) == required,
                "the required size is that of the last build");
        MUST(clGetKernelArgInfo(kernel, 2, CL_KERNEL_ARG_NAME, sizeof text, text, &length));
        must_be(strcmp(text, name) == 0 && length == strlen(name) + 1,
                "the argument has the name of the last build");
        MUST(clGetKernelArgInfo(kernel, 1, CL_KERNEL_ARG_NAME, sizeof text, text, NULL));
        must_be(strcmp(text, "part") == 0, "another argument has its own name");
        must_be(clGetKernelArgInfo(kernel, 2, CL_KERNEL_ARG_NAME, 1, text, NULL) ==
                    CL_INVALID_VALUE,
                "the memory is too small for the answer");
        must_be(clGetKernelArgInfo(kernel, 3, CL_KERNEL_ARG_NAME, sizeof text, text, NULL) ==
                    CL_INVALID_ARG_INDEX,
                "there is no fourth argument");
        must_be(clGetKernelInfo(kernel, CL_KERNEL_ARG_NAME, sizeof text, text, NULL) ==
                        CL_INVALID_VALUE &&
                    clGetKernelInfo(kernel, CL_KERNEL_COMPILE_WORK_GROUP_SIZE, sizeof text, text,
                                    NULL) == CL_INVALID_VALUE,
                "queries of other functions are none of clGetKernelInfo");
        MUST(clGetKernelInfo(kernel, CL_KERNEL_NUM_ARGS, sizeof word, &word, NULL));
        must_be(word == 3, "the kernel has three arguments");
    }
}

static void ask_about_local_memory(struct host *host, cl_kernel kernel)
{
    set_argument(kernel, 1, 16, NULL);
    cl_ulong size = local_size(kernel, host->device);
    for (int i = 1; i <= TIMES; i++) {
        set_argument(kernel, 1, 16 * (size_t)i, NULL);
        must_be(local_size(kernel, host->device) == size + 16 * (cl_ulong)(i - 1) &&
                    local_size(kernel, NULL) == size + 16 * (cl_ulong)(i - 1),
                "the local memory has the size of the last argument");
    }
}

static void ask_about_build(struct host *host, const char *options, size_t kernels)
{
    char text[128];
    size_t count;
    for (int i = 0; i < TIMES; i++) {
        MUST(clGetProgramBuildInfo(host->program, host->device, CL_PROGRAM_BUILD_OPTIONS,
                                   sizeof text, text, NULL));
        must_be(strcmp(text, options) == 0, "the options are those of the last build");
        MUST(clGetProgramInfo(host->program, CL_PROGRAM_NUM_KERNELS, sizeof count, &count, NULL));
        must_be(count == kernels, "the kernels are those of the last build");
        must_be(clGetProgramInfo(host->program, CL_PROGRAM_BUILD_OPTIONS, sizeof text, text,
                                 NULL) == CL_INVALID_VALUE,
                "queries of clGetProgramBuildInfo are none of clGetProgramInfo");
    }
}

static void must_not_build(struct host *host)
{
    cl_build_status status;
    must_be(clBuildProgram(host->program, 1, &host->device, "-D NAME=1.2.3", NULL, NULL) !=
                CL_SUCCESS,
            "the program does not build");
    for (int i = 0; i < TIMES; i++) {
        MUST(clGetProgramBuildInfo(host->program, host->device, CL_PROGRAM_BUILD_STATUS,
                                   sizeof status, &status, NULL));
        must_be(status == CL_BUILD_ERROR, "the status is that of the last build");
    }
}

/* Builds the program anew each time, without its kernels. */
static void ask_about_builds(struct host *host)
{
    static const struct {
        const char *options, *name;
        size_t required, kernels;
    } builds[] = {{"-cl-kernel-arg-info -D NAME=first", "first", 0, 1},
                  {"-cl-kernel-arg-info -D NAME=other -D SIZE=4", "other", 4, 2},
                  {"-cl-kernel-arg-info -D NAME=third -D SIZE=8", "third", 8, 2}};
    host->program = new_source(host, source);
    for (size_t i = 0; i < sizeof builds / sizeof builds[0]; i++) {
        MUST(clBuildProgram(host->program, 1, &host->device, builds[i].options, NULL, NULL));
        cl_kernel kernel = new_kernel(host, "sum");
        ask_about_kernel(host, kernel, builds[i].required, builds[i].name);
        ask_about_local_memory(host, kernel);
        ask_about_build(host, builds[i].options, builds[i].kernels);
        MUST(clReleaseKernel(kernel));
    }
    must_not_build(host);
}

static cl_uint references_of(cl_mem buffer)
{
    cl_uint count;
    MUST(clGetMemObjectInfo(buffer, CL_MEM_REFERENCE_COUNT, sizeof count, &count, NULL));
    return count;
}

static void must_be_mapped(cl_mem buffer, cl_uint times)
{
    cl_uint count;
    for (int i = 0; i < TIMES; i++) {
        MUST(clGetMemObjectInfo(buffer, CL_MEM_MAP_COUNT, sizeof count, &count, NULL));
        must_be(count == times, "the buffer has so many mappings");
    }
}

static void *map(struct host *host, cl_mem buffer, cl_uint waits, const cl_event *wait_list)
{
    cl_int status;
    void *mapped = clEnqueueMapBuffer(host->queue, buffer, waits == 0, CL_MAP_READ, 0, BYTES, waits,
                                      wait_list, NULL, &status);
    must(status, "clEnqueueMapBuffer");
    return mapped;
}

static void ask_about_counts(struct host *host)
{
    cl_mem buffer = new_buffer(host, BYTES);
    fill(host->queue, buffer, 0, BYTES);
    MUST(clFinish(host->queue));
    for (cl_uint i = 1; i <= TIMES; i++) {
        must_be(references_of(buffer) == 1, "the host has one reference");
        MUST(clRetainMemObject(buffer));
        must_be(references_of(buffer) == 2, "the host has two references");
        MUST(clReleaseMemObject(buffer));
    }
    cl_event first = user_event(host);
    void *mapped[] = {map(host, buffer, 0, NULL), map(host, buffer, 0, NULL),
                      map(host, buffer, 1, &first)};
    must_be_mapped(buffer, 3);
    MUST(clSetUserEventStatus(first, CL_COMPLETE));
    for (cl_uint i = 0; i < 3; i++) {
        MUST(clEnqueueUnmapMemObject(host->queue, buffer, mapped[i], 0, NULL, NULL));
        MUST(clFinish(host->queue));
        must_be_mapped(buffer, 2 - i);
    }
    MUST(clReleaseEvent(first));
    MUST(clReleaseMemObject(buffer));
}

int main(void)
{
    struct host host;
    find_context(&host);
    host.queue = new_queue(&host);
    ask_about_builds(&host);
    ask_about_counts(&host);
    stop(&host);
    puts("right");
    return 0;
}
