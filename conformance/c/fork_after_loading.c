/* SPDX-License-Identifier: Apache-2.0
 *
 * fork() in a host that has used the driver. In the child each call works or answers an error, none
 * hangs and none crashes; the parent goes on as if nothing had happened.
 *
 *     fork_after_loading [idle | busy] [_exit | exit | exec]
 *
 * busy: while a kernel runs. The last word is how the child ends. */
#include "host.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

static void add_once(struct host *host, cl_kernel add, cl_mem buffer)
{
    cl_int one = 1, back[64];
    fill(host->queue, buffer, 1, sizeof back);
    set_argument(add, 0, sizeof buffer, &buffer);
    set_argument(add, 1, sizeof one, &one);
    launch(host->queue, add, 64, NULL);
    read_back(host->queue, buffer, sizeof back, back);
    must_be(back[0] == 2 && back[63] == 2, "1 + 1 is 2");
}

static int calls, errors;

static cl_int answered(cl_int status)
{
    calls++;
    errors += status != CL_SUCCESS;
    return status;
}

/* Everything that a child might try with what it inherited, and from the start. */
static void try_everything(struct host *host, cl_kernel add, cl_mem buffer)
{
    cl_platform_id platform;
    cl_device_id device;
    cl_int status = CL_SUCCESS, one = 1, back[64] = {0};
    char name[256];
    size_t size = 64;
    cl_event event = NULL;
    answered(clGetPlatformIDs(1, &platform, NULL));
    answered(clGetPlatformInfo(host->platform, CL_PLATFORM_NAME, sizeof name, name, NULL));
    answered(clGetDeviceIDs(host->platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
    answered(clGetDeviceInfo(host->device, CL_DEVICE_NAME, sizeof name, name, NULL));
    cl_context context = clCreateContext(NULL, 1, &host->device, NULL, NULL, &status);
    answered(status);
    cl_mem own = clCreateBuffer(host->context, CL_MEM_READ_WRITE, 256, NULL, &status);
    answered(status);
    answered(clSetKernelArg(add, 1, sizeof one, &one));
    answered(clRetainKernel(add));
    answered(clReleaseKernel(add));
    bool wrote = answered(clEnqueueFillBuffer(host->queue, buffer, &one, sizeof one, 0, 256, 0,
                                              NULL, NULL)) == CL_SUCCESS;
    bool ran = answered(clEnqueueNDRangeKernel(host->queue, add, 1, NULL, &size, NULL, 0, NULL,
                                               &event)) == CL_SUCCESS;
    bool read = answered(clEnqueueReadBuffer(host->queue, buffer, CL_TRUE, 0, sizeof back, back, 0,
                                             NULL, NULL)) == CL_SUCCESS;
    if (wrote && ran && read)
        must_be(back[0] == 2, "what a child's calls say was done is done");
    if (event != NULL)
        answered(clWaitForEvents(1, &event));
    answered(clFlush(host->queue));
    answered(clFinish(host->queue));
    if (own != NULL)
        answered(clReleaseMemObject(own));
    if (context != NULL)
        answered(clReleaseContext(context));
    answered(clReleaseMemObject(buffer));
    answered(clReleaseKernel(add));
    answered(clReleaseProgram(host->program));
    answered(clReleaseCommandQueue(host->queue));
    answered(clReleaseContext(host->context));
}

int main(int count, char **arguments)
{
    struct host host;
    bool busy = count > 1 && strcmp(arguments[1], "busy") == 0;
    const char *end = count > 2 ? arguments[2] : "_exit";
    start(&host, SPIN_SOURCE);
    cl_kernel add = new_kernel(&host, "add"), spin = new_kernel(&host, "spin");
    cl_mem buffer = new_buffer(&host, 256), other = new_buffer(&host, 256);
    add_once(&host, add, buffer);
    if (busy) {
        cl_uint rounds = 1000000;
        set_argument(spin, 0, sizeof other, &other);
        set_argument(spin, 1, sizeof rounds, &rounds);
        for (int i = 0; i < 8; i++)
            launch(host.queue, spin, 64, NULL);
        MUST(clFlush(host.queue));
    }
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* if it hangs, it ends with the parent */
        if (strcmp(end, "exec") == 0) {
            execl("/bin/true", "true", (char *)NULL);
            _exit(1);
        }
        try_everything(&host, add, buffer);
        printf("child: %d calls, %d errors\n", calls, errors);
        fflush(stdout);
        if (strcmp(end, "exit") == 0)
            exit(0);
        _exit(0);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child)
        return 1;
    if (WIFSIGNALED(status))
        fprintf(stderr, "the child died of signal %d\n", WTERMSIG(status));
    must_be(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child ends well");
    add_once(&host, add, buffer);
    MUST(clReleaseMemObject(buffer));
    MUST(clReleaseMemObject(other));
    MUST(clReleaseKernel(add));
    MUST(clReleaseKernel(spin));
    stop(&host);
    puts("parent: right");
    return 0;
}
