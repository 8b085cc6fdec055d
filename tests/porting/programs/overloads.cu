// What C++ adds: pointers of any type, the overload of cudaMallocAsync that takes a pool, default
// arguments, and functions of the runtime as values and as template arguments.
#include <functional>
#include <memory>

#include "check.h"

static const int length = 1000;

__global__ void fill(double *vector, int count) {
    for (int i = threadIdx.x; i < count; i += blockDim.x)
        vector[i] = i;
}

// Both the host and a kernel may call this.
__host__ __device__ int number_of(cudaError_t error) {
    return (int)error;
}

template <cudaError_t (*Free)(void *)> struct deleter {
    void operator()(void *memory) const {
        Free(memory);
    }
};

static double last_of(const double *vector, cudaStream_t stream) {
    double value = 0;
    CHECK(
        cudaMemcpyAsync(&value, vector + length - 1, sizeof value, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));
    return value;
}

static double filled(double *vector, cudaStream_t stream) {
    fill<<<1, 256, 0, stream>>>(vector, length);
    CHECK(cudaGetLastError());
    return last_of(vector, stream);
}

int main() {
    const size_t bytes = length * sizeof(double);
    cudaStream_t stream;
    cudaEvent_t event;
    cudaMemPool_t pool;
    double *vector = nullptr;
    void *memory = nullptr;
    need_pools();
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaEventCreate(&event));
    CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));

    CHECK(cudaMallocAsync(&vector, bytes, stream));
    printf("typed: %g\n", filled(vector, stream));
    CHECK(::cudaFreeAsync(vector, stream));
    CHECK(cudaMallocAsync(&vector, bytes, pool, stream));
    printf("typed, from a pool: %g\n", filled(vector, stream));
    CHECK(cudaFreeAsync(vector, stream));
    CHECK(cudaMallocAsync(&memory, bytes, pool, stream));
    CHECK(cudaFreeAsync(memory, stream));
    CHECK(cudaMallocFromPoolAsync(&vector, bytes, pool, stream));
    printf("typed, by name: %g\n", filled(vector, stream));
    CHECK(cudaEventRecord(event));
    CHECK(cudaEventRecordWithFlags(event, stream));
    CHECK(cudaStreamWaitEvent(stream, event));
    CHECK(cudaEventSynchronize(event));

    std::unique_ptr<double, deleter<cudaFree>> by_type(vector);
    CHECK(cudaMallocAsync(&vector, bytes, stream));
    std::unique_ptr<double, decltype(&cudaFree)> by_value(vector, &cudaFree);
    std::function<cudaError_t(void *)> release = cudaFree;
    printf("through a function: %d\n", number_of(release(by_value.release())));
    by_type.reset();
    printf("last error: %d\n", number_of(cudaGetLastError()));
    CHECK(cudaEventDestroy(event));
    CHECK(cudaStreamDestroy(stream));
    return 0;
}
