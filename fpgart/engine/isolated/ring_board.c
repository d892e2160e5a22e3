/* SPDX-License-Identifier: Apache-2.0 */
#include "ring.h"

#include "futex.h"
#include "lanes.h"
#include <CL/cl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

struct server {
    struct ring *ring;
    const struct carrier *carrier;
    uintptr_t context, device;
    int bell, count;
    _Atomic uint32_t open;      /* commands that have not ended */
    _Atomic uint32_t uncounted; /* those that have, since the host was told of their number */
    void *lanes[RING_LANES][2]; /* queues of the driver, without and with profiling */
    void *events[RING_SLOTS];
};

/* A command that the driver has. */
struct taken {
    struct server *server;
    void *event;
    uint32_t slot, number;
    uint32_t kernel; /* its number, until it has ended; 0: no launch */
    bool has_profiling;
    _Alignas(16) char operation[];
};

/* Counts an end where no kernel can write: a system call as soon as no command is left. */
static void count_end(struct server *server)
{
    atomic_fetch_add(&server->uncounted, 1);
    if (atomic_fetch_sub(&server->open, 1) == 1)
        eventfd_write(server->count, atomic_exchange(&server->uncounted, 0));
}

static void write_end(struct server *server, uint32_t slot, uint32_t number, int32_t status,
                      int32_t place)
{
    struct ring_end *end = &server->ring->ends[slot];
    flush_output();
    end->status = status;
    end->place = place;
    atomic_store(&end->ended, number);
    count_end(server);
    if (atomic_load(&end->sleeps))
        futex_wake(&end->ended);
    if (atomic_load(&end->rings))
        eventfd_write(server->bell, 1);
}

static void end(struct taken *taken, int32_t status)
{
    if (taken->kernel != 0)
        offer_drop(taken->kernel);
    write_end(taken->server, taken->slot, taken->number, status,
              ((struct carried *)taken->operation)->place);
    free(taken);
}

static void ended(void *data)
{
    struct taken *taken = data;
    const struct core_engine *engine = taken->server->carrier->engine;
    struct ring_end *of = &taken->server->ring->ends[taken->slot];
    if (taken->has_profiling)
        engine->times(taken->event, &of->start, &of->end);
    end(taken, engine->status(taken->event));
}

static bool are_boxes_mapped(const struct carried *carried, bool has_source)
{
    uint64_t bytes = carried->size[0];
    if (carried->kind == CARRIED_MOVE && (carried->size[1] != 1 || carried->size[2] != 1))
        return false;
    return is_in_stretch(carried->to, bytes) &&
           (!has_source || is_in_stretch(carried->from, bytes));
}

/* True if everything that the copy of an operation refers to exists. */
static bool is_whole(struct taken *taken, uint64_t size)
{
    struct carried *carried = (struct carried *)taken->operation;
    uint64_t more = size - sizeof *carried;
    struct offered kernel;
    carried->ended = NULL;
    carried->begins = NULL;
    carried->around = NULL;
    switch (carried->kind) {
    case CARRIED_MARKER:
        return true;
    case CARRIED_MOVE:
        return are_boxes_mapped(carried, true);
    case CARRIED_FILL:
        return carried->count > 0 && carried->count <= more && are_boxes_mapped(carried, false);
    case CARRIED_LAUNCH:
        kernel = offer_take((uint32_t)carried->kernel);
        if (kernel.kernel == 0)
            return false;
        taken->kernel = (uint32_t)carried->kernel;
        carried->kernel = kernel.kernel;
        return carried->count == kernel.arguments &&
               launch_is_whole(carried->more, more, kernel.arguments);
    default:
        return false;
    }
}

static void *lane_of(struct server *server, uint32_t number, bool has_profiling)
{
    if (number >= RING_LANES)
        return NULL;
    void **lane = &server->lanes[number][has_profiling];
    if (*lane == NULL)
        *lane = server->carrier->lane_new(server->context, server->device, true, has_profiling);
    return *lane;
}

static int32_t submit(struct server *server, struct taken *taken,
                      const struct ring_request *request, uint64_t size)
{
    void *after[RING_WAITS];
    uint32_t count = request->count;
    void *lane = lane_of(server, request->lane, taken->has_profiling);
    if (lane == NULL || count > RING_WAITS || !is_whole(taken, size))
        return CL_OUT_OF_RESOURCES;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t slot = request->after[i];
        if (slot >= RING_SLOTS || (after[i] = server->events[slot]) == NULL)
            return CL_OUT_OF_RESOURCES;
    }
    return server->carrier->engine->submit(lane, taken->operation, count, count > 0 ? after : NULL,
                                           &taken->event);
}

static void take(struct server *server, uint32_t slot)
{
    const struct core_engine *engine = server->carrier->engine;
    const struct ring_request *request = &server->ring->requests[slot];
    uint32_t number = request->number, size = request->size;
    atomic_fetch_add(&server->open, 1);
    bool is_request = size >= sizeof(struct carried) && size <= RING_ROOM;
    struct taken *taken = is_request ? calloc(1, sizeof *taken + size) : NULL;
    if (taken == NULL) {
        write_end(server, slot, number, CL_OUT_OF_RESOURCES, -1);
        return;
    }
    taken->server = server;
    taken->slot = slot;
    taken->number = number;
    taken->has_profiling = request->has_profiling != 0;
    memcpy(taken->operation, request->operation, size);
    if (server->events[slot] != NULL)
        engine->release(server->events[slot]);
    server->events[slot] = NULL;
    int32_t status = submit(server, taken, request, size);
    if (status != CL_SUCCESS) {
        end(taken, status);
        return;
    }
    server->events[slot] = taken->event;
    if (engine->notify(taken->event, ended, taken) != CL_SUCCESS) {
        engine->wait(taken->event);
        ended(taken);
    }
}

void ring_serve(uintptr_t address, uintptr_t context, uintptr_t device, int bell, int count)
{
    struct ring *ring = (struct ring *)address;
    struct server *server = calloc(1, sizeof *server);
    if (server == NULL)
        abort(); /* the host learns of that end alone */
    *server = (struct server){.ring = ring,
                              .context = context,
                              .device = device,
                              .bell = bell,
                              .count = count,
                              .carrier = carrier_functions()};
    for (uint32_t taken = 0, last = 0;; taken++) {
        lane_await(&ring->posted, taken, &ring->board_sleeps);
        uint32_t slot = ring->order[taken % RING_SLOTS];
        if (slot >= RING_SLOTS)
            break;
        uint32_t number = ring->requests[slot].number;
        if (taken != 0 && (int32_t)(number - last) <= 0)
            break;
        take(server, slot);
        last = number;
    }
    eventfd_write(count, UINT32_MAX); /* a kernel overwrote the ring: the host stops this process */
}
