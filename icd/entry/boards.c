/* SPDX-License-Identifier: Apache-2.0
 *
 * Boards and queues whose commands C may give to the engine, and the facts about buffers that
 * Python has found for that (fpgart/bridge/carrying.py). They hold in one epoch of the board. */
#include "boards.h"

#include "carrier.h"
#include "interpreter.h"
#include "permissions.h"

#include <pthread.h>
#include <stdlib.h>

static void board_idle(void *device)
{
    struct fpgart_visit visit;
    if (!fpgart_enter(&visit))
        return; /* the process exits */
    fpgart_board_idle((uintptr_t)device);
    fpgart_leave(&visit);
}

/* The caller of the commands that C does not carry. */
static struct core_caller *scheduler;

void fpgart_decides(struct core_caller *caller)
{
    scheduler = caller;
}

void fpgart_call_scheduler(void *nothing)
{
    struct fpgart_visit visit;
    (void)nothing;
    if (!fpgart_enter(&visit))
        return; /* the process exits */
    fpgart_commands_ready();
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

static pthread_once_t threads_once = PTHREAD_ONCE_INIT;

static void start_threads(void)
{
    fpgart_threads_run(fpgart_start_thread(observe, NULL) && fpgart_start_thread(serve, NULL));
}

static _Atomic(struct fpgart_board *) boards; /* all that were ever made */

void fpgart_note_ends(int only_polling)
{
    for (struct fpgart_board *each = atomic_load(&boards); each != NULL; each = each->next)
        core_board_note(each->core, only_polling);
}

void fpgart_observe_commands(void)
{
    for (struct fpgart_board *each = atomic_load(&boards); each != NULL; each = each->next)
        core_board_observe(each->core);
}

/* Nobody else may ask for the ends of its commands any more, which hold it until they are noted. */
void fpgart_queue_goes(uintptr_t queue)
{
    struct fpgart_carried_queue *carried = fpgart_carried_queue(queue);
    if (carried != NULL)
        core_queue_observe(carried->core);
}

uintptr_t fpgart_board_new(uintptr_t device, uintptr_t carrier, uintptr_t engine_context,
                           uintptr_t engine_device, uintptr_t memory, int has_svm, uint32_t cores)
{
    pthread_once(&threads_once, start_threads);
    struct fpgart_board *board = fpgart_has_threads() ? calloc(1, sizeof *board) : NULL;
    if (board == NULL)
        return 0;
    board->core = core_board_new(board_idle, (void *)device);
    if (board->core == NULL || (cores != 0 && !core_board_has_cores(board->core, cores))) {
        core_board_release(board->core);
        free(board);
        return 0;
    }
    board->handle = device;
    board->carrier = (const struct carrier *)carrier;
    board->context = engine_context;
    board->device = engine_device;
    board->has_svm = has_svm;
    board->cores = cores;
    board->memory = (struct board_memory *)memory;
    board->next = atomic_load(&boards);
    while (!atomic_compare_exchange_weak(&boards, &board->next, board))
        ;
    return (uintptr_t)board;
}

struct core_board *fpgart_core_board(uintptr_t board)
{
    return ((struct fpgart_board *)board)->core;
}

/* Returns the number of launches that have ended since the last call. */
uint64_t fpgart_board_take_launches(uintptr_t board)
{
    return atomic_exchange(&((struct fpgart_board *)board)->launches, 0);
}

/* From now on C makes new queues of the context for that board, and new buffers if it is the
 * board of the context's first device. `is_over_host`: also those over the host's memory. */
void fpgart_context_has(uintptr_t context, uintptr_t given, int is_first, int is_over_host)
{
    struct fpgart_board *board = (struct fpgart_board *)given;
    fpgart_board_slot *slots = fpgart_boards_of(context);
    if (slots != NULL && is_first)
        atomic_store(&slots[FPGART_FIRST_BOARD], board);
    if (slots != NULL && is_first && is_over_host)
        atomic_store(&slots[FPGART_OVER_HOST], board);
    for (int i = 0; slots != NULL && i < FPGART_MOST_BOARDS; i++) {
        struct fpgart_board *none = NULL;
        if (atomic_compare_exchange_strong(&slots[i], &none, board) || none == board)
            return;
    }
}

static struct fpgart_board *board_of(uintptr_t context, uintptr_t device)
{
    fpgart_board_slot *slots = fpgart_boards_of(context);
    for (int i = 0; slots != NULL && i < FPGART_MOST_BOARDS; i++) {
        struct fpgart_board *board = atomic_load(&slots[i]);
        if (board != NULL && board->handle == device)
            return board;
    }
    return NULL;
}

struct fpgart_board *fpgart_board_in(uintptr_t context, int slot)
{
    fpgart_board_slot *slots = fpgart_boards_of(context);
    return slots != NULL ? atomic_load(&slots[slot]) : NULL;
}

/* Another thread may have given the queue a lane. */
static int has_lane(struct core_queue *core, const struct fpgart_board *board, int in_order,
                    int has_profiling)
{
    const struct carrier *carrier = board->carrier;
    void *lane = carrier->lane_new(board->context, board->device, in_order, has_profiling);
    if (lane == NULL)
        return 0;
    const struct core_lane carries = {carrier->engine, lane, fpgart_renews, fpgart_hand_over,
                                      carrier->lane_free};
    if (!core_queue_carry(core, board->core, &carries))
        carrier->lane_free(lane);
    return 1;
}

/* `core`: Python's queue; NULL for one of C's, which has no number yet. */
int fpgart_queue_carries(uintptr_t queue, struct core_queue *core, uintptr_t board,
                         uintptr_t context, uint32_t number, uint64_t properties)
{
    int in_order = (properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) == 0;
    int has_times = (properties & CL_QUEUE_PROFILING_ENABLE) != 0 ||
                    (fpgart_watches_launches() & FPGART_TRACED) != 0;
    fpgart_queue_slot *slot = fpgart_queue_of(queue);
    struct fpgart_carried_queue *made = NULL, *none = NULL;
    struct fpgart_board *of = (struct fpgart_board *)board;
    if (slot != NULL && atomic_load(slot) != NULL)
        return 1;
    if (slot == NULL || (made = calloc(1, sizeof *made)) == NULL)
        return 0;
    if (core != NULL)
        core_queue_retain(core);
    made->core = core != NULL ? core : core_queue_new(scheduler, in_order);
    if (made->core == NULL || !has_lane(made->core, of, in_order, has_times)) {
        fpgart_queue_free(made);
        return 0;
    }
    made->board = of;
    made->context = context;
    made->number = number;
    made->properties = properties;
    if (!atomic_compare_exchange_strong(slot, &none, made))
        fpgart_queue_free(made);
    return 1;
}

int fpgart_event_of(uintptr_t event, struct fpgart_event *found)
{
    uintptr_t parent;
    found->command = fpgart_command_of(event, &found->type, &parent);
    if (found->command == NULL)
        return 0;
    const struct fpgart_carried_queue *of = fpgart_carried_queue(parent);
    found->queue = of != NULL ? parent : 0;
    found->context = of != NULL ? of->context : parent;
    return 1;
}

void fpgart_queue_free(struct fpgart_carried_queue *queue)
{
    if (queue != NULL)
        core_queue_release(queue->core);
    free(queue);
}

struct fpgart_carried_queue *fpgart_carried_queue(uintptr_t queue)
{
    fpgart_queue_slot *slot = fpgart_queue_of(queue);
    return slot != NULL ? atomic_load(slot) : NULL;
}

/* Reads a list of properties, which may be NULL. Returns 0 for a list with other properties than
 * CL_QUEUE_PROPERTIES. */
static int read_properties(const cl_queue_properties *list, cl_command_queue_properties *properties)
{
    if (list == NULL)
        return 1;
    if (list[0] != CL_QUEUE_PROPERTIES || list[2] != 0)
        return 0;
    *properties = (cl_command_queue_properties)list[1];
    return 1;
}

static uintptr_t make_queue(uintptr_t context, struct fpgart_board *board,
                            cl_command_queue_properties properties, int has_list)
{
    uintptr_t made = fpgart_handle_new(FPGART_QUEUE, 1);
    if (made == 0)
        return 0;
    if (!fpgart_queue_carries(made, NULL, (uintptr_t)board, context, 0, properties)) {
        fpgart_handle_free(made);
        return 0;
    }
    fpgart_carried_queue(made)->has_list = has_list;
    fpgart_is_unseen(made, context);
    return made;
}

static cl_command_queue makes_queue(uintptr_t context, uintptr_t device,
                                    cl_command_queue_properties properties, int has_list)
{
    enum { KNOWN = CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE | CL_QUEUE_PROFILING_ENABLE };
    if ((properties & ~(cl_command_queue_properties)KNOWN) != 0 || !fpgart_may_carry() ||
        !fpgart_hold(context, FPGART_CONTEXT))
        return NULL;
    struct fpgart_board *board = board_of(context, device);
    uintptr_t made = board != NULL ? make_queue(context, board, properties, has_list) : 0;
    if (made == 0)
        fpgart_unhold(context, FPGART_CONTEXT);
    return (cl_command_queue)made;
}

cl_command_queue fpgart_makes_queue(const void *context, const void *device,
                                    cl_command_queue_properties properties)
{
    return makes_queue((uintptr_t)context, (uintptr_t)device, properties, 0);
}

cl_command_queue fpgart_makes_queue_with(const void *context, const void *device,
                                         const cl_queue_properties *list)
{
    cl_command_queue_properties properties = 0;
    if (!read_properties(list, &properties))
        return NULL;
    return makes_queue((uintptr_t)context, (uintptr_t)device, properties, list != NULL);
}

void fpgart_queue_flush(uintptr_t queue)
{
    const struct fpgart_carried_queue *of = fpgart_carried_queue(queue);
    of->board->carrier->flush(core_lane(of->core));
}

void fpgart_board_loaded(uintptr_t board, uint64_t program)
{
    atomic_store(&((struct fpgart_board *)board)->program, program);
}

uint64_t fpgart_board_program(uintptr_t board)
{
    return atomic_load(&((struct fpgart_board *)board)->program);
}

void fpgart_buffer_is_at(uintptr_t buffer, uintptr_t board, uint64_t epoch, uintptr_t address,
                         uint64_t locations, uintptr_t store)
{
    struct fpgart_place *place = fpgart_place_of(buffer);
    if (place == NULL)
        return;
    atomic_store(&place->epoch, 0); /* readers find that it is changing (fpgart_place_in()) */
    atomic_thread_fence(memory_order_release);
    __atomic_store_n(&place->board, (const struct fpgart_board *)board, __ATOMIC_RELAXED);
    __atomic_store_n(&place->address, address, __ATOMIC_RELAXED);
    __atomic_store_n(&place->locations, locations, __ATOMIC_RELAXED);
    __atomic_store_n(&place->store, store, __ATOMIC_RELAXED);
    atomic_store(&place->epoch, epoch);
}
