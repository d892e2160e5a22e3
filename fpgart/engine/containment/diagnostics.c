/* SPDX-License-Identifier: Apache-2.0
 *
 * Clang writes the number of a build's messages to standard error, although the messages are in the
 * build log. It writes the line in pieces and without a buffer, so a thread keeps the pieces until
 * they are this line, or cannot become it. */
#include "diagnostics.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { LONGEST = 64 };

static __thread char kept[LONGEST];
static __thread size_t length;

enum match { OTHER, BEGINNING, WHOLE };

/* Skips a word that the text at `*at` has, or has the beginning of. */
static enum match word(const char **at, const char *expected)
{
    for (; *expected != 0; expected++, ++*at) {
        if (**at == 0)
            return BEGINNING;
        if (**at != *expected)
            return OTHER;
    }
    return WHOLE;
}

/* Skips "2 warnings": a number and a noun. */
static enum match counted(const char **at, const char *noun)
{
    if (**at != 0 && !isdigit((unsigned char)**at))
        return OTHER;
    while (isdigit((unsigned char)**at))
        ++*at;
    enum match found = word(at, noun);
    if (found == WHOLE && **at == 's')
        ++*at;
    return found;
}

static enum match line(const char *text, const char *noun)
{
    enum match found = counted(&text, noun);
    if (found != WHOLE)
        return found;
    const char *rest = text;
    found = word(&rest, " generated.\n");
    if (found != OTHER)
        return found == WHOLE && *rest != 0 ? OTHER : found;
    found = word(&text, " and ");
    if (found == WHOLE)
        found = counted(&text, " error");
    if (found == WHOLE)
        found = word(&text, " generated.\n");
    return found == WHOLE && *text != 0 ? OTHER : found;
}

static enum match matches(const char *text)
{
    enum match found = line(text, " warning");
    return found == OTHER ? line(text, " error") : found;
}

static int write_kept(int file)
{
    size_t done = 0;
    while (done < length) {
        ssize_t written = write(file, kept + done, length - done);
        if (written < 0 && errno != EINTR)
            return -1;
        done += written > 0 ? (size_t)written : 0;
    }
    length = 0;
    return 0;
}

ssize_t diagnostics_write(int file, const void *bytes, size_t size)
{
    if (file != STDERR_FILENO || size == 0)
        return write(file, bytes, size);
    if (length + size < LONGEST && memchr(bytes, 0, size) == NULL) {
        memcpy(kept + length, bytes, size);
        kept[length + size] = 0;
        enum match found = matches(kept);
        if (found != OTHER) {
            length = found == WHOLE ? 0 : length + size;
            return (ssize_t)size;
        }
    }
    return write_kept(file) == 0 ? write(file, bytes, size) : -1;
}
