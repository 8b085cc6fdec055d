// The page map finds the object that owns an address: one table of pages for each reserved address
// range, indexed by a shift.
//
// A page is 64 KiB. Its entry is one word that the caller chooses: region/owner.h stores a tagged
// pointer to a slab or to a block, and 0 means that no address in the page has an owner. Tables are
// reserved without memory, so that one entry for each 64 KiB of a range of terabytes costs only the
// pages of the table that are touched.
//
// Where several objects begin in one page it has *fine* words, one for each 512 bytes. They come in
// parts of a GiB of addresses, which are reserved when the first of them is wanted, and stay.
//
// Beside the words there is a bit for each page: whether a piece of physical memory begins there.
// The bits that are set are counted: those of 16 words in a number, and those of 16 numbers in one
// of the next level. So any thread can count the pieces behind a span of addresses, however long it
// is. Who maps and unmaps them writes it.
//
// vmm/ adds a range when it reserves address space, all of which is the pools'. Memory whose
// address the driver chose (vmm/view.h) lies among other memory: it is *held*, page by page, in
// *windows*, ranges of a fixed size that are added where there is none. A window may overlap
// ranges, and has no say there.
//
// A range lives until the process ends; only tests remove it. Adding takes a lock and looking up
// takes none: a lookup sees a range or doesn't. The owner of the addresses writes their entries
// under its lock, and any thread reads them.
#ifndef STREAMPOOL_BASE_PAGE_MAP_H
#define STREAMPOOL_BASE_PAGE_MAP_H

#include "base/atomic.h"
#include "base/cold.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SP_PAGE_SHIFT 16
#define SP_PAGE_SIZE  ((size_t)1 << SP_PAGE_SHIFT)

// A fine word is for so many bytes, and a part of them for so many.
#define SP_PAGE_FINE_SHIFT 9
#define SP_PAGE_PART_SHIFT 30
#define SP_PAGE_PART_BYTES (sizeof(uintptr_t) << (SP_PAGE_PART_SHIFT - SP_PAGE_FINE_SHIFT))

// The size of a window, and the unit of its base. As many as there may be cover 48 bits.
#define SP_PAGE_WINDOW_SIZE ((uint64_t)1 << 40)

enum { SP_PAGE_MAP_MAX_RANGES = 256, SP_PAGE_MAP_MAX_WINDOWS = 256, SP_PAGE_MAP_LEVELS = 4 };

// How many numbers, or words, are counted in one of the next level, as a power of two.
enum { SP_PAGE_MAP_LEVEL_SHIFT = 4 };

struct sp_page_range {
    uint64_t base; // a multiple of the page size
    uint64_t size;
    _Atomic uintptr_t *entries; // size >> SP_PAGE_SHIFT of them
    _Atomic uint64_t *begins;   // a bit for each entry
    _Atomic uint64_t *counts[SP_PAGE_MAP_LEVELS];
    _Atomic(_Atomic uintptr_t *) *parts; // of fine words: null where none was wanted yet
};

struct sp_page_window {
    struct sp_page_range range;
    _Atomic uint64_t *held; // a bit for each entry
};

extern struct sp_page_range sp_page_ranges[SP_PAGE_MAP_MAX_RANGES];
extern _Atomic uint32_t sp_page_range_count;
extern struct sp_page_window sp_page_windows[SP_PAGE_MAP_MAX_WINDOWS];
extern _Atomic uint32_t sp_page_window_count;

// False when the table can't be had or there are too many ranges; then nothing has changed.
bool sp_page_map_add(uint64_t base, uint64_t size);

// Has the pages of `size` bytes from an address on held, with no owner. Both are multiples of the
// page size. False when a table can't be had, the address has more than 48 bits, or one of the
// pages is held already; then nothing has changed but that there may be a window more.
bool sp_page_map_hold(uint64_t address, uint64_t size);

// Tells whether one of the pages of `size` bytes from an address on is held.
bool sp_page_map_holds_any(uint64_t address, uint64_t size);

// Has the pages held no more, and nobody own them: before the driver can give them to somebody.
void sp_page_map_drop(uint64_t address, uint64_t size);

// Tells whether an address is the pools': in a range, or held.
bool sp_page_map_has(uint64_t address);

// Has the fine words of an address of a range, and those about it, come to be. False without host
// memory. The other returns the fine word, which has come to be.
bool sp_page_map_make_fine(uint64_t address);
_Atomic uintptr_t *sp_page_map_fine(uint64_t address);

// Tells whether a piece of physical memory begins at an address, which is the begin of a page.
void sp_page_map_set_begin(uint64_t address, bool begins);

// Counts the pieces behind `size` bytes from an address on, more than 0, all of which have memory.
size_t sp_page_map_count_pieces(uint64_t address, uint64_t size);

// How many numbers there are in so many levels, over so many words.
static inline uint64_t sp_page_map_numbers(uint64_t words, unsigned levels) {
    uint64_t numbers = 0;
    for (unsigned level = 1; level <= levels; level++)
        numbers += (words >> SP_PAGE_MAP_LEVEL_SHIFT * level) + 1;
    return numbers;
}

// How many parts of fine words a range has.
static inline uint64_t sp_page_map_parts(uint64_t size) {
    return (size >> SP_PAGE_PART_SHIFT) + 1;
}

// The bytes of a range's table of words, with the bits, numbers and parts behind it, and of a
// window's other bits.
#define SP_PAGE_WINDOW_BYTES ((size_t)(SP_PAGE_WINDOW_SIZE / SP_PAGE_SIZE / 8))
static inline size_t sp_page_map_table_bytes(uint64_t size) {
    uint64_t pages = size >> SP_PAGE_SHIFT, words = pages / 64 + 1;
    return (size_t)(pages * sizeof(uintptr_t) + words * sizeof(uint64_t) +
                    sp_page_map_numbers(words, SP_PAGE_MAP_LEVELS) * sizeof(uint64_t) +
                    sp_page_map_parts(size) * sizeof(uintptr_t));
}

// The range of an address, or the window; or null.
struct sp_page_range *sp_page_map_range(uint64_t address);

// The entry for an address of a range.
static inline _Atomic uintptr_t *sp_page_map_entry(const struct sp_page_range *range,
                                                   uint64_t address) {
    return &range->entries[(address - range->base) >> SP_PAGE_SHIFT];
}

// The slow path of sp_page_map_find(), which alone calls it.
_Atomic uintptr_t *sp_page_map_find_in_any(uint64_t address);

// The entry for an address, or null when it lies in no range. Most programs have one range.
static inline _Atomic uintptr_t *sp_page_map_find(uint64_t address) {
    uint32_t count = sp_load_acquire(&sp_page_range_count);
    uint64_t offset = address - sp_page_ranges[0].base;
    if (SP_LIKELY(count > 0 && offset < sp_page_ranges[0].size))
        return &sp_page_ranges[0].entries[offset >> SP_PAGE_SHIFT];
    return sp_page_map_find_in_any(address);
}

#endif
