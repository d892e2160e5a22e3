/* SPDX-License-Identifier: Apache-2.0 */
#include "stream_clock.h"
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { QUANTUM = 4096, NOBODY = -1 };

/* Packet i is in slot i modulo `capacity`: the time of its write until it is read, then the time
 * of its read. */
struct channel {
    int64_t capacity;
    int64_t written;
    int64_t read;
    int64_t *slots;
    int reader; /* the first process that waits for a packet, or for room; NOBODY for none */
    int writer;
};

struct frame {
    int64_t begin; /* of the iteration, unstalled */
    int64_t left;  /* iterations, with this one */
};

struct process {
    struct stream_step *steps; /* NULL: removed */
    struct stream_wait *waits; /* by step */
    size_t count;
    size_t at;
    int64_t unstalled;
    int64_t stalled;
    int next; /* the next process in its queue */
    int depth;
    struct frame frames[STREAM_DEEPEST];
};

struct queue {
    int first;
    int last;
};

struct stream_clock {
    struct channel *channels;
    int channel_count;
    struct process *processes;
    int process_count;
    struct queue ready; /* processes that can continue */
    struct queue ended; /* processes that have ended since the last query */
    uint64_t looks;
};

struct stream_clock *stream_clock_new(void)
{
    struct stream_clock *clock = calloc(1, sizeof *clock);
    if (clock != NULL)
        clock->ready.first = clock->ended.first = NOBODY;
    return clock;
}

static void put(struct stream_clock *clock, struct queue *queue, int number)
{
    clock->processes[number].next = NOBODY;
    if (queue->first == NOBODY)
        queue->first = number;
    else
        clock->processes[queue->last].next = number;
    queue->last = number;
}

static int take(struct stream_clock *clock, struct queue *queue)
{
    int number = queue->first;
    if (number != NOBODY)
        queue->first = clock->processes[number].next;
    return number;
}

/* Makes the processes that waited at one end of a channel ready; each checks if it can continue. */
static void wake(struct stream_clock *clock, int *waiting)
{
    while (*waiting != NOBODY) {
        int number = *waiting;
        *waiting = clock->processes[number].next;
        put(clock, &clock->ready, number);
    }
}

static void process_free(struct process *process)
{
    free(process->steps);
    free(process->waits);
    process->steps = NULL;
    process->waits = NULL;
}

void stream_clock_free(struct stream_clock *clock)
{
    if (clock == NULL)
        return;
    for (int n = 0; n < clock->channel_count; n++)
        free(clock->channels[n].slots);
    for (int n = 0; n < clock->process_count; n++)
        process_free(&clock->processes[n]);
    free(clock->channels);
    free(clock->processes);
    free(clock);
}

int stream_clock_channel(struct stream_clock *clock, int64_t capacity)
{
    struct channel *grown =
        realloc(clock->channels, (size_t)(clock->channel_count + 1) * sizeof *grown);
    if (grown == NULL)
        return -1;
    clock->channels = grown;
    int64_t *slots = calloc((size_t)capacity, sizeof *slots);
    if (slots == NULL)
        return -1;
    grown[clock->channel_count] =
        (struct channel){.capacity = capacity, .slots = slots, .reader = NOBODY, .writer = NOBODY};
    return clock->channel_count++;
}

/* True if jumps stay within the steps, their channels exist, and their loops are not too deep. */
static bool sound(const struct stream_clock *clock, const struct stream_step *steps, size_t count)
{
    size_t opened[STREAM_DEEPEST], depth = 0;
    for (size_t at = 0; at < count; at++) {
        const struct stream_step *step = &steps[at];
        bool moves = step->kind == STREAM_READ || step->kind == STREAM_WRITE;
        if (moves && (step->first < 0 || step->first >= clock->channel_count))
            return false;
        if (step->kind == STREAM_LOOP) {
            if (depth == STREAM_DEEPEST || step->first < 1)
                return false;
            opened[depth++] = at;
        } else if (step->kind == STREAM_NEXT) {
            if (depth == 0 || opened[--depth] != (size_t)step->first)
                return false;
        }
    }
    return depth == 0 && count > 0 && steps[count - 1].kind == STREAM_END;
}

static int free_process(struct stream_clock *clock)
{
    for (int n = 0; n < clock->process_count; n++)
        if (clock->processes[n].steps == NULL)
            return n;
    struct process *grown =
        realloc(clock->processes, (size_t)(clock->process_count + 1) * sizeof *grown);
    if (grown == NULL)
        return -1;
    clock->processes = grown;
    grown[clock->process_count].steps = NULL;
    grown[clock->process_count].waits = NULL;
    return clock->process_count++;
}

int stream_clock_process(struct stream_clock *clock, const struct stream_step *steps, size_t count,
                         int64_t begin)
{
    if (!sound(clock, steps, count))
        return -1;
    int number = free_process(clock);
    if (number < 0)
        return -1;
    struct process *process = &clock->processes[number];
    memset(process, 0, sizeof *process);
    process->steps = malloc(count * sizeof *steps);
    process->waits = calloc(count, sizeof *process->waits);
    if (process->steps == NULL || process->waits == NULL) {
        process_free(process);
        return -1;
    }
    memcpy(process->steps, steps, count * sizeof *steps);
    process->count = count;
    process->unstalled = begin;
    put(clock, &clock->ready, number);
    return number;
}

/* Makes the process continue no earlier than at `time`. */
static void wait_until(struct process *process, int64_t time)
{
    struct stream_wait *wait = &process->waits[process->at];
    int64_t now = process->unstalled + process->stalled;
    if (time > now) {
        if (wait->total == 0)
            wait->begin = now;
        wait->total += time - now;
        wait->end = time;
        process->stalled += time - now;
    }
    wait->packets++;
}

/* A packet can be read in the next unit of time after its write and its writer's latency, which
 * is in `second`; a slot is free again when its packet is read. Returns false if the other side
 * has to come first: it wakes this process. */
static bool move(struct stream_clock *clock, struct process *process,
                 const struct stream_step *step)
{
    struct channel *channel = &clock->channels[step->first];
    bool reads = step->kind == STREAM_READ;
    int *waiting = reads ? &channel->reader : &channel->writer;
    if (channel->written - channel->read == (reads ? 0 : channel->capacity)) {
        process->next = *waiting;
        *waiting = (int)(process - clock->processes);
        return false;
    }
    int64_t *slot = &channel->slots[(reads ? channel->read : channel->written) % channel->capacity];
    if (reads) {
        wait_until(process, *slot);
        *slot = process->unstalled + process->stalled;
        channel->read++;
    } else {
        if (channel->written >= channel->capacity)
            wait_until(process, *slot - step->second);
        else
            process->waits[process->at].packets++;
        *slot = process->unstalled + process->stalled + step->second;
        channel->written++;
    }
    wake(clock, reads ? &channel->writer : &channel->reader);
    return true;
}

/* Begins the next iteration of the innermost loop, or the step behind it. */
static void next(struct process *process, const struct stream_step *jump)
{
    struct frame *frame = &process->frames[process->depth - 1];
    int64_t earliest = frame->begin + process->steps[jump->first].second;
    if (process->unstalled < earliest)
        process->unstalled = earliest;
    if (--frame->left == 0) {
        process->depth--;
        process->at++;
        return;
    }
    frame->begin = process->unstalled;
    process->at = (size_t)jump->first + 1;
}

/* Runs the process until it has ended, waits for others, or has done `most` steps, after which
 * it is ready again. Returns the steps. */
static uint64_t run(struct stream_clock *clock, int number, uint64_t most)
{
    struct process *process = &clock->processes[number];
    for (uint64_t done = 0; done < most; done++) {
        const struct stream_step *step = &process->steps[process->at];
        switch (step->kind) {
        case STREAM_LOOP:
            process->frames[process->depth++] =
                (struct frame){.begin = process->unstalled, .left = step->first};
            process->at++;
            break;
        case STREAM_NEXT:
            next(process, step);
            break;
        case STREAM_PASS:
            process->unstalled += step->first;
            process->at++;
            break;
        case STREAM_END:
            put(clock, &clock->ended, number);
            return done;
        default:
            if (!move(clock, process, step))
                return done;
            process->at++;
        }
    }
    put(clock, &clock->ready, number);
    return most;
}

uint64_t stream_clock_run(struct stream_clock *clock, uint64_t most)
{
    int number;
    while (most > 0 && (number = take(clock, &clock->ready)) != NOBODY) {
        uint64_t done = run(clock, number, most < QUANTUM ? most : QUANTUM);
        most -= done > 0 ? done : 1; /* resuming one that waits still costs a step's time */
        clock->looks++;
    }
    return most;
}

int stream_clock_ended(struct stream_clock *clock)
{
    return take(clock, &clock->ended);
}

uint64_t stream_clock_looks(const struct stream_clock *clock)
{
    return clock->looks;
}

int stream_clock_at(const struct stream_clock *clock, int process, int64_t *at, int64_t *unstalled)
{
    const struct process *found = &clock->processes[process];
    *at = found->unstalled + found->stalled;
    *unstalled = found->unstalled;
    return found->steps[found->at].kind == STREAM_END;
}

void stream_clock_waits(const struct stream_clock *clock, int process, size_t step,
                        struct stream_wait *wait)
{
    *wait = clock->processes[process].waits[step];
}

void stream_clock_remove(struct stream_clock *clock, int process)
{
    process_free(&clock->processes[process]);
}
