/* What calls cost where no clock is needed: how often each takes the interpreter's lock, how many
 * blocks of memory Python allocates for it, and how many modules the start imports. Only what this
 * thread does counts; what the driver's threads do depends on when they run.
 *
 * With the argument `marks`, system calls: two of them, which name the call, stand around each
 * series. With `without_kernels`, transfers of a host that has no program. With `second_launch`,
 * the second launch of the first kernel. Other arguments name the calls that are counted, instead
 * of all. */
#define _GNU_SOURCE 1 /* the value that pyconfig.h of Python 3.10 defines, too */
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <Python.h>

#include "usm.h"
#include <dlfcn.h>
#include <limits.h>

enum { KERNELS = 5, SERIES = 200, WARM = 100, ROUNDS = 8, BYTES = 4096 };

static __thread long entered, allocated;
static PyMemAllocatorEx python_s;

/* The program's own function stands in front of Python's: whoever takes the lock comes by. */
void PyEval_RestoreThread(PyThreadState *state)
{
    static void (*python_s_own)(PyThreadState *);
    if (python_s_own == NULL)
        python_s_own = (void (*)(PyThreadState *))dlsym(RTLD_NEXT, "PyEval_RestoreThread");
    entered++;
    python_s_own(state);
}

static void *count_malloc(void *context, size_t size)
{
    allocated++;
    return python_s.malloc(python_s.ctx, size);
}

static void *count_calloc(void *context, size_t count, size_t size)
{
    allocated++;
    return python_s.calloc(python_s.ctx, count, size);
}

static void *count_realloc(void *context, void *block, size_t size)
{
    allocated += block == NULL;
    return python_s.realloc(python_s.ctx, block, size);
}

static void count_free(void *context, void *block)
{
    python_s.free(python_s.ctx, block);
}

static void count_allocations(void)
{
    PyMemAllocatorEx counting = {NULL, count_malloc, count_calloc, count_realloc, count_free};
    PyGILState_STATE lock = PyGILState_Ensure();
    PyMem_GetAllocator(PYMEM_DOMAIN_OBJ, &python_s);
    PyMem_SetAllocator(PYMEM_DOMAIN_OBJ, &counting);
    PyGILState_Release(lock);
}

static long modules(void)
{
    PyGILState_STATE lock = PyGILState_Ensure();
    long count = (long)PyDict_Size(PyImport_GetModuleDict());
    PyGILState_Release(lock);
    return count;
}

/* Modules of the standard library that take long to import, and whether somebody has. */
static const char *const heavy[] = {"ctypes", "dataclasses", "hashlib", "inspect", "json", "queue"};
enum { HEAVY = sizeof heavy / sizeof heavy[0] };

static void look_for_heavy(int imported[HEAVY])
{
    PyGILState_STATE lock = PyGILState_Ensure();
    for (int i = 0; i < HEAVY; i++)
        imported[i] = PyDict_GetItemString(PyImport_GetModuleDict(), heavy[i]) != NULL;
    PyGILState_Release(lock);
}

static struct host host;
static cl_kernel kernel;
static cl_mem buffer, other_buffer; /* of the same context */
static cl_event ended;
static cl_command_queue transferring; /* of the same context as `host.queue` */
static cl_command_queue other_queue;  /* of a context without allocations */
static cl_kernel other_kernel;
static cl_kernel local_kernel, structure_kernel, large_kernel, polling_kernel;
static void *pointer;
static char *shared;
static char bytes[BYTES];
static _Alignas(4096) char own[BYTES]; /* memory for buffers */
static char *on_board;
static clEnqueueMemsetINTEL_fn set_usm_bytes;

/* A launch of one work-item, behind an event or behind none (NULL). */
static cl_int run(cl_command_queue queue, cl_kernel of, const cl_event *after, cl_event *event)
{
    const size_t size = 1;
    return clEnqueueNDRangeKernel(queue, of, 1, NULL, &size, NULL, after != NULL, after, event);
}

static cl_int query(void)
{
    return clGetDeviceInfo(host.device, CL_DEVICE_NAME, sizeof bytes, bytes, NULL);
}

static cl_int query_kernel(void)
{
    size_t size[3];
    cl_ulong local;
    return clGetKernelWorkGroupInfo(kernel, host.device, CL_KERNEL_WORK_GROUP_SIZE, sizeof size[0],
                                    size, NULL) |
           clGetKernelWorkGroupInfo(kernel, NULL, CL_KERNEL_COMPILE_WORK_GROUP_SIZE, sizeof size,
                                    size, NULL) |
           clGetKernelWorkGroupInfo(kernel, host.device, CL_KERNEL_LOCAL_MEM_SIZE, sizeof local,
                                    &local, NULL) |
           clGetKernelArgInfo(kernel, 0, CL_KERNEL_ARG_NAME, sizeof bytes, bytes, NULL) |
           clGetKernelArgInfo(kernel, 1, CL_KERNEL_ARG_TYPE_NAME, sizeof bytes, bytes, NULL);
}

static cl_int query_program(void)
{
    cl_build_status status;
    size_t count;
    return clGetProgramBuildInfo(host.program, host.device, CL_PROGRAM_BUILD_STATUS, sizeof status,
                                 &status, NULL) |
           clGetProgramInfo(host.program, CL_PROGRAM_NUM_KERNELS, sizeof count, &count, NULL) |
           clGetProgramInfo(host.program, CL_PROGRAM_KERNEL_NAMES, sizeof bytes, bytes, NULL);
}

static cl_int query_allocation(void)
{
    cl_unified_shared_memory_type_intel type;
    size_t size;
    return alloc_info(host.context, pointer, CL_MEM_ALLOC_TYPE_INTEL, sizeof type, &type, NULL) |
           alloc_info(host.context, (char *)pointer + 8, CL_MEM_ALLOC_SIZE_INTEL, sizeof size,
                      &size, NULL);
}

static cl_int query_counts(void)
{
    cl_uint count;
    return clGetMemObjectInfo(buffer, CL_MEM_MAP_COUNT, sizeof count, &count, NULL) |
           clGetMemObjectInfo(buffer, CL_MEM_REFERENCE_COUNT, sizeof count, &count, NULL) |
           clGetCommandQueueInfo(host.queue, CL_QUEUE_REFERENCE_COUNT, sizeof count, &count, NULL) |
           clGetContextInfo(host.context, CL_CONTEXT_REFERENCE_COUNT, sizeof count, &count, NULL) |
           clGetKernelInfo(kernel, CL_KERNEL_REFERENCE_COUNT, sizeof count, &count, NULL) |
           clGetEventInfo(ended, CL_EVENT_REFERENCE_COUNT, sizeof count, &count, NULL);
}

static cl_int query_platform(void)
{
    cl_device_id device;
    return clGetDeviceIDs(host.platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) |
           clGetPlatformInfo(host.platform, CL_PLATFORM_NAME, sizeof bytes, bytes, NULL);
}

static cl_int set_value(void)
{
    cl_int value = 3;
    return clSetKernelArg(kernel, 1, sizeof value, &value);
}

/* Of another kernel, which is launched with it. */
static cl_int set_local(void)
{
    static size_t bytes_of_local = 16;
    bytes_of_local = 48 - bytes_of_local;
    return clSetKernelArg(local_kernel, 1, bytes_of_local, NULL) |
           run(host.queue, local_kernel, NULL, NULL);
}

/* A structure, and NULL for a buffer, of a kernel that is launched with each. */
static cl_int set_structure_and_null(void)
{
    static struct {
        _Alignas(16) cl_int a, b, c, d;
    } value = {1, 2, 3, 4};
    static int is_null;
    value.a++;
    is_null = !is_null;
    return clSetKernelArg(structure_kernel, 0, sizeof buffer, is_null ? NULL : &buffer) |
           clSetKernelArg(structure_kernel, 1, sizeof value, &value) |
           run(host.queue, structure_kernel, NULL, NULL);
}

/* A structure of 600 bytes that is in two pages, and the last of 72 arguments. */
static cl_int set_large_structure_and_many(void)
{
    static _Alignas(4096) cl_int pages[2048];
    cl_int *value = &pages[1000];
    value[0]++;
    return clSetKernelArg(large_kernel, 1, 600, value) |
           clSetKernelArg(large_kernel, 71, sizeof *value, value) |
           run(host.queue, large_kernel, NULL, NULL);
}

static cl_int set_buffer(void)
{
    return clSetKernelArg(kernel, 0, sizeof buffer, &buffer);
}

static cl_int set_svm(void)
{
    return clSetKernelArgSVMPointer(kernel, 0, pointer);
}

static cl_int set_usm(void)
{
    return set_pointer(kernel, 0, pointer);
}

static cl_int retain_and_release(void)
{
    return clRetainMemObject(buffer) | clReleaseMemObject(buffer);
}

static cl_int status_of_ended(void)
{
    cl_int status;
    return clGetEventInfo(ended, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL);
}

static cl_int wait_for_ended(void)
{
    return clWaitForEvents(1, &ended);
}

static cl_int enqueue(void)
{
    return run(host.queue, kernel, NULL, NULL);
}

static cl_int enqueue_no_work_items(void)
{
    size_t size = 0;
    return clEnqueueNDRangeKernel(host.queue, kernel, 1, NULL, &size, NULL, 0, NULL, NULL);
}

static cl_int enqueue_again(void)
{
    cl_int value = 7;
    return clSetKernelArg(other_kernel, 1, sizeof value, &value) |
           run(other_queue, other_kernel, NULL, NULL);
}

/* The same with a pointer into an allocation, in a context that has one. */
static cl_int enqueue_with_pointer(void)
{
    return set_usm() | enqueue();
}

/* As the SYCL runtime does before each launch, and hosts with a list of SVM pointers. */
static cl_int enqueue_with_exec_info(void)
{
    const cl_bool yes = CL_TRUE;
    return clSetKernelExecInfo(kernel, CL_KERNEL_EXEC_INFO_INDIRECT_HOST_ACCESS_INTEL, sizeof yes,
                               &yes) |
           clSetKernelExecInfo(kernel, CL_KERNEL_EXEC_INFO_INDIRECT_SHARED_ACCESS_INTEL, sizeof yes,
                               &yes) |
           clSetKernelExecInfo(kernel, CL_KERNEL_EXEC_INFO_SVM_PTRS, sizeof pointer, &pointer) |
           enqueue_with_pointer();
}

/* As wrappers do that keep no event of theirs. */
static cl_int enqueue_and_drop(void)
{
    cl_event event;
    cl_int status = run(other_queue, other_kernel, NULL, &event);
    return status | clReleaseEvent(event);
}

/* As those do that keep the event of each kernel until its next launch. */
static cl_int enqueue_and_replace(void)
{
    static cl_event kept[WARM];
    static int next;
    cl_event *place = &kept[next++ % WARM], before = *place;
    cl_int status = run(other_queue, other_kernel, NULL, place);
    return status | (before != NULL ? clReleaseEvent(before) : CL_SUCCESS);
}

/* As those do whose kernels come in pairs, of which the second waits for the first. */
static cl_int enqueue_in_turn(void)
{
    cl_event first;
    cl_int status = run(other_queue, other_kernel, NULL, &first);
    status |= run(other_queue, other_kernel, &first, NULL);
    return status | clReleaseEvent(first);
}

static cl_int wait_for_many(void)
{
    enum { MANY = 100 };
    static cl_event events[MANY];
    cl_int status = CL_SUCCESS;
    for (int i = 0; i < MANY && events[i] == NULL; i++)
        status |= run(other_queue, other_kernel, NULL, &events[i]);
    return status | clEnqueueMarkerWithWaitList(other_queue, MANY, events, NULL);
}

static cl_int launch_and_wait(void)
{
    return enqueue() | clFinish(host.queue);
}

/* With nothing that C could not have the engine run by itself. */
static cl_int launch_again_and_wait(void)
{
    return enqueue_again() | clFinish(other_queue);
}

static cl_int launch_and_wait_for_event(void)
{
    cl_event event;
    cl_int status = run(other_queue, other_kernel, NULL, &event);
    return status | clWaitForEvents(1, &event) | clReleaseEvent(event);
}

static cl_int write_and_wait(void)
{
    return clEnqueueWriteBuffer(host.queue, buffer, CL_TRUE, 0, BYTES, bytes, 0, NULL, NULL);
}

static cl_int read_and_wait(void)
{
    return clEnqueueReadBuffer(host.queue, buffer, CL_TRUE, 0, BYTES, bytes, 0, NULL, NULL);
}

/* A buffer, and three commands that wait for each other, of which the host waits for the last. */
static cl_int make_write_launch_read(void)
{
    cl_int status[2];
    cl_event written, launched, read;
    cl_mem made = clCreateBuffer(host.context, CL_MEM_READ_WRITE, BYTES, NULL, &status[0]);
    status[1] =
        clEnqueueWriteBuffer(host.queue, made, CL_FALSE, 0, BYTES, bytes, 0, NULL, &written) |
        clSetKernelArg(kernel, 0, sizeof made, &made) |
        run(host.queue, kernel, &written, &launched) |
        clEnqueueReadBuffer(host.queue, made, CL_FALSE, 0, BYTES, bytes, 1, &launched, &read) |
        clWaitForEvents(1, &read);
    return status[0] | status[1] | clReleaseEvent(written) | clReleaseEvent(launched) |
           clReleaseEvent(read) | clReleaseMemObject(made);
}

static cl_int make_kernel(void)
{
    cl_int status, value = 3;
    cl_program program;
    clGetKernelInfo(kernel, CL_KERNEL_PROGRAM, sizeof program, &program, NULL);
    cl_kernel made = clCreateKernel(program, "put", &status);
    return status | clSetKernelArg(made, 0, sizeof buffer, &buffer) |
           clSetKernelArg(made, 1, sizeof value, &value) |
           clGetKernelInfo(made, CL_KERNEL_NUM_ARGS, sizeof value, &value, NULL) |
           run(host.queue, made, NULL, NULL) | clReleaseKernel(made);
}

static cl_int clone_kernel(void)
{
    cl_int status, value = 4;
    cl_kernel made = clCloneKernel(other_kernel, &status);
    return status | clSetKernelArg(made, 1, sizeof value, &value) |
           run(other_queue, made, NULL, NULL) | clReleaseKernel(made);
}

static cl_int make_all_kernels(void)
{
    cl_kernel made[KERNELS];
    cl_int status = clCreateKernelsInProgram(host.program, KERNELS, made, NULL);
    for (int i = 0; i < KERNELS; i++)
        status |= clReleaseKernel(made[i]);
    return status;
}

static cl_int make_context_and_write(void)
{
    cl_int statuses[4];
    cl_context made = clCreateContext(NULL, 1, &host.device, NULL, NULL, &statuses[0]);
    cl_command_queue queue = clCreateCommandQueue(made, host.device, 0, &statuses[1]);
    cl_mem written = clCreateBuffer(made, CL_MEM_READ_WRITE, BYTES, NULL, &statuses[2]);
    statuses[3] = clEnqueueWriteBuffer(queue, written, CL_TRUE, 0, BYTES, bytes, 0, NULL, NULL);
    return statuses[0] | statuses[1] | statuses[2] | statuses[3] | clReleaseMemObject(written) |
           clReleaseCommandQueue(queue) | clReleaseContext(made);
}

static cl_int make_sub_buffer(void)
{
    const cl_buffer_region region = {0, BYTES};
    cl_int status;
    cl_mem made = clCreateSubBuffer(buffer, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &status);
    return status | clSetKernelArg(kernel, 0, sizeof made, &made) | enqueue() |
           clReleaseMemObject(made);
}

static cl_int make_buffer(void)
{
    cl_int status;
    cl_mem made = clCreateBuffer(host.context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, BYTES,
                                 bytes, &status);
    return status | clSetKernelArg(kernel, 0, sizeof made, &made) |
           clEnqueueReadBuffer(host.queue, made, CL_TRUE, 0, BYTES, bytes, 0, NULL, NULL) |
           clReleaseMemObject(made);
}

/* Of other sizes than the one before. */
static cl_int make_buffers_of_sizes(void)
{
    cl_int status[2], done = CL_SUCCESS;
    for (size_t size = 1000; size < 8000; size *= 2) {
        cl_mem made = clCreateBufferWithProperties(host.context, NULL, CL_MEM_READ_WRITE, size,
                                                   NULL, &status[0]);
        status[1] = clEnqueueWriteBuffer(host.queue, made, CL_TRUE, 0, 64, bytes, 0, NULL, NULL);
        done |= status[0] | status[1] | clReleaseMemObject(made);
    }
    return done;
}

/* Python makes the first one. */
static cl_int make_buffers_beside_pythons(void)
{
    const cl_mem_properties none[] = {0};
    cl_int status[2];
    cl_mem made = clCreateBufferWithProperties(host.context, none, CL_MEM_READ_WRITE, BYTES, NULL,
                                               &status[0]);
    status[1] = clEnqueueWriteBuffer(host.queue, made, CL_TRUE, 0, BYTES, bytes, 0, NULL, NULL);
    for (int i = 0; i < 8; i++)
        status[1] |= make_buffer();
    return status[0] | status[1] | clReleaseMemObject(made);
}

static cl_int make_and_map(void)
{
    cl_int status[2];
    cl_mem made = clCreateBuffer(host.context, CL_MEM_ALLOC_HOST_PTR, BYTES, NULL, &status[0]);
    void *mapped = clEnqueueMapBuffer(host.queue, made, CL_TRUE, CL_MAP_WRITE, 0, BYTES, 0, NULL,
                                      NULL, &status[1]);
    return status[0] | status[1] |
           clEnqueueUnmapMemObject(host.queue, made, mapped, 0, NULL, NULL) |
           clReleaseMemObject(made);
}

static cl_int make_over_host_memory(void)
{
    cl_int status[2];
    cl_mem made = clCreateBuffer(host.context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, BYTES, own,
                                 &status[0]);
    status[0] |=
        clSetKernelArg(kernel, 0, sizeof made, &made) | run(host.queue, kernel, NULL, NULL);
    void *mapped = clEnqueueMapBuffer(host.queue, made, CL_TRUE, CL_MAP_READ, 0, BYTES, 0, NULL,
                                      NULL, &status[1]);
    return status[0] | status[1] |
           clEnqueueUnmapMemObject(host.queue, made, mapped, 0, NULL, NULL) |
           clReleaseMemObject(made);
}

static cl_int make_queue(void)
{
    cl_int status;
    cl_command_queue made = clCreateCommandQueue(host.context, host.device, 0, &status);
    return status | clSetKernelArg(kernel, 0, sizeof buffer, &buffer) |
           run(made, kernel, NULL, NULL) | clFinish(made) | clReleaseCommandQueue(made);
}

static cl_int map_and_unmap(void)
{
    cl_int status;
    void *mapped = clEnqueueMapBuffer(host.queue, buffer, CL_TRUE, CL_MAP_WRITE, 0, BYTES, 0, NULL,
                                      NULL, &status);
    return status | clEnqueueUnmapMemObject(host.queue, buffer, mapped, 0, NULL, NULL) |
           clFinish(host.queue);
}

/* As hosts do that transfer in a queue of its own. */
static cl_int transfer_beside(void)
{
    cl_event written, launched;
    cl_int status = clEnqueueWriteBuffer(transferring, other_buffer, CL_FALSE, 0, BYTES, bytes, 0,
                                         NULL, &written) |
                    clSetKernelArg(kernel, 0, sizeof other_buffer, &other_buffer) |
                    run(host.queue, kernel, &written, &launched) |
                    clEnqueueReadBuffer(transferring, other_buffer, CL_FALSE, 0, BYTES, bytes, 1,
                                        &launched, NULL);
    return status | clReleaseEvent(written) | clReleaseEvent(launched);
}

/* The engine may have no thread for the transfer, because the kernel may wait for it. */
static cl_int transfer_beside_one_that_polls(void)
{
    return run(host.queue, polling_kernel, NULL, NULL) |
           clEnqueueWriteBuffer(transferring, other_buffer, CL_FALSE, 0, BYTES, bytes, 0, NULL,
                                NULL);
}

static cl_int boxes(void)
{
    const size_t origin[] = {4, 1, 0}, beside[] = {20, 2, 0}, region[] = {16, 8, 1};
    return clEnqueueWriteBufferRect(host.queue, buffer, CL_FALSE, origin, origin, region, 64, 0, 32,
                                    0, bytes, 0, NULL, NULL) |
           clEnqueueCopyBufferRect(host.queue, buffer, other_buffer, origin, origin, region, 64, 0,
                                   32, 0, 0, NULL, NULL) |
           clEnqueueCopyBufferRect(host.queue, buffer, buffer, origin, beside, region, 64, 0, 64, 0,
                                   0, NULL, NULL) |
           clEnqueueReadBufferRect(host.queue, other_buffer, CL_TRUE, origin, origin, region, 32, 0,
                                   64, 0, bytes, 0, NULL, NULL);
}

static cl_int shared_memory(void)
{
    const cl_int zero = 0;
    return clEnqueueSVMMap(other_queue, CL_TRUE, CL_MAP_WRITE, shared, BYTES, 0, NULL, NULL) |
           clEnqueueSVMUnmap(other_queue, shared, 0, NULL, NULL) |
           clEnqueueSVMMemFill(other_queue, shared, &zero, sizeof zero, 64, 0, NULL, NULL) |
           clEnqueueSVMMemcpy(other_queue, CL_TRUE, shared + 64, shared, 64, 0, NULL, NULL);
}

static cl_int migrate_svm(void)
{
    const void *pointers[] = {shared, shared + 64};
    return clEnqueueSVMMigrateMem(other_queue, 2, pointers, NULL, 0, 0, NULL, NULL);
}

static cl_int unified_memory(void)
{
    const cl_int zero = 0;
    const cl_mem_migration_flags to_host = CL_MIGRATE_MEM_OBJECT_HOST;
    return mem_copy(host.queue, CL_FALSE, on_board, pointer, 64, 0, NULL, NULL) |
           mem_fill(host.queue, on_board + 64, &zero, sizeof zero, 64, 0, NULL, NULL) |
           set_usm_bytes(host.queue, pointer, 1, 64, 0, NULL, NULL) |
           migrate(host.queue, pointer, 64, to_host, 0, NULL, NULL) |
           advise(host.queue, pointer, 64, 0, 0, NULL, NULL) |
           mem_copy(host.queue, CL_FALSE, on_board + 64, on_board, 64, 0, NULL, NULL) |
           mem_copy(host.queue, CL_TRUE, bytes, on_board, 64, 0, NULL, NULL);
}

static cl_int migrate_buffer(void)
{
    return clEnqueueMigrateMemObjects(host.queue, 1, &buffer, 0, 0, NULL, NULL) |
           clFinish(host.queue);
}

static cl_int free_svm(void)
{
    void *memory = clSVMAlloc(host.context, CL_MEM_READ_WRITE, BYTES, 0);
    return clEnqueueSVMFree(host.queue, 1, &memory, NULL, NULL, 0, NULL, NULL) |
           clFinish(host.queue);
}

static const struct {
    const char *name;
    cl_int (*call)(void);
} calls[] = {
    {"query", query},
    {"query_kernel", query_kernel},
    {"query_program", query_program},
    {"query_allocation", query_allocation},
    {"query_counts", query_counts},
    {"query_platform", query_platform},
    {"set_value", set_value},
    {"set_buffer", set_buffer},
    {"set_local", set_local},
    {"set_structure_and_null", set_structure_and_null},
    {"set_large_structure_and_many", set_large_structure_and_many},
    {"set_svm", set_svm},
    {"set_usm", set_usm},
    {"retain_and_release", retain_and_release},
    {"status_of_ended", status_of_ended},
    {"wait_for_ended", wait_for_ended},
    {"enqueue", enqueue},
    {"enqueue_no_work_items", enqueue_no_work_items},
    {"enqueue_again", enqueue_again},
    {"enqueue_with_pointer", enqueue_with_pointer},
    {"enqueue_with_exec_info", enqueue_with_exec_info},
    {"enqueue_and_drop", enqueue_and_drop},
    {"enqueue_and_replace", enqueue_and_replace},
    {"enqueue_in_turn", enqueue_in_turn},
    {"wait_for_many", wait_for_many},
    {"launch_and_wait", launch_and_wait},
    {"launch_again_and_wait", launch_again_and_wait},
    {"launch_and_wait_for_event", launch_and_wait_for_event},
    {"write_and_wait", write_and_wait},
    {"read_and_wait", read_and_wait},
    {"make_kernel", make_kernel},
    {"clone_kernel", clone_kernel},
    {"make_all_kernels", make_all_kernels},
    {"make_context_and_write", make_context_and_write},
    {"make_sub_buffer", make_sub_buffer},
    {"make_buffer", make_buffer},
    {"make_buffers_of_sizes", make_buffers_of_sizes},
    {"make_buffers_beside_pythons", make_buffers_beside_pythons},
    {"free_svm", free_svm}, /* C makes the next ones once there is none */
    {"make_over_host_memory", make_over_host_memory},
    {"make_and_map", make_and_map},
    {"make_queue", make_queue},
    {"map_and_unmap", map_and_unmap},
    {"transfer_beside", transfer_beside},
    {"transfer_beside_one_that_polls", transfer_beside_one_that_polls},
    {"boxes", boxes},
    {"shared_memory", shared_memory},
    {"migrate_svm", migrate_svm},
    {"unified_memory", unified_memory},
    {"migrate", migrate_buffer},
    {"make_write_launch_read", make_write_launch_read},
};

static void repeat(const char *name, cl_int (*call)(void), int times)
{
    for (int i = 0; i < times; i++)
        must(call(), name);
}

static void finish_all(void)
{
    MUST(clFinish(host.queue));
    MUST(clFinish(other_queue));
    MUST(clFinish(transferring));
}

static long least(long one, long other)
{
    return one < other ? one : other;
}

/* In hundredths for each call, in the round that took least: a kernel that others keep from its
 * processor seems long, and those are not recorded. */
static void count(const char *name, cl_int (*call)(void))
{
    long locks = LONG_MAX, blocks = LONG_MAX;
    for (int round = 0; round < ROUNDS; round++) {
        repeat(name, call, WARM);
        finish_all();
        long entered_before = entered, allocated_before = allocated;
        repeat(name, call, SERIES);
        locks = least(locks, entered - entered_before);
        blocks = least(blocks, allocated - allocated_before);
        finish_all();
    }
    printf("%s %ld %ld\n", name, locks * 100 / SERIES, blocks * 100 / SERIES);
}

static void mark(const char *name, cl_int (*call)(void))
{
    repeat(name, call, WARM);
    finish_all();
    access(name, F_OK);
    repeat(name, call, SERIES);
    access(name, F_OK);
    finish_all();
}

static void start_without_kernels(void)
{
    cl_int status;
    host.context = clCreateContextFromType(NULL, CL_DEVICE_TYPE_ALL, NULL, NULL, &status);
    must(status, "clCreateContextFromType");
    host.queue = new_queue(&host);
    buffer = new_buffer(&host, BYTES);
}

static void start_with_kernels(cl_kernel *putting)
{
    static const char *source =
        "kernel void put(global int *x, int a) { if (get_global_id(0) == 0) x[0] = a; }\n"
        "kernel void pass(global int *x, local int *y) { y[0] = 1; x[0] = y[0]; }\n"
        "typedef struct { int a, b, c, d; } four;\n"
        "kernel void add(global int *x, four y) { if (x) x[0] = y.a + y.d; }\n"
        "typedef struct { int all[150]; } large;\n"
        "#define TEN(n) int n##0, int n##1, int n##2, int n##3, int n##4, int n##5, int n##6, "
        "int n##7, int n##8, int n##9\n"
        "kernel void add_many(global int *x, large y, TEN(a), TEN(b), TEN(c), TEN(d), TEN(e), "
        "TEN(f), TEN(g)) { x[0] = y.all[0] + a0 + g9; }\n"
        "kernel void poll(volatile global int *x) { while (*x < 0) ; }";
    cl_int value = 0;
    start_without_kernels();
    host.program = new_program(&host, source, "");
    *putting = new_kernel(&host, "put");
    set_argument(*putting, 0, sizeof buffer, &buffer);
    set_argument(*putting, 1, sizeof value, &value);
    local_kernel = new_kernel(&host, "pass");
    set_argument(local_kernel, 0, sizeof buffer, &buffer);
    structure_kernel = new_kernel(&host, "add");
    large_kernel = new_kernel(&host, "add_many");
    set_argument(large_kernel, 0, sizeof buffer, &buffer);
    for (cl_uint i = 2; i < 72; i++)
        set_argument(large_kernel, i, sizeof value, &value);
    polling_kernel = new_kernel(&host, "poll");
    set_argument(polling_kernel, 0, sizeof buffer, &buffer);
}

static void set_up(void)
{
    start_with_kernels(&other_kernel);
    other_queue = host.queue;
    shared = clSVMAlloc(host.context, CL_MEM_READ_WRITE, BYTES, 0);
    start_with_kernels(&kernel);
    find_usm(&host);
    find_function(host.platform, "clEnqueueMemsetINTEL", &set_usm_bytes);
    pointer = allocate(&host, HOST, BYTES);
    on_board = allocate(&host, DEVICE, BYTES);
    other_buffer = new_buffer(&host, BYTES);
    transferring = new_queue(&host);
    MUST(clEnqueueWriteBuffer(host.queue, buffer, CL_TRUE, 0, BYTES, bytes, 0, NULL, &ended));
}

static void count_without_kernels(void)
{
    start_without_kernels();
    other_queue = transferring = host.queue;
    count_allocations();
    count("write_and_wait", write_and_wait);
    count("read_and_wait", read_and_wait);
}

static void count_second_launch(void)
{
    start_with_kernels(&kernel);
    count_allocations();
    MUST(run(host.queue, kernel, NULL, NULL));
    must(clFinish(host.queue), "clFinish");
    long entered_before = entered, allocated_before = allocated;
    MUST(run(host.queue, kernel, NULL, NULL));
    must(clFinish(host.queue), "clFinish");
    printf("second_launch %ld %ld\n", entered - entered_before, allocated - allocated_before);
}

static int is_among(char **words, const char *name)
{
    while (*words != NULL && strcmp(*words, name) != 0)
        words++;
    return *words != NULL;
}

int main(int count_of_words, char **words)
{
    find_device(&host);
    if (count_of_words > 1 && strcmp(words[1], "without_kernels") == 0) {
        count_without_kernels();
        return 0;
    }
    if (count_of_words > 1 && strcmp(words[1], "second_launch") == 0) {
        count_second_launch();
        return 0;
    }
    long modules_at_start = modules();
    int imported[HEAVY];
    set_up();
    look_for_heavy(imported);
    int marks = count_of_words > 1 && strcmp(words[1], "marks") == 0;
    if (!marks) {
        count_allocations();
        printf("modules %ld\n", modules_at_start);
        for (int i = 0; i < HEAVY; i++)
            printf("imported_%s %d\n", heavy[i], imported[i]);
    }
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
        if (marks || count_of_words == 1 || is_among(words + 1, calls[i].name))
            (marks ? mark : count)(calls[i].name, calls[i].call);
    return 0;
}
