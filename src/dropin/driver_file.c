// The driver of a process is the library that linked calls of it would reach without us. That has
// the driver's soname, or is the simulated one under a name of its own. Libraries are linked before
// any code runs, so the answer is the same at all times.
#include "dropin/driver_file.h"
#include "dropin/elf.h"
#include "dropin/resolver.h"

#include "base/atomic.h"

#include <dlfcn.h>
#include <string.h>

#define SIMULATED "libstreampool_simcuda.so"

static const struct link_map *_Atomic linked; // the simulated driver, if linked calls reach it
static atomic_bool is_linked_known;

// A driver that a program opens by itself, or that comes behind another, is next of no name. The
// failed look-up leaves a text that nobody shall hear of.
static const struct link_map *find_linked(void) {
    const struct link_map *simulated = sp_elf_loaded(SIMULATED);
    void *own = simulated ? sp_elf_find(simulated, "cuInit") : NULL;
    if (!own || sp_resolver_find(RTLD_NEXT, "cuInit") == own)
        return own ? simulated : NULL;
    dlerror();
    return NULL;
}

static const struct link_map *linked_simulated(void) {
    if (!sp_load_acquire(&is_linked_known)) {
        sp_store_release(&linked, find_linked());
        sp_store_release(&is_linked_known, true);
    }
    return sp_load_acquire(&linked);
}

const char *sp_driver_file_name(void) {
    const struct link_map *simulated = linked_simulated();
    return simulated ? simulated->l_name : NULL;
}

void *sp_driver_file_open(void) {
    const char *name = sp_driver_file_name();
    return dlopen(name ? name : SP_DRIVER_FILE_SONAME, RTLD_NOW | RTLD_LOCAL);
}

void *sp_driver_file_find(void *library, const char *name) {
    return sp_resolver_find(library, name);
}

void *sp_driver_file_find_next(const char *name) {
    return sp_resolver_find(RTLD_NEXT, name);
}

// The library that the driver's name gives, or null while it isn't loaded.
static const struct link_map *loaded_by_name(void) {
    struct link_map *map = NULL;
    void *handle = dlopen(SP_DRIVER_FILE_SONAME, RTLD_LAZY | RTLD_NOLOAD);
    if (handle) {
        dlinfo(handle, RTLD_DI_LINKMAP, &map);
        dlclose(handle);
    } else {
        dlerror();
    }
    return map;
}

bool sp_driver_file_is_loaded(void) {
    return linked_simulated() || loaded_by_name();
}

// The simulated driver has its own soname also where it is found by the driver's.
bool sp_driver_file_is(const struct link_map *library) {
    const char *soname = sp_elf_soname(library);
    if (linked_simulated())
        return library == linked_simulated();
    return soname && (strcmp(soname, SP_DRIVER_FILE_SONAME) == 0 ||
                      (strcmp(soname, SIMULATED) == 0 && library == loaded_by_name()));
}

bool sp_driver_file_is_behind_us(void) {
    return false;
}
