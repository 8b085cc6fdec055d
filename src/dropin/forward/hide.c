// The dynamic linker takes a symbol with no value for one that isn't there.
#include "dropin/forward/hide.h"
#include "dropin/elf.h"

#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

static bool is_function(const Elf64_Sym *symbol) {
    return symbol->st_shndx != SHN_UNDEF && ELF64_ST_TYPE(symbol->st_info) == STT_FUNC;
}

static int protection_of(uint32_t flags) {
    return (flags & PF_R ? PROT_READ : 0) | (flags & PF_W ? PROT_WRITE : 0) |
           (flags & PF_X ? PROT_EXEC : 0);
}

// The part of the memory that has the table, as whole pages.
static bool protect(const Elf64_Sym *symbols, size_t count, int protection) {
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t start = (uintptr_t)symbols / page * page;
    uintptr_t end = ((uintptr_t)(symbols + count) + page - 1) / page * page;
    return mprotect((void *)start, end - start, protection) ==
           0; // NOLINT(performance-no-int-to-ptr)
}

void sp_hide_functions(const struct link_map *library, bool (*hides)(const char *name)) {
    const Elf64_Sym *symbols;
    const char *names;
    size_t count = sp_elf_symbols(library, &symbols, &names);
    int before = protection_of(sp_elf_flags(library, symbols));
    if (count == 0 || !protect(symbols, count, before | PROT_WRITE))
        return;
    for (size_t i = 0; i < count; i++) {
        if (is_function(&symbols[i]) && hides(names + symbols[i].st_name))
            ((Elf64_Sym *)(uintptr_t)symbols)[i].st_value = 0; // NOLINT(performance-no-int-to-ptr)
    }
    protect(symbols, count, before);
}
