/* SPDX-License-Identifier: Apache-2.0
 *
 * What C knows of a kernel and of its arguments, and of all kernels of a name: the pattern, with
 * which new ones begin. Both are reference-counted. */
#pragma once

#include "boards.h"
#include "for_python.h"
#include "remembered.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

struct argument;

struct fpgart_program { /* of a kernel: its number, the size of its binary, and 1 if its kernels may
                           poll what other commands write */
    uint64_t number, size, may_poll;
};
enum { FPGART_KNOWN = 4 }; /* boards with facts about a kernel; the oldest is replaced first */

/* The arguments that Python accepts. */
struct facts {
    uint32_t size;           /* bytes of a value; 0: none */
    uint32_t location;       /* Python's number of the argument's memory */
    uint64_t buffer_context; /* the context of buffers; 0: none */
    uint64_t svm_context;    /* the context in which any SVM pointer is accepted; 0: none */
    uint64_t usm_context;    /* the context of the allocations for USM pointers; 0: none */
    size_t alignment;        /* that USM pointers need */
    int is_local;            /* 1: any size of local memory is accepted */
    int needs_place;         /* 1: a buffer has to have a place before it is set */
    int is_structure;        /* 1: the engine may not know its size */
};

struct place {
    struct facts facts;
    uintptr_t buffer; /* the buffer that is set; 0: none is */
    uint64_t serial;
    int is_unheard; /* 1: Python has not got the argument */
    int is_missing; /* 1: the image does not have it */
};

/* The engine's facts about a kernel, for one board. */
struct known {
    const struct fpgart_board *board;
    uint64_t epoch;
    uintptr_t engine_kernel;
    uint64_t required[3]; /* the local size that its source requires; 0 for none */
    uint64_t most;        /* work-items of a group; `limits`: by dimension */
    uint64_t limits[3];
    uint64_t local_room; /* bytes of local memory for arguments */
    struct fpgart_program program;
};

struct fpgart_arguments {
    _Atomic uint64_t unheard; /* the number of arguments that Python has not got */
    _Atomic uint32_t references;
    struct fpgart_arguments *pattern; /* NULL: this is a pattern */
    char *name;                       /* of a pattern */
    uintptr_t program;                /* of a pattern */
    fpgart_answers answers;           /* which hold for all its kernels */
    pthread_mutex_t lock;
    uint64_t reaches; /* allocations besides its arguments: a bit for each kind */
    uint32_t next;    /* the index in `known` to replace next */
    struct known known[FPGART_KNOWN];
    struct argument *image; /* the arguments in the engine's form, with buffers' handles; or NULL */
    uint32_t size;          /* bytes of the image, with the values behind the arguments */
    uint32_t missing;       /* the number of arguments that the image does not have */
    uint32_t count;
    struct place places[];
};

/* Of an argument of pointers into allocations, beside those of enum argument_kind (calls.h). */
FOR_PYTHON enum { FPGART_IN_ALLOCATION = 16 };

/* Returns what C knows of a kernel; NULL: nothing. */
struct fpgart_arguments *fpgart_arguments_of_kernel(uintptr_t kernel);
struct fpgart_arguments *fpgart_pattern_new(uint32_t count, const char *name, uintptr_t program);
/* Returns the arguments of a new kernel, of which none is set. NULL without memory. */
struct fpgart_arguments *fpgart_arguments_like(struct fpgart_arguments *pattern);
/* Copies the arguments of a kernel of the same name to a new one. Returns 0 if C has not all. */
int fpgart_arguments_copy(struct fpgart_arguments *made, struct fpgart_arguments *arguments);
void fpgart_arguments_release(struct fpgart_arguments *arguments);
/* These return NULL if C does not know the kernel's name. */
fpgart_answers *fpgart_kernel_answers(fpgart_arguments_slot *slot); /* for all of the name */
const char *fpgart_name_of(fpgart_arguments_slot *slot);
