/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FPGART_ENVIRONMENT_H
#define FPGART_ENVIRONMENT_H
/* cffi */
/* What drivers that are opened from now on hear when they ask for a variable of the environment.
 * With `unless_set` only where the process has none of that name. 0 when there is no memory. */
int environment_say(const char *name, const char *value, int unless_set);
/* The environment is nobody else's: what is said is put into it from now on, and libraries ask
 * for it themselves. Called before anything is said, and never together with environment_seal(). */
void environment_is_ours(void);
/* From now on they hear what the process has. */
void environment_forget(const char *name);
/* From now on they hear of no variable but those that were said here. */
void environment_seal(void);
/* cffi */
#include <stdint.h>
/* The function that a driver's library calls in the place of that one; 0: the same. */
uintptr_t environment_replacement(const char *symbol);
#endif
