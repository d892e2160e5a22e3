/* SPDX-License-Identifier: Apache-2.0
 *
 * Buffers that C makes, and the blocks of boards' memory for them. C and Python allocate from the
 * same heap, so that each gets the range that first fit finds. C places only what is in the
 * board's default memory without a request. */
#include "blocks.h"

#include "allocations.h"
#include "boards.h"
#include "core.h"
#include "first_fit.h"
#include "handles.h"
#include "interpreter.h"
#include "pages.h"
#include "permissions.h"

#include <pthread.h>
#include <string.h>

/* Guards the blocks of handles, and from where boards allocate. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t moved = PTHREAD_COND_INITIALIZER;

void fpgart_board_allocates(uintptr_t board, uintptr_t heap, int64_t shift, const uint64_t *limits,
                            uint64_t locations)
{
    struct fpgart_board *of = (struct fpgart_board *)board;
    uint64_t room = limits[0];
    pthread_mutex_lock(&lock);
    if (room != 0 && of->heap == NULL) { /* it stays: blocks are freed there later */
        of->heap = (struct first_fit *)heap;
        of->shift = (uint64_t)shift;
    }
    of->locations = locations;
    of->room = room;
    of->small = limits[1];
    of->spare = limits[2];
    pthread_mutex_unlock(&lock);
}

/* The lock is held. */
static int allocate(struct fpgart_block *block, struct fpgart_board *board, uint64_t size,
                    uint32_t location)
{
    if (size > board->room || !(board->locations >> location & 1) ||
        (size > board->small && first_fit_free_bytes(board->heap) < board->spare))
        return 0;
    int64_t address = first_fit_allocate(board->heap, size, 0, 1);
    if (address < 0)
        return 0;
    board_memory_allocated(board->memory, size);
    block->board = board;
    block->address = (uint64_t)address;
    block->size = size;
    return 1;
}

static void copy_in(const struct fpgart_board *board, uint64_t address, const void *host,
                    size_t size)
{
    memcpy((void *)address, host, size);
    board_memory_count(board->memory, WRITTEN, 1, size);
}

/* Moves the contents from the host's memory to the block. The lock is released meanwhile. */
static void move_from_host(struct fpgart_block *block, uintptr_t host)
{
    const struct fpgart_board *board = block->board;
    block->is_moving = 1;
    pthread_mutex_unlock(&lock);
    copy_in(board, block->address + board->shift, (const void *)host, block->size);
    pthread_mutex_lock(&lock);
    block->is_moving = 0;
    pthread_cond_broadcast(&moved);
}

/* Returns the block of a buffer that Python does not know; otherwise NULL. The lock is held, and
 * released while another thread moves the contents. */
static struct fpgart_block *find_block(uintptr_t buffer)
{
    struct fpgart_block *block;
    while ((block = fpgart_block_of(buffer)) != NULL && block->is_moving)
        pthread_cond_wait(&moved, &lock);
    return block;
}

/* Gives a buffer that Python does not know a block, if it has none, and returns the address of its
 * contents, which stay there in each epoch. Returns 0 if Python has to do that. The lock is held.
 */
static uint64_t settle(uintptr_t buffer, struct fpgart_board *board, uint64_t epoch,
                       uint32_t location)
{
    const struct fpgart_region *region = fpgart_region_of(buffer);
    struct fpgart_block *block = find_block(buffer);
    int is_anywhere = location == FPGART_ANYWHERE, has_contents = region->host != 0;
    if (block == NULL || (block->board != NULL && block->board != board))
        return 0;
    if (block->board == NULL) {
        if ((has_contents && is_anywhere) || /* only a launch needs them on the board */
            !allocate(block, board, region->size, is_anywhere ? 0 : location))
            return 0;
        if (has_contents)
            move_from_host(block, region->host);
    }
    uint64_t address = block->address + board->shift;
    fpgart_buffer_is_at(buffer, (uintptr_t)board, epoch, address, board->locations, region->host);
    return address;
}

static uint64_t settle_buffer(uintptr_t buffer, struct fpgart_board *board, uint64_t epoch,
                              uint32_t location)
{
    pthread_mutex_lock(&lock);
    uint64_t address = settle(buffer, board, epoch, location);
    pthread_mutex_unlock(&lock);
    return address;
}

int fpgart_place_in(uintptr_t buffer, const struct fpgart_carried_queue *queue, uint64_t epoch,
                    uint32_t location, struct fpgart_place *found)
{
    int is_anywhere = location == FPGART_ANYWHERE;
    const struct fpgart_place *place = fpgart_place_of(buffer);
    const struct fpgart_region *region = fpgart_region_of(buffer);
    if (place == NULL || (atomic_load(&place->epoch) != epoch &&
                          !settle_buffer(fpgart_owner_of(buffer), queue->board, epoch, location)))
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

uintptr_t fpgart_store_of(uintptr_t buffer, const struct fpgart_carried_queue *queue)
{
    const struct fpgart_region *region = fpgart_region_of(buffer);
    uintptr_t owner = fpgart_owner_of(buffer), store = 0;
    if (fpgart_board_in(queue->context, FPGART_OVER_HOST) == NULL)
        return 0;
    pthread_mutex_lock(&lock);
    struct fpgart_block *block = find_block(owner);
    if (block != NULL && block->board != NULL) {
        if (block->store == 0)
            block->store = map_anonymous(block->size);
        store = block->store;
    }
    pthread_mutex_unlock(&lock);
    return store != 0 ? store + region->origin : 0;
}

void fpgart_block_free(struct fpgart_block *block)
{
    struct fpgart_block freed = fpgart_take_block(block);
    if (freed.store != 0)
        unmap(freed.store, freed.size);
    if (freed.board == NULL)
        return;
    if (!board_memory_keeps(freed.board->memory, freed.size))
        board_memory_discard(freed.address + freed.board->shift, freed.size);
    first_fit_free(freed.board->heap, freed.address, freed.size);
}

struct fpgart_block fpgart_take_block(struct fpgart_block *block)
{
    pthread_mutex_lock(&lock);
    while (block->is_moving)
        pthread_cond_wait(&moved, &lock);
    struct fpgart_block taken = *block;
    block->board = NULL;
    block->store = 0;
    pthread_mutex_unlock(&lock);
    return taken;
}

static int is_one(uint64_t flags)
{
    return (flags & (flags - 1)) == 0;
}

enum { OVER_HOST = CL_MEM_USE_HOST_PTR, COPIES = CL_MEM_COPY_HOST_PTR };

static int may_have(uint64_t flags, size_t size, const void *host)
{
    const uint64_t known = FPGART_ACCESS | FPGART_HOST_ACCESS | OVER_HOST | COPIES;
    return (flags & ~(known | CL_MEM_ALLOC_HOST_PTR)) == 0 && is_one(flags & FPGART_ACCESS) &&
           is_one(flags & FPGART_HOST_ACCESS) && size != 0 &&
           (host != NULL) == ((flags & (OVER_HOST | COPIES)) != 0) &&
           ((flags & OVER_HOST) == 0 || (flags & (COPIES | CL_MEM_ALLOC_HOST_PTR)) == 0);
}

static int write(uintptr_t buffer, struct fpgart_board *board, const void *host, size_t size)
{
    uint64_t address = settle_buffer(buffer, board, core_board_epoch(board->core), 0);
    if (address == 0)
        return 0;
    copy_in(board, address, host, size);
    return 1;
}

/* Frees the blocks of buffers that the host has released and whose commands have ended. */
static void free_blocks(uintptr_t context)
{
    struct fpgart_visit visit;
    fpgart_board_slot *slots = fpgart_boards_of(context);
    struct fpgart_board *board;
    for (int i = 0; i < FPGART_MOST_BOARDS && (board = atomic_load(&slots[i])) != NULL; i++)
        core_board_note(board->core, false);
    if (fpgart_any_released() && fpgart_enter(&visit))
        fpgart_leave(&visit); /* entering has released them */
}

static uintptr_t make(uintptr_t context, struct fpgart_board *board, uint64_t flags, size_t size,
                      const void *host)
{
    uintptr_t made = fpgart_handle_new(FPGART_MEM, 1);
    if (made == 0)
        return 0;
    *fpgart_region_of(made) = (struct fpgart_region){
        flags != 0 ? flags : CL_MEM_READ_WRITE, 0, size, fpgart_handle_serial(context),
        (flags & OVER_HOST) != 0 ? (uintptr_t)host : 0};
    fpgart_is_unseen(made, context);
    if ((flags & COPIES) == 0 || write(made, board, host, size))
        return made;
    fpgart_release((const void *)made, FPGART_MEM, CL_INVALID_MEM_OBJECT);
    return 0;
}

cl_mem fpgart_makes_buffer(const void *context, cl_mem_flags flags, size_t size, const void *host)
{
    uintptr_t of = (uintptr_t)context;
    if (!may_have(flags, size, host) || !fpgart_may_carry() || !fpgart_hold(of, FPGART_CONTEXT))
        return NULL;
    int is_over_host = (flags & OVER_HOST) != 0;
    struct fpgart_board *board =
        fpgart_board_in(of, is_over_host ? FPGART_OVER_HOST : FPGART_FIRST_BOARD);
    if (board == NULL || size > board->room ||
        ((flags & COPIES) != 0 &&
         fpgart_exceeds_svm(fpgart_handle_serial(of), (uintptr_t)host, size)) ||
        (is_over_host && (size > FPGART_SHORT || fpgart_has_svm(fpgart_handle_serial(of))))) {
        fpgart_unhold(of, FPGART_CONTEXT);
        return NULL;
    }
    free_blocks(of);
    return (cl_mem)make(of, board, flags, size, host); /* which holds the context */
}
