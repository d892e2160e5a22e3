/* SPDX-License-Identifier: Apache-2.0
 *
 * The environment of the engine's driver. Drivers are set up by variables, but the environment is
 * the host's: it may read it in another thread while it is changed, and hands it on to its
 * children. So it stays as it is, and in the driver's libraries the calls of getenv() and setenv()
 * lead to the functions here, through the tables that the dynamic linker calls by. A process that
 * has no host needs none of that. What compilers write to standard error goes the same way. */
#define _GNU_SOURCE
#include "environment.h"

#include "diagnostics.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
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

/* Variables are only added, and values never freed: callers of getenv() keep them. */
struct variable {
    struct variable *next;
    char *name;
    char *_Atomic value;
    atomic_int unless_set;
};

static struct variable *_Atomic variables;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct variable *find(const char *name)
{
    struct variable *variable = variables;
    while (variable != NULL && strcmp(variable->name, name) != 0)
        variable = variable->next;
    return variable;
}

static struct variable *add(const char *name)
{
    struct variable *made = calloc(1, sizeof *made);
    if (made == NULL || (made->name = strdup(name)) == NULL) {
        free(made);
        return NULL;
    }
    made->next = variables;
    variables = made;
    return made;
}

static atomic_int ours;

void environment_is_ours(void)
{
    ours = 1;
}

int environment_say(const char *name, const char *value, int unless_set)
{
    if (ours)
        return setenv(name, value, !unless_set) == 0;
    char *copy = strdup(value);
    pthread_mutex_lock(&lock);
    struct variable *variable = find(name);
    if (copy != NULL && variable == NULL)
        variable = add(name);
    int done = copy != NULL && variable != NULL;
    if (done) {
        variable->unless_set = unless_set;
        variable->value = copy;
    }
    pthread_mutex_unlock(&lock);
    if (!done)
        free(copy);
    return done;
}

void environment_forget(const char *name)
{
    struct variable *variable = find(name);
    if (variable != NULL)
        variable->value = NULL;
}

static atomic_int sealed;

void environment_seal(void)
{
    sealed = 1;
}

static char *of_process(const char *name)
{
    return sealed ? NULL : getenv(name);
}

static char *driver_getenv(const char *name)
{
    struct variable *variable = find(name);
    char *said = variable != NULL ? variable->value : NULL;
    char *own = said == NULL || variable->unless_set ? of_process(name) : NULL;
    return own != NULL ? own : said;
}

static int driver_setenv(const char *name, const char *value, int overwrite)
{
    if (!overwrite && driver_getenv(name) != NULL)
        return 0;
    return environment_say(name, value, 0) ? 0 : -1;
}

/* What may be done with a file with the rights that this process has. access() asks for those of
 * the real user, and LLVM then refuses to write to files that it has made itself. */
static int driver_access(const char *path, int mode)
{
    return faccessat(AT_FDCWD, path, mode, AT_EACCESS);
}

static uintptr_t replacement(const char *symbol)
{
    if (strcmp(symbol, "write") == 0)
        return (uintptr_t)diagnostics_write;
    if (ours)
        return 0;
    if (sealed && strcmp(symbol, "access") == 0)
        return (uintptr_t)driver_access;
    if (strcmp(symbol, "getenv") == 0 || strcmp(symbol, "secure_getenv") == 0)
        return (uintptr_t)driver_getenv;
    return strcmp(symbol, "setenv") == 0 ? (uintptr_t)driver_setenv : 0;
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
        if (kind != CALLED && kind != POINTED_TO && kind != ABSOLUTE)
            continue;
        uintptr_t value = replacement(object->names + symbol->st_name);
        if (value != 0 && symbol->st_shndx == SHN_UNDEF)
            put(object, (uintptr_t *)(object->base + entry[i].r_offset), value);
    }
}

static void redirect_object(const struct dl_phdr_info *info)
{
    struct object object = {.base = info->dlpi_addr};
    const ElfW(Dyn) *dynamic = NULL;
    const ElfW(Rela) *called = NULL, *others = NULL;
    size_t called_bytes = 0, other_bytes = 0;
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
    }
    if (object.symbols == NULL || object.names == NULL)
        return;
    redirect(&object, called, called != NULL ? called_bytes : 0);
    redirect(&object, others, others != NULL ? other_bytes : 0);
}

/* Objects by their dynamic sections, which no two share. */
struct objects {
    const void *places[MOST_OBJECTS];
    int count;
    const void *opened;
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
    struct objects *known = data;
    (void)size;
    if (known->count < MOST_OBJECTS)
        known->places[known->count++] = place_of(info);
    return 0;
}

static int redirect_if_new(struct dl_phdr_info *info, size_t size, void *data)
{
    const struct objects *known = data;
    const void *place = place_of(info);
    (void)size;
    for (int i = 0; i < known->count && place != known->opened; i++)
        if (known->places[i] == place)
            return 0;
    if (place != NULL)
        redirect_object(info);
    return 0;
}

void *environment_open(const char *path, int flags)
{
    struct objects *known = calloc(1, sizeof *known);
    struct link_map *map = NULL;
    if (known != NULL)
        dl_iterate_phdr(note, known);
    void *library = dlopen(path, flags);
    if (library != NULL && known != NULL && known->count < MOST_OBJECTS &&
        dlinfo(library, RTLD_DI_LINKMAP, &map) == 0) {
        known->opened = map->l_ld; /* which the host may have opened before */
        dl_iterate_phdr(redirect_if_new, known);
    }
    free(known);
    return library;
}
