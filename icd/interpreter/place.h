/* SPDX-License-Identifier: Apache-2.0
 *
 * Where this library lies, for whom it was installed, and how it says that something is missing.
 * Free of Python: the shim (shim/) and the library that it opens have a copy each. */
#ifndef FPGART_PLACE_H
#define FPGART_PLACE_H

#include <limits.h>
#include <stddef.h>

/* What the library says that hosts do without: "no platform", say. */
extern const char fpgart_loss[];

/* One line on stderr: what the host does without, and why. */
void fpgart_complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The folder of this library, which is the package's, and the one with the package in it; "" when
 * the system does not tell. */
const char *fpgart_library_directory(void);
void fpgart_packages_directory(char packages[PATH_MAX]);

void fpgart_cut_last_component(char *path);

/* The value behind `key =` in a file of such lines (pyvenv.cfg has that form). False: there is
 * none. */
int fpgart_setting(const char *file, const char *key, char value[PATH_MAX]);

/* The same of interpreter.cfg in the library's folder, which says for which Python the package was
 * installed where its path does not: `home` (the folder of the executable), `version` (3.12) and
 * `packages` (the folder with cffi). build_icd.py and fpgart/base/registration.py write it. */
int fpgart_recorded(const char *key, char value[PATH_MAX]);

/* Secure execution (secure.c): whether this process runs with other rights than its user's; whether
 * a folder and those above it belong to root or to the effective user, and others cannot change
 * what is in it; whether code may come from a folder, which is any folder in other processes. */
int fpgart_is_secure(void);
int fpgart_is_trusted_folder(const char *folder);
int fpgart_may_use_folder(const char *folder);

#endif
