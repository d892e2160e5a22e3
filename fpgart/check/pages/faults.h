/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <stddef.h>
#include <stdint.h>
/* cffi */
/* Protected pages, and a handler of SIGSEGV that reports accesses to them. The handler writes its
 * findings to descriptor `text` for people and to `json` (-1: nowhere) for programs; `families` has
 * a bit for each family that the user wants (1: usm, 2: buffers). The first range installs it. */
void faults_start(int text, int json, int families);
/* Sends findings to the reader of `pipe`, as lines of JSON with the numbers of the region, the
 * instruction, the operation (plus 2), and draft (plus 1; 0: the handler does not wait) and
 * ticket. The handler waits up to `patience_ms` for faults_told(), and otherwise reports the
 * finding itself, unless the reader has claimed it. 0: it does not wait. -1: no reader. */
void faults_go_through(int pipe, int patience_ms);
int faults_claim(int draft, unsigned ticket);
void faults_told(int draft, unsigned ticket);
/* Protects a board's memory, except open regions. `closed`: no access in this process is
 * allowed, and the host gets its fault. 0 on success. */
int faults_cover(uintptr_t begin, size_t size, int closed);
/* Opens pages permanently. */
void faults_open(uintptr_t first, uintptr_t last);
/* Adds a region of `size` bytes at `begin`, on the pages from `first` to `last`, in a state of
 * faults_state(). Returns its number, or -1 if the table is full: then its pages stay open. */
int faults_add(uintptr_t begin, size_t size, uintptr_t first, uintptr_t last, int state, int family,
               const char *name, const char *maker);
/* 1: open; 2: open while operations run; 3: freed, closed; 4: shared memory that is only read. */
void faults_state(int region, int state);
void faults_name(int region, int family, const char *name, const char *maker);
/* Removes a region; its pages keep their rights. */
void faults_forget(int region);
/* Reserves addresses that were unmapped, so that the system maps nothing there. 0 on success. */
int faults_bury(uintptr_t begin, size_t size);
/* An operation of a device, which `words` name, begins and ends. faults_begin() returns its number
 * for faults_end(). `strays`: it may access regions that faults_use() does not open for it. */
int faults_begin(const char *words, int strays);
/* Keeps the return addresses of the call that enqueued an operation, 24 at most. faults_call()
 * finds them, and returns their number: 0 if there are none. */
void faults_called_from(int operation, const uintptr_t *frames, uint32_t count);
uint32_t faults_call(int operation, uintptr_t *frames);
void faults_end(int operation);
/* Opens a region for the running operations, before they access it: their threads may block
 * SIGSEGV. */
void faults_use(int region);
/* The number of findings of a family since the last call. */
unsigned faults_found(int family);
/* cffi */
