/* Each launch that C carries is read once, after its call and its end; launches of a queue in order
 * are read in their order, in whichever order threads learn of their ends (icd/entry/watched.c). */
#define _GNU_SOURCE
#include "steps.h"

#include "../../icd/entry/watched.c"

enum { LAUNCHES = 4, MOST = 2, IN_ORDER = 1, OUT_OF_ORDER = 2 };

static struct fpgart_carried_queue in_order,
    out_of_order = {.properties = CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE};
static struct fpgart_launch *made[LAUNCHES], *found[LAUNCHES];
static struct held held = {.queue = IN_ORDER};
static struct carried operation;
static uint32_t count;
static int over; /* so many have ended before a reading */

struct fpgart_carried_queue *fpgart_carried_queue(uintptr_t queue)
{
    return queue == IN_ORDER ? &in_order : &out_of_order;
}
const struct held *fpgart_held_by(const struct carried *carried)
{
    return carried == &operation ? &held : NULL;
}
int fpgart_watches_launches(void)
{
    return FPGART_TRACED;
}
void *core_operation(struct core_command *command)
{
    return command == NULL ? &operation : NULL;
}
uint64_t fpgart_handle_serial(uintptr_t handle)
{
    return handle;
}
size_t fpgart_frames_of_call(uintptr_t *frames, size_t most, int in_python)
{
    (void)frames;
    return most != 0 && !in_python ? 0 : most;
}
void core_times(struct core_command *command, uint64_t times[4])
{
    times[CL_RUNNING] = command == NULL;
    times[CL_COMPLETE] = 2;
}
void core_retain(struct core_command *command)
{
    (void)command;
}
void core_release(struct core_command *command)
{
    (void)command;
}
void fpgart_let_go_later(const struct held *of)
{
    (void)of;
}

/* What a launch that is only noted does not call. */
#define NOT_CALLED(type, name, ...)                                                                \
    type name(__VA_ARGS__)                                                                         \
    {                                                                                              \
        abort();                                                                                   \
    }
NOT_CALLED(void, fpgart_note_launches, int how)
NOT_CALLED(int, fpgart_is_guest, void)
NOT_CALLED(const char *, fpgart_name_of, fpgart_arguments_slot *slot)
NOT_CALLED(fpgart_arguments_slot *, fpgart_arguments_of, uintptr_t kernel)
NOT_CALLED(uintptr_t, fpgart_owner_of, uintptr_t buffer)
NOT_CALLED(struct fpgart_place *, fpgart_place_of, uintptr_t buffer)
NOT_CALLED(struct fpgart_region *, fpgart_region_of, uintptr_t buffer)

static void read_ends(void)
{
    count = fpgart_take_launches(LAUNCHES, found);
}

static void end(int launch)
{
    held.watched = made[launch];
    fpgart_launch_over(&operation, &held, CL_COMPLETE);
}

static void end_others(void)
{
    for (int i = over; i < LAUNCHES; i++)
        end(i);
}

static void note_launch(int launch, uintptr_t queue, int in_python)
{
    held.queue = queue;
    made[launch] = fpgart_launch_new(&held, &operation, 0, 0, in_python);
    if (made[launch] == NULL)
        abort();
}

static void return_from_call(void)
{
    fpgart_launch_called(made[0], NULL, &held);
}

static void end_first(void)
{
    end(0);
}

static void enqueue(int launch, uintptr_t queue, int in_python)
{
    note_launch(launch, queue, in_python);
    fpgart_launch_called(made[launch], NULL, &held);
}

/* Stops the program unless the rule holds. */
static void must_hold(int holds, const char *rule)
{
    if (holds)
        return;
    printf("%s\n", rule);
    exit(1);
}

static void must_count(uint32_t expected, const char *rule)
{
    must_hold(count == expected, rule);
}

/* The last reading has found this launch. */
static void must_be(uint32_t index, int launch, const char *rule)
{
    must_hold(index < count && found[index] == made[launch] && found[index]->start == 1 &&
                  found[index]->end == 2,
              rule);
}

static void others_end_within_a_reading(void)
{
    int at = 0;
    for (int is_last = 0; !is_last; at++) {
        for (int i = 0; i < LAUNCHES; i++)
            enqueue(i, IN_ORDER, 1);
        for (int i = 0; i < over; i++)
            end(i);
        is_last = !interrupted_at(at, read_ends, end_others);
        if (is_last)
            end_others();
        for (uint32_t i = 0; i < count; i++)
            must_be(i, (int)i, "launches are not read in the order of their queue");
        uint32_t before = count;
        fpgart_launches_written(before, found);
        read_ends();
        for (uint32_t i = 0; i < LAUNCHES - before; i++)
            must_be(i, (int)(before + i), "the next reading does not find the others");
        fpgart_launches_written(count, found);
    }
}

static void ends_are_told_in_another_order(void)
{
    for (int i = 0; i < LAUNCHES; i++)
        enqueue(i, IN_ORDER, 1);
    for (int i = LAUNCHES - 1; i > 0; i--)
        end(i);
    read_ends();
    must_count(0, "a launch does not wait for one of its queue in order");
    end(0);
    read_ends();
    must_count(LAUNCHES, "launches wait for one that has ended");
    for (uint32_t i = 0; i < LAUNCHES; i++)
        must_be(i, (int)i, "launches are not read in the order of their queue");
    fpgart_launches_written(count, found);
}

static void one_ends_while_its_call_returns(void)
{
    int at = 0;
    for (int is_last = 0; !is_last; at++) {
        note_launch(0, IN_ORDER, 1);
        is_last = !interrupted_at(at, return_from_call, end_first);
        if (is_last)
            end_first();
        read_ends();
        must_count(1, "a launch that ends while its call returns is not read once");
        fpgart_launches_written(count, found);
    }
    must_hold(at >= 3, "a call has fewer steps than its lock and what it counts");
}

static void calls_are_read_first(void)
{
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 3; i++) {
            enqueue(i, IN_ORDER, i == 1);
            end(i);
        }
        read_ends();
        must_count(0, "a launch is read before its call");
        count = fpgart_take_calls(1, found);
        must_count(1, "there are more calls than were asked for");
        read_ends();
        must_count(2, "the launches up to the next call are not read");
        fpgart_launches_written(count, found);
        enqueue(3, IN_ORDER, 0);
        end(3);
        count = fpgart_take_calls(LAUNCHES, found);
        must_count(2, "the other calls are not read");
        read_ends();
        must_count(2, "the launches of the other calls are not read");
        must_be(0, 2, "another launch is read");
        fpgart_launches_written(count, found);
    }
    must_hold(fpgart_launches_left() == 0, "launches that are written are left");
}

static void one_does_not_end(void)
{
    enqueue(0, OUT_OF_ORDER, 1);
    enqueue(1, IN_ORDER, 1);
    enqueue(2, IN_ORDER, 1);
    enqueue(3, OUT_OF_ORDER, 1);
    end(2);
    end(3);
    read_ends();
    must_be(0, 3, "a launch waits for one of a queue out of order");
    must_count(1, "a launch does not wait for one of its queue in order");
    fpgart_launches_written(count, found);
    enqueue(3, OUT_OF_ORDER, 1);
    end(0);
    end(1);
    end(3);
    for (int first = 0; first < LAUNCHES; first += MOST) {
        count = fpgart_take_launches(MOST, found);
        for (int i = 0; i < MOST; i++)
            must_be((uint32_t)i, first + i, "a launch is not found after its end");
        must_count(MOST, "there are more launches than were asked for");
        fpgart_launches_written(count, found);
    }
}

static void launches_that_end_alike_are_told_together(void)
{
    const int32_t statuses[LAUNCHES] = {CL_COMPLETE, CL_COMPLETE, -5, CL_COMPLETE};
    const uint32_t alike[LAUNCHES] = {2, 0, 1, 1};
    for (int i = 0; i < LAUNCHES; i++) {
        enqueue(i, IN_ORDER, 1);
        held.watched = made[i];
        fpgart_launch_over(&operation, &held, statuses[i]);
    }
    read_ends();
    for (int i = 0; i < LAUNCHES; i++)
        must_hold(found[i]->alike == alike[i], "launches that ended otherwise count as alike");
    fpgart_launches_written(count, found);
}

int main(void)
{
    for (over = 0; over < LAUNCHES; over++)
        others_end_within_a_reading();
    ends_are_told_in_another_order();
    one_ends_while_its_call_returns();
    calls_are_read_first();
    one_does_not_end();
    launches_that_end_alike_are_told_together();
    return 0;
}
