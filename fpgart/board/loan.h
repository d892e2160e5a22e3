/* SPDX-License-Identifier: Apache-2.0
 *
 * The transfers of one board, lent to C for the blocking reads and writes of one queue: the
 * interlock between C, which copies without the interpreter (icd/copies.c), and Python's scheduler,
 * which lends only while nothing is in the queue and nothing moves, and takes the loan back before
 * anything else may begin. All that decides is one atomic number. */
#ifndef FPGART_LOAN_H
#define FPGART_LOAN_H
#include <stddef.h>
#include <stdint.h>
/* cffi */
/* Bytes that C has moved by itself, which count as the board's. */
struct board_traffic {
    uint64_t calls;
    uint64_t bytes;
};
struct loan;
/* NULL without memory. */
struct loan *loan_new(void);
void loan_free(struct loan *loan);

/* For Python, under the scheduler's lock. `way`: 1 to the board, 2 from it (Direction). The first
 * two while it is not lent: C may copy to or from a buffer, which begins at `address`; none of
 * those that were entered is valid any more. `traffic`: the address of two struct board_traffic,
 * where that is counted. */
void loan_enter(struct loan *loan, uintptr_t buffer, uint64_t serial, int way, uintptr_t address,
                uint64_t size, uintptr_t traffic);
void loan_forget(struct loan *loan);
void loan_lend(struct loan *loan, uintptr_t queue, uint64_t serial);
/* C begins no other copy. Gives the way of one that is under way, whose end is told; 0 if there is
 * none. `used`: whether C has copied anything since it was lent. */
int loan_call_in(struct loan *loan, int *used);
/* Whether a copy is under way. */
int loan_is_out(const struct loan *loan);

/* For C. Whether the loan is the caller's until loan_return(), which gives whether Python wants to
 * hear of that. */
int loan_borrow(struct loan *loan, int way);
int loan_return(struct loan *loan);
/* While it is borrowed: where bytes of a buffer are for a queue; 0 if that is for Python. */
uintptr_t loan_find(const struct loan *loan, uintptr_t queue, uint64_t queue_serial,
                    uintptr_t buffer, uint64_t serial, int way, uint64_t offset, uint64_t size);
void loan_count(struct loan *loan, uintptr_t buffer, uint64_t size);
/* cffi */
#endif
