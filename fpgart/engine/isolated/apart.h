/* SPDX-License-Identifier: Apache-2.0
 *
 * Starting the board process from within a host's process, which shall notice nothing of it: no
 * child that its wait() would find, no SIGCHLD, no signal handler, none of its files. */
#ifndef FPGART_APART_H
#define FPGART_APART_H
#include <stddef.h>
#include <stdint.h>
/* cffi */
/* Starts a program with the descriptors as its 0, 1, 2 and so on, in a session of its own. 0, or
 * the number of the error. */
int spawn_apart(const char *path, char *const *arguments, char *const *environment,
                const int *descriptors, int count);

/* Output of the board process goes to the host's, in order: `from` are what it writes its standard
 * output and error to (pipes), which a thread empties into descriptors 1 and 2 of this process.
 * 0 where there is no thread. */
struct outlet;
struct outlet *outlet_open(int from_output, int from_error);
/* What was written before is out when this returns. */
void outlet_drain(struct outlet *outlet);
/* The same, and the end: nothing is written any more, and the descriptors are closed. */
void outlet_close(struct outlet *outlet);
void outlet_free(struct outlet *outlet);
/* cffi */
#endif
