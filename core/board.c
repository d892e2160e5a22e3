/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether a board admits carried commands. */
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
    if (atomic_fetch_sub(&board->references, 1) == 1)
        free(board);
}

void core_board_add(struct core_board *board, struct core_queue *queue)
{
    atomic_fetch_add(&board->references, 1);
    core_lock();
    queue->board = board;
    queue->next = board->queues;
    board->queues = queue;
    core_unlock();
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

bool core_board_admits(const struct core_board *board, uint64_t epoch)
{
    return board == NULL ||
           (board->holders == 0 && !board->awaited && atomic_load(&board->epoch) == epoch);
}

void core_board_enter(struct core_board *board)
{
    if (board != NULL)
        board->open++;
}

void core_board_leave(struct core_board *board, struct core_work *work)
{
    if (board == NULL || --board->open != 0 || !board->awaited)
        return;
    board->next_idle = work->idle;
    work->idle = board;
}

bool core_board_hold(struct core_board *board)
{
    struct core_work work;
    core_begin_work(&work);
    core_lock();
    board->holders++;
    bool is_open = board->open != 0;
    if (is_open && !board->awaited) {
        board->awaited = true;
        atomic_fetch_add(&board->references, 1);
        for (struct core_queue *each = board->queues; each != NULL; each = each->next)
            core_observe_open(each, &work);
    }
    core_unlock();
    core_do(&work);
    return is_open;
}

/* The board admits nothing meanwhile: else a second hold might take this call for its own. */
void core_board_call_idle(struct core_board *board)
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

uint64_t core_board_epoch(struct core_board *board)
{
    return atomic_load(&board->epoch);
}

void core_board_end_epoch(struct core_board *board)
{
    atomic_fetch_add(&board->epoch, 1);
    core_pause();
}
