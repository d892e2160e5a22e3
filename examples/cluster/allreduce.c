/* SPDX-License-Identifier: Apache-2.0
 *
 * All-reduce over a ring of boards: a host for real cards, which knows nothing of fpgart.
 *
 *     allreduce KERNELS COUNT [FIRST BOARDS]
 *
 * It uses all devices of this process: boards FIRST and those that follow, of BOARDS in the ring.
 * With MPI (compile with -DUSE_MPI, by mpicc) each rank has one device, and is the board of its
 * number. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#ifdef USE_MPI
#include <mpi.h>
#endif

enum { MOST = 64 };

static void check(cl_int status, const char *what)
{
    if (status != CL_SUCCESS) {
        fprintf(stderr, "%s: %d\n", what, status);
        exit(1);
    }
}

static char *contents(const char *path)
{
    FILE *file = fopen(path, "rb");
    char *text = calloc(1, 1 << 16);
    if (file == NULL || text == NULL || fread(text, 1, (1 << 16) - 1, file) == 0) {
        perror(path);
        exit(1);
    }
    fclose(file);
    return text;
}

/* What board `board` begins with, and what all end with. */
static float part(cl_uint board, cl_uint i)
{
    return (float)(board + i % 7);
}

static float total(cl_uint boards, cl_uint i)
{
    return (float)(boards * (boards - 1) / 2 + boards * (i % 7));
}

static cl_uint wrong_sums(const float *x, cl_uint count, cl_uint boards)
{
    cl_uint wrong = 0;
    for (cl_uint i = 0; i < count; i++)
        wrong += x[i] != total(boards, i);
    return wrong;
}

int main(int argc, char **argv)
{
    cl_platform_id platform;
    cl_device_id devices[MOST];
    cl_command_queue queues[MOST];
    cl_mem buffers[MOST];
    cl_kernel kernels[MOST];
    cl_int status;
    cl_uint own, first = 0, boards, wrong = 0;
    check(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
    check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, MOST, devices, &own), "clGetDeviceIDs");
    boards = own;
    if (argc > 4) {
        first = (cl_uint)atoi(argv[3]);
        boards = (cl_uint)atoi(argv[4]);
    }
#ifdef USE_MPI
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    first = (cl_uint)rank;
    boards = (cl_uint)size;
#endif
    if (argc < 3 || atoi(argv[2]) < 1) {
        fprintf(stderr, "usage: %s KERNELS COUNT [FIRST BOARDS]\n", argv[0]);
        return 2;
    }
    const cl_uint per_word = 8, words = ((cl_uint)atoi(argv[2]) + per_word - 1) / per_word;
    const cl_uint chunk = (words + boards - 1) / boards, count = chunk * boards * per_word;
    const char *source = contents(argv[1]);
    float *x = malloc(count * sizeof *x);
    cl_context context = clCreateContext(NULL, own, devices, NULL, NULL, &status);
    check(status, "clCreateContext");
    cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &status);
    check(status, "clCreateProgramWithSource");
    check(clBuildProgram(program, own, devices, "", NULL, NULL), "clBuildProgram");

    for (cl_uint d = 0; d < own; d++) {
        const cl_uint board = first + d;
        for (cl_uint i = 0; i < count; i++)
            x[i] = part(board, i);
        queues[d] = clCreateCommandQueue(context, devices[d], CL_QUEUE_PROFILING_ENABLE, &status);
        check(status, "clCreateCommandQueue");
        buffers[d] = clCreateBuffer(context, CL_MEM_READ_WRITE, count * sizeof *x, NULL, &status);
        check(status, "clCreateBuffer");
        check(clEnqueueWriteBuffer(queues[d], buffers[d], CL_TRUE, 0, count * sizeof *x, x, 0, NULL,
                                   NULL),
              "clEnqueueWriteBuffer");
        kernels[d] = clCreateKernel(program, "allreduce", &status);
        check(status, "clCreateKernel");
        check(clSetKernelArg(kernels[d], 0, sizeof buffers[d], &buffers[d]), "clSetKernelArg");
        check(clSetKernelArg(kernels[d], 1, sizeof chunk, &chunk), "clSetKernelArg");
        check(clSetKernelArg(kernels[d], 2, sizeof board, &board), "clSetKernelArg");
        check(clSetKernelArg(kernels[d], 3, sizeof boards, &boards), "clSetKernelArg");
    }
    for (cl_uint d = 0; d < own; d++) {
        check(clEnqueueTask(queues[d], kernels[d], 0, NULL, NULL), "clEnqueueTask");
        check(clFlush(queues[d]), "clFlush");
    }
    for (cl_uint d = 0; d < own; d++) {
        check(clEnqueueReadBuffer(queues[d], buffers[d], CL_TRUE, 0, count * sizeof *x, x, 0, NULL,
                                  NULL),
              "clEnqueueReadBuffer");
        wrong += wrong_sums(x, count, boards);
    }
    printf("boards %u to %u of %u: %u sums, %u wrong\n", first, first + own - 1, boards, count,
           wrong);
    for (cl_uint d = 0; d < own; d++) {
        clReleaseKernel(kernels[d]);
        clReleaseMemObject(buffers[d]);
        clReleaseCommandQueue(queues[d]);
    }
    clReleaseProgram(program);
    clReleaseContext(context);
#ifdef USE_MPI
    MPI_Finalize();
#endif
    return wrong > 0;
}
