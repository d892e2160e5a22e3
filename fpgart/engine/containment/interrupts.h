/* SPDX-License-Identifier: Apache-2.0
 *
 * Ctrl-C in a host that handles it later, as Python does: running kernels are notified. */
#pragma once
#include <stdint.h>
/* cffi */
/* Installs a handler that counts SIGINT and then calls the host's present handler. A handler
 * that the host installs later replaces it. Does nothing if the host has none. */
void interrupts_watch(void);
/* Returns the count. */
uint32_t interrupts(void);
/* cffi */
