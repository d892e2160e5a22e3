/* SPDX-License-Identifier: Apache-2.0
 *
 * The start of the board process from a host's process, without effects on the host: no child that
 * its wait() would find, no SIGCHLD, no signal handler, none of its files. */
#pragma once
/* cffi */
/* Starts a program with the descriptors as its 0, 1, 2 and so on, in a session of its own.
 * Returns 0, or the number of the error. */
int spawn_apart(const char *path, char *const *arguments, char *const *environment,
                const int *descriptors, int count);

/* Copies output of the board process to the host's, in order: `from` are the reading ends of its
 * standard output and error (pipes), which a thread copies to descriptors 1 and 2 of this
 * process. 0 if there is no thread. */
struct outlet;
struct outlet *outlet_open(int from_output, int from_error);
/* Returns when all earlier output has been written. */
void outlet_drain(struct outlet *outlet);
/* Does as outlet_drain(), then ends the copying and closes the descriptors. */
void outlet_close(struct outlet *outlet);
void outlet_free(struct outlet *outlet);
/* cffi */
