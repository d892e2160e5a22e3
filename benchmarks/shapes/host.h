/* SPDX-License-Identifier: Apache-2.0
 *
 * What all shapes have: a device with an in-order queue, buffers that hold 0, and `add` of some
 * programs. */
#pragma once
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>

enum {
    PROGRAMS = 19,
    BUFFERS = 8,
    ITEMS = 64,
    SMALL = ITEMS * sizeof(cl_int),
    LARGE = 1 << 16,
    UNKNOWN = -1
};

extern cl_context context;
extern cl_kernel kernels[PROGRAMS]; /* `add` of each program */
extern cl_mem buffers[BUFFERS];
extern cl_command_queue queue; /* of the shape that runs */

void must(cl_int status, const char *what);
double now(void); /* microseconds */
int has_svm(void);
cl_command_queue new_queue(cl_command_queue_properties properties);
cl_kernel new_kernel(const char *name);
cl_mem new_buffer(cl_mem_flags flags, size_t size, void *data);
void set(cl_kernel kernel, cl_mem x, cl_mem y, cl_int n);
void launch_of(cl_command_queue on, cl_kernel kernel, size_t items, cl_uint waits,
               const cl_event *list, cl_event *event);
void launch(void);
cl_event launch_event(void);
void finish(void);
void wait_and_release(cl_event event);
void read_small(cl_mem from, cl_bool blocking, cl_int *into, cl_uint waits, const cl_event *list,
                cl_event *event);
cl_ulong running_time(cl_event event);
void clear_buffers(void);
/* Finds the device, makes the buffers, builds the programs. */
void start(void);

/* Each shape makes `count` launches and waits for them. It returns the first number of buffer 0 as
 * it has to be then, or UNKNOWN. Buffers hold 0 before, and `add` adds 1. */
cl_int plain(int count);
cl_int events_read(int count);
cl_int each_profiled(int count);
cl_int each_finished(int count);
cl_int unordered(int count);
cl_int chained(int count);
cl_int two_queues(int count);
cl_int double_buffered(int count);
cl_int pipelined(int count);
cl_int beside_polling(int count);
cl_int joined(int count);
cl_int asked(int count);
cl_int sizes(int count);
cl_int tasks(int count);
cl_int markers(int count);
cl_int barriers(int count);
cl_int callbacks(int count);
cl_int polled(int count);
cl_int user_events(int count);
cl_int continued(int count);
cl_int user_callbacks(int count);
cl_int empty_ranges(int count);
cl_int threads(int count);
cl_int programs_in_turn(int count);
cl_int kernels_in_turn(int count);
cl_int arguments(int count);
cl_int ping_pong(int count);
cl_int write_launch_read(int count);
cl_int write_launch_read_events(int count);
cl_int map_launch(int count);
cl_int copy_launch(int count);
cl_int fill_launch(int count);
cl_int rectangles(int count);
cl_int rectangles_copied(int count);
cl_int migrations(int count);
cl_int structures(int count);
cl_int many_arguments(int count);
cl_int buffer_each(int count);
cl_int buffer_of_a_size_each(int count);
cl_int kernel_each(int count);
cl_int queue_each(int count);
cl_int sub_buffers(int count);
cl_int svm_pointers(int count);
cl_int svm_copies(int count);
cl_int svm_maps(int count);
cl_int svm_migrations(int count);
cl_int svm_each(int count);
cl_int svm_freed_by_the_queue(int count);
cl_int migrations_to_host(int count);
cl_int host_memory_each(int count);
