/// @file
/// Copies between a device and memory of the host that nobody has pinned, or files, in the library
/// libstreampool_copy.
///
/// The bytes of such memory, which is called *pageable*, reach a device by way of pinned *chunks*
/// from a pool of the host: while the device copies one chunk, threads of the host copy the next
/// (the split transaction of the paper "Gdev: First-Class GPU Resource Management in the Operating
/// System" by Kato et al.). docs/copies.md says what that buys, and when not to use it.
///
/// The following holds for every call, and the comments of the calls do not repeat it.
///
/// **Order.** A copy acts at its point of the stream's order, as cuMemcpyAsync of pinned memory
/// does: behind what the stream was given before, and before what it is given later. Once CUDA's
/// own synchronise of the stream has returned, or an event behind the copy is complete, all bytes
/// are where they belong, in memory of the host too. What another thread gives the stream during a
/// call without a completion may come between parts of the copy.
///
/// **Host memory.** Which kind it is, the driver tells. Pageable memory is copied by way of chunks;
/// without a completion up to 256 KiB to the device, and up to 16 KiB to the host, by the driver's
/// own call. Pinned memory (of pools, cuMemHostAlloc, cuMemHostRegister) and managed memory go
/// straight, by cuMemcpyAsync: then the copy reads or writes the host's memory at its turn in the
/// stream, whichever call was made, and the memory must stay as it is until then. Memory of which a
/// part is pinned counts as pageable.
///
/// **Two forms.** A call without a completion returns when the host's memory may be used: it may be
/// changed or freed after a copy to the device, and has the bytes after one to the host (of pinned
/// and managed memory see above). A call *with a completion* returns at once, and the completion
/// says when that is so. Until then the host's memory must stay as it is.
///
/// **Blocking.** A call with a completion does not wait for the stream, unless copies that are
/// under way hold all chunks that there may be (1 GiB, or what the host has), the stream's queue is
/// full, or the driver waits for managed memory. It waits as the other form does where the device
/// can't wait for a word of memory (before CUDA 11.7), where the system gives no thread, and under
/// a simulated driver that lets one thread run at a time. A call without a completion to the host
/// waits for the stream; to the device, where the bytes don't fit into its chunks, or cuFile copies
/// them. It waits for other copies that hold all chunks, too.
///
/// **Context.** A copy is made in the context of its stream; of default streams in the current one.
/// It must not be reset or destroyed while copies are under way, nor before their completions: each
/// may have an event of it.
///
/// **Streams that capture** get copies of pinned and managed memory without a completion, as CUDA
/// captures them. Others are refused: poolErrorStreamCaptureUnsupported. The capture stays valid.
///
/// **Threads.** Every call may be made from any thread at any time, except from a function that the
/// driver runs in a stream (cuLaunchHostFunc). Threads of the library copy beside the caller. They
/// call no driver. A process may end while copies are under way: then they end where they are, and
/// their completions return poolErrorNotPermitted.
///
/// **Failure.** Bad arguments are refused before anything is copied. An error of the driver in the
/// middle is returned, and the bytes are partly copied then. After an error the host's memory isn't
/// touched any more. poolGetLastError and poolGetLastErrorDetail tell of it as of a call of
/// streampool.h. Errors of the driver are passed on with its numbers, as far as poolError_t has
/// them. An error of the context (poolErrorIllegalAddress, say) comes back at the next call on a
/// stream of it, and at the completion where the host's part isn't done by then. The comments of
/// the calls don't list these.
///
/// **Fork.** In a child made by fork() without exec() every call that uses the driver returns
/// poolErrorInitializationError. Those of settings don't use it.
#ifndef STREAMPOOL_COPY_H
#define STREAMPOOL_COPY_H

#include <stddef.h>
#include <stdint.h>
#include <streampool/streampool.h>

#ifdef __cplusplus
extern "C" {
#endif

// ------------------------------------------------------------------------------------------ copies

// Each copies bytes between a device and the host, in a stream's order.

/// Copies from the host to a device. (cudaMemcpyAsync)
///
/// @param dst Is where the bytes go: memory that the driver knows, at its address for the device.
/// @param src Is where they are, in the host's memory.
/// @param bytes Is how many there are. 0 succeeds and does nothing.
/// @param stream Is the stream in whose order they are copied.
///
/// - poolErrorInvalidValue: `dst` or `src` is null; `dst` or its last byte is no memory that the
///   driver knows.
/// - poolErrorMemoryAllocation: the host has no memory for chunks.
STREAMPOOL_API poolError_t poolCopyToDeviceAsync(void *dst, const void *src, size_t bytes,
                                                 CUstream stream);

/// Copies from a device to the host. (cudaMemcpyAsync)
///
/// @param dst Is where the bytes go, in the host's memory.
/// @param src Is where they are: memory that the driver knows, at its address for the device.
/// @param bytes Is how many there are. 0 succeeds and does nothing.
/// @param stream Is the stream in whose order they are copied.
///
/// - poolErrorInvalidValue: `dst` or `src` is null; `src` or its last byte is no memory that the
///   driver knows.
/// - poolErrorMemoryAllocation: the host has no memory for chunks.
STREAMPOOL_API poolError_t poolCopyToHostAsync(void *dst, const void *src, size_t bytes,
                                               CUstream stream);

/// Copies rows from the host to a device. (cudaMemcpy2DAsync)
///
/// @param dst Is where the first row goes.
/// @param dpitch Is the number of bytes from the beginning of a row to that of the next one, at
///     `dst`.
/// @param src Is where the first row is, in the host's memory.
/// @param spitch Is the number of bytes from the beginning of a row to that of the next one, at
///     `src`.
/// @param width Is the number of bytes of a row. 0 succeeds and does nothing.
/// @param height Is the number of rows. 0 succeeds and does nothing.
/// @param stream Is the stream in whose order they are copied.
///
/// - poolErrorInvalidValue: also where a pitch is less than `width`, or the rows reach past the end
///   of all addresses; else as poolCopyToDeviceAsync. A pitch of a single row is ignored.
/// - poolErrorMemoryAllocation: the host has no memory for chunks.
STREAMPOOL_API poolError_t poolCopyToDevice2DAsync(void *dst, size_t dpitch, const void *src,
                                                   size_t spitch, size_t width, size_t height,
                                                   CUstream stream);

/// Copies rows from a device to the host. (cudaMemcpy2DAsync)
///
/// @param dst Is where the first row goes, in the host's memory.
/// @param dpitch Is the number of bytes from the beginning of a row to that of the next one, at
///     `dst`. Bytes between rows stay as they are.
/// @param src Is where the first row is.
/// @param spitch Is the number of bytes from the beginning of a row to that of the next one, at
///     `src`.
/// @param width Is the number of bytes of a row. 0 succeeds and does nothing.
/// @param height Is the number of rows. 0 succeeds and does nothing.
/// @param stream Is the stream in whose order they are copied.
///
/// - poolErrorInvalidValue: also where a pitch is less than `width`, or the rows reach past the end
///   of all addresses; else as poolCopyToHostAsync. A pitch of a single row is ignored.
/// - poolErrorMemoryAllocation: the host has no memory for chunks.
STREAMPOOL_API poolError_t poolCopyToHost2DAsync(void *dst, size_t dpitch, const void *src,
                                                 size_t spitch, size_t width, size_t height,
                                                 CUstream stream);

/// Copies many pieces at once, such as the blocks of a cache. Each may go to a device, to the host,
/// or from one device's memory to another's; what is said of a piece's memory above holds for each.
/// Small pieces are copied by a kernel that reads and writes the host's memory over the bus, where
/// the device can run it. It needs a free multiprocessor: if the kernel of an earlier batch has
/// waited long for one, the driver copies them (docs/copies.md, "Which memory goes which way").
/// Pieces have no order among themselves, so none may overlap what another one writes.
/// (cuMemcpyBatchAsync)
///
/// The call returns when pageable memory may be used: for pageable pieces to the host it waits for
/// the stream. In a stream that captures, all pieces must be of pinned or managed memory or of a
/// device's.
///
/// @param dsts Holds where each piece goes. It is read during the call only, as the next two are.
/// @param srcs Holds where each piece is.
/// @param sizes Holds how many bytes each piece has. A piece of 0 bytes is passed over.
/// @param n Is the number of pieces. 0 succeeds and does nothing.
/// @param stream Is the stream in whose order they are copied.
///
/// - poolErrorInvalidValue: an array is null; an address of a piece is; neither side of a piece is
///   memory that the driver knows. The text says which piece. Nothing was copied.
/// - poolErrorMemoryAllocation: the host has no memory for the batch.
STREAMPOOL_API poolError_t poolCopyBatchAsync(void *const dsts[], const void *const srcs[],
                                              const size_t sizes[], size_t n, CUstream stream);

// ------------------------------------------------------------------------------------- completions

// A copy with a completion returns at once. The completion says when the host's memory may be used.

/// A completion is known to programs by this handle. The handle of a completion that was destroyed
/// is refused by each call. There are 1,048,575 at a time.
typedef struct poolCopyCompletion_st *poolCopyCompletion_t;

/// Copies as poolCopyToDeviceAsync does, and returns at once.
///
/// @param dst Is where the bytes go.
/// @param src Is where they are. They must stay until the completion says that they were read.
/// @param bytes Is how many there are. With 0 the completion is complete from the beginning.
/// @param stream Is the stream in whose order they are copied.
/// @param[out] completion Receives the completion, which the caller destroys. An error leaves it as
///     it was.
///
/// - poolErrorInvalidValue: also where `completion` is null; else as poolCopyToDeviceAsync.
/// - poolErrorMemoryAllocation: the host has no memory for chunks or the completion.
STREAMPOOL_API poolError_t poolCopyToDeviceAsyncWithCompletion(void *dst, const void *src,
                                                               size_t bytes, CUstream stream,
                                                               poolCopyCompletion_t *completion);

/// Copies as poolCopyToHostAsync does, and returns at once.
///
/// @param dst Is where the bytes go. They are there when the completion says so.
/// @param src Is where they are.
/// @param bytes Is how many there are. With 0 the completion is complete from the beginning.
/// @param stream Is the stream in whose order they are copied.
/// @param[out] completion Receives the completion, which the caller destroys. An error leaves it as
///     it was.
///
/// - poolErrorInvalidValue: also where `completion` is null; else as poolCopyToHostAsync.
/// - poolErrorMemoryAllocation: the host has no memory for chunks or the completion.
STREAMPOOL_API poolError_t poolCopyToHostAsyncWithCompletion(void *dst, const void *src,
                                                             size_t bytes, CUstream stream,
                                                             poolCopyCompletion_t *completion);

/// Copies as poolCopyToDevice2DAsync does, and returns at once.
///
/// @param dst Is where the first row goes.
/// @param dpitch Is the number of bytes from the beginning of a row to that of the next one, at
///     `dst`.
/// @param src Is where the first row is. The rows must stay until the completion says that they
///     were read.
/// @param spitch Is the number of bytes from the beginning of a row to that of the next one, at
///     `src`.
/// @param width Is the number of bytes of a row. With 0 the completion is complete from the
///     beginning.
/// @param height Is the number of rows. With 0 likewise.
/// @param stream Is the stream in whose order they are copied.
/// @param[out] completion Receives the completion, which the caller destroys. An error leaves it as
///     it was.
///
/// - poolErrorInvalidValue: also where `completion` is null; else as poolCopyToDevice2DAsync.
/// - poolErrorMemoryAllocation: the host has no memory for chunks or the completion.
STREAMPOOL_API poolError_t poolCopyToDevice2DAsyncWithCompletion(void *dst, size_t dpitch,
                                                                 const void *src, size_t spitch,
                                                                 size_t width, size_t height,
                                                                 CUstream stream,
                                                                 poolCopyCompletion_t *completion);

/// Copies as poolCopyToHost2DAsync does, and returns at once.
///
/// @param dst Is where the first row goes. The rows are there when the completion says so.
/// @param dpitch Is the number of bytes from the beginning of a row to that of the next one, at
///     `dst`. Bytes between rows stay as they are.
/// @param src Is where the first row is.
/// @param spitch Is the number of bytes from the beginning of a row to that of the next one, at
///     `src`.
/// @param width Is the number of bytes of a row. With 0 the completion is complete from the
///     beginning.
/// @param height Is the number of rows. With 0 likewise.
/// @param stream Is the stream in whose order they are copied.
/// @param[out] completion Receives the completion, which the caller destroys. An error leaves it as
///     it was.
///
/// - poolErrorInvalidValue: also where `completion` is null; else as poolCopyToHost2DAsync.
/// - poolErrorMemoryAllocation: the host has no memory for chunks or the completion.
STREAMPOOL_API poolError_t poolCopyToHost2DAsyncWithCompletion(void *dst, size_t dpitch,
                                                               const void *src, size_t spitch,
                                                               size_t width, size_t height,
                                                               CUstream stream,
                                                               poolCopyCompletion_t *completion);

/// Asks whether the host's memory may be used. Doesn't block.
///
/// @param completion Names the completion.
///
/// - poolErrorNotReady: the copy still needs the host's memory, or its file.
/// - poolErrorInvalidValue: `completion` is none (any more); the file has ended before the bytes.
/// - poolErrorOperatingSystem: the file can't be read or written. The text says at which byte.
/// - An error of the context that has ended the copy.
STREAMPOOL_API poolError_t poolCopyCompletionQuery(poolCopyCompletion_t completion);

/// Waits until the host's memory may be used.
///
/// @param completion Names the completion. Another thread may destroy it meanwhile: the wait goes
/// on.
///
/// - The other errors are those of poolCopyCompletionQuery.
STREAMPOOL_API poolError_t poolCopyCompletionSynchronize(poolCopyCompletion_t completion);

/// Destroys a completion at any time. The copy goes on. A null handle succeeds. Doesn't block.
///
/// @param completion Names the completion, or is null.
///
/// - poolErrorInvalidValue: `completion` is none (any more).
STREAMPOOL_API poolError_t poolCopyCompletionDestroy(poolCopyCompletion_t completion);

// ------------------------------------------------------------------------------------------- files

// A file is the host's side of a copy. It is read and written by several threads at a time. Where
// the system has GPUDirect Storage, calls without a completion have cuFile copy the whole pages of
// large copies, around the page cache (docs/copies.md, "GPUDirect Storage").
//
// The page cache is used where it helps: what it has is read from there. Other bytes are read
// around it where that can be done, and don't get into it, so that a large read pushes nothing out.
// A write goes through it, unless the program has opened the file with O_DIRECT.
//
// The record locks that the process has on a file (fcntl with F_SETLK) end when a call closes a
// descriptor of its own of that file, as they do when the program closes one. A call with a
// completion has one until the copy is done and the completion is destroyed. A call without one
// opens and closes one if it reads what the page cache lacks, if the program has opened the file
// with O_DIRECT and not all bytes are aligned, or if it tries cuFile. Locks of flock() and of
// F_OFD_SETLK stay.

/// Copies bytes of a file to a device. What is in the page cache is read from there; other bytes
/// are read around it (O_DIRECT) where `offset` is a multiple of 4 KiB and the file system can.
///
/// @param dst Is where the bytes go: memory that the driver knows, at its address for the device.
/// @param fd Is a descriptor of the file, open for reading. Its position is neither used nor
///     changed. It may be closed when the call has returned.
/// @param offset Is the place of the first byte in the file.
/// @param bytes Is how many there are. 0 succeeds and does nothing.
/// @param stream Is the stream in whose order they are copied.
///
/// - poolErrorInvalidValue: `dst` is null; `dst` or its last byte is no memory that the driver
///   knows; the file ends before the bytes do.
/// - poolErrorOperatingSystem: the file can't be read. The text says at which byte, and why.
/// - poolErrorMemoryAllocation: the host has no memory for chunks.
/// - After an error in the middle, as of a file that became shorter meanwhile, the device's memory
///   has some of the bytes, and may have zeros for others.
STREAMPOOL_API poolError_t poolFileToDeviceAsync(void *dst, int fd, uint64_t offset, size_t bytes,
                                                 CUstream stream);

/// Copies bytes of a device to a file, as pwrite() does: they are in the file when the call
/// returns, and on the disk behind an fsync() of the program. A descriptor that was opened with
/// O_DIRECT is written around the page cache where the bytes are aligned.
///
/// @param fd Is a descriptor of the file, open for writing, and not for appending. Its position is
///     neither used nor changed. It may be closed when the call has returned.
/// @param offset Is the place of the first byte in the file, which becomes longer where needed.
/// @param src Is where the bytes are: memory that the driver knows, at its address for the device.
/// @param bytes Is how many there are. 0 succeeds and does nothing.
/// @param stream Is the stream in whose order they are copied.
///
/// - poolErrorInvalidValue: `src` is null; `src` or its last byte is no memory that the driver
///   knows.
/// - poolErrorOperatingSystem: the file can't be written, as where the disk is full or `fd` is open
///   for appending. The text says at which byte, and why. Some of the bytes may be in the file,
///   also behind that one.
/// - poolErrorMemoryAllocation: the host has no memory for chunks.
STREAMPOOL_API poolError_t poolDeviceToFileAsync(int fd, uint64_t offset, const void *src,
                                                 size_t bytes, CUstream stream);

/// Copies as poolFileToDeviceAsync does, and returns at once. The file may be closed then, but must
/// not change until the completion says that it was read. What is wrong with the file in the middle
/// comes as an error of the completion.
///
/// @param dst Is where the bytes go.
/// @param fd Is a descriptor of the file, open for reading.
/// @param offset Is the place of the first byte in the file.
/// @param bytes Is how many there are. With 0 the completion is complete from the beginning.
/// @param stream Is the stream in whose order they are copied.
/// @param[out] completion Receives the completion, which the caller destroys. An error leaves it as
///     it was.
///
/// - Errors are those of poolFileToDeviceAsync, and those of a completion's making:
///   poolErrorInvalidValue where `completion` is null.
STREAMPOOL_API poolError_t poolFileToDeviceAsyncWithCompletion(void *dst, int fd, uint64_t offset,
                                                               size_t bytes, CUstream stream,
                                                               poolCopyCompletion_t *completion);

/// Copies as poolDeviceToFileAsync does, and returns at once. The file may be closed then. Its
/// bytes are there when the completion says so, and what is wrong with it comes as its error.
///
/// @param fd Is a descriptor of the file, open for writing, and not for appending.
/// @param offset Is the place of the first byte in the file.
/// @param src Is where the bytes are.
/// @param bytes Is how many there are. With 0 the completion is complete from the beginning.
/// @param stream Is the stream in whose order they are copied.
/// @param[out] completion Receives the completion, which the caller destroys. An error leaves it as
///     it was.
///
/// - Errors are those of poolDeviceToFileAsync, and those of a completion's making:
///   poolErrorInvalidValue where `completion` is null.
STREAMPOOL_API poolError_t poolDeviceToFileAsyncWithCompletion(int fd, uint64_t offset,
                                                               const void *src, size_t bytes,
                                                               CUstream stream,
                                                               poolCopyCompletion_t *completion);

// --------------------------------------------------------------------------- settings and the pool

// How copies of pageable memory are made, for the whole process. What neither the program sets nor
// a file says is measured once: with the process's first copy of 128 MiB or more of pageable memory
// that is made by poolCopyToDeviceAsync or poolCopyToHostAsync. A copy to the device that fits into
// its chunks is passed over, as it doesn't wait for its stream; so are rows, batches, files, and
// calls with a completion. Before the copy itself is made, pieces of it of 64 MiB are copied some
// 30 times, with up to 8 threads and 64 MiB of chunks. So the call takes longer by as much as a
// copy of 2 GiB takes.

/// Says how copies of pageable memory are made.
struct poolCopySettings {
    /// Holds how many threads copy at a time, 1 to 8: the caller of a copy of memory without a
    /// completion is one of them.
    unsigned int threads;
    /// Holds how many chunks a copy has, 2 to 16.
    unsigned int depth;
    /// Holds the bytes of a chunk, a multiple of 64 KiB up to 64 MiB. A copy has at most 128 MiB of
    /// them. A large copy with a completion has larger ones: an eighth of it, up to 32 MiB.
    size_t chunkBytes;
};

/// Tells how copies are made: as a program has set, else as was measured or a file says, else as
/// copies begin. Doesn't block, and doesn't call the driver.
///
/// @param[out] settings Receives the settings.
///
/// - poolErrorInvalidValue: `settings` is null.
STREAMPOOL_API poolError_t poolCopyGetSettings(struct poolCopySettings *settings);

/// Sets how copies that begin from now on are made. Doesn't block, and doesn't call the driver.
///
/// @param settings Holds the settings. A field that is 0 stands for what the library chooses.
///
/// - poolErrorInvalidValue: `settings` is null; a field is out of its range.
STREAMPOOL_API poolError_t poolCopySetSettings(const struct poolCopySettings *settings);

/// Names a file that remembers what was measured, so that later processes needn't measure. It has
/// lines such as `threads = 8`. What it says holds at once, for fields that no program sets, if it
/// was written by a process that may use as many processors. Else it is written as soon as all
/// three fields were measured. Another one takes its place then, so who reads it meanwhile sees the
/// old lines or the new ones; where it can't be written, or is protected, it stays as it is. Reads
/// the file, and doesn't call the driver.
///
/// @param path Names the file, which is made where there is none. Null: no file any more.
///
/// - poolErrorInvalidValue: it is no regular file, or has a line that makes no sense, or a number
///   that is out of its field's range, or some of its four lines but not all. The text says which.
/// - poolErrorOperatingSystem: it can't be read, or made. The text says why.
/// - poolErrorMemoryAllocation: the host has no memory for its name.
STREAMPOOL_API poolError_t poolCopySetSettingsFile(const char *path);

/// Gives the pool that chunks come from. It is a pool of the host, with the name `copies`, of at
/// most 1 GiB, and keeps 144 MiB at a synchronise. A program may read its statistics, set its
/// attributes and trim it. If a program destroys it, the next copy makes another one.
///
/// @param[out] pool Receives the pool, which is made where there is none.
///
/// - poolErrorInvalidValue: `pool` is null.
/// - The other errors are those of poolMemPoolCreate.
STREAMPOOL_API poolError_t poolCopyGetPool(poolMemPool_t *pool);

#ifdef __cplusplus
}
#endif

#endif
