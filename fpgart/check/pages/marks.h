/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "carrier.h"
/* cffi */
/* Marks: a pattern in the rest of a block's own pages, in front of it and behind, which shows
 * what was written there. */
void marks_put(const struct marked *block);
/* Returns 1 if a mark has changed, with the places in `block`, and puts the marks again. */
int marks_check(struct marked *block);
/* The function around launches that C carries (carrier.h). It says that their operation begins and
 * ends (faults.h), and checks the marks. */
void marks_around(struct checked *checked, int is_over);
/* cffi */
