/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions of the system for memory beyond POSIX: files without names, holes in them, huge
 * pages, locked pages, and which pages were accessed. Another system needs another file like
 * this one (docs/portability.md). Called through cffi, so without the interpreter's lock. */
#define _GNU_SOURCE
#include "pages.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
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
    madvise(address, size, MADV_HUGEPAGE); /* if the system has them for shared memory */
    return (uintptr_t)address;
}

uintptr_t map_part(int descriptor, uint64_t offset, uintptr_t address, size_t size, int huge)
{
    int flags = MAP_SHARED | MAP_NORESERVE | MAP_FIXED_NOREPLACE;
    void *found =
        mmap((void *)address, size, PROT_READ | PROT_WRITE, flags, descriptor, (off_t)offset);
    if (found == MAP_FAILED)
        return 0;
    if ((uintptr_t)found != address) { /* kernels before 4.17 use the address as a hint */
        munmap(found, size);
        return 0;
    }
    if (huge)
        madvise(found, size, MADV_HUGEPAGE);
    madvise(found, size, MADV_DONTDUMP); /* core files leave boards' memory out */
    return address;
}

uintptr_t map_again(int descriptor, uint64_t offset, size_t size)
{
    void *address = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, descriptor,
                         (off_t)offset);
    if (address == MAP_FAILED)
        return 0;
    madvise(address, size, MADV_HUGEPAGE);
    madvise(address, size, MADV_DONTDUMP);
    return (uintptr_t)address;
}

int close_pages(uintptr_t address, size_t size)
{
    return mprotect((void *)address, size, PROT_NONE);
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
    munmap(found, size); /* kernels before 4.17 use the address as a hint */
    return 0;
}

static void *map_private(size_t size, int more)
{
    return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | more, -1, 0);
}

/* Transparent huge pages have to begin at a multiple of their size. */
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

/* 1 for what no computer has: sums of it would overflow. */
static int is_beyond_any(size_t size, size_t alignment)
{
    return size > PTRDIFF_MAX / 2 || alignment > PTRDIFF_MAX / 2;
}

/* The size of a mapping of whole pages that contains `size` bytes at a multiple of `alignment`. */
static size_t size_of_mapping(size_t size, size_t alignment, size_t page)
{
    size_t whole = (size + page - 1) / page * page;
    return alignment > page ? whole + alignment - page : whole;
}

/* MLOCK_ONFAULT locks pages at their first access. mmap reserves huge pages: otherwise an
 * access would kill the process if there are too few. */
uintptr_t map_pinned(size_t *size, size_t alignment, int *locked)
{
    void *address = MAP_FAILED;
    if (is_beyond_any(*size, alignment))
        return 0;
    size_t mapped = size_of_mapping(*size, alignment, HUGE_PAGE);
    if (*size > SMALL_PAGE)
        address = map_private(mapped, MAP_HUGETLB);
    if (address == MAP_FAILED) {
        mapped = size_of_mapping(*size, alignment, SMALL_PAGE);
        address = map_for_huge_pages(mapped);
    }
    if (address == MAP_FAILED)
        return 0;
    *size = mapped;
    *locked = mlock2(address, mapped, MLOCK_ONFAULT) == 0;
    return (uintptr_t)address;
}

/* Parts of one file that are mapped in order to see accesses. */
struct watched {
    struct watched *next;
    void *address;
    size_t size;
    off_t offset;
};

static struct watched *watched;
static int watched_file = -1;
static struct stat watched_identity;
static off_t watched_end; /* parts are not reused: the file has holes instead */
static pthread_mutex_t watched_lock = PTHREAD_MUTEX_INITIALIZER;

/* Returns 1 if the descriptor is still the file's: hosts may close descriptors that are not
 * theirs, and reuse their numbers. */
static int has_watched_file(void)
{
    struct stat now;
    return fstat(watched_file, &now) == 0 && now.st_dev == watched_identity.st_dev &&
           now.st_ino == watched_identity.st_ino;
}

/* Opens a new file. Mappings of an earlier one do not change, also in children. */
static void open_watched_file(void)
{
    watched_file = memory_file("fpgart-shared");
    fstat(watched_file, &watched_identity);
    watched_end = 0;
    watched = NULL;
}

static void before_fork(void)
{
    pthread_mutex_lock(&watched_lock);
}

static void after_fork(void)
{
    pthread_mutex_unlock(&watched_lock);
}

/* Makes a child's mappings private, as those of memory without a file are; their accesses are
 * not seen. */
static void after_fork_in_child(void)
{
    for (const struct watched *part = watched; part != NULL && has_watched_file();
         part = part->next)
        mmap(part->address, part->size, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_NORESERVE | MAP_FIXED, watched_file, part->offset);
    watched = NULL;
    pthread_mutex_unlock(&watched_lock);
}

static void prepare_for_fork(void)
{
    pthread_atfork(before_fork, after_fork, after_fork_in_child);
}

static int map_part_to_watch(struct watched *part)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, prepare_for_fork);
    pthread_mutex_lock(&watched_lock);
    if (!has_watched_file())
        open_watched_file();
    part->offset = watched_end;
    part->address = MAP_FAILED;
    if (ftruncate(watched_file, watched_end + (off_t)part->size) == 0)
        part->address = mmap(NULL, part->size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
                             watched_file, part->offset);
    int mapped = part->address != MAP_FAILED;
    if (mapped) {
        watched_end += (off_t)part->size;
        part->next = watched;
        watched = part;
    }
    pthread_mutex_unlock(&watched_lock);
    return mapped;
}

/* Pages of a file can be removed from the process's page tables without losing their
 * contents. An access, also by a system call, brings a page back, and the system tells which
 * pages are there. */
uintptr_t map_watched(size_t *size, size_t alignment, int *locked)
{
    struct watched *part = is_beyond_any(*size, alignment) ? NULL : malloc(sizeof *part);
    if (part == NULL)
        return 0;
    part->size = size_of_mapping(*size, alignment, SMALL_PAGE);
    if (!map_part_to_watch(part)) {
        free(part);
        return 0;
    }
    *size = part->size;
    *locked = mlock2(part->address, part->size, MLOCK_ONFAULT) == 0;
    return (uintptr_t)part->address;
}

static void forget_watched(uintptr_t address)
{
    pthread_mutex_lock(&watched_lock);
    struct watched **place = &watched;
    while (*place != NULL && (uintptr_t)(*place)->address != address)
        place = &(*place)->next;
    struct watched *part = *place;
    if (part != NULL) {
        *place = part->next;
        if (has_watched_file())
            punch(watched_file, (uint64_t)part->offset, part->size);
    }
    pthread_mutex_unlock(&watched_lock);
    free(part);
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
    if (sysconf(_SC_PAGESIZE) != (long)SMALL_PAGE) /* callers count in small pages */
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
    forget_watched(address);
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
