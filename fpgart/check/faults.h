/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FPGART_FAULTS_H
#define FPGART_FAULTS_H
#include <stddef.h>
#include <stdint.h>
/* cffi */
/* Pages that nobody may touch now, and a handler for SIGSEGV that says who did. Findings are
 * written to descriptor `text` for people and to `json` (-1: nowhere) for programs; `families` has
 * a bit for each family that is wanted (1: usm, 2: buffers). The handler is installed with the
 * first range. */
void faults_start(int text, int json, int families);
/* A board's memory: closed wherever no region is. 0 on success. */
int faults_cover(uintptr_t begin, size_t size);
/* Open pages for good. */
void faults_open(uintptr_t first, uintptr_t last);
/* A region of `size` bytes at `begin`, which owns the pages from `first` to `last`. Its state is
 * one of faults_state()'s. Gives its number, -1 where it cannot be watched: then it is left open.
 */
int faults_add(uintptr_t begin, size_t size, uintptr_t first, uintptr_t last, int state, int family,
               const char *name, const char *maker);
/* 1: open; 2: open while operations run; 3: freed, to nobody. */
void faults_state(int region, int state);
void faults_name(int region, int family, const char *name, const char *maker);
/* Forget a region; its pages stay as they are. */
void faults_forget(int region);
/* Take the place of memory that was unmapped, so that nothing else gets it. 0 on success. */
int faults_bury(uintptr_t begin, size_t size);
/* An operation of a device, with words that name it, begins (gives its number) and ends. */
int faults_begin(const char *words);
void faults_end(int operation);
/* Open a region for the operations that run, before they touch it: their threads may have SIGSEGV
 * blocked. */
void faults_use(int region);
/* What was found for a family since the last call. */
unsigned faults_found(int family);
/* cffi */
#endif
