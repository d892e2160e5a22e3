/* SPDX-License-Identifier: Apache-2.0
 *
 * Allocations of unified shared memory that are alive, so that a pointer into one is known to be a
 * right kernel argument without Python (arguments.c). Python adds each before the host has its
 * pointer, and takes it out before its memory is given back. */
#include "icd.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct allocation {
    uint64_t context; /* its serial, because handles are used again */
    uintptr_t begin, end;
    int is_plain; /* kernels of all devices of the context find it where its pointers point */
};

static struct allocation *allocations; /* by context and begin; those of a context do not overlap */
static size_t count, room;
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;

/* How many begin before an address of a context, or at it. */
static size_t begun(uint64_t context, uintptr_t address)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct allocation *each = &allocations[middle];
        if (each->context < context || (each->context == context && each->begin <= address))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int has_room(void)
{
    if (count < room)
        return 1;
    size_t more = room == 0 ? 64 : 2 * room;
    struct allocation *larger = realloc(allocations, more * sizeof *larger);
    if (larger == NULL)
        return 0;
    allocations = larger;
    room = more;
    return 1;
}

static void take_out(size_t first, size_t behind)
{
    if (behind < count) /* else there may be no array yet */
        memmove(&allocations[first], &allocations[behind], (count - behind) * sizeof *allocations);
    count -= behind - first;
}

/* One that there is no room for is Python's to decide about. */
void fpgart_allocation_made(uintptr_t context, uintptr_t begin, size_t size, int is_plain)
{
    uint64_t serial = fpgart_handle_serial(context);
    pthread_rwlock_wrlock(&lock);
    if (has_room()) {
        size_t place = begun(serial, begin);
        memmove(&allocations[place + 1], &allocations[place],
                (count - place) * sizeof *allocations);
        allocations[place] = (struct allocation){serial, begin, begin + size, is_plain};
        count++;
    }
    pthread_rwlock_unlock(&lock);
}

void fpgart_allocation_goes(uintptr_t context, uintptr_t begin)
{
    uint64_t serial = fpgart_handle_serial(context);
    pthread_rwlock_wrlock(&lock);
    size_t behind = begun(serial, begin);
    if (behind > 0 && allocations[behind - 1].context == serial &&
        allocations[behind - 1].begin == begin)
        take_out(behind - 1, behind);
    pthread_rwlock_unlock(&lock);
}

void fpgart_allocations_go(uint64_t context)
{
    pthread_rwlock_wrlock(&lock);
    take_out(begun(context - 1, UINTPTR_MAX), begun(context, UINTPTR_MAX));
    pthread_rwlock_unlock(&lock);
}

/* What a pointer is in; NULL for nothing. With the lock held. */
static const struct allocation *find(uint64_t context, uintptr_t pointer)
{
    size_t behind = begun(context, pointer);
    const struct allocation *found = behind > 0 ? &allocations[behind - 1] : NULL;
    return found != NULL && found->context == context && pointer < found->end ? found : NULL;
}

int fpgart_is_allocated(uint64_t context, uintptr_t pointer)
{
    pthread_rwlock_rdlock(&lock);
    int found = find(context, pointer) != NULL;
    pthread_rwlock_unlock(&lock);
    return found;
}

/* Where an allocation begins that a launch may be given a pointer into as it is; 0 for others. */
uintptr_t fpgart_plain_allocation(uint64_t context, uintptr_t pointer)
{
    pthread_rwlock_rdlock(&lock);
    const struct allocation *found = find(context, pointer);
    uintptr_t begin = found != NULL && found->is_plain ? found->begin : 0;
    pthread_rwlock_unlock(&lock);
    return begin;
}
