/* SPDX-License-Identifier: Apache-2.0
 *
 * The host's side of rings. One lock guards everything here; it is held during no call of the
 * engine's users except core_ended(). */
#define _GNU_SOURCE
#include "ring.h"

#include "apart.h"
#include "calls.h"
#include "clock.h"
#include "futex.h"
#include "interrupts.h"
#include "lanes.h"
#include <CL/cl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { LOOK_EVERY = 50, NOWHERE = RING_SLOTS };

/* A command, and the event of the engine. References: the core's, and one until it has ended. */
struct record {
    uint32_t references;
    _Atomic uint32_t status; /* an execution status: CL_SUBMITTED until the end is known */
    uint32_t slot;           /* NOWHERE: the board process does not have it */
    uint32_t number;
    uint32_t interrupts;
    bool began; /* it ran when its board process died */
    struct lane *lane;
    struct record *newer;
    struct carried *carried;
    void (*call)(void *data);
    void *data;
    uint64_t start, end;
    uint32_t count;
    struct record *after[]; /* what it waits for; the core keeps it until the command has ended */
};

struct lane {
    struct commands *all;
    struct lane *next;
    struct record *oldest, *newest;
    uint32_t number, open;
    bool has_profiling;
    uint32_t timed; /* the command that ran at `since`, in milliseconds */
    uint64_t since;
};

struct commands {
    pthread_mutex_t lock;
    struct ring *ring; /* NULL: there is no board process */
    struct outlet *outlet;
    uint32_t process;
    int life, bell, count;
    uintptr_t begin;
    uint64_t size;
    uint32_t limit_ms;
    uint32_t number, posted;
    uint32_t free[RING_SLOTS], free_count;
    bool is_overwritten, is_stopped, is_interrupted, is_detached;
    bool has_calls;          /* somebody waits for ends: the watching thread looks, too */
    uint64_t counted, noted; /* ends that the board process has counted, and that were noted */
    uint64_t looked;         /* when check_ring() looked last, in milliseconds */
    struct lane *lanes;
    bool lane_taken[RING_LANES];
};

static int32_t status_of(const struct record *record)
{
    return (int32_t)atomic_load(&record->status);
}

static bool has_ended(const struct record *record)
{
    return status_of(record) <= CL_COMPLETE;
}

static void wake_watcher(const struct commands *all)
{
    eventfd_write(all->bell, 1);
}

static void drop(struct record *record)
{
    if (--record->references == 0)
        free(record);
}

/* Ends the oldest command of its lane. */
static void finish(struct record *record, int32_t status)
{
    struct lane *lane = record->lane;
    lane->oldest = record->newer;
    if (lane->oldest == NULL)
        lane->newest = NULL;
    lane->open--;
    atomic_store(&record->status, (uint32_t)status);
    futex_wake(&record->status);
    if (record->call != NULL)
        record->call(record->data);
    drop(record);
}

static bool is_reported(struct commands *all, const struct record *record)
{
    if (record->slot == NOWHERE)
        return false;
    uint32_t ended = atomic_load(&all->ring->ends[record->slot].ended);
    if (ended != 0 && ended != record->number && !all->is_overwritten) {
        all->is_overwritten = true;
        wake_watcher(all);
    }
    return ended == record->number;
}

static void take_end(struct commands *all, struct record *record)
{
    const struct ring_end *end = &all->ring->ends[record->slot];
    int32_t status = end->status, place = end->place;
    uint64_t start = end->start, over = end->end;
    if (record->lane->has_profiling && start <= over) {
        record->start = start;
        record->end = over;
    }
    record->carried->place = place >= -2 ? place : -1;
    all->free[all->free_count++] = record->slot;
    all->noted++;
    record->slot = NOWHERE;
    finish(record, status <= CL_COMPLETE ? status : CL_OUT_OF_RESOURCES);
}

/* Notes the ends that the board process has reported, after the output of these commands. */
static void note_ends(struct commands *all, struct lane *lane)
{
    uint32_t count = 0;
    for (struct record *each = lane->oldest; each != NULL && is_reported(all, each);
         each = each->newer)
        count++;
    if (count != 0)
        outlet_drain(all->outlet);
    for (; count != 0; count--)
        take_end(all, lane->oldest);
}

/* Every LOOK_EVERY milliseconds at most: looks whether the ring shows all ends that the board
 * process has counted where no kernel can write, and tells it again what was posted. */
static void check_ring(struct commands *all)
{
    eventfd_t more = 0;
    if (all->ring == NULL || now_ms() - all->looked < LOOK_EVERY)
        return;
    all->looked = now_ms();
    eventfd_read(all->count, &more);
    all->counted += more;
    uint64_t shown = all->noted;
    for (struct lane *lane = all->lanes; lane != NULL; lane = lane->next)
        for (struct record *each = lane->oldest; each != NULL; each = each->newer)
            shown += is_reported(all, each);
    if (all->counted > shown && !all->is_overwritten) {
        all->is_overwritten = true;
        wake_watcher(all);
    }
    atomic_store(&all->ring->posted, all->posted);
    futex_wake(&all->ring->posted);
}

static void note_all_ends(struct commands *all)
{
    for (struct lane *lane = all->lanes; lane != NULL; lane = lane->next)
        note_ends(all, lane);
}

/* Sleeps until a record may have ended; the lock is released meanwhile. */
static void sleep_for(struct commands *all, struct record *record)
{
    _Atomic uint32_t *word = &record->status;
    uint32_t seen = CL_SUBMITTED, before = record->interrupts;
    if (record->slot != NOWHERE && !all->is_overwritten) {
        struct ring_end *end = &all->ring->ends[record->slot];
        word = &end->ended;
        seen = 0;
        atomic_store(&end->sleeps, 1);
    }
    pthread_mutex_unlock(&all->lock);
    futex_sleep(word, seen, LOOK_EVERY);
    pthread_mutex_lock(&all->lock);
    check_ring(all);
    if (interrupts() != before && !has_ended(record)) {
        all->is_interrupted = true;
        wake_watcher(all);
    }
}

/* While all slots are in use, waits until half of the largest lane has ended. */
static void make_room(struct commands *all)
{
    while (all->ring != NULL && all->free_count == 0) {
        note_all_ends(all);
        struct lane *most = all->lanes;
        for (struct lane *lane = all->lanes; lane != NULL; lane = lane->next)
            if (lane->open > most->open)
                most = lane;
        struct record *record = most->oldest;
        for (uint32_t i = most->open / 2; i > 0; i--)
            record = record->newer;
        if (all->free_count == 0 && record != NULL) {
            record->references++;
            sleep_for(all, record);
            drop(record);
        }
    }
}

static uint64_t bytes_behind(const struct carried *carried)
{
    const struct argument *arguments = (const struct argument *)carried->more;
    if (carried->kind != CARRIED_LAUNCH)
        return carried->kind == CARRIED_FILL ? carried->count : 0;
    uint64_t bytes = carried->count * sizeof *arguments;
    for (uint32_t i = 0; i < carried->count; i++)
        if (arguments[i].kind == ARGUMENT_BYTES && arguments[i].value + arguments[i].size > bytes)
            bytes = arguments[i].value + arguments[i].size;
    return bytes;
}

/* True if the board process can keep the command's order. */
static bool may_post(const struct commands *all, const struct record *record)
{
    const struct carried *carried = record->carried;
    const struct record *newest = record->lane->newest;
    if (all->ring == NULL || record->count > RING_WAITS ||
        (newest != NULL && newest->slot == NOWHERE))
        return false;
    for (uint32_t i = 0; i < record->count; i++)
        if (record->after[i]->slot == NOWHERE)
            return false;
    return carried->kind != CARRIED_LAUNCH || carried->kernel >> 32 == all->process;
}

static void post(struct commands *all, struct record *record)
{
    uint32_t slot = record->slot = all->free[--all->free_count];
    struct ring_request *request = &all->ring->requests[slot];
    struct ring_end *end = &all->ring->ends[slot];
    uint64_t size = sizeof *record->carried + bytes_behind(record->carried);
    request->number = record->number;
    request->lane = record->lane->number;
    request->has_profiling = record->lane->has_profiling;
    request->size = (uint32_t)size;
    request->count = record->count;
    for (uint32_t i = 0; i < record->count; i++)
        request->after[i] = record->after[i]->slot;
    memcpy(request->operation, record->carried, size);
    atomic_store(&end->ended, 0);
    atomic_store(&end->sleeps, 0);
    atomic_store(&end->rings, 0);
    all->ring->order[all->posted++ % RING_SLOTS] = slot;
    atomic_store(&all->ring->posted, all->posted);
    if (atomic_load(&all->ring->board_sleeps))
        futex_wake(&all->ring->posted);
    if (all->limit_ms != 0 && record->lane->oldest == record)
        wake_watcher(all);
}

static void append(struct record *record)
{
    struct lane *lane = record->lane;
    if (lane->newest != NULL)
        lane->newest->newer = record;
    else
        lane->oldest = record;
    lane->newest = record;
    lane->open++;
}

/* Notes what the record waits for. Returns false if something of that has failed. */
static bool waits(struct record *record, uint32_t count, void *const *after)
{
    for (uint32_t i = 0; i < count; i++) {
        struct record *before = after[i];
        if (status_of(before) < 0)
            return false;
        if (!has_ended(before))
            record->after[record->count++] = before;
    }
    return true;
}

static int32_t submit(void *given, void *operation, uint32_t count, void *const *after,
                      void **event)
{
    struct lane *lane = given;
    struct commands *all = lane->all;
    struct carried *carried = operation;
    if (sizeof *carried + bytes_behind(carried) > RING_ROOM)
        return CL_OUT_OF_RESOURCES;
    struct record *record = calloc(1, sizeof *record + count * sizeof(void *));
    if (record == NULL)
        return CL_OUT_OF_HOST_MEMORY;
    record->references = 2;
    record->status = CL_SUBMITTED;
    record->slot = NOWHERE;
    record->lane = lane;
    record->carried = carried;
    record->interrupts = interrupts();
    pthread_mutex_lock(&all->lock);
    make_room(all);
    if (!waits(record, count, after)) {
        pthread_mutex_unlock(&all->lock);
        free(record);
        return CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
    }
    carried->is_begun = 1;
    if (carried->begins != NULL && carried->kind == CARRIED_LAUNCH)
        carried->begins(carried);
    if (++all->number == 0)
        all->number = 1;
    record->number = all->number;
    bool is_posted = may_post(all, record);
    append(record);
    if (is_posted) {
        post(all, record);
    } else {
        all->has_calls = true; /* so that the watching thread notes the ends that it waits for */
        wake_watcher(all);
    }
    pthread_mutex_unlock(&all->lock);
    *event = record;
    return CL_SUCCESS;
}

static void ended(void *operation, int32_t status)
{
    struct carried *carried = operation;
    if (carried->ended != NULL)
        carried->ended(carried, status);
}

/* True if nothing before it keeps the record from running. */
static bool is_first(const struct record *record)
{
    for (uint32_t i = 0; i < record->count; i++)
        if (!has_ended(record->after[i]))
            return false;
    return record->lane->oldest == record;
}

static int32_t status(void *event)
{
    struct record *record = event;
    struct commands *all = record->lane->all;
    if (has_ended(record))
        return status_of(record);
    pthread_mutex_lock(&all->lock);
    check_ring(all);
    note_ends(all, record->lane);
    int32_t found = status_of(record);
    if (found > CL_COMPLETE && record->slot != NOWHERE && is_first(record))
        found = CL_RUNNING;
    pthread_mutex_unlock(&all->lock);
    return found;
}

static void wait(void *event)
{
    struct record *record = event;
    struct commands *all = record->lane->all;
    pthread_mutex_lock(&all->lock);
    note_ends(all, record->lane);
    while (!has_ended(record)) {
        sleep_for(all, record);
        note_ends(all, record->lane);
    }
    pthread_mutex_unlock(&all->lock);
}

static void times(void *event, uint64_t *start, uint64_t *end)
{
    const struct record *record = event;
    *start = record->start;
    *end = record->end;
}

static int32_t notify(void *event, void (*call)(void *data), void *data)
{
    struct record *record = event;
    struct commands *all = record->lane->all;
    pthread_mutex_lock(&all->lock);
    note_ends(all, record->lane);
    bool is_over = has_ended(record);
    if (!is_over) {
        record->call = call;
        record->data = data;
        if (record->slot != NOWHERE)
            atomic_store(&all->ring->ends[record->slot].rings, 1);
        if (!all->has_calls)
            wake_watcher(all);
        all->has_calls = true;
        note_ends(all, record->lane); /* it may have ended before */
    }
    pthread_mutex_unlock(&all->lock);
    if (is_over)
        call(data);
    return CL_SUCCESS;
}

static void release(void *event)
{
    struct record *record = event;
    struct commands *all = record->lane->all;
    pthread_mutex_lock(&all->lock);
    drop(record);
    pthread_mutex_unlock(&all->lock);
}

static void *lane_new(uintptr_t given, uintptr_t unused, bool in_order, bool has_profiling)
{
    struct commands *all = (struct commands *)given;
    struct lane *lane = in_order ? calloc(1, sizeof *lane) : NULL;
    uint32_t number = 0;
    (void)unused;
    if (lane == NULL)
        return NULL;
    pthread_mutex_lock(&all->lock);
    while (number < RING_LANES && all->lane_taken[number])
        number++;
    if (number < RING_LANES) {
        all->lane_taken[number] = true;
        lane->all = all;
        lane->number = number;
        lane->has_profiling = has_profiling;
        lane->next = all->lanes;
        all->lanes = lane;
    }
    pthread_mutex_unlock(&all->lock);
    if (number == RING_LANES) {
        free(lane);
        return NULL;
    }
    return lane;
}

static void lane_free(void *given)
{
    struct lane *lane = given;
    struct commands *all = lane->all;
    pthread_mutex_lock(&all->lock);
    struct lane **place = &all->lanes;
    while (*place != lane)
        place = &(*place)->next;
    *place = lane->next;
    all->lane_taken[lane->number] = false;
    pthread_mutex_unlock(&all->lock);
    free(lane);
}

static void flush(void *lane)
{
    (void)lane; /* the board process begins everything at once */
}

static bool is_shared(const struct commands *all, uintptr_t address, uint64_t bytes)
{
    return address >= all->begin && bytes <= all->size && address - all->begin <= all->size - bytes;
}

static bool reaches(uintptr_t given, const struct carried *carried)
{
    const struct commands *all = (const struct commands *)given;
    if (carried->kind == CARRIED_MOVE && (carried->size[1] != 1 || carried->size[2] != 1))
        return false; /* the board process takes linear ranges only (ring_board.c) */
    return (carried->kind != CARRIED_MOVE || is_shared(all, carried->from, carried->size[0])) &&
           is_shared(all, carried->to, carried->size[0]);
}

const struct carrier *ring_carrier(void)
{
    static const struct core_engine engine = {.submit = submit,
                                              .ended = ended,
                                              .status = status,
                                              .wait = wait,
                                              .times = times,
                                              .notify = notify,
                                              .release = release,
                                              .now = now_ns};
    static const struct carrier functions = {&engine, lane_new, lane_free,
                                             flush,   reaches,  carrier_do};
    return &functions;
}

uint64_t ring_bytes(void)
{
    return sizeof(struct ring);
}

struct commands *commands_new(uintptr_t begin, uint64_t size, uint32_t limit_ms)
{
    struct commands *all = calloc(1, sizeof *all);
    if (all == NULL)
        return NULL;
    pthread_mutex_init(&all->lock, NULL);
    all->begin = begin;
    all->size = size;
    all->limit_ms = limit_ms;
    all->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    all->count = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (all->bell >= 0 && all->count >= 0)
        return all;
    close(all->bell);
    close(all->count);
    free(all);
    return NULL;
}

int commands_bell(struct commands *all)
{
    return all->bell;
}

int commands_count(struct commands *all)
{
    return all->count;
}

void commands_attach(struct commands *all, uintptr_t ring, uint32_t process, int life,
                     struct outlet *outlet)
{
    eventfd_t left;
    pthread_mutex_lock(&all->lock);
    all->ring = (struct ring *)ring;
    all->process = process;
    all->life = life;
    all->outlet = outlet;
    all->posted = 0;
    eventfd_read(all->count, &left); /* of the process before */
    all->counted = all->noted = 0;
    for (uint32_t i = 0; i < RING_SLOTS; i++)
        all->free[i] = i;
    all->free_count = RING_SLOTS;
    all->is_overwritten = all->is_stopped = false;
    wake_watcher(all);
    pthread_mutex_unlock(&all->lock);
}

/* The board process has died: its commands have to be run again, or were running. */
uintptr_t commands_detach(struct commands *all, uint64_t *ran, uint32_t *count)
{
    pthread_mutex_lock(&all->lock);
    uintptr_t ring = (uintptr_t)all->ring;
    *count = 0;
    note_all_ends(all);
    for (struct lane *lane = all->lanes; lane != NULL; lane = lane->next) {
        struct record *first = lane->oldest;
        if (first == NULL || first->slot == NOWHERE || !is_first(first) ||
            first->carried->kind != CARRIED_LAUNCH)
            continue;
        first->began = true;
        ran[(*count)++] = first->carried->kernel;
    }
    for (struct lane *lane = all->lanes; lane != NULL; lane = lane->next)
        for (struct record *each = lane->oldest; each != NULL; each = each->newer) {
            if (each->slot != NOWHERE)
                futex_wake(&all->ring->ends[each->slot].ended);
            each->slot = NOWHERE;
        }
    all->ring = NULL;
    all->free_count = 0;
    all->is_detached = true;
    wake_watcher(all);
    pthread_mutex_unlock(&all->lock);
    return ring;
}

bool commands_are_attached(struct commands *all)
{
    pthread_mutex_lock(&all->lock);
    bool are_attached = all->ring != NULL;
    pthread_mutex_unlock(&all->lock);
    return are_attached;
}

/* Returns the next command for Python: one that ran when its board process died, else the oldest.
 */
static struct record *next_left(const struct commands *all)
{
    struct record *found = NULL;
    for (struct lane *lane = all->lanes; lane != NULL; lane = lane->next) {
        struct record *each = lane->oldest;
        if (each == NULL || each->slot != NOWHERE || !is_first(each))
            continue;
        if (found == NULL || each->began > found->began ||
            (each->began == found->began && (int32_t)(each->number - found->number) < 0))
            found = each;
    }
    return found;
}

static bool has_failed_wait(const struct record *record)
{
    for (uint32_t i = 0; i < record->count; i++)
        if (status_of(record->after[i]) < 0)
            return true;
    return false;
}

bool commands_left(struct commands *all, struct left_command *found)
{
    struct record *record;
    pthread_mutex_lock(&all->lock);
    while ((record = next_left(all)) != NULL) {
        struct carried *carried = record->carried;
        if (has_failed_wait(record)) {
            finish(record, CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
        } else if (carried->kind != CARRIED_LAUNCH) {
            carrier_do(carried);
            finish(record, CL_COMPLETE);
        } else {
            *found = (struct left_command){(uintptr_t)record,
                                           carried->kernel,
                                           carried->more,
                                           bytes_behind(carried),
                                           (const char *)carried->sizes,
                                           carried->dimensions,
                                           carried->has_local,
                                           record->began};
            record->start = now_ns();
            break;
        }
    }
    pthread_mutex_unlock(&all->lock);
    return record != NULL;
}

void commands_end(struct commands *all, uintptr_t given, int32_t status, int32_t place)
{
    struct record *record = (struct record *)given;
    pthread_mutex_lock(&all->lock);
    record->end = now_ns();
    record->carried->place = place;
    finish(record, status);
    pthread_mutex_unlock(&all->lock);
}

/* True if the command of a lane that runs has run for too long. */
static bool is_late(struct commands *all)
{
    uint64_t now = now_ms();
    bool is_late = false;
    for (struct lane *lane = all->lanes; lane != NULL; lane = lane->next) {
        const struct record *record = lane->oldest;
        if (record == NULL || record->slot == NOWHERE)
            continue;
        bool is_other = lane->timed != record->number || !is_first(record);
        is_late |= !is_other && now - lane->since >= all->limit_ms;
        if (is_other || is_late)
            lane->since = now;
        lane->timed = record->number;
    }
    return is_late;
}

static bool has_posted(const struct commands *all)
{
    return all->ring != NULL && all->free_count < RING_SLOTS;
}

/* Returns true and the news that there are. */
static bool has_news(struct commands *all, enum ring_news *news)
{
    if (all->ring != NULL && lane_is_lost(all->life))
        *news = RING_LOST;
    else if (all->is_overwritten && !all->is_stopped)
        *news = RING_OVERWRITTEN;
    else if (all->is_interrupted)
        *news = RING_INTERRUPTED;
    else if (all->limit_ms != 0 && is_late(all))
        *news = RING_LATE;
    else if (all->is_detached || next_left(all) != NULL)
        *news = RING_LEFT;
    else
        return false;
    all->is_stopped |= *news == RING_OVERWRITTEN;
    all->is_interrupted = all->is_detached = false;
    return true;
}

enum ring_news commands_watch(struct commands *all)
{
    bool is_heard = true; /* within the last LOOK_EVERY milliseconds */
    for (;;) {
        enum ring_news news = RING_LEFT;
        eventfd_t rings;
        pthread_mutex_lock(&all->lock);
        check_ring(all);
        note_all_ends(all);
        bool has = has_news(all, &news);
        struct pollfd events[] = {{.fd = all->bell, .events = POLLIN},
                                  {.fd = all->ring != NULL ? all->life : -1, .events = POLLIN}};
        all->has_calls = all->has_calls && (is_heard || has_posted(all));
        bool looks = all->has_calls || (all->limit_ms != 0 && has_posted(all));
        pthread_mutex_unlock(&all->lock);
        if (has)
            return news;
        is_heard = poll(events, 2, looks ? LOOK_EVERY : -1) > 0;
        eventfd_read(all->bell, &rings);
    }
}
