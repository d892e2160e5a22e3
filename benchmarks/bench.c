/* SPDX-License-Identifier: Apache-2.0
 *
 * What OpenCL calls cost on the one driver that the loader finds. Prints a line per measurement:
 * its name and microseconds. Results of kernels and transfers are checked; a wrong one ends the
 * program with status 1. `bench first` stops after the first result, for timing a whole process;
 * `bench chain` runs many small kernels and nothing else, for timing what watches them. */
#define _GNU_SOURCE
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    KIB = 1 << 10,
    MIB = 1 << 20,
    LARGE = 64 * MIB,
    FLOATS = 1 << 26,
    CHAIN = 10000,
    BURST = 20,
    THREADS = 8
};

static const char *const source =
    "kernel void nothing(void) {}\n"
    "kernel void add(global int *x, int y) { x[get_global_id(0)] += y; }\n"
    "kernel void multiply_add(global float *x, float a, float b)\n"
    "{ size_t i = get_global_id(0); x[i] = x[i] * a + b; }\n"
    "kernel void iterate(global float *x, int rounds)\n"
    "{\n"
    "    float v = get_global_id(0) * 1e-6f;\n"
    "    for (int i = 0; i < rounds; i++) v = v * 0.999f + 0.5f;\n"
    "    x[get_global_id(0)] = v;\n"
    "}\n";

static cl_device_id device;
static cl_context context;
static cl_command_queue queue;
static cl_program program;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static void must(cl_int status, const char *what)
{
    if (status == CL_SUCCESS)
        return;
    fprintf(stderr, "%s: status %d\n", what, status);
    exit(1);
}

static void right(int fact, const char *what)
{
    if (fact)
        return;
    fprintf(stderr, "wrong result: %s\n", what);
    exit(1);
}

static void report(const char *name, double microseconds)
{
    printf("%s %.4f\n", name, microseconds);
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median over some groups of `count` calls each, so that one interruption does not matter. */
#define MEASURE(name, count, code)                                                                 \
    do {                                                                                           \
        double groups_[9];                                                                         \
        for (int i_ = 0; i_ < (count) / 4 + 1; i_++) {                                             \
            code;                                                                                  \
        }                                                                                          \
        for (int g_ = 0; g_ < 9; g_++) {                                                           \
            double begin_ = now();                                                                 \
            for (int i_ = 0; i_ < (count); i_++) {                                                 \
                code;                                                                              \
            }                                                                                      \
            groups_[g_] = (now() - begin_) / (count);                                              \
        }                                                                                          \
        qsort(groups_, 9, sizeof groups_[0], by_size);                                             \
        report(name, groups_[4]);                                                                  \
    } while (0)

static cl_mem new_buffer(size_t size)
{
    cl_int status;
    cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, size, NULL, &status);
    must(status, "clCreateBuffer");
    return buffer;
}

static cl_kernel new_kernel(const char *name)
{
    cl_int status;
    cl_kernel kernel = clCreateKernel(program, name, &status);
    must(status, "clCreateKernel");
    return kernel;
}

static void launch(cl_kernel kernel, size_t size)
{
    must(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &size, NULL, 0, NULL, NULL),
         "clEnqueueNDRangeKernel");
}

static void read_back(cl_mem buffer, size_t size, void *to)
{
    must(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, size, to, 0, NULL, NULL), "read");
}

/* Kernels in bursts, each waited for; whose events the host does not keep; with an argument each.
 */
static void series(cl_kernel add, cl_mem buffer)
{
    size_t size = 1;
    cl_int zero = 0, one = 1, got = 0;
    must(clEnqueueFillBuffer(queue, buffer, &zero, sizeof zero, 0, sizeof zero, 0, NULL, NULL),
         "fill");
    double begin = now();
    for (int i = 0; i < CHAIN / BURST; i++) {
        for (int j = 0; j < BURST; j++)
            launch(add, 1);
        clFinish(queue);
    }
    report("bursts", (now() - begin) / CHAIN);
    begin = now();
    for (int i = 0; i < CHAIN; i++) {
        cl_event event;
        must(clSetKernelArg(add, 1, sizeof one, &one), "clSetKernelArg");
        must(clEnqueueNDRangeKernel(queue, add, 1, NULL, &size, NULL, 0, NULL, &event), "launch");
        must(clReleaseEvent(event), "clReleaseEvent");
    }
    clFinish(queue);
    report("chain_events", (now() - begin) / CHAIN);
    read_back(buffer, sizeof got, &got);
    right(got == 2 * CHAIN, "bursts of kernels");
}

static void *work_apart(void *data)
{
    size_t size = 1;
    cl_int status, value = 1, got = 0;
    cl_command_queue own = clCreateCommandQueueWithProperties(context, device, NULL, &status);
    must(status, "clCreateCommandQueueWithProperties");
    cl_kernel add = new_kernel("add");
    cl_mem buffer = new_buffer(4 * KIB);
    must(clSetKernelArg(add, 0, sizeof buffer, &buffer), "clSetKernelArg");
    must(clSetKernelArg(add, 1, sizeof value, &value), "clSetKernelArg");
    must(clEnqueueWriteBuffer(own, buffer, CL_TRUE, 0, sizeof got, &got, 0, NULL, NULL), "write");
    pthread_barrier_wait(data);
    for (int i = 0; i < CHAIN; i++)
        must(clEnqueueNDRangeKernel(own, add, 1, NULL, &size, NULL, 0, NULL, NULL), "launch");
    must(clFinish(own), "clFinish");
    pthread_barrier_wait(data);
    must(clEnqueueReadBuffer(own, buffer, CL_TRUE, 0, sizeof got, &got, 0, NULL, NULL), "read");
    right(got == CHAIN, "chains of several threads");
    clReleaseMemObject(buffer);
    clReleaseKernel(add);
    clReleaseCommandQueue(own);
    return NULL;
}

/* A queue, a kernel and a buffer each, all of them at once. */
static void several_threads(const char *name, unsigned count)
{
    pthread_t threads[THREADS];
    pthread_barrier_t barrier;
    pthread_barrier_init(&barrier, NULL, count + 1);
    for (unsigned i = 0; i < count; i++)
        right(pthread_create(&threads[i], NULL, work_apart, &barrier) == 0, "there are threads");
    pthread_barrier_wait(&barrier);
    double begin = now();
    pthread_barrier_wait(&barrier);
    report(name, (now() - begin) / (CHAIN * count));
    for (unsigned i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&barrier);
}

/* Many small kernels, one after another; the second time, when all is known of the first. */
static void chain(cl_kernel add, cl_mem buffer)
{
    cl_int zero = 0, got = 0;
    double total = 0;
    must(clEnqueueFillBuffer(queue, buffer, &zero, sizeof zero, 0, sizeof zero, 0, NULL, NULL),
         "fill");
    for (int round = 0; round < 2; round++) {
        double begin = now();
        for (int i = 0; i < CHAIN; i++)
            launch(add, 1);
        clFinish(queue);
        total = now() - begin;
    }
    report("chain", total / CHAIN);
    read_back(buffer, sizeof got, &got);
    right(got == 2 * CHAIN, "a chain of kernels");
}

static void calls(void)
{
    cl_kernel nothing = new_kernel("nothing"), add = new_kernel("add");
    cl_mem buffer = new_buffer(4 * KIB);
    cl_int zero = 0, one = 1;
    cl_uint units;
    double total = 0;
    must(clEnqueueFillBuffer(queue, buffer, &zero, sizeof zero, 0, 4 * KIB, 0, NULL, NULL), "fill");
    must(clSetKernelArg(add, 0, sizeof buffer, &buffer), "clSetKernelArg");
    must(clSetKernelArg(add, 1, sizeof one, &one), "clSetKernelArg");
    launch(nothing, 1);
    must(clFinish(queue), "clFinish");
    MEASURE("round_trip", 100, launch(nothing, 1); clFinish(queue));
    for (int round = 0; round < 10; round++) {
        double begin = now();
        for (int i = 0; i < 100; i++)
            launch(nothing, 1);
        total += now() - begin;
        clFinish(queue);
    }
    report("enqueue", total / 1000);
    chain(add, buffer);
    series(add, buffer);
    several_threads("one_thread", 1);
    several_threads("eight_threads", THREADS);
    MEASURE("set_arg", 2000, clSetKernelArg(add, 1, sizeof one, &one));
    MEASURE("set_arg_buffer", 2000, clSetKernelArg(add, 0, sizeof buffer, &buffer));
    MEASURE("device_info", 2000,
            clGetDeviceInfo(device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof units, &units, NULL));
    MEASURE("retain_release", 2000, clRetainMemObject(buffer); clReleaseMemObject(buffer));
    MEASURE("create_release", 500, clReleaseMemObject(new_buffer(4 * KIB)));
    clReleaseMemObject(buffer);
    clReleaseKernel(nothing);
    clReleaseKernel(add);
}

static void transfers(void)
{
    static const struct {
        const char *write, *read, *copy;
        size_t size;
        int count;
    } sizes[] = {{"write_4k", "read_4k", "memcpy_4k", 4 * KIB, 500},
                 {"write_1m", "read_1m", "memcpy_1m", MIB, 40},
                 {"write_64m", "read_64m", "memcpy_64m", LARGE, 1}};
    unsigned char *from = malloc(LARGE), *to = malloc(LARGE);
    cl_mem buffer = new_buffer(LARGE);
    cl_int status;
    memset(to, 0, LARGE);
    for (size_t i = 0; i < LARGE; i++)
        from[i] = (unsigned char)(i * 31 >> 3);
    for (int i = 0; i < 3; i++) {
        size_t size = sizes[i].size;
        int count = sizes[i].count;
        MEASURE(sizes[i].write, count,
                must(clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 0, size, from, 0, NULL, NULL),
                     "write"));
        MEASURE(sizes[i].read, count, read_back(buffer, size, to));
        right(memcmp(from, to, size) == 0, "what was written is read");
        MEASURE(sizes[i].copy, count, memcpy(to, from, size));
    }
    MEASURE("map_unmap_4k", 200, {
        void *p = clEnqueueMapBuffer(queue, buffer, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, 4 * KIB,
                                     0, NULL, NULL, &status);
        must(status, "clEnqueueMapBuffer");
        must(clEnqueueUnmapMemObject(queue, buffer, p, 0, NULL, NULL), "unmap");
        clFinish(queue);
    });
    clReleaseMemObject(buffer);
    free(from);
    free(to);
}

static void kernels(void)
{
    cl_kernel memory = new_kernel("multiply_add"), compute = new_kernel("iterate");
    cl_mem buffer = new_buffer((size_t)FLOATS * sizeof(float));
    const cl_float a = 1.0f, b = 1.0f, zero = 0.0f;
    const cl_int rounds = 2000;
    float got[2];
    must(clEnqueueFillBuffer(queue, buffer, &zero, sizeof zero, 0, FLOATS * sizeof(float), 0, NULL,
                             NULL),
         "fill");
    must(clSetKernelArg(memory, 0, sizeof buffer, &buffer), "clSetKernelArg");
    must(clSetKernelArg(memory, 1, sizeof a, &a), "clSetKernelArg");
    must(clSetKernelArg(memory, 2, sizeof b, &b), "clSetKernelArg");
    must(clSetKernelArg(compute, 0, sizeof buffer, &buffer), "clSetKernelArg");
    must(clSetKernelArg(compute, 1, sizeof rounds, &rounds), "clSetKernelArg");
    MEASURE("memory_kernel", 3, launch(memory, FLOATS); clFinish(queue));
    read_back(buffer, sizeof got, got);
    right(got[0] == 28.0f && got[1] == 28.0f, "the memory-bound kernel");
    MEASURE("compute_kernel", 3, launch(compute, 1 << 16); clFinish(queue));
    clReleaseMemObject(buffer);
    clReleaseKernel(memory);
    clReleaseKernel(compute);
}

static void memory_use(void)
{
    long pages = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file == NULL || fscanf(file, "%ld %ld", &pages, &resident) != 2)
        exit(1);
    fclose(file);
    printf("resident_mib %.1f\n", (double)resident * (double)sysconf(_SC_PAGESIZE) / MIB);
}

int main(int count, char **words)
{
    cl_platform_id platform;
    cl_int status, zero = 0, got = 0, one = 1;
    const char *part = count > 1 ? words[1] : "";
    double begin = now();
    char name[256];
    must(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
    must(clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof name, name, NULL),
         "clGetPlatformInfo");
    report("first_platform", now() - begin);
    must(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs");
    report("first_query", now() - begin);
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    must(status, "clCreateContext");
    queue = clCreateCommandQueueWithProperties(context, device, NULL, &status);
    must(status, "clCreateCommandQueueWithProperties");
    program = clCreateProgramWithSource(context, 1, (const char **)&source, NULL, &status);
    must(status, "clCreateProgramWithSource");
    must(clBuildProgram(program, 1, &device, "", NULL, NULL), "clBuildProgram");
    cl_kernel add = new_kernel("add");
    cl_mem buffer = new_buffer(sizeof zero);
    must(clSetKernelArg(add, 0, sizeof buffer, &buffer), "clSetKernelArg");
    must(clSetKernelArg(add, 1, sizeof one, &one), "clSetKernelArg");
    must(clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 0, sizeof zero, &zero, 0, NULL, NULL),
         "write");
    launch(add, 1);
    read_back(buffer, sizeof got, &got);
    right(got == 1, "the first kernel");
    report("first_result", now() - begin);
    if (strcmp(part, "chain") == 0)
        chain(add, buffer);
    clReleaseKernel(add);
    clReleaseMemObject(buffer);
    memory_use();
    if (part[0] == '\0') {
        calls();
        transfers();
        kernels();
    }
    clReleaseProgram(program);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
    return 0;
}
