/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels move packets through a pipe that the host has released, and whose place as an argument
 * another pipe has: it is there until the commands that use it have ended (OpenCL 3.0, 5.5.1).
 *
 *     pipe_life [PACKETS] */
#include "host.h"

enum { PACKET = sizeof(cl_int), DEPTH = 16, ROUNDS = 200, BLOCK = 65536 };

static const char *const source =
    "kernel void send(write_only pipe int p, int n)\n"
    "{\n"
    "    for (int i = 0; i < n; i++) while (write_pipe(p, &i)) ;\n"
    "}\n"
    "kernel void receive(read_only pipe int p, global uint *sum, int n)\n"
    "{\n"
    "    uint total = 0;\n"
    "    for (int i = 0, x; i < n; i++) { while (read_pipe(p, &x)) ; total += x; }\n"
    "    *sum = total;\n"
    "}\n";

static cl_mem new_pipe(struct host *host)
{
    cl_int status;
    cl_mem pipe = clCreatePipe(host->context, 0, PACKET, DEPTH, NULL, &status);
    must(status, "clCreatePipe");
    return pipe;
}

/* What was freed is used again, with other contents. */
static void use_memory(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        size_t size = (size_t)BLOCK >> i % 12;
        char *memory = malloc(size);
        must_be(memory != NULL, "there is memory");
        memset(memory, 0x55, size);
    }
}

int main(int count, char **words)
{
    struct host host;
    cl_int packets = count > 1 ? atoi(words[1]) : 1000000;
    cl_uint sum = 0, expected = 0;
    start(&host, source);
    cl_command_queue other = new_queue(&host);
    cl_kernel send = new_kernel(&host, "send"), receive = new_kernel(&host, "receive");
    cl_mem pipe = new_pipe(&host), second = new_pipe(&host), out = new_buffer(&host, sizeof sum);
    set_argument(send, 0, sizeof pipe, &pipe);
    set_argument(send, 1, sizeof packets, &packets);
    set_argument(receive, 0, sizeof pipe, &pipe);
    set_argument(receive, 1, sizeof out, &out);
    set_argument(receive, 2, sizeof packets, &packets);
    launch(host.queue, send, 1, NULL);
    launch(other, receive, 1, NULL);
    MUST(clFlush(host.queue));
    MUST(clFlush(other));
    set_argument(send, 0, sizeof second, &second);
    set_argument(receive, 0, sizeof second, &second);
    MUST(clReleaseMemObject(pipe));
    use_memory();
    MUST(clFinish(host.queue));
    read_back(other, out, sizeof sum, &sum);
    for (cl_uint i = 0; i < (cl_uint)packets; i++)
        expected += i;
    must_be(sum == expected, "every packet arrives");
    puts("right");
    return 0;
}
