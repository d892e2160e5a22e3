/* SPDX-License-Identifier: Apache-2.0
 *
 * The place of this library, the Python that it was installed for, and messages about what is
 * missing. It does not use Python: the shim (shim/) and the library that it opens have a copy
 * each. */
#pragma once

#include "for_python.h"

#include <limits.h>
#include <stddef.h>

/* The part of messages that names the loss for hosts, such as "no platform". */
extern const char fpgart_loss[];

/* Prints one line on stderr: the loss for the host, and the reason. */
void fpgart_complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Return the folder of this library, which is the package's, and the folder with the package;
 * "" if the system does not tell. */
const char *fpgart_library_directory(void);
void fpgart_packages_directory(char packages[PATH_MAX]);

void fpgart_cut_last_component(char *path);

/* 1 if the folder has cffi for a series of Python, such as "3.12". */
int fpgart_has_cffi(const char *folder, const char *series);

/* Reads the value behind `key =` in a file of such lines (pyvenv.cfg has that form). False:
 * there is none. */
int fpgart_setting(const char *file, const char *key, char value[PATH_MAX]);

/* Reads interpreter.cfg in the library's folder, which names the Python that the package was
 * installed for if the path does not: `home` (the folder of the executable), `version` (3.12)
 * and `packages` (the folder with cffi). build_icd.py and fpgart/base/registration.py write
 * it. */
int fpgart_recorded(const char *key, char value[PATH_MAX]);

/* Secure execution (secure.c). fpgart_is_secure() returns 1 if this process runs with other
 * rights than its user's. The others return 1 if code may come from a folder: in such a process
 * from one that others cannot change, else from any; the last one also prints if not. */
FOR_PYTHON int fpgart_is_secure(void);
int fpgart_may_use_folder(const char *folder);
int fpgart_may_use_or_complain(const char *folder);
