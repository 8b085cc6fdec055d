/// @file
/// One chunk of a device's memory, handed out without the driver, for programs that want no
/// streams: five calls in the library libstreampool_mam.
///
/// The calls are those of the paper "MAM: a memory allocation manager for GPUs" by Can Aknesil and
/// Didem Unat. A *manager* takes one chunk of memory from the device at its first allocation, and
/// serves allocations from it by the best fit. What is freed is joined with both of its neighbours.
/// Here a manager is made on top of a pool of its own, so it needs nothing but streampool.h.
/// docs/mam.md says how, what it costs, and what differs from the paper.
///
/// The following holds for every call, and the comments of the calls do not repeat it.
///
/// **Order.** There is no stream. When poolMamMalloc returns, the memory may be used by the work of
/// any stream of the device, and by copies from the host. poolMamFree is immediate: the caller says
/// that all use of the memory has completed, and nothing checks that. The next poolMamMalloc of any
/// thread may return the memory.
///
/// **Driver.** From CUDA 12.0 on an allocation from memory that the manager has, and a free, make
/// no driver call and don't block; but a free records an event while four destroyed managers or
/// pools of the device wait for their live blocks. No context has to be current. An allocation for
/// which memory is taken from the device, or joined, calls the driver, and never waits for work of
/// the device. docs/mam.md, "Driver calls", has the details.
///
/// **Threads.** Every call may be made from any thread at any time, and a thread may free what
/// another has allocated. In a function that the driver runs in a stream (cuLaunchHostFunc) a call
/// that needs the driver fails with the driver's error. Several managers don't disturb each other,
/// on one device or on several.
///
/// **Failure.** A call that fails changes nothing and holds no lock: it can be made again. Errors
/// are told as streampool.h says. So is a call with no usable driver or in a child made by fork(),
/// which the comments of the calls don't list.
///
/// **The primary context.** A program destroys the managers of a device before it resets the
/// device's primary context (cudaDeviceReset). docs/mam.md, "A reset", says what happens otherwise.
#ifndef STREAMPOOL_MAM_H
#define STREAMPOOL_MAM_H

#include <stddef.h>
#include <streampool/streampool.h>

#ifdef __cplusplus
extern "C" {
#endif

// ---------------------------------------------------------------------------------------- managers

// A manager has one chunk of memory of a device, and hands it out without streams.

/// A manager is known to programs by this handle. The handle of a manager that was destroyed is
/// refused by each call.
typedef struct poolMam_st *poolMam_t;

/// Says what a manager does when its chunk is full. The flags are combined by |.
enum poolMamFlags {
    /// The manager takes more memory from the device. It keeps as much as the chunk, and gives what
    /// is beyond back at a poolDeviceSynchronize, or before it takes memory again.
    poolMamDefault = 0,
    /// The manager never holds more than its chunk, whose size is rounded up to 32 MiB.
    poolMamFixed = 1
};

/// Makes a manager, which takes no memory of the device yet: the chunk is taken by the first
/// poolMamMalloc. Doesn't block. Calls the driver only to look at the device.
///
/// @param[out] mam Receives the handle of the manager.
/// @param chunkSize Is the size of the chunk in bytes, which is rounded up to the device's granule
///     of 2 MiB.
/// @param device Is the ordinal of the device.
/// @param flags Is a combination of poolMamFlags.
///
/// - poolErrorInvalidValue: `mam` is null; `chunkSize` is 0; a flag is unknown.
/// - poolErrorInvalidDevice: there is no such device.
/// - poolErrorMemoryAllocation: `chunkSize` is more than any device could have; 1023 managers exist
///   already.
STREAMPOOL_API poolError_t poolMamCreate(poolMam_t *mam, size_t chunkSize, int device,
                                         unsigned int flags);

/// Makes a manager whose chunk has the size of what the device has free when it is taken, but for a
/// share that stays free: a sixteenth of the device's memory, or half of what is free if that is
/// less. The driver is asked once, and no size is tried. Else it does what poolMamCreate does.
///
/// @param[out] mam Receives the handle of the manager.
/// @param device Is the ordinal of the device.
/// @param flags Is a combination of poolMamFlags. With poolMamFixed the size is rounded down to
///     32 MiB, if there is that much.
///
/// - poolErrorInvalidValue: `mam` is null; a flag is unknown.
/// - poolErrorInvalidDevice: there is no such device.
/// - poolErrorMemoryAllocation: 1023 managers exist already.
STREAMPOOL_API poolError_t poolMamCreateAuto(poolMam_t *mam, int device, unsigned int flags);

/// Destroys a manager at any time, and gives its memory back to the device before it returns.
/// Blocks that are live stay valid: they are freed by poolFree, and the memory that they lie in
/// goes back with the last of them. A null handle succeeds.
///
/// It calls the driver. It waits for calls that other threads make with the manager just now, and
/// for no work of the device, unless that has no virtual memory management.
///
/// @param mam Names the manager, or is null.
///
/// - poolErrorInvalidValue: `mam` is no manager (any more).
/// - poolErrorNotPermitted: the thread is in a poolMamMalloc: an observer of the growths of a
///   manager's pool calls this.
STREAMPOOL_API poolError_t poolMamDestroy(poolMam_t mam);

/// Allocates memory, which may be used at once by any stream of the device. The address is aligned
/// to at least 256 bytes. 0 bytes succeed with a null pointer, and take no chunk.
///
/// The first call with more than 0 bytes takes the chunk: it retains the primary context of the
/// device, makes a stream of it, and has the whole chunk mapped. Other threads that allocate
/// meanwhile wait for it. If that fails the manager has no chunk, and the next call tries again.
///
/// Of free memory that fits the smallest piece is taken. Blocks of at most 56 KiB come from slabs
/// of one size each. If the chunk is full, the call gets more memory from the device, but for a
/// manager with poolMamFixed; that calls the driver. Free memory in pieces is joined if needed
/// (docs/defragmentation.md).
///
/// @param mam Names the manager.
/// @param[out] ptr Receives the address on the device.
/// @param size Is the number of bytes.
///
/// - poolErrorInvalidValue: `mam` is no manager (any more); `ptr` is null.
/// - poolErrorMemoryAllocation: the device has no room for the chunk, or `size` is more than the
///   chunk and the device have left. The detail says which, and how much of the pool is free.
/// - poolErrorContextIsDestroyed: the primary context was reset.
STREAMPOOL_API poolError_t poolMamMalloc(poolMam_t mam, void **ptr, size_t size);

/// Frees memory at once: all use of it has completed. A null pointer succeeds. Nothing but a live
/// block of this manager is freed, as long as no other call frees its blocks. It makes no driver
/// call, and gives nothing back to the device.
///
/// @param mam Names the manager.
/// @param ptr Is an address that poolMamMalloc has returned for this manager, or null.
///
/// - poolErrorInvalidValue: `mam` is no manager (any more); `ptr` was freed already; it lies inside
///   of a block; it is a block of another manager or pool; it is no memory of a pool. The detail
///   tells them apart.
/// - poolErrorContextIsDestroyed: the primary context was reset. The block stays live, and poolFree
///   frees it.
STREAMPOOL_API poolError_t poolMamFree(poolMam_t mam, void *ptr);

/// Gives the pool that has the manager's memory, for all that streampool.h can tell of a pool: its
/// attributes and statistics, poolMemPoolPrintStatistics, an observer of its growths; and for
/// poolMemPoolSetAccess and poolMemPoolTrimTo. The program neither destroys the pool nor changes
/// its StreamPromises, and allocates from it by poolMamMalloc alone. Before the first allocation
/// this call takes the chunk as that would; else it doesn't block, and doesn't call the driver.
/// (The paper has no such call.)
///
/// @param mam Names the manager.
/// @param[out] pool Receives the handle of the pool, which ends with the manager.
///
/// - poolErrorInvalidValue: `mam` is no manager (any more); `pool` is null.
/// - poolErrorMemoryAllocation: as for poolMamMalloc.
STREAMPOOL_API poolError_t poolMamGetPool(poolMam_t mam, poolMemPool_t *pool);

#ifdef __cplusplus
}
#endif

#endif
