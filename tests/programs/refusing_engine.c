/* SPDX-License-Identifier: Apache-2.0
 *
 * An engine that is another one, the driver that REFUSING_ENGINE names, but refuses each kernel of
 * so many as REFUSING_EACH says, once there is a file of the name in REFUSING_WHILE. */
#include <CL/cl.h>
#include <CL/cl_icd.h>

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static clEnqueueNDRangeKernel_fn enqueue;
static atomic_uint given;

static cl_int refuse(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                     const size_t *offset, const size_t *global, const size_t *local, cl_uint waits,
                     const cl_event *wait_list, cl_event *event)
{
    if (access(getenv("REFUSING_WHILE"), F_OK) == 0 &&
        ++given % (unsigned)atoi(getenv("REFUSING_EACH")) == 0)
        return CL_OUT_OF_RESOURCES;
    return enqueue(queue, kernel, dimensions, offset, global, local, waits, wait_list, event);
}

static void *engine;

/* With this library, so that the engine's calls of getenv() are those of an engine. */
__attribute__((constructor)) static void open_engine(void)
{
    engine = dlopen(getenv("REFUSING_ENGINE"), RTLD_NOW | RTLD_LOCAL);
}

cl_int clIcdGetPlatformIDsKHR(cl_uint room, cl_platform_id *platforms, cl_uint *count)
{
    void *(*look_up)(const char *) = NULL;
    cl_int (*get)(cl_uint, cl_platform_id *, cl_uint *) = NULL;
    void *found = engine != NULL ? dlsym(engine, "clGetExtensionFunctionAddress") : NULL;
    memcpy(&look_up, &found, sizeof look_up);
    found = look_up != NULL ? look_up("clIcdGetPlatformIDsKHR") : NULL;
    memcpy(&get, &found, sizeof get);
    if (get == NULL)
        return CL_INVALID_PLATFORM;
    cl_int status = get(room, platforms, count);
    if (status != CL_SUCCESS || platforms == NULL || enqueue != NULL)
        return status;
    struct _cl_icd_dispatch *table = *(struct _cl_icd_dispatch **)platforms[0];
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t begin = (uintptr_t)table & ~(page - 1);
    mprotect((void *)begin, (uintptr_t)(table + 1) - begin, PROT_READ | PROT_WRITE);
    enqueue = table->clEnqueueNDRangeKernel;
    table->clEnqueueNDRangeKernel = refuse;
    return status;
}
