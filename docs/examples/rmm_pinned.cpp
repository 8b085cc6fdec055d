// What asks RMM for memory that both the host and devices can use gets it from a pool of this
// library, in the place of rmm::mr::pinned_host_memory_resource.
#include <cstring>
#include <iostream>
#include <rmm/device_buffer.hpp>
#include <streampool/cccl.hpp>
#include <streampool/rmm.hpp>

static void print_used(const streampool::pool &pool, const char *when) {
    std::cout << when << ": " << pool.get_attribute<poolMemPoolAttrUsedMemCurrent>()
              << " bytes are used\n";
}

static void fill(rmm::host_device_async_resource_ref memory, cuda::stream_ref stream) {
    const rmm::device_buffer letters(1 << 20, stream, memory);
    std::memset(const_cast<void *>(letters.data()), 'x', letters.size()); // from the host
    std::cout << static_cast<const char *>(letters.data())[letters.size() - 1] << " was written\n";
}

int main() try {
    const cuda::stream_ref stream{cudaStream_t{nullptr}}; // the default stream
    const streampool::pool pool(streampool::on_host());   // must live as long as the resource
    pool.set_access(0, poolMemAccessFlagsProtReadWrite);  // device 0; at first the host alone
    // With this flag the host may write at once. Without it the host first waits for the stream.
    streampool::pinned_resource memory(pool, poolMallocCompleteOnly);
    fill(memory, stream);
    print_used(pool, "no buffer");
    return 0;
} catch (const std::exception &reason) {
    std::cerr << reason.what() << '\n';
    return 1;
}
