#include "conformance/wider.h"

#include <dlfcn.h>
#include <string.h>

#include "support/check.h"
#include "support/device.h"

static void bind(void *library, const char *symbol, void *place) {
    void *function = dlsym(library, symbol);
    memcpy(place, &function, sizeof function);
}

const struct wider *wider(void) {
    static struct wider bound;
    static bool is_bound;
    if (!is_bound) {
        void *library = dlopen(test_driver()->path, RTLD_NOW);
        REQUIRE(library);
#define WIDER_BIND(name, symbol, version, parameters) bind(library, #symbol, &bound.symbol);
        SIM_TABLE(WIDER_BIND)
#undef WIDER_BIND
#define WIDER_BIND(name, symbol, suffix, version, parameters, arguments)                           \
    bind(library, #symbol "_" #suffix, &bound.symbol##_##suffix);
        SIM_THREAD_TABLE(WIDER_BIND)
#undef WIDER_BIND
        is_bound = true;
    }
    return &bound;
}
