/* SPDX-License-Identifier: Apache-2.0
 *
 * Answers without an interpreter: that there is a platform, its texts, and the number of its
 * devices, by which some loaders sort platforms. Before the driver has started, that number is
 * the one in the environment; whether each of the boards can be opened is known later.
 *
 * In hosts written in Python C always gives these answers: OpenCL loaders search for platforms
 * under a lock of theirs, for which another thread may wait with the interpreter's lock, so
 * nothing here may wait for the interpreter. In other hosts C gives them until the driver
 * starts, because the start takes many milliseconds, which a program that only lists its
 * platforms need not spend. It does so only if nothing shows that the start would fail, because
 * then there is no platform. */
#define _GNU_SOURCE
#include "before_start.h"

#include "answers.h"
#include "handles.h"
#include "interpreter.h"

#include <CL/cl_ext.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KNOWN_TYPES                                                                                \
    (CL_DEVICE_TYPE_DEFAULT | CL_DEVICE_TYPE_CPU | CL_DEVICE_TYPE_GPU |                            \
     CL_DEVICE_TYPE_ACCELERATOR | CL_DEVICE_TYPE_CUSTOM)

static uintptr_t platform;
static atomic_int known_count = -1; /* devices, once the driver runs */

static char first_folder[PATH_MAX];

static void make_platform(void)
{
    if (getcwd(first_folder, sizeof first_folder) == NULL)
        first_folder[0] = '\0';
    platform = fpgart_handle_new(FPGART_PLATFORM, 1);
}

uintptr_t fpgart_platform(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_platform);
    return platform;
}

const char *fpgart_first_folder(void)
{
    fpgart_platform();
    return first_folder;
}

void fpgart_count_devices(cl_uint count)
{
    known_count = (int)count;
}

/* Returns 1 if an option's text names a file, by the same rule as base/config.py: such a text has
 * no effect in a process with other rights than its user's. */
static int names_a_file(const char *text)
{
    return strchr(text, '/') != NULL || strstr(text, ".xml") != NULL || strstr(text, ".py") != NULL;
}

static const char *option(const char *name)
{
    const char *text = getenv(name);
    return text != NULL && !(fpgart_is_secure() && names_a_file(text)) ? text : "";
}

static int is_one_of(const char *name, size_t length, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strlen(names[i]) == length && memcmp(names[i], name, length) == 0)
            return 1;
    return 0;
}

#define IS_ONE_OF(name, length, names)                                                             \
    is_one_of(name, length, names, sizeof names / sizeof names[0])

/* Returns 1 if an option is set that only Python evaluates: it may be refused, or watchers
 * have to see all calls. Options that `fpgart run` has checked, and that name boards only, do
 * not count. */
static int an_option_is_for_python(void)
{
    static const char prefix[] = FPGART_PREFIX;
    static const char *const options[] = {FPGART_OPTIONS};
    /* Without an engine the driver has a platform on which nothing can be built. */
    static const char *const harmless[] = {FPGART_OWN_NAMES, FPGART_ENGINE};
    static const char *const of_boards[] = {FPGART_PERSONALITY, FPGART_BOARDS,
                                            FPGART_OFFLINE_DEVICE, FPGART_DEVICE_NUMBERS};
    int checked = getenv(FPGART_RUN) != NULL;
    for (char **each = environ; each != NULL && *each != NULL; each++) {
        size_t length = strcspn(*each, "=");
        if (strncmp(*each, prefix, sizeof prefix - 1) != 0 && !IS_ONE_OF(*each, length, options))
            continue;
        int is_set = (*each)[length] == '=' && (*each)[length + 1] != '\0';
        if (is_set && !IS_ONE_OF(*each, length, harmless) &&
            !(checked && IS_ONE_OF(*each, length, of_boards)))
            return 1;
    }
    return 0;
}

static int start_can_wait;

static void look_around(void)
{
    start_can_wait = fpgart_looks_installed() && !an_option_is_for_python();
}

static int start_waits(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (fpgart_state != FPGART_NOT_STARTED || fpgart_in_python_host())
        return 0;
    pthread_once(&once, look_around);
    return start_can_wait;
}

static int is_open(void)
{
    return start_waits() ||
           (fpgart_in_python_host() && fpgart_state != FPGART_FORKED && !fpgart_ending());
}

static unsigned names_in(const char *text)
{
    unsigned count = 0;
    while (*text != '\0') {
        size_t length = strcspn(text, ",");
        count += strspn(text, " \t") < length;
        text += length + (text[length] == ',');
    }
    return count;
}

/* Returns the number of devices in one of these options, else the number of boards' names, as
 * board/catalogue.py does. */
static unsigned devices_asked_for(void)
{
    static const char *const numbers[] = {FPGART_DEVICE_NUMBERS};
    const char *offline = option(FPGART_OFFLINE_DEVICE);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        int number = atoi(option(numbers[i]));
        if (number > 0)
            return (unsigned)number;
    }
    if (offline[0] != '\0' && offline[0] != '+')
        return 1;
    unsigned boards = names_in(option(FPGART_BOARDS));
    return (boards > 0 ? boards : 1) + (offline[0] == '+');
}

static cl_uint devices_of_type(cl_device_type type)
{
    unsigned all = known_count >= 0 ? (unsigned)known_count : devices_asked_for();
    if (type == CL_DEVICE_TYPE_ALL || (type & CL_DEVICE_TYPE_ACCELERATOR))
        return all;
    return (type & CL_DEVICE_TYPE_DEFAULT) && all > 0 ? 1 : 0;
}

static int is_keystone_file(const char *path)
{
    static const char mark[] = "<keystone";
    char text[1 << 16];
    FILE *file = fopen(path, "re");
    size_t length = file != NULL ? fread(text, 1, sizeof text, file) : 0;
    if (file != NULL)
        fclose(file);
    return memmem(text, length, mark, sizeof mark - 1) != NULL;
}

static int first_board_is_of_ti(void)
{
    static const char *const shipped[] = {FPGART_TI_BOARDS};
    char name[PATH_MAX];
    const char *offline = option(FPGART_OFFLINE_DEVICE);
    const char *begin = offline[0] != '\0' && offline[0] != '+' ? offline : option(FPGART_BOARDS);
    begin += strspn(begin, " \t");
    size_t length = strcspn(begin, ",");
    while (length > 0 && (begin[length - 1] == ' ' || begin[length - 1] == '\t'))
        length--;
    if (IS_ONE_OF(begin, length, shipped))
        return 1;
    snprintf(name, sizeof name, "%.*s", (int)length, begin);
    return is_keystone_file(name);
}

/* Returns the key of the personality, as chosen_personality() in board/catalogue.py does; a
 * test compares the two. */
static const char *personality_key(void)
{
    static const char *const numbers[] = {FPGART_DEVICE_NUMBERS};
    static const char *const keys[] = {FPGART_DEVICE_NUMBERS_ARE_OF};
    const char *asked = option(FPGART_PERSONALITY);
    if (asked[0] != '\0' && strcmp(asked, "auto") != 0)
        return asked;
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (atoi(option(numbers[i])) > 0)
            return keys[i];
    return first_board_is_of_ti() ? "ti" : "any";
}

static const struct fpgart_personality *personality(void)
{
    const char *key = personality_key();
    const struct fpgart_personality *found = fpgart_personalities;
    while (found->key != NULL && strcmp(found->key, key) != 0)
        found++;
    return found->key != NULL ? found : fpgart_personalities;
}

/* Returns the name that fits into a host's memory of `size` bytes, as get_platform_info() in
 * api/platform.py does. */
static const char *platform_name(size_t size)
{
    const struct fpgart_personality *found = personality();
    int is_short = size <= strlen(found->name) && size > strlen(found->short_name);
    return is_short && found->short_name[0] != '\0' ? found->short_name : found->name;
}

/* Returns NULL for a query that has no text. `size` is that of the host's memory, SIZE_MAX
 * without any. */
static const char *platform_text(cl_platform_info query, size_t size)
{
    switch (query) {
    case CL_PLATFORM_PROFILE:
        return fpgart_profile;
    case CL_PLATFORM_VERSION:
        return personality()->version;
    case CL_PLATFORM_NAME:
        return platform_name(size);
    case CL_PLATFORM_VENDOR:
        return personality()->vendor;
    case CL_PLATFORM_EXTENSIONS:
        return fpgart_platform_extensions;
    case CL_PLATFORM_ICD_SUFFIX_KHR:
        return fpgart_icd_suffix;
    default:
        return NULL;
    }
}

cl_int fpgart_say_platform(cl_uint num_entries, cl_platform_id *platforms, cl_uint *num_platforms)
{
    if ((platforms != NULL && num_entries == 0) || (platforms == NULL && num_platforms == NULL))
        return CL_INVALID_VALUE;
    if (platforms != NULL)
        platforms[0] = (cl_platform_id)fpgart_platform();
    if (num_platforms != NULL)
        *num_platforms = 1;
    return CL_SUCCESS;
}

int fpgart_early_platforms(cl_uint room, cl_platform_id *platforms, cl_uint *count, cl_int *status)
{
    if (!start_waits() || fpgart_platform() == 0)
        return 0;
    *status = fpgart_say_platform(room, platforms, count);
    return *status == CL_SUCCESS;
}

int fpgart_early_platform_info(cl_platform_id asked, cl_platform_info query, size_t size,
                               void *value, size_t *size_ret, cl_int *status)
{
    if (!is_open() || (uintptr_t)asked != fpgart_platform())
        return 0;
    const char *text = platform_text(query, value != NULL ? size : SIZE_MAX);
    if (text == NULL)
        return 0;
    *status = fpgart_answer((uintptr_t)value, size, size_ret, text, strlen(text) + 1);
    return 1;
}

int fpgart_early_device_count(cl_platform_id asked, cl_device_type type, cl_uint room,
                              cl_device_id *devices, cl_uint *count, cl_int *status)
{
    int is_type = type == CL_DEVICE_TYPE_ALL || (type != 0 && (type & ~(KNOWN_TYPES)) == 0);
    if (devices != NULL || count == NULL || !is_type || !is_open() ||
        (uintptr_t)asked != fpgart_platform())
        return 0;
    cl_uint found = fpgart_state == FPGART_FAILED ? 0 : devices_of_type(type);
    if (found > 0)
        *count = found;
    *status = found > 0 ? CL_SUCCESS : CL_DEVICE_NOT_FOUND;
    return 1;
}
