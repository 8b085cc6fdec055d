// PyTorch's caching allocator as a peer (streampool/peer.h).
//
// PyTorch has one allocator in a process. Which one is chosen outside, by PYTORCH_CUDA_ALLOC_CONF:
// its native one, or with expandable_segments:True the one that maps memory as it grows.
#include <streampool/peer.h>

#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/util/Exception.h>

#include <cuda_runtime_api.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <unordered_map>

namespace {

namespace allocator = c10::cuda::CUDACachingAllocator;

template <typename Action> int guarded(Action action) noexcept {
    try {
        action();
        return 0;
    } catch (c10::OutOfMemoryError const &) {
        return cudaErrorMemoryAllocation;
    } catch (...) {
        return cudaErrorUnknown;
    }
}

int open_torch(void **state) {
    static std::once_flag once;
    return guarded([&] {
        std::call_once(once, [] { allocator::init(c10::cuda::device_count()); });
        *state = allocator::get();
    });
}

int close_torch(void *) {
    return guarded([] { allocator::emptyCache(); });
}

bool is_expandable() {
    static const bool expandable = [] {
        const char *settings = std::getenv("PYTORCH_CUDA_ALLOC_CONF");
        return settings && std::strstr(settings, "expandable_segments:True");
    }();
    return expandable;
}

// An expandable segment synchronises its stream when it is unmapped, so its stream has to outlive
// it. PyTorch's own streams live as long as the process; ours don't. So each handle that comes has
// a stream that stands for it and stays. No work is put on that one: PyTorch takes it for a name.
CUstream lasting(CUstream stream) {
    static std::mutex mutex;
    static std::unordered_map<CUstream, cudaStream_t> streams;
    thread_local CUstream last = nullptr;
    thread_local cudaStream_t last_lasting = nullptr;
    if (!is_expandable() || !stream)
        return stream;
    if (stream != last) {
        std::lock_guard<std::mutex> guard(mutex);
        cudaStream_t &found = streams[stream];
        if (!found)
            C10_CUDA_CHECK(cudaStreamCreateWithFlags(&found, cudaStreamNonBlocking));
        last = stream;
        last_lasting = found;
    }
    return last_lasting;
}

int allocate(void *, void **pointer, std::size_t size, CUstream stream) {
    return guarded([&] { *pointer = allocator::raw_alloc_with_stream(size, lasting(stream)); });
}

// PyTorch gives a block back to the stream that it was allocated on, whatever stream the free
// names. A program would tell it of other streams by record_stream(), which costs an event at the
// free; this peer doesn't, so PyTorch is measured at its best.
int release(void *, void *pointer, std::size_t, CUstream) {
    return guarded([&] { allocator::raw_delete(pointer); });
}

c10::CachingAllocator::Stat segments() {
    using c10::CachingAllocator::StatType;
    return allocator::getDeviceStats(0).reserved_bytes[static_cast<size_t>(StatType::AGGREGATE)];
}

int reserved(void *, std::uint64_t *bytes) {
    return guarded([&] { *bytes = static_cast<std::uint64_t>(segments().current); });
}

int reserved_high(void *, std::uint64_t *bytes) {
    return guarded([&] { *bytes = static_cast<std::uint64_t>(segments().peak); });
}

int reset_high(void *) {
    return guarded([] { allocator::resetPeakStats(0); });
}

} // namespace

const poolPeer *poolPeerAt(unsigned index) {
    static const poolPeer peer = {STREAMPOOL_PEER_VERSION,
                                  is_expandable() ? "PyTorch expandable" : "PyTorch",
                                  open_torch,
                                  close_torch,
                                  allocate,
                                  release,
                                  reserved,
                                  reserved_high,
                                  reset_high};
    return index == 0 ? &peer : nullptr;
}
