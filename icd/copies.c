/* SPDX-License-Identifier: Apache-2.0
 *
 * Blocking reads and writes of buffers that need no decision: Python has told where the buffer is,
 * the queue is empty, the board moves nothing else, and nobody wants an event. C then copies by
 * itself, without the interpreter and without a lock. Everything else, and whatever is wrong, is
 * for Python (fpgart/api/copies.py).
 *
 * The buffer and the queue are held while bytes move, as a command holds them: the host may release
 * them meanwhile. Python may want the loan back meanwhile: the copy then counts as a command of the
 * queue, and its end is told. */
#include "icd.h"

#include "../fpgart/board/loan.h"

#include <stdatomic.h>
#include <string.h>

enum { TO_BOARD = 1, FROM_BOARD = 2 };

struct copy {
    uintptr_t queue, buffer, host;
    size_t offset, size;
    int way;
};

void fpgart_let_copies_pass(uintptr_t queue, uintptr_t loan)
{
    fpgart_loan_slot *slot = fpgart_loan_of(queue);
    if (slot != NULL)
        atomic_store(slot, (struct loan *)loan);
}

/* While the loan is borrowed. What is held is to be released without it. */
static int move(struct loan *loan, const struct copy *copy)
{
    uint64_t queue = fpgart_handle_serial(copy->queue);
    uint64_t buffer = fpgart_handle_serial(copy->buffer);
    uintptr_t board = loan_find(loan, copy->queue, queue, copy->buffer, buffer, copy->way,
                                copy->offset, copy->size);
    if (board == 0 || !fpgart_hold(copy->queue, FPGART_QUEUE, queue))
        return 0;
    if (!fpgart_hold(copy->buffer, FPGART_MEM, buffer)) {
        fpgart_unhold(copy->queue, FPGART_QUEUE);
        return 0;
    }
    loan_count(loan, copy->buffer, copy->size);
    if (copy->way == TO_BOARD)
        memmove((void *)board, (const void *)copy->host, copy->size);
    else
        memmove((void *)copy->host, (const void *)board, copy->size);
    return 1;
}

static void tell_end(struct loan *loan)
{
    struct fpgart_visit visit;
    if (!fpgart_enter(&visit))
        return; /* the process ends, and nobody waits */
    fpgart_copy_ended((uintptr_t)loan);
    fpgart_leave(&visit);
}

static _Thread_local int was_missed;

int fpgart_copy_was_missed(void)
{
    return was_missed;
}

/* Whether C may carry out transfers of this thread's at all. */
static int may_copy(void)
{
    return fpgart_running() && !fpgart_watched() && fpgart_has_stack() &&
           !(fpgart_is_guest() && fpgart_holds_interpreter()); /* others shall have it meanwhile */
}

static int copies(const struct copy *copy)
{
    fpgart_loan_slot *slot = fpgart_loan_of(copy->queue);
    struct loan *loan = slot != NULL ? atomic_load(slot) : NULL;
    if (copy->host == 0 || copy->size == 0 || !may_copy())
        return 0;
    was_missed = 1;
    if (loan == NULL)
        return 0;
    if (fpgart_any_launches()) /* first: who takes them in calls the loan in before they are gone */
        return 0;
    if (!loan_borrow(loan, copy->way))
        return 0;
    int done = move(loan, copy);
    if (loan_return(loan))
        tell_end(loan);
    if (done) {
        fpgart_count_call();
        fpgart_unhold(copy->buffer, FPGART_MEM);
        fpgart_unhold(copy->queue, FPGART_QUEUE);
    }
    return done;
}

/* Whether nobody is to hear of it but the caller, who waits for nothing but the queue. */
static int is_plain(cl_bool blocking, cl_uint waits, const cl_event *wait_list,
                    const cl_event *event)
{
    was_missed = 0;
    return blocking && waits == 0 && wait_list == NULL && event == NULL;
}

int fpgart_reads(const void *queue, const void *buffer, cl_bool blocking, size_t offset,
                 size_t size, void *host, cl_uint waits, const cl_event *wait_list,
                 const cl_event *event)
{
    const struct copy copy = {(uintptr_t)queue, (uintptr_t)buffer, (uintptr_t)host, offset, size,
                              FROM_BOARD};
    return is_plain(blocking, waits, wait_list, event) && copies(&copy);
}

int fpgart_writes(const void *queue, const void *buffer, cl_bool blocking, size_t offset,
                  size_t size, const void *host, cl_uint waits, const cl_event *wait_list,
                  const cl_event *event)
{
    const struct copy copy = {(uintptr_t)queue, (uintptr_t)buffer, (uintptr_t)host, offset, size,
                              TO_BOARD};
    return is_plain(blocking, waits, wait_list, event) && copies(&copy);
}
