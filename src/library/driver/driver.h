// The loaded driver: a struct of function pointers, and what is known about how it was found.
//
// There is one driver for each process. sp_driver_load() finds it once, at the first call that
// needs it: the library that STREAMPOOL_DRIVER names (a path or a soname, or `sim` for the
// simulated driver that lies beside this code), else libcuda.so.1. Loading never aborts and never
// prints; a driver that is missing or too old leaves a text that names everything that is missing,
// and every later call returns the same error.
//
// Thread safety: sp_driver_load() may be called from any thread at any time; the struct that it
// returns is never written again, so its fields are read without a lock.
#ifndef STREAMPOOL_DRIVER_DRIVER_H
#define STREAMPOOL_DRIVER_DRIVER_H

#include "driver/abi.h"
#include "driver/table.h"

#include <stdbool.h>

struct sp_driver {
#define SP_DECLARE_ENTRY(name, symbol, version, need, parameters) CUresult(*name) parameters;
    SP_DRIVER_TABLE(SP_DECLARE_ENTRY)
#undef SP_DECLARE_ENTRY
    int version; // what cuDriverGetVersion said
    // What entry points were bound up to: version, or STREAMPOOL_DRIVER_API if that is lower.
    int api_version;
    const char *path; // the library that was opened, as it was named, or where `sim` was found
};

// One row of the table, for those who walk it (`streampool info`, tests).
struct sp_driver_entry {
    const char *name;
    const char *symbol;
    int version;
    enum sp_need need;
    size_t offset; // of the function pointer in struct sp_driver
};

extern const struct sp_driver_entry sp_driver_entries[];
extern const size_t sp_driver_entry_count;

// Returns CUDA_SUCCESS and the driver, or the reason as a code: CUDA_ERROR_NOT_FOUND when there is
// no driver library, CUDA_ERROR_NOT_SUPPORTED when it lacks a required entry point, and what cuInit
// returned when that failed. Calls cuInit(0). The first caller loads; concurrent ones wait for it.
// A failure is remembered: the next call returns it again without a new attempt.
CUresult sp_driver_load(const struct sp_driver **driver);

// Why the driver could not be loaded, as one sentence that names every missing entry point; "" when
// it could. Valid for the life of the process.
const char *sp_driver_problem(void);

// The driver after a successful sp_driver_load(), else null. Atomic, since a thread may look while
// another one loads; on x86-64 reading it is a plain load: for hot paths.
extern const struct sp_driver *_Atomic sp_driver;

// Once it is loaded: the CUDA version that it supports, and how many devices it has.
int sp_driver_version(void);
CUresult sp_driver_count_devices(int *count);

// Whether it is a simulated one that lets one thread run at a time, by a seeded choice: then a
// thread that it was not told of would make random what is to be the same each time. It may change
// with a reset.
bool sp_driver_is_scheduled(void);

// The name of a driver error ("CUDA_ERROR_INVALID_VALUE"), from the driver itself when it is
// loaded, else from our own table; "CUDA_ERROR_?" for a number that neither knows. Never null.
const char *sp_driver_error_name(CUresult error);

// The last native error of the calling thread: the code and the entry point that gave it. Slow
// paths note it where they turn a driver error into ours. Before the first note: CUDA_SUCCESS and
// "". The name is kept, not copied.
void sp_native_error_note(CUresult error, const char *entry_point);
// The same on the way out: notes a failure, and returns the code as it came. "Not ready" is an
// answer, no failure.
static inline CUresult sp_native_noted(CUresult error, const char *entry_point) {
    if (error != CUDA_SUCCESS && error != CUDA_ERROR_NOT_READY)
        sp_native_error_note(error, entry_point);
    return error;
}
void sp_native_error_last(CUresult *error, const char **entry_point);

#endif
