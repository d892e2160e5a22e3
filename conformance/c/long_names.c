/* SPDX-License-Identifier: Apache-2.0
 *
 * Channels whose names differ after 150 characters only are different ones. */
#include "host.h"

enum { LENGTH = 150 };

static const char *const pattern =
    "#pragma OPENCL EXTENSION cl_intel_channels : enable\n"
    "channel int $_one __attribute__((depth(4))), $_two __attribute__((depth(4)));\n"
    "channel int $_row[2] __attribute__((depth(4)));\n"
    "kernel void send(int n)\n"
    "{\n"
    "    write_channel_intel($_one, n);\n"
    "    write_channel_intel($_two, n + 1);\n"
    "    write_channel_intel($_row[0], n + 2);\n"
    "    write_channel_intel($_row[1], n + 3);\n"
    "}\n"
    "kernel void receive(global int *out)\n"
    "{\n"
    "    out[1] = read_channel_intel($_two);\n"
    "    out[0] = read_channel_intel($_one);\n"
    "    out[3] = read_channel_intel($_row[1]);\n"
    "    out[2] = read_channel_intel($_row[0]);\n"
    "}\n";

/* The source with LENGTH characters where the pattern has a dollar sign. */
static void expand(char *source)
{
    for (const char *from = pattern; *from != '\0'; from++)
        for (int i = 0; i < (*from == '$' ? LENGTH : 1); i++)
            *source++ = *from == '$' ? 'x' : *from;
    *source = '\0';
}

int main(void)
{
    static char source[16384];
    struct host host;
    cl_int first = 40, found[4];
    expand(source);
    start(&host, source);
    cl_command_queue other = new_queue(&host);
    cl_kernel send = new_kernel(&host, "send"), receive = new_kernel(&host, "receive");
    cl_mem out = new_buffer(&host, sizeof found);
    set_argument(send, 0, sizeof first, &first);
    set_argument(receive, 0, sizeof out, &out);
    launch(host.queue, send, 1, NULL);
    launch(other, receive, 1, NULL);
    MUST(clFinish(host.queue));
    read_back(other, out, sizeof found, found);
    for (int i = 0; i < 4; i++)
        must_be(found[i] == first + i, "each channel has its own packets");
    puts("right");
    return 0;
}
