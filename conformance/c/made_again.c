/* SPDX-License-Identifier: Apache-2.0
 *
 * Objects like others that were made before: a kernel of the same name, a region of the same
 * buffer. Each is one of its own: with its arguments, its references, its errors, what it keeps
 * alive. Each argument of the program names a part. */
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include "host.h"

enum { WORDS = 512, BYTES = WORDS * sizeof(cl_int), LEARNED = 3, THREADS = 4, ROUNDS = 300 };

static const char source[] = "#ifndef MORE\n"
                             "kernel void add(global int *to, global const int *from, int amount)\n"
                             "{ size_t i = get_global_id(0); to[i] += from[i] + amount; }\n"
                             "kernel void nothing(global int *to) {}\n"
                             "#else\n"
                             "kernel void add(global int *to, int amount)\n"
                             "{ to[get_global_id(0)] += amount * MORE; }\n"
                             "#endif\n";

static struct host host;
static cl_mem to, from;

static void set_all(cl_kernel kernel, cl_mem target, cl_mem source_of, cl_int amount)
{
    set_argument(kernel, 0, sizeof target, &target);
    set_argument(kernel, 1, sizeof source_of, &source_of);
    set_argument(kernel, 2, sizeof amount, &amount);
}

static void release(cl_kernel kernel)
{
    MUST(clReleaseKernel(kernel));
}

static cl_int first_word(cl_command_queue queue, cl_mem buffer)
{
    cl_int found[WORDS];
    read_back(queue, buffer, sizeof found, found);
    for (int i = 1; i < WORDS; i++)
        must_be(found[i] == found[0], "all words are the same");
    return found[0];
}

/* What the driver can find out about the kernel, it has found out. */
static void learn(void)
{
    cl_kernel kernel = new_kernel(&host, "add");
    set_all(kernel, to, from, 0);
    for (int i = 0; i < LEARNED; i++) {
        launch(host.queue, kernel, WORDS, NULL);
        MUST(clFinish(host.queue));
    }
    release(kernel);
}

static cl_uint references(cl_kernel kernel)
{
    cl_uint count;
    must(clGetKernelInfo(kernel, CL_KERNEL_REFERENCE_COUNT, sizeof count, &count, NULL), "a count");
    return count;
}

static void queries(void)
{
    learn();
    for (int round = 0; round < 3; round++) {
        cl_kernel kernel = new_kernel(&host, "add");
        char name[16];
        cl_uint count;
        cl_context context;
        cl_program program;
        must_be(references(kernel) == 1, "a new kernel has one reference");
        MUST(clRetainKernel(kernel));
        must_be(references(kernel) == 2, "which is counted");
        release(kernel);
        must(clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, sizeof name, name, NULL), "a name");
        must_be(strcmp(name, "add") == 0, "it has its name");
        must(clGetKernelInfo(kernel, CL_KERNEL_NUM_ARGS, sizeof count, &count, NULL), "a number");
        must_be(count == 3, "it has its arguments");
        MUST(clGetKernelInfo(kernel, CL_KERNEL_CONTEXT, sizeof context, &context, NULL));
        MUST(clGetKernelInfo(kernel, CL_KERNEL_PROGRAM, sizeof program, &program, NULL));
        must_be(context == host.context && program == host.program, "and belongs to both");
        must_be(clGetKernelInfo(kernel, CL_KERNEL_NUM_ARGS, 1, &count, NULL) == CL_INVALID_VALUE,
                "there is no room for an answer");
        must_be(references(kernel) == 1, "a query takes no reference");
        release(kernel);
    }
}

static void arguments(void)
{
    cl_int one = 1, before;
    const size_t size = WORDS;
    learn();
    cl_kernel first = new_kernel(&host, "add"), second = new_kernel(&host, "add");
    cl_mem other = new_buffer(&host, BYTES);
    fill(host.queue, other, 5, BYTES);
    set_all(first, to, from, 1);
    set_argument(second, 0, sizeof to, &to);
    set_argument(second, 2, sizeof one, &one);
    must_be(clEnqueueNDRangeKernel(host.queue, second, 1, NULL, &size, NULL, 0, NULL, NULL) ==
                CL_INVALID_KERNEL_ARGS,
            "an argument of another kernel is none of this one's");
    must_be(clSetKernelArg(second, 3, sizeof one, &one) == CL_INVALID_ARG_INDEX, "no argument 3");
    must_be(clSetKernelArg(second, 2, 1, &one) == CL_INVALID_ARG_SIZE, "another size");
    set_argument(second, 1, sizeof other, &other);
    before = first_word(host.queue, to);
    launch(host.queue, first, WORDS, NULL);
    launch(host.queue, second, WORDS, NULL);
    one = 2;
    set_argument(second, 2, sizeof one, &one);
    launch(host.queue, second, WORDS, NULL);
    launch(host.queue, first, WORDS, NULL);
    must_be(first_word(host.queue, to) == before + 1 + 6 + 7 + 1, "each has its own");
    release(first);
    launch(host.queue, second, WORDS, NULL);
    release(second); /* a launch keeps what it needs */
    must_be(first_word(host.queue, to) == before + 15 + 7, "the last launch ran");
    MUST(clReleaseMemObject(other));
}

static void two_contexts(void)
{
    cl_int status;
    learn();
    cl_kernel kernel = new_kernel(&host, "add");
    cl_context context = new_context(host.device);
    cl_mem foreign = new_buffer_with(context, CL_MEM_READ_WRITE, BYTES, NULL);
    cl_mem window = region_of(foreign, 0, 0, BYTES);
    cl_command_queue queue = clCreateCommandQueue(context, host.device, 0, &status);
    must(status, "a queue");
    for (int i = 0; i < LEARNED; i++) {
        fill(queue, foreign, i, BYTES);
        must_be(first_word(queue, foreign) == i, "a queue of its own context");
    }
    cl_int word = 1;
    must_be(clEnqueueWriteBuffer(host.queue, foreign, CL_TRUE, 0, sizeof word, &word, 0, NULL,
                                 NULL) == CL_INVALID_CONTEXT,
            "but no other");
    MUST(clReleaseCommandQueue(queue));
    set_all(kernel, to, from, 1);
    must_be(clSetKernelArg(kernel, 0, sizeof foreign, &foreign) == CL_INVALID_MEM_OBJECT,
            "a buffer of another context is refused");
    must_be(clSetKernelArg(kernel, 0, sizeof window, &window) == CL_INVALID_MEM_OBJECT,
            "so is a region of it");
    MUST(clReleaseMemObject(window));
    MUST(clReleaseMemObject(foreign));
    MUST(clReleaseContext(context));
    launch(host.queue, kernel, WORDS, NULL);
    MUST(clFinish(host.queue));
    release(kernel);
}

static void built_anew(void)
{
    cl_int amount = 3, before = first_word(host.queue, to);
    learn();
    cl_kernel kernel = new_kernel(&host, "add"), asked = new_kernel(&host, "add");
    must_be(references(asked) == 1, "one reference");
    must_be(clBuildProgram(host.program, 1, &host.device, "-DMORE=2", NULL, NULL) ==
                CL_INVALID_OPERATION,
            "nothing is built while two kernels live");
    release(asked);
    must_be(clBuildProgram(host.program, 1, &host.device, "-DMORE=2", NULL, NULL) ==
                CL_INVALID_OPERATION,
            "nothing is built while a kernel lives");
    release(kernel);
    MUST(clBuildProgram(host.program, 1, &host.device, "-DMORE=2", NULL, NULL));
    kernel = new_kernel(&host, "add");
    must_be(clSetKernelArg(kernel, 2, sizeof amount, &amount) == CL_INVALID_ARG_INDEX,
            "the kernel has two arguments now");
    set_argument(kernel, 0, sizeof to, &to);
    set_argument(kernel, 1, sizeof amount, &amount);
    launch(host.queue, kernel, WORDS, NULL);
    must_be(first_word(host.queue, to) == before + 6, "and does something else");
    release(kernel);
}

static void program_goes_first(void)
{
    struct host own = host;
    cl_int before = first_word(host.queue, to);
    const char *text = source;
    own.program = new_program(&host, text, "");
    cl_kernel kernels[3];
    for (int i = 0; i < 3; i++) {
        kernels[i] = new_kernel(&own, "add");
        set_all(kernels[i], to, from, 1);
        launch(host.queue, kernels[i], WORDS, NULL);
        MUST(clFinish(host.queue));
    }
    MUST(clReleaseProgram(own.program));
    release(kernels[0]);
    launch(host.queue, kernels[1], WORDS, NULL);
    launch(host.queue, kernels[2], WORDS, NULL);
    release(kernels[1]);
    release(kernels[2]);
    must_be(first_word(host.queue, to) == before + 5, "kernels keep their program");
}

static cl_kernel clone_of(cl_kernel kernel)
{
    cl_int status;
    cl_kernel made = clCloneKernel(kernel, &status);
    must(status, "clCloneKernel");
    return made;
}

/* A clone has the arguments of then, and its own from then on. */
static void clones(void)
{
    cl_kernel kernel = new_kernel(&host, "add"), unset = new_kernel(&host, "add");
    cl_int before = first_word(host.queue, to), six = 6, seven = 7;
    size_t size = WORDS;
    learn();
    before = first_word(host.queue, to);
    set_argument(unset, 0, sizeof to, &to);
    for (int round = 0; round < LEARNED; round++) {
        set_all(kernel, to, from, 1);
        cl_kernel clone = clone_of(kernel), second = clone_of(clone);
        set_argument(clone, 2, sizeof six, &six);
        set_argument(kernel, 2, sizeof seven, &seven);
        launch(host.queue, second, WORDS, NULL);
        must_be(first_word(host.queue, to) == (before += 1), "a clone's clone has what both had");
        release(second);
        launch(host.queue, clone, WORDS, NULL);
        must_be(first_word(host.queue, to) == (before += 6), "a clone has its own argument");
        launch(host.queue, kernel, WORDS, NULL);
        must_be(first_word(host.queue, to) == (before += 7), "a clone changes no other kernel");
        must_be(references(clone) == 1 && references(kernel) == 1, "each has its own references");
        release(clone);
        clone = clone_of(unset);
        must_be(clEnqueueNDRangeKernel(host.queue, clone, 1, NULL, &size, NULL, 0, NULL, NULL) ==
                    CL_INVALID_KERNEL_ARGS,
                "a clone lacks the arguments that were not set");
        set_all(clone, to, from, 1);
        launch(host.queue, clone, WORDS, NULL);
        must_be(first_word(host.queue, to) == (before += 1), "and takes them");
        release(clone);
    }
    cl_kernel last = clone_of(kernel);
    release(kernel);
    launch(host.queue, last, WORDS, NULL);
    must_be(first_word(host.queue, to) == before + 7, "a clone outlives the kernel");
    release(last);
    release(unset);
}

static void must_have(cl_program program, cl_uint count, const char *const *names)
{
    cl_kernel kernels[4] = {NULL};
    cl_uint found = 0;
    must_be(clCreateKernelsInProgram(program, 0, NULL, &found) == CL_SUCCESS && found == count,
            "the program has so many kernels");
    must_be(count == 1 ||
                clCreateKernelsInProgram(program, count - 1, kernels, NULL) == CL_INVALID_VALUE,
            "there is no room for all");
    MUST(clCreateKernelsInProgram(program, 4, kernels, &found));
    must_be(found == count && kernels[count] == NULL, "it makes all of them, once");
    for (cl_uint i = 0; i < count; i++) {
        char name[16];
        cl_uint matches = 0;
        MUST(clGetKernelInfo(kernels[i], CL_KERNEL_FUNCTION_NAME, sizeof name, name, NULL));
        for (cl_uint j = 0; j < count; j++)
            matches += strcmp(name, names[j]) == 0;
        must_be(matches == 1 && references(kernels[i]) == 1, "each is one of the program's");
        if (count == 2 && strcmp(name, "add") == 0) {
            cl_int before = first_word(host.queue, to);
            set_all(kernels[i], to, from, 2);
            launch(host.queue, kernels[i], WORDS, NULL);
            must_be(first_word(host.queue, to) == before + 2, "it runs");
        }
    }
    for (cl_uint i = 0; i < count; i++)
        release(kernels[i]);
}

static void all_kernels(void)
{
    static const char *const names[] = {"add", "nothing"};
    cl_program program = new_program(&host, source, "");
    for (int round = 0; round < LEARNED; round++)
        must_have(program, 2, names);
    MUST(clBuildProgram(program, 1, &host.device, "-DMORE=2", NULL, NULL));
    for (int round = 0; round < LEARNED; round++)
        must_have(program, 1, names);
    MUST(clReleaseProgram(program));
}

static cl_int refusal(cl_mem buffer, cl_mem_flags flags, size_t origin, size_t size)
{
    const cl_buffer_region region = {origin, size};
    cl_int status = 1;
    if (clCreateSubBuffer(buffer, flags, CL_BUFFER_CREATE_TYPE_REGION, &region, &status) != NULL)
        must_be(status == CL_SUCCESS, "what is refused is not made");
    return status;
}

static void regions(void)
{
    cl_mem whole = new_buffer(&host, 2 * BYTES), other;
    cl_kernel kernel = new_kernel(&host, "add");
    learn();
    fill(host.queue, whole, 10, 2 * BYTES);
    for (cl_int round = 0; round < 3; round++) {
        cl_mem half = region_of(whole, CL_MEM_WRITE_ONLY, BYTES, BYTES);
        set_all(kernel, half, from, 1);
        launch(host.queue, kernel, WORDS, NULL);
        must_be(first_word(host.queue, half) == 11 + round, "a kernel reaches the region");
        size_t size, origin;
        cl_mem_flags flags;
        must(clGetMemObjectInfo(half, CL_MEM_SIZE, sizeof size, &size, NULL), "a size");
        must(clGetMemObjectInfo(half, CL_MEM_OFFSET, sizeof origin, &origin, NULL), "an offset");
        must(clGetMemObjectInfo(half, CL_MEM_FLAGS, sizeof flags, &flags, NULL), "flags");
        MUST(clGetMemObjectInfo(half, CL_MEM_ASSOCIATED_MEMOBJECT, sizeof other, &other, NULL));
        must_be(size == BYTES && origin == BYTES && other == whole && flags == CL_MEM_WRITE_ONLY,
                "the region is what was asked for");
        MUST(clReleaseMemObject(half));
    }
    cl_int found[2 * WORDS];
    read_back(host.queue, whole, sizeof found, found);
    must_be(found[WORDS - 1] == 10 && found[WORDS] == 13, "and nothing else");
    release(kernel);
    MUST(clReleaseMemObject(whole));
}

static void refused_regions(void)
{
    cl_int found[WORDS];
    cl_mem whole = new_buffer(&host, 2 * BYTES);
    learn();
    cl_mem half = region_of(whole, CL_MEM_READ_ONLY | CL_MEM_HOST_WRITE_ONLY, 0, BYTES);
    must_be(refusal(half, 0, 0, BYTES / 2) == CL_INVALID_MEM_OBJECT, "no region of a region");
    must_be(refusal(whole, 0, BYTES, 2 * BYTES) == CL_INVALID_VALUE, "no region outside");
    must_be(refusal(whole, 0, 0, 0) == CL_INVALID_BUFFER_SIZE, "no region of nothing");
    must_be(refusal(whole, CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY, 0, BYTES) == CL_INVALID_VALUE,
            "no two kinds of access");
    must_be(clEnqueueReadBuffer(host.queue, half, CL_TRUE, 0, BYTES, found, 0, NULL, NULL) ==
                CL_INVALID_OPERATION,
            "the host may not read what it asked to write only");
    must_be(clEnqueueWriteBuffer(host.queue, half, CL_TRUE, BYTES, 4, found, 0, NULL, NULL) ==
                CL_INVALID_VALUE,
            "a region has an end");
    MUST(clReleaseMemObject(half));
    cl_mem readable =
        new_buffer_with(host.context, CL_MEM_READ_ONLY | CL_MEM_HOST_READ_ONLY, BYTES, NULL);
    must_be(refusal(readable, CL_MEM_WRITE_ONLY, 0, 64) == CL_INVALID_VALUE, "not more access");
    must_be(refusal(readable, CL_MEM_HOST_WRITE_ONLY, 0, 64) == CL_INVALID_VALUE, "nor the host's");
    MUST(clReleaseMemObject(readable));
    MUST(clReleaseMemObject(whole));
}

static volatile int order[2], destroyed;

static void CL_CALLBACK note(cl_mem buffer, void *number)
{
    (void)buffer;
    order[destroyed] = (int)(size_t)number;
    destroyed++;
}

static void buffer_goes_first(void)
{
    cl_kernel kernel = new_kernel(&host, "add");
    learn();
    cl_mem whole = new_buffer(&host, BYTES);
    fill(host.queue, whole, 1, BYTES);
    MUST(clFinish(host.queue));
    cl_mem quiet = region_of(whole, 0, 0, BYTES), asked = region_of(whole, 0, 0, BYTES);
    must(clSetMemObjectDestructorCallback(whole, note, (void *)1), "a callback");
    must(clSetMemObjectDestructorCallback(asked, note, (void *)2), "a callback");
    MUST(clReleaseMemObject(whole));
    must_be(destroyed == 0, "regions keep their buffer");
    set_all(kernel, quiet, from, 1);
    launch(host.queue, kernel, WORDS, NULL);
    must_be(first_word(host.queue, quiet) == 2, "which they are of");
    MUST(clReleaseMemObject(asked));
    while (destroyed < 1)
        MUST(clFinish(host.queue));
    must_be(order[0] == 2, "a region goes before its buffer");
    MUST(clReleaseMemObject(quiet));
    while (destroyed < 2)
        MUST(clFinish(host.queue));
    must_be(order[1] == 1, "which goes with the last one");
    release(kernel);
}

/* Each region is mapped as if it were the first. */
static void mapped_regions(void)
{
    cl_mem whole = new_buffer(&host, 2 * BYTES), half = region_of(whole, 0, BYTES, BYTES);
    cl_int status, value = 7;
    cl_uint count;
    learn();
    fill(host.queue, whole, 1, 2 * BYTES);
    for (cl_int round = 0; round < 4; round++) {
        cl_mem buffer = round % 2 ? half : whole;
        cl_int *first = map_buffer(host.queue, buffer, CL_MAP_READ, 0, 64);
        cl_int *second =
            clEnqueueMapBuffer(host.queue, buffer, CL_FALSE, CL_MAP_READ | CL_MAP_WRITE, 128, 64, 0,
                               NULL, NULL, &status);
        must(status, "clEnqueueMapBuffer");
        cl_int *third = map_buffer(host.queue, buffer, CL_MAP_WRITE_INVALIDATE_REGION, 256, 64);
        must(clGetMemObjectInfo(buffer, CL_MEM_MAP_COUNT, sizeof count, &count, NULL), "a count");
        must_be(count == 3 || buffer == half, "three regions are mapped");
        must_be(first[0] == 1, "the host sees the contents");
        must_be(second[0] == (round < 2 ? 1 : 20 + round - 2), "those that it wrote before");
        second[0] = 20 + round;
        for (int i = 0; i < 16; i++)
            third[i] = 30 + round;
        must(clEnqueueUnmapMemObject(host.queue, buffer, second, 0, NULL, NULL), "an unmapping");
        must(clEnqueueUnmapMemObject(host.queue, buffer, third, 0, NULL, NULL), "an unmapping");
        must(clEnqueueUnmapMemObject(host.queue, buffer, first, 0, NULL, NULL), "an unmapping");
        MUST(clFinish(host.queue));
        must(clGetMemObjectInfo(buffer, CL_MEM_MAP_COUNT, sizeof count, &count, NULL), "a count");
        must_be(count == 0, "no region is mapped");
        cl_int found[WORDS];
        read_back(host.queue, buffer, sizeof found, found);
        must_be(found[0] == 1 && found[32] == 20 + round && found[33] == 1 &&
                    found[64] == 30 + round && found[79] == 30 + round && found[80] == 1,
                "what was mapped for writing is there");
    }
    must_be(clEnqueueMapBuffer(host.queue, half, CL_TRUE, CL_MAP_READ, BYTES - 4, 8, 0, NULL, NULL,
                               &status) == NULL &&
                status == CL_INVALID_VALUE,
            "a region has an end");
    must_be(clEnqueueUnmapMemObject(host.queue, whole, &value, 0, NULL, NULL) == CL_INVALID_VALUE,
            "what is not mapped is not unmapped");
    /* unmapped while a command of another kind waits in the queue */
    const size_t begin[3] = {0}, rows[3] = {16, 1, 1};
    static const cl_int ones[4] = {1, 1, 1, 1};
    cl_event gate = user_event(&host);
    cl_int *late = map_buffer(host.queue, whole, CL_MAP_WRITE, 512, 64);
    MUST(clEnqueueWriteBufferRect(host.queue, whole, CL_FALSE, begin, begin, rows, 0, 0, 0, 0, ones,
                                  1, &gate, NULL));
    late[0] = 77;
    must(clEnqueueUnmapMemObject(host.queue, whole, late, 0, NULL, NULL), "an unmapping");
    MUST(clSetUserEventStatus(gate, CL_COMPLETE));
    MUST(clFinish(host.queue));
    MUST(clReleaseEvent(gate));
    MUST(clEnqueueReadBuffer(host.queue, whole, CL_TRUE, 512, sizeof value, &value, 0, NULL, NULL));
    must_be(value == 77, "it is written back in its turn");
    /* by a command with events, and by one that waits for another */
    cl_event mapped, unmapped;
    cl_command_type type;
    cl_int *region = clEnqueueMapBuffer(host.queue, whole, CL_FALSE, CL_MAP_WRITE, 0, 64, 0, NULL,
                                        &mapped, &status);
    must(status, "clEnqueueMapBuffer");
    MUST(clWaitForEvents(1, &mapped));
    region[1] = 55;
    must(clEnqueueUnmapMemObject(host.queue, whole, region, 1, &mapped, &unmapped), "unmap");
    MUST(clWaitForEvents(1, &unmapped));
    must(clGetEventInfo(mapped, CL_EVENT_COMMAND_TYPE, sizeof type, &type, NULL), "a type");
    must_be(type == CL_COMMAND_MAP_BUFFER, "it is a mapping");
    must(clGetEventInfo(unmapped, CL_EVENT_COMMAND_TYPE, sizeof type, &type, NULL), "a type");
    must_be(type == CL_COMMAND_UNMAP_MEM_OBJECT, "and its end");
    cl_int found[WORDS];
    read_back(host.queue, whole, sizeof found, found);
    must_be(found[1] == 55, "it is written back");
    MUST(clReleaseEvent(mapped));
    MUST(clReleaseEvent(unmapped));
    MUST(clReleaseMemObject(half));
    MUST(clReleaseMemObject(whole));
}

/* A queue is like others that were made before. */
static void queues(void)
{
    cl_kernel kernel = new_kernel(&host, "add");
    learn();
    set_all(kernel, to, from, 1);
    cl_int before = first_word(host.queue, to), status;
    for (cl_int round = 1; round <= 4; round++) {
        cl_command_queue queue = round % 2
                                     ? clCreateCommandQueue(host.context, host.device, 0, &status)
                                     : new_queue_with(&host, CL_QUEUE_PROFILING_ENABLE);
        cl_context context;
        cl_device_id device;
        cl_command_queue_properties properties;
        cl_uint count;
        cl_event event;
        cl_ulong begin, end;
        MUST(clGetCommandQueueInfo(queue, CL_QUEUE_REFERENCE_COUNT, sizeof count, &count, NULL));
        launch(queue, kernel, WORDS, &event);
        MUST(clWaitForEvents(1, &event));
        status = clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, 8, &begin, NULL);
        must_be(status == (round % 2 ? CL_PROFILING_INFO_NOT_AVAILABLE : CL_SUCCESS), "profiling");
        if (round % 2 == 0) {
            must(clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, 8, &end, NULL), "end");
            must_be(begin <= end, "times");
        }
        must(clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof context, &context, NULL), "of");
        must(clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof device, &device, NULL), "of");
        must(
            clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof properties, &properties, NULL),
            "properties");
        must_be(context == host.context && device == host.device && count == 1 &&
                    properties == (round % 2 ? 0 : CL_QUEUE_PROFILING_ENABLE),
                "it is what was asked for");
        MUST(clReleaseCommandQueue(queue));
        must(clGetEventInfo(event, CL_EVENT_COMMAND_QUEUE, sizeof queue, &queue, NULL), "of");
        MUST(clReleaseEvent(event));
        must_be(first_word(host.queue, to) == before + round, "its commands run");
    }
    /* commands of other kinds keep their order among launches */
    for (int round = 0; round < 5; round++) {
        const size_t begin[3] = {0}, rows[3] = {BYTES / 16, 16, 1};
        cl_int written[WORDS];
        cl_command_queue queue = clCreateCommandQueue(host.context, host.device, 0, &status);
        must(status, "a queue");
        for (int i = 0; i < WORDS; i++)
            written[i] = 1000 * round;
        for (int i = 0; i < 100; i++)
            launch(queue, kernel, WORDS, NULL);
        MUST(clEnqueueWriteBufferRect(queue, to, CL_FALSE, begin, begin, rows, 0, 0, 0, 0, written,
                                      0, NULL, NULL));
        launch(queue, kernel, WORDS, NULL);
        must_be(first_word(queue, to) == 1000 * round + 1, "each command comes in its turn");
        MUST(clReleaseCommandQueue(queue));
    }
    must_be(clCreateCommandQueue(host.context, host.device, 1 << 30, &status) == NULL &&
                status == CL_INVALID_VALUE,
            "no unknown properties");
    /* a context lives on with a queue, whoever has asked about that */
    cl_context own = new_context(host.device);
    cl_command_queue first = clCreateCommandQueue(own, host.device, 0, &status);
    must(status, "a queue");
    cl_mem buffer = new_buffer_with(own, 0, BYTES, NULL);
    for (int i = 0; i < 3; i++) {
        fill(first, buffer, i, BYTES);
        MUST(clFinish(first));
    }
    cl_command_queue second = clCreateCommandQueue(own, host.device, 0, &status);
    must(status, "a queue");
    MUST(clReleaseContext(own));
    MUST(clReleaseCommandQueue(first));
    must_be(first_word(second, buffer) == 2, "the buffer is there");
    MUST(clReleaseMemObject(buffer));
    MUST(clReleaseCommandQueue(second));
    release(kernel);
}

static void *make_and_release(void *given)
{
    cl_mem target = given;
    cl_command_queue queue = new_queue(&host);
    for (int i = 0; i < ROUNDS; i++) {
        cl_kernel kernel = new_kernel(&host, "add");
        cl_mem window = region_of(target, 0, 0, BYTES);
        if (i % 8 == 0) {
            MUST(clRetainKernel(kernel));
            must_be(references(kernel) == 2, "two references");
            release(kernel);
        }
        set_all(kernel, window, from, 1);
        launch(queue, kernel, WORDS, NULL);
        release(kernel);
        MUST(clReleaseMemObject(window));
    }
    must_be(first_word(queue, target) == ROUNDS, "each launch ran once");
    MUST(clReleaseCommandQueue(queue));
    return NULL;
}

static void threads(void)
{
    pthread_t made[THREADS];
    cl_mem targets[THREADS];
    learn();
    for (int i = 0; i < THREADS; i++) {
        targets[i] = new_buffer(&host, BYTES);
        fill(host.queue, targets[i], 0, BYTES);
    }
    MUST(clFinish(host.queue));
    for (int i = 0; i < THREADS; i++)
        must_be(pthread_create(&made[i], NULL, make_and_release, targets[i]) == 0, "a thread");
    for (int i = 0; i < THREADS; i++) {
        pthread_join(made[i], NULL);
        MUST(clReleaseMemObject(targets[i]));
    }
}

static const struct part parts[] = {{"queries", queries},
                                    {"clones", clones},
                                    {"all kernels", all_kernels},
                                    {"arguments", arguments},
                                    {"two contexts", two_contexts},
                                    {"program goes first", program_goes_first},
                                    {"regions", regions},
                                    {"refused regions", refused_regions},
                                    {"buffer goes first", buffer_goes_first},
                                    {"mapped regions", mapped_regions},
                                    {"queues", queues},
                                    {"threads", threads},
                                    {"built anew", built_anew}};

int main(int count, char **arguments_of_program)
{
    start(&host, source);
    to = new_buffer(&host, BYTES);
    from = new_buffer(&host, BYTES);
    fill(host.queue, to, 0, BYTES);
    fill(host.queue, from, 0, BYTES);
    MUST(clFinish(host.queue));
    run_parts(parts, sizeof parts / sizeof parts[0], count < 2 ? NULL : arguments_of_program[1]);
    MUST(clReleaseMemObject(to));
    MUST(clReleaseMemObject(from));
    stop(&host);
    return 0;
}
