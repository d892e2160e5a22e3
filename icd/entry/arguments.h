/* SPDX-License-Identifier: Apache-2.0
 *
 * The arguments of kernels that C sets, and the facts about all kernels of a name: the
 * pattern, with which new ones begin. Both are reference-counted. */
#pragma once

#include "boards.h"
#include "for_python.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

FOR_PYTHON enum { FPGART_ARGUMENTS = 64, FPGART_VALUE = 256 };
FOR_PYTHON struct fpgart_argument {
    uint32_t index;
    uint32_t size;     /* bytes of a value, or of local memory */
    uintptr_t pointer; /* an address that the kernel dereferences; 0: something else */
    uintptr_t buffer;  /* its handle, and its serial then; 0: a value */
    uint64_t serial;
    uint32_t is_local;
    uint32_t is_null; /* 1: NULL instead of a buffer */
    unsigned char value[FPGART_VALUE];
};
struct fpgart_program { /* of a kernel: its number, the size of its binary, and 1 if its kernels may
                           poll what other commands write */
    uint64_t number, size, may_poll;
};
struct fpgart_nd_range {
    uint64_t sizes[9]; /* offset, global and local size */
    uint32_t dimensions;
    uint32_t has_local;
};
FOR_PYTHON enum { FPGART_IN_ALLOCATION = 16 };
FOR_PYTHON struct fpgart_use { /* of a buffer by a command: the first byte, or the index of the
                                  argument */
    uintptr_t buffer;
    uint64_t at;
};
struct carried;

struct fpgart_arguments *fpgart_pattern_new(uint32_t count, const char *name, uintptr_t program);
const char *fpgart_pattern_name(const struct fpgart_arguments *pattern);
/* Returns the arguments of a new kernel, of which none is set. NULL without memory. */
struct fpgart_arguments *fpgart_arguments_like(struct fpgart_arguments *pattern);
/* Writes the pattern of a kernel's arguments, and returns its program. */
uintptr_t fpgart_pattern_of(const struct fpgart_arguments *arguments,
                            struct fpgart_arguments **pattern);
/* Copies the arguments of a kernel of the same name to a new one. Returns 0 if C has not all. */
int fpgart_arguments_copy(struct fpgart_arguments *made, struct fpgart_arguments *from);
/* Gives arguments to a kernel that Python has made, if it has none. Returns the address of a word
 * that is not 0 while Python has not got all of them; NULL without memory. */
uint64_t *fpgart_arguments_begin(fpgart_arguments_slot *slot, struct fpgart_arguments *pattern);
uint64_t *fpgart_unheard_arguments(fpgart_arguments_slot *slot); /* that word; NULL: none */
void fpgart_arguments_retain(struct fpgart_arguments *arguments);
void fpgart_arguments_release(struct fpgart_arguments *arguments);
void fpgart_arguments_free(fpgart_arguments_slot *slot);
/* These return NULL if C does not know the kernel's name. */
fpgart_answers *fpgart_kernel_answers(fpgart_arguments_slot *slot); /* for all of the name */
const char *fpgart_name_of(fpgart_arguments_slot *slot);

AT_ONCE void fpgart_accept_values(uintptr_t kernel, uint32_t index, size_t size, int is_structure);
AT_ONCE void fpgart_accept_local_sizes(uintptr_t kernel, uint32_t index);
AT_ONCE void fpgart_accept_buffers(uintptr_t kernel, uint32_t index, uintptr_t context, int placed);
AT_ONCE void fpgart_accept_svm_pointers(uintptr_t kernel, uint32_t index, uintptr_t context);
AT_ONCE void fpgart_accept_usm_pointers(uintptr_t kernel, uint32_t index, uintptr_t context,
                                        size_t alignment);
int fpgart_sets_argument(const void *kernel, cl_uint index, size_t size, const void *value);
int fpgart_sets_svm_pointer(const void *kernel, cl_uint index, const void *pointer);
int fpgart_sets_usm_pointer(const void *kernel, cl_uint index, const void *pointer);
/* Writes up to FPGART_ARGUMENTS arguments that Python has not got. Returns their number. */
AT_ONCE uint32_t fpgart_take_arguments(uintptr_t kernel, struct fpgart_argument *taken);
AT_ONCE void fpgart_argument_changed(uintptr_t kernel, uint32_t index);
/* Sets the kinds of allocations that a kernel may reach besides its arguments, as Indirect in
 * fpgart/runtime/memory/usm_use.py, and FPGART_LISTED for a list of allocations. */
FOR_PYTHON enum { FPGART_LISTED = 64 };
AT_ONCE void fpgart_kernel_reaches(uintptr_t kernel, uint64_t kinds);
/* Returns 1 for a valid value that changes nothing about the kernel. */
int fpgart_keeps_exec_info(const void *kernel, cl_kernel_exec_info name, size_t size,
                           const void *value);

AT_ONCE void fpgart_kernel_is(uintptr_t kernel, uintptr_t board, uint64_t epoch,
                              uintptr_t engine_kernel, const char *image, uint32_t size,
                              const uint32_t *locations, const uint64_t *limits);
/* Writes the operation of a launch from its arguments and ND-range; 0 leaves it to Python.
 * `uses`: the buffers that it uses, which are held from then on. */
int fpgart_lay_out_launch(uintptr_t kernel, const struct fpgart_carried_queue *queue,
                          const struct fpgart_nd_range *nd_range, uint64_t epoch,
                          struct carried *carried, size_t room, struct fpgart_use *uses,
                          uint32_t *count, struct fpgart_program *program, uint64_t *reaches);
/* fpgart_renew_launch() updates a launch's addresses; true if the kernel is known in the
 * epoch, and its buffers are in the right memories. fpgart_kernel_holds(), for Python: the
 * kernel's facts hold in the epoch. */
bool fpgart_renew_launch(uintptr_t kernel, const struct fpgart_carried_queue *queue, uint64_t epoch,
                         struct carried *carried, uint32_t count, const struct fpgart_use *uses);
AT_ONCE void fpgart_kernel_holds(uintptr_t kernel, uintptr_t board, uint64_t epoch);
