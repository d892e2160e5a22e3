/* SPDX-License-Identifier: Apache-2.0
 *
 * Reports objects that exist after the end of the process. Python passes the objects that exist,
 * with words for them, while it runs. Hosts release more after that, in destructors of global
 * objects (C++) or when the interpreter clears its modules (Python). This file's destructor runs
 * after those. */
#include "leaks.h"

#include "handles.h"
#include "interpreter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct suspect {
    _Atomic uintptr_t thing; /* a handle, or a pointer to memory; 0 after its release */
    uint64_t bytes;
    uint32_t group;
};

struct group { /* objects that one call in the host's code has made; */
    char *noun, *maker, *facts;
    size_t count, references;
    uint64_t bytes;
};

static struct suspect *suspects;
static struct group *groups;
static size_t suspect_count, group_count;
static int text_file, findings_file;
static int expected;

void fpgart_leaks_expected(size_t count_of_groups, char **nouns, char **makers, char **facts,
                           size_t count, const uintptr_t *things, const uint64_t *bytes,
                           const uint32_t *group_of, int text, int findings)
{
    text_file = text;
    findings_file = findings;
    suspects = calloc(count + 1, sizeof *suspects);
    groups = calloc(count_of_groups + 1, sizeof *groups);
    if (suspects == NULL || groups == NULL)
        return;
    for (size_t i = 0; i < count_of_groups; i++) {
        groups[i].noun = strdup(nouns[i]);
        groups[i].maker = strdup(makers[i]);
        groups[i].facts = strdup(facts[i]);
    }
    for (size_t i = 0; i < count; i++) {
        suspects[i].thing = things[i];
        suspects[i].bytes = bytes[i];
        suspects[i].group = group_of[i];
    }
    suspect_count = count;
    group_count = count_of_groups;
    expected = 1;
}

void fpgart_freed(const void *pointer)
{
    for (size_t i = 0; pointer != NULL && i < suspect_count; i++)
        if (suspects[i].thing == (uintptr_t)pointer)
            suspects[i].thing = 0;
}

static size_t count_leaks(void)
{
    size_t alive = 0;
    for (size_t i = 0; i < suspect_count; i++) {
        uintptr_t thing = suspects[i].thing;
        int is_handle = fpgart_is_handle(thing);
        uint32_t references = is_handle ? fpgart_handle_references(thing) : 1;
        if (thing == 0 || references == 0)
            continue;
        struct group *group = &groups[suspects[i].group];
        group->count++;
        group->references += references;
        group->bytes += suspects[i].bytes;
        alive++;
    }
    return alive;
}

static void tell(FILE *out, size_t alive)
{
    if (alive == 0) {
        fprintf(out, "fpgart: nothing is alive at the end\n");
        return;
    }
    fprintf(out, "fpgart: alive at the end: %zu\n", alive);
    for (size_t i = 0; i < group_count; i++) {
        const struct group *group = &groups[i];
        if (group->count == 0)
            continue;
        fprintf(out, "fpgart:   %zu %s", group->count, group->noun ? group->noun : "");
        if (group->bytes > 0)
            fprintf(out, ", %llu bytes", (unsigned long long)group->bytes);
        if (group->references > group->count)
            fprintf(out, ", %zu references", group->references);
        fprintf(out, ", created by %s\n", group->maker ? group->maker : "?");
    }
}

static void note_findings(FILE *out)
{
    for (size_t i = 0; i < group_count; i++) {
        const struct group *group = &groups[i];
        if (group->count == 0 || group->facts == NULL)
            continue;
        fprintf(out, "{\"count\": %zu, \"bytes\": %llu, \"references\": %zu, %s\n", group->count,
                (unsigned long long)group->bytes, group->references, group->facts);
    }
}

__attribute__((destructor)) static void tell_at_the_end(void)
{
    if (!expected || !fpgart_ending())
        return;
    int file = dup(text_file); /* which may be stderr, and stays open */
    FILE *out = file >= 0 ? fdopen(file, "a") : NULL;
    if (out == NULL)
        return;
    tell(out, count_leaks());
    fclose(out);
    FILE *findings = findings_file >= 0 ? fdopen(findings_file, "a") : NULL;
    if (findings == NULL)
        return;
    note_findings(findings);
    fclose(findings);
}
