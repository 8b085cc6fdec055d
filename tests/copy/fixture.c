#include "copy/fixture.h"

#include "copy/crew.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { PIECES_MOST = 256 };

static CUdeviceptr of_device[PIECES_MOST];
static void *pinned[PIECES_MOST];
static size_t device_count, pinned_count;
static struct rlimit files_at_first; // while there is a limit, else 0

static void free_all(void) {
    while (device_count > 0)
        assert_int_equal(sp_driver->cuMemFree(of_device[--device_count]), CUDA_SUCCESS);
    while (pinned_count > 0)
        assert_int_equal(sp_driver->cuMemFreeHost(pinned[--pinned_count]), CUDA_SUCCESS);
}

void copy_forget(void) {
    device_count = pinned_count = 0;
}

int copy_begin(const char *settings) {
    return fixture_begin(settings);
}

int copy_setup(void **state) {
    return fixture_setup(state);
}

int copy_teardown(void **state) {
    const struct poolCopySettings chosen = {0};
    poolMemPool_t pool = NULL;
    copy_unlimit_files(); // which a test that has failed hasn't done
    copy_good(poolCopyGetPool(&pool));
    assert_int_equal(fixture_used(pool), 0);
    copy_good(poolMemPoolDestroy(pool));
    copy_good(poolCopySetSettings(&chosen));
    free_all();
    return fixture_teardown(state);
}

void copy_settings(unsigned threads, unsigned depth, size_t chunk_bytes) {
    const struct poolCopySettings settings = {threads, depth, chunk_bytes};
    copy_good(poolCopySetSettings(&settings));
}

CUdeviceptr copy_device(size_t bytes) {
    CUdeviceptr address = 0;
    assert_int_equal(sp_driver->cuMemAlloc(&address, bytes), CUDA_SUCCESS);
    assert_true(device_count < PIECES_MOST);
    of_device[device_count++] = address;
    return address;
}

void *copy_pinned(size_t bytes) {
    void *memory = NULL;
    assert_int_equal(sp_driver->cuMemHostAlloc(&memory, bytes, 3), CUDA_SUCCESS);
    assert_true(pinned_count < PIECES_MOST);
    pinned[pinned_count++] = memory;
    return memory;
}

unsigned char *copy_host(size_t bytes) {
    unsigned char *memory = malloc(bytes);
    assert_non_null(memory);
    memset(memory, 0xee, bytes);
    return memory;
}

static unsigned char byte_of(size_t at, uint64_t seed) {
    uint64_t mixed = (at / 61 + seed) * 0x9e3779b97f4a7c15 + at;
    return (unsigned char)(mixed >> 32 ^ mixed);
}

void copy_fill(unsigned char *memory, size_t bytes, uint64_t seed) {
    for (size_t i = 0; i < bytes; i++)
        memory[i] = byte_of(i, seed);
}

bool copy_is_filled(const unsigned char *memory, size_t bytes, uint64_t seed) {
    for (size_t i = 0; i < bytes; i++) {
        if (memory[i] != byte_of(i, seed)) {
            print_error("byte %zu of %zu is another one\n", i, bytes);
            return false;
        }
    }
    return true;
}

void copy_poke(CUdeviceptr address, const unsigned char *memory, size_t bytes) {
    assert_int_equal(simcudaPoke(address, memory, bytes), 0);
}

void copy_peek(unsigned char *memory, CUdeviceptr address, size_t bytes) {
    assert_int_equal(simcudaPeek(memory, address, bytes), 0);
}

bool copy_device_is_filled(CUdeviceptr address, size_t bytes, uint64_t seed) {
    unsigned char *memory = copy_host(bytes);
    copy_peek(memory, address, bytes);
    bool is_filled = copy_is_filled(memory, bytes, seed);
    free(memory);
    return is_filled;
}

void copy_good(poolError_t error) {
    if (error != poolSuccess)
        print_error("%s: %s\n", poolGetErrorName(error), poolGetLastErrorDetail());
    assert_int_equal(error, poolSuccess);
}

void copy_refused(poolError_t got, poolError_t expected, const char *words) {
    if (got != expected || !strstr(poolGetLastErrorDetail(), words))
        print_error("%s: %s\n", poolGetErrorName(got), poolGetLastErrorDetail());
    assert_int_equal(got, expected);
    assert_non_null(strstr(poolGetLastErrorDetail(), words));
}

void copy_finish(CUstream stream) {
    assert_int_equal(sp_driver->cuStreamSynchronize(stream), CUDA_SUCCESS);
    sp_crew_order(); // for the thread sanitizer, which doesn't see the device
}

struct copy_hold copy_hold(CUstream stream) {
    struct copy_hold hold = {0, NULL};
    hold.at = copy_pinned(sizeof *hold.at);
    hold.word = (uintptr_t)hold.at;
    *hold.at = 0;
    assert_int_equal(sp_driver->cuStreamWaitValue32(stream, hold.word, 1, CU_STREAM_WAIT_VALUE_GEQ),
                     CUDA_SUCCESS);
    return hold;
}

void copy_let_go(struct copy_hold *hold) {
    sp_crew_order();
    __atomic_store_n(hold->at, 1, __ATOMIC_RELEASE);
}

// A descriptor is the least number that is free, so those that are in use stand below it.
void copy_limit_files(void) {
    int least = dup(STDERR_FILENO);
    assert_true(least > 0);
    close(least);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &files_at_first), 0);
    const struct rlimit few = {(rlim_t)least, files_at_first.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
}

void copy_unlimit_files(void) {
    if (files_at_first.rlim_cur != 0)
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &files_at_first), 0);
    files_at_first.rlim_cur = 0;
}

void *copy_pointer(CUdeviceptr address) {
    return (void *)(uintptr_t)address;
}
