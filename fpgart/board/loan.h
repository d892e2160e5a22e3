/* SPDX-License-Identifier: Apache-2.0
 *
 * What one board does for one queue, lent to C: blocking reads and writes (icd/copies.c), and
 * launches that were recorded and are waited for (icd/runs.c). This is the interlock between C,
 * which needs no interpreter for them, and Python's scheduler, which lends only while nothing is in
 * the queue and nothing moves, and takes the loan back before anything else may begin. All that
 * decides is one atomic number. */
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

/* For Python, under the scheduler's lock. `way`: 1 to the board, 2 from it (Direction); 4: C runs
 * launches, never beside a copy. The first five while it is not lent: C may copy to or from a
 * buffer, which begins at `address`; none of those that were entered is valid any more. `traffic`:
 * the address of two struct board_traffic, where that is counted. C may run launches of some
 * kernels with some buffers, at most `most` at once, on a queue of the engine; none any more. */
void loan_enter(struct loan *loan, uintptr_t buffer, uint64_t serial, int way, uintptr_t address,
                uint64_t size, uintptr_t traffic);
void loan_forget(struct loan *loan);
void loan_enter_use(struct loan *loan, uintptr_t buffer, uint64_t serial, uint32_t location,
                    uintptr_t address);
/* 0: there is no room. */
int loan_enter_kernel(struct loan *loan, uintptr_t kernel, uint64_t serial,
                      uintptr_t engine_kernel);
void loan_enter_engine(struct loan *loan, uintptr_t queue, uint32_t most, uint64_t most_ns);
void loan_forget_kernels(struct loan *loan);
/* What C has run since it was asked last. */
void loan_take_runs(struct loan *loan, uint64_t *launches, uint64_t *nanoseconds);
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
/* For runs, while the loan is borrowed for one. Where a buffer that an argument needs
 * in `location` is, and the engine's kernel; 0 if that is for Python. */
uintptr_t loan_find_use(const struct loan *loan, uintptr_t buffer, uint64_t serial,
                        uint32_t location);
uintptr_t loan_find_kernel(const struct loan *loan, uintptr_t kernel, uint64_t serial);
int loan_runs(const struct loan *loan, uintptr_t queue, uint64_t queue_serial, uint32_t launches);
uintptr_t loan_engine_queue(const struct loan *loan);
/* Some launches have taken so long together. Kernels that run longer than Python was told are for
 * Python again. */
void loan_count_run(struct loan *loan, uint32_t launches, uint64_t nanoseconds);
/* cffi */
#endif
