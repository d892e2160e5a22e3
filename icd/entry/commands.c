/* SPDX-License-Identifier: Apache-2.0
 *
 * Commands that C gives to the engine, because Python has found all facts that they need: the
 * places of buffers, the engine's kernel, the engine's queue (fpgart/bridge/carrying.py). These
 * facts hold in one epoch of the board; the core refuses commands of an earlier one
 * (core/core.h). All other calls, and all errors, are left to Python.
 *
 * A command holds its queue, kernel and buffers until it has ended. */
#include "commands.h"

#include "blocks.h"
#include "calls.h"
#include "carrier.h"
#include "core.h"
#include "handles.h"
#include "interpreter.h"
#include "mappings.h"
#include "permissions.h"
#include "watched.h"

#include <stdlib.h>
#include <string.h>

enum { FEW_WAITS = 64 }; /* for which the stack has room */

/* The thread's last call that was left to Python; there is none if `carry` is NULL. It is valid
 * until the thread's next visit of Python ends: then that call has returned, or another one has
 * come in between, such as a call of a host's callback. */
static _Thread_local struct call missed;
static _Thread_local uint64_t missed_at;

/* `kernel`: of a launch; 0: another command. */
static int may_carry(uintptr_t kernel)
{
    return fpgart_may_carry() ||
           (kernel != 0 && fpgart_may_watch_launch() && fpgart_carries_at_all());
}

static int may_carry_call(const struct call *call)
{
    /* Checks identify commands by their events, so Python makes these. */
    if ((fpgart_watches_launches() & FPGART_CHECKED) != 0 &&
        (call->event != NULL || call->waits != 0))
        return 0;
    return may_carry(call->kernel);
}

int fpgart_carries(const struct call *call)
{
    int cancel_state;
    missed.carry = NULL;
    if (!may_carry_call(call) || (call->waits != 0) != (call->wait_list != NULL))
        return 0;
    fpgart_disable_cancel(&cancel_state);
    int done = (!call->is_blocking || fpgart_may_wait()) && call->carry(call);
    fpgart_restore_cancel(cancel_state);
    if (!done) {
        missed = *call;
        missed_at = fpgart_visits();
    }
    return done;
}

int fpgart_carry_again(void)
{
    struct call call = missed;
    missed.carry = NULL;
    if (call.carry == NULL || missed_at != fpgart_visits() || !may_carry_call(&call))
        return 0;
    call.is_checked = 1;
    return call.carry(&call);
}

/* Lets Python free what a clEnqueueSVMFree names. */
static void free_svm(const struct carried *carried, const struct held *held)
{
    struct fpgart_visit visit;
    if (!fpgart_enter(&visit))
        return; /* the process exits */
    fpgart_svm_goes(held->queue, carried->count, (const uintptr_t *)carried->more);
    fpgart_leave(&visit);
}

static void command_ended(struct carried *carried, int32_t status)
{
    const struct held *held = fpgart_held_by(carried);
    int failed =
        status < 0 && status != CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST && !held->handed_over;
    struct fpgart_visit visit;
    if (status != CL_COMPLETE && held->mapping != 0)
        fpgart_void_mapping(held->uses[0].buffer, held->mapping);
    if (status == CL_COMPLETE && !held->handed_over)
        fpgart_count_command(held);
    if (status == CL_COMPLETE && held->type == CL_COMMAND_SVM_FREE)
        free_svm(carried, held);
    if (failed && fpgart_enter(&visit)) {
        fpgart_carried_failed(held->queue, held->kernel, status, carried->place);
        fpgart_leave(&visit);
    }
    if (held->watched != NULL) /* it holds them until Python has written its lines */
        fpgart_launch_over(carried, held, status);
    else
        fpgart_let_go_of(held);
}

/* Updates a command that was enqueued in an earlier epoch of its board. */
bool fpgart_renews(struct core_command *command, uint64_t epoch)
{
    struct carried *carried = core_operation(command);
    const struct held *held = fpgart_held_by(carried);
    const struct fpgart_carried_queue *queue = fpgart_carried_queue(held->queue);
    struct fpgart_place place;
    if (!may_carry(held->kernel))
        return false;
    if ((fpgart_watches_launches() & FPGART_CHECKED) != 0)
        return false; /* the blocks that were noted with the call may have moved */
    if (carried->kind == CARRIED_LAUNCH)
        return fpgart_renew_launch(held, queue, epoch, carried);
    for (uint32_t i = 0; i < held->buffers; i++) {
        bool is_source = held->traffic == READ || (held->traffic == COPIED && i == 0);
        if (!fpgart_place_in(held->uses[i].buffer, queue, epoch, FPGART_ANYWHERE, &place))
            return false;
        *(is_source ? &carried->from : &carried->to) = place.address + held->uses[i].at;
    }
    return true;
}

/* Lets Python find the facts for the command, if they are missing in the present epoch. */
static bool is_renewed(const struct core_command *command, struct held *held)
{
    struct fpgart_visit visit;
    if (held->is_renewed || !core_is_outdated(command) || !fpgart_enter(&visit))
        return false;
    held->is_renewed = 1;
    int renewed = fpgart_renew(held->queue, held->kernel, held->buffers, held->uses);
    fpgart_leave(&visit);
    return renewed;
}

/* A longer transfer would keep the ends of commands from being noted. */
static int is_short(const struct carried *carried)
{
    const uint64_t *size = carried->size;
    if (carried->kind == CARRIED_MOVE)
        return size[0] * size[1] * size[2] <= FPGART_SHORT;
    return carried->kind == CARRIED_MARKER ||
           (carried->kind == CARRIED_FILL && size[0] <= FPGART_SHORT);
}

/* Runs a transfer here, which the engine must not get. Hands over a command that its board does not
 * admit. */
void fpgart_hand_over(struct core_command *command)
{
    struct carried *carried = core_operation(command);
    struct held *held = (struct held *)fpgart_held_by(carried);
    struct fpgart_visit visit;
    if (is_short(carried) && core_begin_here(command)) {
        held->board->carrier->move(carried);
        core_end(command, CL_COMPLETE);
        return;
    }
    if (is_renewed(command, held)) {
        core_retry(command);
        return;
    }
    if (carried->kind == CARRIED_MARKER) {
        core_begin(command);
        core_end(command, CL_COMPLETE);
        return;
    }
    held->handed_over = 1;
    if (!fpgart_enter(&visit))
        return; /* the process exits */
    fpgart_run_handed_over((uintptr_t)command, held->queue, held->kernel, held->type,
                           (uintptr_t)carried, held->traffic, held->buffers, held->uses);
    fpgart_leave(&visit);
}

struct buffers {
    uint32_t count;
    const uintptr_t *handles;
};

static bool uses_buffers(const void *operation, void *given)
{
    const struct held *held = fpgart_held_by(operation);
    const struct buffers *buffers = given;
    for (uint32_t i = 0; i < held->buffers; i++)
        for (uint32_t j = 0; j < buffers->count; j++)
            if (fpgart_owner_of(held->uses[i].buffer) == buffers->handles[j])
                return true;
    return false;
}

int fpgart_board_uses(uintptr_t board, uint32_t count, const uintptr_t *buffers)
{
    struct buffers given = {count, buffers};
    return core_board_uses(((struct fpgart_board *)board)->core, uses_buffers, &given);
}

/* The bytes from the first to the last one of a box. */
static uint64_t extent(const struct carried *carried, const uint64_t pitch[2])
{
    return carried->size[0] + (carried->size[1] - 1) * pitch[0] + (carried->size[2] - 1) * pitch[1];
}

static bool is_given(const struct carried *carried, uintptr_t begin, uintptr_t end)
{
    const struct argument *arguments = (const struct argument *)carried->more;
    if (carried->kind == CARRIED_MOVE)
        return (carried->from < end &&
                begin < carried->from + extent(carried, carried->from_pitch)) ||
               (carried->to < end && begin < carried->to + extent(carried, carried->to_pitch));
    if (carried->kind == CARRIED_FILL)
        return carried->to < end && begin < carried->to + carried->size[0];
    for (uint32_t i = 0; carried->kind == CARRIED_LAUNCH && i < carried->count; i++)
        if (arguments[i].kind == ARGUMENT_POINTER && arguments[i].value >= begin &&
            arguments[i].value < end)
            return true;
    return false;
}

static bool may_use(struct core_command *command, uintptr_t begin, uintptr_t end, uint64_t kind)
{
    const struct carried *carried = core_operation(command);
    return (fpgart_held_by(carried)->reaches & kind) != 0 || is_given(carried, begin, end);
}

struct core_command *fpgart_next_user(uintptr_t queue, const struct core_command *behind,
                                      uintptr_t begin, uintptr_t end, uint64_t kind)
{
    struct core_queue *core = fpgart_carried_queue(queue)->core;
    struct core_command *command = core_next(core, behind), *next;
    while (command != NULL && !may_use(command, begin, end, kind)) {
        next = core_next(core, command);
        core_release(command);
        command = next;
    }
    if (command == NULL)
        core_settle();
    return command;
}

/* Programs the board if another program is loaded. That disturbs no kernel on a simulated board. */
static void launch_begins(struct carried *carried)
{
    const struct held *held = fpgart_held_by(carried);
    struct fpgart_board *board = held->board;
    if (atomic_exchange(&board->program, held->program.number) == held->program.number)
        return;
    board_memory_count(board->memory, PROGRAMMED, 1, held->program.size);
}

/* Begins a command, which holds its queue if that is found. */
int fpgart_begin_command(struct command *command, const struct call *call)
{
    if (!fpgart_hold(call->queue, FPGART_QUEUE))
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
    command->carried->begins = launch_begins;
    memset(&command->held, 0, offsetof(struct held, uses));
    command->held.board = command->queue->board;
    command->held.queue = call->queue;
    command->held.type = call->type;
    return 1;
}

int fpgart_give_up(struct command *command)
{
    free(command->held.watched);
    fpgart_let_go_of(&command->held);
    return 0;
}

/* Holds a buffer and checks that the command may use its bytes. */
int fpgart_use_buffer(struct command *command, uintptr_t buffer, uint64_t refused, size_t offset,
                      size_t size, struct fpgart_place *place)
{
    if (!fpgart_hold(buffer, FPGART_MEM))
        return 0;
    command->held.uses[command->held.buffers++] = (struct fpgart_use){buffer, offset};
    const struct fpgart_region *region = fpgart_region_of(buffer);
    if (!fpgart_place_in(buffer, command->queue, command->epoch, FPGART_ANYWHERE, place) ||
        size == 0 || offset > region->size || size > region->size - offset ||
        (region->flags & refused) != 0)
        return 0;
    place->address += offset;
    place->store += place->store != 0 ? offset : 0;
    return 1;
}

/* The commands of the first events of a wait list, which are held. */
struct waits {
    uint32_t count;
    struct core_command **commands;
    struct core_command *few[FEW_WAITS];
};

static void end_waits(struct waits *waits, const cl_event *wait_list)
{
    while (waits->count > 0)
        fpgart_unhold((uintptr_t)wait_list[--waits->count], FPGART_EVENT);
    if (waits->commands != waits->few)
        free(waits->commands);
}

/* Returns 0 to leave the call to Python. In any case end_waits() has to follow. */
static int find_waits(const struct command *command, struct waits *waits)
{
    const struct call *call = command->call;
    waits->count = 0;
    waits->commands = call->waits <= FEW_WAITS ? waits->few : malloc(call->waits * sizeof(void *));
    if (waits->commands == NULL)
        return 0;
    while (waits->count < call->waits) {
        uintptr_t event = (uintptr_t)call->wait_list[waits->count];
        struct fpgart_event waited;
        if (!fpgart_hold(event, FPGART_EVENT))
            return 0;
        int is_found = fpgart_event_of(event, &waited);
        waits->commands[waits->count++] = waited.command;
        if (!is_found || waited.context != command->queue->context)
            return 0;
    }
    return 1;
}

/* Returns false if a waiting thread would have to run decided commands, which it can do in
 * Python only. */
static bool may_wait(const struct command *command, const struct waits *waits)
{
    if (!command->call->is_blocking)
        return true;
    for (uint32_t i = 0; i < waits->count; i++)
        if (!core_waits_alone(waits->commands[i]))
            return false;
    return core_finishes_alone(command->queue->core);
}

/* Makes an event for the host, before the command exists. It holds the queue, too. */
static int prepare_event(struct command *command)
{
    const struct call *call = command->call;
    if (call->event == NULL)
        return 1;
    if (!fpgart_hold(call->queue, FPGART_QUEUE))
        return 0;
    uintptr_t event = fpgart_handle_new(FPGART_EVENT, 1);
    if (event == 0) {
        fpgart_unhold(call->queue, FPGART_QUEUE);
        return 0;
    }
    command->held.event = event;
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
    const struct fpgart_event event = {made, call->queue, command->queue->context, call->type};
    fpgart_event_carry(command->held.event, &event);
    *call->event = (cl_event)command->held.event;
}

/* Returns true if the engine can move the bytes of the command, or it moves none. */
static bool is_reached(const struct command *command)
{
    const struct carrier *carrier = command->queue->board->carrier;
    uint32_t kind = command->carried->kind;
    return (kind != CARRIED_MOVE && kind != CARRIED_FILL) || carrier->reaches == NULL ||
           carrier->reaches(command->queue->board->context, command->carried);
}

int fpgart_is_task(const struct command *command)
{
    const uint64_t *global = command->call->nd_range.sizes + 3;
    return command->queue->board->cores != 0 && global[0] == 1 && global[1] == 1 && global[2] == 1;
}

static enum core_kind kind_of(const struct command *command)
{
    if (command->carried->kind != CARRIED_LAUNCH)
        return CORE_MOVES;
    if (command->held.program.may_poll)
        return CORE_POLLS;
    return fpgart_is_task(command) ? CORE_TASK : CORE_CARRIED;
}

static bool is_needless(const struct command *command, enum core_role role,
                        const struct waits *waits)
{
    return role != CORE_WORK && command->call->event == NULL &&
           core_keeps_order(command->queue->core, role, waits->count, waits->commands);
}

/* `size`: the bytes behind the operation. Everything that was held is released if the core
 * refuses the command. */
int fpgart_enqueue_command(struct command *command, enum core_role role, size_t size)
{
    const struct call *call = command->call;
    struct waits waits;
    size_t place = (sizeof(struct carried) + size + 15) / 16 * 16;
    enum core_kind kind = kind_of(command);
    if (kind == CORE_MOVES)
        fpgart_note_ends(1);
    bool is_found = find_waits(command, &waits);
    bool is_done = is_found && is_needless(command, role, &waits);
    if (!is_found || is_done || !may_wait(command, &waits) || !is_reached(command) ||
        !prepare_event(command)) {
        end_waits(&waits, call->wait_list);
        fpgart_give_up(command);
        return is_done;
    }
    command->carried->data = (void *)place;
    size_t used = offsetof(struct held, uses) + command->held.buffers * sizeof(struct fpgart_use);
    memcpy(command->room + place, &command->held, used);
    struct core_command *made =
        core_enqueue(command->queue->core, role, kind, command->epoch, command->carried,
                     place + used, waits.count, waits.commands);
    end_waits(&waits, call->wait_list);
    if (made == NULL) {
        drop_event(command);
        return fpgart_give_up(command);
    }
    if (command->held.watched != NULL)
        fpgart_launch_called(command->held.watched, made, fpgart_held_by(core_operation(made)));
    if (call->is_blocking && core_wait(made) != CL_COMPLETE) { /* Python reports the error */
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
