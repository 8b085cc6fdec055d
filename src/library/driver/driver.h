// The loaded driver: a struct of function pointers, and the facts of how it was found.
//
// A process has one driver. The first call that needs it calls sp_driver_load(), which finds it
// once: the library that STREAMPOOL_DRIVER names (a path or a soname, or `sim` for the simulated
// driver that lies beside this code), else libcuda.so.1. Loading never aborts and never prints.
//
// sp_driver_load() and sp_driver_find_version() may be called from any thread at any time. The
// struct that the first returns is never written again, so its fields are read without a lock.
#ifndef STREAMPOOL_DRIVER_DRIVER_H
#define STREAMPOOL_DRIVER_DRIVER_H

#include "driver/abi.h"
#include "driver/outcome.h"

#include <limits.h>
#include <stdbool.h>

// An entry point that the driver lacks is null. cuStreamGetId and cuCtxGetId are both there, or
// both null.
struct sp_driver {
#define SP_DECLARE_ENTRY(name, symbol, version, need, parameters) CUresult(*name) parameters;
    SP_DRIVER_TABLE(SP_DECLARE_ENTRY)
#undef SP_DECLARE_ENTRY
    int version; // as cuDriverGetVersion says
    // Entry points up to this version were bound: `version`, or STREAMPOOL_DRIVER_API if that is
    // lower.
    int api_version;
    const char *path; // the library that was opened, as it was named, or where `sim` was found
};

// A row of the table, for code that walks it (`streampool info`, tests).
struct sp_driver_entry {
    const char *name;
    const char *symbol;
    int version;
    enum sp_need need;
    size_t offset; // of the function pointer in struct sp_driver
};

extern const struct sp_driver_entry sp_driver_entries[];
extern const size_t sp_driver_entry_count;

// Loads the driver and calls cuInit(0). Returns CUDA_SUCCESS and the driver, or the reason as a
// code: CUDA_ERROR_NOT_FOUND when there is no driver library, CUDA_ERROR_NOT_SUPPORTED when it
// lacks a required entry point, and the error of cuInit when that failed. The first caller loads,
// and concurrent ones wait for it. A failure is remembered: the next call returns it again without
// a new attempt.
CUresult sp_driver_load(const struct sp_driver **driver);

// Gives the CUDA version that the driver supports. It opens the library, and starts nothing there:
// neither does it need a device, nor does a child that is forked afterwards find the driver in use.
// It fails as sp_driver_load() would where the library is missing or doesn't tell its version.
CUresult sp_driver_find_version(int *version);

// For code that stands in for the driver: entry points are looked up by `find`, which has dlsym's
// parameters, in `path` (null: libcuda.so.1), whatever STREAMPOOL_DRIVER names. Comes before those.
void sp_driver_stand_in(const char *path, void *(*find)(void *library, const char *name));

// Makes the path of a file, which need not exist, beside this library: in the folder of the shared
// library that this code is in, or of the program where it is linked into that. False when the
// folder is unknown.
#define SP_DRIVER_SIMULATED "libstreampool_simcuda.so"
bool sp_driver_path_beside(const char *name, char path[PATH_MAX]);

// The reason why the driver could not be loaded, as one sentence that names every missing entry
// point; "" when it could. The text is valid for the life of the process.
const char *sp_driver_problem(void);

// The driver after a successful sp_driver_load(), else null. It is atomic, as a thread may look
// while another one loads. On x86-64 reading it is a plain load, so hot paths may.
extern const struct sp_driver *_Atomic sp_driver;

// True when the driver, which is loaded, is of this CUDA version or a later one.
bool sp_driver_is_from(int version);

// True when the driver is a simulated one that lets one thread run at a time, by a seeded choice. A
// thread that it doesn't know of would make its runs differ from each other. The answer may change
// with a reset.
bool sp_driver_is_scheduled(void);

// A function of a simulated driver that checks the program; null where the driver is no such one.
void *sp_driver_checker(const char *name);

// The name of a driver error ("CUDA_ERROR_INVALID_VALUE"). It comes from the driver when that is
// loaded, else from our own table. It is "CUDA_ERROR_?" for a number that neither knows, and never
// null.
const char *sp_driver_error_name(CUresult error);

#endif
