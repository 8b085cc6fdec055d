/// @file
/// The machine under a device heap: atomic operations, and what the threads of a warp do together.
///
/// In CUDA C++ these are instructions of the device. In C11 they are the compiler's atomic
/// operations, and a *model of warps* that the program brings: it defines the functions that are
/// declared at the end. So tests run the heap's code on a CPU, under a race detector.
///
/// All of it is internal to streampool/heap.cuh.
#ifndef STREAMPOOL_HEAP_MACHINE_CUH
#define STREAMPOOL_HEAP_MACHINE_CUH

#include <stddef.h>
#include <stdint.h>
#ifndef __CUDACC__
#include <string.h>
#endif

// A call is what is long and runs seldom, or at many places: it makes a kernel's code several times
// smaller.
#ifdef __CUDACC__
#define POOL_HEAP_FN   static __device__ inline
#define POOL_HEAP_CALL static __device__ __noinline__
// Before a loop whose body is long: it stays one, as code that is there once runs from the cache.
#define POOL_HEAP_ROLLED _Pragma("unroll 1")
#else
#define POOL_HEAP_FN   static inline __attribute__((unused))
#define POOL_HEAP_CALL static __attribute__((unused, noinline))
#define POOL_HEAP_ROLLED
#endif

#ifdef __CUDACC__

// Orders are those of C11: a word that is read and changed takes over what was released to it, and
// releases what came before. The device's scope is one GPU.
#define POOL_HEAP_DEFINE_ATOMIC(name, type, suffix, operation, constraint)                         \
    static __device__ __forceinline__ type name(type *word, type value) {                          \
        type old;                                                                                  \
        asm volatile("atom.acq_rel.gpu." operation "." suffix " %0, [%1], %2;"                     \
                     : "=" constraint(old)                                                         \
                     : "l"(word), constraint(value)                                                \
                     : "memory");                                                                  \
        return old;                                                                                \
    }
POOL_HEAP_DEFINE_ATOMIC(ph_add, uint32_t, "u32", "add", "r")
POOL_HEAP_DEFINE_ATOMIC(ph_or, uint32_t, "b32", "or", "r")
POOL_HEAP_DEFINE_ATOMIC(ph_and, uint32_t, "b32", "and", "r")
POOL_HEAP_DEFINE_ATOMIC(ph_exchange, uint32_t, "b32", "exch", "r")
POOL_HEAP_DEFINE_ATOMIC(ph_or64, uint64_t, "b64", "or", "l")
POOL_HEAP_DEFINE_ATOMIC(ph_and64, uint64_t, "b64", "and", "l")
POOL_HEAP_DEFINE_ATOMIC(ph_add64, uint64_t, "u64", "add", "l")
POOL_HEAP_DEFINE_ATOMIC(ph_max, uint32_t, "u32", "max", "r")
POOL_HEAP_DEFINE_ATOMIC(ph_max64, uint64_t, "u64", "max", "l")
#undef POOL_HEAP_DEFINE_ATOMIC

// Puts `value` in where `expected` is, and returns what was there.
static __device__ __forceinline__ uint32_t ph_swap_if(uint32_t *word, uint32_t expected,
                                                      uint32_t value) {
    uint32_t old;
    asm volatile("atom.acq_rel.gpu.cas.b32 %0, [%1], %2, %3;"
                 : "=r"(old)
                 : "l"(word), "r"(expected), "r"(value)
                 : "memory");
    return old;
}

static __device__ __forceinline__ uint64_t ph_swap_if64(uint64_t *word, uint64_t expected,
                                                        uint64_t value) {
    uint64_t old;
    asm volatile("atom.acq_rel.gpu.cas.b64 %0, [%1], %2, %3;"
                 : "=l"(old)
                 : "l"(word), "l"(expected), "l"(value)
                 : "memory");
    return old;
}

static __device__ __forceinline__ uint32_t ph_load(const uint32_t *word) {
    uint32_t value;
    asm volatile("ld.relaxed.gpu.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
    return value;
}

// A value that may be old: it can come from a cache near by.
static __device__ __forceinline__ uint32_t ph_peek(const uint32_t *word) {
    return *word;
}

static __device__ __forceinline__ uint64_t ph_load64(const uint64_t *word) {
    uint64_t value;
    asm volatile("ld.relaxed.gpu.u64 %0, [%1];" : "=l"(value) : "l"(word) : "memory");
    return value;
}

// The thread sees from then on what was released before the value was written.
static __device__ __forceinline__ uint32_t ph_load_acquire(const uint32_t *word) {
    uint32_t value;
    asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
    return value;
}

static __device__ __forceinline__ void ph_store(uint32_t *word, uint32_t value) {
    asm volatile("st.relaxed.gpu.u32 [%0], %1;" : : "l"(word), "r"(value) : "memory");
}

static __device__ __forceinline__ void ph_store64(uint64_t *word, uint64_t value) {
    asm volatile("st.relaxed.gpu.u64 [%0], %1;" : : "l"(word), "l"(value) : "memory");
}

// Clears memory of a slab that no other thread has yet: a multiple of 128 bytes.
static __device__ __forceinline__ void ph_clear(void *memory, uint32_t bytes) {
    uint4 *part = (uint4 *)memory;
#pragma unroll 1
    for (uint32_t i = 0; i < bytes / 16; i += 8)
#pragma unroll
        for (uint32_t j = 0; j < 8; j++)
            part[i + j] = make_uint4(0, 0, 0, 0);
}

// Copies a multiple of 16 bytes between blocks.
static __device__ __forceinline__ void ph_copy(void *to, const void *from, size_t bytes) {
#pragma unroll 1
    for (size_t i = 0; i < bytes / 16; i++)
        ((uint4 *)to)[i] = ((const uint4 *)from)[i];
}

// Counts the ones, and finds the lowest one of a word that isn't 0.
static __device__ __forceinline__ uint32_t ph_count(uint32_t bits) {
    return (uint32_t)__popc((int)bits);
}
static __device__ __forceinline__ uint32_t ph_count64(uint64_t bits) {
    return (uint32_t)__popcll((long long)bits);
}
static __device__ __forceinline__ uint32_t ph_lowest(uint32_t bits) {
    return (uint32_t)__ffs((int)bits) - 1;
}
static __device__ __forceinline__ uint32_t ph_lowest64(uint64_t bits) {
    return (uint32_t)__ffsll((long long)bits) - 1;
}
static __device__ __forceinline__ uint32_t ph_highest64(uint64_t bits) {
    return 63 - (uint32_t)__clzll((long long)bits);
}

// The number of the thread in its warp, and of a part of the device that runs it.
static __device__ __forceinline__ uint32_t ph_lane(void) {
    uint32_t lane;
    asm("mov.u32 %0, %%laneid;" : "=r"(lane));
    return lane;
}
static __device__ __forceinline__ uint32_t ph_processor(void) {
    uint32_t processor;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(processor));
    return processor;
}

// A number that differs from call to call, to spread threads that do the same.
static __device__ __forceinline__ uint32_t ph_dice(void) {
    uint32_t ticks;
    asm volatile("mov.u32 %0, %%clock;" : "=r"(ticks));
    return ticks * 2654435761u + ph_lane() * 40503u;
}

// The threads of the warp that are in this call together.
static __device__ __forceinline__ uint32_t ph_together(void) {
    return __activemask();
}

// Those of `threads`, all of which call it, with the same value.
static __device__ __forceinline__ uint32_t ph_match(uint32_t threads, uint32_t value) {
#if __CUDA_ARCH__ >= 700
    int same;
    __match_all_sync(threads, value, &same);
    return same ? threads : __match_any_sync(threads, value);
#else
    return 0 * threads * value; // never runs: heap.cuh wants compute capability 7.0
#endif
}

// The value of the thread `from`, for all of `threads`, which call it.
static __device__ __forceinline__ uint32_t ph_tell(uint32_t threads, uint32_t value,
                                                   uint32_t from) {
    return __shfl_sync(threads, value, (int)from);
}

// All bits of these threads together, for all of `threads`, which call it.
static __device__ __forceinline__ uint32_t ph_join(uint32_t threads, uint32_t bits) {
#if __CUDA_ARCH__ >= 800
    return __reduce_or_sync(threads, bits);
#else
    uint32_t all = 0;
    for (uint32_t left = threads; left != 0; left &= left - 1)
        all |= __shfl_sync(threads, bits, __ffs((int)left) - 1);
    return all;
#endif
}

// Puts what these threads have written so far before what any of them does next. The model's
// functions for several threads do that themselves.
static __device__ __forceinline__ void ph_order(uint32_t threads) {
    __syncwarp(threads);
}

// Lets others run for a moment.
static __device__ __forceinline__ void ph_nap(void) {
#if __CUDA_ARCH__ >= 700
    __nanosleep(100);
#endif
}

#else // C11

// A model may let other threads run before each of these.
#ifndef POOL_HEAP_STEP
#define POOL_HEAP_STEP() ((void)0)
#endif

#define POOL_HEAP_DEFINE_ATOMIC(name, type, operation)                                             \
    static inline type name(type *word, type value) {                                              \
        POOL_HEAP_STEP();                                                                          \
        return operation(word, value, __ATOMIC_ACQ_REL);                                           \
    }
POOL_HEAP_DEFINE_ATOMIC(ph_add, uint32_t, __atomic_fetch_add)
POOL_HEAP_DEFINE_ATOMIC(ph_or, uint32_t, __atomic_fetch_or)
POOL_HEAP_DEFINE_ATOMIC(ph_and, uint32_t, __atomic_fetch_and)
POOL_HEAP_DEFINE_ATOMIC(ph_exchange, uint32_t, __atomic_exchange_n)
POOL_HEAP_DEFINE_ATOMIC(ph_or64, uint64_t, __atomic_fetch_or)
POOL_HEAP_DEFINE_ATOMIC(ph_and64, uint64_t, __atomic_fetch_and)
POOL_HEAP_DEFINE_ATOMIC(ph_add64, uint64_t, __atomic_fetch_add)
#undef POOL_HEAP_DEFINE_ATOMIC

#define POOL_HEAP_DEFINE_MAX(name, type)                                                           \
    static inline type name(type *word, type value) {                                              \
        type old = __atomic_load_n(word, __ATOMIC_RELAXED);                                        \
        while (old < value && !__atomic_compare_exchange_n(word, &old, value, 0, __ATOMIC_ACQ_REL, \
                                                           __ATOMIC_RELAXED))                      \
            continue;                                                                              \
        return old;                                                                                \
    }
POOL_HEAP_DEFINE_MAX(ph_max, uint32_t)
POOL_HEAP_DEFINE_MAX(ph_max64, uint64_t)
#undef POOL_HEAP_DEFINE_MAX

static inline uint32_t ph_swap_if(uint32_t *word, uint32_t expected, uint32_t value) {
    POOL_HEAP_STEP();
    __atomic_compare_exchange_n(word, &expected, value, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
    return expected;
}

static inline uint64_t ph_swap_if64(uint64_t *word, uint64_t expected, uint64_t value) {
    POOL_HEAP_STEP();
    __atomic_compare_exchange_n(word, &expected, value, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
    return expected;
}

static inline uint32_t ph_load(const uint32_t *word) {
    POOL_HEAP_STEP();
    return __atomic_load_n(word, __ATOMIC_RELAXED);
}
static inline uint32_t ph_peek(const uint32_t *word) {
    return __atomic_load_n(word, __ATOMIC_RELAXED);
}
static inline uint64_t ph_load64(const uint64_t *word) {
    POOL_HEAP_STEP();
    return __atomic_load_n(word, __ATOMIC_RELAXED);
}
static inline uint32_t ph_load_acquire(const uint32_t *word) {
    POOL_HEAP_STEP();
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}
static inline void ph_store(uint32_t *word, uint32_t value) {
    __atomic_store_n(word, value, __ATOMIC_RELAXED);
}
static inline void ph_store64(uint64_t *word, uint64_t value) {
    __atomic_store_n(word, value, __ATOMIC_RELAXED);
}

static inline void ph_clear(void *memory, uint32_t bytes) {
    memset(memory, 0, bytes);
}

static inline void ph_copy(void *to, const void *from, size_t bytes) {
    memcpy(to, from, bytes);
}

static inline uint32_t ph_count(uint32_t bits) {
    return (uint32_t)__builtin_popcount(bits);
}
static inline uint32_t ph_count64(uint64_t bits) {
    return (uint32_t)__builtin_popcountll(bits);
}
static inline uint32_t ph_lowest(uint32_t bits) {
    return (uint32_t)__builtin_ctz(bits);
}
static inline uint32_t ph_lowest64(uint64_t bits) {
    return (uint32_t)__builtin_ctzll(bits);
}
static inline uint32_t ph_highest64(uint64_t bits) {
    return 63 - (uint32_t)__builtin_clzll(bits);
}

static inline void ph_order(uint32_t threads) {
    (void)threads;
}

// The model of warps, which the program defines. Each does what its namesake above does.
uint32_t ph_lane(void);
uint32_t ph_processor(void);
uint32_t ph_dice(void);
uint32_t ph_together(void);
uint32_t ph_match(uint32_t threads, uint32_t value);
uint32_t ph_tell(uint32_t threads, uint32_t value, uint32_t from);
uint32_t ph_join(uint32_t threads, uint32_t bits);
void ph_nap(void);

#endif

#endif
