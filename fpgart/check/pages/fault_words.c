/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "fault_words.h"

#include "clock.h"
#include "faults.h"
#include "futex.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

enum { DRAFTS = 4, PATIENCE = 10000 };

static int text_file = 2, json_file = -1;
static struct fault_draft drafts[DRAFTS];
static _Atomic int teller = -1;
static int patience_ms;
static _Atomic unsigned tickets;

void fault_words_go_to(int text, int json)
{
    text_file = text;
    json_file = json;
}

/* A child of fork() has no thread that reads. */
static void nobody_reads(void)
{
    teller = -1;
}

void faults_go_through(int pipe, int patience)
{
    static _Atomic int registered;
    if (!atomic_exchange(&registered, 1))
        pthread_atfork(NULL, NULL, nobody_reads);
    patience_ms = patience;
    teller = pipe;
}

int faults_claim(int draft, unsigned ticket)
{
    return draft < 0 || atomic_compare_exchange_strong(&drafts[draft].ticket, &ticket, 0);
}

void faults_told(int draft, unsigned ticket)
{
    if (draft < 0)
        return;
    drafts[draft].told = ticket;
    futex_wake(&drafts[draft].told);
}

/* The handler blocks all signals while it holds a draft, so one soon becomes free. Exceptions
 * are a child of fork(), and a reader of the output that has stopped: then the caller gets NULL
 * after a while, and only counts the finding. */
struct fault_draft *fault_take_draft(void)
{
    for (int i = 0; i < DRAFTS * PATIENCE; i++) {
        struct fault_draft *draft = &drafts[i % DRAFTS];
        int nobody = 0;
        if (atomic_compare_exchange_strong(&draft->taken, &nobody, 1)) {
            draft->user.length = draft->words.length = 0;
            draft->text.length = draft->json.length = 0;
            return draft;
        }
        if (i % DRAFTS == DRAFTS - 1)
            sched_yield();
    }
    return NULL;
}

void fault_release_draft(struct fault_draft *draft)
{
    draft->taken = 0;
}

void fault_put(struct fault_line *line, const char *words)
{
    while (*words != '\0' && line->length < sizeof line->bytes)
        line->bytes[line->length++] = *words++;
}

/* Copies text for a JSON string: characters that need an escape become blanks. */
static void put_quoted(struct fault_line *line, const char *words)
{
    char one[2] = "";
    for (; *words != '\0'; words++) {
        one[0] = (unsigned char)*words < ' ' || *words == '"' || *words == '\\' ? ' ' : *words;
        fault_put(line, one);
    }
}

void fault_put_number(struct fault_line *line, uintptr_t number, unsigned base)
{
    char digits[24];
    size_t at = sizeof digits - 1;
    digits[at] = '\0';
    do
        digits[--at] = "0123456789abcdef"[number % base];
    while ((number /= base) != 0);
    if (base == 16)
        fault_put(line, "0x");
    fault_put(line, digits + at);
}

void fault_terminate(struct fault_line *line)
{
    line->bytes[line->length < FAULT_LINE ? line->length : FAULT_LINE - 1] = '\0';
}

void fault_put_host(struct fault_line *line, uintptr_t code, struct code_place *place)
{
    fault_put(line, "the host");
    if (code == 0 || !code_place(code, place))
        return;
    fault_put(line, " (");
    fault_put(line, place->file);
    fault_put(line, "+");
    fault_put_number(line, place->offset, 16);
    fault_put(line, place->function[0] != '\0' ? ", " : "");
    fault_put(line, place->function);
    fault_put(line, ")");
}

static void send(int file, const char *bytes, size_t length)
{
    if (file < 0)
        return;
    for (size_t done = 0; done < length;) {
        ssize_t written = write(file, bytes + done, length - done);
        if (written <= 0)
            return;
        done += (size_t)written;
    }
}

/* Waits until the finding is reported; 0 if the reader has not begun in time. */
static int wait_for_teller(struct fault_draft *draft, unsigned ticket)
{
    unsigned seen;
    uint64_t now, end = now_ms() + (uint64_t)patience_ms;
    while ((seen = draft->told) != ticket) {
        if ((now = now_ms()) >= end)
            return !atomic_compare_exchange_strong(&draft->ticket, &ticket, 0);
        futex_sleep(&draft->told, seen, (uint32_t)(end - now));
    }
    return 1;
}

static void put_field(struct fault_line *line, const char *name, uintptr_t value)
{
    fault_put(line, ", \"");
    fault_put(line, name);
    fault_put(line, "\": ");
    fault_put_number(line, value, 10);
}

/* Sends the finding, of which draft->json has all but the end, to the reader of the pipe; 0 if
 * it cannot. The handler reports what exceeds the line. */
static int tell_through_pipe(const struct fault_region *region, struct fault_draft *draft)
{
    int pipe = teller;
    if (pipe < 0)
        return 0;
    struct fault_line *line = &draft->json;
    size_t length = line->length;
    unsigned ticket = atomic_fetch_add(&tickets, 1) + 1;
    put_field(line, "region", (uintptr_t)region->number);
    put_field(line, "code", draft->code);
    put_field(line, "caller", draft->caller);
    put_field(line, "operation", (uintptr_t)(draft->operation + 2));
    put_field(line, "draft", patience_ms > 0 ? (uintptr_t)(draft - drafts) + 1 : 0);
    put_field(line, "ticket", ticket);
    fault_put(line, "}\n");
    draft->ticket = ticket;
    int whole = line->length < sizeof line->bytes;
    int sent = whole && write(pipe, line->bytes, line->length) == (ssize_t)line->length;
    line->length = length;
    return sent && (patience_ms == 0 || wait_for_teller(draft, ticket));
}

void fault_write(const struct fault_region *region, const char *rule, struct fault_draft *draft,
                 const char *fix)
{
    const char *family = region->family == 1 ? "usm" : "buffers", *user = draft->user.bytes;
    const char *words = draft->words.bytes;
    const char *const text[] = {"fpgart: [",
                                family,
                                "] ",
                                words,
                                "\nfpgart:   ",
                                region->name,
                                ", created by ",
                                region->maker,
                                ", misused by ",
                                user,
                                "\nfpgart:   fix: ",
                                fix,
                                "\n"};
    const char *const fields[] = {"check",      family,    "rule",        rule,         "object",
                                  region->name, "made_by", region->maker, "misused_by", user,
                                  "words",      words,     "fix",         fix};
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i += 2) {
        fault_put(&draft->json, i == 0 ? "{\"" : ", \"");
        fault_put(&draft->json, fields[i]);
        fault_put(&draft->json, "\": \"");
        put_quoted(&draft->json, fields[i + 1]);
        fault_put(&draft->json, "\"");
    }
    if (tell_through_pipe(region, draft))
        return;
    for (size_t i = 0; i < sizeof text / sizeof text[0]; i++)
        fault_put(&draft->text, text[i]);
    send(text_file, draft->text.bytes, draft->text.length);
    fault_put(&draft->json, "}\n");
    send(json_file, draft->json.bytes, draft->json.length);
}

void fault_say(const char *sentence)
{
    send(text_file, sentence, strlen(sentence));
}
