/* SPDX-License-Identifier: Apache-2.0
 *
 * The functions of place.h: the library's folder, the notes in it, and messages. */
#define _GNU_SOURCE
#include "place.h"

#include <dlfcn.h>
#include <glob.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char library_directory[PATH_MAX];

void fpgart_complain(const char *format, ...)
{
    char line[2 * PATH_MAX];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    if (length > 0)
        fprintf(stderr, "fpgart: %s: %s\n", fpgart_loss, line);
}

void fpgart_cut_last_component(char *path)
{
    char *slash = strrchr(path, '/');
    if (slash != NULL)
        *slash = '\0';
}

static void look_for_library(void)
{
    Dl_info info;
    if (dladdr((void *)(uintptr_t)&fpgart_complain, &info) == 0 || info.dli_fname == NULL ||
        realpath(info.dli_fname, library_directory) == NULL)
        library_directory[0] = '\0';
    fpgart_cut_last_component(library_directory);
}

const char *fpgart_library_directory(void)
{
    static pthread_once_t found = PTHREAD_ONCE_INIT;
    pthread_once(&found, look_for_library);
    return library_directory;
}

void fpgart_packages_directory(char packages[PATH_MAX])
{
    snprintf(packages, PATH_MAX, "%s", fpgart_library_directory());
    fpgart_cut_last_component(packages);
}

int fpgart_has_cffi(const char *folder, const char *series)
{
    char pattern[2 * PATH_MAX];
    glob_t files;
    snprintf(pattern, sizeof pattern, "%s/_cffi_backend.cpython-%.1s%s-*.so", folder, series,
             series + 2);
    int found = glob(pattern, 0, NULL, &files) == 0;
    if (found)
        globfree(&files);
    return found;
}

/* Returns the value in a line, without blanks around it; NULL: the line has another key. */
static char *value_in(char *line, const char *key)
{
    size_t length = strlen(key);
    if (strncmp(line, key, length) != 0)
        return NULL;
    char *rest = line + length + strspn(line + length, " \t");
    if (*rest != '=')
        return NULL;
    rest += 1 + strspn(rest + 1, " \t");
    for (size_t end = strlen(rest); end > 0 && strchr(" \t\r\n", rest[end - 1]) != NULL; end--)
        rest[end - 1] = '\0';
    return rest;
}

int fpgart_setting(const char *file, const char *key, char value[PATH_MAX])
{
    char line[PATH_MAX + 64];
    const char *found = NULL;
    FILE *opened = fopen(file, "re");
    if (opened == NULL)
        return 0;
    while (found == NULL && fgets(line, sizeof line, opened) != NULL)
        found = value_in(line, key);
    fclose(opened);
    if (found == NULL)
        return 0;
    snprintf(value, PATH_MAX, "%s", found);
    return value[0] != '\0';
}

int fpgart_recorded(const char *key, char value[PATH_MAX])
{
    char file[PATH_MAX + 32];
    snprintf(file, sizeof file, "%s/interpreter.cfg", fpgart_library_directory());
    return fpgart_setting(file, key, value);
}
