/* SPDX-License-Identifier: Apache-2.0
 *
 * Walks every function of the OpenCL 3.0 API with input that is wrong: handles that are NULL,
 * garbage, freed or of another type in each parameter, sizes and offsets that do not fit, wait
 * lists that do not hold, objects that are not ready. Each wrong call must answer what the
 * specification allows, and the next right call must work.
 *
 *     bad_input DRIVER.so [--no-garbage] [--threads N] [--repeat N]
 *               [--skip PATTERN]... [--list | --list-functions] [PATTERN]...
 *
 * It opens the driver itself, because a loader reads through the handle that it is given. PATTERNs
 * are those of fnmatch(3) and select cases by name. --no-garbage leaves out what only a driver that
 * checks each handle before reading through it can survive. */
#define _GNU_SOURCE
#include "bad_input.h"

#include <dlfcn.h>
#include <fnmatch.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define NULL_RETURNED (-9999)
#define ERRCODE_NOT_WRITTEN (-9998)
#define MAX_PATTERNS 256
#define MAX_THREADS 64

typedef uint64_t word;
/* Every parameter of the API is an integer or a pointer, so one type of function can call them all.
 */
typedef word (*entry_point)(word, word, word, word, word, word, word, word, word, word, word, word,
                            word, word, word, word);

static const cl_int code_of_type[TYPES] = {
    CL_INVALID_PLATFORM,      CL_INVALID_DEVICE,     CL_INVALID_CONTEXT,
    CL_INVALID_COMMAND_QUEUE, CL_INVALID_MEM_OBJECT, CL_INVALID_PROGRAM,
    CL_INVALID_KERNEL,        CL_INVALID_EVENT,      CL_INVALID_SAMPLER};
static const char *const name_of_type[TYPES] = {"platform", "device", "context", "queue",  "buffer",
                                                "program",  "kernel", "event",   "sampler"};

static const struct _cl_icd_dispatch *api;
static entry_point *entries;
static cl_platform_id the_platform;
static cl_device_id the_device;
static bool has_images, has_svm, with_garbage = true;
static cl_ulong largest_buffer;
static size_t largest_group;
static const char *patterns[MAX_PATTERNS], *skips[MAX_PATTERNS];
static int pattern_count, skip_count;
static char *unreadable;

struct world {
    int thread;
    void *objects[OBJECTS];
    cl_uint references[OBJECTS];
    unsigned char *scratch;
    unsigned char *svm;
    unsigned char *binary;
    size_t binary_size;
    cl_context_properties properties[3];
    size_t large_group[3];
    void *native_location;
    unsigned char *host_memory;
    char current[256];
    long passed, failed, skipped;
};

/* What one call needs while it runs. */
struct frame {
    word values[MAX_ARGUMENTS];
    void *lists[MAX_ARGUMENTS][2];
    word outs[MAX_ARGUMENTS];
    cl_context_properties properties[3];
    cl_int errcode;
    int errcode_at; /* -1: the function has none */
    int event_out;  /* -1: none */
    void *fresh;
    enum what fresh_kind;
    bool retained;
    word result;
};

static struct world *worlds[MAX_THREADS];
static int world_count;
static bool only_list;
static pthread_mutex_t print_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t start_line;
static atomic_int wordless_notifications;

static void die(const char *what, long status)
{
    fprintf(stderr, "bad_input: %s: %ld\n", what, status);
    exit(2);
}

static void need(cl_int status, const char *what)
{
    if (status != CL_SUCCESS)
        die(what, status);
}

/* Signal handlers: say where it happened, for nothing else will. */

static void say(const char *text)
{
    if (write(STDERR_FILENO, text, strlen(text)) < 0)
        _exit(3);
}

static void say_where(const char *what)
{
    for (int i = 0; i < world_count; i++) {
        if (worlds[i] == NULL)
            continue;
        say(what);
        say(worlds[i]->current);
        say("\n");
    }
}

static void on_crash(int number)
{
    say_where("crashed in or beside: ");
    signal(number, SIG_DFL);
    raise(number);
}

/* Callbacks that the calls register. */

static void CL_CALLBACK on_context(const char *words, const void *data, size_t size, void *user)
{
    (void)data, (void)size, (void)user;
    if (words == NULL || words[0] == '\0')
        wordless_notifications++;
}

static void CL_CALLBACK on_context_gone(cl_context context, void *user)
{
    (void)context, (void)user;
}

static void CL_CALLBACK on_mem_gone(cl_mem mem, void *user)
{
    (void)mem, (void)user;
}

static void CL_CALLBACK on_program(cl_program program, void *user)
{
    (void)program, (void)user;
}

static void CL_CALLBACK on_event(cl_event event, cl_int status, void *user)
{
    (void)event, (void)status, (void)user;
}

static void CL_CALLBACK on_native(void *arguments)
{
    (void)arguments;
}

/* Objects. */

static word address(const void *pointer)
{
    return (word)(uintptr_t)pointer;
}

static enum type type_of(int object)
{
#define OBJECT_TYPE(name, type) T_##type,
    static const enum type types[] = {EACH_OBJECT(OBJECT_TYPE)};
    return types[object];
}

#define SLOT(name) offsetof(struct _cl_icd_dispatch, name)

/* The functions that count references to objects; those of platforms are not counted. */
static const struct {
    size_t release, retain, info;
    cl_uint count;
} counting[TYPES] = {
    [T_DEVICE] = {SLOT(clReleaseDevice), SLOT(clRetainDevice)},
    [T_CONTEXT] = {SLOT(clReleaseContext), SLOT(clRetainContext), SLOT(clGetContextInfo),
                   CL_CONTEXT_REFERENCE_COUNT},
    [T_QUEUE] = {SLOT(clReleaseCommandQueue), SLOT(clRetainCommandQueue),
                 SLOT(clGetCommandQueueInfo), CL_QUEUE_REFERENCE_COUNT},
    [T_MEM] = {SLOT(clReleaseMemObject), SLOT(clRetainMemObject), SLOT(clGetMemObjectInfo),
               CL_MEM_REFERENCE_COUNT},
    [T_PROGRAM] = {SLOT(clReleaseProgram), SLOT(clRetainProgram), SLOT(clGetProgramInfo),
                   CL_PROGRAM_REFERENCE_COUNT},
    [T_KERNEL] = {SLOT(clReleaseKernel), SLOT(clRetainKernel), SLOT(clGetKernelInfo),
                  CL_KERNEL_REFERENCE_COUNT},
    [T_EVENT] = {SLOT(clReleaseEvent), SLOT(clRetainEvent), SLOT(clGetEventInfo),
                 CL_EVENT_REFERENCE_COUNT},
    [T_SAMPLER] = {SLOT(clReleaseSampler), SLOT(clRetainSampler)},
};

/* Calls what is in a slot; without one nothing fails. */
static cl_int call_slot(size_t slot, void *handle, cl_uint query, size_t size, void *value)
{
    entry_point function;
    if (slot == 0)
        return CL_SUCCESS;
    memcpy(&function, (const char *)api + slot, sizeof function);
    return (cl_int)(uint32_t)function(address(handle), query, size, address(value), 0, 0, 0, 0, 0,
                                      0, 0, 0, 0, 0, 0, 0);
}

static cl_int release(enum type type, void *handle)
{
    return call_slot(counting[type].release, handle, 0, 0, NULL);
}

static cl_int retain(enum type type, void *handle)
{
    return call_slot(counting[type].retain, handle, 0, 0, NULL);
}

static cl_uint reference_count(enum type type, void *handle)
{
    cl_uint count = 0;
    need(call_slot(counting[type].info, handle, counting[type].count, sizeof count, &count),
         "count");
    return count;
}

static cl_mem new_buffer(cl_context context, cl_mem_flags flags, void *host)
{
    cl_int status;
    cl_mem buffer = api->clCreateBuffer(context, flags, BUFFER_SIZE, host, &status);
    need(status, "clCreateBuffer");
    return buffer;
}

static cl_program new_program(cl_context context, const char *source)
{
    cl_int status;
    cl_program program = api->clCreateProgramWithSource(context, 1, &source, NULL, &status);
    need(status, "clCreateProgramWithSource");
    return program;
}

static cl_kernel new_kernel(cl_program program, const char *name)
{
    cl_int status;
    cl_kernel kernel = api->clCreateKernel(program, name, &status);
    need(status, "clCreateKernel");
    return kernel;
}

static cl_event new_user_event(cl_context context)
{
    cl_int status;
    cl_event event = api->clCreateUserEvent(context, &status);
    need(status, "clCreateUserEvent");
    return event;
}

static cl_event marker(cl_command_queue queue)
{
    cl_event event = NULL;
    need(api->clEnqueueMarkerWithWaitList(queue, 0, NULL, &event), "clEnqueueMarkerWithWaitList");
    need(api->clFinish(queue), "clFinish");
    return event;
}

static cl_context new_context(struct world *w)
{
    cl_int status;
    cl_context context =
        api->clCreateContext(w->properties, 1, &the_device, on_context, NULL, &status);
    need(status, "clCreateContext");
    return context;
}

static cl_command_queue new_queue(cl_context context, cl_queue_properties bits)
{
    cl_int status;
    cl_queue_properties properties[] = {CL_QUEUE_PROPERTIES, bits, 0};
    cl_command_queue queue =
        api->clCreateCommandQueueWithProperties(context, the_device, properties, &status);
    need(status, "clCreateCommandQueueWithProperties");
    return queue;
}

static void make_programs(struct world *w)
{
    cl_context context = w->objects[CONTEXT_], foreign = w->objects[FOREIGN_CONTEXT_];
    w->objects[PROGRAM_] = new_program(context, good_source);
    need(api->clBuildProgram(w->objects[PROGRAM_], 1, &the_device, "-cl-kernel-arg-info", NULL,
                             NULL),
         "clBuildProgram");
    w->objects[UNBUILT_PROGRAM_] = new_program(context, good_source);
    w->objects[FAILED_PROGRAM_] = new_program(context, broken_source);
    if (api->clBuildProgram(w->objects[FAILED_PROGRAM_], 1, &the_device, "", NULL, NULL) !=
        CL_BUILD_PROGRAM_FAILURE)
        die("a broken program was built", 0);
    w->objects[HEADER_PROGRAM_] = new_program(context, "#define NOTHING\n");
    w->objects[COMPILED_PROGRAM_] = new_program(context, library_source);
    need(api->clCompileProgram(w->objects[COMPILED_PROGRAM_], 1, &the_device, "", 0, NULL, NULL,
                               NULL, NULL),
         "clCompileProgram");
    w->objects[FOREIGN_PROGRAM_] = new_program(foreign, good_source);
    need(api->clBuildProgram(w->objects[FOREIGN_PROGRAM_], 1, &the_device, "", NULL, NULL),
         "clBuildProgram");
    need(api->clGetProgramInfo(w->objects[PROGRAM_], CL_PROGRAM_BINARY_SIZES, sizeof w->binary_size,
                               &w->binary_size, NULL),
         "CL_PROGRAM_BINARY_SIZES");
    w->binary = malloc(w->binary_size + 1);
    if (w->binary == NULL || w->binary_size == 0)
        die("no binary", (long)w->binary_size);
    need(api->clGetProgramInfo(w->objects[PROGRAM_], CL_PROGRAM_BINARIES, sizeof w->binary,
                               &w->binary, NULL),
         "CL_PROGRAM_BINARIES");
}

static void set_arguments(struct world *w, int kernel, int buffer)
{
    cl_int one = 1;
    need(api->clSetKernelArg(w->objects[kernel], 0, sizeof(cl_mem), &w->objects[buffer]),
         "clSetKernelArg");
    need(api->clSetKernelArg(w->objects[kernel], 1, sizeof one, &one), "clSetKernelArg");
}

static void make_world(struct world *w)
{
    cl_int status;
    w->properties[0] = CL_CONTEXT_PLATFORM;
    w->properties[1] = (cl_context_properties)the_platform;
    w->large_group[0] = largest_group + 1;
    w->large_group[1] = w->large_group[2] = 1;
    w->scratch = aligned_alloc(4096, SCRATCH_SIZE);
    w->host_memory = aligned_alloc(4096, BUFFER_SIZE);
    if (w->scratch == NULL || w->host_memory == NULL)
        die("out of memory", 0);
    memset(w->scratch, 0, SCRATCH_SIZE);
    w->native_location = w->scratch;
    w->objects[PLATFORM_] = the_platform;
    w->objects[DEVICE_] = the_device;
    cl_context context = new_context(w), foreign = new_context(w);
    w->objects[CONTEXT_] = context;
    w->objects[FOREIGN_CONTEXT_] = foreign;
    w->objects[QUEUE_] = new_queue(context, CL_QUEUE_PROFILING_ENABLE);
    w->objects[OUT_OF_ORDER_QUEUE_] = new_queue(context, 0);
    w->objects[FOREIGN_QUEUE_] = new_queue(foreign, 0);
    w->objects[BUFFER_] = new_buffer(context, CL_MEM_READ_WRITE, NULL);
    w->objects[OTHER_BUFFER_] = new_buffer(context, CL_MEM_READ_WRITE, NULL);
    w->objects[USE_HOST_BUFFER_] = new_buffer(context, CL_MEM_USE_HOST_PTR, w->host_memory);
    w->objects[HOST_WRITE_ONLY_BUFFER_] = new_buffer(context, CL_MEM_HOST_WRITE_ONLY, NULL);
    w->objects[HOST_READ_ONLY_BUFFER_] = new_buffer(context, CL_MEM_HOST_READ_ONLY, NULL);
    w->objects[HOST_NO_ACCESS_BUFFER_] = new_buffer(context, CL_MEM_HOST_NO_ACCESS, NULL);
    w->objects[KERNEL_WRITE_ONLY_BUFFER_] = new_buffer(context, CL_MEM_WRITE_ONLY, NULL);
    w->objects[KERNEL_READ_ONLY_BUFFER_] = new_buffer(context, CL_MEM_READ_ONLY, NULL);
    w->objects[FOREIGN_BUFFER_] = new_buffer(foreign, CL_MEM_READ_WRITE, NULL);
    cl_buffer_region half = {0, BUFFER_SIZE / 2};
    w->objects[SUB_BUFFER_] = api->clCreateSubBuffer(w->objects[BUFFER_], CL_MEM_READ_WRITE,
                                                     CL_BUFFER_CREATE_TYPE_REGION, &half, &status);
    need(status, "clCreateSubBuffer");
    if (has_images) {
        cl_image_format format = {CL_RGBA, CL_UNSIGNED_INT8};
        cl_image_desc description = {
            .image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 16, .image_height = 16};
        w->objects[IMAGE_] =
            api->clCreateImage(context, CL_MEM_READ_WRITE, &format, &description, NULL, &status);
        need(status, "clCreateImage");
        w->objects[SAMPLER_] =
            api->clCreateSampler(context, CL_FALSE, CL_ADDRESS_CLAMP, CL_FILTER_NEAREST, &status);
        need(status, "clCreateSampler");
    }
    if (has_svm && (w->svm = api->clSVMAlloc(context, CL_MEM_READ_WRITE, BUFFER_SIZE, 0)) == NULL)
        die("clSVMAlloc", 0);
    make_programs(w);
    w->objects[KERNEL_] = new_kernel(w->objects[PROGRAM_], "add");
    w->objects[UNSET_KERNEL_] = new_kernel(w->objects[PROGRAM_], "add");
    w->objects[HALF_SET_KERNEL_] = new_kernel(w->objects[PROGRAM_], "add");
    w->objects[LOCAL_KERNEL_] = new_kernel(w->objects[PROGRAM_], "turn");
    w->objects[FIXED_GROUP_KERNEL_] = new_kernel(w->objects[PROGRAM_], "fixed_group");
    w->objects[FOREIGN_KERNEL_] = new_kernel(w->objects[FOREIGN_PROGRAM_], "add");
    set_arguments(w, KERNEL_, BUFFER_);
    set_arguments(w, FOREIGN_KERNEL_, FOREIGN_BUFFER_);
    need(api->clSetKernelArg(w->objects[HALF_SET_KERNEL_], 0, sizeof(cl_mem), &w->objects[BUFFER_]),
         "set");
    need(api->clSetKernelArg(w->objects[FIXED_GROUP_KERNEL_], 0, sizeof(cl_mem),
                             &w->objects[BUFFER_]),
         "set");
    w->objects[EVENT_] = marker(w->objects[QUEUE_]);
    w->objects[UNPROFILED_EVENT_] = marker(w->objects[OUT_OF_ORDER_QUEUE_]);
    w->objects[FOREIGN_EVENT_] = marker(w->objects[FOREIGN_QUEUE_]);
    w->objects[USER_EVENT_] = new_user_event(context);
    w->objects[COMPLETE_USER_EVENT_] = new_user_event(context);
    w->objects[FAILED_EVENT_] = new_user_event(context);
    need(api->clSetUserEventStatus(w->objects[COMPLETE_USER_EVENT_], CL_COMPLETE),
         "clSetUserEventStatus");
    need(api->clSetUserEventStatus(w->objects[FAILED_EVENT_], CL_OUT_OF_RESOURCES),
         "clSetUserEventStatus");
    for (int i = 0; i < OBJECTS; i++)
        w->references[i] = w->objects[i] == NULL ? 0 : reference_count(type_of(i), w->objects[i]);
}

static void free_world(struct world *w)
{
    need(api->clSetUserEventStatus(w->objects[USER_EVENT_], CL_COMPLETE), "clSetUserEventStatus");
    need(api->clFinish(w->objects[QUEUE_]), "clFinish");
    if (w->svm != NULL)
        api->clSVMFree(w->objects[CONTEXT_], w->svm);
    for (int i = OBJECTS - 1; i >= 0; i--)
        if (w->objects[i] != NULL && type_of(i) > T_DEVICE)
            need(release(type_of(i), w->objects[i]), "release at the end");
    free(w->binary);
    free(w->scratch);
    free(w->host_memory);
}

/* A new object of `type`, or NULL where there is no making one. */
static void *make_object(struct world *w, enum type type)
{
    cl_int status;
    void *sampler;
    switch (type) {
    case T_CONTEXT:
        return new_context(w);
    case T_QUEUE:
        return new_queue(w->objects[CONTEXT_], 0);
    case T_MEM:
        return new_buffer(w->objects[CONTEXT_], CL_MEM_READ_WRITE, NULL);
    case T_PROGRAM:
        return new_program(w->objects[CONTEXT_], good_source);
    case T_KERNEL:
        return new_kernel(w->objects[PROGRAM_], "add");
    case T_EVENT:
        return marker(w->objects[QUEUE_]);
    case T_SAMPLER:
        if (!has_images)
            return NULL;
        sampler = api->clCreateSampler(w->objects[CONTEXT_], CL_FALSE, CL_ADDRESS_CLAMP,
                                       CL_FILTER_NEAREST, &status);
        need(status, "clCreateSampler");
        return sampler;
    default:
        return NULL;
    }
}

/* From the table to values. */

static word code_address(void (*function)(void))
{
    return (word)(uintptr_t)function;
}

static void *object_of(struct world *w, int object)
{
    return object == IMAGE_ && !has_images ? w->objects[BUFFER_] : w->objects[object];
}

static word resolve(struct world *w, struct frame *f, int i, const struct argument *a)
{
    cl_int status;
    switch (a->what) {
    case W_NOTHING:
    case W_WAIT_COUNT:
    case W_WAIT_LIST:
        return 0;
    case W_NUMBER:
        return a->number;
    case W_POINTER:
        return address(a->pointer);
    case W_OBJECT:
        return address(object_of(w, a->object));
    case W_LIST:
        f->lists[i][0] = object_of(w, a->object);
        return address(f->lists[i]);
    case W_SCRATCH:
        return address(w->scratch);
    case W_SCRATCH_FAR:
        return address(w->scratch + a->number);
    case W_OUT:
        return address(&f->outs[i]);
    case W_ERRCODE:
        f->errcode_at = i;
        f->errcode = ERRCODE_NOT_WRITTEN;
        return address(&f->errcode);
    case W_EVENT_OUT:
        f->event_out = i;
        return address(&f->outs[i]);
    case W_CONTEXT_PROPERTIES:
        memcpy(f->properties, w->properties, sizeof f->properties);
        return address(f->properties);
    case W_BINARIES:
        f->lists[i][0] = w->binary;
        return address(f->lists[i]);
    case W_BINARY_SIZES:
        return address(&w->binary_size);
    case W_FRESH_PROGRAM:
    case W_FRESH_BROKEN:
        f->fresh_kind = W_FRESH_PROGRAM;
        f->fresh = new_program(w->objects[CONTEXT_],
                               a->what == W_FRESH_BROKEN ? broken_source : good_source);
        return address(f->fresh);
    case W_FRESH_USER_EVENT:
        f->fresh_kind = a->what;
        f->fresh = new_user_event(w->objects[CONTEXT_]);
        return address(f->fresh);
    case W_FRESH_MAPPED:
        f->fresh_kind = a->what;
        f->fresh = api->clEnqueueMapBuffer(w->objects[QUEUE_], w->objects[BUFFER_], CL_TRUE,
                                           CL_MAP_READ, 0, 64, 0, NULL, NULL, &status);
        need(status, "clEnqueueMapBuffer");
        return address(f->fresh);
    case W_FRESH_SVM:
        f->fresh = has_svm ? api->clSVMAlloc(w->objects[CONTEXT_], CL_MEM_READ_WRITE, 64, 0) : NULL;
        return address(f->fresh);
    case W_FRESH_SVM_LIST:
        f->fresh_kind = a->what;
        f->fresh = has_svm ? api->clSVMAlloc(w->objects[CONTEXT_], CL_MEM_READ_WRITE, 64, 0) : NULL;
        f->lists[i][0] = f->fresh != NULL ? f->fresh : w->scratch;
        return address(f->lists[i]);
    case W_SVM:
        return has_svm ? address(w->svm + a->number) : address(w->scratch + a->number);
    case W_SVM_LIST:
        f->lists[i][0] = has_svm ? w->svm : w->scratch;
        return address(f->lists[i]);
    case W_BUFFER_SIZES_LIMIT:
        return largest_buffer + 1;
    case W_GROUP_TOO_LARGE:
        return address(w->large_group);
    case W_MEM_LOCATIONS:
        return address(&w->native_location);
    case W_CB_CONTEXT:
        return code_address((void (*)(void))on_context);
    case W_CB_CONTEXT_GONE:
        return code_address((void (*)(void))on_context_gone);
    case W_CB_MEM_GONE:
        return code_address((void (*)(void))on_mem_gone);
    case W_CB_PROGRAM_GONE:
        return code_address((void (*)(void))on_program);
    case W_CB_EVENT:
        return code_address((void (*)(void))on_event);
    case W_CB_NATIVE:
        return code_address((void (*)(void))on_native);
    }
    die("an argument of the table has no meaning", (long)a->what);
    return 0;
}

static bool same_argument(const struct argument *a, const struct argument *b)
{
    return a->what == b->what && a->object == b->object && a->number == b->number &&
           a->pointer == b->pointer;
}

static void prepare(struct world *w, struct frame *f, const struct function *function,
                    const struct argument *arguments)
{
    memset(f, 0, sizeof *f);
    f->errcode_at = f->event_out = -1;
    for (int i = 0; i < MAX_ARGUMENTS; i++)
        f->values[i] = resolve(w, f, i, &arguments[i]);
    if ((function->flags & RETAIN_FIRST) != 0 && f->values[0] != 0 &&
        same_argument(&arguments[0], &function->arguments[0])) {
        need(retain(type_of(arguments[0].object), (void *)(uintptr_t)f->values[0]), "retain");
        f->retained = true;
    }
}

static cl_int call(size_t index, struct frame *f)
{
    const struct function *function = &functions[index];
    const word *v = f->values;
    f->result = entries[index](v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7], v[8], v[9], v[10],
                               v[11], v[12], v[13], v[14], v[15]);
    switch (function->returns) {
    case STATUS:
        return (cl_int)(uint32_t)f->result;
    case NOTHING:
        return CL_SUCCESS;
    case POINTER:
    case OBJECT:
        break;
    }
    bool asked = f->errcode_at >= 0 && f->values[f->errcode_at] != 0;
    if (f->result == 0)
        return asked && f->errcode != CL_SUCCESS ? f->errcode : NULL_RETURNED;
    return asked ? f->errcode : CL_SUCCESS;
}

#define TRY(call)                                                                                  \
    do {                                                                                           \
        if ((call) != CL_SUCCESS)                                                                  \
            return #call " fails";                                                                 \
    } while (0)

/* Undoes what the call made or left; NULL, or what does not work. */
static const char *clean_up(struct world *w, const struct function *function, struct frame *f,
                            cl_int status)
{
    void *first = (void *)(uintptr_t)f->values[0];
    void *made = (void *)(uintptr_t)f->result;
    enum type type = type_of(function->arguments[0].object);
    cl_command_queue queue = w->objects[QUEUE_];
    bool worked = status == CL_SUCCESS;
    if (strcmp(function->name, "clSVMAlloc") == 0 && made != NULL)
        api->clSVMFree(w->objects[CONTEXT_], made);
    if (f->fresh_kind == W_FRESH_SVM_LIST && f->fresh != NULL && !worked)
        api->clSVMFree(w->objects[CONTEXT_], f->fresh);
    if (f->fresh_kind == W_FRESH_SVM_LIST && worked)
        TRY(api->clFinish(queue)); /* the list lies in the frame, which does not live longer */
    if (function->returns == OBJECT && made != NULL)
        TRY(release(function->made, made));
    if ((function->flags & RELEASE_AFTER) != 0 && worked)
        TRY(release(type, first));
    if (f->retained && !worked)
        TRY(release(type, first));
    if (f->event_out >= 0 && worked && f->outs[f->event_out] != 0)
        TRY(api->clReleaseEvent((cl_event)(uintptr_t)f->outs[f->event_out]));
    if ((function->flags & UNMAP_AFTER) != 0 && worked)
        TRY(api->clEnqueueUnmapMemObject(queue, (cl_mem)(uintptr_t)f->values[1], made, 0, NULL,
                                         NULL));
    if (f->fresh_kind == W_FRESH_PROGRAM)
        TRY(api->clReleaseProgram(f->fresh));
    if (f->fresh_kind == W_FRESH_USER_EVENT) {
        if (!worked)
            TRY(api->clSetUserEventStatus(f->fresh, CL_COMPLETE));
        TRY(api->clReleaseEvent(f->fresh));
    }
    if (f->fresh_kind == W_FRESH_MAPPED && !worked)
        TRY(api->clEnqueueUnmapMemObject(queue, w->objects[BUFFER_], f->fresh, 0, NULL, NULL));
    return NULL;
}

static bool listed(const cl_int *codes, cl_int status)
{
    for (int i = 0; i < MAX_CODES && codes[i] != END_OF_CODES; i++) {
        if (codes[i] == status || (codes[i] == ANY_ERROR && status < 0))
            return true;
        if (codes[i] == CL_SUCCESS && i > 0 && codes[i - 1] == CL_SUCCESS)
            break;
    }
    return false;
}

/* Cases: choosing, reporting. */

static bool chosen(const char *name)
{
    for (int i = 0; i < skip_count; i++)
        if (fnmatch(skips[i], name, 0) == 0)
            return false;
    for (int i = 0; i < pattern_count; i++)
        if (fnmatch(patterns[i], name, 0) == 0)
            return true;
    return pattern_count == 0;
}

__attribute__((format(printf, 2, 3))) static bool begin(struct world *w, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(w->current, sizeof w->current, format, arguments);
    va_end(arguments);
    if (!chosen(w->current))
        return false;
    if (only_list)
        puts(w->current);
    return !only_list;
}

__attribute__((format(printf, 3, 4))) static void report(struct world *w, bool passed,
                                                         const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    pthread_mutex_lock(&print_lock);
    if (world_count > 1)
        printf("[%d] ", w->thread);
    printf("%s %s", passed ? "ok  " : "FAIL", w->current);
    if (!passed) {
        fputs(": ", stdout);
        vprintf(format, arguments);
    }
    putchar('\n');
    pthread_mutex_unlock(&print_lock);
    va_end(arguments);
    if (passed)
        w->passed++;
    else
        w->failed++;
}

static void skip(struct world *w)
{
    w->skipped++;
}

static const char *codes_text(const cl_int *codes, char *text, size_t room)
{
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < MAX_CODES && codes[i] != END_OF_CODES && used < room; i++) {
        if (i > 0 && codes[i] == CL_SUCCESS && codes[i - 1] == CL_SUCCESS)
            break;
        used += codes[i] == ANY_ERROR ? (size_t)snprintf(text + used, room - used, " an error")
                                      : (size_t)snprintf(text + used, room - used, " %d", codes[i]);
    }
    return text;
}

/* A write and a read that must work whatever came before. */
static const char *still_works(struct world *w)
{
    unsigned char pattern[64], back[64] = {0};
    memset(pattern, 0x5a + w->thread, sizeof pattern);
    cl_mem buffer = w->objects[OTHER_BUFFER_];
    cl_command_queue queue = w->objects[QUEUE_];
    if (api->clEnqueueWriteBuffer(queue, buffer, CL_FALSE, 128, sizeof pattern, pattern, 0, NULL,
                                  NULL) != 0)
        return "a write after it fails";
    if (api->clEnqueueReadBuffer(queue, buffer, CL_TRUE, 128, sizeof back, back, 0, NULL, NULL) !=
        0)
        return "a read after it fails";
    return memcmp(pattern, back, sizeof back) == 0
               ? NULL
               : "what is read after it is not what was written";
}

static bool unavailable(const struct function *function)
{
    return ((function->flags & NEEDS_SVM) != 0 && !has_svm) ||
           ((function->flags & NEEDS_IMAGES) != 0 && !has_images);
}

static const cl_int *valid_codes(const struct function *function)
{
    static const cl_int nothing_there[] = {CL_SUCCESS, ANY_ERROR, END_OF_CODES};
    return unavailable(function) ? nothing_there : function->valid;
}

/* The right call; NULL when it answers as it should. */
static const char *right_call(struct world *w, size_t index, char *text, size_t room)
{
    const struct function *function = &functions[index];
    struct frame frame;
    prepare(w, &frame, function, function->arguments);
    cl_int status = call(index, &frame);
    const char *complaint = clean_up(w, function, &frame, status);
    if (listed(valid_codes(function), status))
        return complaint;
    char codes[128];
    snprintf(text, room, "the right call answers %d instead of%s", status,
             codes_text(valid_codes(function), codes, sizeof codes));
    return text;
}

static void wrong_call(struct world *w, size_t index, struct frame *frame, const cl_int *codes)
{
    const struct function *function = &functions[index];
    char text[256], list[128];
    cl_int status = call(index, frame);
    const char *complaint = clean_up(w, function, frame, status);
    if (!listed(codes, status)) {
        report(w, false, "answers %d instead of%s", status, codes_text(codes, list, sizeof list));
        return;
    }
    if (complaint == NULL && (function->flags & SLOW) == 0)
        complaint = right_call(w, index, text, sizeof text);
    if (complaint == NULL)
        complaint = still_works(w);
    report(w, complaint == NULL, "%s", complaint);
}

/* Generated cases. */

/* The numbers of bad handles in bad_handle(). */
enum badness { B_NULL, B_FREED = 7, B_WRONG_TYPE };

struct bad_handle {
    char name[64];
    enum badness badness;
    enum type other; /* for B_WRONG_TYPE */
    void *handle;
};

/* The n-th bad handle for a parameter of `type`; false when there are no more. */
static bool bad_handle(struct world *w, enum type type, int n, struct bad_handle *bad)
{
    static const char *const names[] = {"NULL",
                                        "unmapped address",
                                        "small integer",
                                        "misaligned",
                                        "inside an object",
                                        "middle of the heap",
                                        "the stack",
                                        "freed"};
    static const int examples[TYPES] = {PLATFORM_, DEVICE_, CONTEXT_, QUEUE_,  BUFFER_,
                                        PROGRAM_,  KERNEL_, EVENT_,   SAMPLER_};
    static _Thread_local word on_stack_of_thread[8];
    static unsigned char *heap;
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    if (heap == NULL && (heap = malloc(4096)) != NULL)
        memset(heap, 0xa5, 4096);
    pthread_mutex_unlock(&lock);
    char *good = object_of(w, examples[type]);
    if (n >= (int)B_WRONG_TYPE + TYPES)
        return false;
    void *const handles[] = {NULL,
                             unreadable + 256,
                             (void *)(uintptr_t)0x18,
                             good + 1,
                             good + sizeof(void *),
                             heap + 512,
                             on_stack_of_thread,
                             NULL}; /* one that is freed is made later */
    bad->badness = n < (int)B_WRONG_TYPE ? (enum badness)n : B_WRONG_TYPE;
    bad->other = (enum type)(n - (int)B_WRONG_TYPE);
    bool has_type = bad->badness == B_WRONG_TYPE;
    bad->handle = has_type ? object_of(w, examples[bad->other]) : handles[n];
    snprintf(bad->name, sizeof bad->name, "%s%s", has_type ? "a " : "",
             has_type ? name_of_type[bad->other] : names[n]);
    return true;
}

/* Whether the case exists at all; makes the freed object. */
static bool get_bad_handle_ready(struct world *w, enum type type, struct bad_handle *bad)
{
    if (bad->badness != B_NULL && !with_garbage)
        return false;
    if (bad->badness == B_WRONG_TYPE)
        return bad->other != type && bad->handle != NULL;
    if (bad->badness == B_FREED && !only_list) {
        bad->handle = make_object(w, type);
        if (bad->handle != NULL)
            need(release(type, bad->handle), "release");
        return bad->handle != NULL;
    }
    return true;
}

static bool is_handle(const struct argument *a, enum type *type)
{
    switch (a->what) {
    case W_OBJECT:
    case W_LIST:
        *type = type_of(a->object);
        return true;
    case W_FRESH_PROGRAM:
        *type = T_PROGRAM;
        return true;
    case W_FRESH_USER_EVENT:
        *type = T_EVENT;
        return true;
    case W_CONTEXT_PROPERTIES:
        *type = T_PLATFORM;
        return true;
    default:
        return false;
    }
}

static void add_code(cl_int *codes, cl_int code)
{
    for (int i = 0; i < MAX_CODES - 1; i++) {
        if (codes[i] == END_OF_CODES) {
            codes[i] = code;
            codes[i + 1] = END_OF_CODES;
            return;
        }
    }
    die("a list of codes is full", code);
}

static void codes_for(const struct function *function, const struct argument *a, enum type type,
                      enum badness badness, cl_int codes[MAX_CODES])
{
    codes[0] = END_OF_CODES;
    if (function->returns == NOTHING) {
        add_code(codes, CL_SUCCESS);
        return;
    }
    if (function->returns == POINTER && (function->flags & UNMAP_AFTER) == 0) {
        add_code(codes, ANY_ERROR);
        return;
    }
    if (badness == B_NULL && strcmp(function->name, "clSetKernelArg") == 0 && a->what == W_LIST) {
        add_code(codes, CL_SUCCESS); /* a NULL buffer is a value that kernels may get */
        return;
    }
    add_code(codes, code_of_type[type]);
    if (function->also[0] != CL_SUCCESS)
        for (int i = 0; i < MAX_CODES && function->also[i] != END_OF_CODES; i++)
            add_code(codes, function->also[i]);
    if (unavailable(function))
        add_code(codes, CL_INVALID_OPERATION);
    if (badness == B_NULL && type == T_PLATFORM && a->what == W_OBJECT &&
        (strcmp(function->name, "clGetPlatformInfo") == 0 ||
         strcmp(function->name, "clGetDeviceIDs") == 0))
        add_code(codes, CL_SUCCESS); /* left to the implementation */
    if (badness == B_NULL && type == T_DEVICE && (function->flags & DEVICE_MAY_BE_NULL) != 0)
        for (int i = 0; i < MAX_CODES && valid_codes(function)[i] != END_OF_CODES; i++) {
            add_code(codes, valid_codes(function)[i]);
            if (function->valid[1] == 0 && function->valid[0] == 0)
                break;
        }
    if (strcmp(function->name, "clCompileProgram") == 0 && a->what == W_LIST && type == T_PROGRAM)
        add_code(codes, CL_INVALID_VALUE); /* no code is named for a header that is none */
}

static void bad_handles(struct world *w, size_t index)
{
    const struct function *function = &functions[index];
    struct bad_handle bad;
    enum type type;
    for (int i = 0; i < MAX_ARGUMENTS; i++) {
        const struct argument *a = &function->arguments[i];
        if (!is_handle(a, &type))
            continue;
        for (int n = 0; bad_handle(w, type, n, &bad); n++) {
            struct frame frame;
            cl_int codes[MAX_CODES];
            struct argument arguments[MAX_ARGUMENTS];
            if (!begin(w, "%s/%d/%s", function->name, i + 1, bad.name) ||
                !get_bad_handle_ready(w, type, &bad))
                continue;
            memcpy(arguments, function->arguments, sizeof arguments);
            if (a->what != W_LIST && a->what != W_CONTEXT_PROPERTIES)
                arguments[i] = (struct argument){.what = W_NUMBER, .number = address(bad.handle)};
            prepare(w, &frame, function, arguments);
            if (a->what == W_LIST)
                frame.lists[i][0] = bad.handle;
            if (a->what == W_CONTEXT_PROPERTIES)
                frame.properties[1] = (cl_context_properties)bad.handle;
            codes_for(function, a, type, bad.badness, codes);
            wrong_call(w, index, &frame, codes);
        }
    }
}

static void wait_lists(struct world *w, size_t index)
{
    const struct function *function = &functions[index];
    int at = 0;
    while (at < MAX_ARGUMENTS && function->arguments[at].what != W_WAIT_COUNT)
        at++;
    if (at == MAX_ARGUMENTS)
        return;
    cl_int codes[MAX_CODES] = {CL_INVALID_EVENT_WAIT_LIST, END_OF_CODES};
    cl_int foreign[MAX_CODES] = {CL_INVALID_CONTEXT, END_OF_CODES};
    if ((function->flags & MAY_BE_MISSING) != 0)
        codes[0] = foreign[0] = ANY_ERROR;
    for (int i = 0; function->also[0] != CL_SUCCESS && function->also[i] != END_OF_CODES; i++) {
        add_code(codes, function->also[i]);
        add_code(foreign, function->also[i]);
    }
    if (unavailable(function)) {
        add_code(codes, CL_INVALID_OPERATION);
        add_code(foreign, CL_INVALID_OPERATION);
        /* the image parameter is a buffer then, which may be noticed first */
        add_code(codes, CL_INVALID_MEM_OBJECT);
        add_code(foreign, CL_INVALID_MEM_OBJECT);
    }
    struct frame frame;
    struct {
        const char *name;
        cl_uint count;
        bool list;
        int second;
        const cl_int *codes;
    } lists[] = {
        {"count without list", 1, false, NO_OBJECT, codes},
        {"list without count", 0, true, EVENT_, codes},
        {"count UINT_MAX without list", UINT32_MAX, false, NO_OBJECT, codes},
        {"foreign event", 2, true, FOREIGN_EVENT_, foreign},
    };
    for (size_t n = 0; n < sizeof lists / sizeof lists[0]; n++) {
        if (!begin(w, "%s/waits/%s", function->name, lists[n].name))
            continue;
        prepare(w, &frame, function, function->arguments);
        frame.lists[at][0] = w->objects[EVENT_];
        frame.lists[at][1] = lists[n].second == NO_OBJECT ? NULL : w->objects[lists[n].second];
        frame.values[at] = lists[n].count;
        frame.values[at + 1] = lists[n].list ? address(frame.lists[at]) : 0;
        wrong_call(w, index, &frame, lists[n].codes);
    }
    struct bad_handle bad;
    for (int n = 0; bad_handle(w, T_EVENT, n, &bad); n++) {
        if (!begin(w, "%s/waits/%s", function->name, bad.name) ||
            !get_bad_handle_ready(w, T_EVENT, &bad))
            continue;
        prepare(w, &frame, function, function->arguments);
        frame.lists[at][0] = w->objects[EVENT_];
        frame.lists[at][1] = bad.handle;
        frame.values[at] = 2;
        frame.values[at + 1] = address(frame.lists[at]);
        wrong_call(w, index, &frame, codes);
    }
}

static void queries(struct world *w, size_t index)
{
    const struct function *function = &functions[index];
    if ((function->flags & INFO) == 0)
        return;
    struct frame frame;
    const cl_int invalid[] = {CL_INVALID_VALUE, END_OF_CODES}, fine[] = {CL_SUCCESS, END_OF_CODES};
    if (begin(w, "%s/unknown name", function->name)) {
        prepare(w, &frame, function, function->arguments);
        frame.values[function->info] = 0x7fffffff;
        wrong_call(w, index, &frame, invalid);
    }
    if (begin(w, "%s/room of 0 bytes", function->name)) {
        prepare(w, &frame, function, function->arguments);
        frame.values[function->info + 1] = 0;
        wrong_call(w, index, &frame, invalid);
    }
    if (begin(w, "%s/nothing asked", function->name)) {
        prepare(w, &frame, function, function->arguments);
        frame.values[function->info + 1] = frame.values[function->info + 2] = 0;
        frame.values[function->info + 3] = 0;
        wrong_call(w, index, &frame, fine);
    }
}

static void without_errcode(struct world *w, size_t index)
{
    const struct function *function = &functions[index];
    const cl_int null_returned[] = {NULL_RETURNED, END_OF_CODES};
    int handle = 0, errcode = 0;
    enum type type;
    while (errcode < MAX_ARGUMENTS && function->arguments[errcode].what != W_ERRCODE)
        errcode++;
    while (handle < MAX_ARGUMENTS && !is_handle(&function->arguments[handle], &type))
        handle++;
    if (errcode == MAX_ARGUMENTS || handle == MAX_ARGUMENTS)
        return;
    if (!begin(w, "%s/%d/NULL, and no errcode_ret", function->name, handle + 1))
        return;
    struct frame frame;
    prepare(w, &frame, function, function->arguments);
    if (function->arguments[handle].what == W_CONTEXT_PROPERTIES)
        frame.properties[1] = 0;
    else
        frame.values[handle] = 0;
    frame.values[errcode] = 0;
    wrong_call(w, index, &frame, null_returned);
}

static void walk_function(struct world *w, size_t index)
{
    const struct function *function = &functions[index];
    char text[256];
    /* Only a driver that promises all of it fills the slots of what it does not have. */
    if (with_garbage && begin(w, "%s/has its slot", function->name)) {
        void *slot;
        memcpy(&slot, (const char *)api + function->slot, sizeof slot);
        report(w, slot != NULL, "its slot of the dispatch table is NULL");
    }
    if (entries[index] == NULL) {
        if (begin(w, "%s/is there", function->name)) {
            if ((function->flags & MAY_BE_MISSING) != 0 && !with_garbage)
                skip(w);
            else
                report(w, false, "the driver does not have it");
        }
        return;
    }
    if (begin(w, "%s/right", function->name)) {
        const char *complaint = right_call(w, index, text, sizeof text);
        report(w, complaint == NULL, "%s", complaint);
    }
    bad_handles(w, index);
    wait_lists(w, index);
    queries(w, index);
    without_errcode(w, index);
}

/* Cases of bad_input_cases.c. */

static size_t index_of(const char *name)
{
    for (size_t i = 0; i < function_count; i++)
        if (strcmp(functions[i].name, name) == 0)
            return i;
    die(name, 0);
    return 0;
}

static void walk_bad_calls(struct world *w)
{
    size_t index = 0;
    for (size_t n = 0; n < bad_call_count; n++) {
        const struct bad_call *bad = &bad_calls[n];
        if (bad->function != NULL)
            index = index_of(bad->function);
        if (entries[index] == NULL || !begin(w, "%s/%s", functions[index].name, bad->name))
            continue;
        if (unavailable(&functions[index])) {
            skip(w);
            continue;
        }
        struct argument arguments[MAX_ARGUMENTS];
        memcpy(arguments, functions[index].arguments, sizeof arguments);
        for (int i = 0; i < MAX_CHANGES && bad->changes[i].parameter > 0; i++)
            arguments[bad->changes[i].parameter - 1] = bad->changes[i].argument;
        struct frame frame;
        prepare(w, &frame, &functions[index], arguments);
        wrong_call(w, index, &frame, bad->codes);
    }
}

/* Cases that take more than one call. Each gives NULL or what went wrong. */

#define EXPECT(condition)                                                                          \
    do {                                                                                           \
        if (!(condition))                                                                          \
            return "not so: " #condition;                                                          \
    } while (0)

static const char *released_buffer_finishes_its_work(struct world *w)
{
    cl_int sent[16] = {3, 1, 4, 1, 5, 9, 2, 6}, back[16] = {0};
    cl_command_queue queue = w->objects[OUT_OF_ORDER_QUEUE_];
    cl_mem buffer = new_buffer(w->objects[CONTEXT_], CL_MEM_READ_WRITE, NULL);
    cl_event gate = new_user_event(w->objects[CONTEXT_]);
    TRY(api->clEnqueueWriteBuffer(queue, buffer, CL_FALSE, 0, sizeof sent, sent, 1, &gate, NULL));
    TRY(api->clEnqueueReadBuffer(queue, buffer, CL_FALSE, 0, sizeof back, back, 0, NULL, NULL));
    TRY(api->clReleaseMemObject(buffer));
    TRY(api->clSetUserEventStatus(gate, CL_COMPLETE));
    TRY(api->clReleaseEvent(gate));
    TRY(api->clFinish(queue));
    EXPECT(memcmp(sent, back, sizeof back) == 0);
    return NULL;
}

static const char *released_queue_finishes_its_work(struct world *w)
{
    cl_int seven = 7, back = 0;
    cl_event filled;
    cl_command_queue queue = new_queue(w->objects[CONTEXT_], 0);
    cl_mem buffer = new_buffer(w->objects[CONTEXT_], CL_MEM_READ_WRITE, NULL);
    TRY(api->clEnqueueFillBuffer(queue, buffer, &seven, sizeof seven, 0, 64, 0, NULL, &filled));
    TRY(api->clReleaseCommandQueue(queue));
    TRY(api->clWaitForEvents(1, &filled));
    TRY(api->clReleaseEvent(filled));
    TRY(api->clEnqueueReadBuffer(w->objects[QUEUE_], buffer, CL_TRUE, 60, 4, &back, 0, NULL, NULL));
    TRY(api->clReleaseMemObject(buffer));
    EXPECT(back == 7);
    return NULL;
}

static const char *released_context_keeps_its_objects(struct world *w)
{
    cl_int sent = 11, back = 0;
    cl_context context = new_context(w), of_buffer = NULL;
    cl_command_queue queue = new_queue(context, 0);
    cl_mem buffer = new_buffer(context, CL_MEM_READ_WRITE, NULL);
    TRY(api->clReleaseContext(context));
    TRY(api->clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 0, sizeof sent, &sent, 0, NULL, NULL));
    TRY(api->clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof back, &back, 0, NULL, NULL));
    TRY(api->clGetMemObjectInfo(buffer, CL_MEM_CONTEXT, sizeof of_buffer, &of_buffer, NULL));
    EXPECT(of_buffer == context);
    TRY(api->clReleaseMemObject(buffer));
    TRY(api->clReleaseCommandQueue(queue));
    EXPECT(back == 11);
    return NULL;
}

static const char *released_parent_keeps_its_sub_buffer(struct world *w)
{
    cl_int sent = 13, back = 0, status;
    cl_buffer_region half = {0, BUFFER_SIZE / 2};
    cl_mem parent = new_buffer(w->objects[CONTEXT_], CL_MEM_READ_WRITE, NULL);
    cl_mem part = api->clCreateSubBuffer(parent, 0, CL_BUFFER_CREATE_TYPE_REGION, &half, &status);
    TRY(status);
    TRY(api->clReleaseMemObject(parent));
    TRY(api->clEnqueueWriteBuffer(w->objects[QUEUE_], part, CL_TRUE, 8, sizeof sent, &sent, 0, NULL,
                                  NULL));
    TRY(api->clEnqueueReadBuffer(w->objects[QUEUE_], part, CL_TRUE, 8, sizeof back, &back, 0, NULL,
                                 NULL));
    TRY(api->clReleaseMemObject(part));
    EXPECT(back == 13);
    return NULL;
}

static const char *released_kernel_and_program_finish_their_launch(struct world *w)
{
    cl_int zero = 0, one = 1, back = 0;
    size_t size = 64;
    cl_command_queue queue = w->objects[OUT_OF_ORDER_QUEUE_];
    cl_program program = new_program(w->objects[CONTEXT_], good_source);
    TRY(api->clBuildProgram(program, 0, NULL, NULL, NULL, NULL));
    cl_kernel kernel = new_kernel(program, "add");
    TRY(api->clReleaseProgram(program));
    cl_mem buffer = new_buffer(w->objects[CONTEXT_], CL_MEM_READ_WRITE, NULL);
    TRY(api->clEnqueueFillBuffer(queue, buffer, &zero, sizeof zero, 0, BUFFER_SIZE, 0, NULL, NULL));
    TRY(api->clSetKernelArg(kernel, 0, sizeof buffer, &buffer));
    TRY(api->clSetKernelArg(kernel, 1, sizeof one, &one));
    cl_event gate = new_user_event(w->objects[CONTEXT_]);
    TRY(api->clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &size, NULL, 1, &gate, NULL));
    TRY(api->clReleaseKernel(kernel));
    TRY(api->clSetUserEventStatus(gate, CL_COMPLETE));
    TRY(api->clReleaseEvent(gate));
    TRY(api->clEnqueueReadBuffer(queue, buffer, CL_TRUE, 252, sizeof back, &back, 0, NULL, NULL));
    TRY(api->clReleaseMemObject(buffer));
    EXPECT(back == 1);
    return NULL;
}

static const char *retained_object_stays(struct world *w)
{
    cl_mem buffer = new_buffer(w->objects[CONTEXT_], CL_MEM_READ_WRITE, NULL);
    size_t size = 0;
    for (int i = 0; i < 3; i++)
        TRY(api->clRetainMemObject(buffer));
    for (int i = 0; i < 3; i++)
        TRY(api->clReleaseMemObject(buffer));
    TRY(api->clGetMemObjectInfo(buffer, CL_MEM_SIZE, sizeof size, &size, NULL));
    TRY(api->clReleaseMemObject(buffer));
    EXPECT(size == BUFFER_SIZE);
    return NULL;
}

static const char *failure_reaches_dependants(struct world *w)
{
    cl_int value = 0, first = 0, second = 0;
    cl_command_queue queue = w->objects[OUT_OF_ORDER_QUEUE_];
    cl_event events[2];
    cl_event gate = new_user_event(w->objects[CONTEXT_]);
    cl_mem buffer = w->objects[BUFFER_];
    TRY(api->clEnqueueReadBuffer(queue, buffer, CL_FALSE, 0, 4, &value, 1, &gate, &events[0]));
    TRY(api->clEnqueueMarkerWithWaitList(queue, 1, &events[0], &events[1]));
    TRY(api->clSetUserEventStatus(gate, CL_OUT_OF_RESOURCES));
    EXPECT(api->clWaitForEvents(2, events) == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
    TRY(api->clGetEventInfo(events[0], CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof first, &first,
                            NULL));
    TRY(api->clGetEventInfo(events[1], CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof second, &second,
                            NULL));
    TRY(api->clReleaseEvent(gate));
    TRY(api->clReleaseEvent(events[0]));
    TRY(api->clReleaseEvent(events[1]));
    EXPECT(first < 0);
    EXPECT(second < 0);
    return NULL;
}

static const char *events_of_two_contexts(struct world *w)
{
    cl_event events[] = {w->objects[EVENT_], w->objects[FOREIGN_EVENT_]};
    EXPECT(api->clWaitForEvents(2, events) == CL_INVALID_CONTEXT);
    return NULL;
}

static const char *failed_build_leaves_a_log(struct world *w)
{
    char log[8192] = "";
    size_t length = 0;
    cl_build_status status = CL_BUILD_NONE;
    cl_program program = w->objects[FAILED_PROGRAM_];
    TRY(api->clGetProgramBuildInfo(program, the_device, CL_PROGRAM_BUILD_STATUS, sizeof status,
                                   &status, NULL));
    TRY(api->clGetProgramBuildInfo(program, the_device, CL_PROGRAM_BUILD_LOG, 0, NULL, &length));
    EXPECT(status == CL_BUILD_ERROR);
    EXPECT(length > 1 && length <= sizeof log);
    TRY(api->clGetProgramBuildInfo(program, the_device, CL_PROGRAM_BUILD_LOG, length, log, NULL));
    EXPECT(strstr(log, "nowhere") != NULL);
    return NULL;
}

static const char *released_twice(struct world *w)
{
    for (int type = T_CONTEXT; type < TYPES; type++) {
        void *object = make_object(w, (enum type)type);
        if (object == NULL)
            continue;
        TRY(release((enum type)type, object));
        EXPECT(release((enum type)type, object) == code_of_type[type]);
        EXPECT(release((enum type)type, object) == code_of_type[type]);
        EXPECT(retain((enum type)type, object) == code_of_type[type]);
    }
    return NULL;
}

static const char *notifications_have_words(struct world *w)
{
    (void)w;
    EXPECT(wordless_notifications == 0);
    return NULL;
}

static const char *references_are_as_before(struct world *w)
{
    static char text[MAX_THREADS][96];
    TRY(api->clFinish(w->objects[QUEUE_]));
    TRY(api->clFinish(w->objects[OUT_OF_ORDER_QUEUE_]));
    TRY(api->clFinish(w->objects[FOREIGN_QUEUE_]));
    for (int i = 0; i < OBJECTS; i++) {
        if (w->objects[i] == NULL)
            continue;
        cl_uint now = reference_count(type_of(i), w->objects[i]);
        if (now != w->references[i]) {
            snprintf(text[w->thread], sizeof text[0], "object %d (a %s) has %u references, had %u",
                     i, name_of_type[type_of(i)], now, w->references[i]);
            return text[w->thread];
        }
    }
    return NULL;
}

static const struct {
    const char *name;
    bool garbage;
    const char *(*run)(struct world *w);
} stories[] = {
    {"a released buffer finishes its queued work", false, released_buffer_finishes_its_work},
    {"a released queue finishes its work", false, released_queue_finishes_its_work},
    {"a released context keeps its objects", false, released_context_keeps_its_objects},
    {"a released parent keeps its sub-buffer", false, released_parent_keeps_its_sub_buffer},
    {"a released kernel finishes its launch", false,
     released_kernel_and_program_finish_their_launch},
    {"a retained object stays", false, retained_object_stays},
    {"a failure reaches dependants", false, failure_reaches_dependants},
    {"events of two contexts in one wait", false, events_of_two_contexts},
    {"a failed build leaves a log", false, failed_build_leaves_a_log},
    {"released twice", true, released_twice},
    {"context notifications have words", false, notifications_have_words},
    {"reference counts are as before", false, references_are_as_before},
};

static void walk_stories(struct world *w)
{
    for (size_t i = 0; i < sizeof stories / sizeof stories[0]; i++) {
        if ((stories[i].garbage && !with_garbage) || !begin(w, "%s", stories[i].name))
            continue;
        const char *complaint = stories[i].run(w);
        report(w, complaint == NULL, "%s", complaint);
    }
}

/* The program. */

static long resident_kib(void)
{
    char line[128];
    long kib = 0;
    FILE *status = fopen("/proc/self/status", "r");
    while (status != NULL && fgets(line, sizeof line, status) != NULL)
        if (sscanf(line, "VmRSS: %ld", &kib) == 1)
            break;
    if (status != NULL)
        fclose(status);
    return kib;
}

static int repeats = 1;

static void *walk(void *argument)
{
    struct world *w = argument;
    if (!only_list)
        make_world(w);
    pthread_barrier_wait(&start_line);
    long half_way = 0;
    for (int round = 0; round < repeats; round++) {
        for (size_t i = 0; i < function_count; i++)
            walk_function(w, i);
        walk_bad_calls(w);
        walk_stories(w);
        if (round == repeats / 2)
            half_way = resident_kib();
    }
    if (repeats >= 4 && world_count == 1 && begin(w, "memory does not grow")) {
        long grown = resident_kib() - half_way;
        report(w, grown < 4096, "resident memory grew by %ld KiB in the second half", grown);
    }
    snprintf(w->current, sizeof w->current, "the end");
    if (!only_list)
        free_world(w);
    return NULL;
}

static void find_entries(void *library)
{
    void *(*extension)(const char *) = NULL;
    void *symbol = dlsym(library, "clGetExtensionFunctionAddress");
    memcpy(&extension, &symbol, sizeof symbol);
    entries = calloc(function_count, sizeof *entries);
    if (entries == NULL)
        die("out of memory", 0);
    for (size_t i = 0; i < function_count; i++) {
        symbol = dlsym(library, functions[i].name);
        if (symbol == NULL && extension != NULL)
            symbol = extension(functions[i].name);
        if (symbol == NULL)
            memcpy(&symbol, (const char *)api + functions[i].slot, sizeof symbol);
        memcpy(&entries[i], &symbol, sizeof symbol);
    }
}

static void open_driver(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        fprintf(stderr, "bad_input: %s\n", dlerror());
        exit(2);
    }
    cl_int (*get_platforms)(cl_uint, cl_platform_id *, cl_uint *) = NULL;
    void *(*extension)(const char *) = NULL;
    void *symbol = dlsym(library, "clIcdGetPlatformIDsKHR");
    if (symbol == NULL && (symbol = dlsym(library, "clGetExtensionFunctionAddress")) != NULL) {
        memcpy(&extension, &symbol, sizeof symbol);
        symbol = extension("clIcdGetPlatformIDsKHR");
    }
    if (symbol == NULL)
        die("no clIcdGetPlatformIDsKHR", 0);
    memcpy(&get_platforms, &symbol, sizeof symbol);
    need(get_platforms(1, &the_platform, NULL), "clIcdGetPlatformIDsKHR");
    memcpy(&api, (const void *)the_platform, sizeof api);
    find_entries(library);
    cl_bool images = CL_FALSE;
    cl_device_svm_capabilities svm = 0;
    need(api->clGetDeviceIDs(the_platform, CL_DEVICE_TYPE_ALL, 1, &the_device, NULL),
         "clGetDeviceIDs");
    need(api->clGetDeviceInfo(the_device, CL_DEVICE_IMAGE_SUPPORT, sizeof images, &images, NULL),
         "images");
    need(api->clGetDeviceInfo(the_device, CL_DEVICE_SVM_CAPABILITIES, sizeof svm, &svm, NULL),
         "SVM");
    need(api->clGetDeviceInfo(the_device, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof largest_buffer,
                              &largest_buffer, NULL),
         "CL_DEVICE_MAX_MEM_ALLOC_SIZE");
    need(api->clGetDeviceInfo(the_device, CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof largest_group,
                              &largest_group, NULL),
         "CL_DEVICE_MAX_WORK_GROUP_SIZE");
    has_images = images != CL_FALSE;
    has_svm = svm != 0;
}

static int list_functions(void)
{
    for (size_t i = 0; i < function_count; i++)
        puts(functions[i].name);
    return 0;
}

static void usage(void)
{
    fputs("usage: bad_input DRIVER.so [--no-garbage] [--threads N] [--repeat N]\n"
          "                 [--skip PATTERN]... [--list | --list-functions] [PATTERN]...\n",
          stderr);
    exit(2);
}

int main(int count, char **arguments)
{
    int threads = 1;
    const char *driver = NULL;
    for (int i = 1; i < count; i++) {
        const char *next = i + 1 < count ? arguments[i + 1] : NULL;
        if (strcmp(arguments[i], "--list-functions") == 0)
            return list_functions();
        if (strcmp(arguments[i], "--no-garbage") == 0)
            with_garbage = false;
        else if (strcmp(arguments[i], "--list") == 0)
            only_list = true;
        else if (strcmp(arguments[i], "--threads") == 0 && next != NULL)
            threads = atoi(arguments[++i]);
        else if (strcmp(arguments[i], "--repeat") == 0 && next != NULL)
            repeats = atoi(arguments[++i]);
        else if (strcmp(arguments[i], "--skip") == 0 && next != NULL && skip_count < MAX_PATTERNS)
            skips[skip_count++] = arguments[++i];
        else if (arguments[i][0] == '-')
            usage();
        else if (driver == NULL)
            driver = arguments[i];
        else if (pattern_count < MAX_PATTERNS)
            patterns[pattern_count++] = arguments[i];
    }
    if (driver == NULL || threads < 1 || threads > MAX_THREADS || repeats < 1)
        usage();
    setvbuf(stdout, NULL, _IOLBF, 0);
    unreadable = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (unreadable == MAP_FAILED)
        die("mmap", 0);
    for (size_t i = 0; i < 5; i++)
        signal((int[]){SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL}[i], on_crash);
    open_driver(driver);
    threads = only_list ? 1 : threads;
    pthread_barrier_init(&start_line, NULL, (unsigned)threads);
    pthread_t ids[MAX_THREADS];
    for (int i = 0; i < threads; i++) {
        if ((worlds[i] = calloc(1, sizeof *worlds[i])) == NULL)
            die("out of memory", 0);
        worlds[i]->thread = i;
    }
    world_count = threads;
    for (int i = 0; i < threads; i++)
        if (pthread_create(&ids[i], NULL, walk, worlds[i]) != 0)
            die("pthread_create", i);
    long passed = 0, failed = 0, skipped = 0;
    for (int i = 0; i < threads; i++) {
        pthread_join(ids[i], NULL);
        passed += worlds[i]->passed;
        failed += worlds[i]->failed;
        skipped += worlds[i]->skipped;
    }
    if (only_list)
        return 0;
    if (skipped > 0)
        printf("%ld skipped (the device has no such thing)\n", skipped);
    printf("%ld passed, %ld failed\n", passed, failed);
    return failed > 0 || passed == 0;
}
