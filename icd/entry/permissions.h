/* SPDX-License-Identifier: Apache-2.0
 *
 * What C may do without Python: answer, carry commands, wait. */
#pragma once

#include "for_python.h"

FOR_PYTHON void fpgart_carry(int flag); /* 0: the process exits, or watchers listen */
/* 1: the threads exist that note the ends of carried commands and make callbacks. 0: no board was
 * made, or the system gave no threads; nothing is carried then. */
void fpgart_threads_run(int flag);
int fpgart_has_threads(void);
int fpgart_carries_at_all(void);
int fpgart_may_carry(void);
/* Returns 1 if this thread may wait: it has no interpreter's lock that others need, and no
 * callbacks that Python has to make behind its own. */
int fpgart_may_wait(void);

FOR_PYTHON void fpgart_remember_nothing(void); /* forgets all answers, and keeps none from now on */
/* 1: no answers are kept, because watchers have to see each call. */
AT_ONCE int fpgart_watched(void);
int fpgart_may_answer(void); /* from what is kept; hosts with watchers ask Python */

/* FPGART_TRACED and FPGART_CHECKED, or both, let C carry launches although entry points are
 * watched. */
FOR_PYTHON enum { FPGART_UNWATCHED = 0, FPGART_TRACED = 1, FPGART_CHECKED = 2 };
void fpgart_note_launches(int how);
AT_ONCE int fpgart_watches_launches(void);
