#include "order/action.h"

// An action of the stream stands behind its frees up to the number. On the legacy stream the record
// of a mark is one, too.
static bool has_acted(const struct sp_stream *stream, uint64_t sequence) {
    return sequence <= sp_load_acquire(&stream->acted) ||
           (sp_stream_kind_of(stream) == SP_STREAM_LEGACY &&
            sequence <= sp_load_acquire(&stream->recorded));
}

// The legacy stream also waits for work of a blocking stream that was destroyed meanwhile (measured
// on an H200).
bool sp_action_is_legacy_ordered(const struct sp_stream *taker, struct sp_fence fence) {
    const struct sp_stream *owner = sp_stream_at(fence.slot);
    return sp_action_orders(sp_stream_kind_of(owner), sp_stream_kind_of(taker),
                            has_acted(owner, fence.sequence)) &&
           sp_stream_is_of(owner, taker->context, taker->context_id);
}

// An anonymous stream waits for its chain before it is given anything, which is an action. Another
// thread may have freed there since.
enum sp_owed sp_action_owed_for_own(const struct sp_stream *taker, uint64_t sequence,
                                    bool (*is_complete)(struct sp_fence fence)) {
    bool is_paid =
        has_acted(taker, sequence) || is_complete((struct sp_fence){taker->slot, sequence});
    return is_paid ? SP_OWED_NONE : SP_OWED_OWN;
}

enum sp_owed sp_action_owed_for(const struct sp_stream *taker, const struct sp_fence_set *fences,
                                bool (*is_complete)(struct sp_fence fence)) {
    enum sp_owed dearest = SP_OWED_NONE;
    for (uint32_t i = 0; i < fences->count; i++) {
        struct sp_fence fence = *sp_fence_set_at(fences, i);
        enum sp_owed owed = SP_OWED_NONE;
        if (fence.slot == taker->slot)
            owed = sp_action_owed_for_own(taker, fence.sequence, is_complete);
        else if (sp_action_is_legacy_ordered(taker, fence) && !is_complete(fence))
            owed = SP_OWED_OTHERS; // an event behind the other's free is no action of this one
        if (owed > dearest)
            dearest = owed;
    }
    return dearest;
}
