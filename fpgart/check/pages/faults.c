/* SPDX-License-Identifier: Apache-2.0
 *
 * The handler of SIGSEGV. Memory that nobody may touch has no rights (fault_table.c). Whoever
 * touches it ends up here: the handler looks the address up, writes a finding (fault_words.c),
 * lifts the protection and lets the access go on. The end of the last operation restores it.
 *
 * The handler runs on any thread at any instruction. It takes no lock, allocates nothing and does
 * not enter the interpreter. */
#define _GNU_SOURCE
#include "faults.h"

#include "fault_table.h"
#include "fault_words.h"
#include "registers.h"
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

enum reported { READ_INSIDE = 1, READ_PAST = 4, READ_BEFORE = 16 }; /* a write is the next bit */
enum { OPERATIONS = 64, NAME = 120, FRAMES = 24 };

static struct {
    _Atomic int taken;
    int strays;
    _Atomic uint32_t frame_count;
    uintptr_t frames[FRAMES];
    char words[NAME];
} operations[OPERATIONS];
static _Atomic int straying;
static _Atomic unsigned found[3];
static int wanted;
static _Atomic int installed;
static struct sigaction before;
static pthread_mutex_t installing = PTHREAD_MUTEX_INITIALIZER;

struct access {
    uintptr_t address, code;
    int writes;
    const ucontext_t *context;
};

static struct access access_of(const siginfo_t *info, const ucontext_t *context)
{
    return (struct access){(uintptr_t)info->si_addr, code_at_fault(context), was_write(context),
                           context};
}

/* -- Findings -- */

/* Names the origin of the access: the running operations, or the host with the place of its
 * code, which alone writes memory that operations only read. */
static void put_user(struct fault_draft *draft, const struct access *access, int by_host)
{
    int count = 0;
    draft->code = access->code;
    draft->caller = caller_at_fault(access->context);
    draft->operation = -1;
    for (int i = 0; i < OPERATIONS && !by_host; i++)
        if (operations[i].taken == 2) {
            draft->operation = count == 0 ? i : -2;
            fault_put(&draft->user, count++ == 0 ? "" : " or ");
            fault_put(&draft->user, operations[i].words);
        }
    if (count == 0)
        fault_put_host(&draft->user, access->code, &draft->place);
    fault_terminate(&draft->user);
}

/* Returns a draft that names the origin of the access; NULL if its kind (`bit`) has a finding
 * already or is not wanted. */
static struct fault_draft *draft_for(struct fault_region *region, int bit,
                                     const struct access *access)
{
    if (!(wanted & 1 << (region->family - 1)) || atomic_fetch_or(&region->reported, bit) & bit)
        return NULL;
    found[region->family]++;
    struct fault_draft *draft = fault_take_draft();
    if (draft != NULL) {
        put_user(draft, access,
                 region->state == FAULT_ONLY_READ || fault_is_closed(access->address));
        fault_put(&draft->words, draft->user.bytes);
    }
    return draft;
}

/* Reports an access within a region: `what` is wrong with it, the finding, and its remedy. */
static void report_inside(struct fault_region *region, const struct access *access,
                          const char *what, const char *rule, const char *remedy)
{
    struct fault_draft *draft = draft_for(region, READ_INSIDE << access->writes, access);
    if (draft == NULL)
        return;
    struct fault_line *words = &draft->words;
    fault_put(words, access->writes ? " writes byte " : " reads byte ");
    fault_put_number(words, access->address - region->begin, 10);
    fault_put(words, " of it, at ");
    fault_put_number(words, access->address, 16);
    fault_put(words, what);
    fault_terminate(words);
    fault_write(region, rule, draft, remedy);
    fault_release_draft(draft);
}

/* Reports an access to board memory outside all regions, as one past or before the nearest. */
static void report_outside(struct fault_region *region, uintptr_t distance, int past,
                           const struct access *access)
{
    struct fault_draft *draft =
        draft_for(region, (past ? READ_PAST : READ_BEFORE) << access->writes, access);
    if (draft == NULL)
        return;
    struct fault_line *words = &draft->words;
    fault_put(words, access->writes ? " writes " : " reads ");
    if (distance > 0)
        fault_put_number(words, distance, 10);
    fault_put(words, distance == 0 ? "directly past its end, at "
                     : past        ? " bytes past its end, at "
                                   : " bytes before its start, at ");
    fault_put_number(words, access->address, 16);
    fault_terminate(words);
    fault_write(region, past ? "access past the end" : "access before the start", draft,
                draft->operation == -1
                    ? "make it larger, or check the index"
                    : "make it larger, launch fewer work-items, or check the index in the kernel");
    fault_release_draft(draft);
}

/* -- The handler -- */

static int handle_region(struct fault_region *region, const struct access *access)
{
    if (region->state == FAULT_OPEN) /* another thread opened it after this access had failed */
        return 1;
    if (region->state == FAULT_ONLY_READ) {
        struct access write = *access;
        write.writes = 1;
        report_inside(region, &write, ", while a kernel runs that reads it",
                      "shared memory written while a kernel uses it",
                      "wait for the kernel first, or write another allocation meanwhile");
        return fault_open_region(region, PROT_READ | PROT_WRITE);
    }
    int runs = region->state == FAULT_WHILE_RUNNING && fault_operations_run() &&
               !fault_is_closed(access->address);
    if (runs && straying > 0)
        return fault_open_region(region, PROT_READ | PROT_WRITE);
    if (runs) /* no running operation declared it; the reporting thread decides if it was the host's
               */
        report_inside(
            region, access, ", through a pointer that is no argument and was not announced",
            "indirect access that was not announced",
            "set CL_KERNEL_EXEC_INFO_INDIRECT_DEVICE_ACCESS_INTEL, or name the allocation "
            "in CL_KERNEL_EXEC_INFO_USM_PTRS_INTEL (clSetKernelExecInfo)");
    else if (region->state == FAULT_GONE)
        report_inside(region, access, ", after it was freed", "use after free",
                      "free it when its last user has ended");
    else
        report_inside(region, access, ", which only the device can access",
                      "device memory accessed by the host",
                      "copy with clEnqueueMemcpyINTEL (in SYCL, queue::memcpy), or use a shared or "
                      "host allocation");
    return fault_open_region(region, access->writes ? PROT_READ | PROT_WRITE : PROT_READ);
}

/* Attributes an access outside all regions to the nearest one, or to one past the end of the
 * region below. */
static int handle_gap(const struct access *access)
{
    struct fault_region *below, *above;
    fault_neighbours(access->address, &below, &above);
    uintptr_t past = below != NULL ? access->address - below->end : UINTPTR_MAX;
    uintptr_t ahead = above != NULL ? above->begin - access->address : UINTPTR_MAX;
    if (below != NULL && (past <= ahead || fault_page_before_is_open(access->address)))
        report_outside(below, past, 1, access);
    else if (above != NULL)
        report_outside(above, ahead, 0, access);
    return fault_open_page(access->address);
}

/* Makes an access to protected memory continue; 0 for an access to other memory. */
static int handle_ours(const struct access *access)
{
    struct fault_region *region = fault_region_with(access->address);
    if (region != NULL)
        return handle_region(region, access);
    return fault_on_board(access->address) && handle_gap(access);
}

/* Calls the host's own handler with only those signals blocked that it requested. */
static void block_as_the_host_wants(int number, const ucontext_t *context)
{
    sigset_t blocked;
    sigorset(&blocked, &context->uc_sigmask, &before.sa_mask);
    if (!(before.sa_flags & SA_NODEFER))
        sigaddset(&blocked, number);
    pthread_sigmask(SIG_SETMASK, &blocked, NULL);
}

static void handle(int number, siginfo_t *info, void *context)
{
    int kept = errno;
    struct access access = access_of(info, context);
    if (info->si_code == SEGV_ACCERR && !fault_is_unprotected() && handle_ours(&access) &&
        !fault_is_closed(access.address)) {
        errno = kept;
        return;
    }
    errno = kept;
    if (before.sa_flags & SA_SIGINFO) {
        block_as_the_host_wants(number, context);
        before.sa_sigaction(number, info, context);
    } else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
        block_as_the_host_wants(number, context);
        before.sa_handler(number);
    } else { /* the access is repeated, and ends the process */
        struct sigaction fatal = {.sa_handler = SIG_DFL};
        sigaction(number, &fatal, NULL);
        if (info->si_code <= 0) /* sent by a process: there is no access to repeat */
            raise(number);
    }
}

/* -- Setting up -- */

void faults_start(int text, int json, int families)
{
    fault_words_go_to(text, json);
    wanted = families;
}

static int install(void)
{
    struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigfillset(&action.sa_mask); /* other handlers would need stack, or a draft, meanwhile */
    pthread_mutex_lock(&installing);
    if (!installed)
        installed = sigaction(SIGSEGV, &action, &before) == 0;
    pthread_mutex_unlock(&installing);
    return installed;
}

int faults_cover(uintptr_t begin, size_t size, int closed)
{
    return install() && fault_cover(begin, size, closed) ? 0 : -1;
}

/* -- Operations -- */

/* 1 if the host has replaced the handler. Then accesses are not detected, so no memory may be
 * closed. */
static int is_replaced(void)
{
    struct sigaction now;
    return installed && !fault_is_unprotected() && sigaction(SIGSEGV, NULL, &now) == 0 &&
           !(now.sa_flags & SA_SIGINFO && now.sa_sigaction == handle);
}

int faults_begin(const char *words, int strays)
{
    if (is_replaced() && fault_unprotect())
        fault_say(
            "fpgart: the program installed its own SIGSEGV handler: accesses to memory are no "
            "longer checked\n");
    fault_operation_began();
    for (int i = 0; i < OPERATIONS; i++) {
        int none = 0;
        if (atomic_compare_exchange_strong(&operations[i].taken, &none, 1)) {
            snprintf(operations[i].words, sizeof operations[i].words, "%s", words);
            operations[i].strays = strays;
            operations[i].frame_count = 0;
            straying += strays;
            operations[i].taken = 2;
            return i;
        }
    }
    straying++; /* permanently: it has no number for faults_end() */
    return -1;
}

void faults_called_from(int operation, const uintptr_t *frames, uint32_t count)
{
    if (operation < 0)
        return;
    memcpy(operations[operation].frames, frames, count * sizeof *frames);
    operations[operation].frame_count = count;
}

uint32_t faults_call(int operation, uintptr_t *frames)
{
    uint32_t count = operation >= 0 ? operations[operation].frame_count : 0;
    if (count != 0)
        memcpy(frames, operations[operation].frames, count * sizeof *frames);
    return count;
}

void faults_end(int operation)
{
    if (operation >= 0) {
        straying -= operations[operation].strays;
        operations[operation].taken = 0;
    }
    fault_operation_ended();
}

unsigned faults_found(int family)
{
    return atomic_exchange(&found[family], 0);
}
