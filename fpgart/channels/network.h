/* SPDX-License-Identifier: Apache-2.0
 *
 * The objects that the kernels of one program share on one board: channels, program-scope
 * variables, and the list of the launches that use them. Locks: a FIFO's before its network's,
 * never the reverse. */
#pragma once
#include "channels.h"
#include "links.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { REPORT_BYTES = 4096, MOST_USES = 16 };

/* A channel in the kernel's code. */
struct channel {
    const char *name;
    const struct channel *first; /* of its array; itself without an array */
    int64_t depth;               /* -1: not given */
    uint64_t packet;
    uint64_t hosted;
    void *type;
    const char *io; /* the file of an I/O channel; else NULL */
};

/* A result that a launch has looked up, by its address in the kernel's code. */
struct known {
    const void *address; /* of a channel or of a variable's name, in the kernel's code */
    void *found;
};

/* An I/O channel of the board with a cable. */
struct plug {
    struct plug *next;
    struct link *link;
    char name[];
};

/* A kernel that runs. */
struct launch {
    struct network *network;
    struct launch *next;
    const char *name;
    uint64_t compute_id;
    bool autorun;
    atomic_bool leave; /* set under the network's lock, read without it */
    uint64_t random;   /* 0: no random delays */
    struct fifo *awaited;
    bool writing;        /* to `awaited` */
    struct known *table; /* open addressing; a power of two */
    size_t room;
    size_t taken;
    size_t misses;
    struct link_use uses[MOST_USES];
    uint32_t used;
    jmp_buf escape;
};

struct network {
    pthread_mutex_t lock;
    struct fifo *channels;
    struct plug *plugs;
    struct variable *variables;
    struct launch *launches;
    uint32_t depth_mode;
    uint32_t timeout_ms;
    uint32_t factor; /* of depths that the source gives */
    uint64_t seed;
    uint32_t running;
    uint32_t waiting;
    uint64_t stalled_ms; /* when the last launch began to wait */
    bool stopped;
    bool released;
    char report[REPORT_BYTES];
};

/* The FIFO of a channel and the memory of a variable, created at first use; NULL if memory is
 * exhausted. */
struct fifo *network_fifo(struct network *network, const struct channel *channel);
void *network_memory(struct network *network, const char *name, uint64_t size, const void *initial);

/* Add and remove a launch that uses the network; the end of the last one frees a released
 * network. */
void network_enlist(struct launch *launch);
void network_delist(struct launch *launch);
