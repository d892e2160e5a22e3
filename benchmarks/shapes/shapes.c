/* SPDX-License-Identifier: Apache-2.0
 *
 * What one small launch costs in many shapes of hosts, on the one driver that the loader finds.
 * Prints a line per shape: its name and the microseconds of a launch with everything that belongs
 * to it, the best of several rounds. Shapes with SVM are left out if the device has none. Results
 * are checked; a wrong one ends the program with status 1.
 *
 *     shapes [ROUNDS [SHAPE...]] */
#include "host.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MANY = 2000, SOME = 1000, FEW = 500, WARM_UP = 38 };

static const cl_command_queue_properties profiling = CL_QUEUE_PROFILING_ENABLE;
static const cl_command_queue_properties out_of_order = CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;

static const struct shape {
    const char *name;
    cl_int (*run)(int count);
    int count;
    const cl_command_queue_properties *properties; /* NULL for none */
} shapes[] = {
    {"plain", plain, MANY, NULL},
    {"profiling", plain, MANY, &profiling},
    {"profiling,_events_read_at_the_end", events_read, MANY, &profiling},
    {"profiling,_each_waited_for_and_read", each_profiled, FEW, &profiling},
    {"clFinish_after_each", each_finished, FEW, NULL},
    {"out_of_order", unordered, MANY, &out_of_order},
    {"out_of_order,_each_waits_for_the_one_before", chained, MANY, &out_of_order},
    {"in_order,_each_waits_for_the_one_before", chained, MANY, NULL},
    {"out_of_order,_one_waits_for_99", joined, MANY, &out_of_order},
    {"two_queues,_each_waits_for_the_other", two_queues, SOME, NULL},
    {"a_queue_for_transfers,_two_buffers", double_buffered, SOME, NULL},
    {"a_queue_each_for_writes,_launches_and_reads", pipelined, SOME, NULL},
    {"a_queue_for_writes_beside_kernels_that_may_poll", beside_polling, SOME, NULL},
    {"19_programs_in_turn", programs_in_turn, MANY, NULL},
    {"two_kernels_in_turn", kernels_in_turn, MANY, NULL},
    {"three_arguments_set", arguments, MANY, NULL},
    {"two_buffers_exchanged", ping_pong, MANY, NULL},
    {"write,_launch,_blocking_read", write_launch_read, FEW, NULL},
    {"write,_launch,_read,_by_events", write_launch_read_events, FEW, &profiling},
    {"map,_unmap,_launch", map_launch, FEW, NULL},
    {"copy,_launch", copy_launch, SOME, NULL},
    {"fill,_launch", fill_launch, SOME, NULL},
    {"rectangle_written,_launch", rectangles, SOME, NULL},
    {"rectangle_copied,_launch", rectangles_copied, SOME, NULL},
    {"migration,_launch", migrations, SOME, NULL},
    {"SVM_copied,_launch", svm_copies, SOME, NULL},
    {"SVM_mapped,_unmapped,_launch", svm_maps, FEW, NULL},
    {"SVM_migration,_launch", svm_migrations, SOME, NULL},
    {"SVM_each", svm_each, FEW, NULL},
    {"SVM_each,_freed_by_the_queue", svm_freed_by_the_queue, FEW, NULL},
    {"migration_to_the_host,_launch", migrations_to_host, FEW, NULL},
    {"a_buffer_of_the_host's_memory_each", host_memory_each, FEW, NULL},
    {"a_structure_set", structures, MANY, NULL},
    {"72_arguments,_a_large_structure_and_the_last_set", many_arguments, MANY, NULL},
    {"a_buffer_each,_read", buffer_each, FEW, NULL},
    {"a_buffer_of_another_size_each", buffer_of_a_size_each, SOME, NULL},
    {"a_kernel_each", kernel_each, FEW, NULL},
    {"a_queue_each", queue_each, FEW, NULL},
    {"13_sizes_in_turn", sizes, MANY, NULL},
    {"the_kernel_is_asked_for_its_group_size", asked, MANY, NULL},
    {"tasks", tasks, MANY, NULL},
    {"a_marker_after_16,_waited_for", markers, MANY, NULL},
    {"out_of_order,_a_barrier_after_each", barriers, MANY, &out_of_order},
    {"a_callback_each", callbacks, SOME, NULL},
    {"each_asked_for_its_status_until_it_ends", polled, FEW, NULL},
    {"a_user_event_each", user_events, FEW, NULL},
    {"a_callback_that_enqueues_the_next", continued, SOME, NULL},
    {"a_callback_of_a_user_event_each", user_callbacks, SOME, NULL},
    {"a_launch_of_no_work-items,_launch", empty_ranges, SOME, NULL},
    {"a_sub-buffer_each", sub_buffers, FEW, NULL},
    {"SVM_pointers_exchanged", svm_pointers, MANY, NULL},
    {"4_threads,_a_read_after_8", threads, MANY, NULL},
};

/* Microseconds of one launch. */
static double round_of(const struct shape *shape, int count)
{
    cl_int result[ITEMS], expected;
    double begin, time;

    queue = new_queue(shape->properties ? *shape->properties : 0);
    clear_buffers();
    begin = now();
    expected = shape->run(count);
    time = now() - begin;
    read_small(buffers[0], CL_TRUE, result, 0, NULL, NULL);
    if (expected != UNKNOWN && result[0] != expected) {
        fprintf(stderr, "%s: buffer 0 holds %d after %d launches instead of %d\n", shape->name,
                result[0], count, expected);
        exit(1);
    }
    set(kernels[0], buffers[0], buffers[1], 1);
    must(clReleaseCommandQueue(queue), "clReleaseCommandQueue");
    return time / count;
}

static int chosen(const char *name, int count, char **names)
{
    for (int i = 0; i < count; i++)
        if (!strcmp(name, names[i]))
            return 1;
    return count <= 0;
}

int main(int count, char **words)
{
    int rounds = count > 1 ? atoi(words[1]) : 3;
    if (rounds < 1) {
        fprintf(stderr, "ROUNDS has to be at least 1, not %s\n", words[1]);
        return 2;
    }
    start();
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        double best;
        if (!chosen(shapes[i].name, count - 2, words + 2) ||
            (!strncmp(shapes[i].name, "SVM", 3) && !has_svm()))
            continue;
        round_of(&shapes[i], WARM_UP);
        best = round_of(&shapes[i], shapes[i].count);
        for (int round = 1; round < rounds; round++) {
            double time = round_of(&shapes[i], shapes[i].count);
            best = time < best ? time : best;
        }
        printf("%s %.3f\n", shapes[i].name, best);
        fflush(stdout);
    }
    return 0;
}
