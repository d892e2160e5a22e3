/* SPDX-License-Identifier: Apache-2.0
 *
 * The calls of the host that enqueue commands on shared memory, by pointers. Each function returns
 * 0 to leave the call to Python. */
#include "shared_calls.h"

#include "allocations.h"
#include "carrier.h"
#include "commands.h"
#include "core.h"
#include "handles.h"
#include "moves.h"

#include <string.h>

/* Begins a command on shared virtual memory, which moves the host's bytes: that is no traffic of a
 * board. */
static int begin_svm(struct command *command, const struct call *call)
{
    return fpgart_begin_command(command, call) &&
           (command->queue->board->has_svm || fpgart_give_up(command));
}

int fpgart_carry_svm_copy(const struct call *call)
{
    struct command command;
    uintptr_t from = (uintptr_t)call->host, to = call->other;
    if (from == 0 || to == 0 || (to < from + call->size && from < to + call->size) ||
        !begin_svm(&command, call))
        return 0;
    return fpgart_move_bytes(&command, from, to, call->size);
}

int fpgart_carry_svm_fill(const struct call *call)
{
    struct command command;
    if (call->other == 0 || call->size == 0 || !fpgart_is_pattern(call, call->other) ||
        !begin_svm(&command, call))
        return 0;
    return fpgart_fill(&command, call->other);
}

/* The host and the kernels use the same memory: there is nothing to do. */
int fpgart_carry_svm_mapping(const struct call *call)
{
    struct command command;
    if (call->host == NULL || !begin_svm(&command, call))
        return 0;
    return fpgart_do_nothing(&command);
}

int fpgart_carry_svm_migration(const struct call *call)
{
    struct command command;
    const uintptr_t *pointers = call->host;
    const size_t *sizes = (const size_t *)call->other;
    if (!begin_svm(&command, call))
        return 0;
    for (size_t i = 0; i < call->size; i++)
        if (!fpgart_is_svm(fpgart_handle_serial(command.queue->context), pointers[i],
                           sizes != NULL ? sizes[i] : 0))
            return fpgart_give_up(&command);
    return fpgart_do_nothing(&command);
}

/* The memory is freed when the command's end is noted (commands.c), and so needs somebody who notes
 * it although nobody waits. */
int fpgart_carry_svm_free(const struct call *call)
{
    struct command command;
    size_t size = call->size * sizeof(uintptr_t);
    if (!begin_svm(&command, call))
        return 0;
    struct core_queue *queue = command.queue->core;
    core_queue_retain(queue);
    command.carried->kind = CARRIED_MOVE; /* of no bytes */
    command.carried->count = (uint32_t)call->size;
    memcpy(command.carried->more, call->host, size);
    int done = fpgart_enqueue_command(&command, CORE_WORK, size);
    if (done)
        core_queue_observe(queue);
    core_queue_release(queue);
    return done;
}

/* Commands on unified shared memory. Bytes in a board's memory move by calls of the board. */
static int may_move(const struct command *command, uintptr_t pointer, size_t size, int *on_board)
{
    uintptr_t device;
    uint64_t context = fpgart_handle_serial(command->queue->context);
    int may = fpgart_may_move(context, pointer, size, &device);
    *on_board = device != 0;
    return may && (device == 0 || device == command->queue->board->handle);
}

int fpgart_carry_usm_copy(const struct call *call)
{
    struct command command;
    uintptr_t from = (uintptr_t)call->host, to = call->other;
    int is_read, is_written;
    if (from == 0 || to == 0 || call->size == 0 ||
        (from != to && to < from + call->size && from < to + call->size) ||
        !fpgart_begin_command(&command, call))
        return 0;
    if (!may_move(&command, from, call->size, &is_read) ||
        !may_move(&command, to, call->size, &is_written))
        return fpgart_give_up(&command);
    if (is_read || is_written)
        fpgart_count_traffic(&command,
                             !is_written ? READ
                             : is_read   ? COPIED
                                         : WRITTEN,
                             1, call->size);
    return fpgart_move_bytes(&command, from, to, call->size);
}

int fpgart_carry_usm_fill(const struct call *call)
{
    struct command command;
    int is_written;
    if (call->other == 0 || call->size == 0 || !fpgart_is_pattern(call, call->other) ||
        !fpgart_begin_command(&command, call))
        return 0;
    if (!may_move(&command, call->other, call->size, &is_written))
        return fpgart_give_up(&command);
    if (is_written)
        fpgart_count_traffic(&command, WRITTEN, fpgart_fill_calls(call->size), call->size);
    return fpgart_fill(&command, call->other);
}

const void *fpgart_byte(cl_int value)
{
    static _Thread_local unsigned char byte; /* C may try the call again (fpgart_carry_again()) */
    byte = (unsigned char)value;
    return &byte;
}

/* There is nothing to do for memory whose accesses nobody records. */
int fpgart_carry_usm_hint(const struct call *call)
{
    struct command command;
    int on_board;
    if (call->host == NULL || !fpgart_begin_command(&command, call))
        return 0;
    if (!may_move(&command, (uintptr_t)call->host, call->size, &on_board))
        return fpgart_give_up(&command);
    return fpgart_do_nothing(&command);
}
