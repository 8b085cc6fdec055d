// Without this the header renames entry points to their newest versions; with it every version is
// declared under its own symbol, which is what the table names.
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <cudaProfiler.h>

#include <assert.h>
#include <stdint.h>

#include "abi_facts.h"
#include "driver/table.h"
#include "simcuda/attributes.h"
#include "simcuda/table.h"
#include "simcuda/table_thread.h"

const struct abi_fact abi_facts_toolkit[] = {
// clang-format off
#include "abi_enumerators.inc"
#include "abi_types.inc"
#define ATTRIBUTE(name, number, since, value)                                                      \
    {"CU_DEVICE_ATTRIBUTE_" #name, (long long)CU_DEVICE_ATTRIBUTE_##name},
    SIM_DEVICE_ATTRIBUTES(ATTRIBUTE)
    SP_DRIVER_ERRORS(ABI_FACT_ERROR)
    ABI_TYPES(ABI_FACT_SIZE)
    ABI_FIELDS(ABI_FACT_FIELD)
    {"CU_STREAM_LEGACY", (long long)(intptr_t)CU_STREAM_LEGACY},
    {"CU_STREAM_PER_THREAD", (long long)(intptr_t)CU_STREAM_PER_THREAD},
    {NULL, 0},
    // clang-format on
};

// The signature of every entry point: by type only, since there is no driver to link with.
#define ABI_CHECK_SIGNATURE(name, symbol, version, need, parameters)                               \
    static_assert(__builtin_types_compatible_p(__typeof__(&symbol), CUresult(*) parameters),       \
                  "table.h has another signature for " #symbol);
SP_DRIVER_TABLE(ABI_CHECK_SIGNATURE)

// Those that the simulated driver has for programs, and their forms for another null stream.
#define SIM_CHECK_SIGNATURE(name, symbol, version, parameters)                                     \
    ABI_CHECK_SIGNATURE(name, symbol, version, , parameters)
SIM_TABLE(SIM_CHECK_SIGNATURE)
#define SIM_CHECK_FORM(name, symbol, suffix, version, parameters, arguments)                       \
    ABI_CHECK_SIGNATURE(name, symbol##_##suffix, version, , parameters)
SIM_THREAD_TABLE(SIM_CHECK_FORM)

// The two that the loader looks for by itself.
ABI_CHECK_SIGNATURE(cuGetProcAddress, cuGetProcAddress, 11030, ,
                    (const char *symbol, void **function, int version, uint64_t flags))
ABI_CHECK_SIGNATURE(cuGetProcAddress, cuGetProcAddress_v2, 12000, ,
                    (const char *symbol, void **function, int version, uint64_t flags,
                     CUdriverProcAddressQueryResult *status))
