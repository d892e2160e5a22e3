/* SPDX-License-Identifier: Apache-2.0
 *
 * How the table of bad_input writes a call of the API down: a function's name and, for each
 * parameter, what to pass. Nothing here is resolved before a case runs, so that each thread passes
 * its own objects. */
#pragma once

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_0_APIS
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#define CL_USE_DEPRECATED_OPENCL_2_0_APIS
#define CL_USE_DEPRECATED_OPENCL_2_1_APIS
#define CL_USE_DEPRECATED_OPENCL_2_2_APIS
#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <CL/cl_gl.h>
#include <CL/cl_icd.h>

#include <stddef.h>
#include <stdint.h>

enum {
    MAX_ARGUMENTS = 16,
    MAX_CODES = 8,
    MAX_CHANGES = 5,
    BUFFER_SIZE = 4096,
    SCRATCH_SIZE = 65536
};

/* A code that stands for "any error, but not success". */
#define ANY_ERROR 1
/* Ends a list of codes; no status has this value. */
#define END_OF_CODES 2

enum type {
    T_PLATFORM,
    T_DEVICE,
    T_CONTEXT,
    T_QUEUE,
    T_MEM,
    T_PROGRAM,
    T_KERNEL,
    T_EVENT,
    T_SAMPLER,
    TYPES
};

/* The objects that each thread makes for itself, and their types. */
#define EACH_OBJECT(OBJECT)                                                                        \
    OBJECT(PLATFORM, PLATFORM)                                                                     \
    OBJECT(DEVICE, DEVICE)                                                                         \
    OBJECT(CONTEXT, CONTEXT)                                                                       \
    OBJECT(QUEUE, QUEUE)                                                                           \
    OBJECT(OUT_OF_ORDER_QUEUE, QUEUE)                                                              \
    OBJECT(BUFFER, MEM)                                                                            \
    OBJECT(OTHER_BUFFER, MEM)                                                                      \
    OBJECT(SUB_BUFFER, MEM)                                                                        \
    OBJECT(USE_HOST_BUFFER, MEM)                                                                   \
    OBJECT(HOST_WRITE_ONLY_BUFFER, MEM)                                                            \
    OBJECT(HOST_READ_ONLY_BUFFER, MEM)                                                             \
    OBJECT(HOST_NO_ACCESS_BUFFER, MEM)                                                             \
    OBJECT(KERNEL_WRITE_ONLY_BUFFER, MEM)                                                          \
    OBJECT(KERNEL_READ_ONLY_BUFFER, MEM)                                                           \
    OBJECT(IMAGE, MEM)                                                                             \
    OBJECT(SAMPLER, SAMPLER)                                                                       \
    OBJECT(PROGRAM, PROGRAM)                                                                       \
    OBJECT(UNBUILT_PROGRAM, PROGRAM)                                                               \
    OBJECT(FAILED_PROGRAM, PROGRAM)                                                                \
    OBJECT(COMPILED_PROGRAM, PROGRAM)                                                              \
    OBJECT(HEADER_PROGRAM, PROGRAM)                                                                \
    OBJECT(KERNEL, KERNEL)                                                                         \
    OBJECT(UNSET_KERNEL, KERNEL)                                                                   \
    OBJECT(HALF_SET_KERNEL, KERNEL)                                                                \
    OBJECT(LOCAL_KERNEL, KERNEL)                                                                   \
    OBJECT(FIXED_GROUP_KERNEL, KERNEL)                                                             \
    OBJECT(EVENT, EVENT)                                                                           \
    OBJECT(USER_EVENT, EVENT)                                                                      \
    OBJECT(COMPLETE_USER_EVENT, EVENT)                                                             \
    OBJECT(FAILED_EVENT, EVENT)                                                                    \
    OBJECT(UNPROFILED_EVENT, EVENT)                                                                \
    OBJECT(FOREIGN_CONTEXT, CONTEXT)                                                               \
    OBJECT(FOREIGN_QUEUE, QUEUE)                                                                   \
    OBJECT(FOREIGN_BUFFER, MEM)                                                                    \
    OBJECT(FOREIGN_PROGRAM, PROGRAM)                                                               \
    OBJECT(FOREIGN_KERNEL, KERNEL)                                                                 \
    OBJECT(FOREIGN_EVENT, EVENT)

#define OBJECT_NAME(name, type) name##_,
enum object { EACH_OBJECT(OBJECT_NAME) OBJECTS, NO_OBJECT = OBJECTS };

enum what {
    W_NOTHING = 0,
    W_NUMBER,
    W_POINTER, /* of the table itself */
    W_OBJECT,
    W_LIST,       /* a list of one object */
    W_WAIT_COUNT, /* zero, unless a case says otherwise; the list follows */
    W_WAIT_LIST,
    W_SCRATCH,     /* writable memory */
    W_SCRATCH_FAR, /* the same plus a number of bytes */
    W_OUT,         /* where a call puts a number or a handle */
    W_ERRCODE,
    W_EVENT_OUT,          /* a place for an event that has to be released afterwards */
    W_CONTEXT_PROPERTIES, /* a list that names the platform */
    W_BINARIES,           /* what CL_PROGRAM_BINARIES gave for PROGRAM_ */
    W_BINARY_SIZES,       /* and its size */
    W_FRESH_PROGRAM,      /* made for the call and released after it: a program with good source, */
    W_FRESH_BROKEN,       /* with source that does not compile, */
    W_FRESH_USER_EVENT,   /* a user event, */
    W_FRESH_MAPPED,       /* a mapping of BUFFER_, */
    W_FRESH_SVM,          /* an allocation that the call frees */
    W_FRESH_SVM_LIST,     /* the address of a pointer to such a one */
    W_SVM,                /* an allocation that stays; a number of bytes is added */
    W_SVM_LIST,           /* the address of a pointer to it */
    W_BUFFER_SIZES_LIMIT, /* CL_DEVICE_MAX_MEM_ALLOC_SIZE + 1 */
    W_GROUP_TOO_LARGE,    /* a work-group size beyond CL_DEVICE_MAX_WORK_GROUP_SIZE */
    W_MEM_LOCATIONS,      /* where a native kernel's arguments hold buffers */
    W_CB_CONTEXT,
    W_CB_CONTEXT_GONE,
    W_CB_MEM_GONE,
    W_CB_PROGRAM_GONE,
    W_CB_EVENT,
    W_CB_NATIVE
};

struct argument {
    enum what what;
    int object;
    uint64_t number;
    const void *pointer;
};

enum returns { STATUS, OBJECT, POINTER, NOTHING };

enum flags {
    INFO = 1,           /* parameter `info` and the next three: name, size, value, size_ret */
    RETAIN_FIRST = 2,   /* the call takes a reference away from its first argument */
    RELEASE_AFTER = 4,  /* the call adds one */
    MAY_BE_MISSING = 8, /* an extension's function */
    NEEDS_SVM = 16,     /* without SVM it answers CL_INVALID_OPERATION */
    NEEDS_IMAGES = 32,  /* without images it answers CL_INVALID_OPERATION */
    SLOW = 64,          /* calls a compiler */
    UNMAP_AFTER = 128,  /* returns a mapping of BUFFER_ */
    NEVER_WORKS = 256,  /* nobody can make the call succeed here; `valid` says how it fails */
    DEVICE_MAY_BE_NULL = 512
};

struct function {
    const char *name;
    size_t slot;
    enum returns returns;
    int flags;
    int info;
    enum type made;          /* by an OBJECT function */
    cl_int valid[MAX_CODES]; /* what the call as written may answer; empty: CL_SUCCESS */
    cl_int also[MAX_CODES];  /* what it may answer to a bad handle, beside the handle's own code */
    struct argument arguments[MAX_ARGUMENTS];
};

struct change {
    int parameter; /* from 1; 0 ends the list */
    struct argument argument;
};

struct bad_call {
    const char *function; /* NULL: that of the case before */
    const char *name;
    cl_int codes[MAX_CODES];
    struct change changes[MAX_CHANGES];
};

extern const struct function functions[];
extern const size_t function_count;
extern const struct bad_call bad_calls[];
extern const size_t bad_call_count;
extern const char *const good_source;
extern const char *const broken_source;
extern const char *const library_source;
