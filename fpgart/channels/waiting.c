/* SPDX-License-Identifier: Apache-2.0 */
#include "waiting.h"

#include "clock.h"
#include "fifo.h"
#include "io_file.h"
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum {
    IO_SLICE_MS = 1, /* between two attempts on a file */
    SLICE_MS = 100,  /* between two checks for a deadlock */
};

struct host_waits {
    atomic_int threads;
    atomic_ullong since; /* ms */
};

static struct host_waits of_process;
static struct host_waits *host_waits = &of_process;

void network_share_host_waits(uintptr_t memory)
{
    host_waits = (struct host_waits *)memory;
}

void network_host_waits(int begins)
{
    atomic_fetch_add(&host_waits->threads, begins ? 1 : -1);
    if (begins)
        atomic_store(&host_waits->since, now_ms());
}

_Noreturn void launch_leave(struct launch *launch)
{
    _longjmp(launch->escape, 1);
}

static void begin_wait(struct launch *launch, struct fifo *fifo, bool writing)
{
    struct network *network = launch->network;
    pthread_mutex_lock(&network->lock);
    launch->awaited = fifo;
    launch->writing = writing;
    if (++network->waiting == network->running)
        network->stalled_ms = now_ms();
    pthread_mutex_unlock(&network->lock);
}

static void end_wait(struct launch *launch)
{
    struct network *network = launch->network;
    pthread_mutex_lock(&network->lock);
    launch->awaited = NULL;
    network->waiting--;
    pthread_mutex_unlock(&network->lock);
}

/* Appends the wait of a launch to the report. */
static void describe(struct network *network, const struct launch *launch)
{
    const struct fifo *fifo = launch->awaited;
    size_t length = strlen(network->report);
    snprintf(network->report + length, sizeof network->report - length,
             "%s%skernel '%s' waits to %s '%s', which %s (%llu of %llu packets)",
             network->report[length - 1] != ' ' ? "; " : "", launch->autorun ? "autorun " : "",
             launch->name, launch->writing ? "write to" : "read from", fifo->name,
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

/* True if all kernels wait, none of them for the host, which itself waits for them; the
 * network's lock is held. */
static bool stalled(const struct network *network)
{
    bool launched = false;
    if (network->timeout_ms == 0 || network->waiting < network->running ||
        atomic_load(&host_waits->threads) == 0)
        return false;
    for (const struct launch *each = network->launches; each != NULL; each = each->next) {
        if (each->awaited != NULL && each->awaited->hosted)
            return false;
        launched = launched || (!each->autorun && !each->leave);
    }
    return launched;
}

/* Ends the kernels that the host launched, if all have waited for each other too long. */
static void give_up_if_stalled(struct network *network)
{
    pthread_mutex_lock(&network->lock);
    uint64_t since = atomic_load(&host_waits->since);
    since = since > network->stalled_ms ? since : network->stalled_ms;
    if (stalled(network) && now_ms() - since >= network->timeout_ms) {
        snprintf(network->report, sizeof network->report, "deadlock: ");
        for (struct launch *each = network->launches; each != NULL; each = each->next)
            if (!each->autorun) {
                describe(network, each);
                each->leave = true;
                fifo_alarm(each->awaited);
            }
        for (struct launch *each = network->launches; each != NULL; each = each->next)
            if (each->autorun)
                describe(network, each);
    }
    pthread_mutex_unlock(&network->lock);
}

/* Ends a kernel, and adds the reason to the report. */
static void give_up(struct launch *launch, const char *words)
{
    struct network *network = launch->network;
    pthread_mutex_lock(&network->lock);
    snprintf(network->report, sizeof network->report, "kernel '%s' was given up: %s", launch->name,
             words);
    launch->leave = true;
    pthread_mutex_unlock(&network->lock);
}

/* Ends a kernel whose packet will never come, or never be read. */
static void give_up_if_lost(struct launch *launch, struct fifo *fifo, uint64_t since_ms)
{
    enum link_state state = link_state(fifo->link, fifo->packet, since_ms);
    char words[REPORT_BYTES / 2];
    if (state == LINK_SOUND)
        return;
    link_describe(fifo->link, state, fifo->packet, words, sizeof words);
    give_up(launch, words);
}

static bool is_drained(struct fifo *fifo, bool writing)
{
    (void)writing;
    return fifo_drained(fifo);
}

/* Sleeps until the FIFO is ready, or the launch has to end; the FIFO's lock is held. */
static void wait_until(bool (*is)(struct fifo *, bool), struct launch *launch, struct fifo *fifo,
                       bool writing)
{
    if (is(fifo, writing))
        return;
    uint64_t begin = *fifos_watched ? now_ns() : 0;
    uint64_t begin_ms = now_ms();
    begin_wait(launch, fifo, writing);
    while (!launch->leave && !is(fifo, writing)) {
        fifo_sleep(fifo, fifo->io != NULL ? IO_SLICE_MS : SLICE_MS);
        if (is(fifo, writing))
            break;
        give_up_if_stalled(launch->network);
        if (fifo->link != NULL)
            give_up_if_lost(launch, fifo, begin_ms);
    }
    end_wait(launch);
    if (begin != 0)
        fifo_log_stall(fifo, launch->name, writing, begin);
}

static void leave_if_asked(struct launch *launch, struct fifo *fifo)
{
    if (launch->leave) {
        fifo_unlock(fifo);
        launch_leave(launch);
    }
}

void launch_check(struct launch *launch, struct fifo *fifo, bool writing)
{
    char words[REPORT_BYTES / 2];
    if (fifo->link == NULL)
        return;
    if (link_is_writing(fifo->link) != writing)
        snprintf(words, sizeof words, "it %s channel '%s', which is the other end of a cable",
                 writing ? "writes to" : "reads from", fifo->name);
    else if (fifo->packet > link_largest_packet())
        snprintf(words, sizeof words, "channel '%s' has packets of %u bytes; cables take up to %u",
                 fifo->name, fifo->packet, link_largest_packet());
    else
        return;
    give_up(launch, words);
    leave_if_asked(launch, fifo);
}

/* Returns the record of a launch's packets through a cable; NULL if there is no room for one
 * more. */
static struct link_use *use_of(struct launch *launch, const struct fifo *fifo)
{
    for (uint32_t i = 0; i < launch->used; i++)
        if (launch->uses[i].link == fifo->link)
            return &launch->uses[i];
    if (launch->used == MOST_USES)
        return NULL;
    struct link_use *use = &launch->uses[launch->used++];
    use->link = fifo->link;
    use->begin = link_moved(fifo->link);
    use->packet = fifo->packet;
    use->first_ns = now_ns();
    return use;
}

void launch_pass(struct launch *launch, struct fifo *fifo, bool writing, void *data)
{
    struct link_use *use = fifo->link != NULL ? use_of(launch, fifo) : NULL;
    fifo_move(fifo, writing, data);
    if (use != NULL) {
        use->end = link_moved(fifo->link);
        use->last_ns = now_ns();
    }
}

void launch_move(struct launch *launch, struct fifo *fifo, bool writing, void *data)
{
    fifo_lock(fifo);
    launch_check(launch, fifo, writing);
    wait_until(fifo_ready, launch, fifo, writing);
    leave_if_asked(launch, fifo);
    launch_pass(launch, fifo, writing, data);
    if (fifo->io != NULL && writing) {
        wait_until(is_drained, launch, fifo, true);
        leave_if_asked(launch, fifo);
    }
    fifo_unlock(fifo);
}

size_t network_report(struct network *network, char *words, size_t size)
{
    pthread_mutex_lock(&network->lock);
    int length = snprintf(words, size, "%s", network->report);
    pthread_mutex_unlock(&network->lock);
    return (size_t)length < size ? (size_t)length : size - 1;
}
