/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "network.h"

#include "clock.h"
#include "fifo.h"
#include "io_file.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    FAST_BYTES = 65536, /* of a channel whose depth is not given */
    FAST_LEAST = 16,    /* packets */
    FAST_MOST = 16384,
};

struct variable {
    struct variable *next;
    uint64_t size;
    char *name;
    _Alignas(64) char data[];
};

struct network *network_new(uint32_t depth_mode, uint32_t timeout_ms)
{
    struct network *network = calloc(1, sizeof *network);
    if (network != NULL) {
        pthread_mutex_init(&network->lock, NULL);
        network->depth_mode = depth_mode;
        network->timeout_ms = timeout_ms;
        network->factor = 1;
    }
    return network;
}

void network_explore(struct network *network, uint32_t factor, uint64_t seed)
{
    network->factor = factor;
    network->seed = seed;
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
    while (network->plugs != NULL) {
        struct plug *plug = network->plugs;
        network->plugs = plug->next;
        free(plug);
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
            fifo_alarm(each->awaited);
    }
    pthread_mutex_unlock(&network->lock);
}

int network_plug(struct network *network, const char *name, struct link *link)
{
    struct plug *plug = malloc(sizeof *plug + strlen(name) + 1);
    if (plug == NULL)
        return 0;
    strcpy(plug->name, name);
    plug->link = link;
    plug->next = network->plugs;
    network->plugs = plug;
    return 1;
}

static struct link *plugged(const struct network *network, const char *name)
{
    const struct plug *plug = network->plugs;
    while (plug != NULL && strcmp(plug->name, name) != 0)
        plug = plug->next;
    return plug != NULL ? plug->link : NULL;
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

size_t network_channels(struct network *network, struct fifo **channels, size_t room)
{
    size_t count = 0;
    pthread_mutex_lock(&network->lock);
    for (struct fifo *fifo = network->channels; fifo != NULL; fifo = fifo->next, count++)
        if (count < room)
            channels[count] = fifo;
    pthread_mutex_unlock(&network->lock);
    return count;
}

static uint64_t depth_of(const struct network *network, const struct channel *channel)
{
    uint64_t fast = FAST_BYTES / channel->packet;
    fast = fast < FAST_LEAST ? FAST_LEAST : fast > FAST_MOST ? FAST_MOST : fast;
    if (network->depth_mode == DEPTH_IGNORED)
        return fast;
    if (channel->depth < 0)
        return network->depth_mode == DEPTH_STRICT ? network->factor : fast;
    return (channel->depth == 0 ? 1 : (uint64_t)channel->depth) * network->factor;
}

/* Returns the name, with the index for one of an array; NULL without memory. */
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

/* An I/O channel has its other end on another board, or else in a file. */
static void lead_out(const struct network *network, struct fifo *fifo, const char *name)
{
    fifo->link = plugged(network, name);
    if (fifo->link == NULL)
        fifo->io = io_file_new(name);
    fifo->hosted = fifo->link != NULL || (fifo->io != NULL && io_file_has_peer(fifo->io));
}

struct fifo *network_fifo(struct network *network, const struct channel *channel)
{
    char *name = name_of(channel);
    if (name == NULL)
        return NULL;
    pthread_mutex_lock(&network->lock);
    struct fifo *fifo = find_channel(network, name);
    if (fifo == NULL) {
        fifo = fifo_new(name, (uint32_t)channel->packet, depth_of(network, channel),
                        channel->hosted != 0);
        if (fifo != NULL && channel->io != NULL)
            lead_out(network, fifo, channel->io);
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

void *network_memory(struct network *network, const char *name, uint64_t size, const void *initial)
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

void network_enlist(struct launch *launch)
{
    struct network *network = launch->network;
    pthread_mutex_lock(&network->lock);
    launch->next = network->launches;
    network->launches = launch;
    launch->leave = network->stopped;
    network->running++;
    pthread_mutex_unlock(&network->lock);
}

void network_delist(struct launch *launch)
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
