// Pointers to what is const, volatile or both, to pointers, arrays and functions, and to types of
// which only the name is known: in C++ each call that allocates takes the address of any of them.
#include "check.h"

struct unknown;

static cudaStream_t stream;
static cudaMemPool_t pool;

// Frees what a call has given, and returns whether it has given something.
template <class T> static int frees(cudaError_t error, T *&memory) {
    CHECK(error);
    T *given = memory;
    memory = nullptr;
    CHECK(cudaFreeAsync((void *)given, stream));
    return given != nullptr;
}

template <class T> static int each_call_gives_memory() {
    T *memory = nullptr;
    return frees(cudaMallocAsync(&memory, 4096, stream), memory) &&
           frees(cudaMallocAsync(&memory, 4096, pool, stream), memory) &&
           frees(cudaMallocFromPoolAsync(&memory, 4096, pool, stream), memory);
}

template <class T> static int each_call_refuses_a_null_pointer() {
    T **nowhere = nullptr;
    int refused = (cudaMallocAsync(nowhere, 4096, stream) != cudaSuccess) +
                  (cudaMallocAsync(nowhere, 4096, pool, stream) != cudaSuccess) +
                  (cudaMallocFromPoolAsync(nowhere, 4096, pool, stream) != cudaSuccess);
    return refused == 3;
}

template <class T> static int each_call_takes() {
    int takes = each_call_gives_memory<T>() && each_call_refuses_a_null_pointer<T>();
    (void)cudaGetLastError();
    return takes;
}

template <class T> static void each_qualified(const char *what) {
    printf("%s:", what);
    require(each_call_takes<T>() && each_call_takes<const T>() && each_call_takes<volatile T>() &&
                each_call_takes<const volatile T>(),
            " as it is, const, volatile and both");
}

int main() {
    need_pools();
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
    each_qualified<float>("numbers");
    each_qualified<void>("bytes");
    each_qualified<unknown>("a type without a definition");
    each_qualified<int[3]>("arrays");
    each_qualified<int *>("pointers");
    each_qualified<const volatile int *const *>("pointers to pointers to what is const");
    require(each_call_takes<int(int)>(), "functions");
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaStreamDestroy(stream));
    return 0;
}
