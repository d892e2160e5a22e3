/* SPDX-License-Identifier: Apache-2.0
 *
 * Lays launches out: what Python has found out about a kernel on a board, and the arguments that C
 * has set since, become the operation that the engine gets. The call is left to Python if a fact is
 * missing. */
#include "layout.h"

#include "allocations.h"
#include "arguments.h"
#include "blocks.h"
#include "calls.h"
#include "carrier.h"
#include "handles.h"
#include "held.h"

#include <stdlib.h>
#include <string.h>

/* Replaces the image of the kernel's arguments. */
static int keep_image(struct fpgart_arguments *arguments, const char *image, uint32_t size,
                      const uint32_t *locations)
{
    struct argument *kept = realloc(arguments->image, size + 1); /* the size may be 0 */
    if (kept == NULL)
        return 0;
    memcpy(kept, image, size);
    arguments->image = kept;
    arguments->size = size;
    arguments->missing = 0;
    for (uint32_t i = 0; i < arguments->count; i++) {
        struct place *place = &arguments->places[i];
        int is_buffer = kept[i].kind == ARGUMENT_POINTER && fpgart_is_handle(kept[i].value);
        place->facts.location = locations[i];
        place->buffer = is_buffer ? kept[i].value : 0;
        place->serial = fpgart_handle_serial(place->buffer);
        place->is_missing = 0;
    }
    return 1;
}

static void keep_known(struct fpgart_arguments *arguments, const struct known *made,
                       const char *image, uint32_t size, const uint32_t *locations)
{
    pthread_mutex_lock(&arguments->lock);
    struct known *place = NULL;
    for (uint32_t i = 0; i < FPGART_KNOWN; i++)
        if (arguments->known[i].board == made->board)
            place = &arguments->known[i];
    if (place == NULL)
        place = &arguments->known[arguments->next++ % FPGART_KNOWN];
    if (keep_image(arguments, image, size, locations))
        *place = *made;
    pthread_mutex_unlock(&arguments->lock);
}

/* `limits`: the required local size, the largest group in work-items and by dimension, the
 * local memory for arguments; then the program. */
void fpgart_kernel_is(uintptr_t kernel, uintptr_t board, uint64_t epoch, uintptr_t engine_kernel,
                      const char *image, uint32_t size, const uint32_t *locations,
                      const uint64_t *limits)
{
    struct fpgart_arguments *arguments = fpgart_arguments_of_kernel(kernel);
    if (arguments == NULL)
        return;
    struct known made = {.board = (const struct fpgart_board *)board,
                         .epoch = epoch,
                         .engine_kernel = engine_kernel,
                         .most = limits[3]};
    memcpy(made.required, limits, sizeof made.required);
    memcpy(made.limits, limits + 4, sizeof made.limits);
    made.local_room = limits[7];
    memcpy(&made.program, limits + 8, sizeof made.program);
    keep_known(arguments, &made, image, size, locations);
    keep_known(arguments->pattern, &made, image, size, locations);
}

static const struct known *known_on(const struct fpgart_arguments *arguments,
                                    const struct fpgart_board *board, uint64_t epoch)
{
    for (uint32_t i = 0; i < FPGART_KNOWN; i++)
        if (arguments->known[i].board == board && arguments->known[i].epoch == epoch)
            return &arguments->known[i];
    return NULL;
}

/* Returns 1 if the specification and the engine allow the sizes; else the call is left to
 * Python. */
static int takes(const struct known *known, const struct fpgart_nd_range *nd_range,
                 struct carried *carried)
{
    const uint64_t *offset = nd_range->sizes, *global = offset + 3, *local = global + 3;
    uint64_t items = 1;
    int is_required = known->required[0] != 0;
    carried->has_local = nd_range->has_local || is_required;
    carried->dimensions = nd_range->dimensions;
    memcpy(carried->sizes, nd_range->sizes, sizeof nd_range->sizes);
    for (uint32_t i = 0; i < 3; i++) {
        int is_used = i < nd_range->dimensions;
        uint64_t size = nd_range->has_local      ? local[i]
                        : is_required && is_used ? known->required[i]
                                                 : 1;
        if (global[i] > (uint64_t)INT64_MAX || offset[i] > UINT64_MAX - global[i] || size == 0 ||
            size > known->limits[i] || global[i] % size != 0 ||
            (is_required && size != known->required[i]))
            return 0;
        items *= size;
        carried->sizes[6 + i] = size;
    }
    return items <= known->most;
}

/* Returns the engine's address for a pointer argument; 0 leaves the call to Python. A buffer
 * is held from then on. */
static uintptr_t address_of(const struct place *place, const struct argument *argument,
                            const struct fpgart_carried_queue *queue, uint64_t epoch, uint64_t at,
                            struct held *held)
{
    if (argument->kind == FPGART_IN_ALLOCATION) {
        const struct facts *facts = &place->facts;
        uint64_t context = facts->usm_context != 0 ? facts->usm_context : facts->svm_context;
        return fpgart_plain_allocation(context, argument->value) != 0 ? argument->value : 0;
    }
    if (place->buffer == 0)
        return argument->value;
    if (held->buffers == FPGART_USES || !fpgart_hold_same(place->buffer, FPGART_MEM, place->serial))
        return 0;
    held->uses[held->buffers++] = (struct fpgart_use){place->buffer, at};
    struct fpgart_place found;
    int is_known = fpgart_place_in(place->buffer, queue, epoch, place->facts.location, &found);
    return is_known ? found.address : 0;
}

/* Lays the arguments out. The lock is held. */
static int lay_out(struct fpgart_arguments *arguments, const struct fpgart_carried_queue *queue,
                   uint64_t epoch, uint64_t local_room, struct carried *carried, size_t room,
                   struct held *held)
{
    if (arguments->image == NULL || arguments->size > room || arguments->missing != 0)
        return 0;
    struct argument *laid_out = (struct argument *)carried->more;
    uint64_t local = 0;
    memcpy(carried->more, arguments->image, arguments->size);
    for (uint32_t i = 0; i < arguments->count; i++) {
        local += laid_out[i].kind == ARGUMENT_LOCAL ? laid_out[i].size : 0;
        if (laid_out[i].kind != ARGUMENT_POINTER && laid_out[i].kind != FPGART_IN_ALLOCATION)
            continue;
        laid_out[i].value = address_of(&arguments->places[i], &laid_out[i], queue, epoch, i, held);
        laid_out[i].kind = ARGUMENT_POINTER;
        if (laid_out[i].value == 0)
            return 0;
    }
    carried->count = arguments->count;
    return local <= local_room ? (int)arguments->size + 1 : 0;
}

/* Returns the size of the image plus 1; 0 leaves the call to Python. */
int fpgart_lay_out_launch(struct held *held, const struct fpgart_carried_queue *queue,
                          const struct fpgart_nd_range *nd_range, uint64_t epoch,
                          struct carried *carried, size_t room)
{
    struct fpgart_arguments *arguments = fpgart_arguments_of_kernel(held->kernel);
    int size = 0;
    if (arguments == NULL)
        return 0;
    pthread_mutex_lock(&arguments->lock);
    const struct known *known = known_on(arguments, queue->board, epoch);
    if (known != NULL && takes(known, nd_range, carried)) {
        carried->kind = CARRIED_LAUNCH;
        carried->kernel = known->engine_kernel;
        held->program = known->program;
        held->reaches = arguments->reaches;
        size = lay_out(arguments, queue, epoch, known->local_room, carried, room, held);
    }
    pthread_mutex_unlock(&arguments->lock);
    return size;
}

bool fpgart_renew_launch(const struct held *held, const struct fpgart_carried_queue *queue,
                         uint64_t epoch, struct carried *carried)
{
    struct fpgart_arguments *arguments = fpgart_arguments_of_kernel(held->kernel);
    struct argument *laid_out = (struct argument *)carried->more;
    if (arguments == NULL)
        return false;
    pthread_mutex_lock(&arguments->lock);
    const struct known *known = known_on(arguments, queue->board, epoch);
    bool is_known = known != NULL && known->engine_kernel == carried->kernel;
    for (uint32_t i = 0; i < held->buffers && is_known; i++) {
        const struct fpgart_use *use = &held->uses[i];
        struct fpgart_place place;
        uint32_t location = arguments->places[use->at].facts.location;
        is_known = fpgart_place_in(use->buffer, queue, epoch, location, &place);
        if (is_known)
            laid_out[use->at].value = place.address;
    }
    pthread_mutex_unlock(&arguments->lock);
    return is_known;
}

static void holds(struct fpgart_arguments *arguments, const struct fpgart_board *board,
                  uint64_t epoch)
{
    pthread_mutex_lock(&arguments->lock);
    for (uint32_t i = 0; i < FPGART_KNOWN; i++)
        if (arguments->known[i].board == board)
            arguments->known[i].epoch = epoch;
    pthread_mutex_unlock(&arguments->lock);
}

void fpgart_kernel_holds(uintptr_t kernel, uintptr_t board, uint64_t epoch)
{
    struct fpgart_arguments *arguments = fpgart_arguments_of_kernel(kernel);
    if (arguments == NULL)
        return;
    holds(arguments, (const struct fpgart_board *)board, epoch);
    holds(arguments->pattern, (const struct fpgart_board *)board, epoch);
}
