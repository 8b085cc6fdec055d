// Rows of poolPointerGetAttributes: what an address is.
#include <stdint.h>
#include <stdlib.h>

#include "conformance/rows.h"
#include "support/check.h"
#include "support/device.h"
#include "support/pools.h"

static const size_t sizes[] = {1, 600, KIB(300), MIB(40) + 1};
enum { SIZES = sizeof sizes / sizeof sizes[0] };

static struct poolPointerAttributes ask(const void *pointer) {
    struct poolPointerAttributes attributes = {.device = 77};
    EXPECT(poolPointerGetAttributes(&attributes, pointer), poolSuccess);
    return attributes;
}

static void require_nothing_known(const void *pointer, enum poolPointerState state) {
    struct poolPointerAttributes attributes = ask(pointer);
    REQUIRE(attributes.state == state);
    REQUIRE(attributes.device == -1);
    REQUIRE(!attributes.pool && !attributes.base && !attributes.stream);
    REQUIRE_EQUAL(attributes.size + attributes.requestedSize + attributes.extents, 0);
}

void row_an_address_of_a_block_tells_its_pool_and_what_was_asked_for(void) {
    poolMemPool_t pool = test_pool();
    CUstream stream = test_stream();
    for (int i = 0; i < SIZES; i++) {
        char *base = test_malloc(pool, sizes[i], stream);
        const char *addresses[] = {base, base + sizes[i] / 2, base + sizes[i] - 1};
        for (int k = 0; k < 3; k++) {
            struct poolPointerAttributes attributes = ask(addresses[k]);
            REQUIRE(attributes.state == poolPointerLive);
            REQUIRE(attributes.device == 0);
            REQUIRE(attributes.pool == pool);
            REQUIRE(attributes.base == base);
            REQUIRE(attributes.stream == stream);
            REQUIRE_EQUAL(attributes.requestedSize, sizes[i]);
            REQUIRE(attributes.size >= sizes[i]);
            REQUIRE(attributes.extents >= 1);
        }
        REQUIRE(ask(base + ask(base).size).base != base);
    }
}

void row_a_fixed_block_lies_in_one_extent(void) {
    void *pointer = NULL;
    CUstream stream = test_stream();
    poolMemPool_t pool = test_pool();
    EXPECT(poolMallocAsyncWithFlags(&pointer, MIB(100), pool, stream, poolMallocFixed),
           poolSuccess);
    REQUIRE_EQUAL(ask(pointer).extents, 1);
}

void row_an_address_of_no_pool_is_no_error(void) {
    CUdeviceptr other = 0;
    void *heap = malloc(512);
    test_malloc(test_pool(), 512, test_stream());
    DRIVER(test_driver()->cuMemAlloc(&other, MIB(2)));
    require_nothing_known(NULL, poolPointerForeign);
    require_nothing_known(heap, poolPointerForeign);
    require_nothing_known((void *)UINTPTR_MAX, poolPointerForeign);
    require_nothing_known((void *)(uintptr_t)other, poolPointerForeign);
    EXPECT(poolPointerGetAttributes(NULL, heap), poolErrorInvalidValue);
    DRIVER(test_driver()->cuMemFree(other));
    free(heap);
}

// While the work before the free is pending, too.
void row_an_address_that_was_freed_is_not_live(void) {
    test_require_virtual_memory();
    poolMemPool_t pool = test_pool();
    CUstream stream = test_stream();
    struct test_hold hold;
    for (int i = 0; i < SIZES; i++) {
        char *pointer = test_malloc(pool, sizes[i], stream);
        test_hold(&hold, stream);
        test_free(pointer, stream);
        require_nothing_known(pointer, poolPointerFree);
        require_nothing_known(pointer + sizes[i] - 1, poolPointerFree);
        test_let_go(&hold);
        EXPECT(poolStreamSynchronize(stream), poolSuccess);
        require_nothing_known(pointer, poolPointerFree);
    }
}

// A driver answers a question on a capturing stream's behalf with an error, and this asks none.
void row_an_address_can_be_asked_about_during_a_capture(void) {
    CUgraph graph = NULL;
    CUstream stream = test_stream();
    poolMemPool_t pool = test_pool();
    void *pointer = test_malloc(pool, 600, stream);
    DRIVER(test_driver()->cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    REQUIRE(ask(pointer).pool == pool);
    DRIVER(test_driver()->cuStreamEndCapture(stream, &graph));
    DRIVER(test_driver()->cuGraphDestroy(graph));
}

void row_memory_of_a_destroyed_pool_is_live_and_names_no_pool(void) {
    poolMemPool_t pool = test_pool();
    CUstream stream = test_stream();
    void *pointer = test_malloc(pool, KIB(300), stream);
    EXPECT(poolMemPoolDestroy(pool), poolSuccess);
    REQUIRE(ask(pointer).state == poolPointerLive);
    REQUIRE(!ask(pointer).pool);
    REQUIRE_EQUAL(ask(pointer).requestedSize, KIB(300));
    test_free(pointer, stream);
    require_nothing_known(pointer, poolPointerFree);
}
