// The driver's plain calls, with no order of streams. There is no figure of what they reserve, so
// the device's free memory is compared: when the pass begins, and at the operation with the most
// bytes alive. What is held by then is added.
#include "cli/play/allocator.h"

static bool nothing_to_do(struct sp_stage *stage) {
    (void)stage;
    return true;
}

static size_t free_memory(const struct sp_stage *stage) {
    size_t free = 0, total = 0;
    sp_stage_driver(stage)->cuMemGetInfo(&free, &total);
    return free;
}

static bool direct_begin_pass(struct sp_stage *stage) {
    stage->free_before = free_memory(stage);
    stage->free_at_peak = stage->free_before;
    return true;
}

static void direct_at_peak(struct sp_stage *stage) {
    stage->free_at_peak = free_memory(stage);
}

// Where calls failed, or threads mix, most is alive at another moment than the one that was
// measured; and what the driver keeps for small blocks was there before.
static bool direct_reserved_peak(struct sp_stage *stage, uint64_t *bytes) {
    bool shrank = stage->free_at_peak < stage->free_before;
    uint64_t taken = shrank ? stage->free_before - stage->free_at_peak : 0;
    uint64_t measured = stage->held_reserved_bytes + taken;
    *bytes = measured > *bytes ? measured : *bytes;
    return true;
}

// A free gives the memory back before it returns, so none is pending. What is reserved only the
// device could tell, whose answer takes time on its clock.
static void direct_look(struct sp_stage *stage, struct sp_figures *figures) {
    (void)stage;
    sp_figures_note(figures, SP_FIGURE_PENDING, 0, 0);
}

static int direct_allocate(struct sp_stage *stage, uint64_t *pointer, size_t size,
                           CUstream stream) {
    (void)stream;
    CUdeviceptr address = 0;
    CUresult result = size > 0 ? sp_stage_driver(stage)->cuMemAlloc(&address, size) : CUDA_SUCCESS;
    *pointer = address;
    return (int)result;
}

static int direct_free(struct sp_stage *stage, uint64_t pointer, size_t size, CUstream stream) {
    (void)size, (void)stream;
    return pointer ? (int)sp_stage_driver(stage)->cuMemFree(pointer) : CUDA_SUCCESS;
}

// It makes no difference here.
static int direct_free_unordered(struct sp_stage *stage, uint64_t pointer, size_t size) {
    return direct_free(stage, pointer, size, NULL);
}

const struct sp_allocator sp_allocator_direct = {
    .name = "direct",
    .title = "cuMemAlloc",
    .open = nothing_to_do,
    .close = nothing_to_do,
    .begin_pass = direct_begin_pass,
    .at_peak = direct_at_peak,
    .reserved_peak = direct_reserved_peak,
    .look = direct_look,
    .allocate = direct_allocate,
    .free = direct_free,
    .free_unordered = direct_free_unordered,
    .trim = sp_no_trim,
    .order = sp_driver_order,
    .error_name = sp_driver_status_name,
};
