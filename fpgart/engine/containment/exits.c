/* SPDX-License-Identifier: Apache-2.0
 *
 * exit() calls the registered functions, the last first, on any thread. The engine's compiler
 * registers the destructors of its static objects while it compiles, and uses these objects until
 * it has compiled. The driver has to wait for it before the first of them is destroyed, so it
 * registers its own end again behind each of them. */
#include "exits.h"

#include <stdatomic.h>
#include <stddef.h>

int __cxa_atexit(void (*destroy)(void *), void *object, void *library);

static void (*_Atomic close_at_exit)(void);

void exits_renew(void)
{
    void (*registers)(void) = close_at_exit;
    if (registers != NULL)
        registers();
}

void exits_close_first(uintptr_t given)
{
    close_at_exit = (void (*)(void))given;
    exits_renew();
}

int exits_register(void (*destroy)(void *), void *object, void *library)
{
    int failed = __cxa_atexit(destroy, object, library);
    exits_renew();
    return failed;
}
