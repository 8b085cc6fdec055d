#include "base/page_map.h"

#include "base/lock.h"
#include "base/number.h"

#include <sys/mman.h>

struct sp_page_range sp_page_ranges[SP_PAGE_MAP_MAX_RANGES];
_Atomic uint32_t sp_page_range_count;
struct sp_page_window sp_page_windows[SP_PAGE_MAP_MAX_WINDOWS];
_Atomic uint32_t sp_page_window_count;

static struct sp_lock add_lock;

static uint64_t page_in(const struct sp_page_range *range, uint64_t address) {
    return (address - range->base) >> SP_PAGE_SHIFT;
}

// Memory that is all 0 and costs what is touched of it. Null without memory.
static char *reserve(size_t bytes) {
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

// Makes the range, with `more` bytes behind its table. Null without memory.
static char *make_range(struct sp_page_range *range, uint64_t base, uint64_t size, size_t more) {
    uint64_t pages = size >> SP_PAGE_SHIFT, words = pages / 64 + 1;
    size_t bytes = sp_page_map_table_bytes(size);
    char *table = reserve(bytes + more);
    if (!table)
        return NULL;
    *range = (struct sp_page_range){.base = base, .size = size};
    range->entries = (_Atomic uintptr_t *)(void *)table;
    range->begins = (_Atomic uint64_t *)(void *)(table + pages * sizeof(uintptr_t));
    for (unsigned level = 0; level < SP_PAGE_MAP_LEVELS; level++)
        range->counts[level] = &range->begins[words + sp_page_map_numbers(words, level)];
    range->parts = (void *)&range->begins[words + sp_page_map_numbers(words, SP_PAGE_MAP_LEVELS)];
    return table + bytes;
}

bool sp_page_map_add(uint64_t base, uint64_t size) {
    sp_lock_acquire(&add_lock);
    uint32_t count = sp_load_relaxed(&sp_page_range_count);
    bool added =
        count < SP_PAGE_MAP_MAX_RANGES && make_range(&sp_page_ranges[count], base, size, 0);
    if (added)
        sp_store_release(&sp_page_range_count, count + 1);
    sp_lock_release(&add_lock);
    return added;
}

static struct sp_page_window *window_of(uint64_t address) {
    uint32_t count = sp_load_acquire(&sp_page_window_count);
    for (uint32_t i = 0; i < count; i++) {
        if (address - sp_page_windows[i].range.base < SP_PAGE_WINDOW_SIZE)
            return &sp_page_windows[i];
    }
    return NULL;
}

struct sp_page_range *sp_page_map_range(uint64_t address) {
    uint32_t count = sp_load_acquire(&sp_page_range_count);
    for (uint32_t i = 0; i < count; i++) {
        if (address - sp_page_ranges[i].base < sp_page_ranges[i].size)
            return &sp_page_ranges[i];
    }
    struct sp_page_window *window = window_of(address);
    return window ? &window->range : NULL;
}

_Atomic uintptr_t *sp_page_map_find_in_any(uint64_t address) {
    const struct sp_page_range *range = sp_page_map_range(address);
    return range ? sp_page_map_entry(range, address) : NULL;
}

// ------------------------------------------------------------------------------------- fine words

static _Atomic(_Atomic uintptr_t *) *part_of(const struct sp_page_range *range, uint64_t address) {
    return &range->parts[(address - range->base) >> SP_PAGE_PART_SHIFT];
}

bool sp_page_map_make_fine(uint64_t address) {
    _Atomic(_Atomic uintptr_t *) *part = part_of(sp_page_map_range(address), address);
    if (sp_load_acquire(part))
        return true;
    sp_lock_acquire(&add_lock);
    if (!sp_load_relaxed(part))
        sp_store_release(part, (_Atomic uintptr_t *)(void *)reserve(SP_PAGE_PART_BYTES));
    sp_lock_release(&add_lock);
    return sp_load_relaxed(part) != NULL;
}

_Atomic uintptr_t *sp_page_map_fine(uint64_t address) {
    const struct sp_page_range *range = sp_page_map_range(address);
    uint64_t within = (address - range->base) & (((uint64_t)1 << SP_PAGE_PART_SHIFT) - 1);
    return &sp_load_acquire(part_of(range, address))[within >> SP_PAGE_FINE_SHIFT];
}

// ------------------------------------------------------------------------------------------- bits

// Sets the bit of a page, and tells the word from before. Neighbours in one word may be written at
// the same time, for other pools.
#define SET_BIT(bits, page, value)                                                                 \
    ((value) ? atomic_fetch_or_explicit(&(bits)[(page) / 64], (uint64_t)1 << (page) % 64,          \
                                        memory_order_release)                                      \
             : atomic_fetch_and_explicit(&(bits)[(page) / 64], ~((uint64_t)1 << (page) % 64),      \
                                         memory_order_release))

static bool has_bit(const _Atomic uint64_t *bits, uint64_t page) {
    return (sp_load_acquire(&bits[page / 64]) >> page % 64 & 1) != 0;
}

// ---------------------------------------------------------------------------------------- windows

static bool add_window_locked(uint64_t base) {
    uint32_t count = sp_load_relaxed(&sp_page_window_count);
    if (count == SP_PAGE_MAP_MAX_WINDOWS)
        return false;
    struct sp_page_window *window = &sp_page_windows[count];
    char *held = make_range(&window->range, base, SP_PAGE_WINDOW_SIZE, SP_PAGE_WINDOW_BYTES);
    if (!held)
        return false;
    window->held = (_Atomic uint64_t *)(void *)held;
    sp_store_release(&sp_page_window_count, count + 1);
    return true;
}

static void set_held(uint64_t address, bool held) {
    const struct sp_page_window *window = window_of(address);
    uint64_t page = page_in(&window->range, address);
    SET_BIT(window->held, page, held);
}

bool sp_page_map_holds_any(uint64_t address, uint64_t size) {
    bool held = false;
    for (uint64_t at = address; at < address + size && !held; at += SP_PAGE_SIZE) {
        const struct sp_page_window *window = window_of(at);
        held = window && has_bit(window->held, page_in(&window->range, at));
    }
    return held;
}

bool sp_page_map_hold(uint64_t address, uint64_t size) {
    uint64_t end = address + size;
    if (end > (uint64_t)SP_PAGE_MAP_MAX_WINDOWS * SP_PAGE_WINDOW_SIZE)
        return false;
    // Under the lock, so that of two threads that want one page to be held the second one is told.
    sp_lock_acquire(&add_lock);
    uint64_t base = sp_round_down(address, SP_PAGE_WINDOW_SIZE);
    bool holds = true;
    for (; holds && base < end; base += SP_PAGE_WINDOW_SIZE)
        holds = window_of(base) || add_window_locked(base);
    holds = holds && !sp_page_map_holds_any(address, size);
    for (uint64_t at = address; holds && at < end; at += SP_PAGE_SIZE)
        set_held(at, true);
    sp_lock_release(&add_lock);
    return holds;
}

void sp_page_map_drop(uint64_t address, uint64_t size) {
    for (uint64_t at = address; at < address + size; at += SP_PAGE_SIZE) {
        _Atomic uintptr_t *entry = sp_page_map_find(at);
        if (sp_load_relaxed(entry) != 0) // a table's memory that was never touched stays so
            sp_store_release(entry, 0);
        set_held(at, false);
    }
}

bool sp_page_map_has(uint64_t address) {
    const struct sp_page_range *range = sp_page_map_range(address);
    const struct sp_page_window *window = window_of(address);
    bool is_in_window = window && range == &window->range;
    return is_in_window ? has_bit(window->held, page_in(range, address)) : range != NULL;
}

// ----------------------------------------------------------------------------------------- pieces

void sp_page_map_set_begin(uint64_t address, bool begins) {
    const struct sp_page_range *range = sp_page_map_range(address);
    if (!range)
        return;
    uint64_t page = page_in(range, address);
    bool began = (SET_BIT(range->begins, page, begins) >> page % 64 & 1) != 0;
    if (began == begins)
        return;
    for (unsigned level = 0; level < SP_PAGE_MAP_LEVELS; level++)
        sp_add_relaxed(&range->counts[level][page / 64 >> SP_PAGE_MAP_LEVEL_SHIFT * (level + 1)],
                       begins ? 1 : UINT64_MAX);
}

// The bits of one word from one page on, up to and with another.
static unsigned count_in_word(const struct sp_page_range *range, uint64_t first, uint64_t last) {
    uint64_t bits = sp_load_acquire(&range->begins[first / 64]);
    bits &= UINT64_MAX << first % 64;
    bits &= UINT64_MAX >> (63 - last % 64);
    return (unsigned)__builtin_popcountll(bits);
}

static uint64_t count_in_unit(const struct sp_page_range *range, unsigned level, uint64_t unit) {
    return level > 0 ? sp_load_relaxed(&range->counts[level - 1][unit])
                     : count_in_word(range, unit * 64, unit * 64 + 63);
}

// The bits of the words [first, until). A unit of a level is several units of the one below.
static uint64_t count_in_words(const struct sp_page_range *range, uint64_t first, uint64_t until) {
    const uint64_t each = 1 << SP_PAGE_MAP_LEVEL_SHIFT;
    uint64_t count = 0;
    for (unsigned level = 0; first < until; level++, first /= each, until /= each) {
        while (first < until && (first % each != 0 || level == SP_PAGE_MAP_LEVELS))
            count += count_in_unit(range, level, first++);
        while (first < until && until % each != 0)
            count += count_in_unit(range, level, --until);
    }
    return count;
}

// The piece at the address is the first one, wherever it begins. Memory that reaches beyond its
// window has no other.
size_t sp_page_map_count_pieces(uint64_t address, uint64_t size) {
    const struct sp_page_range *range = sp_page_map_range(address);
    if (!range)
        return 0;
    uint64_t left = range->base + range->size - address;
    uint64_t page = page_in(range, address) + 1;
    uint64_t last = page_in(range, address + (size < left ? size : left) - 1);
    if (page > last)
        return 1;
    if (page / 64 == last / 64)
        return 1 + count_in_word(range, page, last);
    return 1 + count_in_word(range, page, page | 63) +
           count_in_words(range, page / 64 + 1, last / 64) +
           count_in_word(range, last / 64 * 64, last);
}
