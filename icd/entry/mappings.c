/* SPDX-License-Identifier: Apache-2.0
 *
 * The regions of buffers that the host has mapped with commands that C carried. Python takes
 * them when it needs them (fpgart/api/buffer/mapping.py). */
#include "mappings.h"

#include "handles.h"

#include <pthread.h>
#include <stdlib.h>

struct fpgart_mapped {
    struct fpgart_mapped *next; /* mapped before */
    struct fpgart_mapping mapping;
    int is_pending; /* 1: no call finds it, because the command that maps is not enqueued yet */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t last_number;

/* Counts mapped regions of a buffer, and of the parent of a sub-buffer. The lock is held. */
static void count(uintptr_t buffer, int more)
{
    uintptr_t owner = fpgart_owner_of(buffer);
    fpgart_mappings_of(buffer)->of_all += (uint32_t)more;
    if (owner != buffer)
        fpgart_mappings_of(owner)->of_all += (uint32_t)more;
}

int fpgart_add_mapping(uintptr_t buffer, struct fpgart_mapping *mapping)
{
    struct fpgart_mapped **first = &fpgart_mappings_of(buffer)->first;
    struct fpgart_mapped *made = malloc(sizeof *made);
    if (made == NULL)
        return 0;
    pthread_mutex_lock(&lock);
    int is_new = mapping->number == 0;
    if (is_new)
        mapping->number = ++last_number;
    *made = (struct fpgart_mapped){*first, *mapping, is_new};
    *first = made;
    count(buffer, 1);
    pthread_mutex_unlock(&lock);
    return 1;
}

typedef int (*matcher)(const struct fpgart_mapped *mapped, uint64_t wanted);

static int is_anything(const struct fpgart_mapped *mapped, uint64_t nothing)
{
    (void)nothing;
    return !mapped->is_pending;
}

static int is_at(const struct fpgart_mapped *mapped, uint64_t pointer)
{
    return !mapped->is_pending && mapped->mapping.pointer == pointer;
}

static int has_number(const struct fpgart_mapped *mapped, uint64_t number)
{
    return mapped->mapping.number == number;
}

/* Removes the newest mapping that matches. Returns 0 if there is none. */
static int take(uintptr_t buffer, matcher matches, uint64_t wanted, struct fpgart_mapping *taken)
{
    struct fpgart_mappings *mappings = fpgart_mappings_of(buffer);
    struct fpgart_mapped *found = NULL;
    if (mappings == NULL)
        return 0;
    struct fpgart_mapped **place = &mappings->first;
    pthread_mutex_lock(&lock);
    while (*place != NULL && !matches(*place, wanted))
        place = &(*place)->next;
    if ((found = *place) != NULL) {
        *place = found->next;
        *taken = found->mapping;
        if (matches == is_anything)
            mappings->in_python++;
        else
            count(buffer, -1);
    }
    pthread_mutex_unlock(&lock);
    free(found);
    return found != NULL;
}

int fpgart_take_mapping(uintptr_t buffer, uintptr_t pointer, struct fpgart_mapping *taken)
{
    return take(buffer, is_at, pointer, taken);
}

int fpgart_take_any_mapping(uintptr_t buffer, struct fpgart_mapping *taken)
{
    return take(buffer, is_anything, 0, taken);
}

void fpgart_forget_mapping(uintptr_t buffer, uint64_t number)
{
    struct fpgart_mapping mapping;
    take(buffer, has_number, number, &mapping);
}

/* Ends the pending state of a mapping whose command was enqueued. */
void fpgart_keep_mapping(uintptr_t buffer, uint64_t number)
{
    pthread_mutex_lock(&lock);
    for (struct fpgart_mapped *each = fpgart_mappings_of(buffer)->first; each != NULL;
         each = each->next)
        if (each->mapping.number == number)
            each->is_pending = 0;
    pthread_mutex_unlock(&lock);
}

/* Records that a mapping did not get its contents, so that unmapping it writes nothing back. */
void fpgart_void_mapping(uintptr_t buffer, uint64_t number)
{
    struct fpgart_mapped *each = NULL;
    pthread_mutex_lock(&lock);
    for (each = fpgart_mappings_of(buffer)->first; each != NULL; each = each->next)
        if (each->mapping.number == number)
            each->mapping.flags = 0;
    pthread_mutex_unlock(&lock);
}

void fpgart_mappings_free(struct fpgart_mappings *mappings)
{
    pthread_mutex_lock(&lock);
    struct fpgart_mappings freed = *mappings;
    *mappings = (struct fpgart_mappings){NULL, 0, 0};
    pthread_mutex_unlock(&lock);
    while (freed.first != NULL) {
        struct fpgart_mapped *next = freed.first->next;
        free(freed.first);
        freed.first = next;
    }
}

void fpgart_forget_mappings(uintptr_t buffer, uint32_t mapped)
{
    pthread_mutex_lock(&lock);
    count(buffer, -(int)mapped);
    pthread_mutex_unlock(&lock);
}

int fpgart_counts_mappings(uintptr_t buffer, cl_uint *count)
{
    const struct fpgart_mappings *mappings = fpgart_mappings_of(buffer);
    const struct fpgart_region *region = fpgart_region_of(buffer);
    if (mappings == NULL || region == NULL || region->context == 0)
        return 0;
    pthread_mutex_lock(&lock);
    *count = mappings->in_python;
    for (const struct fpgart_mapped *each = mappings->first; each != NULL; each = each->next)
        *count += !each->is_pending;
    pthread_mutex_unlock(&lock);
    return 1;
}

int fpgart_is_mapped(uintptr_t buffer)
{
    pthread_mutex_lock(&lock);
    int is_mapped = fpgart_mappings_of(fpgart_owner_of(buffer))->of_all != 0;
    pthread_mutex_unlock(&lock);
    return is_mapped;
}

void fpgart_python_maps(uintptr_t buffer, int more)
{
    pthread_mutex_lock(&lock);
    fpgart_mappings_of(buffer)->in_python += (uint32_t)more;
    count(buffer, more);
    pthread_mutex_unlock(&lock);
}
