// The book of a heap in which no call runs:
//
//   moves      begun = ended, and nobody searches or opens a slab
//   sets       a leaf with a slab has its bit in the middle, and that has its own in the sums
//   absent     in no set of free slabs, no block taken, in no place
//   free       in the set of free slabs, no block taken, no bit set, found by its addresses
//   run        the first slab and those behind it side by side, not free, no block taken
//   a class    as many blocks taken as bits set, at least one, none behind the last block;
//              with a block to spare in `any`, or current for a group; with room in `room`, or
//              current
//   places     as many as slabs
#include "heap/bed.h"

#include "support/check.h"

#define HOLDS(condition, slab)                                                                     \
    ((condition) ? (void)0                                                                         \
                 : test_fail(__FILE__, __LINE__, "slab %u: this does not hold: %s",                \
                             (unsigned)(slab), #condition))

static bool is_in(const struct ph_set *set, uint32_t slab) {
    return (set->leaves[slab / 64] >> slab % 64 & 1) != 0;
}

static void check_set(const struct bed *bed, const struct ph_set *set) {
    for (uint32_t leaf = 0; leaf * 64 < bed->book->slabs; leaf++) {
        if (set->leaves[leaf] == 0)
            continue;
        HOLDS((set->middle[leaf / 64] >> leaf % 64 & 1) != 0, leaf * 64);
        HOLDS((set->sums >> leaf / 64 & 1) != 0, leaf * 64);
    }
}

static void check_sets(const struct bed *bed) {
    check_set(bed, &bed->book->free);
    for (uint32_t cls = 0; cls < bed->book->classes; cls++) {
        check_set(bed, &bed->book->any[cls]);
        check_set(bed, &bed->book->room[cls]);
    }
}

static uint32_t slab_at(const struct bed *bed, uint64_t address) {
    return ph_place_slab(ph_place_of(bed->book, address));
}

static void check_places(const struct bed *bed) {
    uint32_t used = 0;
    for (uint32_t i = 0; i < bed->book->places; i++)
        used += ph_place_slab(bed->book->place[i]) != POOL_HEAP_NONE;
    REQUIRE_EQUAL(used, bed->book->slabs - bed_count(bed, POOL_HEAP_ABSENT));
}

static uint32_t bits_set(const struct bed *bed, uint32_t slab, const struct ph_class *c) {
    const uint32_t *bits = ph_bits(&bed->book->slab[slab], c);
    uint32_t set = 0;
    for (uint32_t word = 0; word < (c->blocks + 31) / 32; word++)
        set += ph_count(bits[word]);
    if (c->blocks % 32 != 0)
        HOLDS(bits[c->blocks / 32] >> c->blocks % 32 == 0, slab);
    return set;
}

static bool is_current(const struct bed *bed, uint32_t slab, uint32_t cls) {
    for (uint32_t group = 0; group < bed->book->groups; group++) {
        if (bed->book->current[cls * bed->book->groups + group].slab == slab)
            return true;
    }
    return false;
}

static void check_class(const struct bed *bed, uint32_t slab, uint32_t cls, uint32_t taken) {
    const struct ph_class *c = &bed->book->cls[cls];
    HOLDS(cls < bed->book->classes, slab);
    HOLDS(taken != 0 && taken <= c->blocks, slab);
    HOLDS(bits_set(bed, slab, c) == taken, slab);
    if (taken < c->blocks)
        HOLDS(is_in(&bed->book->any[cls], slab) || is_current(bed, slab, cls), slab);
    if (taken < c->room)
        HOLDS(is_in(&bed->book->room[cls], slab) || is_current(bed, slab, cls), slab);
}

static void check_free(const struct bed *bed, uint32_t slab) {
    for (uint32_t word = 0; word < POOL_HEAP_BITS_INLINE / 32; word++)
        HOLDS(bed->book->slab[slab].bits[word] == 0, slab);
}

static void check_run(const struct bed *bed, uint32_t slab) {
    const struct ph_slab *first = &bed->book->slab[slab];
    HOLDS(first->run != 0 && slab + first->run <= bed->book->slabs, slab);
    for (uint32_t i = 1; i < first->run; i++) {
        HOLDS(ph_tag(first[i].state) == POOL_HEAP_BODY, slab + i);
        HOLDS(first[i].base == first->base + i * bed_slab_bytes(bed), slab + i);
    }
}

static void check_slab(const struct bed *bed, uint32_t slab) {
    uint32_t state = bed->book->slab[slab].state, tag = ph_tag(state);
    uint32_t taken = state & POOL_HEAP_COUNT_MASK;
    uint64_t base = bed->book->slab[slab].base;
    HOLDS(is_in(&bed->book->free, slab) == (tag == POOL_HEAP_FREE), slab);
    if (tag != POOL_HEAP_ABSENT) {
        HOLDS(slab_at(bed, base) == slab, slab);
        HOLDS(slab_at(bed, base + bed_slab_bytes(bed) - 1) == slab, slab);
    }
    if (tag >= POOL_HEAP_FIRST) {
        check_class(bed, slab, tag - POOL_HEAP_FIRST, taken);
        return;
    }
    HOLDS(taken == 0, slab);
    if (tag == POOL_HEAP_FREE)
        check_free(bed, slab);
    else if (tag == POOL_HEAP_RUN)
        check_run(bed, slab);
}

static uint32_t slabs_of_runs(const struct bed *bed) {
    uint32_t slabs = 0;
    for (uint32_t slab = 0; slab < bed->book->slabs; slab++) {
        if (ph_tag(bed->book->slab[slab].state) == POOL_HEAP_RUN)
            slabs += bed->book->slab[slab].run - 1;
    }
    return slabs;
}

void bed_check(const struct bed *bed) {
    const struct ph_book *book = bed->book;
    REQUIRE_EQUAL(book->begun, book->ended);
    REQUIRE_EQUAL(book->searching, 0);
    REQUIRE_EQUAL(book->present, book->slabs - bed_count(bed, POOL_HEAP_ABSENT));
    REQUIRE_EQUAL(book->spread, ph_groups(book->present, book->groups));
    for (uint32_t i = 0; i < book->classes * book->groups; i++)
        REQUIRE_EQUAL(book->current[i].opening % 2, 0);
    check_sets(bed);
    for (uint32_t slab = 0; slab < book->slabs; slab++)
        check_slab(bed, slab);
    REQUIRE_EQUAL(bed_count(bed, POOL_HEAP_BODY), slabs_of_runs(bed));
    check_places(bed);
}

void bed_check_empty(const struct bed *bed, uint32_t slabs) {
    bed_check(bed);
    REQUIRE_EQUAL(bed_count(bed, POOL_HEAP_FREE), slabs);
    REQUIRE_EQUAL(bed_count(bed, POOL_HEAP_ABSENT), bed->book->slabs - slabs);
}
