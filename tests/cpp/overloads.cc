// The calls of streampool.h with typed pointers and defaults, with either meaning of stream 0.
#include "device.h"

static const size_t too_much = size_t{1} << 50;

// A null pointer chooses the calls of C, and so does a pointer to their type.
static poolError_t (*const malloc_of_c)(void **, size_t, CUstream) = poolMallocAsync;
static poolError_t (*const record_of_c)(CUevent, CUstream) = poolEventRecord;
static poolError_t (*const wait_of_c)(CUstream, CUevent, unsigned int) = poolStreamWaitEvent;

// Each way to allocate, with the same parameters.

template <typename T>
static poolError_t by_plain_call(T **ptr, size_t size, poolMemPool_t pool, CUstream stream) {
    poolMemPool_t before = nullptr;
    poolDeviceGetMemPool(&before, 0);
    poolDeviceSetMemPool(0, pool);
    const poolError_t error = poolMallocAsync(ptr, size, stream);
    poolDeviceSetMemPool(0, before);
    return error;
}

template <typename T>
static poolError_t by_pool(T **ptr, size_t size, poolMemPool_t pool, CUstream stream) {
    return poolMallocAsync(ptr, size, pool, stream);
}

template <typename T>
static poolError_t by_from_pool(T **ptr, size_t size, poolMemPool_t pool, CUstream stream) {
    return poolMallocFromPoolAsync(ptr, size, pool, stream);
}

template <typename T>
static poolError_t by_flags(T **ptr, size_t size, poolMemPool_t pool, CUstream stream) {
    return poolMallocAsyncWithFlags(ptr, size, pool, stream, poolMallocFixed);
}

template <typename T>
static poolError_t by_no_stream(T **ptr, size_t size, poolMemPool_t pool, CUstream stream) {
    static_cast<void>(stream);
    return poolMallocFromPool(ptr, size, pool);
}

template <typename T> static void each_allocation_gives_memory_of_its_pool() {
    for (auto allocate :
         {by_plain_call<T>, by_pool<T>, by_from_pool<T>, by_flags<T>, by_no_stream<T>}) {
        const poolMemPool_t pool = test::make_pool();
        const CUstream stream = test::stream();
        T *memory = nullptr;
        REQUIRE(allocate(&memory, 4096, pool, stream) == poolSuccess);
        REQUIRE(memory != nullptr);
        REQUIRE(test::used(pool) == 4096);
        REQUIRE(poolFreeAsync((void *)memory, stream) == poolSuccess);
        REQUIRE(test::used(pool) == 0);
        REQUIRE(poolMemPoolDestroy(pool) == poolSuccess);
    }
}

template <typename T> static void a_refused_allocation_leaves_the_pointer() {
    char somewhere = 0;
    for (auto allocate :
         {by_plain_call<T>, by_pool<T>, by_from_pool<T>, by_flags<T>, by_no_stream<T>}) {
        const poolMemPool_t pool = test::make_pool();
        T *const before = reinterpret_cast<T *>(&somewhere);
        T *memory = before;
        REQUIRE(allocate(&memory, too_much, pool, nullptr) == poolErrorMemoryAllocation);
        REQUIRE(memory == before);
        REQUIRE(allocate(nullptr, 4096, pool, nullptr) == poolErrorInvalidValue);
        REQUIRE(test::used(pool) == 0);
        REQUIRE(poolMemPoolDestroy(pool) == poolSuccess);
    }
}

static void no_bytes_are_a_null_pointer() {
    char somewhere = 0;
    char *memory = &somewhere;
    REQUIRE(poolMallocAsync(&memory, 0, nullptr) == poolSuccess);
    REQUIRE(memory == nullptr);
}

static void flags_arrive() {
    const poolMemPool_t pool = test::make_pool();
    float *memory = nullptr;
    REQUIRE(poolMallocAsyncWithFlags(&memory, 4096, pool, nullptr, poolMallocNoGrowth) ==
            poolErrorMemoryAllocation);
    REQUIRE(poolMallocAsyncWithFlags(&memory, 4096, pool, nullptr, 1u << 31) ==
            poolErrorInvalidValue);
    REQUIRE(poolMemPoolDestroy(pool) == poolSuccess);
}

static void an_event_is_recorded_in_the_default_stream() {
    const CUevent event = test::event();
    REQUIRE(poolEventQuery(event) == poolSuccess);
    test::add_work(nullptr);
    REQUIRE(poolEventRecord(event) == poolSuccess);
    REQUIRE(poolEventQuery(event) == poolErrorNotReady);
    test::finish_work();
    REQUIRE(poolEventQuery(event) == poolSuccess);
}

static void a_stream_waits_with_no_flags() {
    const CUstream before = test::stream();
    const CUstream behind = test::stream();
    const CUevent event = test::event();
    test::add_work(before);
    REQUIRE(poolEventRecord(event, before) == poolSuccess);
    REQUIRE(poolStreamWaitEvent(behind, event) == poolSuccess);
    REQUIRE(poolStreamQuery(behind) == poolErrorNotReady);
    test::finish_work();
    REQUIRE(poolStreamQuery(behind) == poolSuccess);
    REQUIRE(poolStreamWaitEvent(behind, event, 1u << 31) == poolErrorInvalidValue);
}

// The thread's default stream captures, so the error tells which stream 0 a call has taken.
static void stream_0_is_that_of_the_file() {
    const poolMemPool_t pool = test::make_pool();
    for (auto allocate : {by_plain_call<int>, by_pool<int>, by_from_pool<int>, by_flags<int>}) {
        const test::capture captures(test::thread_stream());
        int *memory = nullptr;
        REQUIRE(allocate(&memory, 4096, pool, nullptr) == test::refused_on_stream_0);
        void *untyped = nullptr;
        REQUIRE(poolMallocAsync(&untyped, 4096, pool, nullptr) == test::refused_on_stream_0);
    }
#if defined(CUDA_API_PER_THREAD_DEFAULT_STREAM)
    const CUevent event = test::event();
    const test::capture captures(test::thread_stream());
    REQUIRE(poolEventRecord(event) == poolSuccess);
    REQUIRE(poolStreamWaitEvent(nullptr, event) == poolSuccess);
#endif
    REQUIRE(poolMemPoolDestroy(pool) == poolSuccess);
}

static void calls_of_c_are_there_too() {
    REQUIRE(malloc_of_c(nullptr, 1, nullptr) == poolErrorInvalidValue);
    REQUIRE(poolMallocAsync(nullptr, 1, nullptr) == poolErrorInvalidValue);
    REQUIRE(poolMallocAsync(nullptr, 1, nullptr, nullptr) == poolErrorInvalidValue);
    const CUevent event = test::event();
    REQUIRE(record_of_c(event, nullptr) == poolSuccess);
    REQUIRE(wait_of_c(nullptr, event, 0) == poolSuccess);
}

int main() {
    struct unknown; // a type of which only the name is known
    return test::run({TEST(each_allocation_gives_memory_of_its_pool<float>),
                      TEST(each_allocation_gives_memory_of_its_pool<const double>),
                      TEST(each_allocation_gives_memory_of_its_pool<volatile double>),
                      TEST(each_allocation_gives_memory_of_its_pool<const volatile double>),
                      TEST(each_allocation_gives_memory_of_its_pool<const volatile void>),
                      TEST(each_allocation_gives_memory_of_its_pool<const char *const *volatile>),
                      TEST(each_allocation_gives_memory_of_its_pool<const int[3]>),
                      TEST(each_allocation_gives_memory_of_its_pool<int(int)>),
                      TEST(each_allocation_gives_memory_of_its_pool<unknown>),
                      TEST(each_allocation_gives_memory_of_its_pool<const unknown>),
                      TEST(each_allocation_gives_memory_of_its_pool<void>),
                      TEST(a_refused_allocation_leaves_the_pointer<float>),
                      TEST(a_refused_allocation_leaves_the_pointer<const volatile float>),
                      TEST(a_refused_allocation_leaves_the_pointer<int(int)>),
                      TEST(a_refused_allocation_leaves_the_pointer<void>),
                      TEST(no_bytes_are_a_null_pointer),
                      TEST(flags_arrive),
                      TEST(an_event_is_recorded_in_the_default_stream),
                      TEST(a_stream_waits_with_no_flags),
                      TEST(stream_0_is_that_of_the_file),
                      TEST(calls_of_c_are_there_too)});
}
