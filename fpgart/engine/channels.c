/* SPDX-License-Identifier: Apache-2.0
 *
 * Channels between kernels that run at the same time, each on a thread of its own. A kernel calls
 * operation() below (engine/lowering.py makes it do so); where that has to wait, its thread sleeps.
 *
 * Locks: a fifo's before its network's, never the other way round.
 */
#define _GNU_SOURCE
#include "channels.h"

#include "calls.h"
#include "io_file.h"
#include "stacks.h"
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum {
    IO_SLICE_MS = 1,    /* how often a file is tried again */
    SLICE_MS = 100,     /* how often those that wait look whether they should go on */
    FAST_BYTES = 65536, /* of a channel whose depth is ours to choose */
    FAST_LEAST = 16,
    FAST_MOST = 16384,
    WORDS = 4096,
    TABLE_BYTES = 4096,
    MISSES_PER_YIELD = 64,
};

/* What a kernel asks for; engine/lowering.py knows the numbers, too. */
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

/* A channel as the kernel's code has it. */
struct channel {
    const char *name;
    const struct channel *first; /* of the array it is in; itself if it is in none */
    int64_t depth;               /* -1: not given */
    uint64_t packet;
    uint64_t hosted;
    void *type;
    const char *io; /* the file of an I/O channel; else NULL */
};

struct fifo {
    pthread_mutex_t lock;
    pthread_cond_t moved;
    uint32_t packet;
    uint32_t sleepers;
    bool hosted;        /* the host is at one end */
    struct io_file *io; /* at one end, for which `data` is a buffer; else NULL */
    uint64_t capacity;  /* bytes */
    uint64_t begin;
    uint64_t used; /* bytes */
    char *data;
    struct fifo *next;
    char *name;
};

struct variable {
    struct variable *next;
    uint64_t size;
    char *name;
    _Alignas(64) char data[];
};

struct known {
    const void *address; /* of a channel or of a variable's name, in the kernel's code */
    void *found;
};

struct launch {
    struct network *network;
    struct launch *next;
    const char *name;
    uint64_t compute_id;
    bool autorun;
    volatile bool leave;
    struct fifo *awaited;
    bool writing;
    struct known *table; /* open addressing; a power of two */
    size_t room;
    size_t taken;
    size_t misses;
    jmp_buf escape;
};

struct network {
    pthread_mutex_t lock;
    struct fifo *channels;
    struct variable *variables;
    struct launch *launches;
    uint32_t depth_mode;
    uint32_t timeout_ms;
    uint32_t running;
    uint32_t waiting;
    uint64_t stalled_ms; /* when the last of them began to wait */
    bool stopped;
    bool released;
    char report[WORDS];
};

static __thread struct launch *current;
static atomic_int host_waits;
static atomic_ullong host_waits_since; /* ms */

static uint64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

void network_host_waits(int begins)
{
    atomic_fetch_add(&host_waits, begins ? 1 : -1);
    if (begins)
        atomic_store(&host_waits_since, now_ms());
}

/* FIFOs */

struct fifo *fifo_new(const char *name, uint32_t packet, uint64_t capacity, int hosted)
{
    struct fifo *fifo = calloc(1, sizeof *fifo);
    pthread_condattr_t clock;
    if (fifo == NULL)
        return NULL;
    fifo->packet = packet;
    fifo->hosted = hosted != 0;
    fifo->capacity = capacity * packet;
    fifo->data = malloc(fifo->capacity);
    fifo->name = strdup(name);
    if (fifo->data == NULL || fifo->name == NULL) {
        free(fifo->data);
        free(fifo->name);
        free(fifo);
        return NULL;
    }
    pthread_mutex_init(&fifo->lock, NULL);
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&fifo->moved, &clock);
    pthread_condattr_destroy(&clock);
    return fifo;
}

void fifo_free(struct fifo *fifo)
{
    pthread_cond_destroy(&fifo->moved);
    pthread_mutex_destroy(&fifo->lock);
    io_file_free(fifo->io);
    free(fifo->data);
    free(fifo->name);
    free(fifo);
}

uint64_t fifo_level(struct fifo *fifo)
{
    pthread_mutex_lock(&fifo->lock);
    uint64_t level = fifo->used / fifo->packet;
    pthread_mutex_unlock(&fifo->lock);
    return level;
}

uint64_t fifo_capacity(struct fifo *fifo)
{
    return fifo->capacity / fifo->packet;
}

uint32_t fifo_packet(struct fifo *fifo)
{
    return fifo->packet;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* From the file as much as fits, if no packet is there. */
static void fill(struct fifo *fifo)
{
    uint64_t count = 1;
    while (fifo->used < fifo->packet && count > 0) {
        uint64_t place = (fifo->begin + fifo->used) % fifo->capacity;
        uint64_t room = smaller(fifo->capacity - fifo->used, fifo->capacity - place);
        count = io_file_read(fifo->io, fifo->data + place, room);
        fifo->used += count;
    }
}

/* To the file as much as it takes now. */
static bool drained(struct fifo *fifo, bool writing)
{
    (void)writing;
    uint64_t count = 1;
    while (fifo->used > 0 && count > 0) {
        uint64_t piece = smaller(fifo->used, fifo->capacity - fifo->begin);
        count = io_file_write(fifo->io, fifo->data + fifo->begin, piece);
        fifo->begin = (fifo->begin + count) % fifo->capacity;
        fifo->used -= count;
    }
    return fifo->used == 0;
}

static bool ready(struct fifo *fifo, bool writing)
{
    if (fifo->io != NULL && writing)
        return drained(fifo, true);
    if (fifo->io != NULL)
        fill(fifo);
    return writing ? fifo->used < fifo->capacity : fifo->used >= fifo->packet;
}

static void wake(struct fifo *fifo)
{
    if (fifo->sleepers > 0)
        pthread_cond_broadcast(&fifo->moved);
}

/* A packet; the lock is held and ready() is true. The capacity is a whole number of packets. */
static void move(struct fifo *fifo, bool writing, void *data)
{
    if (writing) {
        memcpy(fifo->data + (fifo->begin + fifo->used) % fifo->capacity, data, fifo->packet);
        fifo->used += fifo->packet;
    } else {
        memcpy(data, fifo->data + fifo->begin, fifo->packet);
        fifo->begin = (fifo->begin + fifo->packet) % fifo->capacity;
        fifo->used -= fifo->packet;
    }
    wake(fifo);
}

static bool try_move(struct fifo *fifo, bool writing, void *data)
{
    pthread_mutex_lock(&fifo->lock);
    bool can = ready(fifo, writing);
    if (can)
        move(fifo, writing, data);
    if (can && writing && fifo->io != NULL)
        drained(fifo, true);
    pthread_mutex_unlock(&fifo->lock);
    return can;
}

/* Sleep until something moved, at most so long; the lock is held. */
static void sleep_on(struct fifo *fifo, uint32_t milliseconds)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += (long)(milliseconds % 1000) * 1000000;
    until.tv_sec += milliseconds / 1000 + until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    fifo->sleepers++;
    pthread_cond_timedwait(&fifo->moved, &fifo->lock, &until);
    fifo->sleepers--;
}

static bool move_within(struct fifo *fifo, bool writing, void *data, uint32_t milliseconds)
{
    uint64_t end = now_ms() + milliseconds;
    pthread_mutex_lock(&fifo->lock);
    while (!ready(fifo, writing)) {
        uint64_t now = now_ms();
        if (now >= end)
            break;
        sleep_on(fifo, (uint32_t)(end - now));
    }
    bool can = ready(fifo, writing);
    if (can)
        move(fifo, writing, data);
    pthread_mutex_unlock(&fifo->lock);
    return can;
}

int fifo_read(struct fifo *fifo, void *data, uint32_t milliseconds)
{
    return move_within(fifo, false, data, milliseconds);
}

int fifo_write(struct fifo *fifo, const void *data, uint32_t milliseconds)
{
    return move_within(fifo, true, (void *)data, milliseconds);
}

void *fifo_window(struct fifo *fifo, int writing, uint64_t skip, uint64_t *bytes)
{
    pthread_mutex_lock(&fifo->lock);
    uint64_t total = writing ? fifo->capacity - fifo->used : fifo->used;
    uint64_t place = (fifo->begin + (writing ? fifo->used : 0) + skip) % fifo->capacity;
    total = total > skip ? total - skip : 0;
    *bytes = total < fifo->capacity - place ? total : fifo->capacity - place;
    pthread_mutex_unlock(&fifo->lock);
    return fifo->data + place;
}

void fifo_commit(struct fifo *fifo, int writing, uint64_t bytes)
{
    pthread_mutex_lock(&fifo->lock);
    if (writing) {
        fifo->used += bytes;
    } else {
        fifo->begin = (fifo->begin + bytes) % fifo->capacity;
        fifo->used -= bytes;
    }
    wake(fifo);
    pthread_mutex_unlock(&fifo->lock);
}

/* Networks */

struct network *network_new(uint32_t depth_mode, uint32_t timeout_ms)
{
    struct network *network = calloc(1, sizeof *network);
    if (network != NULL) {
        pthread_mutex_init(&network->lock, NULL);
        network->depth_mode = depth_mode;
        network->timeout_ms = timeout_ms;
    }
    return network;
}

static void variable_free(struct variable *variable)
{
    free(variable->name);
    free(variable);
}

static void network_free(struct network *network)
{
    while (network->channels != NULL) {
        struct fifo *fifo = network->channels;
        network->channels = fifo->next;
        fifo_free(fifo);
    }
    while (network->variables != NULL) {
        struct variable *variable = network->variables;
        network->variables = variable->next;
        variable_free(variable);
    }
    pthread_mutex_destroy(&network->lock);
    free(network);
}

void network_stop(struct network *network)
{
    pthread_mutex_lock(&network->lock);
    network->stopped = true;
    for (struct launch *each = network->launches; each != NULL; each = each->next) {
        each->leave = true;
        if (each->awaited != NULL)
            pthread_cond_broadcast(&each->awaited->moved);
    }
    pthread_mutex_unlock(&network->lock);
}

void network_release(struct network *network)
{
    network_stop(network);
    pthread_mutex_lock(&network->lock);
    network->released = true;
    bool last = network->launches == NULL;
    pthread_mutex_unlock(&network->lock);
    if (last)
        network_free(network);
}

static struct fifo *find_channel(struct network *network, const char *name)
{
    struct fifo *fifo = network->channels;
    while (fifo != NULL && strcmp(fifo->name, name) != 0)
        fifo = fifo->next;
    return fifo;
}

struct fifo *network_channel(struct network *network, const char *name)
{
    pthread_mutex_lock(&network->lock);
    struct fifo *fifo = find_channel(network, name);
    pthread_mutex_unlock(&network->lock);
    return fifo;
}

static uint64_t depth_of(const struct network *network, const struct channel *channel)
{
    uint64_t fast = FAST_BYTES / channel->packet;
    fast = fast < FAST_LEAST ? FAST_LEAST : fast > FAST_MOST ? FAST_MOST : fast;
    if (network->depth_mode == DEPTH_IGNORED)
        return fast;
    if (channel->depth < 0)
        return network->depth_mode == DEPTH_STRICT ? 1 : fast;
    return channel->depth == 0 ? 1 : (uint64_t)channel->depth;
}

/* The name, with the index if it is one of an array; NULL when there is no memory. */
static char *name_of(const struct channel *channel)
{
    char *name = NULL;
    if (channel->first == channel && strchr(channel->name, '[') == NULL)
        return strdup(channel->name);
    if (asprintf(&name, "%.*s[%td]", (int)strcspn(channel->name, "["), channel->name,
                 channel - channel->first) < 0)
        return NULL;
    return name;
}

static struct fifo *make_channel(struct network *network, const struct channel *channel)
{
    char *name = name_of(channel);
    if (name == NULL)
        return NULL;
    pthread_mutex_lock(&network->lock);
    struct fifo *fifo = find_channel(network, name);
    if (fifo == NULL) {
        fifo = fifo_new(name, (uint32_t)channel->packet, depth_of(network, channel),
                        channel->hosted != 0);
        if (fifo != NULL && channel->io != NULL) {
            fifo->io = io_file_new(channel->io);
            fifo->hosted = fifo->io != NULL && io_file_has_peer(fifo->io);
        }
        if (fifo != NULL) {
            fifo->next = network->channels;
            network->channels = fifo;
        }
    }
    pthread_mutex_unlock(&network->lock);
    free(name);
    return fifo;
}

void *network_variable(struct network *network, const char *name, uint64_t *size)
{
    pthread_mutex_lock(&network->lock);
    struct variable *variable = network->variables;
    while (variable != NULL && strcmp(variable->name, name) != 0)
        variable = variable->next;
    pthread_mutex_unlock(&network->lock);
    *size = variable != NULL ? variable->size : 0;
    return variable != NULL ? variable->data : NULL;
}

static void *make_variable(struct network *network, const char *name, uint64_t size,
                           const void *initial)
{
    uint64_t known;
    void *found = network_variable(network, name, &known);
    if (found != NULL)
        return found;
    size_t total = sizeof(struct variable) + size;
    struct variable *made = aligned_alloc(64, (total + 63) / 64 * 64);
    if (made == NULL)
        return NULL;
    made->name = strdup(name);
    if (made->name == NULL) {
        free(made);
        return NULL;
    }
    made->size = size;
    if (initial != NULL)
        memcpy(made->data, initial, size);
    else
        memset(made->data, 0, size);
    pthread_mutex_lock(&network->lock);
    struct variable *other = network->variables;
    while (other != NULL && strcmp(other->name, name) != 0)
        other = other->next;
    if (other == NULL) {
        made->next = network->variables;
        network->variables = made;
    }
    pthread_mutex_unlock(&network->lock);
    if (other == NULL)
        return made->data;
    variable_free(made);
    return other->data;
}

/* Waiting */

static void leave(struct launch *launch)
{
    _longjmp(launch->escape, 1);
}

static void begin_to_wait(struct launch *launch, struct fifo *fifo, bool writing)
{
    struct network *network = launch->network;
    pthread_mutex_lock(&network->lock);
    launch->awaited = fifo;
    launch->writing = writing;
    if (++network->waiting == network->running)
        network->stalled_ms = now_ms();
    pthread_mutex_unlock(&network->lock);
}

static void end_to_wait(struct launch *launch)
{
    struct network *network = launch->network;
    pthread_mutex_lock(&network->lock);
    launch->awaited = NULL;
    network->waiting--;
    pthread_mutex_unlock(&network->lock);
}

static void tell(struct network *network, const struct launch *launch)
{
    const struct fifo *fifo = launch->awaited;
    size_t length = strlen(network->report);
    snprintf(network->report + length, sizeof network->report - length,
             "%s%skernel '%s' waits to %s '%s', which %s (%llu of %llu packets)",
             length > 0 ? "; " : "", launch->autorun ? "autorun " : "", launch->name,
             launch->writing ? "write to" : "read from", fifo->name,
             launch->writing ? "is full" : "is empty",
             (unsigned long long)(fifo->used / fifo->packet),
             (unsigned long long)(fifo->capacity / fifo->packet));
    if (fifo->io != NULL) {
        const char *error = io_file_error(fifo->io);
        length = strlen(network->report);
        snprintf(network->report + length, sizeof network->report - length, ", file '%s'%s%s",
                 io_file_path(fifo->io), error[0] != '\0' ? ": " : "", error);
    }
}

/* All kernels wait, none of them for the host, which itself waits for them; the network's lock is
 * held. */
static bool stalled(const struct network *network)
{
    bool launched = false;
    if (network->timeout_ms == 0 || network->waiting < network->running ||
        atomic_load(&host_waits) == 0)
        return false;
    for (const struct launch *each = network->launches; each != NULL; each = each->next) {
        if (each->awaited != NULL && each->awaited->hosted)
            return false;
        launched = launched || (!each->autorun && !each->leave);
    }
    return launched;
}

/* If that has been so for long, the kernels that the host launched will never go on. */
static void give_up_if_stalled(struct network *network)
{
    pthread_mutex_lock(&network->lock);
    uint64_t since = atomic_load(&host_waits_since);
    since = since > network->stalled_ms ? since : network->stalled_ms;
    if (stalled(network) && now_ms() - since >= network->timeout_ms) {
        network->report[0] = '\0';
        for (struct launch *each = network->launches; each != NULL; each = each->next)
            if (!each->autorun) {
                tell(network, each);
                each->leave = true;
                pthread_cond_broadcast(&each->awaited->moved);
            }
        for (struct launch *each = network->launches; each != NULL; each = each->next)
            if (each->autorun)
                tell(network, each);
    }
    pthread_mutex_unlock(&network->lock);
}

/* Sleep until the FIFO is so, or the launch has to leave; the FIFO's lock is held. */
static void wait_until(bool (*is)(struct fifo *, bool), struct launch *launch, struct fifo *fifo,
                       bool writing)
{
    if (is(fifo, writing))
        return;
    begin_to_wait(launch, fifo, writing);
    while (!launch->leave && !is(fifo, writing)) {
        sleep_on(fifo, fifo->io != NULL ? IO_SLICE_MS : SLICE_MS);
        if (!is(fifo, writing))
            give_up_if_stalled(launch->network);
    }
    end_to_wait(launch);
}

static void leave_if_told(struct launch *launch, struct fifo *fifo)
{
    if (launch->leave) {
        pthread_mutex_unlock(&fifo->lock);
        leave(launch);
    }
}

static void move_waiting(struct launch *launch, struct fifo *fifo, bool writing, void *data)
{
    pthread_mutex_lock(&fifo->lock);
    wait_until(ready, launch, fifo, writing);
    leave_if_told(launch, fifo);
    move(fifo, writing, data);
    if (fifo->io != NULL && writing) {
        wait_until(drained, launch, fifo, true);
        leave_if_told(launch, fifo);
    }
    pthread_mutex_unlock(&fifo->lock);
}

size_t network_report(struct network *network, char *words, size_t size)
{
    pthread_mutex_lock(&network->lock);
    int length = snprintf(words, size, "%s", network->report);
    pthread_mutex_unlock(&network->lock);
    return (size_t)length < size ? (size_t)length : size - 1;
}

/* What kernels call */

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
        leave(launch);
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
        leave(launch);
    place->address = address;
    place->found = found;
    launch->taken++;
}

static struct fifo *channel_of(struct launch *launch, const struct channel *channel)
{
    struct known *place = known(launch, channel);
    if (place->address == NULL)
        remember(launch, place, channel, make_channel(launch->network, channel));
    return place->found;
}

static void *variable_of(struct launch *launch, const char *name, uint64_t size,
                         const void *initial)
{
    struct known *place = known(launch, name);
    if (place->address == NULL)
        remember(launch, place, name, make_variable(launch->network, name, size, initial));
    return place->found;
}

/* A kernel that polls leaves the processor to others now and then. */
static void missed(struct launch *launch)
{
    if (++launch->misses % MISSES_PER_YIELD == 0)
        sched_yield();
}

static uint64_t move_pipe(struct launch *launch, const struct pipe_end *end, bool writing,
                          void *data)
{
    if (end->blocking) {
        move_waiting(launch, end->fifo, writing, data);
        return 0;
    }
    if (try_move(end->fifo, writing, data))
        return 0;
    missed(launch);
    return (uint64_t)-1;
}

static uint64_t operation(uint64_t what, uint64_t object, uint64_t data, uint64_t more)
{
    struct launch *launch = current;
    if (launch->leave)
        leave(launch);
    switch ((enum operation)what) {
    case READ:
    case WRITE:
        move_waiting(launch, channel_of(launch, (const struct channel *)object), what == WRITE,
                     (void *)data);
        return 1;
    case TRY_READ:
    case TRY_WRITE:
        if (try_move(channel_of(launch, (const struct channel *)object), what == TRY_WRITE,
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

static void enlist(struct launch *launch)
{
    struct network *network = launch->network;
    pthread_mutex_lock(&network->lock);
    launch->next = network->launches;
    network->launches = launch;
    launch->leave = network->stopped;
    network->running++;
    pthread_mutex_unlock(&network->lock);
}

static void delist(struct launch *launch)
{
    struct network *network = launch->network;
    pthread_mutex_lock(&network->lock);
    struct launch **place = &network->launches;
    while (*place != launch)
        place = &(*place)->next;
    *place = launch->next;
    network->running--;
    if (network->waiting == network->running)
        network->stalled_ms = now_ms();
    bool last = network->released && network->launches == NULL;
    pthread_mutex_unlock(&network->lock);
    free(launch->table);
    if (last)
        network_free(network);
}

/* A launch, and what the driver gets. */
struct enlisted {
    struct launch *launch;
    uintptr_t queue;
    uintptr_t kernel;
    uint32_t arguments;
    uint32_t dimensions;
    const char *image;
    const char *sizes;
    int has_local;
};

static int64_t run_enlisted(const void *data)
{
    const struct enlisted *this = data;
    volatile int64_t result = (int64_t)((uint64_t)(uint32_t)LAUNCH_GAVE_UP << 32 | 1);
    if (_setjmp(this->launch->escape) == 0)
        result = driver_launch_here(this->queue, this->kernel, this->arguments, this->image,
                                    this->dimensions, this->sizes, this->has_local);
    return result;
}

int64_t network_launch(struct network *network, const char *name, uint64_t compute_id, int autorun,
                       uintptr_t queue, uintptr_t kernel, uint32_t arguments, const char *image,
                       uint32_t dimensions, const char *sizes, int has_local)
{
    struct launch launch = {
        .network = network, .name = name, .compute_id = compute_id, .autorun = autorun != 0};
    const struct enlisted this = {&launch,    queue, kernel, arguments,
                                  dimensions, image, sizes,  has_local};
    enlist(&launch);
    current = &launch;
    int64_t result = on_wide_stack(run_enlisted, &this);
    current = NULL;
    delist(&launch);
    return result;
}
