// RMM's memory resources as peers (streampool/peer.h).
//
// Each resource but cuda_async takes its memory from cudaMalloc by way of a resource that counts
// it. Sizes that a resource needs at its start are those of RMM's own examples, or given here.
#include <streampool/peer.h>

#include <rmm/mr/arena_memory_resource.hpp>
#include <rmm/mr/binning_memory_resource.hpp>
#include <rmm/mr/cuda_async_memory_resource.hpp>
#include <rmm/mr/cuda_memory_resource.hpp>
#include <rmm/mr/pool_memory_resource.hpp>

#include <cuda_runtime_api.h>

#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>

namespace {

constexpr std::size_t alignment = 256;
constexpr std::size_t arena_bytes = std::size_t{16} << 30; // the traces need up to 13 GiB
constexpr int8_t least_bin = 18, largest_bin = 22;         // exponents: 256 KiB to 4 MiB

// What has been taken from the device.
struct Count {
    std::atomic<std::uint64_t> now{0}, high{0};

    void add(std::uint64_t bytes) {
        std::uint64_t sum = now += bytes, most = high;
        while (sum > most && !high.compare_exchange_weak(most, sum)) {
        }
    }
};

class Counted {
  public:
    explicit Counted(std::shared_ptr<Count> count) : count_(std::move(count)) {
    }

    void *allocate(cuda::stream_ref stream, std::size_t bytes, std::size_t align = alignment) {
        void *pointer = device_.allocate(stream, bytes, align);
        count_->add(bytes);
        return pointer;
    }
    void deallocate(cuda::stream_ref stream, void *pointer, std::size_t bytes,
                    std::size_t align = alignment) noexcept {
        device_.deallocate(stream, pointer, bytes, align);
        count_->now -= bytes;
    }
    void *allocate_sync(std::size_t bytes, std::size_t align = alignment) {
        void *pointer = device_.allocate_sync(bytes, align);
        count_->add(bytes);
        return pointer;
    }
    void deallocate_sync(void *pointer, std::size_t bytes, std::size_t align = alignment) noexcept {
        device_.deallocate_sync(pointer, bytes, align);
        count_->now -= bytes;
    }
    bool operator==(Counted const &other) const noexcept {
        return count_ == other.count_;
    }
    bool operator!=(Counted const &other) const noexcept {
        return !(*this == other);
    }
    friend void get_property(Counted const &, cuda::mr::device_accessible) noexcept {
    }

  private:
    rmm::mr::cuda_memory_resource device_;
    std::shared_ptr<Count> count_;
};

// A state is one of these: a resource, and how much it holds.
struct Pool {
    std::shared_ptr<Count> count = std::make_shared<Count>();
    rmm::mr::pool_memory_resource resource{Counted(count), 0};
};

struct Arena {
    std::shared_ptr<Count> count = std::make_shared<Count>();
    rmm::mr::arena_memory_resource resource{Counted(count), arena_bytes};
};

struct Binning {
    std::shared_ptr<Count> count = std::make_shared<Count>();
    rmm::mr::binning_memory_resource resource{rmm::mr::pool_memory_resource(Counted(count), 0),
                                              least_bin, largest_bin};
};

struct CudaAsync {
    rmm::mr::cuda_async_memory_resource resource{std::nullopt,
                                                 std::numeric_limits<std::size_t>::max()};
};

// ------------------------------------------------------------------------------- what a peer does

// Runs what may throw.
template <typename Action> int guarded(Action action) noexcept {
    try {
        action();
        return 0;
    } catch (rmm::out_of_memory const &) {
        return cudaErrorMemoryAllocation;
    } catch (...) {
        return cudaErrorUnknown;
    }
}

template <typename State> int open_state(void **state) {
    return guarded([&] { *state = new State; });
}

template <typename State> int close_state(void *state) {
    return guarded([&] { delete static_cast<State *>(state); });
}

template <typename State>
int allocate(void *state, void **pointer, std::size_t size, CUstream stream) {
    return guarded([&] {
        *pointer = static_cast<State *>(state)->resource.allocate(cuda::stream_ref{stream}, size,
                                                                  alignment);
    });
}

template <typename State>
int deallocate(void *state, void *pointer, std::size_t size, CUstream stream) {
    return guarded([&] {
        static_cast<State *>(state)->resource.deallocate(cuda::stream_ref{stream}, pointer, size,
                                                         alignment);
    });
}

template <typename State> int reserved(void *state, std::uint64_t *bytes) {
    *bytes = static_cast<State *>(state)->count->now;
    return 0;
}

template <typename State> int reserved_high(void *state, std::uint64_t *bytes) {
    *bytes = static_cast<State *>(state)->count->high;
    return 0;
}

template <typename State> int reset_high(void *state) {
    auto &count = *static_cast<State *>(state)->count;
    count.high = count.now.load();
    return 0;
}

// CUDA's pool counts for itself.
int attribute(void *state, cudaMemPoolAttr name, std::uint64_t *bytes) {
    auto pool = static_cast<CudaAsync *>(state)->resource.pool_handle();
    return cudaMemPoolGetAttribute(pool, name, bytes);
}

template <> int reserved<CudaAsync>(void *state, std::uint64_t *bytes) {
    return attribute(state, cudaMemPoolAttrReservedMemCurrent, bytes);
}

template <> int reserved_high<CudaAsync>(void *state, std::uint64_t *bytes) {
    return attribute(state, cudaMemPoolAttrReservedMemHigh, bytes);
}

template <> int reset_high<CudaAsync>(void *state) {
    std::uint64_t zero = 0;
    auto pool = static_cast<CudaAsync *>(state)->resource.pool_handle();
    return cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReservedMemHigh, &zero);
}

// -------------------------------------------------------------------------------------- the peers

template <typename State> constexpr poolPeer peer(const char *name) {
    return {STREAMPOOL_PEER_VERSION, name,
            open_state<State>,       close_state<State>,
            allocate<State>,         deallocate<State>,
            reserved<State>,         reserved_high<State>,
            reset_high<State>};
}

constexpr poolPeer peers[] = {peer<Pool>("RMM pool"), peer<Arena>("RMM arena"),
                              peer<Binning>("RMM binning"), peer<CudaAsync>("RMM cuda_async")};

} // namespace

const poolPeer *poolPeerAt(unsigned index) {
    return index < sizeof peers / sizeof peers[0] ? &peers[index] : nullptr;
}
