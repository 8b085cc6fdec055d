#include "process/observe_table.h"

#include "base/log.h"
#include "driver/driver.h"

#include <dlfcn.h>
#include <string.h>

#define TEXT(number)   #number
#define NUMBER(number) TEXT(number)
#define OBSERVER                                                                                   \
    "libstreampool_observe.so." NUMBER(STREAMPOOL_VERSION_MAJOR) "." NUMBER(                       \
        STREAMPOOL_VERSION_MINOR)

static const struct sp_observe_table *refuse(const char *file, const char *why) {
    sp_log_write(
        "STREAMPOOL_STATS, STREAMPOOL_LEAKS and STREAMPOOL_TRACE are ignored: "
        "%s can't be used: %s",
        file, why);
    return NULL;
}

const struct sp_observe_table *sp_observe_load(const struct sp_observe_host *host) {
    __typeof__(sp_observe_table) *find = NULL;
    char path[PATH_MAX];
    if (!sp_driver_path_beside(OBSERVER, path))
        return refuse(OBSERVER, "the folder of the library is unknown");
    void *file = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!file) {
        const char *words = dlerror(); // they name the file once more
        size_t length = strlen(path);
        if (words && strncmp(words, path, length) == 0 && strncmp(words + length, ": ", 2) == 0)
            words += length + 2;
        refuse(path, words ? words : "it could not be loaded");
        dlerror(); // the loader frees its words
        return NULL;
    }
    void *symbol = dlsym(file, SP_OBSERVE_ENTRY);
    memcpy(&find, &symbol, sizeof find);
    const struct sp_observe_table *table = find ? find(host) : NULL;
    if (!table || !sp_observe_table_fits(&table->stamp, sizeof *table))
        return refuse(path, "it is not of the same build as the library");
    return table;
}
