// A row of threads that ask about addresses, while others free what is there and allocate it anew.
#include "region/device.h"
#include "stress/crew.h"
#include "stress/rows.h"
#include "support/check.h"
#include "support/device.h"
#include "support/pools.h"

enum { ROUNDS = 4000, SEEN = 256 };

static struct crew crew;
static _Atomic uintptr_t seen[SEEN]; // addresses in blocks that there were

static struct poolPointerAttributes ask(uintptr_t address) {
    struct poolPointerAttributes attributes;
    EXPECT(poolPointerGetAttributes(&attributes, (const void *)address), poolSuccess);
    return attributes;
}

// Nobody else frees a member's own block, so the answer is exact.
static void ask_about_own(struct crew_member *member) {
    const struct crew_block *block = &member->blocks[crew_draw(member, CREW_BLOCKS)];
    if (!block->address)
        return;
    uintptr_t base = (uintptr_t)block->address, address = base + crew_draw(member, block->size);
    struct poolPointerAttributes attributes = ask(address);
    REQUIRE(attributes.state == poolPointerLive);
    REQUIRE(attributes.pool == member->crew->pool);
    REQUIRE((uintptr_t)attributes.base == base);
    REQUIRE_EQUAL(attributes.requestedSize, block->size);
    REQUIRE(attributes.stream == member->stream);
    seen[crew_draw(member, SEEN)] = address;
}

// A block of others may come and go meanwhile. What is told of it holds together.
static void ask_about_others(struct crew_member *member) {
    uintptr_t address = seen[crew_draw(member, SEEN)];
    struct poolPointerAttributes attributes = ask(address);
    if (address == 0 || attributes.state == poolPointerFree)
        return;
    REQUIRE(attributes.state == poolPointerLive);
    REQUIRE(attributes.pool == member->crew->pool);
    REQUIRE(address - (uintptr_t)attributes.base < attributes.size);
    REQUIRE(attributes.requestedSize <= attributes.size);
    REQUIRE(attributes.extents > 0);
}

static void allocate_and_ask(struct crew_member *member) {
    crew_allocate_or_free(member);
    ask_about_own(member);
    for (int i = 0; i < 8; i++)
        ask_about_others(member);
}

// Half of the time small blocks are loose soon.
void row_threads_ask_about_memory_that_others_free(void) {
    poolMemPool_t pool = test_keeping_pool();
    crew_open(&crew, pool);
    for (int half = 0; half < 2; half++) {
        crew_start(&crew, allocate_and_ask, ROUNDS / 2);
        crew_join(&crew);
        sp_store_relaxed(&sp_handle_pool(pool)->slabs.idle_min, KIB(256));
    }
    crew_close(&crew);
    crew_require_all_back(pool);
}
