/* SPDX-License-Identifier: Apache-2.0 */
#include "marks.h"

#include "contents.h"
#include "faults.h"

#include <string.h>

enum { MARK = 0xB5, PAGE = 4096 };

static uintptr_t first_of(const struct marked *block)
{
    return block->begin / PAGE * PAGE;
}

static uintptr_t last_of(const struct marked *block)
{
    return (block->end + PAGE - 1) / PAGE * PAGE;
}

void marks_put(const struct marked *block)
{
    memset((void *)first_of(block), MARK, block->begin - first_of(block));
    memset((void *)block->end, MARK, last_of(block) - block->end);
}

int marks_check(struct marked *block)
{
    size_t behind = last_of(block) - block->end, ahead = block->begin - first_of(block);
    size_t past = first_other(block->end, MARK, behind);
    size_t from = first_other(first_of(block), MARK, ahead);
    block->past = past < behind ? (int32_t)past : -1;
    block->before = (uint32_t)(ahead - from);
    if (past == behind && from == ahead)
        return 0;
    marks_put(block);
    return 1;
}

void marks_around(struct checked *checked, int is_over)
{
    if (!is_over) {
        checked->operation = faults_begin(checked->words, 0);
        faults_called_from(checked->operation, checked->frames, checked->frame_count);
        checked->runs = 1;
    } else if (checked->runs) {
        for (uint32_t i = 0; i < checked->count; i++)
            if (marks_check(&checked->blocks[i]))
                checked->found = 1;
        faults_end(checked->operation);
        checked->runs = 0;
    }
}
