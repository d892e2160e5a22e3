/* SPDX-License-Identifier: Apache-2.0 */
#include "tally.h"

#include "clock.h"
#include <CL/cl.h>
#include <CL/cl_icd.h>
#include <sched.h>
#include <stddef.h>
#include <stdlib.h>

enum { PATIENCE_MS = 100 }; /* for a callback of a launch whose end is known already */

struct object {
    const struct _cl_icd_dispatch *dispatch;
};

struct tally *tally_new(_Atomic uint64_t *shown)
{
    struct tally *tally = calloc(1, sizeof *tally);
    if (tally != NULL)
        tally->shown = shown;
    return tally;
}

/* Drivers call back after the status of a launch has become that of its end. */
static bool settles(struct tally *tally)
{
    uint64_t end = 0;
    while (atomic_load(&tally->told) != tally->watched) {
        if (end == 0)
            end = now_ms() + PATIENCE_MS;
        else if (now_ms() >= end)
            return false;
        sched_yield();
    }
    return true;
}

void tally_end(struct tally *tally)
{
    if (tally != NULL && settles(tally))
        free(tally); /* otherwise a callback may still read it */
}

static void show(struct tally *tally, uint32_t count)
{
    uint32_t known = atomic_load(&tally->lost) ? TALLY_UNKNOWN : count;
    atomic_store(tally->shown, (uint64_t)tally->request << 32 | known);
}

bool tally_begin(struct tally *tally, uint32_t request)
{
    if (!settles(tally))
        return false;
    atomic_store(&tally->ended, 0);
    atomic_store(&tally->told, 0);
    atomic_store(&tally->lost, false);
    tally->watched = 0;
    tally->request = request;
    show(tally, 0);
    return true;
}

static void CL_CALLBACK count(cl_event event, cl_int status, void *data)
{
    struct tally *tally = data;
    (void)event;
    if (status < CL_COMPLETE) /* readers of the count assume that counted launches succeeded */
        atomic_store(&tally->lost, true);
    show(tally, atomic_fetch_add(&tally->ended, 1) + 1);
    atomic_fetch_add(&tally->told, 1);
}

void tally_watch(struct tally *tally, uintptr_t event)
{
    const struct _cl_icd_dispatch *driver = ((struct object *)event)->dispatch;
    tally->watched++;
    if (driver->clSetEventCallback((cl_event)event, CL_COMPLETE, count, tally) != CL_SUCCESS) {
        tally->watched--;
        atomic_store(&tally->lost, true);
        show(tally, 0);
    }
}
