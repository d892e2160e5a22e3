/* SPDX-License-Identifier: Apache-2.0
 *
 * Each argument that a call reads or writes through a pointer ends right in front of a page that
 * nobody may touch. Calls that are right work; calls with a wrong size are refused without looking
 * at what is not there.
 *
 *     guard_pages [--skip PATTERN]... [--list] */
#include "host.h"
#include <fnmatch.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>

enum { PAGE = 4096, AREAS = 64, SIZE = 4096, MOST_SKIPS = 64 };

static const char *const source =
    "struct three { float x; int y; short z; };\n"
    "kernel void scalar(global int *out, int value) { out[0] = value; }\n"
    "kernel void aggregate(global int *out, struct three value) { out[0] = value.y; }\n"
    "kernel void vector(global int *out, int4 value) { out[0] = value.x; }\n"
    "kernel void scratch(global int *out, local int *room) { room[0] = 1; out[0] = room[0]; }\n"
    "kernel void fill(global int *out) { out[get_global_id(0)] = 7; }\n";
struct three {
    cl_float x;
    cl_int y;
    cl_short z;
};

static struct host host;
static const char *current = "the beginning";
static const char *skips[MOST_SKIPS];
static int skip_count, failures, passed, only_list;
static char *areas[AREAS];
static int areas_used;

static void segfault(int number)
{
    static const char words[] = "FAIL: memory that no argument has is touched by ";
    (void)number;
    if (write(STDOUT_FILENO, words, sizeof words - 1) > 0 &&
        write(STDOUT_FILENO, current, strlen(current)) > 0 && write(STDOUT_FILENO, "\n", 1) > 0)
        _exit(1);
    _exit(1);
}

/* `size` bytes that end with the last accessible page; a case may have AREAS of them. */
static void *tight(const void *data, size_t size)
{
    size_t room = (size + PAGE - 1) / PAGE * PAGE;
    char *area =
        mmap(NULL, room + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    must_be(area != MAP_FAILED && areas_used < AREAS, "there is memory for an argument");
    must_be(mprotect(area + room, PAGE, PROT_NONE) == 0, "a page can be closed");
    areas[areas_used++] = area;
    if (data != NULL)
        memcpy(area + room - size, data, size);
    return area + room - size;
}

static int begin(const char *name)
{
    current = name;
    areas_used = 0;
    if (only_list)
        puts(name);
    for (int i = 0; i < skip_count; i++)
        if (fnmatch(skips[i], name, 0) == 0)
            return 0;
    return !only_list;
}

/* One of up to three codes; CL_SUCCESS stands for itself. */
static void expect(cl_int status, cl_int one, cl_int other, cl_int third)
{
    if (status == one || status == other || status == third) {
        passed++;
        return;
    }
    failures++;
    printf("FAIL: %s: status %d, not %d\n", current, status, one);
}

static void works(cl_int status)
{
    expect(status, CL_SUCCESS, CL_SUCCESS, CL_SUCCESS);
}

static void refused(cl_int status, cl_int code)
{
    expect(status, code, code, code);
}

static void release_all(cl_mem *buffers, int count)
{
    for (int i = 0; i < count; i++)
        MUST(clReleaseMemObject(buffers[i]));
}

/* -- Kernel arguments -- */

static void arguments_by_value(const char *name, const void *value, size_t size)
{
    static const size_t wrong[] = {3, 5, 24, 1024, 65536, (size_t)1 << 40, SIZE_MAX};
    cl_kernel kernel = new_kernel(&host, name);
    char title[64];
    snprintf(title, sizeof title, "clSetKernelArg/%s", name);
    if (begin(title))
        works(clSetKernelArg(kernel, 1, size, tight(value, size)));
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        snprintf(title, sizeof title, "clSetKernelArg/%s of a wrong size", name);
        if (begin(title))
            refused(clSetKernelArg(kernel, 1, wrong[i], tight(value, 1)), CL_INVALID_ARG_SIZE);
    }
    MUST(clReleaseKernel(kernel));
}

static void kernel_arguments(void)
{
    cl_int number = 5;
    cl_int four[4] = {1, 2, 3, 4};
    struct three three = {1, 2, 3};
    cl_mem buffer = new_buffer(&host, SIZE);
    cl_kernel kernel = new_kernel(&host, "scratch");
    arguments_by_value("scalar", &number, sizeof number);
    arguments_by_value("vector", four, sizeof four);
    arguments_by_value("aggregate", &three, sizeof three);
    if (begin("clSetKernelArg/buffer"))
        works(clSetKernelArg(kernel, 0, sizeof buffer, tight(&buffer, sizeof buffer)));
    if (begin("clSetKernelArg/buffer of a wrong size")) {
        refused(clSetKernelArg(kernel, 0, 4, tight(&buffer, 4)), CL_INVALID_ARG_SIZE);
        refused(clSetKernelArg(kernel, 0, 16, tight(&buffer, 8)), CL_INVALID_ARG_SIZE);
    }
    if (begin("clSetKernelArg/local memory with a value"))
        refused(clSetKernelArg(kernel, 1, 64, tight(&number, 1)), CL_INVALID_ARG_VALUE);
    if (begin("clSetKernelArg/no such argument"))
        refused(clSetKernelArg(kernel, 9, 64, tight(&number, 1)), CL_INVALID_ARG_INDEX);
    MUST(clReleaseKernel(kernel));
    release_all(&buffer, 1);
}

static void execution(void)
{
    static const size_t sizes[3] = {4, 2, 1}, ones[3] = {1, 1, 1}, zeros[3] = {0, 0, 0};
    cl_kernel kernel = new_kernel(&host, "fill");
    cl_mem buffer = new_buffer(&host, SIZE);
    set_argument(kernel, 0, sizeof buffer, &buffer);
    for (cl_uint count = 1; count <= 3; count++)
        if (begin("clEnqueueNDRangeKernel/sizes")) {
            size_t bytes = count * sizeof(size_t);
            works(clEnqueueNDRangeKernel(host.queue, kernel, count, tight(zeros, bytes),
                                         tight(sizes, bytes), tight(ones, bytes), 0, NULL, NULL));
        }
    if (begin("clEnqueueNDRangeKernel/too many dimensions"))
        refused(clEnqueueNDRangeKernel(host.queue, kernel, 4, tight(zeros, 8), tight(sizes, 8),
                                       tight(ones, 8), 0, NULL, NULL),
                CL_INVALID_WORK_DIMENSION);
    MUST(clFinish(host.queue));
    if (begin("clSetKernelExecInfo/wrong size of a boolean"))
        expect(clSetKernelExecInfo(kernel, CL_KERNEL_EXEC_INFO_SVM_FINE_GRAIN_SYSTEM, 1,
                                   tight(ones, 1)),
               CL_INVALID_VALUE, CL_INVALID_OPERATION, CL_INVALID_OPERATION);
    MUST(clReleaseKernel(kernel));
    release_all(&buffer, 1);
}

/* -- Memory objects -- */

static void creating_buffers(void)
{
    cl_int status;
    cl_ulong largest;
    const size_t odd[] = {1, 3, 13, 4096, 4097};
    cl_buffer_region region = {0, 64}, beyond = {0, SIZE + 1};
    cl_mem parent = new_buffer(&host, SIZE), made;
    MUST(
        clGetDeviceInfo(host.device, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof largest, &largest, NULL));
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++)
        if (begin("clCreateBuffer/CL_MEM_COPY_HOST_PTR")) {
            made = clCreateBuffer(host.context, CL_MEM_COPY_HOST_PTR, odd[i], tight(NULL, odd[i]),
                                  &status);
            works(status);
            release_all(&made, 1);
        }
    if (begin("clCreateBuffer/larger than possible"))
        refused((clCreateBuffer(host.context, CL_MEM_COPY_HOST_PTR, (size_t)largest + 1,
                                tight(NULL, 1), &status),
                 status),
                CL_INVALID_BUFFER_SIZE);
    if (begin("clCreateBuffer/flags that exclude each other"))
        refused((clCreateBuffer(host.context, CL_MEM_COPY_HOST_PTR | CL_MEM_USE_HOST_PTR, SIZE,
                                tight(NULL, 1), &status),
                 status),
                CL_INVALID_VALUE);
    if (begin("clCreateBufferWithProperties/empty list")) {
        const cl_mem_properties none[] = {0};
        made = clCreateBufferWithProperties(host.context, tight(none, sizeof none),
                                            CL_MEM_READ_WRITE, 64, NULL, &status);
        works(status);
        release_all(&made, 1);
    }
    if (begin("clCreateBufferWithProperties/unknown name")) {
        const cl_mem_properties unknown[] = {0x7fff1234, 0};
        refused((clCreateBufferWithProperties(host.context, tight(unknown, sizeof unknown[0]),
                                              CL_MEM_READ_WRITE, 64, NULL, &status),
                 status),
                CL_INVALID_PROPERTY);
    }
    if (begin("clCreateSubBuffer/region")) {
        made = clCreateSubBuffer(parent, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION,
                                 tight(&region, sizeof region), &status);
        works(status);
        release_all(&made, 1);
    }
    if (begin("clCreateSubBuffer/region that is too large"))
        refused((clCreateSubBuffer(parent, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION,
                                   tight(&beyond, sizeof beyond), &status),
                 status),
                CL_INVALID_VALUE);
    if (begin("clCreateSubBuffer/unknown kind"))
        refused((clCreateSubBuffer(parent, CL_MEM_READ_WRITE, 0x7777, tight(&region, 1), &status),
                 status),
                CL_INVALID_VALUE);
    release_all(&parent, 1);
}

static void transfers(void)
{
    const size_t odd[] = {1, 3, 13, 64, 4095, 4096};
    const size_t origin[3] = {0, 0, 0}, region[3] = {13, 3, 2};
    cl_mem buffer = new_buffer(&host, SIZE), other = new_buffer(&host, SIZE);
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++)
        if (begin("clEnqueueWriteBuffer and clEnqueueReadBuffer/host memory")) {
            works(clEnqueueWriteBuffer(host.queue, buffer, CL_TRUE, 0, odd[i], tight(NULL, odd[i]),
                                       0, NULL, NULL));
            works(clEnqueueReadBuffer(host.queue, buffer, CL_TRUE, 0, odd[i], tight(NULL, odd[i]),
                                      0, NULL, NULL));
        }
    if (begin("clEnqueueWriteBuffer/beyond the end"))
        refused(clEnqueueWriteBuffer(host.queue, buffer, CL_TRUE, 1, SIZE, tight(NULL, 1), 0, NULL,
                                     NULL),
                CL_INVALID_VALUE);
    if (begin("clEnqueue*BufferRect/host memory")) {
        /* rows of 13 bytes, 16 apart; planes of 3 rows, 48 bytes apart; the last row has no rest */
        size_t bytes = 48 + 2 * 16 + 13;
        works(clEnqueueWriteBufferRect(host.queue, buffer, CL_TRUE, tight(origin, 24),
                                       tight(origin, 24), tight(region, 24), 64, 256, 16, 48,
                                       tight(NULL, bytes), 0, NULL, NULL));
        works(clEnqueueReadBufferRect(host.queue, buffer, CL_TRUE, tight(origin, 24),
                                      tight(origin, 24), tight(region, 24), 64, 256, 16, 48,
                                      tight(NULL, bytes), 0, NULL, NULL));
        works(clEnqueueCopyBufferRect(host.queue, buffer, other, tight(origin, 24),
                                      tight(origin, 24), tight(region, 24), 64, 256, 64, 256, 0,
                                      NULL, NULL));
    }
    for (size_t size = 1; size <= 128; size *= 2)
        if (begin("clEnqueueFillBuffer/pattern"))
            works(clEnqueueFillBuffer(host.queue, buffer, tight(NULL, size), size, 0, 256, 0, NULL,
                                      NULL));
    if (begin("clEnqueueFillBuffer/wrong size of a pattern")) {
        static const size_t wrong[] = {0, 3, 256, (size_t)1 << 40};
        for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
            refused(clEnqueueFillBuffer(host.queue, buffer, tight(NULL, 1), wrong[i], 0, 768, 0,
                                        NULL, NULL),
                    CL_INVALID_VALUE);
    }
    if (begin("clEnqueueMigrateMemObjects/list")) {
        cl_mem both[] = {buffer, other};
        works(
            clEnqueueMigrateMemObjects(host.queue, 2, tight(both, sizeof both), 0, 0, NULL, NULL));
    }
    if (begin("clEnqueueMigrateMemObjects/no memory object"))
        refused(clEnqueueMigrateMemObjects(host.queue, 1000, tight(&host.queue, sizeof(void *)), 0,
                                           0, NULL, NULL),
                CL_INVALID_MEM_OBJECT);
    MUST(clFinish(host.queue));
    release_all(&buffer, 1);
    release_all(&other, 1);
}

static void shared_virtual_memory(void)
{
    char *memory = clSVMAlloc(host.context, CL_MEM_READ_WRITE, SIZE, 0);
    if (memory == NULL)
        return;
    for (size_t size = 1; size <= 128; size *= 2)
        if (begin("clEnqueueSVMMemFill/pattern"))
            works(clEnqueueSVMMemFill(host.queue, memory, tight(NULL, size), size, 256, 0, NULL,
                                      NULL));
    if (begin("clEnqueueSVMMemFill/wrong size of a pattern"))
        refused(clEnqueueSVMMemFill(host.queue, memory, tight(NULL, 1), 256, 256, 0, NULL, NULL),
                CL_INVALID_VALUE);
    if (begin("clEnqueueSVMMemcpy/host memory"))
        works(clEnqueueSVMMemcpy(host.queue, CL_TRUE, memory, tight(NULL, 13), 13, 0, NULL, NULL));
    if (begin("clEnqueueSVMMigrateMem/lists")) {
        const void *pointers[] = {memory};
        const size_t sizes[] = {64};
        works(clEnqueueSVMMigrateMem(host.queue, 1, tight(pointers, sizeof pointers),
                                     tight(sizes, sizeof sizes), 0, 0, NULL, NULL));
    }
    if (begin("clSetKernelExecInfo/list of SVM pointers")) {
        cl_kernel kernel = new_kernel(&host, "fill");
        works(clSetKernelExecInfo(kernel, CL_KERNEL_EXEC_INFO_SVM_PTRS, sizeof memory,
                                  tight(&memory, sizeof memory)));
        MUST(clReleaseKernel(kernel));
    }
    MUST(clFinish(host.queue));
    if (begin("clEnqueueSVMFree/list")) {
        works(clEnqueueSVMFree(host.queue, 1, tight(&memory, sizeof memory), NULL, NULL, 0, NULL,
                               NULL));
        MUST(clFinish(host.queue));
    } else {
        clSVMFree(host.context, memory);
    }
}

/* -- Contexts, queues, events -- */

static void contexts_and_queues(void)
{
    cl_int status;
    const cl_context_properties platform[] = {CL_CONTEXT_PLATFORM,
                                              (cl_context_properties)host.platform, 0};
    const cl_context_properties unknown[] = {0x7fff1234, 0, 0};
    const cl_queue_properties properties[] = {CL_QUEUE_PROPERTIES, CL_QUEUE_PROFILING_ENABLE, 0};
    const cl_queue_properties strange[] = {0x7fff1234, 0};
    cl_device_id *device = tight(&host.device, sizeof host.device);
    if (begin("clCreateContext/properties and devices")) {
        device = tight(&host.device, sizeof host.device);
        cl_context made =
            clCreateContext(tight(platform, sizeof platform), 1, device, NULL, NULL, &status);
        works(status);
        if (status == CL_SUCCESS)
            MUST(clReleaseContext(made));
    }
    if (begin("clCreateContext/unknown property")) {
        device = tight(&host.device, sizeof host.device);
        refused((clCreateContext(tight(unknown, sizeof unknown), 1, device, NULL, NULL, &status),
                 status),
                CL_INVALID_PROPERTY);
    }
    if (begin("clCreateContext/no device"))
        refused(
            (clCreateContext(NULL, 1000, tight(&host.queue, sizeof(void *)), NULL, NULL, &status),
             status),
            CL_INVALID_DEVICE);
    if (begin("clCreateCommandQueueWithProperties/properties")) {
        cl_command_queue made = clCreateCommandQueueWithProperties(
            host.context, host.device, tight(properties, sizeof properties), &status);
        works(status);
        MUST(clReleaseCommandQueue(made));
    }
    if (begin("clCreateCommandQueueWithProperties/unknown property"))
        refused((clCreateCommandQueueWithProperties(host.context, host.device,
                                                    tight(strange, sizeof strange[0]), &status),
                 status),
                CL_INVALID_VALUE);
    if (begin("clGetPlatformIDs and clGetDeviceIDs/lists")) {
        works(clGetPlatformIDs(1, tight(NULL, sizeof(void *)), tight(NULL, sizeof(cl_uint))));
        works(clGetDeviceIDs(host.platform, CL_DEVICE_TYPE_ALL, 1, tight(NULL, sizeof(void *)),
                             tight(NULL, sizeof(cl_uint))));
    }
}

static void wait_lists(void)
{
    cl_event events[2];
    cl_mem buffer = new_buffer(&host, SIZE);
    for (int i = 0; i < 2; i++)
        must(clEnqueueMarkerWithWaitList(host.queue, 0, NULL, &events[i]), "a marker");
    if (begin("a wait list of 2 events"))
        works(clEnqueueBarrierWithWaitList(host.queue, 2, tight(events, sizeof events),
                                           tight(NULL, sizeof(cl_event))));
    if (begin("clWaitForEvents/list"))
        works(clWaitForEvents(2, tight(events, sizeof events)));
    if (begin("clWaitForEvents/no event"))
        refused(clWaitForEvents(1000, tight(&host.queue, sizeof(void *))), CL_INVALID_EVENT);
    if (begin("a wait list that does not begin with an event"))
        refused(
            clEnqueueMarkerWithWaitList(host.queue, 1000, tight(&host.queue, sizeof(void *)), NULL),
            CL_INVALID_EVENT_WAIT_LIST);
    MUST(clFinish(host.queue));
    for (int i = 0; i < 2; i++)
        MUST(clReleaseEvent(events[i]));
    release_all(&buffer, 1);
}

/* -- Programs -- */

static void building(void)
{
    cl_int status;
    const char text[] = {'k', 'e', 'r', 'n', 'e', 'l', ' ', 'v', 'o', 'i',
                         'd', ' ', 'k', '(', ')', ' ', '{', ' ', '}'};
    const char *texts[2];
    size_t lengths[2] = {10, sizeof text - 10};
    if (!begin("clCreateProgramWithSource/strings of given lengths"))
        return;
    texts[0] = tight(text, 10);
    texts[1] = tight(text + 10, sizeof text - 10);
    cl_program program = clCreateProgramWithSource(host.context, 2, tight(texts, sizeof texts),
                                                   tight(lengths, sizeof lengths), &status);
    works(status);
    cl_device_id *device = tight(&host.device, sizeof host.device);
    if (begin("clBuildProgram/devices and options")) {
        device = tight(&host.device, sizeof host.device);
        works(clBuildProgram(program, 1, device, tight("-DX=1", 6), NULL, NULL));
        cl_kernel kernel = clCreateKernel(program, tight("k", 2), &status);
        works(status);
        MUST(clReleaseKernel(kernel));
        works(clCreateKernelsInProgram(program, 1, tight(NULL, sizeof kernel),
                                       tight(NULL, sizeof(cl_uint))));
    }
    MUST(clReleaseProgram(program));
}

static cl_program program_of(const char *text)
{
    return new_source(&host, text);
}

static void compiling(void)
{
    cl_int status;
    if (!begin("clCompileProgram and clLinkProgram/lists"))
        return;
    cl_program header = program_of("#define NAME k\n");
    cl_program part = program_of("#include \"name.h\"\nkernel void NAME(void) { }\n");
    const char *names[] = {tight("name.h", 7)};
    cl_device_id *device = tight(&host.device, sizeof host.device);
    works(clCompileProgram(part, 1, device, tight("", 1), 1, tight(&header, sizeof header),
                           tight(names, sizeof names), NULL, NULL));
    cl_program linked = clLinkProgram(host.context, 1, device, tight("", 1), 1,
                                      tight(&part, sizeof part), NULL, NULL, &status);
    works(status);
    MUST(clReleaseProgram(linked));
    MUST(clReleaseProgram(part));
    MUST(clReleaseProgram(header));
}

static void binaries(void)
{
    cl_int status;
    size_t size;
    if (!begin("clCreateProgramWithBinary/binaries"))
        return;
    MUST(clGetProgramInfo(host.program, CL_PROGRAM_BINARY_SIZES, sizeof size,
                          tight(NULL, sizeof size), NULL));
    MUST(clGetProgramInfo(host.program, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, NULL));
    unsigned char *binary = tight(NULL, size);
    MUST(clGetProgramInfo(host.program, CL_PROGRAM_BINARIES, sizeof binary,
                          tight(&binary, sizeof binary), NULL));
    cl_program program = clCreateProgramWithBinary(
        host.context, 1, tight(&host.device, sizeof host.device), tight(&size, sizeof size),
        tight(&binary, sizeof binary), tight(NULL, sizeof(cl_int)), &status);
    works(status);
    MUST(clReleaseProgram(program));
}

static void answers(void)
{
    size_t size;
    if (begin("clGetDeviceInfo/room for the answer")) {
        MUST(clGetDeviceInfo(host.device, CL_DEVICE_NAME, 0, NULL, &size));
        works(clGetDeviceInfo(host.device, CL_DEVICE_NAME, size, tight(NULL, size),
                              tight(NULL, sizeof size)));
    }
    if (begin("clGetDeviceInfo/too little room"))
        refused(
            clGetDeviceInfo(host.device, CL_DEVICE_MAX_WORK_ITEM_SIZES, 8, tight(NULL, 8), NULL),
            CL_INVALID_VALUE);
}

int main(int count, char **words)
{
    struct sigaction action = {.sa_handler = segfault};
    for (int i = 1; i < count; i++)
        if (strcmp(words[i], "--list") == 0)
            only_list = 1;
        else if (strcmp(words[i], "--skip") == 0 && i + 1 < count && skip_count < MOST_SKIPS)
            skips[skip_count++] = words[++i];
    start(&host, source);
    must_be(sigaction(SIGSEGV, &action, NULL) == 0, "a handler for SIGSEGV");
    kernel_arguments();
    execution();
    creating_buffers();
    transfers();
    shared_virtual_memory();
    contexts_and_queues();
    wait_lists();
    building();
    compiling();
    binaries();
    answers();
    stop(&host);
    printf("%d passed, %d failed\n", passed, failures);
    return failures > 0;
}
