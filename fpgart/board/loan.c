/* SPDX-License-Identifier: Apache-2.0 */
#include "loan.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { ENTRIES = 256, KERNELS = 64, LAUNCHES = 4 };

/* The number that decides. Python changes KEPT to LENT and back; C adds a way to LENT, and takes it
 * off when it has copied. While C copies, Python can only add WANTED: then the loan is kept from
 * the copy's end on. */
enum { KEPT = 0, LENT = 1, WAY = 2, ANY_WAY = 7 * WAY, WANTED = 16 };

struct entry {
    uintptr_t buffer;
    uint64_t serial;
    uintptr_t address;
    uint64_t size;
    uint32_t ways;
    uint32_t location;             /* that it is in, for launches */
    struct board_traffic *traffic; /* of both ways */
};

struct kernel {
    uintptr_t kernel;
    uint64_t serial;
    uintptr_t engines;
};

/* Who has the loan reads and writes the rest: Python while it is kept, C while it is borrowed. */
struct loan {
    _Atomic uint32_t state;
    atomic_int used;
    int way; /* of the copy */
    uintptr_t queue;
    uint64_t serial; /* of the queue */
    struct entry entries[ENTRIES];
    uint32_t kernel_count;
    struct kernel kernels[KERNELS];
    uint32_t most; /* launches of one run */
    uint64_t most_ns;
    uintptr_t engine_queue;
    _Atomic uint64_t launches, nanoseconds;
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

static struct entry *entry_for(struct loan *loan, uintptr_t buffer, uint64_t serial,
                               uintptr_t address)
{
    struct entry *entry = &loan->entries[place_of(buffer)];
    if (entry->buffer != buffer || entry->serial != serial || entry->address != address)
        *entry = (struct entry){.buffer = buffer, .serial = serial, .address = address};
    return entry;
}

void loan_enter(struct loan *loan, uintptr_t buffer, uint64_t serial, int way, uintptr_t address,
                uint64_t size, uintptr_t traffic)
{
    struct entry *entry = entry_for(loan, buffer, serial, address);
    entry->size = size;
    entry->ways |= (uint32_t)way;
    entry->traffic = (struct board_traffic *)traffic;
}

void loan_enter_use(struct loan *loan, uintptr_t buffer, uint64_t serial, uint32_t location,
                    uintptr_t address)
{
    struct entry *entry = entry_for(loan, buffer, serial, address);
    entry->ways |= LAUNCHES;
    entry->location = location;
}

int loan_enter_kernel(struct loan *loan, uintptr_t kernel, uint64_t serial, uintptr_t engine_kernel)
{
    if (loan->kernel_count == KERNELS)
        return 0;
    loan->kernels[loan->kernel_count++] = (struct kernel){kernel, serial, engine_kernel};
    return 1;
}

void loan_enter_engine(struct loan *loan, uintptr_t queue, uint32_t most, uint64_t most_ns)
{
    loan->engine_queue = queue;
    loan->most = most;
    loan->most_ns = most_ns;
}

void loan_forget_kernels(struct loan *loan)
{
    loan->kernel_count = 0;
    for (size_t i = 0; i < ENTRIES; i++)
        loan->entries[i].ways &= ~(uint32_t)LAUNCHES;
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

uintptr_t loan_find_use(const struct loan *loan, uintptr_t buffer, uint64_t serial,
                        uint32_t location)
{
    const struct entry *entry = &loan->entries[place_of(buffer)];
    if (entry->buffer != buffer || entry->serial != serial || !(entry->ways & LAUNCHES) ||
        entry->location != location)
        return 0;
    return entry->address;
}

uintptr_t loan_find_kernel(const struct loan *loan, uintptr_t kernel, uint64_t serial)
{
    for (uint32_t i = 0; i < loan->kernel_count; i++)
        if (loan->kernels[i].kernel == kernel && loan->kernels[i].serial == serial)
            return loan->kernels[i].engines;
    return 0;
}

int loan_runs(const struct loan *loan, uintptr_t queue, uint64_t queue_serial, uint32_t launches)
{
    /* Once it is called in, commands are in the queue, and what is recorded comes behind them. */
    return !(atomic_load(&loan->state) & WANTED) && loan->queue == queue &&
           loan->serial == queue_serial && loan->kernel_count != 0 && launches <= loan->most;
}

uintptr_t loan_engine_queue(const struct loan *loan)
{
    return loan->engine_queue;
}

void loan_count_run(struct loan *loan, uint32_t launches, uint64_t nanoseconds)
{
    atomic_store_explicit(&loan->used, 1, memory_order_relaxed);
    atomic_fetch_add(&loan->launches, launches);
    atomic_fetch_add(&loan->nanoseconds, nanoseconds);
    if (nanoseconds > loan->most_ns)
        loan->kernel_count = 0;
}

void loan_take_runs(struct loan *loan, uint64_t *launches, uint64_t *nanoseconds)
{
    *launches = atomic_exchange(&loan->launches, 0);
    *nanoseconds = atomic_exchange(&loan->nanoseconds, 0);
}
