/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls that are wrong in one parameter that is no handle (or a handle that is good in itself and
 * does not fit here), with the codes that the specification allows for them. Parameters count
 * from 1. */
#include "bad_input.h"

#define CODES(...) {__VA_ARGS__, END_OF_CODES}
#define IS(parameter, ...)                                                                         \
    {                                                                                              \
        parameter,                                                                                 \
        {                                                                                          \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }
#define N(value) .what = W_NUMBER, .number = (uint64_t)(value)
#define NIL N(0)
#define P(address) .what = W_POINTER, .pointer = (address)
#define O(name) .what = W_OBJECT, .object = name##_
#define L(name) .what = W_LIST, .object = name##_
#define W(kind) .what = W_##kind
#define FAR(bytes) .what = W_SCRATCH_FAR, .number = (bytes)
#define SVM(bytes) .what = W_SVM, .number = (bytes)
#define OUT W(OUT)
#define SAME NULL /* the function of the case before */

#define VALUE CODES(CL_INVALID_VALUE)
#define PROPERTY CODES(CL_INVALID_PROPERTY)
#define OPERATION CODES(CL_INVALID_OPERATION)
#define FOREIGN CODES(CL_INVALID_CONTEXT)
#define DEPENDS CODES(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST)
#define VALUE_OR_OPERATION CODES(CL_INVALID_VALUE, CL_INVALID_OPERATION)
#define SIZE_OF_BUFFER CODES(CL_INVALID_BUFFER_SIZE)
#define NOT_BUILT CODES(CL_INVALID_PROGRAM_EXECUTABLE)
#define ARG_SIZE CODES(CL_INVALID_ARG_SIZE)
#define OVERLAP CODES(CL_MEM_COPY_OVERLAP)
#define DEVICE_TYPE CODES(CL_INVALID_DEVICE_TYPE)
#define HOST_PTR CODES(CL_INVALID_HOST_PTR)
#define ARG_INDEX CODES(CL_INVALID_ARG_INDEX)
#define KERNEL_ARGS CODES(CL_INVALID_KERNEL_ARGS)
#define WORK_DIMENSION CODES(CL_INVALID_WORK_DIMENSION)
#define GROUP_SIZE CODES(CL_INVALID_WORK_GROUP_SIZE)
#define NO_DEVICE CODES(CL_DEVICE_NOT_FOUND)
#define NO_BIT ((uint64_t)1 << 40)
#define NO_NAME 0x7fffffff

static const intptr_t unknown_property[] = {0x7ffffff0, 1, 0};
static const cl_context_properties given_twice[] = {CL_CONTEXT_INTEROP_USER_SYNC, CL_TRUE,
                                                    CL_CONTEXT_INTEROP_USER_SYNC, CL_TRUE, 0};
static const cl_queue_properties unknown_queue_bits[] = {CL_QUEUE_PROPERTIES, NO_BIT, 0};
static const cl_queue_properties device_queue_in_order[] = {CL_QUEUE_PROPERTIES, CL_QUEUE_ON_DEVICE,
                                                            0};
static const cl_queue_properties size_of_host_queue[] = {CL_QUEUE_SIZE, 1024, 0};
static const cl_device_partition_property no_partition[] = {0x7ffffff0, 1, 0};
static const char *const no_string[] = {NULL};
static const unsigned char *const no_binary[] = {NULL};
static const unsigned char garbage[64] = "neither machine code nor anything else that could be run";
static const unsigned char *const garbage_binary[] = {garbage};
static const size_t garbage_size[] = {sizeof garbage};
static const size_t zero[3] = {0, 0, 0};
static const size_t three[3] = {3, 1, 1};
static const size_t sixteen[3] = {16, 1, 1};
static const size_t huge[3] = {SIZE_MAX, 1, 1};
static const size_t beyond[3] = {BUFFER_SIZE, 0, 0};
static const size_t near_end[3] = {BUFFER_SIZE - 8, 0, 0};
static const size_t far_row[3] = {0, SIZE_MAX / 2, 0};
static const size_t empty_row[3] = {16, 0, 1};
static const size_t all_huge[3] = {SIZE_MAX, SIZE_MAX, SIZE_MAX};
static const size_t tall[3] = {16, 4096, 1};
static const cl_buffer_region region_empty = {0, 0};
static const cl_buffer_region region_long = {0, BUFFER_SIZE + 1};
static const cl_buffer_region region_outside = {BUFFER_SIZE, 16};
static const cl_buffer_region region_overflow = {SIZE_MAX - 4095, 8192};
static const cl_buffer_region region_huge = {0, SIZE_MAX};
static const cl_buffer_region region_misaligned = {1, 16};

const struct bad_call bad_calls[] = {
    /* platforms and devices */
    {"clGetPlatformIDs", "room for none", VALUE, {IS(1, NIL)}},
    {SAME, "nothing asked", VALUE, {IS(2, NIL), IS(3, NIL)}},
    {"clGetDeviceIDs", "room for none", VALUE, {IS(3, NIL)}},
    {SAME, "nothing asked", VALUE, {IS(4, NIL), IS(5, NIL)}},
    {SAME, "type 0", DEVICE_TYPE, {IS(2, NIL)}},
    {SAME, "no such device", NO_DEVICE, {IS(2, N(CL_DEVICE_TYPE_CUSTOM))}},
    {SAME, "unknown type", DEVICE_TYPE, {IS(2, N(NO_BIT))}},
    {"clGetExtensionFunctionAddress",
     "unknown name",
     CODES(ANY_ERROR),
     {IS(1, P("clNoSuchFunctionEXT"))}},
    {"clGetExtensionFunctionAddressForPlatform",
     "unknown name",
     CODES(ANY_ERROR),
     {IS(2, P("clNoSuchFunctionEXT"))}},
    {"clCreateSubDevices", "no properties", VALUE_OR_OPERATION, {IS(2, NIL)}},
    {SAME, "unknown property", VALUE, {IS(2, P(no_partition))}},
    {"clGetDeviceAndHostTimer", "no device time", VALUE_OR_OPERATION, {IS(2, NIL)}},
    {SAME, "no host time", VALUE_OR_OPERATION, {IS(3, NIL)}},
    {"clGetHostTimer", "no host time", VALUE_OR_OPERATION, {IS(2, NIL)}},

    /* contexts */
    {"clCreateContext", "no devices", VALUE, {IS(2, NIL)}},
    {SAME, "no list of devices", VALUE, {IS(3, NIL)}},
    {SAME, "user data without callback", VALUE, {IS(4, NIL), IS(5, W(SCRATCH))}},
    {SAME, "unknown property", PROPERTY, {IS(1, P(unknown_property))}},
    {SAME, "property given twice", PROPERTY, {IS(1, P(given_twice))}},
    {"clCreateContextFromType", "type 0", DEVICE_TYPE, {IS(2, NIL)}},
    {SAME, "unknown type", DEVICE_TYPE, {IS(2, N(NO_BIT))}},
    {SAME, "no such device", NO_DEVICE, {IS(2, N(CL_DEVICE_TYPE_CUSTOM))}},
    {SAME, "user data without callback", VALUE, {IS(3, NIL), IS(4, W(SCRATCH))}},
    {SAME, "unknown property", PROPERTY, {IS(1, P(unknown_property))}},
    {"clSetContextDestructorCallback", "no callback", VALUE, {IS(2, NIL)}},

    /* command queues */
    {"clCreateCommandQueueWithProperties", "unknown property", VALUE, {IS(3, P(unknown_property))}},
    {SAME, "unknown bit", VALUE, {IS(3, P(unknown_queue_bits))}},
    {SAME,
     "in-order queue on the device",
     CODES(CL_INVALID_VALUE, CL_INVALID_QUEUE_PROPERTIES),
     {IS(3, P(device_queue_in_order))}},
    {SAME,
     "size for a host queue",
     CODES(CL_INVALID_VALUE, CL_INVALID_QUEUE_PROPERTIES),
     {IS(3, P(size_of_host_queue))}},
    {"clCreateCommandQueue", "unknown bit", VALUE, {IS(3, N(NO_BIT))}},
    {"clSetDefaultDeviceCommandQueue",
     "queue of another context",
     CODES(CL_INVALID_COMMAND_QUEUE, CL_INVALID_OPERATION),
     {IS(3, O(FOREIGN_QUEUE))}},

    /* buffers: creation */
    {"clCreateBuffer", "size 0", SIZE_OF_BUFFER, {IS(3, NIL)}},
    {SAME, "size SIZE_MAX", SIZE_OF_BUFFER, {IS(3, N(SIZE_MAX))}},
    {SAME, "size SIZE_MAX - 4095", SIZE_OF_BUFFER, {IS(3, N(SIZE_MAX - 4095))}},
    {SAME, "one byte over the device's limit", SIZE_OF_BUFFER, {IS(3, W(BUFFER_SIZES_LIMIT))}},
    {SAME, "read-write and write-only", VALUE, {IS(2, N(CL_MEM_READ_WRITE | CL_MEM_WRITE_ONLY))}},
    {SAME, "read-write and read-only", VALUE, {IS(2, N(CL_MEM_READ_WRITE | CL_MEM_READ_ONLY))}},
    {SAME, "read-only and write-only", VALUE, {IS(2, N(CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY))}},
    {SAME,
     "use and alloc host pointer",
     VALUE,
     {IS(2, N(CL_MEM_USE_HOST_PTR | CL_MEM_ALLOC_HOST_PTR)), IS(4, W(SCRATCH))}},
    {SAME,
     "use and copy host pointer",
     VALUE,
     {IS(2, N(CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR)), IS(4, W(SCRATCH))}},
    {SAME,
     "host only writes and only reads",
     VALUE,
     {IS(2, N(CL_MEM_HOST_WRITE_ONLY | CL_MEM_HOST_READ_ONLY))}},
    {SAME,
     "host only writes and has no access",
     VALUE,
     {IS(2, N(CL_MEM_HOST_WRITE_ONLY | CL_MEM_HOST_NO_ACCESS))}},
    {SAME,
     "host only reads and has no access",
     VALUE,
     {IS(2, N(CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_NO_ACCESS))}},
    {SAME, "unknown flag", VALUE, {IS(2, N(NO_BIT))}},
    {SAME, "use host pointer, none given", HOST_PTR, {IS(2, N(CL_MEM_USE_HOST_PTR))}},
    {SAME, "copy host pointer, none given", HOST_PTR, {IS(2, N(CL_MEM_COPY_HOST_PTR))}},
    {SAME, "host pointer without flag", HOST_PTR, {IS(4, W(SCRATCH))}},
    {"clCreateBufferWithProperties", "unknown property", PROPERTY, {IS(2, P(unknown_property))}},
    {SAME, "size 0", SIZE_OF_BUFFER, {IS(4, NIL)}},
    {SAME, "size SIZE_MAX", SIZE_OF_BUFFER, {IS(4, N(SIZE_MAX))}},
    {SAME, "unknown flag", VALUE, {IS(3, N(NO_BIT))}},
    {SAME, "host pointer without flag", HOST_PTR, {IS(5, W(SCRATCH))}},
    {"clCreateSubBuffer", "no region", VALUE, {IS(4, NIL)}},
    {SAME, "unknown kind of sub-buffer", VALUE, {IS(3, N(NO_NAME))}},
    {SAME, "size 0", SIZE_OF_BUFFER, {IS(4, P(&region_empty))}},
    {SAME, "longer than its parent", VALUE, {IS(4, P(&region_long))}},
    {SAME, "outside its parent", VALUE, {IS(4, P(&region_outside))}},
    {SAME, "origin plus size overflows", VALUE, {IS(4, P(&region_overflow))}},
    {SAME, "size SIZE_MAX", VALUE, {IS(4, P(&region_huge))}},
    {SAME,
     "misaligned origin",
     CODES(CL_MISALIGNED_SUB_BUFFER_OFFSET),
     {IS(4, P(&region_misaligned))}},
    {SAME, "of a sub-buffer", CODES(CL_INVALID_MEM_OBJECT), {IS(1, O(SUB_BUFFER))}},
    {SAME, "host pointer flag", VALUE, {IS(2, N(CL_MEM_USE_HOST_PTR))}},
    {SAME, "copy flag", VALUE, {IS(2, N(CL_MEM_COPY_HOST_PTR))}},
    {SAME, "alloc flag", VALUE, {IS(2, N(CL_MEM_ALLOC_HOST_PTR))}},
    {SAME, "unknown flag", VALUE, {IS(2, N(NO_BIT))}},
    {SAME,
     "readable part of a write-only buffer",
     VALUE,
     {IS(1, O(KERNEL_WRITE_ONLY_BUFFER)), IS(2, N(CL_MEM_READ_ONLY))}},
    {SAME,
     "writable part of a read-only buffer",
     VALUE,
     {IS(1, O(KERNEL_READ_ONLY_BUFFER)), IS(2, N(CL_MEM_READ_WRITE))}},
    {SAME,
     "host may write part of a host-read-only buffer",
     VALUE,
     {IS(1, O(HOST_READ_ONLY_BUFFER)), IS(2, N(CL_MEM_HOST_WRITE_ONLY))}},
    {SAME,
     "host may read part of a host-write-only buffer",
     VALUE,
     {IS(1, O(HOST_WRITE_ONLY_BUFFER)), IS(2, N(CL_MEM_HOST_READ_ONLY))}},
    {SAME,
     "host may read part of a no-access buffer",
     VALUE,
     {IS(1, O(HOST_NO_ACCESS_BUFFER)), IS(2, N(CL_MEM_HOST_READ_ONLY))}},
    {"clSetMemObjectDestructorCallback", "no callback", VALUE, {IS(2, NIL)}},

/* buffers: read and write */
#define TRANSFERS(function, forbidden)                                                             \
    {function, "foreign buffer", FOREIGN, {IS(2, O(FOREIGN_BUFFER))}},                             \
        {function, "foreign queue", FOREIGN, {IS(1, O(FOREIGN_QUEUE))}},                           \
        {function, "offset beyond the end", VALUE, {IS(4, N(BUFFER_SIZE + 1))}},                   \
        {function, "offset SIZE_MAX", VALUE, {IS(4, N(SIZE_MAX))}},                                \
        {function, "offset plus size overflows", VALUE, {IS(4, N(SIZE_MAX - 7)), IS(5, N(16))}},   \
        {function, "size beyond the end", VALUE, {IS(5, N(BUFFER_SIZE + 1))}},                     \
        {function, "size SIZE_MAX", VALUE, {IS(5, N(SIZE_MAX))}},                                  \
        {function, "size 0", CODES(CL_SUCCESS, CL_INVALID_VALUE), {IS(5, NIL)}},                   \
        {function,                                                                                 \
         "past the end of a sub-buffer",                                                           \
         VALUE,                                                                                    \
         {IS(2, O(SUB_BUFFER)), IS(5, N(BUFFER_SIZE / 2 + 1))}},                                   \
        {function, "no host memory", VALUE, {IS(6, NIL)}},                                         \
        {function, "host may not", OPERATION, {IS(2, O(forbidden))}},                              \
        {function, "host has no access", OPERATION, {IS(2, O(HOST_NO_ACCESS_BUFFER))}},            \
    {                                                                                              \
        function, "blocking behind a failed event", DEPENDS,                                       \
        {                                                                                          \
            IS(7, N(1)), IS(8, L(FAILED_EVENT))                                                    \
        }                                                                                          \
    }
    TRANSFERS("clEnqueueReadBuffer", HOST_WRITE_ONLY_BUFFER),
    TRANSFERS("clEnqueueWriteBuffer", HOST_READ_ONLY_BUFFER),
#define RECTANGLES(function, forbidden)                                                            \
    {function, "foreign buffer", FOREIGN, {IS(2, O(FOREIGN_BUFFER))}},                             \
        {function, "no buffer origin", VALUE, {IS(4, NIL)}},                                       \
        {function, "no host origin", VALUE, {IS(5, NIL)}},                                         \
        {function, "no region", VALUE, {IS(6, NIL)}},                                              \
        {function, "buffer origin beyond the end", VALUE, {IS(4, P(beyond))}},                     \
        {function, "region crosses the end", VALUE, {IS(4, P(near_end))}},                         \
        {function, "row of origin overflows", VALUE, {IS(4, P(far_row))}},                         \
        {function, "origin SIZE_MAX", VALUE, {IS(4, P(all_huge))}},                                \
        {function, "region with a zero", VALUE, {IS(6, P(empty_row))}},                            \
        {function, "region SIZE_MAX", VALUE, {IS(6, P(all_huge))}},                                \
        {function, "region too tall", VALUE, {IS(6, P(tall))}},                                    \
        {function, "buffer row pitch below the row", VALUE, {IS(7, N(8))}},                        \
        {function, "buffer row pitch SIZE_MAX", VALUE, {IS(7, N(SIZE_MAX))}},                      \
        {function, "buffer slice pitch below the slice", VALUE, {IS(8, N(64))}},                   \
        {function, "buffer slice pitch no multiple of the row", VALUE, {IS(8, N(257))}},           \
        {function, "host row pitch below the row", VALUE, {IS(9, N(8))}},                          \
        {function, "host slice pitch below the slice", VALUE, {IS(10, N(64))}},                    \
        {function, "no host memory", VALUE, {IS(11, NIL)}},                                        \
        {function, "host may not", OPERATION, {IS(2, O(forbidden))}},                              \
        {function, "host has no access", OPERATION, {IS(2, O(HOST_NO_ACCESS_BUFFER))}},            \
    {                                                                                              \
        function, "blocking behind a failed event", DEPENDS,                                       \
        {                                                                                          \
            IS(12, N(1)), IS(13, L(FAILED_EVENT))                                                  \
        }                                                                                          \
    }
    RECTANGLES("clEnqueueReadBufferRect", HOST_WRITE_ONLY_BUFFER),
    RECTANGLES("clEnqueueWriteBufferRect", HOST_READ_ONLY_BUFFER),

    /* buffers: copy and fill */
    {"clEnqueueCopyBuffer", "foreign source", FOREIGN, {IS(2, O(FOREIGN_BUFFER))}},
    {SAME, "foreign destination", FOREIGN, {IS(3, O(FOREIGN_BUFFER))}},
    {SAME, "source offset beyond the end", VALUE, {IS(4, N(BUFFER_SIZE))}},
    {SAME, "destination offset beyond the end", VALUE, {IS(5, N(BUFFER_SIZE))}},
    {SAME, "source offset overflows", VALUE, {IS(4, N(SIZE_MAX - 31))}},
    {SAME, "destination offset overflows", VALUE, {IS(5, N(SIZE_MAX - 31))}},
    {SAME, "size SIZE_MAX", VALUE, {IS(6, N(SIZE_MAX))}},
    {SAME, "size 0", CODES(CL_SUCCESS, CL_INVALID_VALUE), {IS(6, NIL)}},
    {SAME, "onto itself", OVERLAP, {IS(3, O(BUFFER))}},
    {SAME, "overlap", OVERLAP, {IS(3, O(BUFFER)), IS(5, N(63))}},
    {SAME, "overlap through a sub-buffer", OVERLAP, {IS(3, O(SUB_BUFFER)), IS(5, N(32))}},
    {"clEnqueueCopyBufferRect", "foreign source", FOREIGN, {IS(2, O(FOREIGN_BUFFER))}},
    {SAME, "foreign destination", FOREIGN, {IS(3, O(FOREIGN_BUFFER))}},
    {SAME, "no source origin", VALUE, {IS(4, NIL)}},
    {SAME, "no destination origin", VALUE, {IS(5, NIL)}},
    {SAME, "no region", VALUE, {IS(6, NIL)}},
    {SAME, "source origin beyond the end", VALUE, {IS(4, P(beyond))}},
    {SAME, "destination crosses the end", VALUE, {IS(5, P(near_end))}},
    {SAME, "row of origin overflows", VALUE, {IS(5, P(far_row))}},
    {SAME, "region with a zero", VALUE, {IS(6, P(empty_row))}},
    {SAME, "region SIZE_MAX", VALUE, {IS(6, P(all_huge))}},
    {SAME, "source row pitch below the row", VALUE, {IS(7, N(8))}},
    {SAME, "source slice pitch below the slice", VALUE, {IS(8, N(64))}},
    {SAME, "destination row pitch below the row", VALUE, {IS(9, N(8))}},
    {SAME, "destination slice pitch below the slice", VALUE, {IS(10, N(64))}},
    {SAME,
     "one buffer, two pitches",
     CODES(CL_INVALID_VALUE, CL_MEM_COPY_OVERLAP),
     {IS(3, O(BUFFER)), IS(9, N(128))}},
    {SAME, "onto itself", OVERLAP, {IS(3, O(BUFFER))}},
    {"clEnqueueFillBuffer", "foreign buffer", FOREIGN, {IS(2, O(FOREIGN_BUFFER))}},
    {SAME, "no pattern", VALUE, {IS(3, NIL)}},
    {SAME, "pattern of 0 bytes", VALUE, {IS(4, NIL)}},
    {SAME, "pattern of 3 bytes", VALUE, {IS(4, N(3)), IS(6, N(63))}},
    {SAME, "pattern of 256 bytes", VALUE, {IS(3, W(SCRATCH)), IS(4, N(256)), IS(6, N(256))}},
    {SAME, "offset between patterns", VALUE, {IS(5, N(2))}},
    {SAME, "part of a pattern", VALUE, {IS(6, N(62))}},
    {SAME, "offset beyond the end", VALUE, {IS(5, N(BUFFER_SIZE))}},
    {SAME, "offset plus size overflows", VALUE, {IS(5, N(SIZE_MAX - 31))}},
    {SAME, "size SIZE_MAX", VALUE, {IS(6, N(SIZE_MAX))}},

    /* buffers: map, unmap, migrate */
    {"clEnqueueMapBuffer", "foreign buffer", FOREIGN, {IS(2, O(FOREIGN_BUFFER))}},
    {SAME, "unknown flag", VALUE, {IS(4, N(1 << 20))}},
    {SAME, "invalidate and read", VALUE, {IS(4, N(CL_MAP_WRITE_INVALIDATE_REGION | CL_MAP_READ))}},
    {SAME,
     "invalidate and write",
     VALUE,
     {IS(4, N(CL_MAP_WRITE_INVALIDATE_REGION | CL_MAP_WRITE))}},
    {SAME, "offset beyond the end", VALUE, {IS(5, N(BUFFER_SIZE))}},
    {SAME, "offset plus size overflows", VALUE, {IS(5, N(SIZE_MAX - 31))}},
    {SAME, "size 0", VALUE, {IS(6, NIL)}},
    {SAME, "size SIZE_MAX", VALUE, {IS(6, N(SIZE_MAX))}},
    {SAME, "read what the host may only write", OPERATION, {IS(2, O(HOST_WRITE_ONLY_BUFFER))}},
    {SAME,
     "write what the host may only read",
     OPERATION,
     {IS(2, O(HOST_READ_ONLY_BUFFER)), IS(4, N(CL_MAP_WRITE))}},
    {SAME,
     "invalidate what the host may only read",
     OPERATION,
     {IS(2, O(HOST_READ_ONLY_BUFFER)), IS(4, N(CL_MAP_WRITE_INVALIDATE_REGION))}},
    {SAME, "host has no access", OPERATION, {IS(2, O(HOST_NO_ACCESS_BUFFER))}},
    {SAME, "blocking behind a failed event", DEPENDS, {IS(7, N(1)), IS(8, L(FAILED_EVENT))}},
    {"clEnqueueUnmapMemObject", "NULL", VALUE, {IS(3, NIL)}},
    {SAME, "no mapping", VALUE, {IS(3, W(SCRATCH))}},
    {SAME, "mapping of another buffer", VALUE, {IS(2, O(OTHER_BUFFER))}},
    {SAME, "foreign buffer", FOREIGN, {IS(2, O(FOREIGN_BUFFER))}},
    {"clEnqueueMigrateMemObjects", "no objects", VALUE, {IS(2, NIL)}},
    {SAME, "no list", VALUE, {IS(3, NIL)}},
    {SAME, "unknown flag", VALUE, {IS(4, N(1 << 20))}},
    {SAME, "foreign buffer", FOREIGN, {IS(3, L(FOREIGN_BUFFER))}},

    /* programs */
    {"clCreateProgramWithSource", "no strings", VALUE, {IS(2, NIL)}},
    {SAME, "no list of strings", VALUE, {IS(3, NIL)}},
    {SAME, "NULL string", VALUE, {IS(3, P(no_string))}},
    {"clCreateProgramWithBinary", "no devices", VALUE, {IS(2, NIL)}},
    {SAME, "no list of devices", VALUE, {IS(3, NIL)}},
    {SAME, "no lengths", VALUE, {IS(4, NIL)}},
    {SAME, "length 0", VALUE, {IS(4, P(zero))}},
    {SAME, "no binaries", VALUE, {IS(5, NIL)}},
    {SAME, "NULL binary", VALUE, {IS(5, P(no_binary))}},
    {SAME,
     "garbage binary",
     CODES(CL_INVALID_BINARY),
     {IS(4, P(garbage_size)), IS(5, P(garbage_binary))}},
    {"clCreateProgramWithBuiltInKernels", "no names", VALUE, {IS(4, NIL)}},
    {SAME, "no devices", VALUE, {IS(2, NIL)}},
    {SAME, "no list of devices", VALUE, {IS(3, NIL)}},
    {"clCreateProgramWithIL", "nothing", VALUE_OR_OPERATION, {IS(2, NIL)}},
    {SAME, "length 0", VALUE_OR_OPERATION, {IS(3, NIL)}},
    {"clSetProgramReleaseCallback", "no callback", VALUE_OR_OPERATION, {IS(2, NIL)}},
    {"clBuildProgram", "list of no devices", VALUE, {IS(2, NIL)}},
    {SAME, "devices without list", VALUE, {IS(3, NIL)}},
    {SAME, "user data without callback", VALUE, {IS(6, W(SCRATCH))}},
    {SAME, "unknown option", CODES(CL_INVALID_BUILD_OPTIONS), {IS(4, P("-no-such-option"))}},
    {SAME,
     "source that does not compile",
     CODES(CL_BUILD_PROGRAM_FAILURE),
     {IS(1, W(FRESH_BROKEN))}},
    {SAME, "kernels exist", OPERATION, {IS(1, O(PROGRAM))}},
    {"clCompileProgram", "list of no devices", VALUE, {IS(2, NIL)}},
    {SAME, "devices without list", VALUE, {IS(3, NIL)}},
    {SAME, "unknown option", CODES(CL_INVALID_COMPILER_OPTIONS), {IS(4, P("-no-such-option"))}},
    {SAME, "headers without list", VALUE, {IS(6, NIL)}},
    {SAME, "headers without names", VALUE, {IS(7, NIL)}},
    {SAME, "list of no headers", VALUE, {IS(5, NIL), IS(7, NIL)}},
    {SAME, "names of no headers", VALUE, {IS(5, NIL), IS(6, NIL)}},
    {SAME, "header of another context", FOREIGN, {IS(6, L(FOREIGN_PROGRAM))}},
    {SAME, "user data without callback", VALUE, {IS(9, W(SCRATCH))}},
    {SAME,
     "source that does not compile",
     CODES(CL_COMPILE_PROGRAM_FAILURE),
     {IS(1, W(FRESH_BROKEN))}},
    {SAME, "kernels exist", OPERATION, {IS(1, O(PROGRAM))}},
    {"clLinkProgram", "list of no devices", VALUE, {IS(2, NIL)}},
    {SAME, "devices without list", VALUE, {IS(3, NIL)}},
    {SAME, "no programs", VALUE, {IS(5, NIL)}},
    {SAME, "no list of programs", VALUE, {IS(6, NIL)}},
    {SAME, "unknown option", CODES(CL_INVALID_LINKER_OPTIONS), {IS(4, P("-no-such-option"))}},
    {SAME, "program that was never compiled", OPERATION, {IS(6, L(UNBUILT_PROGRAM))}},
    {SAME, "program of another context", FOREIGN, {IS(6, L(FOREIGN_PROGRAM))}},
    {SAME, "user data without callback", VALUE, {IS(8, W(SCRATCH))}},
    {"clGetProgramInfo",
     "kernels of a program that is not built",
     NOT_BUILT,
     {IS(1, O(UNBUILT_PROGRAM)), IS(2, N(CL_PROGRAM_NUM_KERNELS))}},
    {SAME,
     "constructors of a program that is not built",
     NOT_BUILT,
     {IS(1, O(UNBUILT_PROGRAM)), IS(2, N(CL_PROGRAM_SCOPE_GLOBAL_CTORS_PRESENT))}},
    {SAME,
     "destructors of a program that is only compiled",
     NOT_BUILT,
     {IS(1, O(COMPILED_PROGRAM)), IS(2, N(CL_PROGRAM_SCOPE_GLOBAL_DTORS_PRESENT))}},

    /* kernels */
    {"clCreateKernel", "no name", VALUE, {IS(2, NIL)}},
    {SAME, "unknown name", CODES(CL_INVALID_KERNEL_NAME), {IS(2, P("no_such_kernel"))}},
    {SAME, "empty name", CODES(CL_INVALID_KERNEL_NAME, CL_INVALID_VALUE), {IS(2, P(""))}},
    {SAME, "program not built", NOT_BUILT, {IS(1, O(UNBUILT_PROGRAM))}},
    {SAME, "program failed to build", NOT_BUILT, {IS(1, O(FAILED_PROGRAM))}},
    {"clCreateKernelsInProgram", "less room than kernels", VALUE, {IS(2, N(1)), IS(3, W(SCRATCH))}},
    {SAME, "program not built", NOT_BUILT, {IS(1, O(UNBUILT_PROGRAM))}},
    {"clSetKernelArg", "index too large", ARG_INDEX, {IS(2, N(2))}},
    {SAME, "index UINT_MAX", ARG_INDEX, {IS(2, N(UINT32_MAX))}},
    {SAME, "size 0 for a buffer", ARG_SIZE, {IS(3, NIL)}},
    {SAME, "half a handle", ARG_SIZE, {IS(3, N(4))}},
    {SAME, "size SIZE_MAX", ARG_SIZE, {IS(3, N(SIZE_MAX))}},
    {SAME, "int of 8 bytes", ARG_SIZE, {IS(2, N(1)), IS(3, N(8)), IS(4, W(SCRATCH))}},
    {SAME, "int of 1 byte", ARG_SIZE, {IS(2, N(1)), IS(3, N(1)), IS(4, W(SCRATCH))}},
    {SAME,
     "int without value",
     CODES(CL_INVALID_ARG_VALUE),
     {IS(2, N(1)), IS(3, N(4)), IS(4, NIL)}},
    {SAME,
     "local memory of 0 bytes",
     ARG_SIZE,
     {IS(1, O(LOCAL_KERNEL)), IS(2, N(1)), IS(3, NIL), IS(4, NIL)}},
    {SAME,
     "local memory with a value",
     CODES(CL_INVALID_ARG_VALUE),
     {IS(1, O(LOCAL_KERNEL)), IS(2, N(1)), IS(3, N(64)), IS(4, W(SCRATCH))}},
    {"clSetKernelArgSVMPointer", "index too large", ARG_INDEX, {IS(2, N(2))}},
    {"clSetKernelExecInfo", "unknown name", VALUE, {IS(2, N(NO_NAME))}},
    {SAME, "no value", VALUE, {IS(4, NIL)}},
    {SAME, "half a pointer", VALUE, {IS(3, N(4))}},
    {"clGetKernelArgInfo", "index too large", ARG_INDEX, {IS(2, N(2))}},
    {"clEnqueueNDRangeKernel", "foreign kernel", FOREIGN, {IS(2, O(FOREIGN_KERNEL))}},
    {SAME, "foreign queue", FOREIGN, {IS(1, O(FOREIGN_QUEUE))}},
    {SAME, "no arguments set", KERNEL_ARGS, {IS(2, O(UNSET_KERNEL))}},
    {SAME, "last argument not set", KERNEL_ARGS, {IS(2, O(HALF_SET_KERNEL))}},
    {SAME, "no dimensions", WORK_DIMENSION, {IS(3, NIL)}},
    {SAME, "4 dimensions", WORK_DIMENSION, {IS(3, N(4))}},
    {SAME, "dimensions UINT_MAX", WORK_DIMENSION, {IS(3, N(UINT32_MAX))}},
    {SAME, "no global size", CODES(CL_INVALID_GLOBAL_WORK_SIZE, CL_SUCCESS), {IS(5, NIL)}},
    {SAME, "global size 0", CODES(CL_INVALID_GLOBAL_WORK_SIZE, CL_SUCCESS), {IS(5, P(zero))}},
    {SAME,
     "global offset overflows",
     CODES(CL_INVALID_GLOBAL_OFFSET, CL_INVALID_GLOBAL_WORK_SIZE),
     {IS(4, P(huge))}},
    {SAME,
     "local size 0",
     CODES(CL_INVALID_WORK_GROUP_SIZE, CL_INVALID_WORK_ITEM_SIZE),
     {IS(6, P(zero))}},
    {SAME, "local size does not divide", GROUP_SIZE, {IS(6, P(three))}},
    {SAME,
     "local size over the limit",
     CODES(CL_INVALID_WORK_GROUP_SIZE, CL_INVALID_WORK_ITEM_SIZE),
     {IS(5, W(GROUP_TOO_LARGE)), IS(6, W(GROUP_TOO_LARGE))}},
    {SAME,
     "local size SIZE_MAX",
     CODES(CL_INVALID_WORK_GROUP_SIZE, CL_INVALID_WORK_ITEM_SIZE),
     {IS(6, P(huge))}},
    {SAME,
     "not the group size of the source",
     GROUP_SIZE,
     {IS(2, O(FIXED_GROUP_KERNEL)), IS(6, P(sixteen))}},
    {"clEnqueueTask", "foreign kernel", FOREIGN, {IS(2, O(FOREIGN_KERNEL))}},
    {SAME, "no arguments set", KERNEL_ARGS, {IS(2, O(UNSET_KERNEL))}},
    {SAME, "not the group size of the source", GROUP_SIZE, {IS(2, O(FIXED_GROUP_KERNEL))}},
    {"clEnqueueNativeKernel", "no function", VALUE_OR_OPERATION, {IS(2, NIL)}},
    {SAME, "size without arguments", VALUE_OR_OPERATION, {IS(3, NIL)}},
    {SAME, "arguments without size", VALUE_OR_OPERATION, {IS(4, NIL)}},
    {SAME, "buffers without list", VALUE_OR_OPERATION, {IS(6, NIL)}},
    {SAME, "list of no buffers", VALUE_OR_OPERATION, {IS(5, NIL)}},

    /* events */
    {"clWaitForEvents", "no events", VALUE, {IS(1, NIL)}},
    {SAME, "no list", VALUE, {IS(2, NIL)}},
    {SAME, "failed event", DEPENDS, {IS(2, L(FAILED_EVENT))}},
    {"clSetUserEventStatus", "CL_SUBMITTED", VALUE, {IS(2, N(CL_SUBMITTED))}},
    {SAME, "CL_RUNNING", VALUE, {IS(2, N(CL_RUNNING))}},
    {SAME, "CL_QUEUED", VALUE, {IS(2, N(CL_QUEUED))}},
    {SAME, "an event of a command", CODES(CL_INVALID_EVENT), {IS(1, O(EVENT))}},
    {SAME, "twice", OPERATION, {IS(1, O(COMPLETE_USER_EVENT))}},
    {SAME, "twice, after a failure", OPERATION, {IS(1, O(FAILED_EVENT))}},
    {"clSetEventCallback", "no callback", VALUE, {IS(3, NIL)}},
    {SAME, "CL_QUEUED", VALUE, {IS(2, N(CL_QUEUED))}},
    {SAME, "unknown status", VALUE, {IS(2, N(NO_NAME))}},
    {"clGetEventProfilingInfo",
     "user event",
     CODES(CL_PROFILING_INFO_NOT_AVAILABLE),
     {IS(1, O(USER_EVENT))}},
    {SAME,
     "queue without profiling",
     CODES(CL_PROFILING_INFO_NOT_AVAILABLE),
     {IS(1, O(UNPROFILED_EVENT))}},
    {"clEnqueueMarker", "no event", VALUE, {IS(2, NIL)}},
    {"clEnqueueWaitForEvents", "no events", VALUE, {IS(2, NIL)}},
    {SAME, "no list", VALUE, {IS(3, NIL)}},
    {SAME, "foreign event", FOREIGN, {IS(3, L(FOREIGN_EVENT))}},

    /* shared virtual memory */
    {"clSVMAlloc", "size 0", CODES(ANY_ERROR), {IS(3, NIL)}},
    {SAME, "size SIZE_MAX", CODES(ANY_ERROR), {IS(3, N(SIZE_MAX))}},
    {SAME, "one byte over the device's limit", CODES(ANY_ERROR), {IS(3, W(BUFFER_SIZES_LIMIT))}},
    {SAME, "alignment 3", CODES(ANY_ERROR), {IS(4, N(3))}},
    {SAME, "alignment 1 << 30", CODES(ANY_ERROR), {IS(4, N(1 << 30))}},
    {SAME, "unknown flag", CODES(ANY_ERROR), {IS(2, N(NO_BIT))}},
    {SAME, "atomics of coarse memory", CODES(ANY_ERROR), {IS(2, N(CL_MEM_SVM_ATOMICS))}},
    {SAME,
     "read-only and write-only",
     CODES(ANY_ERROR),
     {IS(2, N(CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY))}},
    {"clEnqueueSVMFree", "list of no pointers", VALUE, {IS(2, NIL)}},
    {SAME, "pointers without list", VALUE, {IS(3, NIL)}},
    {"clEnqueueSVMMemcpy", "no destination", VALUE, {IS(3, NIL)}},
    {SAME, "no source", VALUE, {IS(4, NIL)}},
    {SAME, "overlap", OVERLAP, {IS(4, SVM(8))}},
    {SAME, "blocking behind a failed event", DEPENDS, {IS(6, N(1)), IS(7, L(FAILED_EVENT))}},
    {"clEnqueueSVMMemFill", "no memory", VALUE, {IS(2, NIL)}},
    {SAME, "no pattern", VALUE, {IS(3, NIL)}},
    {SAME, "pattern of 0 bytes", VALUE, {IS(4, NIL)}},
    {SAME, "pattern of 3 bytes", VALUE, {IS(4, N(3)), IS(5, N(63))}},
    {SAME, "pattern of 256 bytes", VALUE, {IS(3, W(SCRATCH)), IS(4, N(256)), IS(5, N(256))}},
    {SAME, "address between patterns", VALUE, {IS(2, SVM(2))}},
    {SAME, "part of a pattern", VALUE, {IS(5, N(62))}},
    {"clEnqueueSVMMap", "no memory", VALUE, {IS(4, NIL)}},
    {SAME, "size 0", VALUE, {IS(5, NIL)}},
    {SAME, "unknown flag", VALUE, {IS(3, N(1 << 20))}},
    {SAME, "blocking behind a failed event", DEPENDS, {IS(6, N(1)), IS(7, L(FAILED_EVENT))}},
    {"clEnqueueSVMUnmap", "no memory", VALUE, {IS(2, NIL)}},
    {"clEnqueueSVMMigrateMem", "no pointers", VALUE, {IS(2, NIL)}},
    {SAME, "no list", VALUE, {IS(3, NIL)}},

    /* images: where the device has none, everything here is CL_INVALID_OPERATION */
    {"clGetSupportedImageFormats", "room for none", VALUE_OR_OPERATION, {IS(5, W(SCRATCH))}},
    {SAME, "unknown flag", VALUE_OR_OPERATION, {IS(2, N(NO_BIT))}},
    {SAME,
     "read-only and write-only",
     VALUE_OR_OPERATION,
     {IS(2, N(CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY))}},
    {"clGetImageInfo",
     "a buffer",
     CODES(CL_INVALID_MEM_OBJECT, CL_INVALID_OPERATION),
     {IS(1, O(BUFFER))}},
    {"clCreateImage",
     "no format",
     CODES(CL_INVALID_IMAGE_FORMAT_DESCRIPTOR, CL_INVALID_OPERATION),
     {IS(3, NIL)}},
    {SAME,
     "no description",
     CODES(CL_INVALID_IMAGE_DESCRIPTOR, CL_INVALID_OPERATION),
     {IS(4, NIL)}},
    {SAME, "unknown flag", VALUE_OR_OPERATION, {IS(2, N(NO_BIT))}},
};
const size_t bad_call_count = sizeof bad_calls / sizeof bad_calls[0];
