/* SPDX-License-Identifier: Apache-2.0
 *
 * What the specification of cl_intel_unified_shared_memory says about allocations, arguments and
 * commands besides their errors (usm_errors.c) and the work they are for (usm_life.c): one function
 * for each subject. `usm_sentences [all]`; `all`: also what Intel's CPU runtime refuses (placement
 * of shared allocations, advice 0, undefined contents, sets of allocations, hints about host and
 * device allocations or without an event), what boards promise beyond the specification, and what
 * it leaves open. */
#include "usm.h"

enum { COUNT = 1024, SIZE = COUNT * sizeof(cl_int), LARGEST_TYPE = 128 };

static const char *const source =
    "kernel void where(global ulong *x) { x[0] = (ulong)x; }\n"
    "kernel void is_null(global int *x, global int *out) { out[0] = x == 0; }\n"
    "kernel void from_constant(constant int *in, global int *out) { out[0] = in[0] + in[1]; }\n"
    "kernel void local_pointer(local int *x) { x[0] = 1; }\n"
    "kernel void vectors(global int4 *x) { x[get_global_id(0)] += 1; }\n"
    "kernel void count(global int *x) { atomic_inc(x); }\n"
    "kernel void add(global int *x, int amount) { x[get_global_id(0)] += amount; }\n"
    "kernel void meet(global volatile int *x, int limit)\n"
    "{\n"
    "    atomic_xchg(&x[0], 1);\n"
    "    for (int i = 0; i < limit && atomic_or(&x[1], 0) == 0; i++);\n"
    "    x[2] = atomic_or(&x[1], 0);\n"
    "}\n"
    "kernel void count_many(global volatile int *x, int times)\n"
    "{\n"
    "    atomic_xchg(&x[0], 1);\n"
    "    for (int i = 0; i < times; i++) atomic_inc(&x[1]);\n"
    "}\n";

static struct host host;
static bool all;

static const cl_device_info queries[KINDS] = {
    CL_DEVICE_HOST_MEM_CAPABILITIES_INTEL, CL_DEVICE_DEVICE_MEM_CAPABILITIES_INTEL,
    CL_DEVICE_SINGLE_DEVICE_SHARED_MEM_CAPABILITIES_INTEL};

static bool can(enum kind kind, cl_bitfield bits)
{
    return (capabilities(host.device, queries[kind]) & bits) == bits;
}

static void *some(enum kind kind)
{
    return allocate(&host, kind, SIZE);
}

static cl_int first_of(const void *allocation)
{
    cl_int value;
    copy_memory(&host, &value, allocation, sizeof value);
    return value;
}

static void set_all(void *allocation, cl_int value)
{
    MUST(mem_fill(host.queue, allocation, &value, sizeof value, SIZE, 0, NULL, NULL));
    MUST(clFinish(host.queue));
}

static void run_on(const char *name, void *pointer, size_t items)
{
    cl_kernel kernel = kernel_at(&host, name, pointer);
    launch(host.queue, kernel, items, NULL);
    MUST(clFinish(host.queue));
    MUST(clReleaseKernel(kernel));
}

static void capability_queries(void)
{
    const cl_device_info asked[] = {queries[HOST], queries[DEVICE], queries[SHARED],
                                    CL_DEVICE_CROSS_DEVICE_SHARED_MEM_CAPABILITIES_INTEL,
                                    CL_DEVICE_SHARED_SYSTEM_MEM_CAPABILITIES_INTEL};
    const cl_bitfield known = CL_UNIFIED_SHARED_MEMORY_ACCESS_INTEL |
                              CL_UNIFIED_SHARED_MEMORY_ATOMIC_ACCESS_INTEL |
                              CL_UNIFIED_SHARED_MEMORY_CONCURRENT_ACCESS_INTEL |
                              CL_UNIFIED_SHARED_MEMORY_CONCURRENT_ATOMIC_ACCESS_INTEL;
    for (int i = 0; i < 5; i++) {
        cl_bitfield found = ~(cl_bitfield)0;
        size_t size = 0;
        must(clGetDeviceInfo(host.device, asked[i], sizeof found, &found, &size), "capabilities");
        must_be(size == sizeof(cl_bitfield), "capabilities are a bitfield");
        must_be((found & ~known) == 0, "of four bits");
        must_be(found == 0 || found & CL_UNIFIED_SHARED_MEMORY_ACCESS_INTEL,
                "what can be used in any way can be accessed");
    }
    must_be(can(DEVICE, CL_UNIFIED_SHARED_MEMORY_ACCESS_INTEL),
            "access to device allocations is required");
    must_be(!all || capabilities(host.device, asked[3]) == capabilities(host.device, asked[2]),
            "boards reach the shared memory of each other as their own");
}

static void properties_and_alignments(enum kind kind)
{
    const cl_mem_properties_intel none[] = {0};
    free_memory(&host, allocate_with(&host, kind, NULL, SIZE, 0));
    free_memory(&host, allocate_with(&host, kind, none, SIZE, 0));
    for (cl_uint alignment = 0; alignment <= LARGEST_TYPE;
         alignment = alignment ? alignment * 2 : 1) {
        void *pointers[3];
        for (int i = 0; i < 3; i++) {
            pointers[i] = allocate_with(&host, kind, NULL, 100, alignment);
            must_be((cl_ulong)pointers[i] % (alignment ? alignment : LARGEST_TYPE) == 0,
                    "an allocation is aligned as was asked for, or to the largest type");
        }
        for (int i = 0; i < 3; i++)
            free_memory(&host, pointers[i]);
    }
    void *pointer = try_to_allocate(&host, kind, NULL, SIZE, 0, NULL);
    must_be(pointer != NULL, "nobody has to ask for the status");
    free_memory(&host, pointer);
}

static void flags_come_back(enum kind kind)
{
    const cl_mem_alloc_flags_intel combined = CL_MEM_ALLOC_WRITE_COMBINED_INTEL,
                                   on_device = CL_MEM_ALLOC_INITIAL_PLACEMENT_DEVICE_INTEL,
                                   on_host = CL_MEM_ALLOC_INITIAL_PLACEMENT_HOST_INTEL;
    const cl_mem_alloc_flags_intel flags[] = {
        combined, 0, on_device, on_host, combined | on_device, combined | on_host};
    for (int i = 0; i < (!all ? 1 : kind == SHARED ? 6 : 2); i++) {
        const cl_mem_properties_intel properties[] = {CL_MEM_ALLOC_FLAGS_INTEL, flags[i], 0};
        char *pointer = allocate_with(&host, kind, properties, SIZE, 0);
        cl_mem_alloc_flags_intel found = 99;
        ask_allocation(&host, pointer + 5, CL_MEM_ALLOC_FLAGS_INTEL, sizeof found, &found);
        must_be(found == flags[i], "the flags of an allocation are those it was made with");
        set_all(pointer, 6);
        run_on("count", pointer, COUNT);
        must_be(first_of(pointer) == 6 + COUNT, "flags change nothing about the results");
        free_memory(&host, pointer);
    }
}

static void nothing_is_known_of_other_pointers(void)
{
    cl_uint type = 0;
    cl_device_id device = host.device;
    cl_mem_alloc_flags_intel flags = 99;
    int local;
    const void *pointers[] = {NULL, &local};
    for (int i = 0; i < 2; i++) {
        ask_allocation(&host, pointers[i], CL_MEM_ALLOC_TYPE_INTEL, sizeof type, &type);
        ask_allocation(&host, pointers[i], CL_MEM_ALLOC_DEVICE_INTEL, sizeof device, &device);
        ask_allocation(&host, pointers[i], CL_MEM_ALLOC_FLAGS_INTEL, sizeof flags, &flags);
        must_be(type == CL_MEM_TYPE_UNKNOWN_INTEL && device == NULL && flags == 0,
                "a pointer into no allocation has no device and no flags");
    }
}

static void shared_without_device(void)
{
    cl_int status;
    cl_device_id device = host.device;
    cl_int *pointer = shared_alloc(host.context, NULL, NULL, SIZE, 0, &status);
    if (!can(SHARED, CL_UNIFIED_SHARED_MEMORY_ACCESS_INTEL)) {
        must_be(status == CL_INVALID_OPERATION, "no device of the context has shared allocations");
        return;
    }
    must(status, "clSharedMemAllocINTEL without a device");
    ask_allocation(&host, pointer, CL_MEM_ALLOC_DEVICE_INTEL, sizeof device, &device);
    must_be(device == NULL, "an allocation without a device has none");
    pointer[0] = 5;
    if (all ||
        capabilities(host.device, CL_DEVICE_CROSS_DEVICE_SHARED_MEM_CAPABILITIES_INTEL) != 0) {
        run_on("count", pointer, COUNT);
        must_be(pointer[0] == 5 + COUNT, "devices reach it");
    }
    free_memory(&host, pointer);
}

static void same_address(enum kind kind)
{
    cl_ulong *pointer = some(kind), seen;
    run_on("where", pointer, 1);
    copy_memory(&host, &seen, pointer, sizeof seen);
    must_be(seen == (cl_ulong)pointer, "the device sees the pointer that the host has");
    free_memory(&host, pointer);
}

static void no_mapping_is_needed(enum kind kind)
{
    cl_int *pointer = some(kind);
    for (int i = 0; i < 3; i++) {
        pointer[i] = 10 * i;
        run_on("count", pointer + i, 7);
        must_be(pointer[i] == 10 * i + 7, "host and kernels take turns without map and unmap");
    }
    free_memory(&host, pointer);
}

static void atomics(enum kind kind)
{
    cl_int *pointer;
    if (!can(kind, CL_UNIFIED_SHARED_MEMORY_ATOMIC_ACCESS_INTEL))
        return;
    pointer = some(kind);
    set_all(pointer, 0);
    run_on("count", pointer, 10000);
    must_be(first_of(pointer) == 10000, "atomic operations count every work-item");
    free_memory(&host, pointer);
}

/* Returns when the kernel has begun, which sets the first word. */
static cl_kernel begun(const char *name, volatile cl_int *words, cl_int limit)
{
    cl_kernel kernel = kernel_at(&host, name, (void *)words);
    words[0] = words[1] = words[2] = 0;
    set_argument(kernel, 1, sizeof limit, &limit);
    launch(host.queue, kernel, 1, NULL);
    MUST(clFlush(host.queue));
    while (__atomic_load_n(&words[0], __ATOMIC_SEQ_CST) == 0)
        sched_yield();
    return kernel;
}

static void host_and_kernel_at_once(enum kind kind)
{
    enum { TIMES = 100000 };
    if (!can(kind, CL_UNIFIED_SHARED_MEMORY_CONCURRENT_ACCESS_INTEL))
        return;
    volatile cl_int *words = some(kind);
    cl_kernel meet = begun("meet", words, 2000000000);
    __atomic_store_n(&words[1], 1, __ATOMIC_SEQ_CST);
    MUST(clFinish(host.queue));
    must_be(words[2] == 1, "host and kernel see each other's writes while the kernel runs");
    MUST(clReleaseKernel(meet));
    if (can(kind, CL_UNIFIED_SHARED_MEMORY_CONCURRENT_ATOMIC_ACCESS_INTEL)) {
        cl_kernel many = begun("count_many", words, TIMES);
        for (int i = 0; i < TIMES; i++)
            __atomic_fetch_add(&words[1], 1, __ATOMIC_SEQ_CST);
        MUST(clFinish(host.queue));
        must_be(words[1] == 2 * TIMES, "atomic operations of both count all together");
        MUST(clReleaseKernel(many));
    }
    free_memory(&host, (void *)words);
}

static void arguments(void)
{
    cl_int *in = some(DEVICE), *out = some(DEVICE), got[2] = {30, 12};
    cl_kernel kernel = new_kernel(&host, "from_constant"), null = new_kernel(&host, "is_null"),
              local = new_kernel(&host, "local_pointer");
    copy_memory(&host, in, got, sizeof got);
    must(set_pointer(kernel, 0, in), "a pointer to constant memory");
    must(set_pointer(kernel, 1, out), "a pointer to global memory");
    launch(host.queue, kernel, 1, NULL);
    must_be(first_of(out) == 42, "an argument in constant memory");
    must(set_pointer(null, 0, NULL), "NULL");
    MUST(set_pointer(null, 1, out));
    launch(host.queue, null, 1, NULL);
    must_be(first_of(out) == 1, "NULL is what the kernel gets");
    must(set_pointer(null, 0, in), "another pointer");
    launch(host.queue, null, 1, NULL);
    must_be(first_of(out) == 0, "a pointer is the argument until another one is set");
    must_be(set_pointer(local, 0, in) == CL_INVALID_ARG_VALUE,
            "a pointer to local memory takes no allocation");
    MUST(clReleaseKernel(kernel));
    MUST(clReleaseKernel(null));
    MUST(clReleaseKernel(local));
    free_memory(&host, in);
    free_memory(&host, out);
}

static void beside_shared_virtual_memory(void)
{
    cl_device_svm_capabilities svm = 0;
    const cl_int seven = 7;
    MUST(clGetDeviceInfo(host.device, CL_DEVICE_SVM_CAPABILITIES, sizeof svm, &svm, NULL));
    if ((svm & CL_DEVICE_SVM_COARSE_GRAIN_BUFFER) == 0)
        return;
    cl_int *in = clSVMAlloc(host.context, CL_MEM_READ_WRITE, SIZE, 0), *out = some(DEVICE);
    cl_kernel kernel = new_kernel(&host, "from_constant");
    must_be(in != NULL, "clSVMAlloc");
    MUST(clEnqueueSVMMemFill(host.queue, in, &seven, sizeof seven, SIZE, 0, NULL, NULL));
    MUST(clSetKernelArgSVMPointer(kernel, 0, in));
    MUST(set_pointer(kernel, 1, out));
    launch(host.queue, kernel, 1, NULL);
    must_be(first_of(out) == 14, "a kernel has both kinds of memory");
    MUST(clReleaseKernel(kernel));
    clSVMFree(host.context, in);
    free_memory(&host, out);
}

/* A promise of boards: the specification knows no alignment of arguments. */
static void alignment_of_arguments(void)
{
    cl_kernel vectors = new_kernel(&host, "vectors"), words = new_kernel(&host, "count");
    char *pointer = some(DEVICE);
    for (int offset = 1; offset <= 32; offset++) {
        must_be(set_pointer(vectors, 0, pointer + offset) ==
                    (offset % 16 == 0 ? CL_SUCCESS : CL_INVALID_ARG_VALUE),
                "a pointer to int4 is aligned to 16 bytes");
        must_be(set_pointer(words, 0, pointer + offset) ==
                    (offset % 4 == 0 ? CL_SUCCESS : CL_INVALID_ARG_VALUE),
                "a pointer to int is aligned to 4 bytes");
    }
    MUST(clReleaseKernel(vectors));
    MUST(clReleaseKernel(words));
    free_memory(&host, pointer);
}

/* A promise of boards: usm_s10 has a memory "device" and a memory "host", each for its own kinds.
 */
static void kinds_of_arguments(void)
{
    static const char *const located =
        "kernel void k(global __attribute__((buffer_location(\"host\"))) int *on_host,\n"
        "              global __attribute__((buffer_location(\"device\"))) int *on_device,\n"
        "              global int *anywhere) {}\n";
    const bool taken[3][KINDS] = {{true, false, true}, {false, true, false}, {true, true, true}};
    cl_program program = new_program(&host, located, "");
    cl_kernel kernel = kernel_in(program, "k");
    for (int kind = 0; kind < KINDS; kind++) {
        void *pointer = some((enum kind)kind);
        for (cl_uint argument = 0; argument < 3; argument++)
            must_be(set_pointer(kernel, argument, pointer) ==
                        (taken[argument][kind] ? CL_SUCCESS : CL_INVALID_ARG_VALUE),
                    "a kind of allocation goes where its memory is");
        free_memory(&host, pointer);
    }
    MUST(clReleaseKernel(kernel));
    MUST(clReleaseProgram(program));
}

static void explicit_sets(void)
{
    cl_int *data = some(DEVICE);
    cl_kernel kernel = kernel_at(&host, "count", data);
    void *first = some(DEVICE), *second = some(DEVICE);
    void *both[] = {first, second}, *one[] = {second};
    const size_t items = 1;
    cl_event held_back = user_event(&host);
    set_all(data, 0);
    launch(host.queue, kernel, 1, NULL);
    must(clSetKernelExecInfo(kernel, CL_KERNEL_EXEC_INFO_USM_PTRS_INTEL, sizeof both, both),
         "a set of two");
    launch(host.queue, kernel, 1, NULL);
    must(clSetKernelExecInfo(kernel, CL_KERNEL_EXEC_INFO_USM_PTRS_INTEL, sizeof one, one),
         "a set of one");
    MUST(clFinish(host.queue));
    /* A new set takes the place of the one before: nobody waits for this launch, which is held
     * back.
     */
    MUST(clEnqueueNDRangeKernel(host.queue, kernel, 1, NULL, &items, NULL, 1, &held_back, NULL));
    MUST(blocking_free(host.context, first));
    MUST(clSetUserEventStatus(held_back, CL_COMPLETE));
    must_be(first_of(data) == 3, "and it runs without what was freed");
    one[0] = &data;
    must_be(clSetKernelExecInfo(kernel, CL_KERNEL_EXEC_INFO_USM_PTRS_INTEL, sizeof one, one) ==
                CL_INVALID_VALUE,
            "a set has no memory of the host's own");
    MUST(blocking_free(host.context, second));
    MUST(clReleaseEvent(held_back));
    MUST(clReleaseKernel(kernel));
    free_memory(&host, data);
}

/* A kernel that an event of the host holds back, so that waiting for it would never end. */
static cl_event held_back, ran;

static void hold_back(cl_kernel kernel, cl_int *data)
{
    const size_t one = 1;
    set_all(data, 0);
    held_back = user_event(&host);
    MUST(clEnqueueNDRangeKernel(host.queue, kernel, 1, NULL, &one, NULL, 1, &held_back, &ran));
    MUST(clFlush(host.queue));
}

/* It runs now, and adds 1 to what `data` points to. */
static void let_go(cl_kernel kernel, cl_int *data)
{
    MUST(clSetUserEventStatus(held_back, CL_COMPLETE));
    must_be(first_of(data) == 1, "the kernel runs afterwards");
    MUST(clReleaseEvent(held_back));
    MUST(clReleaseEvent(ran));
    MUST(clReleaseKernel(kernel));
    free_memory(&host, data);
}

static void no_kind_is_indirect_at_first(void)
{
    const cl_kernel_exec_info kinds[KINDS] = {CL_KERNEL_EXEC_INFO_INDIRECT_HOST_ACCESS_INTEL,
                                              CL_KERNEL_EXEC_INFO_INDIRECT_DEVICE_ACCESS_INTEL,
                                              CL_KERNEL_EXEC_INFO_INDIRECT_SHARED_ACCESS_INTEL};
    for (int switched = 0; switched < 2; switched++) {
        cl_int *data = some(DEVICE);
        cl_kernel kernel = kernel_at(&host, "count", data);
        for (int kind = 0; switched && kind < KINDS; kind++) {
            switch_access(kernel, kinds[kind], CL_TRUE);
            switch_access(kernel, kinds[kind], CL_FALSE);
        }
        hold_back(kernel, data);
        for (int kind = 0; kind < KINDS; kind++)
            if (can((enum kind)kind, CL_UNIFIED_SHARED_MEMORY_ACCESS_INTEL))
                MUST(blocking_free(host.context, some((enum kind)kind)));
        must_be(status_of(ran) > CL_COMPLETE,
                "who frees other memory does not wait for the kernel");
        let_go(kernel, data);
    }
}

static void plain_free_waits_for_nobody(void)
{
    cl_int *data = some(DEVICE);
    cl_kernel kernel = kernel_at(&host, "count", data);
    announce_device_access(kernel);
    hold_back(kernel, data);
    free_memory(&host, some(DEVICE));
    must_be(status_of(ran) > CL_COMPLETE, "a plain free does not wait for who may use the memory");
    let_go(kernel, data);
}

static void buffers_from_and_to_host_allocations(void)
{
    cl_int *here = some(HOST), *there = some(HOST);
    cl_mem buffer = new_buffer(&host, SIZE);
    for (int i = 0; i < COUNT; i++)
        here[i] = 3 * i;
    write_buffer(host.queue, buffer, SIZE, here);
    read_back(host.queue, buffer, SIZE, there);
    must_be(memcmp(here, there, SIZE) == 0, "buffers are written from host allocations, and read");
    MUST(clReleaseMemObject(buffer));
    free_memory(&host, here);
    free_memory(&host, there);
}

/* Each of the four commands, with a wait list and an event as given. */
static void enqueue(cl_command_type type, void *to, const void *from, cl_uint count,
                    const cl_event *list, cl_event *event)
{
    const cl_int pattern = 77;
    switch (type) {
    case CL_COMMAND_MEMFILL_INTEL:
        MUST(mem_fill(host.queue, to, &pattern, sizeof pattern, SIZE, count, list, event));
        break;
    case CL_COMMAND_MEMCPY_INTEL:
        MUST(mem_copy(host.queue, CL_FALSE, to, from, SIZE, count, list, event));
        break;
    case CL_COMMAND_MIGRATEMEM_INTEL:
        MUST(migrate(host.queue, to, SIZE, CL_MIGRATE_MEM_OBJECT_HOST, count, list, event));
        break;
    default:
        MUST(advise(host.queue, to, SIZE, 0, count, list, event));
    }
}

/* A command that did not wait for its list would complete. */
static void fails_with_its_list(cl_command_type type, void *to, const void *from)
{
    cl_event failed = user_event(&host), event;
    enqueue(type, to, from, 1, &failed, &event);
    MUST(clSetUserEventStatus(failed, -1));
    must_be(clWaitForEvents(1, &event) == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST,
            "a command behind a failure");
    must_be(status_of(event) < 0, "fails");
    MUST(clReleaseEvent(failed));
    MUST(clReleaseEvent(event));
}

static void wait_lists_and_events(void)
{
    const cl_command_type types[] = {CL_COMMAND_MEMFILL_INTEL, CL_COMMAND_MEMCPY_INTEL,
                                     CL_COMMAND_MIGRATEMEM_INTEL, CL_COMMAND_MEMADVISE_INTEL};
    const enum kind kind = can(SHARED, CL_UNIFIED_SHARED_MEMORY_ACCESS_INTEL) ? SHARED : DEVICE;
    cl_int *to = some(kind), *from = some(DEVICE);
    set_all(from, 88);
    for (int i = 0; i < (all ? 4 : 3); i++) {
        cl_event list[] = {user_event(&host), user_event(&host)}, kept[] = {list[0], list[1]},
                 event;
        cl_command_type found;
        set_all(to, 11);
        enqueue(types[i], to, from, 2, list, &event);
        list[0] = list[1] = NULL; /* the call has taken the list */
        MUST(clGetEventInfo(event, CL_EVENT_COMMAND_TYPE, sizeof found, &found, NULL));
        must_be(found == types[i], "the type of a command");
        MUST(clFlush(host.queue));
        MUST(clSetUserEventStatus(kept[0], CL_COMPLETE));
        must_be(status_of(event) > CL_COMPLETE, "a command waits for all of its list");
        MUST(clSetUserEventStatus(kept[1], CL_COMPLETE));
        MUST(clWaitForEvents(1, &event));
        must_be(first_of(to) == (i == 0 ? 77 : i == 1 ? 88 : 11), "and then does its work");
        if (all || i < 2) {
            cl_event other;
            enqueue(types[i], to, from, 0, NULL, NULL);
            enqueue(types[i], to, from, 0, NULL, &other);
            must(clFinish(host.queue), "a command without list and event");
            must_be(other != event, "each command has an event of its own");
            MUST(clReleaseEvent(other));
        }
        MUST(clReleaseEvent(kept[0]));
        MUST(clReleaseEvent(kept[1]));
        MUST(clReleaseEvent(event));
        if (all)
            fails_with_its_list(types[i], to, from);
    }
    free_memory(&host, to);
    free_memory(&host, from);
}

static void patterns_are_taken_at_once(void)
{
    cl_int *to = some(DEVICE), pattern = 5;
    cl_event held_back = user_event(&host);
    MUST(mem_fill(host.queue, to, &pattern, sizeof pattern, SIZE, 1, &held_back, NULL));
    pattern = 6;
    MUST(clSetUserEventStatus(held_back, CL_COMPLETE));
    must_be(first_of(to) == 5, "a fill has the pattern as it was when it was enqueued");
    MUST(clReleaseEvent(held_back));
    free_memory(&host, to);
}

static void copies_of_the_hosts_own_memory(void)
{
    static cl_int here[COUNT], there[COUNT];
    cl_int *memory = some(DEVICE);
    cl_event held_back = user_event(&host), event;
    for (int i = 0; i < COUNT; i++)
        here[i] = i;
    MUST(mem_copy(host.queue, CL_FALSE, memory, here, SIZE, 1, &held_back, &event));
    must_be(status_of(event) > CL_COMPLETE, "a non-blocking copy returns before it is done");
    MUST(clSetUserEventStatus(held_back, CL_COMPLETE));
    MUST(mem_copy(host.queue, CL_TRUE, there, memory, SIZE, 1, &event, NULL));
    must_be(memcmp(here, there, SIZE) == 0, "a blocking copy has been done when it returns");
    memset(there, 0, SIZE);
    copy_memory(&host, there, here, SIZE);
    must_be(memcmp(here, there, SIZE) == 0, "from memory of the host to memory of the host");
    MUST(clReleaseEvent(held_back));
    MUST(clReleaseEvent(event));
    free_memory(&host, memory);
}

static void hints_change_nothing(enum kind kind)
{
    const cl_mem_migration_flags flags[] = {CL_MIGRATE_MEM_OBJECT_HOST,
                                            CL_MIGRATE_MEM_OBJECT_HOST |
                                                CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED};
    cl_int *memory = some(kind), before[COUNT], after[COUNT];
    for (int i = 0; i < COUNT; i++)
        before[i] = 17 * i;
    copy_memory(&host, memory, before, SIZE);
    MUST(migrate(host.queue, memory, SIZE, flags[0], 0, NULL, NULL));
    for (cl_mem_advice_intel advice = 0x4208; all && advice <= 0x420F; advice++)
        must(advise(host.queue, memory + 100, 100, advice, 0, NULL, NULL), "reserved advice");
    if (all)
        MUST(advise(host.queue, memory + 100, 100, 0, 0, NULL, NULL));
    copy_memory(&host, after, memory, SIZE);
    must_be(memcmp(before, after, SIZE) == 0, "hints change no contents");
    run_on("count", memory, 4);
    before[0] += 4;
    copy_memory(&host, after, memory, SIZE);
    must_be(memcmp(before, after, SIZE) == 0, "nor what kernels make of them");
    if (all)
        MUST(migrate(host.queue, memory, SIZE, flags[1], 0, NULL, NULL));
    MUST(clFinish(host.queue));
    free_memory(&host, memory);
}

static void locations(enum kind kind)
{
    char extensions[8192] = "";
    const cl_mem_properties_intel properties[] = {CL_MEM_ALLOC_BUFFER_LOCATION_INTEL, 0, 0};
    cl_uint location = 99;
    MUST(clGetDeviceInfo(host.device, CL_DEVICE_EXTENSIONS, sizeof extensions, extensions, NULL));
    if (strstr(extensions, "cl_intel_mem_alloc_buffer_location") == NULL)
        return;
    char *pointer = allocate_with(&host, kind, properties, SIZE, 0);
    ask_allocation(&host, pointer + 9, CL_MEM_ALLOC_BUFFER_LOCATION_INTEL, sizeof location,
                   &location);
    must_be(location == 0, "the location of an allocation is the one it was given");
    free_memory(&host, pointer);
}

/* A promise of boards: the specification leaves ranges of hints open. */
static void hints_about_any_range(void)
{
    char *memory = some(SHARED);
    must(migrate(host.queue, memory + SIZE - 1, SIZE, CL_MIGRATE_MEM_OBJECT_HOST, 0, NULL, NULL),
         "migrating more than the allocation has");
    must(advise(host.queue, memory + SIZE - 1, SIZE, 0, 0, NULL, NULL),
         "advice about more than the allocation has");
    must(migrate(host.queue, &memory, 1, CL_MIGRATE_MEM_OBJECT_HOST, 0, NULL, NULL),
         "migrating memory of the host");
    must(advise(host.queue, &memory, 1, 0, 0, NULL, NULL), "advice about memory of the host");
    must(migrate(host.queue, memory, 0, CL_MIGRATE_MEM_OBJECT_HOST, 0, NULL, NULL), "migrating 0");
    must(advise(host.queue, memory, 0, 0, 0, NULL, NULL), "advice about 0 bytes");
    MUST(clFinish(host.queue));
    free_memory(&host, memory);
}

/* What issues 2 and 24 of the specification leave open. */
static void no_flags_of_buffers(void)
{
    const cl_mem_properties_intel properties[] = {CL_MEM_FLAGS, CL_MEM_READ_WRITE, 0};
    cl_int status;
    must_be(device_alloc(host.context, host.device, properties, SIZE, 0, &status) == NULL &&
                status == CL_INVALID_PROPERTY,
            "flags of buffers are no property of allocations");
}

/* What the specification forbids hosts to do, and has no error for. */
static void an_event_in_its_own_list(void)
{
    cl_int *memory = some(DEVICE), pattern = 4;
    cl_event held_back = user_event(&host), event = held_back;
    set_all(memory, 1);
    MUST(mem_fill(host.queue, memory, &pattern, sizeof pattern, SIZE, 1, &event, &event));
    must_be(event != held_back, "the new event is written when the list has been read");
    must_be(status_of(event) > CL_COMPLETE, "the command waits for what was in the list");
    MUST(clSetUserEventStatus(held_back, CL_COMPLETE));
    MUST(clWaitForEvents(1, &event));
    must_be(first_of(memory) == 4, "and then does its work");
    MUST(clReleaseEvent(held_back));
    MUST(clReleaseEvent(event));
    free_memory(&host, memory);
}

/* What issues 9 and 10 leave open: memory that is in no allocation of the context. */
static void memory_of_others(void)
{
    cl_int status, pattern = 9, own[4] = {0}, *theirs;
    cl_context other = new_context(host.device);
    MUST(mem_fill(host.queue, own, &pattern, sizeof pattern, sizeof own, 0, NULL, NULL));
    MUST(clFinish(host.queue));
    must_be(own[0] == 9 && own[3] == 9, "memory of the host is filled");
    theirs = host_alloc(other, NULL, SIZE, 0, &status);
    must(status, "clHostMemAllocINTEL");
    copy_memory(&host, theirs, own, sizeof own);
    must_be(theirs[3] == 9, "a host allocation of another context counts as memory of the host");
    MUST(mem_free(other, theirs));
    theirs = device_alloc(other, host.device, NULL, SIZE, 0, &status);
    must(status, "clDeviceMemAllocINTEL");
    must_be(mem_copy(host.queue, CL_TRUE, theirs, own, sizeof own, 0, NULL, NULL) ==
                CL_INVALID_VALUE,
            "a device allocation of another context is not copied to");
    must_be(mem_copy(host.queue, CL_TRUE, own, theirs, sizeof own, 0, NULL, NULL) ==
                CL_INVALID_VALUE,
            "nor from");
    must_be(mem_fill(host.queue, theirs, &pattern, sizeof pattern, SIZE, 0, NULL, NULL) ==
                CL_INVALID_VALUE,
            "nor filled");
    MUST(mem_free(other, theirs));
    MUST(clReleaseContext(other));
}

/* What issues 20 to 23 leave open: allocations as host pointers, also for reads, writes and fills.
 */
static void allocations_as_host_pointers(enum kind kind)
{
    const cl_mem_flags flags[] = {CL_MEM_USE_HOST_PTR, CL_MEM_COPY_HOST_PTR};
    cl_int *memory = some(kind), back[COUNT], status;
    cl_mem buffer;
    set_all(memory, 20);
    for (int i = 0; i < 2; i++) {
        buffer = clCreateBuffer(host.context, CL_MEM_READ_WRITE | flags[i], SIZE, memory, &status);
        must(status, "an allocation is the host pointer of a buffer");
        read_back(host.queue, buffer, SIZE, back);
        must_be(back[0] == 20 && back[COUNT - 1] == 20, "whose contents the buffer has");
        MUST(clReleaseMemObject(buffer));
    }
    buffer = new_buffer(&host, SIZE);
    must(clEnqueueWriteBuffer(host.queue, buffer, CL_TRUE, 0, SIZE, memory, 0, NULL, NULL),
         "a buffer is written from an allocation");
    set_all(memory, 21);
    must(clEnqueueFillBuffer(host.queue, buffer, memory, 4, 4, 4, 0, NULL, NULL),
         "a pattern is in an allocation");
    must(clEnqueueReadBuffer(host.queue, buffer, CL_TRUE, 0, SIZE, memory, 0, NULL, NULL),
         "a buffer is read into an allocation");
    copy_memory(&host, back, memory, SIZE);
    must_be(back[0] == 20 && back[1] == 21 && back[2] == 20, "which has its contents then");
    must(mem_fill(host.queue, memory + COUNT / 2, memory + 1, 4, 4, 0, NULL, NULL),
         "a pattern of unified shared memory is in an allocation");
    copy_memory(&host, back, memory, SIZE);
    must_be(back[COUNT / 2] == 21 && back[COUNT / 2 + 1] == 20, "and is what is filled in");
    MUST(clReleaseMemObject(buffer));
    free_memory(&host, memory);
}

int main(int count, char **words)
{
    all = count > 1 && strcmp(words[1], "all") == 0;
    start(&host, source);
    find_usm(&host);
    capability_queries();
    nothing_is_known_of_other_pointers();
    for (int kind = 0; kind < KINDS; kind++) {
        if (!can((enum kind)kind, CL_UNIFIED_SHARED_MEMORY_ACCESS_INTEL))
            continue;
        properties_and_alignments((enum kind)kind);
        flags_come_back((enum kind)kind);
        same_address((enum kind)kind);
        atomics((enum kind)kind);
        if (kind != DEVICE) {
            no_mapping_is_needed((enum kind)kind);
            host_and_kernel_at_once((enum kind)kind);
        }
        if (all || kind == SHARED)
            hints_change_nothing((enum kind)kind);
        locations((enum kind)kind);
        if (all)
            allocations_as_host_pointers((enum kind)kind);
    }
    shared_without_device();
    if (can(HOST, CL_UNIFIED_SHARED_MEMORY_ACCESS_INTEL))
        buffers_from_and_to_host_allocations();
    arguments();
    beside_shared_virtual_memory();
    no_kind_is_indirect_at_first();
    plain_free_waits_for_nobody();
    wait_lists_and_events();
    patterns_are_taken_at_once();
    copies_of_the_hosts_own_memory();
    if (all) {
        explicit_sets();
        alignment_of_arguments();
        kinds_of_arguments();
        hints_about_any_range();
        no_flags_of_buffers();
        an_event_in_its_own_list();
        memory_of_others();
    }
    stop(&host);
    puts("ok");
    return 0;
}
