/* SPDX-License-Identifier: Apache-2.0
 *
 * What it costs to hand a request to another process and get the answer, in several ways: words in
 * memory that both see and sleep on (futex), counters that the kernel keeps (eventfd), a socket;
 * each after some looks at the word. cc -O2 -o handover handover.c && ./handover [LOOKS...]
 *
 * The ways take turns, so that whatever else the machine does meets all of them. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 101, TRIPS = 100, MOST_WAYS = 16 };

enum means { FUTEX, EVENTFD, SOCKET, MEANS };

static const char *const names[MEANS] = {"futex", "eventfd", "socket"};

struct word {
    _Alignas(64) _Atomic uint32_t value;
    _Atomic uint32_t sleeps;
};

struct shared {
    struct word request, answer;
};

struct way {
    enum means means;
    int looks;
    struct shared *shared;
    int ours[2], theirs[2]; /* descriptors to wait on and to wake by, of each side */
    double samples[ROUNDS];
};

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

static void relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

static void sleep_on(const struct way *way, struct word *word, uint32_t seen, int descriptor)
{
    uint64_t count;
    if (way->means == FUTEX)
        syscall(SYS_futex, &word->value, FUTEX_WAIT, seen, NULL, NULL, 0);
    else if (read(descriptor, &count, way->means == EVENTFD ? sizeof count : 1) < 0)
        fail("read");
}

static void await(const struct way *way, struct word *word, uint32_t seen, int descriptor)
{
    for (int i = 0; i < way->looks; i++) {
        if (atomic_load(&word->value) != seen)
            return;
        relax();
    }
    atomic_store(&word->sleeps, 1);
    while (atomic_load(&word->value) == seen)
        sleep_on(way, word, seen, descriptor);
    atomic_store(&word->sleeps, 0);
}

/* Wakes only who sleeps. A count or byte that comes too late for that ends the next sleep early. */
static void tell(const struct way *way, struct word *word, uint32_t value, int descriptor)
{
    const uint64_t one = 1;
    atomic_store(&word->value, value);
    if (atomic_load(&word->sleeps) == 0)
        return;
    if (way->means == FUTEX)
        syscall(SYS_futex, &word->value, FUTEX_WAKE, 1, NULL, NULL, 0);
    else if (write(descriptor, &one, way->means == EVENTFD ? sizeof one : 1) < 0)
        fail("write");
}

static void serve(const struct way *way)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (uint32_t seen = 0;; seen++) {
        await(way, &way->shared->request, seen, way->theirs[0]);
        tell(way, &way->shared->answer, seen + 1, way->theirs[1]);
    }
}

static void make_descriptors(struct way *way)
{
    int pair[2];
    if (way->means == EVENTFD) {
        way->ours[0] = way->theirs[1] = eventfd(0, 0);
        way->ours[1] = way->theirs[0] = eventfd(0, 0);
    } else if (way->means == SOCKET) {
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
            fail("socketpair");
        way->ours[0] = way->ours[1] = pair[0];
        way->theirs[0] = way->theirs[1] = pair[1];
    }
}

static void begin(struct way *way, enum means means, int looks)
{
    way->means = means;
    way->looks = looks;
    make_descriptors(way);
    way->shared =
        mmap(NULL, sizeof *way->shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (way->shared == MAP_FAILED)
        fail("mmap");
    if (fork() == 0)
        serve(way);
}

static double trip_us(const struct way *way)
{
    uint32_t seen = atomic_load(&way->shared->answer.value);
    double start = now();
    for (int i = 0; i < TRIPS; i++, seen++) {
        tell(way, &way->shared->request, seen + 1, way->ours[1]);
        await(way, &way->shared->answer, seen, way->ours[0]);
    }
    return (now() - start) / TRIPS;
}

static int compare(const void *one, const void *other)
{
    double difference = *(const double *)one - *(const double *)other;
    return (difference > 0) - (difference < 0);
}

int main(int count, char **arguments)
{
    static struct way ways[MOST_WAYS];
    int made = 0;
    for (int i = 1; i < (count > 1 ? count : 2); i++)
        for (int means = 0; means < MEANS && made < MOST_WAYS; means++)
            begin(&ways[made++], (enum means)means, count > 1 ? atoi(arguments[i]) : 0);
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < made; i++)
            ways[i].samples[round] = trip_us(&ways[i]);
    printf("way      looks   least  median us\n");
    for (int i = 0; i < made; i++) {
        qsort(ways[i].samples, ROUNDS, sizeof ways[i].samples[0], compare);
        printf("%-8s %5d  %6.2f  %6.2f\n", names[ways[i].means], ways[i].looks, ways[i].samples[0],
               ways[i].samples[ROUNDS / 2]);
    }
    return 0;
}
