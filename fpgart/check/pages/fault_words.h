/* SPDX-License-Identifier: Apache-2.0
 *
 * Findings as text and as JSON, written by a signal handler: without lock and allocation, and with
 * few bytes of the stack. */
#pragma once
#include "code.h"
#include "fault_table.h"
#include <stddef.h>
#include <stdint.h>

enum { FAULT_LINE = 1536 };

struct fault_line {
    char bytes[FAULT_LINE];
    size_t length;
};

/* The memory in which one finding is composed. It is static, because the handler's stack may be
 * small. */
struct fault_draft {
    _Atomic int taken;
    _Atomic unsigned ticket, told;
    int operation; /* that made the access, numbered by faults_begin(); -1: the host, -2: several */
    uintptr_t code, caller; /* the instruction, and possibly its function's return address */
    struct fault_line user, words, text, json;
    struct code_place place;
};

/* Sets the descriptors for text and for JSON (-1: none). */
void fault_words_go_to(int text, int json);
/* Returns an empty draft; NULL if all of them stay in use. */
struct fault_draft *fault_take_draft(void);
void fault_release_draft(struct fault_draft *draft);

void fault_put(struct fault_line *line, const char *words);
void fault_put_number(struct fault_line *line, uintptr_t number, unsigned base);
void fault_terminate(struct fault_line *line);
/* Writes the host, and the place of its code. */
void fault_put_host(struct fault_line *line, uintptr_t code, struct code_place *place);
/* Writes a finding about a region; `draft` contains the origin of the access, and the sentence. */
void fault_write(const struct fault_region *region, const char *rule, struct fault_draft *draft,
                 const char *fix);
/* Writes a sentence that is no finding. */
void fault_say(const char *sentence);
