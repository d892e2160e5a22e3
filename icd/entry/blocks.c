/* SPDX-License-Identifier: Apache-2.0
 *
 * Buffers that C makes, and the blocks of boards' memory for them. A block is spare if first fit
 * would give it to the next buffer of its size: Python allocates it in advance when it frees one
 * of that size (fpgart/bridge/blocks.py). That holds until Python frees other memory of the
 * board, and only for the lowest spare block, because those above count as free as well. Before
 * Python allocates memory itself it frees that block if it is the one that first fit returns, else
 * all spare blocks. */
#include "blocks.h"

#include "boards.h"
#include "core.h"
#include "handles.h"
#include "interpreter.h"
#include "permissions.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct fpgart_block {
    struct fpgart_block *next; /* the next higher spare one */
    struct fpgart_board *board;
    uint64_t number; /* its address on the board */
    uint64_t size, locations;
    uintptr_t pointer;
    uint64_t epoch; /* of the board's memory, in which it is spare */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* The lock is held. */
static void put(struct fpgart_block *block)
{
    struct fpgart_block **place = &block->board->spare;
    while (*place != NULL && (*place)->number < block->number)
        place = &(*place)->next;
    block->next = *place;
    *place = block;
}

/* The lock is held. */
static int is_next(const struct fpgart_board *board, uint64_t size)
{
    const struct fpgart_block *lowest = board->spare;
    return lowest != NULL && lowest->size == size && lowest->epoch == board->memory_epoch;
}

int fpgart_block_spare(uintptr_t board, uint64_t number, uint64_t size, uintptr_t pointer,
                       uint64_t locations)
{
    struct fpgart_board *of = (struct fpgart_board *)board;
    struct fpgart_block *block = malloc(sizeof *block);
    if (block == NULL)
        return 0;
    pthread_mutex_lock(&lock);
    *block = (struct fpgart_block){NULL, of, number, size, locations, pointer, of->memory_epoch};
    put(block);
    pthread_mutex_unlock(&lock);
    return 1;
}

/* Removes the lowest spare block and returns its number; 0 if there is none. `size`: only if first
 * fit would return it for that size; 0: in any case. */
uint64_t fpgart_take_spare(uintptr_t board, uint64_t size)
{
    struct fpgart_board *of = (struct fpgart_board *)board;
    pthread_mutex_lock(&lock);
    struct fpgart_block *block = size == 0 || is_next(of, size) ? of->spare : NULL;
    if (block != NULL)
        of->spare = block->next;
    pthread_mutex_unlock(&lock);
    uint64_t number = block != NULL ? block->number : 0;
    free(block);
    return number;
}

void fpgart_memory_changed(uintptr_t board)
{
    pthread_mutex_lock(&lock);
    ((struct fpgart_board *)board)->memory_epoch++;
    pthread_mutex_unlock(&lock);
}

/* Gives a buffer that Python does not know a block, if it has none. Its contents stay there
 * in each epoch. The lock is held. */
static int settle(uintptr_t buffer, struct fpgart_board *board, uint64_t epoch, uint32_t location)
{
    struct fpgart_block **slot = fpgart_block_of(buffer), *block = slot != NULL ? *slot : NULL;
    if (slot == NULL || (block != NULL && block->board != board))
        return 0;
    if (block == NULL) {
        if (!is_next(board, fpgart_region_of(buffer)->size) ||
            !(board->spare->locations >> location & 1))
            return 0;
        *slot = block = board->spare;
        board->spare = block->next;
    }
    fpgart_buffer_is_at(buffer, (uintptr_t)board, epoch, block->pointer, block->locations, 0);
    return 1;
}

static int settle_buffer(uintptr_t buffer, struct fpgart_board *board, uint64_t epoch,
                         uint32_t location)
{
    pthread_mutex_lock(&lock);
    int done = settle(buffer, board, epoch, location);
    pthread_mutex_unlock(&lock);
    return done;
}

int fpgart_place_in(uintptr_t buffer, const struct fpgart_carried_queue *queue, uint64_t epoch,
                    uint32_t location, struct fpgart_place *found)
{
    int is_anywhere = location == FPGART_ANYWHERE;
    const struct fpgart_place *place = fpgart_place_of(buffer);
    const struct fpgart_region *region = fpgart_region_of(buffer);
    if (place == NULL ||
        (atomic_load(&place->epoch) != epoch &&
         !settle_buffer(fpgart_owner_of(buffer), queue->board, epoch, is_anywhere ? 0 : location)))
        return 0;
    found->board = __atomic_load_n(&place->board, __ATOMIC_RELAXED);
    found->address = __atomic_load_n(&place->address, __ATOMIC_RELAXED) + region->origin;
    found->locations = __atomic_load_n(&place->locations, __ATOMIC_RELAXED);
    found->store = __atomic_load_n(&place->store, __ATOMIC_RELAXED);
    if (found->store != 0)
        found->store += region->origin;
    atomic_thread_fence(memory_order_seq_cst);
    return atomic_load(&place->epoch) == epoch && found->board == queue->board &&
           (is_anywhere || (found->locations >> location & 1)) &&
           region->context == fpgart_handle_serial(queue->context);
}

void fpgart_block_goes(struct fpgart_block **slot)
{
    pthread_mutex_lock(&lock);
    if (*slot != NULL)
        put(*slot);
    *slot = NULL;
    pthread_mutex_unlock(&lock);
}

uint64_t fpgart_take_block(struct fpgart_block **slot)
{
    pthread_mutex_lock(&lock);
    struct fpgart_block *block = *slot;
    *slot = NULL;
    pthread_mutex_unlock(&lock);
    uint64_t number = block != NULL ? block->number : 0;
    free(block);
    return number;
}

static int is_one(uint64_t flags)
{
    return (flags & (flags - 1)) == 0;
}

static int may_have(uint64_t flags, size_t size, const void *host)
{
    uint64_t access = flags & FPGART_ACCESS, host_access = flags & FPGART_HOST_ACCESS;
    return (flags & ~(uint64_t)(FPGART_ACCESS | FPGART_HOST_ACCESS | CL_MEM_COPY_HOST_PTR)) == 0 &&
           is_one(access) && is_one(host_access) && size != 0 &&
           (host != NULL) == ((flags & CL_MEM_COPY_HOST_PTR) != 0);
}

static int has_room(const struct fpgart_board *board, uint64_t size)
{
    pthread_mutex_lock(&lock);
    int found = is_next(board, size);
    pthread_mutex_unlock(&lock);
    return found;
}

/* Commands that have ended may still hold blocks that the host has released. */
static int finds_room(struct fpgart_board *board, uint64_t size)
{
    struct fpgart_visit visit;
    if (has_room(board, size))
        return 1;
    core_board_note(board->core);
    if (!has_room(board, size) && fpgart_any_released() && fpgart_enter(&visit))
        fpgart_leave(&visit); /* entering has released them */
    return has_room(board, size);
}

static int write(uintptr_t buffer, struct fpgart_board *board, const void *host, size_t size)
{
    if (!settle_buffer(buffer, board, core_board_epoch(board->core), 0))
        return 0;
    memcpy((void *)(*fpgart_block_of(buffer))->pointer, host, size);
    __atomic_fetch_add(&board->traffic[0][0], 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&board->traffic[0][1], size, __ATOMIC_RELAXED);
    return 1;
}

static uintptr_t make(uintptr_t context, struct fpgart_board *board, uint64_t flags, size_t size,
                      const void *host)
{
    uintptr_t made = fpgart_handle_new(FPGART_MEM, 1);
    if (made == 0)
        return 0;
    uint64_t access = (flags & FPGART_ACCESS) != 0 ? 0 : CL_MEM_READ_WRITE;
    *fpgart_region_of(made) =
        (struct fpgart_region){flags | access, 0, size, fpgart_handle_serial(context)};
    fpgart_is_unseen(made, context);
    if (host == NULL || write(made, board, host, size))
        return made;
    fpgart_release((const void *)made, FPGART_MEM, CL_INVALID_MEM_OBJECT);
    return 0;
}

cl_mem fpgart_makes_buffer(const void *context, cl_mem_flags flags, size_t size, const void *host)
{
    uintptr_t of = (uintptr_t)context;
    if (!may_have(flags, size, host) || !fpgart_may_carry() ||
        !fpgart_hold(of, FPGART_CONTEXT, fpgart_handle_serial(of)))
        return NULL;
    struct fpgart_board *board = fpgart_only_board(of);
    if (board == NULL || !finds_room(board, size)) {
        fpgart_unhold(of, FPGART_CONTEXT);
        return NULL;
    }
    return (cl_mem)make(of, board, flags, size, host); /* which holds the context */
}
