// The driver's library, for a library that stands in front of it under its soname: the dynamic
// linker would give us for it.
//
// STREAMPOOL_DRIVER may name the driver, by a path or a soname, or with `sim` the simulated one.
// Else it is searched for as the dynamic linker does. We are no candidate, and neither is a copy of
// ours: each has the function by which the library finds the driver behind it.
#include "dropin/driver_file.h"
#include "dropin/elf.h"
#include "dropin/forward/search.h"

#include "api/interpose.h"
#include "driver/table.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char *const default_folders[] = {"/lib/x86_64-linux-gnu",
                                              "/usr/lib/x86_64-linux-gnu",
                                              "/lib64",
                                              "/usr/lib64",
                                              "/lib",
                                              "/usr/lib",
                                              "/usr/lib/wsl/lib",
                                              "/usr/local/nvidia/lib64",
                                              "/run/opengl-driver/lib",
                                              NULL};

static void *opened;
static const struct link_map *driver; // that of `opened`
static char why_not[1024];            // the linker's reason against the last candidate, or empty

static const char *own_path(void) {
    Dl_info info;
    return dladdr(why_not, &info) != 0 ? info.dli_fname : SP_DRIVER_FILE_SONAME;
}

static const struct link_map *map_of(void *library) {
    struct link_map *map = NULL;
    return dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 ? map : NULL;
}

static void note_reason(void) {
    const char *reason = dlerror();
    snprintf(why_not, sizeof why_not, " (%s)", reason ? reason : "no reason given");
}

// Loads a candidate. False where it can't be loaded, or is one of us.
static bool take(const char *name) {
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        note_reason();
        return false;
    }
    if (sp_driver_file_find(library, SP_FORWARDED_FUNCTION)) {
        dlclose(library);
        return false;
    }
    opened = library;
    driver = map_of(library);
    return true;
}

static bool take_file(const char *path) {
    struct stat file;
    return stat(path, &file) == 0 && take(path);
}

static const char *chosen(char simulated[PATH_MAX]) {
    const char *name = secure_getenv("STREAMPOOL_DRIVER");
    if (!name || !*name)
        return NULL;
    return strcmp(name, "sim") == 0 && sp_interpose_simulated_path(simulated) ? simulated : name;
}

static void search(void) {
    struct sp_search places = {secure_getenv("LD_LIBRARY_PATH"), "/etc/ld.so.cache",
                               default_folders};
    if (!sp_search_visit(&places, SP_DRIVER_FILE_SONAME, take_file))
        fprintf(stderr,
                "streampool: no CUDA driver behind %s: there is no other " SP_DRIVER_FILE_SONAME
                " in the folders of LD_LIBRARY_PATH, in /etc/ld.so.cache and in the system's "
                "folders%s; STREAMPOOL_DRIVER can name one, and `streampool run --sim` takes a "
                "simulated one\n",
                own_path(), why_not);
}

// The library is given what is behind us (sp_forward_library).
const char *sp_driver_file_name(void) {
    return NULL;
}

// A name that leads to us is as none.
void *sp_driver_file_open(void) {
    char simulated[PATH_MAX];
    const char *name = chosen(simulated);
    if (name && !take(name) && *why_not)
        fprintf(stderr, "streampool: no CUDA driver: STREAMPOOL_DRIVER=%s can't be loaded%s\n",
                name, why_not);
    else if (!opened)
        search();
    return opened;
}

// A program may have a dlsym of its own, or of another drop-in.
void *sp_driver_file_find(void *library, const char *name) {
    const struct link_map *map = map_of(library);
    return map ? sp_elf_find(map, name) : NULL;
}

// A program that is linked with another driver calls that one, and not us.
void *sp_driver_file_find_next(const char *name) {
    (void)name;
    return NULL;
}

bool sp_driver_file_is(const struct link_map *library) {
    return library == driver;
}

bool sp_driver_file_is_behind_us(void) {
    return true;
}
