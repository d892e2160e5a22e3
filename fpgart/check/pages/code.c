/* SPDX-License-Identifier: Apache-2.0
 *
 * dladdr() for handlers of signals. That function takes the dynamic linker's lock, which the
 * interrupted thread, or one that waits for it, may have. */
#define _GNU_SOURCE
#include "code.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

/* /proc/self/maps, character by character: "begin-end rights offset device inode path". */
struct maps {
    int file;
    char *bytes;
    size_t size;
    ssize_t length, at;
};

static int next(struct maps *maps)
{
    if (maps->at == maps->length) {
        maps->length = read(maps->file, maps->bytes, maps->size);
        maps->at = 0;
        if (maps->length <= 0) {
            maps->length = 0;
            return -1;
        }
    }
    return (unsigned char)maps->bytes[maps->at++];
}

static int digit(int c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Reads a hexadecimal number and the character behind it. */
static uintptr_t number(struct maps *maps, int *behind)
{
    uintptr_t value = 0;
    int c;
    while (digit(c = next(maps)) >= 0)
        value = value << 4 | (uintptr_t)digit(c);
    *behind = c;
    return value;
}

struct mapping {
    uintptr_t begin, end, offset;
    int readable;
};

/* Reads one line; the last part of its path is written to `name`. 0 at the end. */
static int next_mapping(struct maps *maps, struct mapping *mapping, char *name, size_t size)
{
    int c;
    size_t length = 0;
    mapping->begin = number(maps, &c);
    if (c < 0)
        return 0;
    mapping->end = number(maps, &c);
    mapping->readable = next(maps) == 'r';
    while ((c = next(maps)) >= 0 && c != ' ')
        continue;
    mapping->offset = number(maps, &c);
    for (int fields = 0; fields < 2 && c >= 0 && c != '\n'; fields++) /* device, inode */
        while ((c = next(maps)) >= 0 && c != ' ' && c != '\n')
            continue;
    while (c >= 0 && c != '\n') {
        c = next(maps);
        if (c == '/')
            length = 0;
        else if (c > ' ' && length + 1 < size)
            name[length++] = (char)c;
    }
    name[length] = '\0';
    return 1;
}

/* Returns an address in the dynamic section, which is absolute or, in some objects, relative to
 * their begin. */
static uintptr_t place(uintptr_t bias, const ElfW(Dyn) * entry)
{
    return entry->d_un.d_ptr < bias ? bias + entry->d_un.d_ptr : entry->d_un.d_ptr;
}

/* Returns the number of symbols in a table with a GNU hash: one more than the last of the last
 * chain. */
static uint32_t counted(const uint32_t *hash)
{
    uint32_t buckets = hash[0], first = hash[1], words = hash[2], last = 0;
    const uint32_t *bucket = (const uint32_t *)((const ElfW(Addr) *)(hash + 4) + words);
    const uint32_t *chain = bucket + buckets;
    for (uint32_t i = 0; i < buckets; i++)
        last = bucket[i] > last ? bucket[i] : last;
    if (last < first)
        return first;
    while ((chain[last - first] & 1) == 0)
        last++;
    return last + 1;
}

static void find_function(uintptr_t base, uintptr_t code, struct code_place *found)
{
    const ElfW(Ehdr) *header = (const ElfW(Ehdr) *)base;
    const ElfW(Sym) *symbols = NULL;
    const char *names = NULL;
    const ElfW(Dyn) *dynamic = NULL;
    uint32_t count = 0;
    uintptr_t bias = base;
    if (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0)
        return;
    const ElfW(Phdr) *parts = (const ElfW(Phdr) *)(base + header->e_phoff);
    for (int i = header->e_phnum - 1; i >= 0; i--)
        if (parts[i].p_type == PT_LOAD)
            bias = base - (parts[i].p_vaddr - parts[i].p_offset); /* the first one stays */
    for (int i = 0; i < header->e_phnum; i++)
        if (parts[i].p_type == PT_DYNAMIC)
            dynamic = (const ElfW(Dyn) *)(bias + parts[i].p_vaddr);
    for (; dynamic != NULL && dynamic->d_tag != DT_NULL; dynamic++) {
        if (dynamic->d_tag == DT_SYMTAB)
            symbols = (const ElfW(Sym) *)place(bias, dynamic);
        else if (dynamic->d_tag == DT_STRTAB)
            names = (const char *)place(bias, dynamic);
        else if (dynamic->d_tag == DT_HASH && count == 0)
            count = ((const uint32_t *)place(bias, dynamic))[1];
        else if (dynamic->d_tag == DT_GNU_HASH)
            count = counted((const uint32_t *)place(bias, dynamic));
    }
    for (uint32_t i = 0; symbols != NULL && names != NULL && i < count; i++) {
        uintptr_t begin = bias + symbols[i].st_value;
        if (symbols[i].st_shndx == SHN_UNDEF || ELF64_ST_TYPE(symbols[i].st_info) != STT_FUNC ||
            code < begin || code >= begin + symbols[i].st_size)
            continue;
        strncpy(found->function, names + symbols[i].st_name, sizeof found->function - 1);
        return;
    }
}

int code_place(uintptr_t code, struct code_place *found)
{
    struct maps maps = {open("/proc/self/maps", O_RDONLY | O_CLOEXEC), found->scratch,
                        sizeof found->scratch, 0, 0};
    struct mapping mapping;
    uintptr_t base = 0;
    int known = 0;
    memset(found->function, 0, sizeof found->function);
    if (maps.file < 0)
        return 0;
    while (!known && next_mapping(&maps, &mapping, found->file, sizeof found->file)) {
        if (mapping.offset == 0)
            base = mapping.readable && found->file[0] != '\0' ? mapping.begin : 0;
        known = code >= mapping.begin && code < mapping.end;
    }
    close(maps.file);
    if (!known || base == 0)
        return 0;
    found->offset = code - base;
    find_function(base, code, found);
    return 1;
}
