/* SPDX-License-Identifier: Apache-2.0
 *
 * A C host on the DPC++ runtime (through dpctl's C interface): device memory, copies, a kernel from
 * OpenCL C, events with profiling. Prints the device's name and ok. */
#include <stdio.h>
#include <stdlib.h>

#include "syclinterface/dpctl_sycl_context_interface.h"
#include "syclinterface/dpctl_sycl_device_interface.h"
#include "syclinterface/dpctl_sycl_device_selector_interface.h"
#include "syclinterface/dpctl_sycl_enum_types.h"
#include "syclinterface/dpctl_sycl_event_interface.h"
#include "syclinterface/dpctl_sycl_kernel_bundle_interface.h"
#include "syclinterface/dpctl_sycl_kernel_interface.h"
#include "syclinterface/dpctl_sycl_queue_interface.h"
#include "syclinterface/dpctl_sycl_usm_interface.h"

#define COUNT 1000

static void *needed(void *made, const char *what)
{
    if (made == NULL) {
        printf("no %s\n", what);
        exit(1);
    }
    return made;
}

static void wait_and_delete(DPCTLSyclEventRef event)
{
    DPCTLEvent_Wait(needed(event, "event"));
    DPCTLEvent_Delete(event);
}

int main(void)
{
    static int in[COUNT], out[COUNT];
    int add = 5;
    size_t range[3] = {COUNT, 1, 1};
    for (int i = 0; i < COUNT; i++)
        in[i] = i;
    DPCTLSyclDeviceSelectorRef selector = needed(DPCTLDefaultSelector_Create(), "selector");
    DPCTLSyclDeviceRef device = needed(DPCTLDevice_CreateFromSelector(selector), "device");
    DPCTLSyclQueueRef queue =
        needed(DPCTLQueue_CreateForDevice(device, NULL, DPCTL_ENABLE_PROFILING), "queue");
    DPCTLSyclContextRef context = needed(DPCTLQueue_GetContext(queue), "context");
    DPCTLSyclKernelBundleRef bundle =
        needed(DPCTLKernelBundle_CreateFromOCLSource(
                   context, device,
                   "kernel void add(global int *x, int n) { x[get_global_id(0)] += n; }", NULL),
               "program");
    DPCTLSyclKernelRef kernel = needed(DPCTLKernelBundle_GetKernel(bundle, "add"), "kernel");
    DPCTLSyclUSMRef memory = needed(DPCTLmalloc_device(sizeof in, queue), "memory");
    void *arguments[] = {memory, &add};
    DPCTLKernelArgType types[] = {DPCTL_VOID_PTR, DPCTL_INT32_T};

    wait_and_delete(DPCTLQueue_Memcpy(queue, memory, in, sizeof in));
    DPCTLSyclEventRef event = needed(
        DPCTLQueue_SubmitRange(kernel, queue, arguments, types, 2, range, 1, NULL, 0), "launch");
    DPCTLEvent_Wait(event);
    int timed = DPCTLEvent_GetProfilingInfoEnd(event) >= DPCTLEvent_GetProfilingInfoStart(event);
    DPCTLEvent_Delete(event);
    wait_and_delete(DPCTLQueue_Memcpy(queue, out, memory, sizeof out));
    for (int i = 0; i < COUNT; i++)
        if (out[i] != i + add) {
            printf("element %d is %d\n", i, out[i]);
            return 1;
        }
    printf("%s %s\n", DPCTLDevice_GetName(device), timed ? "ok" : "has no times");
    DPCTLfree_with_queue(memory, queue);
    DPCTLKernel_Delete(kernel);
    DPCTLKernelBundle_Delete(bundle);
    DPCTLContext_Delete(context);
    DPCTLQueue_Delete(queue);
    DPCTLDevice_Delete(device);
    DPCTLDeviceSelector_Delete(selector);
    return !timed;
}
