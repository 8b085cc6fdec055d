// The registry: all streams that were ever met, by name, by handle and by context.
//
// A stream has a *slot*, a small number that fences name it by. The slot of one that is gone is
// used again, so there are as many slots as streams were alive, or had work pending, at a time:
//
//   gone    it was destroyed through the library, its handle came back with another id, or the
//           thread whose default stream it is has ended. Its slot goes to the next stream of the
//           same context, once nothing of it is pending. A stream that registers asks the events of
//           a few that are gone.
//   ended   with its context, which was destroyed or reset: that completed its work and took its
//           events along. Its slot goes to the next stream of any context.
//
// A slot keeps its sort: created, legacy, or a thread's own default stream. Pools leave more to
// lanes whose streams can be borrowed, and threads remember default streams by handles that all of
// them share.
//
// One lock guards all of it, and is never held across a driver call. Nothing here takes time in
// proportion to the streams or contexts that there are, but what says so.
#ifndef STREAMPOOL_ORDER_REGISTRY_H
#define STREAMPOOL_ORDER_REGISTRY_H

#include "order/identity.h"
#include "order/stream.h"

// The stream with a name, or null. A thread's own default stream isn't gone any more then.
struct sp_stream *sp_registry_find(const struct sp_stream_name *name);

// The same, made known if it is new: the handle was just passed to us.
CUresult sp_registry_add(CUstream handle, const struct sp_stream_name *name,
                         struct sp_stream **stream);

// A stream that is told by the handle with no question (see sp_remember_stream), or null.
struct sp_stream *sp_registry_find_known_as(CUstream handle);

#endif
