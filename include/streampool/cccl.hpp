/// @file
/// A memory resource for CCCL, NVIDIA's C++ core libraries: what cuda::mr asks for, from a pool of
/// streampool. It needs CCCL 2.5 or newer, as CUDA has it from 12.6 on.
///
///     streampool::pool pool(0);
///     streampool::device_resource resource(pool);
///     cuda::mr::resource_ref<cuda::mr::device_accessible> ref(resource);
///
/// pinned_resource is for a pool of memory of the host, which both the host and devices use.
///
/// CCCL has given new names to the calls of a resource in 3.1. device_resource has those of the
/// CCCL that it is compiled with:
///
/// | CCCL | in a stream's order | for any stream |
/// | --- | --- | --- |
/// | 2.5 to 3.0 | allocate_async, deallocate_async | allocate, deallocate |
/// | 3.1 on | allocate, deallocate | allocate_sync, deallocate_sync |
#ifndef STREAMPOOL_CCCL_HPP
#define STREAMPOOL_CCCL_HPP

#include <streampool/streampool.hpp>

#if !__has_include(<cuda/version>) || !__has_include(<cuda/memory_resource>)
#error                                                                                             \
    "streampool/cccl.hpp needs CCCL 2.5 or newer: add include/cccl of CUDA 13, or include of 12.6"
#else
#include <cuda/version>
#if !defined(CCCL_VERSION) || CCCL_VERSION < 2005000
#error "streampool/cccl.hpp needs CCCL 2.5 or newer: this one is older"
#elif CCCL_VERSION < 3001000 && !defined(LIBCUDACXX_ENABLE_EXPERIMENTAL_MEMORY_RESOURCE)
#error "streampool/cccl.hpp needs -DLIBCUDACXX_ENABLE_EXPERIMENTAL_MEMORY_RESOURCE before CCCL 3.1"
#else

#include <cuda/memory_resource>

namespace streampool {

namespace detail {

/// The calling thread's default stream, which no other thread uses.
inline CUstream thread_stream() noexcept {
    return reinterpret_cast<CUstream>(std::uintptr_t{2});
}

} // namespace detail

// ------------------------------------------------------------------------------------ CCCL and RMM

// Containers of CCCL and of RMM allocate from these.

#if defined(CUDA_API_PER_THREAD_DEFAULT_STREAM)
inline namespace per_thread_default_stream {
#endif

/// Satisfies cuda::mr::resource_with<cuda::mr::device_accessible>, which is called
/// async_resource_with before CCCL 3.1. It owns nothing, so the pool must live as long as it
/// allocates. It can be copied, and any number of threads can use it.
class device_resource {
  public:
    /// Allocates from `pool`, or the current pool of each stream's device, by flags of
    /// poolMallocFlags.
    ///
    /// @param pool Is the pool to allocate from, or an empty one.
    /// @param flags Is a combination of poolMallocFlags.
    explicit device_resource(pool_ref pool = pool_ref(),
                             unsigned int flags = poolMallocDefault) noexcept
        : resource_(pool, flags) {
    }

#if CCCL_VERSION >= 3001000
    /// Allocates `bytes` bytes in the order of `stream`. Returns the address on the device.
    ///
    /// @param stream Is the stream in whose order the memory is allocated.
    /// @param bytes Is the number of bytes.
    /// @param alignment Is the alignment in bytes.
    ///
    /// - Throws as streampool::resource::allocate does.
    [[nodiscard]] void *allocate(cuda::stream_ref stream, std::size_t bytes,
                                 std::size_t alignment = alignof(std::max_align_t)) {
        return resource_.allocate(bytes, alignment, stream.get());
    }

    /// Frees memory in the order of `stream`: each use must be ordered before that.
    ///
    /// @param stream Is the stream in whose order the memory is freed.
    /// @param memory Is an address that was allocated here, or null.
    /// @param bytes Is the number of bytes that were allocated.
    /// @param alignment Is the alignment that was asked for.
    void deallocate(cuda::stream_ref stream, void *memory, std::size_t bytes,
                    std::size_t alignment = alignof(std::max_align_t)) noexcept {
        resource_.deallocate(memory, bytes, alignment, stream.get());
    }

    /// Allocates memory that any stream may use at once: it waits until the calling thread's
    /// default stream is idle. Returns the address on the device.
    ///
    /// @param bytes Is the number of bytes.
    /// @param alignment Is the alignment in bytes.
    ///
    /// - Throws as streampool::resource::allocate does, and as poolStreamSynchronize fails.
    [[nodiscard]] void *allocate_sync(std::size_t bytes,
                                      std::size_t alignment = alignof(std::max_align_t)) {
        return allocate_and_wait(bytes, alignment);
    }

    /// Frees memory of which the caller vouches that no work uses it any more. Doesn't wait.
    ///
    /// @param memory Is an address that was allocated here, or null.
    void deallocate_sync(void *memory, std::size_t /*bytes*/,
                         std::size_t /*alignment*/ = alignof(std::max_align_t)) noexcept {
        poolFree(memory);
    }
#else
    /// Allocates `bytes` bytes in the order of `stream`. Returns the address on the device.
    ///
    /// @param bytes Is the number of bytes.
    /// @param alignment Is the alignment in bytes.
    /// @param stream Is the stream in whose order the memory is allocated.
    ///
    /// - Throws as streampool::resource::allocate does.
    [[nodiscard]] void *allocate_async(std::size_t bytes, std::size_t alignment,
                                       cuda::stream_ref stream) {
        return resource_.allocate(bytes, alignment, stream.get());
    }

    /// Frees memory in the order of `stream`: each use must be ordered before that.
    ///
    /// @param memory Is an address that was allocated here, or null.
    /// @param bytes Is the number of bytes that were allocated.
    /// @param alignment Is the alignment that was asked for.
    /// @param stream Is the stream in whose order the memory is freed.
    void deallocate_async(void *memory, std::size_t bytes, std::size_t alignment,
                          cuda::stream_ref stream) noexcept {
        resource_.deallocate(memory, bytes, alignment, stream.get());
    }

    /// Allocates memory that any stream may use at once: it waits until the calling thread's
    /// default stream is idle. Returns the address on the device.
    ///
    /// @param bytes Is the number of bytes.
    /// @param alignment Is the alignment in bytes.
    ///
    /// - Throws as streampool::resource::allocate does, and as poolStreamSynchronize fails.
    [[nodiscard]] void *allocate(std::size_t bytes,
                                 std::size_t alignment = alignof(std::max_align_t)) {
        return allocate_and_wait(bytes, alignment);
    }

    /// Frees memory of which the caller vouches that no work uses it any more. Doesn't wait.
    ///
    /// @param memory Is an address that was allocated here, or null.
    void deallocate(void *memory, std::size_t /*bytes*/,
                    std::size_t /*alignment*/ = alignof(std::max_align_t)) noexcept {
        poolFree(memory);
    }
#endif

    /// Returns the pool that it allocates from.
    pool_ref upstream() const noexcept {
        return resource_.upstream();
    }

    /// Returns true when both allocate from one pool by the same flags.
    ///
    /// @param left Is one resource.
    /// @param right Is the other one.
    friend bool operator==(const device_resource &left, const device_resource &right) noexcept {
        return left.resource_ == right.resource_;
    }

    /// Returns true when the two do not allocate from one pool by the same flags.
    ///
    /// @param left Is one resource.
    /// @param right Is the other one.
    friend bool operator!=(const device_resource &left, const device_resource &right) noexcept {
        return left.resource_ != right.resource_;
    }

    /// Says that devices can use the memory. Whether the host can isn't known here.
    friend constexpr void get_property(const device_resource &,
                                       cuda::mr::device_accessible) noexcept {
    }

  private:
    void *allocate_and_wait(std::size_t bytes, std::size_t alignment) {
        void *memory = resource_.allocate(bytes, alignment, detail::thread_stream());
        const poolError_t code = poolStreamSynchronize(detail::thread_stream());
        if (code != poolSuccess) {
            const error refused(code, "poolStreamSynchronize");
            resource_.deallocate(memory, bytes, alignment, detail::thread_stream());
            throw refused;
        }
        return memory;
    }

    resource resource_;
};

/// Satisfies cuda::mr::resource_with<cuda::mr::host_accessible, cuda::mr::device_accessible> by a
/// pool of memory of the host or of managed memory, with the calls of device_resource. Each device
/// that shall use the memory of a pool of the host needs access to it, by poolMemPoolSetAccess.
///
/// Memory that was allocated in a stream's order may be written to by the host when that stream has
/// been waited for, or at once with the flag poolMallocCompleteOnly; memory for any stream may be
/// written to at once.
class pinned_resource : public device_resource {
  public:
    /// Allocates from `pool` by flags of poolMallocFlags.
    ///
    /// @param pool Is the pool to allocate from, which the host has access to.
    /// @param flags Is a combination of poolMallocFlags.
    explicit pinned_resource(pool_ref pool, unsigned int flags = poolMallocDefault) noexcept
        : device_resource(pool, flags) {
    }

    /// Says that the host, too, can use the memory.
    friend constexpr void get_property(const pinned_resource &,
                                       cuda::mr::host_accessible) noexcept {
    }
};

#if defined(CUDA_API_PER_THREAD_DEFAULT_STREAM)
} // namespace per_thread_default_stream
#endif

} // namespace streampool

#endif
#endif

#endif
