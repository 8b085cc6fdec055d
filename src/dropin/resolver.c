// Both functions are found at the first look-up of the process, which may come before the
// initialisers of this library have run, and on several threads at once: each finds the same.
#include "dropin/resolver.h"
#include "dropin/elf.h"

#include "base/atomic.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

static void *_Atomic next_dlsym;
static void *_Atomic next_dlvsym;

// Since glibc 2.34 the functions are in libc, before in libdl; each has the version of that time.
static const char *const homes[] = {"libc.so.6", "libdl.so.2"};
static const char *const versions[] = {"GLIBC_2.34", "GLIBC_2.2.5"};

enum { HOMES = sizeof homes / sizeof homes[0], VERSIONS = sizeof versions / sizeof versions[0] };

static void *find_at_home(const char *name) {
    void *found = NULL;
    for (int i = 0; i < HOMES && !found; i++) {
        const struct link_map *library = sp_elf_loaded(homes[i]);
        found = library ? sp_elf_find(library, name) : NULL;
    }
    return found;
}

// The first one behind this library in the order of look-ups.
static void *find_next(const char *name) {
    void *home = find_at_home("dlvsym"), *found = NULL;
    sp_resolver_by_version ask;
    memcpy(&ask, &home, sizeof ask);
    for (int i = 0; i < VERSIONS && ask && !found; i++)
        found = ask(RTLD_NEXT, name, versions[i]);
    return found ? found : find_at_home(name);
}

static void *remembered(void *_Atomic *next, const char *name) {
    void *found = sp_load_acquire(next);
    if (!found) {
        found = find_next(name);
        sp_store_release(next, found);
    }
    return found;
}

sp_resolver_by_name sp_resolver_dlsym(void) {
    void *found = remembered(&next_dlsym, "dlsym");
    sp_resolver_by_name function;
    memcpy(&function, &found, sizeof function);
    return function;
}

sp_resolver_by_version sp_resolver_dlvsym(void) {
    void *found = remembered(&next_dlvsym, "dlvsym");
    sp_resolver_by_version function;
    memcpy(&function, &found, sizeof function);
    return function;
}

// The result goes through a variable that the compiler can't drop, so that this isn't a jump: the
// function that is called must return to here.
void *sp_resolver_find(void *handle, const char *name) {
    void *volatile found = sp_resolver_dlsym()(handle, name);
    return found;
}
