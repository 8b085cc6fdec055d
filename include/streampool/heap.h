/// @file
/// A heap inside kernels, on the host: makes it from a pool's memory, grows it, trims it.
///
/// Kernels allocate and free by the calls of streampool/heap.cuh, with what poolHeapDevice()
/// returns. docs/heap.md says how to use both, and when not to. The calls are in a library of its
/// own, libstreampool_heap, which is built where there is nvcc.
///
/// The following holds for every call, and the comments of the calls do not repeat it.
///
/// **Memory.** A heap takes *chunks* from its pool: allocations of 2 MiB or more, each of which can
/// be given back when nothing in it is live. Kernels see them as slabs of one size
/// (poolHeapSlabSize). All sizes are in bytes.
///
/// **Context.** A heap serves kernels of the context in which it was made, and only streams of that
/// context are given to its calls. Any context or none may be current then. A stream 0 is that
/// context's legacy default stream in every program, and (CUstream)0x2 is its per-thread one.
///
/// **Order.** A call that takes a stream acts at that point of the stream's order, by a small
/// kernel. The kernels of a program may run before it, beside it and after it.
///
/// **Streams that capture** are refused: poolErrorStreamCaptureUnsupported. The capture stays
/// valid, and nothing was changed.
///
/// **Threads.** Every call may be made from any thread at any time, except from a function that
/// the driver runs in a stream (cuLaunchHostFunc). A heap must not be used while or after it is
/// destroyed.
///
/// **Failure.** A call that fails changes nothing, but where its comment says so. poolGetLastError
/// and poolGetLastErrorDetail tell of it as of a call of streampool.h. Errors of the driver are
/// passed on with its numbers. An error that a kernel has made (poolErrorIllegalAddress, say) is
/// the context's from then on: every later call that calls the driver returns it. poolHeapDestroy
/// does too, and destroys the heap all the same. poolHeapDevice, poolHeapSlabSize, poolHeapSetMark,
/// and growing by 0 bytes succeed. The comments of the calls list neither these errors, nor
/// poolErrorInvalidValue for a `heap` that is null or destroyed.
///
/// **Fork.** In a child made by fork() without exec() every call returns
/// poolErrorInitializationError.
#ifndef STREAMPOOL_HEAP_H
#define STREAMPOOL_HEAP_H

#include <streampool/heap/descriptor.h>
#include <streampool/streampool.h>

#ifdef __cplusplus
extern "C" {
#endif

// ------------------------------------------------------------------------------------ device heaps

// These calls make a heap and destroy it, and tell what kernels get of it.

/// A heap is known to programs by this handle.
typedef struct poolHeap_st *poolHeap_t;

/// Names limits of struct poolHeapStatistics.
enum {
    /// A heap has no more classes of blocks.
    poolHeapClassesMost = 32,
    /// No more bad frees are told one by one.
    poolHeapBadFreesMost = 16
};

/// Makes a heap of a pool's memory. It takes the heap's book, of some MiB, and an eighth of
/// `maxBytes`, at least one chunk: kernels can allocate when the call returns. It needs a current
/// context on the pool's device; a program of the CUDA runtime has one after its first call of the
/// runtime. The device must have compute capability 7.0, and the least that the nvcc knew with
/// which the library was built (7.5 for that of CUDA 13), or later.
///
/// Blocks until the heap is ready: it loads a module, and waits for a stream of its own.
///
/// @param[out] heap Receives the heap.
/// @param pool Names the pool. It stays in use until the heap is destroyed: destroying the pool
///     before that lets its memory live on, as it does for every allocation.
/// @param maxBytes Is the most that the heap may take for blocks, rounded up to 2 MiB: from 1 to
///     128 GiB. The size of a slab follows from it: 64 KiB up to 256 MiB, and twice that for each
///     doubling, up to 2 MiB.
///
/// - poolErrorInvalidValue: `heap` is null; `pool` is not a pool; `maxBytes` is 0 or too large.
/// - poolErrorMemoryAllocation: the pool or the host has no memory for it.
/// - poolErrorDeviceUninitialized: no context is current.
/// - poolErrorInvalidDevice: the current context is not on the pool's device.
/// - poolErrorNotSupported: the device or the driver is too old for the heap's kernels.
STREAMPOOL_API poolError_t poolHeapCreate(poolHeap_t *heap, poolMemPool_t pool, size_t maxBytes);

/// Destroys a heap, and gives all its memory back to the pool behind what the named streams have to
/// do so far. Blocks that are live go with it. A trim that is under way is completed.
///
/// Blocks until the small kernels of the heap's calls are complete, and so what was before them on
/// their streams. The driver may wait for other kernels of the context, too, as it frees memory of
/// the host and unloads a module.
///
/// @param heap Names the heap.
/// @param streams Names all streams that have kernels which may use the heap. It is read during the
///     call only.
/// @param count Is the number of entries of the list. 0: all kernels that use the heap are
///     complete.
///
/// - poolErrorInvalidValue: `streams` is null, and `count` is not 0. The heap stays as it is, as
///   with poolErrorInvalidResourceHandle, where an entry is no stream, and where one captures.
/// - Every other error says what failed first. The heap is destroyed all the same, and its memory
///   given back as far as that can be done: also after an error that a kernel has made, and when
///   the context is gone.
STREAMPOOL_API poolError_t poolHeapDestroy(poolHeap_t heap, const CUstream streams[], size_t count);

/// Returns what kernels get of the heap. It stays the same for the heap's life. For a heap that is
/// null or destroyed its pointer is null, and the error is noted (poolGetLastError). Doesn't block,
/// and doesn't call the driver.
///
/// @param heap Names the heap.
STREAMPOOL_API struct pool_heap poolHeapDevice(poolHeap_t heap);

/// Returns the size of the heap's slabs: a block above half of it occupies whole slabs. 0 for a
/// heap that is null or destroyed, and the error is noted. Doesn't block, and doesn't call the
/// driver.
///
/// @param heap Names the heap.
STREAMPOOL_API size_t poolHeapSlabSize(poolHeap_t heap);

// ---------------------------------------------------------------------------- device heaps: memory

// These calls take memory from the pool, and give it back.

/// Takes more memory from the pool, in chunks of 2 MiB. They lie side by side where the pool has
/// them so: then blocks larger than a chunk fit, too.
///
/// Doesn't block, but where the pool's policies let an allocation wait. Its driver calls: it asks
/// whether the stream captures, and for its number; and of some events of earlier calls, whether
/// they are complete. For several chunks it takes the whole size first and gives it back: so it
/// fails before it has taken anything where the pool has not so much, and else finds it side by
/// side. Then it takes each chunk. These calls are poolMallocFromPoolAsync and poolFreeAsync, with
/// the driver calls that they make. For up to 96 chunks it launches a kernel, and records an event
/// behind it; the event is made for a stream that has none.
///
/// @param heap Names the heap.
/// @param bytes Is the number of bytes to take, rounded up to 2 MiB. 0 succeeds and does nothing.
/// @param stream Is the stream in whose order the memory is taken: kernels behind that point find
///     it, and others may.
///
/// - poolErrorMemoryAllocation: the pool has not so much memory, or the host has none, or the heap
///   would have more than its maximum.
/// - An error of the driver in the middle leaves the chunks that kernels have got by then.
STREAMPOOL_API poolError_t poolHeapGrow(poolHeap_t heap, size_t bytes, CUstream stream);

/// Takes more memory from the pool as one chunk, in which a block of `bytes` bytes fits. It is
/// given back only as a whole. Blocks and calls the driver as poolHeapGrow does.
///
/// @param heap Names the heap.
/// @param bytes Is the size of the chunk, rounded up to 2 MiB. 0 succeeds and does nothing.
/// @param stream Is the stream in whose order the memory is taken.
///
/// - poolErrorMemoryAllocation: as for poolHeapGrow; the heap's book has no place for so much side
///   by side.
STREAMPOOL_API poolError_t poolHeapGrowContiguous(poolHeap_t heap, size_t bytes, CUstream stream);

/// Sees to it that kernels find memory: to be called from time to time, after each launch, say. It
/// puts a survey on the stream, a kernel that counts slabs, unless one is pending. When the one
/// before is complete, it acts by that:
///
/// - With fewer free slabs than the mark (poolHeapSetMark) the heap grows, by a quarter at least.
///   Where the pool has not so much memory, it takes half, and so on.
/// - Where a block above half a slab found no memory since the survey before, the heap gets one
///   chunk that is large enough for the largest of these; those above the heap's maximum don't
///   count.
///
/// It never takes more than the heap's maximum; without room for it that is no error. Doesn't
/// block, but as poolHeapGrow does.
///
/// @param heap Names the heap.
/// @param stream Is the stream for the survey, and in whose order memory is taken.
///
/// - poolErrorMemoryAllocation: the pool has not so much memory, or the host has none, or the book
///   of the heap has no place side by side for a large block. What else could be had was taken.
STREAMPOOL_API poolError_t poolHeapMaintain(poolHeap_t heap, CUstream stream);

/// Sets the part of the slabs that poolHeapMaintain keeps free; 25 at first. Doesn't call the
/// driver.
///
/// @param heap Names the heap.
/// @param percent Is the part, from 0 to 90. With 0 only large blocks that found no memory let the
///     heap grow.
///
/// - poolErrorInvalidValue: `percent` is more than 90.
STREAMPOOL_API poolError_t poolHeapSetMark(poolHeap_t heap, unsigned percent);

/// Gives memory that is free back to the pool, as poolHeapTrimTo with 0 bytes to keep.
///
/// @param heap Names the heap.
/// @param streams Names the streams.
/// @param count Is the number of entries of the list.
///
/// - Errors are those of poolHeapTrimTo.
STREAMPOOL_API poolError_t poolHeapTrim(poolHeap_t heap, const CUstream streams[], size_t count);

/// Gives chunks in which no block is live back to the pool, until the heap has no more than
/// `bytesToKeep` bytes. A kernel on the first stream closes them behind what all the streams had to
/// do, and the others wait for it: so no later kernel finds them. When that is complete, a thread
/// of the heap's gives them to the pool; it is made by the first trim. Chunks with live blocks
/// stay, and poolHeapGetStatistics counts their slabs in use. A trim behind one that isn't complete
/// looks at all chunks again; a chunk goes to the pool when both are complete.
///
/// Never blocks. It records an event on each stream.
///
/// @param heap Names the heap.
/// @param bytesToKeep Is the number of bytes that the heap keeps, as far as it has them.
/// @param streams Names all streams on which kernels are launched that use the heap, each in any
///     place. It is read during the call only.
/// @param count Is the number of entries of the list, at least 1.
///
/// - poolErrorInvalidValue: `streams` is null, or `count` is 0.
/// - poolErrorMemoryAllocation: the host has no memory.
/// - poolErrorOperatingSystem: the thread can't be made.
/// - An error of the driver in the middle may leave chunks closed, which destroying the heap gives
///   back, and streams that wait for each other once.
STREAMPOOL_API poolError_t poolHeapTrimTo(poolHeap_t heap, size_t bytesToKeep,
                                          const CUstream streams[], size_t count);

// ---------------------------------------------------------------------------- device heaps: blocks

// These calls free a block, and tell what a heap has.

/// Frees a block in the order of a stream, as a kernel's pool_heap_free does. What is no live block
/// does nothing but be counted (poolHeapGetStatistics). Doesn't block.
///
/// @param heap Names the heap.
/// @param block Is what pool_heap_malloc or pool_heap_realloc returned in a kernel, or null, which
///     does nothing.
/// @param stream Is the stream in whose order it is freed. Every use of the block must be ordered
///     before.
///
/// - poolErrorMemoryAllocation: the host has no memory.
STREAMPOOL_API poolError_t poolHeapFree(poolHeap_t heap, void *block, CUstream stream);

/// Tells of a class of blocks.
struct poolHeapClass {
    /// Holds the size of its blocks.
    size_t blockSize;
    /// Holds how many blocks a slab has.
    uint64_t blocksPerSlab;
    /// Counts its slabs.
    uint64_t slabs;
    /// Counts its blocks that are live.
    uint64_t blocks;
    /// Counts requests that found no memory, since the heap was made.
    uint64_t failures;
};

/// Tells of a free that was none of a live block.
struct poolHeapBadFree {
    /// Holds the address that was given.
    void *address;
    /// Says why it was refused.
    enum poolHeapErrorKind kind;
};

/// Tells what a heap has, and what became of requests. Counts of live blocks and of slabs are of
/// one moment only where no kernel uses the heap; else each is true of some moment of the count.
///
/// Of what was asked for it tells what is live, by class, and what was refused. Requests that were
/// served are not counted: an addition by each warp to a counter takes a quarter to a half as long
/// as a whole call of pool_heap_malloc (streampool-bench heap). So the bytes that blocks have
/// beyond what was asked for are not known either.
struct poolHeapStatistics {
    /// Holds the bytes that the heap may take for blocks.
    size_t bytesMost;
    /// Holds the bytes of its chunks, also of those that a trim closes.
    size_t bytesTaken;
    /// Holds the size of a slab.
    size_t slabSize;
    /// Counts the slabs that kernels can use.
    uint64_t slabs;
    /// Counts those of them in which nothing is live.
    uint64_t slabsFree;
    /// Counts live blocks above half a slab.
    uint64_t runs;
    /// Counts the slabs that these occupy.
    uint64_t slabsOfRuns;
    /// Counts requests above half a slab that found no memory, since the heap was made.
    uint64_t failuresOfRuns;
    /// Holds the size of the largest request that found no memory, since the heap was made.
    size_t largestFailed;
    /// Holds the bytes that trims have given back, since the heap was made.
    uint64_t bytesTrimmed;
    /// Counts the slabs in use that the last complete trim found, among the chunks that it tried.
    uint64_t slabsLeftByTrim;
    /// Counts frees of addresses where no block begins, since the heap was made.
    uint64_t foreignFrees;
    /// Counts frees of blocks that were free, since the heap was made.
    uint64_t doubleFrees;
    /// Holds how many of these `badFree` tells of: the first ones.
    size_t badFrees;
    /// Tells of the first bad frees.
    struct poolHeapBadFree badFree[poolHeapBadFreesMost];
    /// Holds how many classes there are in `byClass`, from the smallest on.
    size_t classes;
    /// Tells of each class.
    struct poolHeapClass byClass[poolHeapClassesMost];
};

/// Counts what a heap has, at a point of a stream's order. Blocks until the stream has come there,
/// and for no other stream: several threads may count at a time.
///
/// @param heap Names the heap.
/// @param stream Is the stream in whose order it is counted.
/// @param[out] statistics Receives the counts.
///
/// - poolErrorInvalidValue: `statistics` is null.
/// - poolErrorMemoryAllocation: the host has no memory.
STREAMPOOL_API poolError_t poolHeapGetStatistics(poolHeap_t heap, CUstream stream,
                                                 struct poolHeapStatistics *statistics);

/// Prints what poolHeapGetStatistics tells, with a line for each class that is in use. Blocks as
/// that does.
///
/// @param heap Names the heap.
/// @param stream Is the stream in whose order it is counted.
/// @param file Is open for writing.
///
/// - poolErrorInvalidValue: `file` is null.
/// - poolErrorMemoryAllocation: as for poolHeapGetStatistics.
/// - poolErrorOperatingSystem: the file can't be written.
STREAMPOOL_API poolError_t poolHeapPrintStatistics(poolHeap_t heap, CUstream stream, FILE *file);

#ifdef __cplusplus
}
#endif

#endif
