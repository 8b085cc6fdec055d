// The control side of the simulated driver, for programs that run on a real driver too: found in
// the driver that is loaded, if it is there.
#ifndef STREAMPOOL_TESTS_SUPPORT_SIMULATED_H
#define STREAMPOOL_TESTS_SUPPORT_SIMULATED_H

#include <streampool/simcuda.h>

// The functions that tests use.
// clang-format off
#define TEST_SIMULATED_FUNCTIONS(X) \
    X(simcudaConfigDefault) \
    X(simcudaReset) \
    X(simcudaGetConfig) \
    X(simcudaRunThreads) \
    X(simcudaContextFail) \
    X(simcudaHostAccess) \
    X(simcudaEnqueue) \
    X(simcudaFailCall) \
    X(simcudaFailClear) \
    X(simcudaFailCount) \
    X(simcudaCallCount) \
    X(simcudaReportCount) \
    X(simcudaReportName) \
    X(simcudaReportText) \
    X(simcudaReportClear) \
    X(simcudaMemoryInUse) \
    X(simcudaGetLive) \
    X(simcudaLeakCheck)
// clang-format on

struct test_simulated {
#define TEST_SIMULATED_FIELD(name) __typeof__(name) *name;
    TEST_SIMULATED_FUNCTIONS(TEST_SIMULATED_FIELD)
#undef TEST_SIMULATED_FIELD
};

// Null on a real driver.
const struct test_simulated *test_simulated(void);

// The same; on a real driver the test is skipped.
const struct test_simulated *test_require_simulated(void);

// The simulated driver has seen no misuse and no race so far. A real driver has no opinion.
void test_require_no_complaints(void);

// What it has seen so far was meant.
void test_forgive_complaints(void);

// The calling thread itself touches these bytes of the host now. A real driver needn't know.
void test_tell_host_access(const void *address, size_t size, simcudaAccessKind kind);

// Nothing is alive in the simulated driver but contexts.
void test_require_no_leaks(void);

#endif
