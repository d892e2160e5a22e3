/* SPDX-License-Identifier: Apache-2.0
 *
 * A host that looks around: which children, signals and engines it has, once a kernel has run, and
 * where kernels' output goes. After "ready" it waits for a line. */
#include "host.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

static const char source[] = "kernel void print(int number) { printf(\"kernel %d\\n\", number); }"
                             "kernel void nothing(void) {}";
static volatile sig_atomic_t signals;

static void count(int number)
{
    (void)number;
    signals++;
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
    set_argument(kernel, 0, sizeof number, &number);
    launch(queue, kernel, 1, NULL);
    MUST(clFinish(queue));
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
    struct host host;
    char line[16];
    signal(SIGCHLD, count);
    start(&host, source);
    cl_kernel print = new_kernel(&host, "print");
    launch(host.queue, new_kernel(&host, "nothing"), 1, NULL);
    MUST(clFinish(host.queue));
    say("ready");
    if (fgets(line, sizeof line, stdin) == NULL)
        return 1;
    printf("children %d\n", waitpid(-1, NULL, WNOHANG) != -1 || errno != ECHILD);
    printf("signals %d\n", (int)signals);
    printf("engines %d\n", engines());
    say("before");
    print_from_kernel(host.queue, print, 1);
    say("between");
    print_from_kernel(host.queue, print, 2);
    say("after");
    print_to_file(host.queue, print);
    return 0;
}
