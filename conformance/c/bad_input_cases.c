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

#define VALUE CODES(CL_INVALID_VALUE)
#define PROPERTY CODES(CL_INVALID_PROPERTY)
#define OPERATION CODES(CL_INVALID_OPERATION)
#define FOREIGN CODES(CL_INVALID_CONTEXT)
#define DEPENDS CODES(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST)
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
    {"clGetPlatformIDs", "nothing asked", VALUE, {IS(2, NIL), IS(3, NIL)}},
    {"clGetDeviceIDs", "room for none", VALUE, {IS(3, NIL)}},
    {"clGetDeviceIDs", "nothing asked", VALUE, {IS(4, NIL), IS(5, NIL)}},
    {"clGetDeviceIDs", "type 0", CODES(CL_INVALID_DEVICE_TYPE), {IS(2, NIL)}},
    {"clGetDeviceIDs",
     "no such device",
     CODES(CL_DEVICE_NOT_FOUND),
     {IS(2, N(CL_DEVICE_TYPE_CUSTOM))}},
    {"clGetDeviceIDs", "unknown type", CODES(CL_INVALID_DEVICE_TYPE), {IS(2, N(NO_BIT))}},
    {"clGetExtensionFunctionAddress",
     "unknown name",
     CODES(ANY_ERROR),
     {IS(1, P("clNoSuchFunctionEXT"))}},
    {"clGetExtensionFunctionAddressForPlatform",
     "unknown name",
     CODES(ANY_ERROR),
     {IS(2, P("clNoSuchFunctionEXT"))}},
    {"clCreateSubDevices",
     "no properties",
     CODES(CL_INVALID_VALUE, CL_INVALID_OPERATION),
     {IS(2, NIL)}},
    {"clCreateSubDevices", "unknown property", VALUE, {IS(2, P(no_partition))}},
    {"clGetDeviceAndHostTimer",
     "no device time",
     CODES(CL_INVALID_VALUE, CL_INVALID_OPERATION),
     {IS(2, NIL)}},
    {"clGetDeviceAndHostTimer",
     "no host time",
     CODES(CL_INVALID_VALUE, CL_INVALID_OPERATION),
     {IS(3, NIL)}},
    {"clGetHostTimer", "no host time", CODES(CL_INVALID_VALUE, CL_INVALID_OPERATION), {IS(2, NIL)}},

    /* contexts */
    {"clCreateContext", "no devices", VALUE, {IS(2, NIL)}},
    {"clCreateContext", "no list of devices", VALUE, {IS(3, NIL)}},
    {"clCreateContext", "user data without callback", VALUE, {IS(4, NIL), IS(5, W(SCRATCH))}},
    {"clCreateContext", "unknown property", PROPERTY, {IS(1, P(unknown_property))}},
    {"clCreateContext", "property given twice", PROPERTY, {IS(1, P(given_twice))}},
    {"clCreateContextFromType", "type 0", CODES(CL_INVALID_DEVICE_TYPE), {IS(2, NIL)}},
    {"clCreateContextFromType", "unknown type", CODES(CL_INVALID_DEVICE_TYPE), {IS(2, N(NO_BIT))}},
    {"clCreateContextFromType",
     "no such device",
     CODES(CL_DEVICE_NOT_FOUND),
     {IS(2, N(CL_DEVICE_TYPE_CUSTOM))}},
    {"clCreateContextFromType",
     "user data without callback",
     VALUE,
     {IS(3, NIL), IS(4, W(SCRATCH))}},
    {"clCreateContextFromType", "unknown property", PROPERTY, {IS(1, P(unknown_property))}},
    {"clSetContextDestructorCallback", "no callback", VALUE, {IS(2, NIL)}},

    /* command queues */
    {"clCreateCommandQueueWithProperties", "unknown property", VALUE, {IS(3, P(unknown_property))}},
    {"clCreateCommandQueueWithProperties", "unknown bit", VALUE, {IS(3, P(unknown_queue_bits))}},
    {"clCreateCommandQueueWithProperties",
     "in-order queue on the device",
     CODES(CL_INVALID_VALUE, CL_INVALID_QUEUE_PROPERTIES),
     {IS(3, P(device_queue_in_order))}},
    {"clCreateCommandQueueWithProperties",
     "size for a host queue",
     CODES(CL_INVALID_VALUE, CL_INVALID_QUEUE_PROPERTIES),
     {IS(3, P(size_of_host_queue))}},
    {"clCreateCommandQueue", "unknown bit", VALUE, {IS(3, N(NO_BIT))}},
    {"clSetDefaultDeviceCommandQueue",
     "queue of another context",
     CODES(CL_INVALID_COMMAND_QUEUE, CL_INVALID_OPERATION),
     {IS(3, O(FOREIGN_QUEUE))}},

    /* buffers: creation */
    {"clCreateBuffer", "size 0", CODES(CL_INVALID_BUFFER_SIZE), {IS(3, NIL)}},
    {"clCreateBuffer", "size SIZE_MAX", CODES(CL_INVALID_BUFFER_SIZE), {IS(3, N(SIZE_MAX))}},
    {"clCreateBuffer",
     "size SIZE_MAX - 4095",
     CODES(CL_INVALID_BUFFER_SIZE),
     {IS(3, N(SIZE_MAX - 4095))}},
    {"clCreateBuffer",
     "one byte over the device's limit",
     CODES(CL_INVALID_BUFFER_SIZE),
     {IS(3, W(BUFFER_SIZES_LIMIT))}},
    {"clCreateBuffer",
     "read-write and write-only",
     VALUE,
     {IS(2, N(CL_MEM_READ_WRITE | CL_MEM_WRITE_ONLY))}},
    {"clCreateBuffer",
     "read-write and read-only",
     VALUE,
     {IS(2, N(CL_MEM_READ_WRITE | CL_MEM_READ_ONLY))}},
    {"clCreateBuffer",
     "read-only and write-only",
     VALUE,
     {IS(2, N(CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY))}},
    {"clCreateBuffer",
     "use and alloc host pointer",
     VALUE,
     {IS(2, N(CL_MEM_USE_HOST_PTR | CL_MEM_ALLOC_HOST_PTR)), IS(4, W(SCRATCH))}},
    {"clCreateBuffer",
     "use and copy host pointer",
     VALUE,
     {IS(2, N(CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR)), IS(4, W(SCRATCH))}},
    {"clCreateBuffer",
     "host only writes and only reads",
     VALUE,
     {IS(2, N(CL_MEM_HOST_WRITE_ONLY | CL_MEM_HOST_READ_ONLY))}},
    {"clCreateBuffer",
     "host only writes and has no access",
     VALUE,
     {IS(2, N(CL_MEM_HOST_WRITE_ONLY | CL_MEM_HOST_NO_ACCESS))}},
    {"clCreateBuffer",
     "host only reads and has no access",
     VALUE,
     {IS(2, N(CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_NO_ACCESS))}},
    {"clCreateBuffer", "unknown flag", VALUE, {IS(2, N(NO_BIT))}},
    {"clCreateBuffer",
     "use host pointer, none given",
     CODES(CL_INVALID_HOST_PTR),
     {IS(2, N(CL_MEM_USE_HOST_PTR))}},
    {"clCreateBuffer",
     "copy host pointer, none given",
     CODES(CL_INVALID_HOST_PTR),
     {IS(2, N(CL_MEM_COPY_HOST_PTR))}},
    {"clCreateBuffer",
     "host pointer without flag",
     CODES(CL_INVALID_HOST_PTR),
     {IS(4, W(SCRATCH))}},
    {"clCreateBufferWithProperties", "unknown property", PROPERTY, {IS(2, P(unknown_property))}},
    {"clCreateBufferWithProperties", "size 0", CODES(CL_INVALID_BUFFER_SIZE), {IS(4, NIL)}},
    {"clCreateBufferWithProperties",
     "size SIZE_MAX",
     CODES(CL_INVALID_BUFFER_SIZE),
     {IS(4, N(SIZE_MAX))}},
    {"clCreateBufferWithProperties", "unknown flag", VALUE, {IS(3, N(NO_BIT))}},
    {"clCreateBufferWithProperties",
     "host pointer without flag",
     CODES(CL_INVALID_HOST_PTR),
     {IS(5, W(SCRATCH))}},
    {"clCreateSubBuffer", "no region", VALUE, {IS(4, NIL)}},
    {"clCreateSubBuffer", "unknown kind of sub-buffer", VALUE, {IS(3, N(NO_NAME))}},
    {"clCreateSubBuffer", "size 0", CODES(CL_INVALID_BUFFER_SIZE), {IS(4, P(&region_empty))}},
    {"clCreateSubBuffer", "longer than its parent", VALUE, {IS(4, P(&region_long))}},
    {"clCreateSubBuffer", "outside its parent", VALUE, {IS(4, P(&region_outside))}},
    {"clCreateSubBuffer", "origin plus size overflows", VALUE, {IS(4, P(&region_overflow))}},
    {"clCreateSubBuffer", "size SIZE_MAX", VALUE, {IS(4, P(&region_huge))}},
    {"clCreateSubBuffer",
     "misaligned origin",
     CODES(CL_MISALIGNED_SUB_BUFFER_OFFSET),
     {IS(4, P(&region_misaligned))}},
    {"clCreateSubBuffer", "of a sub-buffer", CODES(CL_INVALID_MEM_OBJECT), {IS(1, O(SUB_BUFFER))}},
    {"clCreateSubBuffer", "host pointer flag", VALUE, {IS(2, N(CL_MEM_USE_HOST_PTR))}},
    {"clCreateSubBuffer", "copy flag", VALUE, {IS(2, N(CL_MEM_COPY_HOST_PTR))}},
    {"clCreateSubBuffer", "alloc flag", VALUE, {IS(2, N(CL_MEM_ALLOC_HOST_PTR))}},
    {"clCreateSubBuffer", "unknown flag", VALUE, {IS(2, N(NO_BIT))}},
    {"clCreateSubBuffer",
     "readable part of a write-only buffer",
     VALUE,
     {IS(1, O(KERNEL_WRITE_ONLY_BUFFER)), IS(2, N(CL_MEM_READ_ONLY))}},
    {"clCreateSubBuffer",
     "writable part of a read-only buffer",
     VALUE,
     {IS(1, O(KERNEL_READ_ONLY_BUFFER)), IS(2, N(CL_MEM_READ_WRITE))}},
    {"clCreateSubBuffer",
     "host may write part of a host-read-only buffer",
     VALUE,
     {IS(1, O(HOST_READ_ONLY_BUFFER)), IS(2, N(CL_MEM_HOST_WRITE_ONLY))}},
    {"clCreateSubBuffer",
     "host may read part of a host-write-only buffer",
     VALUE,
     {IS(1, O(HOST_WRITE_ONLY_BUFFER)), IS(2, N(CL_MEM_HOST_READ_ONLY))}},
    {"clCreateSubBuffer",
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
    {"clEnqueueCopyBuffer", "foreign destination", FOREIGN, {IS(3, O(FOREIGN_BUFFER))}},
    {"clEnqueueCopyBuffer", "source offset beyond the end", VALUE, {IS(4, N(BUFFER_SIZE))}},
    {"clEnqueueCopyBuffer", "destination offset beyond the end", VALUE, {IS(5, N(BUFFER_SIZE))}},
    {"clEnqueueCopyBuffer", "source offset overflows", VALUE, {IS(4, N(SIZE_MAX - 31))}},
    {"clEnqueueCopyBuffer", "destination offset overflows", VALUE, {IS(5, N(SIZE_MAX - 31))}},
    {"clEnqueueCopyBuffer", "size SIZE_MAX", VALUE, {IS(6, N(SIZE_MAX))}},
    {"clEnqueueCopyBuffer", "size 0", CODES(CL_SUCCESS, CL_INVALID_VALUE), {IS(6, NIL)}},
    {"clEnqueueCopyBuffer", "onto itself", CODES(CL_MEM_COPY_OVERLAP), {IS(3, O(BUFFER))}},
    {"clEnqueueCopyBuffer",
     "overlap",
     CODES(CL_MEM_COPY_OVERLAP),
     {IS(3, O(BUFFER)), IS(5, N(63))}},
    {"clEnqueueCopyBuffer",
     "overlap through a sub-buffer",
     CODES(CL_MEM_COPY_OVERLAP),
     {IS(3, O(SUB_BUFFER)), IS(5, N(32))}},
    {"clEnqueueCopyBufferRect", "foreign source", FOREIGN, {IS(2, O(FOREIGN_BUFFER))}},
    {"clEnqueueCopyBufferRect", "foreign destination", FOREIGN, {IS(3, O(FOREIGN_BUFFER))}},
    {"clEnqueueCopyBufferRect", "no source origin", VALUE, {IS(4, NIL)}},
    {"clEnqueueCopyBufferRect", "no destination origin", VALUE, {IS(5, NIL)}},
    {"clEnqueueCopyBufferRect", "no region", VALUE, {IS(6, NIL)}},
    {"clEnqueueCopyBufferRect", "source origin beyond the end", VALUE, {IS(4, P(beyond))}},
    {"clEnqueueCopyBufferRect", "destination crosses the end", VALUE, {IS(5, P(near_end))}},
    {"clEnqueueCopyBufferRect", "row of origin overflows", VALUE, {IS(5, P(far_row))}},
    {"clEnqueueCopyBufferRect", "region with a zero", VALUE, {IS(6, P(empty_row))}},
    {"clEnqueueCopyBufferRect", "region SIZE_MAX", VALUE, {IS(6, P(all_huge))}},
    {"clEnqueueCopyBufferRect", "source row pitch below the row", VALUE, {IS(7, N(8))}},
    {"clEnqueueCopyBufferRect", "source slice pitch below the slice", VALUE, {IS(8, N(64))}},
    {"clEnqueueCopyBufferRect", "destination row pitch below the row", VALUE, {IS(9, N(8))}},
    {"clEnqueueCopyBufferRect", "destination slice pitch below the slice", VALUE, {IS(10, N(64))}},
    {"clEnqueueCopyBufferRect",
     "one buffer, two pitches",
     CODES(CL_INVALID_VALUE, CL_MEM_COPY_OVERLAP),
     {IS(3, O(BUFFER)), IS(9, N(128))}},
    {"clEnqueueCopyBufferRect", "onto itself", CODES(CL_MEM_COPY_OVERLAP), {IS(3, O(BUFFER))}},
    {"clEnqueueFillBuffer", "foreign buffer", FOREIGN, {IS(2, O(FOREIGN_BUFFER))}},
    {"clEnqueueFillBuffer", "no pattern", VALUE, {IS(3, NIL)}},
    {"clEnqueueFillBuffer", "pattern of 0 bytes", VALUE, {IS(4, NIL)}},
    {"clEnqueueFillBuffer", "pattern of 3 bytes", VALUE, {IS(4, N(3)), IS(6, N(63))}},
    {"clEnqueueFillBuffer",
     "pattern of 256 bytes",
     VALUE,
     {IS(3, W(SCRATCH)), IS(4, N(256)), IS(6, N(256))}},
    {"clEnqueueFillBuffer", "offset between patterns", VALUE, {IS(5, N(2))}},
    {"clEnqueueFillBuffer", "part of a pattern", VALUE, {IS(6, N(62))}},
    {"clEnqueueFillBuffer", "offset beyond the end", VALUE, {IS(5, N(BUFFER_SIZE))}},
    {"clEnqueueFillBuffer", "offset plus size overflows", VALUE, {IS(5, N(SIZE_MAX - 31))}},
    {"clEnqueueFillBuffer", "size SIZE_MAX", VALUE, {IS(6, N(SIZE_MAX))}},

    /* buffers: map, unmap, migrate */
    {"clEnqueueMapBuffer", "foreign buffer", FOREIGN, {IS(2, O(FOREIGN_BUFFER))}},
    {"clEnqueueMapBuffer", "unknown flag", VALUE, {IS(4, N(1 << 20))}},
    {"clEnqueueMapBuffer",
     "invalidate and read",
     VALUE,
     {IS(4, N(CL_MAP_WRITE_INVALIDATE_REGION | CL_MAP_READ))}},
    {"clEnqueueMapBuffer",
     "invalidate and write",
     VALUE,
     {IS(4, N(CL_MAP_WRITE_INVALIDATE_REGION | CL_MAP_WRITE))}},
    {"clEnqueueMapBuffer", "offset beyond the end", VALUE, {IS(5, N(BUFFER_SIZE))}},
    {"clEnqueueMapBuffer", "offset plus size overflows", VALUE, {IS(5, N(SIZE_MAX - 31))}},
    {"clEnqueueMapBuffer", "size 0", VALUE, {IS(6, NIL)}},
    {"clEnqueueMapBuffer", "size SIZE_MAX", VALUE, {IS(6, N(SIZE_MAX))}},
    {"clEnqueueMapBuffer",
     "read what the host may only write",
     OPERATION,
     {IS(2, O(HOST_WRITE_ONLY_BUFFER))}},
    {"clEnqueueMapBuffer",
     "write what the host may only read",
     OPERATION,
     {IS(2, O(HOST_READ_ONLY_BUFFER)), IS(4, N(CL_MAP_WRITE))}},
    {"clEnqueueMapBuffer",
     "invalidate what the host may only read",
     OPERATION,
     {IS(2, O(HOST_READ_ONLY_BUFFER)), IS(4, N(CL_MAP_WRITE_INVALIDATE_REGION))}},
    {"clEnqueueMapBuffer", "host has no access", OPERATION, {IS(2, O(HOST_NO_ACCESS_BUFFER))}},
    {"clEnqueueMapBuffer",
     "blocking behind a failed event",
     DEPENDS,
     {IS(7, N(1)), IS(8, L(FAILED_EVENT))}},
    {"clEnqueueUnmapMemObject", "NULL", VALUE, {IS(3, NIL)}},
    {"clEnqueueUnmapMemObject", "no mapping", VALUE, {IS(3, W(SCRATCH))}},
    {"clEnqueueUnmapMemObject", "mapping of another buffer", VALUE, {IS(2, O(OTHER_BUFFER))}},
    {"clEnqueueUnmapMemObject", "foreign buffer", FOREIGN, {IS(2, O(FOREIGN_BUFFER))}},
    {"clEnqueueMigrateMemObjects", "no objects", VALUE, {IS(2, NIL)}},
    {"clEnqueueMigrateMemObjects", "no list", VALUE, {IS(3, NIL)}},
    {"clEnqueueMigrateMemObjects", "unknown flag", VALUE, {IS(4, N(1 << 20))}},
    {"clEnqueueMigrateMemObjects", "foreign buffer", FOREIGN, {IS(3, L(FOREIGN_BUFFER))}},

    /* programs */
    {"clCreateProgramWithSource", "no strings", VALUE, {IS(2, NIL)}},
    {"clCreateProgramWithSource", "no list of strings", VALUE, {IS(3, NIL)}},
    {"clCreateProgramWithSource", "NULL string", VALUE, {IS(3, P(no_string))}},
    {"clCreateProgramWithBinary", "no devices", VALUE, {IS(2, NIL)}},
    {"clCreateProgramWithBinary", "no list of devices", VALUE, {IS(3, NIL)}},
    {"clCreateProgramWithBinary", "no lengths", VALUE, {IS(4, NIL)}},
    {"clCreateProgramWithBinary", "length 0", VALUE, {IS(4, P(zero))}},
    {"clCreateProgramWithBinary", "no binaries", VALUE, {IS(5, NIL)}},
    {"clCreateProgramWithBinary", "NULL binary", VALUE, {IS(5, P(no_binary))}},
    {"clCreateProgramWithBinary",
     "garbage binary",
     CODES(CL_INVALID_BINARY),
     {IS(4, P(garbage_size)), IS(5, P(garbage_binary))}},
    {"clCreateProgramWithBuiltInKernels", "no names", VALUE, {IS(4, NIL)}},
    {"clCreateProgramWithBuiltInKernels", "no devices", VALUE, {IS(2, NIL)}},
    {"clCreateProgramWithBuiltInKernels", "no list of devices", VALUE, {IS(3, NIL)}},
    {"clCreateProgramWithIL",
     "nothing",
     CODES(CL_INVALID_VALUE, CL_INVALID_OPERATION),
     {IS(2, NIL)}},
    {"clCreateProgramWithIL",
     "length 0",
     CODES(CL_INVALID_VALUE, CL_INVALID_OPERATION),
     {IS(3, NIL)}},
    {"clSetProgramReleaseCallback",
     "no callback",
     CODES(CL_INVALID_VALUE, CL_INVALID_OPERATION),
     {IS(2, NIL)}},
    {"clBuildProgram", "list of no devices", VALUE, {IS(2, NIL)}},
    {"clBuildProgram", "devices without list", VALUE, {IS(3, NIL)}},
    {"clBuildProgram", "user data without callback", VALUE, {IS(6, W(SCRATCH))}},
    {"clBuildProgram",
     "unknown option",
     CODES(CL_INVALID_BUILD_OPTIONS),
     {IS(4, P("-no-such-option"))}},
    {"clBuildProgram",
     "source that does not compile",
     CODES(CL_BUILD_PROGRAM_FAILURE),
     {IS(1, W(FRESH_BROKEN))}},
    {"clBuildProgram", "kernels exist", OPERATION, {IS(1, O(PROGRAM))}},
    {"clCompileProgram", "list of no devices", VALUE, {IS(2, NIL)}},
    {"clCompileProgram", "devices without list", VALUE, {IS(3, NIL)}},
    {"clCompileProgram",
     "unknown option",
     CODES(CL_INVALID_COMPILER_OPTIONS),
     {IS(4, P("-no-such-option"))}},
    {"clCompileProgram", "headers without list", VALUE, {IS(6, NIL)}},
    {"clCompileProgram", "headers without names", VALUE, {IS(7, NIL)}},
    {"clCompileProgram", "list of no headers", VALUE, {IS(5, NIL), IS(7, NIL)}},
    {"clCompileProgram", "names of no headers", VALUE, {IS(5, NIL), IS(6, NIL)}},
    {"clCompileProgram", "user data without callback", VALUE, {IS(9, W(SCRATCH))}},
    {"clCompileProgram",
     "source that does not compile",
     CODES(CL_COMPILE_PROGRAM_FAILURE),
     {IS(1, W(FRESH_BROKEN))}},
    {"clCompileProgram", "kernels exist", OPERATION, {IS(1, O(PROGRAM))}},
    {"clLinkProgram", "list of no devices", VALUE, {IS(2, NIL)}},
    {"clLinkProgram", "devices without list", VALUE, {IS(3, NIL)}},
    {"clLinkProgram", "no programs", VALUE, {IS(5, NIL)}},
    {"clLinkProgram", "no list of programs", VALUE, {IS(6, NIL)}},
    {"clLinkProgram",
     "unknown option",
     CODES(CL_INVALID_LINKER_OPTIONS),
     {IS(4, P("-no-such-option"))}},
    {"clLinkProgram", "program that was never compiled", OPERATION, {IS(6, L(UNBUILT_PROGRAM))}},
    {"clLinkProgram", "user data without callback", VALUE, {IS(8, W(SCRATCH))}},

    /* kernels */
    {"clCreateKernel", "no name", VALUE, {IS(2, NIL)}},
    {"clCreateKernel", "unknown name", CODES(CL_INVALID_KERNEL_NAME), {IS(2, P("no_such_kernel"))}},
    {"clCreateKernel",
     "empty name",
     CODES(CL_INVALID_KERNEL_NAME, CL_INVALID_VALUE),
     {IS(2, P(""))}},
    {"clCreateKernel",
     "program not built",
     CODES(CL_INVALID_PROGRAM_EXECUTABLE),
     {IS(1, O(UNBUILT_PROGRAM))}},
    {"clCreateKernel",
     "program failed to build",
     CODES(CL_INVALID_PROGRAM_EXECUTABLE),
     {IS(1, O(FAILED_PROGRAM))}},
    {"clCreateKernelsInProgram", "less room than kernels", VALUE, {IS(2, N(1)), IS(3, W(SCRATCH))}},
    {"clCreateKernelsInProgram",
     "program not built",
     CODES(CL_INVALID_PROGRAM_EXECUTABLE),
     {IS(1, O(UNBUILT_PROGRAM))}},
    {"clSetKernelArg", "index too large", CODES(CL_INVALID_ARG_INDEX), {IS(2, N(2))}},
    {"clSetKernelArg", "index UINT_MAX", CODES(CL_INVALID_ARG_INDEX), {IS(2, N(UINT32_MAX))}},
    {"clSetKernelArg", "size 0 for a buffer", CODES(CL_INVALID_ARG_SIZE), {IS(3, NIL)}},
    {"clSetKernelArg", "half a handle", CODES(CL_INVALID_ARG_SIZE), {IS(3, N(4))}},
    {"clSetKernelArg", "size SIZE_MAX", CODES(CL_INVALID_ARG_SIZE), {IS(3, N(SIZE_MAX))}},
    {"clSetKernelArg",
     "int of 8 bytes",
     CODES(CL_INVALID_ARG_SIZE),
     {IS(2, N(1)), IS(3, N(8)), IS(4, W(SCRATCH))}},
    {"clSetKernelArg",
     "int of 1 byte",
     CODES(CL_INVALID_ARG_SIZE),
     {IS(2, N(1)), IS(3, N(1)), IS(4, W(SCRATCH))}},
    {"clSetKernelArg",
     "int without value",
     CODES(CL_INVALID_ARG_VALUE),
     {IS(2, N(1)), IS(3, N(4)), IS(4, NIL)}},
    {"clSetKernelArg",
     "local memory of 0 bytes",
     CODES(CL_INVALID_ARG_SIZE),
     {IS(1, O(LOCAL_KERNEL)), IS(2, N(1)), IS(3, NIL), IS(4, NIL)}},
    {"clSetKernelArg",
     "local memory with a value",
     CODES(CL_INVALID_ARG_VALUE),
     {IS(1, O(LOCAL_KERNEL)), IS(2, N(1)), IS(3, N(64)), IS(4, W(SCRATCH))}},
    {"clSetKernelArgSVMPointer", "index too large", CODES(CL_INVALID_ARG_INDEX), {IS(2, N(2))}},
    {"clSetKernelExecInfo", "unknown name", VALUE, {IS(2, N(NO_NAME))}},
    {"clSetKernelExecInfo", "no value", VALUE, {IS(4, NIL)}},
    {"clSetKernelExecInfo", "half a pointer", VALUE, {IS(3, N(4))}},
    {"clGetKernelArgInfo", "index too large", CODES(CL_INVALID_ARG_INDEX), {IS(2, N(2))}},
    {"clEnqueueNDRangeKernel", "foreign kernel", FOREIGN, {IS(2, O(FOREIGN_KERNEL))}},
    {"clEnqueueNDRangeKernel", "foreign queue", FOREIGN, {IS(1, O(FOREIGN_QUEUE))}},
    {"clEnqueueNDRangeKernel",
     "no arguments set",
     CODES(CL_INVALID_KERNEL_ARGS),
     {IS(2, O(UNSET_KERNEL))}},
    {"clEnqueueNDRangeKernel",
     "last argument not set",
     CODES(CL_INVALID_KERNEL_ARGS),
     {IS(2, O(HALF_SET_KERNEL))}},
    {"clEnqueueNDRangeKernel", "no dimensions", CODES(CL_INVALID_WORK_DIMENSION), {IS(3, NIL)}},
    {"clEnqueueNDRangeKernel", "4 dimensions", CODES(CL_INVALID_WORK_DIMENSION), {IS(3, N(4))}},
    {"clEnqueueNDRangeKernel",
     "dimensions UINT_MAX",
     CODES(CL_INVALID_WORK_DIMENSION),
     {IS(3, N(UINT32_MAX))}},
    {"clEnqueueNDRangeKernel",
     "no global size",
     CODES(CL_INVALID_GLOBAL_WORK_SIZE, CL_SUCCESS),
     {IS(5, NIL)}},
    {"clEnqueueNDRangeKernel",
     "global size 0",
     CODES(CL_INVALID_GLOBAL_WORK_SIZE, CL_SUCCESS),
     {IS(5, P(zero))}},
    {"clEnqueueNDRangeKernel",
     "global offset overflows",
     CODES(CL_INVALID_GLOBAL_OFFSET, CL_INVALID_GLOBAL_WORK_SIZE),
     {IS(4, P(huge))}},
    {"clEnqueueNDRangeKernel",
     "local size 0",
     CODES(CL_INVALID_WORK_GROUP_SIZE, CL_INVALID_WORK_ITEM_SIZE),
     {IS(6, P(zero))}},
    {"clEnqueueNDRangeKernel",
     "local size does not divide",
     CODES(CL_INVALID_WORK_GROUP_SIZE),
     {IS(6, P(three))}},
    {"clEnqueueNDRangeKernel",
     "local size over the limit",
     CODES(CL_INVALID_WORK_GROUP_SIZE, CL_INVALID_WORK_ITEM_SIZE),
     {IS(5, W(GROUP_TOO_LARGE)), IS(6, W(GROUP_TOO_LARGE))}},
    {"clEnqueueNDRangeKernel",
     "local size SIZE_MAX",
     CODES(CL_INVALID_WORK_GROUP_SIZE, CL_INVALID_WORK_ITEM_SIZE),
     {IS(6, P(huge))}},
    {"clEnqueueNDRangeKernel",
     "not the group size of the source",
     CODES(CL_INVALID_WORK_GROUP_SIZE),
     {IS(2, O(FIXED_GROUP_KERNEL)), IS(6, P(sixteen))}},
    {"clEnqueueTask", "foreign kernel", FOREIGN, {IS(2, O(FOREIGN_KERNEL))}},
    {"clEnqueueTask", "no arguments set", CODES(CL_INVALID_KERNEL_ARGS), {IS(2, O(UNSET_KERNEL))}},
    {"clEnqueueTask",
     "not the group size of the source",
     CODES(CL_INVALID_WORK_GROUP_SIZE),
     {IS(2, O(FIXED_GROUP_KERNEL))}},
    {"clEnqueueNativeKernel",
     "no function",
     CODES(CL_INVALID_VALUE, CL_INVALID_OPERATION),
     {IS(2, NIL)}},
    {"clEnqueueNativeKernel",
     "size without arguments",
     CODES(CL_INVALID_VALUE, CL_INVALID_OPERATION),
     {IS(3, NIL)}},
    {"clEnqueueNativeKernel",
     "arguments without size",
     CODES(CL_INVALID_VALUE, CL_INVALID_OPERATION),
     {IS(4, NIL)}},
    {"clEnqueueNativeKernel",
     "buffers without list",
     CODES(CL_INVALID_VALUE, CL_INVALID_OPERATION),
     {IS(6, NIL)}},
    {"clEnqueueNativeKernel",
     "list of no buffers",
     CODES(CL_INVALID_VALUE, CL_INVALID_OPERATION),
     {IS(5, NIL)}},

    /* events */
    {"clWaitForEvents", "no events", VALUE, {IS(1, NIL)}},
    {"clWaitForEvents", "no list", VALUE, {IS(2, NIL)}},
    {"clWaitForEvents", "failed event", DEPENDS, {IS(2, L(FAILED_EVENT))}},
    {"clSetUserEventStatus", "CL_SUBMITTED", VALUE, {IS(2, N(CL_SUBMITTED))}},
    {"clSetUserEventStatus", "CL_RUNNING", VALUE, {IS(2, N(CL_RUNNING))}},
    {"clSetUserEventStatus", "CL_QUEUED", VALUE, {IS(2, N(CL_QUEUED))}},
    {"clSetUserEventStatus", "an event of a command", CODES(CL_INVALID_EVENT), {IS(1, O(EVENT))}},
    {"clSetUserEventStatus", "twice", OPERATION, {IS(1, O(COMPLETE_USER_EVENT))}},
    {"clSetUserEventStatus", "twice, after a failure", OPERATION, {IS(1, O(FAILED_EVENT))}},
    {"clSetEventCallback", "no callback", VALUE, {IS(3, NIL)}},
    {"clSetEventCallback", "CL_QUEUED", VALUE, {IS(2, N(CL_QUEUED))}},
    {"clSetEventCallback", "unknown status", VALUE, {IS(2, N(NO_NAME))}},
    {"clGetEventProfilingInfo",
     "user event",
     CODES(CL_PROFILING_INFO_NOT_AVAILABLE),
     {IS(1, O(USER_EVENT))}},
    {"clGetEventProfilingInfo",
     "queue without profiling",
     CODES(CL_PROFILING_INFO_NOT_AVAILABLE),
     {IS(1, O(UNPROFILED_EVENT))}},
    {"clEnqueueMarker", "no event", VALUE, {IS(2, NIL)}},
    {"clEnqueueWaitForEvents", "no events", VALUE, {IS(2, NIL)}},
    {"clEnqueueWaitForEvents", "no list", VALUE, {IS(3, NIL)}},
    {"clEnqueueWaitForEvents", "foreign event", FOREIGN, {IS(3, L(FOREIGN_EVENT))}},

    /* shared virtual memory */
    {"clSVMAlloc", "size 0", CODES(ANY_ERROR), {IS(3, NIL)}},
    {"clSVMAlloc", "size SIZE_MAX", CODES(ANY_ERROR), {IS(3, N(SIZE_MAX))}},
    {"clSVMAlloc",
     "one byte over the device's limit",
     CODES(ANY_ERROR),
     {IS(3, W(BUFFER_SIZES_LIMIT))}},
    {"clSVMAlloc", "alignment 3", CODES(ANY_ERROR), {IS(4, N(3))}},
    {"clSVMAlloc", "alignment 1 << 30", CODES(ANY_ERROR), {IS(4, N(1 << 30))}},
    {"clSVMAlloc", "unknown flag", CODES(ANY_ERROR), {IS(2, N(NO_BIT))}},
    {"clSVMAlloc", "atomics of coarse memory", CODES(ANY_ERROR), {IS(2, N(CL_MEM_SVM_ATOMICS))}},
    {"clSVMAlloc",
     "read-only and write-only",
     CODES(ANY_ERROR),
     {IS(2, N(CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY))}},
    {"clEnqueueSVMFree", "list of no pointers", VALUE, {IS(2, NIL)}},
    {"clEnqueueSVMFree", "pointers without list", VALUE, {IS(3, NIL)}},
    {"clEnqueueSVMMemcpy", "no destination", VALUE, {IS(3, NIL)}},
    {"clEnqueueSVMMemcpy", "no source", VALUE, {IS(4, NIL)}},
    {"clEnqueueSVMMemcpy", "overlap", CODES(CL_MEM_COPY_OVERLAP), {IS(4, SVM(8))}},
    {"clEnqueueSVMMemcpy",
     "blocking behind a failed event",
     DEPENDS,
     {IS(6, N(1)), IS(7, L(FAILED_EVENT))}},
    {"clEnqueueSVMMemFill", "no memory", VALUE, {IS(2, NIL)}},
    {"clEnqueueSVMMemFill", "no pattern", VALUE, {IS(3, NIL)}},
    {"clEnqueueSVMMemFill", "pattern of 0 bytes", VALUE, {IS(4, NIL)}},
    {"clEnqueueSVMMemFill", "pattern of 3 bytes", VALUE, {IS(4, N(3)), IS(5, N(63))}},
    {"clEnqueueSVMMemFill",
     "pattern of 256 bytes",
     VALUE,
     {IS(3, W(SCRATCH)), IS(4, N(256)), IS(5, N(256))}},
    {"clEnqueueSVMMemFill", "address between patterns", VALUE, {IS(2, SVM(2))}},
    {"clEnqueueSVMMemFill", "part of a pattern", VALUE, {IS(5, N(62))}},
    {"clEnqueueSVMMap", "no memory", VALUE, {IS(4, NIL)}},
    {"clEnqueueSVMMap", "size 0", VALUE, {IS(5, NIL)}},
    {"clEnqueueSVMMap", "unknown flag", VALUE, {IS(3, N(1 << 20))}},
    {"clEnqueueSVMMap",
     "blocking behind a failed event",
     DEPENDS,
     {IS(6, N(1)), IS(7, L(FAILED_EVENT))}},
    {"clEnqueueSVMUnmap", "no memory", VALUE, {IS(2, NIL)}},
    {"clEnqueueSVMMigrateMem", "no pointers", VALUE, {IS(2, NIL)}},
    {"clEnqueueSVMMigrateMem", "no list", VALUE, {IS(3, NIL)}},

    /* images: where the device has none, everything here is CL_INVALID_OPERATION */
    {"clGetSupportedImageFormats",
     "room for none",
     CODES(CL_INVALID_VALUE, CL_INVALID_OPERATION),
     {IS(5, W(SCRATCH))}},
    {"clGetSupportedImageFormats",
     "unknown flag",
     CODES(CL_INVALID_VALUE, CL_INVALID_OPERATION),
     {IS(2, N(NO_BIT))}},
    {"clGetSupportedImageFormats",
     "read-only and write-only",
     CODES(CL_INVALID_VALUE, CL_INVALID_OPERATION),
     {IS(2, N(CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY))}},
    {"clGetImageInfo",
     "a buffer",
     CODES(CL_INVALID_MEM_OBJECT, CL_INVALID_OPERATION),
     {IS(1, O(BUFFER))}},
    {"clCreateImage",
     "no format",
     CODES(CL_INVALID_IMAGE_FORMAT_DESCRIPTOR, CL_INVALID_OPERATION),
     {IS(3, NIL)}},
    {"clCreateImage",
     "no description",
     CODES(CL_INVALID_IMAGE_DESCRIPTOR, CL_INVALID_OPERATION),
     {IS(4, NIL)}},
    {"clCreateImage",
     "unknown flag",
     CODES(CL_INVALID_VALUE, CL_INVALID_OPERATION),
     {IS(2, N(NO_BIT))}},
};
const size_t bad_call_count = sizeof bad_calls / sizeof bad_calls[0];
