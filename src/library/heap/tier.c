#include "heap/tier.h"

#include "base/cold.h"
#include "base/list.h"
#include "heap/search.h"

static struct sp_block *block_of(const struct sp_tree_node *node) {
    return node ? SP_CONTAINER_OF(node, struct sp_block, by_size) : NULL;
}

// The rank is looked up among equal sizes alone: it stands in another line.
static int compare_blocks(const struct sp_tree_node *a, const struct sp_tree_node *b) {
    uint64_t size = block_of(a)->size;
    if (size != block_of(b)->size)
        return size < block_of(b)->size ? -1 : 1;
    return sp_compare(sp_chain_rank(block_of(a)), sp_chain_rank(block_of(b)));
}

struct place {
    uint64_t size, rank;
};

static int compare_key(const void *key, const struct sp_tree_node *node) {
    const struct place *place = key;
    if (place->size != block_of(node)->size)
        return place->size < block_of(node)->size ? -1 : 1;
    return sp_compare(place->rank, sp_chain_rank(block_of(node)));
}

// -------------------------------------------------------------------------------------------- bins

static unsigned bin_of(uint64_t size) {
    unsigned bin = sp_block_bin(size);
    return bin < SP_TIER_BINS ? bin : SP_TIER_BINS - 1;
}

static struct sp_tree tree_at(const struct sp_tier *tier, unsigned bin) {
    return (struct sp_tree){tier->bins[bin], compare_blocks};
}

// Returns the first block of the first used bin from `bin` on, or null.
static struct sp_block *first_from(const struct sp_tier *tier, unsigned bin) {
    for (; bin < SP_TIER_BINS; bin = (bin / 64 + 1) * 64) {
        uint64_t used = tier->used[bin / 64] >> bin % 64;
        if (!used)
            continue;
        struct sp_tree_node *node = tier->bins[bin + sp_lowest_bit(used)];
        while (node->child[0])
            node = node->child[0];
        return block_of(node);
    }
    return NULL;
}

void sp_tier_init(struct sp_tier *tier, enum sp_block_state state) {
    *tier = (struct sp_tier){.state = state};
}

// Adds a block that is not alone in its bin. It stands apart so that the common case saves no
// registers for it.
SP_APART static void add_beside_others(struct sp_tier *tier, unsigned bin, struct sp_block *block) {
    struct sp_tree tree = tree_at(tier, bin);
    sp_tree_insert(&tree, &block->by_size);
    tier->bins[bin] = tree.root;
}

SP_APART static void remove_from_others(struct sp_tier *tier, unsigned bin,
                                        struct sp_block *block) {
    struct sp_tree tree = tree_at(tier, bin);
    sp_tree_remove(&tree, &block->by_size);
    tier->bins[bin] = tree.root;
}

static void enter(struct sp_tier *tier, struct sp_block *block, unsigned bin) {
    block->bin = (uint8_t)bin;
    if (tier->bins[bin]) {
        add_beside_others(tier, bin, block);
        return;
    }
    tier->bins[bin] = sp_tree_alone(&block->by_size);
    tier->used[bin / 64] |= UINT64_C(1) << bin % 64;
}

static void leave(struct sp_tier *tier, struct sp_block *block) {
    unsigned bin = block->bin;
    if (!sp_tree_is_alone(tier->bins[bin], &block->by_size)) {
        remove_from_others(tier, bin, block);
        return;
    }
    tier->bins[bin] = NULL;
    tier->used[bin / 64] &= ~(UINT64_C(1) << bin % 64);
}

static void add(struct sp_tier *tier, struct sp_block *block) {
    block->tier = tier;
    sp_block_set_state(block, tier->state);
    tier->bytes += block->size;
    if (tier->calendar)
        sp_calendar_add(tier->calendar, block);
    enter(tier, block, bin_of(block->size));
}

void sp_tier_remove(struct sp_block *block) {
    struct sp_tier *tier = block->tier;
    block->tier = NULL;
    sp_block_set_state(block, SP_BLOCK_BUSY);
    tier->bytes -= block->size;
    if (tier->calendar)
        sp_list_remove(&block->fences.link);
    leave(tier, block);
}

// A block that would be alone in the same bin with another size stays where it is when its size
// changes.
static bool stays_in(const struct sp_tier *tier, const struct sp_block *block, unsigned bin) {
    return bin == block->bin && sp_tree_is_alone(tier->bins[bin], &block->by_size);
}

// Two neighbours, in the order of their addresses. Frees of one stream under one number complete
// together.
static inline bool may_merge(const struct sp_block *block, const struct sp_block *next) {
    const struct sp_fence_set *a = &block->fences, *b = &next->fences;
    if (SP_LIKELY(!block->is_foreign || !next->is_foreign) ||
        block->size + next->size <= SP_FOREIGN_MOST)
        return true;
    return a->count == b->count && a->count <= 1 &&
           (a->count == 0 || (sp_fence_set_at(a, 0)->slot == sp_fence_set_at(b, 0)->slot &&
                              sp_fence_set_at(a, 0)->sequence == sp_fence_set_at(b, 0)->sequence));
}

// Merges a block of the tier with its next neighbour, which is in no index. False without host
// memory for the fences.
static bool extend(struct sp_tier *tier, struct sp_block *block) {
    uint64_t more = block->next->size;
    if (stays_in(tier, block, bin_of(block->size + more))) {
        bool absorbed = sp_block_absorb_next(block);
        tier->bytes += absorbed ? more : 0;
        return absorbed;
    }
    sp_tier_remove(block);
    bool absorbed = sp_block_absorb_next(block);
    add(tier, block);
    return absorbed;
}

struct sp_block *sp_tier_insert(struct sp_tier *tier, struct sp_block *block) {
    struct sp_block *prev = block->prev, *next = block->next;
    if (next && next->tier == tier && !tier->apart && may_merge(block, next)) {
        sp_tier_remove(next);
        if (!sp_block_absorb_next(block))
            add(tier, next);
    }
    if (prev && prev->tier == tier && !tier->apart && may_merge(prev, block) && extend(tier, prev))
        block = prev;
    else
        add(tier, block);
    sp_rows_note(block);
    sp_lowest_note(block);
    return block;
}

// The rest keeps its descriptor, and so its place in the calendar; and its place in the bin, if it
// is alone there before and after.
struct sp_block *sp_tier_take(struct sp_block *block, uint64_t size) {
    struct sp_tier *tier = block->tier;
    if (block->size == size) {
        sp_tier_remove(block);
        return block;
    }
    unsigned bin = bin_of(block->size - size), before = block->bin;
    bool stays = stays_in(tier, block, bin);
    if (!stays)
        leave(tier, block);
    struct sp_block *taken = sp_block_cut_front(block, size);
    tier->bytes -= taken ? size : 0;
    if (!stays)
        enter(tier, block, taken ? bin : before);
    sp_lowest_note(block);
    return taken;
}

// --------------------------------------------------------------------------------------- the order

struct sp_block *sp_tier_best_fit(const struct sp_tier *tier, uint64_t size) {
    return tier->bytes >= size ? sp_tier_from(tier, size, 0) : NULL;
}

struct sp_block *sp_tier_first(const struct sp_tier *tier) {
    return first_from(tier, 0);
}

struct sp_block *sp_tier_last(const struct sp_tier *tier) {
    for (unsigned bin = SP_TIER_BINS; bin-- > 0;) {
        struct sp_tree tree = tree_at(tier, bin);
        if (tree.root)
            return block_of(sp_tree_last(&tree));
    }
    return NULL;
}

struct sp_block *sp_tier_next(const struct sp_block *block) {
    struct sp_tree_node *next = sp_tree_next(&block->by_size);
    return next ? block_of(next) : first_from(block->tier, block->bin + 1u);
}

struct sp_block *sp_tier_from(const struct sp_tier *tier, uint64_t size, uint64_t rank) {
    unsigned bin = bin_of(size);
    struct sp_tree tree = tree_at(tier, bin);
    struct place place = {size, rank};
    struct sp_tree_node *found = sp_tree_lower_bound(&tree, &place, compare_key);
    return found ? block_of(found) : first_from(tier, bin + 1);
}

// --------------------------------------------------------------------------------------- calendars

// Returns how many buckets on a number stands: the highest bit in which it differs from `now`.
static unsigned buckets_between(uint64_t number, uint64_t now) {
    unsigned buckets = number == now ? 0 : sp_log2_floor(number ^ now) + 1;
    return (unsigned)sp_min(buckets, SP_CALENDAR_BUCKETS - 1);
}

void sp_calendar_init(struct sp_calendar *calendar) {
    calendar->now = 0;
    for (unsigned bucket = 0; bucket < SP_CALENDAR_BUCKETS; bucket++)
        sp_list_init(&calendar->buckets[bucket]);
}

void sp_calendar_add(struct sp_calendar *calendar, struct sp_block *block) {
    uint64_t number = sp_calendar_number(block);
    unsigned bucket =
        number <= calendar->now ? SP_BUCKET_OVER : buckets_between(number, calendar->now);
    sp_list_push_back(&calendar->buckets[bucket], &block->fences.link);
}

// The numbers in the buckets behind `last` are larger than both, and differ from the new one in the
// same highest bit as from the old one. So their blocks stay.
void sp_calendar_advance(struct sp_calendar *calendar, uint64_t now) {
    unsigned last =
        now > calendar->now ? buckets_between(now, calendar->now) : SP_CALENDAR_BUCKETS - 1;
    if (now == calendar->now)
        return;
    calendar->now = now;
    for (unsigned bucket = 1; bucket <= last; bucket++)
        sp_list_append_all(&calendar->buckets[SP_BUCKET_OVER], &calendar->buckets[bucket]);
}

struct sp_block *sp_calendar_next_over(struct sp_calendar *calendar, unsigned *looks) {
    struct sp_list *link;
    while (*looks > 0 && (link = sp_list_first(&calendar->buckets[SP_BUCKET_OVER]))) {
        struct sp_block *block = SP_CONTAINER_OF(link, struct sp_block, fences.link);
        (*looks)--;
        if (sp_calendar_number(block) <= calendar->now)
            return block;
        sp_list_remove(link);
        sp_calendar_add(calendar, block);
    }
    return NULL;
}

// The numbers in a bucket are larger than `now`, and its bit is the highest in which they differ.
uint64_t sp_calendar_earliest(const struct sp_calendar *calendar) {
    unsigned bucket = SP_BUCKET_OVER;
    while (bucket < SP_CALENDAR_BUCKETS && sp_list_empty(&calendar->buckets[bucket]))
        bucket++;
    if (bucket == SP_BUCKET_OVER)
        return 0;
    return bucket < SP_CALENDAR_BUCKETS ? (calendar->now >> (bucket - 1) | 1) << (bucket - 1)
                                        : UINT64_MAX;
}
