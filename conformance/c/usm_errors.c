/* SPDX-License-Identifier: Apache-2.0
 *
 * Every error sentence of the specification of cl_intel_unified_shared_memory (revision I),
 * function by function: its line there, in short what it says, and whether it holds. `usm_errors
 * [--tolerate N]`: the program fails if more than N sentences do not hold. Without the option it
 * also passes objects of other types as queues. Sentences about exhaustion that a host cannot bring
 * about are listed as such. */
#include "usm.h"

static struct host host, other;
static cl_kernel kernel;
static int failures, passes, skips;
static bool strict;
static void *device_memory, *shared_memory;

static void sentence(int line, const char *words, cl_int expected, cl_int got)
{
    printf("%s %4d %s", got == expected ? "ok  " : "FAIL", line, words);
    if (got != expected)
        printf(": %d instead of %d", got, expected);
    putchar('\n');
    failures += got != expected;
    passes += got == expected;
}

static void cannot(int line, const char *words)
{
    printf("skip %4d %s\n", line, words);
    skips++;
}

/* The lines of two sentences. */
static void cannot_exhaust(int line)
{
    cannot(line, "CL_OUT_OF_RESOURCES: a host cannot bring it about");
    cannot(line + 2, "CL_OUT_OF_HOST_MEMORY: a host cannot bring it about");
}

static cl_int allocated(enum kind kind, cl_context context, cl_device_id device,
                        const cl_mem_properties_intel *properties, size_t size, cl_uint alignment)
{
    cl_int status = 12345;
    struct host given = {.context = context, .device = device};
    void *pointer = try_to_allocate(&given, kind, properties, size, alignment, &status);
    if ((pointer != NULL) != (status == CL_SUCCESS))
        return 54321;
    if (pointer != NULL)
        MUST(mem_free(context, pointer));
    return status;
}

/* CL_INVALID_VALUE if that is what each alignment above the limit gives; else another status. */
static cl_int with_large_alignments(enum kind kind)
{
    cl_int found = CL_INVALID_VALUE;
    for (cl_uint alignment = 256; alignment != 0; alignment *= 2) {
        cl_int status = allocated(kind, host.context, host.device, NULL, 64, alignment);
        found = status == CL_INVALID_VALUE ? found : status;
    }
    return found;
}

static cl_int with_properties(enum kind kind, cl_mem_properties_intel name,
                              cl_mem_properties_intel value)
{
    const cl_mem_properties_intel properties[] = {name, value, 0};
    return allocated(kind, host.context, host.device, properties, 64, 0);
}

static void allocating(enum kind kind, int line)
{
    const cl_device_info queries[] = {CL_DEVICE_HOST_MEM_CAPABILITIES_INTEL,
                                      CL_DEVICE_DEVICE_MEM_CAPABILITIES_INTEL,
                                      CL_DEVICE_SINGLE_DEVICE_SHARED_MEM_CAPABILITIES_INTEL};
    const cl_mem_properties_intel twice[] = {CL_MEM_ALLOC_FLAGS_INTEL, 0, CL_MEM_ALLOC_FLAGS_INTEL,
                                             0, 0};
    const cl_context context = host.context;
    const cl_device_id device = host.device;
    cl_ulong largest = 0;
    must(clGetDeviceInfo(device, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof largest, &largest, NULL),
         "CL_DEVICE_MAX_MEM_ALLOC_SIZE");
    sentence(line, "CL_INVALID_CONTEXT: no context", CL_INVALID_CONTEXT,
             allocated(kind, NULL, device, NULL, 64, 0));
    line += 2;
    if (kind != HOST) {
        if (kind == DEVICE)
            sentence(line, "CL_INVALID_DEVICE: no device", CL_INVALID_DEVICE,
                     allocated(kind, context, NULL, NULL, 64, 0));
        if (other.device != NULL)
            sentence(line, "CL_INVALID_DEVICE: a device of another context", CL_INVALID_DEVICE,
                     allocated(kind, context, other.device, NULL, 64, 0));
        else
            cannot(line, "CL_INVALID_DEVICE: there is one device only");
        line += 2;
    }
    if (capabilities(device, queries[kind]) == 0) {
        sentence(line, "CL_INVALID_OPERATION: not supported", CL_INVALID_OPERATION,
                 allocated(kind, context, device, NULL, 64, 0));
        return;
    }
    cannot(line, "CL_INVALID_OPERATION: the device supports it");
    line += 2;
    for (cl_uint alignment = 1; alignment <= 128; alignment *= 2)
        sentence(line, "a power of two is an alignment", CL_SUCCESS,
                 allocated(kind, context, device, NULL, 64, alignment));
    for (cl_uint alignment = 3; alignment < 128; alignment = alignment * 2 + 1)
        sentence(line, "CL_INVALID_VALUE: alignment is no power of two", CL_INVALID_VALUE,
                 allocated(kind, context, device, NULL, 64, alignment));
    line += 2;
    sentence(line, "CL_INVALID_VALUE: alignment above the largest type", CL_INVALID_VALUE,
             with_large_alignments(kind));
    line += 2;
    sentence(line, "CL_INVALID_PROPERTY: an unknown name", CL_INVALID_PROPERTY,
             with_properties(kind, 0x4194, 0));
    sentence(line, "CL_INVALID_PROPERTY: an invalid value", CL_INVALID_PROPERTY,
             with_properties(kind, CL_MEM_ALLOC_FLAGS_INTEL, (cl_mem_properties_intel)1 << 40));
    sentence(line, "CL_INVALID_PROPERTY: the same name twice", CL_INVALID_PROPERTY,
             allocated(kind, context, device, twice, 64, 0));
    sentence(line, "write combined is a flag", CL_SUCCESS,
             with_properties(kind, CL_MEM_ALLOC_FLAGS_INTEL, CL_MEM_ALLOC_WRITE_COMBINED_INTEL));
    line += 2;
    const cl_mem_properties_intel on_device = CL_MEM_ALLOC_INITIAL_PLACEMENT_DEVICE_INTEL,
                                  on_host = CL_MEM_ALLOC_INITIAL_PLACEMENT_HOST_INTEL;
    const cl_int one_side = kind == SHARED ? CL_SUCCESS : CL_INVALID_PROPERTY;
    sentence(line, "placement on the device, for shared allocations only", one_side,
             with_properties(kind, CL_MEM_ALLOC_FLAGS_INTEL, on_device));
    sentence(line, "placement on the host, for shared allocations only", one_side,
             with_properties(kind, CL_MEM_ALLOC_FLAGS_INTEL, on_host));
    sentence(line, "CL_INVALID_PROPERTY: placement on both sides", CL_INVALID_PROPERTY,
             with_properties(kind, CL_MEM_ALLOC_FLAGS_INTEL, on_device | on_host));
    line += 2;
    sentence(line, "CL_INVALID_BUFFER_SIZE: size 0", CL_INVALID_BUFFER_SIZE,
             allocated(kind, context, device, NULL, 0, 0));
    sentence(line, "CL_INVALID_BUFFER_SIZE: above the largest allocation", CL_INVALID_BUFFER_SIZE,
             allocated(kind, context, device, NULL, (size_t)largest + 1, 0));
    sentence(line, "CL_INVALID_BUFFER_SIZE: SIZE_MAX", CL_INVALID_BUFFER_SIZE,
             allocated(kind, context, device, NULL, (size_t)-1, 0));
    cannot(line + 2, "CL_OUT_OF_RESOURCES: see usm_life for a full device");
    cannot(line + 4, "CL_OUT_OF_HOST_MEMORY: a host cannot bring it about");
}

static void freeing(void)
{
    const struct {
        const char *name;
        cl_int (*free)(cl_context, void *);
    } functions[] = {{"clMemFreeINTEL", mem_free}, {"clMemBlockingFreeINTEL", blocking_free}};
    int local = 0;
    for (int i = 0; i < 2; i++) {
        cl_int (*free_it)(cl_context, void *) = functions[i].free;
        char *pointer = allocate(&host, DEVICE, 4096);
        puts(functions[i].name);
        sentence(610, "CL_INVALID_CONTEXT: no context", CL_INVALID_CONTEXT, free_it(NULL, pointer));
        sentence(612, "NULL is nothing to free", CL_SUCCESS, free_it(host.context, NULL));
        sentence(612, "CL_INVALID_VALUE: memory of the host's own", CL_INVALID_VALUE,
                 free_it(host.context, &local));
        sentence(612, "CL_INVALID_VALUE: a pointer into an allocation", CL_INVALID_VALUE,
                 free_it(host.context, pointer + 64));
        sentence(612, "CL_INVALID_VALUE: an allocation of another context", CL_INVALID_VALUE,
                 free_it(other.context, pointer));
        sentence(612, "what was allocated", CL_SUCCESS, free_it(host.context, pointer));
        sentence(612, "CL_INVALID_VALUE: freed already", CL_INVALID_VALUE,
                 free_it(host.context, pointer));
        cannot_exhaust(614);
    }
}

static void queries(void)
{
    static const struct {
        cl_mem_info_intel name;
        size_t size;
    } known[] = {{CL_MEM_ALLOC_TYPE_INTEL, 4},
                 {CL_MEM_ALLOC_BASE_PTR_INTEL, 8},
                 {CL_MEM_ALLOC_SIZE_INTEL, 8},
                 {CL_MEM_ALLOC_DEVICE_INTEL, 8},
                 {CL_MEM_ALLOC_FLAGS_INTEL, 8}};
    cl_ulong value;
    size_t size;
    sentence(667, "CL_INVALID_CONTEXT: no context", CL_INVALID_CONTEXT,
             alloc_info(NULL, device_memory, CL_MEM_ALLOC_SIZE_INTEL, sizeof value, &value, NULL));
    sentence(669, "CL_INVALID_VALUE: no query", CL_INVALID_VALUE,
             alloc_info(host.context, device_memory, 0x1234, sizeof value, &value, NULL));
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        sentence(671, "CL_INVALID_VALUE: too little room", CL_INVALID_VALUE,
                 alloc_info(host.context, device_memory, known[i].name, known[i].size - 1, &value,
                            NULL));
        sentence(671, "the length alone", CL_SUCCESS,
                 alloc_info(host.context, device_memory, known[i].name, 0, NULL, &size));
        sentence(671, "its value", (cl_int)known[i].size, (cl_int)size);
    }
    cannot_exhaust(673);
}

static void arguments(void)
{
    int local = 0;
    sentence(739, "CL_INVALID_KERNEL: no kernel", CL_INVALID_KERNEL,
             set_pointer(NULL, 0, device_memory));
    sentence(741, "CL_INVALID_ARG_INDEX: no such argument", CL_INVALID_ARG_INDEX,
             set_pointer(kernel, 9, device_memory));
    sentence(743, "a pointer into an allocation", CL_SUCCESS,
             set_pointer(kernel, 0, (char *)device_memory + 64));
    sentence(743, "NULL", CL_SUCCESS, set_pointer(kernel, 0, NULL));
    if (capabilities(host.device, CL_DEVICE_SHARED_SYSTEM_MEM_CAPABILITIES_INTEL) == 0)
        sentence(743, "CL_INVALID_ARG_VALUE: memory of the host's own", CL_INVALID_ARG_VALUE,
                 set_pointer(kernel, 0, &local));
    else
        cannot(743, "CL_INVALID_ARG_VALUE: the device reaches all of the host's memory");
    sentence(743, "CL_INVALID_ARG_VALUE: the argument is no pointer", CL_INVALID_ARG_VALUE,
             set_pointer(kernel, 1, device_memory));
    cannot_exhaust(745);
}

static cl_int fill_behind(cl_command_queue queue, cl_uint count, const cl_event *list)
{
    return mem_fill(queue, device_memory, "abc", 4, 64, count, list, NULL);
}

static cl_int copy_behind(cl_command_queue queue, cl_uint count, const cl_event *list)
{
    static char local[64];
    return mem_copy(queue, CL_TRUE, device_memory, local, 64, count, list, NULL);
}

static void *for_hints(void)
{
    return shared_memory != NULL ? shared_memory : device_memory;
}

static cl_int migrate_behind(cl_command_queue queue, cl_uint count, const cl_event *list)
{
    return migrate(queue, for_hints(), 64, CL_MIGRATE_MEM_OBJECT_HOST, count, list, NULL);
}

static cl_int advise_behind(cl_command_queue queue, cl_uint count, const cl_event *list)
{
    return advise(queue, for_hints(), 64, 0, count, list, NULL);
}

typedef cl_int (*command)(cl_command_queue queue, cl_uint count, const cl_event *list);

/* CL_INVALID_COMMAND_QUEUE if that is what each thing gives that is no queue: NULL, and objects of
 * other types; else another status. */
static cl_int without_queue(command call)
{
    const void *others[] = {NULL, host.context, host.device, kernel};
    cl_int found = CL_INVALID_COMMAND_QUEUE;
    for (int i = 0; i < (strict ? 4 : 1); i++) {
        cl_int status = call((cl_command_queue)others[i], 0, NULL);
        found = status == CL_INVALID_COMMAND_QUEUE ? found : status;
    }
    return found;
}

/* What all commands have in common, with the lines about the queue and about the wait list. */
static void queues_and_lists(command call, int queue_line, int list_line)
{
    const cl_command_queue queue = host.queue;
    cl_event foreign = user_event(&other);
    MUST(clSetUserEventStatus(foreign, CL_COMPLETE));
    sentence(queue_line, "CL_INVALID_COMMAND_QUEUE: no queue", CL_INVALID_COMMAND_QUEUE,
             without_queue(call));
    sentence(queue_line + 2, "CL_INVALID_CONTEXT: an event of another context", CL_INVALID_CONTEXT,
             call(queue, 1, &foreign));
    sentence(list_line, "CL_INVALID_EVENT_WAIT_LIST: a number without a list",
             CL_INVALID_EVENT_WAIT_LIST, call(queue, 1, NULL));
    sentence(list_line, "CL_INVALID_EVENT_WAIT_LIST: a list without a number",
             CL_INVALID_EVENT_WAIT_LIST, call(queue, 0, &foreign));
    sentence(list_line, "CL_INVALID_EVENT_WAIT_LIST: no event in it", CL_INVALID_EVENT_WAIT_LIST,
             call(queue, 1, &(cl_event){NULL}));
    MUST(clReleaseEvent(foreign));
}

static void filling(void)
{
    const cl_command_queue queue = host.queue;
    char pattern[256] = {0}, *to = device_memory;
    queues_and_lists(fill_behind, 818, 830);
    sentence(822, "CL_INVALID_VALUE: no destination", CL_INVALID_VALUE,
             mem_fill(queue, NULL, pattern, 4, 64, 0, NULL, NULL));
    sentence(822, "CL_INVALID_VALUE: the destination is not aligned", CL_INVALID_VALUE,
             mem_fill(queue, to + 2, pattern, 4, 64, 0, NULL, NULL));
    sentence(824, "CL_INVALID_VALUE: no pattern", CL_INVALID_VALUE,
             mem_fill(queue, to, NULL, 4, 64, 0, NULL, NULL));
    sentence(826, "CL_INVALID_VALUE: a pattern of 0 bytes", CL_INVALID_VALUE,
             mem_fill(queue, to, pattern, 0, 64, 0, NULL, NULL));
    sentence(826, "CL_INVALID_VALUE: a pattern of 3 bytes", CL_INVALID_VALUE,
             mem_fill(queue, to, pattern, 3, 63, 0, NULL, NULL));
    sentence(826, "CL_INVALID_VALUE: a pattern of 256 bytes", CL_INVALID_VALUE,
             mem_fill(queue, to, pattern, 256, 256, 0, NULL, NULL));
    sentence(828, "CL_INVALID_VALUE: the size is no multiple", CL_INVALID_VALUE,
             mem_fill(queue, to, pattern, 4, 63, 0, NULL, NULL));
    for (size_t size = 1; size <= 128; size *= 2)
        sentence(826, "powers of two up to 128 are patterns", CL_SUCCESS,
                 mem_fill(queue, to, pattern, size, 1024, 0, NULL, NULL));
    MUST(clFinish(queue));
    cannot_exhaust(832);
}

static void copying(void)
{
    const cl_command_queue queue = host.queue;
    cl_event failed;
    char local[64] = {0}, *to = device_memory;
    queues_and_lists(copy_behind, 866, 872);
    sentence(870, "CL_INVALID_VALUE: no destination", CL_INVALID_VALUE,
             mem_copy(queue, CL_TRUE, NULL, local, 64, 0, NULL, NULL));
    sentence(870, "CL_INVALID_VALUE: no source", CL_INVALID_VALUE,
             mem_copy(queue, CL_TRUE, to, NULL, 64, 0, NULL, NULL));
    failed = user_event(&host);
    MUST(clSetUserEventStatus(failed, -5));
    sentence(874, "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST: blocking behind a failure",
             CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST,
             mem_copy(queue, CL_TRUE, to, local, 64, 1, &failed, NULL));
    MUST(clReleaseEvent(failed));
    sentence(876, "CL_MEM_COPY_OVERLAP", CL_MEM_COPY_OVERLAP,
             mem_copy(queue, CL_TRUE, to, to + 32, 64, 0, NULL, NULL));
    sentence(876, "adjacent ranges do not overlap", CL_SUCCESS,
             mem_copy(queue, CL_TRUE, to, to + 64, 64, 0, NULL, NULL));
    cannot_exhaust(878);
}

static void hints(void)
{
    const cl_command_queue queue = host.queue;
    void *memory = for_hints();
    queues_and_lists(migrate_behind, 911, 919);
    cannot(915, "the specification leaves open which pointers and sizes are invalid");
    sentence(917, "CL_INVALID_VALUE: no flags", CL_INVALID_VALUE,
             migrate(queue, memory, 64, 0, 0, NULL, NULL));
    sentence(917, "CL_INVALID_VALUE: flags that are none", CL_INVALID_VALUE,
             migrate(queue, memory, 64, (cl_mem_migration_flags)1 << 20, 0, NULL, NULL));
    sentence(917, "migrating to the host", CL_SUCCESS, migrate_behind(queue, 0, NULL));
    cannot_exhaust(921);
    queues_and_lists(advise_behind, 952, 960);
    cannot(956, "the specification leaves open which pointers and sizes are invalid");
    sentence(958, "CL_INVALID_VALUE: what is no advice", CL_INVALID_VALUE,
             advise(queue, memory, 64, 0x99, 0, NULL, NULL));
    cannot_exhaust(962);
    MUST(clFinish(queue));
}

int main(int count, char **words)
{
    const int tolerated = count == 3 && strcmp(words[1], "--tolerate") == 0 ? atoi(words[2]) : 0;
    cl_device_id devices[2] = {NULL, NULL};
    cl_uint found = 0;
    cl_int status;
    strict = count == 1;
    start(&host, "kernel void k(global int *x, int y) { x[get_global_id(0)] = y; }");
    find_usm(&host);
    kernel = new_kernel(&host, "k");
    MUST(clGetDeviceIDs(host.platform, CL_DEVICE_TYPE_ALL, 2, devices, &found));
    other.device = found > 1 ? devices[1] : NULL;
    other.context =
        clCreateContext(NULL, 1, &devices[other.device != NULL ? 1 : 0], NULL, NULL, &status);
    must(status, "clCreateContext");
    device_memory = allocate(&host, DEVICE, 4096);
    shared_memory = shared_alloc(host.context, host.device, NULL, 4096, 0, NULL);
    puts("clHostMemAllocINTEL");
    allocating(HOST, 474);
    puts("clDeviceMemAllocINTEL");
    allocating(DEVICE, 520);
    puts("clSharedMemAllocINTEL");
    allocating(SHARED, 568);
    freeing();
    puts("clGetMemAllocInfoINTEL");
    queries();
    puts("clSetKernelArgMemPointerINTEL");
    arguments();
    puts("clEnqueueMemFillINTEL");
    filling();
    puts("clEnqueueMemcpyINTEL");
    copying();
    puts("clEnqueueMigrateMemINTEL, clEnqueueMemAdviseINTEL");
    hints();
    free_memory(&host, device_memory);
    free_memory(&host, shared_memory);
    MUST(clReleaseKernel(kernel));
    MUST(clReleaseContext(other.context));
    stop(&host);
    printf("%d hold, %d do not, %d cannot be tried\n", passes, failures, skips);
    return failures > tolerated;
}
