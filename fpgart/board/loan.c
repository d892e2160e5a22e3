/* SPDX-License-Identifier: Apache-2.0 */
#include "loan.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { ENTRIES = 256, WAYS = 2 };

/* The number that decides. Python changes KEPT to LENT and back; C adds a way to LENT, and takes it
 * off when it has copied. While C copies, Python can only add WANTED: then the loan is kept from
 * the copy's end on. */
enum { KEPT = 0, LENT = 1, WAY = 2, ANY_WAY = 3 * WAY, WANTED = 8 };

struct entry {
    uintptr_t buffer;
    uint64_t serial;
    uintptr_t address;
    uint64_t size;
    uint32_t ways;
    struct board_traffic *traffic; /* of both ways */
};

/* Who has the loan reads and writes the rest: Python while it is kept, C while it is borrowed. */
struct loan {
    _Atomic uint32_t state;
    atomic_int used;
    int way; /* of the copy */
    uintptr_t queue;
    uint64_t serial; /* of the queue */
    struct entry entries[ENTRIES];
};

struct loan *loan_new(void)
{
    return calloc(1, sizeof(struct loan));
}

void loan_free(struct loan *loan)
{
    free(loan);
}

/* Where a buffer is entered, if it is; another one may have its place. */
static size_t place_of(uintptr_t buffer)
{
    return (buffer * UINT64_C(0x9E3779B97F4A7C15)) >> 56;
}

void loan_enter(struct loan *loan, uintptr_t buffer, uint64_t serial, int way, uintptr_t address,
                uint64_t size, uintptr_t traffic)
{
    struct entry *entry = &loan->entries[place_of(buffer)];
    if (entry->buffer != buffer || entry->serial != serial)
        entry->ways = 0;
    *entry = (struct entry){buffer,
                            serial,
                            address,
                            size,
                            entry->ways | (uint32_t)way,
                            (struct board_traffic *)traffic};
}

void loan_forget(struct loan *loan)
{
    memset(loan->entries, 0, sizeof loan->entries);
}

void loan_lend(struct loan *loan, uintptr_t queue, uint64_t serial)
{
    loan->queue = queue;
    loan->serial = serial;
    atomic_store(&loan->used, 0);
    atomic_store(&loan->state, LENT);
}

int loan_call_in(struct loan *loan, int *used)
{
    uint32_t state = atomic_load(&loan->state);
    while (!atomic_compare_exchange_weak(&loan->state, &state,
                                         state & ANY_WAY ? state | WANTED : KEPT))
        ;
    *used = atomic_load(&loan->used);
    return (state & ANY_WAY) / WAY;
}

int loan_is_out(const struct loan *loan)
{
    return (atomic_load(&loan->state) & ANY_WAY) != 0;
}

int loan_borrow(struct loan *loan, int way)
{
    uint32_t state = LENT;
    if (!atomic_compare_exchange_strong(&loan->state, &state, LENT | (uint32_t)way * WAY))
        return 0;
    loan->way = way;
    return 1;
}

int loan_return(struct loan *loan)
{
    uint32_t state = atomic_load(&loan->state);
    while (!atomic_compare_exchange_weak(&loan->state, &state, state & WANTED ? KEPT : LENT))
        ;
    return (state & WANTED) != 0;
}

uintptr_t loan_find(const struct loan *loan, uintptr_t queue, uint64_t queue_serial,
                    uintptr_t buffer, uint64_t serial, int way, uint64_t offset, uint64_t size)
{
    const struct entry *entry = &loan->entries[place_of(buffer)];
    if (loan->queue != queue || loan->serial != queue_serial || entry->buffer != buffer ||
        entry->serial != serial || !(entry->ways & (uint32_t)way) || offset > entry->size ||
        size > entry->size - offset)
        return 0;
    return entry->address + offset;
}

void loan_count(struct loan *loan, uintptr_t buffer, uint64_t size)
{
    struct board_traffic *traffic =
        &loan->entries[place_of(buffer)].traffic[loan->way == 1 ? 0 : 1];
    atomic_store_explicit(&loan->used, 1, memory_order_relaxed);
    traffic->calls++;
    traffic->bytes += size;
}
