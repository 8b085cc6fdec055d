// A program uses kernels and streams of the CUDA runtime with memory of this library.
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#include <streampool/streampool.h>
#include <vector>

// Errors of the library have the runtime's numbers, so one function looks at both.
static void check(int error, const char *call) {
    if (error == 0)
        return;
    std::fprintf(stderr, "%s: %s\n", call, cudaGetErrorString(static_cast<cudaError_t>(error)));
    std::fprintf(stderr, "%s\n", poolGetLastErrorDetail()); // why, if the library's call failed
    std::exit(1);
}

#define CHECK(call) check(call, #call)

__global__ void square(int *numbers, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        numbers[i] = i * i;
}

int main() {
    const int count = 10000, threads = 256;
    const size_t bytes = count * sizeof(int);
    std::vector<int> on_host(count);
    cudaStream_t stream;
    int *numbers;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));

    CHECK(poolMallocAsync(&numbers, bytes, stream)); // a cudaStream_t is the driver's CUstream
    square<<<(count + threads - 1) / threads, threads, 0, stream>>>(numbers, count);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpyAsync(on_host.data(), numbers, bytes, cudaMemcpyDeviceToHost, stream));
    CHECK(poolFreeAsync(numbers, stream)); // after the copy, in the stream's order
    CHECK(poolStreamSynchronize(stream));
    CHECK(poolStreamDestroy(stream));

    int right = 0;
    for (int i = 0; i < count; i++)
        right += on_host[i] == i * i;
    std::printf("%d of %d squares are right\n", right, count);
    return right == count ? 0 : 1;
}
