/* SPDX-License-Identifier: Apache-2.0
 *
 * A host whose engine (failing_engine.c) fails at each call once: every_engine_call PART STATUS
 * FIRST STEP. The part is run with the call FIRST failing with STATUS, then with none, and so on
 * for each STEP calls one, until it makes no more. What it has to find: calls and events end with a
 * status; data is right, or something was told; the run after it is right; and the engine has no
 * object then that it did not have before. Prints the functions that failed, and what is wrong.
 *
 * The part "start" is about the calls with which the driver opens its engine, in a new process for
 * each that fails. If there is no engine then, the next commands need none. */
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include "failing_engine.h"

#include "../../conformance/c/host.h"
#include <CL/cl_ext.h>
#include <sys/wait.h>

enum { ITEMS = 512, ROW = 5, ROWS = 4, PATIENCE = 20000, QUEUES_OF_THREADS = 16 };
enum { BYTES = ITEMS * sizeof(cl_int) };

static struct calls *calls;
static cl_device_id device;
static cl_context context;
static cl_command_queue queue;
static cl_program adding; /* built while nothing fails */
static bool was_told;
static cl_int told; /* the first status */
static bool is_right;
static clSharedMemAllocINTEL_fn new_shared;
static clMemFreeINTEL_fn free_shared;
static clSetKernelArgMemPointerINTEL_fn set_pointer;

/* Whether a call has succeeded; that it has not was told to the host. */
static bool did(cl_int status)
{
    if (status != CL_SUCCESS && told == CL_SUCCESS)
        told = status;
    was_told = was_told || status != CL_SUCCESS;
    return status == CL_SUCCESS;
}

static void CL_CALLBACK tell(const char *words, const void *data, size_t size, void *unused)
{
    was_told = true;
}

/* How a command ended that has been waited for, and was released then. */
static void ended(cl_event event)
{
    cl_int status = CL_QUEUED;
    if (event == NULL)
        return;
    did(clWaitForEvents(1, &event));
    MUST(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL));
    must_be(status <= CL_COMPLETE, "a command has ended once it was waited for");
    did(status);
    MUST(clReleaseEvent(event));
}

static void expect(bool fact)
{
    is_right = is_right && fact;
}

static cl_program built(const char *source, const char *options)
{
    cl_int status;
    cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &status);
    did(status);
    did(clBuildProgram(program, 1, &device, options, NULL, NULL));
    return program;
}

static cl_kernel kernel_of(cl_program program, const char *name)
{
    cl_int status;
    cl_kernel kernel = clCreateKernel(program, name, &status);
    did(status);
    return kernel;
}

static cl_mem buffer_of(const void *data, size_t size)
{
    cl_int status;
    cl_mem_flags flags = data != NULL ? CL_MEM_COPY_HOST_PTR : 0;
    cl_mem buffer = clCreateBuffer(context, flags, size, (void *)data, &status);
    did(status);
    return buffer;
}

/* No kernel gets a buffer that could not be made: it would follow NULL. */
static void buffer_argument(cl_kernel kernel, cl_uint index, cl_mem buffer)
{
    if (buffer != NULL)
        did(clSetKernelArg(kernel, index, sizeof buffer, &buffer));
}

static void argument(cl_kernel kernel, cl_uint index, size_t size, const void *value)
{
    did(clSetKernelArg(kernel, index, size, value));
}

static void launched(cl_kernel kernel, size_t items, cl_event *event)
{
    did(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, NULL, 0, NULL, event));
}

static void get(cl_mem buffer, size_t size, void *to)
{
    did(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, size, to, 0, NULL, NULL));
}

/* Releases what was made. */
static void let_go(cl_program program, cl_kernel kernel, cl_mem buffer)
{
    if (kernel != NULL)
        MUST(clReleaseKernel(kernel));
    if (program != NULL)
        MUST(clReleaseProgram(program));
    if (buffer != NULL)
        MUST(clReleaseMemObject(buffer));
}

static const char add[] = "kernel void add(global int *x, int n)"
                          "{ x[get_global_id(0)] += n; }";

/* Every kind of command, each waited for. */
static void commands(void)
{
    cl_int found[ITEMS], seven = 7, status;
    cl_event event = NULL;
    for (int i = 0; i < ITEMS; i++)
        found[i] = i;
    cl_program program = built(add, "");
    cl_kernel kernel = kernel_of(program, "add");
    cl_mem buffer = buffer_of(found, BYTES), other = buffer_of(NULL, BYTES);
    const cl_buffer_region half = {BYTES / 2, BYTES / 2};
    cl_mem part =
        clCreateSubBuffer(other, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &half, &status);
    did(status);
    buffer_argument(kernel, 0, buffer);
    argument(kernel, 1, sizeof seven, &seven);
    launched(kernel, ITEMS, &event); /* x = i + 7 */
    ended(event);
    did(clEnqueueCopyBuffer(queue, buffer, other, 0, 0, BYTES, 0, NULL, NULL));
    buffer_argument(kernel, 0, part);
    launched(kernel, ITEMS / 2, NULL); /* the other's second half: i + 14 */
    did(clFinish(queue));
    did(clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 0, sizeof seven, &seven, 0, NULL, NULL));
    did(clEnqueueFillBuffer(queue, buffer, &seven, sizeof seven, 4, 8, 0, NULL, NULL));
    cl_int *mapped = clEnqueueMapBuffer(queue, buffer, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0,
                                        BYTES, 0, NULL, NULL, &status);
    if (did(status)) {
        mapped[3] = 7;
        did(clEnqueueUnmapMemObject(queue, buffer, mapped, 0, NULL, NULL));
    }
    buffer_argument(kernel, 0, buffer);
    launched(kernel, ITEMS, NULL);
    get(buffer, BYTES, found);
    for (int i = 0; i < ITEMS; i++)
        expect(found[i] == (i < 4 ? 14 : i + 14));
    get(other, BYTES, found);
    for (int i = 0; i < ITEMS; i++)
        expect(found[i] == (i < ITEMS / 2 ? i + 7 : i + 14));
    let_go(NULL, NULL, part);
    let_go(NULL, NULL, other);
    let_go(program, kernel, buffer);
}

/* What needs no engine. */
static void transfers(void)
{
    cl_int given[ITEMS], found[ITEMS] = {0};
    for (int i = 0; i < ITEMS; i++)
        given[i] = i;
    cl_mem buffer = buffer_of(given, BYTES), other = buffer_of(NULL, BYTES);
    did(clEnqueueCopyBuffer(queue, buffer, other, 0, 0, BYTES, 0, NULL, NULL));
    get(other, BYTES, found);
    expect(memcmp(found, given, BYTES) == 0);
    let_go(NULL, NULL, buffer);
    let_go(NULL, NULL, other);
}

/* Launches behind each other, which run without the interpreter. */
static void rows(void)
{
    cl_int zeros[ITEMS] = {0}, found[ITEMS], one = 1, sum = 0;
    cl_kernel kernel = kernel_of(adding, "add");
    cl_mem buffer = buffer_of(zeros, BYTES);
    buffer_argument(kernel, 0, buffer);
    argument(kernel, 1, sizeof one, &one);
    for (int row = 0; row < ROWS; row++) {
        cl_event events[ROW] = {NULL};
        int length = row % 4 < 2 ? 1 : ROW;
        for (int i = 0; i < length; i++)
            launched(kernel, ITEMS, row % 2 == 1 ? &events[i] : NULL);
        did(clFinish(queue));
        for (int i = 0; i < length; i++)
            ended(events[i]);
        sum += length;
        get(buffer, BYTES, found);
        for (int i = 0; i < ITEMS; i++)
            expect(found[i] == sum);
    }
    let_go(NULL, kernel, buffer);
}

/* Memory that kernels reach by pointers. */
static void pointers(void)
{
    cl_int status, five = 5;
    cl_kernel kernel = kernel_of(adding, "add");
    cl_int *shared = new_shared(context, device, NULL, BYTES, 0, &status);
    if (did(status)) {
        did(set_pointer(kernel, 0, shared));
        argument(kernel, 1, sizeof five, &five);
        for (int i = 0; i < ITEMS; i++)
            shared[i] = i;
        launched(kernel, ITEMS, NULL);
        did(clFinish(queue));
        for (int i = 0; i < ITEMS; i++)
            expect(shared[i] == i + 5);
        must(free_shared(context, shared), "clMemFreeINTEL");
    }
    let_go(NULL, kernel, NULL);
}

static const char with_header[] = "#include \"five.h\"\n"
                                  "kernel void put(global int *x)"
                                  "{ x[get_global_id(0)] = five() + AGAIN; }";

/* Compiling, linking, and programs made of binaries. */
static void steps(void)
{
    const char *sources[] = {with_header, "int five(void) { return 5; }"};
    const char *header = "int five(void);", *name = "five.h";
    cl_int found[ITEMS] = {0}, status;
    cl_program parts[2];
    cl_program included = clCreateProgramWithSource(context, 1, &header, NULL, &status);
    did(status);
    for (int i = 0; i < 2; i++) {
        parts[i] = clCreateProgramWithSource(context, 1, &sources[i], NULL, &status);
        did(status);
        did(clCompileProgram(parts[i], 1, &device, "-DAGAIN=1", 1, &included, &name, NULL, NULL));
    }
    cl_program linked = clLinkProgram(context, 1, &device, "", 2, parts, NULL, NULL, &status);
    did(status);
    size_t size = 0;
    unsigned char *binary = NULL;
    if (did(clGetProgramInfo(linked, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, NULL))) {
        binary = malloc(size);
        did(clGetProgramInfo(linked, CL_PROGRAM_BINARIES, sizeof binary, &binary, NULL));
    }
    const unsigned char *given = binary;
    cl_program loaded =
        clCreateProgramWithBinary(context, 1, &device, &size, &given, NULL, &status);
    did(status);
    did(clBuildProgram(loaded, 1, &device, "", NULL, NULL));
    free(binary);
    cl_kernel kernel = kernel_of(loaded, "put");
    cl_mem buffer = buffer_of(NULL, BYTES);
    buffer_argument(kernel, 0, buffer);
    launched(kernel, ITEMS, NULL);
    get(buffer, BYTES, found);
    for (int i = 0; i < ITEMS; i++)
        expect(found[i] == 6);
    let_go(loaded, kernel, buffer);
    cl_program others[] = {linked, parts[0], parts[1], included};
    for (int i = 0; i < 4; i++)
        let_go(others[i], NULL, NULL);
}

static const char asked[] =
    "kernel __attribute__((reqd_work_group_size(4, 1, 1)))"
    "void ask(global int *x, local int *y, float z, constant int *w)"
    "{ local int own[4]; own[0] = y[0]; x[get_global_id(0)] = w[0] + own[0] + z; }";

/* What hosts ask about programs and kernels. */
static void queries(void)
{
    char words[256];
    size_t sizes[3] = {0, 0, 0};
    cl_ulong bytes = 0;
    cl_uint number = 0;
    cl_program program = built(asked, "-cl-kernel-arg-info");
    cl_kernel kernel = kernel_of(program, "ask");
    did(clGetProgramInfo(program, CL_PROGRAM_KERNEL_NAMES, sizeof words, words, NULL));
    did(clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_OPTIONS, sizeof words, words,
                              NULL));
    expect(strcmp(words, "-cl-kernel-arg-info") == 0);
    did(clGetKernelInfo(kernel, CL_KERNEL_NUM_ARGS, sizeof number, &number, NULL));
    expect(number == 4);
    for (cl_uint i = 0; i < 4; i++)
        did(clGetKernelArgInfo(kernel, i, CL_KERNEL_ARG_TYPE_NAME, sizeof words, words, NULL));
    expect(strcmp(words, "int*") == 0);
    did(clGetKernelWorkGroupInfo(kernel, device, CL_KERNEL_COMPILE_WORK_GROUP_SIZE, sizeof sizes,
                                 sizes, NULL));
    expect(sizes[0] == 4);
    did(clGetKernelWorkGroupInfo(kernel, device, CL_KERNEL_LOCAL_MEM_SIZE, sizeof bytes, &bytes,
                                 NULL));
    did(clGetKernelWorkGroupInfo(kernel, device, CL_KERNEL_WORK_GROUP_SIZE, sizeof sizes[0], sizes,
                                 NULL));
    did(clSetKernelArg(kernel, 2, sizeof(float), words));
    let_go(program, kernel, NULL);
}

static const char talking[] =
    "#pragma OPENCL EXTENSION cl_intel_channels : enable\n"
    "channel int c __attribute__((depth(4)));\n"
    "kernel void give(int n) { for (int i = 0; i < n; i++) write_channel_intel(c, i); }\n"
    "kernel void take(global int *x, int n)"
    "{ for (int i = 0; i < n; i++) x[i] = read_channel_intel(c); }\n";

/* Kernels that talk to each other. The second begins behind the first, and fails with it. */
static void channels(void)
{
    cl_int found[ITEMS] = {0}, status, count = ITEMS;
    cl_program program = built(talking, "");
    cl_kernel give = kernel_of(program, "give"), take = kernel_of(program, "take");
    cl_command_queue other = clCreateCommandQueue(context, device, 0, &status);
    did(status);
    cl_mem buffer = buffer_of(found, BYTES);
    cl_event given = NULL;
    const size_t one = 1;
    argument(give, 0, sizeof count, &count);
    buffer_argument(take, 0, buffer);
    argument(take, 1, sizeof count, &count);
    if (did(clEnqueueNDRangeKernel(queue, give, 1, NULL, &one, &one, 0, NULL, &given)))
        did(clEnqueueNDRangeKernel(other, take, 1, NULL, &one, &one, 1, &given, NULL));
    did(clFinish(queue));
    did(clFinish(other));
    ended(given);
    get(buffer, BYTES, found);
    for (int i = 0; i < ITEMS; i++)
        expect(found[i] == i);
    if (other != NULL)
        MUST(clReleaseCommandQueue(other));
    let_go(NULL, give, NULL);
    let_go(program, take, buffer);
}

static const struct {
    const char *name;
    void (*act)(void);
} parts[] = {{"commands", commands}, {"rows", rows},       {"pointers", pointers},
             {"steps", steps},       {"queries", queries}, {"channels", channels}};

static void run(void (*act)(void))
{
    cl_int status;
    was_told = false;
    told = CL_SUCCESS;
    is_right = true;
    queue = clCreateCommandQueue(context, device, 0, &status);
    must(status, "clCreateCommandQueue");
    act();
    did(clFinish(queue));
    MUST(clReleaseCommandQueue(queue));
}

/* Each thread of the driver has a queue of the engine; when there is one more is a matter of
 * chance. */
static bool has_more_of(int kind, const int *before)
{
    return atomic_load(&calls->live[kind]) > (kind == QUEUES ? QUEUES_OF_THREADS : before[kind]);
}

static bool has_more(const int *before)
{
    for (int kind = 0; kind < KINDS; kind++)
        if (has_more_of(kind, before))
            return true;
    return false;
}

/* Whether the engine has an object more, once threads of the driver have released theirs. */
static bool leaves(const int *before)
{
    for (int look = 0; look < PATIENCE && has_more(before); look++)
        usleep(100);
    return has_more(before);
}

static int wrong(unsigned number, const char *what)
{
    printf("call %u, %s: %s (data right: %d, first status: %d)\n", number, calls->name, what,
           is_right, told);
    return 1;
}

static int left_over(unsigned number, const int *before)
{
    static const char *names[] = {"contexts", "queues", "buffers", "programs", "kernels", "events"};
    for (int kind = 0; kind < KINDS; kind++)
        if (has_more_of(kind, before))
            printf("%s: %d, not %d; ", names[kind], atomic_load(&calls->live[kind]), before[kind]);
    return wrong(number, "something is left over");
}

static void open_driver(void)
{
    cl_int status;
    struct host host;
    find_device(&host);
    device = host.device;
    context = clCreateContext(NULL, 1, &device, tell, NULL, &status);
    must(status, "clCreateContext");
    void *found[] = {
        clGetExtensionFunctionAddressForPlatform(host.platform, "clSharedMemAllocINTEL"),
        clGetExtensionFunctionAddressForPlatform(host.platform, "clMemFreeINTEL"),
        clGetExtensionFunctionAddressForPlatform(host.platform, "clSetKernelArgMemPointerINTEL")};
    memcpy(&new_shared, &found[0], sizeof new_shared);
    memcpy(&free_shared, &found[1], sizeof free_shared);
    memcpy(&set_pointer, &found[2], sizeof set_pointer);
}

/* Gives 0 when the engine has been opened before that call, else 1, or 2 if something is wrong. */
static int start_with(unsigned number)
{
    atomic_store(&calls->made, 0);
    atomic_store(&calls->failing, number);
    open_driver();
    size_t group; /* the engine's answer, or a default */
    MUST(clGetDeviceInfo(device, CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof group, &group, NULL));
    if (calls->name[0] == '\0')
        return 0;
    run(commands);
    atomic_store(&calls->failing, 0);
    if (!is_right && !was_told)
        return 1 + wrong(number, "data is wrong, and nothing was told");
    run(transfers);
    if (!is_right || was_told)
        return 1 + wrong(number, "the next commands are not right");
    printf("%s\n", calls->name);
    return 1;
}

static int sweep_starts(unsigned first, unsigned each)
{
    for (unsigned number = first;; number += each) {
        int status;
        calls->name[0] = '\0';
        pid_t child = fork();
        if (child == 0)
            exit(start_with(number));
        must_be(waitpid(child, &status, 0) == child, "there is a child");
        must_be(WIFEXITED(status), "a host ends by itself");
        if (WEXITSTATUS(status) != 1)
            return WEXITSTATUS(status);
    }
}

static int sweep(void (*act)(void), unsigned first, unsigned each)
{
    int before[KINDS], wrongs = 0;
    open_driver();
    adding = built(add, "");
    for (int i = 0; i < 3; i++) {
        run(act);
        must_be(is_right && !was_told, "the part is right where nothing fails");
    }
    for (unsigned number = first;; number += each) {
        for (int kind = 0; kind < KINDS; kind++)
            before[kind] = atomic_load(&calls->live[kind]);
        calls->name[0] = '\0';
        atomic_store(&calls->failing, atomic_load(&calls->made) + number);
        run(act);
        atomic_store(&calls->failing, 0);
        if (calls->name[0] == '\0')
            return wrongs;
        if (!is_right && !was_told)
            wrongs += wrong(number, "data is wrong, and nothing was told");
        run(act);
        if (!is_right || was_told)
            wrongs += wrong(number, "the next run is not right");
        if (leaves(before))
            wrongs += left_over(number, before);
        printf("%s\n", calls->name);
    }
}

int main(int count, char **words)
{
    if (count < 5)
        return 2;
    unsigned first = (unsigned)atoi(words[3]), each = (unsigned)atoi(words[4]);
    setlinebuf(stdout);
    calls = shared_calls();
    memset(calls, 0, sizeof *calls);
    calls->status = atoi(words[2]);
    if (strcmp(words[1], "start") == 0)
        return sweep_starts(first, each);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (strcmp(words[1], parts[i].name) == 0)
            return sweep(parts[i].act, first, each) != 0;
    return 2;
}
