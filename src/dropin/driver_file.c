#include "dropin/driver_file.h"
#include "dropin/elf.h"
#include "dropin/resolver.h"

#include <dlfcn.h>
#include <string.h>

void *sp_driver_file_open(void) {
    return dlopen(SP_DRIVER_FILE_SONAME, RTLD_NOW | RTLD_LOCAL);
}

void *sp_driver_file_find(void *library, const char *name) {
    return sp_resolver_find(library, name);
}

void *sp_driver_file_find_next(const char *name) {
    return sp_resolver_find(RTLD_NEXT, name);
}

bool sp_driver_file_is(const struct link_map *library) {
    const char *soname = sp_elf_soname(library);
    return soname && strcmp(soname, SP_DRIVER_FILE_SONAME) == 0;
}

bool sp_driver_file_is_behind_us(void) {
    return false;
}
