/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* cffi */
/* Sets a variable of the environment for drivers that are opened later. With `unless_set` only
 * if the process does not have it. 0 without memory. */
int environment_say(const char *name, const char *value, int unless_set);
/* Makes the functions here change the process's environment, which libraries read directly: for
 * a process without a host. Called before any other, and never together with environment_seal(). */
void environment_is_ours(void);
/* Makes drivers read the process's variable again. */
void environment_forget(const char *name);
/* Hides all variables from drivers but those that were set here. */
void environment_seal(void);
/* cffi */
#include <stdint.h>
/* Returns the function that replaces that one in a driver's library; 0 for none. */
uintptr_t environment_replacement(const char *symbol);
