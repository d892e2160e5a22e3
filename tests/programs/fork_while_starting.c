/* SPDX-License-Identifier: Apache-2.0
 *
 * A host that forks while another thread starts the driver: whenever that has opened so many files
 * as the argument says. Each child calls the driver, and each call has to return. Prints how many
 * children ended, and how many of them died of a signal. */
#define _GNU_SOURCE
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

typedef int (*open_function)(const char *, int, ...);

static int each, opened, is_over;
static __thread int starts;
static sem_t wanted, forked;

static void have_forked(void)
{
    if (!starts || ++opened % each != 0)
        return;
    sem_post(&wanted);
    sem_wait(&forked);
}

static int open_by(const char *name, const char *path, int flags, mode_t mode)
{
    open_function next = NULL;
    void *found = dlsym(RTLD_NEXT, name);
    memcpy(&next, &found, sizeof next);
    have_forked();
    return next(path, flags, mode);
}

/* In the place of those of the C library, for all libraries of the process. */
#define OPEN(name)                                                                                 \
    int name(const char *path, int flags, ...)                                                     \
    {                                                                                              \
        va_list more;                                                                              \
        va_start(more, flags);                                                                     \
        mode_t mode = va_arg(more, mode_t);                                                        \
        va_end(more);                                                                              \
        return open_by(#name, path, flags, mode);                                                  \
    }
OPEN(open)
OPEN(open64)

static cl_int use(void)
{
    cl_platform_id platform = NULL;
    cl_device_id device = NULL;
    cl_int status = clGetPlatformIDs(1, &platform, NULL);
    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL);
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    if (context != NULL)
        clReleaseContext(context);
    return status;
}

static void *start(void *status)
{
    starts = 1;
    *(cl_int *)status = use();
    starts = 0;
    is_over = 1;
    sem_post(&wanted);
    return NULL;
}

int main(int count, char **words)
{
    pthread_t starter;
    cl_int outcome = 1;
    int children = 0, died = 0, status;
    if (count < 2)
        return 2;
    each = atoi(words[1]);
    sem_init(&wanted, 0, 0);
    sem_init(&forked, 0, 0);
    if (pthread_create(&starter, NULL, start, &outcome) != 0)
        return 2;
    for (sem_wait(&wanted); !is_over; sem_wait(&wanted)) {
        pid_t child = fork();
        if (child == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL); /* if it hangs, it ends with the parent */
            use();
            _exit(0);
        }
        if (child < 0 || waitpid(child, &status, 0) != child)
            return 2;
        children++;
        died += WIFSIGNALED(status);
        sem_post(&forked);
    }
    pthread_join(starter, NULL);
    printf("%d %d\n", children, died);
    return outcome != CL_SUCCESS;
}
