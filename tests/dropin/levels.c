// levels LEVEL: what a program finds under the drop-in on a driver of one version, such as 11010,
// by the ways that this driver has. It ends with 0 when all is as it must be.
//
// The first calls about pools are ours, whatever the driver has. Other calls, and later ones about
// pools, are ours where the driver is new enough for them, and nobody's else.
#include "dropin/ways.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int level;
static unsigned wrong;

static bool is_ours(const void *function) {
    Dl_info info;
    return function && dladdr(function, &info) && strstr(info.dli_fname, "libstreampool_dropin");
}

static void expect(bool holds, const char *way, const char *symbol) {
    if (!holds)
        fprintf(stderr, "by %s, %s is not what it must be\n", way, symbol);
    wrong += !holds;
}

static bool is_always_ours(int version, enum sp_call_kind kind) {
    return kind == SP_POOL_CALL && version <= 11020;
}

static void look_up(void *library, const char *symbol, int version, enum sp_call_kind kind) {
    const void *found = dlsym(library, symbol);
    bool has = version <= level;
    expect(has || is_always_ours(version, kind) ? is_ours(found) : !found, "dlsym", symbol);
}

// A runtime asks for what it knows, which may be newer than the driver.
static void expect_answer(const void *function, CUresult result, const char *way,
                          const char *symbol, int version, enum sp_call_kind kind) {
    bool found = result == CUDA_SUCCESS && function;
    expect(found ? is_ours(function) : !is_always_ours(version, kind), way, symbol);
    expect(!found || version <= level || kind != SP_POOL_CALL || is_always_ours(version, kind), way,
           symbol);
}

static void ask(const char *name, const char *symbol, int version, uint64_t flags,
                enum sp_call_kind kind) {
    void *function = NULL;
    CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
    CUresult result;
    if (cu.cuGetProcAddress) {
        result = cu.cuGetProcAddress(name, &function, version, flags);
        expect_answer(function, result, "cuGetProcAddress", symbol, version, kind);
    }
    function = NULL;
    if (cu.cuGetProcAddress_v2) {
        result = cu.cuGetProcAddress_v2(name, &function, version, flags, &status);
        expect_answer(function, result, "cuGetProcAddress_v2", symbol, version, kind);
        expect(!function || status == CU_GET_PROC_ADDRESS_SUCCESS, "cuGetProcAddress_v2", symbol);
    }
}

int main(int count, char **arguments) {
    int version = 0;
    level = count > 1 ? atoi(arguments[1]) : 0;
    find_calls("dlsym", NULL);
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    if (cu.cuInit(0) != CUDA_SUCCESS || cu.cuDriverGetVersion(&version) != CUDA_SUCCESS ||
        version != level) {
        fprintf(stderr, "the driver is one of version %d, not %d\n", version, level);
        return 1;
    }
    expect(!cu.cuGetProcAddress == (level < 11030), "dlsym", "cuGetProcAddress");
    expect(!cu.cuGetProcAddress_v2 == (level < 12000), "dlsym", "cuGetProcAddress_v2");
#define LOOK_UP(name, symbol, version, flags, kind, parameters)                                    \
    look_up(library, #symbol, version, kind);                                                      \
    ask(#name, #symbol, version, flags, kind);
    SP_DROPIN_TABLE(LOOK_UP)
    return wrong != 0;
}
