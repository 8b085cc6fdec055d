// The driver's library is found by the first thread that asks, under a pthread_once, and started by
// the first that needs it, under another; nothing here is written afterwards. An entry point is
// looked up only if the driver's version and STREAMPOOL_DRIVER_API both allow it, so that a capped
// driver looks exactly like an old one: 11.3 brought cuGetProcAddress, 12.0 its form with five
// parameters, and below that only the symbols that the library exports are used.
#include "driver/driver.h"

#include "base/atomic.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/number.h"
#include "base/options.h"
#include "base/thread.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_LIBRARY "libcuda.so.1"
#define OLDEST_VERSION  10020

// STREAMPOOL_DRIVER has this word for the simulated driver that comes with the library.
#define SIMULATED_WORD "sim"

// Asks for the entry points that use the legacy default stream where a stream is null.
#define LEGACY_STREAM_FLAGS 0

// How symbols are looked up. Code that stands in for the driver has its own way (see driver.h), and
// may be loaded while another thread loads the driver.
static void *(*_Atomic find_symbol)(void *library, const char *name) = dlsym;
static const char *_Atomic stood_in_for; // its path; null for the default one
static atomic_bool is_stood_in_for;

void sp_driver_stand_in(const char *path, void *(*find)(void *library, const char *name)) {
    find_symbol = find;
    stood_in_for = path;
    is_stood_in_for = true;
}

// A source is the library in which entry points are looked up, and the way to look them up: at most
// one of the two ask_ functions is set. The simulated driver has some of its own for this library.
struct source {
    void *library;
    const char *path; // as in struct sp_driver
    int version;      // 0 where the library does not tell it
    int api_version;
    CUresult (*ask_11030)(const char *symbol, void **function, int version, uint64_t flags);
    CUresult (*ask_12000)(const char *symbol, void **function, int version, uint64_t flags,
                          CUdriverProcAddressQueryResult *status);
    void *(*own)(const char *symbol);
};

const struct sp_driver_entry sp_driver_entries[] = {
#define SP_DRIVER_ENTRY(name, symbol, version, need, parameters)                                   \
    {#name, #symbol, version, need, offsetof(struct sp_driver, name)},
    SP_DRIVER_TABLE(SP_DRIVER_ENTRY)
#undef SP_DRIVER_ENTRY
};

const size_t sp_driver_entry_count = sizeof(sp_driver_entries) / sizeof(sp_driver_entries[0]);

const struct sp_driver *_Atomic sp_driver;

static pthread_once_t find_once = PTHREAD_ONCE_INIT;
static struct source found;
static CUresult find_result;

static pthread_once_t load_once = PTHREAD_ONCE_INIT;
static struct sp_driver loaded_driver;
static CUresult load_result;

// The text is complete once problem_known is set. It has room for a long path and the name of every
// entry point.
static char problem[16384];
static size_t problem_length;
static atomic_bool problem_known;

__attribute__((format(printf, 1, 2))) static void tell_problem(const char *format, ...) {
    size_t room = sizeof(problem) - problem_length;
    va_list arguments;
    va_start(arguments, format);
    int written = vsnprintf(problem + problem_length, room, format, arguments);
    va_end(arguments);
    if (written > 0)
        problem_length += sp_min((size_t)written, room - 1);
}

const char *sp_driver_error_name(CUresult error) {
    const struct sp_driver *driver = sp_driver;
    const char *name = NULL;
    if (driver && driver->cuGetErrorName(error, &name) == CUDA_SUCCESS && name)
        return name;
    switch (error) {
#define SP_DRIVER_ERROR_NAME(its_name, number)                                                     \
    case its_name:                                                                                 \
        return #its_name;
        SP_DRIVER_ERRORS(SP_DRIVER_ERROR_NAME)
#undef SP_DRIVER_ERROR_NAME
    }
    return "CUDA_ERROR_?";
}

// Binds a function. dlsym returns functions as data pointers, and C has no cast between the two.
static void bind(void *pointer_to_function_pointer, void *function) {
    memcpy(pointer_to_function_pointer, &function, sizeof(function));
}

// The kernel tells the path of the file that this code is in, behind all links. The dynamic
// linker's may be relative to a folder that the program has left.
bool sp_driver_path_beside(const char *name, char path[PATH_MAX]) {
    static const char here;
    char *line = NULL, *rest;
    size_t room = 0;
    bool is_it = false, is_found = false;
    FILE *maps = fopen("/proc/self/maps", "re");
    while (maps && !is_it && getline(&line, &room, maps) > 0) {
        // A line is "BEGIN-END MODE OFFSET DEVICE NUMBER PATH".
        uintptr_t begin = strtoull(line, &rest, 16);
        uintptr_t end = strtoull(rest + (*rest == '-'), NULL, 16);
        is_it = begin <= (uintptr_t)&here && (uintptr_t)&here < end;
        const char *file = is_it ? strchr(line, '/') : NULL;
        size_t folder = file ? (size_t)(strrchr(file, '/') + 1 - file) : 0;
        is_found = folder > 0 && folder + strlen(name) < PATH_MAX;
        if (is_found) {
            memcpy(path, file, folder);
            strcpy(path + folder, name);
        }
    }
    free(line);
    if (maps)
        fclose(maps);
    return is_found;
}

// The default library where none is chosen.
static CUresult open_chosen(struct source *source, const char *chosen) {
    static char simulated_path[PATH_MAX];
    bool is_simulated = chosen && strcmp(chosen, SIMULATED_WORD) == 0;
    if (is_simulated && !sp_driver_path_beside(SP_DRIVER_SIMULATED, simulated_path)) {
        tell_problem("no CUDA driver: STREAMPOOL_DRIVER=" SIMULATED_WORD
                     ": the folder of this library can't be found out");
        return CUDA_ERROR_NOT_FOUND;
    }
    source->path = is_simulated ? simulated_path : chosen ? chosen : DEFAULT_LIBRARY;
    source->library = dlopen(source->path, RTLD_NOW | RTLD_LOCAL);
    if (!source->library) {
        const char *reason = dlerror();
        const char *chosen_by = is_simulated ? "STREAMPOOL_DRIVER=" SIMULATED_WORD ": "
                                : chosen     ? "STREAMPOOL_DRIVER="
                                             : "";
        tell_problem("no CUDA driver: %s%s could not be loaded (%s)%s", chosen_by, source->path,
                     reason ? reason : "no reason given",
                     chosen ? "" : "; `streampool run --sim` takes a simulated one");
        return CUDA_ERROR_NOT_FOUND;
    }
    // A library that forwards to the driver, under the driver's name, tells which library that is.
    sp_forwarded_library behind;
    bind(&behind, find_symbol(source->library, SP_FORWARDED_FUNCTION));
    if (behind)
        source->library = behind();
    if (source->library)
        return CUDA_SUCCESS;
    tell_problem("no CUDA driver: the %s that forwards to it has found none", source->path);
    return CUDA_ERROR_NOT_FOUND;
}

// Where the driver that is stood in for is missing, a program may use the one that is chosen.
static CUresult open_library(struct source *source) {
    const char *chosen = sp_options()->driver;
    CUresult error = open_chosen(source, is_stood_in_for ? stood_in_for : chosen);
    return error != CUDA_SUCCESS && is_stood_in_for && chosen ? open_chosen(source, chosen) : error;
}

// Returns an entry point, or null where the driver has none of that name and version.
static void *find_function(const struct source *source, const struct sp_driver_entry *entry) {
    void *function = NULL;
    CUresult error = CUDA_SUCCESS;
    CUdriverProcAddressQueryResult status;
    if (entry->version > source->api_version)
        return NULL;
    if (source->own && (function = source->own(entry->name)))
        return function;
    if (source->ask_12000)
        error =
            source->ask_12000(entry->name, &function, entry->version, LEGACY_STREAM_FLAGS, &status);
    else if (source->ask_11030)
        error = source->ask_11030(entry->name, &function, entry->version, LEGACY_STREAM_FLAGS);
    else
        function = find_symbol(source->library, entry->symbol);
    return error == CUDA_SUCCESS ? function : NULL;
}

static CUresult bind_entries(const struct source *source, struct sp_driver *driver) {
    const char *missing[sizeof(sp_driver_entries) / sizeof(sp_driver_entries[0])];
    size_t missing_count = 0;
    for (size_t i = 0; i < sp_driver_entry_count; i++) {
        const struct sp_driver_entry *entry = &sp_driver_entries[i];
        void *function = find_function(source, entry);
        bind((char *)driver + entry->offset, function);
        if (!function && entry->need == SP_NEED_REQUIRED)
            missing[missing_count++] = entry->name;
    }

    if (source->api_version < OLDEST_VERSION) {
        tell_problem("driver too old: CUDA %d.%d", source->api_version / 1000,
                     source->api_version % 1000 / 10);
        if (source->api_version < source->version)
            tell_problem(" as STREAMPOOL_DRIVER_API=%d limits it", sp_options()->driver_api);
        tell_problem(", %d.%d or newer is needed", OLDEST_VERSION / 1000,
                     OLDEST_VERSION % 1000 / 10);
        if (missing_count > 0)
            tell_problem("; %s", source->path);
    } else if (missing_count > 0) {
        tell_problem("driver library %s", source->path);
    } else {
        return CUDA_SUCCESS;
    }
    for (size_t i = 0; i < missing_count; i++)
        tell_problem("%s%s", i == 0 ? " lacks " : ", ", missing[i]);
    return CUDA_ERROR_NOT_SUPPORTED;
}

static int (*is_scheduled)(void), (*is_checking)(void);

bool sp_driver_is_scheduled(void) {
    return is_scheduled && is_scheduled() != 0;
}

void *sp_driver_checker(const char *name) {
    return is_checking && is_checking() ? find_symbol(found.library, name) : NULL;
}

// A library that does not even tell its version is searched for everything, so that all it lacks is
// named.
static void find(void) {
    CUresult (*get_version)(int *version) = NULL;
    int cap = sp_options()->driver_api;
    problem_length = 0; // a fork may have cut short an attempt of the parent
    find_result = open_library(&found);
    if (find_result == CUDA_SUCCESS)
        bind(&get_version, find_symbol(found.library, "cuDriverGetVersion"));
    if (get_version && (find_result = get_version(&found.version)) != CUDA_SUCCESS) {
        tell_problem("cuDriverGetVersion of %s failed: %s (%d)", found.path,
                     sp_driver_error_name(find_result), (int)find_result);
        dlclose(found.library);
    }
    found.api_version = !get_version                     ? INT_MAX
                        : cap > 0 && cap < found.version ? cap
                                                         : found.version;
    sp_store_release(&problem_known, find_result != CUDA_SUCCESS);
}

static CUresult load_driver(struct source source, struct sp_driver *driver) {
    void (*hook)(int contended);
    if (source.version != 0 && source.api_version >= 12000)
        bind(&source.ask_12000, find_symbol(source.library, "cuGetProcAddress_v2"));
    if (source.version != 0 && source.api_version >= 11030 && !source.ask_12000)
        bind(&source.ask_11030, find_symbol(source.library, "cuGetProcAddress"));
    bind(&source.own, find_symbol(source.library, "simcudaLibraryEntry"));
    CUresult error = bind_entries(&source, driver);
    if (error != CUDA_SUCCESS) {
        dlclose(source.library);
        return error;
    }
    // A driver that tells the ids of streams alone, or those of contexts alone, is one that tells
    // neither: streams are told apart by both or in another way.
    if (!driver->cuStreamGetId || !driver->cuCtxGetId) {
        driver->cuStreamGetId = NULL;
        driver->cuCtxGetId = NULL;
    }
    driver->version = source.version;
    driver->api_version = source.api_version;
    driver->path = source.path;
    // The simulated driver decides which thread runs while a lock is held, in its scheduled mode.
    bind(&hook, find_symbol(source.library, "simcudaLockEvent"));
    if (hook)
        sp_lock_set_hook(hook);
    bind(&is_scheduled, find_symbol(source.library, "simcudaIsScheduled"));
    bind(&is_checking, find_symbol(source.library, "simcudaIsChecking"));
    if (!sp_fork_watch()) {
        tell_problem("no host memory to watch for forks");
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    // From here on the library stays loaded: it may have started threads or registered handlers.
    error = driver->cuInit(0);
    if (error != CUDA_SUCCESS)
        tell_problem("cuInit of %s failed: %s (%d)", driver->path, sp_driver_error_name(error),
                     (int)error);
    return error;
}

static void load(void) {
    pthread_once(&find_once, find);
    load_result = find_result;
    if (find_result == CUDA_SUCCESS) {
        problem_length = 0; // see find()
        load_result = load_driver(found, &loaded_driver);
    }
    if (load_result == CUDA_SUCCESS) {
        sp_log_info("driver %s, CUDA %d, entry points up to %d", loaded_driver.path,
                    loaded_driver.version, loaded_driver.api_version);
        sp_store_release(&sp_driver, &loaded_driver);
    } else {
        sp_log_error("%s", problem);
    }
    sp_store_release(&problem_known, true);
}

CUresult sp_driver_load(const struct sp_driver **driver) {
    pthread_once(&load_once, load);
    *driver = sp_driver;
    return load_result;
}

const char *sp_driver_problem(void) {
    return sp_load_acquire(&problem_known) ? problem : "";
}

// A library that doesn't tell its version is loaded, which tells all that it lacks.
CUresult sp_driver_find_version(int *version) {
    const struct sp_driver *driver;
    pthread_once(&find_once, find);
    if (find_result != CUDA_SUCCESS)
        return find_result;
    if (found.version == 0)
        return sp_driver_load(&driver);
    *version = found.version;
    return CUDA_SUCCESS;
}

bool sp_driver_is_from(int version) {
    const struct sp_driver *loaded = sp_driver;
    return loaded->api_version >= version;
}
