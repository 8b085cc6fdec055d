// The entry points that the simulated driver has beyond those of driver/table.h, by their symbols,
// of whichever driver is tested. One that the driver lacks is null.
#ifndef STREAMPOOL_TESTS_CONFORMANCE_WIDER_H
#define STREAMPOOL_TESTS_CONFORMANCE_WIDER_H

#include "simcuda/entry/abi.h"
#include "simcuda/entry/table.h"
#include "simcuda/entry/table_thread.h"

struct wider {
#define WIDER_DECLARE(name, symbol, version, parameters) CUresult(*symbol) parameters;
    SIM_TABLE(WIDER_DECLARE)
#undef WIDER_DECLARE
#define WIDER_DECLARE(name, symbol, suffix, version, parameters, arguments)                        \
    CUresult(*symbol##_##suffix) parameters;
    SIM_THREAD_TABLE(WIDER_DECLARE)
#undef WIDER_DECLARE
};

// Loads the driver on the first call. A row that needs an entry point that is newer than the driver
// skips itself by WIDER_NEEDS.
const struct wider *wider(void);

#define WIDER_NEEDS(symbol) (wider()->symbol ? (void)0 : test_skip("the driver lacks " #symbol))

// A call returns this error of the driver.
#define ANSWERS(call, error) REQUIRE_EQUAL((uint64_t)(call), (uint64_t)(error))

// A call has told this number, of whatever type.
#define IS_TOLD(value, expected) REQUIRE_EQUAL((uint64_t)(value), (uint64_t)(expected))

#endif
