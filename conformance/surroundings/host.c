/* SPDX-License-Identifier: Apache-2.0
 *
 * An ordinary host in surroundings that are not: the first word says which, and where they begin.
 * Exit status: 0 the numbers are right, 1 they are wrong, 3 a call was refused (call and status go
 * to standard error), 4 the surroundings cannot be made here. */
#define _GNU_SOURCE
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <locale.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { COUNT = 4096, RIGHT = 0, WRONG = 1, REFUSED = 3, IMPOSSIBLE = 4, FIRST_FREE = 3 };

static void refused(const char *call, cl_int status)
{
    fprintf(stderr, "%s: %d\n", call, status);
    exit(REFUSED);
}

static void must(cl_int status, const char *call)
{
    if (status != CL_SUCCESS)
        refused(call, status);
}

static void impossible(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, strerror(errno));
    exit(IMPOSSIBLE);
}

/* The work */

struct work {
    cl_context context;
    cl_device_id device;
    cl_command_queue queue;
    cl_program program;
};

static void find(struct work *work)
{
    cl_platform_id platform;
    cl_int status;
    must(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
    must(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &work->device, NULL), "clGetDeviceIDs");
    work->context = clCreateContext(NULL, 1, &work->device, NULL, NULL, &status);
    must(status, "clCreateContext");
    work->queue = clCreateCommandQueueWithProperties(work->context, work->device, NULL, &status);
    must(status, "clCreateCommandQueueWithProperties");
}

/* Makes a text that no cache has. */
static int seed;

static void build(struct work *work)
{
    char source[256];
    const char *text = source;
    cl_int status;
    snprintf(
        source, sizeof source,
        "kernel void add(global const int *a, global int *b) { size_t i = get_global_id(0); b[i] "
        "= a[i] + %d; }",
        seed);
    work->program = clCreateProgramWithSource(work->context, 1, &text, NULL, &status);
    must(status, "clCreateProgramWithSource");
    must(clBuildProgram(work->program, 1, &work->device, "", NULL, NULL), "clBuildProgram");
}

static void run(struct work *work)
{
    static int numbers[COUNT], results[COUNT];
    const size_t size = COUNT;
    cl_int status;
    for (int i = 0; i < COUNT; i++)
        numbers[i] = i * 3;
    cl_mem from = clCreateBuffer(work->context, CL_MEM_READ_ONLY, sizeof numbers, NULL, &status);
    must(status, "clCreateBuffer");
    cl_mem to = clCreateBuffer(work->context, CL_MEM_WRITE_ONLY, sizeof results, NULL, &status);
    must(status, "clCreateBuffer");
    cl_kernel kernel = clCreateKernel(work->program, "add", &status);
    must(status, "clCreateKernel");
    must(clSetKernelArg(kernel, 0, sizeof from, &from), "clSetKernelArg");
    must(clSetKernelArg(kernel, 1, sizeof to, &to), "clSetKernelArg");
    must(clEnqueueWriteBuffer(work->queue, from, CL_FALSE, 0, sizeof numbers, numbers, 0, NULL,
                              NULL),
         "clEnqueueWriteBuffer");
    must(clEnqueueNDRangeKernel(work->queue, kernel, 1, NULL, &size, NULL, 0, NULL, NULL),
         "clEnqueueNDRangeKernel");
    must(clEnqueueReadBuffer(work->queue, to, CL_TRUE, 0, sizeof results, results, 0, NULL, NULL),
         "clEnqueueReadBuffer");
    for (int i = 0; i < COUNT; i++)
        if (results[i] != numbers[i] + seed)
            exit(WRONG);
    must(clReleaseKernel(kernel), "clReleaseKernel");
    must(clReleaseMemObject(from), "clReleaseMemObject");
    must(clReleaseMemObject(to), "clReleaseMemObject");
}

static void finish(struct work *work)
{
    must(clReleaseProgram(work->program), "clReleaseProgram");
    must(clReleaseCommandQueue(work->queue), "clReleaseCommandQueue");
    must(clReleaseContext(work->context), "clReleaseContext");
}

/* The surroundings */

static void limit(int resource, rlim_t most)
{
    struct rlimit set = {most, most};
    if (setrlimit((__rlimit_resource_t)resource, &set) != 0)
        impossible("setrlimit");
}

static int open_files(void)
{
    DIR *folder = opendir("/proc/self/fd");
    int last = 0;
    if (folder == NULL)
        impossible("/proc/self/fd");
    for (struct dirent *each; (each = readdir(folder)) != NULL;)
        if (atoi(each->d_name) > last && atoi(each->d_name) != dirfd(folder))
            last = atoi(each->d_name);
    closedir(folder);
    return last + 1;
}

/* So many files more than are open now. */
static void few_files(const char *more)
{
    limit(RLIMIT_NOFILE, (rlim_t)(open_files() + atoi(more)));
}

static void little_memory(const char *mebibytes)
{
    limit(RLIMIT_AS, (rlim_t)atoi(mebibytes) << 20);
}

static void few_threads(const char *count)
{
    limit(RLIMIT_NPROC, (rlim_t)atoi(count));
}

static void no_files_larger_than_nothing(const char *word)
{
    (void)word;
    signal(SIGXFSZ, SIG_IGN);
    limit(RLIMIT_FSIZE, 0);
}

static void close_standard(const char *word)
{
    (void)word;
    close(0);
    close(1);
    close(2);
}

/* As daemons do; those of the driver, too. */
static void close_all_others(const char *word)
{
    (void)word;
    for (int file = FIRST_FREE; file < 1024; file++)
        close(file);
}

/* The calls of the kernel that these numbers stand for fail with this error. */
static void forbid(const int *calls, size_t count, int error)
{
    struct sock_filter filter[2 * 16 + 3] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    };
    unsigned short length = 1;
    for (size_t i = 0; i < count; i++) {
        filter[length++] =
            (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)calls[i], 0, 1);
        filter[length++] =
            (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)error);
    }
    filter[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {length, filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        impossible("seccomp");
}

static void forbid_named(const char *word)
{
    static const int memfd[] = {SYS_memfd_create};
    static const int lock[] = {SYS_mlock, SYS_mlock2, SYS_mlockall};
    static const int new_clone[] = {SYS_clone3};
    static const int threads[] = {SYS_clone3, SYS_clone};
    static const int priorities[] = {SYS_sched_setaffinity, SYS_sched_getaffinity,
                                     SYS_sched_setscheduler};
    static const int processes[] = {SYS_execve, SYS_execveat, SYS_vfork};
    if (strcmp(word, "memfd") == 0)
        forbid(memfd, 1, EPERM);
    else if (strcmp(word, "mlock") == 0)
        forbid(lock, 3, EPERM);
    else if (strcmp(word, "clone3") == 0)
        forbid(new_clone, 1, ENOSYS);
    else if (strcmp(word, "threads") == 0)
        forbid(threads, 2, EAGAIN);
    else if (strcmp(word, "affinity") == 0)
        forbid(priorities, 3, EPERM);
    else
        forbid(processes, 3, EPERM);
}

static volatile bool changing = true;

static void *change_environment(void *unused)
{
    char name[32];
    for (unsigned round = 0; changing; round++) {
        snprintf(name, sizeof name, "CHANGING_%u", round % 300);
        setenv(name, "value", 1);
        if (round % 3 == 0)
            unsetenv(name);
        if (round % 1000 == 0)
            usleep(100);
    }
    return unused;
}

static void *change_locale(void *unused)
{
    static const char *const names[] = {"C", "C.UTF-8", "de_DE.UTF-8", "tr_TR.UTF-8", "POSIX"};
    for (unsigned round = 0; changing; round++) {
        setlocale(LC_ALL, names[round % 5]);
        usleep(50);
    }
    return unused;
}

static void start(void *(*work)(void *))
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, work, NULL) != 0)
        impossible("pthread_create");
    pthread_detach(thread);
}

static void changing_environment(const char *word)
{
    (void)word;
    start(change_environment);
}

static void changing_locale(const char *word)
{
    (void)word;
    start(change_locale);
}

static void no_environment(const char *word)
{
    (void)word;
    clearenv();
}

static void no_folder(const char *word)
{
    char name[] = "/tmp/surroundings-XXXXXX";
    (void)word;
    if (mkdtemp(name) == NULL || chdir(name) != 0 || rmdir(name) != 0)
        impossible("a folder that goes away");
}

static void restrictive_umask(const char *word)
{
    (void)word;
    umask(0777);
}

/* The parent ends with the child's status, so that it is seen. */
static void go_on_in_child(void)
{
    int status = 0;
    fflush(NULL);
    pid_t child = fork();
    if (child < 0)
        impossible("fork");
    if (child == 0)
        return;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    if (WIFSIGNALED(status))
        raise(WTERMSIG(status));
    _exit(WEXITSTATUS(status));
}

static void daemonize(const char *word)
{
    go_on_in_child();
    if (setsid() < 0 || chdir("/") != 0)
        impossible("setsid");
    go_on_in_child();
    umask(0);
    int nothing = open("/dev/null", O_RDWR);
    for (int file = 0; file < FIRST_FREE; file++)
        dup2(nothing, file);
    close_all_others(word);
}

static void fork_here(const char *word)
{
    (void)word;
    go_on_in_child();
}

/* An interpreter of the host's own, from the library that the word names. */
static void embed_python(const char *library)
{
    void *python = dlopen(library, RTLD_NOW | RTLD_GLOBAL);
    if (python == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        exit(IMPOSSIBLE);
    }
    void (*initialize)(int);
    int (*run_text)(const char *, void *);
    void *(*save)(void);
    *(void **)&initialize = dlsym(python, "Py_InitializeEx");
    *(void **)&run_text = dlsym(python, "PyRun_SimpleStringFlags");
    *(void **)&save = dlsym(python, "PyEval_SaveThread");
    if (initialize == NULL || run_text == NULL || save == NULL)
        exit(IMPOSSIBLE);
    initialize(0);
    if (run_text("import sys, threading, json", NULL) != 0)
        exit(IMPOSSIBLE);
    save();
}

static void *deep(void *work)
{
    find(work);
    build(work);
    run(work);
    finish(work);
    return NULL;
}

static void on_a_small_stack(const char *kibibytes)
{
    static struct work work;
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    if (pthread_attr_setstacksize(&attributes, (size_t)atoi(kibibytes) << 10) != 0)
        impossible("pthread_attr_setstacksize");
    if (pthread_create(&thread, &attributes, deep, &work) != 0)
        impossible("pthread_create");
    pthread_join(thread, NULL);
    exit(RIGHT);
}

static void nothing(const char *word)
{
    (void)word;
}

static const struct {
    const char *name;
    void (*begin)(const char *);
} SURROUNDINGS[] = {
    {"nothing", nothing},
    {"standard", close_standard},
    {"files", close_all_others},
    {"few-files", few_files},
    {"memory", little_memory},
    {"threads", few_threads},
    {"no-writing", no_files_larger_than_nothing},
    {"seccomp", forbid_named},
    {"environment", changing_environment},
    {"locale", changing_locale},
    {"no-environment", no_environment},
    {"no-folder", no_folder},
    {"umask", restrictive_umask},
    {"daemon", daemonize},
    {"fork", fork_here},
    {"python", embed_python},
    {"stack", on_a_small_stack},
};

static void begin(const char *name, const char *word)
{
    for (size_t i = 0; i < sizeof SURROUNDINGS / sizeof *SURROUNDINGS; i++)
        if (strcmp(SURROUNDINGS[i].name, name) == 0) {
            SURROUNDINGS[i].begin(word);
            return;
        }
    fprintf(stderr, "there are no surroundings %s\n", name);
    exit(IMPOSSIBLE);
}

/* `host NAME first|found|built|ran [WORD]`: before the first call, or behind the step. */
int main(int count, char **words)
{
    struct work work;
    const char *name = count > 1 ? words[1] : "nothing", *when = count > 2 ? words[2] : "first";
    const char *word = count > 3 ? words[3] : "";
    seed = (int)getpid();
    if (strcmp(when, "first") == 0)
        begin(name, word);
    find(&work);
    if (strcmp(when, "found") == 0)
        begin(name, word);
    build(&work);
    if (strcmp(when, "built") == 0)
        begin(name, word);
    run(&work);
    if (strcmp(when, "ran") == 0) {
        begin(name, word);
        build(&work);
        run(&work);
    }
    run(&work);
    finish(&work);
    changing = false;
    return RIGHT;
}
