/* SPDX-License-Identifier: Apache-2.0
 *
 * compiling STEP...: does each step, and prints the status of those that compile. Steps:
 *   build OPTIONS    a program with a kernel; after success the kernel runs, and has to be right
 *   compile OPTIONS  the same without linking
 *   link OPTIONS     compiles without options, and links with these
 *   source FILE      builds what is in a file
 *   wait             prints "waiting", and reads a line
 *   close            closes all descriptors from 3 on, and opens a file for each of the first 64
 *   chroot FOLDER, user NUMBER, limit NUMBER (of processes), descriptors NUMBER (at most) */
#include "host.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

static const char usual[] = "kernel void twice(global int *x) { x[get_global_id(0)] *= 2; }";
static struct host host;
static unsigned built;

/* The kernel of each program has a name of its own, so that no cache has compiled it before. */
static cl_program with_kernel(char *name)
{
    char source[sizeof usual + 64];
    sprintf(name, "twice_%ld_%u", (long)getpid(), built++);
    sprintf(source, "#define twice %s\n%s", name, usual);
    return new_source(&host, source);
}

static void run(cl_program program, const char *name)
{
    cl_int values[4] = {1, 2, 3, 4};
    cl_command_queue queue = new_queue(&host);
    cl_mem buffer = buffer_with(&host, sizeof values, values);
    cl_kernel kernel = kernel_in(program, name);
    set_argument(kernel, 0, sizeof buffer, &buffer);
    launch(queue, kernel, 4, NULL);
    read_back(queue, buffer, sizeof values, values);
    printf(values[0] == 2 && values[3] == 8 ? " right" : " wrong");
    clReleaseKernel(kernel);
    clReleaseMemObject(buffer);
    clReleaseCommandQueue(queue);
}

/* The log as one line. */
static void tell_log(cl_program program)
{
    size_t size = 0;
    clGetProgramBuildInfo(program, host.device, CL_PROGRAM_BUILD_LOG, 0, NULL, &size);
    char *log = calloc(size + 1, 1);
    clGetProgramBuildInfo(program, host.device, CL_PROGRAM_BUILD_LOG, size, log, NULL);
    putchar(' ');
    for (const char *at = log; *at != '\0'; at++)
        putchar(*at != '\n' ? *at : '|');
    free(log);
}

static void tell(const char *step, cl_int status, cl_program program, const char *kernel)
{
    printf("%s %d", step, status);
    if (status != CL_SUCCESS)
        tell_log(program);
    else if (kernel != NULL)
        run(program, kernel);
    putchar('\n');
    fflush(stdout);
}

static void build_source(const char *path)
{
    static char text[1 << 20];
    FILE *file = fopen(path, "r");
    text[file != NULL ? fread(text, 1, sizeof text - 1, file) : 0] = '\0';
    cl_program program = new_source(&host, text);
    tell("source", clBuildProgram(program, 1, &host.device, "", NULL, NULL), program, NULL);
}

static void compile_and_link(const char *compiling, const char *linking)
{
    char name[64];
    cl_program part = with_kernel(name);
    cl_int status = clCompileProgram(part, 1, &host.device, compiling, 0, NULL, NULL, NULL, NULL);
    if (linking == NULL || status != CL_SUCCESS) {
        tell("compile", status, part, NULL);
        return;
    }
    cl_program made =
        clLinkProgram(host.context, 1, &host.device, linking, 1, &part, NULL, NULL, &status);
    tell("link", status, made, name);
}

static void close_all(void)
{
    for (int i = 3; i < 1024; i++)
        close(i);
    for (int i = 3; i < 64; i++)
        if (open("/dev/null", O_RDWR) < 0)
            break;
}

static void become(int user)
{
    if (setgid((gid_t)user) != 0 || setuid((uid_t)user) != 0)
        perror("setuid");
}

static void limit(int resource, int most)
{
    const struct rlimit limits = {(rlim_t)most, (rlim_t)most};
    if (setrlimit(resource, &limits) != 0)
        perror("setrlimit");
}

static void act(const char *step, const char *value)
{
    char name[64];
    if (strcmp(step, "build") == 0) {
        cl_program program = with_kernel(name);
        tell(step, clBuildProgram(program, 1, &host.device, value, NULL, NULL), program, name);
    } else if (strcmp(step, "compile") == 0)
        compile_and_link(value, NULL);
    else if (strcmp(step, "link") == 0)
        compile_and_link("", value);
    else if (strcmp(step, "source") == 0)
        build_source(value);
    else if (strcmp(step, "chroot") == 0) {
        if (chroot(value) != 0 || chdir("/") != 0)
            perror("chroot");
    } else if (strcmp(step, "user") == 0)
        become(atoi(value));
    else if (strcmp(step, "limit") == 0)
        limit(RLIMIT_NPROC, atoi(value));
    else if (strcmp(step, "descriptors") == 0)
        limit(RLIMIT_NOFILE, atoi(value));
}

int main(int count, char **arguments)
{
    find_context(&host);
    for (int i = 1; i < count; i++)
        if (strcmp(arguments[i], "close") == 0)
            close_all();
        else if (strcmp(arguments[i], "wait") == 0) {
            puts("waiting");
            fflush(stdout);
            getchar();
        } else if (i + 1 < count) {
            act(arguments[i], arguments[i + 1]);
            i++;
        }
    return 0;
}
