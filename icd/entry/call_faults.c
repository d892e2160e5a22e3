/* SPDX-License-Identifier: Apache-2.0
 *
 * Faults of API calls (docs/faults.md). Entry points ask here first while Python wants each
 * call, and until Python has started, because its options are unknown before. */
#include "call_faults.h"

#include "interpreter.h"

#include <stdlib.h>

atomic_int fpgart_asks_about_calls = 1;

void fpgart_ask_about_calls(int flag)
{
    atomic_store(&fpgart_asks_about_calls, flag);
}

static int is_set(const char *name)
{
    const char *text = getenv(name);
    return text != NULL && text[0] != '\0';
}

static uint32_t own_number(void)
{
    static atomic_uint threads;
    static __thread uint32_t number; /* from 1; 0: none yet */
    if (number == 0)
        number = atomic_fetch_add(&threads, 1) + 1;
    return number - 1;
}

int fpgart_call_fails(const char *name, uintptr_t object, cl_int *status)
{
    struct fpgart_visit visit;
    if (fpgart_state != FPGART_RUNNING && !is_set(FPGART_FAULTS) && !is_set(FPGART_CALLS))
        return 0;
    uint32_t thread = own_number();
    if (!fpgart_enter(&visit))
        return 0;
    *status = fpgart_fault_of_call(name, object, thread);
    fpgart_leave(&visit);
    return *status != 0;
}
