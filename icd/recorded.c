/* SPDX-License-Identifier: Apache-2.0
 *
 * Launches of one queue as they are recorded: each with its ND-range and an image of its arguments,
 * which those of the same kernel share while no argument changes. In an image, buffers are numbers
 * of uses, until it is known where they are. What the engine is given is made of that. */
#include "icd.h"

#include "../fpgart/engine/calls.h"

#include <stdatomic.h>
#include <string.h>

void fpgart_begin_record(struct fpgart_launches *launches)
{
    static _Atomic uint64_t last;
    launches->number = atomic_fetch_add(&last, 1) + 1;
    launches->count = launches->kernel_count = launches->use_count = launches->end = 0;
    launches->waits = 0;
    memset(launches->hashed, 0, sizeof launches->hashed);
}

struct fpgart_launched *fpgart_launched_kernel(struct fpgart_launches *launches, uintptr_t handle,
                                               uint64_t serial)
{
    for (uint32_t i = 0; i < launches->kernel_count; i++)
        if (launches->kernels[i].handle == handle && launches->kernels[i].serial == serial)
            return &launches->kernels[i];
    if (launches->kernel_count == FPGART_KERNELS)
        return NULL;
    struct fpgart_launched *made = &launches->kernels[launches->kernel_count++];
    *made = (struct fpgart_launched){.handle = handle, .serial = serial};
    return made;
}

/* The number of a use that equals `use` in buffer and location; FPGART_USES if there is no room. */
static uint32_t number_of_use(struct fpgart_launches *launches, const struct fpgart_use *use)
{
    uint64_t hash = (use->buffer ^ use->location) * UINT64_C(0x9E3779B97F4A7C15);
    uint32_t place = (uint32_t)(hash >> 32) % FPGART_HASHED;
    for (;; place = (place + 1) % FPGART_HASHED) {
        uint32_t number = launches->hashed[place];
        if (number == 0)
            break;
        const struct fpgart_use *found = &launches->uses[number - 1];
        if (found->buffer == use->buffer && found->serial == use->serial &&
            found->location == use->location)
            return number - 1;
    }
    if (launches->use_count == FPGART_USES)
        return FPGART_USES;
    launches->uses[launches->use_count++] = *use;
    launches->hashed[place] = (uint16_t)launches->use_count;
    return launches->use_count - 1;
}

/* Notes that a launch uses an allocation; 0 where it may not, or there is no room. */
static int uses_allocation(struct fpgart_launches *launches, uint64_t context, uintptr_t pointer)
{
    struct fpgart_use use = {.buffer = fpgart_plain_allocation(context, pointer)};
    return use.buffer != 0 && number_of_use(launches, &use) != FPGART_USES;
}

/* `serials`: by argument, of its buffer, or of the context of the allocation that it points into.
 */
int fpgart_record_image(struct fpgart_launches *launches, struct fpgart_launched *kernel,
                        const char *image, const uint64_t *serials, const uint32_t *locations)
{
    if (launches->end + kernel->size > FPGART_IMAGES)
        return 0;
    char *copy = launches->images + launches->end;
    memcpy(copy, image, kernel->size);
    struct argument *arguments = (struct argument *)copy;
    for (uint32_t i = 0; i < kernel->arguments; i++) {
        if (arguments[i].kind == FPGART_IN_ALLOCATION &&
            !uses_allocation(launches, serials[i], arguments[i].value))
            return 0;
        if (arguments[i].kind != ARGUMENT_POINTER)
            continue;
        struct fpgart_use use = {.buffer = arguments[i].value,
                                 .serial = serials[i],
                                 .location = locations[i],
                                 .kernel = (uint32_t)(kernel - launches->kernels),
                                 .index = i};
        arguments[i].value = number_of_use(launches, &use);
        if (arguments[i].value == FPGART_USES)
            return 0;
    }
    kernel->image = launches->end;
    launches->end += kernel->size;
    return 1;
}

/* The numbers of the launches whose events the host holds; those that it has released are free. */
uint32_t fpgart_launch_events(struct fpgart_launches *launches, uint32_t *numbers)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < launches->count; i++) {
        uintptr_t *event = &launches->launches[i].event;
        if (*event != 0 && fpgart_event_is_unborn(*event))
            numbers[count++] = i;
        else if (*event != 0) {
            fpgart_handle_free(*event);
            *event = 0;
        }
    }
    return count;
}

/* Those of some launches are late, and end with `parent`: how many. `events` gets their handles by
 * the numbers of the launches, 0 where the host holds none. */
uint32_t fpgart_launches_late(struct fpgart_launches *launches, uint32_t from, uint32_t to,
                              uintptr_t parent, uintptr_t *events)
{
    uint32_t count = 0;
    for (uint32_t i = from; i < to; i++) {
        uintptr_t event = launches->launches[i].event;
        int is_late = event != 0 && fpgart_event_late(event, parent);
        events[i - from] = is_late ? event : 0;
        count += is_late != 0;
    }
    return count;
}

/* All uses have their addresses: so have the images from now on. */
void fpgart_address_images(struct fpgart_launches *launches)
{
    uint32_t next = 0;
    for (uint32_t i = 0; i < launches->count; i++) {
        const struct fpgart_launch *launch = &launches->launches[i];
        if (launch->image < next)
            continue;
        struct argument *arguments = (struct argument *)(launches->images + launch->image);
        for (uint32_t k = 0; k < launches->kernels[launch->kernel].arguments; k++)
            if (arguments[k].kind == ARGUMENT_POINTER)
                arguments[k].value = launches->uses[arguments[k].value].address;
            else if (arguments[k].kind == FPGART_IN_ALLOCATION)
                arguments[k].kind = ARGUMENT_POINTER;
        next = launch->image + launch->size;
    }
}

uint32_t fpgart_lay_out(struct fpgart_launches *launches, uint32_t from, uint32_t count, char *out)
{
    struct submission *entries = (struct submission *)out;
    size_t end = count * sizeof *entries;
    for (uint32_t k = 0; k < launches->kernel_count; k++)
        launches->kernels[k].laid_out = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct fpgart_launch *launch = &launches->launches[from + i];
        const struct fpgart_nd_range *nd_range = &launch->nd_range;
        struct fpgart_launched *kernel = &launches->kernels[launch->kernel];
        if (kernel->laid_out == 0 || kernel->image != launch->image) {
            memcpy(out + end, launches->images + launch->image, launch->size);
            kernel->image = launch->image;
            kernel->laid_out = end;
            end += launch->size;
        }
        entries[i] = (struct submission){.kernel = launch->kernel,
                                         .image = kernel->laid_out,
                                         .arguments = kernel->arguments,
                                         .dimensions = nd_range->dimensions,
                                         .has_local = nd_range->has_local};
        memcpy(entries[i].sizes, nd_range->sizes, sizeof entries[i].sizes);
        memcpy(entries[i].sizes + 6, nd_range->engine_local, sizeof nd_range->engine_local);
    }
    return (uint32_t)end;
}
