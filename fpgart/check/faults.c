/* SPDX-License-Identifier: Apache-2.0
 *
 * Catching accesses as they happen. Memory that nobody should touch has no rights; whoever does
 * lands in the handler here, which looks the address up in a table, writes a finding, lifts the
 * protection and lets the access go on. When the last operation has ended, what was opened is
 * closed again.
 *
 * The handler runs on any thread at any instruction: it takes no lock, allocates nothing and knows
 * nothing of the interpreter. The table only grows; a region that is forgotten is a free slot. */
#define _GNU_SOURCE
#include "faults.h"

#include "registers.h"

#include "code.h"
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

enum state { FREE, OPEN, WHILE_RUNNING, GONE };
enum told { READ_INSIDE = 1, READ_PAST = 4, READ_BEFORE = 16 }; /* writes: the next bit */
enum { DESKS = 4, PATIENCE = 10000 };
enum { CHUNK = 1024, CHUNKS = 512, OPERATIONS = 64, OPENED = 1024, BOARDS = 128, LINE = 1536 };

struct region {
    uintptr_t begin, end, first, last;
    _Atomic int state, told, open;
    int family;
    char name[120], maker[40];
};

struct range {
    uintptr_t begin, end;
};

static struct region *_Atomic chunks[CHUNKS];
static _Atomic int used; /* slots ever taken */
static int free_slots[CHUNK * CHUNKS], free_count;
static struct range boards[BOARDS];
static _Atomic int board_count;
static struct {
    _Atomic int taken;
    char words[120];
} operations[OPERATIONS];
static _Atomic int running;
static _Atomic uintptr_t
    opened[OPENED]; /* regions that were opened, and pages of none, as addresses */
static _Atomic int opened_count;
static _Atomic unsigned found[3];
static int text_file = 2, json_file = -1, wanted, installed;
static _Atomic int displaced;
static uintptr_t page = 4096;
static struct sigaction before;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct region *region_at(int number)
{
    struct region *chunk = chunks[number / CHUNK];
    return chunk != NULL ? &chunk[number % CHUNK] : NULL;
}

/* -- Words -- */

struct line {
    char bytes[LINE];
    size_t length;
};

static void put(struct line *line, const char *words)
{
    while (*words != '\0' && line->length < sizeof line->bytes)
        line->bytes[line->length++] = *words++;
}

/* Within a JSON string: what would need an escape becomes a blank. */
static void put_quoted(struct line *line, const char *words)
{
    char one[2] = "";
    for (; *words != '\0'; words++) {
        one[0] = (unsigned char)*words < ' ' || *words == '"' || *words == '\\' ? ' ' : *words;
        put(line, one);
    }
}

static void put_number(struct line *line, uintptr_t number, unsigned base)
{
    char digits[24];
    size_t at = sizeof digits - 1;
    digits[at] = '\0';
    do
        digits[--at] = "0123456789abcdef"[number % base];
    while ((number /= base) != 0);
    if (base == 16)
        put(line, "0x");
    put(line, digits + at);
}

static void send(int file, const struct line *line)
{
    if (file < 0)
        return;
    for (size_t done = 0; done < line->length;) {
        ssize_t written = write(file, line->bytes + done, line->length - done);
        if (written <= 0)
            return;
        done += (size_t)written;
    }
}

/* What a handler writes with. Not on the stack: hosts may give handlers a small one. */
static struct desk {
    _Atomic int taken;
    struct line user, words, text, json;
    struct code_place place;
} desks[DESKS];

/* A desk that nobody sits at. Whoever has one is in the handler, where no other signal interrupts
 * him, so one gets free soon. Not so in a child that was forked meanwhile, or while nobody reads
 * what is written: then NULL comes after a while, and the finding is only counted. */
static struct desk *sit_down(void)
{
    for (int i = 0; i < DESKS * PATIENCE; i++) {
        struct desk *desk = &desks[i % DESKS];
        int nobody = 0;
        if (atomic_compare_exchange_strong(&desk->taken, &nobody, 1)) {
            desk->user.length = desk->words.length = desk->text.length = desk->json.length = 0;
            return desk;
        }
        if (i % DESKS == DESKS - 1)
            sched_yield();
    }
    return NULL;
}

static void stand_up(struct desk *desk)
{
    desk->taken = 0;
}

/* Who did it: the operations that run, or the host with the place of its code. */
static void put_user(struct line *user, uintptr_t code, struct code_place *place)
{
    int count = 0;
    for (int i = 0; i < OPERATIONS; i++)
        if (operations[i].taken == 2) {
            put(user, count++ == 0 ? "" : " or ");
            put(user, operations[i].words);
        }
    if (count == 0) {
        put(user, "the host");
        if (code != 0 && code_place(code, place)) {
            put(user, " (");
            put(user, place->file);
            put(user, "+");
            put_number(user, place->offset, 16);
            put(user, place->function[0] != '\0' ? ", " : "");
            put(user, place->function);
            put(user, ")");
        }
    }
    user->bytes[user->length < LINE ? user->length : LINE - 1] = '\0';
}

static void tell(const struct region *region, const char *rule, struct desk *desk, const char *fix)
{
    const char *family = region->family == 1 ? "usm" : "buffers", *user = desk->user.bytes;
    const struct line *words = &desk->words;
    const char *const fields[] = {"check",      family,       "rule",        rule,         "object",
                                  region->name, "made_by",    region->maker, "misused_by", user,
                                  "words",      words->bytes, "fix",         fix};
    put(&desk->text, "fpgart: [");
    put(&desk->text, family);
    put(&desk->text, "] ");
    put(&desk->text, words->bytes);
    put(&desk->text, "\nfpgart:   ");
    put(&desk->text, region->name);
    put(&desk->text, ", made by ");
    put(&desk->text, region->maker);
    put(&desk->text, ", misused by ");
    put(&desk->text, user);
    put(&desk->text, "\nfpgart:   fix: ");
    put(&desk->text, fix);
    put(&desk->text, "\n");
    send(text_file, &desk->text);
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i += 2) {
        put(&desk->json, i == 0 ? "{\"" : ", \"");
        put(&desk->json, fields[i]);
        put(&desk->json, "\": \"");
        put_quoted(&desk->json, fields[i + 1]);
        put(&desk->json, "\"");
    }
    put(&desk->json, "}\n");
    send(json_file, &desk->json);
}

/* -- The handler -- */

struct access {
    uintptr_t address, code;
    int writes;
};

static struct access access_of(const siginfo_t *info, const ucontext_t *context)
{
    return (struct access){(uintptr_t)info->si_addr, code_at_fault(context), was_write(context)};
}

/* A desk with who it was, for an access of a kind (`bit`) that is to be told; NULL for others. */
static struct desk *desk_for(struct region *region, int bit, const struct access *access)
{
    if (!(wanted & 1 << (region->family - 1)) || atomic_fetch_or(&region->told, bit) & bit)
        return NULL;
    found[region->family]++;
    struct desk *desk = sit_down();
    if (desk != NULL) {
        put_user(&desk->user, access->code, &desk->place);
        put(&desk->words, desk->user.bytes);
    }
    return desk;
}

/* Tell an access within a region. */
static void tell_inside(struct region *region, const struct access *access)
{
    struct desk *desk = desk_for(region, READ_INSIDE << access->writes, access);
    if (desk == NULL)
        return;
    int gone = region->state == GONE;
    struct line *words = &desk->words;
    put(words, access->writes ? " writes byte " : " reads byte ");
    put_number(words, access->address - region->begin, 10);
    put(words, " of it, at ");
    put_number(words, access->address, 16);
    put(words, gone ? ", after it was freed" : ", which only the device can reach");
    words->bytes[words->length < LINE ? words->length : LINE - 1] = '\0';
    tell(region, gone ? "use after free" : "device memory touched by the host", desk,
         gone ? "free it when its last user has ended"
              : "copy with clEnqueueMemcpyINTEL, or use a shared or host allocation");
    stand_up(desk);
}

/* Tell an access to board memory that no region has, by the nearest one. */
static void tell_outside(struct region *region, uintptr_t distance, int past,
                         const struct access *access)
{
    struct desk *desk =
        desk_for(region, (past ? READ_PAST : READ_BEFORE) << access->writes, access);
    if (desk == NULL)
        return;
    struct line *words = &desk->words;
    put(words, access->writes ? " writes " : " reads ");
    if (distance > 0)
        put_number(words, distance, 10);
    put(words, distance == 0 ? "right behind its end, at "
               : past        ? " bytes past its end, at "
                             : " bytes before its begin, at ");
    put_number(words, access->address, 16);
    words->bytes[words->length < LINE ? words->length : LINE - 1] = '\0';
    tell(region, past ? "access past the end" : "access before the begin", desk,
         "make it larger, launch fewer work-items, or test the index in the kernel");
    stand_up(desk);
}

static void remember_opened(uintptr_t address)
{
    int index = atomic_fetch_add(&opened_count, 1);
    if (index < OPENED)
        opened[index] = address;
}

/* Whether a page of no region was opened, so that an access behind it goes on with what it began.
 */
static int was_opened(uintptr_t address)
{
    for (int i = 0, count = opened_count; i < count && i < OPENED; i++)
        if (opened[i] == address)
            return 1;
    return 0;
}

static int open_region(struct region *region, int rights)
{
    if (mprotect((void *)region->first, region->last - region->first, rights) != 0)
        return 0;
    if (!atomic_exchange(&region->open, 1))
        remember_opened(region->first);
    return 1;
}

static int handle_region(struct region *region, const struct access *access)
{
    if (region->state == WHILE_RUNNING && running > 0)
        return open_region(region, PROT_READ | PROT_WRITE);
    tell_inside(region, access);
    return open_region(region, access->writes ? PROT_READ | PROT_WRITE : PROT_READ);
}

static int handle_gap(const struct access *access)
{
    struct region *below = NULL, *above = NULL;
    for (int i = 0, count = used; i < count; i++) {
        struct region *region = region_at(i);
        if (region->state == FREE)
            continue;
        if (region->end <= access->address && (below == NULL || region->end > below->end))
            below = region;
        if (region->begin > access->address && (above == NULL || region->begin < above->begin))
            above = region;
    }
    uintptr_t begin = access->address & ~(page - 1);
    uintptr_t past = below != NULL ? access->address - below->end : UINTPTR_MAX;
    uintptr_t ahead = above != NULL ? above->begin - access->address : UINTPTR_MAX;
    if (below != NULL && (past <= ahead || was_opened(begin - page)))
        tell_outside(below, past, 1, access);
    else if (above != NULL)
        tell_outside(above, ahead, 0, access);
    if (mprotect((void *)begin, page, PROT_READ | PROT_WRITE) != 0)
        return 0;
    remember_opened(begin);
    return 1;
}

static int handle_ours(const struct access *access)
{
    for (int i = 0, count = used; i < count; i++) {
        struct region *region = region_at(i);
        int state = region->state;
        if (state != FREE && access->address >= region->first && access->address < region->last) {
            if (state == OPEN) /* it was opened while this access was on its way here */
                return 1;
            return handle_region(region, access);
        }
    }
    for (int i = 0, count = board_count; i < count; i++)
        if (access->address >= boards[i].begin && access->address < boards[i].end)
            return handle_gap(access);
    return 0;
}

/* The host's own handler is called with the signals blocked that it asked for, not all. */
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
    if (info->si_code == SEGV_ACCERR && !displaced && handle_ours(&access)) {
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
    } else { /* the access is tried again, and ends the process */
        struct sigaction fatal = {.sa_handler = SIG_DFL};
        sigaction(number, &fatal, NULL);
        if (info->si_code <= 0) /* no access: somebody sent it */
            raise(number);
    }
}

/* -- Setting up -- */

void faults_start(int text, int json, int families)
{
    text_file = text;
    json_file = json;
    wanted = families;
    page = (uintptr_t)sysconf(_SC_PAGESIZE);
}

static int install(void)
{
    struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    if (installed)
        return 1;
    sigfillset(
        &action.sa_mask); /* nothing else needs the rest of its stack, or a desk, meanwhile */
    installed = sigaction(SIGSEGV, &action, &before) == 0;
    return installed;
}

int faults_cover(uintptr_t begin, size_t size)
{
    int done = 0;
    pthread_mutex_lock(&lock);
    if (board_count < BOARDS && install() && mprotect((void *)begin, size, PROT_NONE) == 0) {
        boards[board_count] = (struct range){begin, begin + size};
        board_count++;
        done = 1;
    }
    pthread_mutex_unlock(&lock);
    return done ? 0 : -1;
}

void faults_open(uintptr_t first, uintptr_t last)
{
    mprotect((void *)first, last - first, PROT_READ | PROT_WRITE);
}

/* A free slot; -1 when there is none. The lock is held. */
static int new_slot(void)
{
    if (free_count > 0)
        return free_slots[--free_count];
    int number = used;
    if (number == CHUNK * CHUNKS)
        return -1;
    if (number % CHUNK == 0) {
        void *chunk = mmap(NULL, CHUNK * sizeof(struct region), PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (chunk == MAP_FAILED)
            return -1;
        chunks[number / CHUNK] = chunk;
    }
    used = number + 1;
    return number;
}

static void set_state(struct region *region, int state)
{
    int rights = state == OPEN ? PROT_READ | PROT_WRITE : PROT_NONE;
    if (state == OPEN)
        region->state = state;
    if (!displaced)
        mprotect((void *)region->first, region->last - region->first, rights);
    region->state = state;
}

int faults_add(uintptr_t begin, size_t size, uintptr_t first, uintptr_t last, int state, int family,
               const char *name, const char *maker)
{
    pthread_mutex_lock(&lock);
    int number = new_slot();
    if (number < 0) {
        mprotect((void *)first, last - first, PROT_READ | PROT_WRITE);
    } else {
        struct region *region = region_at(number);
        region->begin = begin;
        region->end = begin + size;
        region->first = first;
        region->last = last;
        region->told = 0;
        region->open = 0;
        region->family = family;
        snprintf(region->name, sizeof region->name, "%s", name);
        snprintf(region->maker, sizeof region->maker, "%s", maker);
        set_state(region, state);
    }
    pthread_mutex_unlock(&lock);
    return number;
}

void faults_state(int number, int state)
{
    pthread_mutex_lock(&lock);
    struct region *region = region_at(number);
    region->told = 0;
    set_state(region, state);
    pthread_mutex_unlock(&lock);
}

void faults_name(int number, int family, const char *name, const char *maker)
{
    pthread_mutex_lock(&lock);
    struct region *region = region_at(number);
    region->family = family;
    snprintf(region->name, sizeof region->name, "%s", name);
    snprintf(region->maker, sizeof region->maker, "%s", maker);
    pthread_mutex_unlock(&lock);
}

void faults_forget(int number)
{
    pthread_mutex_lock(&lock);
    region_at(number)->state = FREE;
    free_slots[free_count++] = number;
    pthread_mutex_unlock(&lock);
}

int faults_bury(uintptr_t begin, size_t size)
{
    void *wish = (void *)begin;
    void *got = mmap(wish, size, PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (got == wish)
        return 0;
    if (got != MAP_FAILED)
        munmap(got, size);
    return -1;
}

/* -- Operations -- */

/* Somebody else has SIGSEGV now: nothing can be caught, so nothing may be closed. */
static void give_up(void)
{
    displaced = 1;
    for (int i = 0; i < board_count; i++)
        mprotect((void *)boards[i].begin, boards[i].end - boards[i].begin, PROT_READ | PROT_WRITE);
    static const char words[] = "fpgart: the program has a SIGSEGV handler of its own: accesses to "
                                "memory are no longer checked\n";
    if (write(text_file, words, sizeof words - 1) < 0)
        return;
}

int faults_begin(const char *words)
{
    struct sigaction now;
    if (installed && !displaced && sigaction(SIGSEGV, NULL, &now) == 0 &&
        !(now.sa_flags & SA_SIGINFO && now.sa_sigaction == handle)) {
        pthread_mutex_lock(&lock);
        if (!displaced)
            give_up();
        pthread_mutex_unlock(&lock);
    }
    running++;
    for (int i = 0; i < OPERATIONS; i++) {
        int none = 0;
        if (atomic_compare_exchange_strong(&operations[i].taken, &none, 1)) {
            snprintf(operations[i].words, sizeof operations[i].words, "%s", words);
            operations[i].taken = 2;
            return i;
        }
    }
    return -1;
}

void faults_use(int number)
{
    pthread_mutex_lock(&lock); /* or what is being closed would count as open */
    struct region *region = region_at(number);
    if (region->state == WHILE_RUNNING && !displaced)
        open_region(region, PROT_READ | PROT_WRITE);
    pthread_mutex_unlock(&lock);
}

static void close_page(uintptr_t address)
{
    for (int i = 0; i < used; i++) {
        struct region *region = region_at(i);
        if (region->state == FREE || address < region->first || address >= region->last)
            continue;
        if (region->state != OPEN && atomic_exchange(&region->open, 0))
            mprotect((void *)region->first, region->last - region->first, PROT_NONE);
        return;
    }
    mprotect((void *)address, page, PROT_NONE);
}

void faults_end(int operation)
{
    if (operation >= 0)
        operations[operation].taken = 0;
    if (atomic_fetch_sub(&running, 1) != 1 || opened_count == 0 || displaced)
        return;
    pthread_mutex_lock(&lock);
    if (running > 0) { /* the next one has begun, and closes after itself */
        pthread_mutex_unlock(&lock);
        return;
    }
    int count = atomic_exchange(&opened_count, 0);
    for (int i = 0; i < count && i < OPENED; i++)
        close_page(opened[i]);
    for (int i = 0; count > OPENED && i < used; i++)
        if (region_at(i)->state > OPEN && region_at(i)->open)
            close_page(region_at(i)->first);
    pthread_mutex_unlock(&lock);
}

unsigned faults_found(int family)
{
    return atomic_exchange(&found[family], 0);
}
