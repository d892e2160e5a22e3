/* SPDX-License-Identifier: Apache-2.0
 *
 * A host whose board process is killed by somebody all the time. Until its standard input ends,
 * four threads launch, write and read. What a command that succeeded wrote has to be right, and so
 * has what no kernel writes. Prints how many launches went well, failed, and what was wrong. */
#include "host.h"

#include <stdatomic.h>

enum { COUNT = 65536, THREADS = 4 };

static const char source[] =
    "kernel void scale(global const int *in, global int *out, int factor) {"
    "    size_t i = get_global_id(0);"
    "    out[i] = in[i] * factor;"
    "}"
    "kernel void slowly(global const int *in, global int *out, int factor) {"
    "    size_t i = get_global_id(0);"
    "    int sum = 0;"
    "    for (int n = 0; n < 2000; n++) sum += in[(i + n) % get_global_size(0)] & 1;"
    "    out[i] = in[i] * factor + (sum < 0);"
    "}";
static atomic_long well, failed, wrong;
static atomic_bool over;
static struct host host;

static void say(const char *words)
{
    printf("%s\n", words);
    fflush(stdout);
}

static cl_kernel kernel(const char *name)
{
    const char *text = source;
    cl_kernel made = NULL;
    for (int tries = 0; made == NULL && tries < 20; tries++) { /* builds die with the process */
        cl_int status;
        cl_program program = clCreateProgramWithSource(host.context, 1, &text, NULL, &status);
        if (status == CL_SUCCESS &&
            clBuildProgram(program, 1, &host.device, "", NULL, NULL) == CL_SUCCESS)
            made = clCreateKernel(program, name, &status);
        if (program != NULL)
            clReleaseProgram(program);
    }
    if (made == NULL)
        must(CL_BUILD_PROGRAM_FAILURE, "no kernel in twenty tries");
    return made;
}

static void compare(cl_command_queue queue, cl_mem of, const int *in, int factor)
{
    static __thread int found[COUNT];
    read_back(queue, of, sizeof found, found);
    for (int i = 0; i < COUNT; i++)
        if (found[i] != in[i] * factor) {
            atomic_fetch_add(&wrong, 1);
            return;
        }
}

static void *work(void *data)
{
    int number = (int)(long)data, *in = malloc(COUNT * sizeof *in);
    cl_int status;
    for (int i = 0; i < COUNT; i++)
        in[i] = i ^ number;
    cl_command_queue queue = new_queue(&host);
    cl_mem from = buffer_with(&host, COUNT * sizeof *in, in);
    cl_mem to = buffer_with(&host, COUNT * sizeof *in, in);
    cl_kernel run = kernel(number % 2 ? "slowly" : "scale");
    const size_t items = COUNT;
    for (int factor = 1; !over; factor = factor % 1000 + 1) {
        cl_event event;
        status = clSetKernelArg(run, 0, sizeof from, &from) |
                 clSetKernelArg(run, 1, sizeof to, &to) |
                 clSetKernelArg(run, 2, sizeof factor, &factor);
        if (status == CL_SUCCESS)
            status = clEnqueueNDRangeKernel(queue, run, 1, NULL, &items, NULL, 0, NULL, &event);
        if (status == CL_SUCCESS) {
            clFinish(queue);
            status = status_of(event);
            clReleaseEvent(event);
        }
        long before = atomic_fetch_add(status == CL_COMPLETE ? &well : &failed, 1);
        if (status == CL_COMPLETE)
            compare(queue, to, in, factor);
        if (status == CL_COMPLETE && before % 8 == 0)
            say("runs");
        compare(queue, from, in, 1);
        if (factor % 16 == 0)
            MUST(clEnqueueWriteBuffer(queue, from, CL_FALSE, 0, COUNT * sizeof *in, in, 0, NULL,
                                      NULL));
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];
    find_context(&host);
    for (long i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, (void *)i);
    while (getchar() != EOF)
        ;
    over = true;
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    printf("well %ld failed %ld wrong %ld\n", well, failed, wrong);
    return wrong > 0 || well == 0;
}
