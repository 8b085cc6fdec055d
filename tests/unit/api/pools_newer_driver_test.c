// What drivers of CUDA 13.2 and 13.4 added to pools, as far as the library knows it: kinds of
// locations, and the byte by which memory is asked for that other devices access. Older drivers
// know none of it (conformance rows). No real driver has been asked.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <streampool/simcuda.h>
#include <streampool/streampool.h>

static poolMemPool_t pool;

static int begin(void **state) {
    simcudaConfig config;
    (void)state;
    simcudaConfigDefault(&config);
    config.api = 13040;
    return simcudaReset(&config);
}

static poolError_t create_at(int type, unsigned char first_reserved) {
    struct poolMemPoolProps props = {.allocType = poolMemAllocationTypePinned,
                                     .location = {(enum poolMemLocationType)type, 0}};
    props.reserved[0] = first_reserved;
    return poolMemPoolCreate(&pool, &props);
}

static void a_part_of_a_device_has_no_pool_yet(void **state) {
    (void)state;
    assert_int_equal(create_at(poolMemLocationTypeDeviceLocalityDomain, 0), poolErrorNotSupported);
    assert_int_equal(create_at(poolMemLocationTypeInvisible, 0), poolErrorInvalidValue);
    assert_int_equal(create_at(7, 0), poolErrorInvalidValue);
}

static void memory_that_other_devices_access_is_asked_for_by_the_first_byte(void **state) {
    (void)state;
    void *memory = NULL;
    assert_int_equal(create_at(poolMemLocationTypeDevice, 1), poolSuccess);
    assert_int_equal(poolMallocFromPool(&memory, 4096, pool), poolSuccess);
    assert_int_equal(poolFree(memory), poolSuccess);
    assert_int_equal(poolMemPoolDestroy(pool), poolSuccess);
    assert_int_equal(create_at(poolMemLocationTypeDevice, 2), poolErrorInvalidValue);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_part_of_a_device_has_no_pool_yet),
        cmocka_unit_test(memory_that_other_devices_access_is_asked_for_by_the_first_byte),
    };
    return cmocka_run_group_tests(tests, begin, NULL);
}
