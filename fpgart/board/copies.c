/* SPDX-License-Identifier: Apache-2.0
 *
 * Moving and mapping memory. Called through cffi, so without the interpreter's lock. */
#define _GNU_SOURCE
#include "copies.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#define HUGE_PAGE ((size_t)2 << 20)

void copy_bytes(uintptr_t destination, uintptr_t source, size_t size)
{
    memmove((void *)destination, (const void *)source, size);
}

int copy_if_readable(uintptr_t destination, uintptr_t source, size_t size)
{
    struct iovec to = {(void *)destination, size}, from = {(void *)source, size};
    ssize_t copied = process_vm_readv(getpid(), &to, 1, &from, 1, 0);
    if (copied < 0 && errno != EFAULT) { /* the system does not let us ask */
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

uintptr_t map_file(int descriptor, size_t size)
{
    void *address =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, descriptor, 0);
    if (address == MAP_FAILED)
        return 0;
    madvise(address, size, MADV_HUGEPAGE); /* where the system has them for shared memory */
    return (uintptr_t)address;
}

uintptr_t map_anonymous(size_t size)
{
    void *address = mmap(NULL, size, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return address == MAP_FAILED ? 0 : (uintptr_t)address;
}

uintptr_t map_at(uintptr_t address, size_t size)
{
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE;
    void *found = mmap((void *)address, size, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (found == MAP_FAILED)
        return 0;
    if ((uintptr_t)found == address)
        return address;
    munmap(found, size); /* kernels before 4.17 take the address for a hint */
    return 0;
}

/* MLOCK_ONFAULT: pages stay once they are there, and none has to be there before it is touched.
 * Huge pages are reserved by mmap: without that, a touch kills the process where there are too few.
 */
uintptr_t map_pinned(size_t size)
{
    void *address = MAP_FAILED;
    if (size % HUGE_PAGE == 0)
        address = mmap(NULL, size, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
    if (address == MAP_FAILED) {
        address = mmap(NULL, size, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (address == MAP_FAILED)
            return 0;
        madvise(address, size, MADV_HUGEPAGE);
    }
    mlock2(address, size, MLOCK_ONFAULT);
    return (uintptr_t)address;
}

int unmap(uintptr_t address, size_t size)
{
    return munmap((void *)address, size);
}

int punch(int descriptor, uint64_t offset, uint64_t size)
{
    return fallocate(descriptor, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset,
                     (off_t)size);
}
