/* SPDX-License-Identifier: Apache-2.0
 *
 * Allocations of shared memory, so that C knows pointers into them. Python adds each before the
 * host has its pointer, and removes it before its memory is freed. */
#include "allocations.h"

#include "handles.h"
#include "remembered.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct allocation {
    uint64_t context; /* its serial, because handles are reused */
    uintptr_t begin, end;
    int is_plain, is_watched;
    uintptr_t device;
    fpgart_answers answers;
};
/* Addresses of a board's memory: those of all allocations that there were, and between them. */
struct mapped {
    uintptr_t begin, end, device;
    struct mapped *next;
};
enum { ADDRESS_BITS = 47 }; /* of a process */

/* By context and begin; those of a context do not overlap. */
struct table {
    struct allocation *all;
    size_t count, room;
};

static struct table usm, svm;
static struct mapped *boards;
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;

/* Returns the number of allocations that begin at or before an address of a context; those of
 * contexts with smaller numbers are before all of it. */
static size_t begun(const struct table *table, uint64_t context, uintptr_t address)
{
    size_t low = 0, high = table->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct allocation *each = &table->all[middle];
        if (each->context < context || (each->context == context && each->begin <= address))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Returns 0 without memory. The lock is held, as for remove(). */
static int add(struct table *table, const struct allocation *added)
{
    if (table->count == table->room) {
        size_t room = table->room == 0 ? 64 : 2 * table->room;
        struct allocation *larger = realloc(table->all, room * sizeof *larger);
        if (larger == NULL)
            return 0;
        table->all = larger;
        table->room = room;
    }
    struct allocation *place = table->all + begun(table, added->context, added->begin);
    memmove(place + 1, place, (size_t)(table->all + table->count++ - place) * sizeof *place);
    *place = *added;
    return 1;
}

static void take_out(struct table *table, size_t first, size_t behind)
{
    for (size_t i = first; i < behind; i++)
        fpgart_forget(&table->all[i].answers);
    if (behind < table->count) /* the array may not exist */
        memmove(&table->all[first], &table->all[behind],
                (table->count - behind) * sizeof *table->all);
    table->count -= behind - first;
}

static void take_out_all(struct table *table, uint64_t context)
{
    take_out(table, begun(table, context - 1, UINTPTR_MAX), begun(table, context, UINTPTR_MAX));
}

static void remove_at(struct table *table, uintptr_t context, uintptr_t begin)
{
    uint64_t serial = fpgart_handle_serial(context);
    pthread_rwlock_wrlock(&lock);
    size_t behind = begun(table, serial, begin);
    if (behind > 0 && table->all[behind - 1].context == serial &&
        table->all[behind - 1].begin == begin)
        take_out(table, behind - 1, behind);
    pthread_rwlock_unlock(&lock);
}

/* Returns 0 without memory. The lock is held. */
static int add_mapped(uintptr_t device, uintptr_t begin, uintptr_t end)
{
    struct mapped *board = boards;
    while (board != NULL && board->device != device)
        board = board->next;
    if (board == NULL) {
        if ((board = malloc(sizeof *board)) == NULL)
            return 0;
        *board = (struct mapped){begin, end, device, boards};
        boards = board;
    }
    board->begin = begin < board->begin ? begin : board->begin;
    board->end = end > board->end ? end : board->end;
    return 1;
}

/* Without memory the allocation is not added, and pointers into it are left to Python. */
void fpgart_allocation_made(uintptr_t context, uintptr_t begin, size_t size, int is_plain,
                            int is_watched, uintptr_t device)
{
    const struct allocation made = {
        fpgart_handle_serial(context), begin, begin + size, is_plain, is_watched, device, NULL};
    pthread_rwlock_wrlock(&lock);
    if (device == 0 || add_mapped(device, begin, begin + size))
        add(&usm, &made);
    pthread_rwlock_unlock(&lock);
}

void fpgart_allocation_goes(uintptr_t context, uintptr_t begin)
{
    remove_at(&usm, context, begin);
}

int fpgart_svm_made(uintptr_t context, uintptr_t begin, size_t size)
{
    const struct allocation made = {
        .context = fpgart_handle_serial(context), .begin = begin, .end = begin + size};
    pthread_rwlock_wrlock(&lock);
    int is_added = add(&svm, &made);
    pthread_rwlock_unlock(&lock);
    return is_added;
}

void fpgart_svm_removed(uintptr_t context, uintptr_t begin)
{
    remove_at(&svm, context, begin);
}

void fpgart_allocations_go(uint64_t context)
{
    pthread_rwlock_wrlock(&lock);
    take_out_all(&usm, context);
    take_out_all(&svm, context);
    pthread_rwlock_unlock(&lock);
}

/* Returns the allocation that contains a pointer, or NULL. The lock is held. */
static struct allocation *find(const struct table *table, uint64_t context, uintptr_t pointer)
{
    size_t behind = begun(table, context, pointer);
    struct allocation *found = behind > 0 ? &table->all[behind - 1] : NULL;
    return found != NULL && found->context == context && pointer < found->end ? found : NULL;
}

int fpgart_has_svm(uint64_t context)
{
    pthread_rwlock_rdlock(&lock);
    int has = begun(&svm, context - 1, UINTPTR_MAX) != begun(&svm, context, UINTPTR_MAX);
    pthread_rwlock_unlock(&lock);
    return has;
}

int fpgart_is_svm(uint64_t context, uintptr_t pointer, size_t size)
{
    pthread_rwlock_rdlock(&lock);
    const struct allocation *found = find(&svm, context, pointer);
    int is = found != NULL && size <= found->end - pointer;
    pthread_rwlock_unlock(&lock);
    return is;
}

int fpgart_exceeds_svm(uint64_t context, uintptr_t pointer, size_t size)
{
    pthread_rwlock_rdlock(&lock);
    const struct allocation *found = find(&svm, context, pointer);
    int exceeds = found != NULL && size > found->end - pointer;
    pthread_rwlock_unlock(&lock);
    return exceeds;
}

int fpgart_is_allocated(uint64_t context, uintptr_t pointer)
{
    pthread_rwlock_rdlock(&lock);
    int found = find(&usm, context, pointer) != NULL;
    pthread_rwlock_unlock(&lock);
    return found;
}

/* Returns the begin of the allocation if a launch may use the host's pointer into it, else 0. */
uintptr_t fpgart_plain_allocation(uint64_t context, uintptr_t pointer)
{
    pthread_rwlock_rdlock(&lock);
    const struct allocation *found = find(&usm, context, pointer);
    uintptr_t begin = found != NULL && found->is_plain ? found->begin : 0;
    pthread_rwlock_unlock(&lock);
    return begin;
}

static int is_mapped(uintptr_t pointer)
{
    const struct mapped *board = boards;
    while (board != NULL && (pointer < board->begin || pointer >= board->end))
        board = board->next;
    return board != NULL;
}

int fpgart_may_move(uint64_t context, uintptr_t pointer, size_t size, uintptr_t *device)
{
    pthread_rwlock_rdlock(&lock);
    const struct allocation *found = find(&usm, context, pointer);
    int may = found != NULL ? found->is_plain && !found->is_watched && size <= found->end - pointer
                            : pointer >> ADDRESS_BITS == 0 && !is_mapped(pointer);
    *device = found != NULL ? found->device : 0;
    pthread_rwlock_unlock(&lock);
    return may;
}

void fpgart_remember_allocation(uintptr_t context, uintptr_t begin, cl_uint query,
                                const char *bytes, size_t length)
{
    uint64_t serial = fpgart_handle_serial(context);
    pthread_rwlock_wrlock(&lock);
    struct allocation *found = find(&usm, serial, begin);
    if (found != NULL && found->begin == begin)
        fpgart_add_answer(&found->answers, FPGART_ALL, query, bytes, length);
    pthread_rwlock_unlock(&lock);
}

int fpgart_knows_allocation(const void *context, const void *pointer, cl_uint query, size_t size,
                            void *value, size_t *size_ret)
{
    uintptr_t of = (uintptr_t)context;
    if (fpgart_handle_kind(of) != FPGART_CONTEXT)
        return 0;
    uint64_t serial = fpgart_handle_serial(of);
    pthread_rwlock_rdlock(&lock);
    struct allocation *found = find(&usm, serial, (uintptr_t)pointer);
    int knows = found != NULL &&
                fpgart_has_answer(&found->answers, FPGART_ALL, query, size, value, size_ret);
    pthread_rwlock_unlock(&lock);
    return knows;
}
