/* SPDX-License-Identifier: Apache-2.0
 *
 * Adding vectors that are larger than what a kernel can be shown at once, three ways:
 * `vecadd_mpax sub_buffers MIB PARTS`  three buffers of so many MiB, one launch for each part of
 * them `vecadd_mpax ping_pong MIB ROUNDS`   two sets of three buffers; one is filled while the
 * other is added `vecadd_mpax tasks MIB COUNT`        so many tasks at once, each with three
 * buffers of its own */
#include "host.h"

enum { MOST = 64 };

static const char source[] =
    "kernel void add(global const uint4 *a, global const uint4 *b, global uint4 *c)\n"
    "{\n"
    "    size_t i = get_global_id(0);\n"
    "    c[i] = a[i] + b[i];\n"
    "}\n"
    "kernel void add_all(global const uint4 *a, global const uint4 *b, global uint4 *c, ulong n)\n"
    "{\n"
    "    for (ulong i = 0; i < n; i++) c[i] = a[i] + b[i];\n"
    "}\n";

struct set {
    cl_mem a, b, c;
};

static struct set new_set(struct host *host, size_t size)
{
    struct set set = {new_buffer_with(host->context, CL_MEM_READ_ONLY, size, NULL),
                      new_buffer_with(host->context, CL_MEM_READ_ONLY, size, NULL),
                      new_buffer_with(host->context, CL_MEM_WRITE_ONLY, size, NULL)};
    return set;
}

static void release(struct set *set)
{
    MUST(clReleaseMemObject(set->a));
    MUST(clReleaseMemObject(set->b));
    MUST(clReleaseMemObject(set->c));
}

/* `size` bytes whose words count from `first` in steps of `step`, written in pieces. */
static void write_words(cl_command_queue queue, cl_mem buffer, size_t size, cl_uint first,
                        cl_uint step)
{
    enum { PIECE = 1 << 20 };
    cl_uint *words = malloc(PIECE);
    for (size_t at = 0; at < size; at += PIECE) {
        size_t length = size - at < PIECE ? size - at : PIECE;
        for (size_t i = 0; i < length / sizeof *words; i++)
            words[i] = first + (cl_uint)(at / sizeof *words + i) * step;
        MUST(clEnqueueWriteBuffer(queue, buffer, CL_TRUE, at, length, words, 0, NULL, NULL));
    }
    free(words);
}

static void must_be_words(cl_command_queue queue, cl_mem buffer, size_t size, cl_uint first,
                          cl_uint step)
{
    enum { PIECE = 1 << 20 };
    cl_uint *words = malloc(PIECE);
    for (size_t at = 0; at < size; at += PIECE) {
        size_t length = size - at < PIECE ? size - at : PIECE;
        MUST(clEnqueueReadBuffer(queue, buffer, CL_TRUE, at, length, words, 0, NULL, NULL));
        for (size_t i = 0; i < length / sizeof *words; i++)
            must_be(words[i] == first + (cl_uint)(at / sizeof *words + i) * step, "each sum");
    }
    free(words);
}

static cl_int launch_add(cl_command_queue queue, cl_kernel kernel, const struct set *set,
                         size_t size)
{
    const size_t items = size / sizeof(cl_uint4);
    set_argument(kernel, 0, sizeof(cl_mem), &set->a);
    set_argument(kernel, 1, sizeof(cl_mem), &set->b);
    set_argument(kernel, 2, sizeof(cl_mem), &set->c);
    return clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, NULL, 0, NULL, NULL);
}

static void sub_buffers(struct host *host, size_t size, int parts)
{
    struct set whole = new_set(host, size);
    cl_kernel kernel = new_kernel(host, "add");
    const size_t part = size / (size_t)parts;
    write_words(host->queue, whole.a, size, 1, 3);
    write_words(host->queue, whole.b, size, 10, 4);
    must_be(launch_add(host->queue, kernel, &whole, size) == CL_OUT_OF_RESOURCES,
            "the whole is too large for one launch");
    for (int i = 0; i < parts; i++) {
        const size_t origin = (size_t)i * part;
        struct set set = {region_of(whole.a, CL_MEM_READ_ONLY, origin, part),
                          region_of(whole.b, CL_MEM_READ_ONLY, origin, part),
                          region_of(whole.c, CL_MEM_WRITE_ONLY, origin, part)};
        must(launch_add(host->queue, kernel, &set, part), "a part is not too large");
        release(&set);
    }
    MUST(clFinish(host->queue));
    must_be_words(host->queue, whole.c, size, 11, 7);
    release(&whole);
}

static void ping_pong(struct host *host, size_t size, int rounds)
{
    struct set sets[2] = {new_set(host, size), new_set(host, size)};
    cl_command_queue filling = new_queue(host);
    cl_kernel kernel = new_kernel(host, "add");
    for (int round = 0; round <= rounds; round++) {
        struct set *now = &sets[round % 2], *before = &sets[1 - round % 2];
        if (round > 0) {
            must(launch_add(host->queue, kernel, before, size), "one set fits");
            MUST(clFlush(host->queue));
        }
        if (round < rounds) {
            write_words(filling, now->a, size, (cl_uint)round, 1);
            write_words(filling, now->b, size, 2, 2);
        }
        MUST(clFinish(host->queue));
        if (round > 0)
            must_be_words(host->queue, before->c, size, (cl_uint)round + 1, 3);
    }
    release(&sets[0]);
    release(&sets[1]);
    MUST(clReleaseCommandQueue(filling));
}

static void tasks(struct host *host, size_t size, int count)
{
    struct set sets[MOST];
    const cl_ulong items = size / sizeof(cl_uint4);
    cl_command_queue queue = new_queue_with(host, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    must_be(count <= MOST, "not so many tasks");
    cl_kernel kernel = new_kernel(host, "add_all");
    for (int i = 0; i < count; i++) {
        sets[i] = new_set(host, size);
        write_words(host->queue, sets[i].a, size, (cl_uint)i, 1);
        write_words(host->queue, sets[i].b, size, 5, 1);
    }
    for (int i = 0; i < count; i++) {
        const size_t one = 1;
        set_argument(kernel, 0, sizeof(cl_mem), &sets[i].a);
        set_argument(kernel, 1, sizeof(cl_mem), &sets[i].b);
        set_argument(kernel, 2, sizeof(cl_mem), &sets[i].c);
        set_argument(kernel, 3, sizeof items, &items);
        MUST(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, &one, 0, NULL, NULL));
    }
    MUST(clFinish(queue));
    for (int i = 0; i < count; i++) {
        must_be_words(host->queue, sets[i].c, size, (cl_uint)i + 5, 2);
        release(&sets[i]);
    }
    MUST(clReleaseCommandQueue(queue));
}

int main(int count, char **words)
{
    struct host host;
    must_be(count == 4, "a way, MiB, and a count");
    const size_t size = (size_t)atoi(words[2]) << 20;
    start(&host, source);
    if (strcmp(words[1], "sub_buffers") == 0)
        sub_buffers(&host, size, atoi(words[3]));
    else if (strcmp(words[1], "ping_pong") == 0)
        ping_pong(&host, size, atoi(words[3]));
    else if (strcmp(words[1], "tasks") == 0)
        tasks(&host, size, atoi(words[3]));
    else
        must_be(false, "there is such a way");
    stop(&host);
    puts("ok");
    return 0;
}
