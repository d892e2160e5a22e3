/* SPDX-License-Identifier: Apache-2.0
 *
 * Chooses the Python: the one in the process, whatever it is; else the libpython of the Python
 * that the package is installed for; else the one that FPGART_LIBPYTHON names; else one of a
 * series that the package supports, in the places of the system and the usual tools. */
#define _GNU_SOURCE
#include "shim.h"

#include "place.h"

#include <dlfcn.h>
#include <glob.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OPTION "FPGART_LIBPYTHON"
#define SERIES_AT_MOST 16

/* The facts about the Python that the package is installed for; "" for unknown ones. */
struct installation {
    char series[FPGART_SERIES_SIZE];
    char home[PATH_MAX]; /* the folder of its executable */
};

/* Returns the series of a version: "3.12" for "3.12.1 (main, ...)". */
static int series_of(const char *version, char series[FPGART_SERIES_SIZE])
{
    int major, minor;
    if (sscanf(version, "%d.%d", &major, &minor) != 2)
        return 0;
    return snprintf(series, FPGART_SERIES_SIZE, "%d.%d", major, minor) < FPGART_SERIES_SIZE;
}

static const char *version_in(void *library)
{
    void *symbol = dlsym(library, "Py_GetVersion");
    const char *(*get)(void);
    memcpy(&get, &symbol, sizeof get);
    return symbol != NULL ? get() : NULL;
}

static const char *name_in(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

/* The Python of the process */

static int is_libpython(struct dl_phdr_info *info, size_t size, void *path)
{
    if (strncmp(name_in(info->dlpi_name), "libpython3.", strlen("libpython3.")) != 0)
        return 0;
    snprintf(path, PATH_MAX, "%s", info->dlpi_name);
    return 1;
}

/* Returns the version of the process's Python. A plugin may have loaded a libpython whose
 * symbols others do not see. */
static const char *version_here(void)
{
    char path[PATH_MAX];
    const char *version = version_in(RTLD_DEFAULT);
    if (version != NULL || !dl_iterate_phdr(is_libpython, path))
        return version;
    void *library = dlopen(path, RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL);
    return library != NULL ? version_in(library) : NULL;
}

/* The series that the package has libraries for */

static size_t served(char found[SERIES_AT_MOST][FPGART_SERIES_SIZE])
{
    char pattern[PATH_MAX + 64];
    glob_t files;
    size_t count = 0;
    snprintf(pattern, sizeof pattern, "%s/%s.3.*.so", fpgart_library_directory(), fpgart_behind);
    if (glob(pattern, 0, NULL, &files) != 0)
        return 0;
    for (size_t i = 0; i < files.gl_pathc && count < SERIES_AT_MOST; i++)
        count +=
            (size_t)series_of(name_in(files.gl_pathv[i]) + strlen(fpgart_behind) + 1, found[count]);
    globfree(&files);
    return count;
}

static void name_served(char *text, size_t room)
{
    char found[SERIES_AT_MOST][FPGART_SERIES_SIZE];
    size_t count = served(found), used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < count && used < room; i++)
        used += (size_t)snprintf(text + used, room - used, "%s%s", i > 0 ? ", " : "", found[i]);
}

/* Facts from the path, and from the notes beside the library */

static void add_series(struct installation *of, const char *text)
{
    if (of->series[0] == '\0')
        series_of(text, of->series);
}

/* Reads .../lib/python3.12/site-packages, in a virtual environment or in the Python itself. */
static void read_path(struct installation *of)
{
    char folder[PATH_MAX], file[PATH_MAX + 32], text[PATH_MAX];
    fpgart_packages_directory(folder);
    fpgart_cut_last_component(folder);
    if (strncmp(name_in(folder), "python3.", strlen("python3.")) != 0)
        return;
    add_series(of, name_in(folder) + strlen("python"));
    fpgart_cut_last_component(folder);
    fpgart_cut_last_component(folder);
    snprintf(file, sizeof file, "%s/pyvenv.cfg", folder);
    if (fpgart_setting(file, "home", text))
        snprintf(of->home, sizeof of->home, "%s", text);
    else
        snprintf(of->home, sizeof of->home, "%.*s/bin", PATH_MAX - 8, folder);
}

static struct installation installed_for(void)
{
    struct installation of = {.series = "", .home = ""};
    char text[PATH_MAX];
    if (fpgart_recorded("version", text))
        add_series(&of, text);
    if (fpgart_recorded("home", text))
        snprintf(of.home, sizeof of.home, "%s", text);
    if (of.home[0] == '\0')
        read_path(&of);
    return of;
}

/* Opening a libpython */

/* Opens a libpython with global symbols, and closes it again if its series is not `wanted`
 * ("": any that the package supports). */
static int open_libpython(const char *path, const char *wanted, char series[FPGART_SERIES_SIZE])
{
    char folder[PATH_MAX], behind[PATH_MAX + 64];
    snprintf(folder, sizeof folder, "%s", path);
    fpgart_cut_last_component(folder);
    if (strchr(path, '/') != NULL && !fpgart_may_use_folder(folder))
        return 0;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
        return 0;
    const char *version = version_in(library);
    if (version != NULL && series_of(version, series) &&
        (wanted[0] == '\0' || strcmp(series, wanted) == 0) &&
        fpgart_file_behind(series, behind, sizeof behind))
        return dlopen(path, RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL) != NULL;
    dlclose(library);
    return 0;
}

static int open_first(const char *pattern, char series[FPGART_SERIES_SIZE], const char *wanted)
{
    glob_t files;
    int opened = 0;
    if (glob(pattern, 0, NULL, &files) != 0)
        return 0;
    for (size_t i = 0; i < files.gl_pathc && !opened; i++)
        opened = open_libpython(files.gl_pathv[i], wanted, series);
    globfree(&files);
    return opened;
}

/* Opens a libpython below the folder of a Python's installation. */
static int open_below(const char *prefix, const char *wanted, char series[FPGART_SERIES_SIZE])
{
    static const char *const folders[] = {"lib", "lib64", "lib/*-linux-gnu"};
    char pattern[2 * PATH_MAX];
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        snprintf(pattern, sizeof pattern, "%s/%s/libpython%s.so*", prefix, folders[i],
                 wanted[0] != '\0' ? wanted : "3.*");
        if (open_first(pattern, series, wanted))
            return 1;
    }
    return 0;
}

static int open_of_home(const struct installation *of, char series[FPGART_SERIES_SIZE])
{
    char path[PATH_MAX + 64], real[PATH_MAX];
    if (of->home[0] == '\0')
        return 0;
    snprintf(path, sizeof path, "%s", of->home);
    fpgart_cut_last_component(path);
    if (open_below(path, of->series, series))
        return 1;
    /* The executable may be a link to where the Python is. */
    snprintf(path, sizeof path, "%s/python%s", of->home, of->series[0] != '\0' ? of->series : "3");
    if (realpath(path, real) == NULL)
        return 0;
    fpgart_cut_last_component(real);
    fpgart_cut_last_component(real);
    return open_below(real, of->series, series);
}

static int open_named(const char *wanted, char series[FPGART_SERIES_SIZE])
{
    const char *path = getenv(OPTION);
    if (path == NULL || path[0] == '\0' || fpgart_is_secure())
        return 0;
    if (open_libpython(path, wanted, series))
        return 1;
    const char *reason = dlerror();
    fpgart_complain(OPTION "=%s: %s%s%s", path,
                    reason != NULL ? reason : "this is not a libpython that the driver can use",
                    wanted[0] != '\0' ? "; it needs Python " : "", wanted);
    return 0;
}

static int search_for(const char *wanted, char series[FPGART_SERIES_SIZE])
{
    static const char *const places[] = {"%s/.local/share/uv/python/cpython-%s.*",
                                         "%s/.pyenv/versions/%s.*", "%s/miniforge3",
                                         "%s/miniconda3"};
    char pattern[PATH_MAX];
    const char *home = getenv("HOME");
    snprintf(pattern, sizeof pattern, "libpython%s.so.1.0", wanted);
    if (open_libpython(pattern, wanted, series) || open_below("/usr/local", wanted, series))
        return 1;
    for (size_t i = 0; home != NULL && !fpgart_is_secure() && i < sizeof places / sizeof places[0];
         i++) {
        snprintf(pattern, sizeof pattern, places[i], home, wanted);
        if (open_below(pattern, wanted, series))
            return 1;
    }
    return 0;
}

/* Searches the system, for a package with several series: the one whose cffi is there. */
static int search(const char *wanted, char series[FPGART_SERIES_SIZE])
{
    char found[SERIES_AT_MOST][FPGART_SERIES_SIZE], packages[PATH_MAX];
    if (wanted[0] != '\0')
        return search_for(wanted, series);
    fpgart_packages_directory(packages);
    size_t count = served(found);
    for (size_t i = 0; i < count; i++)
        if (fpgart_has_cffi(packages, found[i]) && search_for(found[i], series))
            return 1;
    return 0;
}

static void tell_what_is_missing(const struct installation *of)
{
    const char *wanted = of->series[0] != '\0' ? of->series : "3";
    fpgart_complain(
        "no libpython%s.so was found, which programs that are not written in Python need: neither "
        "the Python that the package is installed for (%s) nor the system has one. "
        "Install one (Debian, Ubuntu: apt install libpython%s; uv python install %s; "
        "pyenv: PYTHON_CONFIGURE_OPTS=--enable-shared pyenv install %s), or name one: " OPTION
        "=/path/libpython%s.so",
        wanted, of->home[0] != '\0' ? of->home : "which is not recorded", wanted, wanted, wanted,
        wanted);
}

/* Returns 1 if the package supports a version. `whose` begins the message, as "this process
 * runs". */
static int is_served(const char *whose, const char *version, char series[FPGART_SERIES_SIZE])
{
    char path[PATH_MAX + 64], all[SERIES_AT_MOST * FPGART_SERIES_SIZE];
    name_served(all, sizeof all);
    if (all[0] != '\0' && (version[0] == '\0' || (series_of(version, series) &&
                                                  fpgart_file_behind(series, path, sizeof path))))
        return 1; /* the Python of the installation need not be known */
    if (all[0] == '\0')
        fpgart_complain("%s.3.*.so, the libraries for each Python version, are missing beside "
                        "%s.so in %s",
                        fpgart_behind, fpgart_behind, fpgart_library_directory());
    else
        fpgart_complain("built for Python %s, but %s Python %.*s; use one that it was built for, "
                        "or build fpgart with that Python",
                        all, whose, (int)strcspn(version, " "), version);
    return 0;
}

int fpgart_bring_python(char series[FPGART_SERIES_SIZE])
{
    const char *version = version_here();
    if (version != NULL)
        return is_served("this process runs", version, series);
    struct installation of = installed_for();
    if (!is_served("it is installed for", of.series, series))
        return 0;
    if (open_of_home(&of, series) || open_named(of.series, series) || search(of.series, series))
        return 1;
    tell_what_is_missing(&of);
    return 0;
}
