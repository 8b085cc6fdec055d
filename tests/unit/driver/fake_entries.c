#include "fake_driver.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"

#define DEFINE(function, name, parameters)                                                         \
    __attribute__((weak)) CUresult function parameters;                                            \
    CUresult function parameters {                                                                 \
        return fake_note_call(#name);                                                              \
    }

#define DEFINE_EXPORTED(name, symbol, version, need, parameters)                                   \
    FAKE_EXPORT DEFINE(symbol, name, parameters)
SP_DRIVER_TABLE(DEFINE_EXPORTED)

#define DEFINE_ASKED(name, symbol, version, need, parameters)                                      \
    DEFINE(asked_##symbol, name, parameters)
SP_DRIVER_TABLE(DEFINE_ASKED)

#define TEXT(symbol)          #symbol
#define TEXT_IN_BUILD(symbol) TEXT(symbol)
#define RECORD(name, symbol, version, need, parameters)                                            \
    {#name,                                                                                        \
     #symbol,                                                                                      \
     TEXT_IN_BUILD(symbol),                                                                        \
     (void *)(uintptr_t)symbol,                                                                    \
     (void *)(uintptr_t)asked_##symbol,                                                            \
     0,                                                                                            \
     0,                                                                                            \
     0,                                                                                            \
     0},

struct fake_record fake_records[] = {SP_DRIVER_TABLE(RECORD)};

const size_t fake_record_count = sizeof(fake_records) / sizeof(fake_records[0]);
