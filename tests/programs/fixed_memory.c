/* Asks for strings as hosts with memory of a fixed size do: `p<query>:<size>` of the platform,
 * `d<query>:<size>` of each device, in hexadecimal. Asks for those of the platform before the first
 * device, and again after it. Where `r`, `b`, `k` or `a` are asked for, builds a program for all
 * devices: they are queries about that, its build on each device, its kernel and the argument. */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct objects {
    cl_platform_id platform;
    cl_device_id device;
    cl_program program;
    cl_kernel kernel;
};

static const char source[] = "kernel void multiply_matrices_of_eight_columns_and_rows("
                             "global const unsigned char *restrict samples_of_the_last_frame) {}";

static cl_int ask(const struct objects *of, char kind, cl_uint query, size_t size, char *text,
                  size_t *length)
{
    switch (kind) {
    case 'p':
        return clGetPlatformInfo(of->platform, query, size, text, length);
    case 'd':
        return clGetDeviceInfo(of->device, query, size, text, length);
    case 'r':
        return clGetProgramInfo(of->program, query, size, text, length);
    case 'b':
        return clGetProgramBuildInfo(of->program, of->device, query, size, text, length);
    case 'k':
        return clGetKernelInfo(of->kernel, query, size, text, length);
    default:
        return clGetKernelArgInfo(of->kernel, 0, query, size, text, length);
    }
}

static void say(const char *asked, const struct objects *of)
{
    char text[4096] = "";
    char *end = NULL;
    cl_uint query = strtoul(asked + 1, &end, 16);
    size_t size = strtoul(end + 1, NULL, 16), length = 0;
    cl_int status = ask(of, *asked, query, size, text, &length);
    printf("%s\t%d\t%d\t%s\n", asked, status, length == strlen(text) + 1, text);
}

static void say_all(char **asked, const char *kinds, const struct objects *of)
{
    for (; *asked != NULL; asked++)
        if (strchr(kinds, (*asked)[0]) != NULL)
            say(*asked, of);
}

static int asks_for_programs(char **asked)
{
    while (*asked != NULL && strchr("rbka", (*asked)[0]) == NULL)
        asked++;
    return *asked != NULL;
}

static int build(struct objects *of, cl_uint count, const cl_device_id *devices)
{
    const char *text = source;
    cl_int status;
    cl_context context = clCreateContext(NULL, count, devices, NULL, NULL, &status);
    of->program = clCreateProgramWithSource(context, 1, &text, NULL, &status);
    if (clBuildProgram(of->program, count, devices, "-DROWS=8 -cl-kernel-arg-info", NULL, NULL) !=
        CL_SUCCESS)
        return 0;
    of->kernel =
        clCreateKernel(of->program, "multiply_matrices_of_eight_columns_and_rows", &status);
    return status == CL_SUCCESS;
}

int main(int argc, char **argv)
{
    struct objects of = {NULL, NULL, NULL, NULL};
    cl_device_id devices[16];
    cl_uint count = 0;
    if (argc < 2 || clGetPlatformIDs(1, &of.platform, NULL) != CL_SUCCESS)
        return 1;
    say_all(argv + 1, "p", &of);
    if (clGetDeviceIDs(of.platform, CL_DEVICE_TYPE_ALL, 16, devices, &count) != CL_SUCCESS)
        return 2;
    say_all(argv + 1, "p", &of);
    if (asks_for_programs(argv + 1) && !build(&of, count, devices))
        return 3;
    say_all(argv + 1, "rka", &of);
    for (cl_uint i = 0; i < count; i++) {
        of.device = devices[i];
        say_all(argv + 1, "db", &of);
    }
    printf("devices\t0\t1\t%u\n", count);
    return 0;
}
