/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <stdint.h>
/* cffi */
/* `close_at_exit`, a `void (*)(void)`, registers with atexit() the function that has to run
 * before the engine's libraries destroy their static objects. */
void exits_close_first(uintptr_t close_at_exit);
/* cffi */
/* Do as __cxa_atexit() and __cxa_finalize(), for the engine's libraries. */
int exits_register(void (*destroy)(void *), void *object, void *library);
void exits_finalize(void *library);
/* Called when the engine's libraries have been loaded: calls `close_at_exit` again. */
void exits_renew(void);
