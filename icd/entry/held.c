/* SPDX-License-Identifier: Apache-2.0
 *
 * The data behind an operation. */
#include "held.h"

#include "handles.h"

const struct held *fpgart_held_by(const struct carried *carried)
{
    return (const struct held *)((const char *)carried + (uintptr_t)carried->data);
}

void fpgart_count_command(const struct held *held)
{
    if (held->kernel != 0)
        atomic_fetch_add(&held->board->launches, 1);
    if (held->calls != 0)
        board_memory_count(held->board->memory, held->traffic, held->calls, held->bytes);
}

static void let_go(const struct held *held, void (*unhold)(uintptr_t handle, int kind))
{
    for (uint32_t i = 0; i < held->buffers; i++)
        unhold(held->uses[i].buffer, FPGART_MEM);
    if (held->kernel != 0)
        unhold(held->kernel, FPGART_KERNEL);
    unhold(held->queue, FPGART_QUEUE);
}

void fpgart_let_go_of(const struct held *held)
{
    let_go(held, fpgart_unhold);
}

void fpgart_let_go_later(const struct held *held)
{
    let_go(held, fpgart_unhold_later);
}
