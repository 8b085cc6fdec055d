/// @file
/// The interface of a *peer*: an allocator of somebody else that `streampool replay` and
/// `streampool-bench` measure beside streampool in the same run (their option `--peer`).
///
/// A peer library is a shared library that exports poolPeerAt(). It may hold several peers. The
/// programs load it, and use each peer on device 0, whose primary context is current in every
/// thread that calls. This one, for one thread, is built by
/// `cc -shared -fPIC plain.c -o plain.so $(pkg-config --cflags streampool) -lcudart`:
///
///     #include <cuda_runtime.h>
///     #include <streampool/peer.h>
///
///     static uint64_t now, high;
///
///     static int open_plain(void **state) { return *state = &now, 0; }
///     static int close_plain(void *state) { return (void)state, 0; }
///
///     static int allocate(void *state, void **pointer, size_t size, CUstream stream) {
///         (void)state, (void)stream;
///         int status = cudaMalloc(pointer, size);
///         now += status ? 0 : size;
///         high = now > high ? now : high;
///         return status;
///     }
///
///     static int release(void *state, void *pointer, size_t size, CUstream stream) {
///         (void)state, (void)stream;
///         now -= size;
///         return cudaFree(pointer);
///     }
///
///     static int reserved(void *state, uint64_t *bytes) { return (void)state, *bytes = now, 0; }
///     static int most(void *state, uint64_t *bytes) { return (void)state, *bytes = high, 0; }
///     static int reset(void *state) { return (void)state, high = now, 0; }
///
///     static const poolPeer plain = {STREAMPOOL_PEER_VERSION, "plain", open_plain, close_plain,
///                                    allocate, release, reserved, most, reset};
///
///     const poolPeer *poolPeerAt(unsigned index) { return index == 0 ? &plain : NULL; }
///
/// All functions that return int return 0 or an error number of the driver (`CUresult`), with which
/// the programs name what went wrong. They print other numbers as they are.
#ifndef STREAMPOOL_PEER_H
#define STREAMPOOL_PEER_H

#include <stddef.h>
#include <stdint.h>
#include <streampool/streampool.h>

#ifdef __cplusplus
extern "C" {
#endif

/// The version of this interface. A program refuses peers of any other.
#define STREAMPOOL_PEER_VERSION 1

/// A peer is a table of functions, which must outlive the process.
typedef struct poolPeer {
    /// STREAMPOOL_PEER_VERSION, as the peer was built with.
    unsigned version;
    /// What tables call it: letters, digits, spaces, and `-_.`, at most 31 of them.
    const char *name;
    /// Makes the allocator, with no memory in it. The other functions get `*state` again, which
    /// isn't null. A peer is open once at a time, and may be opened again when it has been closed.
    int (*open)(void **state);
    /// Gives all memory back to the device. Nothing is allocated any more, and no work is pending.
    int (*close)(void *state);
    /// Allocates `size` bytes, at least 1, which work that comes next on the stream may use.
    /// Threads call this and free() at once.
    int (*allocate)(void *state, void **pointer, size_t size, CUstream stream);
    /// Frees an allocation of `size` bytes in the order of the stream. That may be another stream
    /// than it was allocated on; then the caller has ordered it behind all uses.
    int (*free)(void *state, void *pointer, size_t size, CUstream stream);
    /// Tells the bytes that the allocator has taken from the device.
    int (*reserved)(void *state, uint64_t *bytes);
    /// Tells the most that it had taken at once since it was made, or since resetHigh().
    int (*reservedHigh)(void *state, uint64_t *bytes);
    /// Lets that begin again at what it has now.
    int (*resetHigh)(void *state);
} poolPeer;

/// A peer library defines this function, and the programs call it once for each peer. It is called
/// by one thread, before any peer is opened.
///
/// @param index Is the number of a peer, from 0.
/// @return The peer, or null when the library has no more than `index` peers.
STREAMPOOL_API const poolPeer *poolPeerAt(unsigned index);

#ifdef __cplusplus
}
#endif

#endif
