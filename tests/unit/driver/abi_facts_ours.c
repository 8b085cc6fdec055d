#include "driver/abi.h"

#include "abi_facts.h"

const struct abi_fact abi_facts_ours[] = {
// clang-format off
#include "abi_enumerators.inc"
    SP_DRIVER_ERRORS(ABI_FACT_ERROR)
    ABI_TYPES(ABI_FACT_SIZE)
    ABI_FIELDS(ABI_FACT_FIELD)
    {"CU_STREAM_LEGACY", (long long)(intptr_t)CU_STREAM_LEGACY},
    {"CU_STREAM_PER_THREAD", (long long)(intptr_t)CU_STREAM_PER_THREAD},
    {NULL, 0},
    // clang-format on
};
