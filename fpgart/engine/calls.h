/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <CL/cl_icd.h>

#include <stddef.h>
#include <stdint.h>
/* cffi */
/* A kernel argument of a launch: unset ones keep their value in the driver's kernel. */
enum argument_kind { ARGUMENT_BYTES, ARGUMENT_POINTER, ARGUMENT_LOCAL, ARGUMENT_NULL };
struct argument {
    uint32_t kind;
    uint32_t size;  /* bytes of the value, or of local memory */
    uint64_t value; /* BYTES: offset of the value from the first argument; POINTER: the address */
};
/* Opens a driver by its own clIcdGetPlatformIDsKHR, never through a loader. 0 and words on failure.
 */
uintptr_t driver_open(const char *path, char *words, size_t words_size);
int driver_is_open(const char *path);
int32_t driver_platforms(uintptr_t library, uint32_t count, uintptr_t *platforms, uint32_t *found);
/* Returns the address of an API function in the dispatch table of one of the driver's objects. */
uintptr_t driver_function(uintptr_t object, const char *name);
/* Returns the address of an extension's function, 0 if the platform does not offer it. */
uintptr_t driver_extension_function(uintptr_t platform, const char *name);
/* Links once more, and keeps the log of the failure. PoCL destroys a program that does not link
 * before it returns; its log exists during the callback. */
void driver_link_log(uintptr_t context, uintptr_t device, const char *options, uint32_t count,
                     const uintptr_t *programs, char *log, size_t room);
/* Sets all arguments and enqueues, atomically between threads, then waits. `sizes` contains
 * offset, global and local size, three 64-bit numbers each. The status is in the low half of the
 * result; the high half is its origin: -1 the enqueue, -2 the wait, else the argument's index.
 * `before`: NULL, or, for the first launch of a kernel, in a queue with profiling, the nanoseconds
 * from the enqueue to the begin of the kernel, in which drivers compile; 0 if the driver does not
 * report it. */
int64_t driver_launch(uintptr_t queue, uintptr_t kernel, uint32_t arguments, const char *image,
                      uint32_t dimensions, const char *sizes, int has_local, uint64_t *before);
/* Does as driver_launch, but waits for the event of the launch. `polls`: asks for its status again
 * and again, because the kernel may wait for others (calls.c). */
int64_t driver_launch_by_event(uintptr_t queue, uintptr_t kernel, uint32_t arguments,
                               const char *image, uint32_t dimensions, const char *sizes,
                               int has_local, int polls);
/* Sets one argument to test it, in no launch of another thread. */
int32_t driver_try_argument(uintptr_t kernel, uint32_t index, size_t size, const char *value);
/* Does as driver_launch, for a kernel object that no other thread uses. */
int64_t driver_launch_alone(uintptr_t queue, uintptr_t kernel, uint32_t arguments,
                            const char *image, uint32_t dimensions, const char *sizes,
                            int has_local);
/* cffi */
/* Sets all arguments and enqueues behind `waits` events; otherwise as driver_launch. */
int64_t driver_enqueue(uintptr_t queue, uintptr_t kernel, uint32_t arguments, const char *image,
                       uint32_t dimensions, const char *sizes, int has_local, uint32_t waits,
                       const uintptr_t *after, uintptr_t *event);
/* Returns the execution status of an event, or the error of the query. */
int32_t driver_event_status(void *event);
/* Returns the functions of the driver that an object belongs to. */
static inline const struct _cl_icd_dispatch *driver_of(const void *object)
{
    return *(const struct _cl_icd_dispatch *const *)object;
}
/* What driver_launch takes. */
struct driver_launch {
    uintptr_t queue, kernel;
    uint32_t arguments, dimensions;
    const char *image, *sizes;
    int has_local;
};
/* Does as driver_launch_alone with a struct driver_launch, without a wide stack (stacks.h). */
int64_t driver_launch_here(const void *launch);
