#include "heap/bed.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "support/check.h"

uint64_t bed_slab_bytes(const struct bed *bed) {
    return (uint64_t)1 << bed->plan.shift;
}

void bed_open(struct bed *bed, uint64_t bytes_max, uint32_t slabs) {
    bed->plan = sp_heap_plan_make(bytes_max);
    bed->book = malloc(bed->plan.book_bytes);
    REQUIRE(bed->book != NULL);
    sp_heap_plan_write(&bed->plan, (uint64_t)(uintptr_t)bed->book, bed->book);
    bed->heap.book = bed->book;
    bed->memory_bytes = (slabs + 2) * bed_slab_bytes(bed) + BED_MIB(2);
    bed->memory = mmap(NULL, bed->memory_bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    REQUIRE(bed->memory != MAP_FAILED);
}

static uint64_t begin_of(const struct bed *bed) {
    return ((uint64_t)(uintptr_t)bed->memory + BED_MIB(2) - 1) & ~(BED_MIB(2) - 1);
}

void bed_open_full(struct bed *bed, uint64_t bytes_max, uint32_t slabs, uint64_t skew) {
    bed_open(bed, bytes_max, slabs);
    bed_admit(bed, 0, slabs, skew);
}

void bed_shut(struct bed *bed) {
    munmap(bed->memory, bed->memory_bytes);
    free(bed->book);
}

static bool is_present(const struct bed *bed, uint32_t slab) {
    return ph_tag(ph_load(&bed->book->slab[slab].state)) != POOL_HEAP_ABSENT;
}

void bed_admit(const struct bed *bed, uint32_t first, uint32_t count, uint64_t offset) {
    struct ph_book *book = bed->book;
    uint64_t bytes = bed_slab_bytes(bed), begin = begin_of(bed) + offset;
    uint32_t next = first + count;
    REQUIRE(next <= book->slabs);
    if (next < book->slabs && is_present(bed, next) &&
        book->slab[next].base == begin + count * bytes)
        ph_mark_joined(book, next);
    int joined =
        first != 0 && is_present(bed, first - 1) && book->slab[first - 1].base + bytes == begin;
    for (uint32_t i = 0; i < count; i++)
        ph_admit(book, first + i, begin + i * bytes, i != 0 || joined);
}

uint32_t bed_count(const struct bed *bed, uint32_t tag) {
    uint32_t count = 0;
    for (uint32_t slab = 0; slab < bed->book->slabs; slab++)
        count += ph_tag(bed->book->slab[slab].state) == tag;
    return count;
}

uint64_t bed_taken(const struct bed *bed, uint32_t cls) {
    uint64_t taken = 0;
    for (uint32_t slab = 0; slab < bed->book->slabs; slab++) {
        uint32_t state = bed->book->slab[slab].state;
        if (ph_tag(state) == POOL_HEAP_FIRST + cls)
            taken += state & POOL_HEAP_COUNT_MASK;
    }
    return taken;
}
