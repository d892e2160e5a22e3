/* SPDX-License-Identifier: Apache-2.0
 *
 * libfpgart.so and libfpgart_mmd.so as hosts open them: a stub for each function, and behind all
 * of them the library for one series of Python (libfpgart.3.12.so), which is opened with the
 * first call, once a libpython of that series is in the process. So these files can be loaded
 * without Python, and one package supports all series that it was built for. */
#pragma once

#include <stdatomic.h>
#include <stddef.h>

#define FPGART_SERIES_SIZE 16 /* "3.12", with room for later versions */

/* The name of the library behind the stubs, without series and ending. */
extern const char fpgart_behind[];

/* The addresses of the functions, in the order in which the library lists them. NULL: it
 * cannot be opened, and the reason was printed. */
extern _Atomic(void *const *) fpgart_open_doors;
void *const *fpgart_open_behind(void);

static inline void *const *fpgart_doors(void)
{
    void *const *open = atomic_load_explicit(&fpgart_open_doors, memory_order_acquire);
    return open != NULL ? open : fpgart_open_behind();
}

/* Returns the addresses if the library has been opened; does not open it. */
static inline void *const *fpgart_doors_if_open(void)
{
    return atomic_load_explicit(&fpgart_open_doors, memory_order_acquire);
}

/* Writes the path of the library for a series of Python. Returns 1 if it exists. */
int fpgart_file_behind(const char *series, char *path, size_t room);

/* Loads a libpython whose symbols the library finds: the one in the process, else one that is
 * found (python.c). Writes its series; false: there is none, and the reason was printed. */
int fpgart_bring_python(char series[FPGART_SERIES_SIZE]);
