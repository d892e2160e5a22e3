/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernel arguments that Python has let pass before: a value of the same size, a buffer that was
 * this argument already, a pointer where any would do or that is in a live allocation. Setting such
 * a one again decides nothing, so it ends here; the kernel hears of it before its next launch
 * (fpgart/api/arguments.py). Everything else is for Python. */
#include "icd.h"

#include "../fpgart/engine/calls.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define BUFFERS 8  /* that are known for one argument; the oldest is forgotten first */
#define REQUESTS 4 /* for launches that are known, the same */

struct place {
    uint32_t size;    /* bytes of a value; 0: Python has not let one pass */
    uint32_t next;    /* of `known`, to be forgotten */
    uintptr_t buffer; /* which the argument is; 0: none, or a value */
    uint64_t serial;
    uintptr_t known[BUFFERS];
    uint64_t serials[BUFFERS]; /* what a handle stood for when Python let it pass */
    uint32_t location;         /* the memory that the argument has to be in, by Python's number */
    int any_svm;               /* whether any address is right as an SVM pointer */
    uint64_t usm_context;      /* whose allocations USM pointers have to be in; 0: not let pass */
    int in_allocation;         /* whether it was set to such a pointer last */
    size_t alignment;          /* that a USM pointer needs */
    struct fpgart_argument set;
};

struct fpgart_arguments {
    _Atomic uint64_t unheard; /* a bit for each argument that the kernel has not heard of */
    pthread_mutex_t lock;
    uint64_t pending; /* a bit for each argument that is not in the image yet */
    uint64_t version; /* of the image */
    uint64_t serial;  /* of the kernel */
    uint32_t next;    /* of `requests`, to be forgotten */
    struct fpgart_request requests[REQUESTS];
    struct fpgart_nd_range nd_ranges[REQUESTS];
    char *image; /* all arguments as engines are given them, buffers by their handles; or NULL */
    uint32_t size;
    uint32_t count;
    struct place places[];
};

uint64_t *fpgart_arguments_new(uintptr_t kernel, uint32_t count)
{
    fpgart_arguments_slot *slot = fpgart_arguments_of(kernel);
    if (slot == NULL || count > FPGART_ARGUMENTS)
        return NULL;
    struct fpgart_arguments *made = calloc(1, sizeof *made + count * sizeof made->places[0]);
    struct fpgart_arguments *none = NULL;
    if (made == NULL)
        return NULL;
    made->count = count;
    made->serial = fpgart_handle_serial(kernel);
    pthread_mutex_init(&made->lock, NULL);
    if (atomic_compare_exchange_strong(slot, &none, made))
        return (uint64_t *)&made->unheard;
    free(made);
    return (uint64_t *)&none->unheard;
}

void fpgart_arguments_free(fpgart_arguments_slot *slot)
{
    struct fpgart_arguments *arguments = atomic_exchange(slot, NULL);
    if (arguments != NULL)
        free(arguments->image);
    free(arguments);
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

void fpgart_let_value_pass(uintptr_t kernel, uint32_t index, size_t size)
{
    struct fpgart_arguments *arguments = arguments_of(kernel);
    struct place *place = place_of(arguments, index);
    if (place == NULL || size > FPGART_VALUE)
        return;
    pthread_mutex_lock(&arguments->lock);
    place->size = (uint32_t)size;
    pthread_mutex_unlock(&arguments->lock);
}

void fpgart_let_buffer_pass(uintptr_t kernel, uint32_t index, uintptr_t buffer)
{
    struct fpgart_arguments *arguments = arguments_of(kernel);
    struct place *place = place_of(arguments, index);
    if (place == NULL)
        return;
    pthread_mutex_lock(&arguments->lock);
    place->known[place->next % BUFFERS] = buffer;
    place->serials[place->next % BUFFERS] = fpgart_handle_serial(buffer);
    place->next++;
    place->buffer = buffer;
    place->serial = fpgart_handle_serial(buffer);
    pthread_mutex_unlock(&arguments->lock);
}

void fpgart_let_svm_pass(uintptr_t kernel, uint32_t index)
{
    struct fpgart_arguments *arguments = arguments_of(kernel);
    struct place *place = place_of(arguments, index);
    if (place == NULL)
        return;
    pthread_mutex_lock(&arguments->lock);
    place->any_svm = 1;
    pthread_mutex_unlock(&arguments->lock);
}

void fpgart_let_usm_pass(uintptr_t kernel, uint32_t index, uintptr_t context, size_t alignment)
{
    struct fpgart_arguments *arguments = arguments_of(kernel);
    struct place *place = place_of(arguments, index);
    if (place == NULL || alignment == 0)
        return;
    pthread_mutex_lock(&arguments->lock);
    place->usm_context = fpgart_handle_serial(context);
    place->alignment = alignment;
    pthread_mutex_unlock(&arguments->lock);
}

static int is_known(const struct place *place, uintptr_t buffer, uint64_t *serial)
{
    *serial = fpgart_handle_serial(buffer);
    for (int i = 0; i < BUFFERS; i++)
        if (place->known[i] == buffer && place->serials[i] == *serial)
            return fpgart_handle_kind(buffer) == FPGART_MEM;
    return 0;
}

static int put_svm(struct place *place, uint32_t index, size_t size, const void *pointer)
{
    if (!place->any_svm)
        return 0;
    place->set = (struct fpgart_argument){.index = index, .pointer = (uintptr_t)pointer};
    place->in_allocation = 0;
    return 1;
}

static int put_usm(struct place *place, uint32_t index, size_t size, const void *pointer)
{
    uintptr_t address = (uintptr_t)pointer;
    if (place->usm_context == 0 || address % place->alignment != 0 ||
        !fpgart_is_allocated(place->usm_context, address))
        return 0;
    place->set = (struct fpgart_argument){.index = index, .pointer = address};
    place->in_allocation = 1;
    return 1;
}

static int put(struct place *place, uint32_t index, size_t size, const void *value)
{
    struct fpgart_argument *set = &place->set;
    if (place->size != 0) {
        if (size != place->size)
            return 0;
        *set = (struct fpgart_argument){.index = index, .size = (uint32_t)size, .buffer = 0};
        memcpy(set->value, value, size);
        return 1;
    }
    uintptr_t buffer;
    uint64_t serial;
    if (size != sizeof buffer)
        return 0;
    memcpy(&buffer, value, sizeof buffer);
    if (buffer == 0)
        return 0;
    if (!is_known(place, buffer, &serial))
        return put_usm(place, index, size, (const void *)buffer); /* as the SYCL runtime sets it */
    *set = (struct fpgart_argument){.index = index, .buffer = buffer, .serial = serial};
    place->buffer = buffer;
    place->serial = serial;
    return 1;
}

/* What was known of launches is for Python again. */
static void withdraw(struct fpgart_arguments *arguments)
{
    memset(arguments->requests, 0, sizeof arguments->requests);
}

typedef int (*putter)(struct place *place, uint32_t index, size_t size, const void *value);

/* NULL is for Python, of whatever kind the argument is. */
static int sets(const void *kernel, cl_uint index, size_t size, const void *value, putter put)
{
    struct fpgart_arguments *arguments = arguments_of((uintptr_t)kernel);
    struct place *place = place_of(arguments, index);
    if (place == NULL || value == NULL || fpgart_watched() || fpgart_state != FPGART_RUNNING)
        return 0;
    pthread_mutex_lock(&arguments->lock);
    int done = put(place, index, size, value);
    if (done) {
        atomic_fetch_or(&arguments->unheard, UINT64_C(1) << index);
        arguments->pending |= UINT64_C(1) << index;
    }
    if (done && place->set.pointer != 0) {
        place->buffer = 0;
        if (!place->in_allocation)
            withdraw(arguments);
    }
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

/* The index of a request that is known; REQUESTS for none. */
static uint32_t known_request(const struct fpgart_arguments *arguments,
                              const struct fpgart_request *request)
{
    uint32_t i = 0;
    while (i < REQUESTS && memcmp(&arguments->requests[i], request, sizeof *request) != 0)
        i++;
    return i;
}

/* The image that Python has launched the kernel with takes the place of the one before. */
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
    arguments->version++;
    for (uint32_t i = 0; i < arguments->count; i++) {
        struct place *place = &arguments->places[i];
        place->location = locations[i];
        place->buffer = given[i].kind == ARGUMENT_POINTER ? given[i].value : 0;
        place->serial = fpgart_handle_serial(place->buffer);
    }
    return 1;
}

void fpgart_keep_request(uintptr_t kernel, const struct fpgart_request *request,
                         const struct fpgart_nd_range *nd_range, const char *image, uint32_t size,
                         const uint32_t *locations)
{
    struct fpgart_arguments *arguments = arguments_of(kernel);
    if (arguments == NULL)
        return;
    pthread_mutex_lock(&arguments->lock);
    if (keep_image(arguments, image, size, locations) &&
        known_request(arguments, request) == REQUESTS) {
        uint32_t i = arguments->next++ % REQUESTS;
        arguments->requests[i] = *request;
        arguments->nd_ranges[i] = *nd_range;
    }
    pthread_mutex_unlock(&arguments->lock);
}

/* A launch whose buffer is gone fails, with words. */
static int are_alive(const struct fpgart_arguments *arguments)
{
    for (uint32_t i = 0; i < arguments->count; i++) {
        const struct place *place = &arguments->places[i];
        if (place->buffer != 0 && (fpgart_handle_kind(place->buffer) != FPGART_MEM ||
                                   fpgart_handle_serial(place->buffer) != place->serial))
            return 0;
    }
    return 1;
}

int fpgart_knows_request(uintptr_t kernel, const struct fpgart_request *request)
{
    struct fpgart_arguments *arguments = arguments_of(kernel);
    if (arguments == NULL)
        return 0;
    pthread_mutex_lock(&arguments->lock);
    int known = known_request(arguments, request) < REQUESTS && are_alive(arguments);
    pthread_mutex_unlock(&arguments->lock);
    return known;
}

/* Python has set it: the next launch gives the image. */
void fpgart_argument_changed(uintptr_t kernel, uint32_t index)
{
    struct fpgart_arguments *arguments = arguments_of(kernel);
    if (place_of(arguments, index) == NULL)
        return;
    pthread_mutex_lock(&arguments->lock);
    arguments->pending &= ~(UINT64_C(1) << index);
    withdraw(arguments);
    pthread_mutex_unlock(&arguments->lock);
}

/* Puts what was set into the image; 0 where an argument is of another kind than the image has it.
 */
static int bring_up_to_date(struct fpgart_arguments *arguments)
{
    struct argument *image = (struct argument *)arguments->image;
    uint64_t pending = arguments->pending;
    for (uint32_t i = 0; pending != 0; i++, pending >>= 1) {
        const struct fpgart_argument *set = &arguments->places[i].set;
        if (!(pending & 1))
            continue;
        if (set->buffer != 0)
            image[i] = (struct argument){ARGUMENT_POINTER, 8, set->buffer};
        else if (set->pointer != 0 && arguments->places[i].in_allocation)
            image[i] = (struct argument){FPGART_IN_ALLOCATION, 8, set->pointer};
        else if (set->pointer == 0 && image[i].kind == ARGUMENT_BYTES && image[i].size == set->size)
            memcpy(arguments->image + image[i].value, set->value, set->size);
        else
            return 0;
    }
    if (arguments->pending != 0)
        arguments->version++;
    arguments->pending = 0;
    return 1;
}

/* With the lock held. */
static int record(struct fpgart_arguments *arguments, uintptr_t kernel,
                  const struct fpgart_nd_range *nd_range, struct fpgart_launches *launches)
{
    if (launches->count == FPGART_LAUNCHES || arguments->image == NULL ||
        !bring_up_to_date(arguments))
        return 0;
    struct fpgart_launched *known = fpgart_launched_kernel(launches, kernel, arguments->serial);
    if (known == NULL)
        return 0;
    if (known->version != arguments->version) {
        uint64_t serials[FPGART_ARGUMENTS];
        uint32_t locations[FPGART_ARGUMENTS];
        for (uint32_t i = 0; i < arguments->count; i++) {
            const struct place *place = &arguments->places[i];
            serials[i] = place->buffer != 0 ? place->serial : place->usm_context;
            locations[i] = place->location;
        }
        known->version = 0;
        known->arguments = arguments->count;
        known->size = arguments->size;
        if (!fpgart_record_image(launches, known, arguments->image, serials, locations))
            return 0;
        known->version = arguments->version;
    }
    launches->launches[launches->count++] =
        (struct fpgart_launch){.kernel = (uint32_t)(known - launches->kernels),
                               .image = known->image,
                               .size = known->size,
                               .nd_range = *nd_range};
    return 1;
}

int fpgart_record_arguments(uintptr_t kernel, const struct fpgart_request *request,
                            struct fpgart_launches *launches)
{
    struct fpgart_arguments *arguments = arguments_of(kernel);
    if (arguments == NULL)
        return 0;
    pthread_mutex_lock(&arguments->lock);
    uint32_t known = known_request(arguments, request);
    int done =
        known < REQUESTS && record(arguments, kernel, &arguments->nd_ranges[known], launches);
    pthread_mutex_unlock(&arguments->lock);
    return done;
}
