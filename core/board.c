/* SPDX-License-Identifier: Apache-2.0
 *
 * Counts the carried commands of boards, and admits new ones. */
#include "command.h"

#include <stdlib.h>

struct core_board *core_board_new(void (*idle)(void *data), void *data)
{
    struct core_board *board = calloc(1, sizeof *board);
    if (board == NULL)
        return NULL;
    board->idle = idle;
    board->data = data;
    atomic_store(&board->references, 1);
    atomic_store(&board->epoch, 1);
    return board;
}

void core_board_release(struct core_board *board)
{
    if (board == NULL || atomic_fetch_sub(&board->references, 1) != 1)
        return;
    free(board->on_core);
    free(board);
}

void core_board_add(struct core_board *board, struct core_queue *queue)
{
    atomic_fetch_add(&board->references, 1);
    queue->board = board;
    queue->next = board->queues;
    board->queues = queue;
}

void core_board_remove(struct core_board *board, struct core_queue *queue)
{
    core_lock();
    struct core_queue **place = &board->queues;
    while (*place != queue)
        place = &(*place)->next;
    *place = queue->next;
    core_unlock();
    core_board_release(board);
}

/* The sums over all boards: their engines may run commands on the same threads. */
static uint32_t polling, running;
static uint64_t newest_polling;

bool core_engine_may_get(const struct core_queue *queue, enum core_kind kind, uint64_t behind)
{
    uint32_t own_polling = queue->in_order ? queue->polling : 0;
    bool is_behind = polling == own_polling || behind == newest_polling;
    return kind != CORE_MOVES || (is_behind && running == queue->running);
}

static void note_behind(struct core_command *command, const struct core_command *before)
{
    if (before->behind > command->behind)
        command->behind = before->behind;
    if (before->polling == command->behind + 1)
        command->behind = before->polling;
}

/* Links are read forth and back, because they stand in either order. */
static void read_links(struct core_command *command)
{
    const struct core_link *links = command->links;
    for (uint32_t i = 0; i < command->link_count; i++)
        note_behind(command, links[i].before);
    for (uint32_t i = command->link_count; i-- > 0;)
        note_behind(command, links[i].before);
}

bool core_is_for_engine(struct core_command *command)
{
    command->behind = polling == 0 ? newest_polling : 0;
    if (polling != 0)
        read_links(command);
    return core_engine_may_get(command->queue, command->kind, command->behind);
}

bool core_board_has_cores(struct core_board *board, uint32_t cores)
{
    board->on_core = calloc(cores, sizeof *board->on_core);
    if (board->on_core != NULL)
        board->core_count = cores;
    return board->on_core != NULL;
}

uint32_t core_cores(const struct core_queue *queue, enum core_kind kind)
{
    uint32_t all = queue->board->core_count;
    return kind == CORE_MOVES ? 0 : kind == CORE_TASK && all != 0 ? 1 : all;
}

/* Returns the core on which a task runs: one whose kernel it follows in its queue, or a free one,
 * or else the cores in turn. */
static uint32_t find_core(struct core_board *board, const struct core_queue *queue)
{
    uint32_t free_core = board->next_core;
    for (uint32_t i = board->core_count; i-- > 0;) {
        uint32_t core = (board->next_core + i) % board->core_count;
        const struct core_command *kernel = board->on_core[core];
        if (kernel == NULL)
            free_core = core;
        else if (queue->in_order && kernel->queue == queue)
            return core;
    }
    board->next_core = (free_core + 1) % board->core_count;
    return free_core;
}

void core_occupy(struct core_command *command, struct core_work *work)
{
    struct core_queue *queue = command->queue;
    struct core_board *board = queue->board;
    uint32_t count = core_cores(queue, command->kind);
    uint32_t first = count == 1 ? find_core(board, queue) : 0;
    struct core_command *followed = NULL;
    if (command->kind == CORE_POLLS)
        command->polling = ++newest_polling;
    for (uint32_t i = first; i < first + count; i++) {
        struct core_command *before = board->on_core[i];
        board->on_core[i] = command;
        if (before != NULL && before != followed)
            core_follow(command, before, false, false, work);
        followed = before;
    }
}

void core_vacate(const struct core_command *command)
{
    const struct core_board *board = command->queue->board;
    for (uint32_t i = 0; i < board->core_count; i++)
        if (board->on_core[i] == command)
            board->on_core[i] = NULL;
}

bool core_admits(const struct core_queue *queue, uint64_t epoch)
{
    const struct core_board *board = queue->board;
    return board->holders == 0 && !board->awaited && atomic_load(&board->epoch) == epoch;
}

void core_admit(struct core_queue *queue, enum core_kind kind)
{
    polling += kind == CORE_POLLS;
    queue->polling += kind == CORE_POLLS;
    queue->board->open++;
    if (kind != CORE_MOVES && queue->board->kernels++ == 0)
        queue->board->kernels_since = queue->lane.engine->now();
}

void core_leave(struct core_queue *queue, enum core_kind kind, struct core_work *work)
{
    struct core_board *board = queue->board;
    polling -= kind == CORE_POLLS;
    queue->polling -= kind == CORE_POLLS;
    if (kind != CORE_MOVES && --board->kernels == 0)
        board->kernels_ns += queue->lane.engine->now() - board->kernels_since;
    if (--board->open != 0 || !board->awaited)
        return;
    board->next_idle = work->idle;
    work->idle = board;
}

void core_runs(struct core_queue *queue, bool begins)
{
    running += begins ? 1 : UINT32_MAX;
    queue->running += begins ? 1 : UINT32_MAX;
}

bool core_board_hold(struct core_board *board)
{
    struct core_work work;
    core_begin_work(&work);
    board->holders++;
    bool is_open = board->open != 0;
    if (is_open && !board->awaited) {
        board->awaited = true;
        atomic_fetch_add(&board->references, 1);
        for (struct core_queue *each = board->queues; each != NULL; each = each->next)
            core_observe_open(each, &work);
    }
    core_end_work(&work);
    return is_open;
}

void core_queue_observe(struct core_queue *queue)
{
    struct core_work work;
    core_note_queue(queue, false);
    core_begin_work(&work);
    core_observe_open(queue, &work);
    core_end_work(&work);
}

void core_board_observe(struct core_board *board)
{
    struct core_work work;
    core_begin_work(&work);
    for (struct core_queue *each = board->queues; each != NULL; each = each->next)
        core_observe_open(each, &work);
    core_end_work(&work);
}

/* The board admits nothing until idle() has returned. Otherwise a second hold might take this
 * call for its own. */
void core_call_idle(struct core_board *board)
{
    board->idle(board->data);
    core_lock();
    board->awaited = false;
    core_unlock();
    core_board_release(board);
}

void core_board_resume(struct core_board *board)
{
    core_lock();
    board->holders--;
    core_unlock();
}

uint64_t core_board_kernel_time(struct core_board *board, uint64_t now)
{
    core_board_note(board, false);
    core_lock();
    uint64_t time = board->kernels_ns + (board->kernels != 0 ? now - board->kernels_since : 0);
    core_unlock();
    return time;
}

void core_board_note(struct core_board *board, bool only_polling)
{
    struct core_queue *last = NULL;
    core_lock();
    for (struct core_queue *each = board->queues; each != NULL; each = each->next) {
        if ((only_polling ? each->polling : each->in_engine) == 0)
            continue;
        atomic_fetch_add(&each->references, 1); /* its commands have some */
        core_unlock();
        core_queue_release(last);
        core_note_queue(each, !only_polling);
        last = each; /* it stays in the list until it is released */
        core_lock();
    }
    core_unlock();
    core_queue_release(last);
}

bool core_board_is_open(struct core_board *board)
{
    core_lock();
    bool is_open = board->open != 0;
    core_unlock();
    return is_open;
}

bool core_board_uses(struct core_board *board, bool (*uses)(const void *operation, void *data),
                     void *data)
{
    bool found = false;
    core_lock();
    for (struct core_queue *queue = board->queues; queue != NULL && !found; queue = queue->next) {
        found = queue->direct != NULL && uses(queue->direct, data);
        for (struct core_command *each = queue->oldest; each != NULL && !found; each = each->newer)
            found = each->admitted && uses(each->operation, data);
    }
    core_unlock();
    return found;
}

uint64_t core_board_epoch(struct core_board *board)
{
    return atomic_load(&board->epoch);
}

bool core_is_outdated(const struct core_command *command)
{
    return atomic_load(&command->queue->board->epoch) != command->epoch;
}

void core_board_end_epoch(struct core_board *board)
{
    atomic_fetch_add(&board->epoch, 1);
    core_pause();
}
