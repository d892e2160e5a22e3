/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

/* The file or named pipe behind an I/O channel; opened when first read or written. */
struct io_file;
struct io_file *io_file_new(const char *path);
void io_file_free(struct io_file *file);
/* Return the bytes that were moved without waiting; 0 if there are none, or no room. */
size_t io_file_read(struct io_file *file, void *data, size_t size);
size_t io_file_write(struct io_file *file, const void *data, size_t size);
/* True if another process may be at the other end, because it is a named pipe. */
bool io_file_has_peer(const struct io_file *file);
const char *io_file_path(const struct io_file *file);
/* Returns why it could not be opened; "" if it could, or was not tried. */
const char *io_file_error(const struct io_file *file);
