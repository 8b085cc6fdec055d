// The drop-in asks this of the library beyond the public header: it stands in for the driver, under
// the driver's names, in programs that weren't written for the library.
//
// These functions are exported in a version of their own (STREAMPOOL_PRIVATE), which promises
// nothing: the drop-in of one build uses the library of the same build. Those that are like public
// calls stand beside these (memory.c), and the terms of a call where calls have their context
// (api.c).
#ifndef STREAMPOOL_API_INTERPOSE_H
#define STREAMPOOL_API_INTERPOSE_H

#include "driver/abi.h"
#include "tell/tell.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <streampool/streampool.h>

// Has the library look the driver's entry points up by `find`, which has dlsym's parameters, and in
// `path` (null: libcuda.so.1), whatever STREAMPOOL_DRIVER names: the program's streams are of that
// driver. To be called before the first call that needs the driver, and by one thread.
STREAMPOOL_API void sp_interpose_set_driver(const char *path,
                                            void *(*find)(void *library, const char *name));

// Makes the path of the simulated driver, for which STREAMPOOL_DRIVER has the word `sim`. False
// when the library's folder is unknown. Loads nothing.
STREAMPOOL_API bool sp_interpose_simulated_path(char path[PATH_MAX]);

// Loads the driver and begins, as the first call of the public header does. Errors are that call's.
STREAMPOOL_API poolError_t sp_interpose_start(void);

// True for an address in the address space of a pool, whether or not an allocation is there. Makes
// no driver call, and needs none to have been made.
STREAMPOOL_API bool sp_interpose_has_address(uint64_t address);

// For a call of the driver's that has found a device full, or the host: any location but a device's
// is of the host. The pools there give it memory that they have free, where the call can succeed by
// that: process/reclaim.h. `bytes` is what the call needs, 0 where that isn't known. True when the
// call is worth another attempt. Nothing happens where no pool was ever used.
enum sp_interpose_share {
    SP_INTERPOSE_ENOUGH,  // as much as is missing; nothing where that isn't known
    SP_INTERPOSE_ALL,     // all that is free
    SP_INTERPOSE_AWAITED, // all that is free once the host has waited for pending frees
    SP_INTERPOSE_SHARES
};
STREAMPOOL_API bool sp_interpose_give(CUmemLocation location, size_t bytes,
                                      enum sp_interpose_share share);

// A process may have two drop-ins, of which the one behind serves. Each says so when it is loaded.
// True for the first that does.
STREAMPOOL_API bool sp_interpose_enter(bool is_behind);

// True once one behind has entered.
STREAMPOOL_API bool sp_interpose_has_one_behind(void);

// Figures of the process's pools, as sp_tell_visit() visits them. The first call has destroyed ones
// among them, if it is made before the first pool is.
STREAMPOOL_API void sp_interpose_keep_destroyed(void);
STREAMPOOL_API bool
sp_interpose_visit_pools(void (*visit)(const struct sp_tell_pool *pool, void *data), void *data);

// ---------------------------------------------------------------------------------------- promises
//
// The drop-in sees all of the program's calls that make or end a stream or a capture. So it makes
// promises in the program's place, in the words of enum poolStreamPromise, for each call:
//
//   poolPromiseStreamDestroy   of a created stream, whose end it sees
//   poolPromiseNoCapture       of any stream whose captures it sees
//
// They are believed. They count as long as they hold in the process, which is said for all streams
// at once. What follows can be called before the library is started, and is thread safe.

// Says which promises hold from now on; none does before. It is to be called without
// poolPromiseNoCapture before the driver is asked to begin a capture while none is open, which is
// begun when it has returned: it may record events on streams, and waits for threads that do. And
// with it when the last one has ended. One thread calls it at a time.
STREAMPOOL_API void sp_interpose_hold(int promises);

// Says that a created stream has ended, or is about to: its handle may come back as another's.
// poolStreamDestroy() needs no word.
STREAMPOOL_API void sp_interpose_forget(CUstream stream);

// Says that a context may be about to end, with any streams, or that a stream lives on that was
// said to end: all handles are forgotten. What lazy lanes have freed gets its event first.
STREAMPOOL_API void sp_interpose_forget_all(void);

// Has poolStreamDestroy() call this in place of the driver's own function. Of two drop-ins, the one
// behind is asked.
STREAMPOOL_API void sp_interpose_set_destroy(CUresult (*destroy)(CUstream stream), bool is_behind);

// A number for the calling thread that is never another one's.
STREAMPOOL_API uint64_t sp_interpose_thread(void);

// Sets on what terms this thread makes the next calls of the public header, and returns those from
// before. With SP_INTERPOSE_DEMANDS they fail with 201 where no context is current, as the driver's
// own calls do: the runtime relies on that. The others are promises of the stream that is passed to
// a call that synchronises, queries, records, waits or destroys.
enum { SP_INTERPOSE_DEMANDS = 1 << 7 };
STREAMPOOL_API int sp_interpose_set_terms(int terms);

// As poolMallocAsync(), poolMallocFromPoolAsync() and poolFreeAsync(), with promises of the stream.
STREAMPOOL_API poolError_t sp_interpose_malloc(void **ptr, size_t size, CUstream stream,
                                               int promises);
STREAMPOOL_API poolError_t sp_interpose_malloc_from_pool(void **ptr, size_t size,
                                                         poolMemPool_t pool, CUstream stream,
                                                         int promises);
//
// Memory that is no pool's isn't freed, and that is no failure of the library's: `is_foreign` says
// so.
STREAMPOOL_API poolError_t sp_interpose_free(void *ptr, CUstream stream, int promises,
                                             bool *is_foreign);

#endif
