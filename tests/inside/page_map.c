#include "inside/page_map.h"

#include <sys/mman.h>

#include "base/page_map.h"

static void clear_range(struct sp_page_range *range, size_t more) {
    for (uint64_t i = 0; i < sp_page_map_parts(range->size); i++) {
        if (range->parts[i])
            munmap((void *)range->parts[i], SP_PAGE_PART_BYTES);
    }
    munmap((void *)range->entries, sp_page_map_table_bytes(range->size) + more);
    *range = (struct sp_page_range){.size = 0};
}

void inside_page_map_clear(void) {
    uint32_t count = atomic_exchange(&sp_page_range_count, 0);
    for (uint32_t i = 0; i < count; i++)
        clear_range(&sp_page_ranges[i], 0);
    count = atomic_exchange(&sp_page_window_count, 0);
    for (uint32_t i = 0; i < count; i++) {
        clear_range(&sp_page_windows[i].range, SP_PAGE_WINDOW_BYTES);
        sp_page_windows[i] = (struct sp_page_window){.held = NULL};
    }
}
