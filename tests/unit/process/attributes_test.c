#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <streampool/lists.h>

#include "region/held.h"
#include "unit/fixture/pool.h"

#define SIZE_OF_ATTRIBUTE(name, number, type) {name, sizeof(type)},
static const struct {
    enum poolMemPoolAttr attribute;
    size_t size;
} all[] = {STREAMPOOL_POOL_ATTRIBUTES(SIZE_OF_ATTRIBUTE)};

#define NAME_OF_STATISTIC(name, number, text) {poolMemPoolStat##name, #name},
static const struct {
    enum poolMemPoolAttr attribute;
    const char *name;
} statistics[] = {STREAMPOOL_POOL_STATISTICS(NAME_OF_STATISTIC)};

enum { STATISTICS = sizeof statistics / sizeof statistics[0] };

static bool is_writable(enum poolMemPoolAttr attribute) {
    switch (attribute) {
    case poolMemPoolReuseFollowEventDependencies:
    case poolMemPoolReuseAllowOpportunistic:
    case poolMemPoolReuseAllowInternalDependencies:
    case poolMemPoolAttrReleaseThreshold:
    case poolMemPoolAttrReservedMemHigh:
    case poolMemPoolAttrUsedMemHigh:
    case poolMemPoolAttrUnfencedBytesMax:
    case poolMemPoolAttrHostWaitMax:
    case poolMemPoolAttrContextWaitMax:
    case poolMemPoolAttrDeterministic:
    case poolMemPoolAttrContextFence:
    case poolMemPoolAttrDefragmentation:
    case poolMemPoolAttrRemapTimeMax:
    case poolMemPoolAttrTrimByReaper:
    case poolMemPoolAttrReaper:
    case poolMemPoolAttrReleaseDelay:
    case poolMemPoolAttrGrowthBeyondUse:
    case poolMemPoolAttrHostOverflowMax:
    case poolMemPoolAttrStreamPromises:
        return true;
    default:
        return false;
    }
}

static void every_attribute_reads_into_its_own_size_and_no_further(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool();
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        unsigned char bytes[2][16];
        for (int fill = 0; fill < 2; fill++) {
            for (size_t b = 0; b < 16; b++)
                bytes[fill][b] = fill ? 0xFF : 0;
            assert_int_equal(poolMemPoolGetAttribute(pool, all[i].attribute, bytes[fill]),
                             poolSuccess);
        }
        for (size_t b = 0; b < 16; b++)
            assert_int_equal(bytes[0][b] == bytes[1][b], b < all[i].size);
    }
}

static void the_defaults_are_cudas(void **state) {
    (void)state;
    poolMemPool_t pool = NULL;
    assert_int_equal(poolDeviceGetDefaultMemPool(&pool, 0), poolSuccess);
    int flag = 0;
    for (int policy = 1; policy <= 3; policy++) {
        assert_int_equal(poolMemPoolGetAttribute(pool, (enum poolMemPoolAttr)policy, &flag),
                         poolSuccess);
        assert_int_equal(flag, 1);
    }
    assert_int_equal(fixture_attribute(pool, poolMemPoolAttrReleaseThreshold), 0);
    assert_int_equal(fixture_attribute(pool, poolMemPoolAttrUnfencedBytesMax), SP_HELD_MAX);
    assert_int_equal(fixture_attribute(pool, poolMemPoolAttrHostWaitMax), 0);
    assert_int_equal(fixture_attribute(pool, poolMemPoolAttrContextWaitMax), 1000000000);
    assert_int_equal(fixture_attribute(pool, poolMemPoolAttrReleaseDelay), 0);
    assert_int_equal(fixture_attribute(pool, poolMemPoolAttrGrowthBeyondUse), UINT64_MAX);
    assert_int_equal(fixture_attribute(pool, poolMemPoolAttrHostOverflowMax), 0);
    assert_int_equal(fixture_attribute(pool, poolMemPoolAttrMaxPoolSize), 0);
    assert_int_equal(poolMemPoolGetAttribute(pool, poolMemPoolAttrDeterministic, &flag),
                     poolSuccess);
    assert_int_equal(flag, 0);
    assert_int_equal(poolMemPoolGetAttribute(pool, poolMemPoolAttrVirtualMemory, &flag),
                     poolSuccess);
    assert_int_equal(flag, 1);
    assert_int_equal(poolMemPoolGetAttribute(pool, poolMemPoolAttrContextFence, &flag),
                     poolSuccess);
    assert_int_equal(flag, 0);
    assert_int_equal(poolMemPoolGetAttribute(pool, poolMemPoolAttrTrimByReaper, &flag),
                     poolSuccess);
    assert_int_equal(flag, 0);
    assert_int_equal(poolMemPoolGetAttribute(pool, poolMemPoolAttrReaper, &flag), poolSuccess);
    assert_int_equal(flag, 1);
    assert_int_equal(poolMemPoolGetAttribute(pool, poolMemPoolAttrHwDecompressEnabled, &flag),
                     poolSuccess);
    assert_int_equal(flag, 0);
    assert_int_equal(poolMemPoolGetAttribute(pool, poolMemPoolAttrLocalityDomainId, &flag),
                     poolSuccess);
    assert_int_equal(flag, -1);
}

static void what_a_pool_was_made_with_can_be_read(void **state) {
    (void)state;
    poolMemPool_t pool = NULL;
    int value = -1;
    const struct poolMemPoolProps props = {.allocType = poolMemAllocationTypePinned,
                                           .handleTypes = poolMemHandleTypePosixFileDescriptor,
                                           .location = {poolMemLocationTypeDevice, 0},
                                           .maxSize = MIB(33)};
    assert_int_equal(poolMemPoolCreate(&pool, &props), poolSuccess);
    assert_int_equal(fixture_attribute(pool, poolMemPoolAttrMaxPoolSize), MIB(33));
    assert_int_equal(poolMemPoolGetAttribute(pool, poolMemPoolAttrExportHandleTypes, &value),
                     poolSuccess);
    assert_int_equal(value, poolMemHandleTypePosixFileDescriptor);
    assert_int_equal(poolMemPoolGetAttribute(pool, poolMemPoolAttrAllocationType, &value),
                     poolSuccess);
    assert_int_equal(value, poolMemAllocationTypePinned);
    assert_int_equal(poolMemPoolGetAttribute(pool, poolMemPoolAttrLocationType, &value),
                     poolSuccess);
    assert_int_equal(value, poolMemLocationTypeDevice);
    assert_int_equal(poolMemPoolGetAttribute(pool, poolMemPoolAttrLocationId, &value), poolSuccess);
    assert_int_equal(value, 0);
}

static void any_number_but_0_is_a_flag_of_1(void **state) {
    (void)state;
    static const enum poolMemPoolAttr flags[] = {poolMemPoolReuseFollowEventDependencies,
                                                 poolMemPoolReuseAllowOpportunistic,
                                                 poolMemPoolReuseAllowInternalDependencies,
                                                 poolMemPoolAttrDeterministic,
                                                 poolMemPoolAttrContextFence,
                                                 poolMemPoolAttrTrimByReaper,
                                                 poolMemPoolAttrReaper};
    poolMemPool_t pool = fixture_pool();
    const int numbers[] = {2, -1, 0x100, INT32_MIN};
    for (int which = 0; which < 7; which++) {
        int flag = 7;
        fixture_set_flag(pool, flags[which], 0);
        assert_int_equal(poolMemPoolGetAttribute(pool, flags[which], &flag), poolSuccess);
        assert_int_equal(flag, 0);
        for (int i = 0; i < 4; i++) {
            fixture_set_flag(pool, flags[which], numbers[i]);
            assert_int_equal(poolMemPoolGetAttribute(pool, flags[which], &flag), poolSuccess);
            assert_int_equal(flag, 1);
        }
    }
}

static void numbers_read_back_as_they_were_written(void **state) {
    (void)state;
    static const enum poolMemPoolAttr attributes[] = {
        poolMemPoolAttrReleaseThreshold, poolMemPoolAttrUnfencedBytesMax,
        poolMemPoolAttrHostWaitMax,      poolMemPoolAttrRemapTimeMax,
        poolMemPoolAttrReleaseDelay,     poolMemPoolAttrContextWaitMax,
        poolMemPoolAttrGrowthBeyondUse};
    poolMemPool_t pool = fixture_pool();
    const uint64_t numbers[] = {0, 1, 12345678901234, UINT64_MAX};
    for (int which = 0; which < 7; which++) {
        for (int i = 0; i < 4; i++) {
            fixture_set(pool, attributes[which], numbers[i]);
            assert_int_equal(fixture_attribute(pool, attributes[which]), numbers[i]);
        }
    }
}

static void a_policy_of_defragmentation_is_one_of_three(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool();
    int value = -1;
    assert_int_equal(poolMemPoolGetAttribute(pool, poolMemPoolAttrDefragmentation, &value),
                     poolSuccess);
    assert_int_equal(value, poolDefragmentBeforeGrowth);
    for (int policy = 0; policy <= 2; policy++) {
        assert_int_equal(poolMemPoolSetAttribute(pool, poolMemPoolAttrDefragmentation, &policy),
                         poolSuccess);
        assert_int_equal(poolMemPoolGetAttribute(pool, poolMemPoolAttrDefragmentation, &value),
                         poolSuccess);
        assert_int_equal(value, policy);
    }
    for (int policy = -1; policy <= 3; policy += 4)
        assert_int_equal(poolMemPoolSetAttribute(pool, poolMemPoolAttrDefragmentation, &policy),
                         poolErrorInvalidValue);
    assert_int_equal(poolMemPoolGetAttribute(pool, poolMemPoolAttrDefragmentation, &value),
                     poolSuccess);
    assert_int_equal(value, 2);
}

static void every_promise_can_be_made_and_nothing_else_is_one(void **state) {
    (void)state;
#define PROMISE(name, number, text) name,
    static const int promises[] = {STREAMPOOL_STREAM_PROMISES(PROMISE)};
#undef PROMISE
    poolMemPool_t pool = fixture_pool();
    int all_promises = poolPromiseNothing;
    for (size_t i = 0; i < sizeof promises / sizeof promises[0]; i++) {
        fixture_set_flag(pool, poolMemPoolAttrStreamPromises, promises[i]);
        int made = -1;
        assert_int_equal(poolMemPoolGetAttribute(pool, poolMemPoolAttrStreamPromises, &made),
                         poolSuccess);
        assert_int_equal(made, promises[i]);
        all_promises |= promises[i];
    }
    for (int bit = 0; bit < 32; bit++) {
        int other = (int)(1U << bit);
        poolError_t expected = all_promises & other ? poolSuccess : poolErrorInvalidValue;
        assert_int_equal(poolMemPoolSetAttribute(pool, poolMemPoolAttrStreamPromises, &other),
                         expected);
    }
}

static void what_is_read_only_can_not_be_written(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool();
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        uint64_t zero = 0;
        poolError_t expected = is_writable(all[i].attribute) ? poolSuccess : poolErrorInvalidValue;
        assert_int_equal(poolMemPoolSetAttribute(pool, all[i].attribute, &zero), expected);
    }
}

static void an_attribute_that_there_is_not_is_invalid(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool();
    const int numbers[] = {
        0, -1, 16, 999, 1008, 1099, (int)statistics[STATISTICS - 1].attribute + 1, 1199, 1214};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        uint64_t value = 77;
        assert_int_equal(poolMemPoolGetAttribute(pool, (enum poolMemPoolAttr)numbers[i], &value),
                         poolErrorInvalidValue);
        assert_int_equal(poolMemPoolSetAttribute(pool, (enum poolMemPoolAttr)numbers[i], &value),
                         poolErrorInvalidValue);
        assert_int_equal(value, 77);
    }
}

static void refuses_to_set(enum poolMemPoolAttr attribute, const void *value, const char *why) {
    assert_int_equal(poolMemPoolSetAttribute(fixture_pool(), attribute, (void *)(uintptr_t)value),
                     poolErrorInvalidValue);
    assert_string_equal(poolGetLastErrorDetail(), why);
}

static void an_error_names_the_attribute(void **state) {
    (void)state;
    const uint64_t one = 1;
    const int no_policy = 9, no_promise = 64;
    refuses_to_set(poolMemPoolAttrUsedMemCurrent, &one,
                   "poolMemPoolAttrUsedMemCurrent is read only");
    refuses_to_set(poolMemPoolStatZombies, &one, "poolMemPoolStatZombies is read only");
    refuses_to_set(poolMemPoolAttrUsedMemHigh, &one,
                   "poolMemPoolAttrUsedMemHigh can only be set to 0");
    refuses_to_set(poolMemPoolStatGrowths, &one, "poolMemPoolStatGrowths can only be set to 0");
    refuses_to_set(poolMemPoolReuseAllowOpportunistic, NULL,
                   "poolMemPoolReuseAllowOpportunistic can't be set: value is null");
    refuses_to_set((enum poolMemPoolAttr)999, NULL, "999 is not a pool attribute");
    refuses_to_set((enum poolMemPoolAttr)999, &one, "999 is not a pool attribute");
    refuses_to_set(poolMemPoolAttrDefragmentation, &no_policy,
                   "poolMemPoolAttrDefragmentation can't be 9, which is no policy");
    refuses_to_set(poolMemPoolAttrStreamPromises, &no_promise,
                   "poolMemPoolAttrStreamPromises can't be 0x40, which is no combination of "
                   "poolStreamPromise");
    assert_int_equal(poolMemPoolGetAttribute(fixture_pool(), poolMemPoolAttrReaper, NULL),
                     poolErrorInvalidValue);
    assert_string_equal(poolGetLastErrorDetail(),
                        "poolMemPoolAttrReaper can't be read: value is null");
}

static void a_high_figure_keeps_the_peak_until_it_is_reset_to_the_current_one(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool();
    CUstream a = simulated_stream();
    void *kept = fixture_malloc(pool, MIB(1), a);
    fixture_free(fixture_malloc(pool, MIB(64), a), a);
    fixture_synchronize(a);
    fixture_trim(pool, 0);
    assert_int_equal(fixture_attribute(pool, poolMemPoolAttrUsedMemHigh), MIB(65));
    assert_true(fixture_attribute(pool, poolMemPoolAttrReservedMemHigh) >= MIB(65));

    uint64_t one = 1;
    assert_int_equal(poolMemPoolSetAttribute(pool, poolMemPoolAttrUsedMemHigh, &one),
                     poolErrorInvalidValue);
    assert_int_equal(poolMemPoolSetAttribute(pool, poolMemPoolAttrReservedMemHigh, &one),
                     poolErrorInvalidValue);
    assert_int_equal(fixture_attribute(pool, poolMemPoolAttrUsedMemHigh), MIB(65));

    fixture_set(pool, poolMemPoolAttrUsedMemHigh, 0);
    fixture_set(pool, poolMemPoolAttrReservedMemHigh, 0);
    assert_int_equal(fixture_attribute(pool, poolMemPoolAttrUsedMemHigh), MIB(1));
    assert_int_equal(fixture_attribute(pool, poolMemPoolAttrReservedMemHigh),
                     fixture_reserved(pool));
    fixture_free(kept, a);
}

// -------------------------------------------------------------------------------------- statistics

static void every_statistic_has_the_name_of_its_attribute_and_starts_at_0(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool();
    for (int i = 0; i < STATISTICS; i++) {
        assert_string_equal(poolMemPoolGetStatisticName(statistics[i].attribute),
                            statistics[i].name);
        assert_int_equal(fixture_attribute(pool, statistics[i].attribute), 0);
        assert_true(i == 0 ? statistics[i].attribute == 1100
                           : statistics[i].attribute > statistics[i - 1].attribute);
    }
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        assert_null(poolMemPoolGetStatisticName(all[i].attribute));
    assert_null(poolMemPoolGetStatisticName(
        (enum poolMemPoolAttr)(statistics[STATISTICS - 1].attribute + 1)));
    assert_null(poolMemPoolGetStatisticName((enum poolMemPoolAttr) - 1));
}

static void a_statistic_can_only_be_set_to_0_and_then_counts_anew(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool();
    CUstream a = simulated_stream();
    const size_t sizes[] = {100, MIB(1)};
    for (int i = 0; i < 2; i++) {
        fixture_free(fixture_malloc(pool, sizes[i], a), a);
        fixture_free(fixture_malloc(pool, sizes[i], a), a);
    }
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatReuseSameStream), 2);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatGrowths), 2);
    for (int i = 0; i < STATISTICS; i++) {
        uint64_t value = fixture_attribute(pool, statistics[i].attribute);
        uint64_t one = 1;
        assert_int_equal(poolMemPoolSetAttribute(pool, statistics[i].attribute, &one),
                         poolErrorInvalidValue);
        assert_int_equal(fixture_attribute(pool, statistics[i].attribute), value);
        fixture_set(pool, statistics[i].attribute, 0);
        assert_int_equal(fixture_attribute(pool, statistics[i].attribute), 0);
    }
    for (int i = 0; i < 2; i++)
        fixture_free(fixture_malloc(pool, sizes[i], a), a);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatReuseSameStream), 2);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatGrowths), 0);
}

#define attribute_test(function)                                                                   \
    cmocka_unit_test_setup_teardown(function, fixture_setup, fixture_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        attribute_test(every_attribute_reads_into_its_own_size_and_no_further),
        attribute_test(the_defaults_are_cudas),
        attribute_test(what_a_pool_was_made_with_can_be_read),
        attribute_test(any_number_but_0_is_a_flag_of_1),
        attribute_test(numbers_read_back_as_they_were_written),
        attribute_test(a_policy_of_defragmentation_is_one_of_three),
        attribute_test(every_promise_can_be_made_and_nothing_else_is_one),
        attribute_test(what_is_read_only_can_not_be_written),
        attribute_test(an_attribute_that_there_is_not_is_invalid),
        attribute_test(an_error_names_the_attribute),
        attribute_test(every_statistic_has_the_name_of_its_attribute_and_starts_at_0),
        attribute_test(a_statistic_can_only_be_set_to_0_and_then_counts_anew),
        attribute_test(a_high_figure_keeps_the_peak_until_it_is_reset_to_the_current_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
