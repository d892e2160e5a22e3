/* SPDX-License-Identifier: Apache-2.0
 *
 * What is asked of the system about memory beyond POSIX: files without names, holes in them, huge
 * pages, pages that stay, and which pages were touched. Another system needs another file like this
 * one (docs/portability.md). Called through cffi, so without the interpreter's lock. */
#define _GNU_SOURCE
#include "pages.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define HUGE_PAGE ((size_t)2 << 20)
#define SMALL_PAGE ((size_t)4096)
#ifndef MADV_DONTNEED_LOCKED
#define MADV_DONTNEED_LOCKED 24 /* of Linux 5.18 */
#endif

int memory_file(const char *name)
{
    return memfd_create(name, MFD_CLOEXEC);
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

uintptr_t map_part(int descriptor, uint64_t offset, uintptr_t address, size_t size, int huge)
{
    int flags = MAP_SHARED | MAP_NORESERVE | MAP_FIXED_NOREPLACE;
    void *found =
        mmap((void *)address, size, PROT_READ | PROT_WRITE, flags, descriptor, (off_t)offset);
    if (found == MAP_FAILED)
        return 0;
    if ((uintptr_t)found != address) { /* kernels before 4.17 take the address for a hint */
        munmap(found, size);
        return 0;
    }
    if (huge)
        madvise(found, size, MADV_HUGEPAGE);
    madvise(found, size, MADV_DONTDUMP); /* a board's memory is no use in a core file */
    return address;
}

int keep_in_memory(uintptr_t address, size_t size)
{
    return mlock2((void *)address, size, MLOCK_ONFAULT) == 0;
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

static void *map_private(size_t size, int more)
{
    return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | more, -1, 0);
}

/* Huge pages that the system makes up have to begin at a multiple of their size. */
static void *map_for_huge_pages(size_t size)
{
    if (size < HUGE_PAGE)
        return map_private(size, MAP_NORESERVE);
    char *whole = map_private(size + HUGE_PAGE, MAP_NORESERVE);
    if (whole == MAP_FAILED)
        return whole;
    size_t before = (HUGE_PAGE - (uintptr_t)whole % HUGE_PAGE) % HUGE_PAGE;
    if (before > 0)
        munmap(whole, before);
    munmap(whole + before + size, HUGE_PAGE - before);
    madvise(whole + before, size, MADV_HUGEPAGE);
    return whole + before;
}

/* MLOCK_ONFAULT: pages stay once they are there, and none has to be there before it is touched.
 * Huge pages are reserved by mmap: without that, a touch kills the process where there are too few.
 */
uintptr_t map_pinned(size_t size, int *locked)
{
    void *address = MAP_FAILED;
    if (size % HUGE_PAGE == 0)
        address = map_private(size, MAP_HUGETLB);
    if (address == MAP_FAILED)
        address = map_for_huge_pages(size);
    if (address == MAP_FAILED)
        return 0;
    *locked = mlock2(address, size, MLOCK_ONFAULT) == 0;
    return (uintptr_t)address;
}

/* Pages of a file can be taken out of the process's tables without losing their contents: who
 * touches one, be it in a system call, brings it back, and the system tells which are there. */
uintptr_t map_watched(size_t size, int *locked)
{
    void *address = MAP_FAILED;
    int file = memory_file("fpgart-shared");
    if (file >= 0 && ftruncate(file, (off_t)size) == 0)
        address = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
    if (file >= 0)
        close(file);
    if (address == MAP_FAILED)
        return 0;
    *locked = mlock2(address, size, MLOCK_ONFAULT) == 0;
    return (uintptr_t)address;
}

int forget_touches(uintptr_t begin, size_t size)
{
    void *address = (void *)begin;
    if (madvise(address, size, MADV_DONTNEED_LOCKED) == 0)
        return 0;
    munlock(address, size); /* Linux before 5.18 */
    int failed = madvise(address, size, MADV_DONTNEED);
    mlock2(address, size, MLOCK_ONFAULT);
    return failed;
}

long touched_pages(uintptr_t address, size_t pages, char *touched)
{
    enum { AT_ONCE = 512 };
    uint64_t entries[AT_ONCE];
    long count = 0;
    if (sysconf(_SC_PAGESIZE) != (long)SMALL_PAGE) /* whoever asks counts in small pages */
        return -1;
    int file = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return -1;
    for (size_t done = 0; done < pages;) {
        size_t step = pages - done < AT_ONCE ? pages - done : AT_ONCE;
        size_t bytes = step * sizeof entries[0];
        off_t at = (off_t)((address / SMALL_PAGE + done) * sizeof entries[0]);
        if (pread(file, entries, bytes, at) != (ssize_t)bytes) {
            count = -1;
            break;
        }
        for (size_t i = 0; i < step; i++)
            count += touched[done + i] = (char)(entries[i] >> 63);
        done += step;
    }
    close(file);
    return count;
}

int unmap(uintptr_t address, size_t size)
{
    return munmap((void *)address, size);
}

int discard(uintptr_t address, size_t size)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uintptr_t end = address + size, first = (address + page - 1) / page * page;
    uintptr_t last = end / page * page;
    if (first >= last) {
        memset((void *)address, 0, size);
        return 0;
    }
    memset((void *)address, 0, first - address);
    memset((void *)last, 0, end - last);
    return madvise((void *)first, last - first, MADV_REMOVE);
}

int punch(int descriptor, uint64_t offset, uint64_t size)
{
    return fallocate(descriptor, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset,
                     (off_t)size);
}
