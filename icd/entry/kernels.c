/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels that C makes: Python's checks give the same result for each kernel of a name until the
 * program is built again. A build begins only while no kernel exists. */
#include "kernels.h"

#include "arguments.h"
#include "handles.h"
#include "interpreter.h"
#include "permissions.h"
#include "remembered.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct fpgart_kernels {
    pthread_mutex_t lock;
    uint64_t alive; /* the number of kernels that C has made and that exist */
    size_t count;
    struct fpgart_arguments **patterns;
    uint32_t listed;                /* kernels that clCreateKernelsInProgram makes; 0: unknown */
    struct fpgart_arguments **list; /* their patterns */
    fpgart_answers answers;         /* about the build; the lock is held while they are used */
};

static struct fpgart_kernels *kernels_of(uintptr_t program)
{
    fpgart_kernels_slot *slot = fpgart_kernels_of(program);
    return slot != NULL ? atomic_load(slot) : NULL;
}

/* Returns the kernels of a program, which the caller holds. */
static struct fpgart_kernels *have_kernels(uintptr_t program)
{
    fpgart_kernels_slot *slot = fpgart_kernels_of(program);
    struct fpgart_kernels *made, *none = NULL;
    if (slot == NULL || atomic_load(slot) != NULL)
        return slot != NULL ? atomic_load(slot) : NULL;
    made = calloc(1, sizeof *made);
    if (made == NULL)
        return NULL;
    pthread_mutex_init(&made->lock, NULL);
    if (atomic_compare_exchange_strong(slot, &none, made))
        return made;
    free(made);
    return none;
}

/* The lock is held. */
static struct fpgart_arguments *find(const struct fpgart_kernels *kernels, const char *name)
{
    for (size_t i = 0; i < kernels->count; i++)
        if (strcmp(kernels->patterns[i]->name, name) == 0)
            return kernels->patterns[i];
    return NULL;
}

/* The lock is held. */
static struct fpgart_arguments *add(struct fpgart_kernels *kernels, uint32_t count,
                                    const char *name, uintptr_t program)
{
    struct fpgart_arguments **larger =
        realloc(kernels->patterns, (kernels->count + 1) * sizeof *larger);
    if (larger == NULL)
        return NULL;
    kernels->patterns = larger;
    larger[kernels->count] = fpgart_pattern_new(count, name, program);
    return larger[kernels->count] != NULL ? larger[kernels->count++] : NULL;
}

/* The caller has the interpreter's lock. */
uint64_t *fpgart_arguments_new(uintptr_t kernel, uint32_t count, uintptr_t program,
                               const char *name)
{
    fpgart_arguments_slot *slot = fpgart_arguments_of(kernel);
    struct fpgart_arguments *made = slot != NULL ? atomic_load(slot) : NULL;
    if (made != NULL)
        return (uint64_t *)&made->unheard;
    struct fpgart_kernels *kernels = slot != NULL ? have_kernels(program) : NULL;
    if (kernels == NULL)
        return NULL;
    pthread_mutex_lock(&kernels->lock);
    struct fpgart_arguments *pattern = find(kernels, name);
    if (pattern == NULL)
        pattern = add(kernels, count, name, program);
    if (pattern != NULL)
        made = fpgart_arguments_like(pattern);
    pthread_mutex_unlock(&kernels->lock);
    if (made == NULL)
        return NULL;
    memset(made->known, 0, sizeof made->known); /* Python passes on those that were set */
    atomic_store(slot, made);
    return (uint64_t *)&made->unheard;
}

/* Returns the arguments of a new kernel, and counts it; NULL leaves it to Python. Without a name:
 * of the kernel with that number in the list. */
static struct fpgart_arguments *begin(uintptr_t program, const char *name, uint32_t number)
{
    struct fpgart_kernels *kernels = kernels_of(program);
    struct fpgart_arguments *pattern = NULL, *made = NULL;
    if (kernels == NULL)
        return NULL;
    pthread_mutex_lock(&kernels->lock);
    if (name != NULL)
        pattern = find(kernels, name);
    else if (number < kernels->listed)
        pattern = kernels->list[number];
    if (pattern != NULL)
        made = fpgart_arguments_like(pattern);
    if (made != NULL)
        kernels->alive++;
    pthread_mutex_unlock(&kernels->lock);
    return made;
}

static int may_use(uintptr_t program)
{
    return fpgart_may_carry() && fpgart_hold(program, FPGART_PROGRAM);
}

/* Returns a kernel with these arguments, unless they are NULL. The program is held. */
static cl_kernel finish(uintptr_t program, struct fpgart_arguments *arguments)
{
    uintptr_t made = arguments != NULL ? fpgart_handle_new(FPGART_KERNEL, 1) : 0;
    if (made != 0) {
        atomic_store(fpgart_arguments_of(made), arguments);
        fpgart_is_unseen(made, program);
        return (cl_kernel)made;
    }
    if (arguments != NULL)
        fpgart_kernel_goes(program);
    fpgart_arguments_release(arguments);
    fpgart_unhold(program, FPGART_PROGRAM);
    return NULL;
}

cl_kernel fpgart_makes_kernel(const void *program, const char *name)
{
    uintptr_t of = (uintptr_t)program;
    return name != NULL && may_use(of) ? finish(of, begin(of, name, 0)) : NULL;
}

static cl_kernel clone_of(struct fpgart_arguments *arguments)
{
    uintptr_t program = arguments->pattern->program;
    if (!may_use(program))
        return NULL;
    struct fpgart_arguments *made = begin(program, arguments->pattern->name, 0);
    if (made != NULL && !fpgart_arguments_copy(made, arguments)) {
        fpgart_kernel_goes(program);
        fpgart_arguments_release(made);
        made = NULL;
    }
    return finish(program, made);
}

cl_kernel fpgart_clones_kernel(const void *kernel)
{
    uintptr_t of = (uintptr_t)kernel;
    if (!fpgart_hold(of, FPGART_KERNEL))
        return NULL;
    struct fpgart_arguments *arguments = atomic_load(fpgart_arguments_of(of));
    cl_kernel made = arguments != NULL ? clone_of(arguments) : NULL;
    fpgart_unhold(of, FPGART_KERNEL);
    return made;
}

/* Records all kernels of the program, in the order of the specification's list. They exist. */
void fpgart_kernels_are(uintptr_t program, uint32_t count, const uintptr_t *handles)
{
    struct fpgart_kernels *kernels = kernels_of(program);
    struct fpgart_arguments **list = calloc(count, sizeof(struct fpgart_arguments *));
    for (uint32_t i = 0; list != NULL && i < count; i++)
        list[i] = atomic_load(fpgart_arguments_of(handles[i]))->pattern;
    pthread_mutex_lock(&kernels->lock);
    if (list != NULL && kernels->listed == 0) {
        kernels->listed = count;
        kernels->list = list;
        list = NULL;
    }
    pthread_mutex_unlock(&kernels->lock);
    free(list);
}

static uint32_t count_listed(uintptr_t program)
{
    struct fpgart_kernels *kernels = kernels_of(program);
    if (kernels == NULL)
        return 0;
    pthread_mutex_lock(&kernels->lock);
    uint32_t listed = kernels->listed;
    pthread_mutex_unlock(&kernels->lock);
    return listed;
}

static int make_listed(uintptr_t program, uint32_t count, cl_kernel *made)
{
    uint32_t done = 0;
    while (done < count && may_use(program) &&
           (made[done] = finish(program, begin(program, NULL, done))) != NULL)
        done++;
    int has_all = done == count;
    while (!has_all && done > 0)
        fpgart_release(made[--done], FPGART_KERNEL, CL_INVALID_KERNEL);
    return has_all;
}

int fpgart_makes_kernels(const void *program, cl_uint room, cl_kernel *made, cl_uint *count)
{
    uintptr_t of = (uintptr_t)program;
    int cancel_state;
    if (!may_use(of))
        return 0;
    fpgart_disable_cancel(&cancel_state);
    uint32_t listed = count_listed(of);
    int done = listed != 0 && (made == NULL || (room >= listed && make_listed(of, listed, made)));
    fpgart_restore_cancel(cancel_state);
    fpgart_unhold(of, FPGART_PROGRAM);
    if (done && count != NULL)
        *count = listed;
    return done;
}

/* Python holds a kernel of the program, so that no build begins. */
void fpgart_remember_build(uintptr_t program, uint32_t part_kind, uintptr_t part_number,
                           cl_uint query, const char *bytes, size_t length)
{
    struct fpgart_kernels *kernels = have_kernels(program);
    if (kernels == NULL)
        return;
    const struct fpgart_part part = {part_kind, part_number};
    pthread_mutex_lock(&kernels->lock);
    fpgart_add_answer(&kernels->answers, part, query, bytes, length);
    pthread_mutex_unlock(&kernels->lock);
}

int fpgart_knows_build(const void *program, struct fpgart_part part, cl_uint query, size_t size,
                       void *value, size_t *size_ret)
{
    struct fpgart_kernels *kernels;
    uintptr_t of = (uintptr_t)program;
    if (!may_use(of))
        return 0;
    int knows = 0;
    if ((kernels = kernels_of(of)) != NULL) {
        pthread_mutex_lock(&kernels->lock);
        knows = fpgart_has_answer(&kernels->answers, part, query, size, value, size_ret);
        pthread_mutex_unlock(&kernels->lock);
    }
    fpgart_unhold(of, FPGART_PROGRAM);
    return knows;
}

/* The caller holds the program. */
void fpgart_kernel_goes(uintptr_t program)
{
    struct fpgart_kernels *kernels = kernels_of(program);
    pthread_mutex_lock(&kernels->lock);
    kernels->alive--;
    pthread_mutex_unlock(&kernels->lock);
}

/* Removes what is known about the kernels of a build. */
static void forget_build(struct fpgart_kernels *kernels)
{
    while (kernels->count > 0)
        fpgart_arguments_release(kernels->patterns[--kernels->count]);
    fpgart_forget(&kernels->answers);
    free(kernels->list);
    kernels->list = NULL;
    kernels->listed = 0;
}

/* Forgets the patterns, because a build begins. Returns 0 while kernels exist that C has made. */
int fpgart_kernels_end(uintptr_t program)
{
    struct fpgart_kernels *kernels = kernels_of(program);
    if (kernels == NULL)
        return 1;
    pthread_mutex_lock(&kernels->lock);
    int none = kernels->alive == 0;
    if (none)
        forget_build(kernels);
    pthread_mutex_unlock(&kernels->lock);
    return none;
}

void fpgart_kernels_free(fpgart_kernels_slot *slot)
{
    struct fpgart_kernels *kernels = atomic_exchange(slot, NULL);
    if (kernels == NULL)
        return;
    forget_build(kernels);
    pthread_mutex_destroy(&kernels->lock);
    free(kernels->patterns);
    free(kernels);
}
