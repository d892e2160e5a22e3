/* SPDX-License-Identifier: Apache-2.0
 *
 * Commands that C gives to the engine by itself, because Python has found out all that they need:
 * where buffers are, which kernel of the engine one is, which queue of the engine is the host's
 * (fpgart/api/carrying.py). What was found out holds in one epoch of its board; the core refuses
 * commands of an earlier one (core/core.h). Everything else, and whatever is wrong, is for Python.
 *
 * A command holds its queue, kernel and buffers until it has ended. */
#include "icd.h"

#include "../core/core.h"
#include "../fpgart/engine/calls.h"
#include "../fpgart/engine/carrier.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM = 6144, MOST_WAITS = 64, FILL_CALL = 1 << 20 };

/* What stands behind an operation; `data` says where. */
struct held {
    struct fpgart_board *board;
    uintptr_t queue, kernel;
    uintptr_t event;
    uint64_t serial; /* of the event */
    atomic_int is_viewed;
    uint32_t traffic; /* its row in the board's */
    uint64_t calls, bytes;
    uint64_t buffers;
    uintptr_t handles[FPGART_ARGUMENTS];
};

/* A call of the host. */
struct call {
    int (*carry)(const struct call *call);
    uintptr_t queue, kernel, buffer, other;
    struct fpgart_nd_range nd_range;
    size_t offset, other_offset, size;
    const void *host;
    int way, is_blocking, is_barrier;
    size_t pattern;
    cl_command_type type;
    cl_uint waits;
    const cl_event *wait_list;
    cl_event *event;
};

static atomic_int is_on;
static _Thread_local struct call
    missed; /* the last one that was for Python; none without `carry` */

void fpgart_carry(int flag)
{
    atomic_store(&is_on, flag);
}

static int may_carry(void)
{
    return atomic_load(&is_on) && fpgart_running() && !fpgart_watched() && fpgart_has_stack();
}

/* A thread that waits here would keep the interpreter from others. */
static int may_wait(void)
{
    return !(fpgart_is_guest() && fpgart_holds_interpreter());
}

static int carries(const struct call *call)
{
    int cancel_state;
    missed.carry = NULL;
    if (!may_carry() || (call->waits != 0) != (call->wait_list != NULL))
        return 0;
    fpgart_disable_cancel(&cancel_state);
    int done = (!call->is_blocking || may_wait()) && call->carry(call);
    fpgart_restore_cancel(cancel_state);
    if (!done)
        missed = *call;
    return done;
}

int fpgart_carry_again(void)
{
    struct call call = missed;
    missed.carry = NULL;
    return call.carry != NULL && may_carry() && call.carry(&call);
}

/* Boards and queues */

static void board_idle(void *device)
{
    struct fpgart_visit visit;
    if (!fpgart_enter(&visit))
        return; /* the process ends, and nobody waits */
    fpgart_board_idle((uintptr_t)device);
    fpgart_leave(&visit);
}

static void queue_idle(void *queue)
{
    struct fpgart_visit visit;
    if (!fpgart_enter(&visit))
        return;
    fpgart_queue_idle((uintptr_t)queue);
    fpgart_leave(&visit);
}

static void *observe(void *nothing)
{
    core_observe();
    return nothing;
}

static void *serve(void *nothing)
{
    core_serve();
    return nothing;
}

/* The host's signals are for its own threads. */
static int start_thread(void *(*run)(void *))
{
    pthread_t thread;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(&thread, NULL, run, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return !failed && pthread_detach(thread) == 0;
}

static int has_threads;
static pthread_once_t threads_once = PTHREAD_ONCE_INIT;

static void start_threads(void)
{
    has_threads = start_thread(observe) && start_thread(serve);
}

static _Atomic(struct fpgart_board *) boards; /* all that there ever were */

void fpgart_observe_commands(void)
{
    for (struct fpgart_board *each = atomic_load(&boards); each != NULL; each = each->next)
        core_board_observe(each->core);
}

uintptr_t fpgart_board_new(uintptr_t device, uintptr_t carrier, uintptr_t engine_context,
                           uintptr_t engine_device, uintptr_t traffic)
{
    pthread_once(&threads_once, start_threads);
    struct fpgart_board *board = has_threads ? calloc(1, sizeof *board) : NULL;
    if (board == NULL)
        return 0;
    board->core = core_board_new(board_idle, (void *)device);
    if (board->core == NULL) {
        free(board);
        return 0;
    }
    board->carrier = (const struct carrier *)carrier;
    board->context = engine_context;
    board->device = engine_device;
    board->traffic = (uint64_t (*)[2])traffic;
    board->next = atomic_load(&boards);
    while (!atomic_compare_exchange_weak(&boards, &board->next, board))
        ;
    return (uintptr_t)board;
}

static struct core_board *core_of(uintptr_t board)
{
    return ((struct fpgart_board *)board)->core;
}

uint64_t fpgart_board_epoch(uintptr_t board)
{
    return core_board_epoch(core_of(board));
}

void fpgart_board_end_epoch(uintptr_t board)
{
    core_board_end_epoch(core_of(board));
}

int fpgart_board_hold(uintptr_t board)
{
    return core_board_hold(core_of(board));
}

void fpgart_board_resume(uintptr_t board)
{
    core_board_resume(core_of(board));
}

/* Those that have ended since it was asked last. */
uint64_t fpgart_board_take_launches(uintptr_t board)
{
    return atomic_exchange(&((struct fpgart_board *)board)->launches, 0);
}

int fpgart_board_is_open(uintptr_t board)
{
    return core_board_is_open(core_of(board));
}

int fpgart_queue_carries(uintptr_t queue, uintptr_t board, uintptr_t context, int in_order,
                         int has_profiling)
{
    fpgart_queue_slot *slot = fpgart_queue_of(queue);
    struct fpgart_carried_queue *made = calloc(1, sizeof *made), *none = NULL;
    struct fpgart_board *of = (struct fpgart_board *)board;
    if (slot == NULL || made == NULL) {
        free(made);
        return 0;
    }
    void *lane = of->carrier->lane_new(of->context, of->device, in_order, has_profiling);
    if (lane != NULL)
        made->core = core_queue_new(of->core, of->carrier->engine, lane, in_order, NULL,
                                    of->carrier->lane_free);
    if (made->core == NULL) {
        if (lane != NULL)
            of->carrier->lane_free(lane);
        free(made);
        return 0;
    }
    core_queue_call(made->core, queue_idle, (void *)queue);
    made->board = of;
    made->context = context;
    made->in_order = in_order;
    made->has_profiling = has_profiling;
    if (!atomic_compare_exchange_strong(slot, &none, made))
        fpgart_queue_free(made);
    return 1;
}

void fpgart_queue_free(struct fpgart_carried_queue *queue)
{
    if (queue != NULL)
        core_queue_release(queue->core);
    free(queue);
}

static struct fpgart_carried_queue *queue_of(uintptr_t queue)
{
    fpgart_queue_slot *slot = fpgart_queue_of(queue);
    return slot != NULL ? atomic_load(slot) : NULL;
}

int fpgart_queue_hold(uintptr_t queue)
{
    return core_queue_hold(queue_of(queue)->core);
}

void fpgart_queue_resume(uintptr_t queue)
{
    core_queue_resume(queue_of(queue)->core);
}

void fpgart_queue_finish(uintptr_t queue)
{
    core_finish(queue_of(queue)->core);
}

void fpgart_settle_ends(void)
{
    core_settle();
}

void fpgart_queue_note(uintptr_t queue)
{
    core_note_queue(queue_of(queue)->core);
}

void fpgart_queue_flush(uintptr_t queue)
{
    const struct fpgart_carried_queue *of = queue_of(queue);
    of->board->carrier->flush(core_lane(of->core));
}

/* Buffers */

void fpgart_buffer_is_at(uintptr_t buffer, uintptr_t board, uint64_t epoch, uintptr_t address,
                         uint64_t size, uint64_t locations, uint32_t ways, uintptr_t context)
{
    struct fpgart_place *place = fpgart_place_of(buffer);
    if (place == NULL)
        return;
    atomic_store(&place->epoch, 0); /* who reads it meanwhile finds that it changes */
    place->board = (const struct fpgart_board *)board;
    place->address = address;
    place->size = size;
    place->locations = locations;
    place->ways = ways;
    place->context = context;
    atomic_store(&place->epoch, epoch);
}

/* A copy of what is known of a buffer, which the caller holds. */
int fpgart_place_in(uintptr_t buffer, const struct fpgart_carried_queue *queue, uint64_t epoch,
                    struct fpgart_place *found)
{
    const struct fpgart_place *place = fpgart_place_of(buffer);
    if (place == NULL || atomic_load(&place->epoch) != epoch)
        return 0;
    found->board = place->board;
    found->address = place->address;
    found->size = place->size;
    found->locations = place->locations;
    found->ways = place->ways;
    found->context = place->context;
    atomic_thread_fence(memory_order_seq_cst);
    return atomic_load(&place->epoch) == epoch && found->board == queue->board &&
           found->context == queue->context;
}

/* Commands */

struct command {
    const struct call *call;
    struct fpgart_carried_queue *queue;
    uint64_t epoch;
    struct carried *carried; /* in `room` */
    struct held held;        /* goes behind it */
    uint32_t buffers;
    _Alignas(16) char room[ROOM + sizeof(struct held)];
};

static void let_go(const struct held *held)
{
    for (uint64_t i = 0; i < held->buffers; i++)
        fpgart_unhold(held->handles[i], FPGART_MEM);
    if (held->kernel != 0)
        fpgart_unhold(held->kernel, FPGART_KERNEL);
    fpgart_unhold(held->queue, FPGART_QUEUE);
}

static const struct held *held_by(const struct carried *carried)
{
    return (const struct held *)((const char *)carried + (uintptr_t)carried->data);
}

static void count(const struct held *held)
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
        count(held);
    if ((failed || atomic_load(&held->is_viewed)) && fpgart_enter(&visit)) {
        if (failed)
            fpgart_carried_failed(held->queue, held->kernel, status, carried->place);
        if (atomic_load(&held->is_viewed))
            fpgart_view_ended(held->event, held->serial, status);
        fpgart_leave(&visit);
    }
    let_go(held);
}

/* The queue is held if it is found. */
static int begin(struct command *command, const struct call *call)
{
    uint64_t serial = fpgart_handle_serial(call->queue);
    if (!fpgart_hold(call->queue, FPGART_QUEUE, serial))
        return 0;
    command->call = call;
    command->queue = queue_of(call->queue);
    if (command->queue == NULL) {
        fpgart_unhold(call->queue, FPGART_QUEUE);
        return 0;
    }
    command->epoch = core_board_epoch(command->queue->board->core);
    command->carried = (struct carried *)command->room;
    memset(command->carried, 0, sizeof *command->carried);
    command->carried->ended = command_ended;
    command->buffers = 0;
    memset(&command->held, 0, offsetof(struct held, handles));
    command->held.board = command->queue->board;
    command->held.queue = call->queue;
    return 1;
}

static int give_up(struct command *command)
{
    command->held.buffers = command->buffers;
    let_go(&command->held);
    return 0;
}

/* A buffer is held from now on, and bytes of it may be used that way. */
static int use(struct command *command, uintptr_t buffer, int way, size_t offset, size_t size,
               uintptr_t *address)
{
    struct fpgart_place found;
    if (!fpgart_hold(buffer, FPGART_MEM, fpgart_handle_serial(buffer)))
        return 0;
    command->held.handles[command->buffers++] = buffer;
    if (!fpgart_place_in(buffer, command->queue, command->epoch, &found) || size == 0 ||
        offset > found.size || size > found.size - offset || (found.ways & way) != (uint32_t)way)
        return 0;
    *address = found.address + offset;
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
                queue_of(queue)->context == command->queue->context) {
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
static int enqueue(struct command *command, enum core_role role, size_t size)
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
    if (count < 0 || (is_satisfied && role == CORE_BARRIER) || !prepare_event(command)) {
        while (count > 0)
            fpgart_unhold(held[--count], FPGART_EVENT);
        return give_up(command);
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
        return give_up(command);
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

void fpgart_board_loaded(uintptr_t board, uint64_t program)
{
    atomic_store(&((struct fpgart_board *)board)->program, program);
}

uint64_t fpgart_board_program(uintptr_t board)
{
    return atomic_load(&((struct fpgart_board *)board)->program);
}

/* The board is programmed for the launch if another program is loaded. A simulated one disturbs no
 * kernel by that. */
static void load(struct fpgart_board *board, const struct fpgart_program *program)
{
    if (atomic_exchange(&board->program, program->number) == program->number)
        return;
    __atomic_fetch_add(&board->traffic[3][0], 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&board->traffic[3][1], program->size, __ATOMIC_RELAXED);
}

static int carry_launch(const struct call *call)
{
    struct command command;
    struct fpgart_program program;
    if (!begin(&command, call))
        return 0;
    if (!fpgart_hold(call->kernel, FPGART_KERNEL, fpgart_handle_serial(call->kernel)))
        return give_up(&command);
    command.held.kernel = call->kernel;
    int size = fpgart_lay_out_launch(call->kernel, command.queue, &call->nd_range, command.epoch,
                                     command.carried, ROOM - sizeof(struct carried),
                                     command.held.handles, &command.buffers, &program);
    if (size == 0)
        return give_up(&command);
    struct fpgart_board *board = command.queue->board;
    if (!enqueue(&command, CORE_WORK, (size_t)size - 1))
        return 0;
    load(board, &program);
    return 1;
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
    missed.carry = NULL;
    if (dimensions < 1 || dimensions > 3 || global == NULL)
        return 0;
    call.nd_range.dimensions = dimensions;
    call.nd_range.has_local = local != NULL;
    for (cl_uint i = 0; i < 3; i++) {
        int is_used = i < dimensions;
        call.nd_range.sizes[i] = is_used && offset != NULL ? offset[i] : 0;
        call.nd_range.sizes[3 + i] = is_used ? global[i] : 1;
        call.nd_range.sizes[6 + i] = is_used && local != NULL ? local[i] : 1;
    }
    return carries(&call);
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
    return carries(&call);
}

static void count_traffic(struct command *command, uint32_t row, uint64_t calls, uint64_t bytes)
{
    command->held.traffic = row;
    command->held.calls = calls;
    command->held.bytes = bytes;
}

/* On this thread, if nobody wants an event: that needs no queue of the engine. */
static int carry_directly(struct command *command)
{
    const struct carried *carried = command->carried;
    struct core_queue *queue = command->queue->core;
    if (command->queue->in_order)
        core_finish(queue);
    if (!core_begin_directly(queue, command->epoch))
        return 0;
    memmove((void *)carried->to, (const void *)carried->from, carried->size[0]);
    count(&command->held);
    core_end_directly(queue);
    command->held.buffers = command->buffers;
    let_go(&command->held);
    return 1;
}

static int carry_transfer(const struct call *call)
{
    struct command command;
    uintptr_t board;
    if (call->host == NULL || !begin(&command, call))
        return 0;
    if (!use(&command, call->buffer, call->way, call->offset, call->size, &board))
        return give_up(&command);
    int is_write = call->way == FPGART_WAYS_TO;
    command.carried->kind = CARRIED_MOVE;
    command.carried->from = is_write ? (uintptr_t)call->host : board;
    command.carried->to = is_write ? board : (uintptr_t)call->host;
    command.carried->size[0] = call->size;
    command.carried->size[1] = command.carried->size[2] = 1;
    count_traffic(&command, is_write ? 0 : 1, 1, call->size);
    if (call->is_blocking && call->waits == 0 && call->event == NULL && carry_directly(&command))
        return 1;
    return enqueue(&command, CORE_WORK, 0);
}

static int carries_transfer(const void *queue, const void *buffer, int way, cl_bool blocking,
                            size_t offset, size_t size, const void *host, cl_uint waits,
                            const cl_event *wait_list, cl_event *event)
{
    const struct call call = {.carry = carry_transfer,
                              .queue = (uintptr_t)queue,
                              .buffer = (uintptr_t)buffer,
                              .offset = offset,
                              .size = size,
                              .host = host,
                              .way = way,
                              .is_blocking = blocking != 0,
                              .type = way == FPGART_WAYS_TO ? CL_COMMAND_WRITE_BUFFER
                                                            : CL_COMMAND_READ_BUFFER,
                              .waits = waits,
                              .wait_list = wait_list,
                              .event = event};
    return carries(&call);
}

int fpgart_carries_read(const void *queue, const void *buffer, cl_bool blocking, size_t offset,
                        size_t size, void *host, cl_uint waits, const cl_event *wait_list,
                        cl_event *event)
{
    return carries_transfer(queue, buffer, FPGART_WAYS_FROM, blocking, offset, size, host, waits,
                            wait_list, event);
}

int fpgart_carries_write(const void *queue, const void *buffer, cl_bool blocking, size_t offset,
                         size_t size, const void *host, cl_uint waits, const cl_event *wait_list,
                         cl_event *event)
{
    return carries_transfer(queue, buffer, FPGART_WAYS_TO, blocking, offset, size, host, waits,
                            wait_list, event);
}

static int carry_copy(const struct call *call)
{
    struct command command;
    uintptr_t from, to;
    if (!begin(&command, call))
        return 0;
    if (!use(&command, call->buffer, 0, call->offset, call->size, &from) ||
        !use(&command, call->other, 0, call->other_offset, call->size, &to) ||
        (from < to + call->size && to < from + call->size))
        return give_up(&command);
    command.carried->kind = CARRIED_MOVE;
    command.carried->from = from;
    command.carried->to = to;
    command.carried->size[0] = call->size;
    command.carried->size[1] = command.carried->size[2] = 1;
    count_traffic(&command, 2, 1, call->size);
    return enqueue(&command, CORE_WORK, 0);
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
    return carries(&call);
}

static int carry_fill(const struct call *call)
{
    struct command command;
    uintptr_t to;
    size_t pattern = call->pattern;
    if (call->host == NULL || pattern == 0 || pattern > 128 || (pattern & (pattern - 1)) != 0 ||
        call->offset % pattern != 0 || call->size % pattern != 0 || !begin(&command, call))
        return 0;
    if (!use(&command, call->buffer, 0, call->offset, call->size, &to))
        return give_up(&command);
    command.carried->kind = CARRIED_FILL;
    command.carried->to = to;
    command.carried->size[0] = call->size;
    command.carried->count = (uint32_t)pattern;
    memcpy(command.carried->more, call->host, pattern);
    count_traffic(&command, 0, (call->size + FILL_CALL - 1) / FILL_CALL, call->size);
    return enqueue(&command, CORE_WORK, pattern);
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
    return carries(&call);
}

static int carry_marker(const struct call *call)
{
    struct command command;
    if (!begin(&command, call))
        return 0;
    return enqueue(&command, call->is_barrier ? CORE_BARRIER : CORE_MARKER, 0);
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
    return carries(&call);
}

/* What hosts ask of queues and events */

int fpgart_finishes(const void *queue)
{
    uint64_t serial = fpgart_handle_serial((uintptr_t)queue);
    if (!may_carry() || !may_wait() || !fpgart_hold((uintptr_t)queue, FPGART_QUEUE, serial))
        return 0;
    int cancel_state, done = 0;
    fpgart_disable_cancel(&cancel_state);
    const struct fpgart_carried_queue *of = queue_of((uintptr_t)queue);
    if (of != NULL && !core_queue_is_held(of->core)) {
        core_finish(of->core);
        done = !core_queue_is_held(of->core);
    }
    fpgart_unhold((uintptr_t)queue, FPGART_QUEUE);
    fpgart_restore_cancel(cancel_state);
    return done;
}

int fpgart_flushes(const void *queue)
{
    uint64_t serial = fpgart_handle_serial((uintptr_t)queue);
    if (!may_carry() || !fpgart_hold((uintptr_t)queue, FPGART_QUEUE, serial))
        return 0;
    const struct fpgart_carried_queue *of = queue_of((uintptr_t)queue);
    int done = of != NULL && !core_queue_is_held(of->core);
    if (done)
        of->board->carrier->flush(core_lane(of->core));
    fpgart_unhold((uintptr_t)queue, FPGART_QUEUE);
    return done;
}

/* The command of an event, which the caller then holds. */
static struct core_command *find_command(const void *event, uintptr_t *queue, cl_command_type *type)
{
    if (!may_carry() ||
        !fpgart_hold((uintptr_t)event, FPGART_EVENT, fpgart_handle_serial((uintptr_t)event)))
        return NULL;
    struct core_command *found = fpgart_command_of((uintptr_t)event, queue, type);
    if (found == NULL)
        fpgart_unhold((uintptr_t)event, FPGART_EVENT);
    return found;
}

static int waits_for_one(cl_event event, uintptr_t *context)
{
    uintptr_t queue;
    cl_command_type type;
    cl_context own;
    struct core_command *command = find_command(event, &queue, &type);
    if (command == NULL) {
        if (!fpgart_knows_ends(1, &event) ||
            !fpgart_knows(event, FPGART_EVENT, CL_EVENT_CONTEXT, sizeof own, &own, NULL) ||
            (*context != 0 && (uintptr_t)own != *context))
            return 0;
        *context = (uintptr_t)own;
        return 1;
    }
    int done = *context == 0 || *context == queue_of(queue)->context;
    *context = queue_of(queue)->context;
    done = done && core_wait(command) == CL_COMPLETE;
    fpgart_unhold((uintptr_t)event, FPGART_EVENT);
    return done;
}

int fpgart_waits_for(cl_uint count, const cl_event *events)
{
    uintptr_t context = 0;
    if (count == 0 || events == NULL || !may_carry() || !may_wait())
        return 0;
    int cancel_state, done = 1;
    fpgart_disable_cancel(&cancel_state);
    for (cl_uint i = 0; done && i < count; i++)
        done = waits_for_one(events[i], &context);
    fpgart_restore_cancel(cancel_state);
    return done;
}

static int answers(const void *answer, size_t length, size_t size, void *value, size_t *size_ret)
{
    if (value != NULL && size < length)
        return 0;
    if (value != NULL)
        memcpy(value, answer, length);
    if (size_ret != NULL)
        *size_ret = length;
    return 1;
}

int fpgart_says_event(const void *event, cl_event_info query, size_t size, void *value,
                      size_t *size_ret)
{
    uintptr_t queue;
    cl_command_type type;
    struct core_command *command = find_command(event, &queue, &type);
    if (command == NULL)
        return 0;
    uintptr_t context = queue_of(queue)->context;
    cl_int status;
    int done = 0;
    if (query == CL_EVENT_COMMAND_EXECUTION_STATUS) {
        status = core_status(command);
        done = answers(&status, sizeof status, size, value, size_ret);
    } else if (query == CL_EVENT_COMMAND_TYPE) {
        done = answers(&type, sizeof type, size, value, size_ret);
    } else if (query == CL_EVENT_COMMAND_QUEUE) {
        done = answers(&queue, sizeof queue, size, value, size_ret);
    } else if (query == CL_EVENT_CONTEXT) {
        done = answers(&context, sizeof context, size, value, size_ret);
    } else if (query == CL_EVENT_REFERENCE_COUNT) {
        cl_uint references = fpgart_handle_references((uintptr_t)event);
        done = answers(&references, sizeof references, size, value, size_ret);
    }
    fpgart_unhold((uintptr_t)event, FPGART_EVENT);
    return done;
}

int fpgart_says_times(const void *event, cl_profiling_info query, size_t size, void *value,
                      size_t *size_ret)
{
    static const int statuses[] = {CL_QUEUED, CL_SUBMITTED, CL_RUNNING, CL_COMPLETE, CL_COMPLETE};
    uintptr_t queue;
    cl_command_type type;
    struct core_command *command = find_command(event, &queue, &type);
    if (command == NULL)
        return 0;
    int done = 0;
    if (query >= CL_PROFILING_COMMAND_QUEUED && query <= CL_PROFILING_COMMAND_COMPLETE &&
        queue_of(queue)->has_profiling && core_status(command) == CL_COMPLETE) {
        uint64_t times[4];
        core_times(command, times);
        done = answers(&times[statuses[query - CL_PROFILING_COMMAND_QUEUED]], sizeof times[0], size,
                       value, size_ret);
    }
    fpgart_unhold((uintptr_t)event, FPGART_EVENT);
    return done;
}

struct callback {
    void(CL_CALLBACK *call)(cl_event, cl_int, void *);
    void *data;
    uintptr_t event; /* held */
};

static void call_back(struct core_command *command, int32_t status, void *given)
{
    struct callback *callback = given;
    (void)command;
    fpgart_call_about_event((uintptr_t)callback->call, callback->event, status,
                            (uintptr_t)callback->data);
    fpgart_unhold(callback->event, FPGART_EVENT);
    free(callback);
}

int fpgart_calls_back(const void *event, cl_int status,
                      void(CL_CALLBACK *call)(cl_event, cl_int, void *), void *data)
{
    uintptr_t queue;
    cl_command_type type;
    if (call == NULL || status < CL_COMPLETE || status > CL_SUBMITTED)
        return 0;
    struct core_command *command = find_command(event, &queue, &type);
    if (command == NULL)
        return 0;
    struct callback *callback = malloc(sizeof *callback);
    if (callback != NULL) {
        *callback = (struct callback){call, data, (uintptr_t)event};
        if (core_callback(command, status, call_back, callback))
            return 1;
    }
    free(callback);
    fpgart_unhold((uintptr_t)event, FPGART_EVENT);
    return 0;
}

/* For views of events: they hear of the end in command_ended(), unless it has come already. */

int32_t fpgart_command_watch(uintptr_t command)
{
    struct core_command *of = (struct core_command *)command;
    struct held *held = (struct held *)held_by(core_operation(of));
    atomic_store(&held->is_viewed, 1);
    core_observe_command(of);
    return core_status(of);
}

int32_t fpgart_command_wait(uintptr_t command)
{
    return core_wait((struct core_command *)command);
}

int32_t fpgart_command_status(uintptr_t command)
{
    return core_status((struct core_command *)command);
}

void fpgart_command_times(uintptr_t command, uint64_t *times)
{
    core_times((struct core_command *)command, times);
}
