/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared virtual memory that commands free (OpenCL 3.0, 5.6.1: clEnqueueSVMFree): after what is in
 * front of them, only if that has not failed, and by the host's function if there is one. */
#include "host.h"

enum { ITEMS = 1024, BYTES = ITEMS * sizeof(cl_int), ROUNDS = 40, LISTED = 3 };

static struct host host;
static cl_kernel adding;

static cl_int *allocate(cl_int value)
{
    cl_int *memory = clSVMAlloc(host.context, CL_MEM_READ_WRITE, BYTES, 0);
    must_be(memory != NULL, "clSVMAlloc gives memory");
    MUST(clEnqueueSVMMemFill(host.queue, memory, &value, sizeof value, BYTES, 0, NULL, NULL));
    return memory;
}

static void add(cl_int *memory, cl_int amount)
{
    MUST(clSetKernelArgSVMPointer(adding, 0, memory));
    set_argument(adding, 1, sizeof amount, &amount);
    launch(host.queue, adding, ITEMS, NULL);
}

static void enqueue_free(void **memory, cl_uint count, cl_event before, cl_event *event)
{
    MUST(clEnqueueSVMFree(host.queue, count, memory, NULL, NULL, before != NULL,
                          before != NULL ? &before : NULL, event));
}

static void after_the_commands_before(void)
{
    cl_int *memory[ROUNDS], sums[ROUNDS];
    for (int i = 0; i < ROUNDS; i++)
        memory[i] = allocate(i);
    for (int i = 0; i < ROUNDS; i++) {
        add(memory[i], 100);
        MUST(clEnqueueSVMMemcpy(host.queue, CL_FALSE, &sums[i], memory[i] + ITEMS - 1,
                                sizeof sums[i], 0, NULL, NULL));
        enqueue_free((void **)&memory[i], 1, NULL, NULL);
    }
    MUST(clFinish(host.queue));
    for (int i = 0; i < ROUNDS; i++)
        must_be(sums[i] == i + 100, "the memory was there for the commands before the free");
}

static void what_the_event_says(void)
{
    void *memory[LISTED];
    cl_event gate = user_event(&host), event;
    cl_command_type type;
    for (int i = 0; i < LISTED; i++)
        memory[i] = allocate(i);
    MUST(clFinish(host.queue));
    enqueue_free(memory, LISTED, gate, &event);
    MUST(clFlush(host.queue));
    MUST(clGetEventInfo(event, CL_EVENT_COMMAND_TYPE, sizeof type, &type, NULL));
    must_be(type == CL_COMMAND_SVM_FREE, "the event is that of a CL_COMMAND_SVM_FREE");
    must_be(status_of(event) > CL_COMPLETE, "the command waits for the user event");
    for (cl_int i = 0; i < LISTED; i++)
        must_be(((cl_int *)memory[i])[ITEMS - 1] == i, "the memory is there until then");
    MUST(clSetUserEventStatus(gate, CL_COMPLETE));
    MUST(clWaitForEvents(1, &event));
    must_be(status_of(event) == CL_COMPLETE, "the command has ended");
    MUST(clReleaseEvent(event));
    MUST(clReleaseEvent(gate));
}

static void nothing_after_a_failure(void)
{
    cl_int *memory = allocate(7);
    cl_event gate = user_event(&host), event;
    MUST(clFinish(host.queue));
    enqueue_free((void **)&memory, 1, gate, &event);
    MUST(clSetUserEventStatus(gate, -5));
    must_be(clWaitForEvents(1, &event) == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST,
            "the wait reports the failure");
    must_be(status_of(event) < 0, "the command has failed");
    add(memory, 1);
    MUST(clFinish(host.queue));
    must_be(memory[0] == 8, "the memory is not freed");
    clSVMFree(host.context, memory);
    MUST(clReleaseEvent(event));
    MUST(clReleaseEvent(gate));
}

static cl_uint freed;

static void CL_CALLBACK frees(cl_command_queue queue, cl_uint count, void *memory[], void *data)
{
    must_be(queue == host.queue && data == &freed, "the function gets what the host gave");
    for (cl_uint i = 0; i < count; i++)
        clSVMFree(host.context, memory[i]);
    __atomic_store_n(&freed, count, __ATOMIC_SEQ_CST);
}

static void by_a_function_of_the_host(void)
{
    void *memory[LISTED];
    for (int i = 0; i < LISTED; i++)
        add(memory[i] = allocate(i), 1);
    MUST(clEnqueueSVMFree(host.queue, LISTED, memory, frees, &freed, 0, NULL, NULL));
    MUST(clFinish(host.queue));
    must_be(__atomic_load_n(&freed, __ATOMIC_SEQ_CST) == LISTED, "it has freed all of them");
}

static const struct part parts[] = {
    {"after the commands before", after_the_commands_before},
    {"what the event says", what_the_event_says},
    {"nothing after a failure", nothing_after_a_failure},
    {"by a function of the host", by_a_function_of_the_host},
};

int main(int count, char **words)
{
    find_device_with_svm(&host);
    start(&host, SPIN_SOURCE);
    adding = new_kernel(&host, "add");
    run_parts(parts, sizeof parts / sizeof parts[0], count > 1 ? words[1] : NULL);
    MUST(clReleaseKernel(adding));
    stop(&host);
    puts("right");
    return 0;
}
