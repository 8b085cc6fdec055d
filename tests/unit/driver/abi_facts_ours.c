#include "simcuda/entry/abi.h"
#include "simcuda/entry/attributes.h"

#include "abi_facts.h"

const struct abi_fact abi_facts_ours[] = {
// clang-format off
#include "abi_constants.inc"
#include "abi_types.inc"
#define ATTRIBUTE(name, number, since, value) {"CU_DEVICE_ATTRIBUTE_" #name, number},
    SIM_DEVICE_ATTRIBUTES(ATTRIBUTE)
    SP_DRIVER_ERRORS(ABI_FACT_ERROR)
    ABI_TYPES(ABI_FACT_SIZE)
    ABI_FIELDS(ABI_FACT_FIELD)
    {NULL, 0},
    // clang-format on
};
