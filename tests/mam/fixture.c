#include "mam/fixture.h"

#include <string.h>

poolMam_t mam_of(size_t chunk_size, unsigned int flags) {
    poolMam_t mam = NULL;
    assert_int_equal(poolMamCreate(&mam, chunk_size, 0, flags), poolSuccess);
    assert_non_null(mam);
    return mam;
}

void *mam_malloc(poolMam_t mam, size_t size) {
    void *pointer = NULL;
    poolError_t error = poolMamMalloc(mam, &pointer, size);
    if (error != poolSuccess)
        print_error("%s\n", poolGetLastErrorDetail());
    assert_int_equal(error, poolSuccess);
    assert_non_null(pointer);
    return pointer;
}

void mam_free(poolMam_t mam, void *pointer) {
    poolError_t error = poolMamFree(mam, pointer);
    if (error != poolSuccess)
        print_error("%s\n", poolGetLastErrorDetail());
    assert_int_equal(error, poolSuccess);
}

void mam_destroy(poolMam_t mam) {
    assert_int_equal(poolMamDestroy(mam), poolSuccess);
}

poolMemPool_t mam_pool(poolMam_t mam) {
    poolMemPool_t pool = NULL;
    assert_int_equal(poolMamGetPool(mam, &pool), poolSuccess);
    return pool;
}

void mam_refused(poolError_t got, poolError_t expected, const char *words) {
    if (got != expected || !strstr(poolGetLastErrorDetail(), words))
        print_error("%s: %s\n", poolGetErrorName(got), poolGetLastErrorDetail());
    assert_int_equal(got, expected);
    assert_non_null(strstr(poolGetLastErrorDetail(), words));
}

void mam_device_is_empty(int device) {
    assert_int_equal(simcudaMemoryInUse(device), 0);
}

uint64_t mam_driver_calls(void) {
    return simcudaCallCount(NULL);
}
