/* SPDX-License-Identifier: Apache-2.0
 *
 * The output of kernels, from the board process's pipes to the host's own descriptors. A thread
 * empties the pipes as they fill; a thread that waits for a kernel empties them before it
 * continues. */
#define _GNU_SOURCE
#include "apart.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { STREAMS = 2, PIECE = 16384 };

struct outlet {
    pthread_mutex_t lock; /* held while bytes are copied */
    pthread_t thread;
    int from[STREAMS]; /* -1 once they are closed */
    int closes;        /* readable when the thread has to end */
    char piece[PIECE];
};

static void put(int to, const char *bytes, size_t count)
{
    while (count > 0) {
        ssize_t done = write(to, bytes, count);
        if (done < 0 && errno == EAGAIN) {
            struct pollfd room = {.fd = to, .events = POLLOUT};
            poll(&room, 1, -1);
        } else if (done < 0 && errno != EINTR) {
            return; /* the host has closed it */
        }
        if (done > 0) {
            bytes += done;
            count -= (size_t)done;
        }
    }
}

/* Copies the bytes that a pipe contains, and not those that are written meanwhile. */
static void empty(struct outlet *outlet, int stream)
{
    int left = 0;
    if (ioctl(outlet->from[stream], FIONREAD, &left) != 0)
        return;
    while (left > 0) {
        size_t most = left < PIECE ? (size_t)left : PIECE;
        ssize_t count = read(outlet->from[stream], outlet->piece, most);
        if (count <= 0)
            return;
        put(stream + 1, outlet->piece, (size_t)count);
        left -= (int)count;
    }
}

void outlet_drain(struct outlet *outlet)
{
    pthread_mutex_lock(&outlet->lock);
    for (int stream = 0; stream < STREAMS; stream++)
        empty(outlet, stream);
    pthread_mutex_unlock(&outlet->lock);
}

static void *drain_always(void *data)
{
    struct outlet *outlet = data;
    struct pollfd events[STREAMS + 1];
    for (int i = 0; i < STREAMS; i++)
        events[i] = (struct pollfd){.fd = outlet->from[i], .events = POLLIN};
    events[STREAMS] = (struct pollfd){.fd = outlet->closes, .events = POLLIN};
    while (events[STREAMS].revents == 0) {
        if (poll(events, STREAMS + 1, -1) < 0)
            continue;
        outlet_drain(outlet);
        for (int i = 0; i < STREAMS; i++)
            if (events[i].revents & (POLLHUP | POLLERR | POLLNVAL))
                events[i].fd = -1;
    }
    return NULL;
}

struct outlet *outlet_open(int from_output, int from_error)
{
    struct outlet *outlet = calloc(1, sizeof *outlet);
    if (outlet == NULL)
        return NULL;
    pthread_mutex_init(&outlet->lock, NULL);
    outlet->from[0] = from_output;
    outlet->from[1] = from_error;
    outlet->closes = eventfd(0, EFD_CLOEXEC);
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started =
        outlet->closes >= 0 && pthread_create(&outlet->thread, NULL, drain_always, outlet) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!started) {
        if (outlet->closes >= 0)
            close(outlet->closes);
        outlet->closes = -1;
        outlet_free(outlet);
        return NULL;
    }
    return outlet;
}

void outlet_close(struct outlet *outlet)
{
    eventfd_write(outlet->closes, 1);
    pthread_join(outlet->thread, NULL);
    outlet_drain(outlet);
    pthread_mutex_lock(&outlet->lock);
    for (int i = 0; i < STREAMS; i++) {
        close(outlet->from[i]);
        outlet->from[i] = -1;
    }
    close(outlet->closes);
    outlet->closes = -1;
    pthread_mutex_unlock(&outlet->lock);
}

void outlet_free(struct outlet *outlet)
{
    if (outlet->closes >= 0) /* the thread uses it */
        outlet_close(outlet);
    pthread_mutex_destroy(&outlet->lock);
    free(outlet);
}
