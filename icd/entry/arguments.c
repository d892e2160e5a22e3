/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernel arguments like one that Python has accepted: a value of the same size, another buffer,
 * any pointer where the kernel accepts any, or one into an allocation. C sets them, and the
 * kernel gets them before its next launch (fpgart/bridge/arguments.py). All other arguments are
 * left to Python.
 *
 * Facts about one kernel of a program hold for its other kernels of that name, which begin with
 * a copy (kernels.c). */
#include "arguments.h"

#include "allocations.h"
#include "blocks.h"
#include "calls.h"
#include "carrier.h"
#include "handles.h"
#include "interpreter.h"
#include "permissions.h"
#include "remembered.h"

#include <CL/cl_ext.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define KNOWN 4 /* boards with facts about a kernel; the oldest is replaced first */

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
    int in_allocation; /* 1: it was last set to a pointer into an allocation */
    struct fpgart_argument set;
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
    _Atomic uint64_t unheard; /* a bit for each argument that Python has not got */
    _Atomic uint32_t references;
    struct fpgart_arguments *pattern; /* NULL: this is a pattern */
    char *name;                       /* of a pattern */
    uintptr_t program;                /* of a pattern */
    fpgart_answers answers;           /* which hold for all its kernels */
    pthread_mutex_t lock;
    uint64_t reaches; /* allocations besides its arguments: a bit for each kind */
    uint64_t in_c;    /* a bit for each argument whose value C has */
    uint64_t missing; /* a bit for each argument that has not been set */
    uint64_t pending; /* a bit for each argument that is not in the image */
    uint32_t next;    /* the index in `known` to replace next */
    struct known known[KNOWN];
    char *image; /* all arguments in the engine's form, with buffers' handles; or NULL */
    uint32_t size;
    uint32_t count;
    struct place places[];
};

static struct fpgart_arguments *make(uint32_t count)
{
    struct fpgart_arguments *made = NULL;
    if (count <= FPGART_ARGUMENTS)
        made = calloc(1, sizeof *made + count * sizeof made->places[0]);
    if (made == NULL)
        return NULL;
    made->count = count;
    atomic_store(&made->references, 1);
    pthread_mutex_init(&made->lock, NULL);
    return made;
}

struct fpgart_arguments *fpgart_pattern_new(uint32_t count, const char *name, uintptr_t program)
{
    struct fpgart_arguments *made = make(count);
    if (made != NULL && (made->name = strdup(name)) == NULL) {
        fpgart_arguments_release(made);
        return NULL;
    }
    if (made != NULL)
        made->program = program;
    return made;
}

const char *fpgart_pattern_name(const struct fpgart_arguments *pattern)
{
    return pattern->name;
}

void fpgart_arguments_retain(struct fpgart_arguments *arguments)
{
    atomic_fetch_add(&arguments->references, 1);
}

void fpgart_arguments_release(struct fpgart_arguments *arguments)
{
    if (arguments == NULL || atomic_fetch_sub(&arguments->references, 1) != 1)
        return;
    fpgart_arguments_release(arguments->pattern);
    pthread_mutex_destroy(&arguments->lock);
    free(arguments->name);
    fpgart_forget(&arguments->answers);
    free(arguments->image);
    free(arguments);
}

static uint64_t all_of(const struct fpgart_arguments *arguments)
{
    return arguments->count != 0 ? UINT64_MAX >> (64 - arguments->count) : 0;
}

struct fpgart_arguments *fpgart_arguments_like(struct fpgart_arguments *pattern)
{
    struct fpgart_arguments *made = make(pattern->count);
    if (made == NULL)
        return NULL;
    fpgart_arguments_retain(pattern);
    made->pattern = pattern;
    made->missing = all_of(pattern);
    pthread_mutex_lock(&pattern->lock);
    memcpy(made->known, pattern->known, sizeof made->known);
    for (uint32_t i = 0; i < made->count; i++)
        made->places[i].facts = pattern->places[i].facts;
    if (pattern->image != NULL && (made->image = malloc(pattern->size + 1)) != NULL) {
        made->size = pattern->size;
        memcpy(made->image, pattern->image, pattern->size);
    }
    pthread_mutex_unlock(&pattern->lock);
    return made;
}

uintptr_t fpgart_pattern_of(const struct fpgart_arguments *arguments,
                            struct fpgart_arguments **pattern)
{
    *pattern = arguments->pattern;
    return arguments->pattern->program;
}

int fpgart_arguments_copy(struct fpgart_arguments *made, struct fpgart_arguments *from)
{
    pthread_mutex_lock(&from->lock);
    int has_all =
        made->pattern == from->pattern && from->in_c == all_of(from) && from->reaches == 0;
    if (has_all) {
        memcpy(made->places, from->places, from->count * sizeof *from->places);
        made->in_c = made->pending = from->in_c;
        atomic_store(&made->unheard, from->in_c);
    }
    pthread_mutex_unlock(&from->lock);
    return has_all;
}

uint64_t *fpgart_unheard_arguments(fpgart_arguments_slot *slot)
{
    struct fpgart_arguments *arguments = atomic_load(slot);
    return arguments != NULL ? (uint64_t *)&arguments->unheard : NULL;
}

uint64_t *fpgart_arguments_begin(fpgart_arguments_slot *slot, struct fpgart_arguments *pattern)
{
    struct fpgart_arguments *made = fpgart_arguments_like(pattern), *none = NULL;
    if (made == NULL)
        return NULL;
    memset(made->known, 0, sizeof made->known); /* Python passes on those that were set */
    if (atomic_compare_exchange_strong(slot, &none, made))
        return (uint64_t *)&made->unheard;
    fpgart_arguments_release(made);
    return (uint64_t *)&none->unheard;
}

void fpgart_arguments_free(fpgart_arguments_slot *slot)
{
    fpgart_arguments_release(atomic_exchange(slot, NULL));
}

fpgart_answers *fpgart_kernel_answers(fpgart_arguments_slot *slot)
{
    struct fpgart_arguments *arguments = atomic_load(slot);
    return arguments != NULL ? &arguments->pattern->answers : NULL;
}

const char *fpgart_name_of(fpgart_arguments_slot *slot)
{
    const struct fpgart_arguments *arguments = atomic_load(slot);
    return arguments != NULL ? arguments->pattern->name : NULL;
}

static struct place *place_of(struct fpgart_arguments *arguments, uint32_t index)
{
    return arguments != NULL && index < arguments->count ? &arguments->places[index] : NULL;
}

static struct fpgart_arguments *arguments_of(uintptr_t kernel)
{
    fpgart_arguments_slot *slot = fpgart_arguments_of(kernel);
    return slot != NULL ? atomic_load(slot) : NULL;
}

/* Arguments that Python accepts for one kernel are accepted for all kernels of that name. */
static void share(struct fpgart_arguments *arguments, uint32_t index, const struct facts *facts)
{
    if (arguments == NULL)
        return;
    struct fpgart_arguments *pattern = arguments->pattern;
    pthread_mutex_lock(&arguments->lock);
    arguments->places[index].facts = *facts;
    pthread_mutex_unlock(&arguments->lock);
    pthread_mutex_lock(&pattern->lock);
    pattern->places[index].facts = *facts;
    pthread_mutex_unlock(&pattern->lock);
}

/* Copies the facts about an argument. Returns NULL if the kernel has no such argument. */
static struct fpgart_arguments *read_facts(uintptr_t kernel, uint32_t index, struct facts *facts)
{
    struct fpgart_arguments *arguments = arguments_of(kernel);
    if (place_of(arguments, index) == NULL)
        return NULL;
    pthread_mutex_lock(&arguments->lock);
    *facts = arguments->places[index].facts;
    pthread_mutex_unlock(&arguments->lock);
    return arguments;
}

void fpgart_accept_values(uintptr_t kernel, uint32_t index, size_t size, int is_structure)
{
    struct facts facts = {0};
    struct fpgart_arguments *arguments = read_facts(kernel, index, &facts);
    facts.size = (uint32_t)size;
    facts.is_structure = is_structure;
    if (size <= FPGART_VALUE)
        share(arguments, index, &facts);
}

void fpgart_accept_local_sizes(uintptr_t kernel, uint32_t index)
{
    struct facts facts = {0};
    struct fpgart_arguments *arguments = read_facts(kernel, index, &facts);
    facts.is_local = 1;
    share(arguments, index, &facts);
}

void fpgart_accept_buffers(uintptr_t kernel, uint32_t index, uintptr_t context, int needs_place)
{
    struct facts facts = {0};
    struct fpgart_arguments *arguments = read_facts(kernel, index, &facts);
    facts.buffer_context = fpgart_handle_serial(context);
    facts.needs_place = needs_place;
    share(arguments, index, &facts);
}

void fpgart_accept_svm_pointers(uintptr_t kernel, uint32_t index, uintptr_t context)
{
    struct facts facts = {0};
    struct fpgart_arguments *arguments = read_facts(kernel, index, &facts);
    facts.svm_context = fpgart_handle_serial(context);
    share(arguments, index, &facts);
}

void fpgart_accept_usm_pointers(uintptr_t kernel, uint32_t index, uintptr_t context,
                                size_t alignment)
{
    struct facts facts = {0};
    struct fpgart_arguments *arguments = read_facts(kernel, index, &facts);
    facts.usm_context = fpgart_handle_serial(context);
    facts.alignment = alignment;
    if (alignment != 0)
        share(arguments, index, &facts);
}

static int passes(const struct facts *facts, uintptr_t buffer)
{
    const struct fpgart_region *region = fpgart_region_of(buffer);
    const struct fpgart_place *place = fpgart_place_of(buffer);
    return facts->buffer_context != 0 && region != NULL && place != NULL &&
           region->context == facts->buffer_context &&
           (!facts->needs_place || atomic_load(&place->epoch) != 0);
}

static int put_svm(struct place *place, uint32_t index, size_t size, const void *pointer)
{
    uint64_t context = place->facts.svm_context;
    if (context == 0 || pointer == NULL)
        return 0;
    place->set = (struct fpgart_argument){.index = index, .pointer = (uintptr_t)pointer};
    place->in_allocation = fpgart_is_allocated(context, (uintptr_t)pointer);
    return 1;
}

static int put_usm(struct place *place, uint32_t index, size_t size, const void *pointer)
{
    uintptr_t address = (uintptr_t)pointer;
    const struct facts *facts = &place->facts;
    if (facts->usm_context == 0 || address == 0 || address % facts->alignment != 0 ||
        !fpgart_is_allocated(facts->usm_context, address))
        return 0;
    place->set = (struct fpgart_argument){.index = index, .pointer = address};
    place->in_allocation = 1;
    return 1;
}

/* Returns 1 if the host's memory cannot end within a value that begins in it. */
static int is_in_page(const void *value, size_t size)
{
    enum { PAGE = 4096 };
    return (uintptr_t)value % PAGE + size <= PAGE;
}

static int put_null(struct place *place, uint32_t index)
{
    if (place->facts.buffer_context == 0)
        return 0;
    place->set = (struct fpgart_argument){.index = index, .is_null = 1};
    place->buffer = 0;
    return 1;
}

static int put(struct place *place, uint32_t index, size_t size, const void *value)
{
    struct fpgart_argument *set = &place->set;
    if (value == NULL) {
        if (!place->facts.is_local)
            return size == sizeof(cl_mem) ? put_null(place, index) : 0;
        if (size == 0 || size > UINT32_MAX)
            return 0;
        *set = (struct fpgart_argument){.index = index, .size = (uint32_t)size, .is_local = 1};
        return 1;
    }
    if (place->facts.size != 0) {
        if (size != place->facts.size || (place->facts.is_structure && !is_in_page(value, size)))
            return 0;
        *set = (struct fpgart_argument){.index = index, .size = (uint32_t)size, .buffer = 0};
        memcpy(set->value, value, size);
        return 1;
    }
    uintptr_t buffer;
    if (size != sizeof buffer)
        return 0;
    memcpy(&buffer, value, sizeof buffer);
    if (buffer == 0)
        return put_null(place, index);
    uint64_t serial = fpgart_handle_serial(buffer);
    if (!passes(&place->facts, buffer))
        return put_usm(place, index, size, (const void *)buffer); /* as the SYCL runtime does */
    *set = (struct fpgart_argument){.index = index, .buffer = buffer, .serial = serial};
    place->buffer = buffer;
    place->serial = serial;
    return 1;
}

/* Makes all boards' facts about the kernel void, so that Python lays its next launch out. */
static void withdraw(struct fpgart_arguments *arguments)
{
    memset(arguments->known, 0, sizeof arguments->known);
}

typedef int (*putter)(struct place *place, uint32_t index, size_t size, const void *value);

static int sets(const void *kernel, cl_uint index, size_t size, const void *value, putter put)
{
    struct fpgart_arguments *arguments = arguments_of((uintptr_t)kernel);
    struct place *place = place_of(arguments, index);
    if (place == NULL || fpgart_watched() || fpgart_state != FPGART_RUNNING)
        return 0;
    pthread_mutex_lock(&arguments->lock);
    int done = put(place, index, size, value);
    if (done) {
        atomic_fetch_or(&arguments->unheard, UINT64_C(1) << index);
        arguments->pending |= UINT64_C(1) << index;
        arguments->in_c |= UINT64_C(1) << index;
    }
    if (done && place->set.pointer != 0)
        place->buffer = 0;
    pthread_mutex_unlock(&arguments->lock);
    return done;
}

int fpgart_sets_argument(const void *kernel, cl_uint index, size_t size, const void *value)
{
    return sets(kernel, index, size, value, put);
}

int fpgart_sets_svm_pointer(const void *kernel, cl_uint index, const void *pointer)
{
    return sets(kernel, index, sizeof pointer, pointer, put_svm);
}

int fpgart_sets_usm_pointer(const void *kernel, cl_uint index, const void *pointer)
{
    return sets(kernel, index, sizeof pointer, pointer, put_usm);
}

uint32_t fpgart_take_arguments(uintptr_t kernel, struct fpgart_argument *taken)
{
    struct fpgart_arguments *arguments = arguments_of(kernel);
    uint32_t count = 0;
    if (arguments == NULL)
        return 0;
    pthread_mutex_lock(&arguments->lock);
    uint64_t unheard = atomic_exchange(&arguments->unheard, 0);
    for (uint32_t i = 0; unheard != 0; i++, unheard >>= 1)
        if (unheard & 1)
            taken[count++] = arguments->places[i].set;
    pthread_mutex_unlock(&arguments->lock);
    return count;
}

/* Replaces the image of the kernel's arguments. */
static int keep_image(struct fpgart_arguments *arguments, const char *image, uint32_t size,
                      const uint32_t *locations)
{
    char *kept = realloc(arguments->image, size + 1); /* not 0, for kernels without arguments */
    const struct argument *given = (const struct argument *)image;
    if (kept == NULL)
        return 0;
    memcpy(kept, image, size);
    arguments->image = kept;
    arguments->size = size;
    arguments->missing = 0;
    for (uint32_t i = 0; i < arguments->count; i++) {
        struct place *place = &arguments->places[i];
        place->facts.location = locations[i];
        place->buffer = given[i].kind == ARGUMENT_POINTER && fpgart_is_handle(given[i].value)
                            ? given[i].value
                            : 0;
        place->serial = fpgart_handle_serial(place->buffer);
    }
    return 1;
}

static void keep_known(struct fpgart_arguments *arguments, const struct known *made,
                       const char *image, uint32_t size, const uint32_t *locations)
{
    pthread_mutex_lock(&arguments->lock);
    struct known *place = NULL;
    for (uint32_t i = 0; i < KNOWN; i++)
        if (arguments->known[i].board == made->board)
            place = &arguments->known[i];
    if (place == NULL)
        place = &arguments->known[arguments->next++ % KNOWN];
    if (keep_image(arguments, image, size, locations))
        *place = *made;
    pthread_mutex_unlock(&arguments->lock);
}

/* `limits`: the required local size, the largest group in work-items and by dimension, the
 * local memory for arguments; then the program. */
void fpgart_kernel_is(uintptr_t kernel, uintptr_t board, uint64_t epoch, uintptr_t engine_kernel,
                      const char *image, uint32_t size, const uint32_t *locations,
                      const uint64_t *limits)
{
    struct fpgart_arguments *arguments = arguments_of(kernel);
    if (arguments == NULL)
        return;
    struct known made = {.board = (const struct fpgart_board *)board,
                         .epoch = epoch,
                         .engine_kernel = engine_kernel,
                         .most = limits[3]};
    memcpy(made.required, limits, sizeof made.required);
    memcpy(made.limits, limits + 4, sizeof made.limits);
    made.local_room = limits[7];
    memcpy(&made.program, limits + 8, sizeof made.program);
    keep_known(arguments, &made, image, size, locations);
    keep_known(arguments->pattern, &made, image, size, locations);
}

/* Python has set the argument, and will pass facts about the kernel again. */
void fpgart_argument_changed(uintptr_t kernel, uint32_t index)
{
    struct fpgart_arguments *arguments = arguments_of(kernel);
    if (place_of(arguments, index) == NULL)
        return;
    pthread_mutex_lock(&arguments->lock);
    arguments->pending &= ~(UINT64_C(1) << index);
    arguments->in_c &= ~(UINT64_C(1) << index);
    withdraw(arguments);
    pthread_mutex_unlock(&arguments->lock);
}

void fpgart_kernel_reaches(uintptr_t kernel, uint64_t kinds)
{
    struct fpgart_arguments *arguments = arguments_of(kernel);
    if (arguments == NULL)
        return;
    pthread_mutex_lock(&arguments->lock);
    arguments->reaches = kinds;
    withdraw(arguments);
    pthread_mutex_unlock(&arguments->lock);
}

/* Returns 1 if the value changes nothing, as a list of SVM pointers does for a kernel that accepts
 * any SVM pointer as an argument. The lock is held. */
static int has_exec_info(const struct fpgart_arguments *arguments, cl_kernel_exec_info name,
                         size_t size, const void *value)
{
    cl_bool flag;
    if (name == CL_KERNEL_EXEC_INFO_SVM_PTRS && size != 0 && size % sizeof(void *) == 0)
        for (uint32_t i = 0; i < arguments->count; i++)
            if (arguments->places[i].facts.svm_context != 0)
                return 1;
    if (name < CL_KERNEL_EXEC_INFO_INDIRECT_HOST_ACCESS_INTEL ||
        name > CL_KERNEL_EXEC_INFO_INDIRECT_SHARED_ACCESS_INTEL || size != sizeof flag)
        return 0;
    memcpy(&flag, value, sizeof flag);
    return (arguments->reaches >> (name - CL_KERNEL_EXEC_INFO_INDIRECT_HOST_ACCESS_INTEL) & 1) ==
           (flag != 0);
}

int fpgart_keeps_exec_info(const void *kernel, cl_kernel_exec_info name, size_t size,
                           const void *value)
{
    struct fpgart_arguments *arguments = arguments_of((uintptr_t)kernel);
    if (arguments == NULL || value == NULL || fpgart_watched() || fpgart_state != FPGART_RUNNING)
        return 0;
    pthread_mutex_lock(&arguments->lock);
    int keeps = has_exec_info(arguments, name, size, value);
    pthread_mutex_unlock(&arguments->lock);
    return keeps;
}

/* Writes the arguments that were set into the image. Returns 0 if one is of another kind than
 * in the image. */
static int bring_up_to_date(struct fpgart_arguments *arguments)
{
    struct argument *image = (struct argument *)arguments->image;
    uint64_t pending = arguments->pending;
    if (arguments->missing & ~pending)
        return 0;
    for (uint32_t i = 0; pending != 0; i++, pending >>= 1) {
        const struct fpgart_argument *set = &arguments->places[i].set;
        if (!(pending & 1))
            continue;
        if (set->is_null)
            image[i] = (struct argument){ARGUMENT_NULL, 8, 0};
        else if (set->is_local)
            image[i] = (struct argument){ARGUMENT_LOCAL, set->size, 0};
        else if (set->buffer != 0)
            image[i] = (struct argument){ARGUMENT_POINTER, 8, set->buffer};
        else if (set->pointer != 0)
            image[i] = (struct argument){arguments->places[i].in_allocation ? FPGART_IN_ALLOCATION
                                                                            : ARGUMENT_POINTER,
                                         8, set->pointer};
        else if (image[i].kind == ARGUMENT_BYTES && image[i].size == set->size)
            memcpy(arguments->image + image[i].value, set->value, set->size);
        else
            return 0;
    }
    arguments->missing = arguments->pending = 0;
    return 1;
}

static const struct known *known_on(const struct fpgart_arguments *arguments,
                                    const struct fpgart_board *board, uint64_t epoch)
{
    for (uint32_t i = 0; i < KNOWN; i++)
        if (arguments->known[i].board == board && arguments->known[i].epoch == epoch)
            return &arguments->known[i];
    return NULL;
}

/* Returns 1 if the specification and the engine allow the sizes; else the call is left to
 * Python. */
static int takes(const struct known *known, const struct fpgart_nd_range *nd_range,
                 struct carried *carried)
{
    const uint64_t *offset = nd_range->sizes, *global = offset + 3, *local = global + 3;
    uint64_t items = 1;
    int is_required = known->required[0] != 0;
    carried->has_local = nd_range->has_local || is_required;
    carried->dimensions = nd_range->dimensions;
    memcpy(carried->sizes, nd_range->sizes, sizeof nd_range->sizes);
    for (uint32_t i = 0; i < 3; i++) {
        int is_used = i < nd_range->dimensions;
        uint64_t size = nd_range->has_local      ? local[i]
                        : is_required && is_used ? known->required[i]
                                                 : 1;
        if (global[i] > (uint64_t)INT64_MAX || offset[i] > UINT64_MAX - global[i] || size == 0 ||
            size > known->limits[i] || global[i] % size != 0 ||
            (is_required && size != known->required[i]))
            return 0;
        items *= size;
        carried->sizes[6 + i] = size;
    }
    return items <= known->most;
}

/* Returns the engine's address for a pointer argument; 0 leaves the call to Python. A buffer
 * is held from then on. */
static uintptr_t address_of(const struct place *place, const struct argument *argument,
                            const struct fpgart_carried_queue *queue, uint64_t epoch, uint64_t at,
                            struct fpgart_use *uses, uint32_t *count)
{
    if (argument->kind == FPGART_IN_ALLOCATION) {
        const struct facts *facts = &place->facts;
        uint64_t context = facts->usm_context != 0 ? facts->usm_context : facts->svm_context;
        return fpgart_plain_allocation(context, argument->value) != 0 ? argument->value : 0;
    }
    if (place->buffer == 0)
        return argument->value;
    if (!fpgart_hold(place->buffer, FPGART_MEM, place->serial))
        return 0;
    uses[(*count)++] = (struct fpgart_use){place->buffer, at};
    struct fpgart_place found;
    int is_known = fpgart_place_in(place->buffer, queue, epoch, place->facts.location, &found);
    return is_known ? found.address : 0;
}

/* Lays the arguments out. The lock is held. */
static int lay_out(struct fpgart_arguments *arguments, const struct fpgart_carried_queue *queue,
                   uint64_t epoch, uint64_t local_room, struct carried *carried, size_t room,
                   struct fpgart_use *uses, uint32_t *count)
{
    if (arguments->image == NULL || arguments->size > room || !bring_up_to_date(arguments))
        return 0;
    struct argument *laid_out = (struct argument *)carried->more;
    uint64_t local = 0;
    memcpy(carried->more, arguments->image, arguments->size);
    for (uint32_t i = 0; i < arguments->count; i++) {
        local += laid_out[i].kind == ARGUMENT_LOCAL ? laid_out[i].size : 0;
        if (laid_out[i].kind != ARGUMENT_POINTER && laid_out[i].kind != FPGART_IN_ALLOCATION)
            continue;
        laid_out[i].value =
            address_of(&arguments->places[i], &laid_out[i], queue, epoch, i, uses, count);
        laid_out[i].kind = ARGUMENT_POINTER;
        if (laid_out[i].value == 0)
            return 0;
    }
    carried->count = arguments->count;
    return local <= local_room ? (int)arguments->size + 1 : 0;
}

/* Returns the size of the image plus 1; 0 leaves the call to Python. */
int fpgart_lay_out_launch(uintptr_t kernel, const struct fpgart_carried_queue *queue,
                          const struct fpgart_nd_range *nd_range, uint64_t epoch,
                          struct carried *carried, size_t room, struct fpgart_use *uses,
                          uint32_t *count, struct fpgart_program *program, uint64_t *reaches)
{
    struct fpgart_arguments *arguments = arguments_of(kernel);
    int size = 0;
    if (arguments == NULL)
        return 0;
    pthread_mutex_lock(&arguments->lock);
    const struct known *known = known_on(arguments, queue->board, epoch);
    if (known != NULL && takes(known, nd_range, carried)) {
        carried->kind = CARRIED_LAUNCH;
        carried->kernel = known->engine_kernel;
        *program = known->program;
        *reaches = arguments->reaches;
        size = lay_out(arguments, queue, epoch, known->local_room, carried, room, uses, count);
    }
    pthread_mutex_unlock(&arguments->lock);
    return size;
}

bool fpgart_renew_launch(uintptr_t kernel, const struct fpgart_carried_queue *queue, uint64_t epoch,
                         struct carried *carried, uint32_t count, const struct fpgart_use *uses)
{
    struct fpgart_arguments *arguments = arguments_of(kernel);
    struct argument *laid_out = (struct argument *)carried->more;
    if (arguments == NULL)
        return false;
    pthread_mutex_lock(&arguments->lock);
    const struct known *known = known_on(arguments, queue->board, epoch);
    bool is_known = known != NULL && known->engine_kernel == carried->kernel;
    for (uint32_t i = 0; i < count && is_known; i++) {
        struct fpgart_place place;
        uint32_t location = arguments->places[uses[i].at].facts.location;
        is_known = fpgart_place_in(uses[i].buffer, queue, epoch, location, &place);
        if (is_known)
            laid_out[uses[i].at].value = place.address;
    }
    pthread_mutex_unlock(&arguments->lock);
    return is_known;
}

static void holds(struct fpgart_arguments *arguments, const struct fpgart_board *board,
                  uint64_t epoch)
{
    pthread_mutex_lock(&arguments->lock);
    for (uint32_t i = 0; i < KNOWN; i++)
        if (arguments->known[i].board == board)
            arguments->known[i].epoch = epoch;
    pthread_mutex_unlock(&arguments->lock);
}

void fpgart_kernel_holds(uintptr_t kernel, uintptr_t board, uint64_t epoch)
{
    struct fpgart_arguments *arguments = arguments_of(kernel);
    if (arguments == NULL)
        return;
    holds(arguments, (const struct fpgart_board *)board, epoch);
    holds(arguments->pattern, (const struct fpgart_board *)board, epoch);
}
