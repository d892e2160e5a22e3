/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernel arguments like one that Python has accepted: a value of the same size, another buffer,
 * any pointer where the kernel accepts any, or one into an allocation. C sets them, and the
 * kernel gets them before its next launch (fpgart/bridge/arguments.py). All other arguments are
 * left to Python. */
#include "argument_calls.h"

#include "allocations.h"
#include "arguments.h"
#include "calls.h"
#include "copies.h"
#include "handles.h"
#include "permissions.h"

#include <CL/cl_ext.h>
#include <stdlib.h>
#include <string.h>

static struct place *place_of(struct fpgart_arguments *arguments, uint32_t index)
{
    return arguments != NULL && index < arguments->count ? &arguments->places[index] : NULL;
}

static void write_fact(struct facts *facts, int what, uint64_t number, uint64_t detail)
{
    switch (what) {
    case FPGART_VALUES:
        facts->size = (uint32_t)number;
        facts->is_structure = (int)detail;
        break;
    case FPGART_LOCAL_SIZES:
        facts->is_local = 1;
        break;
    case FPGART_BUFFERS:
        facts->buffer_context = fpgart_handle_serial(number);
        facts->needs_place = (int)detail;
        break;
    case FPGART_SVM:
        facts->svm_context = fpgart_handle_serial(number);
        break;
    case FPGART_USM:
        facts->usm_context = fpgart_handle_serial(number);
        facts->alignment = detail;
        break;
    }
}

/* Arguments that Python accepts for one kernel are accepted for all kernels of that name. */
void fpgart_accept(uintptr_t kernel, uint32_t index, int what, uint64_t number, uint64_t detail)
{
    struct fpgart_arguments *arguments = fpgart_arguments_of_kernel(kernel);
    struct place *place = place_of(arguments, index);
    if (place == NULL || (what == FPGART_VALUES && number > FPGART_VALUE))
        return;
    struct fpgart_arguments *pattern = arguments->pattern;
    pthread_mutex_lock(&arguments->lock);
    write_fact(&place->facts, what, number, detail);
    const struct facts facts = place->facts;
    pthread_mutex_unlock(&arguments->lock);
    pthread_mutex_lock(&pattern->lock);
    pattern->places[index].facts = facts;
    pthread_mutex_unlock(&pattern->lock);
}

static int passes(const struct facts *facts, uintptr_t buffer)
{
    const struct fpgart_region *region = fpgart_region_of(buffer);
    const struct fpgart_place *place = fpgart_place_of(buffer);
    return facts->buffer_context != 0 && region != NULL && place != NULL &&
           region->context == facts->buffer_context &&
           (!facts->needs_place || atomic_load(&place->epoch) != 0);
}

/* Returns the image, which may be new; NULL without memory. */
static struct argument *image_of(struct fpgart_arguments *arguments)
{
    if (arguments->image == NULL) {
        arguments->size = arguments->count * (uint32_t)sizeof *arguments->image;
        arguments->image = calloc(1, arguments->size);
    }
    return arguments->image;
}

/* Writes an argument that is no value. */
static int put(struct fpgart_arguments *arguments, uint32_t index, struct argument argument,
               uintptr_t buffer)
{
    struct argument *image = image_of(arguments);
    struct place *place = &arguments->places[index];
    if (image == NULL)
        return 0;
    image[index] = argument;
    place->buffer = buffer;
    place->serial = fpgart_handle_serial(buffer);
    return 1;
}

static int put_pointer(struct fpgart_arguments *arguments, uint32_t index, uintptr_t pointer,
                       int in_allocation)
{
    uint32_t kind = in_allocation ? FPGART_IN_ALLOCATION : ARGUMENT_POINTER;
    return put(arguments, index, (struct argument){kind, sizeof pointer, pointer}, 0);
}

static int put_svm(struct fpgart_arguments *arguments, uint32_t index, size_t size,
                   const void *pointer)
{
    uint64_t context = arguments->places[index].facts.svm_context;
    return context != 0 && pointer != NULL &&
           put_pointer(arguments, index, (uintptr_t)pointer,
                       fpgart_is_allocated(context, (uintptr_t)pointer));
}

static int put_usm(struct fpgart_arguments *arguments, uint32_t index, size_t size,
                   const void *pointer)
{
    const struct facts *facts = &arguments->places[index].facts;
    uintptr_t address = (uintptr_t)pointer;
    return facts->usm_context != 0 && address != 0 && address % facts->alignment == 0 &&
           fpgart_is_allocated(facts->usm_context, address) &&
           put_pointer(arguments, index, address, 1);
}

/* Adds room for a value behind the arguments and the other values. NULL without memory. */
static struct argument *add_value(struct fpgart_arguments *arguments, uint32_t index, uint32_t size)
{
    enum { UNIT = 16 };
    uint32_t end = arguments->size, more = (size + UNIT - 1) / UNIT * UNIT;
    struct argument *image = realloc(arguments->image, end + more);
    if (image == NULL)
        return NULL;
    image[index] = (struct argument){ARGUMENT_BYTES, size, end};
    arguments->image = image;
    arguments->size = end + more;
    return image;
}

/* Python does not know whether a structure has that size: its bytes are read only if the host's
 * memory has all of them. */
static int put_value(struct fpgart_arguments *arguments, uint32_t index, uint32_t size,
                     const void *value)
{
    enum { PAGE = 4096 };
    char copy[FPGART_VALUE];
    if (arguments->places[index].facts.is_structure && (uintptr_t)value % PAGE + size > PAGE) {
        if (!copy_if_readable((uintptr_t)copy, (uintptr_t)value, size))
            return 0;
        value = copy;
    }
    struct argument *image = image_of(arguments);
    if (image != NULL && (image[index].kind != ARGUMENT_BYTES || image[index].size != size))
        image = add_value(arguments, index, size);
    if (image == NULL)
        return 0;
    memcpy((char *)image + image[index].value, value, size);
    return 1;
}

/* Writes a size of local memory, or NULL instead of a buffer. */
static int put_nothing(struct fpgart_arguments *arguments, uint32_t index, size_t size)
{
    const struct facts *facts = &arguments->places[index].facts;
    if (facts->is_local)
        return size != 0 && size <= UINT32_MAX &&
               put(arguments, index, (struct argument){ARGUMENT_LOCAL, (uint32_t)size, 0}, 0);
    return size == sizeof(cl_mem) && facts->buffer_context != 0 &&
           put(arguments, index, (struct argument){ARGUMENT_NULL, sizeof(cl_mem), 0}, 0);
}

static int put_any(struct fpgart_arguments *arguments, uint32_t index, size_t size,
                   const void *value)
{
    const struct facts *facts = &arguments->places[index].facts;
    uintptr_t buffer;
    if (value == NULL)
        return put_nothing(arguments, index, size);
    if (facts->size != 0)
        return size == facts->size && put_value(arguments, index, (uint32_t)size, value);
    if (size != sizeof buffer)
        return 0;
    memcpy(&buffer, value, sizeof buffer);
    if (buffer == 0)
        return !facts->is_local && put_nothing(arguments, index, size);
    if (!passes(facts, buffer))
        return put_usm(arguments, index, size, (const void *)buffer); /* as the SYCL runtime does */
    return put(arguments, index, (struct argument){ARGUMENT_POINTER, sizeof buffer, buffer},
               buffer);
}

/* Makes all boards' facts about the kernel void, so that Python lays its next launch out. */
static void withdraw(struct fpgart_arguments *arguments)
{
    memset(arguments->known, 0, sizeof arguments->known);
}

typedef int (*putter)(struct fpgart_arguments *arguments, uint32_t index, size_t size,
                      const void *value);

static int sets(const void *kernel, cl_uint index, size_t size, const void *value, putter put_it)
{
    struct fpgart_arguments *arguments = fpgart_arguments_of_kernel((uintptr_t)kernel);
    struct place *place = place_of(arguments, index);
    if (place == NULL || !fpgart_may_answer())
        return 0;
    pthread_mutex_lock(&arguments->lock);
    int done = put_it(arguments, index, size, value);
    if (done) {
        atomic_fetch_add(&arguments->unheard, !place->is_unheard);
        arguments->missing -= (uint32_t)place->is_missing;
        place->is_unheard = 1;
        place->is_missing = 0;
    }
    pthread_mutex_unlock(&arguments->lock);
    return done;
}

int fpgart_sets_argument(const void *kernel, cl_uint index, size_t size, const void *value)
{
    return sets(kernel, index, size, value, put_any);
}

int fpgart_sets_svm_pointer(const void *kernel, cl_uint index, const void *pointer)
{
    return sets(kernel, index, sizeof pointer, pointer, put_svm);
}

int fpgart_sets_usm_pointer(const void *kernel, cl_uint index, const void *pointer)
{
    return sets(kernel, index, sizeof pointer, pointer, put_usm);
}

/* The lock is held. */
static void take(struct fpgart_arguments *arguments, uint32_t index, struct fpgart_argument *taken,
                 char *value)
{
    const struct argument *set = &arguments->image[index];
    struct place *place = &arguments->places[index];
    *taken = (struct fpgart_argument){index, set->kind, set->size, 0, place->buffer, place->serial};
    if (set->kind == ARGUMENT_BYTES)
        memcpy(value, (const char *)arguments->image + set->value, set->size);
    else
        taken->pointer = set->value;
    place->is_unheard = 0;
    atomic_fetch_sub(&arguments->unheard, 1);
}

int fpgart_take_argument(uintptr_t kernel, struct fpgart_argument *taken, char *value)
{
    struct fpgart_arguments *arguments = fpgart_arguments_of_kernel(kernel);
    uint32_t i = 0;
    if (arguments == NULL)
        return 0;
    pthread_mutex_lock(&arguments->lock);
    while (i < arguments->count && !arguments->places[i].is_unheard)
        i++;
    int is_found = i < arguments->count;
    if (is_found)
        take(arguments, i, taken, value);
    pthread_mutex_unlock(&arguments->lock);
    return is_found;
}

/* Python has set the argument, and will pass facts about the kernel again. */
void fpgart_argument_changed(uintptr_t kernel, uint32_t index)
{
    struct fpgart_arguments *arguments = fpgart_arguments_of_kernel(kernel);
    struct place *place = place_of(arguments, index);
    if (place == NULL)
        return;
    pthread_mutex_lock(&arguments->lock);
    arguments->missing += !place->is_missing;
    place->is_missing = 1;
    withdraw(arguments);
    pthread_mutex_unlock(&arguments->lock);
}

void fpgart_kernel_reaches(uintptr_t kernel, uint64_t kinds)
{
    struct fpgart_arguments *arguments = fpgart_arguments_of_kernel(kernel);
    if (arguments == NULL)
        return;
    pthread_mutex_lock(&arguments->lock);
    arguments->reaches = kinds;
    withdraw(arguments);
    pthread_mutex_unlock(&arguments->lock);
}

/* Returns 1 if the value changes nothing, as a list of SVM pointers does for a kernel that accepts
 * any SVM pointer as an argument. The lock is held. */
static int has_exec_info(const struct fpgart_arguments *arguments, cl_kernel_exec_info name,
                         size_t size, const void *value)
{
    cl_bool flag;
    if (name == CL_KERNEL_EXEC_INFO_SVM_PTRS && size != 0 && size % sizeof(void *) == 0)
        for (uint32_t i = 0; i < arguments->count; i++)
            if (arguments->places[i].facts.svm_context != 0)
                return 1;
    if (name < CL_KERNEL_EXEC_INFO_INDIRECT_HOST_ACCESS_INTEL ||
        name > CL_KERNEL_EXEC_INFO_INDIRECT_SHARED_ACCESS_INTEL || size != sizeof flag)
        return 0;
    memcpy(&flag, value, sizeof flag);
    return (arguments->reaches >> (name - CL_KERNEL_EXEC_INFO_INDIRECT_HOST_ACCESS_INTEL) & 1) ==
           (flag != 0);
}

int fpgart_keeps_exec_info(const void *kernel, cl_kernel_exec_info name, size_t size,
                           const void *value)
{
    struct fpgart_arguments *arguments = fpgart_arguments_of_kernel((uintptr_t)kernel);
    if (arguments == NULL || value == NULL || !fpgart_may_answer())
        return 0;
    pthread_mutex_lock(&arguments->lock);
    int keeps = has_exec_info(arguments, name, size, value);
    pthread_mutex_unlock(&arguments->lock);
    return keeps;
}
