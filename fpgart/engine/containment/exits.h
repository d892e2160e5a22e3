/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FPGART_EXITS_H
#define FPGART_EXITS_H
#include <stdint.h>
/* cffi */
/* `close_at_exit`, a `void (*)(void)`, registers with atexit() the function that has to run
 * before the engine's libraries destroy their static objects. It is called whenever they may
 * have made one. */
void exits_close_first(uintptr_t close_at_exit);
/* cffi */
/* Does as __cxa_atexit(), for the engine's libraries. */
int exits_register(void (*destroy)(void *), void *object, void *library);
/* Calls `close_at_exit`. */
void exits_renew(void);
#endif
