/* SPDX-License-Identifier: Apache-2.0
 *
 * Commands that move or fill bytes, once their addresses are known. */
#pragma once

#include <CL/cl.h>

#include <stddef.h>
#include <stdint.h>

struct call;
struct command;

/* Notes the calls of the board, and the bytes, that are counted when the command has ended. */
void fpgart_count_traffic(struct command *command, uint32_t row, uint64_t calls, uint64_t bytes);
uint64_t fpgart_fill_calls(size_t size);
/* These enqueue the command, or carry it out at once, and return 1 on success. fpgart_move() moves
 * the box of bytes whose size is in the operation, fpgart_fill() repeats the pattern of the call.
 * fpgart_do_nothing() is for a command that does nothing on the board: it is not enqueued if it
 * waits for nothing, and nothing tells the host of its end. */
int fpgart_do_nothing(struct command *command);
int fpgart_move(struct command *command, uintptr_t from, uintptr_t to);
int fpgart_move_bytes(struct command *command, uintptr_t from, uintptr_t to, size_t size);
int fpgart_fill(struct command *command, uintptr_t to);

/* Returns 1 if the pattern of the call is valid for bytes that begin there. */
int fpgart_is_pattern(const struct call *call, size_t begin);
int fpgart_are_map_flags(cl_map_flags flags);
int fpgart_are_migration_flags(cl_mem_migration_flags flags);
