/* SPDX-License-Identifier: Apache-2.0
 *
 * Counts launches that follow each other in a queue as they end, in memory that outlives the
 * process: it shows which launch ran when the process died. */
#ifndef FPGART_TALLY_H
#define FPGART_TALLY_H
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct tally {
    _Atomic uint64_t *shown; /* the number of the request, and in the low half the count */
    _Atomic uint32_t ended;
    _Atomic uint32_t told;
    atomic_bool lost; /* the end of a launch cannot be counted */
    uint32_t watched;
    uint32_t request;
};

/* An unknown count; the value before any count. */
enum { TALLY_UNKNOWN = UINT32_MAX, TALLY_NONE = UINT32_MAX - 1 };

/* Makes a tally that writes its count there; NULL without memory. */
struct tally *tally_new(_Atomic uint64_t *shown);
/* Ends the counting. */
void tally_end(struct tally *tally);
/* Counts from 0, for another request. False if launches of the request before may still be
 * counted. */
bool tally_begin(struct tally *tally, uint32_t request);
/* Counts a launch when it has ended. The driver's callback comes before the next launch of the
 * queue begins, or at once: PoCL and Intel's runtime call it on the thread on which the launch
 * ends. */
void tally_watch(struct tally *tally, uintptr_t event);
#endif
