// Resolving: from a handle that a caller has just passed to us to the stream behind it.
//
// Where the driver has ids, the common case is one driver call and no lock.
#ifndef STREAMPOOL_ORDER_RESOLVE_H
#define STREAMPOOL_ORDER_RESOLVE_H

#include "order/identified.h"
#include "order/identity.h"

static inline CUresult sp_resolve_stream(CUstream handle, struct sp_stream **stream) {
    return sp_identity_has_ids() ? sp_identified_resolve(handle, stream)
                                 : sp_anonymous.resolve(handle, stream);
}

#endif
