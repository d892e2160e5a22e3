/* SPDX-License-Identifier: Apache-2.0
 *
 * Carried commands are kernels of the driver and functions that it calls in their turn
 * (clEnqueueNativeKernel). Their order is the driver's. */
#include "carrier.h"

#include "calls.h"
#include "clock.h"
#include "signals.h"

#include <CL/cl.h>
#include <CL/cl_icd.h>
#include <stdlib.h>
#include <string.h>

bool carrier_can(uintptr_t device)
{
    cl_device_exec_capabilities can = 0;
    driver_of((void *)device)
        ->clGetDeviceInfo((cl_device_id)device, CL_DEVICE_EXECUTION_CAPABILITIES, sizeof can, &can,
                          NULL);
    return (can & CL_EXEC_NATIVE_KERNEL) != 0;
}

static void *lane_new(uintptr_t context, uintptr_t device, bool in_order, bool has_profiling)
{
    cl_command_queue_properties properties =
        (in_order ? 0 : CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) |
        (has_profiling ? CL_QUEUE_PROFILING_ENABLE : 0);
    cl_int status;
    return driver_of((void *)context)
        ->clCreateCommandQueue((cl_context)context, (cl_device_id)device, properties, &status);
}

static void lane_free(void *lane)
{
    driver_of(lane)->clReleaseCommandQueue(lane);
}

static void flush(void *lane)
{
    driver_of(lane)->clFlush(lane);
}

static void move(const struct carried *this)
{
    for (uint64_t slice = 0; slice < this->size[2]; slice++)
        for (uint64_t row = 0; row < this->size[1]; row++)
            memmove((char *)this->to + row * this->to_pitch[0] + slice * this->to_pitch[1],
                    (char *)this->from + row * this->from_pitch[0] + slice * this->from_pitch[1],
                    this->size[0]);
}

static void fill(const struct carried *this)
{
    char *to = (char *)this->to;
    uint64_t done = this->count < this->size[0] ? this->count : this->size[0];
    memcpy(to, this->more, done);
    while (done < this->size[0]) { /* copies the filled part: it doubles */
        uint64_t left = this->size[0] - done, next = done < left ? done : left;
        memcpy(to + done, to, next);
        done += next;
    }
}

void carrier_do(const struct carried *carried)
{
    if (carried->kind == CARRIED_MOVE)
        move(carried);
    else if (carried->kind == CARRIED_FILL)
        fill(carried);
}

/* The driver passes a copy of its argument, which is the address of the operation. */
static void CL_CALLBACK do_in_turn(void *given)
{
    carrier_do(*(struct carried **)given);
}

static void CL_CALLBACK launch_is_next(void *given)
{
    const struct carried *carried = *(struct carried **)given;
    carried->around(carried->checked, 0);
}

static void CL_CALLBACK launch_is_over(void *given)
{
    const struct carried *carried = *(struct carried **)given;
    carried->around(carried->checked, 1);
}

static int32_t submit_function(cl_command_queue lane, void(CL_CALLBACK *function)(void *given),
                               struct carried *this, cl_uint count, const cl_event *after,
                               cl_event *event)
{
    return driver_of(lane)->clEnqueueNativeKernel(lane, function, &this, sizeof this, 0, NULL, NULL,
                                                  count, after, event);
}

static int32_t submit_launch(cl_command_queue lane, struct carried *this, cl_uint count,
                             const cl_event *after, cl_event *event)
{
    this->is_begun = 1;
    if (this->begins != NULL)
        this->begins(this);
    signals_kernel_begins();
    int64_t result =
        driver_enqueue((uintptr_t)lane, this->kernel, this->count, this->more, this->dimensions,
                       (const char *)this->sizes, (int)this->has_local, count,
                       (const uintptr_t *)after, (uintptr_t *)event);
    this->place = (int32_t)(result >> 32);
    return (int32_t)result;
}

/* Submits a launch with a function on either side. If the driver refuses a part, the command ends
 * when this returns, so nothing of it may be left in the lane. */
static int32_t submit_checked(cl_command_queue lane, struct carried *this, cl_uint count,
                              const cl_event *after, cl_event *event)
{
    const struct _cl_icd_dispatch *driver = driver_of(lane);
    cl_event last, run;
    int32_t failed = submit_function(lane, launch_is_next, this, count, after, &last);
    if (failed != CL_SUCCESS)
        return failed;
    failed = submit_launch(lane, this, 1, &last, &run);
    if (failed == CL_SUCCESS) {
        driver->clReleaseEvent(last);
        last = run;
        failed = submit_function(lane, launch_is_over, this, 1, &last, event);
    }
    if (failed != CL_SUCCESS)
        driver->clWaitForEvents(1, &last);
    driver->clReleaseEvent(last);
    return failed;
}

static int32_t submit(void *lane, void *operation, uint32_t count, void *const *after, void **event)
{
    struct carried *this = operation;
    const cl_event *events = (const cl_event *)after;
    if (this->kind != CARRIED_LAUNCH)
        return submit_function(lane, do_in_turn, this, count, events, (cl_event *)event);
    if (this->around != NULL)
        return submit_checked(lane, this, count, events, (cl_event *)event);
    return submit_launch(lane, this, count, events, (cl_event *)event);
}

static void ended(void *operation, int32_t status)
{
    struct carried *this = operation;
    if (this->is_begun)
        signals_kernel_ends();
    if (this->around != NULL)
        this->around(this->checked, 1);
    if (this->ended != NULL)
        this->ended(this, status);
}

static void wait(void *event)
{
    cl_event one = event;
    driver_of(event)->clWaitForEvents(1, &one);
}

/* Drivers take times from the raw clock, which nobody adjusts. */
static uint64_t as_ours(uint64_t raw)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    return raw + now_ns() - ((uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec);
}

static void times(void *event, uint64_t *start, uint64_t *end)
{
    const struct _cl_icd_dispatch *driver = driver_of(event);
    cl_ulong began, over;
    if (driver->clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof began, &began,
                                        NULL) != CL_SUCCESS ||
        driver->clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof over, &over,
                                        NULL) != CL_SUCCESS)
        return;
    *start = as_ours(began);
    *end = *start + (over - began);
}

struct notification {
    void (*call)(void *data);
    void *data;
};

static void CL_CALLBACK notified(cl_event event, cl_int status, void *given)
{
    struct notification *notification = given;
    (void)event, (void)status;
    notification->call(notification->data);
    free(notification);
}

static int32_t notify(void *event, void (*call)(void *data), void *data)
{
    const struct _cl_icd_dispatch *driver = driver_of(event);
    struct notification *notification = malloc(sizeof *notification);
    cl_command_queue lane;
    if (notification == NULL)
        return CL_OUT_OF_HOST_MEMORY;
    *notification = (struct notification){call, data};
    /* No wait in the driver refers to it. The event may be destroyed as soon as its end is
     * reported. */
    if (driver->clGetEventInfo(event, CL_EVENT_COMMAND_QUEUE, sizeof lane, &lane, NULL) ==
        CL_SUCCESS)
        driver->clFlush(lane);
    int32_t failed = driver->clSetEventCallback(event, CL_COMPLETE, notified, notification);
    if (failed != CL_SUCCESS)
        free(notification);
    return failed;
}

static void release(void *event)
{
    driver_of(event)->clReleaseEvent(event);
}

const struct carrier *carrier_functions(void)
{
    static const struct core_engine engine = {.submit = submit,
                                              .ended = ended,
                                              .status = driver_event_status,
                                              .wait = wait,
                                              .times = times,
                                              .notify = notify,
                                              .release = release,
                                              .now = now_ns};
    static const struct carrier functions = {&engine, lane_new, lane_free, flush, NULL, carrier_do};
    return &functions;
}
