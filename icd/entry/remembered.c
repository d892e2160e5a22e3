/* SPDX-License-Identifier: Apache-2.0
 *
 * Answers that cannot change. Python gives an answer once; from then on the host gets it without
 * the interpreter. If a watcher has to see each call, no answers are kept.
 *
 * Readers take no lock: the host holds the handle that it names. An answer is never changed, and
 * is freed only when its handle's slot gets another object. */
#include "remembered.h"

#include "handles.h"
#include "interpreter.h"
#include "permissions.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define LARGEST 8192 /* bytes; hosts rarely repeat queries with longer answers */

struct fpgart_answer {
    struct fpgart_answer *next;
    cl_uint query;
    uint32_t length;
    unsigned char bytes[];
};

static const struct fpgart_answer *recall_own(uintptr_t handle, int kind, cl_uint query)
{
    fpgart_answers *answers = fpgart_answers_of(handle, kind);
    if (answers == NULL || fpgart_watched() || fpgart_state != FPGART_RUNNING)
        return NULL;
    const struct fpgart_answer *found = atomic_load(answers);
    while (found != NULL && found->query != query)
        found = found->next;
    return found;
}

void fpgart_remember(uintptr_t handle, cl_uint query, const char *bytes, size_t length)
{
    int kind = fpgart_handle_kind(handle);
    fpgart_answers *answers = fpgart_answers_of(handle, kind);
    if (answers == NULL || length > LARGEST || fpgart_watched() ||
        recall_own(handle, kind, query) != NULL)
        return;
    struct fpgart_answer *answer = malloc(sizeof *answer + length);
    if (answer == NULL)
        return;
    answer->query = query;
    answer->length = (uint32_t)length;
    memcpy(answer->bytes, bytes, length);
    answer->next = atomic_load(answers);
    while (!atomic_compare_exchange_weak(answers, &answer->next, answer))
        ;
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
    if (answer == NULL || (value != NULL && size < answer->length))
        return 0;
    if (value != NULL)
        memcpy(value, answer->bytes, answer->length);
    if (size_ret != NULL)
        *size_ret = answer->length;
    return 1;
}

int fpgart_knows(const void *object, int kind, cl_uint query, size_t size, void *value,
                 size_t *size_ret)
{
    const struct fpgart_answer *answer = recall_own((uintptr_t)object, kind, query);
    return give(answer, size, value, size_ret);
}

/* Returns 1 if the events are of one context and all have succeeded; other cases are left to
 * Python. */
int fpgart_knows_ends(cl_uint count, const cl_event *events)
{
    cl_context context = NULL;
    for (cl_uint i = 0; i < count && events != NULL; i++) {
        cl_context own;
        cl_int status;
        if (!fpgart_knows(events[i], FPGART_EVENT, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status,
                          &status, NULL) ||
            !fpgart_knows(events[i], FPGART_EVENT, CL_EVENT_CONTEXT, sizeof own, &own, NULL) ||
            status != CL_COMPLETE || (i > 0 && own != context))
            return 0;
        context = own;
    }
    return count > 0 && events != NULL;
}
