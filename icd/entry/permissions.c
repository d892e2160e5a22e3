/* SPDX-License-Identifier: Apache-2.0
 *
 * The switches with which Python says what C may do without it. */
#include "permissions.h"

#include "callbacks.h"
#include "interpreter.h"

#include <stdatomic.h>

static atomic_int carries, keeps_nothing, notes_launches, has_threads;

void fpgart_carry(int flag)
{
    atomic_store(&carries, flag && fpgart_has_threads());
}

void fpgart_threads_run(int flag)
{
    atomic_store(&has_threads, flag);
}

int fpgart_has_threads(void)
{
    return atomic_load(&has_threads);
}

int fpgart_carries_at_all(void)
{
    return atomic_load(&carries) && fpgart_running() && fpgart_has_stack();
}

int fpgart_may_carry(void)
{
    return !fpgart_watched() && fpgart_carries_at_all();
}

int fpgart_may_wait(void)
{
    return !(fpgart_is_guest() && fpgart_holds_interpreter()) && !fpgart_in_callback();
}

int fpgart_watched(void)
{
    return atomic_load(&keeps_nothing);
}

int fpgart_may_answer(void)
{
    return !fpgart_watched() && fpgart_state == FPGART_RUNNING;
}

void fpgart_remember_nothing(void)
{
    atomic_store(&keeps_nothing, 1);
}

void fpgart_note_launches(int how)
{
    atomic_store(&notes_launches, how);
}

int fpgart_watches_launches(void)
{
    return atomic_load(&notes_launches);
}
