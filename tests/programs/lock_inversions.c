/* SPDX-License-Identifier: Apache-2.0
 *
 * Takes the locks that its words name, one after another, for tests/core/test_lock_order.py:
 *
 *     lock_inversions upper lower -lower sleep      "-": releases the lock */
#include <linux/futex.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int PyGILState_Ensure(void);

static pthread_mutex_t upper = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t lower = PTHREAD_RWLOCK_INITIALIZER;
static pthread_mutex_t unlisted = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static struct box {
    pthread_mutex_t lock;
} *box;

static void *signals(void *unused)
{
    pthread_mutex_lock(&upper);
    pthread_cond_signal(&condition);
    pthread_mutex_unlock(&upper);
    return unused;
}

static int step(const char *word)
{
    pthread_t thread;
    if (strcmp(word, "upper") == 0)
        return pthread_mutex_lock(&upper);
    if (strcmp(word, "-upper") == 0)
        return pthread_mutex_unlock(&upper);
    if (strcmp(word, "lower") == 0)
        return pthread_rwlock_rdlock(&lower);
    if (strcmp(word, "-lower") == 0)
        return pthread_rwlock_unlock(&lower);
    if (strcmp(word, "box") == 0)
        return pthread_mutex_trylock(&box->lock);
    if (strcmp(word, "-box") == 0)
        return pthread_mutex_unlock(&box->lock);
    if (strcmp(word, "unlisted") == 0)
        return pthread_mutex_lock(&unlisted);
    if (strcmp(word, "wait") == 0)
        return pthread_create(&thread, NULL, signals, NULL) ||
               pthread_cond_wait(&condition, &upper) || pthread_join(thread, NULL);
    if (strcmp(word, "sleep") == 0) /* not for long: the value is another one */
        return syscall(SYS_futex, &(int){0}, FUTEX_WAIT_PRIVATE, 1, NULL, NULL, 0) == 0;
    return PyGILState_Ensure();
}

int main(int count, char **words)
{
    box = malloc(sizeof *box);
    pthread_mutex_init(&box->lock, NULL);
    for (int i = 1; i < count; i++)
        if (step(words[i]) != 0)
            return i;
    return 0;
}
