/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "io_file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { CLOSED = -1, NEW_FILE = 0666 };

struct io_file {
    int descriptor;
    int error;
    bool written; /* opened again, it continues where it ended */
    char path[];
};

struct io_file *io_file_new(const char *path)
{
    struct io_file *file = calloc(1, sizeof *file + strlen(path) + 1);
    if (file != NULL) {
        file->descriptor = CLOSED;
        strcpy(file->path, path);
    }
    return file;
}

void io_file_free(struct io_file *file)
{
    if (file != NULL && file->descriptor != CLOSED)
        close(file->descriptor);
    free(file);
}

static bool opened(struct io_file *file, int flags)
{
    if (file->descriptor == CLOSED) {
        file->descriptor = open(file->path, flags | O_NONBLOCK | O_CLOEXEC, NEW_FILE);
        file->error = file->descriptor == CLOSED ? errno : 0;
    }
    return file->descriptor != CLOSED;
}

size_t io_file_read(struct io_file *file, void *data, size_t size)
{
    if (!opened(file, O_RDONLY))
        return 0;
    ssize_t count = read(file->descriptor, data, size);
    return count > 0 ? (size_t)count : 0;
}

/* write() without SIGPIPE, which a pipe without readers raises in the host. */
static ssize_t write_quietly(int descriptor, const void *data, size_t size)
{
    const struct timespec now = {0, 0};
    sigset_t pipes, before, pending;
    sigemptyset(&pipes);
    sigaddset(&pipes, SIGPIPE);
    sigpending(&pending);
    bool was_pending = sigismember(&pending, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipes, &before);
    ssize_t count = write(descriptor, data, size);
    int error = errno;
    if (count < 0 && error == EPIPE && !was_pending)
        sigtimedwait(&pipes, NULL, &now);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = error;
    return count;
}

size_t io_file_write(struct io_file *file, const void *data, size_t size)
{
    if (!opened(file, O_WRONLY | O_CREAT | (file->written ? O_APPEND : O_TRUNC)))
        return 0;
    file->written = true;
    ssize_t count = write_quietly(file->descriptor, data, size);
    if (count < 0 && errno == EPIPE) { /* the reader has closed it; wait for the next one */
        close(file->descriptor);
        file->descriptor = CLOSED;
    }
    return count > 0 ? (size_t)count : 0;
}

bool io_file_has_peer(const struct io_file *file)
{
    struct stat found;
    return stat(file->path, &found) == 0 && S_ISFIFO(found.st_mode);
}

const char *io_file_path(const struct io_file *file)
{
    return file->path;
}

const char *io_file_error(const struct io_file *file)
{
    return file->error != 0 ? strerror(file->error) : "";
}
