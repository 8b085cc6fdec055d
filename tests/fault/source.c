#include "fault/source.h"

#include <assert.h>

#include "fault/host_memory.h"
#include "support/check.h"
#include "support/device.h"
#include "support/simulated.h"

// -------------------------------------------------------------------------- the driver as a source

static uint64_t calls_at_entry[MAX_SOURCES];

static const char *entry_point_name(size_t source) {
    return sp_driver_entries[source].name;
}

static void enter_driver(const struct fault *fault) {
    const struct test_simulated *simulated = test_require_simulated();
    for (size_t i = 0; i < sp_driver_entry_count; i++)
        calls_at_entry[i] = simulated->simcudaCallCount(entry_point_name(i));
    if (fault->nth != 0)
        REQUIRE(simulated->simcudaFailCall(entry_point_name(fault->source), fault->nth, fault->span,
                                           (int)fault->error) == 0);
}

static uint64_t leave_driver(uint64_t calls[MAX_SOURCES]) {
    const struct test_simulated *simulated = test_require_simulated();
    uint64_t failed = simulated->simcudaFailCount();
    simulated->simcudaFailClear();
    for (size_t i = 0; i < sp_driver_entry_count; i++)
        calls[i] = simulated->simcudaCallCount(entry_point_name(i)) - calls_at_entry[i];
    return failed;
}

// The table's rows, counted at compile time.
#define COUNT_ENTRY(name, symbol, version, need, parameters) +1
const struct sources driver_sources = {
    .count = 0 SP_DRIVER_TABLE(COUNT_ENTRY),
    .name = entry_point_name,
    .enter = enter_driver,
    .leave = leave_driver,
};
static_assert(0 SP_DRIVER_TABLE(COUNT_ENTRY) <= MAX_SOURCES, "each entry point has a place");
#undef COUNT_ENTRY

// ---------------------------------------------------------------------------- the host as a source

static const char *host_name(size_t source) {
    (void)source;
    return "host allocation";
}

static void enter_host(const struct fault *fault) {
    host_memory_enter(fault->nth, fault->span == simcudaFaultOnwards);
}

static uint64_t leave_host(uint64_t calls[MAX_SOURCES]) {
    uint64_t failed;
    calls[0] = host_memory_leave(&failed);
    return failed;
}

const struct sources host_sources = {
    .count = 1,
    .once_a_process = true,
    .name = host_name,
    .enter = enter_host,
    .leave = leave_host,
};
