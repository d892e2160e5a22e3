/* SPDX-License-Identifier: Apache-2.0
 *
 * Carried commands (engine/carrier.h) of an engine in a board process. The host writes each into a
 * ring in memory that both map. A thread of the board process copies it, checks the copy, and
 * submits it to the engine; the engine's notification writes its end, and counts it in an eventfd.
 * Kernels may write over all of the ring. So an end is the number of the command, or none, and if
 * fewer are shown than were counted, the board process is stopped. */
#pragma once
#include "carrier.h"
/* cffi */
enum ring_size { RING_LANES = 1024 };
/* The commands of one engine that C carries, in whichever board process serves it. */
struct commands;
struct outlet;
/* The reasons for which commands_watch() returns: the board process has died; a command has run
 * for longer than the limit; Ctrl-C; something overwrote the ring; Python has to run commands. */
enum ring_news { RING_LOST, RING_LATE, RING_INTERRUPTED, RING_OVERWRITTEN, RING_LEFT };
/* A command that Python ends. */
struct left_command {
    uintptr_t record;
    uintptr_t kernel; /* 0: no launch */
    const char *image;
    uint64_t image_bytes;
    const char *sizes;
    uint32_t dimensions;
    uint32_t has_local;
    uint32_t began; /* it ran when its board process died */
};

uint64_t ring_bytes(void);
/* Returns NULL without memory or descriptors. `begin`, `size`: the memory that both processes map.
 * `limit_ms`: of one command; 0: none. */
struct commands *commands_new(uintptr_t begin, uint64_t size, uint32_t limit_ms);
/* Returns the engine for core_queue_new() with its lanes. The first argument of lane_new() is
 * the address of a `struct commands`. Lanes are in order: there are none for other queues. */
const struct carrier *ring_carrier(void);
/* Returns the descriptor by which the board process reports ends that somebody waits for. */
int commands_bell(struct commands *commands);
/* Returns the descriptor by which the board process counts ends. */
int commands_count(struct commands *commands);
/* Gives the commands a board process: the address of its ring, and the descriptor that becomes
 * readable when it dies. Kernels of others have another number in the upper half. */
void commands_attach(struct commands *commands, uintptr_t ring, uint32_t process, int life,
                     struct outlet *outlet);
/* Watches the commands until Python has to act; returns why. */
enum ring_news commands_watch(struct commands *commands);
/* Separates the commands from a board process that has ended. Writes the kernels that ran there, of
 * which there are RING_LANES at most. Returns the address of its ring. */
uintptr_t commands_detach(struct commands *commands, uint64_t *ran, uint32_t *count);
/* True between commands_attach() and commands_detach(). */
bool commands_are_attached(struct commands *commands);
/* Finds the oldest command that the board process does not have; false if there is none. It
 * stays until commands_end(). `place`: as in struct carried. */
bool commands_left(struct commands *commands, struct left_command *found);
void commands_end(struct commands *commands, uintptr_t record, int32_t status, int32_t place);

/* The board process's side: submits the commands of a ring to a driver, until a kernel has
 * overwritten the ring. */
void ring_serve(uintptr_t ring, uintptr_t context, uintptr_t device, int bell, int count);
/* cffi */
enum { RING_SLOTS = 128, RING_WAITS = 64, RING_ROOM = 6144 };

/* A command's end. The board process writes it, except `sleeps` and `rings`. */
struct ring_end {
    _Alignas(64) _Atomic uint32_t ended; /* 0, or the number of the command that has ended */
    _Atomic uint32_t sleeps;             /* 1: threads of the host sleep on `ended` */
    _Atomic uint32_t rings;              /* 1: the end has to be reported through the bell */
    int32_t status;
    int32_t place;
    uint64_t start, end;
};

struct ring_request {
    uint32_t number; /* of the command, not 0 */
    uint32_t lane;
    uint32_t has_profiling;
    uint32_t size; /* of the operation */
    uint32_t count;
    uint32_t after[RING_WAITS]; /* slots */
    _Alignas(16) char operation[RING_ROOM];
};

struct ring {
    _Atomic uint32_t posted;
    _Atomic uint32_t board_sleeps;
    uint32_t order[RING_SLOTS]; /* the slots of the posted requests */
    struct ring_end ends[RING_SLOTS];
    struct ring_request requests[RING_SLOTS];
};
