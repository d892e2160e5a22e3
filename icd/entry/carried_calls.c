/* SPDX-License-Identifier: Apache-2.0
 *
 * The calls of the host that enqueue commands. Each function returns 0 to leave the call to Python.
 */
#include "carried_calls.h"

#include "arguments.h"
#include "commands.h"
#include "handles.h"
#include "held.h"
#include "mappings.h"
#include "watched.h"

#include <string.h>

enum { FILL_CALL = 1 << 20 };
/* The flags of a buffer that refuse the host's reads, and its writes. */
enum {
    NOT_READ = CL_MEM_HOST_WRITE_ONLY | CL_MEM_HOST_NO_ACCESS,
    NOT_WRITTEN = CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_NO_ACCESS
};

static int carry_launch(const struct call *call)
{
    struct command command;
    uint64_t begin = fpgart_call_begins();
    if (call->nd_range.dimensions == 0 || !fpgart_begin_command(&command, call))
        return 0;
    if (!fpgart_hold(call->kernel, FPGART_KERNEL, fpgart_handle_serial(call->kernel)))
        return fpgart_give_up(&command);
    command.held.kernel = call->kernel;
    int size = fpgart_lay_out_launch(call->kernel, command.queue, &call->nd_range, command.epoch,
                                     command.carried, ROOM - sizeof(struct carried),
                                     command.held.uses, &command.buffers, &command.held.program);
    if (size == 0)
        return fpgart_give_up(&command);
    if (begin != 0 &&
        (command.held.watched = fpgart_launch_new(&command.held, command.carried, command.buffers,
                                                  begin, (size_t)size - 1)) == NULL)
        return fpgart_give_up(&command);
    return fpgart_enqueue_command(&command, CORE_WORK, (size_t)size - 1);
}

int fpgart_carries_launch(const void *queue, const void *kernel, cl_uint dimensions,
                          const size_t *offset, const size_t *global, const size_t *local,
                          cl_uint waits, const cl_event *wait_list, cl_event *event)
{
    struct call call = {.carry = carry_launch,
                        .queue = (uintptr_t)queue,
                        .kernel = (uintptr_t)kernel,
                        .type = CL_COMMAND_NDRANGE_KERNEL,
                        .waits = waits,
                        .wait_list = wait_list,
                        .event = event};
    if (dimensions < 1 || dimensions > 3 || global == NULL)
        return fpgart_carries(&call); /* without dimensions: left to Python */
    call.nd_range.dimensions = dimensions;
    call.nd_range.has_local = local != NULL;
    for (cl_uint i = 0; i < 3; i++) {
        int is_used = i < dimensions;
        call.nd_range.sizes[i] = is_used && offset != NULL ? offset[i] : 0;
        call.nd_range.sizes[3 + i] = is_used ? global[i] : 1;
        call.nd_range.sizes[6 + i] = is_used && local != NULL ? local[i] : 1;
    }
    return fpgart_carries(&call);
}

int fpgart_carries_task(const void *queue, const void *kernel, cl_uint waits,
                        const cl_event *wait_list, cl_event *event)
{
    const struct call call = {
        .carry = carry_launch,
        .queue = (uintptr_t)queue,
        .kernel = (uintptr_t)kernel,
        .nd_range = {.sizes = {0, 0, 0, 1, 1, 1, 1, 1, 1}, .dimensions = 1, .has_local = 1},
        .type = CL_COMMAND_TASK,
        .waits = waits,
        .wait_list = wait_list,
        .event = event};
    return fpgart_carries(&call);
}

static void count_traffic(struct command *command, uint32_t row, uint64_t calls, uint64_t bytes)
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
    command->held.buffers = command->buffers;
    carried->data = (void *)((const char *)&command->held - (const char *)carried);
    if (!core_finishes_alone(queue))
        return 0;
    if (command->queue->in_order)
        core_finish(queue);
    if (!core_begin_directly(queue, command->epoch, carried))
        return 0;
    memmove((void *)carried->to, (const void *)carried->from, carried->size[0]);
    fpgart_count_command(&command->held);
    core_end_directly(queue);
    fpgart_let_go_of(&command->held);
    return 1;
}

/* Between the host's memory and the board's. */
static int transfer(struct command *command, uintptr_t from, uintptr_t to, size_t size,
                    uint32_t row)
{
    const struct call *call = command->call;
    command->carried->kind = CARRIED_MOVE;
    command->carried->from = from;
    command->carried->to = to;
    command->carried->size[0] = size;
    command->carried->size[1] = command->carried->size[2] = 1;
    count_traffic(command, row, size != 0, size);
    if (call->is_blocking && call->waits == 0 && call->event == NULL && carry_directly(command))
        return 1;
    return fpgart_enqueue_command(command, CORE_WORK, 0);
}

static int carry_transfer(const struct call *call)
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

static int carries_transfer(const void *queue, const void *buffer, int is_write, cl_bool blocking,
                            size_t offset, size_t size, const void *host, cl_uint waits,
                            const cl_event *wait_list, cl_event *event)
{
    const struct call call = {.carry = carry_transfer,
                              .queue = (uintptr_t)queue,
                              .buffer = (uintptr_t)buffer,
                              .offset = offset,
                              .size = size,
                              .host = host,
                              .is_write = is_write,
                              .is_blocking = blocking != 0,
                              .type = is_write ? CL_COMMAND_WRITE_BUFFER : CL_COMMAND_READ_BUFFER,
                              .waits = waits,
                              .wait_list = wait_list,
                              .event = event};
    return fpgart_carries(&call);
}

int fpgart_carries_read(const void *queue, const void *buffer, cl_bool blocking, size_t offset,
                        size_t size, void *host, cl_uint waits, const cl_event *wait_list,
                        cl_event *event)
{
    return carries_transfer(queue, buffer, 0, blocking, offset, size, host, waits, wait_list,
                            event);
}

int fpgart_carries_write(const void *queue, const void *buffer, cl_bool blocking, size_t offset,
                         size_t size, const void *host, cl_uint waits, const cl_event *wait_list,
                         cl_event *event)
{
    return carries_transfer(queue, buffer, 1, blocking, offset, size, host, waits, wait_list,
                            event);
}

static int carry_copy(const struct call *call)
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

int fpgart_carries_copy(const void *queue, const void *from, const void *to, size_t from_offset,
                        size_t to_offset, size_t size, cl_uint waits, const cl_event *wait_list,
                        cl_event *event)
{
    const struct call call = {.carry = carry_copy,
                              .queue = (uintptr_t)queue,
                              .buffer = (uintptr_t)from,
                              .other = (uintptr_t)to,
                              .offset = from_offset,
                              .other_offset = to_offset,
                              .size = size,
                              .type = CL_COMMAND_COPY_BUFFER,
                              .waits = waits,
                              .wait_list = wait_list,
                              .event = event};
    return fpgart_carries(&call);
}

static int carry_fill(const struct call *call)
{
    struct command command;
    struct fpgart_place to;
    size_t pattern = call->pattern;
    if (call->host == NULL || pattern == 0 || pattern > 128 || (pattern & (pattern - 1)) != 0 ||
        call->offset % pattern != 0 || call->size % pattern != 0 ||
        !fpgart_begin_command(&command, call))
        return 0;
    if (!fpgart_use_buffer(&command, call->buffer, 0, call->offset, call->size, &to))
        return fpgart_give_up(&command);
    command.carried->kind = CARRIED_FILL;
    command.carried->to = to.address;
    command.carried->size[0] = call->size;
    command.carried->count = (uint32_t)pattern;
    memcpy(command.carried->more, call->host, pattern);
    count_traffic(&command, WRITTEN, (call->size + FILL_CALL - 1) / FILL_CALL, call->size);
    return fpgart_enqueue_command(&command, CORE_WORK, pattern);
}

int fpgart_carries_fill(const void *queue, const void *buffer, const void *pattern,
                        size_t pattern_size, size_t offset, size_t size, cl_uint waits,
                        const cl_event *wait_list, cl_event *event)
{
    const struct call call = {.carry = carry_fill,
                              .queue = (uintptr_t)queue,
                              .buffer = (uintptr_t)buffer,
                              .host = pattern,
                              .pattern = pattern_size,
                              .offset = offset,
                              .size = size,
                              .type = CL_COMMAND_FILL_BUFFER,
                              .waits = waits,
                              .wait_list = wait_list,
                              .event = event};
    return fpgart_carries(&call);
}

static _Thread_local uintptr_t mapped; /* the address of the region that was mapped last */

static uint64_t refuses_mapping(cl_map_flags flags)
{
    return ((flags & CL_MAP_READ) != 0 ? (uint64_t)NOT_READ : 0) |
           ((flags & ~(cl_map_flags)CL_MAP_READ) != 0 ? (uint64_t)NOT_WRITTEN : 0);
}

static int carry_map(const struct call *call)
{
    struct command command;
    struct fpgart_place place;
    int invalidates = call->flags == CL_MAP_WRITE_INVALIDATE_REGION;
    if ((!invalidates && (call->flags & ~(cl_map_flags)(CL_MAP_READ | CL_MAP_WRITE)) != 0) ||
        !fpgart_begin_command(&command, call))
        return 0;
    if (!fpgart_use_buffer(&command, call->buffer, refuses_mapping(call->flags), call->offset,
                           call->size, &place) ||
        place.store == 0)
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

void *fpgart_carries_map(const void *queue, const void *buffer, cl_bool blocking,
                         cl_map_flags flags, size_t offset, size_t size, cl_uint waits,
                         const cl_event *wait_list, cl_event *event)
{
    const struct call call = {.carry = carry_map,
                              .queue = (uintptr_t)queue,
                              .buffer = (uintptr_t)buffer,
                              .offset = offset,
                              .size = size,
                              .flags = flags,
                              .is_blocking = blocking != 0,
                              .type = CL_COMMAND_MAP_BUFFER,
                              .waits = waits,
                              .wait_list = wait_list,
                              .event = event};
    return fpgart_carries(&call) ? (void *)mapped : NULL;
}

static int carry_unmap(const struct call *call)
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

int fpgart_carries_unmap(const void *queue, const void *buffer, const void *pointer, cl_uint waits,
                         const cl_event *wait_list, cl_event *event)
{
    const struct call call = {.carry = carry_unmap,
                              .queue = (uintptr_t)queue,
                              .buffer = (uintptr_t)buffer,
                              .host = pointer,
                              .type = CL_COMMAND_UNMAP_MEM_OBJECT,
                              .waits = waits,
                              .wait_list = wait_list,
                              .event = event};
    return fpgart_carries(&call);
}

static int carry_marker(const struct call *call)
{
    struct command command;
    if (!fpgart_begin_command(&command, call))
        return 0;
    return fpgart_enqueue_command(&command, call->is_barrier ? CORE_BARRIER : CORE_MARKER, 0);
}

int fpgart_carries_marker(const void *queue, int is_barrier, cl_uint waits,
                          const cl_event *wait_list, cl_event *event)
{
    const struct call call = {.carry = carry_marker,
                              .queue = (uintptr_t)queue,
                              .is_barrier = is_barrier,
                              .type = is_barrier ? CL_COMMAND_BARRIER : CL_COMMAND_MARKER,
                              .waits = waits,
                              .wait_list = wait_list,
                              .event = event};
    return fpgart_carries(&call);
}
