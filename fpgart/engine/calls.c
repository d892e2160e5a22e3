/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls into the OpenCL driver that executes kernels, through the dispatch table its objects carry.
 */
#define _GNU_SOURCE
#include "calls.h"
#include "redirect.h"
#include "signals.h"
#include "stacks.h"

#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <CL/cl_icd.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { WATCH_NS = 100000 };

#define ENTRY(name) {#name, offsetof(struct _cl_icd_dispatch, name)}
static const struct {
    const char *name;
    size_t offset;
} entries[] = {
    ENTRY(clGetPlatformInfo),
    ENTRY(clGetDeviceIDs),
    ENTRY(clGetDeviceInfo),
    ENTRY(clCreateContext),
    ENTRY(clReleaseContext),
    ENTRY(clCreateCommandQueue),
    ENTRY(clReleaseCommandQueue),
    ENTRY(clCreateProgramWithSource),
    ENTRY(clCreateProgramWithBinary),
    ENTRY(clCreateProgramWithIL),
    ENTRY(clSetProgramSpecializationConstant),
    ENTRY(clReleaseProgram),
    ENTRY(clBuildProgram),
    ENTRY(clCompileProgram),
    ENTRY(clLinkProgram),
    ENTRY(clGetProgramInfo),
    ENTRY(clGetProgramBuildInfo),
    ENTRY(clCreateKernel),
    ENTRY(clReleaseKernel),
    ENTRY(clSetKernelArg),
    ENTRY(clGetKernelInfo),
    ENTRY(clGetKernelArgInfo),
    ENTRY(clGetKernelWorkGroupInfo),
    ENTRY(clGetKernelSubGroupInfo),
    ENTRY(clSetKernelExecInfo),
    ENTRY(clFinish),
    ENTRY(clWaitForEvents),
    ENTRY(clGetEventInfo),
    ENTRY(clReleaseEvent),
    ENTRY(clCreateBuffer),
    ENTRY(clCreateSubBuffer),
    ENTRY(clReleaseMemObject),
    ENTRY(clEnqueueCopyBuffer),
    ENTRY(clEnqueueReadBuffer),
    ENTRY(clEnqueueWriteBuffer),
    ENTRY(clEnqueueMapBuffer),
    ENTRY(clEnqueueUnmapMemObject),
};

uintptr_t driver_open(const char *path, char *words, size_t words_size)
{
    void *library = redirect_open(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        const char *reason = dlerror();
        snprintf(words, words_size, "%s", reason != NULL ? reason : "dlopen failed");
    }
    return (uintptr_t)library;
}

int driver_is_open(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
    if (library != NULL)
        dlclose(library);
    return library != NULL;
}

int32_t driver_platforms(uintptr_t library, uint32_t count, uintptr_t *platforms, uint32_t *found)
{
    clIcdGetPlatformIDsKHR_fn get = NULL;
    void *symbol = dlsym((void *)library, "clIcdGetPlatformIDsKHR");
    if (symbol == NULL) {
        void *(*lookup)(const char *) = NULL;
        void *address = dlsym((void *)library, "clGetExtensionFunctionAddress");
        memcpy(&lookup, &address, sizeof lookup);
        if (lookup != NULL)
            symbol = lookup("clIcdGetPlatformIDsKHR");
    }
    memcpy(&get, &symbol, sizeof get);
    if (get == NULL)
        return CL_INVALID_PLATFORM;
    return get(count, (cl_platform_id *)platforms, found);
}

uintptr_t driver_function(uintptr_t object, const char *name)
{
    const char *table = (const char *)driver_of((const void *)object);
    uintptr_t address = 0;
    for (size_t i = 0; i < sizeof entries / sizeof entries[0]; i++)
        if (strcmp(entries[i].name, name) == 0)
            memcpy(&address, table + entries[i].offset, sizeof address);
    return address;
}

uintptr_t driver_extension_function(uintptr_t platform, const char *name)
{
    const struct _cl_icd_dispatch *driver = driver_of((const void *)platform);
    return (uintptr_t)driver->clGetExtensionFunctionAddressForPlatform((cl_platform_id)platform,
                                                                       name);
}

/* For the thread that links; a driver that calls back later, or on another thread, finds none. */
static __thread struct {
    cl_device_id device;
    char *log; /* NULL: not wanted */
    size_t room;
} link_that_fails;

static void CL_CALLBACK keep_log(cl_program program, void *unused)
{
    const struct _cl_icd_dispatch *driver = driver_of(program);
    (void)unused;
    if (link_that_fails.log != NULL)
        driver->clGetProgramBuildInfo(program, link_that_fails.device, CL_PROGRAM_BUILD_LOG,
                                      link_that_fails.room, link_that_fails.log, NULL);
}

void driver_link_log(uintptr_t context, uintptr_t device, const char *options, uint32_t count,
                     const uintptr_t *programs, char *log, size_t room)
{
    const struct _cl_icd_dispatch *driver = driver_of((const void *)context);
    const cl_device_id devices[] = {(cl_device_id)device};
    cl_int status;
    link_that_fails.device = devices[0];
    link_that_fails.log = log;
    link_that_fails.room = room;
    cl_program made = driver->clLinkProgram((cl_context)context, 1, devices, options, count,
                                            (const cl_program *)programs, keep_log, NULL, &status);
    link_that_fails.log = NULL;
    if (made != NULL)
        driver->clReleaseProgram(made);
}

static pthread_mutex_t arguments_lock = PTHREAD_MUTEX_INITIALIZER;

int32_t driver_try_argument(uintptr_t kernel, uint32_t index, size_t size, const char *value)
{
    const struct _cl_icd_dispatch *driver = driver_of((const void *)kernel);
    pthread_mutex_lock(&arguments_lock);
    cl_int status = driver->clSetKernelArg((cl_kernel)kernel, index, size, value);
    pthread_mutex_unlock(&arguments_lock);
    return status;
}

static cl_int set_argument(const struct _cl_icd_dispatch *driver, cl_kernel kernel, cl_uint index,
                           const struct argument *argument, const char *image)
{
    switch (argument->kind) {
    case ARGUMENT_POINTER:
        return driver->clSetKernelArgSVMPointer(kernel, index,
                                                (const void *)(uintptr_t)argument->value);
    case ARGUMENT_LOCAL:
        return driver->clSetKernelArg(kernel, index, argument->size, NULL);
    case ARGUMENT_NULL:
        return driver->clSetKernelArg(kernel, index, sizeof(cl_mem), NULL);
    default:
        return driver->clSetKernelArg(kernel, index, argument->size, image + argument->value);
    }
}

static int64_t outcome(int32_t place, cl_int status)
{
    return (int64_t)((uint64_t)(uint32_t)place << 32 | (uint32_t)status);
}

/* Sets all arguments and enqueues. `event`: NULL, or the place for its event. */
static int64_t enqueue(const struct driver_launch *this, cl_uint waits, const cl_event *after,
                       cl_event *event)
{
    const struct _cl_icd_dispatch *driver = driver_of((const void *)this->queue);
    const struct argument *argument = (const struct argument *)this->image;
    cl_kernel kernel = (cl_kernel)this->kernel;
    size_t size[9];
    memcpy(size, this->sizes, sizeof size);
    for (cl_uint i = 0; i < this->arguments; i++) {
        cl_int status = set_argument(driver, kernel, i, &argument[i], this->image);
        if (status != CL_SUCCESS)
            return outcome((int32_t)i, status);
    }
    return outcome(-1, driver->clEnqueueNDRangeKernel(
                           (cl_command_queue)this->queue, kernel, this->dimensions, size, size + 3,
                           this->has_local ? size + 6 : NULL, waits, after, event));
}

int64_t driver_enqueue(uintptr_t queue, uintptr_t kernel, uint32_t arguments, const char *image,
                       uint32_t dimensions, const char *sizes, int has_local, uint32_t waits,
                       const uintptr_t *after, uintptr_t *event)
{
    const struct driver_launch this = {queue, kernel, arguments, dimensions,
                                       image, sizes,  has_local};
    pthread_mutex_lock(&arguments_lock);
    int64_t result = enqueue(&this, waits, (const cl_event *)after, (cl_event *)event);
    pthread_mutex_unlock(&arguments_lock);
    return result;
}

static int succeeded(int64_t result)
{
    return (uint32_t)result == CL_SUCCESS;
}

static int64_t launch(const struct driver_launch *this, pthread_mutex_t *lock, cl_event *event)
{
    const struct _cl_icd_dispatch *driver = driver_of((const void *)this->queue);
    signals_kernel_begins();
    if (lock != NULL)
        pthread_mutex_lock(lock);
    int64_t result = enqueue(this, 0, NULL, event);
    if (lock != NULL)
        pthread_mutex_unlock(lock);
    if (succeeded(result))
        result = outcome(-2, driver->clFinish((cl_command_queue)this->queue));
    signals_kernel_ends();
    return result;
}

int32_t driver_event_status(void *event)
{
    cl_int found = CL_QUEUED;
    cl_int failed = driver_of(event)->clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS,
                                                     sizeof found, &found, NULL);
    return failed != CL_SUCCESS ? failed : found;
}

/* Kernels of Intel's emulator that wait for a packet occupy a processor. If there are fewer
 * processors than such kernels, the next one runs when a time slice ends, or when another thread
 * wakes up, which this thread does. */
static void poll_event(cl_event event)
{
    const struct timespec pause = {0, WATCH_NS};
    while (driver_event_status(event) > CL_COMPLETE)
        nanosleep(&pause, NULL);
}

int64_t driver_launch_by_event(uintptr_t queue, uintptr_t kernel, uint32_t arguments,
                               const char *image, uint32_t dimensions, const char *sizes,
                               int has_local, int polls)
{
    const struct _cl_icd_dispatch *driver = driver_of((const void *)queue);
    cl_event event = NULL;
    signals_kernel_begins();
    int64_t result = driver_enqueue(queue, kernel, arguments, image, dimensions, sizes, has_local,
                                    0, NULL, (uintptr_t *)&event);
    if (succeeded(result)) {
        if (polls) {
            driver->clFlush((cl_command_queue)queue);
            poll_event(event);
        }
        cl_int failed = driver->clWaitForEvents(1, &event), status = driver_event_status(event);
        if (status > CL_COMPLETE) /* it could not be waited for */
            status = failed != CL_SUCCESS ? failed : CL_OUT_OF_RESOURCES;
        driver->clReleaseEvent(event);
        result = outcome(-2, status);
    }
    signals_kernel_ends();
    return result;
}

static cl_ulong profiled(cl_event event, cl_profiling_info moment)
{
    const struct _cl_icd_dispatch *driver = driver_of(event);
    cl_ulong at = 0;
    if (driver->clGetEventProfilingInfo(event, moment, sizeof at, &at, NULL) != CL_SUCCESS)
        return 0;
    return at;
}

int64_t driver_launch(uintptr_t queue, uintptr_t kernel, uint32_t arguments, const char *image,
                      uint32_t dimensions, const char *sizes, int has_local, uint64_t *before)
{
    const struct driver_launch this = {queue, kernel, arguments, dimensions,
                                       image, sizes,  has_local};
    cl_event event = NULL;
    int64_t result = launch(&this, &arguments_lock, before != NULL ? &event : NULL);
    if (before != NULL)
        *before = 0;
    if (event == NULL)
        return result;
    cl_ulong enqueued = profiled(event, CL_PROFILING_COMMAND_QUEUED);
    cl_ulong began = profiled(event, CL_PROFILING_COMMAND_START);
    if (succeeded(result) && enqueued != 0 && began > enqueued)
        *before = began - enqueued;
    driver_of(event)->clReleaseEvent(event);
    return result;
}

int64_t driver_launch_here(const void *given)
{
    return launch(given, NULL, NULL);
}

int64_t driver_launch_alone(uintptr_t queue, uintptr_t kernel, uint32_t arguments,
                            const char *image, uint32_t dimensions, const char *sizes,
                            int has_local)
{
    const struct driver_launch this = {queue, kernel, arguments, dimensions,
                                       image, sizes,  has_local};
    return on_wide_stack(driver_launch_here, &this);
}
