#include "inside/page_map.h"

#include <sys/mman.h>

#include "base/page_map.h"

void inside_page_map_clear(void) {
    uint32_t count = atomic_exchange(&sp_page_range_count, 0);
    for (uint32_t i = 0; i < count; i++) {
        const struct sp_page_range *range = &sp_page_ranges[i];
        munmap((void *)range->entries, sp_page_map_table_bytes(range->size));
        sp_page_ranges[i] = (struct sp_page_range){.size = 0};
    }
    count = atomic_exchange(&sp_page_window_count, 0);
    for (uint32_t i = 0; i < count; i++) {
        munmap((void *)sp_page_windows[i].range.entries,
               sp_page_map_table_bytes(SP_PAGE_WINDOW_SIZE) + SP_PAGE_WINDOW_BYTES);
        sp_page_windows[i] = (struct sp_page_window){.held = NULL};
    }
}
