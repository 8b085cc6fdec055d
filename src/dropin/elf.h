// The tables that a loaded library has for the dynamic linker, read without it: code that stands in
// for dlsym can't ask dlsym. For glibc on x86-64. A library that another thread unloads meanwhile
// must not be asked about.
#ifndef STREAMPOOL_DROPIN_ELF_H
#define STREAMPOOL_DROPIN_ELF_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The name that the library gives itself (DT_SONAME), or null where it has none.
const char *sp_elf_soname(const struct link_map *library);

// The address of a function that the library itself exports, whatever its version; null where it
// exports none of this name.
void *sp_elf_find(const struct link_map *library, const char *name);

// The number of the library's symbols, the symbols, and the text that their names are in. 0 where
// the library has no table of the older kind (--hash-style=both), which has the number.
size_t sp_elf_symbols(const struct link_map *library, const Elf64_Sym **symbols,
                      const char **names);

// Visits the name of each function or variable of others that the library is linked with, once for
// each place that has its address.
void sp_elf_each_needed(const struct link_map *library, void (*visit)(const char *name, void *data),
                        void *data);

// True when the address lies in the library, as it is loaded.
bool sp_elf_contains(const struct link_map *library, const void *address);

// Which accesses the library's file allows where the address is (PF_R, PF_W, PF_X).
uint32_t sp_elf_flags(const struct link_map *library, const void *address);

// A library of the process by the name of its file, such as "libc.so.6", or null.
const struct link_map *sp_elf_loaded(const char *file);

#endif
