/* SPDX-License-Identifier: Apache-2.0
 *
 * libfpgart.so and libfpgart_mmd.so as hosts open them: a door for each function, and behind all of
 * them the library for one series of Python (libfpgart.3.12.so), which is opened with the first
 * call, once a libpython of that series is in the process. So these files need no Python to be
 * loaded, and one package serves all series that it was built for. */
#ifndef FPGART_SHIM_H
#define FPGART_SHIM_H

#include <stdatomic.h>
#include <stddef.h>

#define FPGART_SERIES_SIZE 16 /* "3.12" and what comes */

/* The name of the library behind, without series and ending. */
extern const char fpgart_behind[];

/* The addresses of the functions, in the order in which the library behind lists them. NULL: it
 * cannot be had, which was told. */
extern _Atomic(void *const *) fpgart_open_doors;
void *const *fpgart_open_behind(void);

static inline void *const *fpgart_doors(void)
{
    void *const *open = atomic_load_explicit(&fpgart_open_doors, memory_order_acquire);
    return open != NULL ? open : fpgart_open_behind();
}

/* Whether it has been opened; opens nothing. */
static inline void *const *fpgart_doors_if_open(void)
{
    return atomic_load_explicit(&fpgart_open_doors, memory_order_acquire);
}

/* The file behind for a series of Python, and whether it is there. */
int fpgart_file_behind(const char *series, char *path, size_t room);

/* Puts a libpython where the library behind finds its symbols: the one that the process has, else
 * one that is found (python.c). Its series; false: there is none, which was told. */
int fpgart_bring_python(char series[FPGART_SERIES_SIZE]);

#endif
