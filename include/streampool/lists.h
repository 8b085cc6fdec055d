/// @file
/// This header has lists of the enumerators of streampool.h, for programs that go through all of
/// them. Those of statistics are in statistics.h, which comes with this header.
///
/// A list is a macro. It takes the name of another macro, and applies that one to each of its
/// rows:
///
///     #define PRINT(name, number, text) printf("%s %d\n", #name, number);
///     STREAMPOOL_ERRORS(PRINT)
///     #undef PRINT
#ifndef STREAMPOOL_LISTS_H
#define STREAMPOOL_LISTS_H

#include <streampool/statistics.h>
#include <streampool/streampool.h>

// clang-format off

// ------------------------------------------------------------------------------------------ errors

/// A row X(name, number, text) stands for each poolError_t. The text is what poolGetErrorString
/// returns.
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

// -------------------------------------------------------------------------------------- attributes

/// A row X(name, number, type) stands for each attribute of poolMemPoolAttr but the statistics.
/// The type is that of the value, int or uint64_t.
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
    X(poolMemPoolAttrLocalityDomainId, 15, int) \
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
    X(poolMemPoolAttrContextWaitMax, 1012, uint64_t) \
    X(poolMemPoolAttrVirtualMemory, 1013, int) \
    X(poolMemPoolAttrGrowthBeyondUse, 1014, uint64_t) \
    X(poolMemPoolAttrHostOverflowMax, 1015, uint64_t)

// ---------------------------------------------------------------------------------------- promises

/// A row X(name, number, text) stands for each poolStreamPromise. The text is what is promised.
#define STREAMPOOL_STREAM_PROMISES(X) \
    X(poolPromiseNothing, 0, "nothing") \
    X(poolPromiseStreamDestroy, 1, "streams are destroyed by poolStreamDestroy") \
    X(poolPromiseNoCapture, 2, "no stream captures while it is passed to an allocation or a free") \
    X(poolPromiseNeverCapture, 4, "no stream ever captures") \
    X(poolPromiseOneContext, 8, "all default streams are those of one context") \
    X(poolPromiseNoLegacyOrder, 16, "nothing relies on the legacy default stream's order")

// ---------------------------------------------------------------------------------------- growths

/// A row X(name, text) stands for each poolGrowthCause. The text says of free memory why it was
/// not used; that of the first row, that there was too little.
#define STREAMPOOL_GROWTH_CAUSES(X) \
    X(poolGrowthCauseNeed, "too little is free") \
    X(poolGrowthCausePending, "on other streams and not yet complete") \
    X(poolGrowthCauseUnfenced, "on other streams with no event behind it yet") \
    X(poolGrowthCauseBesidePending, "beside memory that is not yet complete") \
    X(poolGrowthCausePinned, "beside blocks in use") \
    X(poolGrowthCausePieces, "in pieces") \
    X(poolGrowthCauseListed, "listed for blocks of the same size") \
    X(poolGrowthCauseOtherKinds, "kept for blocks of another kind")

// clang-format on

#endif
