/* SPDX-License-Identifier: Apache-2.0
 *
 * A fact about one kernel of a program holds for all its kernels of that name: it is written into
 * the kernel and into the pattern. New kernels begin with a copy of the pattern (kernels.c). */
#include "arguments.h"

#include "handles.h"

#include <stdlib.h>
#include <string.h>

static struct fpgart_arguments *make(uint32_t count)
{
    struct fpgart_arguments *made = calloc(1, sizeof *made + count * sizeof made->places[0]);
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

/* Replaces the image by another one. Returns 0 if there is none, or no memory. */
static int copy_image(struct fpgart_arguments *made, const struct fpgart_arguments *from)
{
    struct argument *copy = from->image != NULL ? malloc(from->size + 1) : NULL; /* it may be 0 */
    if (copy == NULL)
        return 0;
    memcpy(copy, from->image, from->size);
    free(made->image);
    made->image = copy;
    made->size = from->size;
    return 1;
}

struct fpgart_arguments *fpgart_arguments_like(struct fpgart_arguments *pattern)
{
    struct fpgart_arguments *made = make(pattern->count);
    if (made == NULL)
        return NULL;
    atomic_fetch_add(&pattern->references, 1);
    made->pattern = pattern;
    made->missing = pattern->count;
    pthread_mutex_lock(&pattern->lock);
    memcpy(made->known, pattern->known, sizeof made->known);
    for (uint32_t i = 0; i < made->count; i++)
        made->places[i] = (struct place){.facts = pattern->places[i].facts, .is_missing = 1};
    copy_image(made, pattern);
    pthread_mutex_unlock(&pattern->lock);
    return made;
}

int fpgart_arguments_copy(struct fpgart_arguments *made, struct fpgart_arguments *arguments)
{
    pthread_mutex_lock(&arguments->lock);
    int has_all = made->pattern == arguments->pattern && arguments->missing == 0 &&
                  arguments->reaches == 0 && copy_image(made, arguments);
    if (has_all) {
        memcpy(made->places, arguments->places, arguments->count * sizeof *arguments->places);
        for (uint32_t i = 0; i < made->count; i++)
            made->places[i].is_unheard = 1;
        made->missing = 0;
        atomic_store(&made->unheard, made->count);
    }
    pthread_mutex_unlock(&arguments->lock);
    return has_all;
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

struct fpgart_arguments *fpgart_arguments_of_kernel(uintptr_t kernel)
{
    fpgart_arguments_slot *slot = fpgart_arguments_of(kernel);
    return slot != NULL ? atomic_load(slot) : NULL;
}
