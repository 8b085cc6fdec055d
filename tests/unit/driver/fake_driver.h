// A driver library that does nothing but remember what it was asked, for tests of the loader.
//
// Environment, read at each call: FAKE_VERSION is what cuDriverGetVersion says (12040 if not set),
// and FAKE_<entry point> the code that this entry point returns. Each entry point exists twice, as
// an export and as what cuGetProcAddress gives, so that it can be told how it was found. The build
// makes a library lack something by defining its symbol as another name.
//
// fake_entries.c has a plain function for every row of the table, weak; fake_driver.c replaces
// those that have to do more.
#ifndef STREAMPOOL_TESTS_FAKE_DRIVER_H
#define STREAMPOOL_TESTS_FAKE_DRIVER_H

#include <stddef.h>
#include <stdint.h>

#include "driver/abi.h"
#include "driver/table.h"

#define FAKE_EXPORT __attribute__((visibility("default")))

struct fake_record {
    const char *name;
    const char *symbol;          // as the table has it
    const char *symbol_in_build; // another one when the build renamed it: the library lacks it
    void *exported;
    void *asked; // what cuGetProcAddress gives
    int calls;
    int asked_version;    // of the last question
    int asked_parameters; // 4 or 5, by the form of cuGetProcAddress; 0 when it was never asked
    uint64_t asked_flags;
};

extern struct fake_record fake_records[];
extern const size_t fake_record_count;

// Counts a call and returns the code that the environment wants for it.
CUresult fake_note_call(const char *name);

// The record of an entry point, null for one that this library lacks. Exported.
struct fake_record *fake_record_of(const char *name);

#endif
