#include "region/place.h"

#include "heap/lowest.h"
#include "region/device.h"

// So many blocks are looked at before the best fit is taken instead.
enum { LOOKS = 128 };

// The others of the pool were told before.
void sp_place_note_lane(struct sp_pool *pool) {
    uint32_t count = sp_load_relaxed(&pool->lanes.count);
    if (count < 2 || !sp_vmm_provider(&pool->device->vmm)->joins)
        return;
    struct sp_list *link = pool->lanes.list.prev;
    for (uint32_t told = count > 2 ? 1 : 2; told > 0; told--, link = link->prev)
        sp_store_relaxed(&SP_CONTAINER_OF(link, struct sp_lane, link)->by_address, true);
}

static bool is_at_hand(void *context, const struct sp_block *block) {
    const struct sp_lane *lane = context;
    return block->tier == &lane->pool->regions[SP_REGION_LARGE].ready ||
           block->tier == &lane->tiers[SP_REGION_LARGE] ||
           block->tier == &lane->unfenced[SP_REGION_LARGE];
}

struct sp_block *sp_place_take(struct sp_lane *lane, uint64_t size) {
    struct sp_lowest_search search = {
        .size = size, .takes = is_at_hand, .context = lane, .looks = LOOKS};
    struct sp_block *lowest = NULL;
    SP_LIST_FOR_EACH(link, &lane->pool->regions[SP_REGION_LARGE].segments) {
        struct sp_segment *segment = SP_CONTAINER_OF(link, struct sp_segment, link);
        if (!lowest)
            lowest = sp_lowest_find(&segment->chain, &search);
    }
    return lowest ? sp_tier_take(lowest, size) : NULL;
}
