/* SPDX-License-Identifier: Apache-2.0
 *
 * Counts launches that follow each other in a queue as they end, in memory that outlives the
 * process: whoever reads it afterwards knows which launch ran when the process died. */
#ifndef FPGART_TALLY_H
#define FPGART_TALLY_H
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct tally {
    _Atomic uint64_t *shown; /* the number of the request, and in the low half the count */
    _Atomic uint32_t ended;
    _Atomic uint32_t told;
    atomic_bool lost; /* a launch could not be watched */
    uint32_t watched;
    uint32_t request;
};

/* A count that cannot be had; what is there before anything counts. */
enum { TALLY_UNKNOWN = UINT32_MAX, TALLY_NONE = UINT32_MAX - 1 };

/* A tally that shows its count there; NULL where there is no memory. */
struct tally *tally_new(_Atomic uint64_t *shown);
/* Nobody counts there any more. */
void tally_end(struct tally *tally);
/* Counts from 0, for another request. False: launches of the one before may still be counted. */
bool tally_begin(struct tally *tally, uint32_t request);
/* Counts a launch when it has ended. The driver calls back before the next one of the queue begins,
 * or now: PoCL and Intel's runtime do so on the thread on which the launch ends. */
void tally_watch(struct tally *tally, uintptr_t event);
#endif
