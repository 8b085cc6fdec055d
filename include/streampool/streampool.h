// streampool: stream-ordered memory pools for CUDA programs, built on the driver's virtual memory
// calls.
//
// The calls are those of the CUDA runtime's stream-ordered allocator with `pool` in the place of
// `cuda`: cudaMallocAsync is poolMallocAsync, cudaMemPoolTrimTo is poolMemPoolTrimTo. Parameters,
// attributes, enumerator values and error numbers are the runtime's, so a program is ported by
// renaming a prefix. Where a call differs from CUDA's, its text below says so.
//
// Words.       *Reserved* bytes are physical memory that a pool holds; *used* bytes are what
//              callers asked for and have not freed. All sizes are in bytes.
// Streams.     A CUstream is the driver's own handle (the runtime's cudaStream_t). 0 is the legacy
//              default stream (the per-thread one in a program compiled with
//              CUDA_API_PER_THREAD_DEFAULT_STREAM), (CUstream)0x1 always the legacy and
//              (CUstream)0x2 always the per-thread default stream. Default streams are those of the
//              calling thread's current context; any other stream works with no context current.
// No context.  A call on a default stream, and poolDeviceSynchronize, need a current context. Where
//              the thread has none they make a primary one current, as the runtime's calls do, and
//              go on: that of device 0, or of the device of a pool that the call names. It stays
//              current in the thread. The library retains each device's once, until the process
//              ends, and once more after a reset. When it can't be had, the call fails with the
//              driver's error. A context that is current and was destroyed, or reset, is not
//              replaced.
// Contexts.    What was freed in a context that was destroyed or reset is complete. To tell
//              contexts apart on a driver older than CUDA 12.0, the first call with a stream of a
//              context allocates 64 bytes of pinned host memory there, for which the driver may
//              wait for work of the device; the driver frees them with the context. That call fails
//              when they can't be had.
// Order.       A call that takes a stream acts at that point of the stream's order. No byte is
//              handed to a stream while work that was ordered before its free may still run
//              elsewhere.
// Legacy.      The driver orders the legacy default stream with the blocking streams of its
//              context, and with per-thread default streams, at each action on either side. For the
//              memory that they are called for, an allocation and a free are such actions, as
//              CUDA's are: memory may be used on one side and freed on the other with no event
//              between them; it may be allocated on the legacy stream and used on a blocking one;
//              and a stream that was synchronised after an allocation on it, by this library or by
//              the driver, vouches for the memory. So an allocation of reused memory on a legacy,
//              blocking or per-thread stream records an event there, unless one was recorded since
//              that memory was freed. As with CUDA's, such an allocation on the legacy stream is a
//              barrier: later work of blocking streams waits for what they have pending. None of
//              this concerns non-blocking streams, or pools with poolPromiseNoLegacyOrder.
// Room.        When nothing is pending, an allocation that fits succeeds, with default attributes,
//              whatever calls the program synchronised by. It *fits* when a free piece is large
//              enough; or when the device's free memory and all extents with no live byte are large
//              enough together, in whole granules, and the pool's limit allows it. The pages that
//              small blocks share are live as long as one of these is. poolMallocFixed is served
//              by pieces of fixed extents alone.
//              While work is pending, and the policies allow waits, the stream waits for memory of
//              the pool that an event stands behind, together with what the pool may yet grow by.
//              For what other pools of the device have pending the host has to wait (HostWaitMax).
//              Two things stay out of reach, and the error's detail says so:
//              - The last frees of a non-blocking stream, if no event stands behind them: about as
//                many bytes as UnfencedBytesMax says, and the extents that they lie in. To ask
//                about them would break a capture, if there is one. They come within reach when the
//                stream is named by poolStreamSynchronize, poolEventRecord, poolStreamDestroy or a
//                poolStreamQuery that finds it idle, or by poolDeviceSynchronize in its context.
//                With ContextFence the library asks. The same holds for a blocking stream while a
//                blocking stream captures.
//              - What was freed in another context than the stream's and the current one, unless it
//                is known to be complete: until a call that asks names a stream of that context, or
//                is made while that is current. Nobody else knows that the context is alive. Calls
//                that ask are queries, synchronises, allocations that find nothing at hand, and
//                from CUDA 12.0 on frees there of memory that a stream of another context
//                allocated.
// Threads.     Every call may be made from any thread at any time, except from a function that the
//              driver runs in a stream (cuLaunchHostFunc): there a call returns what the driver
//              returns to it.
// Failure.     A call that fails changes nothing: no figure, no byte, no output parameter. The code
//              is generic; poolGetLastErrorDetail() says what happened in words, and
//              poolGetLastNativeError() which entry point of the driver said so. One thing may
//              differ after an allocation for which the device had no room: if it looked as if
//              caches of its pools made up what was missing, they have been given back, whatever
//              came of it.
// First call.  The driver is found at the first call that needs it: the library that the
//              environment variable STREAMPOOL_DRIVER names, else libcuda.so.1. It names a path or
//              a soname, or `sim`: the simulated driver, libstreampool_simcuda.so in the folder of
//              the shared library (or of the program, where the library is linked into it). With no
//              usable driver every call below that needs one returns the same error:
//              poolErrorInsufficientDriver when the library is missing or too old (CUDA 10.2 is the
//              oldest), poolErrorNoDevice when it has no device. This is listed here and not at
//              each call. The same holds for the driver's own failures (a sticky error of the
//              context, say): they are passed on with the driver's number.
// Fork.        A child made by fork() without exec() can't use the parent's device: every call
//              there returns poolErrorInitializationError.
#ifndef STREAMPOOL_STREAMPOOL_H
#define STREAMPOOL_STREAMPOOL_H

#include <stddef.h>
#include <stdint.h>

#define STREAMPOOL_VERSION_MAJOR 0
#define STREAMPOOL_VERSION_MINOR 1
#define STREAMPOOL_VERSION_PATCH 0

// Every function of this header is exported with this mark; nothing else is.
#if defined(__GNUC__)
#define STREAMPOOL_API __attribute__((visibility("default")))
#else
#define STREAMPOOL_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

// The driver's handles, declared as cuda.h declares them: this header and cuda.h go together in
// either order.
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;

// ------------------------------------------------------------------------------------------ errors

// X(name, number, text). The numbers are cudaError_t's, which are the driver's too.
// clang-format off
#define STREAMPOOL_ERRORS(X) \
    X(poolSuccess, 0, "no error") \
    X(poolErrorInvalidValue, 1, "invalid argument") \
    X(poolErrorMemoryAllocation, 2, "out of memory") \
    X(poolErrorInitializationError, 3, "the driver is not usable in this process") \
    X(poolErrorCudartUnloading, 4, "the driver is shutting down") \
    X(poolErrorInsufficientDriver, 35, "the driver is missing or too old") \
    X(poolErrorNoDevice, 100, "no CUDA-capable device") \
    X(poolErrorInvalidDevice, 101, "invalid device ordinal") \
    X(poolErrorDeviceUninitialized, 201, "no current context") \
    X(poolErrorMapBufferObjectFailed, 205, "the driver could not map memory") \
    X(poolErrorUnmapBufferObjectFailed, 206, "the driver could not unmap memory") \
    X(poolErrorECCUncorrectable, 214, "uncorrectable memory error on the device") \
    X(poolErrorOperatingSystem, 304, "an operating system call failed") \
    X(poolErrorInvalidResourceHandle, 400, "invalid stream or event") \
    X(poolErrorIllegalState, 401, "the resource is not in a state for this") \
    X(poolErrorSymbolNotFound, 500, "not found") \
    X(poolErrorNotReady, 600, "not ready yet") \
    X(poolErrorIllegalAddress, 700, "a kernel accessed an illegal address") \
    X(poolErrorLaunchTimeout, 702, "a kernel ran into the time limit") \
    X(poolErrorContextIsDestroyed, 709, "the context was destroyed") \
    X(poolErrorAssert, 710, "a device-side assertion failed") \
    X(poolErrorHardwareStackError, 714, "a kernel corrupted its stack") \
    X(poolErrorIllegalInstruction, 715, "a kernel executed an illegal instruction") \
    X(poolErrorMisalignedAddress, 716, "a kernel accessed a misaligned address") \
    X(poolErrorInvalidAddressSpace, 717, "a kernel used the wrong address space") \
    X(poolErrorInvalidPc, 718, "a kernel jumped to an invalid address") \
    X(poolErrorLaunchFailure, 719, "a kernel failed") \
    X(poolErrorNotPermitted, 800, "not permitted here") \
    X(poolErrorNotSupported, 801, "not supported") \
    X(poolErrorSystemNotReady, 802, "the system is not ready") \
    X(poolErrorStreamCaptureUnsupported, 900, "not permitted while the stream is capturing") \
    X(poolErrorStreamCaptureInvalidated, 901, "the capture was invalidated by an earlier error") \
    X(poolErrorStreamCaptureMerge, 902, "two independent captures would merge") \
    X(poolErrorStreamCaptureUnmatched, 903, "the capture was begun on another stream") \
    X(poolErrorStreamCaptureUnjoined, 904, "a forked stream was not joined to its capture") \
    X(poolErrorStreamCaptureIsolation, 905, "a dependency would leave the capture") \
    X(poolErrorStreamCaptureImplicit, 906, "a capturing stream depends implicitly on this stream") \
    X(poolErrorCapturedEvent, 907, "the event was last recorded in a capturing stream") \
    X(poolErrorStreamCaptureWrongThread, 908, "the capture was begun by another thread") \
    X(poolErrorTimeout, 909, "timed out") \
    X(poolErrorUnknown, 999, "unknown error")
// clang-format on

typedef enum poolError {
#define STREAMPOOL_DEFINE_ERROR(name, number, text) name = number,
    STREAMPOOL_ERRORS(STREAMPOOL_DEFINE_ERROR)
#undef STREAMPOOL_DEFINE_ERROR
} poolError_t;

// The name of an error ("poolErrorInvalidValue") and one line about it. Never null: an unknown
// number gives "unrecognized error code". Neither calls the driver.
STREAMPOOL_API const char *poolGetErrorName(poolError_t error);
STREAMPOOL_API const char *poolGetErrorString(poolError_t error);

// What the last failed call of this thread ran into, as one sentence: the missing driver library
// and what was tried, every missing entry point, the bad parameter; of an allocation that found no
// memory why, how much of the pool is free and for whom, and what would help. "" when no call of
// this thread has failed. The text is valid until this thread's next failing call.
STREAMPOOL_API const char *poolGetLastErrorDetail(void);

// The driver's own error behind the last failed call of this thread: its CUresult number and the
// name of the entry point that returned it. 0 and "" when the driver had no part in it. Either
// parameter may be null.
STREAMPOOL_API poolError_t poolGetLastNativeError(int *result, const char **entryPoint);

// 1000 * major + 10 * minor of this library, and of the CUDA version that the driver supports.
// Errors: poolErrorInvalidValue for a null parameter.
STREAMPOOL_API poolError_t poolRuntimeGetVersion(int *version);
STREAMPOOL_API poolError_t poolDriverGetVersion(int *version);

// ------------------------------------------------------------------------------------------- pools

typedef struct poolMemPool_st *poolMemPool_t;

enum poolMemAllocationType {
    poolMemAllocationTypeInvalid = 0,
    poolMemAllocationTypePinned = 1,
    poolMemAllocationTypeMax = 0x7FFFFFFF
};

enum poolMemAllocationHandleType {
    poolMemHandleTypeNone = 0,
    poolMemHandleTypePosixFileDescriptor = 1,
    poolMemHandleTypeMax = 0x7FFFFFFF
};

enum poolMemLocationType {
    poolMemLocationTypeInvalid = 0,
    poolMemLocationTypeDevice = 1,
    poolMemLocationTypeHost = 2,
    poolMemLocationTypeHostNuma = 3,
    poolMemLocationTypeHostNumaCurrent = 4
};

struct poolMemLocation {
    enum poolMemLocationType type;
    int id;
};

enum poolMemAccessFlags {
    poolMemAccessFlagsProtNone = 0,
    poolMemAccessFlagsProtRead = 1,
    poolMemAccessFlagsProtReadWrite = 3
};

// The same layout as cudaMemAccessDesc.
struct poolMemAccessDesc {
    struct poolMemLocation location; // poolMemLocationTypeDevice and the device's ordinal
    enum poolMemAccessFlags flags;
};

// The same layout as cudaMemPoolProps.
struct poolMemPoolProps {
    enum poolMemAllocationType allocType;         // poolMemAllocationTypePinned
    enum poolMemAllocationHandleType handleTypes; // none, or poolMemHandleTypePosixFileDescriptor
    // poolMemLocationTypeDevice and the device's ordinal.
    struct poolMemLocation location;
    void *win32SecurityAttributes; // ignored, as on any Linux
    // Reserved bytes never exceed this, rounded up to 32 MiB; 0 = no limit.
    size_t maxSize;
    // Any: CUDA takes hints here, such as 2 for hardware decompression; without effect.
    unsigned short usage;
    unsigned char reserved[54]; // 0
};

// Attributes 1 to 14 are CUDA's, with CUDA's numbers; the library's own start at 1000.
//
//   X(name, number, type of the value)
//
// The three reuse policies default to 1; any other number than 0 reads back as 1. ReleaseThreshold
// defaults to 0. The two Current figures are read only; a High figure can only be set to 0, which
// resets it to the Current one. Used counts requested bytes exactly and falls when a free is
// called, not when it completes; Reserved counts physical bytes. While one thread at a time is in a
// call of the pool, all four are exact, UsedMemHigh as long as no more than 64 streams have used
// the pool. With several threads at once, UsedMemCurrent is a sum that calls may change while it is
// taken, and UsedMemHigh may count what one thread freed while another allocated; with more streams
// it may count what one stream freed while another allocated. It is at least the highest sum that
// there was, and at most the sum of what was used at most by each stream. 9 to 14 are read only and
// tell what the pool was made with.
//
//   UnfencedBytesMax  A free is known to other streams only once an event has been recorded behind
//                     it. So many bytes of the pool may lie free with no event behind them: each of
//                     its streams has an equal share, and the free that brings a stream above its
//                     share records an event, in that call. A block of more than 56 KiB that its
//                     stream has taken again doesn't count; pages of small blocks count whole where
//                     all of them are free. 0 records at every free. Default 8 MiB, or a 64th of
//                     what the pool has reserved where that is more, which is what is read then; a
//                     value that was set stays. A stream that has more than its share, since that
//                     has become less, records at its next free.
//   HostWaitMax       An allocation that would fail, since the device or the pool is full and what
//                     is free is still in use, waits on the host for at most so many nanoseconds:
//                     as long as something that it can ask about is pending behind memory of the
//                     pool or, where it is the device that is full, behind that of another pool,
//                     which no stream can be made to wait for. Not in a Deterministic pool. Default
//                     0.
//   Deterministic     What a pool hands out depends on the program's calls alone, not on how fast
//                     the device was: it asks no event, and takes for complete only what a
//                     synchronise by this library's calls has shown. For programs that allocate
//                     from one thread, and that destroy streams by poolStreamDestroy where the
//                     driver is older than CUDA 12.0: it can't tell a new stream from the one that
//                     had its handle before. Default 0.
//   ContextFence      An allocation for which the device has no room may make its stream wait for
//                     everything that the context has been given so far, which also gets at frees
//                     with no event behind them. The program promises that no stream of the context
//                     captures while it allocates: the driver would invalidate such a capture.
//                     Default 0.
//   ContextWaitMax    Before CUDA 12.5 a ContextFence is a synchronise of the context, made by a
//                     thread of the library's own as the last step before an allocation fails. The
//                     allocation waits on the host for at most so many nanoseconds, so that work
//                     which never ends can't hang it; the thread stays until the work ends, and the
//                     context must live as long. 0: no such step. Without effect where ContextFence
//                     is 0, and from CUDA 12.5 on. Default 1 second.
//   Defragmentation   When free memory that lies in pieces is mapped a second time, side by side,
//                     to serve an allocation that is larger than each piece (no byte is copied, and
//                     nothing waits): poolDefragmentNever, poolDefragmentUnderPressure (when the
//                     device or the pool's limit gives no more memory) or
//                     poolDefragmentBeforeGrowth (also rather than to take memory that the program
//                     was never seen to need: 4 % more, or 8 MiB, than it ever used at once).
//                     Blocks that were allocated with poolMallocFixed have no part in it. Default
//                     poolDefragmentBeforeGrowth.
//   RemapTimeMax      Nanoseconds that one call may spend on such mapping before the pool grows
//                     instead. It is counted, not measured, so that a pool's doings don't depend on
//                     a clock: 25,000 for each extent, which is what it takes on an H200. Under
//                     pressure there is no limit. Default 2,000,000.
//   TrimByReaper      What a synchronise would release, down to ReleaseThreshold, is released by
//                     the library's own thread, an extent at a time, and the synchronise returns at
//                     once. Until then it is reserved, ReservedMemCurrent says so, and it is free
//                     memory: an allocation may have it back. An allocation that has to map waits
//                     for one extent at most. poolMemPoolTrimTo still releases before it returns.
//                     Without effect where Reaper is 0, and in a Deterministic pool. Default 0: on
//                     the calling thread, as CUDA does it.
//   Reaper            The library may use a thread of its own for the pool: one for the process,
//                     started when it first has something to do and asleep when it has nothing, and
//                     ended when that lasts. It unmaps views of memory in pieces that are not kept
//                     any longer, once the work through them is known to have completed. 0: that is
//                     done on the calling thread, by the next allocation that makes such a view, at
//                     a synchronise, by poolMemPoolTrimTo, before an allocation fails, and when the
//                     pool ends; so it is in a Deterministic pool. The thread takes no signals.
//                     Default 1.
//   StreamPromises    What the program promises of the streams that it allocates this pool's memory
//                     on or frees it on, so that the driver needn't be asked in each call; values
//                     of enum poolStreamPromise, combined by |.
//                     poolPromiseStreamDestroy: each of them is destroyed by poolStreamDestroy, and
//                     before its context is. Then a thread knows the 16 streams that it used last
//                     by their handles; only the first call with a stream asks who it is. Default
//                     streams, whose meaning depends on the current context, are asked for as ever
//                     unless poolPromiseOneContext is given too. The chain of events that takes the
//                     place of stream ids on drivers older than CUDA 12.0 stays.
//                     poolPromiseNoCapture: none of them captures while it is passed to an
//                     allocation or a free of this pool; nor does any blocking stream of the
//                     context, where a legacy default stream is passed.
//                     poolPromiseNeverCapture: none of them ever captures, whatever is called, from
//                     its first use with the pool to its end; nor does any blocking stream of the
//                     context, where a legacy default stream is used with the pool. With
//                     poolPromiseStreamDestroy, an allocation on one stream may then ask another
//                     one, and record an event there, at any time, which may wait until that one's
//                     queue has room. So a free records no event, however much it frees,
//                     UnfencedBytesMax has no meaning, and what an allocation on another stream
//                     needs to know of it is found out when it needs it; it may then have to wait
//                     for work that was given to the stream after the free. The legacy stream is
//                     asked; an event is recorded there only when no memory can be had otherwise,
//                     or when the promise ends, for the later work of all blocking streams then
//                     waits for what they have pending. Per-thread default streams and
//                     Deterministic pools keep to UnfencedBytesMax.
//                     poolPromiseOneContext: says something of the whole program, not of this
//                     pool's streams alone. As long as any pool carries it, every default stream
//                     (null, CU_STREAM_LEGACY, CU_STREAM_PER_THREAD) that is passed to any call of
//                     this library, on whatever thread and for whatever pool, is passed with one
//                     and the same context current, which is neither destroyed nor reset; calls
//                     that are under way when the promise is made count. So it is for programs that
//                     keep to one device and its primary context. With poolPromiseStreamDestroy, a
//                     thread then knows default streams by their handles too, in calls with memory
//                     of pools that carry both; without it, it has no effect. On all drivers.
//                     poolPromiseNoLegacyOrder: the program relies on the legacy default stream's
//                     order for none of this pool's memory: what is used on one stream, and freed
//                     or used on another, is ordered by an event or a synchronise between them.
//                     Then an allocation on a blocking, per-thread or legacy stream records no
//                     event for that order's sake, and takes no memory by it.
//                     With the first and one of the next two, an allocation that finds its memory
//                     at hand, and its free, make no driver call; on default streams also with the
//                     fourth, and on streams that take part in the legacy stream's order also with
//                     the fifth.
//                     Nothing notices a promise that is broken. The first one: a new stream with
//                     the handle of one that was destroyed otherwise is taken for that one, and is
//                     given memory that the old one's work may still be using; or its free fails
//                     with the driver's error, if it is of another context. The second one: the
//                     call does what it does outside of a capture, at the moment when it is made
//                     and not when the graph is launched, so the graph uses memory that others may
//                     be given; and an event that the call records becomes part of the capture, or
//                     invalidates it. The fourth one: the call works on the default stream of the
//                     context that was current when the thread passed it first, so the memory is
//                     given, and reused, in the order of a stream that the program doesn't use it
//                     on; and with no current context, none is made current, and an event that the
//                     call has to record is not recorded. The fifth one: memory is used while work
//                     that relied on that order still uses it. A promise ends when the attribute is
//                     set without it, or with the last memory of a pool that was destroyed. Default
//                     poolPromiseNothing.
//   ReleaseDelay      Beyond ReleaseThreshold, a synchronise also leaves as much as the program had
//                     in use at once in any of the pool's last so many intervals between two
//                     synchronises. So a loop that frees what it uses and synchronises takes memory
//                     from the device in its first round alone (1 is enough for it; for a loop that
//                     synchronises n times a round it is n). Memory that is not needed again goes
//                     back after that many further synchronises, or fewer than twice as many if the
//                     need falls by steps; all of it if nothing is in use. In use is what is live,
//                     freed and not known to be complete, or at hand for the stream that freed it;
//                     synchronises are those that would trim the pool, and no clock has a part in
//                     it. Default 0: CUDA's behaviour.
// clang-format off
#define STREAMPOOL_POOL_ATTRIBUTES(X) \
    X(poolMemPoolReuseFollowEventDependencies, 1, int) \
    X(poolMemPoolReuseAllowOpportunistic, 2, int) \
    X(poolMemPoolReuseAllowInternalDependencies, 3, int) \
    X(poolMemPoolAttrReleaseThreshold, 4, uint64_t) \
    X(poolMemPoolAttrReservedMemCurrent, 5, uint64_t) \
    X(poolMemPoolAttrReservedMemHigh, 6, uint64_t) \
    X(poolMemPoolAttrUsedMemCurrent, 7, uint64_t) \
    X(poolMemPoolAttrUsedMemHigh, 8, uint64_t) \
    X(poolMemPoolAttrAllocationType, 9, int) \
    X(poolMemPoolAttrExportHandleTypes, 10, int) \
    X(poolMemPoolAttrLocationId, 11, int) \
    X(poolMemPoolAttrLocationType, 12, int) \
    X(poolMemPoolAttrMaxPoolSize, 13, uint64_t) \
    X(poolMemPoolAttrHwDecompressEnabled, 14, int) \
    X(poolMemPoolAttrUnfencedBytesMax, 1000, uint64_t) \
    X(poolMemPoolAttrHostWaitMax, 1001, uint64_t) \
    X(poolMemPoolAttrDeterministic, 1002, int) \
    X(poolMemPoolAttrContextFence, 1003, int) \
    X(poolMemPoolAttrDefragmentation, 1004, int) \
    X(poolMemPoolAttrRemapTimeMax, 1005, uint64_t) \
    X(poolMemPoolAttrTrimByReaper, 1006, int) \
    X(poolMemPoolAttrReaper, 1007, int) \
    X(poolMemPoolAttrStreamPromises, 1010, int) \
    X(poolMemPoolAttrReleaseDelay, 1011, uint64_t) \
    X(poolMemPoolAttrContextWaitMax, 1012, uint64_t)
// clang-format on

// The values of poolMemPoolAttrStreamPromises, which can be combined.
enum poolStreamPromise {
    poolPromiseNothing = 0,
    poolPromiseStreamDestroy = 1,
    poolPromiseNoCapture = 2,
    poolPromiseNeverCapture = 4,
    poolPromiseOneContext = 8,
    poolPromiseNoLegacyOrder = 16
};

// The values of poolMemPoolAttrDefragmentation.
enum poolDefragmentation {
    poolDefragmentNever = 0,
    poolDefragmentUnderPressure = 1,
    poolDefragmentBeforeGrowth = 2
};

// What a pool counts: attributes too, read as uint64_t, and set to 0 to count anew.
// poolMemPoolGetStatisticName() gives the name that stands here without its prefix. Each allocation
// counts once, by the rule that its memory came by or as growth:
//
//   ReuseSameStream     also the small blocks that other streams freed, once they may be used where
//                       they came from: a stream keeps no account of each
//   ReuseComplete       what was known when the allocation looked, by whatever means: a
//                       synchronise, the end of a context, an earlier question, or one that the
//                       pool has asked ahead of need; and what is left over of a growth or was
//                       primed
//   ReuseFoundComplete  an allocation that had found nothing so far, asked, and was served by the
//                       answer
//
//   X(name without its prefix poolMemPoolStat, number, what is counted)
// clang-format off
#define STREAMPOOL_POOL_STATISTICS(X) \
    X(ReuseSameStream, 1100, "allocations from memory that was last used on the same stream") \
    X(ReuseComplete, 1101, "allocations from memory that nothing was pending on, as was known") \
    X(ReuseOrdered, 1102, "allocations from memory of another stream that the stream runs after") \
    X(ReuseFoundComplete, 1103, "allocations from memory that a query found complete") \
    X(ReuseMadeOrdered, 1104, "allocations from memory of another stream for which a wait was inserted") \
    X(Growths, 1105, "allocations for which memory was mapped") \
    X(GrowthsAfterTrim, 1106, "of these, the ones that first had caches given back to the device") \
    X(WaitsInserted, 1107, "waits inserted into the program's streams") \
    X(ContextFences, 1108, "waits for everything that a context had been given") \
    X(HostWaits, 1109, "allocations that waited on the host") \
    X(OtherRegion, 1110, "allocations from memory that is kept for blocks of another size") \
    X(EventsRecorded, 1111, "private events recorded by allocations and frees") \
    X(Failures, 1112, "allocations that found no memory") \
    X(Remaps, 1113, "allocations from memory in pieces that was mapped once more, side by side") \
    X(KeptViewsUsed, 1114, "of these, the ones for which an earlier mapping was used again, with no driver call") \
    X(RemappedExtents, 1115, "extents that were mapped once more") \
    X(RemappedBytes, 1116, "bytes of these extents") \
    X(RemapTime, 1117, "nanoseconds that allocations spent on mapping them") \
    X(GrowthTime, 1118, "nanoseconds that allocations spent on mapping new memory") \
    X(ZombiesBuried, 1120, "views of memory in pieces that were unmapped, by whatever thread") \
    X(BytesReleasedByReaper, 1121, "bytes that the library's own thread gave back to the device") \
    X(ReaperTime, 1122, "nanoseconds that it spent in unmapping and releasing") \
    X(LastQuestions, 1123, "questions that were asked before an allocation would have been refused, or while it waited on the host") \
    X(LegacyFences, 1124, "waits for all that the blocking streams of a context had been given") \
    X(ContextWaits, 1125, "allocations that waited on the host for all that a context had been given")
// clang-format on

// How a pool stands just now: attributes too, read only, as uint64_t; poolMemPoolGetStatisticName()
// knows their names. Reading one looks through what the pool has free and may take as long as there
// are free blocks.
//
//   X(name without its prefix poolMemPoolStat, number, what it tells)
// clang-format off
#define STREAMPOOL_POOL_GAUGES(X) \
    X(KeptViews, 1200, "views of memory in pieces that are kept mapped") \
    X(KeptMappings, 1201, "mappings of extents in them") \
    X(Zombies, 1202, "views that wait for their work to complete before they are unmapped") \
    X(AddressSpace, 1203, "bytes of address space that the pool holds") \
    X(LargestFree, 1204, "the largest block that any stream could be given without mapping anything") \
    X(LargestRemapped, 1205, "the same with remapping") \
    X(PinnedBytes, 1206, "free bytes in extents that are partly in use")
// clang-format on

enum poolMemPoolAttr {
#define STREAMPOOL_DEFINE_ATTRIBUTE(name, number, type) name = number,
    STREAMPOOL_POOL_ATTRIBUTES(STREAMPOOL_DEFINE_ATTRIBUTE)
#undef STREAMPOOL_DEFINE_ATTRIBUTE
#define STREAMPOOL_DEFINE_STATISTIC(name, number, text) poolMemPoolStat##name = number,
        STREAMPOOL_POOL_STATISTICS(STREAMPOOL_DEFINE_STATISTIC)
            STREAMPOOL_POOL_GAUGES(STREAMPOOL_DEFINE_STATISTIC)
#undef STREAMPOOL_DEFINE_STATISTIC
};

// The name of a statistic ("ReuseOrdered", "KeptViews") by its attribute's number, or null for any
// other number.
STREAMPOOL_API const char *poolMemPoolGetStatisticName(enum poolMemPoolAttr attr);

// Makes a pool. It reserves no memory yet, and calls the driver only to look at the device. The new
// pool is not the current pool of its device. (cudaMemPoolCreate)
//   poolErrorInvalidValue       a null parameter; an allocation type other than pinned; a handle
//                               type other than none or file descriptor; a location type other than
//                               device; no such device; reserved bytes that are not 0
//   poolErrorNotSupported       a handle type that the device can't export; a location of type host
//                               (no host pools yet); a device without virtual memory management:
//                               the detail names what is missing
//   poolErrorMemoryAllocation   no host memory, no address space for maxSize, or 1048575 pools
//                               exist already
STREAMPOOL_API poolError_t poolMemPoolCreate(poolMemPool_t *pool,
                                             const struct poolMemPoolProps *props);

// Gives a pool up. Waits for no work, at most for a driver call of the library's own thread on the
// pool: live allocations stay valid and are freed as usual, and the pool's memory goes back to the
// device with the last of them, once the work before its free has completed. The handle is invalid
// from now on. If it was the device's current pool, the default pool becomes current.
// (cudaMemPoolDestroy)
//   poolErrorInvalidValue       null, a handle that is not a pool (any more), or a default pool
STREAMPOOL_API poolError_t poolMemPoolDestroy(poolMemPool_t pool);

// Reads or writes one attribute; `value` points to an int or a uint64_t as the table above says.
// Doesn't block and doesn't call the driver. (cudaMemPoolGetAttribute, cudaMemPoolSetAttribute)
//   poolErrorInvalidValue       not a pool; an unknown attribute; a null value; writing a read-only
//                               attribute; writing anything but 0 to a High figure
STREAMPOOL_API poolError_t poolMemPoolGetAttribute(poolMemPool_t pool, enum poolMemPoolAttr attr,
                                                   void *value);
STREAMPOOL_API poolError_t poolMemPoolSetAttribute(poolMemPool_t pool, enum poolMemPoolAttr attr,
                                                   void *value);

// Lets other devices use the pool's memory directly, or no longer: what is allocated already and
// all that will be, wherever it is mapped. A device that isn't named keeps what it has; of several
// entries for one device the last one counts. Whoever takes access away vouches that no work of
// that device uses the memory. Any number of threads may allocate and free meanwhile; each mapping
// of the pool takes a driver call, and a call that fails has changed nothing, unless the driver
// then doesn't put back either what it had taken. Waits for threads that map memory of the pool. A
// count of 0 succeeds. (cudaMemPoolSetAccess)
//   poolErrorInvalidValue       not a pool; a null list with a count; a location type other than
//                               device; flags that are none
//   poolErrorInvalidDevice      no such device; the pool's own device, with no access; a device
//                               that can't access memory of the pool's (cuDeviceCanAccessPeer)
//   poolErrorNotSupported       the pool's own device, with access to read only
STREAMPOOL_API poolError_t poolMemPoolSetAccess(poolMemPool_t pool,
                                                const struct poolMemAccessDesc *descList,
                                                size_t count);

// What a device may do with the pool's memory: at first its own device all, and others nothing.
// Doesn't block. (cudaMemPoolGetAccess)
//   poolErrorInvalidValue       a null parameter; not a pool; a location that isn't a device of
//                               this system
STREAMPOOL_API poolError_t poolMemPoolGetAccess(enum poolMemAccessFlags *flags, poolMemPool_t pool,
                                                const struct poolMemLocation *location);

// Gives free memory back to the device until at most `minBytesToKeep` bytes (rounded up to the
// device's granule) are reserved, or until nothing more can be released. Memory whose free may
// still be pending is left alone, so this never waits for the device; it does call the driver. What
// poolMemPoolPrime prepared beyond `minBytesToKeep` goes too, and is not kept any longer.
// (cudaMemPoolTrimTo)
//   poolErrorInvalidValue       not a pool
STREAMPOOL_API poolError_t poolMemPoolTrimTo(poolMemPool_t pool, size_t minBytesToKeep);

// Prepares memory ahead of need: afterwards at least `bytes` bytes of the pool (rounded up to the
// device's granule) are free for any stream, and allocations of up to so many bytes together map
// nothing, whatever their sizes. What counts is what they take: more than 56 KiB are rounded up to
// 512 bytes, and smaller blocks come by the page, 64 to 448 KiB for one size and one stream. The
// memory is contiguous, in few extents, and joined with what the pool has free beside it; only
// where the device or maxSize has no room for that, free memory in pieces counts as well. Memory
// whose free is still pending doesn't count, and poolMallocFixed, which takes extents of its own,
// has no part in it. 0 bytes succeed and do nothing.
//
// A synchronise leaves what was primed, whatever ReleaseThreshold says: `bytes` free bytes (of
// several calls the most), as long as the pool holds no more than it did then. An allocation for
// which the device has no room takes it like any other cache, and poolMemPoolTrimTo gives it back:
// from then on no more than its `minBytesToKeep` are primed. Waits for no work of the device, only
// for threads that map memory of the pool; calls the driver, also while streams capture. A call
// that fails has mapped nothing. (CUDA has no such call: there a program raises the threshold,
// allocates and frees.)
//   poolErrorInvalidValue       not a pool
//   poolErrorMemoryAllocation   more than the device, the pool's maxSize or the host has left, also
//                               once caches of other pools were given back for it
STREAMPOOL_API poolError_t poolMemPoolPrime(poolMemPool_t pool, size_t bytes);

// The pool that a device starts with, the pool that it allocates from now, and setting the latter.
// Each device always has a default pool; it can't be destroyed. (cudaDeviceGetDefaultMemPool,
// …GetMemPool, …SetMemPool)
//   poolErrorInvalidValue       null pool or not a pool; no such device, but for the default pool
//   poolErrorInvalidDevice      the pool belongs to another device; of the default pool: no such
//                               device, which is looked at before all else
//   poolErrorNotSupported       the device has no virtual memory management
STREAMPOOL_API poolError_t poolDeviceGetDefaultMemPool(poolMemPool_t *pool, int device);
STREAMPOOL_API poolError_t poolDeviceGetMemPool(poolMemPool_t *pool, int device);
STREAMPOOL_API poolError_t poolDeviceSetMemPool(int device, poolMemPool_t pool);

// ------------------------------------------------------------------------------- allocate and free

// Allocates `size` bytes in the order of `stream`: from the current pool of the stream's device, or
// from the given pool, which may belong to another device. The memory may be used by work that
// comes after this call in the stream's order, or that is ordered behind such work; the pointer is
// aligned to at least 512 bytes. A size of 0 succeeds with a null pointer. The common case makes no
// driver call but the checks of the stream's capture state and identity, and none where the
// attribute StreamPromises answers them; on streams that take part in the legacy stream's order it
// may record an event, which may block when the stream's queue is full. When the pool has no
// suitable memory it grows, which calls the driver, but never waits for the device.
// (cudaMallocAsync, cudaMallocFromPoolAsync. CUDA's pool grows to the whole device before it fails;
// this one is as it was.)
//   poolErrorInvalidValue             null ptr; not a pool
//   poolErrorMemoryAllocation         more than the device, the pool's maxSize or the host has
//                                     left; a size that no device could have is refused at once
//   poolErrorStreamCaptureUnsupported the stream is capturing
//   poolErrorStreamCaptureImplicit    the legacy stream, while a blocking stream of the context is
//                                     capturing
//   poolErrorInvalidResourceHandle    not a stream (as far as the driver can tell)
//   poolErrorNotSupported             the device has no virtual memory management
STREAMPOOL_API poolError_t poolMallocAsync(void **ptr, size_t size, CUstream stream);
STREAMPOOL_API poolError_t poolMallocFromPoolAsync(void **ptr, size_t size, poolMemPool_t pool,
                                                   CUstream stream);

// The same with flags that narrow the pool's policies for this allocation; they never widen them. A
// null pool is the current one.
//   poolMallocSameStreamOnly   only memory that was last used on the same stream, or on which
//                              nothing is known to be pending
//   poolMallocNoInsertedWaits  no wait is inserted into the stream
//   poolMallocNoGrowth         no memory is taken from the device: poolErrorMemoryAllocation rather
//                              than that
//   poolMallocFixed            the block lies in one extent, which other devices can access
//                              directly where this one can: for NCCL and RDMA registrations, which
//                              see only the first extent
//   poolErrorInvalidValue      also for any other flag
enum poolMallocFlags {
    poolMallocDefault = 0,
    poolMallocSameStreamOnly = 1,
    poolMallocNoInsertedWaits = 2,
    poolMallocNoGrowth = 4,
    poolMallocFixed = 8
};
STREAMPOOL_API poolError_t poolMallocAsyncWithFlags(void **ptr, size_t size, poolMemPool_t pool,
                                                    CUstream stream, unsigned int flags);

// Frees an allocation in the order of `stream`: every use of it must be ordered before this point.
// Any stream will do. The pool may hand the memory to later work of the same stream at once, and to
// other streams when that is safe. A null pointer succeeds. Doesn't block. A pointer that is at no
// pool's address is passed to the driver's cuMemFreeAsync, which frees memory of cuMemAlloc
// (cudaMalloc) and of the driver's own pools, and refuses all else. (cudaFreeAsync)
//   poolErrorInvalidValue             a pointer that is not the start of a live allocation: freed
//                                     already, interior, host memory; or memory of the driver,
//                                     where that is older than CUDA 11.2; or the stream is
//                                     capturing (the capture and the memory stay valid); the detail
//                                     tells them apart
//   poolErrorNotSupported             memory of the driver, on a device without the driver's own
//                                     pools
//   poolErrorStreamCaptureImplicit    the legacy default stream, beside a blocking stream that
//                                     captures: the memory stays live, and the capture valid
//   poolErrorInvalidResourceHandle    not a stream (as far as the driver can tell)
STREAMPOOL_API poolError_t poolFreeAsync(void *ptr, CUstream stream);

// Frees an allocation in no stream's order: the caller vouches that all his own use of it has
// completed. Doesn't block: unlike cudaFree it doesn't wait for the device. A null pointer
// succeeds. A pointer that is at no pool's address is passed to the driver's cuMemFree, which waits
// for the device, and is not permitted while a stream captures. (cudaFree)
//   poolErrorInvalidValue             as for poolFreeAsync
STREAMPOOL_API poolError_t poolFree(void *ptr);

// -------------------------------------------------------------- synchronisation, and what it tells

// These do what CUDA's calls do, tell the allocator what has completed, and trim to the release
// threshold the pools that hold memory freed in that work. They matter to reuse and trimming only:
// a program that uses CUDA's own calls instead stays correct, and its pools learn less.
//
// poolStreamSynchronize and poolEventSynchronize block until the stream's work, or the event's, is
// complete; poolDeviceSynchronize until all work of the current context is. (cudaStreamSynchronize,
// cudaEventSynchronize, cudaDeviceSynchronize) The errors are the driver's. Not permitted during a
// capture, as in CUDA. Behind a free on a blocking or per-thread stream poolStreamSynchronize also
// waits for the work of the legacy stream that came before the free, as CUDA's does behind CUDA's
// free: it records an event in the stream, unless one stands behind the free, and waits for that.
// The driver's own synchronise doesn't.
STREAMPOOL_API poolError_t poolStreamSynchronize(CUstream stream);
STREAMPOOL_API poolError_t poolEventSynchronize(CUevent event);
STREAMPOOL_API poolError_t poolDeviceSynchronize(void);

// Asks without blocking: poolSuccess when complete, poolErrorNotReady when not. They never trim.
// (cudaStreamQuery, cudaEventQuery) Behind a free on a blocking or per-thread stream
// poolStreamQuery says NotReady as long as work of the legacy stream that came before the free
// runs; for that it may record an event.
STREAMPOOL_API poolError_t poolStreamQuery(CUstream stream);
STREAMPOOL_API poolError_t poolEventQuery(CUevent event);

// Records an event in a stream, so that the allocator too knows a point behind the frees before it:
// with cuEventRecord alone a later poolEventSynchronize can't know which frees it covers. May block
// when the stream's queue is full. (cudaEventRecord)
STREAMPOOL_API poolError_t poolEventRecord(CUevent event, CUstream stream);

// Makes the stream wait for the event; `flags` are the driver's, 0 as a rule. With the policy
// FollowEventDependencies, memory that was freed before the event was recorded (by poolEventRecord)
// may then be handed to the stream. May block when the stream's queue is full.
// (cudaStreamWaitEvent)
STREAMPOOL_API poolError_t poolStreamWaitEvent(CUstream stream, CUevent event, unsigned int flags);

// Destroys a stream, and an event. Frees pending on the stream are marked first, so that their
// memory can be reused before the next poolDeviceSynchronize: with cuStreamDestroy alone nobody
// learns when they complete. A program that has promised so (StreamPromises) destroys its streams
// by no other call. (cudaStreamDestroy, cudaEventDestroy)
STREAMPOOL_API poolError_t poolStreamDestroy(CUstream stream);
STREAMPOOL_API poolError_t poolEventDestroy(CUevent event);

// -------------------------------------------------------------- per-thread default stream variants

// The same calls with the per-thread default stream in the place of stream 0. Programs don't call
// them by name: with CUDA_API_PER_THREAD_DEFAULT_STREAM defined the plain names become these, as
// with the runtime.
STREAMPOOL_API poolError_t poolMallocAsync_ptsz(void **ptr, size_t size, CUstream stream);
STREAMPOOL_API poolError_t poolMallocFromPoolAsync_ptsz(void **ptr, size_t size, poolMemPool_t pool,
                                                        CUstream stream);
STREAMPOOL_API poolError_t poolFreeAsync_ptsz(void *ptr, CUstream stream);
STREAMPOOL_API poolError_t poolStreamSynchronize_ptsz(CUstream stream);
STREAMPOOL_API poolError_t poolStreamQuery_ptsz(CUstream stream);
STREAMPOOL_API poolError_t poolEventRecord_ptsz(CUevent event, CUstream stream);
STREAMPOOL_API poolError_t poolStreamWaitEvent_ptsz(CUstream stream, CUevent event,
                                                    unsigned int flags);
STREAMPOOL_API poolError_t poolMallocAsyncWithFlags_ptsz(void **ptr, size_t size,
                                                         poolMemPool_t pool, CUstream stream,
                                                         unsigned int flags);

#if defined(CUDA_API_PER_THREAD_DEFAULT_STREAM)
#define poolMallocAsync          poolMallocAsync_ptsz
#define poolMallocFromPoolAsync  poolMallocFromPoolAsync_ptsz
#define poolFreeAsync            poolFreeAsync_ptsz
#define poolStreamSynchronize    poolStreamSynchronize_ptsz
#define poolStreamQuery          poolStreamQuery_ptsz
#define poolEventRecord          poolEventRecord_ptsz
#define poolStreamWaitEvent      poolStreamWaitEvent_ptsz
#define poolMallocAsyncWithFlags poolMallocAsyncWithFlags_ptsz
#endif

#ifdef __cplusplus
}
#endif

#endif
