/* SPDX-License-Identifier: Apache-2.0
 *
 * Preloaded by `fpgart run`: hides folders with other drivers' .icd files from loaders.
 * OCL_ICD_VENDORS alone does not do that, because loaders that come in wheels also search their
 * own folder. All other code sees the folders as they are. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef DIR *(*opendir_function)(const char *);
typedef struct dirent *(*readdir_function)(DIR *);

static void *next(const char *name)
{
    return dlsym(RTLD_NEXT, name);
}

static int is_loader(const void *caller)
{
    Dl_info info;
    if (dladdr(caller, &info) == 0 || info.dli_fname == NULL)
        return 0;
    const char *slash = strrchr(info.dli_fname, '/');
    return strncmp(slash == NULL ? info.dli_fname : slash + 1, "libOpenCL", 9) == 0;
}

static int holds_drivers(const char *path)
{
    opendir_function open_folder = NULL;
    readdir_function read_folder = NULL;
    void *symbol = next("opendir");
    memcpy(&open_folder, &symbol, sizeof open_folder);
    symbol = next("readdir");
    memcpy(&read_folder, &symbol, sizeof read_folder);
    DIR *folder = open_folder(path);
    if (folder == NULL)
        return 0;
    int found = 0;
    for (struct dirent *entry; !found && (entry = read_folder(folder)) != NULL;) {
        size_t length = strlen(entry->d_name);
        found = length > 4 && strcmp(entry->d_name + length - 4, ".icd") == 0;
    }
    closedir(folder);
    return found;
}

static int is_ours(const char *path, const char *only)
{
    char *one = realpath(path, NULL), *other = realpath(only, NULL);
    int same = one != NULL && other != NULL && strcmp(one, other) == 0;
    free(one);
    free(other);
    return same;
}

DIR *opendir(const char *path)
{
    opendir_function open_folder = NULL;
    void *symbol = next("opendir");
    memcpy(&open_folder, &symbol, sizeof open_folder);
    const char *only = getenv("FPGART_ONLY");
    if (only != NULL && is_loader(__builtin_return_address(0)) && !is_ours(path, only) &&
        holds_drivers(path)) {
        errno = ENOENT;
        return NULL;
    }
    return open_folder(path);
}
