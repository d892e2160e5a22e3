/* SPDX-License-Identifier: Apache-2.0
 *
 * Has functions of the engine's libraries replaced (engine/containment/redirect.c) while another
 * thread loads a library. With LIBRARY this is that library: the linker calls choose() while it
 * writes the library's tables. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#ifdef LIBRARY

void wait_until_redirected(void);

static int chosen(void)
{
    return 0;
}

static int (*choose(void))(void)
{
    wait_until_redirected();
    return chosen;
}

int choice(void) __attribute__((ifunc("choose")));
int (*const table[])(void) = {choice};

#else

#include "redirect.h"

static atomic_int loading, redirected;

static char state_of_main(void)
{
    char text[200] = "", path[64];
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)getpid());
    FILE *file = fopen(path, "r");
    size_t length = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[length] = 0;
    return strrchr(text, ')')[2];
}

/* Or until the main thread sleeps, as it waits for this one. */
void wait_until_redirected(void)
{
    atomic_store(&loading, 1);
    while (!atomic_load(&redirected) && state_of_main() != 'S')
        continue;
}

static void *load(void *path)
{
    void *library = dlopen(path, RTLD_NOW);
    if (library == NULL)
        fprintf(stderr, "%s\n", dlerror());
    atomic_store(&loading, 1);
    return library;
}

int main(int count, char **words)
{
    pthread_t thread;
    void *library;
    if (count < 2 || redirect_open("libm.so.6", RTLD_NOW) == NULL)
        return 2;
    pthread_create(&thread, NULL, load, words[1]);
    while (!atomic_load(&loading))
        continue;
    redirect_rest();
    atomic_store(&redirected, 1);
    pthread_join(thread, &library);
    return library == NULL;
}

#endif
