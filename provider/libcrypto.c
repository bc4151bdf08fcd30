/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Walking this module's own relocations, where the dynamic linker has written
 * to which object it has bound each function of libcrypto. The module is linked
 * with -z now, so all functions are bound.
 */
#include "provider/libcrypto.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <openssl/crypto.h>
#include <openssl/opensslv.h>

#if defined(__x86_64__)
enum {
    JUMP_SLOT = R_X86_64_JUMP_SLOT,
    GLOB_DAT = R_X86_64_GLOB_DAT,
    ABSOLUTE = R_X86_64_64,
};
#elif defined(__aarch64__)
enum {
    JUMP_SLOT = R_AARCH64_JUMP_SLOT,
    GLOB_DAT = R_AARCH64_GLOB_DAT,
    ABSOLUTE = R_AARCH64_ABS64,
};
#else
#error "relocations of this architecture are not known"
#endif

/* What the dynamic section of this module says. */
typedef struct module {
    uintptr_t address; /* at which it was loaded */
    const ElfW(Rela) * tables[2];
    size_t counts[2]; /* of relocations in each table */
    const ElfW(Sym) * symbols;
    const char *strings;
    const ElfW(Half) * versions; /* of the symbols; NULL: none */
    const ElfW(Verneed) * needed;
} module;

/* An address from the dynamic section. The dynamic linker has added the load
 * address to some of them. */
static const void *address_of(const module *of, ElfW(Addr) address)
{
    return (const void *)(address < of->address ? address + of->address
                                                : address);
}

static void read_entry(module *of, const ElfW(Dyn) * entry)
{
    const void *address = address_of(of, entry->d_un.d_ptr);

    switch (entry->d_tag) {
    case DT_RELA:
        of->tables[0] = address;
        break;
    case DT_RELASZ:
        of->counts[0] = entry->d_un.d_val / sizeof(ElfW(Rela));
        break;
    case DT_JMPREL:
        of->tables[1] = address;
        break;
    case DT_PLTRELSZ:
        of->counts[1] = entry->d_un.d_val / sizeof(ElfW(Rela));
        break;
    case DT_SYMTAB:
        of->symbols = address;
        break;
    case DT_STRTAB:
        of->strings = address;
        break;
    case DT_VERSYM:
        of->versions = address;
        break;
    case DT_VERNEED:
        of->needed = address;
        break;
    }
}

/* Finds the module that holds this very function. */
static bool read_module(module *of)
{
    struct link_map *map = NULL;
    Dl_info info;

    if (dladdr1((const void *)(uintptr_t)read_module, &info, (void **)&map,
                RTLD_DL_LINKMAP) == 0 ||
        map == NULL)
        return false;
    *of = (module){.address = map->l_addr};
    for (const ElfW(Dyn) *entry = map->l_ld; entry->d_tag != DT_NULL; entry++)
        read_entry(of, entry);
    return of->symbols != NULL && of->strings != NULL;
}

/* Whether a symbol has a version that libcrypto is needed for. */
static bool is_of_libcrypto(const module *of, size_t symbol)
{
    static const char name[] = "libcrypto.";
    const ElfW(Verneed) *file = of->needed;
    ElfW(Half) version = 0;

    if (of->versions == NULL || file == NULL)
        return false;
    version = of->versions[symbol] & 0x7fff;
    for (;;) {
        const ElfW(Vernaux) *aux =
            (const void *)((const char *)file + file->vn_aux);

        for (unsigned i = 0; i < file->vn_cnt; i++) {
            if (aux->vna_other == version)
                return strncmp(of->strings + file->vn_file, name,
                               sizeof(name) - 1) == 0;
            aux = (const void *)((const char *)aux + aux->vna_next);
        }
        if (file->vn_next == 0)
            return false;
        file = (const void *)((const char *)file + file->vn_next);
    }
}

/* An object that the dynamic linker has loaded: its name, and the addresses
 * between which its segments lie. Empty: none was found. */
typedef struct object {
    const char *name;
    uintptr_t from, to;
} object;

/* The object to be found, and an address in it. */
typedef struct object_search {
    uintptr_t address;
    object found;
} object_search;

static bool is_in(const object *one, const void *address)
{
    return (uintptr_t)address >= one->from && (uintptr_t)address < one->to;
}

static int compare_object(struct dl_phdr_info *info, size_t size, void *arg)
{
    object_search *search = arg;
    object one = {.name = info->dlpi_name, .from = UINTPTR_MAX};

    (void)size;
    for (ElfW(Half) i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        const uintptr_t from = info->dlpi_addr + segment->p_vaddr;

        if (segment->p_type != PT_LOAD)
            continue;
        if (from < one.from)
            one.from = from;
        if (from + segment->p_memsz > one.to)
            one.to = from + segment->p_memsz;
    }
    if (!is_in(&one, (const void *)search->address))
        return 0;
    if (one.name[0] == '\0')
        one.name = "the program";
    search->found = one;
    return 1;
}

/* Finds the object that an address is in. dladdr() would also look for the
 * address among all symbols of the object: 180,000 instructions for libcrypto,
 * for each relocation in each process of the system. */
static object find_object(const void *address)
{
    object_search search = {(uintptr_t)address, {.name = "an unknown object"}};

    (void)dl_iterate_phdr(compare_object, &search);
    return search.found;
}

/* Checks one relocation. False: it leads to another object than the first
 * relocation (*first). */
static bool check_relocation(const module *of, const ElfW(Rela) * relocation,
                             object *first, char *why, size_t why_size)
{
    size_t symbol = ELF64_R_SYM(relocation->r_info);
    unsigned type = (unsigned)ELF64_R_TYPE(relocation->r_info);
    const void *const *bound =
        (const void *const *)(of->address + relocation->r_offset);

    if ((type != JUMP_SLOT && type != GLOB_DAT && type != ABSOLUTE) ||
        !is_of_libcrypto(of, symbol))
        return true;
    if (first->to == 0)
        *first = find_object(*bound);
    if (is_in(first, *bound))
        return true;
    snprintf(why, why_size,
             "this process mixes two copies of libcrypto: %s is taken from %s, "
             "and the rest from %s",
             of->strings + of->symbols[symbol].st_name,
             find_object(*bound).name, first->name);
    return false;
}

/* Finds the one object that all functions of libcrypto are bound to. */
static bool find_libcrypto(object *found, char *why, size_t why_size)
{
    module of;

    *found = (object){0};
    if (!read_module(&of)) {
        snprintf(why, why_size, "the module's own relocations can't be read");
        return false;
    }
    for (int table = 0; table < 2; table++)
        for (size_t i = 0; i < of.counts[table]; i++)
            if (!check_relocation(&of, &of.tables[table][i], found, why,
                                  why_size))
                return false;
    /* Without such relocations libcrypto is linked into the module. */
    if (found->to == 0)
        *found = find_object((const void *)(uintptr_t)OPENSSL_version_major);
    if (found->to != 0)
        return true;
    snprintf(why, why_size, "no libcrypto was found");
    return false;
}

bool warprsa_libcrypto_check(const warprsa_core *core, bool *same, char *why,
                             size_t why_size)
{
    object ours;

    if (!find_libcrypto(&ours, why, why_size))
        return false;
    if (OPENSSL_version_major() != OPENSSL_VERSION_MAJOR) {
        snprintf(why, why_size, "%s is OpenSSL %u, and this module wants %u",
                 ours.name, OPENSSL_version_major(),
                 (unsigned)OPENSSL_VERSION_MAJOR);
        return false;
    }
    *same = is_in(&ours, (const void *)(uintptr_t)core->get_params);
    return true;
}

bool warprsa_libcrypto_stopped(void)
{
    return OPENSSL_init_crypto(0, NULL) == 0;
}
