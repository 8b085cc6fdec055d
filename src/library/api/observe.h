// An observer sees all of the program's calls that make or end a stream, a capture or a context,
// and tells the library. Then the library needn't ask the driver:
//
//   a seen stream    A created stream that the observer has seen made is known by its handle, until
//                    its end, or its context's.
//   no capture       While no capture is open, no stream captures. While one is, every call asks.
//
// A stream that came by a way that the observer doesn't see is asked for as ever. What the observer
// says is believed: a seen stream must not end unseen, and a capture must not begin unseen.
//
// The functions are exported in the version STREAMPOOL_PRIVATE, for the drop-in of the same build.
// They are thread safe, make no driver call but by functions that they are given, and can be called
// before the library is started. In a forked child they do nothing.
#ifndef STREAMPOOL_API_OBSERVE_H
#define STREAMPOOL_API_OBSERVE_H

#include <driver/abi.h>
#include <stdbool.h>
#include <stdint.h>
#include <streampool/streampool.h>

// Says that there is an observer, before the program's first call of the driver.
STREAMPOOL_API void sp_observe_all(void);

// A number that grows with what is told. It is to be taken before the driver is asked to end
// something, and given with the end: what was made meanwhile is another's, by the same handle.
STREAMPOOL_API uint64_t sp_observe_now(void);

// ----------------------------------------------------------------------------------------- streams

// Says that the driver has made a stream, which the program doesn't have yet. `context` is null and
// `device` -1 where they aren't known: the end of any context ends it then.
STREAMPOOL_API void sp_observe_created(CUstream stream, CUcontext context, int device);

// Say that the driver is about to be asked to destroy a stream, and that it has done so.
// poolStreamDestroy() does both by itself.
STREAMPOOL_API void sp_observe_stream_ends(CUstream stream);
STREAMPOOL_API void sp_observe_stream_ended(CUstream stream, uint64_t before);

// Says that the streams of a context have ended, or may have: then they are asked for from here on.
// `device` is that of other contexts whose streams may have ended too, else -1. The context may be
// null where only the device is known.
STREAMPOOL_API void sp_observe_streams_ended(CUcontext context, int device, uint64_t before);

// ---------------------------------------------------------------------------------------- captures

// True when the driver says that the stream captures, or doesn't tell because something does.
typedef bool (*sp_observe_question)(CUstream stream);

// Says that the driver is about to be asked to begin a capture on the stream. `context` is the
// current one, which counts for the thread's own default stream alone.
STREAMPOOL_API void sp_observe_capture_begins(CUstream stream, CUcontext context);

// Says that the driver has been asked, and that it has begun a capture; or that it hasn't.
STREAMPOOL_API void sp_observe_capture_begun(CUstream stream, CUcontext context);
STREAMPOOL_API void sp_observe_capture_refused(CUstream stream, CUcontext context,
                                               sp_observe_question captures);

// Says that the driver was asked to end the capture of the stream, whatever it answered.
STREAMPOOL_API void sp_observe_capture_ended(CUstream stream, CUcontext context,
                                             sp_observe_question captures);

// Says that a context has ended or was reset, and all captures in it have ended.
STREAMPOOL_API void sp_observe_captures_ended(CUcontext context, uint64_t before);

// ------------------------------------------------------------------------------ calls that profit

// As poolMallocAsync(), poolMallocFromPoolAsync() and poolFreeAsync(). On a seen stream they ask
// the driver nothing while no capture is open; on a default stream they ask it once, for who that
// is.
STREAMPOOL_API poolError_t sp_observe_malloc(void **ptr, size_t size, CUstream stream);
STREAMPOOL_API poolError_t sp_observe_malloc_from_pool(void **ptr, size_t size, poolMemPool_t pool,
                                                       CUstream stream);
//
// Memory that is no pool's isn't freed, and that is no failure of the library's: `is_foreign` says
// so.
STREAMPOOL_API poolError_t sp_observe_free(void *ptr, CUstream stream, bool *is_foreign);

#endif
