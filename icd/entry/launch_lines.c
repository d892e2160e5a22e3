/* SPDX-License-Identifier: Apache-2.0
 *
 * Lines of launches in a trace. Those of launches that are alike differ in numbers and times
 * only. The line with places for them, a form, comes from Python. */
#include "launch_lines.h"

#include <string.h>

static char *put(char *at, uint64_t number, unsigned base)
{
    char digits[FPGART_MOST_DIGITS], *first = digits + sizeof digits;
    do
        *--first = "0123456789abcdef"[number % base];
    while ((number /= base) != 0);
    size_t size = (size_t)(digits + sizeof digits - first);
    memcpy(at, first, size);
    return at + size;
}

/* Nanoseconds as microseconds with three decimals. */
static char *put_time(char *at, int64_t time)
{
    if (time < 0)
        *at++ = '-';
    uint64_t size = time < 0 ? -(uint64_t)time : (uint64_t)time;
    at = put(at, size / 1000, 10);
    *at++ = '.';
    for (unsigned unit = 100; unit != 0; unit /= 10)
        *at++ = (char)('0' + size / unit % 10);
    return at;
}

static char *put_id(char *at, uint64_t number)
{
    at = put(memcpy(at, "\"0x", 3) + 3, number, 16);
    *at++ = '"';
    return at;
}

size_t fpgart_fill_lines(const char *form, size_t size, uint64_t zero, uint32_t count,
                         struct fpgart_launch *const *launches, const uint64_t *operations,
                         char *lines)
{
    char *at = lines;
    for (uint32_t i = 0; i < count; i++) {
        const struct fpgart_launch *launch = launches[i];
        uint64_t begin = operations == NULL ? launch->begin : launch->start;
        uint64_t duration = operations == NULL ? launch->duration : launch->end - launch->start;
        for (const char *from = form; from < form + size; from++)
            switch (*from) {
            case FPGART_BEGIN:
                at = put_time(at, (int64_t)(begin - zero));
                break;
            case FPGART_DURATION:
                at = put_time(at, (int64_t)duration);
                break;
            case FPGART_OPERATION:
                at = put(at, operations == NULL ? 0 : operations[i], 10);
                break;
            case FPGART_COMMAND:
                at = put(at, launch->number, 10);
                break;
            case FPGART_ID:
                at = put_id(at, launch->number);
                break;
            default:
                *at++ = *from;
            }
        at = memcpy(at, ",\n", 2) + 2;
    }
    return (size_t)(at - lines);
}
