#include "dropin/ways.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct calls cu;

#ifdef WAY_LINKED
#define DECLARE(name, symbol, version, flags, kind, parameters) CUresult symbol parameters;
OTHER_CALLS(DECLARE)

void find_calls(const char *way, const char *list) {
    (void)way, (void)list;
#define TAKE(name, symbol, version, flags, kind, parameters) cu.symbol = symbol;
    ALL_CALLS(TAKE)
}
#else

static void fail(const char *what, const char *why) {
    fprintf(stderr, "%s: %s\n", what, why ? why : "");
    exit(1);
}

typedef CUresult (*ask_11030)(const char *name, void **function, int version, uint64_t flags);
typedef CUresult (*ask_12000)(const char *name, void **function, int version, uint64_t flags,
                              CUdriverProcAddressQueryResult *status);

static void *library;
static ask_11030 ask1;
static ask_12000 ask2;

static void *by_dlsym(const char *name, const char *symbol, int version, unsigned int flags) {
    (void)name, (void)version, (void)flags;
    return dlsym(library, symbol);
}

static void *by_ask1(const char *name, const char *symbol, int version, unsigned int flags) {
    void *function = NULL;
    (void)symbol;
    return ask1(name, &function, version, flags) == CUDA_SUCCESS ? function : NULL;
}

static void *by_ask2(const char *name, const char *symbol, int version, unsigned int flags) {
    void *function = NULL;
    CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
    (void)symbol;
    CUresult result = ask2(name, &function, version, flags, &status);
    if ((result == CUDA_SUCCESS && function) != (status == CU_GET_PROC_ADDRESS_SUCCESS))
        fail(name, "the status is not that of the answer");
    return function;
}

// ------------------------------------------------------------------------------------- the runtime

static struct {
    char name[64];
    int version;
    unsigned int flags;
    void *function;
} asked[1024];
static size_t asked_count;

static void ask_list(const char *list) {
    FILE *file = list ? fopen(list, "r") : NULL;
    if (!file)
        fail("the list of look-ups", "can't be opened");
    if (by_ask2("", NULL, 0, 0)) // its first question
        fail("the empty name", "was found");
    while (fscanf(file, "%63s %d %u", asked[asked_count].name, &asked[asked_count].version,
                  &asked[asked_count].flags) == 3) {
        asked[asked_count].function = by_ask2(asked[asked_count].name, NULL,
                                              asked[asked_count].version, asked[asked_count].flags);
        asked_count++;
    }
    fclose(file);
}

// What isn't in the list the runtime doesn't call.
static void *by_list(const char *name, const char *symbol, int version, unsigned int flags) {
    (void)symbol;
    for (size_t i = 0; i < asked_count; i++) {
        if (strcmp(asked[i].name, name) == 0 && asked[i].version == version &&
            asked[i].flags == flags)
            return asked[i].function;
    }
    return NULL;
}

static const struct {
    const char *name;
    void *(*find)(const char *name, const char *symbol, int version, unsigned int flags);
} ways[] = {{"dlsym", by_dlsym}, {"ask1", by_ask1}, {"ask2", by_ask2}, {"runtime", by_list}};

void find_calls(const char *way, const char *list) {
    void *(*find)(const char *, const char *, int, unsigned int) = NULL;
    library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library)
        fail("libcuda.so.1", dlerror());
    *(void **)&ask1 = dlsym(library, "cuGetProcAddress");
    *(void **)&ask2 = dlsym(library, "cuGetProcAddress_v2");
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        if (strcmp(way, ways[i].name) == 0)
            find = ways[i].find;
    }
    if (!find)
        fail(way, "is no way to the driver");
    if (find == by_list)
        ask_list(list);
#define FIND(name, symbol, version, flags, kind, parameters)                                       \
    *(void **)&cu.symbol = find(#name, #symbol, version, flags);
    ALL_CALLS(FIND)
}
#endif
