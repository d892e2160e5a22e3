/* SPDX-License-Identifier: Apache-2.0
 *
 * For a while the system gives no new threads (there is no address space left for a stack).
 * Commands that are enqueued then, and later ones, still run once there are threads again; so does
 * a command that is flushed meanwhile, and one that is waited for. */
#include "host.h"

#include <sys/resource.h>

static rlim_t address_space(void)
{
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    must_be(file != NULL && fscanf(file, "%ld", &pages) == 1, "/proc/self/statm");
    fclose(file);
    return (rlim_t)pages * 4096;
}

static void write_word(struct host *host, cl_mem buffer, cl_bool blocking, const cl_int *word,
                       cl_event *event)
{
    MUST(
        clEnqueueWriteBuffer(host->queue, buffer, blocking, 0, sizeof *word, word, 0, NULL, event));
}

static void until_ended(cl_event event)
{
    cl_int status;
    do {
        MUST(
            clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL));
        usleep(1000);
    } while (status > CL_COMPLETE);
    must_be(status == CL_COMPLETE, "the command has completed");
}

int main(void)
{
    struct host host;
    struct rlimit before, limit;
    const cl_int words[] = {1, 2, 3};
    cl_event flushed, unflushed;
    cl_int found = 0;
    start(&host, "kernel void nothing(void) {}");
    cl_mem buffer = new_buffer(&host, 64);
    write_word(&host, buffer, CL_TRUE, &words[0], NULL);
    must_be(getrlimit(RLIMIT_AS, &before) == 0, "getrlimit");
    limit = before;
    limit.rlim_cur = address_space() + (4 << 20);
    must_be(setrlimit(RLIMIT_AS, &limit) == 0, "setrlimit");
    write_word(&host, buffer, CL_FALSE, &words[1], &flushed);
    MUST(clFlush(host.queue));
    until_ended(flushed);
    write_word(&host, buffer, CL_TRUE, &words[1], NULL);
    must_be(setrlimit(RLIMIT_AS, &before) == 0, "setrlimit");
    write_word(&host, buffer, CL_FALSE, &words[2], &unflushed);
    MUST(clFlush(host.queue));
    until_ended(unflushed);
    read_back(host.queue, buffer, sizeof found, &found);
    must_be(found == words[2], "the last word is there");
    printf("all commands ran\n");
    return 0;
}
