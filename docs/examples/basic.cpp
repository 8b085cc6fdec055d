// C++ programs own pools and buffers by classes, and exceptions say why an allocation failed.
#include <cuda.h>
#include <iostream>
#include <streampool/streampool.hpp>
#include <vector>

// Errors of the library have the driver's numbers, so a driver's call can throw as the library's
// do.
static void check(CUresult result, const char *call) {
    streampool::check(static_cast<poolError_t>(result), call);
}
static CUdeviceptr address(const void *memory) {
    return reinterpret_cast<CUdeviceptr>(memory);
}

static void run(CUstream stream) {
    streampool::pool pool(0); // on device 0; memory that outlives the pool stays valid
    pool.set_attribute<poolMemPoolAttrReleaseThreshold>(UINT64_MAX);
    {
        const streampool::buffer<char> letters(1 << 20, stream, pool);
        std::vector<char> copy(letters.size());
        check(cuMemsetD8Async(address(letters.data()), 'x', letters.size_bytes(), stream),
              "cuMemsetD8Async");
        streampool::check(poolStreamSynchronize(stream), "poolStreamSynchronize");
        check(cuMemcpyDtoH(copy.data(), address(letters.data()), copy.size()), "cuMemcpyDtoH");
        std::cout << copy.front() << copy.back() << ", "
                  << pool.get_attribute<poolMemPoolAttrUsedMemCurrent>() << " bytes are used\n";
    } // freed in the stream's order, with no wait
    std::cout << pool.get_attribute<poolMemPoolAttrUsedMemCurrent>() << " bytes are used\n";
    try {
        const streampool::buffer<double> too_large(std::size_t{1} << 46, stream, pool);
    } catch (const streampool::out_of_memory &reason) { // is a std::bad_alloc, too
        std::cout << poolGetErrorName(reason.code()) << ", and nothing has changed\n";
    }
}

int main() try {
    CUdevice device;
    CUcontext context;
    CUstream stream;
    check(cuInit(0), "cuInit");
    check(cuDeviceGet(&device, 0), "cuDeviceGet");
    check(cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
    check(cuCtxSetCurrent(context), "cuCtxSetCurrent");
    check(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
    run(stream);
    streampool::check(poolStreamDestroy(stream), "poolStreamDestroy");
    return 0;
} catch (const std::exception &reason) {
    std::cerr << reason.what() << '\n'; // the call, the error, and why
    return 1;
}
