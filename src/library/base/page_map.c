#include "base/page_map.h"

#include "base/lock.h"

#include <sys/mman.h>

struct sp_page_range sp_page_ranges[SP_PAGE_MAP_MAX_RANGES];
_Atomic uint32_t sp_page_range_count;

static struct sp_lock add_lock;

static size_t table_bytes(uint64_t size) {
    return (size_t)(size >> SP_PAGE_SHIFT) * sizeof(uintptr_t);
}

static bool add_locked(uint64_t base, uint64_t size) {
    uint32_t count = sp_load_relaxed(&sp_page_range_count);
    if (count == SP_PAGE_MAP_MAX_RANGES)
        return false;
    void *table = mmap(NULL, table_bytes(size), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (table == MAP_FAILED)
        return false;
    sp_page_ranges[count] = (struct sp_page_range){base, size, table};
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
