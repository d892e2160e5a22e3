/* SPDX-License-Identifier: Apache-2.0
 *
 * Commands that move or fill bytes, once their addresses are known. */
#include "moves.h"

#include "commands.h"
#include "core.h"
#include "held.h"

#include <string.h>

enum { FILL_CALL = 1 << 20 }; /* the most bytes that a fill writes with one call of the board */

void fpgart_count_traffic(struct command *command, uint32_t row, uint64_t calls, uint64_t bytes)
{
    command->held.traffic = row;
    command->held.calls = calls;
    command->held.bytes = bytes;
}

/* Copies on this thread if the host wants no event, without a queue of the engine. */
static int carry_directly(struct command *command)
{
    struct carried *carried = command->carried;
    struct core_queue *queue = command->queue->core;
    carried->data = (void *)((const char *)&command->held - (const char *)carried);
    if (!core_finishes_alone(queue))
        return 0;
    if ((command->queue->properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) == 0)
        core_finish(queue);
    if (!core_begin_directly(queue, command->epoch, carried))
        return 0;
    command->queue->board->carrier->move(carried);
    fpgart_count_command(&command->held);
    core_end_directly(queue);
    fpgart_let_go_of(&command->held);
    return 1;
}

/* Moves the box of bytes whose size is in the operation. */
int fpgart_move(struct command *command, uintptr_t from, uintptr_t to)
{
    const struct call *call = command->call;
    command->carried->kind = CARRIED_MOVE;
    command->carried->from = from;
    command->carried->to = to;
    if (call->is_blocking && call->waits == 0 && call->event == NULL && carry_directly(command))
        return 1;
    return fpgart_enqueue_command(command, CORE_WORK, 0);
}

int fpgart_move_bytes(struct command *command, uintptr_t from, uintptr_t to, size_t size)
{
    command->carried->size[0] = size;
    command->carried->size[1] = command->carried->size[2] = 1;
    return fpgart_move(command, from, to);
}

int fpgart_do_nothing(struct command *command)
{
    const struct call *call = command->call;
    if (call->waits != 0 || call->event != NULL || call->is_blocking)
        return fpgart_move_bytes(command, 0, 0, 0);
    fpgart_give_up(command);
    return 1;
}

int fpgart_is_pattern(const struct call *call, size_t begin)
{
    size_t size = call->pattern;
    return call->host != NULL && size != 0 && size <= 128 && (size & (size - 1)) == 0 &&
           begin % size == 0 && call->size % size == 0;
}

int fpgart_fill(struct command *command, uintptr_t to)
{
    const struct call *call = command->call;
    command->carried->kind = CARRIED_FILL;
    command->carried->to = to;
    command->carried->size[0] = call->size;
    command->carried->count = (uint32_t)call->pattern;
    memcpy(command->carried->more, call->host, call->pattern);
    return fpgart_enqueue_command(command, CORE_WORK, call->pattern);
}

uint64_t fpgart_fill_calls(size_t size)
{
    return (size + FILL_CALL - 1) / FILL_CALL;
}

int fpgart_are_migration_flags(cl_mem_migration_flags flags)
{
    return (flags & ~(cl_mem_migration_flags)(CL_MIGRATE_MEM_OBJECT_HOST |
                                              CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED)) == 0;
}

int fpgart_are_map_flags(cl_map_flags flags)
{
    return flags == CL_MAP_WRITE_INVALIDATE_REGION ||
           (flags & ~(cl_map_flags)(CL_MAP_READ | CL_MAP_WRITE)) == 0;
}
