/* SPDX-License-Identifier: Apache-2.0
 *
 * An engine that is another one, the driver that WRAPPED_ENGINE names, but counts the calls of its
 * functions, and one of them fails (failing_engine.h). A call that releases an object does so all
 * the same, and one that waits has waited: what they leave is known. All others do nothing. */
#include "failing_engine.h"

#include <CL/cl_icd.h>

#include <stdio.h>

static struct calls *calls;
static struct _cl_icd_dispatch real; /* the table of the other engine, as it was */

static int fails(const char *name)
{
    if (atomic_fetch_add(&calls->made, 1) + 1 != atomic_load(&calls->failing))
        return 0;
    snprintf(calls->name, sizeof calls->name, "%s", name);
    return 1;
}

#define REFUSED (fails("clIcdGetPlatformIDsKHR") ? calls->status : CL_SUCCESS)
#include "wrapped_engine.h"

static void made(int kind, const void *object)
{
    if (object != NULL)
        atomic_fetch_add(&calls->live[kind], 1);
}

/* name, parameters, arguments */
#define ASKING(USE)                                                                                \
    USE(clGetPlatformInfo, (cl_platform_id a, cl_platform_info b, size_t c, void *d, size_t *e),   \
        (a, b, c, d, e))                                                                           \
    USE(clGetDeviceIDs,                                                                            \
        (cl_platform_id a, cl_device_type b, cl_uint c, cl_device_id * d, cl_uint * e),            \
        (a, b, c, d, e))                                                                           \
    USE(clGetDeviceInfo, (cl_device_id a, cl_device_info b, size_t c, void *d, size_t *e),         \
        (a, b, c, d, e))                                                                           \
    USE(clGetProgramInfo, (cl_program a, cl_program_info b, size_t c, void *d, size_t *e),         \
        (a, b, c, d, e))                                                                           \
    USE(clGetProgramBuildInfo,                                                                     \
        (cl_program a, cl_device_id b, cl_program_build_info c, size_t d, void *e, size_t *f),     \
        (a, b, c, d, e, f))                                                                        \
    USE(clGetKernelInfo, (cl_kernel a, cl_kernel_info b, size_t c, void *d, size_t *e),            \
        (a, b, c, d, e))                                                                           \
    USE(clGetKernelArgInfo,                                                                        \
        (cl_kernel a, cl_uint b, cl_kernel_arg_info c, size_t d, void *e, size_t *f),              \
        (a, b, c, d, e, f))                                                                        \
    USE(clGetKernelWorkGroupInfo,                                                                  \
        (cl_kernel a, cl_device_id b, cl_kernel_work_group_info c, size_t d, void *e, size_t *f),  \
        (a, b, c, d, e, f))                                                                        \
    USE(clGetKernelSubGroupInfo,                                                                   \
        (cl_kernel a, cl_device_id b, cl_kernel_sub_group_info c, size_t d, const void *e,         \
         size_t f, void *g, size_t *h),                                                            \
        (a, b, c, d, e, f, g, h))                                                                  \
    USE(clGetEventInfo, (cl_event a, cl_event_info b, size_t c, void *d, size_t *e),               \
        (a, b, c, d, e))

#define DOING(USE)                                                                                 \
    USE(clSetKernelArg, (cl_kernel a, cl_uint b, size_t c, const void *d), (a, b, c, d))           \
    USE(clSetKernelArgSVMPointer, (cl_kernel a, cl_uint b, const void *c), (a, b, c))              \
    USE(clSetKernelExecInfo, (cl_kernel a, cl_kernel_exec_info b, size_t c, const void *d),        \
        (a, b, c, d))                                                                              \
    USE(clSetProgramSpecializationConstant, (cl_program a, cl_uint b, size_t c, const void *d),    \
        (a, b, c, d))                                                                              \
    USE(clBuildProgram,                                                                            \
        (cl_program a, cl_uint b, const cl_device_id *c, const char *d,                            \
         void(CL_CALLBACK * e)(cl_program, void *), void *f),                                      \
        (a, b, c, d, e, f))                                                                        \
    USE(clCompileProgram,                                                                          \
        (cl_program a, cl_uint b, const cl_device_id *c, const char *d, cl_uint e,                 \
         const cl_program *f, const char **g, void(CL_CALLBACK * h)(cl_program, void *), void *i), \
        (a, b, c, d, e, f, g, h, i))                                                               \
    USE(clEnqueueReadBuffer,                                                                       \
        (cl_command_queue a, cl_mem b, cl_bool c, size_t d, size_t e, void *f, cl_uint g,          \
         const cl_event *h, cl_event *i),                                                          \
        (a, b, c, d, e, f, g, h, i))                                                               \
    USE(clEnqueueWriteBuffer,                                                                      \
        (cl_command_queue a, cl_mem b, cl_bool c, size_t d, size_t e, const void *f, cl_uint g,    \
         const cl_event *h, cl_event *i),                                                          \
        (a, b, c, d, e, f, g, h, i))                                                               \
    USE(clEnqueueCopyBuffer,                                                                       \
        (cl_command_queue a, cl_mem b, cl_mem c, size_t d, size_t e, size_t f, cl_uint g,          \
         const cl_event *h, cl_event *i),                                                          \
        (a, b, c, d, e, f, g, h, i))                                                               \
    USE(clEnqueueUnmapMemObject,                                                                   \
        (cl_command_queue a, cl_mem b, void *c, cl_uint d, const cl_event *e, cl_event *f),        \
        (a, b, c, d, e, f))

#define WAITING(USE)                                                                               \
    USE(clFinish, (cl_command_queue a), (a))                                                       \
    USE(clWaitForEvents, (cl_uint a, const cl_event *b), (a, b))

/* type, its kind, name, parameters, arguments */
#define MAKING(USE)                                                                                \
    USE(cl_context, CONTEXTS, clCreateContext,                                                     \
        (const cl_context_properties *a, cl_uint b, const cl_device_id *c,                         \
         void(CL_CALLBACK * d)(const char *, const void *, size_t, void *), void *e,               \
         cl_int *status),                                                                          \
        (a, b, c, d, e, status))                                                                   \
    USE(cl_command_queue, QUEUES, clCreateCommandQueue,                                            \
        (cl_context a, cl_device_id b, cl_command_queue_properties c, cl_int * status),            \
        (a, b, c, status))                                                                         \
    USE(cl_mem, BUFFERS, clCreateBuffer,                                                           \
        (cl_context a, cl_mem_flags b, size_t c, void *d, cl_int *status), (a, b, c, d, status))   \
    USE(cl_mem, BUFFERS, clCreateSubBuffer,                                                        \
        (cl_mem a, cl_mem_flags b, cl_buffer_create_type c, const void *d, cl_int *status),        \
        (a, b, c, d, status))                                                                      \
    USE(cl_program, PROGRAMS, clCreateProgramWithSource,                                           \
        (cl_context a, cl_uint b, const char **c, const size_t *d, cl_int *status),                \
        (a, b, c, d, status))                                                                      \
    USE(cl_program, PROGRAMS, clCreateProgramWithBinary,                                           \
        (cl_context a, cl_uint b, const cl_device_id *c, const size_t *d, const unsigned char **e, \
         cl_int *f, cl_int *status),                                                               \
        (a, b, c, d, e, f, status))                                                                \
    USE(cl_program, PROGRAMS, clCreateProgramWithIL,                                               \
        (cl_context a, const void *b, size_t c, cl_int *status), (a, b, c, status))                \
    USE(cl_program, PROGRAMS, clLinkProgram,                                                       \
        (cl_context a, cl_uint b, const cl_device_id *c, const char *d, cl_uint e,                 \
         const cl_program *f, void(CL_CALLBACK * g)(cl_program, void *), void *h, cl_int *status), \
        (a, b, c, d, e, f, g, h, status))                                                          \
    USE(cl_kernel, KERNELS, clCreateKernel, (cl_program a, const char *b, cl_int *status),         \
        (a, b, status))

#define RELEASING(USE)                                                                             \
    USE(CONTEXTS, clReleaseContext, (cl_context a), (a))                                           \
    USE(QUEUES, clReleaseCommandQueue, (cl_command_queue a), (a))                                  \
    USE(BUFFERS, clReleaseMemObject, (cl_mem a), (a))                                              \
    USE(PROGRAMS, clReleaseProgram, (cl_program a), (a))                                           \
    USE(KERNELS, clReleaseKernel, (cl_kernel a), (a))                                              \
    USE(EVENTS, clReleaseEvent, (cl_event a), (a))

#define DO_NOTHING(name, parameters, arguments)                                                    \
    static cl_int try_##name parameters                                                            \
    {                                                                                              \
        return fails(#name) ? calls->status : real.name arguments;                                 \
    }
ASKING(DO_NOTHING)
DOING(DO_NOTHING)

#define WAIT_FIRST(name, parameters, arguments)                                                    \
    static cl_int try_##name parameters                                                            \
    {                                                                                              \
        cl_int status = real.name arguments;                                                       \
        return fails(#name) ? calls->status : status;                                              \
    }
WAITING(WAIT_FIRST)

#define MAKE(type, kind, name, parameters, arguments)                                              \
    static type try_##name parameters                                                              \
    {                                                                                              \
        if (fails(#name)) {                                                                        \
            if (status != NULL)                                                                    \
                *status = calls->status;                                                           \
            return NULL;                                                                           \
        }                                                                                          \
        type object = real.name arguments;                                                         \
        made(kind, object);                                                                        \
        return object;                                                                             \
    }
MAKING(MAKE)

#define RELEASE(kind, name, parameters, arguments)                                                 \
    static cl_int try_##name parameters                                                            \
    {                                                                                              \
        cl_int status = real.name arguments;                                                       \
        atomic_fetch_sub(&calls->live[kind], 1);                                                   \
        return fails(#name) ? calls->status : status;                                              \
    }
RELEASING(RELEASE)

static cl_int try_clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel,
                                         cl_uint dimensions, const size_t *offset,
                                         const size_t *global, const size_t *local, cl_uint waits,
                                         const cl_event *wait_list, cl_event *event)
{
    if (fails("clEnqueueNDRangeKernel"))
        return calls->status;
    cl_int status = real.clEnqueueNDRangeKernel(queue, kernel, dimensions, offset, global, local,
                                                waits, wait_list, event);
    if (status == CL_SUCCESS && event != NULL)
        made(EVENTS, *event);
    return status;
}

static void *try_clEnqueueMapBuffer(cl_command_queue queue, cl_mem buffer, cl_bool blocks,
                                    cl_map_flags flags, size_t offset, size_t size, cl_uint waits,
                                    const cl_event *wait_list, cl_event *event, cl_int *status)
{
    if (!fails("clEnqueueMapBuffer"))
        return real.clEnqueueMapBuffer(queue, buffer, blocks, flags, offset, size, waits, wait_list,
                                       event, status);
    if (status != NULL)
        *status = calls->status;
    return NULL;
}

static void *CL_API_CALL try_clGetExtensionFunctionAddressForPlatform(cl_platform_id platform,
                                                                      const char *name)
{
    return fails("clGetExtensionFunctionAddressForPlatform")
               ? NULL
               : real.clGetExtensionFunctionAddressForPlatform(platform, name);
}

__attribute__((constructor)) static void open_calls(void)
{
    calls = shared_calls();
}

/* What the other engine's table has. */
static void wrap(struct _cl_icd_dispatch *table)
{
    real = *table;
#define TAKE(name)                                                                                 \
    if (table->name != NULL)                                                                       \
        table->name = try_##name;
#define TAKE_ASKED(name, parameters, arguments) TAKE(name)
#define TAKE_MADE(type, kind, name, parameters, arguments) TAKE(name)
#define TAKE_RELEASED(kind, name, parameters, arguments) TAKE(name)
    ASKING(TAKE_ASKED)
    DOING(TAKE_ASKED)
    WAITING(TAKE_ASKED)
    MAKING(TAKE_MADE)
    RELEASING(TAKE_RELEASED)
    TAKE(clEnqueueNDRangeKernel)
    TAKE(clEnqueueMapBuffer)
    TAKE(clGetExtensionFunctionAddressForPlatform)
}
