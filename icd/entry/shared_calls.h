/* SPDX-License-Identifier: Apache-2.0
 *
 * The host's calls on shared virtual and unified shared memory that C carries out (FPGART_CALL); 0
 * leaves the call to Python. Copies are from `host` to `other`, fills at `other`. */
#pragma once

#include <CL/cl.h>

struct call;

int fpgart_carry_svm_copy(const struct call *call);
int fpgart_carry_svm_fill(const struct call *call);
int fpgart_carry_svm_mapping(const struct call *call);
/* The host's pointers are at `host`, their sizes at `other`, if they have some. */
int fpgart_carry_svm_migration(const struct call *call);
int fpgart_carry_svm_free(const struct call *call);
int fpgart_carry_usm_copy(const struct call *call);
int fpgart_carry_usm_fill(const struct call *call);
int fpgart_carry_usm_hint(const struct call *call); /* a migration or advice */
const void *fpgart_byte(cl_int value);              /* as a pattern; until the thread's next call */
