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

static unsigned char binary[1 << 20];

/* Builds the program and gets its binary. */
static size_t built(void)
{
    unsigned char *binaries = binary;
    size_t size;
    MUST(clBuildProgram(host.program, 1, &host.device, "", NULL, NULL));
    MUST(clGetProgramInfo(host.program, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, NULL));
    must_be(size <= sizeof binary, "the binary is small");
    MUST(clGetProgramInfo(host.program, CL_PROGRAM_BINARIES, sizeof binaries, &binaries, NULL));
    return size;
}

static void make(FILE *file)
{
    cl_int status;
    host.program = clCreateProgramWithSource(host.context, 1, &source, NULL, &status);
    must(status, "clCreateProgramWithSource");
    size_t size = built();
    must_be(fwrite(binary, 1, size, file) == size, "the image can be written");
}

static size_t loaded(size_t size)
{
    const unsigned char *binaries = binary;
    cl_int status;
    host.program =
        clCreateProgramWithBinary(host.context, 1, &host.device, &size, &binaries, NULL, &status);
    must(status, "clCreateProgramWithBinary");
    return built();
}

static cl_kernel kernel_on(const char *name, cl_mem buffer)
{
    cl_int status, count = COUNT;
    cl_kernel kernel = clCreateKernel(host.program, name, &status);
    must(status, name);
    MUST(clSetKernelArg(kernel, 0, sizeof buffer, &buffer));
    MUST(clSetKernelArg(kernel, 1, sizeof count, &count));
    return kernel;
}

static void run(FILE *file)
{
    static int numbers[COUNT], squares[COUNT];
    const size_t bytes = sizeof numbers;
    cl_int status;
    loaded(loaded(fread(binary, 1, sizeof binary, file))); /* the driver's own binary of it, too */
    for (int i = 0; i < COUNT; i++)
        numbers[i] = i;
    cl_mem from = buffer_with(&host, bytes, numbers), to = new_buffer(&host, bytes);
    cl_command_queue queues[2];
    for (int i = 0; i < 2; i++)
        queues[i] = clCreateCommandQueue(host.context, host.device, 0, &status);
    MUST(clEnqueueTask(queues[0], kernel_on("put", from), 0, NULL, NULL));
    MUST(clFlush(queues[0]));
    MUST(clEnqueueTask(queues[1], kernel_on("get", to), 0, NULL, NULL));
    MUST(clEnqueueReadBuffer(queues[1], to, CL_TRUE, 0, bytes, squares, 0, NULL, NULL));
    for (int i = 0; i < COUNT; i++)
        must_be(squares[i] == i * i, "each number is squared");
    puts("right");
}

int main(int count, char **words)
{
    must_be(count == 3, "a verb and a file are given");
    FILE *file = fopen(words[2], strcmp(words[1], "make") == 0 ? "wb" : "rb");
    must_be(file != NULL, "the file can be opened");
    find_context(&host);
    if (strcmp(words[1], "make") == 0)
        make(file);
    else
        run(file);
    fclose(file);
    return 0;
}
