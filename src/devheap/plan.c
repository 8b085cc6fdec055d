#include "devheap/plan.h"

#include <string.h>

// Bytes before the first block are a multiple of the alignment that the pool gives.
enum { ALIGNMENT = 512 };

static uint64_t slab_bytes(const struct sp_heap_plan *plan) {
    return (uint64_t)1 << plan->shift;
}

// 16, 32, 48, 64, 96, ...
static uint32_t class_bytes(uint32_t cls) {
    if (cls == 0)
        return 16;
    return (cls % 2 != 0 ? UINT32_C(16) : UINT32_C(24)) << (cls + 1) / 2;
}

static uint32_t power_of_two(uint32_t least) {
    uint32_t power = 1;
    while (power < least)
        power *= 2;
    return power;
}

static uint32_t words_of(uint32_t bits, uint32_t word_bits) {
    return (bits + word_bits - 1) / word_bits;
}

static struct ph_class make_class(const struct sp_heap_plan *plan, uint32_t cls) {
    struct ph_class made = {.size = class_bytes(cls)};
    made.blocks = (uint32_t)(slab_bytes(plan) / made.size);
    if (made.blocks > POOL_HEAP_BITS_INLINE) {
        uint32_t bits_bytes = words_of(made.blocks, 32) * 4;
        made.begin = words_of(bits_bytes, ALIGNMENT) * ALIGNMENT;
        made.blocks = (uint32_t)((slab_bytes(plan) - made.begin) / made.size);
    }
    // A slab has room while an eighth of it is free.
    made.room = made.blocks - made.blocks / 8;
    if (made.room == made.blocks)
        made.room--;
    made.probes = power_of_two(words_of(made.blocks, 32));
    return made;
}

// The parts of the book, one after the other.
struct parts {
    uint64_t slabs, currents, places, joined, sets, end;
};

// Words of one set, below its uppermost one.
static uint64_t set_words(const struct sp_heap_plan *plan) {
    uint32_t leaves = words_of(plan->slabs, 64);
    return leaves + words_of(leaves, 64);
}

static struct parts lay_out(const struct sp_heap_plan *plan) {
    struct parts parts;
    parts.slabs = (sizeof(struct ph_book) + 127) / 128 * 128;
    parts.currents = parts.slabs + (uint64_t)plan->slabs * sizeof(struct ph_slab);
    parts.places =
        parts.currents + (uint64_t)plan->classes * plan->groups * sizeof(struct ph_current);
    parts.joined = parts.places + (uint64_t)plan->places * sizeof(uint64_t);
    parts.sets = parts.joined + (uint64_t)words_of(plan->slabs, 64) * sizeof(uint64_t);
    parts.end = parts.sets + (1 + 2 * (uint64_t)plan->classes) * set_words(plan) * sizeof(uint64_t);
    return parts;
}

struct sp_heap_plan sp_heap_plan_make(uint64_t bytes_max) {
    struct sp_heap_plan plan = {.shift = POOL_HEAP_SHIFT_MIN};
    while (plan.shift < POOL_HEAP_SHIFT_MAX &&
           bytes_max >> plan.shift > (uint64_t)SP_HEAP_SLABS_AIM)
        plan.shift++;
    plan.slabs = (uint32_t)((bytes_max + slab_bytes(&plan) - 1) >> plan.shift);
    while (plan.classes < POOL_HEAP_CLASSES && class_bytes(plan.classes) <= slab_bytes(&plan) / 2)
        plan.classes++;
    plan.groups = ph_groups(plan.slabs, POOL_HEAP_GROUPS_MAX);
    plan.places = power_of_two(4 * plan.slabs);
    plan.book_bytes = lay_out(&plan).end;
    return plan;
}

// The next set's words, from the address *at on.
static struct ph_set make_set(const struct sp_heap_plan *plan, uint64_t *at) {
    struct ph_set set = {.leaves = (uint64_t *)(uintptr_t)*at};
    set.middle = set.leaves + words_of(plan->slabs, 64);
    *at += set_words(plan) * sizeof(uint64_t);
    return set;
}

void sp_heap_plan_write(const struct sp_heap_plan *plan, uint64_t at, void *image) {
    struct parts parts = lay_out(plan);
    struct ph_book *book = image;
    memset(image, 0, plan->book_bytes);
    book->slabs = plan->slabs;
    book->shift = plan->shift;
    book->classes = plan->classes;
    book->groups = plan->groups;
    book->places = plan->places;
    book->spread = 1;
    book->slab = (struct ph_slab *)(uintptr_t)(at + parts.slabs);
    book->current = (struct ph_current *)(uintptr_t)(at + parts.currents);
    book->place = (uint64_t *)(uintptr_t)(at + parts.places);
    book->joined = (uint64_t *)(uintptr_t)(at + parts.joined);
    uint64_t sets = at + parts.sets;
    book->free = make_set(plan, &sets);
    for (uint32_t cls = 0; cls < plan->classes; cls++) {
        book->cls[cls] = make_class(plan, cls);
        book->any[cls] = make_set(plan, &sets);
        book->room[cls] = make_set(plan, &sets);
    }
    struct ph_current *current = (struct ph_current *)((char *)image + parts.currents);
    for (uint32_t i = 0; i < plan->classes * plan->groups; i++)
        current[i].slab = POOL_HEAP_NONE;
}
