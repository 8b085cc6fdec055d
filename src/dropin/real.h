// The driver's own functions: those of the library that driver_file.h finds, under the names that
// it exports. They are found at the first need, which is a call or a look-up of one of our names,
// and stay.
#ifndef STREAMPOOL_DROPIN_REAL_H
#define STREAMPOOL_DROPIN_REAL_H

#include "dropin/table.h"

#include <stdbool.h>

// A function that the driver lacks is null. All are where there is no driver.
struct sp_real {
#define SP_REAL_FIELD(name, symbol, version, flags, kind, parameters) CUresult(*symbol) parameters;
    SP_DROPIN_TABLE(SP_REAL_FIELD)
#undef SP_REAL_FIELD
#define SP_REAL_OWN_FIELD(symbol, parameters) CUresult(*symbol) parameters;
    SP_DROPIN_OWN_CALLS(SP_REAL_OWN_FIELD)
#undef SP_REAL_OWN_FIELD
};

const struct sp_real *sp_real(void);

// The handle of the driver's library, or null where there is none.
void *sp_real_library(void);

// True when that library is a drop-in, too: one that forwards to the driver (driver/table.h).
bool sp_real_is_forwarder(void);

// The answer to a call that the driver lacks.
CUresult sp_real_lacks(void);

// Calls the driver's function of this symbol, as sp_real_call(cuStreamQuery, (stream)).
#define sp_real_call(symbol, arguments)                                                            \
    (sp_real()->symbol ? sp_real()->symbol arguments : sp_real_lacks())

// True when a look-up in `handle`, by this symbol of ours, has found the driver's function.
bool sp_real_is_found(void *handle, const char *symbol, const void *found);

// True when the handle is that of the driver's library.
bool sp_real_is_handle(void *handle);

// True when a look-up in `handle` that returns to `caller` is the driver's own, in itself.
bool sp_real_asks_itself(void *handle, const void *caller);

// True when the driver exports a function at just this address.
bool sp_real_exports(const void *function);

#endif
