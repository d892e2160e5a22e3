/* SPDX-License-Identifier: Apache-2.0
 *
 * Opens the library behind the exported functions, once. */
#define _GNU_SOURCE
#include "shim.h"

#include "place.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

_Atomic(void *const *) fpgart_open_doors;
static atomic_int opening, half_open;

/* Another thread was opening it, and does not exist in the child. pthread_once() would begin
 * again. */
static void after_fork_in_child(void)
{
    atomic_store(&half_open, atomic_load(&opening));
}

int fpgart_file_behind(const char *series, char *path, size_t room)
{
    snprintf(path, room, "%s/%s.%s.so", fpgart_library_directory(), fpgart_behind, series);
    return access(path, R_OK) == 0;
}

static void open_it(void)
{
    char series[FPGART_SERIES_SIZE], path[PATH_MAX + 64];
    if (!fpgart_may_use_or_complain(fpgart_library_directory()) || !fpgart_bring_python(series))
        return;
    fpgart_file_behind(series, path, sizeof path);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void *const *doors = library != NULL ? dlsym(library, "fpgart_doors") : NULL;
    if (doors == NULL)
        fpgart_complain("%s", dlerror());
    atomic_store_explicit(&fpgart_open_doors, doors, memory_order_release);
}

static void open_behind(void)
{
    pthread_atfork(NULL, NULL, after_fork_in_child);
    atomic_store(&opening, 1);
    open_it();
    atomic_store(&opening, 0);
}

void *const *fpgart_open_behind(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    int cancel_state; /* a thread that is cancelled in dlopen() would keep the dynamic linker's lock
                       */
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    if (!atomic_load(&half_open))
        pthread_once(&once, open_behind);
    pthread_setcancelstate(cancel_state, NULL);
    return fpgart_doors_if_open();
}
