/* SPDX-License-Identifier: Apache-2.0
 *
 * A host that looks around: which children, signals and engines it has, once a kernel has run, and
 * where kernels' output goes. After "ready" it waits for a line. */
#define _GNU_SOURCE
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char source[] = "kernel void print(int number) { printf(\"kernel %d\\n\", number); }"
                             "kernel void nothing(void) {}";
static volatile sig_atomic_t signals;

static void count(int number)
{
    (void)number;
    signals++;
}

static void check(cl_int status, const char *what)
{
    if (status == CL_SUCCESS)
        return;
    fprintf(stderr, "%s: %d\n", what, status);
    exit(1);
}

static int engines(void)
{
    char line[4096];
    int found = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps != NULL && fgets(line, sizeof line, maps) != NULL)
        found += strstr(line, "libpocl") != NULL || strstr(line, "libLLVM") != NULL ||
                 strstr(line, "libintelocl") != NULL;
    return found;
}

static void print_from_kernel(cl_command_queue queue, cl_kernel kernel, int number)
{
    const size_t one = 1;
    check(clSetKernelArg(kernel, 0, sizeof number, &number), "clSetKernelArg");
    check(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, NULL, 0, NULL, NULL), "enqueue");
    check(clFinish(queue), "clFinish");
}

static void say(const char *words)
{
    printf("%s\n", words);
    fflush(stdout);
}

/* What a kernel prints while descriptor 1 is a file of the host's. */
static void print_to_file(cl_command_queue queue, cl_kernel kernel)
{
    char text[64] = "";
    char path[] = "/tmp/fpgart-isolated-XXXXXX";
    int usual = dup(1), file = mkstemp(path);
    unlink(path);
    dup2(file, 1);
    print_from_kernel(queue, kernel, 3);
    dup2(usual, 1);
    if (pread(file, text, sizeof text - 1, 0) < 0)
        strcpy(text, "nothing");
    printf("moved: %s", text);
}

int main(void)
{
    cl_platform_id platform;
    cl_device_id device;
    cl_int status;
    char line[16];
    const char *text = source;
    const size_t one = 1;
    signal(SIGCHLD, count);
    check(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
    check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs");
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, &status);
    cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, &status);
    check(clBuildProgram(program, 1, &device, "", NULL, NULL), "clBuildProgram");
    cl_kernel print = clCreateKernel(program, "print", &status);
    cl_kernel nothing = clCreateKernel(program, "nothing", &status);
    check(clEnqueueNDRangeKernel(queue, nothing, 1, NULL, &one, NULL, 0, NULL, NULL), "enqueue");
    check(clFinish(queue), "clFinish");
    say("ready");
    if (fgets(line, sizeof line, stdin) == NULL)
        return 1;
    printf("children %d\n", waitpid(-1, NULL, WNOHANG) != -1 || errno != ECHILD);
    printf("signals %d\n", (int)signals);
    printf("engines %d\n", engines());
    say("before");
    print_from_kernel(queue, print, 1);
    say("between");
    print_from_kernel(queue, print, 2);
    say("after");
    print_to_file(queue, print);
    return 0;
}
