/* SPDX-License-Identifier: Apache-2.0
 *
 * The calls of the host that enqueue commands. Each function returns 0 to leave the call to Python.
 */
#include "carried_calls.h"

#include "blocks.h"
#include "commands.h"
#include "handles.h"
#include "held.h"
#include "mappings.h"
#include "moves.h"
#include "watched.h"

#include <string.h>

/* The flags of a buffer that refuse the host's reads, and its writes. */
enum {
    NOT_READ = CL_MEM_HOST_WRITE_ONLY | CL_MEM_HOST_NO_ACCESS,
    NOT_WRITTEN = CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_NO_ACCESS
};

/* Begins the command of a launch and lays its arguments out. Returns their size plus 1; 0: the
 * command has not begun. */
static int begin_launch(struct command *command, const struct call *call)
{
    if (call->nd_range.dimensions == 0 || !fpgart_begin_command(command, call))
        return 0;
    if (!fpgart_hold(call->kernel, FPGART_KERNEL))
        return fpgart_give_up(command);
    command->held.kernel = call->kernel;
    int size =
        fpgart_lay_out_launch(&command->held, command->queue, &call->nd_range, command->epoch,
                              command->carried, ROOM - sizeof(struct carried));
    if (size == 0 || (command->held.program.may_poll && fpgart_is_task(command)))
        return fpgart_give_up(command);
    return size;
}

/* Lays a launch out only to find that its arguments and sizes are correct. */
static int carry_empty_launch(const struct call *call)
{
    struct command command;
    if (!call->is_checked) {
        if (begin_launch(&command, call) == 0)
            return 0;
        fpgart_give_up(&command);
    }
    return fpgart_begin_command(&command, call) && fpgart_do_nothing(&command);
}

int fpgart_carry_launch(const struct call *call)
{
    struct command command;
    const uint64_t *global = call->nd_range.sizes + 3;
    uint64_t begin = fpgart_call_begins(); /* 0: nobody watches launches */
    if (global[0] == 0 || global[1] == 0 || global[2] == 0)
        return begin == 0 && carry_empty_launch(call);
    int size = begin_launch(&command, call);
    if (size == 0)
        return 0;
    if (begin != 0 &&
        (command.held.watched = fpgart_launch_new(&command.held, command.carried, begin,
                                                  (size_t)size - 1, call->is_checked)) == NULL)
        return fpgart_give_up(&command);
    return fpgart_enqueue_command(&command, CORE_WORK, (size_t)size - 1);
}

struct fpgart_nd_range fpgart_nd_range_of(cl_uint dimensions, const size_t *offset,
                                          const size_t *global, const size_t *local)
{
    struct fpgart_nd_range found = {.dimensions = 0};
    if (dimensions < 1 || dimensions > 3 || global == NULL)
        return found;
    found.dimensions = dimensions;
    found.has_local = local != NULL;
    for (cl_uint i = 0; i < 3; i++) {
        int is_used = i < dimensions;
        found.sizes[i] = is_used && offset != NULL ? offset[i] : 0;
        found.sizes[3 + i] = is_used ? global[i] : 1;
        found.sizes[6 + i] = is_used && local != NULL ? local[i] : 1;
    }
    return found;
}

/* Carries a transfer between the host's memory and the board's. */
static int transfer(struct command *command, uintptr_t from, uintptr_t to, size_t size,
                    uint32_t row)
{
    fpgart_count_traffic(command, row, size != 0, size);
    return fpgart_move_bytes(command, from, to, size);
}

int fpgart_carry_transfer(const struct call *call)
{
    struct command command;
    struct fpgart_place place;
    if (call->host == NULL || !fpgart_begin_command(&command, call))
        return 0;
    int is_write = call->is_write;
    if (!fpgart_use_buffer(&command, call->buffer, is_write ? NOT_WRITTEN : NOT_READ, call->offset,
                           call->size, &place))
        return fpgart_give_up(&command);
    uintptr_t host = (uintptr_t)call->host;
    return transfer(&command, is_write ? host : place.address, is_write ? place.address : host,
                    call->size, is_write ? WRITTEN : READ);
}

int fpgart_carry_copy(const struct call *call)
{
    struct command command;
    struct fpgart_place from, to;
    if (!fpgart_begin_command(&command, call))
        return 0;
    if (!fpgart_use_buffer(&command, call->buffer, 0, call->offset, call->size, &from) ||
        !fpgart_use_buffer(&command, call->other, 0, call->other_offset, call->size, &to) ||
        (from.address < to.address + call->size && to.address < from.address + call->size))
        return fpgart_give_up(&command);
    return transfer(&command, from.address, to.address, call->size, COPIED);
}

/* Numbers up to this one need no check for overflow: a box ends below 2^64. */
#define MOST_OF_A_BOX ((size_t)1 << 30)

/* Finds where a box begins and ends, and its pitches. Returns 0 for one that Python has to check.
 */
static int find_box(const struct box *box, uint64_t pitch[2], uint64_t *begin, uint64_t *end)
{
    const size_t *origin = box->origin, *region = box->region;
    if (origin == NULL || region == NULL)
        return 0;
    for (int i = 0; i < 3; i++)
        if (region[i] == 0 || region[i] > MOST_OF_A_BOX || origin[i] > MOST_OF_A_BOX)
            return 0;
    pitch[0] = box->row_pitch != 0 ? box->row_pitch : region[0];
    if (pitch[0] < region[0] || pitch[0] > MOST_OF_A_BOX)
        return 0;
    pitch[1] = box->slice_pitch != 0 ? box->slice_pitch : pitch[0] * region[1];
    if (pitch[1] < pitch[0] * region[1] || pitch[1] > MOST_OF_A_BOX ||
        (box->slice_pitch != 0 && pitch[1] % pitch[0] != 0))
        return 0;
    *begin = origin[0] + origin[1] * pitch[0] + origin[2] * pitch[1];
    *end = *begin + (region[2] - 1) * pitch[1] + (region[1] - 1) * pitch[0] + region[0];
    return 1;
}

/* Joins rows and slices that are adjacent on both sides, as `pieces` does
 * (fpgart/runtime/commands/boxes.py): each piece is a call of the MMD. */
static void set_box(struct command *command, const size_t *region, uint32_t row)
{
    struct carried *carried = command->carried;
    uint64_t *size = carried->size;
    for (int i = 0; i < 3; i++)
        size[i] = region[i];
    for (int i = 0; i < 2; i++) {
        if (size[0] != carried->from_pitch[i] || size[0] != carried->to_pitch[i])
            break;
        size[0] *= size[i + 1];
        size[i + 1] = 1;
    }
    fpgart_count_traffic(command, row, size[1] * size[2], size[0] * size[1] * size[2]);
}

int fpgart_carry_rect(const struct call *call)
{
    struct command command;
    struct fpgart_place place;
    uint64_t pitch[2], host_pitch[2], begin, end, host_begin, host_end;
    int is_write = call->is_write;
    if (call->host == NULL || !find_box(&call->boxes[0], pitch, &begin, &end) ||
        !find_box(&call->boxes[1], host_pitch, &host_begin, &host_end) ||
        !fpgart_begin_command(&command, call))
        return 0;
    if (!fpgart_use_buffer(&command, call->buffer, is_write ? NOT_WRITTEN : NOT_READ, begin,
                           end - begin, &place))
        return fpgart_give_up(&command);
    uintptr_t host = (uintptr_t)call->host + host_begin;
    memcpy(command.carried->from_pitch, is_write ? host_pitch : pitch, sizeof pitch);
    memcpy(command.carried->to_pitch, is_write ? pitch : host_pitch, sizeof pitch);
    set_box(&command, call->boxes[0].region, is_write ? WRITTEN : READ);
    return fpgart_move(&command, is_write ? host : place.address, is_write ? place.address : host);
}

/* Returns 1 if two boxes of one size and with the same pitches have bytes in common. `distance`:
 * from the begin of one to that of the other. Only two slices of one box can be beside the first
 * slice of the other, and of these only two rows. */
static int overlap(const size_t *region, const uint64_t pitch[2], uint64_t distance)
{
    for (uint64_t slice = distance / pitch[1], i = 0; i < 2 && slice < region[2]; i++, slice++) {
        uint64_t rest = i == 0 ? distance % pitch[1] : pitch[1] - distance % pitch[1];
        for (uint64_t row = rest / pitch[0], j = 0; j < 2 && row < region[1]; j++, row++)
            if ((j == 0 ? rest % pitch[0] : pitch[0] - rest % pitch[0]) < region[0])
                return 1;
    }
    return 0;
}

int fpgart_carry_rect_copy(const struct call *call)
{
    struct command command;
    struct fpgart_place from, to;
    uint64_t begin[2], end[2];
    if (!fpgart_begin_command(&command, call))
        return 0;
    const uint64_t *pitch = command.carried->from_pitch, *to_pitch = command.carried->to_pitch;
    if (!find_box(&call->boxes[0], command.carried->from_pitch, &begin[0], &end[0]) ||
        !find_box(&call->boxes[1], command.carried->to_pitch, &begin[1], &end[1]) ||
        !fpgart_use_buffer(&command, call->buffer, 0, begin[0], end[0] - begin[0], &from) ||
        !fpgart_use_buffer(&command, call->other, 0, begin[1], end[1] - begin[1], &to))
        return fpgart_give_up(&command);
    int is_one = fpgart_owner_of(call->buffer) == fpgart_owner_of(call->other);
    int is_below = from.address < to.address;
    if (is_one && (pitch[0] != to_pitch[0] || pitch[1] != to_pitch[1] ||
                   overlap(call->boxes[0].region, pitch,
                           is_below ? to.address - from.address : from.address - to.address)))
        return fpgart_give_up(&command);
    set_box(&command, call->boxes[0].region, COPIED);
    return fpgart_move(&command, from.address, to.address);
}

int fpgart_carry_fill(const struct call *call)
{
    struct command command;
    struct fpgart_place to;
    if (!fpgart_is_pattern(call, call->offset) || !fpgart_begin_command(&command, call))
        return 0;
    if (!fpgart_use_buffer(&command, call->buffer, 0, call->offset, call->size, &to))
        return fpgart_give_up(&command);
    fpgart_count_traffic(&command, WRITTEN, fpgart_fill_calls(call->size), call->size);
    return fpgart_fill(&command, to.address);
}

/* A migration of buffers that are on the board already moves nothing. */
int fpgart_carry_migration(const struct call *call)
{
    struct command command;
    struct fpgart_place place;
    const cl_mem *buffers = call->host;
    if (buffers == NULL || call->size == 0 || call->size > FPGART_USES ||
        (call->flags & ~(cl_mem_migration_flags)CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED) != 0 ||
        !fpgart_begin_command(&command, call))
        return 0;
    for (size_t i = 0; i < call->size; i++)
        if (!fpgart_use_buffer(&command, (uintptr_t)buffers[i], 0, 0, 1, &place))
            return fpgart_give_up(&command);
    return fpgart_move_bytes(&command, 0, 0, 0);
}

static _Thread_local uintptr_t mapped;

void *fpgart_last_mapped(void)
{
    return (void *)mapped;
}

static uint64_t refuses_mapping(cl_map_flags flags)
{
    return ((flags & CL_MAP_READ) != 0 ? (uint64_t)NOT_READ : 0) |
           ((flags & ~(cl_map_flags)CL_MAP_READ) != 0 ? (uint64_t)NOT_WRITTEN : 0);
}

static int has_store(const struct call *call, const struct fpgart_carried_queue *queue,
                     struct fpgart_place *place)
{
    if (place->store != 0)
        return 1;
    uintptr_t store = fpgart_store_of(call->buffer, queue);
    place->store = store != 0 ? store + call->offset : 0;
    return store != 0;
}

int fpgart_carry_map(const struct call *call)
{
    struct command command;
    struct fpgart_place place;
    int invalidates = call->flags == CL_MAP_WRITE_INVALIDATE_REGION;
    if (!fpgart_are_map_flags(call->flags) || !fpgart_begin_command(&command, call))
        return 0;
    if (!fpgart_use_buffer(&command, call->buffer, refuses_mapping(call->flags), call->offset,
                           call->size, &place) ||
        !has_store(call, command.queue, &place))
        return fpgart_give_up(&command);
    struct fpgart_mapping mapping = {place.store, call->offset, call->size, call->flags, 0};
    if (!fpgart_add_mapping(call->buffer, &mapping))
        return fpgart_give_up(&command);
    command.held.mapping = mapping.number;
    if (!transfer(&command, place.address, place.store, invalidates ? 0 : call->size, READ)) {
        fpgart_forget_mapping(call->buffer, mapping.number);
        return 0;
    }
    fpgart_keep_mapping(call->buffer, mapping.number);
    mapped = place.store; /* after all callbacks on this thread */
    return 1;
}

int fpgart_carry_unmap(const struct call *call)
{
    enum { WRITES = CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION };
    struct command command;
    struct fpgart_place place;
    struct fpgart_mapping mapping;
    if (!fpgart_take_mapping(call->buffer, (uintptr_t)call->host, &mapping))
        return 0;
    if (fpgart_begin_command(&command, call)) {
        if (!fpgart_use_buffer(&command, call->buffer, 0, mapping.offset, mapping.size, &place))
            fpgart_give_up(&command);
        else if (transfer(&command, mapping.pointer, place.address,
                          (mapping.flags & WRITES) != 0 ? mapping.size : 0, WRITTEN))
            return 1;
    }
    fpgart_add_mapping(call->buffer, &mapping);
    return 0;
}

int fpgart_carry_marker(const struct call *call)
{
    struct command command;
    if (!fpgart_begin_command(&command, call))
        return 0;
    return fpgart_enqueue_command(&command,
                                  call->type == CL_COMMAND_BARRIER ? CORE_BARRIER : CORE_MARKER, 0);
}

int fpgart_carries_marker(const void *queue, cl_command_type type, cl_event *event)
{
    const struct call call = {
        .carry = fpgart_carry_marker, .queue = (uintptr_t)queue, .type = type, .event = event};
    return fpgart_carries(&call);
}
