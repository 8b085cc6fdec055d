// The end of the page map.
#ifndef STREAMPOOL_TESTS_INSIDE_PAGE_MAP_H
#define STREAMPOOL_TESTS_INSIDE_PAGE_MAP_H

// Forgets all ranges and gives their tables back. No other thread is about.
void inside_page_map_clear(void);

#endif
