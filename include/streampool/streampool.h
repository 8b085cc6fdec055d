/// @file
/// Stream-ordered memory pools for CUDA programs, built on the driver's virtual memory calls, or on
/// cuMemAlloc where the device has none.
///
/// The calls are those of the CUDA runtime's stream-ordered allocator with `pool` in the place of
/// `cuda`: cudaMallocAsync is poolMallocAsync, cudaMemPoolTrimTo is poolMemPoolTrimTo. Parameters,
/// attributes, enumerator values and error numbers are the runtime's, so renaming a prefix ports a
/// program. Where a call differs from CUDA's, its comment says so. In C++, streampool/overloads.h
/// adds typed pointers and defaults, and streampool/streampool.hpp has classes.
///
/// The library makes two promises. docs/promises.md explains them in full, and what follows from
/// them for contexts, for the legacy default stream, and for a full device:
///
/// - Never too early: no byte is handed to a stream while work that was ordered before its free
///   may still run elsewhere.
/// - Free memory can always be had: when nothing is pending, an allocation that fits succeeds with
///   default attributes, whatever calls the program synchronised by, but for at most 64 MiB of a
///   device, or a 64th of it where that is less. When something is pending and the policies allow
///   waits, it succeeds by waiting.
///
/// The following holds for every call, and the comments of the calls do not repeat it.
///
/// **Words.** *Reserved* bytes are physical memory that a pool holds; *used* bytes are what
/// callers asked for and have not freed. All sizes are in bytes.
///
/// **Streams.** A CUstream is the driver's own handle (the runtime's cudaStream_t). 0 is the
/// legacy default stream, or the per-thread one in a program compiled with
/// CUDA_API_PER_THREAD_DEFAULT_STREAM; (CUstream)0x1 is always the legacy and (CUstream)0x2 always
/// the per-thread default stream. Default streams are those of the calling thread's current
/// context. Any other stream works with no context current.
///
/// **No context.** A call on a default stream, and poolDeviceSynchronize, need a current context.
/// Where the thread has none, they make a primary context current, as the runtime's calls do, and
/// leave it current. When it can't be had, they fail with the driver's error.
///
/// **Order.** A call that takes a stream acts at that point of the stream's order. An allocation
/// of reused memory and a free are actions in the legacy default stream's order, as CUDA's are.
///
/// **Threads.** Every call may be made from any thread at any time, except from a function that
/// the driver runs in a stream (cuLaunchHostFunc): there a call that needs the driver fails with
/// the driver's error. A thread that is asked to end by pthread_cancel (deferred, as by default)
/// does not end in a call: the request stays for the thread's next cancellation point behind it.
/// A thread that can be cancelled at any time (PTHREAD_CANCEL_ASYNCHRONOUS) makes no call.
///
/// **Failure.** A call that fails changes nothing: no figure, no byte, no output parameter. The
/// code is generic; poolGetLastErrorDetail says in words what happened, and poolGetLastNativeError
/// which entry point of the driver said so. There is one exception: if the device has no room for
/// an allocation, and the free memory of its pools seems to be enough, the library gives at least
/// what is missing back to the device. That memory stays given back if the allocation still fails.
///
/// **Driver.** The library finds the driver at the first call that needs it: the library that the
/// environment variable STREAMPOOL_DRIVER names, else libcuda.so.1. The variable holds a path, a
/// soname, or `sim`: the simulated driver, libstreampool_simcuda.so in the folder of the shared
/// library (of the program, where the library is linked into it). With no usable driver every call
/// that needs one returns the same error: poolErrorInsufficientDriver when the driver is missing
/// or too old (CUDA 10.2 is the oldest), poolErrorNoDevice when it has no device. The driver's own
/// failures (a sticky error of the context, say) are passed on with the driver's number. The
/// comments of the calls list neither.
///
/// **Fork.** A child made by fork() without exec() can't use a device that its parent has used:
/// every call that needs one returns poolErrorInitializationError there, poolPointerGetAttributes
/// too. The calls about errors and versions, poolMemPoolGetStatisticName and poolMemPoolPrintGrowth
/// need none. A process that makes no calls but these and poolPointerGetAttributes leaves the
/// device to its children; each other call begins to use it, whatever its parameters.
#ifndef STREAMPOOL_STREAMPOOL_H
#define STREAMPOOL_STREAMPOOL_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/// The library has this version. Before 1.0 a minor version may break programs built with another.
#define STREAMPOOL_VERSION_MAJOR 0
/// The minor version counts what was added.
#define STREAMPOOL_VERSION_MINOR 1
/// The patch version counts what was only mended.
#define STREAMPOOL_VERSION_PATCH 0

/// This mark exports a function. Every function of this header has it, and no other function has.
#if defined(__GNUC__)
#define STREAMPOOL_API __attribute__((visibility("default")))
#else
#define STREAMPOOL_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/// The driver's stream is declared as in cuda.h, so this header and cuda.h go together in either
/// order.
typedef struct CUstream_st *CUstream;

/// The driver's event is declared as in cuda.h.
typedef struct CUevent_st *CUevent;

// ------------------------------------------------------------------------------------------ errors

// A call returns one of these codes. These calls say what a code means, and why the last failed
// call of a thread failed.

/// Says how a call ended. The numbers are cudaError_t's, which are the driver's too.
/// STREAMPOOL_ERRORS in streampool/lists.h lists them with their texts.
typedef enum poolError {
    /// The call succeeded.
    poolSuccess = 0,
    /// An argument is invalid; the detail names it.
    poolErrorInvalidValue = 1,
    /// The device, the pool's limit or the host has no memory left for the call.
    poolErrorMemoryAllocation = 2,
    /// The driver is not usable in this process, such as a child made by fork().
    poolErrorInitializationError = 3,
    /// The driver is shutting down.
    poolErrorCudartUnloading = 4,
    /// The driver is missing or too old.
    poolErrorInsufficientDriver = 35,
    /// The driver has no CUDA-capable device.
    poolErrorNoDevice = 100,
    /// No device has this ordinal.
    poolErrorInvalidDevice = 101,
    /// The thread has no current context.
    poolErrorDeviceUninitialized = 201,
    /// The driver could not map memory.
    poolErrorMapBufferObjectFailed = 205,
    /// The driver could not unmap memory.
    poolErrorUnmapBufferObjectFailed = 206,
    /// The device found a memory error that it could not correct.
    poolErrorECCUncorrectable = 214,
    /// A call of the operating system failed.
    poolErrorOperatingSystem = 304,
    /// The handle is no stream or no event.
    poolErrorInvalidResourceHandle = 400,
    /// The resource is not in a state that permits the call.
    poolErrorIllegalState = 401,
    /// The driver did not find what was named.
    poolErrorSymbolNotFound = 500,
    /// The work is not complete yet.
    poolErrorNotReady = 600,
    /// A kernel accessed an illegal address.
    poolErrorIllegalAddress = 700,
    /// A kernel ran into the time limit.
    poolErrorLaunchTimeout = 702,
    /// The context was destroyed.
    poolErrorContextIsDestroyed = 709,
    /// An assertion failed on the device.
    poolErrorAssert = 710,
    /// A kernel corrupted its stack.
    poolErrorHardwareStackError = 714,
    /// A kernel executed an illegal instruction.
    poolErrorIllegalInstruction = 715,
    /// A kernel accessed a misaligned address.
    poolErrorMisalignedAddress = 716,
    /// A kernel used the wrong address space.
    poolErrorInvalidAddressSpace = 717,
    /// A kernel jumped to an invalid address.
    poolErrorInvalidPc = 718,
    /// A kernel failed.
    poolErrorLaunchFailure = 719,
    /// The call is not permitted here.
    poolErrorNotPermitted = 800,
    /// The device, the driver or the library does not support this.
    poolErrorNotSupported = 801,
    /// The system is not ready.
    poolErrorSystemNotReady = 802,
    /// The stream captures, and the call is not permitted meanwhile.
    poolErrorStreamCaptureUnsupported = 900,
    /// An earlier error invalidated the capture.
    poolErrorStreamCaptureInvalidated = 901,
    /// Two independent captures would merge.
    poolErrorStreamCaptureMerge = 902,
    /// The capture was begun on another stream.
    poolErrorStreamCaptureUnmatched = 903,
    /// A forked stream was not joined to its capture.
    poolErrorStreamCaptureUnjoined = 904,
    /// A dependency would leave the capture.
    poolErrorStreamCaptureIsolation = 905,
    /// A capturing stream depends implicitly on this stream, which is the legacy one.
    poolErrorStreamCaptureImplicit = 906,
    /// The event was last recorded in a capturing stream.
    poolErrorCapturedEvent = 907,
    /// The capture was begun by another thread.
    poolErrorStreamCaptureWrongThread = 908,
    /// The time ran out.
    poolErrorTimeout = 909,
    /// The driver returned an error that has no number here.
    poolErrorUnknown = 999
} poolError_t;

/// Returns the name of an error, such as "poolErrorInvalidValue", or "unrecognized error code" for
/// an unknown number; never null. Doesn't call the driver. (cudaGetErrorName)
///
/// @param error Is what a call returned.
STREAMPOOL_API const char *poolGetErrorName(poolError_t error);

/// Returns one line about an error, or "unrecognized error code" for an unknown number; never
/// null. Doesn't call the driver. (cudaGetErrorString)
///
/// @param error Is what a call returned.
STREAMPOOL_API const char *poolGetErrorString(poolError_t error);

/// Returns the error of the last call of this thread that failed, and poolSuccess from then on
/// until another one fails. A call that succeeds doesn't change it. poolErrorNotReady, the answer
/// of poolStreamQuery and poolEventQuery, is no failure here: CUDA's programming guide says under
/// "Error Checking" that cudaGetLastError doesn't report it either. An error of the context, such
/// as poolErrorIllegalAddress, is returned by this call once like any other; but each later call
/// that needs the driver fails with it again. Doesn't call the driver. (cudaGetLastError)
STREAMPOOL_API poolError_t poolGetLastError(void);

/// Returns what poolGetLastError would, and changes nothing. Doesn't call the driver.
/// (cudaPeekAtLastError)
STREAMPOOL_API poolError_t poolPeekAtLastError(void);

/// Makes `error` the last error of this thread, with the sentence `detail`, as if a call had failed
/// so; a null `detail` is "". poolSuccess and poolErrorNotReady change nothing. Returns `error`. It
/// is for code that stands before the library and refuses a call itself, as
/// streampool/cuda_compat.h does. Doesn't call the driver. (CUDA has no such call.)
///
/// @param error Is the error to be noted.
/// @param detail Says what happened, in one sentence, which is copied. May be null.
STREAMPOOL_API poolError_t poolSetLastError(poolError_t error, const char *detail);

/// Returns why the last failed call of this thread failed, as one sentence: the missing driver
/// library and what was tried, every missing entry point, or the bad parameter. For an allocation
/// that found no memory it says why, how much of the pool is free and for whom, and what would
/// help. Returns "" when no call of this thread has failed. The text is valid until this thread's
/// next failing call. Doesn't call the driver.
STREAMPOOL_API const char *poolGetLastErrorDetail(void);

/// Gives the driver's own error that made the last failed call of this thread fail: its CUresult
/// number and the name of the entry point that returned it; 0 and "" when the driver had no part
/// in it.
/// Returns poolSuccess always, and doesn't call the driver.
///
/// @param[out] result Receives the CUresult. May be null.
/// @param[out] entryPoint Receives the name, which stays valid for the life of the process. May be
///     null.
STREAMPOOL_API poolError_t poolGetLastNativeError(int *result, const char **entryPoint);

/// Gives the version of this library, 1000 * major + 10 * minor. (cudaRuntimeGetVersion)
///
/// @param[out] version Receives the version.
///
/// - poolErrorInvalidValue: `version` is null.
STREAMPOOL_API poolError_t poolRuntimeGetVersion(int *version);

/// Gives the CUDA version that the driver supports, 1000 * major + 10 * minor. As
/// cuDriverGetVersion it needs no device, and answers whether the driver can be used or not: it
/// loads the driver's library and doesn't initialise it. (cudaDriverGetVersion, which tells 0 where
/// there is no driver)
///
/// @param[out] version Receives the version.
///
/// - poolErrorInvalidValue: `version` is null.
/// - poolErrorInsufficientDriver: there is no driver, or none that tells its version.
/// - Other errors are the driver's.
STREAMPOOL_API poolError_t poolDriverGetVersion(int *version);

// ------------------------------------------------------------------------------------------- pools

// These types name a pool, and say what it is made with.

/// A pool's name has fewer bytes than this; the null that ends it is the last one.
#define STREAMPOOL_NAME_BYTES 64

/// A pool is known to programs by this handle.
typedef struct poolMemPool_st *poolMemPool_t;

/// Names the kind of memory that a pool has, with the numbers of cudaMemAllocationType.
enum poolMemAllocationType {
    /// No pool has this kind.
    poolMemAllocationTypeInvalid = 0,
    /// The memory stays where it is.
    poolMemAllocationTypePinned = 1,
    /// The driver moves the memory to who uses it, a device or the host (docs/host-memory.md).
    poolMemAllocationTypeManaged = 2,
    /// No pool has this kind; it makes the type as wide as an int.
    poolMemAllocationTypeMax = 0x7FFFFFFF
};

/// Names the kinds of handle that a pool's memory can be exported as, with the numbers of
/// cudaMemAllocationHandleType.
enum poolMemAllocationHandleType {
    /// The memory is not exported.
    poolMemHandleTypeNone = 0,
    /// The memory can be exported as a file descriptor.
    poolMemHandleTypePosixFileDescriptor = 1,
    /// No pool has this kind; it makes the type as wide as an int.
    poolMemHandleTypeMax = 0x7FFFFFFF
};

/// Names the kind of place where memory is, with the numbers of cudaMemLocationType.
enum poolMemLocationType {
    /// Memory is in no such place.
    poolMemLocationTypeInvalid = 0,
    /// Managed memory prefers no place.
    poolMemLocationTypeNone = 0,
    /// The memory is on a device.
    poolMemLocationTypeDevice = 1,
    /// The memory is on the host, on any of its NUMA nodes.
    poolMemLocationTypeHost = 2,
    /// The memory is on one NUMA node of the host.
    poolMemLocationTypeHostNuma = 3,
    /// Managed memory prefers the NUMA node on which the calling thread runs.
    poolMemLocationTypeHostNumaCurrent = 4,
    /// The memory is where only devices see it (CUDA 13.2). No pool is there.
    poolMemLocationTypeInvisible = 5,
    /// The memory is in one part of a device (CUDA 13.4). No pool is there yet.
    poolMemLocationTypeDeviceLocalityDomain = 6
};

/// Names a place where memory is, laid out as cudaMemLocation.
struct poolMemLocation {
    /// Names the kind of place.
    enum poolMemLocationType type;
    /// Holds the device's ordinal, or the number of the NUMA node. Other places ignore it.
    int id;
};

/// Says what a device or the host may do with memory, with the numbers of cudaMemAccessFlags.
enum poolMemAccessFlags {
    /// It has no access.
    poolMemAccessFlagsProtNone = 0,
    /// It may read.
    poolMemAccessFlagsProtRead = 1,
    /// It may read and write.
    poolMemAccessFlagsProtReadWrite = 3
};

/// Says what one device, or the host, may do with a pool's memory, laid out as cudaMemAccessDesc.
struct poolMemAccessDesc {
    /// Is a device, or the host; any NUMA node stands for all of the host.
    struct poolMemLocation location;
    /// Says what it may do.
    enum poolMemAccessFlags flags;
};

/// Says what a pool's memory is for. The bits of poolMemPoolProps::usage that have no name here
/// have no effect. CUDA takes hints there, such as 2 for hardware decompression.
enum poolMemPoolUsage {
    /// The pool has no special use.
    poolMemPoolUsageNone = 0,
    /// The memory of a host pool is for copies from and to devices. It is made several times as
    /// fast: threads touch huge pages, which are then registered with the driver. In return it
    /// can't be put together from pieces, as on a device without virtual memory management
    /// (docs/host-memory.md, "Memory for staging"). Pools of other memory ignore it, and so does
    /// CUDA.
    poolMemPoolUsageStaging = 0x4000
};

/// Says what a pool is made with, laid out as cudaMemPoolProps.
struct poolMemPoolProps {
    /// Says whether the memory stays where it is, or is managed.
    enum poolMemAllocationType allocType;
    /// Is poolMemHandleTypeNone or poolMemHandleTypePosixFileDescriptor; of memory of the whole
    /// host and managed memory the former.
    enum poolMemAllocationHandleType handleTypes;
    /// Is where the memory is, or, of managed memory, prefers to be.
    struct poolMemLocation location;
    /// Is ignored, as on any Linux.
    void *win32SecurityAttributes;
    /// Limits the bytes that the pool may reserve, rounded up to 32 MiB; 0 means no limit. Of
    /// managed memory it is 0.
    size_t maxSize;
    /// Combines values of poolMemPoolUsage by |. Of managed memory it is 0.
    unsigned short usage;
    /// Is all 0. Where the driver supports CUDA 13.4, the first byte may be 1: then other devices
    /// can access the memory directly, where the device can.
    unsigned char reserved[54];
};

// -------------------------------------------------------------------------------------- attributes

// A pool has attributes: what it may do, what it holds, how it was made. A statistic is read like
// an attribute.

/// Names the attributes and statistics of a pool. CUDA's attributes have CUDA's numbers, 1 to 14,
/// and the library's own begin at 1000. What a pool counts has the numbers from 1100 on, and how
/// it stands those from 1200 on. Each comment says the type of the value. streampool/lists.h has
/// lists of all of them.
enum poolMemPoolAttr {
    /// An int, default 1: a stream may take memory that another stream has freed, when events order
    /// it after the free. Any number but 0 reads back as 1. Set it to 0 where work may begin before
    /// the work that is ordered before it has ended (docs/stream-order.md, "Where stream order is
    /// not completion").
    poolMemPoolReuseFollowEventDependencies = 1,
    /// An int, default 1: an allocation that finds no memory queries what has completed on other
    /// streams. Any number but 0 reads back as 1. Set it to 0 where the reuse of memory must not
    /// depend on how fast the device is (docs/stream-order.md, rule 4).
    poolMemPoolReuseAllowOpportunistic = 2,
    /// An int, default 1: when no more memory can be had, an allocation makes its stream wait for
    /// a free on another stream. Any number but 0 reads back as 1. Set it to 0 where no stream may
    /// wait for another unless the program says so (docs/stream-order.md, rule 5).
    poolMemPoolReuseAllowInternalDependencies = 3,
    /// A uint64_t in bytes, default 0: a synchronise gives free memory back to the device until the
    /// pool reserves no more than this. Raise it for a program that takes the memory again after
    /// each synchronise (docs/promises.md, "What a pool keeps").
    poolMemPoolAttrReleaseThreshold = 4,
    /// A uint64_t, read only: the bytes of physical memory that the pool holds, without what it has
    /// of the host by HostOverflowMax (poolMemPoolStatHostReserved).
    poolMemPoolAttrReservedMemCurrent = 5,
    /// A uint64_t: the most bytes of physical memory that the pool has held at once. Only 0 can be
    /// set, which resets it to ReservedMemCurrent.
    poolMemPoolAttrReservedMemHigh = 6,
    /// A uint64_t, read only: the bytes that callers asked for and have not freed. It falls when a
    /// free is called, not when the free completes (docs/promises.md, "Figures").
    poolMemPoolAttrUsedMemCurrent = 7,
    /// A uint64_t: the most bytes that were used at once. Only 0 can be set, which resets it to
    /// UsedMemCurrent. docs/promises.md, "Figures", says how exact it is with several threads.
    poolMemPoolAttrUsedMemHigh = 8,
    /// An int, read only: the poolMemAllocationType that the pool was made with.
    poolMemPoolAttrAllocationType = 9,
    /// An int, read only: the poolMemAllocationHandleType that the pool was made with.
    poolMemPoolAttrExportHandleTypes = 10,
    /// An int, read only: the number that the location was given with: of a device its ordinal, of
    /// a NUMA node its number.
    poolMemPoolAttrLocationId = 11,
    /// An int, read only: the poolMemLocationType that the pool was made with.
    poolMemPoolAttrLocationType = 12,
    /// A uint64_t in bytes, read only: the maxSize that the pool was made with; 0: no limit.
    poolMemPoolAttrMaxPoolSize = 13,
    /// An int, read only: 0, for no pool has memory for hardware decompression.
    poolMemPoolAttrHwDecompressEnabled = 14,
    /// An int, read only: -1, for no pool has its memory in one part of a device.
    poolMemPoolAttrLocalityDomainId = 15,

    /// A uint64_t in bytes, default 64 MiB, or a 64th of the device's memory or of the pool's limit
    /// where that is less: of the device no more lies in extents with memory that has no event
    /// behind its free, which others can't take. Lower it when streams miss what others freed; 0:
    /// an event at each free (docs/stream-order.md, "What hooks teach, and what they don't").
    poolMemPoolAttrUnfencedBytesMax = 1000,
    /// A uint64_t in nanoseconds, default 0: an allocation that would fail, because free memory is
    /// still pending, waits on the host for at most this time. Raise it when pools share a full
    /// device. A Deterministic pool does not wait (docs/promises.md, "While work is pending").
    poolMemPoolAttrHostWaitMax = 1001,
    /// An int, default 0: any other makes what the pool hands out depend on the program's calls,
    /// not on the device's speed. It is for programs that allocate from one thread, on streams that
    /// use no other pools (docs/stream-order.md, "The same decisions in every run"). On a device
    /// without virtual memory management the driver chooses the addresses.
    poolMemPoolAttrDeterministic = 1002,
    /// An int, default 0: with 1, an allocation for which the device has no room may wait for all
    /// work that its context has been given. The program then promises that no stream of the
    /// context captures while it allocates (docs/promises.md, "Out of reach").
    poolMemPoolAttrContextFence = 1003,
    /// An int, a value of poolDefragmentation, default poolDefragmentBeforeGrowth: when free
    /// memory in pieces is mapped once more, side by side. Lower it where a mapping call in an
    /// allocation is too slow (docs/defragmentation.md, "When").
    poolMemPoolAttrDefragmentation = 1004,
    /// A uint64_t in nanoseconds, default 2,000,000: the most time that one call may spend on
    /// mapping pieces once more. It is computed, at 25,000 for each extent. If it isn't enough, the
    /// pool grows instead. A lower number makes allocations shorter, and pools larger. There is no
    /// limit when memory is short (docs/defragmentation.md).
    poolMemPoolAttrRemapTimeMax = 1005,
    /// An int, default 0: with 1, the library's own thread releases what a synchronise would, and
    /// the synchronise returns at once. Has no effect where Reaper is 0, or in a Deterministic
    /// pool (docs/promises.md, "What a pool keeps").
    poolMemPoolAttrTrimByReaper = 1006,
    /// An int, default 1: the library may use one thread of its own, for the whole process, to
    /// unmap and release this pool's memory. With 0 the program's threads do that, as in a
    /// Deterministic pool (docs/defragmentation.md, "The library's own thread").
    poolMemPoolAttrReaper = 1007,
    /// An int, values of poolStreamPromise combined by |, default poolPromiseNothing: what the
    /// program promises of the streams that it passes to allocations and frees of the pool. Set it
    /// to save driver calls in each of them. Nothing notices a promise that is broken
    /// (docs/promises.md, "What a program can promise").
    poolMemPoolAttrStreamPromises = 1010,
    /// A uint64_t, a number n of synchronises, default 0: a synchronise leaves as much memory as
    /// was occupied at once in any of the last n intervals between synchronises, if that is more
    /// than ReleaseThreshold. 1 is enough for a loop that frees all and synchronises once
    /// (docs/promises.md, "What a pool keeps").
    poolMemPoolAttrReleaseDelay = 1011,
    /// A uint64_t in nanoseconds, default 1 second: before CUDA 12.5, ContextFence waits on the
    /// host for at most this time; with 0 it does not wait. From CUDA 12.5 on the attribute has no
    /// effect (docs/promises.md, "Out of reach").
    poolMemPoolAttrContextWaitMax = 1012,
    /// An int, read only: 1 where the pool maps virtual memory, 0 where its memory comes from
    /// cuMemAlloc. Of a driver that claims what it refuses, the device's first growth finds that
    /// out (docs/plain-memory.md, "What differs").
    poolMemPoolAttrVirtualMemory = 1013,
    /// A uint64_t in percent, default UINT64_MAX: an allocation that would have the pool grow by
    /// more than this (at least 8 MiB) over the most used at once waits for pending memory of its
    /// context, in stream order and at most four times in a row. Work that itself waits for that
    /// stream, for a flag or a host function, may then never end: see poolMemPoolSetAttribute.
    poolMemPoolAttrGrowthBeyondUse = 1014,
    /// A uint64_t in bytes, default 0: an allocation of 2 MiB or more that would be refused gets
    /// pinned memory of the host, until the pool holds so much of that. Raise it where a slow
    /// program is better than one that ends: kernels reach such memory over the bus
    /// (docs/host-memory.md, "Overflow").
    poolMemPoolAttrHostOverflowMax = 1015,

    // A pool counts these: each is a uint64_t, and setting it to 0 begins the count again. Each
    // allocation counts once, by the rule that its memory came by or as a growth
    // (docs/stream-order.md).

    /// Counts allocations from memory that was last used on the same stream. Small blocks that
    /// other streams freed count here too, once they may be used where they came from: a stream
    /// keeps no record of each.
    poolMemPoolStatReuseSameStream = 1100,
    /// Counts allocations from memory that was known to be complete when the allocation looked: by
    /// a synchronise, the end of a context, an earlier query, or one that the pool has made ahead
    /// of need. What is left of a growth or was primed counts too.
    poolMemPoolStatReuseComplete = 1101,
    /// Counts allocations from memory of another stream that the stream runs after.
    poolMemPoolStatReuseOrdered = 1102,
    /// Counts allocations that found nothing at first, and then got memory that a query found
    /// complete.
    poolMemPoolStatReuseFoundComplete = 1103,
    /// Counts allocations from memory of another stream for which a wait was inserted.
    poolMemPoolStatReuseMadeOrdered = 1104,
    /// Counts allocations for which new memory was mapped, and none a second time
    /// (poolMemPoolStatRemaps counts those).
    poolMemPoolStatGrowths = 1105,
    /// Counts the growths that first had caches given back to the device.
    poolMemPoolStatGrowthsAfterTrim = 1106,
    /// Counts waits that were inserted into the program's streams.
    poolMemPoolStatWaitsInserted = 1107,
    /// Counts waits for everything that a context had been given.
    poolMemPoolStatContextFences = 1108,
    /// Counts allocations that waited on the host, by HostWaitMax.
    poolMemPoolStatHostWaits = 1109,
    /// Counts allocations from memory that is kept for blocks of another size.
    poolMemPoolStatOtherRegion = 1110,
    /// Counts private events that allocations and frees recorded.
    poolMemPoolStatEventsRecorded = 1111,
    /// Counts allocations that found no memory.
    poolMemPoolStatFailures = 1112,
    /// Counts allocations from memory in pieces that was mapped once more, side by side.
    poolMemPoolStatRemaps = 1113,
    /// Counts the remaps that used an earlier mapping again, with no driver call.
    poolMemPoolStatKeptViewsUsed = 1114,
    /// Counts extents that were mapped once more.
    poolMemPoolStatRemappedExtents = 1115,
    /// Counts the bytes of these extents.
    poolMemPoolStatRemappedBytes = 1116,
    /// Counts the nanoseconds that allocations spent on mapping extents once more.
    poolMemPoolStatRemapTime = 1117,
    /// Counts the nanoseconds that allocations spent on mapping new memory.
    poolMemPoolStatGrowthTime = 1118,
    /// Counts zombies (poolMemPoolStatZombies) that were unmapped, by whatever thread.
    poolMemPoolStatZombiesBuried = 1120,
    /// Counts the bytes that the library's own thread gave back to the device.
    poolMemPoolStatBytesReleasedByReaper = 1121,
    /// Counts the nanoseconds that the library's own thread spent in unmapping and releasing.
    poolMemPoolStatReaperTime = 1122,
    /// Counts queries that were made before an allocation would have been refused, or while it
    /// waited on the host.
    poolMemPoolStatLastQuestions = 1123,
    /// Counts waits for all that the blocking streams of a context had been given.
    poolMemPoolStatLegacyFences = 1124,
    /// Counts allocations that waited on the host for all that a context had been given.
    poolMemPoolStatContextWaits = 1125,
    /// Counts the bytes that calls gave back to the device: at a synchronise, for
    /// poolMemPoolTrimTo, or for an allocation that the device had no room for.
    poolMemPoolStatBytesTrimmed = 1126,
    /// Counts the nanoseconds that calls spent on giving memory back to the device.
    poolMemPoolStatTrimTime = 1127,
    /// Counts allocations that waited in stream order where the pool would have grown
    /// (poolMemPoolAttrGrowthBeyondUse).
    poolMemPoolStatWaitsForGrowth = 1128,
    /// Counts growths beyond poolMemPoolAttrGrowthBeyondUse on streams that had waited too often in
    /// a row.
    poolMemPoolStatGrowthsAfterWaits = 1129,
    /// Counts allocations that got memory of the host in the place of the device's, new or again
    /// (poolMemPoolAttrHostOverflowMax).
    poolMemPoolStatReuseHost = 1130,

    // How a pool stands at this moment: each is a uint64_t, and read only. Reading one looks
    // through what the pool has free, and may take as long as there are free blocks.

    /// Tells the number of views of memory in pieces that are kept mapped.
    poolMemPoolStatKeptViews = 1200,
    /// Tells the number of mappings of extents in these views.
    poolMemPoolStatKeptMappings = 1201,
    /// Tells the number of zombies: views of memory in pieces that wait for their work to complete
    /// before they are unmapped.
    poolMemPoolStatZombies = 1202,
    /// Tells the bytes of address space that the pool holds.
    poolMemPoolStatAddressSpace = 1203,
    /// Tells the bytes of the largest block that any stream is given as it lies: nothing is mapped
    /// for it, and nothing waited for. Memory for small or for fixed blocks isn't given so. Below
    /// 64 KiB it is 0. Reading it, or the next, lets all have what streams keep in their lists.
    poolMemPoolStatLargestFree = 1204,
    /// Tells the bytes of the largest block that any stream is given without new memory, as it is
    /// with poolMallocNoGrowth: of what is free of any kind, and by remapping as far as
    /// poolMemPoolAttrDefragmentation allows that. Below 64 KiB it is 0.
    poolMemPoolStatLargestRemapped = 1205,
    /// Tells the free bytes in extents that are partly in use, which no trim gives back. Slabs are
    /// in use as a whole. Reading it moves nothing in the pool: no later allocation is served in
    /// another way.
    poolMemPoolStatPinnedBytes = 1206,
    /// Tells the free bytes of blocks whose free isn't complete, as far as the pool knows: it asks
    /// the driver nothing for this. Small blocks in slabs don't count. Reading it moves nothing
    /// in the pool.
    poolMemPoolStatPendingBytes = 1207,
    /// Tells the number of extents: pieces of the device's memory that the pool has mapped, and
    /// that it creates and gives back whole. What is reserved, divided by it, is their mean size.
    /// Reading it moves nothing in the pool.
    poolMemPoolStatExtents = 1208,
    /// Tells the number of blocks in use, and of slabs, in extents of which half or more is free:
    /// what a peak has left, and what keeps most of PinnedBytes from being given back. Reading it,
    /// or one of the next two, moves nothing in the pool.
    poolMemPoolStatPinningBlocks = 1209,
    /// Tells the bytes of these blocks and slabs: all of a block, also where most of it lies in
    /// other extents.
    poolMemPoolStatPinningBytes = 1210,
    /// Tells the bytes of the largest of these blocks and slabs.
    poolMemPoolStatLargestPinning = 1211,
    /// Tells the bytes of the host's memory that the pool holds (poolMemPoolAttrHostOverflowMax).
    /// ReservedMemCurrent doesn't count them. Reading it moves nothing in the pool.
    poolMemPoolStatHostReserved = 1212,
    /// Tells the bytes of extents that poolMemPoolEvict has taken the memory of.
    poolMemPoolStatEvictedBytes = 1213
};

/// Says when a pool maps free memory in pieces once more, side by side, to serve an allocation
/// that is larger than each piece: the values of poolMemPoolAttrDefragmentation.
enum poolDefragmentation {
    /// The pool never does.
    poolDefragmentNever = 0,
    /// The pool does when the device or its limit gives no more memory.
    poolDefragmentUnderPressure = 1,
    /// The pool also does so where it would otherwise take more memory than the program was ever
    /// seen to need.
    poolDefragmentBeforeGrowth = 2
};

/// Reads an attribute or a statistic into `value`, which points to an int or a uint64_t as the
/// comment of the attribute says. Doesn't wait for work and doesn't call the driver.
/// (cudaMemPoolGetAttribute)
///
/// @param pool Names the pool.
/// @param attr Names the attribute or statistic.
/// @param[out] value Receives an int or a uint64_t, in the unit of the attribute.
///
/// - poolErrorInvalidValue: `pool` is not a pool; the attribute is unknown; `value` is null.
STREAMPOOL_API poolError_t poolMemPoolGetAttribute(poolMemPool_t pool, enum poolMemPoolAttr attr,
                                                   void *value);

/// Sets an attribute to the int or uint64_t that `value` points to, or a statistic to 0.
/// Doesn't wait for work. Calls the driver only where poolPromiseNeverCapture ends or its pool
/// becomes Deterministic: then it records events, and may wait until a stream's queue has room; and
/// for HostOverflowMax, to ask what the device can. (cudaMemPoolSetAttribute)
///
/// GrowthBeyondUse is for programs whose host runs ahead of the device. With it a stream that
/// allocates may be made to wait for work that is pending on another stream, if policies and flags
/// allow it. If that work itself waits for the allocating stream, say for a flag that the stream's
/// next kernel or host function sets, neither ever ends. A program with such work leaves the
/// attribute at its default, or allocates with poolMallocNoInsertedWaits (docs/stream-order.md,
/// "Waits instead of growth").
///
/// @param pool Names the pool.
/// @param attr Names the attribute or statistic.
/// @param value Points to an int or a uint64_t, in the unit of the attribute.
///
/// - poolErrorInvalidValue: `pool` is not a pool; the attribute is unknown or read only; `value`
///   is null, or its number is none that the attribute takes: a High figure and a statistic take
///   only 0, Defragmentation and StreamPromises only their enumerators.
/// - poolErrorNotSupported: HostOverflowMax isn't 0, and the pool is none of a device, or its
///   memory can be exported or directly accessed; or the driver maps no memory of the host's nodes,
///   or none of the device.
STREAMPOOL_API poolError_t poolMemPoolSetAttribute(poolMemPool_t pool, enum poolMemPoolAttr attr,
                                                   void *value);

/// Gives a pool a name, by which all that is told of the pool calls it, such as statistics,
/// explained growths and the summary of `streampool run`. Without one it is "default pool of
/// device 0", or "pool 1", "pool 2", in the order in which the process made its pools. Several
/// pools may have one name. If the environment variable STREAMPOOL_POOL has settings for pools of
/// this name, they are made now (docs/environment.md, "Attributes of pools"). Doesn't call the
/// driver, unless such a setting does. (CUDA has no such call.)
///
/// @param pool Names the pool.
/// @param name Is the name in UTF-8, of at most 63 bytes, which are copied, and with no control
///     characters. Null or "" takes the name back.
///
/// - poolErrorInvalidValue: `pool` is not a pool; the name is too long, isn't UTF-8 or has a
///   control character. The pool keeps the name that it has.
STREAMPOOL_API poolError_t poolMemPoolSetName(poolMemPool_t pool, const char *name);

/// Gives the name of a pool: the one that was set, or what the pool is called without. Doesn't call
/// the driver. (CUDA has no such call.)
///
/// @param pool Names the pool.
/// @param[out] name Receives the name and the null that ends it.
/// @param size Is the number of bytes that `name` has room for: STREAMPOOL_NAME_BYTES are enough.
///
/// - poolErrorInvalidValue: `pool` is not a pool; `name` is null; `size` is too small.
STREAMPOOL_API poolError_t poolMemPoolGetName(poolMemPool_t pool, char *name, size_t size);

// ---------------------------------------------------------------------------------------- promises

// A pool asks the driver less when the program promises something about its streams.

/// Says what a program promises of its streams: the values of poolMemPoolAttrStreamPromises, which
/// can be combined by |. docs/promises.md says what each one saves, and what happens when it is
/// broken.
enum poolStreamPromise {
    /// The program promises nothing.
    poolPromiseNothing = 0,
    /// Each stream is destroyed by poolStreamDestroy, and before its context is.
    poolPromiseStreamDestroy = 1,
    /// No stream captures while it is passed to an allocation or a free of the pool; and where a
    /// legacy default stream is passed, no blocking stream of the context does.
    poolPromiseNoCapture = 2,
    /// No stream ever captures from its first use with the pool to its end; and where a legacy
    /// default stream is used with the pool, no blocking stream of the context does.
    poolPromiseNeverCapture = 4,
    /// Every default stream that the program passes to any call of the library is passed with one
    /// and the same context current, which is neither destroyed nor reset.
    poolPromiseOneContext = 8,
    /// The program relies on the legacy default stream's order for none of the pool's memory.
    poolPromiseNoLegacyOrder = 16
};

// -------------------------------------------------------------------------------------- statistics

// A pool counts what it has done, and tells its present state.

/// Returns the name of a statistic by its number, without the prefix `poolMemPoolStat`, such as
/// "ReuseOrdered" or "KeptViews"; null for any other number. Doesn't call the driver.
///
/// @param attr Is the number of a statistic.
STREAMPOOL_API const char *poolMemPoolGetStatisticName(enum poolMemPoolAttr attr);

/// Writes what a pool has done and how it stands, for a person to read: reserved and used bytes
/// with their peaks, the time in the driver, and each statistic that isn't 0, a line each. The
/// figures are read one after the other, while other threads go on. Doesn't call the driver, and
/// waits for nobody but a slow `out`, which is flushed. (CUDA has no such call.)
///
/// @param pool Names the pool.
/// @param out Is the file that is written to.
///
/// - poolErrorInvalidValue: `pool` is not a pool; `out` is null.
/// - poolErrorOperatingSystem: `out` takes no more.
STREAMPOOL_API poolError_t poolMemPoolPrintStatistics(poolMemPool_t pool, FILE *out);

// ----------------------------------------------------------------------------------------- growths

// A program can be told why a pool grew beyond all that it had had before.

/// Names the kinds of memory that a pool keeps apart.
enum poolGrowthKind {
    /// Blocks of more than 56 KiB.
    poolGrowthLarge = 0,
    /// Pages that smaller blocks are cut from.
    poolGrowthPages = 1,
    /// Blocks of poolMallocFixed.
    poolGrowthFixed = 2
};

/// Says what kept a growth from being a remap of free memory in pieces, or that it was a part of
/// one (docs/defragmentation.md, "When").
enum poolGrowthRemap {
    /// Free pieces were mapped side by side with the new memory.
    poolGrowthRemapUsed = 0,
    /// Memory of this kind isn't remapped.
    poolGrowthRemapWrongKind = 1,
    /// The attribute Defragmentation doesn't allow it, or the device can't.
    poolGrowthRemapForbidden = 2,
    /// The pool is still filling: it held no more than the program was known to need.
    poolGrowthRemapFilling = 3,
    /// No piece within the stream's reach can be mapped once more.
    poolGrowthRemapNoPieces = 4,
    /// The pieces would have saved too little of the growth.
    poolGrowthRemapSavesLittle = 5,
    /// The pieces are so many extents that mapping them would take longer than RemapTimeMax.
    poolGrowthRemapTooLong = 6,
    /// The host or the driver lacked memory for it.
    poolGrowthRemapFailed = 7
};

/// Says why most of the free memory was not used where a pool grew. STREAMPOOL_GROWTH_CAUSES in
/// streampool/lists.h lists these with their words.
enum poolGrowthCause {
    /// Less was free than was wanted: the program needs more.
    poolGrowthCauseNeed = 0,
    /// Work of other streams may still use it, with an event behind it.
    poolGrowthCausePending = 1,
    /// Work of other streams may still use it, with no event behind it.
    poolGrowthCauseUnfenced = 2,
    /// It is within reach, in extents that nobody uses, but that are out of reach in part.
    poolGrowthCauseBesidePending = 3,
    /// It is within reach, in extents with blocks in use.
    poolGrowthCausePinned = 4,
    /// It is within reach, in whole extents that were not mapped side by side.
    poolGrowthCausePieces = 5,
    /// It is within reach, in streams' lists of freed blocks.
    poolGrowthCauseListed = 6,
    /// It is of another kind of memory.
    poolGrowthCauseOtherKinds = 7
};

/// Explains one growth of a pool: what was wanted, what was free then, and why that wasn't enough.
/// All that is free is told by what kept it from being used, and each byte counts once:
///
///     reservedBefore = used + freeWhole + freePinned + freeBesidePending + pendingWhole
///                      + pendingPinned + unfencedWhole + unfencedPinned + listedFree
///                      + listedPending + otherKinds + slack
///
/// The figures are those from just before the growth; while other threads allocate and free, they
/// are not all of one moment. *Within reach* is memory that the stream may have at once
/// (docs/stream-order.md). An extent is *pinned* if some of it is in use. docs/replay.md, "Growths
/// explained", says what helps against which figure.
struct poolMemPoolGrowth {
    /// Holds the bytes of the struct that the library has filled in. Later versions add fields at
    /// the end.
    size_t structSize;
    /// Names the pool.
    poolMemPool_t pool;
    /// Names the stream that the allocation was made on, as in poolPointerAttributes.
    CUstream stream;
    /// Says which kind of memory was wanted.
    enum poolGrowthKind kind;
    /// Says why free pieces were not mapped instead.
    enum poolGrowthRemap remap;
    /// Holds the bytes of the block that was wanted: of a large block, or of pages for small ones.
    uint64_t wanted;
    /// Holds the bytes of the block that were free memory before.
    uint64_t fromFree;
    /// Holds the bytes that were mapped.
    uint64_t mapped;
    /// Holds the number of extents that they are.
    uint64_t extents;
    /// Holds the bytes that the pool had reserved before.
    uint64_t reservedBefore;
    /// Holds the bytes that callers had in use before.
    uint64_t used;
    /// Holds the free bytes within reach, in extents all of which is within reach.
    uint64_t freeWhole;
    /// Holds the free bytes within reach in pinned extents.
    uint64_t freePinned;
    /// Holds the free bytes within reach in extents that nobody uses, but that are out of reach in
    /// part.
    uint64_t freeBesidePending;
    /// Holds the free bytes out of reach that work may still use, with an event behind it, in
    /// extents that are not pinned.
    uint64_t pendingWhole;
    /// Holds those in pinned extents.
    uint64_t pendingPinned;
    /// Holds the free bytes out of reach that work may still use, and no event is recorded behind
    /// it, in extents that are not pinned.
    uint64_t unfencedWhole;
    /// Holds those in pinned extents.
    uint64_t unfencedPinned;
    /// Holds the bytes within reach of freed blocks that streams keep listed for blocks of the same
    /// size. Where very many streams use a pool, a growth comes before a look at all lists.
    uint64_t listedFree;
    /// Holds the bytes of those out of reach.
    uint64_t listedPending;
    /// Holds the free bytes of the other kinds of memory.
    uint64_t otherKinds;
    /// Holds the rest: free blocks in pages, what blocks have beyond what was asked for, and what
    /// other threads had in hand.
    uint64_t slack;
    /// Holds the bytes of the largest free piece within reach.
    uint64_t largestPiece;
    /// Holds the number of extents that a remap would have mapped, where it would have taken too
    /// long.
    uint64_t remapExtents;
    /// Holds the bytes that a remap would have mapped anew, where it would have saved too little.
    uint64_t remapMissing;
    /// Names the stream that holds back most of what is pending; null: none, or one that is gone.
    CUstream pendingStream;
    /// Holds how much that is.
    uint64_t pendingStreamBytes;
    /// Names the stream that holds back most of what is unfenced; null likewise.
    CUstream unfencedStream;
    /// Holds how much that is.
    uint64_t unfencedStreamBytes;
    /// Is 1 if the driver was asked what has completed, 0 if the pool or the call may not.
    int askedDriver;
    /// Is 1 if the stream may be made to wait for pending memory. Waits are tried when the pool
    /// can't grow.
    int mayWait;
    /// Is 1 if not all free memory was looked at, because there is very much, or because more than
    /// 64 streams have used the pool.
    int cutShort;
    /// Is 1 if the device or the pool's limit had no room at first, so that caches were given back.
    int afterTrim;
    /// Is 1 if the growth is beyond the pool's GrowthBeyondUse, and a wait that was tried before
    /// wouldn't do.
    int afterWaits;
    /// Says why most of the free memory was not used, beside what the block has of it.
    enum poolGrowthCause cause;
    /// Holds the driver's id of `stream` (cudaStreamGetId), by which traces call it; 0 where the
    /// driver tells none.
    uint64_t streamId;
    /// Holds the id of `pendingStream` likewise.
    uint64_t pendingStreamId;
    /// Holds the id of `unfencedStream` likewise.
    uint64_t unfencedStreamId;
    /// Holds the pool's name.
    char poolName[STREAMPOOL_NAME_BYTES];
    /// Holds the number of blocks and slabs that pin, as poolMemPoolStatPinningBlocks tells it.
    uint64_t pinningBlocks;
    /// Holds the bytes of these.
    uint64_t pinningBytes;
    /// Holds the bytes of the largest of these.
    uint64_t largestPinning;
};

/// Is called with each growth that raises the most that the pool has ever had reserved
/// (ReservedMemHigh), on the thread of the allocation.
///
/// @param growth Explains the growth. It is valid during the call only.
/// @param user Is what was given with the observer.
typedef void (*poolMemPoolGrowthObserver)(const struct poolMemPoolGrowth *growth, void *user);

/// Has an observer called with each growth of a pool that raises ReservedMemHigh, or, with null,
/// none any more. A pool has one observer at most. It isn't called for poolMemPoolPrime. To have
/// the same in words with no change of the program, set STREAMPOOL_EXPLAIN_GROWTH
/// (docs/environment.md).
///
/// The observer runs on the thread of the allocation, before that returns. Of one pool one observer
/// runs at a time, and no other lock of the library is held meanwhile. So it may call the library;
/// a growth that this leads to isn't told. While a trace is recorded (STREAMPOOL_TRACE), no other
/// thread gets its turn meanwhile. The observer must return, so it must not end its thread, and not
/// wait for another thread that allocates from the pool or makes this call for it.
///
/// While there is an observer, the library looks through all that is free at each growth. It moves
/// nothing: allocations are served as without one.
///
/// When this returns, the observer before is neither running nor called any more, unless it is the
/// observer itself that calls this. Doesn't call the driver.
///
/// @param pool Names the pool.
/// @param observer Is the function to be called. May be null.
/// @param user Is passed to it.
///
/// - poolErrorInvalidValue: `pool` is not a pool.
/// - poolErrorNotPermitted: an observer of another pool calls this.
STREAMPOOL_API poolError_t poolMemPoolSetGrowthObserver(poolMemPool_t pool,
                                                        poolMemPoolGrowthObserver observer,
                                                        void *user);

/// Writes one line that says what a growth is explained by, as STREAMPOOL_EXPLAIN_GROWTH does.
/// Doesn't call the driver. (CUDA has no such call.)
///
/// @param growth Explains the growth.
/// @param out Is the file that is written to.
///
/// - poolErrorInvalidValue: `growth` or `out` is null.
/// - poolErrorOperatingSystem: `out` takes no more.
STREAMPOOL_API poolError_t poolMemPoolPrintGrowth(const struct poolMemPoolGrowth *growth,
                                                  FILE *out);

// ------------------------------------------------------------------------------- calls about pools

// These calls make and destroy pools, choose the pool of a device, let other devices use a pool's
// memory, and prime and trim pools.

/// Makes a pool. It reserves no memory yet, and calls the driver only to look at the place. The
/// new pool is not the current pool of its place. (cudaMemPoolCreate)
///
/// Pools are of memory of a device; of the host; or of managed memory, whose location is only where
/// it prefers to be. docs/host-memory.md says when to take which. They differ in nothing that is
/// said of pools and calls, but for these: memory of the host is at first accessible to the host
/// alone, and poolMemPoolSetAccess lets devices in; managed memory is accessible to all, has no
/// limit, no handles and no use.
///
/// @param[out] pool Receives the handle of the pool.
/// @param props Says where the pool's memory is, and its limit in bytes. It is read during the call
///     only.
///
/// - poolErrorInvalidValue: a parameter is null; the allocation type is neither pinned nor managed;
///   the handle type is neither none nor file descriptor, or is given for memory of the whole host
///   or managed memory; there is no such location, device or NUMA node, or none of that allocation
///   type; managed memory has a limit or a use; reserved bytes are not 0.
/// - poolErrorNotSupported: the device can't export handles of this type; the driver has no memory
///   of NUMA nodes, or no managed memory. The detail names what is missing.
/// - poolErrorMemoryAllocation: there is no host memory, no address space for maxSize, or 1048575
///   pools exist already.
STREAMPOOL_API poolError_t poolMemPoolCreate(poolMemPool_t *pool,
                                             const struct poolMemPoolProps *props);

/// Destroys a pool. It waits for no work, at most for a driver call of the library's own thread on
/// the pool. Live allocations stay valid and are freed as usual, and the pool's memory goes back
/// to the device with the last of them, once the work before its free has completed, by the next
/// call that can learn that: a synchronise by this library's calls, the creation of a pool at the
/// same place with the work's context current, or an allocation for which that has no room. That of
/// a Deterministic pool goes back once such a synchronise has seen it. The handle is invalid from
/// now on. If it was the current pool of its place, the default pool becomes current.
/// (cudaMemPoolDestroy)
///
/// @param pool Names the pool, which is no default pool.
///
/// - poolErrorInvalidValue: `pool` is null, is not a pool (any more), or is a default pool.
STREAMPOOL_API poolError_t poolMemPoolDestroy(poolMemPool_t pool);

/// Allows or forbids devices to use the pool's memory directly: all that is allocated, and all that
/// will be, wherever it is mapped. `descList` has `count` entries. A device that none names keeps
/// the access it has; of several entries for one device the last one counts; a count of 0 succeeds.
/// A program that takes access away must see to it that no work of that device uses the memory.
/// (cudaMemPoolSetAccess)
///
/// Memory of the host is the host's to read and write, always, and at first of no device. What is
/// noted of managed memory has no effect: all can use it.
///
/// Any number of threads may allocate and free meanwhile. Each mapping of the pool takes a driver
/// call, and the call waits for threads that map memory of the pool. When it fails it has changed
/// nothing, unless the driver doesn't put back what it had taken either.
///
/// @param pool Names the pool.
/// @param descList Says for each device what it may do. It is read during the call only.
/// @param count Is the number of entries of the list.
///
/// - poolErrorInvalidValue: `pool` is not a pool; the list is null, and the count is not 0; a
///   location is neither a device nor the host; flags are none of poolMemAccessFlags.
/// - poolErrorInvalidDevice: there is no such device; the list takes all access from the pool's
///   own device; a device can't access memory of the pool's device (cuDeviceCanAccessPeer).
/// - poolErrorNotSupported: the list gives the pool's own device access to read only, or another
///   device access to memory of cuMemAlloc (docs/plain-memory.md, "What differs"); the host access
///   to memory of a device; anybody access to read only to memory of the host or managed memory; or
///   takes memory of the host from the host.
STREAMPOOL_API poolError_t poolMemPoolSetAccess(poolMemPool_t pool,
                                                const struct poolMemAccessDesc *descList,
                                                size_t count);

/// Tells what a device or the host may do with the pool's memory: at first the pool's own device,
/// or the host, may do all, and others nothing. Of managed memory it tells only what was set.
/// Doesn't block. (cudaMemPoolGetAccess)
///
/// @param[out] flags Receives what the device or the host may do.
/// @param pool Names the pool.
/// @param location Names the device, or the host, for which any NUMA node stands.
///
/// - poolErrorInvalidValue: a parameter is null; `pool` is not a pool; the location is neither a
///   device of this system nor the host.
STREAMPOOL_API poolError_t poolMemPoolGetAccess(enum poolMemAccessFlags *flags, poolMemPool_t pool,
                                                const struct poolMemLocation *location);

/// Gives free memory back to the device until at most `minBytesToKeep` bytes (rounded up to the
/// device's granule) are reserved, or until nothing more can be released. Memory whose free may
/// still be pending is left alone, so this never waits for the device; it does call the driver.
/// What poolMemPoolPrime prepared beyond `minBytesToKeep` goes too, and is not kept any longer.
/// A Deterministic pool asks no event here: memory that was freed since the last synchronise by
/// this library's calls stays. (cudaMemPoolTrimTo)
///
/// @param pool Names the pool.
/// @param minBytesToKeep Is the number of bytes that may stay reserved.
///
/// - poolErrorInvalidValue: `pool` is not a pool.
STREAMPOOL_API poolError_t poolMemPoolTrimTo(poolMemPool_t pool, size_t minBytesToKeep);

/// Prepares memory ahead of need: afterwards at least `bytes` bytes of the pool (rounded up to the
/// device's granule) are free for any stream, and allocations that together occupy no more than
/// that map nothing, whatever their sizes. Where neither the device nor maxSize has room for that
/// much in one piece, free memory in pieces counts, and a large allocation may still have to remap
/// it or find no room. docs/promises.md, "Memory that is primed", says what counts, and what a
/// synchronise leaves of it. 0 bytes succeed and do nothing. (CUDA has no such call: there a
/// program raises the threshold, allocates and frees.)
///
/// Waits for no work of the device, only for threads that map memory of the pool. Calls the
/// driver, also while streams capture. A call that fails has mapped nothing.
///
/// @param pool Names the pool.
/// @param bytes Is the number of bytes that shall be free for any stream.
///
/// - poolErrorInvalidValue: `pool` is not a pool.
/// - poolErrorMemoryAllocation: `bytes` is more than the device, the pool's maxSize or the host
///   has left, also once caches of other pools were given back for it.
STREAMPOOL_API poolError_t poolMemPoolPrime(poolMemPool_t pool, size_t bytes);

/// Names a piece of memory.
struct poolMemRange {
    /// Holds its first address.
    void *ptr;
    /// Holds its bytes.
    size_t size;
};

/// Is called with the memory of a pool that is in use, in ranges by address that don't overlap:
/// live blocks, rounded up as they lie, and the slabs of small ones whole. Of a block that was put
/// together of pieces the pieces are listed, which have the same bytes. The list may be read until
/// it returns, as a function does, with no jump and no exception. Meanwhile nothing is allocated
/// from the pool, and no memory of it goes or comes, though another thread may free blocks. What it
/// has given streams to do must have ended when it returns. It may call the library, but not
/// poolMemPoolEvict and poolMemPoolMakeResident with this pool. It returns poolSuccess, or an error
/// that becomes the call's.
typedef poolError_t (*poolMemPoolVisitor)(void *user, const struct poolMemRange *ranges,
                                          size_t count);

/// Takes a pool's memory and gives it back to the device, though blocks of the pool are live: they
/// keep their addresses, and get other memory there by poolMemPoolMakeResident. So a program that
/// sleeps leaves the device to others, and what points into its blocks, as graphs do, is right
/// again later. (CUDA has no such call; Direct3D 12 has ID3D12Device::Evict.)
///
/// First it waits for all work of the current context, as poolDeviceSynchronize does, and gives
/// free memory back, as poolMemPoolTrimTo with 0 does. Then it calls `save`, if that isn't null,
/// which may copy the contents to elsewhere; and then the contents are gone. No other work may use
/// blocks of the pool meanwhile, freed ones neither, and none may until the pool is resident: an
/// access then finds no memory, and ends the context.
///
/// While it is evicted, allocations from the pool and poolMemPoolPrime return
/// poolErrorIllegalState. One that another thread has begun before may still return memory, which
/// is evicted with the rest. Frees change the books alone, and synchronises and poolMemPoolTrimTo
/// give nothing back. UsedMemCurrent and poolPointerGetAttributes tell what they told before.
/// ReservedMemCurrent counts what has stayed, and poolMemPoolStatEvictedBytes the rest. A pool that
/// is destroyed so can't become resident any more, and its live blocks can only be freed.
///
/// Blocks of poolMallocFixed stay, for somebody may know their memory, and what the driver doesn't
/// unmap, and memory of the host (poolMemPoolAttrHostOverflowMax), which isn't counted. For an
/// evicted pool the call tries again what has stayed, without `save`.
///
/// @param pool Names the pool.
/// @param save Is called once with what is in use of memory that may go, or is null.
/// @param user Is handed to `save`.
/// @param[out] stayed Receives the bytes that the pool still has. May be null.
///
/// - poolErrorInvalidValue: `pool` is not a pool, or was destroyed meanwhile.
/// - poolErrorInvalidDevice: the current context isn't one of the pool's device.
/// - poolErrorNotSupported: the memory isn't mapped, as on a device without virtual memory
///   management, of managed memory, or for staging; or the pool was made with a handle type.
/// - poolErrorIllegalState: another thread is evicting the pool, or making it resident.
/// - poolErrorStreamCaptureUnsupported: a stream of the context captures, which invalidates the
///   capture, as poolDeviceSynchronize does.
/// - Whatever `save` returns.
///
/// After an error the pool is resident, and nothing is lost.
STREAMPOOL_API poolError_t poolMemPoolEvict(poolMemPool_t pool, poolMemPoolVisitor save, void *user,
                                            size_t *stayed);

/// Gives an evicted pool memory again, at the addresses of its live blocks, with the access that
/// the pool allows. Where the device has too little, other pools there give what they have free.
/// Then it calls `load`, if that isn't null, which may copy contents back; else the contents are
/// undefined. From then on the pool allocates again. What was freed meanwhile and is known to be
/// complete gets no memory, as far as it makes up whole extents. A pool that is resident stays as
/// it is, and `load` isn't called.
///
/// Waits for no work. Calls the driver, also while streams capture.
///
/// @param pool Names the pool.
/// @param load Is called once with what is in use, or is null. What was freed since the pool was
///     evicted isn't among it.
/// @param user Is handed to `load`.
///
/// - poolErrorInvalidValue: `pool` is not a pool.
/// - poolErrorMemoryAllocation: there isn't enough memory.
/// - poolErrorIllegalState: another thread is evicting the pool, or making it resident.
/// - Whatever `load` returns.
///
/// After an error the pool is evicted, all of it.
STREAMPOOL_API poolError_t poolMemPoolMakeResident(poolMemPool_t pool, poolMemPoolVisitor load,
                                                   void *user);

/// Gives the default pool of a device, from which it allocates at first. Each device always has
/// one, and it can't be destroyed. (cudaDeviceGetDefaultMemPool)
///
/// @param[out] pool Receives the handle of the pool.
/// @param device Is the ordinal of the device.
///
/// - poolErrorInvalidDevice: there is no such device, which is looked at before all else.
/// - poolErrorInvalidValue: `pool` is null.
STREAMPOOL_API poolError_t poolDeviceGetDefaultMemPool(poolMemPool_t *pool, int device);

/// Gives the current pool of a device, from which it allocates. (cudaDeviceGetMemPool)
///
/// @param[out] pool Receives the handle of the pool.
/// @param device Is the ordinal of the device.
///
/// - poolErrorInvalidValue: `pool` is null; there is no such device.
STREAMPOOL_API poolError_t poolDeviceGetMemPool(poolMemPool_t *pool, int device);

/// Makes a pool the current pool of its device, from which it allocates. (cudaDeviceSetMemPool)
///
/// @param device Is the ordinal of the device.
/// @param pool Names the pool, which is on this device.
///
/// - poolErrorInvalidValue: `pool` is not a pool, or not of memory of a device; there is no such
///   device.
/// - poolErrorInvalidDevice: the pool belongs to another device.
STREAMPOOL_API poolError_t poolDeviceSetMemPool(int device, poolMemPool_t pool);

/// Gives the default pool of a location and allocation type, which is there always, and can't be
/// destroyed. That of pinned memory of a device is the one from which the device allocates at
/// first; from others nothing is allocated unless they are named. (cudaMemGetDefaultMemPool)
///
/// @param[out] pool Receives the handle of the pool.
/// @param location Names a device, the host or one of its NUMA nodes; of managed memory it may be
///     poolMemLocationTypeNone.
/// @param type Is pinned or managed.
///
/// - poolErrorInvalidValue: a parameter is null; there is no such location, or none of that type.
/// - poolErrorNotSupported: pools have no default at a location of this type, whatever the
///   allocation type is; or the driver has no such memory.
STREAMPOOL_API poolError_t poolMemGetDefaultMemPool(poolMemPool_t *pool,
                                                    const struct poolMemLocation *location,
                                                    enum poolMemAllocationType type);

/// Gives the current pool of a location and allocation type: the default pool, unless
/// poolMemSetMemPool has named another one. (cudaMemGetMemPool)
///
/// @param[out] pool Receives the handle of the pool.
/// @param location Names the location, as for poolMemGetDefaultMemPool.
/// @param type Is pinned or managed.
///
/// - Errors are those of poolMemGetDefaultMemPool.
STREAMPOOL_API poolError_t poolMemGetMemPool(poolMemPool_t *pool,
                                             const struct poolMemLocation *location,
                                             enum poolMemAllocationType type);

/// Makes a pool the current one of its location and allocation type. Of pinned memory of a device
/// it is poolDeviceSetMemPool. (cudaMemSetMemPool)
///
/// @param location Names the location, as for poolMemGetDefaultMemPool.
/// @param type Is pinned or managed.
/// @param pool Names the pool, which is of this location and type.
///
/// - poolErrorInvalidValue: `location` is null, or there is no such location, or none of that type;
///   `pool` is not a pool, or one of another location or type.
/// - poolErrorNotSupported: as for poolMemGetDefaultMemPool.
STREAMPOOL_API poolError_t poolMemSetMemPool(const struct poolMemLocation *location,
                                             enum poolMemAllocationType type, poolMemPool_t pool);

// ------------------------------------------------------------------------------- allocate and free

// An allocation and a free act in the order of a stream.

/// Allocates `size` bytes in the order of `stream` from the current pool of the stream's device.
/// The memory may be used by work that comes after this call in the stream's order, or that is
/// ordered after such work. The pointer is aligned to at least 512 bytes. A size of 0 succeeds
/// with a null pointer. (cudaMallocAsync)
///
/// The common case makes no driver call but the checks of the stream's capture state and identity,
/// and none where the attribute StreamPromises answers them. On streams that take part in the
/// legacy stream's order it may record an event, which may block when the stream's queue is full.
/// When the pool has no suitable memory it grows, which calls the driver, but never waits for the
/// device. It waits on the host only where HostWaitMax or ContextFence allows it. CUDA's pool
/// grows to the whole device before it fails; this one maps nothing then, and may have given free
/// memory back to the device. Giving memory back waits for the device where that has no virtual
/// memory management. Before it fails it may wait some tens of milliseconds for other threads that
/// are moving free memory of the pool at that moment.
///
/// @param[out] ptr Receives the address on the device.
/// @param size Is the number of bytes.
/// @param stream Is the stream in whose order the memory is allocated.
///
/// - poolErrorInvalidValue: `ptr` is null.
/// - poolErrorMemoryAllocation: `size` is more than the device, the pool's maxSize or the host has
///   left. A size that no device could have is refused at once.
/// - poolErrorStreamCaptureUnsupported: the stream is capturing.
/// - poolErrorStreamCaptureImplicit: `stream` is the legacy stream, and a blocking stream of the
///   context is capturing.
/// - poolErrorInvalidResourceHandle: `stream` is not a stream, as far as the driver can tell.
/// - poolErrorNotSupported: the device has no virtual memory management, and the stream is one of
///   another context than the device's primary one, or the pool lets other devices in
///   (docs/plain-memory.md, "What differs").
STREAMPOOL_API poolError_t poolMallocAsync(void **ptr, size_t size, CUstream stream);

/// Allocates as poolMallocAsync does, from the given pool, which may belong to another device than
/// the stream. (cudaMallocFromPoolAsync)
///
/// @param[out] ptr Receives the address on the device.
/// @param size Is the number of bytes.
/// @param pool Names the pool that the memory comes from.
/// @param stream Is the stream in whose order the memory is allocated.
///
/// - poolErrorInvalidValue: `ptr` is null; `pool` is not a pool.
/// - The other errors are those of poolMallocAsync.
STREAMPOOL_API poolError_t poolMallocFromPoolAsync(void **ptr, size_t size, poolMemPool_t pool,
                                                   CUstream stream);

/// Narrow the pool's policies for one allocation. The flags are combined by |, and they never
/// widen them.
enum poolMallocFlags {
    /// The pool's policies hold as they are.
    poolMallocDefault = 0,
    /// Only memory is taken that was last used on the same stream, or on which nothing is known to
    /// be pending.
    poolMallocSameStreamOnly = 1,
    /// No wait is inserted into the stream.
    poolMallocNoInsertedWaits = 2,
    /// No memory is taken from the device: the call rather fails with poolErrorMemoryAllocation.
    poolMallocNoGrowth = 4,
    /// The block lies in one extent, which other devices can access directly where this one can.
    /// It is for NCCL and RDMA registrations, which see only the first extent of a block.
    poolMallocFixed = 8,
    /// Only memory is taken whose last use the library knows to be complete, so that the host, and
    /// whoever knows of no stream, may write to it at once. What has completed is asked for; so
    /// from the first such call on each free of the pool records an event. Memory whose use is
    /// pending is waited for as HostWaitMax allows, and never in the stream's order. Without this
    /// flag the host must first wait for the stream that it allocated on, else it writes over what
    /// earlier work of that stream still reads.
    poolMallocCompleteOnly = 16
};

/// Allocates as poolMallocFromPoolAsync does, under flags of poolMallocFlags. A null pool is the
/// current pool of the stream's device. CUDA has no such call.
///
/// @param[out] ptr Receives the address on the device.
/// @param size Is the number of bytes.
/// @param pool Names the pool that the memory comes from. May be null.
/// @param stream Is the stream in whose order the memory is allocated.
/// @param flags Is a combination of poolMallocFlags.
///
/// - poolErrorInvalidValue: `ptr` is null; `pool` is neither null nor a pool; a flag is unknown.
/// - The other errors are those of poolMallocAsync.
STREAMPOOL_API poolError_t poolMallocAsyncWithFlags(void **ptr, size_t size, poolMemPool_t pool,
                                                    CUstream stream, unsigned int flags);

/// Allocates from the given pool in no stream's order, with poolMallocCompleteOnly: the memory may
/// be used at once, by the host where it has access to the pool, and by any stream. It counts as
/// allocated on the legacy default stream of the current context, and makes a context current where
/// there is none, as a call on a default stream does. (CUDA has no such call; to programs it is
/// what cudaMallocHost is.)
///
/// @param[out] ptr Receives the address, which is that of the host, too.
/// @param size Is the number of bytes.
/// @param pool Names the pool that the memory comes from.
///
/// - Errors are those of poolMallocFromPoolAsync on the legacy default stream.
STREAMPOOL_API poolError_t poolMallocFromPool(void **ptr, size_t size, poolMemPool_t pool);

/// Frees an allocation in the order of `stream`: every use of it must be ordered before this
/// point. Any stream will do. The pool may hand the memory to later work of the same stream at
/// once, and to other streams when that is safe. A null pointer succeeds. (cudaFreeAsync)
///
/// It never waits for the device. Its driver calls are those of poolMallocAsync's common case. A
/// free records an event where UnfencedBytesMax doesn't let it do without one, and on drivers older
/// than CUDA 12.0 each free does; that may block when the stream's queue is full. A pointer that is
/// at no pool's address is passed to the driver's cuMemFreeAsync, which frees memory of cuMemAlloc
/// (cudaMalloc) and of the driver's own pools, and refuses all else.
///
/// @param ptr Is an address that an allocation returned, or null.
/// @param stream Is the stream in whose order the memory is freed.
///
/// - poolErrorInvalidValue: `ptr` is not the start of a live allocation, but was freed already, or
///   is interior, or host memory; `ptr` is memory of the driver, and the driver is older than CUDA
///   11.2; the stream is capturing, and both the capture and the memory stay valid. The detail
///   tells them apart.
/// - poolErrorNotSupported: `ptr` is memory of the driver, on a device without the driver's own
///   pools.
/// - poolErrorStreamCaptureImplicit: `stream` is the legacy default stream, beside a blocking
///   stream that captures. The memory stays live, and the capture valid.
/// - poolErrorInvalidResourceHandle: `stream` is not a stream, as far as the driver can tell.
/// - poolErrorMemoryAllocation: the host has no memory to note the free. The memory stays live, and
///   the free can be made again.
STREAMPOOL_API poolError_t poolFreeAsync(void *ptr, CUstream stream);

/// Frees an allocation once several streams have passed this point of their orders: every use of it
/// must be ordered before this point of one of them, at least. It is for memory that several
/// streams have used, which are not ordered among each other: the caller records no event and makes
/// no stream wait. The pool hands the memory to later work of a stream when each of these points is
/// complete, or ordered before that work; so the streams themselves get it at once only where the
/// others' points are. docs/stream-order.md, "Freeing behind several streams", says how the rules
/// count it. (CUDA has no such call; PyTorch's record_stream asks for it.)
///
/// A stream that is named twice counts once, whatever handles name it, and of one stream it is
/// poolFreeAsync. The streams may be of several contexts and devices, and may be destroyed
/// afterwards as behind any other free. A null pointer succeeds, and the streams are not looked at
/// then.
///
/// It never waits for the device, and no stream is made to wait. Its driver calls are those of
/// poolFreeAsync for each stream of the list, so one call may record an event in each.
///
/// @param ptr Is an address that an allocation returned, or null.
/// @param streams Names the streams behind whose work so far the memory is freed. It is read during
///     the call only.
/// @param count Is the number of entries of the list.
///
/// - poolErrorInvalidValue: `streams` is null; `count` is 0; `ptr` is not the start of a live
///   allocation, as for poolFreeAsync; one of the streams is capturing, and the capture stays
///   valid; `ptr` is memory of the driver, which has no such call, and several streams are named.
/// - poolErrorNotSupported: as for poolFreeAsync.
/// - poolErrorStreamCaptureImplicit: one of the streams is the legacy default stream, beside a
///   blocking stream that captures. The capture stays valid.
/// - poolErrorInvalidResourceHandle: one of the streams is not a stream, as far as the driver can
///   tell.
/// - poolErrorMemoryAllocation: the host has no memory to note the free.
/// - After each error the memory is live, and the free can be made again.
STREAMPOOL_API poolError_t poolFreeAsyncAfter(void *ptr, const CUstream streams[], size_t count);

/// Frees an allocation in no stream's order: all of the caller's own use of it must have
/// completed. Unlike cudaFree it doesn't wait for the device, and it doesn't block. A null pointer
/// succeeds. A pointer that is at no pool's address is passed to the driver's cuMemFree, which
/// waits for the device, and is not permitted while a stream captures. (cudaFree)
///
/// @param ptr Is an address that an allocation returned, or null.
///
/// - poolErrorInvalidValue: `ptr` is not the start of a live allocation, as for poolFreeAsync.
STREAMPOOL_API poolError_t poolFree(void *ptr);

// ---------------------------------------------------------------------------------------- pointers

// An address tells what it is to the library.

/// Says what an address is to the library.
enum poolPointerState {
    /// The address is at no pool's addresses: of the host, of other memory of the device, or null;
    /// or, on a device without virtual memory management, its memory was given back.
    poolPointerForeign = 0,
    /// The address is a pool's, and no live allocation is there: its block was freed, or was never
    /// handed out. An access may find no memory.
    poolPointerFree = 1,
    /// The address lies in a live allocation.
    poolPointerLive = 2
};

/// Tells of an address what poolPointerGetAttributes knows. Where it lies in no live allocation,
/// `device` is -1 and all that follows is null or 0.
struct poolPointerAttributes {
    /// Says what the address is. The fields below are for poolPointerLive.
    enum poolPointerState state;
    /// Holds the ordinal of the device that the memory is on, or -1 where it is of the host or
    /// managed: also of a device's pool, by HostOverflowMax.
    int device;
    /// Names the pool. It is null also where that was destroyed while the allocation is live.
    poolMemPool_t pool;
    /// Holds the address that the allocation returned.
    void *base;
    /// Holds the bytes of the block from `base` on, which nobody else is given before its free.
    /// They are at least `requestedSize`: a small block has the bytes of its size class.
    size_t size;
    /// Holds the bytes that were asked for. Every live block keeps them, so this is exact.
    size_t requestedSize;
    /// Names the stream that it was allocated on: (CUstream)0x1 the legacy and (CUstream)0x2 a
    /// per-thread default stream, of whatever context and thread. It is null where the library
    /// knows that the stream is gone. Of a stream that was destroyed it may be one that was made
    /// later, and must not be used.
    CUstream stream;
    /// Holds the number of pieces of physical memory that the block lies in. Calls that see only
    /// the first piece of a block, as NCCL's and RDMA's registrations do, are safe with 1.
    size_t extents;
};

/// Tells what an address is to the library: of which pool, and in which block, if in any. An
/// address inside of a block answers as its base does, up to `size` bytes from there. An address
/// that is no pool's is no error: code that stands between a program and CUDA can ask about each
/// pointer that it meets. It is for a debugger's command and an assertion, too: it tells a pointer
/// that was freed from one that is live, and finds the begin of the block that a fault address lies
/// in. (cudaPointerGetAttributes tells other things, and knows no pool's memory for one.)
///
/// It takes no lock, calls no driver and loads none, and never waits. Any address is found in a few
/// steps, however large its block is and whatever was allocated before.
///
/// While another thread frees the block, or allocates at its address, the answer is one that was
/// true during the call. Where both happen at once, so that a new block with the same bounds lies
/// there, `requestedSize` and `stream` may be one's of the old and one's of the new. As soon as a
/// free has returned, and until the memory is handed out again, the answer is poolPointerFree,
/// whether the free is complete or not.
///
/// @param[out] attributes Receives what is known of the address.
/// @param ptr Is any address. May be null.
///
/// - poolErrorInvalidValue: `attributes` is null.
STREAMPOOL_API poolError_t poolPointerGetAttributes(struct poolPointerAttributes *attributes,
                                                    const void *ptr);

// -------------------------------------------------------------- synchronisation, and what it tells

// These calls do what CUDA's do, and tell the allocator what has completed. The ones that block
// also trim pools to their release threshold: those that the stream, the event or the device has
// used. They matter to reuse and trimming only: a program that uses CUDA's own calls instead stays
// correct, and its pools learn less. Their errors are the driver's.

/// Blocks until the stream's work is complete, tells the allocator so, and trims to their release
/// threshold the pools that the stream has allocated from or freed to. Not permitted during a
/// capture, as in CUDA. (cudaStreamSynchronize)
///
/// After a free on a blocking or per-thread stream it also waits for the work of the legacy stream
/// that came before the free, as CUDA's does after CUDA's free: it records an event in the stream,
/// unless one was recorded after the free, and waits for that. The driver's own synchronise
/// doesn't.
///
/// @param stream Is the stream to wait for.
///
/// - Errors are the driver's.
STREAMPOOL_API poolError_t poolStreamSynchronize(CUstream stream);

/// Blocks until the work before the event is complete, tells the allocator so, and trims to their
/// release threshold the pools that the event's stream has allocated from or freed to. The
/// allocator learns of the frees before a record by poolEventRecord. When all of them are known to
/// be complete it may forget the event as others are recorded; then no pool is trimmed here. Not
/// permitted during a capture, as in CUDA. (cudaEventSynchronize)
///
/// @param event Is the event to wait for.
///
/// - Errors are the driver's.
STREAMPOOL_API poolError_t poolEventSynchronize(CUevent event);

/// Blocks until all work of the current context is complete, tells the allocator so, and trims all
/// pools to their release threshold. Not permitted during a capture, as in CUDA.
/// (cudaDeviceSynchronize)
///
/// - Errors are the driver's.
STREAMPOOL_API poolError_t poolDeviceSynchronize(void);

/// Asks without blocking whether the stream's work is complete: poolSuccess when it is,
/// poolErrorNotReady when not. It tells the allocator the answer, and never trims. After a free
/// on a blocking or per-thread stream it says poolErrorNotReady as long as work of the legacy
/// stream that came before the free runs; for that it may record an event. (cudaStreamQuery)
///
/// @param stream Is the stream to ask about.
///
/// - Other errors are the driver's.
STREAMPOOL_API poolError_t poolStreamQuery(CUstream stream);

/// Asks without blocking whether the work before the event is complete: poolSuccess when it is,
/// poolErrorNotReady when not. It tells the allocator the answer, and never trims.
/// (cudaEventQuery)
///
/// @param event Is the event to ask about.
///
/// - Other errors are the driver's.
STREAMPOOL_API poolError_t poolEventQuery(CUevent event);

/// Records an event in a stream, so that the allocator knows which frees come before the event:
/// after cuEventRecord alone, a poolEventSynchronize can't know which frees it covers. May
/// block when the stream's queue is full. (cudaEventRecord)
///
/// @param event Is the event to record.
/// @param stream Is the stream whose work so far the event stands for.
///
/// - Errors are the driver's.
STREAMPOOL_API poolError_t poolEventRecord(CUevent event, CUstream stream);

/// Makes the stream wait for the event; `flags` are the driver's, as a rule 0. With the policy
/// FollowEventDependencies, memory that was freed before the event was recorded (by
/// poolEventRecord) may then be handed to the stream. May block when the stream's queue is full.
/// (cudaStreamWaitEvent)
///
/// @param stream Is the stream that waits.
/// @param event Is the event that it waits for.
/// @param flags Are the driver's, CU_EVENT_WAIT_DEFAULT or CU_EVENT_WAIT_EXTERNAL.
///
/// - Errors are the driver's.
STREAMPOOL_API poolError_t poolStreamWaitEvent(CUstream stream, CUevent event, unsigned int flags);

/// Destroys a stream. Frees pending on it are marked by an event first, so that their memory can
/// be reused before the next poolDeviceSynchronize: with cuStreamDestroy alone nobody learns when
/// they complete. A Deterministic pool asks no event and reuses it behind a synchronise alone. A
/// program that has made poolPromiseStreamDestroy destroys its streams by no other call.
/// (cudaStreamDestroy)
///
/// @param stream Is the stream to destroy, which is no default stream.
///
/// - Errors are the driver's.
STREAMPOOL_API poolError_t poolStreamDestroy(CUstream stream);

/// Destroys an event. (cudaEventDestroy)
///
/// @param event Is the event to destroy.
///
/// - Errors are the driver's.
STREAMPOOL_API poolError_t poolEventDestroy(CUevent event);

// -------------------------------------------------------------- per-thread default stream variants

// Programs don't call these by name: with CUDA_API_PER_THREAD_DEFAULT_STREAM defined the plain
// names become these, as with the runtime.

/// poolMallocAsync with the per-thread default stream in the place of stream 0.
STREAMPOOL_API poolError_t poolMallocAsync_ptsz(void **ptr, size_t size, CUstream stream);

/// poolMallocFromPoolAsync with the per-thread default stream in the place of stream 0.
STREAMPOOL_API poolError_t poolMallocFromPoolAsync_ptsz(void **ptr, size_t size, poolMemPool_t pool,
                                                        CUstream stream);

/// poolFreeAsync with the per-thread default stream in the place of stream 0.
STREAMPOOL_API poolError_t poolFreeAsync_ptsz(void *ptr, CUstream stream);

/// poolFreeAsyncAfter with the per-thread default stream in the place of each stream 0.
STREAMPOOL_API poolError_t poolFreeAsyncAfter_ptsz(void *ptr, const CUstream streams[],
                                                   size_t count);

/// poolStreamSynchronize with the per-thread default stream in the place of stream 0.
STREAMPOOL_API poolError_t poolStreamSynchronize_ptsz(CUstream stream);

/// poolStreamQuery with the per-thread default stream in the place of stream 0.
STREAMPOOL_API poolError_t poolStreamQuery_ptsz(CUstream stream);

/// poolEventRecord with the per-thread default stream in the place of stream 0.
STREAMPOOL_API poolError_t poolEventRecord_ptsz(CUevent event, CUstream stream);

/// poolStreamWaitEvent with the per-thread default stream in the place of stream 0.
STREAMPOOL_API poolError_t poolStreamWaitEvent_ptsz(CUstream stream, CUevent event,
                                                    unsigned int flags);

/// poolMallocAsyncWithFlags with the per-thread default stream in the place of stream 0.
STREAMPOOL_API poolError_t poolMallocAsyncWithFlags_ptsz(void **ptr, size_t size,
                                                         poolMemPool_t pool, CUstream stream,
                                                         unsigned int flags);

#if defined(CUDA_API_PER_THREAD_DEFAULT_STREAM)
#define poolMallocAsync          poolMallocAsync_ptsz
#define poolMallocFromPoolAsync  poolMallocFromPoolAsync_ptsz
#define poolFreeAsync            poolFreeAsync_ptsz
#define poolFreeAsyncAfter       poolFreeAsyncAfter_ptsz
#define poolStreamSynchronize    poolStreamSynchronize_ptsz
#define poolStreamQuery          poolStreamQuery_ptsz
#define poolEventRecord          poolEventRecord_ptsz
#define poolStreamWaitEvent      poolStreamWaitEvent_ptsz
#define poolMallocAsyncWithFlags poolMallocAsyncWithFlags_ptsz
#endif

#ifdef __cplusplus
}

// The typed pointers and the defaults that cuda_runtime.h has for C++ programs.
#include <streampool/overloads.h>
#endif

#endif
