// A peer as one of the allocators that a trace is replayed through. The threshold and the limit
// mean nothing to it.
#include "cli/play/allocator.h"

static bool peer_open(struct sp_stage *stage) {
    return sp_stage_check(stage, "it can't be opened", stage->peer->open(&stage->peer_state));
}

static bool peer_close(struct sp_stage *stage) {
    sp_stage_driver(stage)->cuCtxSynchronize();
    return sp_stage_check(stage, "it can't be closed", stage->peer->close(stage->peer_state));
}

static bool peer_begin_pass(struct sp_stage *stage) {
    return sp_stage_check(stage, "its peak can't be reset",
                          stage->peer->resetHigh(stage->peer_state));
}

static bool peer_reserved_peak(struct sp_stage *stage, uint64_t *bytes) {
    return sp_stage_check(stage, "its peak can't be read",
                          stage->peer->reservedHigh(stage->peer_state, bytes));
}

static void peer_look(struct sp_stage *stage, struct sp_figures *figures) {
    uint64_t now, high;
    if (stage->peer->reserved(stage->peer_state, &now) == 0 &&
        stage->peer->reservedHigh(stage->peer_state, &high) == 0)
        sp_figures_note(figures, SP_FIGURE_RESERVED, now, high);
}

static int peer_allocate(struct sp_stage *stage, uint64_t *pointer, size_t size, CUstream stream) {
    void *address = NULL;
    int status =
        size > 0 ? stage->peer->allocate(stage->peer_state, &address, size, stream) : CUDA_SUCCESS;
    *pointer = (uintptr_t)address;
    return status;
}

// A peer has no call that frees in no stream's order. All work is done when the block is freed on
// the legacy stream.
static int peer_free(struct sp_stage *stage, uint64_t pointer, size_t size,
                     const CUstream *stream) {
    void *address = (void *)(uintptr_t)pointer;
    int status = stream ? 0 : (int)sp_stage_driver(stage)->cuCtxSynchronize();
    if (status != 0 || !pointer)
        return status;
    return stage->peer->free(stage->peer_state, address, size, stream ? *stream : NULL);
}

struct sp_allocator sp_allocator_of_peer(const poolPeer *peer) {
    return (struct sp_allocator){
        .name = peer->name,
        .title = peer->name,
        .peer = peer,
        .open = peer_open,
        .close = peer_close,
        .begin_pass = peer_begin_pass,
        .reserved_peak = peer_reserved_peak,
        .look = peer_look,
        .allocate = peer_allocate,
        .free = peer_free,
        .trim = sp_no_trim,
        .order = sp_driver_order,
        .error_name = sp_driver_status_name,
    };
}
