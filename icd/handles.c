/* SPDX-License-Identifier: Apache-2.0
 *
 * Handles live in one reserved stretch of address space, in slots of equal size. So a pointer from
 * the host can be judged by arithmetic alone, before anything is read through it. Freed slots wait
 * in a queue before they are used again: a stale handle stays recognisable for long. */
#include "icd.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>

struct handle {
    const struct _cl_icd_dispatch *dispatch; /* first, as cl_khr_icd asks */
    atomic_int kind;
    atomic_uint references; /* the host's; the driver's own are Python references */
    uint64_t serial;
    size_t next_free;
};

#define ARENA_SLOTS ((size_t)1 << 23)
#define QUARANTINE ((size_t)1 << 12) /* freed slots that wait before the oldest is used again */
#define NONE ((size_t)-1)

static struct handle *arena;
static size_t used_slots;
static size_t free_head = NONE, free_tail = NONE, free_count;
static uint64_t last_serial;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct handle *find(uintptr_t address)
{
    uintptr_t base = (uintptr_t)arena;
    if (base == 0 || address < base || address >= base + ARENA_SLOTS * sizeof(struct handle))
        return NULL;
    if ((address - base) % sizeof(struct handle) != 0)
        return NULL;
    return (struct handle *)address;
}

int fpgart_is_handle(uintptr_t address)
{
    return find(address) != NULL;
}

static struct handle *take_slot(void)
{
    if (arena == NULL) {
        void *memory = mmap(NULL, ARENA_SLOTS * sizeof(struct handle), PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED)
            return NULL;
        arena = memory;
    }
    if (free_count > QUARANTINE || (used_slots == ARENA_SLOTS && free_count > 0)) {
        struct handle *slot = &arena[free_head];
        free_head = slot->next_free;
        free_count--;
        return slot;
    }
    return used_slots < ARENA_SLOTS ? &arena[used_slots++] : NULL;
}

uintptr_t fpgart_handle_new(int kind, uint32_t references)
{
    pthread_mutex_lock(&lock);
    struct handle *slot = take_slot();
    if (slot != NULL) {
        slot->dispatch = &fpgart_dispatch;
        slot->serial = ++last_serial;
        atomic_store(&slot->references, references);
        atomic_store(&slot->kind, kind);
    }
    pthread_mutex_unlock(&lock);
    return (uintptr_t)slot;
}

void fpgart_handle_free(uintptr_t handle)
{
    struct handle *slot = find(handle);
    if (slot == NULL || atomic_exchange(&slot->kind, FPGART_FREE) == FPGART_FREE)
        return;
    pthread_mutex_lock(&lock);
    size_t index = (size_t)(slot - arena);
    atomic_store(&slot->references, 0);
    slot->next_free = NONE;
    if (free_count == 0)
        free_head = index;
    else
        arena[free_tail].next_free = index;
    free_tail = index;
    free_count++;
    pthread_mutex_unlock(&lock);
}

int fpgart_handle_kind(uintptr_t handle)
{
    struct handle *slot = find(handle);
    return slot == NULL ? FPGART_FREE : atomic_load(&slot->kind);
}

uint32_t fpgart_handle_references(uintptr_t handle)
{
    struct handle *slot = find(handle);
    return slot == NULL ? 0 : atomic_load(&slot->references);
}

uint64_t fpgart_handle_serial(uintptr_t handle)
{
    struct handle *slot = find(handle);
    return slot == NULL ? 0 : slot->serial;
}

cl_int fpgart_retain(const void *handle, int kind, cl_int invalid)
{
    if (fpgart_state == FPGART_FORKED)
        return CL_OUT_OF_RESOURCES;
    struct handle *slot = find((uintptr_t)handle);
    if (slot == NULL || atomic_load(&slot->kind) != kind)
        return invalid;
    if (atomic_fetch_add(&slot->references, 1) == 0 && fpgart_state == FPGART_RUNNING)
        fpgart_host_retained((uintptr_t)handle);
    return CL_SUCCESS;
}

cl_int fpgart_release(const void *handle, int kind, cl_int invalid)
{
    if (fpgart_state == FPGART_FORKED)
        return CL_OUT_OF_RESOURCES;
    struct handle *slot = find((uintptr_t)handle);
    if (slot == NULL || atomic_load(&slot->kind) != kind)
        return invalid;
    unsigned references = atomic_load(&slot->references);
    do {
        if (references == 0)
            return invalid;
    } while (!atomic_compare_exchange_weak(&slot->references, &references, references - 1));
    if (references == 1 && fpgart_state == FPGART_RUNNING) {
        struct fpgart_aside aside;
        fpgart_put_aside(&aside);
        fpgart_host_released((uintptr_t)handle);
        fpgart_put_back(&aside);
    }
    return CL_SUCCESS;
}
