/* SPDX-License-Identifier: Apache-2.0
 *
 * What the other files keep for an object, as the object and its slot end (handles.c). */
#include "objects.h"

#include "allocations.h"
#include "arguments.h"
#include "blocks.h"
#include "boards.h"
#include "handles.h"
#include "kernels.h"
#include "mappings.h"
#include "remembered.h"

fpgart_answers *fpgart_shared_answers(struct fpgart_contents *contents)
{
    return fpgart_kernel_answers(&contents->arguments);
}

void fpgart_object_ends(struct fpgart_contents *contents, int kind, uint64_t serial)
{
    fpgart_queue_free(atomic_exchange(&contents->carried, NULL));
    if (kind == FPGART_CONTEXT)
        fpgart_allocations_go(serial);
    if (kind == FPGART_PROGRAM)
        fpgart_kernels_free(&contents->kernels);
    if (kind == FPGART_MEM) {
        fpgart_mappings_free(&contents->mappings);
        fpgart_block_free(&contents->block);
    }
}

void fpgart_child_ends(uintptr_t parent, int kind, uint32_t mapped)
{
    if (kind == FPGART_KERNEL)
        fpgart_kernel_goes(parent);
    if (mapped != 0 && fpgart_handle_kind(parent) == FPGART_MEM)
        fpgart_forget_mappings(parent, mapped);
}

void fpgart_slot_begins(struct fpgart_contents *contents)
{
    fpgart_forget(&contents->answers);
    fpgart_arguments_release(atomic_exchange(&contents->arguments, NULL));
    atomic_store(&contents->place.epoch, 0);
    for (int i = 0; i < FPGART_SLOTS; i++)
        atomic_store_explicit(&contents->boards[i], NULL, memory_order_relaxed);
    contents->region.context = 0;
}

int fpgart_view(uintptr_t handle, struct fpgart_unseen *found)
{
    struct fpgart_contents *contents = fpgart_begin_view(handle, &found->parent);
    cl_command_type type = 0;
    uintptr_t parent;
    if (contents == NULL)
        return 0;
    found->kind = (uint32_t)fpgart_handle_kind(handle);
    found->command = (uintptr_t)fpgart_command_of(handle, &type, &parent);
    found->type = type;
    found->name = fpgart_name_of(&contents->arguments);
    found->flags = contents->region.flags;
    found->origin = contents->region.origin;
    found->size = contents->region.size;
    struct fpgart_block block = fpgart_take_block(&contents->block);
    found->device = block.board != NULL ? block.board->handle : 0;
    found->block = block.address;
    found->host = contents->region.host;
    found->store = block.store;
    const struct fpgart_carried_queue *queue = atomic_load(&contents->carried);
    if (queue != NULL) {
        found->core = (uintptr_t)queue->core;
        found->device = queue->board->handle;
        found->flags = queue->properties;
        found->has_list = (uint32_t)queue->has_list;
    }
    return 1;
}
