// A program of three files: this one and another have the legacy default stream, the third has
// per-thread ones. They share types, and each has the stream 0 that it was compiled for.
#include "check.h"
#include "shared.hpp"

#include <semaphore.h>

cudaError_t ask(question_of_legacy question);

static sem_t go;

static void CUDART_CB hold(void *) {
    while (sem_wait(&go) != 0)
        ;
}

static void set(cudaMemPoolAttr policy) {
    cudaMemPool_t pool;
    int off = 0;
    CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
    CHECK(cudaMemPoolSetAttribute(pool, policy, &off));
}

// Only the stream that freed a block takes it again.
static void keep_streams_apart() {
    set(cudaMemPoolReuseFollowEventDependencies);
    set(cudaMemPoolReuseAllowOpportunistic);
    set(cudaMemPoolReuseAllowInternalDependencies);
}

static void check_types(const file &other) {
    cudaEvent_t event;
    void *memory = nullptr;
    CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    CHECK(cudaMallocAsync(&memory, 16, cudaStreamLegacy));
    other.destroy(unique_event(event), unique_memory(memory));
}

// Another stream than the file's takes a block first where it can, and the file's stream then.
static int takes_its_own(const file &one, cudaStream_t stream, cudaStream_t another) {
    int *block = one.allocate();
    int *elsewhere = nullptr;
    int *again = nullptr;
    one.free(block);
    CHECK(cudaMallocAsync(&elsewhere, 32 << 20, another));
    CHECK(cudaMallocAsync(&again, 32 << 20, stream));
    int is_own = elsewhere != block && again == block;
    CHECK(cudaFreeAsync(elsewhere, another));
    CHECK(cudaFreeAsync(again, stream));
    return is_own;
}

int main() {
    need_pools();
    sem_init(&go, 0, 0);
    keep_streams_apart();
    check_types(legacy_file);
    check_types(per_thread_file);

    CHECK(cudaDeviceSynchronize());
    CHECK(cudaLaunchHostFunc(cudaStreamLegacy, hold, nullptr));
    require(ask(question_of_legacy()) == cudaErrorNotReady, "the legacy stream is busy");
    require(legacy_file.query() == cudaErrorNotReady, "it is stream 0 in a file");
    require(per_thread_file.query() == cudaSuccess, "and is not in another file");
    require(takes_its_own(legacy_file, cudaStreamLegacy, cudaStreamPerThread),
            "memory freed there comes back there");
    require(takes_its_own(per_thread_file, cudaStreamPerThread, cudaStreamLegacy),
            "so does memory of the per-thread stream");
    sem_post(&go);
    CHECK(cudaDeviceSynchronize());
    return 0;
}
