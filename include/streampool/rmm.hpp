/// @file
/// A memory resource for RMM, the RAPIDS memory manager: what its containers and adaptors allocate
/// from, out of a pool of streampool. It is tried with RMM 24.12 to 26.10.
///
///     streampool::pool pool(0);
///     streampool::rmm_resource resource(pool);
///     rmm::device_uvector<float> numbers(1 << 20, stream, resource);
///
/// Up to 26.4, RMM's resources derive from rmm::mr::device_memory_resource, and so does this one.
/// RMM 26.6 and newer have no such class, and take what satisfies CCCL's concepts. `&resource` is
/// what rmm::mr::set_current_device_resource takes of the one kind, and `resource` of the other.
///
/// Where RMM asks for memory that the host can use, too (rmm::host_device_async_resource_ref), it
/// takes pinned_resource of streampool/cccl.hpp, with a pool of memory of the host.
///
/// What fails throws rmm::out_of_memory or rmm::bad_alloc, as RMM's own resources do and its
/// adaptors expect; these exceptions are also a streampool::failure.
#ifndef STREAMPOOL_RMM_HPP
#define STREAMPOOL_RMM_HPP

#include <streampool/streampool.hpp>

#if !__has_include(<rmm/resource_ref.hpp>)
#error "streampool/rmm.hpp needs RMM 24.12 or newer: add its include folder, or link rmm::rmm"
#else

#if __has_include(<rmm/mr/device_memory_resource.hpp>)
#include <rmm/mr/device_memory_resource.hpp>
#define STREAMPOOL_RMM_HAS_BASE 1
#elif __has_include(<rmm/mr/device/device_memory_resource.hpp>)
#include <rmm/mr/device/device_memory_resource.hpp>
#define STREAMPOOL_RMM_HAS_BASE 1
#else
#include <streampool/cccl.hpp>
#define STREAMPOOL_RMM_HAS_BASE 0
#endif
#include <rmm/error.hpp>
#include <rmm/resource_ref.hpp>

namespace streampool {

// ------------------------------------------------------------------------------------ CCCL and RMM

/// Is thrown by rmm_resource where a call returned poolErrorMemoryAllocation.
class STREAMPOOL_API rmm_out_of_memory : public rmm::out_of_memory, public failure {
  public:
    /// Tells what an allocation ran into.
    ///
    /// @param reason Tells what the call ran into.
    explicit rmm_out_of_memory(const failure &reason)
        : rmm::out_of_memory(reason.message()), failure(reason) {
    }
};

/// Is thrown by rmm_resource where a call returned any other code.
class STREAMPOOL_API rmm_bad_alloc : public rmm::bad_alloc, public failure {
  public:
    /// Tells what an allocation ran into.
    ///
    /// @param reason Tells what the call ran into.
    explicit rmm_bad_alloc(const failure &reason)
        : rmm::bad_alloc(reason.message()), failure(reason) {
    }
};

namespace detail {

/// Returns what `allocate` returns, or throws what RMM expects in its place.
template <typename Allocate> void *allocate_for_rmm(Allocate allocate) {
    try {
        return allocate();
    } catch (const out_of_memory &reason) {
        throw rmm_out_of_memory(reason);
    } catch (const error &reason) {
        throw rmm_bad_alloc(reason);
    }
}

} // namespace detail

#if defined(CUDA_API_PER_THREAD_DEFAULT_STREAM)
inline namespace per_thread_default_stream {
#endif

#if STREAMPOOL_RMM_HAS_BASE

/// Allocates from a pool for RMM. It owns nothing, so the pool must live as long as it allocates.
/// It can be copied, and any number of threads can use it.
class rmm_resource final : public rmm::mr::device_memory_resource {
  public:
    /// Allocates from `pool`, or the current pool of each stream's device, by flags of
    /// poolMallocFlags.
    ///
    /// @param pool Is the pool to allocate from, or an empty one.
    /// @param flags Is a combination of poolMallocFlags.
    explicit rmm_resource(pool_ref pool = pool_ref(),
                          unsigned int flags = poolMallocDefault) noexcept
        : resource_(pool, flags) {
    }

    /// Returns the pool that it allocates from.
    pool_ref upstream() const noexcept {
        return resource_.upstream();
    }

  private:
    void *do_allocate(std::size_t bytes, rmm::cuda_stream_view stream) override {
        return detail::allocate_for_rmm(
            [&] { return resource_.allocate(bytes, resource::max_alignment, stream.value()); });
    }

    void do_deallocate(void *memory, std::size_t bytes,
                       rmm::cuda_stream_view stream) noexcept override {
        resource_.deallocate(memory, bytes, resource::max_alignment, stream.value());
    }

    bool do_is_equal(const rmm::mr::device_memory_resource &other) const noexcept override {
        const auto *same_kind = dynamic_cast<const rmm_resource *>(&other);
        return same_kind && resource_ == same_kind->resource_;
    }

    resource resource_;
};

#else

/// Allocates from a pool for RMM. It owns nothing, so the pool must live as long as it allocates.
/// It can be copied, and any number of threads can use it.
class rmm_resource final {
  public:
    /// Allocates from `pool`, or the current pool of each stream's device, by flags of
    /// poolMallocFlags.
    ///
    /// @param pool Is the pool to allocate from, or an empty one.
    /// @param flags Is a combination of poolMallocFlags.
    explicit rmm_resource(pool_ref pool = pool_ref(),
                          unsigned int flags = poolMallocDefault) noexcept
        : resource_(pool, flags) {
    }

    /// Allocates as device_resource::allocate does. Returns the address on the device.
    ///
    /// @param stream Is the stream in whose order the memory is allocated.
    /// @param bytes Is the number of bytes.
    /// @param alignment Is the alignment in bytes.
    ///
    /// - Throws rmm_out_of_memory and rmm_bad_alloc.
    [[nodiscard]] void *allocate(cuda::stream_ref stream, std::size_t bytes,
                                 std::size_t alignment = alignof(std::max_align_t)) {
        return detail::allocate_for_rmm(
            [&] { return resource_.allocate(stream, bytes, alignment); });
    }

    /// Frees as device_resource::deallocate does.
    ///
    /// @param stream Is the stream in whose order the memory is freed.
    /// @param memory Is an address that was allocated here, or null.
    /// @param bytes Is the number of bytes that were allocated.
    /// @param alignment Is the alignment that was asked for.
    void deallocate(cuda::stream_ref stream, void *memory, std::size_t bytes,
                    std::size_t alignment = alignof(std::max_align_t)) noexcept {
        resource_.deallocate(stream, memory, bytes, alignment);
    }

    /// Allocates as device_resource::allocate_sync does. Returns the address on the device.
    ///
    /// @param bytes Is the number of bytes.
    /// @param alignment Is the alignment in bytes.
    ///
    /// - Throws rmm_out_of_memory and rmm_bad_alloc.
    [[nodiscard]] void *allocate_sync(std::size_t bytes,
                                      std::size_t alignment = alignof(std::max_align_t)) {
        return detail::allocate_for_rmm([&] { return resource_.allocate_sync(bytes, alignment); });
    }

    /// Frees as device_resource::deallocate_sync does.
    ///
    /// @param memory Is an address that was allocated here, or null.
    /// @param bytes Is the number of bytes that were allocated.
    /// @param alignment Is the alignment that was asked for.
    void deallocate_sync(void *memory, std::size_t bytes,
                         std::size_t alignment = alignof(std::max_align_t)) noexcept {
        resource_.deallocate_sync(memory, bytes, alignment);
    }

    /// Returns the pool that it allocates from.
    pool_ref upstream() const noexcept {
        return resource_.upstream();
    }

    /// Returns true when both allocate from one pool by the same flags.
    ///
    /// @param left Is one resource.
    /// @param right Is the other one.
    friend bool operator==(const rmm_resource &left, const rmm_resource &right) noexcept {
        return left.resource_ == right.resource_;
    }

    /// Returns true when the two do not allocate from one pool by the same flags.
    ///
    /// @param left Is one resource.
    /// @param right Is the other one.
    friend bool operator!=(const rmm_resource &left, const rmm_resource &right) noexcept {
        return left.resource_ != right.resource_;
    }

    /// Says that devices can use the memory. Whether the host can isn't known here.
    friend constexpr void get_property(const rmm_resource &, cuda::mr::device_accessible) noexcept {
    }

  private:
    device_resource resource_;
};

#endif

#if defined(CUDA_API_PER_THREAD_DEFAULT_STREAM)
} // namespace per_thread_default_stream
#endif

} // namespace streampool

#undef STREAMPOOL_RMM_HAS_BASE

#endif

#endif
