#include "order/action.h"

#include "order/chain.h"
#include "order/mark.h"

static enum sp_stream_kind kind_of(const struct sp_stream *stream) {
    return (enum sp_stream_kind)atomic_load_explicit(&stream->kind, memory_order_relaxed);
}

// An event stands behind the fence, whoever waits for it.
static bool is_recorded(const struct sp_stream *stream, uint64_t sequence) {
    return sequence <= atomic_load_explicit(&stream->recorded, memory_order_acquire);
}

// Measured on an H200: the legacy stream also waits for work of a blocking stream that was destroyed meanwhile.
bool sp_stream_is_legacy_ordered(const struct sp_stream *taker, struct sp_fence fence) {
    const struct sp_stream *owner = sp_stream_at(fence.slot);
    return sp_rule_legacy_ordered(kind_of(owner), kind_of(taker), is_recorded(owner, fence.sequence)) &&
           sp_stream_is_of(owner, taker->context, taker->context_id);
}

bool sp_stream_owes_for_own(const struct sp_stream *taker, uint64_t sequence,
                            bool (*is_complete)(struct sp_fence fence)) {
    return !is_recorded(taker, sequence) && !is_complete((struct sp_fence){taker->slot, sequence});
}

// An event behind the other stream's free is no action of this one.
static bool owes_for_others(const struct sp_stream *taker, struct sp_fence fence,
                            bool (*is_complete)(struct sp_fence fence)) {
    return sp_stream_is_legacy_ordered(taker, fence) && !is_complete(fence);
}

bool sp_stream_owes_for(const struct sp_stream *taker, const struct sp_fence_set *fences,
                        bool (*is_complete)(struct sp_fence fence)) {
    for (uint32_t i = 0; i < fences->count; i++) {
        struct sp_fence fence = *sp_fence_set_at(fences, i);
        if (fence.slot == taker->slot ? sp_stream_owes_for_own(taker, fence.sequence, is_complete)
                                      : owes_for_others(taker, fence, is_complete))
            return true;
    }
    return false;
}

// The end of an anonymous stream's chain is a record, too.
CUresult sp_stream_act(struct sp_stream *stream) {
    uint64_t closed;
    return stream->identified ? sp_stream_record_anew(stream) : sp_stream_extend_chain(stream, &closed);
}
