// What calls return that can't succeed, and what cudaGetLastError tells of them: the last error,
// whichever call it came from.
#include <semaphore.h>
#include <stdint.h>

#include "check.h"

static sem_t go;

static void CUDART_CB hold(void *unused) {
    (void)unused;
    while (sem_wait(&go) != 0)
        ;
}

static void print(const char *what, cudaError_t error) {
    printf("%s: %s\n", what, cudaGetErrorName(error));
}

static void print_last(void) {
    print("  peek", cudaPeekAtLastError());
    print("  get", cudaGetLastError());
    print("  get", cudaGetLastError());
}

static void fail_in_calls_about_pools(cudaStream_t stream) {
    void *block = NULL;
    cudaMemPool_t pool = NULL;
    print("allocate to nowhere", cudaMallocAsync(NULL, 1, stream));
    print_last();
    print("allocate too much", cudaMallocAsync(&block, SIZE_MAX / 2, stream));
    print_last();
    print("pool of no device", cudaDeviceGetDefaultMemPool(&pool, 4711));
    print_last();
    CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
    print("destroy a default pool", cudaMemPoolDestroy(pool));
    print_last();
}

static void ask_for_support(void) {
    int supported = 0;
    CHECK(cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, 0));
    printf("pools are supported: %d\n", supported);
    print("of no device",
          cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, 4711));
    print_last();
}

static void free_twice(cudaStream_t stream) {
    void *block = NULL;
    CHECK(cudaMallocAsync(&block, 1 << 20, stream));
    CHECK(cudaFreeAsync(block, stream));
    print("free twice", cudaFreeAsync(block, stream));
    CHECK(cudaMallocAsync(&block, 1 << 20, stream));
    CHECK(cudaFreeAsync(block, stream));
    puts("other calls succeed");
    print_last();
}

static void fail_in_both(cudaStream_t stream) {
    print("no such device", cudaSetDevice(4711));
    print("allocate to nowhere", cudaMallocAsync(NULL, 1, stream));
    print_last();
    print("allocate to nowhere", cudaMallocAsync(NULL, 1, stream));
    print("no such device", cudaSetDevice(4711));
    print_last();
    print("no such device", cudaSetDevice(4711));
    print("allocate to nowhere", cudaMallocAsync(NULL, 1, stream));
    print("no such device", cudaSetDevice(4711));
    print_last();
}

static void ask_for_pending_work(cudaStream_t stream) {
    CHECK(cudaLaunchHostFunc(stream, hold, NULL));
    print("pending work", cudaStreamQuery(stream));
    print_last();
    print("allocate to nowhere", cudaMallocAsync(NULL, 1, stream));
    print("pending work", cudaStreamQuery(stream));
    print_last();
    sem_post(&go);
    CHECK(cudaStreamSynchronize(stream));
    print_last();
}

int main(void) {
    cudaStream_t stream;
    need_pools();
    sem_init(&go, 0, 0);
    CHECK(cudaFree(NULL));
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    print_last();
    ask_for_support();
    fail_in_calls_about_pools(stream);
    free_twice(stream);
    fail_in_both(stream);
    ask_for_pending_work(stream);
    CHECK(cudaStreamDestroy(stream));
    return 0;
}
