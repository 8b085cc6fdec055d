#include "base/page_map.h"

#include "base/lock.h"

#include <sys/mman.h>

struct sp_page_range sp_page_ranges[SP_PAGE_MAP_MAX_RANGES];
_Atomic uint32_t sp_page_range_count;

static struct sp_lock add_lock;

static bool add_locked(uint64_t base, uint64_t size) {
    uint32_t count = sp_load_relaxed(&sp_page_range_count);
    uint64_t pages = size >> SP_PAGE_SHIFT;
    if (count == SP_PAGE_MAP_MAX_RANGES)
        return false;
    void *table = mmap(NULL, sp_page_map_table_bytes(size), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (table == MAP_FAILED)
        return false;
    sp_page_ranges[count] = (struct sp_page_range){
        base, size, table, (_Atomic uint64_t *)((char *)table + pages * sizeof(uintptr_t))};
    sp_store_release(&sp_page_range_count, count + 1);
    return true;
}

bool sp_page_map_add(uint64_t base, uint64_t size) {
    sp_lock_acquire(&add_lock);
    bool added = add_locked(base, size);
    sp_lock_release(&add_lock);
    return added;
}

_Atomic uintptr_t *sp_page_map_find_behind_first(uint64_t address, uint32_t count) {
    for (uint32_t i = 1; i < count; i++) {
        uint64_t offset = address - sp_page_ranges[i].base;
        if (offset < sp_page_ranges[i].size)
            return &sp_page_ranges[i].entries[offset >> SP_PAGE_SHIFT];
    }
    return NULL;
}

struct sp_page_range *sp_page_map_range(uint64_t address) {
    uint32_t count = sp_load_acquire(&sp_page_range_count);
    for (uint32_t i = 0; i < count; i++) {
        if (address - sp_page_ranges[i].base < sp_page_ranges[i].size)
            return &sp_page_ranges[i];
    }
    return NULL;
}

// ----------------------------------------------------------------------------------------- pieces

// Neighbours in one word of bits may be written at the same time, for other pools.
void sp_page_map_set_begin(uint64_t address, bool begins) {
    const struct sp_page_range *range = sp_page_map_range(address);
    if (!range)
        return;
    uint64_t page = (address - range->base) >> SP_PAGE_SHIFT;
    uint64_t bit = (uint64_t)1 << page % 64;
    if (begins)
        atomic_fetch_or_explicit(&range->begins[page / 64], bit, memory_order_release);
    else
        atomic_fetch_and_explicit(&range->begins[page / 64], ~bit, memory_order_release);
}

// The bits of one word from one page on, up to and with another.
static unsigned count_in_word(const struct sp_page_range *range, uint64_t first, uint64_t last) {
    uint64_t bits = sp_load_acquire(&range->begins[first / 64]);
    bits &= UINT64_MAX << first % 64;
    bits &= UINT64_MAX >> (63 - last % 64);
    return (unsigned)__builtin_popcountll(bits);
}

// The piece at the address is the first one, wherever it begins.
size_t sp_page_map_count_pieces(uint64_t address, uint64_t size) {
    const struct sp_page_range *range = sp_page_map_range(address);
    size_t count = 1;
    if (!range)
        return 0;
    uint64_t page = ((address - range->base) >> SP_PAGE_SHIFT) + 1;
    uint64_t last = (address + size - 1 - range->base) >> SP_PAGE_SHIFT;
    while (page <= last) {
        uint64_t until = page | 63;
        count += count_in_word(range, page, until < last ? until : last);
        page = until + 1;
    }
    return count;
}
