/* SPDX-License-Identifier: Apache-2.0
 *
 * Copies and fills bytes. Called through cffi, so without the interpreter's lock. */
#define _GNU_SOURCE
#include "copies.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

void copy_bytes(uintptr_t destination, uintptr_t source, size_t size)
{
    memmove((void *)destination, (const void *)source, size);
}

int copy_if_readable(uintptr_t destination, uintptr_t source, size_t size)
{
    struct iovec to = {(void *)destination, size}, from = {(void *)source, size};
    ssize_t copied = process_vm_readv(getpid(), &to, 1, &from, 1, 0);
    if (copied < 0 && errno != EFAULT) { /* the system refuses the call */
        memcpy((void *)destination, (const void *)source, size);
        return 1;
    }
    return copied == (ssize_t)size;
}

void fill_bytes(uintptr_t destination, const char *pattern, size_t pattern_size, size_t size)
{
    char *out = (char *)destination;
    size_t done = pattern_size < size ? pattern_size : size;
    if (pattern_size == 1) {
        memset(out, (unsigned char)pattern[0], size);
        return;
    }
    memcpy(out, pattern, done);
    while (done < size) { /* the filled part doubles; it stays a whole number of patterns */
        size_t next = done < size - done ? done : size - done;
        memcpy(out + done, out, next);
        done += next;
    }
}
