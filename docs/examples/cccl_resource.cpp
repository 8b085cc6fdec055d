// Functions that take any memory resource of CCCL, NVIDIA's C++ core libraries, get a resource of
// this library. CCCL before 3.1 (CUDA 13.0 has 3.0) needs
// -DLIBCUDACXX_ENABLE_EXPERIMENTAL_MEMORY_RESOURCE.
#include <iostream>
#include <streampool/cccl.hpp>

constexpr std::size_t bytes = 1 << 20, alignment = 256;

// CCCL 3.1 gave new names to the reference and its calls.
#if CCCL_VERSION >= 3001000
using memory_ref = cuda::mr::resource_ref<cuda::mr::device_accessible>;

static void *allocate(memory_ref memory, cuda::stream_ref stream) {
    return memory.allocate(stream, bytes, alignment);
}
static void deallocate(memory_ref memory, void *block, cuda::stream_ref stream) {
    memory.deallocate(stream, block, bytes, alignment);
}
#else
using memory_ref = cuda::mr::async_resource_ref<cuda::mr::device_accessible>;

static void *allocate(memory_ref memory, cuda::stream_ref stream) {
    return memory.allocate_async(bytes, alignment, stream);
}
static void deallocate(memory_ref memory, void *block, cuda::stream_ref stream) {
    memory.deallocate_async(block, bytes, alignment, stream);
}
#endif

static void print_used(const streampool::pool &pool, const char *when) {
    std::cout << when << ": " << pool.get_attribute<poolMemPoolAttrUsedMemCurrent>()
              << " bytes are used\n";
}

int main() try {
    const cuda::stream_ref stream{cudaStream_t{nullptr}}; // the default stream
    const streampool::pool pool(0);                       // must live as long as the resource
    streampool::device_resource memory(pool);
    void *block = allocate(memory, stream);
    print_used(pool, "allocated");
    deallocate(memory, block, stream);
    print_used(pool, "deallocated");
    return 0;
} catch (const std::exception &reason) {
    std::cerr << reason.what() << '\n';
    return 1;
}
