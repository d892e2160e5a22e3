/* SPDX-License-Identifier: Apache-2.0 */
#include "fault_words.h"

#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

enum { DRAFTS = 4, PATIENCE = 10000 };

static int text_file = 2, json_file = -1;
static struct fault_draft drafts[DRAFTS];

void fault_words_go_to(int text, int json)
{
    text_file = text;
    json_file = json;
}

/* The handler blocks all signals while it holds a draft, so one soon becomes free. Exceptions are a
 * child that was forked meanwhile, and a reader of the output that has stopped: then the caller
 * gets NULL after a while, and only counts the finding. */
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

/* For a JSON string: characters that need an escape become blanks. */
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

void fault_write(const struct fault_region *region, const char *rule, struct fault_draft *draft,
                 const char *fix)
{
    const char *family = region->family == 1 ? "usm" : "buffers", *user = draft->user.bytes;
    const char *words = draft->words.bytes;
    const char *const text[] = {
        "fpgart: [",         family,       "] ",          words,           "\nfpgart:   ",
        region->name,        ", made by ", region->maker, ", misused by ", user,
        "\nfpgart:   fix: ", fix,          "\n"};
    const char *const fields[] = {"check",      family,    "rule",        rule,         "object",
                                  region->name, "made_by", region->maker, "misused_by", user,
                                  "words",      words,     "fix",         fix};
    for (size_t i = 0; i < sizeof text / sizeof text[0]; i++)
        fault_put(&draft->text, text[i]);
    send(text_file, draft->text.bytes, draft->text.length);
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i += 2) {
        fault_put(&draft->json, i == 0 ? "{\"" : ", \"");
        fault_put(&draft->json, fields[i]);
        fault_put(&draft->json, "\": \"");
        put_quoted(&draft->json, fields[i + 1]);
        fault_put(&draft->json, "\"");
    }
    fault_put(&draft->json, "}\n");
    send(json_file, draft->json.bytes, draft->json.length);
}

void fault_say(const char *sentence)
{
    send(text_file, sentence, strlen(sentence));
}
