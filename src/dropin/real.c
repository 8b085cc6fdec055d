#include "dropin/real.h"
#include "dropin/driver_file.h"
#include "dropin/elf.h"

#include "driver/table.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

static struct sp_real real;
static void *library;
static bool is_forwarder;
static pthread_once_t once = PTHREAD_ONCE_INIT;

// A driver that calls one of our functions while it is loaded finds that there is none yet.
static _Thread_local bool is_binding;

static void *find(const char *symbol) {
    return library ? sp_driver_file_find(library, symbol) : sp_driver_file_find_next(symbol);
}

static void bind(void *function_pointer, const char *symbol) {
    void *found = find(symbol);
    memcpy(function_pointer, &found, sizeof found);
}

// It stays loaded from here on, as our functions have its addresses.
static void bind_all(void) {
    is_binding = true;
    library = sp_driver_file_open();
    is_forwarder = find(SP_FORWARDED_FUNCTION) != NULL;
#define BIND(name, symbol, version, flags, kind, parameters) bind(&real.symbol, #symbol);
    SP_DROPIN_TABLE(BIND)
#undef BIND
#define BIND_OWN(symbol, parameters) bind(&real.symbol, #symbol);
    SP_DROPIN_OWN_CALLS(BIND_OWN)
#undef BIND_OWN
    dlerror(); // a program that asks next must not hear of what the driver lacks
    is_binding = false;
}

const struct sp_real *sp_real(void) {
    if (!is_binding)
        pthread_once(&once, bind_all);
    return &real;
}

void *sp_real_library(void) {
    sp_real();
    return library;
}

bool sp_real_is_forwarder(void) {
    sp_real();
    return is_forwarder;
}

// With no driver nothing can have been initialised.
CUresult sp_real_lacks(void) {
    sp_real();
    return library ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_NOT_INITIALIZED;
}

static bool is_driver(const struct link_map *map) {
    return map && sp_driver_file_is(map);
}

static const struct link_map *map_of_handle(void *handle) {
    struct link_map *map = NULL;
    if (handle == RTLD_DEFAULT || handle == RTLD_NEXT)
        return NULL;
    return dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 ? map : NULL;
}

bool sp_real_is_handle(void *handle) {
    return is_driver(map_of_handle(handle));
}

bool sp_real_asks_itself(void *handle, const void *caller) {
    const struct link_map *map = map_of_handle(handle);
    return is_driver(map) && sp_elf_contains(map, caller);
}

// The driver's own table is quick to read. A handle of another library, which depends on the
// driver, takes a question for the library that the address is in.
bool sp_real_is_found(void *handle, const char *symbol, const void *found) {
    const struct link_map *map = map_of_handle(handle);
    struct link_map *home = NULL;
    Dl_info info;
    if (is_driver(map) && sp_elf_find(map, symbol) == found)
        return true;
    return dladdr1(found, &info, (void **)&home, RTLD_DL_LINKMAP) != 0 && is_driver(home);
}

bool sp_real_exports(const void *function) {
    struct link_map *home = NULL;
    Dl_info info;
    return dladdr1(function, &info, (void **)&home, RTLD_DL_LINKMAP) != 0 && is_driver(home) &&
           info.dli_saddr == function;
}
