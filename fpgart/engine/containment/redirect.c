/* SPDX-License-Identifier: Apache-2.0
 *
 * Some functions of the C library that the engine's libraries call are replaced, in the tables
 * through which the dynamic linker has these libraries call them. The host's calls stay as they
 * are. */
#define _GNU_SOURCE
#include "redirect.h"

#include "diagnostics.h"
#include "environment.h"
#include "exits.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MOST_OBJECTS = 1024 };

#if defined(__aarch64__)
enum { CALLED = R_AARCH64_JUMP_SLOT, POINTED_TO = R_AARCH64_GLOB_DAT, ABSOLUTE = R_AARCH64_ABS64 };
#elif defined(__x86_64__)
enum { CALLED = R_X86_64_JUMP_SLOT, POINTED_TO = R_X86_64_GLOB_DAT, ABSOLUTE = R_X86_64_64 };
#else
#error "relocations are known of x86-64 and AArch64 alone"
#endif

static uintptr_t replacement(const char *symbol)
{
    if (strcmp(symbol, "write") == 0)
        return (uintptr_t)diagnostics_write;
    if (strcmp(symbol, "__cxa_atexit") == 0)
        return (uintptr_t)exits_register;
    if (strcmp(symbol, "__cxa_finalize") == 0)
        return (uintptr_t)exits_finalize;
    return environment_replacement(symbol);
}

/* The tables of a loaded object. */
struct object {
    uintptr_t base, relro_begin, relro_end;
    const ElfW(Sym) * symbols;
    const char *names;
};

static void put(const struct object *object, uintptr_t *slot, uintptr_t value)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), begin = (uintptr_t)slot & ~(page - 1);
    int sealed = (uintptr_t)slot >= object->relro_begin && (uintptr_t)slot < object->relro_end;
    if (sealed && mprotect((void *)begin, page, PROT_READ | PROT_WRITE) != 0)
        return;
    __atomic_store_n(slot, value, __ATOMIC_RELEASE);
    if (sealed)
        mprotect((void *)begin, page, PROT_READ);
}

static void redirect(const struct object *object, const ElfW(Rela) * entry, size_t bytes)
{
    for (size_t i = 0; i < bytes / sizeof *entry; i++) {
        unsigned kind = (unsigned)ELF64_R_TYPE(entry[i].r_info);
        const ElfW(Sym) *symbol = &object->symbols[ELF64_R_SYM(entry[i].r_info)];
        if ((kind != CALLED && kind != POINTED_TO && kind != ABSOLUTE) ||
            symbol->st_shndx != SHN_UNDEF)
            continue;
        uintptr_t value = replacement(object->names + symbol->st_name);
        if (value != 0)
            put(object, (uintptr_t *)(object->base + entry[i].r_offset), value);
    }
}

static void redirect_object(const struct dl_phdr_info *info)
{
    struct object object = {.base = info->dlpi_addr};
    const ElfW(Dyn) *dynamic = NULL;
    const ElfW(Rela) *called = NULL, *others = NULL;
    size_t called_bytes = 0, other_bytes = 0, relative = 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        if (header->p_type == PT_DYNAMIC)
            dynamic = (const ElfW(Dyn) *)(object.base + header->p_vaddr);
        if (header->p_type == PT_GNU_RELRO) {
            object.relro_begin = object.base + header->p_vaddr;
            object.relro_end = object.relro_begin + header->p_memsz;
        }
    }
    for (; dynamic != NULL && dynamic->d_tag != DT_NULL; dynamic++) {
        uintptr_t address = dynamic->d_un.d_ptr;
        address += address < object.base ? object.base : 0;
        if (dynamic->d_tag == DT_SYMTAB)
            object.symbols = (const ElfW(Sym) *)address;
        else if (dynamic->d_tag == DT_STRTAB)
            object.names = (const char *)address;
        else if (dynamic->d_tag == DT_JMPREL)
            called = (const ElfW(Rela) *)address;
        else if (dynamic->d_tag == DT_PLTRELSZ)
            called_bytes = dynamic->d_un.d_val;
        else if (dynamic->d_tag == DT_RELA)
            others = (const ElfW(Rela) *)address;
        else if (dynamic->d_tag == DT_RELASZ)
            other_bytes = dynamic->d_un.d_val;
        else if (dynamic->d_tag == DT_RELACOUNT)
            relative = dynamic->d_un.d_val;
    }
    if (object.symbols == NULL || object.names == NULL)
        return;
    redirect(&object, called, called != NULL ? called_bytes : 0);
    if (others != NULL) /* the first ones have no symbols; in compilers they are megabytes */
        redirect(&object, others + relative, other_bytes - relative * sizeof *others);
}

/* Objects by their dynamic sections, which no two share. */
struct objects {
    const void *places[MOST_OBJECTS];
    int count;
};

/* What is loaded now, and what had been before. */
struct loaded {
    struct objects *now;
    const struct objects *before;
    const void *opened; /* to be redirected in any case, or NULL */
};

static const void *place_of(const struct dl_phdr_info *info)
{
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
            return (const char *)info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
    return NULL;
}

static int note(struct dl_phdr_info *info, size_t size, void *data)
{
    struct objects *objects = data;
    (void)size;
    if (objects->count < MOST_OBJECTS)
        objects->places[objects->count++] = place_of(info);
    return 0;
}

/* Returns all objects, or NULL where they are too many, or without memory. */
static struct objects *list(void)
{
    struct objects *made = calloc(1, sizeof *made);
    if (made != NULL)
        dl_iterate_phdr(note, made);
    if (made != NULL && made->count == MOST_OBJECTS) {
        free(made);
        return NULL;
    }
    return made;
}

static int has(const struct objects *objects, const void *place)
{
    for (int i = 0; i < objects->count; i++)
        if (objects->places[i] == place)
            return 1;
    return 0;
}

static int redirect_if_new(struct dl_phdr_info *info, size_t size, void *data)
{
    const struct loaded *loaded = data;
    const void *place = place_of(info);
    (void)size;
    if (place != NULL && has(loaded->now, place) &&
        (place == loaded->opened || !has(loaded->before, place)))
        redirect_object(info);
    return 0;
}

/* Redirects what was loaded after `before` was listed, and returns the objects that are loaded
 * now. Other threads may be loading libraries, which are listed already: the linker still writes
 * their tables, so put() must not seal them. */
static struct objects *redirect_since(const struct objects *before, const void *opened)
{
    struct loaded loaded = {list(), before, opened};
    dlclose(dlopen(NULL, RTLD_LAZY)); /* returns when the linker has loaded what is listed */
    if (loaded.now != NULL)
        dl_iterate_phdr(redirect_if_new, &loaded);
    return loaded.now;
}

/* What had been loaded when the last library was opened, and that library with all that it needs.
 */
static struct objects *_Atomic redirected;

void *redirect_open(const char *path, int flags)
{
    struct objects *before = list();
    struct link_map *map = NULL;
    void *library = dlopen(path, flags);
    if (library != NULL && before != NULL && dlinfo(library, RTLD_DI_LINKMAP, &map) == 0)
        /* the host may have opened it before */
        free(atomic_exchange(&redirected, redirect_since(before, map->l_ld)));
    free(before);
    if (library != NULL)
        exits_renew();
    return library;
}

void redirect_rest(void)
{
    struct objects *before = atomic_exchange(&redirected, NULL);
    if (before != NULL)
        free(redirect_since(before, NULL));
    free(before);
    exits_renew();
}
