// Rows of access: which devices may use a pool's memory directly.
#include <stdint.h>

#include "conformance/rows.h"
#include "support/check.h"
#include "support/device.h"
#include "support/pools.h"

static struct poolMemAccessDesc to(int device, enum poolMemAccessFlags flags) {
    return (struct poolMemAccessDesc){{poolMemLocationTypeDevice, device}, flags};
}

static poolError_t set(poolMemPool_t pool, int device, enum poolMemAccessFlags flags) {
    struct poolMemAccessDesc desc = to(device, flags);
    return poolMemPoolSetAccess(pool, &desc, 1);
}

static enum poolMemAccessFlags access_of(poolMemPool_t pool, int device) {
    const struct poolMemLocation location = {poolMemLocationTypeDevice, device};
    enum poolMemAccessFlags flags = poolMemAccessFlagsProtRead;
    EXPECT(poolMemPoolGetAccess(&flags, pool, &location), poolSuccess);
    return flags;
}

// -------------------------------------------------------------------------------------- one device

void row_the_own_device_has_access(void) {
    poolMemPool_t pool = test_pool();
    REQUIRE(access_of(pool, 0) == poolMemAccessFlagsProtReadWrite);
    REQUIRE(access_of(test_default_pool(0), 0) == poolMemAccessFlagsProtReadWrite);
    EXPECT(set(pool, 0, poolMemAccessFlagsProtReadWrite), poolSuccess);
    REQUIRE(access_of(pool, 0) == poolMemAccessFlagsProtReadWrite);
}

void row_the_own_device_can_not_be_denied_access(void) {
    poolMemPool_t pool = test_pool();
    EXPECT(set(pool, 0, poolMemAccessFlagsProtNone), poolErrorInvalidDevice);
    EXPECT(set(pool, 0, poolMemAccessFlagsProtRead), poolErrorNotSupported);
    REQUIRE(access_of(pool, 0) == poolMemAccessFlagsProtReadWrite);
}

void row_access_of_no_device_is_refused(void) {
    poolMemPool_t pool = test_pool();
    EXPECT(set(pool, -1, poolMemAccessFlagsProtReadWrite), poolErrorInvalidDevice);
    EXPECT(set(pool, test_device_count(), poolMemAccessFlagsProtReadWrite), poolErrorInvalidDevice);
}

void row_access_with_a_bad_argument_is_invalid(void) {
    poolMemPool_t pool = test_pool();
    const struct poolMemAccessDesc host = {{poolMemLocationTypeInvalid, 0},
                                           poolMemAccessFlagsProtReadWrite};
    EXPECT(poolMemPoolSetAccess(pool, NULL, 1), poolErrorInvalidValue);
    EXPECT(poolMemPoolSetAccess(pool, &host, 1), poolErrorInvalidValue);
    EXPECT(set(pool, 0, (enum poolMemAccessFlags)2), poolErrorInvalidValue);
    EXPECT(set(NULL, 0, poolMemAccessFlagsProtReadWrite), poolErrorInvalidValue);
    EXPECT(poolMemPoolSetAccess(pool, NULL, 0), poolSuccess);
}

void row_asking_for_access_with_a_bad_argument_is_invalid(void) {
    poolMemPool_t pool = test_pool();
    const struct poolMemLocation device = {poolMemLocationTypeDevice, 0};
    const struct poolMemLocation bad[] = {{poolMemLocationTypeInvalid, 0},
                                          {poolMemLocationTypeDevice, -1},
                                          {poolMemLocationTypeDevice, test_device_count()}};
    enum poolMemAccessFlags flags = poolMemAccessFlagsProtRead;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        EXPECT(poolMemPoolGetAccess(&flags, pool, &bad[i]), poolErrorInvalidValue);
    EXPECT(poolMemPoolGetAccess(NULL, pool, &device), poolErrorInvalidValue);
    EXPECT(poolMemPoolGetAccess(&flags, NULL, &device), poolErrorInvalidValue);
    EXPECT(poolMemPoolGetAccess(&flags, pool, NULL), poolErrorInvalidValue);
    REQUIRE(flags == poolMemAccessFlagsProtRead);
}

// ------------------------------------------------------------------------------------- two devices

// Two devices of which the second can access the first's memory, and a stream of each.
struct peers {
    poolMemPool_t pool; // of the first, that keeps its memory
    CUstream near, far;
};

static void open_peers(struct peers *peers) {
    int can = 0;
    if (test_device_count() < 2)
        test_skip("there is one device");
    DRIVER(test_driver()->cuDeviceCanAccessPeer(&can, 1, 0));
    if (!can)
        test_skip("no device can access another's memory");
    test_use_device(1);
    peers->far = test_stream();
    test_use_device(0);
    peers->near = test_stream();
    peers->pool = test_keeping_pool();
}

static void open_peers_with_access(struct peers *peers) {
    open_peers(peers);
    EXPECT(set(peers->pool, 1, poolMemAccessFlagsProtReadWrite), poolSuccess);
    REQUIRE(access_of(peers->pool, 1) == poolMemAccessFlagsProtReadWrite);
}

// Each of them sees what the other one has written.
static void require_shared(const struct peers *peers, void *block, size_t size) {
    test_fill(block, 11, size, peers->near);
    test_finish(peers->near);
    test_use_device(1);
    REQUIRE(test_is_filled(block, 11, size));
    test_fill(block, 22, size, peers->far);
    test_finish(peers->far);
    test_use_device(0);
    REQUIRE(test_is_filled(block, 22, size));
}

// What the driver lets the second device do there.
static unsigned long long far_access_at(void *block) {
    const CUmemLocation location = {CU_MEM_LOCATION_TYPE_DEVICE, 1};
    unsigned long long flags = 7;
    DRIVER(test_driver()->cuMemGetAccess(&flags, &location, (CUdeviceptr)(uintptr_t)block));
    return flags;
}

void row_no_other_device_has_access_at_first(void) {
    struct peers peers;
    open_peers(&peers);
    REQUIRE(access_of(peers.pool, 1) == poolMemAccessFlagsProtNone);
    void *block = test_malloc(peers.pool, MIB(4), peers.near);
    REQUIRE(far_access_at(block) == CU_MEM_ACCESS_FLAGS_PROT_NONE);
    EXPECT(set(peers.pool, 1, poolMemAccessFlagsProtNone), poolSuccess);
}

void row_a_peer_with_access_uses_what_was_allocated_before(void) {
    static const size_t sizes[] = {1000, KIB(300), MIB(4), MIB(12)};
    enum { SIZES = sizeof sizes / sizeof sizes[0] };
    struct peers peers;
    void *blocks[SIZES];
    open_peers(&peers);
    for (size_t i = 0; i < SIZES; i++)
        blocks[i] = test_malloc(peers.pool, sizes[i], peers.near);
    EXPECT(set(peers.pool, 1, poolMemAccessFlagsProtReadWrite), poolSuccess);
    for (size_t i = 0; i < SIZES; i++)
        require_shared(&peers, blocks[i], sizes[i]);
}

void row_trap_13_a_peer_with_access_uses_what_is_allocated_later(void) {
    static const size_t sizes[] = {1000, KIB(300), MIB(4), MIB(12)};
    struct peers peers;
    open_peers_with_access(&peers);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        require_shared(&peers, test_malloc(peers.pool, sizes[i], peers.near), sizes[i]);
    void *fixed = NULL;
    EXPECT(poolMallocAsyncWithFlags(&fixed, MIB(4), peers.pool, peers.near, poolMallocFixed),
           poolSuccess);
    require_shared(&peers, fixed, MIB(4));
}

// Memory in pieces, joined before or after the peer was let in.
static void share_joined_memory(bool before) {
    enum { PIECES = 8 };
    struct peers peers;
    void *blocks[PIECES];
    open_peers(&peers);
    for (size_t i = 0; i < PIECES; i++)
        blocks[i] = test_malloc(peers.pool, MIB(4), peers.near);
    for (size_t i = 0; i < PIECES; i += 2)
        test_free(blocks[i], peers.near);
    if (before)
        EXPECT(set(peers.pool, 1, poolMemAccessFlagsProtReadWrite), poolSuccess);
    uint64_t remaps = test_attribute(peers.pool, poolMemPoolStatRemaps);
    void *joined = test_malloc(peers.pool, MIB(16), peers.near);
    REQUIRE_EQUAL(test_attribute(peers.pool, poolMemPoolStatRemaps), remaps + 1);
    if (!before)
        EXPECT(set(peers.pool, 1, poolMemAccessFlagsProtReadWrite), poolSuccess);
    require_shared(&peers, joined, MIB(16));
    require_shared(&peers, blocks[1], MIB(4));
    EXPECT(set(peers.pool, 1, poolMemAccessFlagsProtNone), poolSuccess);
    REQUIRE(far_access_at(joined) == CU_MEM_ACCESS_FLAGS_PROT_NONE);
    test_free(joined, peers.near);
}

void row_a_peer_with_access_uses_memory_that_was_joined(void) {
    share_joined_memory(false);
}

void row_a_peer_with_access_uses_memory_that_is_joined_later(void) {
    share_joined_memory(true);
}

void row_access_that_is_taken_away_is_gone_for_present_and_later_memory(void) {
    struct peers peers;
    open_peers_with_access(&peers);
    void *block = test_malloc(peers.pool, MIB(4), peers.near);
    require_shared(&peers, block, MIB(4));
    EXPECT(set(peers.pool, 1, poolMemAccessFlagsProtNone), poolSuccess);
    REQUIRE(access_of(peers.pool, 1) == poolMemAccessFlagsProtNone);
    REQUIRE(far_access_at(block) == CU_MEM_ACCESS_FLAGS_PROT_NONE);
    REQUIRE(far_access_at(test_malloc(peers.pool, MIB(12), peers.near)) ==
            CU_MEM_ACCESS_FLAGS_PROT_NONE);
    test_fill(block, 33, MIB(4), peers.near);
    test_finish(peers.near);
    REQUIRE(test_is_filled(block, 33, MIB(4)));
    EXPECT(set(peers.pool, 1, poolMemAccessFlagsProtReadWrite), poolSuccess);
    require_shared(&peers, block, MIB(4));
}

void row_a_list_with_one_bad_entry_changes_nothing(void) {
    struct peers peers;
    open_peers(&peers);
    const struct poolMemAccessDesc list[] = {to(1, poolMemAccessFlagsProtReadWrite),
                                             to(0, poolMemAccessFlagsProtNone)};
    EXPECT(poolMemPoolSetAccess(peers.pool, list, 2), poolErrorInvalidDevice);
    REQUIRE(access_of(peers.pool, 1) == poolMemAccessFlagsProtNone);
    REQUIRE(far_access_at(test_malloc(peers.pool, MIB(4), peers.near)) ==
            CU_MEM_ACCESS_FLAGS_PROT_NONE);
}
