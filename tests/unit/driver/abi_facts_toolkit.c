// Without this the header renames entry points to their newest versions; with it every version is
// declared under its own symbol, which is what the table names.
#define __CUDA_API_VERSION_INTERNAL
#include <cudaProfilerTypedefs.h>
#include <cudaTypedefs.h>

#include <assert.h>
#include <stdint.h>

#include "abi_facts.h"
#include "driver/table.h"
#include "simcuda/entry/attributes.h"
#include "simcuda/entry/table.h"
#include "simcuda/entry/table_thread.h"

const struct abi_fact abi_facts_toolkit[] = {
// clang-format off
#include "abi_constants.inc"
#include "abi_types.inc"
#define ATTRIBUTE(name, number, since, value)                                                      \
    {"CU_DEVICE_ATTRIBUTE_" #name, (long long)CU_DEVICE_ATTRIBUTE_##name},
    SIM_DEVICE_ATTRIBUTES(ATTRIBUTE)
    SP_DRIVER_ERRORS(ABI_FACT_ERROR)
    ABI_TYPES(ABI_FACT_SIZE)
    ABI_FIELDS(ABI_FACT_FIELD)
    {NULL, 0},
    // clang-format on
};

// The signature of every entry point, of its symbol and of its name in its version: by type only,
// since there is no driver to link with.
#define ABI_IS(type, parameters) __builtin_types_compatible_p(type, CUresult(*) parameters)
#define ABI_CHECK_SIGNATURE(name, symbol, version, need, parameters)                               \
    static_assert(ABI_IS(__typeof__(&symbol), parameters),                                         \
                  "a table has another signature for " #symbol);                                   \
    static_assert(ABI_IS(PFN_##name##_v##version, parameters),                                     \
                  "a table has another version of " #symbol);
SP_DRIVER_TABLE(ABI_CHECK_SIGNATURE)

// Those that the simulated driver has for programs, and their forms for another null stream.
#define SIM_CHECK_SIGNATURE(name, symbol, version, parameters)                                     \
    ABI_CHECK_SIGNATURE(name, symbol, version, , parameters)
SIM_TABLE(SIM_CHECK_SIGNATURE)
#define SIM_CHECK_FORM(name, symbol, suffix, version, parameters, arguments)                       \
    static_assert(ABI_IS(__typeof__(&symbol##_##suffix), parameters),                              \
                  "a table has another signature for " #symbol "_" #suffix);                       \
    static_assert(ABI_IS(PFN_##name##_v##version##_##suffix, parameters),                          \
                  "a table has another version of " #symbol "_" #suffix);
SIM_THREAD_TABLE(SIM_CHECK_FORM)

// The two that the loader looks for by itself.
ABI_CHECK_SIGNATURE(cuGetProcAddress, cuGetProcAddress, 11030, ,
                    (const char *symbol, void **function, int version, uint64_t flags))
ABI_CHECK_SIGNATURE(cuGetProcAddress, cuGetProcAddress_v2, 12000, ,
                    (const char *symbol, void **function, int version, uint64_t flags,
                     CUdriverProcAddressQueryResult *status))
