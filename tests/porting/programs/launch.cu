// A launch returns no error: cudaGetLastError does. Beside calls about pools it tells the later
// failure, and a kernel that can't be launched is one.
#include "check.h"

__global__ void nothing() {
}

static const int too_many_threads = 1 << 20;

static void print(const char *what, cudaError_t error) {
    printf("%s: %s\n", what, cudaGetErrorName(error));
}

static void print_last() {
    print("  peek", cudaPeekAtLastError());
    print("  get", cudaGetLastError());
    print("  get", cudaGetLastError());
}

static void launch(cudaStream_t stream, int threads) {
    nothing<<<1, threads, 0, stream>>>();
    printf("launch with %d threads\n", threads);
}

int main() {
    cudaStream_t stream;
    void *block = nullptr;
    need_pools();
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    launch(stream, 1);
    print_last();
    launch(stream, too_many_threads);
    print_last();

    launch(stream, too_many_threads);
    print("allocate to nowhere", cudaMallocAsync((void **)nullptr, 1, stream));
    print_last();
    print("allocate to nowhere", cudaMallocAsync((void **)nullptr, 1, stream));
    launch(stream, too_many_threads);
    print_last();

    launch(stream, too_many_threads);
    CHECK(cudaMallocAsync(&block, 1 << 20, stream));
    launch(stream, 1);
    CHECK(cudaFreeAsync(block, stream));
    CHECK(cudaStreamSynchronize(stream));
    puts("other calls succeed");
    print_last();
    CHECK(cudaStreamDestroy(stream));
    return 0;
}
