/// @file
/// Pools that pause: their memory goes to the device, and their contents to the host or a file,
/// until the program resumes, in the library libstreampool_swap.
///
/// A program that sleeps, such as a server of a model that nobody asks for now, leaves the device
/// to others. Its blocks keep their addresses, so graphs and pointers are right again later.
/// docs/swap.md says how to use it.
///
/// The following holds for every call, and the comments of the calls do not repeat it.
///
/// **Pools and tags.** A *tag* names a part of a pool that pauses alone. It is a pool of its own,
/// a *tagged pool*, which belongs to the pool that it was made of. No memory is shared between the
/// two. Calls that take a pool and a tag act on one pool, or on a pool and all its tagged pools: a
/// tag of null means all of them, "" the pool itself, and any other text the tagged pool of that
/// name. All are pools of a device, of memory that doesn't move (poolMemAllocationTypePinned).
///
/// **Order.** poolMemPoolPause waits for all work of the current context before it copies, and
/// poolMemPoolResume for its copies. No work may use the blocks of a paused pool: such an access
/// finds no memory, and ends the context.
///
/// **Blocking.** Calls that take a tag, but for poolMemPoolGetTagged, wait for each other where
/// their pools are of one device. poolMemPoolPause, poolMemPoolResume, poolMemPoolDestroyTagged and
/// poolMemPoolGetTagged call the driver.
///
/// **Context.** poolMemPoolPause and poolMemPoolResume are made with a context of the pool's device
/// current, which must not be reset while pools are paused: with it ends what was saved.
///
/// **Threads.** Every call may be made from any thread at any time, except from a function that the
/// driver runs in a stream (cuLaunchHostFunc), a visitor (poolMemPoolVisitor) or an observer of
/// growths.
///
/// **Failure.** A call that fails has changed nothing, unless its comment says else.
/// poolGetLastError and poolGetLastErrorDetail tell of it as of a call of streampool.h. Errors of
/// the driver are passed on with its numbers, and the comments of the calls don't list these.
///
/// **Fork.** In a child made by fork() without exec() every call returns
/// poolErrorInitializationError, but for poolSwapSetHostLimit, which doesn't use the driver.
#ifndef STREAMPOOL_SWAP_H
#define STREAMPOOL_SWAP_H

#include <stddef.h>
#include <stdint.h>
#include <streampool/streampool.h>

#ifdef __cplusplus
extern "C" {
#endif

// -------------------------------------------------------------------------------------------- tags

/// Gives the tagged pool of a tag, which is made where there is none: with the properties,
/// attributes and access of `pool` at that time, but for poolMemPoolProps::reserved, which no call
/// tells. Its maxSize is as large, and counts for itself. It is called after both, as "weights" of
/// "default pool of device 0" is "default pool of device 0/weights", or by its tag alone where that
/// is too long. A program may allocate from it, set its attributes, and destroy it by
/// poolMemPoolDestroy, also before `pool` or behind it. After the end of `pool` its tags name
/// nothing, and its tagged pools are pools like others, which pause by their own handles.
///
/// @param pool Names the pool. It is no tagged pool.
/// @param tag Is the tag in UTF-8, of at most 63 bytes, and with no control characters. Null or "":
///     the pool itself.
/// @param[out] tagged Receives the handle of the tagged pool.
///
/// - poolErrorInvalidValue: `pool` is not a pool, or is a tagged pool; `tag` is no such text;
///   `tagged` is null.
/// - poolErrorNotSupported: `pool` isn't of a device's memory, or that is managed.
/// - poolErrorMemoryAllocation: the host has no memory; the pool has 64 tags already.
/// - The other errors are those of poolMemPoolCreate and poolMemPoolSetAccess.
STREAMPOOL_API poolError_t poolMemPoolGetTagged(poolMemPool_t pool, const char *tag,
                                                poolMemPool_t *tagged);

/// Destroys a tagged pool, as poolMemPoolDestroy does, or all those of a pool, and gives back at
/// once what was saved of them. A pool that poolMemPoolDestroy destroys while it is paused keeps
/// that until the next call of this library for a pool of the same device.
///
/// @param pool Names the pool, which stays.
/// @param tag Names the tagged pool. Null: all. There may be none.
///
/// - poolErrorInvalidValue: `pool` is not a pool; `tag` is "", or no tag of the pool.
/// - poolErrorNotSupported: `pool` isn't of a device's memory, or that is managed.
STREAMPOOL_API poolError_t poolMemPoolDestroyTagged(poolMemPool_t pool, const char *tag);

// ------------------------------------------------------------------------------------------ pauses

/// Says what becomes of the contents of a pool that pauses.
enum poolPauseLevel {
    /// They are copied to the host, and come back.
    poolPauseSave = 1,
    /// They are discarded. When the pool resumes they are undefined.
    poolPauseDiscard = 2
};

/// Tells of pools that are paused. All numbers are sums over them.
struct poolMemPoolPaused {
    /// Counts the pools that are paused.
    size_t pools;
    /// Holds the bytes of the host's memory that have contents. Each range that was saved takes a
    /// multiple of 4 KiB.
    size_t hostBytes;
    /// Holds the bytes of files that have contents, likewise.
    size_t fileBytes;
    /// Holds the bytes in use whose contents were discarded.
    size_t discardedBytes;
    /// Holds the bytes of the device's memory that had to stay: those of blocks of
    /// poolMallocFixed, and what the driver didn't unmap.
    size_t stayedBytes;
};

/// Pauses pools: all their memory goes back to the device, under live blocks, which keep their
/// addresses (poolMemPoolEvict). Until poolMemPoolResume nothing can be allocated from them, and
/// blocks can be freed.
///
/// The contents go into pinned memory of the host, as far as there is some and poolSwapSetHostLimit
/// allows. The rest goes into a file in the folder that the environment variable
/// STREAMPOOL_SWAP_DIR names. It is not encrypted. It has no name, so it ends with the process,
/// however that ends; where the file system has no such files, it has one until it is open.
///
/// A pool that is paused already stays so: what it saved remains saved, but for level
/// poolPauseDiscard, which discards it. What was discarded can't be saved any more. So a second
/// call does nothing but to try again to take what has stayed. One that the program has made
/// resident itself meanwhile is saved anew.
///
/// Either all of the pools pause or none. The memory of each stays until the contents of all are
/// saved. Where another thread destroys one of them meanwhile, the call fails, and others may be
/// paused.
///
/// @param pool Names the pool.
/// @param tag Names a tagged pool; null: the pool and all its tagged pools; "": the pool itself.
/// @param level Says what becomes of the contents.
/// @param unwanted Holds ranges of addresses whose contents aren't worth saving, such as scratch
///     space, in any order. They may overlap. Each says something of the block that it begins in,
///     as far as it lies there, and that is undefined later; in no block it has no effect. With
///     poolPauseDiscard, and of pools that are paused already, they have none either. They are read
///     during the call only. May be null where `count` is 0.
/// @param count Is the number of ranges.
/// @param[out] paused Receives what is paused now, of these pools. May be null. An error leaves it
///     as it was.
///
/// - poolErrorInvalidValue: `pool` is not a pool; it has no such tag; `level` is none; `unwanted`
///   is null, or has a range that reaches beyond all addresses; STREAMPOOL_SWAP_HOST has no number.
/// - poolErrorInvalidDevice: the current context isn't one of the pool's device.
/// - poolErrorNotSupported: `pool` isn't of a device's memory, or that is managed; else as
///   poolMemPoolEvict.
/// - poolErrorMemoryAllocation: the host's memory, or its limit, is too small for the contents, and
///   STREAMPOOL_SWAP_DIR names no folder. The text has the sizes.
/// - poolErrorOperatingSystem: a file can't be made in STREAMPOOL_SWAP_DIR, or written, as where
///   the disk is full. The text says why.
/// - poolErrorIllegalState: a pool was evicted by the program.
/// - poolErrorStreamCaptureUnsupported: a stream of the context captures, which invalidates the
///   capture.
STREAMPOOL_API poolError_t poolMemPoolPause(poolMemPool_t pool, const char *tag,
                                            enum poolPauseLevel level,
                                            const struct poolMemRange *unwanted, size_t count,
                                            struct poolMemPoolPaused *paused);

/// Resumes pools that are paused: live blocks get memory again at their addresses, and the contents
/// that were saved (poolMemPoolMakeResident). When the call returns they are there, for all
/// streams, and what has saved them is given back. Pools that aren't paused stay as they are.
///
/// Either all of the pools resume, or they stay paused, with what was saved of them; where the
/// device is full, say, the program may try again later.
///
/// @param pool Names the pool.
/// @param tag Names a tagged pool; null: the pool and all its tagged pools; "": the pool itself.
///
/// - poolErrorInvalidValue: `pool` is not a pool; it has no such tag.
/// - poolErrorInvalidDevice: there are contents to copy, and the current context isn't one of the
///   pool's device.
/// - poolErrorNotSupported: `pool` isn't of a device's memory, or that is managed.
/// - poolErrorMemoryAllocation: the device has too little memory for all of the pools, or the host
///   has none for copies from a file.
/// - poolErrorOperatingSystem: a file can't be read.
/// - poolErrorIllegalState: the program has made a pool resident itself. What was saved of that one
///   is given back, and it isn't paused any more; the others stay paused.
STREAMPOOL_API poolError_t poolMemPoolResume(poolMemPool_t pool, const char *tag);

/// Tells which pools are paused.
///
/// @param pool Names the pool.
/// @param tag Names a tagged pool; null: the pool and all its tagged pools; "": the pool itself.
/// @param[out] paused Receives what is paused.
///
/// - poolErrorInvalidValue: `pool` is not a pool; it has no such tag; `paused` is null.
/// - poolErrorNotSupported: `pool` isn't of a device's memory, or that is managed.
STREAMPOOL_API poolError_t poolMemPoolGetPaused(poolMemPool_t pool, const char *tag,
                                                struct poolMemPoolPaused *paused);

// ---------------------------------------------------------------------------------------- the host

/// Limits the bytes of the host's memory in which contents are saved, for the whole process. What
/// is saved already stays where it is. Without the call the environment variable
/// STREAMPOOL_SWAP_HOST holds the limit, a number that may end with K, M, G or T, and without that
/// there is none but what the host can give (docs/host-memory.md, "Limits"). Doesn't block, and
/// doesn't call the driver.
///
/// @param bytes Is the limit in bytes. 0: all goes into a file. UINT64_MAX: what the host can give.
///
/// - Errors don't occur.
STREAMPOOL_API poolError_t poolSwapSetHostLimit(uint64_t bytes);

/// Gives the pool of the host that contents are saved in, which is called "swap". At first it keeps
/// nothing when pools have resumed. A program that pauses often may raise its ReleaseThreshold, and
/// then prime it, since to pin memory takes longer than to copy. If a program destroys it, the next
/// pause makes another one.
///
/// @param[out] pool Receives the pool, which is made where there is none.
///
/// - poolErrorInvalidValue: `pool` is null.
/// - The other errors are those of poolMemPoolCreate.
STREAMPOOL_API poolError_t poolSwapGetHostPool(poolMemPool_t *pool);

#ifdef __cplusplus
}
#endif

#endif
