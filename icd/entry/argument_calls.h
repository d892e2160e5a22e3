/* SPDX-License-Identifier: Apache-2.0
 *
 * The arguments and the settings of kernels that C sets. */
#pragma once

#include "for_python.h"

#include <CL/cl.h>

#include <stddef.h>
#include <stdint.h>

FOR_PYTHON enum { FPGART_VALUE = 4096 }; /* the bytes of the largest value that C sets */
/* An argument that C has set: a value, a size of local memory, NULL, a pointer, or the handle of a
 * buffer with its serial then. */
FOR_PYTHON struct fpgart_argument {
    uint32_t index, kind, size; /* enum argument_kind (calls.h), or FPGART_IN_ALLOCATION */
    uintptr_t pointer, buffer;
    uint64_t serial;
};

/* For Python: it accepts such arguments of the kernel, and of all kernels of its name. */
FOR_PYTHON enum {
    FPGART_VALUES,      /* of `number` bytes; `detail`: of a structure */
    FPGART_LOCAL_SIZES, /* any */
    FPGART_BUFFERS,     /* of the context `number`; `detail`: they need a place */
    FPGART_SVM,         /* any pointer; in the context `number` */
    FPGART_USM          /* pointers into allocations of the context `number`; `detail`: alignment */
};
AT_ONCE void fpgart_accept(uintptr_t kernel, uint32_t index, int what, uint64_t number,
                           uint64_t detail);
int fpgart_sets_argument(const void *kernel, cl_uint index, size_t size, const void *value);
int fpgart_sets_svm_pointer(const void *kernel, cl_uint index, const void *pointer);
int fpgart_sets_usm_pointer(const void *kernel, cl_uint index, const void *pointer);
/* Writes the first argument that Python has not got, and up to FPGART_VALUE bytes of its value.
 * Returns 0 if there is none. */
AT_ONCE int fpgart_take_argument(uintptr_t kernel, struct fpgart_argument *taken, char *value);
AT_ONCE void fpgart_argument_changed(uintptr_t kernel, uint32_t index);
/* Sets the kinds of allocations that a kernel may reach besides its arguments, as Indirect in
 * fpgart/runtime/memory/usm_use.py, and FPGART_LISTED for a list of allocations. */
FOR_PYTHON enum { FPGART_LISTED = 64 };
AT_ONCE void fpgart_kernel_reaches(uintptr_t kernel, uint64_t kinds);
/* Returns 1 for a valid value that changes nothing about the kernel. */
int fpgart_keeps_exec_info(const void *kernel, cl_kernel_exec_info name, size_t size,
                           const void *value);
