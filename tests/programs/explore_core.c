/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs small hosts on the command processor (core/) under chosen schedules. Another thread may go
 * on at each lock, sleep and call of the engine; the engine is a model, whose operations end when
 * the explorer says so.
 *
 * explore_core systematic N   each host, all schedules with two preemptions, at most N of each
 * explore_core random N SEED  N random hosts, each under one random schedule
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
 * and stays unused until the host has ended. */

enum { BLOCKS = 256 };
static struct block {
    void *memory;
    size_t size;
    bool freed;
} blocks[BLOCKS];
static unsigned block_count;

void *explored_malloc(size_t size);
void *explored_calloc(size_t count, size_t size);
void explored_free(void *memory);

void *explored_malloc(size_t size)
{
    CHECK(block_count < BLOCKS, "too many allocations");
    struct block *block = &blocks[block_count++];
    *block = (struct block){malloc(size), size, false};
    memset(block->memory, 0xa5, size);
    return block->memory;
}

void *explored_calloc(size_t count, size_t size)
{
    return memset(explored_malloc(count * size), 0, count * size);
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
    memset(memory, 0xa5, block->size);
}

static void check_memory(void)
{
    for (; block_count > 0; block_count--) {
        struct block *block = &blocks[block_count - 1];
        CHECK(block->freed, "memory is left");
        for (size_t i = 0; i < block->size; i++)
            CHECK(((unsigned char *)block->memory)[i] == 0xa5,
                  "memory is written after it was freed");
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

static int32_t engine_submit(void *lane, void *given, uint32_t count, void *const *after,
                             void **event)
{
    CHECK(!holds_lock(), "the engine is called with the lock");
    core_pause();
    int number = *(const int *)given;
    if (outcome_of(number) == CL_INVALID_KERNEL)
        return CL_INVALID_KERNEL;
    check_what_is_beside(number);
    struct operation *operation = &operations[operation_count++];
    *operation = (struct operation){number, lane, {NULL}, count, CL_SUBMITTED, outcome_of(number),
                                    NULL,   NULL, 1};
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
    core_pause();
    operation_ended(*(const int *)given, status);
}

static bool has_ended(void *event)
{
    return ((struct operation *)event)->status <= CL_COMPLETE;
}

static unsigned long asked_by_server; /* about ends that it notes between callbacks */

static int32_t engine_status(void *event)
{
    CHECK(!holds_lock(), "the engine is called with the lock");
    CHECK(((struct operation *)event)->references > 0, "an event is used that was released");
    asked_by_server += current != NULL && current->is_serving && current->is_ending;
    core_pause();
    return ((struct operation *)event)->status;
}

static void engine_wait(void *event)
{
    CHECK(!holds_lock(), "the engine is called with the lock");
    CHECK(((struct operation *)event)->references > 0, "an event is used that was released");
    yield(has_ended, event);
}

static void engine_times(void *event, uint64_t *begin, uint64_t *end)
{
    (void)event;
    *begin = *end = 1;
}

static int32_t engine_notify(void *event, void (*ended)(void *), void *data)
{
    struct operation *operation = event;
    CHECK(!holds_lock(), "the engine is called with the lock");
    core_pause();
    if (operation->status <= CL_COMPLETE) {
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
    CHECK(current->work != observing_thread || core_in_ended(),
          "the observing thread seems to be one that may wait");
}

static const struct core_engine engine = {engine_submit,  engine_ended, engine_status,
                                          engine_wait,    engine_times, engine_notify,
                                          engine_release, NULL,         engine_now};

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
        if (may_run(&operations[i]))
            return true;
    return false;
}

static void engine_thread(void *nothing)
{
    for (;;) {
        yield(any_may_run, nothing);
        struct operation *able[OPERATIONS];
        unsigned count = 0;
        for (unsigned i = operation_count; i-- > 0;) /* the newest first */
            if (may_run(&operations[i]))
                able[count++] = &operations[i];
        struct operation *operation = able[count > 1 ? choose(count, false) : 0];
        if (has_failed_wait(operation)) {
            operation->ends_with = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
        } else if (is_work(operation->number)) {
            operation->status = CL_RUNNING;
            command_begins(operation->number, true);
        }
        core_pause();
        command_ends(operation->number, operation->ends_with);
        operation->status = operation->ends_with;
        if (operation->ended != NULL) {
            void (*ended)(void *) = operation->ended;
            core_pause();
            ended(operation->data);
            operation->ended = NULL;
        }
    }
}

/* Hosts: commands in queues, and what threads do with them. */

enum { COMMANDS = 8, QUEUES = 3, LISTED = 3 };

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
    enum core_kind of;    /* CORE_MOVES: the engine gets it only beside no CORE_POLLS of others */
    bool comes_first;     /* the host sets no user event before it has ended, or has called back */
    int callback_waits;   /* the callback waits for this one, numbered from 1 */
    int callback_sets;    /* the callback, and nobody else, sets this user event */
    bool callback_takes;  /* the callback waits as the caller does, and takes what is ready */
};

struct host {
    const char *name;
    bool in_order[QUEUES];
    struct plan plans[COMMANDS];
    int split; /* commands from this number on are another thread's; 0: one thread does all */
    bool finishes;
    enum { WAITS, OBSERVES, NOTES } looks; /* how the host has the last ends noted */
    bool shares;   /* its threads use one queue, so that nobody knows the order */
    bool helps;    /* threads that wait run decided commands */
    bool renews;   /* it may be known what commands need when the board has changed */
    bool runs_one; /* kernel at a time */
    bool rests;    /* a thread waits until all that is left waits for user events */
};

static const struct host *host;
static struct core_board *board;
static unsigned board_state, known_state[COMMANDS]; /* what a command was told of the board */
static unsigned released[COMMANDS];
static struct core_queue *queues[QUEUES];
static struct core_caller *caller;
static struct lane lanes[QUEUES];
static bool has_lane[QUEUES];
static struct core_command *commands[COMMANDS];
static bool enqueued[COMMANDS], began[COMMANDS], ended[COMMANDS];
static int32_t ended_as[COMMANDS];
static unsigned called_back[COMMANDS];
static int order[COMMANDS], ordered; /* in which commands entered their queues */
static bool has_let[COMMANDS];       /* core_let_follow() has returned */
static bool is_decided[COMMANDS];    /* the caller runs it, whatever was planned */
static unsigned set_at[COMMANDS];    /* operations of the engine when a user event was set */
static unsigned ran_at[COMMANDS];    /* commands that the caller ran then, a bit for each */

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

/* What waited for a user event, and is not for an engine that runs certain ones of other queues. */
static void check_what_is_beside(int number)
{
    const struct plan *plan = &host->plans[number];
    for (unsigned j = 0; host->runs_one && plan->of != CORE_MOVES && j < operation_count; j++)
        CHECK(operations[j].status <= CL_COMPLETE ||
                  host->plans[operations[j].number].of == CORE_MOVES ||
                  (operations[j].lane == &lanes[plan->queue] && host->in_order[plan->queue]),
              "a board runs two kernels at once");
    bool came_later = commands[number] != NULL && commands[number]->deferred;
    for (int i = 0; i < LISTED && plan->of == CORE_MOVES && came_later; i++) {
        int waited = plan->waits[i] - 1;
        if (waited < 0 || host->plans[waited].kind != USER)
            continue;
        for (unsigned j = 0; j < set_at[waited]; j++)
            CHECK(operations[j].lane == &lanes[plan->queue] ||
                      operations[j].status <= CL_COMPLETE ||
                      host->plans[operations[j].number].of != CORE_POLLS,
                  "the engine runs kernels of other queues that may poll");
        for (int j = 0; j < COMMANDS; j++)
            CHECK(!(ran_at[waited] >> j & 1) || host->plans[j].queue == plan->queue ||
                      atomic_load(&commands[j]->status) <= CL_COMPLETE,
                  "the caller runs commands of other queues");
    }
}

static bool is_work(int number)
{
    return host->plans[number].kind == CARRIED;
}

static bool lasts(int number)
{
    int until = host->plans[number].lasts_until;
    return until != 0 && !enqueued[until - 1];
}

static void must_have_ended(int before)
{
    CHECK(ended[before] || atomic_load(&commands[before]->status) <= CL_COMPLETE,
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

static void command_begins(int number, bool in_engine)
{
    const struct plan *plan = &host->plans[number];
    CHECK(!began[number], "a command begins twice");
    began[number] = true;
    if (in_engine || plan->kind == DIRECT)
        CHECK(known_state[number] == board_state, "a command is carried on a board that changed");
    for (int i = 0; i < LISTED; i++)
        if (plan->waits[i] != 0)
            must_have_ended(plan->waits[i] - 1);
    for (int i = 0; i < COMMANDS; i++)
        if (i != number && host->plans[i].kind == DIRECT && host->plans[i].queue == plan->queue &&
            host->in_order[plan->queue])
            CHECK(!began[i] || ended[i], "a command begins beside one that a thread runs");
    for (int i = 0; i < ordered && order[i] != number && !host->shares; i++) {
        const struct plan *other = &host->plans[order[i]];
        if (is_in_queue(other, plan->queue) &&
            (host->in_order[plan->queue] || other->kind == BARRIER))
            must_have_ended(order[i]);
    }
}

static void command_ends(int number, int32_t status)
{
    const struct plan *plan = &host->plans[number];
    bool is_last = follows_all(plan) && status == CL_COMPLETE && !host->shares;
    CHECK(!ended[number], "a command ends twice");
    for (int i = 0; is_last && i < ordered; i++) {
        if (order[i] == number)
            break;
        if (is_in_queue(&host->plans[order[i]], plan->queue))
            must_have_ended(order[i]);
    }
    ended[number] = true;
    ended_as[number] = status;
}

static void operation_ended(int number, int32_t status)
{
    CHECK(released[number]++ == 0, "the engine is told of an end twice");
    CHECK(commands[number] == NULL || atomic_load(&commands[number]->status) == status,
          "the engine is told of another end");
}

/* The caller: under a lock of its own it takes what is ready, which one of its threads runs. */

static bool scheduler_locked;
static int ready_numbers[COMMANDS];
static int32_t ready_errors[COMMANDS];
static unsigned ready_count;
static bool claimed[COMMANDS];
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
    bool has_reason = host->rests || host->runs_one;
    for (int i = 0; i < COMMANDS; i++)
        has_reason |= host->plans[i].kind == DECIDED || host->plans[i].decides;
    CHECK(has_reason, "the caller is called for nothing");
    take();
}

static bool may_renew[COMMANDS]; /* the caller has found out what a command needs */

/* It may be known what a command needs on a board that has changed; else the caller says so when it
 * is asked, or runs the command. */
static bool renews(struct core_command *command, uint64_t epoch)
{
    int number = *(const int *)core_operation(command);
    CHECK(!holds_lock(), "a command is renewed with the lock");
    check_that_it_is_in_ended();
    CHECK(epoch <= core_board_epoch(board), "a command is renewed for an epoch to come");
    core_pause();
    if (!host->renews || (!may_renew[number] && choose(2, false) == 0))
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
        CHECK(core_end(command, outcome_of(number)), "a command had ended before");
        return;
    }
    if (host->renews && core_is_outdated(command) && !may_renew[number] && choose(2, false) == 0) {
        may_renew[number] = true;
        core_retry(command);
    } else {
        is_ready(number, CL_SUCCESS);
    }
}

static int next_ready(void)
{
    for (unsigned i = 0; i < ready_count; i++)
        if (!claimed[ready_numbers[i]])
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
    is_decided[number] = true;
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
        CHECK(core_end(command, status), "a command had ended before");
        return;
    }
    CHECK(core_set(command, status), "a command had ended before");
    CHECK(!core_set(command, status), "a command ends twice");
    core_pause();
    if (core_let_follow(command, true))
        take();
}

static void decided_thread(void *nothing)
{
    for (;;) {
        yield(any_ready, nothing);
        int number = next_ready();
        claimed[number] = true;
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
        bool is_mine = needed >= 0 && is_taken(needed) && !claimed[needed];
        if (is_mine)
            claimed[needed] = true;
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
    set_at[number] = operation_count;
    for (int i = 0; i < COMMANDS; i++)
        if (commands[i] != NULL && commands[i]->is_begun &&
            atomic_load(&commands[i]->status) == CL_RUNNING)
            ran_at[number] |= 1u << i;
    core_set(commands[number], outcome_of(number));
    core_pause();
    core_let_follow(commands[number], false);
    has_let[number] = true;
}

static bool is_enqueued(void *number)
{
    return enqueued[(intptr_t)number];
}

static void call_back(struct core_command *command, int32_t status, void *data)
{
    int number = (int)(intptr_t)data;
    const struct plan *plan = &host->plans[number];
    called_back[number]++;
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
    CHECK(status == CL_COMPLETE || status < 0, "a callback comes with another status");
    CHECK(core_status(command) <= CL_COMPLETE, "a callback comes before the end");
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

static int held[COMMANDS];
static unsigned held_count, fence_of[COMMANDS];
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
        if (!began[held[i]] && fence_of[held[i]] <= fences_ended)
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
            CHECK(!began[i] || ended[i], "a thread carries where the caller holds it up");
    }
}

static bool is_any(const void *operation, void *nothing)
{
    (void)operation, (void)nothing;
    return true;
}

static void holding_thread(void *nothing)
{
    for (;;) {
        yield(may_run_held, nothing);
        int number = next_held();
        began[number] = true;
        check_that_nothing_is_carried();
        core_pause();
        CHECK(!core_board_uses(board, is_any, NULL), "a board that is held is used");
        board_state++;
        check_that_nothing_is_carried();
        core_board_end_epoch(board);
        ended[number] = true;
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

/* A command that the board does not admit is tried again; beside another kernel it is decided. */
static void carry(int number, enum core_role role, uint32_t count, struct core_command *const *list)
{
    const struct plan *plan = &host->plans[number];
    struct core_queue *queue = queue_with_lane(plan->queue);
    while ((commands[number] = core_enqueue(queue, role, plan->of, learn(number), &number,
                                            sizeof number, count, list)) == NULL) {
        if (host->runs_one && plan->of != CORE_MOVES && board->kernels != 0) {
            decide(number, role, count, list);
            return;
        }
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
    core_pause();
    CHECK(known_state[number] == board_state, "a board changes while a thread carries");
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
        if (plan->kind == DECIDED || plan->decides)
            decide(number, role, count, list);
        else
            carry(number, role, count, list);
    }
    enqueued[number] = true;
    if (plan->has_callback)
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
    const struct operation *operation = atomic_load(&commands[(intptr_t)number]->event);
    return operation != NULL ? operation->status <= CL_COMPLETE : has_been_noted(number);
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
    CHECK(released[number] == is_told(number), "a wait returns before the engine was told");
}

static void finish(int queue)
{
    bool was_enqueued[COMMANDS];
    memcpy(was_enqueued, enqueued, sizeof enqueued);
    core_finish(queues[queue]);
    for (int i = 0; i < COMMANDS; i++)
        if (was_enqueued[i] && host->plans[i].queue == queue && is_told(i))
            CHECK(released[i] == 1, "a finish returns before the engine was told");
}

static bool is_done(void *number)
{
    intptr_t of = (intptr_t)number;
    return host->plans[of].has_callback ? called_back[of] != 0 : ended[of];
}

static bool is_set_by_callback(int number)
{
    for (int i = 0; i < COMMANDS; i++)
        if (host->plans[i].callback_sets == number + 1)
            return true;
    return false;
}

static struct core_command *first_carried(const struct core_queue *queue)
{
    struct core_command *each = queue->oldest;
    while (each != NULL && !core_is_carried(each))
        each = each->newer;
    return each;
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
    uintptr_t known[COMMANDS];
    core_status(command);
    core_board_note(board);
    CHECK(core_board_is_open(board) == (board->open != 0), "a board seems to be open, or not");
    CHECK(core_has_ready(caller) == (caller->ready != NULL), "commands seem to be ready, or not");
    core_board_note_polling(board);
    bool is_free = core_engine_is_free(queue);
    CHECK(is_free == !(polls_elsewhere(queue) || runs_elsewhere(queue)),
          "the engine seems to be free, or not");
    next = core_next(queue, NULL);
    CHECK(next == first_carried(queue), "another command is the next");
    if (next != NULL)
        core_release(next);
    bool none_is_decided = core_decided == 0, alone = core_finishes_alone(queue);
    CHECK(alone == (none_is_decided || queue->in_engine == queue->open),
          "a queue seems to need the caller, or not");
    CHECK(core_awaited(command, COMMANDS, known) <= command->link_count,
          "a command waits for others than it follows");
    if (core_followers(command) != 0)
        CHECK(command->followers != NULL, "a command seems to have followers");
    CHECK(core_enqueued(queue) == queue->enqueued, "another number of commands");
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
        if (host->plans[i].waited && has_command(i))
            wait_for(i);
    if (host->finishes)
        for (int i = 0; i < QUEUES; i++)
            finish(i);
    if (host->looks == OBSERVES)
        core_board_observe(board);
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
            return !has_let[i];
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
 * barriers, too, and passes failures of commands on that it still has. */
static bool may_fail(int number)
{
    const struct plan *plan = &host->plans[number];
    bool is_ordered = plan->kind == USER || host->in_order[plan->queue];
    for (int i = 0; i < LISTED; i++)
        if (plan->waits[i] != 0 && may_fail(plan->waits[i] - 1))
            return true;
    for (int i = 0; i < number && !is_ordered; i++)
        if (is_in_queue(&host->plans[i], plan->queue) &&
            (follows_all(plan) || host->plans[i].kind == BARRIER) && may_fail(i))
            return true;
    return plan->outcome < 0;
}

static void check_ends(void)
{
    current = NULL;
    for (int i = 0; i < COMMANDS && host->plans[i].kind != NOTHING; i++) {
        CHECK(released[i] == is_told(i), "the engine is not told of an end");
        if (!has_command(i)) {
            CHECK(ended[i], "a command has not ended");
            continue;
        }
        int32_t status = atomic_load(&commands[i]->status);
        /* An engine may refuse a command before it is known that its wait list fails. */
        bool refused = status == CL_INVALID_KERNEL && outcome_of(i) == CL_INVALID_KERNEL;
        bool passed_on = status == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST && may_fail(i);
        CHECK(status == expected(i) || refused || passed_on, "a command ends with another status");
        CHECK(called_back[i] == host->plans[i].has_callback, "callbacks are not called once");
        CHECK(commands[i]->followers == NULL && commands[i]->unmet == 0, "a link is left");
        CHECK(atomic_load(&commands[i]->references) == 1, "a reference is left");
        core_release(commands[i]);
    }
    for (int i = 0; i < QUEUES; i++) {
        CHECK(queues[i]->open == 0 && queues[i]->oldest == NULL && queues[i]->newest == NULL,
              "a queue is not empty");
        CHECK(queues[i]->barrier == NULL, "a barrier is left");
        CHECK(core_admits(queues[i], core_board_epoch(board), CORE_CARRIED) &&
                  core_engine_is_free(queues[i]),
              "commands seem to be open");
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
    memset(has_let, 0, sizeof has_let);
    memset(ran_at, 0, sizeof ran_at);
    memset(claimed, 0, sizeof claimed);
    memset(may_renew, 0, sizeof may_renew);
    memset(has_lane, 0, sizeof has_lane);
    memset(released, 0, sizeof released);
    memset(threads, 0, sizeof threads);
    memset(commands, 0, sizeof commands);
    memset(enqueued, 0, sizeof enqueued);
    memset(began, 0, sizeof began);
    memset(ended, 0, sizeof ended);
    memset(called_back, 0, sizeof called_back);
    memset(is_decided, 0, sizeof is_decided);
    memset(set_at, 0, sizeof set_at);
    core_open();
    board = core_board_new(idle, &fences);
    if (host->runs_one)
        core_board_runs_one(board);
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
      {CARRIED, 1}},
     0,
     false},
    {"a board that is held beside commands that wait for the host",
     {true, true},
     {{CARRIED}, {USER}, {CARRIED, 0, {2}}, {CARRIED, 1, {3}}, {HELD}, {CARRIED, 0, {2}}},
     0,
     false,
     OBSERVES},
    {"a decided command behind one that waits for the host",
     {true, true},
     {{USER}, {CARRIED, 0, {1}}, {DECIDED}, {CARRIED, 1, {2}}, {HELD, .comes_first = true}},
     0,
     false},
    {"a user event for two queues, one of them out of order",
     {true, false},
     {{USER, .has_callback = true},
      {CARRIED, 0, {1}},
      {CARRIED, 1, {2}},
      {CARRIED, 1},
      {BARRIER, 1},
      {CARRIED, 1, .waited = true}},
     0,
     true},
    {"what is not for an engine that runs other queues",
     {true, true},
     {{USER},
      {CARRIED, 0, {1}, .of = CORE_MOVES},
      {CARRIED, 0, .of = CORE_MOVES},
      {CARRIED, 1, {3}, .of = CORE_POLLS},
      {CARRIED, 1}},
     0,
     true},
    {"kernels of two queues on a board that runs one at a time",
     {true, false},
     {{CARRIED}, {CARRIED, 1}, {CARRIED, 0}, {CARRIED, 1}, {USER}, {CARRIED, 0, {5}}},
     3,
     true,
     .runs_one = true},
    {"a failure for what waits for the host on a board that is held",
     {true, true},
     {{USER, .outcome = -5},
      {CARRIED, 0, {1}},
      {CARRIED, 1, {2}, .has_callback = true},
      {CARRIED, 0, .outcome = -7},
      {HELD, .comes_first = true}},
     0,
     true},
    {"a callback that waits for what another one sets",
     {true, true},
     {{USER},
      {CARRIED, 0, {1}},
      {CARRIED, 1, .has_callback = true, .callback_waits = 2},
      {CARRIED, 1, .has_callback = true, .callback_sets = 1}},
     0,
     true},
    {"a callback that waits as the caller does, and one that makes a decided command ready",
     {true, true},
     {{USER, .outcome = -5},
      {CARRIED, 0, {1}},
      {DECIDED},
      {CARRIED},
      {CARRIED, 1, .has_callback = true, .callback_waits = 4, .callback_takes = true},
      {CARRIED, 1, .has_callback = true, .callback_sets = 1}},
     0,
     true},
    {"a decided command out of order beside commands that wait for the host",
     {true, false},
     {{USER}, {CARRIED, 0, {1}}, {CARRIED, 1, {2}}, {DECIDED, 1}, {CARRIED, 1}},
     0,
     true},
    {"callbacks that wait for what the host sets",
     {true, true},
     {{USER},
      {CARRIED, 0, {1}},
      {CARRIED, 1, .has_callback = true, .comes_first = true, .callback_waits = 2},
      {CARRIED, 1, .has_callback = true}},
     0,
     true},
    {"a callback that waits for a user event",
     {true, true},
     {{USER}, {CARRIED, 1, .has_callback = true, .comes_first = true, .callback_waits = 1}},
     0,
     true},
    {"two threads and a user event",
     {true, true},
     {{USER}, {CARRIED, 0, {1}, .waited = true}, {CARRIED, 1, {2}, .waited = true}, {HELD}},
     2,
     true},
    {"carried commands in order",
     {true},
     {{CARRIED, 0, {0}, 0, true, true}, {CARRIED}, {CARRIED, .waited = true}},
     0,
     true},
    {"a decided command between carried ones",
     {true},
     {{CARRIED}, {DECIDED}, {CARRIED, .has_callback = true}, {CARRIED}},
     0,
     true},
    {"chained across queues",
     {true, true},
     {{CARRIED}, {CARRIED, 1, {1}}, {CARRIED, 0, {2}}, {CARRIED, 1, {3}, .waited = true}},
     0,
     true},
    {"a user event",
     {true},
     {{USER}, {CARRIED, 0, {1}, .waited = true}, {CARRIED, .has_callback = true}},
     0,
     false},
    {"a user event that fails",
     {true},
     {{USER, .outcome = -7},
      {CARRIED, 0, {1}},
      {CARRIED, .waited = true},
      {DECIDED, 0, {2}, .has_callback = true}},
     0,
     true},
    {"a barrier",
     {false},
     {{CARRIED}, {DECIDED}, {BARRIER}, {CARRIED}, {CARRIED, .has_callback = true}},
     0,
     true},
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
     0,
     true},
    {"submission that fails",
     {true},
     {{CARRIED, .outcome = CL_INVALID_KERNEL, .has_callback = true},
      {CARRIED, 0, {1}},
      {CARRIED, .waited = true}},
     0,
     true},
    {"a kernel that fails",
     {true, true},
     {{CARRIED, .outcome = -5},
      {CARRIED, 0, {1}},
      {CARRIED, 1, {1}, .has_callback = true},
      {DECIDED, 1, {3}, .waited = true}},
     0,
     true},
    {"two threads that wait",
     {true, true},
     {{CARRIED, .waited = true},
      {DECIDED, .waited = true},
      {CARRIED, 1, {2}, .waited = true},
      {CARRIED, 1, {1}, .waited = true}},
     2,
     true},
    {"two threads with callbacks",
     {true, false},
     {{CARRIED, .has_callback = true},
      {CARRIED, .polled = true},
      {CARRIED, 1, {1}, .has_callback = true},
      {DECIDED, 1, {2}}},
     2,
     true},
    {"a board that is held between carried commands",
     {true},
     {{CARRIED}, {HELD}, {CARRIED}, {HELD}, {HELD}, {CARRIED}},
     0,
     true},
    {"two threads that hold a board",
     {true, true},
     {{CARRIED}, {HELD}, {CARRIED, 1, .has_callback = true}, {HELD}, {CARRIED, 1}},
     2,
     false},
    {"a thread that carries beside a held board",
     {true, false},
     {{DIRECT}, {HELD}, {DIRECT}, {CARRIED, 1}, {HELD}},
     3,
     false},
    {"decided commands between carried ones on a board that is held",
     {true, true},
     {{CARRIED}, {DECIDED}, {CARRIED}, {CARRIED, 1}, {HELD}, {DECIDED}, {CARRIED}},
     0,
     true},
    {"two threads with decided commands behind those that they run at once",
     {true, true},
     {{CARRIED}, {DECIDED}, {DIRECT}, {CARRIED, 1}, {DECIDED, 1}, {CARRIED, 1}},
     3,
     false},
    {"a board that is held beside commands out of order",
     {false, false, true},
     {{CARRIED}, {CARRIED}, {CARRIED, 1}, {HELD}, {CARRIED, .outcome = -5}, {HELD}},
     0,
     false,
     OBSERVES},
    {"ends that nobody waits for",
     {true, false},
     {{CARRIED}, {CARRIED}, {CARRIED, 1}, {CARRIED, 1, .outcome = CL_INVALID_KERNEL}},
     0,
     false,
     OBSERVES},
    {"ends that are noted on request",
     {true, false},
     {{CARRIED}, {CARRIED}, {CARRIED, 1}, {CARRIED, 1}},
     0,
     false,
     NOTES},
    {"what is not for an engine while the caller runs other queues",
     {true, true},
     {{USER}, {DECIDED, 1}, {CARRIED, 0, {1}, .of = CORE_MOVES}, {DECIDED, 1, .waited = true}},
     0,
     true},
    {"threads that wait and run what their commands need",
     {true, true},
     {{CARRIED},
      {DECIDED, 0, {0}},
      {CARRIED, 1, {2}},
      {DECIDED, 1, .waited = true},
      {DECIDED, 0, {3}, .waited = true}},
     4,
     false,
     .helps = true},
    {"decided commands that fail",
     {true, false},
     {{DECIDED, .outcome = -5},
      {DECIDED, 0, {1}},
      {CARRIED, 1, {2}},
      {MARKER, 1, {0}, .decides = true},
      {DECIDED, 1, {4}, .has_callback = true}},
     0,
     true,
     .helps = true},
    {"a decided barrier behind a user event",
     {false},
     {{USER},
      {CARRIED, 0, {1}},
      {BARRIER, .decides = true, .has_callback = true},
      {CARRIED},
      {DECIDED, 0, .waited = true}},
     0,
     true,
     .helps = true},
    {"commands that are carried on a board that has changed",
     {true, true},
     {{USER},
      {CARRIED, 0, {1}},
      {CARRIED},
      {HELD, .comes_first = true},
      {CARRIED, 1, {2}, .of = CORE_MOVES}},
     0,
     true,
     .renews = true},
    {"a thread that waits until all that is left waits for the host",
     {true, false},
     {{DECIDED},
      {CARRIED, .outcome = CL_INVALID_KERNEL},
      {USER},
      {CARRIED, 1, {2}, .of = CORE_MOVES},
      {DECIDED, 1, {3}, .waited = true}},
     0,
     false,
     OBSERVES,
     .rests = true},
    {"the same beside a board that is held and a thread that carries",
     {true, true},
     {{CARRIED}, {DECIDED}, {DIRECT}, {HELD}, {CARRIED, 1, {2}}, {USER}, {CARRIED, 1, {6}}},
     3,
     false,
     .rests = true},
    {"two threads with decided commands",
     {true, true},
     {{DECIDED}, {DECIDED, .waited = true}, {DECIDED, 1, {1}}, {CARRIED, 1, {2}, .waited = true}},
     2,
     true},
};

/* Without other threads: what is said of decided commands behind a user event, which then dies. */
static void describe_what_waits(void)
{
    enum { FIRST = 1, SECOND, THIRD };
    uintptr_t known[4] = {0};
    int32_t errors[4];
    struct core_command *carried, *made[3], *gate = core_user_event();
    static const struct host described = {.name = "a description of what waits"};
    host = &described;
    host_name = host->name;
    caller = core_caller_new(NULL, NULL);
    struct core_queue *queue = core_queue_new(caller, true), *other = core_queue_new(caller, false);
    made[0] = core_decide(queue, CORE_WORK, FIRST, 1, &gate);
    made[1] = core_decide(queue, CORE_WORK, SECOND, 0, NULL);
    struct core_command *const list[] = {gate, made[1]};
    made[2] = core_decide(other, CORE_WORK, THIRD, 2, list);
    CHECK(core_awaited(made[0], 4, known) == 0, "a user event is a command to wait for");
    CHECK(core_awaited(made[2], 4, known) == 1 && known[0] == SECOND, "another one is awaited");
    CHECK(core_awaited(made[2], 0, known) == 0, "more are written than there is room for");
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
        core_release(made[i]);
    }
    core_release(gate);
    core_queue_release(queue);
    core_queue_release(other);
    core_caller_release(caller);
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
    made->runs_one = random_below(3) == 0;
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
        plan->decides = random_below(2) == 0 && (plan->kind == MARKER || plan->kind == BARRIER);
        if (is_beside(plan->kind)) {
            plan->has_callback = false;
            continue;
        }
        if (plan->kind == CARRIED || plan->kind == DECIDED || plan->kind == USER)
            plan->outcome = outcomes[random_below(7)];
        for (int j = 0; plan->kind != USER && j < LISTED; j++) {
            int before = random_below(3) == 0 && i > 0 ? 1 + (int)random_below((unsigned)i) : 0;
            if (before != 0 && !is_beside(made->plans[before - 1].kind))
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
    describe_what_waits();
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
            run(&made);
        }
    }
    printf("%lu schedules\n", done);
    return 0;
}
