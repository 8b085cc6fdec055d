// RMM's containers get memory from a pool of this library.
#include <iostream>
#include <rmm/device_uvector.hpp>
#include <streampool/rmm.hpp>

static void print_used(const streampool::pool &pool, const char *when) {
    std::cout << when << ": " << pool.get_attribute<poolMemPoolAttrUsedMemCurrent>()
              << " bytes are used\n";
}

int main() try {
    const cuda::stream_ref stream{cudaStream_t{nullptr}}; // the default stream
    const streampool::pool pool(0); // must live as long as what is made from it
    streampool::rmm_resource memory(pool);
    {
        const rmm::device_uvector<float> numbers(1 << 20, stream, memory);
        print_used(pool, "a vector of 2^20 floats");
    } // freed in the stream's order
    print_used(pool, "no vector");
    try {
        const rmm::device_uvector<float> too_large(std::size_t{1} << 46, stream, memory);
    } catch (const rmm::out_of_memory &reason) {
        const auto &failure = dynamic_cast<const streampool::failure &>(reason); // says more
        std::cout << "2^46 floats: " << poolGetErrorName(failure.code()) << '\n';
    }
    return 0;
} catch (const std::exception &reason) {
    std::cerr << reason.what() << '\n';
    return 1;
}
