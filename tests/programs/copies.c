/* SPDX-License-Identifier: Apache-2.0
 *
 * Blocking transfers of one thread beside what another does to the same queue and the same buffers:
 * contents are never torn, whatever is released in between. */
#include "host.h"

#include <stdatomic.h>

enum { BYTES = 1 << 20, ROUNDS = 150, BLOCKS = 40 };

static const char source[] = "kernel void flip(global uchar *x) { x[get_global_id(0)] ^= 0x80; }";
static struct host host;
static atomic_int ended;

static void write_all(cl_command_queue queue, cl_mem buffer, const unsigned char *from)
{
    write_buffer(queue, buffer, BYTES, from);
}

static unsigned char *filled(int value)
{
    unsigned char *bytes = malloc(BYTES);
    must_be(bytes != NULL, "there is memory");
    memset(bytes, value, BYTES);
    return bytes;
}

/* The byte that all are. */
static int only_byte(const unsigned char *bytes)
{
    for (size_t i = 1; i < BYTES; i++)
        must_be(bytes[i] == bytes[0], "all bytes of a transfer are of one command");
    return bytes[0];
}

static void *flips(void *buffer)
{
    cl_kernel kernel = new_kernel(&host, "flip");
    set_argument(kernel, 0, sizeof(cl_mem), buffer);
    while (!ended) {
        launch(host.queue, kernel, BYTES, NULL);
        if (rand() % 2)
            MUST(clFinish(host.queue));
    }
    return NULL;
}

/* In a queue with an order, no kernel runs while bytes move. */
static void commands_of_one_queue(void)
{
    pthread_t thread;
    unsigned char *bytes = filled(0);
    cl_mem buffer = new_buffer(&host, BYTES);
    write_all(host.queue, buffer, bytes);
    ended = 0;
    pthread_create(&thread, NULL, flips, &buffer);
    for (int round = 0; round < ROUNDS; round++) {
        memset(bytes, round % 128, BYTES);
        write_all(host.queue, buffer, bytes);
        read_back(host.queue, buffer, BYTES, bytes);
        must_be(only_byte(bytes) % 128 == round % 128, "what was written is read");
    }
    ended = 1;
    pthread_join(thread, NULL);
    free(bytes);
}

static void *moves(void *buffer)
{
    cl_command_queue queue = new_queue(&host);
    for (cl_mem_migration_flags to = CL_MIGRATE_MEM_OBJECT_HOST; !ended; to ^= 1) {
        must(clEnqueueMigrateMemObjects(queue, 1, buffer, to, 0, NULL, NULL), "migrate");
        MUST(clFinish(queue));
        usleep(200);
    }
    MUST(clReleaseCommandQueue(queue));
    return NULL;
}

/* Moving a buffer back and forth changes nothing in it. */
static void buffers_that_move(void)
{
    pthread_t thread;
    unsigned char *bytes = filled(0);
    cl_mem buffer = new_buffer(&host, BYTES), other = new_buffer(&host, BYTES);
    ended = 0;
    pthread_create(&thread, NULL, moves, &buffer);
    for (int round = 0; round < ROUNDS; round++) {
        memset(bytes, round, BYTES);
        write_all(host.queue, buffer, bytes);
        write_all(host.queue, other, bytes);
        read_back(host.queue, buffer, BYTES, bytes);
        must_be(only_byte(bytes) == round % 256, "what was written is read");
    }
    ended = 1;
    pthread_join(thread, NULL);
    MUST(clReleaseMemObject(buffer));
    MUST(clReleaseMemObject(other));
    free(bytes);
}

static _Atomic(cl_mem) given;

/* What is released is at once used for something else. */
static void *releases(void *nothing)
{
    unsigned char *bytes = filled(255);
    cl_command_queue queue = new_queue(&host);
    while (!ended) {
        cl_mem buffer = atomic_exchange(&given, NULL);
        if (buffer == NULL)
            continue;
        for (volatile int i = rand() % 10000; i > 0; i--)
            ;
        MUST(clReleaseMemObject(buffer));
        cl_mem next = new_buffer(&host, BYTES);
        must(clEnqueueWriteBuffer(queue, next, CL_FALSE, 0, BYTES, bytes, 0, NULL, NULL), "write");
        MUST(clFinish(queue));
        MUST(clReleaseMemObject(next));
    }
    free(bytes);
    return NULL;
}

/* A transfer that has begun has its buffer, though the host releases that meanwhile. */
static void buffers_that_are_released(void)
{
    pthread_t thread;
    unsigned char *bytes = filled(1);
    int begun = 0;
    ended = 0;
    pthread_create(&thread, NULL, releases, NULL);
    for (int round = 0; round < ROUNDS; round++) {
        cl_mem buffer = new_buffer(&host, BYTES);
        memset(bytes, round % 255, BYTES);
        for (int i = 0; i < 2; i++)
            write_all(host.queue, buffer, bytes);
        read_back(host.queue, buffer, BYTES, bytes);
        memset(bytes, 255, BYTES);
        given = buffer;
        cl_int status =
            clEnqueueReadBuffer(host.queue, buffer, CL_TRUE, 0, BYTES, bytes, 0, NULL, NULL);
        begun += status == CL_SUCCESS;
        must_be(status == CL_SUCCESS || status == CL_INVALID_MEM_OBJECT, "it has begun or not");
        must_be(only_byte(bytes) == (status == CL_SUCCESS ? round % 255 : 255), "its own bytes");
        while (given != NULL)
            ;
    }
    ended = 1;
    pthread_join(thread, NULL);
    must_be(begun > 0, "some were released while they were read");
    free(bytes);
}

/* Blocks of memory that are just being read are nobody else's, and go back when that ends. */
static void memory_that_is_given_back(void)
{
    unsigned char *bytes = filled(3);
    for (int i = 0; i < BLOCKS; i++) {
        cl_mem buffer = new_buffer(&host, (size_t)64 << 20);
        for (int j = 0; j < 3; j++)
            write_all(host.queue, buffer, bytes);
        MUST(clReleaseMemObject(buffer));
    }
    free(bytes);
}

int main(void)
{
    start(&host, source);
    commands_of_one_queue();
    buffers_that_move();
    buffers_that_are_released();
    memory_that_is_given_back();
    stop(&host);
    puts("right");
    return 0;
}
