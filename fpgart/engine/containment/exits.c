/* SPDX-License-Identifier: Apache-2.0
 *
 * exit() calls the registered functions, the last first, on any thread. The engine's compiler
 * registers the destructors of its static objects while it compiles, and uses these objects until
 * it has compiled. They are kept here, and called when the driver has closed. So the driver closes
 * behind the handlers that the host has registered since the engine was opened, which may still
 * use it. */
#include "exits.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

int __cxa_atexit(void (*destroy)(void *), void *object, void *library);
void __cxa_finalize(void *library);

struct kept {
    void (*_Atomic destroy)(void *); /* NULL: has been called */
    void *object, *library;
    struct kept *next;
};

static struct kept *_Atomic last;
static atomic_bool closed;
static void (*_Atomic close_at_exit)(void);

/* Calls what is kept of a library, the last first; NULL: of all. */
static void destroy_of(const void *library)
{
    for (struct kept *each = last; each != NULL; each = each->next) {
        void (*destroy)(void *) = NULL;
        if (library == NULL || each->library == library)
            destroy = atomic_exchange(&each->destroy, NULL);
        if (destroy != NULL)
            destroy(each->object);
    }
}

static void destroy_all(void)
{
    closed = 1; /* what these destructors register is for exit() */
    destroy_of(NULL);
}

void exits_renew(void)
{
    void (*registers)(void) = close_at_exit;
    if (registers == NULL)
        return;
    atexit(destroy_all);
    registers();
}

void exits_close_first(uintptr_t given)
{
    close_at_exit = (void (*)(void))given;
    exits_renew();
}

int exits_register(void (*destroy)(void *), void *object, void *library)
{
    struct kept *made = close_at_exit != NULL && !closed ? malloc(sizeof *made) : NULL;
    if (made == NULL)
        return __cxa_atexit(destroy, object, library);
    *made = (struct kept){.destroy = destroy, .object = object, .library = library, .next = last};
    while (!atomic_compare_exchange_weak(&last, &made->next, made))
        continue;
    return 0;
}

void exits_finalize(void *library)
{
    destroy_of(library);
    __cxa_finalize(library);
}
