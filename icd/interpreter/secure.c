/* SPDX-License-Identifier: Apache-2.0
 *
 * Processes that run with other rights than their user's (set-user-ID programs, file
 * capabilities): recognises them, and the folders that other users cannot change. */
#define _GNU_SOURCE
#include "place.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

int fpgart_is_secure(void)
{
    return getauxval(AT_SECURE) != 0;
}

static int belongs_to_us(const struct stat *facts)
{
    return facts->st_uid == 0 || facts->st_uid == geteuid();
}

/* Checks a folder above. In one with the sticky bit others can add names, but not replace existing
 * ones. */
static int keeps_names(const char *folder)
{
    struct stat facts;
    return stat(folder, &facts) == 0 && belongs_to_us(&facts) &&
           (!(facts.st_mode & S_IWOTH) || (facts.st_mode & S_ISVTX));
}

/* Returns 1 if a folder and those above it belong to root or to the effective user, so that others
 * cannot change what is in it. */
static int is_trusted_folder(const char *folder)
{
    char path[PATH_MAX];
    struct stat facts;
    if (realpath(folder, path) == NULL || stat(path, &facts) != 0 || !belongs_to_us(&facts) ||
        (facts.st_mode & S_IWOTH))
        return 0;
    for (char *slash = strrchr(path, '/'); slash != path; slash = strrchr(path, '/')) {
        *slash = '\0';
        if (!keeps_names(path))
            return 0;
    }
    return keeps_names("/");
}

int fpgart_may_use_folder(const char *folder)
{
    return !fpgart_is_secure() || is_trusted_folder(folder);
}

int fpgart_may_use_or_complain(const char *folder)
{
    int may_use = fpgart_may_use_folder(folder);
    if (!may_use)
        fpgart_complain("this process runs with rights other than those of its user, and %s can be "
                        "changed by users other than root and the effective user",
                        folder);
    return may_use;
}
