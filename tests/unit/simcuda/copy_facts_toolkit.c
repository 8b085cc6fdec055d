// Without this the header renames entry points to their newest versions; with it every version is
// declared under its own symbol, which is what the table names.
#define __CUDA_API_VERSION_INTERNAL
#include <cudaTypedefs.h>

#include <assert.h>
#include <stdint.h>

#include "copy_facts.h"
#include "simcuda/table_copy.h"

const struct copy_fact copy_facts_toolkit[] = {COPY_FACTS(COPY_FACT){NULL, 0}};

// Every entry point has the signature of its symbol, and that of its name in its version.
#define CHECK(name, symbol, version, parameters)                                                   \
    static_assert(__builtin_types_compatible_p(__typeof__(&symbol), CUresult(*) parameters),       \
                  "table_copy.h has another signature for " #symbol);                              \
    static_assert(__builtin_types_compatible_p(PFN_##name##_v##version, CUresult(*) parameters),   \
                  "table_copy.h has another version of " #symbol);
SIM_TABLE_COPY(CHECK)
