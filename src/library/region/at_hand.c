#include "region/at_hand.h"

#include "order/registry.h"
#include "region/figures.h"
#include "region/held.h"
#include "region/lane.h"
#include "region/request.h"

// Nothing of the streams that returned blocks of the slab is pending.
SP_COLD static bool is_return_complete(struct sp_lane *lane, struct sp_slab *slab) {
    sp_fence_set_prune(&slab->foreign, sp_pool_measure(lane->pool));
    return sp_fence_set_empty(&slab->foreign);
}

// The first slab of the class with a free block that the flags allow: for its stream only, one on
// whose free blocks nothing of other streams is pending, nor of those that had its pages before.
static struct sp_slab *usable_slab_locked(struct sp_lane *lane, unsigned class_index,
                                          unsigned int flags) {
    SP_LIST_FOR_EACH_OF(struct sp_slab, slab, link, &lane->slabs[class_index]) {
        struct sp_fence_set *before = &slab->run->fences;
        if (!(flags & poolMallocSameStreamOnly))
            return slab;
        sp_fence_set_prune(before, sp_pool_measure(lane->pool));
        bool of_owner =
            sp_fence_set_empty(before) || sp_fence_set_is_of(before, lane->stream->slot);
        if (of_owner && is_return_complete(lane, slab))
            return slab;
    }
    return NULL;
}

void sp_at_hand_note_owed_locked(struct sp_lane *lane, struct sp_slab *slab,
                                 const struct sp_fence_set *fences) {
    if (!sp_stream_acts(lane->stream) ||
        sp_action_owed_for(lane->stream, fences, sp_pool_measure(lane->pool)) == SP_OWED_NONE)
        return;
    uint64_t sequence = sp_progress_number(lane->stream);
    uint32_t bytes = sp_at_hand_stamp_locked(slab, sequence);
    sp_lane_list_locked(lane);
    if (bytes > 0)
        sp_held_add_locked(lane, sequence, slab->address, bytes);
    sp_atomic_raise(&lane->stream->freed, sequence);
}

// The slab keeps the fences that are pending: whoever gets its run needs them.
void sp_at_hand_accept_returned_locked(struct sp_lane *lane, const struct sp_request *request,
                                       unsigned class_index) {
    SP_LIST_FOR_EACH_SAFE(link, &lane->returned_slabs[class_index]) {
        struct sp_slab *slab = SP_CONTAINER_OF(link, struct sp_slab, returned_link);
        if (!is_return_complete(lane, slab) &&
            sp_request_rule(request, &slab->foreign) > request->reach)
            continue;
        bool listed = sp_slab_has_free(slab);
        sp_registry_note_acquired(lane->stream, &slab->foreign);
        sp_at_hand_note_owed_locked(lane, slab, &slab->foreign);
        sp_slab_accept_returned(slab);
        sp_list_remove(&slab->returned_link);
        if (!listed)
            sp_list_push_front(&lane->slabs[class_index], &slab->link);
    }
}

SP_COLD struct sp_slab *sp_at_hand_find_slab_locked(struct sp_lane *lane, unsigned class_index,
                                                    unsigned int flags) {
    struct sp_request request;
    struct sp_slab *slab = usable_slab_locked(lane, class_index, flags);
    if (slab || sp_list_empty(&lane->returned_slabs[class_index]))
        return slab;
    sp_request_open(&request, lane->pool, lane, SP_REGION_PAGES, 0, poolMallocDefault);
    sp_at_hand_accept_returned_locked(lane, &request, class_index);
    sp_request_close(&request);
    return usable_slab_locked(lane, class_index, flags);
}

SP_COLD uint64_t sp_at_hand_take_loose_locked(struct sp_lane *lane, size_t size, uint64_t *freed) {
    return sp_load_relaxed(&lane->quick_used) ? sp_at_hand_take_quick_locked(lane, size, freed) : 0;
}

SP_COLD bool sp_at_hand_detach_slab_locked(struct sp_slab *slab) {
    if (sp_list_empty(&slab->link))
        return false;
    sp_list_remove(&slab->link);
    sp_list_remove(&slab->returned_link);
    sp_lane_disown_slab_locked(slab->owner, slab);
    return true;
}
