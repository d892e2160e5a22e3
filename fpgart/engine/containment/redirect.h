/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* cffi */
/* Replaces functions in libraries that have been loaded since: drivers load some at the first
 * query for their devices. */
void redirect_rest(void);
/* cffi */
/* Opens a library as dlopen() does, and replaces functions in it and in those that it loads
 * (environment.c, exits.c, diagnostics.c). */
void *redirect_open(const char *path, int flags);
