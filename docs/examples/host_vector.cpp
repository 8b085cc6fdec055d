// A vector of the standard library whose memory is pinned: the CPU fills it, the device copies from
// it by itself, and it goes out of scope while the copy still runs.
#include <cuda.h>
#include <iostream>
#include <numeric>
#include <streampool/streampool.hpp>
#include <vector>

static void check(CUresult result, const char *call) {
    streampool::check(static_cast<poolError_t>(result), call);
}
static CUdeviceptr address(const void *memory) {
    return reinterpret_cast<CUdeviceptr>(memory);
}

static void run(CUstream stream) {
    const streampool::pool pool(streampool::on_host());
    pool.set_access(0, poolMemAccessFlagsProtReadWrite); // device 0; at first the host alone
    streampool::host_resource memory(pool, stream);      // frees in the order of this stream
    const streampool::buffer<float> on_device(1 << 20, stream);
    {
        std::pmr::vector<float> numbers(on_device.size(), &memory);
        std::iota(numbers.begin(), numbers.end(), 0.0F);
        check(cuMemcpyHtoDAsync(address(on_device.data()), numbers.data(), on_device.size_bytes(),
                                stream),
              "cuMemcpyHtoDAsync");
        std::cout << pool.get_attribute<poolMemPoolAttrUsedMemCurrent>() << " bytes are used\n";
    } // freed behind the copy, with no wait
    std::cout << pool.get_attribute<poolMemPoolAttrUsedMemCurrent>() << " bytes are used\n";
    float last = 0;
    streampool::check(poolStreamSynchronize(stream), "poolStreamSynchronize");
    check(cuMemcpyDtoH(&last, address(on_device.data() + on_device.size() - 1), sizeof last),
          "cuMemcpyDtoH");
    std::cout << "the last number is " << static_cast<int>(last) << '\n';
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
