/* SPDX-License-Identifier: Apache-2.0
 *
 * Every function of the dispatch table with one call that is right. The generated cases replace
 * its handles and wait lists; those of bad_input_cases.c replace other parameters. */
#include "bad_input.h"

#define F(function) .name = #function, .slot = offsetof(struct _cl_icd_dispatch, function)
#define TAKES(...) .arguments = {__VA_ARGS__}
#define MAKES(type) .returns = OBJECT, .made = T_##type
#define ASKS_WITH(parameter) .flags = INFO, .info = parameter
#define CODES(...) {__VA_ARGS__, END_OF_CODES}

#define N(value) {.what = W_NUMBER, .number = (uint64_t)(value)}
#define NIL N(0)
#define P(address) {.what = W_POINTER, .pointer = (address)}
#define O(name) {.what = W_OBJECT, .object = name##_}
#define L(name) {.what = W_LIST, .object = name##_}
#define W(kind) {.what = W_##kind}
#define WAITS W(WAIT_COUNT), W(WAIT_LIST)
#define OUT W(OUT)
#define ERRCODE W(ERRCODE)
#define SCRATCH W(SCRATCH)
#define QUERY(name) N(name), N(SCRATCH_SIZE), SCRATCH, OUT

const char *const good_source =
    "kernel void add(global int *data, int amount) { data[get_global_id(0)] += amount; }\n"
    "kernel void turn(global int *data, local int *window)\n"
    "{\n"
    "    size_t i = get_local_id(0), last = get_local_size(0) - 1;\n"
    "    window[i] = data[get_global_id(0)];\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    data[get_global_id(0)] = window[last - i];\n"
    "}\n"
    "kernel __attribute__((reqd_work_group_size(8, 1, 1))) void fixed_group(global int *data)\n"
    "{\n"
    "    data[get_global_id(0)] = 8;\n"
    "}\n";
const char *const broken_source = "kernel void broken(global int *data) { data[0] = nowhere; }\n";
const char *const library_source =
    "int twice(int x) { return x + x; }\n"
    "kernel void doubled(global int *data) { data[0] = twice(3); }\n";

static const char *const kernel_names = "no_such_kernel_is_built_in";
static const char *const header_names[] = {"header.h"};
static const size_t origin[3] = {0, 0, 0};
static const size_t region[3] = {16, 4, 1};
static const size_t image_region[3] = {4, 4, 1};
static const size_t image_corner[3] = {8, 8, 0};
static const size_t global_size[3] = {64, 1, 1};
static const cl_buffer_region half = {0, BUFFER_SIZE / 2};
static const cl_image_format rgba = {CL_RGBA, CL_UNSIGNED_INT8};
static const cl_image_desc flat = {
    .image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 16, .image_height = 16};
static const cl_device_partition_property equally[] = {CL_DEVICE_PARTITION_EQUALLY, 1, 0};
static const uint64_t equally_ext[] = {0x4050, 1, 0};
static const cl_sampler_properties sampler_properties[] = {CL_SAMPLER_NORMALIZED_COORDS, CL_FALSE,
                                                           0};
static const cl_int amount = 1;
static const size_t one_size = 16;

const struct function functions[] = {
    /* platforms and devices */
    {F(clGetPlatformIDs), TAKES(N(1), OUT, OUT)},
    {F(clGetPlatformInfo), ASKS_WITH(1), TAKES(O(PLATFORM), QUERY(CL_PLATFORM_NAME))},
    {F(clUnloadPlatformCompiler), TAKES(O(PLATFORM))},
    {F(clGetExtensionFunctionAddressForPlatform), .returns = POINTER,
     TAKES(O(PLATFORM), P("clGetExtensionFunctionAddressForPlatform")),
     .valid = CODES(CL_SUCCESS, ANY_ERROR)},
    {F(clGetExtensionFunctionAddress), .returns = POINTER, TAKES(P("clIcdGetPlatformIDsKHR"))},
    {F(clGetDeviceIDs), TAKES(O(PLATFORM), N(CL_DEVICE_TYPE_ALL), N(1), OUT, OUT)},
    {F(clGetDeviceInfo), ASKS_WITH(1), TAKES(O(DEVICE), QUERY(CL_DEVICE_NAME))},
    {F(clCreateSubDevices),
     .valid = CODES(CL_SUCCESS, CL_INVALID_VALUE, CL_DEVICE_PARTITION_FAILED,
                    CL_INVALID_DEVICE_PARTITION_COUNT),
     TAKES(O(DEVICE), P(equally), NIL, NIL, OUT)},
    {F(clRetainDevice), .flags = RELEASE_AFTER, TAKES(O(DEVICE))},
    {F(clReleaseDevice), .flags = RETAIN_FIRST, TAKES(O(DEVICE))},
    {F(clGetDeviceAndHostTimer), .valid = CODES(CL_SUCCESS, CL_INVALID_OPERATION),
     .also = CODES(CL_INVALID_OPERATION), TAKES(O(DEVICE), OUT, OUT)},
    {F(clGetHostTimer), .valid = CODES(CL_SUCCESS, CL_INVALID_OPERATION),
     .also = CODES(CL_INVALID_OPERATION), TAKES(O(DEVICE), OUT)},
    {F(clSetDefaultDeviceCommandQueue), .flags = NEVER_WORKS,
     .valid = CODES(CL_INVALID_OPERATION, CL_INVALID_COMMAND_QUEUE),
     .also = CODES(CL_INVALID_OPERATION), TAKES(O(CONTEXT), O(DEVICE), O(QUEUE))},

    /* contexts */
    {F(clCreateContext), MAKES(CONTEXT),
     TAKES(W(CONTEXT_PROPERTIES), N(1), L(DEVICE), W(CB_CONTEXT), NIL, ERRCODE)},
    {F(clCreateContextFromType), MAKES(CONTEXT),
     TAKES(W(CONTEXT_PROPERTIES), N(CL_DEVICE_TYPE_ALL), W(CB_CONTEXT), NIL, ERRCODE)},
    {F(clRetainContext), .flags = RELEASE_AFTER, TAKES(O(CONTEXT))},
    {F(clReleaseContext), .flags = RETAIN_FIRST, TAKES(O(CONTEXT))},
    {F(clGetContextInfo), ASKS_WITH(1), TAKES(O(CONTEXT), QUERY(CL_CONTEXT_DEVICES))},
    {F(clSetContextDestructorCallback), TAKES(O(CONTEXT), W(CB_CONTEXT_GONE), NIL)},

    /* command queues */
    {F(clCreateCommandQueueWithProperties), MAKES(QUEUE),
     TAKES(O(CONTEXT), O(DEVICE), NIL, ERRCODE)},
    {F(clCreateCommandQueue), MAKES(QUEUE), TAKES(O(CONTEXT), O(DEVICE), NIL, ERRCODE)},
    {F(clRetainCommandQueue), .flags = RELEASE_AFTER, TAKES(O(QUEUE))},
    {F(clReleaseCommandQueue), .flags = RETAIN_FIRST, TAKES(O(QUEUE))},
    {F(clGetCommandQueueInfo), ASKS_WITH(1), TAKES(O(QUEUE), QUERY(CL_QUEUE_PROPERTIES))},
    {F(clSetCommandQueueProperty), .also = CODES(CL_INVALID_OPERATION),
     .valid = CODES(CL_SUCCESS, CL_INVALID_OPERATION, CL_INVALID_QUEUE_PROPERTIES),
     TAKES(O(QUEUE), N(CL_QUEUE_PROFILING_ENABLE), N(CL_TRUE), OUT)},
    {F(clFlush), TAKES(O(QUEUE))},
    {F(clFinish), TAKES(O(QUEUE))},

    /* buffers */
    {F(clCreateBuffer), MAKES(MEM),
     TAKES(O(CONTEXT), N(CL_MEM_READ_WRITE), N(BUFFER_SIZE), NIL, ERRCODE)},
    {F(clCreateBufferWithProperties), MAKES(MEM),
     TAKES(O(CONTEXT), NIL, N(CL_MEM_READ_WRITE), N(BUFFER_SIZE), NIL, ERRCODE)},
    {F(clCreateSubBuffer), MAKES(MEM),
     TAKES(O(BUFFER), N(CL_MEM_READ_WRITE), N(CL_BUFFER_CREATE_TYPE_REGION), P(&half), ERRCODE)},
    {F(clRetainMemObject), .flags = RELEASE_AFTER, TAKES(O(BUFFER))},
    {F(clReleaseMemObject), .flags = RETAIN_FIRST, TAKES(O(BUFFER))},
    {F(clSetMemObjectDestructorCallback), TAKES(O(BUFFER), W(CB_MEM_GONE), NIL)},
    {F(clGetMemObjectInfo), ASKS_WITH(1), TAKES(O(BUFFER), QUERY(CL_MEM_SIZE))},
    {F(clEnqueueReadBuffer),
     TAKES(O(QUEUE), O(BUFFER), N(CL_TRUE), NIL, N(16), SCRATCH, WAITS, NIL)},
    {F(clEnqueueWriteBuffer),
     TAKES(O(QUEUE), O(BUFFER), N(CL_TRUE), NIL, N(16), SCRATCH, WAITS, NIL)},
    {F(clEnqueueReadBufferRect), TAKES(O(QUEUE), O(BUFFER), N(CL_TRUE), P(origin), P(origin),
                                       P(region), N(64), NIL, N(64), NIL, SCRATCH, WAITS, NIL)},
    {F(clEnqueueWriteBufferRect), TAKES(O(QUEUE), O(BUFFER), N(CL_TRUE), P(origin), P(origin),
                                        P(region), N(64), NIL, N(64), NIL, SCRATCH, WAITS, NIL)},
    {F(clEnqueueCopyBuffer),
     TAKES(O(QUEUE), O(BUFFER), O(OTHER_BUFFER), NIL, NIL, N(64), WAITS, NIL)},
    {F(clEnqueueCopyBufferRect), TAKES(O(QUEUE), O(BUFFER), O(OTHER_BUFFER), P(origin), P(origin),
                                       P(region), N(64), NIL, N(64), NIL, WAITS, NIL)},
    {F(clEnqueueFillBuffer),
     TAKES(O(QUEUE), O(BUFFER), P(&amount), N(sizeof amount), NIL, N(64), WAITS, NIL)},
    {F(clEnqueueMapBuffer), .returns = POINTER, .flags = UNMAP_AFTER,
     TAKES(O(QUEUE), O(BUFFER), N(CL_TRUE), N(CL_MAP_READ), NIL, N(64), WAITS, NIL, ERRCODE)},
    {F(clEnqueueUnmapMemObject), TAKES(O(QUEUE), O(BUFFER), W(FRESH_MAPPED), WAITS, NIL)},
    {F(clEnqueueMigrateMemObjects), TAKES(O(QUEUE), N(1), L(BUFFER), NIL, WAITS, NIL)},

    /* programs */
    {F(clCreateProgramWithSource), MAKES(PROGRAM),
     TAKES(O(CONTEXT), N(1), P(&good_source), NIL, ERRCODE)},
    {F(clCreateProgramWithBinary), MAKES(PROGRAM),
     TAKES(O(CONTEXT), N(1), L(DEVICE), W(BINARY_SIZES), W(BINARIES), OUT, ERRCODE)},
    {F(clCreateProgramWithBuiltInKernels), MAKES(PROGRAM), .flags = NEVER_WORKS,
     .valid = CODES(CL_INVALID_VALUE),
     TAKES(O(CONTEXT), N(1), L(DEVICE), P(kernel_names), ERRCODE)},
    {F(clCreateProgramWithIL), MAKES(PROGRAM), .flags = NEVER_WORKS,
     .valid = CODES(CL_INVALID_VALUE, CL_INVALID_OPERATION, CL_INVALID_BINARY),
     .also = CODES(CL_INVALID_OPERATION),
     TAKES(O(CONTEXT), P("this is no SPIR-V at all"), N(24), ERRCODE)},
    {F(clRetainProgram), .flags = RELEASE_AFTER, TAKES(O(PROGRAM))},
    {F(clReleaseProgram), .flags = RETAIN_FIRST, TAKES(O(PROGRAM))},
    {F(clSetProgramReleaseCallback), .valid = CODES(CL_SUCCESS, CL_INVALID_OPERATION),
     .also = CODES(CL_INVALID_OPERATION), TAKES(O(PROGRAM), W(CB_PROGRAM_GONE), NIL)},
    {F(clSetProgramSpecializationConstant), .flags = NEVER_WORKS,
     .valid = CODES(CL_INVALID_PROGRAM, CL_INVALID_OPERATION, CL_INVALID_SPEC_ID),
     .also = CODES(CL_INVALID_OPERATION), TAKES(O(PROGRAM), NIL, N(4), P(&amount))},
    {F(clUnloadCompiler)},
    {F(clBuildProgram), .flags = SLOW, TAKES(W(FRESH_PROGRAM), N(1), L(DEVICE), P(""), NIL, NIL)},
    {F(clCompileProgram), .flags = SLOW,
     TAKES(W(FRESH_PROGRAM), N(1), L(DEVICE), P(""), N(1), L(HEADER_PROGRAM), P(header_names), NIL,
           NIL)},
    {F(clLinkProgram), .flags = SLOW, MAKES(PROGRAM),
     TAKES(O(CONTEXT), N(1), L(DEVICE), P(""), N(1), L(COMPILED_PROGRAM), NIL, NIL, ERRCODE)},
    {F(clGetProgramInfo), ASKS_WITH(1), TAKES(O(PROGRAM), QUERY(CL_PROGRAM_KERNEL_NAMES))},
    {F(clGetProgramBuildInfo), ASKS_WITH(2),
     TAKES(O(PROGRAM), O(DEVICE), QUERY(CL_PROGRAM_BUILD_LOG))},

    /* kernels */
    {F(clCreateKernel), MAKES(KERNEL), TAKES(O(PROGRAM), P("add"), ERRCODE)},
    {F(clCreateKernelsInProgram), TAKES(O(PROGRAM), NIL, NIL, OUT)},
    {F(clCloneKernel), MAKES(KERNEL), TAKES(O(KERNEL), ERRCODE)},
    {F(clRetainKernel), .flags = RELEASE_AFTER, TAKES(O(KERNEL))},
    {F(clReleaseKernel), .flags = RETAIN_FIRST, TAKES(O(KERNEL))},
    {F(clSetKernelArg), .also = CODES(CL_INVALID_ARG_VALUE),
     TAKES(O(KERNEL), NIL, N(sizeof(cl_mem)), L(BUFFER))},
    {F(clSetKernelArgSVMPointer), .flags = NEEDS_SVM, TAKES(O(KERNEL), NIL, W(SVM))},
    {F(clSetKernelExecInfo), .flags = NEEDS_SVM,
     TAKES(O(KERNEL), N(CL_KERNEL_EXEC_INFO_SVM_PTRS), N(sizeof(void *)), W(SVM_LIST))},
    {F(clGetKernelInfo), ASKS_WITH(1), TAKES(O(KERNEL), QUERY(CL_KERNEL_FUNCTION_NAME))},
    {F(clGetKernelArgInfo), ASKS_WITH(2), TAKES(O(KERNEL), NIL, QUERY(CL_KERNEL_ARG_NAME))},
    {F(clGetKernelWorkGroupInfo), .flags = INFO | DEVICE_MAY_BE_NULL, .info = 2,
     TAKES(O(KERNEL), O(DEVICE), QUERY(CL_KERNEL_WORK_GROUP_SIZE))},
    {F(clGetKernelSubGroupInfo), .flags = DEVICE_MAY_BE_NULL, .also = CODES(CL_INVALID_OPERATION),
     .valid = CODES(CL_SUCCESS, CL_INVALID_OPERATION, CL_INVALID_VALUE),
     TAKES(O(KERNEL), O(DEVICE), N(CL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE), N(sizeof(size_t)),
           P(global_size), N(sizeof(size_t)), SCRATCH, OUT)},
    {F(clGetKernelSubGroupInfoKHR), .flags = DEVICE_MAY_BE_NULL | MAY_BE_MISSING,
     .also = CODES(CL_INVALID_OPERATION),
     .valid = CODES(CL_SUCCESS, CL_INVALID_OPERATION, CL_INVALID_VALUE),
     TAKES(O(KERNEL), O(DEVICE), N(CL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE), N(sizeof(size_t)),
           P(global_size), N(sizeof(size_t)), SCRATCH, OUT)},
    {F(clEnqueueNDRangeKernel),
     TAKES(O(QUEUE), O(KERNEL), N(1), NIL, P(global_size), NIL, WAITS, NIL)},
    {F(clEnqueueTask), TAKES(O(QUEUE), O(KERNEL), WAITS, NIL)},
    {F(clEnqueueNativeKernel), .valid = CODES(CL_SUCCESS, CL_INVALID_OPERATION),
     .also = CODES(CL_INVALID_OPERATION),
     TAKES(O(QUEUE), W(CB_NATIVE), SCRATCH, N(64), N(1), L(BUFFER), W(MEM_LOCATIONS), WAITS, NIL)},

    /* events */
    {F(clWaitForEvents), TAKES(N(1), L(EVENT))},
    {F(clGetEventInfo), ASKS_WITH(1), TAKES(O(EVENT), QUERY(CL_EVENT_COMMAND_EXECUTION_STATUS))},
    {F(clCreateUserEvent), MAKES(EVENT), TAKES(O(CONTEXT), ERRCODE)},
    {F(clRetainEvent), .flags = RELEASE_AFTER, TAKES(O(EVENT))},
    {F(clReleaseEvent), .flags = RETAIN_FIRST, TAKES(O(EVENT))},
    {F(clSetUserEventStatus), TAKES(W(FRESH_USER_EVENT), N(CL_COMPLETE))},
    {F(clSetEventCallback), TAKES(O(EVENT), N(CL_COMPLETE), W(CB_EVENT), NIL)},
    {F(clGetEventProfilingInfo), ASKS_WITH(1), TAKES(O(EVENT), QUERY(CL_PROFILING_COMMAND_END))},
    {F(clEnqueueMarkerWithWaitList), TAKES(O(QUEUE), WAITS, NIL)},
    {F(clEnqueueBarrierWithWaitList), TAKES(O(QUEUE), WAITS, NIL)},
    {F(clEnqueueMarker), TAKES(O(QUEUE), W(EVENT_OUT))},
    {F(clEnqueueWaitForEvents), TAKES(O(QUEUE), N(1), L(EVENT))},
    {F(clEnqueueBarrier), TAKES(O(QUEUE))},

    /* shared virtual memory */
    {F(clSVMAlloc), .returns = POINTER, .flags = NEEDS_SVM,
     TAKES(O(CONTEXT), N(CL_MEM_READ_WRITE), N(64), NIL)},
    {F(clSVMFree), .returns = NOTHING, .flags = NEEDS_SVM, TAKES(O(CONTEXT), W(FRESH_SVM))},
    {F(clEnqueueSVMFree), .flags = NEEDS_SVM,
     TAKES(O(QUEUE), N(1), W(FRESH_SVM_LIST), NIL, NIL, WAITS, NIL)},
    {F(clEnqueueSVMMemcpy), .flags = NEEDS_SVM,
     TAKES(O(QUEUE), N(CL_TRUE), W(SVM), SCRATCH, N(64), WAITS, NIL)},
    {F(clEnqueueSVMMemFill), .flags = NEEDS_SVM,
     TAKES(O(QUEUE), W(SVM), P(&amount), N(sizeof amount), N(64), WAITS, NIL)},
    {F(clEnqueueSVMMap), .flags = NEEDS_SVM,
     TAKES(O(QUEUE), N(CL_TRUE), N(CL_MAP_READ), W(SVM), N(64), WAITS, NIL)},
    {F(clEnqueueSVMUnmap), .flags = NEEDS_SVM, TAKES(O(QUEUE), W(SVM), WAITS, NIL)},
    {F(clEnqueueSVMMigrateMem), .flags = NEEDS_SVM,
     TAKES(O(QUEUE), N(1), W(SVM_LIST), P(&one_size), NIL, WAITS, NIL)},

    /* images, samplers, pipes */
    {F(clCreateImage), MAKES(MEM), .flags = NEEDS_IMAGES,
     TAKES(O(CONTEXT), N(CL_MEM_READ_WRITE), P(&rgba), P(&flat), NIL, ERRCODE)},
    {F(clCreateImageWithProperties), MAKES(MEM), .flags = NEEDS_IMAGES,
     TAKES(O(CONTEXT), NIL, N(CL_MEM_READ_WRITE), P(&rgba), P(&flat), NIL, ERRCODE)},
    {F(clCreateImage2D), MAKES(MEM), .flags = NEEDS_IMAGES,
     TAKES(O(CONTEXT), N(CL_MEM_READ_WRITE), P(&rgba), N(16), N(16), NIL, NIL, ERRCODE)},
    {F(clCreateImage3D), MAKES(MEM), .flags = NEEDS_IMAGES,
     TAKES(O(CONTEXT), N(CL_MEM_READ_WRITE), P(&rgba), N(16), N(16), N(2), NIL, NIL, NIL, ERRCODE)},
    {F(clGetSupportedImageFormats), .valid = CODES(CL_SUCCESS, CL_INVALID_OPERATION),
     .also = CODES(CL_INVALID_OPERATION),
     TAKES(O(CONTEXT), N(CL_MEM_READ_ONLY), N(CL_MEM_OBJECT_IMAGE2D), NIL, NIL, OUT)},
    {F(clGetImageInfo), .flags = NEEDS_IMAGES, TAKES(O(IMAGE), QUERY(CL_IMAGE_WIDTH))},
    {F(clEnqueueReadImage), .flags = NEEDS_IMAGES,
     TAKES(O(QUEUE), O(IMAGE), N(CL_TRUE), P(origin), P(image_region), NIL, NIL, SCRATCH, WAITS,
           NIL)},
    {F(clEnqueueWriteImage), .flags = NEEDS_IMAGES,
     TAKES(O(QUEUE), O(IMAGE), N(CL_TRUE), P(origin), P(image_region), NIL, NIL, SCRATCH, WAITS,
           NIL)},
    {F(clEnqueueCopyImage), .flags = NEEDS_IMAGES,
     TAKES(O(QUEUE), O(IMAGE), O(IMAGE), P(origin), P(image_corner), P(image_region), WAITS, NIL)},
    {F(clEnqueueCopyImageToBuffer), .flags = NEEDS_IMAGES,
     TAKES(O(QUEUE), O(IMAGE), O(BUFFER), P(origin), P(image_region), NIL, WAITS, NIL)},
    {F(clEnqueueCopyBufferToImage), .flags = NEEDS_IMAGES,
     TAKES(O(QUEUE), O(BUFFER), O(IMAGE), NIL, P(origin), P(image_region), WAITS, NIL)},
    {F(clEnqueueMapImage), .returns = POINTER, .flags = NEEDS_IMAGES | UNMAP_AFTER,
     TAKES(O(QUEUE), O(IMAGE), N(CL_TRUE), N(CL_MAP_READ), P(origin), P(image_region), OUT, NIL,
           WAITS, NIL, ERRCODE)},
    {F(clEnqueueFillImage), .flags = NEEDS_IMAGES,
     TAKES(O(QUEUE), O(IMAGE), P(image_region), P(origin), P(image_region), WAITS, NIL)},
    {F(clCreateSampler), MAKES(SAMPLER), .flags = NEEDS_IMAGES,
     TAKES(O(CONTEXT), N(CL_FALSE), N(CL_ADDRESS_CLAMP), N(CL_FILTER_NEAREST), ERRCODE)},
    {F(clCreateSamplerWithProperties), MAKES(SAMPLER), .flags = NEEDS_IMAGES,
     TAKES(O(CONTEXT), P(sampler_properties), ERRCODE)},
    {F(clRetainSampler), .flags = NEEDS_IMAGES | RELEASE_AFTER, TAKES(O(SAMPLER))},
    {F(clReleaseSampler), .flags = NEEDS_IMAGES | RETAIN_FIRST, TAKES(O(SAMPLER))},
    {F(clGetSamplerInfo), .flags = NEEDS_IMAGES, TAKES(O(SAMPLER), QUERY(CL_SAMPLER_CONTEXT))},
    {F(clCreatePipe), MAKES(MEM), .valid = CODES(CL_SUCCESS, CL_INVALID_OPERATION),
     .also = CODES(CL_INVALID_OPERATION),
     TAKES(O(CONTEXT), N(CL_MEM_HOST_NO_ACCESS), N(4), N(4), NIL, ERRCODE)},
    {F(clGetPipeInfo), .flags = NEVER_WORKS,
     .valid = CODES(CL_INVALID_MEM_OBJECT, CL_INVALID_OPERATION),
     .also = CODES(CL_INVALID_OPERATION), TAKES(O(BUFFER), QUERY(CL_PIPE_PACKET_SIZE))},

/* what other interfaces share with OpenCL: nobody has a GL or EGL context here */
#define SHARED                                                                                     \
    .flags = NEVER_WORKS | MAY_BE_MISSING, .valid = CODES(ANY_ERROR), .also = CODES(ANY_ERROR)
    {F(clCreateFromGLBuffer), SHARED, .returns = OBJECT,
     TAKES(O(CONTEXT), N(CL_MEM_READ_WRITE), N(1), ERRCODE)},
    {F(clCreateFromGLTexture), SHARED, .returns = OBJECT,
     TAKES(O(CONTEXT), N(CL_MEM_READ_WRITE), N(0x0DE1), NIL, N(1), ERRCODE)},
    {F(clCreateFromGLTexture2D), SHARED, .returns = OBJECT,
     TAKES(O(CONTEXT), N(CL_MEM_READ_WRITE), N(0x0DE1), NIL, N(1), ERRCODE)},
    {F(clCreateFromGLTexture3D), SHARED, .returns = OBJECT,
     TAKES(O(CONTEXT), N(CL_MEM_READ_WRITE), N(0x806F), NIL, N(1), ERRCODE)},
    {F(clCreateFromGLRenderbuffer), SHARED, .returns = OBJECT,
     TAKES(O(CONTEXT), N(CL_MEM_READ_WRITE), N(1), ERRCODE)},
    {F(clGetGLObjectInfo), SHARED, TAKES(O(BUFFER), OUT, OUT)},
    {F(clGetGLTextureInfo), SHARED, TAKES(O(BUFFER), QUERY(CL_GL_MIPMAP_LEVEL))},
    {F(clEnqueueAcquireGLObjects), SHARED, TAKES(O(QUEUE), N(1), L(BUFFER), WAITS, NIL)},
    {F(clEnqueueReleaseGLObjects), SHARED, TAKES(O(QUEUE), N(1), L(BUFFER), WAITS, NIL)},
    {F(clGetGLContextInfoKHR), SHARED,
     TAKES(W(CONTEXT_PROPERTIES), QUERY(CL_CURRENT_DEVICE_FOR_GL_CONTEXT_KHR))},
    {F(clCreateEventFromGLsyncKHR), SHARED, .returns = OBJECT, TAKES(O(CONTEXT), NIL, ERRCODE)},
    {F(clCreateFromEGLImageKHR), SHARED, .returns = OBJECT,
     TAKES(O(CONTEXT), NIL, NIL, N(CL_MEM_READ_WRITE), NIL, ERRCODE)},
    {F(clEnqueueAcquireEGLObjectsKHR), SHARED, TAKES(O(QUEUE), N(1), L(BUFFER), WAITS, NIL)},
    {F(clEnqueueReleaseEGLObjectsKHR), SHARED, TAKES(O(QUEUE), N(1), L(BUFFER), WAITS, NIL)},
    {F(clCreateEventFromEGLSyncKHR), SHARED, .returns = OBJECT,
     TAKES(O(CONTEXT), NIL, NIL, ERRCODE)},
    {F(clCreateSubDevicesEXT), .flags = MAY_BE_MISSING,
     .also = CODES(CL_INVALID_OPERATION, CL_INVALID_VALUE), .valid = CODES(CL_SUCCESS, ANY_ERROR),
     TAKES(O(DEVICE), P(equally_ext), NIL, NIL, OUT)},
    {F(clRetainDeviceEXT), .flags = MAY_BE_MISSING, TAKES(O(DEVICE)),
     .valid = CODES(CL_SUCCESS, CL_INVALID_DEVICE, CL_INVALID_OPERATION),
     .also = CODES(CL_INVALID_OPERATION)},
    {F(clReleaseDeviceEXT), .flags = MAY_BE_MISSING, TAKES(O(DEVICE)),
     .valid = CODES(CL_SUCCESS, CL_INVALID_DEVICE, CL_INVALID_OPERATION),
     .also = CODES(CL_INVALID_OPERATION)},
};
const size_t function_count = sizeof functions / sizeof functions[0];
