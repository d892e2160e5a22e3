/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs small hosts on the command processor (core/) under chosen schedules. Another thread may go
 * on at each lock, sleep and call of the engine; the engine is a model, whose operations end when
 * the explorer says so.
 *
 * explore_core systematic N   each host, all schedules with two preemptions, at most N of each
 * explore_core random N SEED  N hosts, most of them random, each under one random schedule
 *
 * Prints how many schedules were run. A fault aborts with the host, the seed and the choices. */
#include "command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

/* Threads */

enum { THREADS = 12, STACK = 1 << 16, CHOICES = 4096, PREEMPTIONS = 2 };

struct thread {
    ucontext_t context;
    void (*work)(void *);
    void *data;
    bool used, is_host, is_ending, is_serving, is_taking;
    unsigned depth;
    bool (*may_go_on)(void *);
    void *waits_for;
    char stack[STACK];
};

static struct thread threads[THREADS];
static struct thread *current;
static ucontext_t hub;
static const char *host_name;
static uint64_t seed;

struct choice {
    unsigned chosen, count;
    bool costs;
};
static struct choice trail[CHOICES];
static unsigned trail_length, at;
static bool is_random;

static void describe_host(void);

static void fault(const char *words)
{
    describe_host();
    printf("%s, seed %llu: %s\nchoices:", host_name, (unsigned long long)seed, words);
    for (unsigned i = 0; i < at && i < CHOICES; i++)
        printf(" %u", trail[i].chosen);
    printf("\n");
    fflush(stdout);
    abort();
}

#define CHECK(condition, words)                                                                    \
    do {                                                                                           \
        if (!(condition))                                                                          \
            fault(words);                                                                          \
    } while (0)

static uint64_t random_state;

static unsigned random_below(unsigned count)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(random_state >> 33) % count;
}

/* One of `count`; 0 is the thread that runs already, if `costs`: another one is a preemption. */
static unsigned choose(unsigned count, bool costs)
{
    CHECK(at < CHOICES, "the host does not end");
    if (is_random) {
        unsigned chosen = costs && random_below(10) < 6 ? 0 : random_below(count);
        trail[at++] = (struct choice){chosen, count, costs};
        return chosen;
    }
    if (at == trail_length)
        trail[trail_length++] = (struct choice){0, count, costs};
    CHECK(trail[at].count == count, "the host does not do the same twice");
    return trail[at++].chosen;
}

/* The next schedule; false when there is none. */
static bool next_schedule(void)
{
    while (trail_length > 0) {
        struct choice *last = &trail[trail_length - 1];
        unsigned spent = 0;
        for (unsigned i = 0; i + 1 < trail_length; i++)
            spent += trail[i].costs && trail[i].chosen > 0;
        if (last->chosen + 1 < last->count && spent + last->costs <= PREEMPTIONS) {
            last->chosen++;
            return true;
        }
        trail_length--;
    }
    return false;
}

static void yield(bool (*may_go_on)(void *), void *data)
{
    struct thread *thread = current;
    if (thread == NULL) /* nothing is explored yet */
        return;
    thread->may_go_on = may_go_on;
    thread->waits_for = data;
    swapcontext(&thread->context, &hub);
}

static void enter(void)
{
    current->work(current->data);
    current->used = false;
    swapcontext(&current->context, &hub);
}

static void start(void (*work)(void *), void *data, bool is_host)
{
    struct thread *thread = threads;
    while (thread->used)
        thread++;
    thread->work = work;
    thread->data = data;
    thread->used = true;
    thread->is_host = is_host;
    thread->may_go_on = NULL;
    thread->is_ending = thread->is_serving = thread->is_taking = false;
    thread->depth = 0;
    getcontext(&thread->context);
    thread->context.uc_stack.ss_sp = thread->stack;
    thread->context.uc_stack.ss_size = STACK;
    makecontext(&thread->context, enter, 0);
}

static bool step(void)
{
    struct thread *able[THREADS];
    unsigned count = 0, hosts = 0;
    bool goes_on = current != NULL && current->used &&
                   (current->may_go_on == NULL || current->may_go_on(current->waits_for));
    if (goes_on)
        able[count++] = current;
    for (struct thread *each = threads; each < threads + THREADS; each++) {
        hosts += each->used && each->is_host;
        if (each->used && !(goes_on && each == current) &&
            (each->may_go_on == NULL || each->may_go_on(each->waits_for)))
            able[count++] = each;
    }
    if (count == 0) {
        CHECK(hosts == 0, "threads of the host wait for ever");
        return false;
    }
    current = able[count > 1 ? choose(count, goes_on) : 0];
    current->may_go_on = NULL;
    swapcontext(&hub, &current->context);
    return true;
}

/* What the core asks for */

static bool locked;
static struct thread *holder;

static bool holds_lock(void)
{
    return locked && holder == current;
}

bool *core_explored_ending(void)
{
    static bool without_thread;
    return current != NULL ? &current->is_ending : &without_thread;
}

bool *core_explored_serving(void)
{
    static bool without_thread;
    return current != NULL ? &current->is_serving : &without_thread;
}

bool *core_explored_taking(void)
{
    static bool without_thread;
    return current != NULL ? &current->is_taking : &without_thread;
}

unsigned *core_explored_depth(void)
{
    static unsigned without_thread;
    return current != NULL ? &current->depth : &without_thread;
}

static bool is_free(void *nothing)
{
    (void)nothing;
    return !locked;
}

void core_lock(void)
{
    yield(is_free, NULL);
    CHECK(!locked, "the lock is taken twice");
    locked = true;
    holder = current;
}

void core_unlock(void)
{
    CHECK(holds_lock(), "a lock that is free is released");
    locked = false;
}

struct sleeper {
    _Atomic uint32_t *word;
    bool woken;
    struct sleeper *next;
};
static struct sleeper *sleepers;

static bool is_woken(void *data)
{
    return ((struct sleeper *)data)->woken;
}

void core_pause(void)
{
    yield(NULL, NULL);
}

void core_futex_wait(_Atomic uint32_t *word, uint32_t seen)
{
    CHECK(!holds_lock(), "a thread sleeps with the lock");
    core_pause();
    if (*word != seen)
        return;
    struct sleeper sleeper = {word, false, sleepers};
    sleepers = &sleeper;
    yield(is_woken, &sleeper);
}

void core_futex_wake(_Atomic uint32_t *word)
{
    for (struct sleeper **place = &sleepers; *place != NULL;) {
        if ((*place)->word == word) {
            (*place)->woken = true;
            *place = (*place)->next;
        } else {
            place = &(*place)->next;
        }
    }
}

/* Memory of the core, whose sources are compiled with these names. What was freed is overwritten
 * and stays unused until the host has ended: a command there has a status as if it were open. The
 * same stands behind each block. */

enum { BLOCKS = 256, FREED = 0x5a, GUARD = 64 };
static struct block {
    void *memory;
    size_t size;
    bool freed;
} blocks[BLOCKS];
static unsigned block_count;
static unsigned blocks_left = BLOCKS;

void *explored_malloc(size_t size);
void *explored_calloc(size_t count, size_t size);
void explored_free(void *memory);

void *explored_malloc(size_t size)
{
    if (block_count == blocks_left)
        return NULL;
    CHECK(block_count < BLOCKS, "too many allocations");
    struct block *block = &blocks[block_count++];
    *block = (struct block){malloc(size + GUARD), size, false};
    memset(block->memory, 0xa5, size);
    memset((char *)block->memory + size, FREED, GUARD);
    return block->memory;
}

void *explored_calloc(size_t count, size_t size)
{
    void *memory = explored_malloc(count * size);
    return memory != NULL ? memset(memory, 0, count * size) : NULL;
}

void explored_free(void *memory)
{
    if (memory == NULL)
        return;
    struct block *block = blocks;
    while (block < blocks + block_count && block->memory != memory)
        block++;
    CHECK(block < blocks + block_count && !block->freed, "memory is freed that is not allocated");
    block->freed = true;
    memset(memory, FREED, block->size);
}

static void check_memory(void)
{
    for (; block_count > 0; block_count--) {
        struct block *block = &blocks[block_count - 1];
        CHECK(block->freed, "memory is left");
        for (size_t i = 0; i < block->size + GUARD; i++)
            CHECK(((unsigned char *)block->memory)[i] == FREED,
                  "memory is written after it was freed, or behind it");
        free(block->memory);
    }
}

/* The engine: operations of a lane that is in order run one behind the other. */

enum { OPERATIONS = 32 };

struct lane {
    bool in_order;
    unsigned given_back;
};

struct operation {
    int number; /* of the command in the host */
    struct lane *lane;
    struct operation *after[OPERATIONS];
    unsigned after_count;
    int32_t status, ends_with;
    uint64_t begin, end;
    bool is_work;   /* that is no marker and no barrier */
    bool is_hidden; /* that it has ended; commands behind it in its lane may be seen to end first */
    void (*ended)(void *);
    void *data;
    int references;
};

static struct operation operations[OPERATIONS];
static unsigned operation_count;
static uint64_t time_now;
static unsigned live_events;

static bool is_work(int number);
static bool lasts(int number);
static void lane_freed(void *lane)
{
    ((struct lane *)lane)->given_back++;
}

static void command_begins(int number, bool in_engine);
static void command_ends(int number, int32_t status);
static void check_what_is_beside(int number);
static int32_t outcome_of(int number);

static void operation_ended(int number, int32_t status);

static bool is_refused(int number);

static int32_t engine_submit(void *lane, void *given, uint32_t count, void *const *after,
                             void **event)
{
    CHECK(!holds_lock(), "the engine is called with the lock");
    core_pause();
    int number = *(const int *)given;
    if (is_refused(number))
        return CL_INVALID_KERNEL;
    check_what_is_beside(number);
    struct operation *operation = &operations[operation_count++];
    *operation = (struct operation){.number = number,
                                    .lane = lane,
                                    .after_count = count,
                                    .status = CL_SUBMITTED,
                                    .ends_with = outcome_of(number),
                                    .references = 1};
    for (uint32_t i = 0; i < count; i++) {
        operation->after[i] = after[i];
        CHECK(after[i] != NULL, "the engine is to wait for what it does not have");
        CHECK(operation->after[i]->references > 0, "an event is used that was released");
    }
    live_events++;
    *event = operation;
    core_pause();
    return CL_SUCCESS;
}

static void engine_ended(void *given, int32_t status)
{
    CHECK(!holds_lock(), "the engine is called with the lock");
    CHECK(core_in_ended(), "the engine is told of an end in another way");
    core_pause();
    core_settle(); /* does not wait for this end */
    operation_ended(*(const int *)given, status);
}

static bool has_ended(void *event)
{
    const struct operation *operation = event;
    return operation->status <= CL_COMPLETE && !operation->is_hidden;
}

static unsigned long asked_by_server; /* about ends that it notes between callbacks */

static int32_t engine_status(void *event)
{
    CHECK(!holds_lock(), "the engine is called with the lock");
    CHECK(((struct operation *)event)->references > 0, "an event is used that was released");
    asked_by_server += current != NULL && current->is_serving && current->is_ending;
    core_pause();
    return has_ended(event) ? ((struct operation *)event)->status : CL_SUBMITTED;
}

static void engine_wait(void *event)
{
    CHECK(!holds_lock(), "the engine is called with the lock");
    CHECK(((struct operation *)event)->references > 0, "an event is used that was released");
    yield(has_ended, event);
    if (current == NULL)
        ((struct operation *)event)->is_hidden = false;
}

static unsigned asked_for_times;

static void engine_times(void *event, uint64_t *begin, uint64_t *end)
{
    const struct operation *operation = event;
    CHECK(!holds_lock(), "the engine is called with the lock");
    CHECK(has_ended(event), "the engine is asked for times before the end");
    *begin = operation->begin;
    *end = operation->end;
    asked_for_times++;
}

static int32_t engine_notify(void *event, void (*ended)(void *), void *data)
{
    struct operation *operation = event;
    CHECK(!holds_lock(), "the engine is called with the lock");
    core_pause();
    if (has_ended(event)) {
        ended(data);
        return CL_SUCCESS;
    }
    CHECK(operation->ended == NULL, "the end of an event is asked for twice");
    operation->ended = ended;
    operation->data = data;
    return CL_SUCCESS;
}

static void engine_release(void *event)
{
    CHECK(((struct operation *)event)->references-- == 1, "an event is released twice");
    live_events--;
}

static uint64_t engine_now(void)
{
    return ++time_now;
}

static void observing_thread(void *nothing);

/* What the observing thread calls may wait for nothing that this thread has to note. */
static void check_that_it_is_in_ended(void)
{
    CHECK(current == NULL || current->work != observing_thread || core_in_ended(),
          "the observing thread seems to be one that may wait");
}

static const struct core_engine engine = {engine_submit, engine_ended,  engine_status,  engine_wait,
                                          engine_times,  engine_notify, engine_release, engine_now};

static bool has_failed_wait(const struct operation *operation)
{
    for (unsigned i = 0; i < operation->after_count; i++)
        if (operation->after[i]->status < 0)
            return true;
    return false;
}

/* An operation of a lane that is out of order fails as soon as one does that it waits for. */
static bool may_run(const struct operation *operation)
{
    if (operation->status != CL_SUBMITTED || lasts(operation->number))
        return false;
    if (!operation->lane->in_order && has_failed_wait(operation))
        return true;
    for (unsigned i = 0; i < operation->after_count; i++)
        if (operation->after[i]->status > CL_COMPLETE)
            return false;
    for (const struct operation *each = operations; each < operation; each++)
        if (each->lane == operation->lane && operation->lane->in_order &&
            each->status > CL_COMPLETE)
            return false;
    return true;
}

static bool any_may_run(void *nothing)
{
    (void)nothing;
    for (unsigned i = 0; i < operation_count; i++)
        if (may_run(&operations[i]) || operations[i].is_hidden)
            return true;
    return false;
}

static void show_end(struct operation *operation)
{
    operation->is_hidden = false;
    if (operation->ended != NULL) {
        void (*ended)(void *) = operation->ended;
        core_pause();
        ended(operation->data);
        operation->ended = NULL;
    }
}

static void engine_thread(void *nothing)
{
    for (;;) {
        yield(any_may_run, nothing);
        struct operation *able[OPERATIONS];
        unsigned count = 0;
        for (unsigned i = operation_count; i-- > 0;) /* the newest first */
            if (may_run(&operations[i]) || operations[i].is_hidden)
                able[count++] = &operations[i];
        struct operation *operation = able[count > 1 ? choose(count, false) : 0];
        if (operation->is_hidden) {
            show_end(operation);
            continue;
        }
        operation->begin = ++time_now;
        operation->status = CL_RUNNING;
        if (has_failed_wait(operation)) {
            operation->ends_with = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
        } else if (is_work(operation->number)) {
            operation->is_work = true;
            command_begins(operation->number, true);
        }
        core_pause();
        operation->end = ++time_now;
        command_ends(operation->number, operation->ends_with);
        operation->status = operation->ends_with;
        operation->is_hidden = operation->lane->in_order && is_random && choose(3, false) == 0;
        if (!operation->is_hidden)
            show_end(operation);
    }
}

/* Hosts: commands in queues, and what threads do with them. */

enum { COMMANDS = 8, QUEUES = 3, LISTED = 3, CORES = 2 };
enum { NUMBERS = 16 }; /* at least COMMANDS, and the commands of each description */

struct plan {
    /* HELD: the caller runs it beside the core, on a board that it holds, and changes the board.
     * DIRECT: the thread of the host runs it at once. */
    enum kind { NOTHING, CARRIED, DECIDED, BARRIER, MARKER, USER, HELD, DIRECT } kind;
    int queue;
    int waits[LISTED]; /* numbers from 1 of earlier commands; 0: none */
    int32_t outcome;
    bool has_callback, waited, polled;
    bool awaited_at_once; /* the host waits for it before it enqueues the next one */
    int lasts_until;      /* it does not end before this one, numbered from 1, is enqueued */
    bool decides;         /* the caller ends a marker or a barrier */
    bool is_unobserved;   /* nobody has the event of a marker or a barrier */
    enum core_kind of;    /* CORE_MOVES: the engine gets it only beside no CORE_POLLS of others */
    bool comes_first;     /* the host sets no user event before it has ended, or has called back */
    int callback_waits;   /* the callback waits for this one, numbered from 1 */
    int callback_sets;    /* the callback, and nobody else, sets this user event */
    bool callback_takes;  /* the callback waits as the caller does, and takes what is ready */
};

struct host {
    const char *name;
    bool in_order[QUEUES];
    struct plan plans[NUMBERS];
    int split; /* commands from this number on are another thread's; 0: one thread does all */
    bool finishes;
    enum { WAITS, OBSERVES, NOTES } looks; /* how the host has the last ends noted */
    bool shares;    /* its threads use one queue, so that nobody knows the order */
    bool helps;     /* threads that wait run decided commands */
    bool renews;    /* it may be known what commands need when the board has changed */
    bool has_cores; /* a kernel occupies both of the board's cores, a CORE_TASK one */
    bool rests;     /* a thread waits until all that is left waits for user events */
};

static const struct host *host;
static struct core_board *board;
static unsigned board_state, known_state[NUMBERS]; /* what a command was told of the board */
static struct core_queue *queues[QUEUES];
static struct core_caller *caller;
static struct lane lanes[QUEUES];
static bool has_lane[QUEUES];
static struct core_command *commands[NUMBERS];
static int32_t reached[NUMBERS];    /* the last state with a callback */
static int order[NUMBERS], ordered; /* in which commands entered their queues */

/* What is known of each command of the host that runs. */
static struct {
    bool enqueued[NUMBERS], began[NUMBERS], ended[NUMBERS], refused[NUMBERS];
    int32_t ended_as[NUMBERS];
    unsigned released[NUMBERS], called_back[NUMBERS];
    bool claimed[NUMBERS];     /* a thread of the caller runs it */
    bool may_renew[NUMBERS];   /* the caller has found out what it needs */
    bool has_let[NUMBERS];     /* core_let_follow() has returned */
    bool is_decided[NUMBERS];  /* the caller runs it, whatever was planned */
    bool is_left_out[NUMBERS]; /* the order is kept without it */
    unsigned set_at[NUMBERS];  /* operations of the engine when a user event was set */
    unsigned ran_at[NUMBERS];  /* commands that the caller ran then, a bit for each */
} seen;

static void describe_host(void)
{
    static const char *const kinds[] = {"",       "carried",    "decided", "barrier",
                                        "marker", "user event", "held",    "direct"};
    for (int i = 0; i < COMMANDS && host->plans[i].kind != NOTHING; i++) {
        const struct plan *plan = &host->plans[i];
        printf("%d: %s in queue %d (%s), thread %d, waits for %d %d %d, ends with %d%s%s%s; ",
               i + 1, kinds[plan->kind], plan->queue,
               host->in_order[plan->queue] ? "in order" : "out of order",
               host->split != 0 && i >= host->split, plan->waits[0], plan->waits[1], plan->waits[2],
               plan->outcome, plan->has_callback ? ", callback" : "",
               plan->waited ? ", waited" : "", plan->polled ? ", polled" : "");
        if (commands[i] != NULL)
            printf("status %d\n", atomic_load(&commands[i]->status));
        else
            printf("not enqueued\n");
    }
}

static int32_t outcome_of(int number)
{
    return host->plans[number].outcome;
}

static unsigned cores_of(const struct plan *plan)
{
    return plan->of == CORE_MOVES ? 0 : plan->of == CORE_TASK ? 1 : CORES;
}

/* Returns how many cores the kernels occupy that the engine runs. */
static unsigned occupied(void)
{
    unsigned sum = 0;
    for (const struct operation *each = operations; each < operations + operation_count; each++)
        if (each->status == CL_RUNNING && each->is_work)
            sum += cores_of(&host->plans[each->number]);
    return sum;
}

/* Returns true if the command cannot begin before the other has ended, as far as links tell. */
static bool is_behind(const struct core_command *command, const struct core_command *other)
{
    for (uint32_t i = 0; i < command->link_count; i++)
        if (command->links[i].before == other || is_behind(command->links[i].before, other))
            return true;
    return false;
}

/* What waited for a user event, and is not for an engine that runs certain ones of other queues. */
static void check_what_is_beside(int number)
{
    const struct plan *plan = &host->plans[number];
    bool came_later = commands[number] != NULL; /* core_enqueue() has returned */
    for (int i = 0; i < LISTED && plan->of == CORE_MOVES && came_later; i++) {
        int waited = plan->waits[i] - 1;
        if (waited < 0 || host->plans[waited].kind != USER)
            continue;
        for (unsigned j = 0; j < seen.set_at[waited]; j++)
            CHECK(operations[j].lane == &lanes[plan->queue] ||
                      operations[j].status <= CL_COMPLETE ||
                      host->plans[operations[j].number].of != CORE_POLLS ||
                      is_behind(commands[number], commands[operations[j].number]),
                  "the engine runs kernels of other queues that may poll");
        for (int j = 0; j < COMMANDS; j++)
            CHECK(!(seen.ran_at[waited] >> j & 1) || host->plans[j].queue == plan->queue ||
                      atomic_load(&commands[j]->status) <= CL_COMPLETE,
                  "the caller runs commands of other queues");
    }
}

static bool is_refused(int number)
{
    bool is = outcome_of(number) == CL_INVALID_KERNEL;
    CHECK(!seen.refused[number], "a command that the engine has refused is submitted again");
    seen.refused[number] = is;
    return is;
}

static bool is_enqueued(void *number)
{
    return seen.enqueued[(intptr_t)number];
}

static bool is_work(int number)
{
    return host->plans[number].kind == CARRIED;
}

static bool lasts(int number)
{
    int until = host->plans[number].lasts_until;
    return until != 0 && !seen.enqueued[until - 1];
}

static void must_have_ended(int before)
{
    CHECK(seen.ended[before] || atomic_load(&commands[before]->status) <= CL_COMPLETE,
          "a command begins or ends before one that it follows has ended");
}

/* A marker or a barrier without a wait list. */
static bool follows_all(const struct plan *plan)
{
    for (int i = 0; i < LISTED; i++)
        if (plan->waits[i] != 0)
            return false;
    return plan->kind == MARKER || plan->kind == BARRIER;
}

static bool is_in_queue(const struct plan *plan, int queue)
{
    return plan->kind != USER && plan->kind != HELD && plan->queue == queue;
}

/* What a command behind a barrier that was left out follows. */
static void must_be_behind(int place)
{
    const struct plan *barrier = &host->plans[order[place]];
    for (int i = 0; i < LISTED; i++)
        if (barrier->waits[i] != 0)
            must_have_ended(barrier->waits[i] - 1);
    for (int i = 0; i < place && follows_all(barrier); i++)
        if (is_in_queue(&host->plans[order[i]], barrier->queue))
            must_have_ended(order[i]);
}

static void command_begins(int number, bool in_engine)
{
    const struct plan *plan = &host->plans[number];
    CHECK(!seen.began[number], "a command begins twice");
    seen.began[number] = true;
    CHECK(!host->has_cores || occupied() <= CORES, "kernels occupy more cores than there are");
    if (in_engine || plan->kind == DIRECT)
        CHECK(known_state[number] == board_state, "a command is carried on a board that changed");
    for (int i = 0; i < LISTED; i++)
        if (plan->waits[i] != 0)
            must_have_ended(plan->waits[i] - 1);
    for (int i = 0; i < COMMANDS; i++)
        if (i != number && host->plans[i].kind == DIRECT && host->plans[i].queue == plan->queue &&
            host->in_order[plan->queue])
            CHECK(!seen.began[i] || seen.ended[i],
                  "a command begins beside one that a thread runs");
    for (int i = 0; i < ordered && order[i] != number && !host->shares; i++) {
        const struct plan *other = &host->plans[order[i]];
        if (is_in_queue(other, plan->queue) &&
            (host->in_order[plan->queue] || other->kind == BARRIER)) {
            must_have_ended(order[i]);
            if (seen.is_left_out[order[i]])
                must_be_behind(i);
        }
    }
}

static void command_ends(int number, int32_t status)
{
    const struct plan *plan = &host->plans[number];
    bool is_last = follows_all(plan) && status == CL_COMPLETE && !host->shares;
    CHECK(!seen.ended[number], "a command ends twice");
    for (int i = 0; is_last && i < ordered; i++) {
        if (order[i] == number)
            break;
        if (is_in_queue(&host->plans[order[i]], plan->queue))
            must_have_ended(order[i]);
    }
    seen.ended[number] = true;
    seen.ended_as[number] = status;
}

/* The core may not go on from a command that has ended to its neighbours in the queue. */
static void spoil_neighbours(struct core_command *command)
{
    command->older = command->newer = (struct core_command *)1;
}

static void operation_ended(int number, int32_t status)
{
    CHECK(seen.released[number]++ == 0, "the engine is told of an end twice");
    CHECK(commands[number] == NULL || atomic_load(&commands[number]->status) == status,
          "the engine is told of another end");
    if (commands[number] != NULL)
        spoil_neighbours(commands[number]);
    int queue = host->plans[number].queue;
    for (int i = 0; i < ordered && order[i] != number && !host->shares; i++)
        if (host->in_order[queue] && is_in_queue(&host->plans[order[i]], queue))
            must_have_ended(order[i]);
}

/* The caller: under a lock of its own it takes what is ready, which one of its threads runs. */

static bool scheduler_locked;
static int ready_numbers[NUMBERS];
static int32_t ready_errors[NUMBERS];
static unsigned ready_count;
static bool may_rest; /* the caller has taken since a thread asked whether its commands rest */

static bool scheduler_is_free(void *nothing)
{
    (void)nothing;
    return !scheduler_locked;
}

static void lock_scheduler(void)
{
    yield(scheduler_is_free, NULL);
    scheduler_locked = true;
}

static bool is_taken(int number)
{
    for (unsigned i = 0; i < ready_count; i++)
        if (ready_numbers[i] == number)
            return true;
    return false;
}

static void is_ready(int number, int32_t error)
{
    CHECK(!is_taken(number), "a command is ready twice");
    ready_errors[number] = error;
    ready_numbers[ready_count++] = number;
}

static void take(void)
{
    enum { SOME = 2 };
    uintptr_t known[SOME];
    int32_t errors[SOME];
    lock_scheduler();
    for (uint32_t count = SOME; count == SOME;) {
        count = core_take_ready(caller, SOME, known, errors);
        CHECK(count <= SOME, "more are written than there is room for");
        for (uint32_t i = 0; i < count; i++)
            is_ready((int)known[i] - 1, errors[i]);
    }
    may_rest = true;
    scheduler_locked = false;
}

static void call_caller(void *data)
{
    CHECK(data == &caller && core_in_ended(), "the caller is called in another way");
    CHECK(!holds_lock(), "the caller is called with the lock");
    bool has_reason = host->rests;
    for (int i = 0; i < COMMANDS; i++)
        has_reason |= host->plans[i].kind == DECIDED || host->plans[i].decides;
    CHECK(has_reason, "the caller is called for nothing");
    take();
}

/* It may be known what a command needs on a board that has changed; else the caller says so when it
 * is asked, or runs the command. */
static bool renews(struct core_command *command, uint64_t epoch)
{
    int number = *(const int *)core_operation(command);
    CHECK(!holds_lock(), "a command is renewed with the lock");
    check_that_it_is_in_ended();
    CHECK(epoch <= core_board_epoch(board), "a command is renewed for an epoch to come");
    core_pause();
    if (!host->renews || (!seen.may_renew[number] && choose(2, false) == 0))
        return false;
    known_state[number] = board_state;
    core_pause();
    return true;
}

static void hand_over(struct core_command *command)
{
    int number = *(const int *)core_operation(command);
    CHECK(!holds_lock(), "a command is handed over with the lock");
    CHECK(core_in_ended(), "a command is handed over on another thread");
    CHECK(!core_is_decided(command), "a decided command is handed over");
    if (host->plans[number].of == CORE_MOVES && core_begin_here(command)) {
        command_begins(number, true);
        CHECK(command->admitted && core_status(command) == CL_RUNNING, "a command has not begun");
        core_pause();
        command_ends(number, outcome_of(number));
        core_end(command, outcome_of(number));
        return;
    }
    if (host->renews && core_is_outdated(command) && !seen.may_renew[number] &&
        choose(2, false) == 0) {
        seen.may_renew[number] = true;
        core_retry(command);
    } else {
        is_ready(number, CL_SUCCESS);
    }
}

static int next_ready(void)
{
    for (unsigned i = 0; i < ready_count; i++)
        if (!seen.claimed[ready_numbers[i]])
            return ready_numbers[i];
    return -1;
}

static bool any_ready(void *nothing)
{
    (void)nothing;
    return next_ready() >= 0;
}

/* A command that is ready before core_decide() has returned has no address yet. */
static bool has_address(void *number)
{
    return commands[(intptr_t)number] != NULL;
}

static void run_decided(int number)
{
    yield(has_address, (void *)(intptr_t)number);
    struct core_command *command = commands[number];
    enum kind kind = host->plans[number].kind;
    int32_t error = ready_errors[number], status = error != 0 ? error : outcome_of(number);
    seen.is_decided[number] = true;
    if ((kind == CARRIED || kind == DECIDED) && error == 0)
        command_begins(number, false);
    if (error == 0) {
        CHECK(core_status(command) == CL_SUBMITTED, "a command that is ready is not submitted");
        core_begin(command);
        CHECK(command->is_begun && core_status(command) == CL_RUNNING, "a command has not begun");
    }
    core_pause();
    command_ends(number, status);
    if (!core_is_decided(command)) {
        core_end(command, status);
        return;
    }
    CHECK(core_set(command, status), "a command had ended before");
    CHECK(!core_set(command, status), "a command ends twice");
    spoil_neighbours(command);
    core_pause();
    if (core_let_follow(command, true))
        take();
}

static void decided_thread(void *nothing)
{
    for (;;) {
        yield(any_ready, nothing);
        int number = next_ready();
        seen.claimed[number] = true;
        run_decided(number);
    }
}

/* A thread of the host that waits runs itself what the command needs, or waits in the engine. */
static void help(int number)
{
    while (atomic_load(&commands[number]->status) > CL_COMPLETE) {
        struct core_command *carried;
        take();
        lock_scheduler();
        int needed = (int)core_needed(commands[number], &carried) - 1;
        bool is_mine = needed >= 0 && is_taken(needed) && !seen.claimed[needed];
        if (is_mine)
            seen.claimed[needed] = true;
        scheduler_locked = false;
        CHECK(needed < 0 || carried == NULL, "two commands are needed");
        if (is_mine) {
            run_decided(needed);
        } else if (carried != NULL) {
            core_wait_for_caller(carried);
            take();
            core_release(carried);
        } else {
            return;
        }
    }
}

static void set_user_event(int number)
{
    CHECK(core_claim(commands[number]), "a user event had been set before");
    CHECK(!core_claim(commands[number]), "a user event is set twice");
    seen.set_at[number] = operation_count;
    for (int i = 0; i < COMMANDS; i++)
        if (commands[i] != NULL && commands[i]->is_begun &&
            atomic_load(&commands[i]->status) == CL_RUNNING)
            seen.ran_at[number] |= 1u << i;
    core_set(commands[number], outcome_of(number));
    core_pause();
    core_call_back(commands[number]);
    CHECK(!host->plans[number].has_callback || seen.called_back[number] == 1 || current->depth >= 2,
          "a user event lets others follow before its callbacks have returned");
    core_let_follow(commands[number], false);
    seen.has_let[number] = true;
}

static void serving_thread(void *nothing);

static void call_back_before(struct core_command *command, int32_t status, void *data)
{
    intptr_t number = (intptr_t)data / CL_QUEUED, state = (intptr_t)data % CL_QUEUED;
    CHECK(state < reached[number], "callbacks come in another order");
    reached[number] = (int32_t)state;
    CHECK(status == state || (status < 0 && status == core_status(command)),
          "a callback for a state comes with another status");
}

static void call_back(struct core_command *command, int32_t status, void *data)
{
    int number = (int)(intptr_t)data;
    const struct plan *plan = &host->plans[number];
    seen.called_back[number]++;
    CHECK(plan->kind == USER ? current->depth <= 2 : current->work == serving_thread,
          "a callback is called on another thread, or too many are within each other");
    CHECK(!core_in_ended(), "a callback is called on a thread that may not wait");
    if (plan->callback_waits != 0) {
        yield(is_enqueued, (void *)(intptr_t)(plan->callback_waits - 1));
        struct core_command *waited = commands[plan->callback_waits - 1];
        if (plan->callback_takes) {
            core_wait_for_caller(waited);
            take();
        }
        CHECK(core_wait(waited) <= CL_COMPLETE, "a wait returns too early");
    }
    if (plan->callback_sets != 0)
        set_user_event(plan->callback_sets - 1);
    CHECK(status == core_status(command),
          "a callback comes before the end, or with another status");
}

static void observing_thread(void *nothing)
{
    (void)nothing;
    core_observe();
}

static void serving_thread(void *nothing)
{
    (void)nothing;
    core_serve();
}

static void closing_thread(void *nothing)
{
    (void)nothing;
    core_close();
}

/* A caller that holds the board: under its lock it notes that commands wait for idle(), which takes
 * that lock, too. One thread runs them. */

static int held[NUMBERS];
static unsigned held_count, fence_of[NUMBERS];
static unsigned fences, fences_ended;

static void idle(void *data)
{
    CHECK(!holds_lock(), "idle() is called with the lock");
    CHECK(data == &fences, "idle() is called with other data");
    check_that_it_is_in_ended();
    lock_scheduler();
    CHECK(fences == fences_ended + 1, "idle() is called for nobody");
    fences_ended++;
    scheduler_locked = false;
}

static void hold(int number)
{
    lock_scheduler();
    fence_of[number] = 0;
    if (core_board_hold(board)) {
        if (fences == fences_ended)
            fences++;
        fence_of[number] = fences;
    }
    held[held_count++] = number;
    scheduler_locked = false;
}

/* The first that waits for no fence any more; -1: none. */
static int next_held(void)
{
    for (unsigned i = 0; i < held_count; i++)
        if (!seen.began[held[i]] && fence_of[held[i]] <= fences_ended)
            return held[i];
    return -1;
}

static bool may_run_held(void *nothing)
{
    (void)nothing;
    return next_held() >= 0;
}

static bool is_in_engine(int number)
{
    for (unsigned i = 0; i < operation_count; i++)
        if (operations[i].number == number)
            return true;
    return false;
}

static void check_that_nothing_is_carried(void)
{
    for (int i = 0; i < COMMANDS; i++) {
        const struct plan *plan = &host->plans[i];
        if (plan->kind == CARRIED && commands[i] != NULL && is_in_engine(i))
            CHECK(atomic_load(&commands[i]->status) <= CL_COMPLETE,
                  "a carried command is open where the caller holds it up");
        if (plan->kind == DIRECT)
            CHECK(!seen.began[i] || seen.ended[i], "a thread carries where the caller holds it up");
    }
}

static bool is_any(const void *operation, void *nothing)
{
    (void)operation, (void)nothing;
    return true;
}

static bool is_number(const void *operation, void *number)
{
    return *(const int *)operation == *(const int *)number;
}

static void holding_thread(void *nothing)
{
    for (;;) {
        yield(may_run_held, nothing);
        int number = next_held();
        seen.began[number] = true;
        check_that_nothing_is_carried();
        core_pause();
        CHECK(!core_board_uses(board, is_any, NULL), "a board that is held is used");
        board_state++;
        check_that_nothing_is_carried();
        core_board_end_epoch(board);
        seen.ended[number] = true;
        core_board_resume(board);
    }
}

static bool admits(void *nothing)
{
    (void)nothing;
    return board->holders == 0 && !board->awaited;
}

static bool admits_directly(void *queue)
{
    return admits(queue) && ((const struct core_queue *)queue)->direct == NULL;
}

static uint64_t learn(int number)
{
    uint64_t epoch = core_board_epoch(board);
    core_pause();
    known_state[number] = board_state;
    return epoch;
}

static bool has_held_ones;

/* A queue has decided commands only until the first that is to be carried. */
static struct core_queue *queue_with_lane(int queue)
{
    if (!has_lane[queue])
        has_lane[queue] |= core_queue_carry(
            queues[queue], board,
            &(struct core_lane){&engine, &lanes[queue], renews, hand_over, lane_freed});
    return queues[queue];
}

static void decide(int number, enum core_role role, uint32_t count,
                   struct core_command *const *list)
{
    commands[number] =
        core_decide(queues[host->plans[number].queue], role, (uintptr_t)number + 1, count, list);
    CHECK(commands[number] != NULL, "no memory");
    take();
}

/* A command that the board does not admit is tried again. */
static void carry(int number, enum core_role role, uint32_t count, struct core_command *const *list)
{
    const struct plan *plan = &host->plans[number];
    struct core_queue *queue = queue_with_lane(plan->queue);
    while ((commands[number] = core_enqueue(queue, role, plan->of, learn(number), &number,
                                            sizeof number, count, list)) == NULL) {
        CHECK(has_held_ones, "a command is refused that nothing keeps out");
        yield(admits, NULL);
    }
}

static void do_directly(int number)
{
    struct core_queue *queue = queue_with_lane(host->plans[number].queue);
    core_finish(queue);
    while (!core_begin_directly(queue, learn(number), &number)) {
        CHECK(has_held_ones || host->shares, "a command is refused that nothing keeps out");
        yield(admits_directly, queue);
        core_finish(queue);
    }
    command_begins(number, false);
    yield(lasts(number) ? is_enqueued : NULL,
          (void *)(intptr_t)(host->plans[number].lasts_until - 1));
    CHECK(known_state[number] == board_state, "a board changes while a thread carries");
    CHECK(core_board_uses(board, is_number, &number), "what a thread carries uses nothing");
    command_ends(number, CL_COMPLETE);
    core_end_directly(queue);
}

static void enqueue(int number)
{
    const struct plan *plan = &host->plans[number];
    struct core_command *list[LISTED];
    uint32_t count = 0;
    for (int i = 0; i < LISTED; i++)
        if (plan->waits[i] != 0) {
            yield(is_enqueued, (void *)(intptr_t)(plan->waits[i] - 1));
            list[count++] = commands[plan->waits[i] - 1];
        }
    if (plan->kind == HELD) {
        hold(number);
        seen.enqueued[number] = true;
        return;
    }
    if (plan->kind == DIRECT) {
        order[ordered++] = number;
        do_directly(number);
        return;
    }
    if (plan->kind == USER) {
        commands[number] = core_user_event();
        CHECK(core_status(commands[number]) == CL_SUBMITTED, "a user event is not submitted");
    } else {
        enum core_role role = plan->kind == BARRIER  ? CORE_BARRIER
                              : plan->kind == MARKER ? CORE_MARKER
                                                     : CORE_WORK;
        order[ordered++] = number; /* hosts with a split use queues that the threads do not share */
        if (plan->is_unobserved &&
            core_keeps_order(queue_with_lane(plan->queue), role, count, list)) {
            seen.enqueued[number] = seen.ended[number] = seen.is_left_out[number] = true;
            return;
        }
        if (plan->kind == DECIDED || plan->decides)
            decide(number, role, count, list);
        else
            carry(number, role, count, list);
    }
    seen.enqueued[number] = true;
    if (!plan->has_callback)
        return;
    for (intptr_t state = CL_SUBMITTED; state >= CL_RUNNING; state--)
        CHECK(core_callback(commands[number], (int32_t)state, call_back_before,
                            (void *)(number * CL_QUEUED + state)),
              "no memory");
    CHECK(core_callback(commands[number], CL_COMPLETE, call_back, (void *)(intptr_t)number),
          "no memory");
}

static bool has_command(int number)
{
    return commands[number] != NULL;
}

static bool has_been_noted(void *number)
{
    return atomic_load(&commands[(intptr_t)number]->status) <= CL_COMPLETE;
}

static bool has_left_engine(void *number)
{
    void *event = atomic_load(&commands[(intptr_t)number]->event);
    return event != NULL ? has_ended(event) : has_been_noted(number);
}

static bool is_told(int number)
{
    enum kind kind = host->plans[number].kind;
    return (kind == CARRIED || kind == MARKER || kind == BARRIER) && commands[number] != NULL &&
           !core_is_decided(commands[number]);
}

static void wait_for(int number)
{
    if (host->helps && !core_waits_alone(commands[number]))
        help(number);
    CHECK(core_wait(commands[number]) <= CL_COMPLETE, "a wait returns too early");
    CHECK(seen.released[number] == is_told(number), "a wait returns before the engine was told");
}

static void finish(int queue)
{
    bool was_enqueued[NUMBERS];
    memcpy(was_enqueued, seen.enqueued, sizeof seen.enqueued);
    core_finish(queues[queue]);
    for (int i = 0; i < COMMANDS; i++)
        if (was_enqueued[i] && host->plans[i].queue == queue && is_told(i))
            CHECK(seen.released[i] == 1, "a finish returns before the engine was told");
}

static bool is_done(void *number)
{
    intptr_t of = (intptr_t)number;
    return host->plans[of].has_callback ? seen.called_back[of] != 0 : seen.ended[of];
}

static bool is_set_by_callback(int number)
{
    for (int i = 0; i < COMMANDS; i++)
        if (host->plans[i].callback_sets == number + 1)
            return true;
    return false;
}

static struct core_command *first_carried(const struct core_queue *queue, uint64_t behind)
{
    struct core_command *each = queue->oldest;
    while (each != NULL && (each->number <= behind || !core_is_carried(each)))
        each = each->newer;
    return each;
}

static bool engine_has_all(const struct core_queue *queue)
{
    for (const struct core_command *each = queue->oldest; each != NULL; each = each->newer)
        if (each->event == NULL)
            return false;
    return true;
}

static bool polls_elsewhere(const struct core_queue *queue)
{
    for (int i = 0; i < QUEUES; i++)
        if (queues[i]->polling != 0 && !(queues[i] == queue && queue->in_order))
            return true;
    return false;
}

static bool runs_elsewhere(const struct core_queue *queue)
{
    for (int i = 0; i < QUEUES; i++)
        if (queues[i] != queue && queues[i]->running != 0)
            return true;
    return false;
}

/* Calls, at any time, the functions that describe commands and boards. No other thread goes on
 * between the end of such a function's last section under the lock and its return, so that an
 * answer can be compared with what the core has then. */
static void ask_about(int number)
{
    struct core_command *command = commands[number], *next;
    struct core_queue *queue = queues[host->plans[number].queue];
    uintptr_t known[NUMBERS];
    void *event = atomic_load(&command->event);
    bool is_over = event != NULL && has_ended(event);
    int32_t status = core_status(command);
    CHECK(status <= CL_COMPLETE || !is_over, "an end that the engine tells is not known");
    CHECK(status > CL_COMPLETE || core_has_ended(command), "an end that was told is not noted");
    core_board_note(board, false);
    CHECK(core_board_is_open(board) == (board->open != 0), "a board seems to be open, or not");
    CHECK(core_has_ready(caller) == (caller->ready != NULL), "commands seem to be ready, or not");
    core_board_note(board, true);
    bool is_free = core_engine_may_get(queue, CORE_MOVES, 0);
    CHECK(is_free == !(polls_elsewhere(queue) || runs_elsewhere(queue)),
          "the engine seems to be free, or not");
    next = core_next(queue, NULL);
    CHECK(next == first_carried(queue, 0), "another command is the first");
    if (next != NULL)
        core_release(next);
    if (command->queue != NULL) {
        next = core_next(queue, command);
        CHECK(next == first_carried(queue, command->number), "another command is the next");
        if (next != NULL)
            core_release(next);
    }
    bool none_is_decided = core_decided == 0, alone = core_finishes_alone(queue);
    CHECK(alone == (none_is_decided || engine_has_all(queue)),
          "a queue seems to need the caller, or not");
    CHECK(core_awaited(command, COMMANDS, known) <= command->link_count,
          "a command waits for others than it follows");
    if (core_followers(command) != 0)
        CHECK(command->followers != NULL, "a command seems to have followers");
    CHECK(core_enqueued(queue) == queue->enqueued, "another number of commands");
    bool uses = core_board_uses(board, is_number, &number);
    CHECK(uses == (command->admitted && atomic_load(&command->status) > CL_COMPLETE),
          "a command seems to use something, or nothing");
}

static void host_thread(void *from)
{
    int first = (int)(intptr_t)from;
    int last = first == 0 && host->split != 0 ? host->split : COMMANDS;
    for (int i = first; i < last && host->plans[i].kind != NOTHING; i++) {
        enqueue(i);
        if (host->plans[i].polled && has_command(i))
            ask_about(i);
        if (host->plans[i].awaited_at_once && has_command(i))
            wait_for(i);
    }
    for (int i = first; i < last && host->plans[i].kind != NOTHING; i++)
        if (host->plans[i].comes_first)
            yield(is_done, (void *)(intptr_t)i);
    for (int i = first; i < last && host->plans[i].kind != NOTHING; i++)
        if (host->plans[i].kind == USER && !is_set_by_callback(i))
            set_user_event(i);
    for (int i = first; i < last && host->plans[i].kind != NOTHING; i++)
        if (host->plans[i].polled && has_command(i))
            ask_about(i);
    for (int i = first; i < last && host->plans[i].kind != NOTHING; i++)
        if (host->plans[i].waited && has_command(i))
            wait_for(i);
    if (host->finishes)
        for (int i = 0; i < QUEUES; i++)
            finish(i);
    if (host->looks == OBSERVES && seed % 2 == 0)
        core_board_observe(board);
    for (int i = 0; i < QUEUES && host->looks == OBSERVES && seed % 2 != 0; i++)
        core_queue_observe(queues[i]);
    for (int i = first; i < last && host->plans[i].kind != NOTHING; i++) {
        if (!has_command(i))
            continue;
        if (host->looks == WAITS)
            wait_for(i);
        else
            yield(host->looks == OBSERVES ? has_been_noted : has_left_engine, (void *)(intptr_t)i);
    }
    if (host->looks == NOTES)
        for (int i = 0; i < QUEUES; i++)
            core_note_queue(queues[i], true);
}

static bool waits_for_user_event(const struct core_command *command)
{
    bool is_user_event = core_is_user_event(command);
    for (int i = 0; i < COMMANDS && is_user_event; i++)
        if (commands[i] == command)
            return !seen.has_let[i];
    for (uint32_t i = 0; i < command->link_count; i++) {
        const struct core_command *before = command->links[i].before;
        bool is_open = atomic_load(&before->status) > CL_COMPLETE;
        if ((is_open || core_is_user_event(before)) && waits_for_user_event(before))
            return true;
    }
    return false;
}

static bool may_look(void *nothing)
{
    (void)nothing;
    return may_rest;
}

static void resting_thread(void *nothing)
{
    while (may_rest = false, !core_is_at_rest(caller))
        yield(may_look, nothing);
    for (int i = 0; i < QUEUES; i++) {
        CHECK(queues[i]->direct == NULL, "a thread carries while all seems to rest");
        for (const struct core_command *each = queues[i]->oldest; each != NULL; each = each->newer)
            CHECK(waits_for_user_event(each), "a command that waits for no user event seems to");
    }
}

static int32_t expected(int number)
{
    const struct plan *plan = &host->plans[number];
    for (int i = 0; i < LISTED; i++)
        if (plan->waits[i] != 0 && expected(plan->waits[i] - 1) < 0)
            return CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
    return plan->outcome;
}

/* Returns true if the command may fail with one that it follows. The engine has wait lists for
 * barriers, and for kernels on the same cores, too, and passes failures of commands on that it
 * still has. */
static bool may_fail(int number)
{
    const struct plan *plan = &host->plans[number];
    bool is_ordered = plan->kind == USER || host->in_order[plan->queue];
    for (int i = 0; i < COMMANDS && host->has_cores && plan->of != CORE_MOVES; i++)
        if (host->plans[i].outcome < 0)
            return true;
    for (int i = 0; i < LISTED; i++)
        if (plan->waits[i] != 0 && may_fail(plan->waits[i] - 1))
            return true;
    for (int i = 0; i < number && !is_ordered; i++)
        if (is_in_queue(&host->plans[i], plan->queue) &&
            (follows_all(plan) || host->plans[i].kind == BARRIER) && may_fail(i))
            return true;
    return plan->outcome < 0;
}

/* Of a carried command that has ended without an error. */
static void check_times(struct core_command *command)
{
    static const int states[] = {CL_QUEUED, CL_SUBMITTED, CL_RUNNING, CL_COMPLETE};
    const struct operation *operation = command->event;
    uint64_t times[5] = {[4] = 0x5a5a}, again[4];
    core_times(command, times);
    asked_for_times = 0;
    core_times(command, again);
    CHECK(times[4] == 0x5a5a, "more times are written than there are");
    CHECK(asked_for_times == 0 && memcmp(times, again, sizeof again) == 0,
          "the engine is asked for times twice");
    for (int i = 0; i < 4; i++)
        CHECK(times[states[i]] != 0 && (i == 0 || times[states[i]] >= times[states[i - 1]]),
              "times are not in their order");
    if (command->link_count == 0 && command->kind != CORE_MOVES) /* it had to wait for nothing */
        CHECK(times[CL_SUBMITTED] == times[CL_QUEUED], "a command is submitted twice");
    if (operation == NULL)
        CHECK(times[CL_SUBMITTED] < times[CL_RUNNING] && times[CL_RUNNING] < times[CL_COMPLETE],
              "the times of a command that the caller has run are others");
    else
        CHECK(times[CL_COMPLETE] - times[CL_RUNNING] == operation->end - operation->begin &&
                  times[CL_RUNNING] >= operation->begin,
              "the engine has told other times");
}

static void check_ends(void)
{
    current = NULL;
    for (int i = 0; i < COMMANDS && host->plans[i].kind != NOTHING; i++) {
        CHECK(seen.released[i] == is_told(i), "the engine is not told of an end");
        if (!has_command(i)) {
            CHECK(seen.ended[i], "a command has not ended");
            continue;
        }
        int32_t status = atomic_load(&commands[i]->status);
        /* An engine may refuse a command before it is known that its wait list fails. */
        bool refused = status == CL_INVALID_KERNEL && outcome_of(i) == CL_INVALID_KERNEL;
        bool passed_on = status == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST && may_fail(i);
        CHECK(status == expected(i) || refused || passed_on, "a command ends with another status");
        CHECK(seen.called_back[i] == host->plans[i].has_callback, "callbacks are not called once");
        CHECK(reached[i] == (host->plans[i].has_callback ? CL_RUNNING : CL_QUEUED),
              "callbacks for other states are not called");
        CHECK(commands[i]->followers == NULL && commands[i]->unmet == 0, "a link is left");
        CHECK(atomic_load(&commands[i]->references) == 1, "a reference is left");
        if (is_told(i) && status == CL_COMPLETE)
            check_times(commands[i]);
        core_release(commands[i]);
    }
    for (uint32_t i = 0; i < board->core_count; i++)
        CHECK(board->on_core[i] == NULL, "a core seems to be occupied");
    for (int i = 0; i < QUEUES; i++) {
        CHECK(queues[i]->open == 0 && queues[i]->oldest == NULL && queues[i]->newest == NULL,
              "a queue is not empty");
        CHECK(queues[i]->barrier == NULL, "a barrier is left");
        CHECK((!has_lane[i] || core_admits(queues[i], core_board_epoch(board))) &&
                  core_engine_may_get(queues[i], CORE_MOVES, 0),
              "commands seem to be open");
        CHECK(queues[i]->submitted == NULL && queues[i]->next_noted == NULL,
              "a command that has ended is left to be noted");
        CHECK(queues[i]->in_engine == 0, "the engine seems to have commands");
        CHECK(queues[i]->polling == 0 && queues[i]->running == 0, "commands seem to be open");
        CHECK(atomic_load(&queues[i]->references) == 1, "a queue is still needed");
        core_queue_release(queues[i]);
        CHECK(lanes[i].given_back == has_lane[i], "a lane is not given back once");
    }
    CHECK(board->kernels == 0, "kernels seem to be open");
    CHECK(board->open == 0 && board->holders == 0 && !board->awaited && board->queues == NULL,
          "a board is still used");
    CHECK(atomic_load(&board->references) == 1, "a board is still needed");
    core_board_release(board);
    CHECK(fences == fences_ended, "idle() is not called");
    CHECK(core_decided == 0, "decided commands seem to be open");
    CHECK(core_is_at_rest(caller), "commands seem to be open");
    CHECK(atomic_load(&caller->references) == 1 && caller->ready == NULL,
          "the caller is still needed");
    core_caller_release(caller);
    CHECK(live_events == 0, "events of the engine are left");
}

static void run(const struct host *given)
{
    host = given;
    host_name = given->name;
    at = 0;
    current = NULL;
    locked = scheduler_locked = has_held_ones = false;
    sleepers = NULL;
    operation_count = ready_count = live_events = 0;
    held_count = board_state = fences = fences_ended = 0;
    ordered = 0;
    for (int i = 0; i < COMMANDS; i++)
        has_held_ones |= given->plans[i].kind == HELD;
    may_rest = false;
    memset(&seen, 0, sizeof seen);
    memset(has_lane, 0, sizeof has_lane);
    memset(threads, 0, sizeof threads);
    memset(commands, 0, sizeof commands);
    for (int i = 0; i < COMMANDS; i++)
        reached[i] = CL_QUEUED;
    core_open();
    board = core_board_new(idle, &fences);
    if (host->has_cores)
        CHECK(core_board_has_cores(board, CORES), "there is no memory for cores");
    caller = core_caller_new(call_caller, &caller);
    for (int i = 0; i < QUEUES; i++) {
        lanes[i] = (struct lane){given->in_order[i], 0};
        queues[i] = core_queue_new(caller, given->in_order[i]);
    }
    start(observing_thread, NULL, false);
    start(serving_thread, NULL, false);
    start(host_thread, NULL, true);
    if (given->split != 0)
        start(host_thread, (void *)(intptr_t)given->split, true);
    if (given->rests)
        start(resting_thread, NULL, true);
    for (int i = 0; i < (host->has_cores ? CORES : 1); i++)
        start(engine_thread, NULL, false);
    start(decided_thread, NULL, false);
    start(holding_thread, NULL, false);
    while (step())
        ;
    check_ends();
    start(closing_thread, NULL, true);
    while (step())
        ;
    check_memory();
    for (const struct thread *each = threads; each < threads + THREADS; each++)
        CHECK(!each->used || (each->work != observing_thread && each->work != serving_thread),
              "a thread of the driver goes on after core_close()");
}

static const struct host hosts[] = {
    {"a board that is held while commands wait for the host",
     {true, true},
     {{USER},
      {CARRIED, 0, {1}, .has_callback = true},
      {CARRIED},
      {CARRIED, 1, {3}, .waited = true},
      {HELD, .comes_first = true},
      {CARRIED, 1}}},
    {"a board that is held beside commands that wait for the host",
     {true, true},
     {{CARRIED}, {USER}, {CARRIED, 0, {2}}, {CARRIED, 1, {3}}, {HELD}, {CARRIED, 0, {2}}},
     .looks = OBSERVES},
    {"a decided command behind one that waits for the host",
     {true, true},
     {{USER}, {CARRIED, 0, {1}}, {DECIDED}, {CARRIED, 1, {2}}, {HELD, .comes_first = true}}},
    {"a user event for two queues, one of them out of order",
     {true, false},
     {{USER, .has_callback = true},
      {CARRIED, 0, {1}},
      {CARRIED, 1, {2}},
      {CARRIED, 1},
      {BARRIER, 1},
      {CARRIED, 1, .waited = true}},
     .finishes = true},
    {"what is not for an engine that runs other queues",
     {true, true},
     {{USER},
      {CARRIED, 0, {1}, .of = CORE_MOVES},
      {CARRIED, 0, .of = CORE_MOVES},
      {CARRIED, 1, {3}, .of = CORE_POLLS},
      {CARRIED, 1}},
     .finishes = true},
    {"kernels of three queues on a board that has cores for one",
     {true, false, true},
     {{CARRIED}, {CARRIED, 1}, {CARRIED}, {CARRIED, 2}, {USER}, {CARRIED, 2, {5}}},
     .split = 3,
     .finishes = true,
     .has_cores = true},
    {"tasks of three queues on a board with two cores",
     {true, false, true},
     {{CARRIED, .of = CORE_TASK},
      {CARRIED, 1, .of = CORE_TASK},
      {CARRIED, .of = CORE_TASK},
      {CARRIED, 2, .of = CORE_TASK},
      {USER},
      {CARRIED, 2, {5}, .of = CORE_TASK},
      {CARRIED, 1}},
     .split = 3,
     .finishes = true,
     .has_cores = true},
    {"markers and barriers without events in an out-of-order queue",
     {false},
     {{CARRIED},
      {BARRIER, .is_unobserved = true},
      {CARRIED},
      {CARRIED},
      {BARRIER, 0, {3}, .is_unobserved = true},
      {MARKER, .is_unobserved = true},
      {CARRIED},
      {BARRIER, .is_unobserved = true}},
     .finishes = true},
    {"barriers without events behind decided commands",
     {false},
     {{USER},
      {DECIDED, 0, {1}},
      {BARRIER, .is_unobserved = true},
      {CARRIED},
      {BARRIER, .is_unobserved = true},
      {CARRIED, .waited = true}}},
    {"a barrier without an event that waits for another queue",
     {false, true},
     {{CARRIED, 1},
      {CARRIED},
      {BARRIER, 0, {1}, .is_unobserved = true},
      {CARRIED},
      {MARKER, 1, {4}, .is_unobserved = true},
      {CARRIED, 1}},
     .finishes = true},
    {"a barrier behind one that waits for one of two commands",
     {false},
     {{CARRIED, .lasts_until = 6},
      {CARRIED},
      {BARRIER, 0, {2}, .is_unobserved = true},
      {CARRIED},
      {BARRIER, .is_unobserved = true},
      {CARRIED}},
     .finishes = true},
    {"a barrier that fails before a command in the place of an earlier one has ended",
     {false, true},
     {{CARRIED, .lasts_until = 5},
      {BARRIER, .is_unobserved = true},
      {CARRIED, 1, .outcome = -5},
      {BARRIER, 0, {3}, .awaited_at_once = true},
      {CARRIED}},
     .finishes = true},
    {"a failure for what waits for the host on a board that is held",
     {true, true},
     {{USER, .outcome = -5},
      {CARRIED, 0, {1}},
      {CARRIED, 1, {2}, .has_callback = true},
      {CARRIED, 0, .outcome = -7},
      {HELD, .comes_first = true}},
     .finishes = true},
    {"a callback that waits for what another one sets",
     {true, true},
     {{USER},
      {CARRIED, 0, {1}},
      {CARRIED, 1, .has_callback = true, .callback_waits = 2},
      {CARRIED, 1, .has_callback = true, .callback_sets = 1}},
     .finishes = true},
    {"a callback that waits for what the last of several sets",
     {true, true},
     {{USER},
      {CARRIED, 1, .has_callback = true, .callback_waits = 1},
      {CARRIED, 1, .has_callback = true},
      {CARRIED, 1, .has_callback = true},
      {CARRIED, 1, .has_callback = true, .callback_sets = 1}}},
    {"a callback that waits for what follows one with a callback",
     {true, true},
     {{USER},
      {CARRIED, 1, {1}, .has_callback = true},
      {CARRIED, 0, .has_callback = true, .comes_first = true, .callback_waits = 4},
      {DECIDED, 0, {2}}},
     .looks = OBSERVES},
    {"a callback that waits for a decided command",
     {true, true},
     {{USER},
      {DECIDED, 0, {1}},
      {CARRIED, 1, .has_callback = true, .comes_first = true, .callback_waits = 2}},
     .looks = OBSERVES},
    {"a callback that waits as the caller does, and one that makes a decided command ready",
     {true, true},
     {{USER, .outcome = -5},
      {CARRIED, 0, {1}},
      {DECIDED},
      {CARRIED},
      {CARRIED, 1, .has_callback = true, .callback_waits = 4, .callback_takes = true},
      {CARRIED, 1, .has_callback = true, .callback_sets = 1}},
     .finishes = true},
    {"a failure between one that runs and a decided command",
     {true},
     {{CARRIED}, {USER, .outcome = -5}, {CARRIED, 0, {2}}, {DECIDED}},
     .finishes = true},
    {"a barrier that fails with a user event behind an earlier one",
     {false},
     {{CARRIED}, {BARRIER}, {USER, .outcome = -5}, {BARRIER, 0, {3}}, {CARRIED}},
     .finishes = true},
    {"a callback of one that waits for the caller",
     {true, true},
     {{DECIDED, 1}, {CARRIED, 0, {1}, .has_callback = true, .comes_first = true}}},
    {"a board that is held behind a command that a thread carries",
     {true},
     {{DIRECT, .lasts_until = 3}, {CARRIED}, {HELD}},
     .split = 1,
     .shares = true},
    {"a decided command out of order beside commands that wait for the host",
     {true, false},
     {{USER}, {CARRIED, 0, {1}}, {CARRIED, 1, {2}}, {DECIDED, 1}, {CARRIED, 1}},
     .finishes = true},
    {"callbacks of user events that set others",
     {true, true},
     {{USER, .has_callback = true, .callback_sets = 2},
      {USER, .has_callback = true, .callback_sets = 3},
      {USER, .has_callback = true, .outcome = -5},
      {CARRIED, 0, {1}},
      {DECIDED, 1, {3}}},
     .finishes = true},
    {"callbacks that wait for what the host sets",
     {true, true},
     {{USER},
      {CARRIED, 0, {1}},
      {CARRIED, 1, .has_callback = true, .comes_first = true, .callback_waits = 2},
      {CARRIED, 1, .has_callback = true}},
     .finishes = true},
    {"a callback that waits for a user event",
     {true, true},
     {{USER}, {CARRIED, 1, .has_callback = true, .comes_first = true, .callback_waits = 1}},
     .finishes = true},
    {"two threads and a user event",
     {true, true},
     {{USER}, {CARRIED, 0, {1}, .waited = true}, {CARRIED, 1, {2}, .waited = true}, {HELD}},
     .split = 2,
     .finishes = true},
    {"carried commands in order",
     {true},
     {{CARRIED, 0, {0}, 0, true, true}, {CARRIED}, {CARRIED, .waited = true}},
     .finishes = true},
    {"a decided command between carried ones",
     {true},
     {{CARRIED}, {DECIDED}, {CARRIED, .has_callback = true}, {CARRIED}},
     .finishes = true},
    {"chained across queues",
     {true, true},
     {{CARRIED}, {CARRIED, 1, {1}}, {CARRIED, 0, {2}}, {CARRIED, 1, {3}, .waited = true}},
     .finishes = true},
    {"a user event",
     {true},
     {{USER}, {CARRIED, 0, {1}, .waited = true}, {CARRIED, .has_callback = true}}},
    {"a user event that fails",
     {true},
     {{USER, .outcome = -7},
      {CARRIED, 0, {1}},
      {CARRIED, .waited = true},
      {DECIDED, 0, {2}, .has_callback = true}},
     .finishes = true},
    {"a barrier",
     {false},
     {{CARRIED}, {DECIDED}, {BARRIER}, {CARRIED}, {CARRIED, .has_callback = true}},
     .finishes = true},
    {"a barrier that fails before an earlier one has ended",
     {false, false},
     {{CARRIED, .lasts_until = 5},
      {BARRIER},
      {CARRIED, 1, .outcome = -5},
      {BARRIER, 0, {3}, .awaited_at_once = true},
      {CARRIED}}},
    {"markers",
     {false, true},
     {{CARRIED},
      {DECIDED},
      {MARKER, 0, {0}, 0, true, true},
      {CARRIED, 1, {3}},
      {MARKER, 1, {0}, 0, false, true}},
     .finishes = true},
    {"submission that fails",
     {true},
     {{CARRIED, .outcome = CL_INVALID_KERNEL, .has_callback = true},
      {CARRIED, 0, {1}},
      {CARRIED, .waited = true}},
     .finishes = true},
    {"a kernel that fails",
     {true, true},
     {{CARRIED, .outcome = -5},
      {CARRIED, 0, {1}},
      {CARRIED, 1, {1}, .has_callback = true},
      {DECIDED, 1, {3}, .waited = true}},
     .finishes = true},
    {"two threads that wait",
     {true, true},
     {{CARRIED, .waited = true},
      {DECIDED, .waited = true},
      {CARRIED, 1, {2}, .waited = true},
      {CARRIED, 1, {1}, .waited = true}},
     .split = 2,
     .finishes = true},
    {"two threads with callbacks",
     {true, false},
     {{CARRIED, .has_callback = true},
      {CARRIED, .polled = true},
      {CARRIED, 1, {1}, .has_callback = true},
      {DECIDED, 1, {2}}},
     .split = 2,
     .finishes = true},
    {"a board that is held between carried commands",
     {true},
     {{CARRIED}, {HELD}, {CARRIED}, {HELD}, {HELD}, {CARRIED}},
     .finishes = true},
    {"two threads that hold a board",
     {true, true},
     {{CARRIED}, {HELD}, {CARRIED, 1, .has_callback = true}, {HELD}, {CARRIED, 1}},
     .split = 2},
    {"a thread that carries beside a held board",
     {true, false},
     {{DIRECT}, {HELD}, {DIRECT}, {CARRIED, 1}, {HELD}},
     .split = 3},
    {"decided commands between carried ones on a board that is held",
     {true, true},
     {{CARRIED}, {DECIDED}, {CARRIED}, {CARRIED, 1}, {HELD}, {DECIDED}, {CARRIED}},
     .finishes = true},
    {"two threads with decided commands behind those that they run at once",
     {true, true},
     {{CARRIED}, {DECIDED}, {DIRECT}, {CARRIED, 1}, {DECIDED, 1}, {CARRIED, 1}},
     .split = 3},
    {"a board that is held beside commands out of order",
     {false, false, true},
     {{CARRIED}, {CARRIED}, {CARRIED, 1}, {HELD}, {CARRIED, .outcome = -5}, {HELD}},
     .looks = OBSERVES},
    {"ends that nobody waits for",
     {true, false},
     {{CARRIED}, {CARRIED}, {CARRIED, 1}, {CARRIED, 1, .outcome = CL_INVALID_KERNEL}},
     .looks = OBSERVES},
    {"ends that are noted on request",
     {true, false},
     {{CARRIED}, {CARRIED}, {CARRIED, 1}, {CARRIED, 1}},
     .looks = NOTES},
    {"what is not for an engine while the caller runs other queues",
     {true, true},
     {{USER}, {DECIDED, 1}, {CARRIED, 0, {1}, .of = CORE_MOVES}, {DECIDED, 1, .waited = true}},
     .finishes = true},
    {"threads that wait and run what their commands need",
     {true, true},
     {{CARRIED},
      {DECIDED, 0, {0}},
      {CARRIED, 1, {2}},
      {DECIDED, 1, .waited = true},
      {DECIDED, 0, {3}, .waited = true}},
     .split = 4,
     .helps = true},
    {"decided commands that fail",
     {true, false},
     {{DECIDED, .outcome = -5},
      {DECIDED, 0, {1}},
      {CARRIED, 1, {2}},
      {MARKER, 1, {0}, .decides = true},
      {DECIDED, 1, {4}, .has_callback = true}},
     .finishes = true,
     .helps = true},
    {"a decided barrier behind a user event",
     {false},
     {{USER},
      {CARRIED, 0, {1}},
      {BARRIER, .decides = true, .has_callback = true},
      {CARRIED},
      {DECIDED, 0, .waited = true}},
     .finishes = true,
     .helps = true},
    {"commands that are carried on a board that has changed",
     {true, true},
     {{USER},
      {CARRIED, 0, {1}},
      {CARRIED},
      {HELD, .comes_first = true},
      {CARRIED, 1, {2}, .of = CORE_MOVES}},
     .finishes = true,
     .renews = true},
    {"a thread that waits until all that is left waits for the host",
     {true, false},
     {{DECIDED},
      {CARRIED, .outcome = CL_INVALID_KERNEL},
      {USER},
      {CARRIED, 1, {2}, .of = CORE_MOVES},
      {DECIDED, 1, {3}, .waited = true}},
     .looks = OBSERVES,
     .rests = true},
    {"the same beside a board that is held and a thread that carries",
     {true, true},
     {{CARRIED}, {DECIDED}, {DIRECT}, {HELD}, {CARRIED, 1, {2}}, {USER}, {CARRIED, 1, {6}}},
     .split = 3,
     .rests = true},
    {"two threads with decided commands",
     {true, true},
     {{DECIDED}, {DECIDED, .waited = true}, {DECIDED, 1, {1}}, {CARRIED, 1, {2}, .waited = true}},
     .split = 2,
     .finishes = true},
};

/* Descriptions of what there is without other threads. */

static struct host described;

/* What a description makes is released behind it. */
enum { MADE = 128, MADE_QUEUES = 4 };
static struct core_command *kept_commands[MADE];
static struct core_queue *kept_queues[MADE_QUEUES];
static unsigned kept_command_count, kept_queue_count;

static struct core_command *kept(struct core_command *command)
{
    CHECK(command != NULL && kept_command_count < MADE, "a command is not made");
    kept_commands[kept_command_count++] = command;
    return command;
}

static struct core_queue *kept_queue(struct core_queue *queue)
{
    CHECK(queue != NULL && kept_queue_count < MADE_QUEUES, "a queue is not made");
    kept_queues[kept_queue_count++] = queue;
    return queue;
}

static struct core_queue *new_queue(bool in_order)
{
    return kept_queue(core_queue_new(caller, in_order));
}

/* A queue of a lane, in order as that is. */
static struct core_queue *new_carrying(struct core_board *on, struct lane *lane,
                                       bool (*renew)(struct core_command *, uint64_t),
                                       void (*hand)(struct core_command *))
{
    struct core_queue *queue = new_queue(lane->in_order);
    core_queue_carry(queue, on, &(struct core_lane){&engine, lane, renew, hand, NULL});
    return queue;
}

static void release_kept(void)
{
    while (kept_command_count > 0)
        core_release(kept_commands[--kept_command_count]);
    while (kept_queue_count > 0)
        core_queue_release(kept_queues[--kept_queue_count]);
}

static struct core_command *enqueue_number(struct core_queue *queue, enum core_kind kind,
                                           int number, uint32_t count,
                                           struct core_command *const *waits)
{
    uint64_t epoch = core_board_epoch(queue->board);
    return core_enqueue(queue, CORE_WORK, kind, epoch, &number, sizeof number, count, waits);
}

/* What is said of decided commands behind a user event, which then dies. */
static void describe_what_waits(void)
{
    enum { FIRST = 1, SECOND, THIRD };
    uintptr_t known[4] = {0};
    int32_t errors[4];
    struct core_command *carried, *made[3], *gate = kept(core_user_event());
    struct core_queue *queue = new_queue(true), *other = new_queue(false);
    made[0] = kept(core_decide(queue, CORE_WORK, FIRST, 1, &gate));
    made[1] = kept(core_decide(queue, CORE_WORK, SECOND, 0, NULL));
    struct core_command *const list[] = {gate, made[1]};
    made[2] = kept(core_decide(other, CORE_WORK, THIRD, 2, list));
    CHECK(core_awaited(made[0], 4, known) == 0, "a user event is a command to wait for");
    CHECK(core_awaited(made[2], 4, known) == 1 && known[0] == SECOND, "another one is awaited");
    CHECK(core_awaited(made[2], 0, known) == 0, "more are written than there is room for");
    const struct core_command *expected_to_be_last[] = {NULL, made[0], made[1], made[1]};
    for (uint64_t last = 0; last < 4; last++) {
        struct core_command *found = core_unfinished(queue, last, known);
        CHECK(found == expected_to_be_last[last], "a command behind the last is not finished");
        if (found != NULL)
            core_release(found);
    }
    CHECK(core_unfinished(other, 0, known) == NULL, "a command behind the last is not finished");
    CHECK(core_followers(gate) == 2 && core_followers(made[0]) == 1 && core_followers(made[2]) == 0,
          "another number follows");
    CHECK(core_needed(made[2], &carried) == 0 && carried == NULL, "one that waits can be run");
    CHECK(core_forget(made[0], 4, known) == 0, "commands behind a command are forgotten");
    CHECK(core_forget(gate, 1, known) == 1, "more are written than there is room for");
    CHECK(core_forget(gate, 4, known + 1) == 2, "not all are forgotten");
    CHECK(known[0] != known[1] && known[0] + known[1] + known[2] == FIRST + SECOND + THIRD,
          "others are forgotten");
    CHECK(core_forget(gate, 4, known) == 0, "commands are forgotten twice");
    CHECK(core_awaited(made[2], 4, known) == 0, "a command that was forgotten is awaited");
    core_set(gate, CL_COMPLETE);
    CHECK(core_forget(gate, 4, known) == 0, "commands behind one that has ended are forgotten");
    core_let_follow(gate, true);
    for (int i = 0; i < 3; i++) {
        CHECK(core_take_ready(caller, 4, known, errors) == 1 && known[0] == 0,
              "it is not its turn");
        core_set(made[i], CL_COMPLETE);
        core_let_follow(made[i], true);
        CHECK(core_awaited(made[i], 4, known) == 0, "one that has ended waits");
    }
}

static unsigned calls_of_caller;
static int32_t states_called[3];
static unsigned states_called_count;

static void count_call(void *data)
{
    (void)data;
    calls_of_caller++;
}

static void note_state(struct core_command *command, int32_t status, void *data)
{
    (void)command, (void)data;
    states_called[states_called_count++] = status;
    CHECK(core_in_callback(), "a thread does not know that it is in a callback");
}

/* Does what the two threads of the driver have to do. */
static void work_off(void)
{
    core_close();
    core_observe();
    *core_explored_ending() = false;
    core_serve();
    core_open();
}

static void take_all(void)
{
    uintptr_t known;
    int32_t error;
    while (core_take_ready(caller, 1, &known, &error) != 0)
        ;
}

static void end(struct core_command *command, int32_t status)
{
    core_set(command, status);
    core_let_follow(command, true);
    take_all();
}

static void must_need(struct core_command *command, uintptr_t decided,
                      const struct core_command *carried)
{
    struct core_command *found;
    CHECK(core_needed(command, &found) == decided, "another command is needed");
    CHECK(found == carried, "another carried command is needed");
    if (found != NULL)
        core_release(found);
}

static struct core_command *new_decided(struct core_queue *queue, uintptr_t known,
                                        struct core_command *one, struct core_command *other)
{
    struct core_command *const list[] = {one, other};
    struct core_command *made =
        kept(core_decide(queue, CORE_WORK, known, (one != NULL) + (other != NULL), list));
    take_all();
    return made;
}

/* What a thread that waits can do. */
static void describe_what_is_needed(void)
{
    enum { FIRST = 1, SECOND, THIRD, FOURTH, STEPS = 64 };
    static struct lane lane = {.in_order = false};
    uintptr_t known[4];
    calls_of_caller = 0;
    core_caller_release(caller);
    caller = core_caller_new(count_call, NULL);
    struct core_queue *free_queue = new_carrying(board, &lane, NULL, hand_over);
    struct core_queue *ordered_queue = new_queue(true), *second_queue = new_queue(true);
    core_queue_retain(free_queue);
    core_queue_release(free_queue);
    core_queue_carry(ordered_queue, board,
                     &(struct core_lane){&engine, &lane, NULL, hand_over, NULL});
    struct core_command *gate = kept(core_user_event()), *still = kept(core_user_event());
    struct core_command *later = kept(enqueue_number(free_queue, CORE_CARRIED, 0, 1, &gate));
    CHECK(core_waits_alone(later), "a wait needs the caller, who has no command");

    struct core_command *ready = new_decided(free_queue, FIRST, NULL, NULL);
    struct core_command *behind = new_decided(free_queue, SECOND, ready, NULL);
    struct core_command *kernel = kept(enqueue_number(free_queue, CORE_CARRIED, 1, 0, NULL));
    struct core_command *both = new_decided(free_queue, THIRD, kernel, ready);
    struct core_command *turned = new_decided(free_queue, FOURTH, ready, kernel);
    struct core_command *gated = new_decided(free_queue, FOURTH, gate, NULL);
    struct core_command *mixed = new_decided(free_queue, FOURTH, later, kernel);
    struct core_command *beside = new_decided(free_queue, FOURTH, gate, ready);
    struct core_command *oldest = new_decided(second_queue, FOURTH, ready, NULL);
    struct core_command *half = new_decided(free_queue, FIRST, kernel, still);
    struct core_command *stays = new_decided(free_queue, SECOND, still, NULL);
    struct core_command *last = new_decided(free_queue, THIRD, half, stays);
    CHECK(core_waits_alone(gate) && core_waits_alone(kernel), "a wait needs the caller");
    CHECK(!core_waits_alone(ready) && !core_waits_alone(behind) && !core_waits_alone(later),
          "a wait needs no caller");
    CHECK(core_is_user_event(gate) && !core_is_user_event(kernel) && !core_is_user_event(ready),
          "another one is a user event");
    work_off();
    CHECK(calls_of_caller == 0, "a caller that takes is called");
    must_need(ready, FIRST, NULL);
    must_need(behind, FIRST, NULL);
    must_need(kernel, 0, kernel);
    must_need(both, FIRST, NULL);
    must_need(turned, FIRST, NULL);
    must_need(beside, FIRST, NULL);
    must_need(oldest, FIRST, NULL);
    must_need(gated, 0, NULL);
    must_need(gate, 0, NULL);
    must_need(later, 0, NULL);
    ready->handed_over = true;
    must_need(behind, 0, NULL);
    ready->handed_over = false;

    core_begin(ready);
    must_need(ready, 0, NULL);
    must_need(behind, 0, NULL);
    must_need(both, 0, kernel);
    must_need(turned, 0, kernel);
    end(ready, CL_COMPLETE);
    CHECK(core_waits_alone(ready), "a wait for one that has ended needs the caller");
    CHECK(core_awaited(behind, 1, known) == 0, "one that has ended is awaited");
    must_need(ready, 0, NULL);
    must_need(behind, SECOND, NULL);

    struct core_command *first = new_decided(ordered_queue, FIRST, NULL, NULL);
    struct core_command *second = kept(enqueue_number(ordered_queue, CORE_CARRIED, 2, 0, NULL));
    struct core_command *third = new_decided(ordered_queue, THIRD, NULL, NULL);
    must_need(second, FIRST, NULL);
    must_need(third, FIRST, NULL);
    end(first, -5);
    must_need(first, 0, NULL);
    must_need(third, 0, second);

    struct core_command *chain[STEPS + 1];
    for (int i = 0; i <= STEPS; i++)
        chain[i] = new_decided(free_queue, FIRST, i > 0 ? chain[i - 1] : NULL, NULL);
    must_need(chain[STEPS - 1], FIRST, NULL);
    must_need(chain[STEPS], 0, NULL);

    for (int32_t state = CL_SUBMITTED; state >= CL_RUNNING; state--)
        core_callback(gated, state, note_state, NULL);
    core_callback(gate, CL_RUNNING, note_state, &known[0]);
    core_callback(gate, CL_COMPLETE, note_state, &known[1]);
    CHECK(core_drop_callback(gated) == NULL, "a callback of a command is dropped");
    CHECK(core_drop_callback(gate) == &known[0] && core_drop_callback(gate) == &known[1] &&
              core_drop_callback(gate) == NULL,
          "the callbacks of a user event are not dropped one by one");
    work_off();
    core_callback(gate, CL_COMPLETE, note_state, &known[0]);
    core_set(gate, CL_COMPLETE);
    CHECK(!core_in_callback(), "a thread takes itself to be in a callback");
    CHECK(core_drop_callback(gate) == NULL, "a callback of a user event that was set is dropped");
    core_call_back(gate);
    calls_of_caller = states_called_count = 0;
    CHECK(core_forget(gate, 1, known) == 0, "commands behind one that has ended are forgotten");
    core_let_follow(gate, true);
    take_all();
    work_off();
    CHECK(calls_of_caller == 0, "a caller that takes is called");
    CHECK(states_called_count == 1 && states_called[0] == CL_SUBMITTED,
          "a command that is ready is not called back");
    core_begin(gated);
    work_off();
    CHECK(states_called_count == 2 && states_called[1] == CL_RUNNING,
          "a command that has begun is not called back");
    end(gated, CL_COMPLETE);
    for (int i = 0; i <= STEPS; i++)
        end(chain[i], CL_COMPLETE);
    end(behind, CL_COMPLETE);

    for (unsigned i = 0; i < operation_count; i++)
        operations[i].status = CL_COMPLETE;
    core_wait_for_caller(kernel); /* `both` and `turned` are ready behind it */
    take_all();
    work_off();
    CHECK(calls_of_caller == 0, "a caller that takes is called");
    must_need(mixed, 0, later);
    core_wait(second);
    work_off();
    CHECK(calls_of_caller == 1, "the caller is not called once");
    core_wait(later);
    take_all();
    for (unsigned i = 0; i < operation_count; i++)
        show_end(&operations[i]);
    work_off();
    must_need(kernel, 0, NULL);
    must_need(half, 0, NULL);
    last->next_ready = half; /* as if it had been ready before */
    CHECK(core_forget(still, 4, known) == 3, "not all are forgotten, or one twice");
    core_set(still, CL_COMPLETE);
    core_let_follow(still, true);
    take_all();
    struct core_command *const decided[] = {both,   turned, third, mixed, beside,
                                            oldest, half,   stays, last};
    for (unsigned i = 0; i < sizeof decided / sizeof decided[0]; i++)
        end(decided[i], CL_COMPLETE);
}

/* What the engine has at once when a user event is set, on a board that has changed meanwhile, or
 * is held. */
static void describe_what_is_submitted(void)
{
    static struct lane lane = {.in_order = true};
    struct core_command *made[4], *gate = kept(core_user_event());
    struct core_command *other_gate = kept(core_user_event());
    struct core_queue *queue = new_carrying(board, &lane, renews, hand_over);
    described.renews = true;
    for (int i = 0; i < 4; i++) {
        struct core_command *const *waits = i == 1 ? &made[0] : i == 0 ? &gate : &other_gate;
        made[i] = kept(enqueue_number(queue, CORE_CARRIED, i, 1, waits));
        seen.may_renew[i] = true;
    }
    CHECK(!core_is_outdated(made[0]), "a command is outdated on a board that has not changed");
    core_board_end_epoch(board);
    CHECK(core_is_outdated(made[0]), "a command is not outdated on a board that has changed");
    core_set(gate, CL_COMPLETE);
    core_let_follow(gate, true);
    CHECK(operation_count == 2, "the engine does not have what waits for nothing else");
    operations[0].is_hidden = true;
    operations[0].status = -5;
    operations[1].status = CL_COMPLETE;
    CHECK(core_status(made[1]) == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST,
          "a command does not fail with its wait list where the engine goes on");

    core_board_hold(board);
    core_set(other_gate, CL_COMPLETE);
    core_let_follow(other_gate, true);
    CHECK(operation_count == 2 && made[2]->handed_over, "a board that is held is used");
    work_off(); /* it is handed over */
    core_board_resume(board);
    core_retry(made[2]);
    CHECK(operation_count == 4, "a command that is tried again is not submitted");
    operations[2].status = operations[3].status = CL_COMPLETE;
    CHECK(core_board_is_open(board), "a board is not open that has commands");
    core_board_note(board, false);
    CHECK(core_has_ended(made[2]) && core_has_ended(made[3]), "ends on a board are not noted");
    for (unsigned i = 0; i < 4; i++)
        show_end(&operations[i]);
    work_off();
}

static void end_all(void)
{
    for (unsigned i = 0; i < operation_count; i++)
        operations[i].status = CL_COMPLETE;
    core_board_note(board, false);
    for (unsigned i = 0; i < operation_count; i++)
        show_end(&operations[i]);
    work_off();
}

static struct core_queue *renewed_beside;

/* What another thread may do while the facts of a transfer are looked up. */
static bool renews_beside_polling(struct core_command *command, uint64_t epoch)
{
    (void)command, (void)epoch;
    core_release(enqueue_number(renewed_beside, CORE_POLLS, 1, 0, NULL));
    return true;
}

static void run_here(struct core_command *command)
{
    CHECK(core_begin_here(command), "a board does not admit what is handed over for the engine");
    core_end(command, CL_COMPLETE);
}

/* A transfer at whose turn a kernel begins that may poll. */
static void describe_a_transfer_beside_polling(void)
{
    static struct lane lanes_of[2] = {{.in_order = true}, {.in_order = true}};
    struct core_command *gate = kept(core_user_event());
    struct core_queue *queue = new_carrying(board, &lanes_of[0], renews_beside_polling, run_here);
    renewed_beside = new_carrying(board, &lanes_of[1], NULL, run_here);
    struct core_command *moves = kept(enqueue_number(queue, CORE_MOVES, 0, 1, &gate));
    core_board_end_epoch(board);
    core_set(gate, CL_COMPLETE);
    core_let_follow(gate, true);
    CHECK(moves->handed_over && operation_count == 1,
          "the engine has a transfer beside a kernel that may poll");
    work_off();
    CHECK(core_has_ended(moves), "a transfer that is handed over does not end");
    end_all();
}

/* A transfer that is enqueued while a kernel of another queue may poll. */
static void describe_a_transfer_behind_polling(void)
{
    static struct lane lanes_of[2] = {{.in_order = true}, {.in_order = true}};
    struct core_queue *polling = new_carrying(board, &lanes_of[0], NULL, run_here);
    struct core_queue *queue = new_carrying(board, &lanes_of[1], NULL, run_here);
    struct core_command *polls = kept(enqueue_number(polling, CORE_POLLS, 0, 0, NULL));
    struct core_command *moves = kept(enqueue_number(queue, CORE_MOVES, 1, 0, NULL));
    CHECK(operation_count == 1, "the engine has a transfer behind a kernel that may poll");
    work_off();
    CHECK(core_has_ended(moves), "a transfer that is handed over does not end");
    operations[0].status = CL_COMPLETE;
    core_board_note(board, false);
    CHECK(core_has_ended(polls), "the end of a kernel that may poll is not noted");
}

/* Transfers that follow three kernels that may poll, in both orders, or one of them; then two of
 * which the newer follows the older. */
static void describe_transfers_behind_polling(void)
{
    static struct lane lanes_of[4] = {{.in_order = true}, {.in_order = true}, {.in_order = true}};
    struct core_queue *first = new_carrying(board, &lanes_of[0], NULL, run_here);
    struct core_queue *second = new_carrying(board, &lanes_of[1], NULL, run_here);
    struct core_queue *third = new_carrying(board, &lanes_of[2], NULL, run_here);
    struct core_queue *unordered = new_carrying(board, &lanes_of[3], NULL, run_here);
    struct core_command *kernels[3], *made[6];
    kernels[0] = kept(enqueue_number(first, CORE_POLLS, 0, 0, NULL));
    kernels[1] = kept(enqueue_number(second, CORE_POLLS, 1, 0, NULL));
    kernels[2] = kept(enqueue_number(unordered, CORE_POLLS, 2, 0, NULL));
    struct core_command *turned[3] = {kernels[2], kernels[1], kernels[0]};
    made[0] = kept(enqueue_number(third, CORE_MOVES, 3, 1, &kernels[2]));
    made[1] = kept(enqueue_number(unordered, CORE_MOVES, 4, 3, kernels));
    made[2] = kept(enqueue_number(unordered, CORE_MOVES, 5, 3, turned));
    CHECK(made[0]->handed_over, "the engine has a transfer that follows one of three");
    CHECK(!made[1]->handed_over && !made[2]->handed_over && operation_count == 5,
          "the engine has not got the transfers that follow all kernels that may poll");
    end_all();

    kernels[0] = kept(enqueue_number(first, CORE_POLLS, 6, 0, NULL));
    kernels[1] = kept(enqueue_number(second, CORE_POLLS, 7, 1, &kernels[0]));
    made[3] = kept(enqueue_number(third, CORE_MOVES, 8, 1, &kernels[1]));
    made[4] = kept(enqueue_number(unordered, CORE_MOVES, 9, 1, &made[3]));
    made[5] = kept(enqueue_number(unordered, CORE_MOVES, 10, 1, &kernels[0]));
    CHECK(made[5]->handed_over, "the engine has a transfer that follows the older of two");
    CHECK(!made[3]->handed_over && !made[4]->handed_over && operation_count == 9,
          "the engine has not got the transfers that follow the newer, which follows the older");
    end_all();
    for (int i = 0; i < 6; i++)
        CHECK(core_has_ended(made[i]), "a transfer behind kernels that may poll does not end");
}

/* Commands that are enqueued while a thread runs one at once: the second one follows the first. */
static void describe_what_follows_at_once(void)
{
    static struct lane lane = {.in_order = true};
    struct core_command *gate = kept(core_user_event());
    struct core_queue *queue = new_carrying(board, &lane, NULL, run_here);
    int direct = 0;
    CHECK(core_begin_directly(queue, core_board_epoch(board), &direct), "an idle queue is not");
    struct core_command *first = kept(enqueue_number(queue, CORE_CARRIED, 0, 1, &gate));
    struct core_command *second = kept(enqueue_number(queue, CORE_CARRIED, 1, 0, NULL));
    core_end_directly(queue);
    CHECK(operation_count == 0, "a command begins before the one in front of it");
    core_set(gate, CL_COMPLETE);
    core_let_follow(gate, true);
    CHECK(operation_count == 2, "the engine does not have what waits for nothing else");
    operations[0].status = operations[1].status = CL_COMPLETE;
    core_board_note(board, false);
    CHECK(core_has_ended(first) && core_has_ended(second), "ends on a board are not noted");
}

/* How long kernels were open, and ends behind a command that goes on. */
static void describe_the_time_of_kernels(void)
{
    static struct lane lane;
    static const enum core_kind kinds[] = {CORE_CARRIED, CORE_MOVES, CORE_POLLS};
    struct core_command *made[3];
    struct core_queue *queue = new_carrying(board, &lane, NULL, hand_over);
    CHECK(core_board_epoch(board) != 0, "0 is an epoch, though callers have it for none");
    for (int i = 0; i < 3; i++) {
        time_now = 100 * (uint64_t)i; /* the two kernels begin at 2 and 202 */
        made[i] = kept(enqueue_number(queue, kinds[i], i, 0, NULL));
    }
    CHECK(core_board_kernel_time(board, 302) == 300, "kernels that are open take another time");
    operations[1].status = operations[2].status = CL_COMPLETE;
    core_board_note(board, false);
    CHECK(core_has_ended(made[1]) && core_has_ended(made[2]), "an end is not noted");
    CHECK(core_board_kernel_time(board, 402) == 400, "a kernel that is open takes another time");
    operations[0].status = CL_COMPLETE;
    time_now = 501;
    CHECK(core_board_kernel_time(board, 602) == 500, "kernels that have ended take another time");
    CHECK(core_board_kernel_time(board, 702) == 500, "time passes without kernels");
}

static int32_t hold_and_refuse(void *lane, void *given, uint32_t count, void *const *after,
                               void **event)
{
    (void)given, (void)count, (void)after, (void)event;
    CHECK(core_board_hold(lane), "a board is not open while a command is submitted");
    return CL_INVALID_KERNEL;
}

static void count_one(void *data)
{
    ++*(unsigned *)data;
}

/* The last commands of two boards end together, and both are held. */
static void describe_two_boards(void)
{
    struct core_engine refusing = engine;
    struct core_command *gate = kept(core_user_event());
    struct core_board *two_boards[2];
    unsigned idle_calls[2] = {0};
    refusing.submit = hold_and_refuse;
    for (int i = 0; i < 2; i++) {
        two_boards[i] = core_board_new(count_one, &idle_calls[i]);
        struct core_queue *queue = new_queue(true);
        core_queue_carry(queue, two_boards[i],
                         &(struct core_lane){&refusing, two_boards[i], NULL, hand_over, NULL});
        kept(enqueue_number(queue, CORE_CARRIED, i, 1, &gate));
    }
    end(gate, CL_COMPLETE);
    CHECK(idle_calls[0] == 1 && idle_calls[1] == 1, "a board that is idle is not told so once");
    for (int i = 0; i < 2; i++)
        core_board_release(two_boards[i]);
}

static bool fail_meanwhile(struct core_command *command, uint64_t epoch)
{
    (void)command, (void)epoch;
    operations[0].status = -5;
    core_board_note(board, false);
    return false;
}

static void never_hand_over(struct core_command *command)
{
    (void)command;
    fault("a command is handed over whose wait list has failed");
}

/* A command fails while one that follows it takes its turn. */
static void describe_a_failure_at_a_turn(void)
{
    static struct lane lane = {.in_order = true};
    struct core_queue *queue = new_carrying(board, &lane, fail_meanwhile, never_hand_over);
    struct core_command *gate = kept(core_user_event());
    struct core_command *first = kept(enqueue_number(queue, CORE_CARRIED, 0, 0, NULL));
    struct core_command *const list[] = {gate, first};
    struct core_command *second = kept(enqueue_number(queue, CORE_CARRIED, 1, 2, list));
    core_board_end_epoch(board);
    end(gate, CL_COMPLETE);
    work_off();
    CHECK(core_status(second) == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST,
          "a command does not fail with one that has failed while it took its turn");
}

/* Returns true if the engine was told to have an operation wait for these, numbered from 1. */
static bool is_after(unsigned number, unsigned first, unsigned second)
{
    const struct operation *operation = &operations[number - 1];
    unsigned count = (first != 0) + (second != 0);
    return operation->after_count == count &&
           (count < 1 || operation->after[0] == &operations[first - 1]) &&
           (count < 2 || operation->after[1] == &operations[second - 1]);
}

/* Queues 0 and 2 are in order, 1 is not. */
static void describe_cores(void)
{
    static const struct {
        int queue;
        enum core_kind kind;
        unsigned after[2]; /* for which the engine has it wait, numbered from 1 */
    } given[] = {
        {1, CORE_TASK, {0}},       {1, CORE_TASK, {0}},    {1, CORE_TASK, {1}},
        {1, CORE_MOVES, {0}},      {1, CORE_TASK, {2}},    {1, CORE_CARRIED, {3, 5}},
        {1, CORE_CARRIED, {6}},    {0, CORE_TASK, {7}},    {0, CORE_TASK, {0}},
        {2, CORE_CARRIED, {9, 7}}, {2, CORE_CARRIED, {0}}, {1, CORE_TASK, {11}},
    };
    enum { GIVEN = sizeof given / sizeof given[0] };
    static struct lane described_lanes[QUEUES] = {{.in_order = true}, {0}, {.in_order = true}};
    struct core_board *two_cores = core_board_new(idle, NULL);
    struct core_queue *made_queues[QUEUES];
    core_board_has_cores(two_cores, 2);
    for (int i = 0; i < QUEUES; i++)
        made_queues[i] = new_carrying(two_cores, &described_lanes[i], NULL, hand_over);
    for (unsigned i = 0; i < GIVEN; i++) {
        kept(enqueue_number(made_queues[given[i].queue], given[i].kind, (int)i, 0, NULL));
        CHECK(is_after(i + 1, given[i].after[0], given[i].after[1]),
              "the engine has a kernel wait for others than those on its cores");
    }
    for (unsigned i = 0; i < GIVEN; i++)
        operations[i].status = CL_COMPLETE;
    core_board_note(two_cores, false);
    core_board_release(two_cores);
}

/* A task runs on the core that is free, although the other one would be its turn. */
static void describe_a_free_core(void)
{
    static struct lane lane;
    struct core_board *two_cores = core_board_new(idle, NULL);
    core_board_has_cores(two_cores, 2);
    struct core_queue *queue = new_carrying(two_cores, &lane, NULL, hand_over);
    kept(enqueue_number(queue, CORE_TASK, 0, 0, NULL));
    kept(enqueue_number(queue, CORE_TASK, 1, 0, NULL));
    operations[1].status = CL_COMPLETE;
    core_board_note(two_cores, false);
    kept(enqueue_number(queue, CORE_TASK, 2, 0, NULL));
    CHECK(is_after(3, 0, 0), "a task waits although a core is free");
    operations[0].status = operations[2].status = CL_COMPLETE;
    core_board_note(two_cores, false);
    core_board_release(two_cores);
}

/* A marker or barrier without an event is not enqueued if the order is kept without it. */
static void describe_what_keeps_order(void)
{
    static const struct {
        enum core_role role;
        int listed; /* the number of a command before, from 1; 0: none */
        bool is_needless;
    } given[] = {
        {CORE_BARRIER, 0, true}, {CORE_WORK, 0, false},    {CORE_BARRIER, 0, true},
        {CORE_BARRIER, 0, true}, {CORE_WORK, 0, false},    {CORE_BARRIER, 0, true},
        {CORE_WORK, 0, false},   {CORE_WORK, 0, false},    {CORE_BARRIER, 0, false},
        {CORE_BARRIER, 0, true}, {CORE_MARKER, 0, true},   {CORE_WORK, 0, false},
        {CORE_WORK, 0, false},   {CORE_BARRIER, 12, true}, {CORE_BARRIER, 7, false},
    };
    enum { GIVEN = sizeof given / sizeof given[0] };
    static struct lane lane;
    struct core_command *made[GIVEN] = {NULL};
    struct core_queue *queue = new_carrying(board, &lane, NULL, hand_over);
    for (int i = 0; i < GIVEN; i++) {
        uint32_t count = given[i].listed != 0;
        struct core_command *const *list = count != 0 ? &made[given[i].listed - 1] : NULL;
        bool is = given[i].role != CORE_WORK && core_keeps_order(queue, given[i].role, count, list);
        CHECK(is == given[i].is_needless, "a barrier is left out, or not");
        if (!is)
            made[i] = kept(core_enqueue(queue, given[i].role, CORE_MOVES, core_board_epoch(board),
                                        &i, sizeof i, count, list));
    }
    for (unsigned i = 0; i < operation_count; i++)
        operations[i].status = CL_COMPLETE;
    core_board_note(board, false);
}

/* A command fails only with its wait list. */
static void describe_what_does_not_fail(void)
{
    static const enum core_role roles[] = {CORE_WORK, CORE_MARKER, CORE_BARRIER, CORE_WORK};
    struct core_command *made[4];
    uintptr_t known;
    int32_t error;
    struct core_queue *queue = new_queue(false);
    for (int i = 0; i < 4; i++)
        made[i] = kept(core_decide(queue, roles[i], (uintptr_t)i + 1, 0, NULL));
    for (int i = 0; i < 4; i++) {
        CHECK(core_take_ready(caller, 1, &known, &error) == 1 && known == (uintptr_t)i + 1,
              "it is not its turn");
        CHECK(error == CL_SUCCESS, "a command fails with one before it");
        core_set(made[i], -5);
        core_let_follow(made[i], true);
    }
}

/* Commands of two callers become ready together. */
static void describe_two_callers(void)
{
    struct core_caller *callers[2];
    struct core_command *made[2], *gate = kept(core_user_event());
    unsigned calls[2] = {0};
    for (int i = 0; i < 2; i++) {
        callers[i] = core_caller_new(count_one, &calls[i]);
        struct core_queue *queue = kept_queue(core_queue_new(callers[i], true));
        made[i] = kept(core_decide(queue, CORE_WORK, 1, 1, &gate));
    }
    core_set(gate, CL_COMPLETE);
    core_let_follow(gate, false);
    work_off();
    for (int i = 0; i < 2; i++) {
        uintptr_t known;
        int32_t error;
        CHECK(calls[i] == 1, "a caller is not called once");
        CHECK(core_take_ready(callers[i], 1, &known, &error) == 1, "nothing is ready");
        core_set(made[i], CL_COMPLETE);
        core_let_follow(made[i], true);
        core_caller_release(callers[i]);
    }
}

static unsigned made_without(unsigned allocations, struct core_queue *queue,
                             struct core_command *const *wait_list)
{
    bool is_carried = queue->lane.engine != NULL;
    blocks_left = block_count + allocations;
    struct core_command *made = is_carried ? enqueue_number(queue, CORE_CARRIED, 0, 3, wait_list)
                                           : core_decide(queue, CORE_WORK, 1, 3, wait_list);
    blocks_left = BLOCKS;
    if (made != NULL)
        core_release(made);
    return made != NULL;
}

/* Without memory nothing is made, and nothing is left. */
static void describe_what_needs_memory(void)
{
    static struct lane lane;
    struct core_queue *decided = new_queue(false);
    struct core_queue *carried = new_carrying(board, &lane, NULL, hand_over);
    struct core_command *gate = kept(core_user_event());
    struct core_command *const list[] = {gate, gate, gate};
    blocks_left = block_count;
    CHECK(core_user_event() == NULL && core_queue_new(caller, true) == NULL &&
              core_caller_new(NULL, NULL) == NULL && core_board_new(NULL, NULL) == NULL,
          "something is made without memory");
    CHECK(!core_callback(gate, CL_COMPLETE, note_state, NULL), "a callback is made without memory");
    for (unsigned some = 0; some < 2; some++)
        CHECK(!made_without(some, decided, list) && !made_without(some, carried, list),
              "a command is made without memory");
    CHECK(made_without(2, decided, list) && made_without(2, carried, list),
          "a command is not made with memory");
    CHECK(atomic_load(&gate->references) == 1 + 3 + 3, "a reference is left");
    struct core_command *failed = core_next(carried, NULL);
    blocks_left = block_count;
    end(gate, CL_COMPLETE);
    blocks_left = BLOCKS;
    CHECK(operation_count == 0 && core_status(failed) == CL_OUT_OF_HOST_MEMORY,
          "a command does not fail that the engine cannot be told of");
    core_release(failed);
    struct core_command *left = decided->oldest;
    end(left, CL_COMPLETE);
}

static const struct description {
    const char *name;
    void (*run)(void);
} descriptions[] = {
    {"a description of what waits", describe_what_waits},
    {"a description of what is needed", describe_what_is_needed},
    {"a description of what is submitted", describe_what_is_submitted},
    {"a description of a transfer beside polling", describe_a_transfer_beside_polling},
    {"a description of a transfer behind polling", describe_a_transfer_behind_polling},
    {"a description of transfers behind polling", describe_transfers_behind_polling},
    {"a description of what follows at once", describe_what_follows_at_once},
    {"a description of the time of kernels", describe_the_time_of_kernels},
    {"a description of two boards", describe_two_boards},
    {"a description of cores", describe_cores},
    {"a description of a free core", describe_a_free_core},
    {"a description of what keeps the order", describe_what_keeps_order},
    {"a description of a failure at a turn", describe_a_failure_at_a_turn},
    {"a description of what does not fail", describe_what_does_not_fail},
    {"a description of two callers", describe_two_callers},
    {"a description of what needs memory", describe_what_needs_memory},
};

static void describe(const struct description *description)
{
    described = (struct host){.name = description->name};
    host = &described;
    host_name = host->name;
    current = NULL;
    operation_count = ordered = 0;
    memset(commands, 0, sizeof commands);
    memset(&seen, 0, sizeof seen);
    board = core_board_new(NULL, NULL);
    caller = core_caller_new(NULL, NULL);
    description->run();
    release_kept();
    core_caller_release(caller);
    core_board_release(board);
    check_memory();
}

/* Two threads that use one queue. */
static void share(struct host *made, int count)
{
    made->shares = true;
    made->in_order[0] = true;
    made->split = 1 + (int)random_below((unsigned)count - 1);
    for (int i = 0; i < count; i++)
        made->plans[i] =
            (struct plan){.kind = (enum kind[]){CARRIED, DECIDED, DIRECT}[random_below(3)]};
}

/* Whether it is no command of the core's, so that none can wait for it. */
static bool is_beside(enum kind kind)
{
    return kind == HELD || kind == DIRECT;
}

static void make_random(struct host *made)
{
    random_state = seed * 2654435761u + 1;
    memset(made, 0, sizeof *made);
    made->name = "a random host";
    for (int i = 0; i < QUEUES; i++)
        made->in_order[i] = random_below(2) == 0;
    int count = 2 + (int)random_below(COMMANDS - 1);
    made->split = random_below(2) == 0 ? 1 + (int)random_below((unsigned)count - 1) : 0;
    made->finishes = random_below(2) == 0;
    made->looks = random_below(3);
    made->helps = random_below(2) == 0;
    made->renews = random_below(2) == 0;
    made->has_cores = random_below(3) == 0;
    made->rests = random_below(3) == 0;
    bool holds = random_below(2) == 0, gates = false;
    for (int i = 0; i < count; i++) {
        static const enum kind kinds[] = {CARRIED, CARRIED, CARRIED, DECIDED,
                                          DECIDED, BARRIER, MARKER,  USER};
        static const enum kind kinds_if_held[] = {CARRIED, CARRIED, DECIDED, HELD, DECIDED,
                                                  BARRIER, MARKER,  DIRECT,  USER};
        static const int32_t outcomes[] = {0, 0, 0, 0, 0, -5, CL_INVALID_KERNEL};
        struct plan *plan = &made->plans[i];
        bool is_second = made->split != 0 && i >= made->split;
        plan->kind = holds ? kinds_if_held[random_below(9)] : kinds[random_below(8)];
        plan->queue = is_second ? 2 : (int)random_below(2);
        plan->has_callback = random_below(3) == 0;
        plan->waited = random_below(3) == 0;
        plan->polled = random_below(4) == 0;
        /* The first thread may not wait for what the second one ends: they would wait in turn. */
        if (plan->kind == USER && is_second)
            plan->kind = CARRIED;
        /* What its thread waits for before it sets a user event may not wait for that. */
        gates |= plan->kind == USER;
        if (gates && plan->kind == DIRECT)
            plan->kind = HELD;
        plan->of = random_below(CORE_MOVES + 1);
        bool orders = plan->kind == MARKER || plan->kind == BARRIER;
        plan->decides = random_below(2) == 0 && orders;
        if (random_below(2) == 0 && orders) {
            plan->is_unobserved = true;
            plan->has_callback = plan->waited = plan->polled = plan->decides = false;
        }
        if (is_beside(plan->kind)) {
            plan->has_callback = false;
            continue;
        }
        if (plan->kind == CARRIED || plan->kind == DECIDED || plan->kind == USER)
            plan->outcome = outcomes[random_below(7)];
        for (int j = 0; plan->kind != USER && j < LISTED; j++) {
            int before = random_below(3) == 0 && i > 0 ? 1 + (int)random_below((unsigned)i) : 0;
            if (before != 0 && !is_beside(made->plans[before - 1].kind) &&
                !made->plans[before - 1].is_unobserved)
                plan->waits[j] = before;
        }
    }
    if (random_below(4) == 0)
        share(made, count);
    made->plans[count < COMMANDS ? count : COMMANDS - 1].kind = NOTHING;
}

int main(int count, char **words)
{
    bool systematic = count == 3 && strcmp(words[1], "systematic") == 0;
    if (!systematic && !(count == 4 && strcmp(words[1], "random") == 0)) {
        fprintf(stderr, "explore_core systematic N | explore_core random N SEED\n");
        return 2;
    }
    unsigned long most = strtoul(words[2], NULL, 10), done = 0;
    for (unsigned i = 0; i < sizeof descriptions / sizeof descriptions[0]; i++)
        describe(&descriptions[i]);
    if (systematic) {
        for (unsigned i = 0; i < sizeof hosts / sizeof hosts[0]; i++) {
            unsigned long here = 0;
            trail_length = 0;
            do
                run(&hosts[i]);
            while (++here < most && next_schedule());
            printf("%s: %lu\n", hosts[i].name, here);
            done += here;
        }
        CHECK(asked_by_server != 0,
              "the serving thread notes no ends while it has nothing else to do");
    } else {
        is_random = true;
        seed = strtoul(words[3], NULL, 10);
        for (; done < most; done++, seed++) {
            struct host made;
            make_random(&made);
            run(seed % 4 == 0 ? &hosts[seed / 4 % (sizeof hosts / sizeof hosts[0])] : &made);
        }
    }
    printf("%lu schedules\n", done);
    return 0;
}
