/* SPDX-License-Identifier: Apache-2.0
 *
 * Writers hold the lock. The table only grows: a removed region is a free slot, so that the
 * handler, which takes no lock, never reads memory that was unmapped. */
#define _GNU_SOURCE
#include "fault_table.h"

#include "faults.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

enum { CHUNK = 1024, CHUNKS = 512, OPENED = 1024, BOARDS = 128 };

struct range {
    uintptr_t begin, end;
    int closed;
};

static struct fault_region *_Atomic chunks[CHUNKS];
static _Atomic int used; /* slots that were ever in use */
static int free_slots[CHUNK * CHUNKS], free_count;
static struct range boards[BOARDS];
static _Atomic int board_count;
static _Atomic uintptr_t opened[OPENED]; /* first pages of regions, and pages of none */
static _Atomic int opened_count;         /* may exceed OPENED: the rest is not listed */
static _Atomic int running, unprotected;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct fault_region *region_at(int number)
{
    struct fault_region *chunk = chunks[number / CHUNK];
    return chunk != NULL ? &chunk[number % CHUNK] : NULL;
}

/* POSIX permits sysconf() in handlers of signals. */
static uintptr_t page_size(void)
{
    return (uintptr_t)sysconf(_SC_PAGESIZE);
}

int fault_is_closed(uintptr_t address)
{
    for (int i = 0, count = board_count; i < count; i++)
        if (boards[i].closed && address >= boards[i].begin && address < boards[i].end)
            return 1;
    return 0;
}

static int protect(uintptr_t first, uintptr_t last, int rights)
{
    if (fault_is_closed(first))
        return 1;
    return mprotect((void *)first, last - first, rights) == 0;
}

/* -- Boards -- */

int fault_cover(uintptr_t begin, size_t size, int closed)
{
    int done = 0;
    pthread_mutex_lock(&lock);
    if (board_count < BOARDS && protect(begin, begin + size, PROT_NONE)) {
        boards[board_count] = (struct range){begin, begin + size, closed};
        board_count++;
        done = 1;
    }
    pthread_mutex_unlock(&lock);
    return done;
}

int fault_on_board(uintptr_t address)
{
    for (int i = 0, count = board_count; i < count; i++)
        if (address >= boards[i].begin && address < boards[i].end)
            return 1;
    return 0;
}

int fault_is_unprotected(void)
{
    return unprotected;
}

int fault_unprotect(void)
{
    pthread_mutex_lock(&lock);
    int now = !unprotected;
    unprotected = 1;
    for (int i = 0; now && i < board_count; i++)
        protect(boards[i].begin, boards[i].end, PROT_READ | PROT_WRITE);
    pthread_mutex_unlock(&lock);
    return now;
}

void faults_open(uintptr_t first, uintptr_t last)
{
    protect(first, last, PROT_READ | PROT_WRITE);
}

int faults_bury(uintptr_t begin, size_t size)
{
    void *wish = (void *)begin;
    void *got = mmap(wish, size, PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (got == wish)
        return 0;
    if (got != MAP_FAILED)
        munmap(got, size);
    return -1;
}

/* -- Regions -- */

struct fault_region *fault_region_with(uintptr_t address)
{
    for (int i = 0, count = used; i < count; i++) {
        struct fault_region *region = region_at(i);
        if (region->state != FAULT_FREE && address >= region->first && address < region->last)
            return region;
    }
    return NULL;
}

void fault_neighbours(uintptr_t address, struct fault_region **below, struct fault_region **above)
{
    *below = *above = NULL;
    for (int i = 0, count = used; i < count; i++) {
        struct fault_region *region = region_at(i);
        if (region->state == FAULT_FREE)
            continue;
        if (region->end <= address && (*below == NULL || region->end > (*below)->end))
            *below = region;
        if (region->begin > address && (*above == NULL || region->begin < (*above)->begin))
            *above = region;
    }
}

/* Returns a free slot; -1 if there is none. The lock is held. */
static int new_slot(void)
{
    if (free_count > 0)
        return free_slots[--free_count];
    int number = used;
    if (number == CHUNK * CHUNKS)
        return -1;
    if (number % CHUNK == 0) {
        void *chunk = mmap(NULL, CHUNK * sizeof(struct fault_region), PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (chunk == MAP_FAILED)
            return -1;
        chunks[number / CHUNK] = chunk;
    }
    used = number + 1;
    return number;
}

/* The state is written first if it permits more, last if it permits less: the handler never
 * reports an access to a region that is open. */
static void set_state(struct fault_region *region, int state)
{
    int rights = state == FAULT_OPEN        ? PROT_READ | PROT_WRITE
                 : state == FAULT_ONLY_READ ? PROT_READ
                                            : PROT_NONE;
    if (state == FAULT_OPEN)
        region->state = state;
    if (!unprotected)
        protect(region->first, region->last, rights);
    region->state = state;
}

static void set_name(struct fault_region *region, int family, const char *name, const char *maker)
{
    region->family = family;
    snprintf(region->name, sizeof region->name, "%s", name);
    snprintf(region->maker, sizeof region->maker, "%s", maker);
}

int faults_add(uintptr_t begin, size_t size, uintptr_t first, uintptr_t last, int state, int family,
               const char *name, const char *maker)
{
    pthread_mutex_lock(&lock);
    int number = new_slot();
    if (number < 0) {
        protect(first, last, PROT_READ | PROT_WRITE);
    } else {
        struct fault_region *region = region_at(number);
        region->number = number;
        region->begin = begin;
        region->end = begin + size;
        region->first = first;
        region->last = last;
        region->reported = 0;
        region->open = 0;
        set_name(region, family, name, maker);
        set_state(region, state);
    }
    pthread_mutex_unlock(&lock);
    return number;
}

void faults_state(int number, int state)
{
    pthread_mutex_lock(&lock);
    struct fault_region *region = region_at(number);
    if (state != FAULT_ONLY_READ && region->state != FAULT_ONLY_READ)
        region->reported = 0;
    set_state(region, state);
    pthread_mutex_unlock(&lock);
}

void faults_name(int number, int family, const char *name, const char *maker)
{
    pthread_mutex_lock(&lock);
    set_name(region_at(number), family, name, maker);
    pthread_mutex_unlock(&lock);
}

void faults_forget(int number)
{
    pthread_mutex_lock(&lock);
    region_at(number)->state = FAULT_FREE;
    free_slots[free_count++] = number;
    pthread_mutex_unlock(&lock);
}

/* -- Opening and closing -- */

static void list_opened(uintptr_t address)
{
    int index = atomic_fetch_add(&opened_count, 1);
    if (index < OPENED)
        opened[index] = address;
}

int fault_open_region(struct fault_region *region, int rights)
{
    if (!protect(region->first, region->last, rights))
        return 0;
    if (!atomic_exchange(&region->open, 1))
        list_opened(region->first);
    return 1;
}

int fault_open_page(uintptr_t address)
{
    uintptr_t page = page_size(), begin = address & ~(page - 1);
    if (!protect(begin, begin + page, PROT_READ | PROT_WRITE))
        return 0;
    list_opened(begin);
    return 1;
}

int fault_page_before_is_open(uintptr_t address)
{
    uintptr_t page = page_size(), before = (address & ~(page - 1)) - page;
    for (int i = 0, count = opened_count; i < count && i < OPENED; i++)
        if (opened[i] == before)
            return 1;
    return 0;
}

void faults_use(int number)
{
    pthread_mutex_lock(&lock); /* the end of an operation may be closing the region */
    struct fault_region *region = region_at(number);
    if (region->state == FAULT_WHILE_RUNNING && !unprotected)
        fault_open_region(region, PROT_READ | PROT_WRITE);
    pthread_mutex_unlock(&lock);
}

static void close_page(uintptr_t address)
{
    struct fault_region *region = fault_region_with(address);
    if (region == NULL) {
        uintptr_t page = page_size();
        protect(address, address + page, PROT_NONE);
    } else if (region->state != FAULT_OPEN && atomic_exchange(&region->open, 0)) {
        protect(region->first, region->last, PROT_NONE);
    }
}

/* Closes all that was opened. The lock is held. */
static void close_opened(void)
{
    int count = atomic_exchange(&opened_count, 0);
    for (int i = 0; i < count && i < OPENED; i++)
        close_page(opened[i]);
    for (int i = 0; count > OPENED && i < used; i++)
        if (region_at(i)->state > FAULT_OPEN && region_at(i)->open)
            close_page(region_at(i)->first);
}

int fault_operations_run(void)
{
    return running > 0;
}

void fault_operation_began(void)
{
    running++;
}

void fault_operation_ended(void)
{
    if (atomic_fetch_sub(&running, 1) != 1 || opened_count == 0 || unprotected)
        return;
    pthread_mutex_lock(&lock);
    if (running == 0) /* or the operation that has begun since closes at its own end */
        close_opened();
    pthread_mutex_unlock(&lock);
}
