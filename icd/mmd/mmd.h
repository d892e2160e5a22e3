/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions between libfpgart_mmd.so and its Python side. Addresses, handles of operations and
 * functions of the host's are integers; sizes are in bytes. */
#pragma once

#include <aocl_mmd.h>

#include "interpreter.h"

/* Python: what the functions of aocl_mmd.h do. */
/* python */
int mmd_get_offline_info(int query, size_t size, uintptr_t value, size_t *size_ret);
int mmd_get_info(int handle, int query, size_t size, uintptr_t value, size_t *size_ret);
int mmd_open(const char *name);
int mmd_close(int handle);
int mmd_set_interrupt_handler(int handle, uintptr_t function, uintptr_t data);
int mmd_set_device_interrupt_handler(int handle, uintptr_t function, uintptr_t data);
int mmd_set_status_handler(int handle, uintptr_t function, uintptr_t data);
int mmd_yield(int handle);
int mmd_read(int handle, uintptr_t op, size_t size, uintptr_t host, int interface, size_t offset);
int mmd_write(int handle, uintptr_t op, size_t size, uintptr_t host, int interface, size_t offset);
int mmd_copy(int handle, uintptr_t op, size_t size, int interface, size_t source,
             size_t destination);
int mmd_program(int handle, uintptr_t image, size_t size, int mode);
uintptr_t mmd_host_alloc(int *handles, size_t count, size_t size, size_t alignment, int *properties,
                         int *error);
uintptr_t mmd_shared_alloc(int handle, size_t size, size_t alignment, int *properties, int *error);
int mmd_free(uintptr_t memory);
int mmd_refuse_host_channel(int handle);
int fpgart_busy(void);
int fpgart_settle(void);
int fpgart_shut_down(void);
/* python */

/* C: the host's handlers, and what the start needs. */
/* c */
void mmd_tell_interrupt(uintptr_t function, int handle, uintptr_t data);
void mmd_tell_device_interrupt(uintptr_t function, int handle, uint64_t exception, uintptr_t data);
void mmd_tell_status(uintptr_t function, int handle, uintptr_t data, uintptr_t op, int status);
void fpgart_refuse(const char *reason);
void fpgart_close_at_exit(void);
int fpgart_is_secure(void);
/* c */
