/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels that talk to each other through channels, and with the host through pipes and variables
 * of a program. `channels PART [FILE.aocx]`: the part named, from the source below or from a file
 * that was compiled from it, or `again`: from its own binary. `channels source` prints the source.
 */
#include "host.h"
#include <CL/cl_ext_intelfpga.h>
#include <sched.h>

enum { COUNT = 20000, FEW = 100 };

static const char source[] =
    "#pragma OPENCL EXTENSION cl_intel_channels : enable\n"
    "#define STAGES 4\n"
    "typedef struct { int place; float value; } packet;\n"
    "channel packet narrow __attribute__((depth(2)));\n"
    "channel float stage[STAGES + 1] __attribute__((depth(4)));\n"
    "channel int there, back;\n"
    "channel int to_host __attribute__((intel_host_accessible)), from_host "
    "__attribute__((intel_host_accessible)) __attribute__((depth(8)));\n"
    "global int table[4] = {10, 20, 30, 40};\n"
    "kernel void produce(global const float *x, int n)\n"
    "{\n"
    "    for (int i = 0; i < n; i++) {\n"
    "        packet p = {i, x[i]};\n"
    "        write_channel_intel(narrow, p);\n"
    "    }\n"
    "}\n"
    "kernel void consume(global float *y, int n)\n"
    "{\n"
    "    for (int i = 0; i < n; i++) {\n"
    "        packet p = read_channel_intel(narrow);\n"
    "        y[p.place] = 2 * p.value;\n"
    "    }\n"
    "}\n"
    "kernel void poll(global float *y, int n)\n"
    "{\n"
    "    for (int i = 0; i < n;) {\n"
    "        bool valid;\n"
    "        packet p = read_channel_nb_intel(narrow, &valid);\n"
    "        if (valid) { y[p.place] = 2 * p.value; i++; }\n"
    "    }\n"
    "}\n"
    "kernel void offer(global int *taken, int n)\n"
    "{\n"
    "    packet p = {0, 0};\n"
    "    for (int i = 0; i < n; i++) *taken += write_channel_nb_intel(narrow, p);\n"
    "}\n"
    "__attribute__((max_global_work_dim(0))) __attribute__((autorun))\n"
    "__attribute__((num_compute_units(STAGES)))\n"
    "kernel void element(void)\n"
    "{\n"
    "    int id = get_compute_id(0);\n"
    "    while (1) write_channel_intel(stage[id + 1], read_channel_intel(stage[id]) * (id + 1));\n"
    "}\n"
    "kernel void feed(global const float *x) { write_channel_intel(stage[0], x[get_global_id(0)]); "
    "}\n"
    "kernel void drain(global float *y, int n)\n"
    "{\n"
    "    for (int i = 0; i < n; i++) y[i] = read_channel_intel(stage[STAGES]);\n"
    "}\n"
    "kernel void ping(int n)\n"
    "{\n"
    "    for (int i = 0; i < n; i++) write_channel_intel(there, read_channel_intel(back));\n"
    "}\n"
    "kernel void pong(int n)\n"
    "{\n"
    "    for (int i = 0; i < n; i++) write_channel_intel(back, read_channel_intel(there));\n"
    "}\n"
    "kernel void add(int n, int amount)\n"
    "{\n"
    "    for (int i = 0; i < n; i++) write_channel_intel(to_host, read_channel_intel(from_host) + "
    "amount);\n"
    "}\n"
    "kernel void look_up(global int *x) { x[get_global_id(0)] = table[x[get_global_id(0)]]++; }\n"
    "kernel void through(read_only pipe int in __attribute__((blocking)),\n"
    "                    write_only pipe int out __attribute__((blocking)), int n)\n"
    "{\n"
    "    for (int i = 0; i < n; i++) {\n"
    "        int x;\n"
    "        read_pipe(in, &x);\n"
    "        x = -x;\n"
    "        write_pipe(out, &x);\n"
    "    }\n"
    "}\n"
    "kernel void sum(read_only pipe int in __attribute__((blocking)), global int *total, int n)\n"
    "{\n"
    "    for (int i = 0; i < n; i++) {\n"
    "        int x;\n"
    "        read_pipe(in, &x);\n"
    "        *total += x;\n"
    "    }\n"
    "}\n";

static cl_command_queue other;

/* The functions that loaders do not know. */
#define EACH(apply)                                                                                \
    apply(clReadPipeIntelFPGA) apply(clWritePipeIntelFPGA) apply(clMapHostPipeIntelFPGA)           \
        apply(clUnmapHostPipeIntelFPGA) apply(clEnqueueReadHostPipeINTEL)                          \
            apply(clEnqueueWriteHostPipeINTEL) apply(clEnqueueReadGlobalVariableINTEL)             \
                apply(clEnqueueWriteGlobalVariableINTEL)
#define MEMBER(name) __typeof__(&name) name;
static struct {
    EACH(MEMBER)
} the;

static void find_functions(struct host *host)
{
    void *address;
#define FIND(name)                                                                                 \
    address = clGetExtensionFunctionAddressForPlatform(host->platform, #name);                     \
    must_be(address != NULL, #name);                                                               \
    memcpy(&the.name, &address, sizeof address);
    EACH(FIND)
}

static void start_from_file(struct host *host, const char *path)
{
    size_t size;
    unsigned char *contents = file_contents(path, &size);
    find_context(host);
    host->queue = new_queue(host);
    host->program = program_from(host, contents, size);
    free(contents);
}

/* The program from the binary that clGetProgramInfo gives for it. */
static void start_again(struct host *host)
{
    size_t size;
    unsigned char *binary = binary_of(host->program, &size);
    MUST(clReleaseProgram(host->program));
    host->program = program_from(host, binary, size);
    free(binary);
}

static cl_event task(struct host *host, cl_command_queue queue, const char *name, cl_mem buffer,
                     cl_int count)
{
    cl_kernel kernel = new_kernel(host, name);
    cl_uint index = 0;
    cl_event event;
    const size_t one = 1;
    if (buffer != NULL)
        set_argument(kernel, index++, sizeof buffer, &buffer);
    set_argument(kernel, index, sizeof count, &count);
    MUST(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, &one, 0, NULL, &event));
    MUST(clReleaseKernel(kernel));
    return event;
}

static cl_mem floats(struct host *host, int count)
{
    cl_mem buffer = new_buffer(host, (size_t)count * sizeof(float));
    float *values = malloc((size_t)count * sizeof *values);
    for (int i = 0; i < count; i++)
        values[i] = (float)i;
    write_buffer(host->queue, buffer, (size_t)count * sizeof *values, values);
    free(values);
    return buffer;
}

static void must_be_times(struct host *host, cl_mem buffer, int count, float factor)
{
    float *values = malloc((size_t)count * sizeof *values);
    read_back(host->queue, buffer, (size_t)count * sizeof *values, values);
    for (int i = 0; i < count; i++)
        must_be(values[i] == factor * (float)i, "each number came through in its place");
    free(values);
}

/* Whoever is enqueued first, and whether the reader waits or polls. */
static void producer_and_consumer(struct host *host)
{
    cl_mem x = floats(host, COUNT), y = new_buffer(host, COUNT * sizeof(float));
    const char *readers[] = {"consume", "poll"};
    for (int turn = 0; turn < 4; turn++) {
        fill(host->queue, y, 0, COUNT * sizeof(float));
        MUST(clFinish(host->queue));
        if (turn % 2 == 0)
            task(host, host->queue, "produce", x, COUNT);
        task(host, other, readers[turn / 2], y, COUNT);
        if (turn % 2 == 1)
            task(host, host->queue, "produce", x, COUNT);
        MUST(clFinish(other));
        MUST(clFinish(host->queue));
        must_be_times(host, y, COUNT, 2);
    }
}

/* Writing without waiting takes as many packets as the channel is deep: 2 if depths count. */
static void depth(struct host *host)
{
    cl_mem taken = new_buffer(host, sizeof(cl_int));
    cl_int count;
    fill(host->queue, taken, 0, sizeof count);
    task(host, host->queue, "offer", taken, COUNT);
    read_back(host->queue, taken, sizeof count, &count);
    printf("%d\n", count);
}

static void systolic_pipeline(struct host *host)
{
    cl_mem x = floats(host, COUNT), y = new_buffer(host, COUNT * sizeof(float));
    cl_kernel feed = new_kernel(host, "feed");
    set_argument(feed, 0, sizeof x, &x);
    task(host, other, "drain", y, COUNT);
    launch(host->queue, feed, COUNT, NULL);
    MUST(clFinish(host->queue));
    MUST(clFinish(other));
    must_be_times(host, y, COUNT, 1 * 2 * 3 * 4);
}

static void feedback(struct host *host)
{
    cl_event ping = task(host, host->queue, "ping", NULL, 3),
             pong = task(host, other, "pong", NULL, 3);
    must_be(clWaitForEvents(1, &ping) == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST,
            "waiting for a deadlock ends with an error");
    MUST(clFinish(other));
    must_be(status_of(ping) < 0 && status_of(pong) < 0, "both kernels have failed");
    producer_and_consumer(host);
}

static cl_int read_host_pipe(struct host *host, const char *name, cl_bool blocking, cl_int *x,
                             cl_event *event)
{
    return the.clEnqueueReadHostPipeINTEL(host->queue, host->program, name, blocking, x, sizeof *x,
                                          0, NULL, event);
}

static void host_pipes(struct host *host)
{
    cl_int x, amount = 7, count = FEW;
    cl_kernel add = new_kernel(host, "add");
    const size_t one = 1;
    cl_event event;
    set_argument(add, 0, sizeof count, &count);
    set_argument(add, 1, sizeof amount, &amount);
    MUST(read_host_pipe(host, "to_host", CL_FALSE, &x, &event));
    MUST(clFinish(host->queue));
    must_be(status_of(event) == -1, "reading an empty pipe without waiting fails with -1");
    MUST(clEnqueueNDRangeKernel(other, add, 1, NULL, &one, &one, 0, NULL, NULL));
    for (int i = 0; i < FEW; i++) {
        MUST(the.clEnqueueWriteHostPipeINTEL(host->queue, host->program, "from_host", CL_TRUE, &i,
                                             sizeof i, 0, NULL, NULL));
        MUST(read_host_pipe(host, "to_host", CL_TRUE, &x, NULL));
        must_be(x == i + amount, "the kernel answers");
    }
    MUST(clFinish(other));
    must_be(read_host_pipe(host, "narrow", CL_TRUE, &x, NULL) == CL_INVALID_VALUE,
            "a channel between kernels is none of the host's");
    must_be(read_host_pipe(host, "nowhere", CL_TRUE, &x, NULL) == CL_INVALID_VALUE,
            "an unknown name is refused");
    must_be(read_host_pipe(host, NULL, CL_TRUE, &x, NULL) == CL_INVALID_VALUE,
            "no name is refused");
}

static cl_int read_table(struct host *host, const char *name, size_t offset, cl_int table[4])
{
    return the.clEnqueueReadGlobalVariableINTEL(host->queue, host->program, name, CL_TRUE,
                                                4 * sizeof *table, offset, table, 0, NULL, NULL);
}

static void variables(struct host *host)
{
    cl_int table[4], indices[4] = {3, 2, 1, 0}, changed = 100;
    cl_mem x = new_buffer(host, sizeof indices);
    cl_kernel look_up = new_kernel(host, "look_up");
    set_argument(look_up, 0, sizeof x, &x);
    MUST(the.clEnqueueWriteGlobalVariableINTEL(host->queue, host->program, "table", CL_TRUE,
                                               sizeof changed, 4, &changed, 0, NULL, NULL));
    MUST(clEnqueueWriteBuffer(host->queue, x, CL_FALSE, 0, sizeof indices, indices, 0, NULL, NULL));
    launch(host->queue, look_up, 4, NULL);
    read_back(host->queue, x, sizeof indices, indices);
    must_be(indices[0] == 40 && indices[1] == 30 && indices[2] == 100 && indices[3] == 10,
            "kernels see what the host wrote, and what the source says elsewhere");
    MUST(read_table(host, "table", 0, table));
    must_be(table[0] == 11 && table[1] == 101 && table[2] == 31 && table[3] == 41,
            "the host sees what kernels wrote");
    must_be(read_table(host, "chair", 0, table) == CL_INVALID_ARG_VALUE,
            "an unknown variable is refused");
    must_be(read_table(host, "table", 4, table) == CL_INVALID_VALUE,
            "beyond the variable's end is refused");
}

static cl_mem new_pipe(struct host *host, cl_mem_flags flags, cl_uint packets)
{
    cl_int status;
    cl_mem pipe = clCreatePipe(host->context, flags, sizeof(cl_int), packets, NULL, &status);
    must(status, "clCreatePipe");
    return pipe;
}

/* The host writes, one kernel negates, another one sums up. */
static void pipe_objects(struct host *host)
{
    cl_mem in = new_pipe(host, CL_MEM_HOST_WRITE_ONLY, 4), between = new_pipe(host, 0, 4);
    cl_mem total = new_buffer(host, sizeof(cl_int));
    cl_int count = FEW, sum = 0, status, x;
    cl_kernel through = new_kernel(host, "through"), adder = new_kernel(host, "sum");
    const size_t one = 1;
    must_be(the.clWritePipeIntelFPGA(in, &sum) == CL_INVALID_KERNEL,
            "a pipe needs its kernel first");
    must_be(the.clWritePipeIntelFPGA(between, &sum) == CL_INVALID_MEM_OBJECT, "it is no host pipe");
    set_argument(through, 0, sizeof in, &in);
    set_argument(through, 1, sizeof between, &between);
    set_argument(through, 2, sizeof count, &count);
    must_be(the.clReadPipeIntelFPGA(in, &x) == CL_INVALID_MEM_OBJECT, "the host writes this one");
    must_be(clSetKernelArg(through, 1, sizeof in, &in) == CL_INVALID_ARG_VALUE,
            "the kernel and the host cannot both write");
    set_argument(adder, 0, sizeof between, &between);
    set_argument(adder, 1, sizeof total, &total);
    set_argument(adder, 2, sizeof count, &count);
    fill(other, total, 0, sizeof sum);
    cl_int packets = 0;
    while (the.clWritePipeIntelFPGA(in, &packets) == CL_SUCCESS)
        packets++;
    must_be(packets == 4,
            "what is written before the kernel runs is kept, as far as there is room");
    MUST(clEnqueueNDRangeKernel(host->queue, through, 1, NULL, &one, &one, 0, NULL, NULL));
    MUST(clEnqueueNDRangeKernel(other, adder, 1, NULL, &one, &one, 0, NULL, NULL));
    MUST(clFlush(host->queue));
    MUST(clFlush(other));
    while (packets < FEW) {
        size_t mapped, unmapped;
        cl_int *place = the.clMapHostPipeIntelFPGA(in, 0, 0, &mapped, &status);
        if (place == NULL) {
            must_be(status == CL_OUT_OF_RESOURCES, "a full pipe cannot be mapped");
            sched_yield();
            continue;
        }
        size_t used = 0;
        for (; used < mapped && packets < FEW; used += sizeof x)
            place[used / sizeof x] = packets++;
        must(the.clUnmapHostPipeIntelFPGA(in, place, used, &unmapped), "clUnmapHostPipeIntelFPGA");
        must_be(unmapped == used, "all of it is taken");
    }
    MUST(clFinish(host->queue));
    read_back(other, total, sizeof sum, &sum);
    must_be(sum == -(FEW * (FEW - 1) / 2), "the sum of all packets");
    MUST(clReleaseMemObject(in));
    MUST(clReleaseMemObject(between));
}

static const struct {
    const char *name;
    void (*run)(struct host *host);
} parts[] = {
    {"producer_and_consumer", producer_and_consumer},
    {"depth", depth},
    {"systolic_pipeline", systolic_pipeline},
    {"feedback", feedback},
    {"host_pipes", host_pipes},
    {"variables", variables},
    {"pipe_objects", pipe_objects},
};

int main(int count, char **words)
{
    struct host host;
    if (count == 2 && strcmp(words[1], "source") == 0) {
        fputs(source, stdout);
        return 0;
    }
    must_be(count == 2 || count == 3, "a part, and perhaps a file");
    const bool again = count == 3 && strcmp(words[2], "again") == 0;
    if (count == 3 && !again)
        start_from_file(&host, words[2]);
    else
        start(&host, source);
    if (again)
        start_again(&host);
    other = new_queue(&host);
    find_functions(&host);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (strcmp(parts[i].name, words[1]) == 0) {
            parts[i].run(&host);
            puts("ok");
            return 0;
        }
    fprintf(stderr, "no such part\n");
    return 1;
}
