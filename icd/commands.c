/* SPDX-License-Identifier: Apache-2.0
 *
 * Commands that C gives to the engine by itself, because Python has found out all that they need:
 * where buffers are, which kernel of the engine one is, which queue of the engine is the host's
 * (fpgart/api/carrying.py). What was found out holds in one epoch of its board; the core refuses
 * commands of an earlier one (core/core.h). Everything else, and whatever is wrong, is for Python.
 *
 * A command holds its queue, kernel and buffers until it has ended. */
#include "commands.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_WAITS = 64 };

static atomic_int is_on;
/* The last call that was for Python, until that has returned, or another call of the thread has
 * come in between (a callback of the host may make one); none without `carry`. */
static _Thread_local struct call missed;

void fpgart_carry(int flag)
{
    atomic_store(&is_on, flag);
}

int fpgart_may_carry(void)
{
    return atomic_load(&is_on) && fpgart_running() && !fpgart_watched() && fpgart_has_stack();
}

/* A thread that waits here would keep the interpreter from others. */
int fpgart_may_wait(void)
{
    return !(fpgart_is_guest() && fpgart_holds_interpreter());
}

int fpgart_carries(const struct call *call)
{
    int cancel_state;
    missed.carry = NULL;
    if (!fpgart_may_carry() || (call->waits != 0) != (call->wait_list != NULL))
        return 0;
    fpgart_disable_cancel(&cancel_state);
    int done = (!call->is_blocking || fpgart_may_wait()) && call->carry(call);
    fpgart_restore_cancel(cancel_state);
    if (!done)
        missed = *call;
    return done;
}

void fpgart_forget_missed(void)
{
    missed.carry = NULL;
}

int fpgart_carry_again(void)
{
    struct call call = missed;
    missed.carry = NULL;
    return call.carry != NULL && fpgart_may_carry() && call.carry(&call);
}

void fpgart_let_go_of(const struct held *held)
{
    for (uint64_t i = 0; i < held->buffers; i++)
        fpgart_unhold_buffer(held->handles[i]);
    if (held->kernel != 0)
        fpgart_unhold(held->kernel, FPGART_KERNEL);
    fpgart_unhold(held->queue, FPGART_QUEUE);
}

static const struct held *held_by(const struct carried *carried)
{
    return (const struct held *)((const char *)carried + (uintptr_t)carried->data);
}

void fpgart_count_command(const struct held *held)
{
    if (held->kernel != 0)
        atomic_fetch_add(&held->board->launches, 1);
    if (held->calls == 0)
        return;
    __atomic_fetch_add(&held->board->traffic[held->traffic][0], held->calls, __ATOMIC_RELAXED);
    __atomic_fetch_add(&held->board->traffic[held->traffic][1], held->bytes, __ATOMIC_RELAXED);
}

static void command_ended(struct carried *carried, int32_t status)
{
    const struct held *held = held_by(carried);
    int failed = status < 0 && status != CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
    struct fpgart_visit visit;
    if (status == CL_COMPLETE)
        fpgart_count_command(held);
    else if (held->mapping != 0)
        fpgart_void_mapping(held->handles[0], held->mapping);
    if (failed && fpgart_enter(&visit)) {
        fpgart_carried_failed(held->queue, held->kernel, status, carried->place);
        fpgart_leave(&visit);
    }
    fpgart_let_go_of(held);
}

/* The end of a view calls the host back, which may wait for threads that wait for commands. */
static void command_told(struct carried *carried, int32_t status)
{
    const struct held *held = held_by(carried);
    struct fpgart_visit visit;
    if (atomic_load(&held->is_viewed) && fpgart_enter(&visit)) {
        fpgart_view_ended(held->event, held->serial, status);
        fpgart_leave(&visit);
    }
}

/* The board is programmed for the launch if another program is loaded. A simulated one disturbs no
 * kernel by that. */
static void launch_begins(struct carried *carried)
{
    const struct held *held = held_by(carried);
    struct fpgart_board *board = held->board;
    if (atomic_exchange(&board->program, held->program.number) == held->program.number)
        return;
    __atomic_fetch_add(&board->traffic[3][0], 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&board->traffic[3][1], held->program.size, __ATOMIC_RELAXED);
}

/* The queue is held if it is found. */
int fpgart_begin_command(struct command *command, const struct call *call)
{
    uint64_t serial = fpgart_handle_serial(call->queue);
    if (!fpgart_hold(call->queue, FPGART_QUEUE, serial))
        return 0;
    command->call = call;
    command->queue = fpgart_carried_queue(call->queue);
    if (command->queue == NULL) {
        fpgart_unhold(call->queue, FPGART_QUEUE);
        return 0;
    }
    command->epoch = core_board_epoch(command->queue->board->core);
    command->carried = (struct carried *)command->room;
    memset(command->carried, 0, sizeof *command->carried);
    command->carried->ended = command_ended;
    command->carried->told = command_told;
    command->carried->begins = launch_begins;
    command->buffers = 0;
    memset(&command->held, 0, offsetof(struct held, handles));
    command->held.board = command->queue->board;
    command->held.queue = call->queue;
    return 1;
}

int fpgart_give_up(struct command *command)
{
    command->held.buffers = command->buffers;
    fpgart_let_go_of(&command->held);
    return 0;
}

/* A buffer is held from now on, and bytes of it may be used that way. */
int fpgart_use_buffer(struct command *command, uintptr_t buffer, uint64_t refused, size_t offset,
                      size_t size, struct fpgart_place *place)
{
    if (!fpgart_hold_buffer(buffer, fpgart_handle_serial(buffer)))
        return 0;
    command->held.handles[command->buffers++] = buffer;
    const struct fpgart_region *region = fpgart_region_of(buffer);
    if (!fpgart_place_in(buffer, command->queue, command->epoch, FPGART_ANYWHERE, place) ||
        size == 0 || offset > region->size || size > region->size - offset ||
        (region->flags & refused) != 0)
        return 0;
    place->address += offset;
    place->store += place->store != 0 ? offset : 0;
    return 1;
}

/* Events of commands that are carried, or that have ended well, of the queue's context. Gives how
 * many commands those are, which are held; -1: for Python. */
static int find_waits(const struct command *command, struct core_command **found, uintptr_t *held)
{
    const struct call *call = command->call;
    int count = 0;
    for (cl_uint i = 0; i < call->waits; i++) {
        uintptr_t event = (uintptr_t)call->wait_list[i], queue;
        cl_command_type type;
        cl_context own;
        uint64_t serial = fpgart_handle_serial(event);
        if (fpgart_hold(event, FPGART_EVENT, serial)) {
            struct core_command *waited = fpgart_command_of(event, &queue, &type);
            if (waited != NULL && count < MOST_WAITS &&
                fpgart_carried_queue(queue)->context == command->queue->context) {
                found[count] = waited;
                held[count++] = event;
                continue;
            }
            fpgart_unhold(event, FPGART_EVENT);
        }
        if (!fpgart_knows_ends(1, &call->wait_list[i]) ||
            !fpgart_knows(call->wait_list[i], FPGART_EVENT, CL_EVENT_CONTEXT, sizeof own, &own,
                          NULL) ||
            (uintptr_t)own != command->queue->context) {
            while (count > 0)
                fpgart_unhold(held[--count], FPGART_EVENT);
            return -1;
        }
    }
    return count;
}

/* An event for the host, before the command is known. It holds the queue, too. */
static int prepare_event(struct command *command)
{
    const struct call *call = command->call;
    if (call->event == NULL)
        return 1;
    if (!fpgart_hold(call->queue, FPGART_QUEUE, fpgart_handle_serial(call->queue)))
        return 0;
    uintptr_t event = fpgart_handle_new(FPGART_EVENT, 1);
    if (event == 0) {
        fpgart_unhold(call->queue, FPGART_QUEUE);
        return 0;
    }
    command->held.event = event;
    command->held.serial = fpgart_handle_serial(event);
    return 1;
}

static void drop_event(const struct command *command)
{
    if (command->held.event == 0)
        return;
    fpgart_handle_free(command->held.event);
    fpgart_unhold(command->call->queue, FPGART_QUEUE);
}

static void give_event(const struct command *command, struct core_command *made)
{
    const struct call *call = command->call;
    fpgart_event_carry(command->held.event, made, call->queue, call->type);
    *call->event = (cl_event)command->held.event;
}

/* `size`: bytes behind the operation. Whatever was held is let go of if the core refuses it. */
int fpgart_enqueue_command(struct command *command, enum core_role role, size_t size)
{
    const struct call *call = command->call;
    struct core_command *waits[MOST_WAITS];
    uintptr_t held[MOST_WAITS];
    size_t place = (sizeof(struct carried) + size + 15) / 16 * 16;
    int count = find_waits(command, waits, held);
    /* The core would take an empty list for none. */
    int is_satisfied = call->waits != 0 && count == 0;
    if (is_satisfied && role == CORE_MARKER)
        role = CORE_WORK;
    if (count < 0 || (is_satisfied && role == CORE_BARRIER) ||
        (command->carried->kind != CARRIED_LAUNCH && fpgart_others_run(command->queue)) ||
        !prepare_event(command)) {
        while (count > 0)
            fpgart_unhold(held[--count], FPGART_EVENT);
        return fpgart_give_up(command);
    }
    command->held.buffers = command->buffers;
    command->carried->data = (void *)place;
    size_t used = offsetof(struct held, handles) + command->buffers * sizeof(uintptr_t);
    memcpy(command->room + place, &command->held, used);
    struct core_command *made =
        core_enqueue(command->queue->core, role, false, command->epoch, command->carried,
                     place + used, (uint32_t)count, waits);
    for (int i = 0; i < count; i++)
        fpgart_unhold(held[i], FPGART_EVENT);
    if (made == NULL) {
        drop_event(command);
        return fpgart_give_up(command);
    }
    if (call->is_blocking && core_wait(made) != CL_COMPLETE) { /* Python says why */
        drop_event(command);
        core_release(made);
        return 0;
    }
    if (call->event != NULL)
        give_event(command, made);
    else
        core_release(made);
    return 1;
}

/* Of an event of which there is a view: that hears of the end in command_told(), unless it has come
 * already. */
int32_t fpgart_watch_command(uintptr_t event)
{
    uintptr_t queue;
    cl_command_type type;
    struct core_command *of = fpgart_command_of(event, &queue, &type);
    struct held *held = (struct held *)held_by(core_operation(of));
    atomic_store(&held->is_viewed, 1);
    core_observe_command(of);
    return core_status(of);
}
