/* SPDX-License-Identifier: Apache-2.0
 *
 * Channels between kernels that run at the same time, each on a thread of its own. Kernels call
 * operation(), because kernels/lowering.py rewrites them so; if they have to wait, their threads
 * sleep (waiting.c). */
#define _GNU_SOURCE
#include "channels.h"

#include "calls.h"
#include "clock.h"
#include "fifo.h"
#include "network.h"
#include "stacks.h"
#include "waiting.h"
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    TABLE_BYTES = 4096,
    MISSES_PER_YIELD = 64,
};

/* The operations of kernels; kernels/lowering.py has the same numbers. */
enum operation {
    READ,
    TRY_READ,
    WRITE,
    TRY_WRITE,
    READ_PIPE,
    WRITE_PIPE,
    PIPE_LEVEL,
    PIPE_DEPTH,
    VARIABLE,
    COMPUTE_ID,
    DECLARE,
};

static __thread struct launch *current;
static __thread struct link_use last_uses[MOST_USES];
static __thread uint32_t last_used;

static struct known *place_of(const struct launch *launch, const void *address)
{
    size_t index = ((uintptr_t)address / 8 * 0x9E3779B97F4A7C15u) >> 32;
    while (true) {
        struct known *place = &launch->table[index & (launch->room - 1)];
        if (place->address == address || place->address == NULL)
            return place;
        index++;
    }
}

static void grow(struct launch *launch)
{
    struct launch bigger = *launch;
    bigger.room = launch->room > 0 ? 2 * launch->room : 32;
    bigger.table = calloc(bigger.room, sizeof *bigger.table);
    if (bigger.table == NULL)
        launch_leave(launch);
    for (size_t i = 0; i < launch->room; i++)
        if (launch->table[i].address != NULL)
            *place_of(&bigger, launch->table[i].address) = launch->table[i];
    free(launch->table);
    launch->table = bigger.table;
    launch->room = bigger.room;
}

static struct known *known(struct launch *launch, const void *address)
{
    if (2 * launch->taken >= launch->room)
        grow(launch);
    return place_of(launch, address);
}

static void remember(struct launch *launch, struct known *place, const void *address, void *found)
{
    if (found == NULL) /* out of memory */
        launch_leave(launch);
    place->address = address;
    place->found = found;
    launch->taken++;
}

static struct fifo *channel_of(struct launch *launch, const struct channel *channel)
{
    struct known *place = known(launch, channel);
    if (place->address == NULL)
        remember(launch, place, channel, network_fifo(launch->network, channel));
    return place->found;
}

static void *variable_of(struct launch *launch, const char *name, uint64_t size,
                         const void *initial)
{
    struct known *place = known(launch, name);
    if (place->address == NULL)
        remember(launch, place, name, network_memory(launch->network, name, size, initial));
    return place->found;
}

static bool try_move(struct launch *launch, struct fifo *fifo, bool writing, void *data)
{
    fifo_lock(fifo);
    launch_check(launch, fifo, writing);
    bool can = fifo_ready(fifo, writing);
    if (can)
        launch_pass(launch, fifo, writing, data);
    if (can && writing && fifo->io != NULL)
        fifo_drained(fifo);
    fifo_unlock(fifo);
    return can;
}

/* xorshift64. */
static uint64_t next_random(struct launch *launch)
{
    launch->random ^= launch->random << 13;
    launch->random ^= launch->random >> 7;
    launch->random ^= launch->random << 17;
    return launch->random;
}

/* Delays the kernel by chance; if it does not wait, it may find the channel not ready. */
static bool take_a_chance(struct launch *launch)
{
    if (launch->random == 0)
        return false;
    uint64_t chance = next_random(launch);
    if (chance % 16 == 0)
        usleep((useconds_t)(chance >> 8 & 127));
    else if (chance % 4 == 0)
        sched_yield();
    return chance >> 20 & 1;
}

/* A kernel that polls yields the processor now and then. */
static void missed(struct launch *launch)
{
    if (++launch->misses % MISSES_PER_YIELD == 0)
        sched_yield();
}

static uint64_t move_pipe(struct launch *launch, const struct pipe_end *end, bool writing,
                          void *data)
{
    bool late = take_a_chance(launch);
    if (end->blocking) {
        launch_move(launch, end->fifo, writing, data);
        return 0;
    }
    if (!late && try_move(launch, end->fifo, writing, data))
        return 0;
    missed(launch);
    return (uint64_t)-1;
}

static uint64_t operation(uint64_t what, uint64_t object, uint64_t data, uint64_t more)
{
    struct launch *launch = current;
    if (launch->leave)
        launch_leave(launch);
    switch ((enum operation)what) {
    case READ:
    case WRITE:
        take_a_chance(launch);
        launch_move(launch, channel_of(launch, (const struct channel *)object), what == WRITE,
                    (void *)data);
        return 1;
    case TRY_READ:
    case TRY_WRITE:
        if (!take_a_chance(launch) &&
            try_move(launch, channel_of(launch, (const struct channel *)object), what == TRY_WRITE,
                     (void *)data))
            return 1;
        missed(launch);
        return 0;
    case READ_PIPE:
    case WRITE_PIPE:
        return move_pipe(launch, (const struct pipe_end *)object, what == WRITE_PIPE, (void *)data);
    case PIPE_LEVEL:
        return fifo_level(((const struct pipe_end *)object)->fifo);
    case PIPE_DEPTH:
        return fifo_capacity(((const struct pipe_end *)object)->fifo);
    case VARIABLE:
        return (uintptr_t)variable_of(launch, (const char *)object, data, (const void *)more);
    case COMPUTE_ID:
        return launch->compute_id;
    case DECLARE: /* `data` bytes of channels */
        for (const struct channel *each = (const struct channel *)object;
             each < (const struct channel *)(object + data); each++)
            channel_of(launch, each);
        return 0;
    }
    return 0;
}

uintptr_t network_table(uintptr_t wanted)
{
    static uintptr_t table;
    if (table == 0) {
        void *page = mmap((void *)wanted, TABLE_BYTES, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (page == MAP_FAILED)
            return 0;
        *(uint64_t *)page = (uintptr_t)operation;
        mprotect(page, TABLE_BYTES, PROT_READ);
        table = (uintptr_t)page;
    }
    return table;
}

/* Launching */

struct enlisted {
    struct launch *launch;
    struct driver_launch of_driver;
};

static int64_t run_enlisted(const void *data)
{
    const struct enlisted *this = data;
    volatile int64_t result = (int64_t)((uint64_t)(uint32_t)LAUNCH_GAVE_UP << 32 | 1);
    if (_setjmp(this->launch->escape) == 0)
        result = driver_launch_here(&this->of_driver);
    return result;
}

/* Returns the FNV-1a hash of a name, made odd: its product with a seed other than 0 is not 0. */
static uint64_t hash_of(const char *name, uint64_t number)
{
    uint64_t hash = 0xCBF29CE484222325u ^ number;
    for (; *name != '\0'; name++)
        hash = (hash ^ (unsigned char)*name) * 0x100000001B3u;
    return hash | 1;
}

int64_t network_launch(struct network *network, const char *name, uint64_t compute_id, int autorun,
                       uintptr_t queue, uintptr_t kernel, uint32_t arguments, const char *image,
                       uint32_t dimensions, const char *sizes, int has_local)
{
    struct launch launch = {
        .network = network, .name = name, .compute_id = compute_id, .autorun = autorun != 0};
    const struct enlisted this = {&launch,
                                  {queue, kernel, arguments, dimensions, image, sizes, has_local}};
    launch.random = network->seed * hash_of(name, compute_id);
    network_enlist(&launch);
    current = &launch;
    int64_t result = on_wide_stack(run_enlisted, &this);
    current = NULL;
    last_used = launch.used;
    memcpy(last_uses, launch.uses, launch.used * sizeof *launch.uses);
    network_delist(&launch);
    return result;
}

uint32_t network_uses(struct link_use *uses, uint32_t most)
{
    uint32_t count = last_used < most ? last_used : most;
    memcpy(uses, last_uses, count * sizeof *uses);
    return count;
}
