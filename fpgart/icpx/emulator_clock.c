/* SPDX-License-Identifier: Apache-2.0
 *
 * Part of each program that icpx links. The SYCL runtime asks a device for its time when a command
 * is submitted to a queue with profiling, and ends the program where there is none. OpenCL 1.2,
 * which Intel's emulator has, offers none; the times of its events are those of the host's
 * monotonic clock. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

enum { SUCCESS = 0, UNSUPPORTED_FEATURE = 44 };

typedef int (*get_timestamps)(void *, uint64_t *, uint64_t *);

/* In the place of the function of the same name in libur_loader.so, which is called first. */
__attribute__((visibility("default"))) int
urDeviceGetGlobalTimestamps(void *device, uint64_t *device_time, uint64_t *host_time)
{
    void *symbol = dlsym(RTLD_NEXT, "urDeviceGetGlobalTimestamps");
    get_timestamps next = NULL;
    memcpy(&next, &symbol, sizeof next);
    int result = next != NULL ? next(device, device_time, host_time) : UNSUPPORTED_FEATURE;
    if (result != UNSUPPORTED_FEATURE)
        return result;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    uint64_t ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
    if (device_time != NULL)
        *device_time = ns;
    if (host_time != NULL)
        *host_time = ns;
    return SUCCESS;
}
