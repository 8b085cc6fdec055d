#include "support/simulated.h"

#include <dlfcn.h>
#include <string.h>

#include "support/check.h"
#include "support/device.h"

// A pointer to an object and one to a function are not the same thing in C; dlsym() makes them so.
static bool find_function(void *library, const char *name, void *function) {
    void *symbol = dlsym(library, name);
    memcpy(function, &symbol, sizeof symbol);
    return symbol;
}

const struct test_simulated *test_simulated(void) {
    static struct test_simulated functions;
    void *library = dlopen(test_driver()->path, RTLD_NOW | RTLD_NOLOAD);
    REQUIRE(library);
#define TEST_SIMULATED_FIND(name) &&find_function(library, #name, &functions.name)
    bool found = true TEST_SIMULATED_FUNCTIONS(TEST_SIMULATED_FIND);
#undef TEST_SIMULATED_FIND
    dlclose(library);
    return found ? &functions : NULL;
}

const struct test_simulated *test_require_simulated(void) {
    const struct test_simulated *simulated = test_simulated();
    if (!simulated)
        test_skip("the driver is a real one");
    return simulated;
}

void test_require_no_complaints(void) {
    const struct test_simulated *simulated = test_simulated();
    if (simulated && simulated->simcudaReportCount(NULL) != 0)
        test_fail(__FILE__, __LINE__, "%s: %s", simulated->simcudaReportName(0),
                  simulated->simcudaReportText(0));
}

void test_forgive_complaints(void) {
    const struct test_simulated *simulated = test_simulated();
    if (simulated)
        simulated->simcudaReportClear();
}

void test_tell_host_access(const void *address, size_t size, simcudaAccessKind kind) {
    const struct test_simulated *simulated = test_simulated();
    if (simulated)
        simulated->simcudaHostAccess(address, size, kind);
}

void test_require_no_leaks(void) {
    const struct test_simulated *simulated = test_simulated();
    if (simulated && simulated->simcudaLeakCheck() != 0)
        test_require_no_complaints();
}
