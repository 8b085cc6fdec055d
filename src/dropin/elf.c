// The first look-up of a process may come from a library that stands in for functions of libc, and
// isn't ready yet. So nothing here calls any.
#include "dropin/elf.h"

#include <stddef.h>
#include <stdint.h>

static bool is_same(const char *one, const char *other) {
    while (*one && *one == *other) {
        one++;
        other++;
    }
    return *one == *other;
}

// The name of a file without its folder.
static const char *name_in(const char *path) {
    const char *name = path;
    for (; *path; path++) {
        if (*path == '/')
            name = path + 1;
    }
    return name;
}

static const Elf64_Dyn *entry(const struct link_map *library, Elf64_Sxword tag) {
    for (const Elf64_Dyn *dynamic = library->l_ld; dynamic && dynamic->d_tag != DT_NULL;
         dynamic++) {
        if (dynamic->d_tag == tag)
            return dynamic;
    }
    return NULL;
}

// The dynamic linker has made addresses in the section absolute, unless that can't be written.
static const void *table(const struct link_map *library, Elf64_Sxword tag) {
    const Elf64_Dyn *found = entry(library, tag);
    if (!found)
        return NULL;
    uintptr_t address = found->d_un.d_ptr;
    return (const void *)(address < library->l_addr ? address + library->l_addr : address);
}

const char *sp_elf_soname(const struct link_map *library) {
    const Elf64_Dyn *name = entry(library, DT_SONAME);
    const char *strings = table(library, DT_STRTAB);
    return name && strings ? strings + name->d_un.d_val : NULL;
}

// The hash of the GNU kind of table.
static uint32_t hash_of(const char *name) {
    uint32_t hash = 5381;
    for (; *name; name++)
        hash = hash * 33 + (unsigned char)*name;
    return hash;
}

static bool is_named(const Elf64_Sym *symbol, const char *strings, const char *name) {
    return symbol->st_shndx != SHN_UNDEF && symbol->st_value != 0 &&
           is_same(strings + symbol->st_name, name);
}

// The table: four numbers, the words of a filter, which isn't used here, the buckets, and a hash
// for each symbol from `first` on. The lowest bit of a hash says that its bucket ends there.
static const Elf64_Sym *find_by_gnu_hash(const uint32_t *hashes, const Elf64_Sym *symbols,
                                         const char *strings, const char *name) {
    uint32_t bucket_count = hashes[0], first = hashes[1];
    const uint32_t *buckets =
        hashes + 4 + (size_t)hashes[2] * (sizeof(Elf64_Addr) / sizeof *hashes);
    const uint32_t *chains = buckets + bucket_count;
    uint32_t wanted = hash_of(name);
    uint32_t index = bucket_count ? buckets[wanted % bucket_count] : 0;
    if (index < first)
        return NULL;
    for (;; index++) {
        uint32_t hash = chains[index - first];
        if ((hash | 1) == (wanted | 1) && is_named(&symbols[index], strings, name))
            return &symbols[index];
        if (hash & 1)
            return NULL;
    }
}

// The hash of the older kind of table, which has the number of buckets and that of symbols in
// front. A chain ends with 0.
static uint32_t old_hash_of(const char *name) {
    uint32_t hash = 0;
    for (; *name; name++) {
        hash = (hash << 4) + (unsigned char)*name;
        hash = (hash ^ ((hash & 0xf0000000) >> 24)) & 0x0fffffff;
    }
    return hash;
}

static const Elf64_Sym *find_by_old_hash(const uint32_t *hashes, const Elf64_Sym *symbols,
                                         const char *strings, const char *name) {
    uint32_t bucket_count = hashes[0];
    const uint32_t *buckets = hashes + 2, *chains = buckets + bucket_count;
    uint32_t index = bucket_count ? buckets[old_hash_of(name) % bucket_count] : 0;
    for (; index != 0; index = chains[index]) {
        if (is_named(&symbols[index], strings, name))
            return &symbols[index];
    }
    return NULL;
}

void *sp_elf_find(const struct link_map *library, const char *name) {
    const uint32_t *hashes = table(library, DT_GNU_HASH), *old_hashes = table(library, DT_HASH);
    const Elf64_Sym *symbols = table(library, DT_SYMTAB), *found = NULL;
    const char *strings = table(library, DT_STRTAB);
    if (!symbols || !strings)
        return NULL;
    if (hashes)
        found = find_by_gnu_hash(hashes, symbols, strings, name);
    else if (old_hashes)
        found = find_by_old_hash(old_hashes, symbols, strings, name);
    return found ? (void *)(library->l_addr + found->st_value) // NOLINT(performance-no-int-to-ptr)
                 : NULL;
}

size_t sp_elf_symbols(const struct link_map *library, const Elf64_Sym **symbols,
                      const char **names) {
    const uint32_t *hashes = table(library, DT_HASH);
    *symbols = table(library, DT_SYMTAB);
    *names = table(library, DT_STRTAB);
    return hashes && *symbols && *names ? hashes[1] : 0;
}

static void visit_relocations(const struct link_map *library, Elf64_Sxword relocations,
                              Elf64_Sxword size, void (*visit)(const char *, void *), void *data) {
    const Elf64_Rela *list = table(library, relocations);
    const Elf64_Dyn *bytes = entry(library, size);
    const Elf64_Sym *symbols = table(library, DT_SYMTAB);
    const char *strings = table(library, DT_STRTAB);
    size_t count = list && bytes && symbols && strings ? bytes->d_un.d_val / sizeof *list : 0;
    for (size_t i = 0; i < count; i++) {
        const Elf64_Sym *symbol = &symbols[ELF64_R_SYM(list[i].r_info)];
        if (ELF64_R_SYM(list[i].r_info) != 0 && symbol->st_shndx == SHN_UNDEF)
            visit(strings + symbol->st_name, data);
    }
}

// The number of symbols stands nowhere. Relocations name those that are used.
void sp_elf_each_needed(const struct link_map *library, void (*visit)(const char *name, void *data),
                        void *data) {
    visit_relocations(library, DT_RELA, DT_RELASZ, visit, data);
    visit_relocations(library, DT_JMPREL, DT_PLTRELSZ, visit, data);
}

// A library is loaded with its file's header in front.
static const Elf64_Phdr *part_with(const struct link_map *library, const void *address) {
    const char *base = (const char *)library->l_addr; // NOLINT(performance-no-int-to-ptr)
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)(const void *)base;
    const Elf64_Phdr *parts = (const Elf64_Phdr *)(const void *)(base + header->e_phoff);
    for (int i = 0; i < header->e_phnum; i++) {
        const char *start = base + parts[i].p_vaddr;
        if (parts[i].p_type == PT_LOAD && (const char *)address >= start &&
            (const char *)address < start + parts[i].p_memsz)
            return &parts[i];
    }
    return NULL;
}

bool sp_elf_contains(const struct link_map *library, const void *address) {
    return part_with(library, address) != NULL;
}

uint32_t sp_elf_flags(const struct link_map *library, const void *address) {
    const Elf64_Phdr *part = part_with(library, address);
    return part ? part->p_flags : 0;
}

const struct link_map *sp_elf_loaded(const char *file) {
    for (const struct link_map *library = _r_debug.r_map; library; library = library->l_next) {
        if (is_same(name_in(library->l_name), file))
            return library;
    }
    return NULL;
}
