/* Makes an image of a program with a channel on Intel's FPGA emulator (make FILE), and runs the
 * kernels of an image (run FILE): one squares numbers, the other gets them through the channel.
 * Both go on at the same time. */
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include "host.h"

enum { COUNT = 1000 };

static const char *source =
    "#pragma OPENCL EXTENSION cl_intel_channels : enable\n"
    "channel int squares __attribute__((depth(4)));\n"
    "kernel void put(global const int *x, int n) {\n"
    "    for (int i = 0; i < n; i++) write_channel_intel(squares, x[i] * x[i]);\n"
    "}\n"
    "kernel void get(global int *y, int n) {\n"
    "    for (int i = 0; i < n; i++) y[i] = read_channel_intel(squares);\n"
    "}\n";
static struct host host;

static void make(const char *path)
{
    size_t size;
    FILE *file = fopen(path, "wb");
    must_be(file != NULL, "the file can be opened");
    unsigned char *binary = binary_of(new_program(&host, source, ""), &size);
    must_be(fwrite(binary, 1, size, file) == size, "the image can be written");
    fclose(file);
}

static cl_kernel kernel_on(const char *name, cl_mem buffer)
{
    const cl_int count = COUNT;
    cl_kernel kernel = new_kernel(&host, name);
    set_argument(kernel, 0, sizeof buffer, &buffer);
    set_argument(kernel, 1, sizeof count, &count);
    return kernel;
}

static void run(const char *path)
{
    static int numbers[COUNT], squares[COUNT];
    const size_t bytes = sizeof numbers;
    size_t size;
    unsigned char *binary = file_contents(path, &size);
    for (int i = 0; i < 2; i++) { /* the driver's own binary of it, too */
        host.program = program_from(&host, binary, size);
        binary = binary_of(host.program, &size);
    }
    for (int i = 0; i < COUNT; i++)
        numbers[i] = i;
    cl_mem from = buffer_with(&host, bytes, numbers), to = new_buffer(&host, bytes);
    cl_command_queue queues[2] = {new_queue(&host), new_queue(&host)};
    MUST(clEnqueueTask(queues[0], kernel_on("put", from), 0, NULL, NULL));
    MUST(clFlush(queues[0]));
    MUST(clEnqueueTask(queues[1], kernel_on("get", to), 0, NULL, NULL));
    read_back(queues[1], to, bytes, squares);
    for (int i = 0; i < COUNT; i++)
        must_be(squares[i] == i * i, "each number is squared");
    puts("right");
}

int main(int count, char **words)
{
    must_be(count == 3, "a verb and a file are given");
    find_context(&host);
    if (strcmp(words[1], "make") == 0)
        make(words[2]);
    else
        run(words[2]);
    return 0;
}
