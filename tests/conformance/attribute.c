// Rows of attributes: defaults, what can be written, and what misuse is answered with.
#include <stdint.h>
#include <streampool/lists.h>

#include "conformance/rows.h"
#include "support/check.h"
#include "support/device.h"
#include "support/pools.h"

// Room for a value of either type.
union value {
    int number;
    uint64_t bytes;
};

static const enum poolMemPoolAttr every_attribute[] = {
#define ATTRIBUTE_ENTRY(name, number, type) name,
    STREAMPOOL_POOL_ATTRIBUTES(ATTRIBUTE_ENTRY)
#undef ATTRIBUTE_ENTRY
};

#define EVERY_ATTRIBUTE(i)                                                                         \
    size_t i = 0;                                                                                  \
    i < sizeof every_attribute / sizeof every_attribute[0];                                        \
    i++

static void require_read_only(poolMemPool_t pool, enum poolMemPoolAttr attr, uint64_t bytes) {
    union value before = {.bytes = 0}, value = {.bytes = bytes}, after = {.bytes = 0};
    EXPECT(poolMemPoolGetAttribute(pool, attr, &before), poolSuccess);
    EXPECT(poolMemPoolSetAttribute(pool, attr, &value), poolErrorInvalidValue);
    EXPECT(poolMemPoolGetAttribute(pool, attr, &after), poolSuccess);
    REQUIRE_EQUAL(after.bytes, before.bytes);
}

static void require_64_bits_kept(poolMemPool_t pool, enum poolMemPoolAttr attr) {
    static const uint64_t values[] = {1, MIB(64), (uint64_t)1 << 40, UINT64_MAX, 0};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        test_set_attribute(pool, attr, values[i]);
        REQUIRE_EQUAL(test_attribute(pool, attr), values[i]);
    }
}

void row_reuse_policies_default_to_1_and_read_back_as_1(void) {
    static const enum poolMemPoolAttr policies[] = {poolMemPoolReuseFollowEventDependencies,
                                                    poolMemPoolReuseAllowOpportunistic,
                                                    poolMemPoolReuseAllowInternalDependencies};
    poolMemPool_t pool = test_pool();
    for (size_t i = 0; i < 3; i++)
        REQUIRE(test_flag(pool, policies[i]) == 1);
    for (size_t i = 0; i < 3; i++) {
        test_set_flag(pool, policies[i], 0);
        REQUIRE(test_flag(pool, policies[i]) == 0);
        REQUIRE(test_flag(pool, policies[(i + 1) % 3]) == 1);
        test_set_flag(pool, policies[i], -7);
        REQUIRE(test_flag(pool, policies[i]) == 1);
    }
}

void row_release_threshold_defaults_to_0_and_keeps_64_bits(void) {
    poolMemPool_t pool = test_pool();
    REQUIRE_EQUAL(test_attribute(pool, poolMemPoolAttrReleaseThreshold), 0);
    require_64_bits_kept(pool, poolMemPoolAttrReleaseThreshold);
}

void row_unfenced_bytes_default_to_64_mib(void) {
    poolMemPool_t pool = test_pool();
    REQUIRE_EQUAL(test_attribute(pool, poolMemPoolAttrUnfencedBytesMax), MIB(64));
    require_64_bits_kept(pool, poolMemPoolAttrUnfencedBytesMax);
}

void row_usage_figures_start_at_0(void) {
    REQUIRE_FIGURES(test_pool(), (struct test_figures){0});
}

void row_attributes_tell_what_the_pool_was_made_with(void) {
    test_require_virtual_memory();
    poolMemPool_t pool = test_pool_of_at_most(MIB(64));
    REQUIRE(test_flag(pool, poolMemPoolAttrAllocationType) == poolMemAllocationTypePinned);
    REQUIRE(test_flag(pool, poolMemPoolAttrExportHandleTypes) == poolMemHandleTypeNone);
    REQUIRE(test_flag(pool, poolMemPoolAttrLocationId) == 0);
    REQUIRE(test_flag(pool, poolMemPoolAttrLocationType) == poolMemLocationTypeDevice);
    REQUIRE_EQUAL(test_attribute(pool, poolMemPoolAttrMaxPoolSize), MIB(64));
    REQUIRE(test_flag(pool, poolMemPoolAttrHwDecompressEnabled) == 0);
    REQUIRE(test_flag(pool, poolMemPoolAttrLocalityDomainId) == -1);

    struct poolMemPoolProps props = test_pool_props(0);
    props.handleTypes = poolMemHandleTypePosixFileDescriptor;
    EXPECT(poolMemPoolCreate(&pool, &props), poolSuccess);
    REQUIRE(test_flag(pool, poolMemPoolAttrExportHandleTypes) ==
            poolMemHandleTypePosixFileDescriptor);
}

void row_unknown_attributes_are_invalid(void) {
    static const int unknown[] = {0, -1, 16, 17, 999, 1099, 1199, INT32_MAX, INT32_MIN};
    poolMemPool_t pool = test_pool();
    for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++) {
        union value value = {.bytes = 0x5a5a};
        EXPECT(poolMemPoolGetAttribute(pool, (enum poolMemPoolAttr)unknown[i], &value),
               poolErrorInvalidValue);
        REQUIRE_EQUAL(value.bytes, 0x5a5a);
        EXPECT(poolMemPoolSetAttribute(pool, (enum poolMemPoolAttr)unknown[i], &value),
               poolErrorInvalidValue);
    }
}

void row_null_values_are_invalid(void) {
    poolMemPool_t pool = test_pool();
    for (EVERY_ATTRIBUTE(i)) {
        EXPECT(poolMemPoolGetAttribute(pool, every_attribute[i], NULL), poolErrorInvalidValue);
        EXPECT(poolMemPoolSetAttribute(pool, every_attribute[i], NULL), poolErrorInvalidValue);
    }
}

void row_attributes_of_no_pool_are_invalid(void) {
    poolMemPool_t none[] = {NULL, test_pool()};
    EXPECT(poolMemPoolDestroy(none[1]), poolSuccess);
    for (size_t k = 0; k < 2; k++) {
        for (EVERY_ATTRIBUTE(i)) {
            union value value = {.bytes = 0};
            EXPECT(poolMemPoolGetAttribute(none[k], every_attribute[i], &value),
                   poolErrorInvalidValue);
            EXPECT(poolMemPoolSetAttribute(none[k], every_attribute[i], &value),
                   poolErrorInvalidValue);
        }
    }
}

void row_current_figures_are_read_only(void) {
    poolMemPool_t pool = test_pool();
    test_malloc(pool, 100, test_stream());
    for (uint64_t value = 0; value < 2; value++) {
        require_read_only(pool, poolMemPoolAttrReservedMemCurrent, value);
        require_read_only(pool, poolMemPoolAttrUsedMemCurrent, value);
    }
}

void row_high_figures_can_only_be_set_to_0(void) {
    poolMemPool_t pool = test_pool();
    CUstream stream = test_stream();
    test_free(test_malloc(pool, 100, stream), stream);
    require_read_only(pool, poolMemPoolAttrReservedMemHigh, 1);
    require_read_only(pool, poolMemPoolAttrReservedMemHigh, UINT64_MAX);
    require_read_only(pool, poolMemPoolAttrUsedMemHigh, 1);
    require_read_only(pool, poolMemPoolAttrUsedMemHigh, (uint64_t)1 << 32);
}

void row_a_high_figure_set_to_0_is_the_current_figure(void) {
    poolMemPool_t pool = test_pool();
    CUstream stream = test_stream();
    test_malloc(pool, 100, stream);
    test_free(test_malloc(pool, MIB(40), stream), stream);
    EXPECT(poolStreamSynchronize(stream), poolSuccess);
    struct test_figures figures = test_figures(pool);
    REQUIRE(figures.used_high == MIB(40) + 100 && figures.reserved_high >= MIB(40));
    REQUIRE(figures.reserved < figures.reserved_high);

    test_set_attribute(pool, poolMemPoolAttrUsedMemHigh, 0);
    figures.used_high = figures.used;
    REQUIRE_FIGURES(pool, figures);
    test_set_attribute(pool, poolMemPoolAttrReservedMemHigh, 0);
    figures.reserved_high = figures.reserved;
    REQUIRE_FIGURES(pool, figures);
}

void row_what_a_pool_was_made_with_is_read_only(void) {
    poolMemPool_t pool = test_pool();
    for (int attr = poolMemPoolAttrAllocationType; attr <= poolMemPoolAttrLocalityDomainId;
         attr++) {
        for (uint64_t value = 0; value < 2; value++)
            require_read_only(pool, (enum poolMemPoolAttr)attr, value);
    }
}

void row_trim_of_no_pool_is_invalid(void) {
    poolMemPool_t pool = test_pool();
    EXPECT(poolMemPoolDestroy(pool), poolSuccess);
    EXPECT(poolMemPoolTrimTo(NULL, 0), poolErrorInvalidValue);
    EXPECT(poolMemPoolTrimTo(pool, 0), poolErrorInvalidValue);
}
