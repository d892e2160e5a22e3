/* SPDX-License-Identifier: Apache-2.0
 *
 * Queues of the core with very many commands: what is kept of those that have ended, how often the
 * engine is asked, the system calls, and the memory of markers. Prints "name number" lines. */
#include "command.h"

#include <stdio.h>
#include <stdlib.h>

enum { COMMANDS = 10000 };

struct event {
    int32_t status;
};

static unsigned asked, system_calls;
static int32_t status_of_new;
static bool have_ended; /* all commands, whatever status they had */

/* Stands for the function of the C library. This program has one thread, which never sleeps. */
long syscall(long number, ...)
{
    (void)number;
    system_calls++;
    return 0;
}

static int32_t submit(void *lane, void *operation, uint32_t count, void *const *after, void **event)
{
    (void)lane, (void)operation, (void)count, (void)after;
    struct event *made = calloc(1, sizeof *made);
    made->status = status_of_new;
    *event = made;
    return made != NULL ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY;
}

static void ended(void *operation, int32_t status)
{
    (void)operation, (void)status;
}

static int32_t status(void *event)
{
    asked++;
    return have_ended ? CL_COMPLETE : ((struct event *)event)->status;
}

static uint64_t now(void)
{
    return 1;
}

static const struct core_engine engine = {
    .submit = submit, .ended = ended, .status = status, .release = free, .now = now};

static struct core_queue *new_queue(struct core_caller *caller, struct core_board *board,
                                    bool in_order)
{
    struct core_queue *queue = core_queue_new(caller, in_order);
    core_queue_carry(queue, board, &(struct core_lane){.engine = &engine});
    return queue;
}

static void fill(struct core_queue *queue, uint64_t epoch, int count)
{
    for (int i = 0; i < count; i++)
        core_release(
            core_enqueue(queue, CORE_WORK, CORE_POLLS, epoch, &epoch, sizeof epoch, 0, NULL));
}

/* Prints how many commands behind many have room for more links than a few. */
static void print_roomy(const char *what, struct core_queue *queue, enum core_role role,
                        uint32_t count, struct core_command *const *wait_list)
{
    unsigned roomy = 0;
    for (int i = 0; i < COMMANDS; i++) {
        struct core_command *made = core_decide(queue, role, 1, count, wait_list);
        roomy += made->links != made->few;
    }
    printf("%s with room for many links %u\n", what, roomy);
}

int main(void)
{
    struct core_caller *caller = core_caller_new(NULL, NULL);
    struct core_board *board = core_board_new(NULL, NULL);
    uint64_t epoch = core_board_epoch(board);
    struct core_command *user = core_user_event();
    struct core_queue *behind = new_queue(caller, board, false);
    struct core_queue *other = new_queue(caller, board, true);

    status_of_new = CL_COMPLETE;
    core_decide(behind, CORE_WORK, 1, 1, &user);
    fill(behind, epoch, COMMANDS);
    printf("open behind a decided command %u\n", behind->open);
    core_board_note(board, true);
    printf("others behind a decided command %d\n", !core_engine_may_get(other, CORE_MOVES, 0));

    struct core_queue *carried = new_queue(caller, board, false);
    status_of_new = CL_RUNNING;
    core_enqueue(carried, CORE_WORK, CORE_CARRIED, epoch, &epoch, sizeof epoch, 0, NULL);
    status_of_new = CL_COMPLETE;
    fill(carried, epoch, COMMANDS);
    printf("open behind one that runs %u\n", carried->open);

    struct core_queue *behind_many = new_queue(caller, board, false);
    status_of_new = CL_RUNNING;
    fill(behind_many, epoch, 500);
    status_of_new = CL_COMPLETE;
    fill(behind_many, epoch, COMMANDS);
    printf("open behind many that run %u\n", behind_many->open);

    struct core_queue *ordered = new_queue(caller, board, true);
    fill(ordered, epoch, COMMANDS);
    printf("open in order %u\n", ordered->open);

    printf("system calls without a thread that sleeps %u\n", system_calls);

    for (int in_order = 0; in_order < 2; in_order++) {
        struct core_queue *running = new_queue(caller, board, in_order);
        core_board_note(board, false); /* the ends of the queues before */
        status_of_new = CL_RUNNING;
        asked = 0;
        fill(running, epoch, 1024);
        printf("asked by few, %s %u\n", in_order ? "in order" : "out of order", asked);
        fill(running, epoch, COMMANDS - 1024);
        printf("asked by many, %s %u\n", in_order ? "in order" : "out of order", asked);
        asked = 0;
        core_note_queue(running, true);
        printf("asked to note all, %s %u\n", in_order ? "in order" : "out of order", asked);
        asked = 0;
        core_board_note(board, true);
        printf("others %d\n", !core_engine_may_get(other, CORE_MOVES, 0));
        printf("asked for others, %s %u\n", in_order ? "in order" : "out of order", asked);
        asked = 0;
        have_ended = true;
        core_note_queue(running, true);
        printf("asked to note ends, %s %u\n", in_order ? "in order" : "out of order", asked);
        have_ended = false;
    }

    struct core_queue *waiting = new_queue(caller, board, false);
    core_decide(waiting, CORE_WORK, 1, 1, &user);
    print_roomy("markers", waiting, CORE_MARKER, 0, NULL);
    print_roomy("kernels", waiting, CORE_WORK, 0, NULL);
    print_roomy("markers with a wait list", waiting, CORE_MARKER, 1, &user);
    print_roomy("markers in order", new_queue(caller, board, true), CORE_MARKER, 0, NULL);
    return 0;
}
