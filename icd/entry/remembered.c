/* SPDX-License-Identifier: Apache-2.0
 *
 * Answers that cannot change. Python gives an answer once; from then on the host gets it without
 * the interpreter. If a watcher has to see each call, no answers are kept.
 *
 * Readers take no lock: the host holds the handle that it names. An answer is never changed, and
 * is freed only when its handle's slot gets another object. */
#include "remembered.h"

#include "answers.h"
#include "handles.h"
#include "mappings.h"
#include "permissions.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define LARGEST 8192 /* bytes; hosts rarely repeat queries with longer answers */

struct fpgart_answer {
    struct fpgart_answer *next;
    cl_uint query;
    uint32_t length;
    struct fpgart_part part;
    unsigned char bytes[];
};

static const struct fpgart_answer *find(fpgart_answers *answers, struct fpgart_part part,
                                        cl_uint query)
{
    const struct fpgart_answer *found = atomic_load(answers);
    while (found != NULL && (found->query != query || found->part.kind != part.kind ||
                             found->part.number != part.number))
        found = found->next;
    return found;
}

static const struct fpgart_answer *recall(uintptr_t handle, int kind, struct fpgart_part part,
                                          cl_uint query)
{
    fpgart_answers *answers = fpgart_answers_of(handle, kind);
    return answers != NULL && fpgart_may_answer() ? find(answers, part, query) : NULL;
}

void fpgart_add_answer(fpgart_answers *answers, struct fpgart_part part, cl_uint query,
                       const char *bytes, size_t length)
{
    if (length > LARGEST || fpgart_watched() || find(answers, part, query) != NULL)
        return;
    struct fpgart_answer *answer = malloc(sizeof *answer + length);
    if (answer == NULL)
        return;
    answer->query = query;
    answer->length = (uint32_t)length;
    answer->part = part;
    memcpy(answer->bytes, bytes, length);
    answer->next = atomic_load(answers);
    while (!atomic_compare_exchange_weak(answers, &answer->next, answer))
        ;
}

void fpgart_remember(uintptr_t handle, uint32_t part_kind, uintptr_t part_number, cl_uint query,
                     const char *bytes, size_t length)
{
    const struct fpgart_part part = {part_kind, part_number};
    fpgart_answers *answers = fpgart_answers_of(handle, fpgart_handle_kind(handle));
    if (answers != NULL)
        fpgart_add_answer(answers, part, query, bytes, length);
}

void fpgart_forget(fpgart_answers *answers)
{
    struct fpgart_answer *answer = atomic_exchange(answers, NULL);
    while (answer != NULL) {
        struct fpgart_answer *next = answer->next;
        free(answer);
        answer = next;
    }
}

static int give(const struct fpgart_answer *answer, size_t size, void *value, size_t *size_ret)
{
    return answer != NULL &&
           fpgart_answer((uintptr_t)value, size, size_ret, (const char *)answer->bytes,
                         answer->length) == CL_SUCCESS;
}

int fpgart_has_answer(fpgart_answers *answers, struct fpgart_part part, cl_uint query, size_t size,
                      void *value, size_t *size_ret)
{
    return fpgart_may_answer() && give(find(answers, part, query), size, value, size_ret);
}

int fpgart_knows_part(const void *object, int kind, struct fpgart_part part, cl_uint query,
                      size_t size, void *value, size_t *size_ret)
{
    return give(recall((uintptr_t)object, kind, part, query), size, value, size_ret);
}

/* Returns 1 for a query for a number that C counts. */
static int counts(uintptr_t object, int kind, cl_uint query, cl_uint *number)
{
    static const cl_uint of_references[] = {[FPGART_CONTEXT] = CL_CONTEXT_REFERENCE_COUNT,
                                            [FPGART_QUEUE] = CL_QUEUE_REFERENCE_COUNT,
                                            [FPGART_MEM] = CL_MEM_REFERENCE_COUNT,
                                            [FPGART_PROGRAM] = CL_PROGRAM_REFERENCE_COUNT,
                                            [FPGART_KERNEL] = CL_KERNEL_REFERENCE_COUNT,
                                            [FPGART_EVENT] = CL_EVENT_REFERENCE_COUNT};
    enum { KINDS = sizeof of_references / sizeof of_references[0] };
    if (!fpgart_may_answer() || fpgart_handle_kind(object) != kind)
        return 0;
    if (query != 0 && kind < KINDS && query == of_references[kind]) {
        *number = fpgart_handle_references(object);
        return 1;
    }
    return kind == FPGART_MEM && query == CL_MEM_MAP_COUNT &&
           fpgart_counts_mappings(object, number);
}

int fpgart_knows(const void *object, int kind, cl_uint query, size_t size, void *value,
                 size_t *size_ret)
{
    cl_uint number;
    if (counts((uintptr_t)object, kind, query, &number))
        return fpgart_answer((uintptr_t)value, size, size_ret, (const char *)&number,
                             sizeof number) == CL_SUCCESS;
    return fpgart_knows_part(object, kind, FPGART_ALL, query, size, value, size_ret);
}

/* The handles of the devices of a type are one answer. */
int fpgart_knows_devices(const void *platform, cl_device_type type, cl_uint room,
                         cl_device_id *devices, cl_uint *count)
{
    const struct fpgart_part of_type = {FPGART_OF_TYPE, type};
    const struct fpgart_answer *answer = recall((uintptr_t)platform, FPGART_PLATFORM, of_type, 0);
    if (answer == NULL || (devices != NULL ? room == 0 : count == NULL))
        return 0;
    cl_uint found = (cl_uint)(answer->length / sizeof *devices);
    if (devices != NULL)
        memcpy(devices, answer->bytes, (room < found ? room : found) * sizeof *devices);
    if (count != NULL)
        *count = found;
    return 1;
}

int fpgart_knows_success(cl_event event, uintptr_t *context)
{
    cl_int status;
    return fpgart_knows(event, FPGART_EVENT, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status,
                        &status, NULL) &&
           status == CL_COMPLETE &&
           fpgart_knows(event, FPGART_EVENT, CL_EVENT_CONTEXT, sizeof *context, context, NULL);
}
