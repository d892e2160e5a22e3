/* SPDX-License-Identifier: Apache-2.0
 *
 * Makes the mistake that its first argument names, unless the second is `fixed`: each of them
 * costs time on a board, and `fpgart report` says how to avoid it. Lines with `mistake` are those
 * that it has to name. */
#include "host.h"

#include <CL/cl_ext_intelfpga.h>

enum { COUNT = 1 << 20, SIZE = COUNT * 4, ROUNDS = 4, TINY = 64, LAUNCHES = 40 };

static const char *kernels =
    "kernel void near(global int *x) { x[get_global_id(0)] += 1; }\n"
    "kernel void far(global __attribute__((buffer_location(\"HBM\"))) int *x)\n"
    "{ x[get_global_id(0)] *= 2; }\n"
    "kernel void wide(global const int16 *a, global int16 *b)\n"
    "{ b[get_global_id(0)] = a[get_global_id(0)]; }\n";
static const char *here = "kernel void near(global int *x) { x[get_global_id(0)] += 1; }\n"
                          "kernel void wide(global const int16 *a, global int16 *b)\n"
                          "{ b[get_global_id(0)] = a[get_global_id(0)]; }\n";
/* Work, then many packets at once; and the other end of that. */
static const char *bursts =
    "#pragma OPENCL EXTENSION cl_intel_channels : enable\n"
    "channel float bursts __attribute__((depth(DEPTH)));\n"
    "float work(float x) { for (int k = 0; k < 2000000; k++) x = sqrt(x * x + 1); return x; }\n"
    "kernel void give(global float *y)\n"
    "{\n"
    "    float x = y[0];\n"
    "    for (int i = 0; i < 8; i++) {\n"
    "        x = work(x);\n"
    "        for (int j = 0; j < 64; j++) write_channel_intel(bursts, x);\n"
    "    }\n"
    "}\n"
    "kernel void take(global float *y)\n"
    "{\n"
    "    float x = 0;\n"
    "    for (int i = 0; i < 8; i++) {\n"
    "        x = work(x + read_channel_intel(bursts));\n"
    "        for (int j = 1; j < 64; j++) x += read_channel_intel(bursts);\n"
    "    }\n"
    "    y[0] = x;\n"
    "}\n";

static void run(cl_command_queue queue, cl_kernel kernel, size_t count, cl_event after)
{
    cl_uint waits = after != NULL;
    const cl_event *list = waits ? &after : NULL;
    must(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &count, NULL, waits, list, NULL), "launch");
}

static cl_event give(cl_command_queue queue, cl_mem buffer, cl_bool blocking, const void *from)
{
    cl_event event;
    must(clEnqueueWriteBuffer(queue, buffer, blocking, 0, SIZE, from, 0, NULL, &event), "write");
    MUST(clFlush(queue));
    return event;
}

static void *memory(void)
{
    void *made = aligned_alloc(4096, SIZE + 4096);
    memset(made, 0, SIZE + 4096);
    return made;
}

/* A buffer that kernels need in two memories in turn; or one that they need in one. */
static void pingpong(struct host *host, int fixed)
{
    cl_kernel far = new_kernel(host, "far"), near = new_kernel(host, fixed ? "far" : "near");
    cl_mem buffer = new_buffer(host, SIZE);
    set_argument(far, 0, sizeof buffer, &buffer);
    set_argument(near, 0, sizeof buffer, &buffer);
    for (int i = 0; i < ROUNDS; i++) {
        run(host->queue, far, COUNT, NULL);
        run(host->queue, near, COUNT, NULL); // mistake pingpong
    }
}

/* Two buffers of one kernel in one bank; or in two. */
static void banks(struct host *host, int fixed)
{
    cl_int status;
    cl_kernel wide = new_kernel(host, "wide");
    for (cl_uint i = 0; i < 2; i++) {
        cl_mem_flags bank = fixed && i == 1 ? CL_CHANNEL_2_INTELFPGA : CL_CHANNEL_1_INTELFPGA;
        cl_mem buffer =
            clCreateBuffer(host->context, CL_MEM_READ_WRITE | bank, SIZE, NULL, &status);
        must(status, "clCreateBuffer");
        fill(host->queue, buffer, 1, SIZE);
        set_argument(wide, i, sizeof buffer, &buffer);
    }
    run(host->queue, wide, COUNT / 16, NULL); // mistake banks
}

/* Each part is written and used in one queue; or written in another while the part before is used.
 */
static void overlap(struct host *host, int fixed)
{
    cl_command_queue moves = fixed ? new_queue(host) : host->queue;
    cl_mem parts[ROUNDS];
    void *from = memory();
    for (int i = 0; i < ROUNDS; i++) {
        cl_kernel near = new_kernel(host, "near");
        parts[i] = new_buffer(host, SIZE);
        set_argument(near, 0, sizeof parts[i], &parts[i]);
        cl_event written = give(moves, parts[i], CL_FALSE, from); // mistake overlap
        run(host->queue, near, COUNT, written);
    }
    MUST(clFinish(moves));
}

/* As overlap, but the host waits for each kernel. */
static void waiting(struct host *host, int fixed)
{
    cl_command_queue moves = new_queue(host);
    cl_kernel near = new_kernel(host, "near");
    void *from = memory();
    for (int i = 0; i < ROUNDS; i++) {
        cl_mem part = new_buffer(host, SIZE);
        set_argument(near, 0, sizeof part, &part);
        cl_event written = give(moves, part, CL_FALSE, from);
        run(host->queue, near, COUNT, written);
        if (!fixed)
            MUST(clFinish(host->queue)); // mistake waiting
    }
}

/* Host memory that is not aligned; or is. */
static void unaligned(struct host *host, int fixed)
{
    cl_mem buffer = new_buffer(host, SIZE);
    char *from = (char *)memory() + (fixed ? 0 : 4);
    give(host->queue, buffer, CL_TRUE, from); // mistake unaligned
}

/* Many launches of little work; or one of all. */
static void tiny(struct host *host, int fixed)
{
    cl_kernel near = new_kernel(host, "near");
    cl_mem buffer = new_buffer(host, TINY * LAUNCHES * sizeof(cl_int));
    set_argument(near, 0, sizeof buffer, &buffer);
    for (int i = 0; i < (fixed ? 1 : LAUNCHES); i++)
        run(host->queue, near, fixed ? TINY * LAUNCHES : TINY, NULL); // mistake tiny
}

/* Two programs in turn; or one after the other. */
static void programs(struct host *host, int fixed)
{
    struct host other = *host;
    other.program = new_program(host, here, "-DOTHER");
    cl_mem buffer = new_buffer(host, SIZE);
    cl_kernel both[] = {new_kernel(host, "near"), new_kernel(&other, "near")};
    for (int i = 0; i < 2; i++)
        set_argument(both[i], 0, sizeof buffer, &buffer);
    for (int i = 0; i < 2 * ROUNDS; i++)
        run(host->queue, both[fixed ? i / ROUNDS : i % 2], COUNT, NULL); // mistake programs
}

/* A channel with less room than a burst; or with room for all. */
static void shallow(struct host *host, int fixed)
{
    const char *depth = fixed ? "-DDEPTH=512" : "-DDEPTH=4";
    host->program = new_program(host, bursts, depth);
    cl_command_queue other = new_queue(host);
    const char *names[] = {"give", "take"};
    for (int i = 0; i < 2; i++) {
        cl_kernel kernel = new_kernel(host, names[i]);
        cl_mem buffer = new_buffer(host, sizeof(cl_float));
        fill(host->queue, buffer, 1, sizeof(cl_float));
        set_argument(kernel, 0, sizeof buffer, &buffer);
        run(i ? other : host->queue, kernel, 1, NULL);
    }
    MUST(clFinish(other));
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*act)(struct host *host, int fixed);
    } mistakes[] = {{"pingpong", pingpong}, {"banks", banks},    {"overlap", overlap},
                    {"waiting", waiting},   {"tiny", tiny},      {"unaligned", unaligned},
                    {"programs", programs}, {"shallow", shallow}};
    struct host host;
    int fixed = argc > 2 && strcmp(argv[2], "fixed") == 0;
    start(&host, argc > 1 && strcmp(argv[1], "pingpong") == 0 ? kernels : here);
    for (size_t i = 0; i < sizeof mistakes / sizeof mistakes[0]; i++)
        if (argc > 1 && strcmp(argv[1], mistakes[i].name) == 0)
            mistakes[i].act(&host, fixed);
    MUST(clFinish(host.queue));
    return 0;
}
