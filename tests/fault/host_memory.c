#include "fault/host_memory.h"

#include <errno.h>
#include <stddef.h>
#include <sys/mman.h>

static _Thread_local struct {
    bool counting;
    bool onwards;
    uint64_t nth;
    uint64_t count;
    uint64_t failed;
} state;

void host_memory_enter(uint64_t nth, bool onwards) {
    state.nth = nth;
    state.onwards = onwards;
    state.count = 0;
    state.failed = 0;
    state.counting = true;
}

uint64_t host_memory_leave(uint64_t *failed) {
    state.counting = false;
    *failed = state.failed;
    return state.count;
}

static bool refuse(void) {
    if (!state.counting)
        return false;
    state.count++;
    bool refused =
        state.nth != 0 && (state.onwards ? state.count >= state.nth : state.count == state.nth);
    state.failed += refused;
    return refused;
}

// The linker leads the library's calls to the __wrap_ functions, and what they call __real_ to
// libc. Those of a sanitizer's shared runtime, too, so they can't be hidden. X(name, type,
// parameters, arguments) clang-format off
#define WRAPPER __attribute__((visibility("default")))
#define WRAPPED_FUNCTIONS(X)                                                                       \
    X(malloc, (size_t size), (size))                                                               \
    X(calloc, (size_t count, size_t size), (count, size))                                          \
    X(realloc, (void *pointer, size_t size), (pointer, size))                                      \
    X(aligned_alloc, (size_t alignment, size_t size), (alignment, size))

#define WRAP(name, parameters, arguments)                                                          \
    void *__real_##name parameters;                                                                \
    WRAPPER void *__wrap_##name parameters;                                                        \
    void *__wrap_##name parameters {                                                               \
        return refuse() ? NULL : __real_##name arguments;                                          \
    }
WRAPPED_FUNCTIONS(WRAP)
// clang-format on

int __real_posix_memalign(void **pointer, size_t alignment, size_t size);
WRAPPER int __wrap_posix_memalign(void **pointer, size_t alignment, size_t size);
int __wrap_posix_memalign(void **pointer, size_t alignment, size_t size) {
    return refuse() ? ENOMEM : __real_posix_memalign(pointer, alignment, size);
}

void *__real_mmap(void *address, size_t length, int protection, int flags, int descriptor,
                  off_t offset);
WRAPPER void *__wrap_mmap(void *address, size_t length, int protection, int flags, int descriptor,
                          off_t offset);
void *__wrap_mmap(void *address, size_t length, int protection, int flags, int descriptor,
                  off_t offset) {
    if (!refuse())
        return __real_mmap(address, length, protection, flags, descriptor, offset);
    errno = ENOMEM;
    return MAP_FAILED;
}
