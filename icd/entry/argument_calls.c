/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernel arguments like one that Python has accepted: a value of the same size, another buffer,
 * any pointer where the kernel accepts any, or one into an allocation. C sets them, and the
 * kernel gets them before its next launch (fpgart/bridge/arguments.py). All other arguments are
 * left to Python. */
#include "argument_calls.h"

#include "allocations.h"
#include "arguments.h"
#include "blocks.h"
#include "handles.h"
#include "interpreter.h"
#include "permissions.h"

#include <CL/cl_ext.h>
#include <string.h>

static struct place *place_of(struct fpgart_arguments *arguments, uint32_t index)
{
    return arguments != NULL && index < arguments->count ? &arguments->places[index] : NULL;
}

/* Arguments that Python accepts for one kernel are accepted for all kernels of that name. */
static void share(struct fpgart_arguments *arguments, uint32_t index, const struct facts *facts)
{
    if (arguments == NULL)
        return;
    struct fpgart_arguments *pattern = arguments->pattern;
    pthread_mutex_lock(&arguments->lock);
    arguments->places[index].facts = *facts;
    pthread_mutex_unlock(&arguments->lock);
    pthread_mutex_lock(&pattern->lock);
    pattern->places[index].facts = *facts;
    pthread_mutex_unlock(&pattern->lock);
}

/* Copies the facts about an argument. Returns NULL if the kernel has no such argument. */
static struct fpgart_arguments *read_facts(uintptr_t kernel, uint32_t index, struct facts *facts)
{
    struct fpgart_arguments *arguments = fpgart_arguments_of_kernel(kernel);
    const struct place *place = place_of(arguments, index);
    if (place == NULL)
        return NULL;
    pthread_mutex_lock(&arguments->lock);
    *facts = place->facts;
    pthread_mutex_unlock(&arguments->lock);
    return arguments;
}

void fpgart_accept_values(uintptr_t kernel, uint32_t index, size_t size, int is_structure)
{
    struct facts facts = {0};
    struct fpgart_arguments *arguments = read_facts(kernel, index, &facts);
    facts.size = (uint32_t)size;
    facts.is_structure = is_structure;
    if (size <= FPGART_VALUE)
        share(arguments, index, &facts);
}

void fpgart_accept_local_sizes(uintptr_t kernel, uint32_t index)
{
    struct facts facts = {0};
    struct fpgart_arguments *arguments = read_facts(kernel, index, &facts);
    facts.is_local = 1;
    share(arguments, index, &facts);
}

void fpgart_accept_buffers(uintptr_t kernel, uint32_t index, uintptr_t context, int needs_place)
{
    struct facts facts = {0};
    struct fpgart_arguments *arguments = read_facts(kernel, index, &facts);
    facts.buffer_context = fpgart_handle_serial(context);
    facts.needs_place = needs_place;
    share(arguments, index, &facts);
}

void fpgart_accept_svm_pointers(uintptr_t kernel, uint32_t index, uintptr_t context)
{
    struct facts facts = {0};
    struct fpgart_arguments *arguments = read_facts(kernel, index, &facts);
    facts.svm_context = fpgart_handle_serial(context);
    share(arguments, index, &facts);
}

void fpgart_accept_usm_pointers(uintptr_t kernel, uint32_t index, uintptr_t context,
                                size_t alignment)
{
    struct facts facts = {0};
    struct fpgart_arguments *arguments = read_facts(kernel, index, &facts);
    facts.usm_context = fpgart_handle_serial(context);
    facts.alignment = alignment;
    if (alignment != 0)
        share(arguments, index, &facts);
}

static int passes(const struct facts *facts, uintptr_t buffer)
{
    const struct fpgart_region *region = fpgart_region_of(buffer);
    const struct fpgart_place *place = fpgart_place_of(buffer);
    return facts->buffer_context != 0 && region != NULL && place != NULL &&
           region->context == facts->buffer_context &&
           (!facts->needs_place || atomic_load(&place->epoch) != 0);
}

static int put_svm(struct place *place, uint32_t index, size_t size, const void *pointer)
{
    uint64_t context = place->facts.svm_context;
    if (context == 0 || pointer == NULL)
        return 0;
    place->set = (struct fpgart_argument){.index = index, .pointer = (uintptr_t)pointer};
    place->in_allocation = fpgart_is_allocated(context, (uintptr_t)pointer);
    return 1;
}

static int put_usm(struct place *place, uint32_t index, size_t size, const void *pointer)
{
    uintptr_t address = (uintptr_t)pointer;
    const struct facts *facts = &place->facts;
    if (facts->usm_context == 0 || address == 0 || address % facts->alignment != 0 ||
        !fpgart_is_allocated(facts->usm_context, address))
        return 0;
    place->set = (struct fpgart_argument){.index = index, .pointer = address};
    place->in_allocation = 1;
    return 1;
}

/* Returns 1 if the host's memory cannot end within a value that begins in it. */
static int is_in_page(const void *value, size_t size)
{
    enum { PAGE = 4096 };
    return (uintptr_t)value % PAGE + size <= PAGE;
}

static int put_null(struct place *place, uint32_t index)
{
    if (place->facts.buffer_context == 0)
        return 0;
    place->set = (struct fpgart_argument){.index = index, .is_null = 1};
    place->buffer = 0;
    return 1;
}

static int put(struct place *place, uint32_t index, size_t size, const void *value)
{
    struct fpgart_argument *set = &place->set;
    if (value == NULL) {
        if (!place->facts.is_local)
            return size == sizeof(cl_mem) ? put_null(place, index) : 0;
        if (size == 0 || size > UINT32_MAX)
            return 0;
        *set = (struct fpgart_argument){.index = index, .size = (uint32_t)size, .is_local = 1};
        return 1;
    }
    if (place->facts.size != 0) {
        if (size != place->facts.size || (place->facts.is_structure && !is_in_page(value, size)))
            return 0;
        *set = (struct fpgart_argument){.index = index, .size = (uint32_t)size, .buffer = 0};
        memcpy(set->value, value, size);
        return 1;
    }
    uintptr_t buffer;
    if (size != sizeof buffer)
        return 0;
    memcpy(&buffer, value, sizeof buffer);
    if (buffer == 0)
        return put_null(place, index);
    uint64_t serial = fpgart_handle_serial(buffer);
    if (!passes(&place->facts, buffer))
        return put_usm(place, index, size, (const void *)buffer); /* as the SYCL runtime does */
    *set = (struct fpgart_argument){.index = index, .buffer = buffer, .serial = serial};
    place->buffer = buffer;
    place->serial = serial;
    return 1;
}

/* Makes all boards' facts about the kernel void, so that Python lays its next launch out. */
static void withdraw(struct fpgart_arguments *arguments)
{
    memset(arguments->known, 0, sizeof arguments->known);
}

typedef int (*putter)(struct place *place, uint32_t index, size_t size, const void *value);

static int sets(const void *kernel, cl_uint index, size_t size, const void *value, putter put)
{
    struct fpgart_arguments *arguments = fpgart_arguments_of_kernel((uintptr_t)kernel);
    struct place *place = place_of(arguments, index);
    if (place == NULL || fpgart_watched() || fpgart_state != FPGART_RUNNING)
        return 0;
    pthread_mutex_lock(&arguments->lock);
    int done = put(place, index, size, value);
    if (done) {
        atomic_fetch_or(&arguments->unheard, UINT64_C(1) << index);
        arguments->pending |= UINT64_C(1) << index;
        arguments->in_c |= UINT64_C(1) << index;
    }
    if (done && place->set.pointer != 0)
        place->buffer = 0;
    pthread_mutex_unlock(&arguments->lock);
    return done;
}

int fpgart_sets_argument(const void *kernel, cl_uint index, size_t size, const void *value)
{
    return sets(kernel, index, size, value, put);
}

int fpgart_sets_svm_pointer(const void *kernel, cl_uint index, const void *pointer)
{
    return sets(kernel, index, sizeof pointer, pointer, put_svm);
}

int fpgart_sets_usm_pointer(const void *kernel, cl_uint index, const void *pointer)
{
    return sets(kernel, index, sizeof pointer, pointer, put_usm);
}

uint32_t fpgart_take_arguments(uintptr_t kernel, struct fpgart_argument *taken)
{
    struct fpgart_arguments *arguments = fpgart_arguments_of_kernel(kernel);
    uint32_t count = 0;
    if (arguments == NULL)
        return 0;
    pthread_mutex_lock(&arguments->lock);
    uint64_t unheard = atomic_exchange(&arguments->unheard, 0);
    for (uint32_t i = 0; unheard != 0; i++, unheard >>= 1)
        if (unheard & 1)
            taken[count++] = arguments->places[i].set;
    pthread_mutex_unlock(&arguments->lock);
    return count;
}

/* Python has set the argument, and will pass facts about the kernel again. */
void fpgart_argument_changed(uintptr_t kernel, uint32_t index)
{
    struct fpgart_arguments *arguments = fpgart_arguments_of_kernel(kernel);
    if (place_of(arguments, index) == NULL)
        return;
    pthread_mutex_lock(&arguments->lock);
    arguments->pending &= ~(UINT64_C(1) << index);
    arguments->in_c &= ~(UINT64_C(1) << index);
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
    if (arguments == NULL || value == NULL || fpgart_watched() || fpgart_state != FPGART_RUNNING)
        return 0;
    pthread_mutex_lock(&arguments->lock);
    int keeps = has_exec_info(arguments, name, size, value);
    pthread_mutex_unlock(&arguments->lock);
    return keeps;
}
