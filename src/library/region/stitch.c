#include "region/stitch.h"

#include "base/number.h"
#include "region/settle.h"

#include <stdlib.h>

// The part of a range that lies in a run, as a range at home.
struct part {
    uint64_t home;
    uint64_t size;
};

static struct part part_of(const struct sp_run *run, uint64_t begin, uint64_t end) {
    uint64_t from = sp_max(begin, run->address);
    uint64_t to = sp_min(end, run->address + run->size);
    return (struct part){run->home + (from - run->address), sp_excess(to, from)};
}

// The index of the run that an address lies in.
static size_t run_at(const struct sp_stitch *stitch, uint64_t address) {
    size_t i = 0;
    while (address - stitch->runs[i].address >= stitch->runs[i].size)
        i++;
    return i;
}

// Joins the free neighbours behind a BUSY block to it until it reaches `end`.
static bool join_until(struct sp_block *block, uint64_t end) {
    while (sp_block_end(block) < end) {
        struct sp_block *next = block->next;
        struct sp_tier *tier = next->tier;
        sp_tier_remove(next);
        if (!sp_block_absorb_next(block)) {
            sp_tier_insert(tier, next);
            return false;
        }
    }
    return true;
}

// The memory before the part and behind it is free still.
struct sp_block *sp_stitch_take_home(const struct sp_request *request, struct sp_chain *chain,
                                     uint64_t home, uint64_t size) {
    struct sp_pool *pool = request->pool;
    struct sp_block *block = sp_chain_find(chain, home);
    const struct sp_block *each = block;
    while (each && each->address < home + size && sp_request_usable(request, each))
        each = each->next;
    if (each && each->address < home + size)
        return NULL;
    sp_tier_remove(block);
    if (!join_until(block, home + size)) {
        sp_settle_insert(pool, block);
        return NULL;
    }
    struct sp_block *part =
        block->address < home ? sp_block_split(block, home - block->address) : block;
    if (part && part != block)
        sp_settle_insert(pool, block);
    struct sp_block *rest = part && part->size > size ? sp_block_split(part, size) : NULL;
    if (rest)
        sp_settle_insert(pool, rest);
    if (part && part->size == size)
        return part;
    sp_settle_insert(pool, part ? part : block);
    return NULL;
}

// ------------------------------------------------------------------------------ stitched blocks

// A block that is no longer used becomes one with the vacant space around it, which has no fences.
static void vacate(struct sp_block *block) {
    sp_fence_set_clear(&block->fences);
    sp_block_set_state(block, SP_BLOCK_VACANT);
    if (block->next && sp_block_state(block->next) == SP_BLOCK_VACANT)
        sp_block_absorb_next(block);
    if (block->prev && sp_block_state(block->prev) == SP_BLOCK_VACANT)
        sp_block_absorb_next(block->prev);
}

// The block gets the fences of all its pieces, and room for one more. Giving back mustn't fail, so
// each piece has room for what the block can carry then: what it carries now, or the fence of the
// one stream in whose quick list it was, and in either case one free more.
struct sp_block *sp_stitch_begin(struct sp_stitch *stitch, uint64_t address, uint64_t size,
                                 struct sp_block *const *pieces) {
    size_t count = run_at(stitch, address + size - 1) - run_at(stitch, address) + 1;
    struct sp_block *vacant = sp_chain_find(&stitch->segment.chain, address);
    struct sp_block *block =
        vacant->address < address ? sp_block_split(vacant, address - vacant->address) : vacant;
    bool ready = block && (block->size <= size || sp_block_split(block, size));
    for (size_t i = 0; ready && i < count; i++)
        ready = sp_fence_set_join(&block->fences, &pieces[i]->fences);
    ready = ready && sp_fence_set_reserve(&block->fences, 1);
    for (size_t i = 0; ready && i < count; i++)
        ready = sp_fence_set_reserve(&pieces[i]->fences, block->fences.count + 2);
    if (!ready) {
        vacate(sp_chain_find(&stitch->segment.chain, address));
        return NULL;
    }
    for (size_t i = 0; i < count; i++) {
        pieces[i]->part_of = block;
        sp_block_set_state(pieces[i], SP_BLOCK_STITCHED);
    }
    sp_block_set_live(block);
    stitch->blocks++;
    return block;
}

bool sp_stitch_reserve(struct sp_block *block, uint32_t extra) {
    struct sp_stitch *stitch = sp_stitch_view_of(block);
    uint64_t end = sp_block_end(block);
    for (size_t i = run_at(stitch, block->address);
         i < stitch->count && stitch->runs[i].address < end; i++) {
        struct part part = part_of(&stitch->runs[i], block->address, end);
        struct sp_block *piece = sp_chain_find(stitch->runs[i].chain, part.home);
        if (!sp_fence_set_reserve(&piece->fences, block->fences.count + extra))
            return false;
    }
    return true;
}

uint64_t sp_stitch_end(struct sp_pool *pool, struct sp_block *block) {
    struct sp_stitch *stitch = sp_stitch_view_of(block);
    uint64_t size = block->size;
    uint64_t end = sp_block_end(block);
    for (size_t i = run_at(stitch, block->address);
         i < stitch->count && stitch->runs[i].address < end; i++) {
        struct part part = part_of(&stitch->runs[i], block->address, end);
        struct sp_block *piece = sp_chain_find(stitch->runs[i].chain, part.home);
        sp_fence_set_join(&piece->fences, &block->fences); // there is room: see sp_stitch_begin
        piece->is_foreign = block->is_foreign;
        sp_settle_insert(pool, piece);
    }
    sp_fence_set_prune(&stitch->used, sp_pool_measure(pool));
    if (!sp_fence_set_join(&stitch->used, &block->fences))
        stitch->used_more = true;
    stitch->blocks--;
    vacate(block);
    return size;
}

// -------------------------------------------------------------------------------------- kept views

// The begin of the first bytes of a vacant block, as many as are requested, under which all memory
// is usable; 0 when there are none.
static uint64_t find_in_vacant(const struct sp_request *request, const struct sp_stitch *stitch,
                               const struct sp_block *vacant) {
    uint64_t begin = vacant->address;
    uint64_t end = sp_block_end(vacant);
    for (size_t i = run_at(stitch, begin); i < stitch->count && stitch->runs[i].address < end;
         i++) {
        const struct sp_run *run = &stitch->runs[i];
        struct part part = part_of(run, vacant->address, end);
        const struct sp_block *home = run->valid ? sp_chain_find(run->chain, part.home) : NULL;
        if (!home)
            begin = run->address + run->size;
        for (; home && home->address < part.home + part.size; home = home->next) {
            uint64_t home_end = sp_min(sp_block_end(home), part.home + part.size);
            uint64_t reached = run->address + (home_end - run->home);
            if (!sp_request_usable(request, home))
                begin = reached;
            else if (reached > begin && reached - begin >= request->size)
                return begin;
        }
    }
    return 0;
}

// Takes the home memory under a range, run by run, and the block that borrows it. Null, and nothing
// changed, where that can't be had.
static struct sp_block *take_from(const struct sp_request *request, struct sp_stitch *stitch,
                                  uint64_t address) {
    struct sp_block **pieces = malloc(stitch->count * sizeof *pieces);
    uint64_t end = address + request->size;
    size_t taken = 0;
    bool all = pieces != NULL;
    for (size_t i = run_at(stitch, address);
         all && i < stitch->count && stitch->runs[i].address < end; i++) {
        struct part part = part_of(&stitch->runs[i], address, end);
        pieces[taken] = sp_stitch_take_home(request, stitch->runs[i].chain, part.home, part.size);
        all = pieces[taken] != NULL;
        taken += all;
    }
    struct sp_block *block = all ? sp_stitch_begin(stitch, address, request->size, pieces) : NULL;
    for (size_t i = 0; i < taken && !block; i++)
        sp_settle_insert(request->pool, pieces[i]);
    free(pieces);
    return block;
}

struct sp_block *sp_stitch_take_kept(const struct sp_request *request) {
    struct sp_pool *pool = request->pool;
    SP_LIST_FOR_EACH_OF(struct sp_stitch, stitch, by_use, &pool->kept.views) {
        const struct sp_chain *chain = &stitch->segment.chain;
        const struct sp_block *each = chain->size >= request->size ? chain->first : NULL;
        uint64_t address = 0;
        for (; each && !address; each = each->next) {
            if (sp_block_state(each) == SP_BLOCK_VACANT && each->size >= request->size)
                address = find_in_vacant(request, stitch, each);
        }
        struct sp_block *block = address ? take_from(request, stitch, address) : NULL;
        if (!block)
            continue; // what was found can't be had where an extent is in the view twice
        sp_list_remove(&stitch->by_use);
        sp_list_push_front(&pool->kept.views, &stitch->by_use);
        return block;
    }
    return NULL;
}

void sp_stitch_keep(struct sp_pool *pool, struct sp_stitch *stitch) {
    stitch->kept = true;
    stitch->valid_count = stitch->count;
    sp_list_push_front(&pool->kept.views, &stitch->by_use);
    pool->kept.view_count++;
    pool->kept.mapping_count += stitch->count;
}

void sp_stitch_add_zombie(struct sp_pool *pool, struct sp_stitch *stitch) {
    sp_list_push_back(&pool->kept.zombies, &stitch->by_use);
    sp_add_relaxed(&pool->kept.zombie_count, 1);
}

static void make_zombie(struct sp_pool *pool, struct sp_stitch *stitch) {
    stitch->kept = false;
    sp_list_remove(&stitch->by_use);
    sp_stitch_add_zombie(pool, stitch);
    pool->kept.view_count--;
    pool->kept.mapping_count -= stitch->valid_count;
}

// A view without a valid run holds no block, and will never serve one again.
void sp_stitch_invalidate(struct sp_extent *extent) {
    SP_LIST_FOR_EACH_OF(const struct sp_alias_entry, entry, link, &extent->aliases) {
        struct sp_stitch *stitch = entry->alias->owner;
        struct sp_run *run = &stitch->runs[entry - entry->alias->entries];
        stitch->valid_count -= run->valid;
        if (stitch->kept)
            stitch->segment.pool->kept.mapping_count -= run->valid;
        run->valid = false;
        if (stitch->kept && stitch->valid_count == 0)
            make_zombie(stitch->segment.pool, stitch);
    }
}

void sp_stitch_limit_kept(struct sp_pool *pool, uint32_t views, size_t mappings) {
    struct sp_list *link = pool->kept.views.prev;
    while (link != &pool->kept.views &&
           (pool->kept.view_count > views || pool->kept.mapping_count > mappings)) {
        struct sp_stitch *stitch = SP_CONTAINER_OF(link, struct sp_stitch, by_use);
        link = link->prev;
        if (stitch->blocks == 0)
            make_zombie(pool, stitch);
    }
}
