#include "copy/batch.h"

#include "beside/refuse.h"
#include "copy/gather.h"
#include "copy/memory.h"
#include "copy/staging.h"
#include "copy/stream.h"

#include <stdlib.h>
#include <string.h>

// A pageable piece from this size on is a copy of its own; and direct pieces are given to the
// driver one by one where they are so large on average.
#define LARGE ((size_t)256 << 10)

// A group holds no more than these.
enum { PIECES_MOST = 4096 };
#define BYTES_MOST ((size_t)4 << 20)

#define DRIVER(call, ...) sp_outcome_of_driver(sp_driver->call(__VA_ARGS__), #call)

// The kinds of a piece: nothing, or two sides that the driver copies between; kernels may use both;
// or one side is pageable.
enum kind { NOTHING, STRAIGHT, FOR_KERNEL, FROM_HOST, TO_HOST };

// ---------------------------------------------------------------------------------------- looking

// Pieces mostly lie in few allocations: what was learnt of one holds for its neighbours.
struct look {
    struct sp_range from, to;
};

static bool is_direct(struct sp_range *known, const void *memory, size_t bytes) {
    const char *first = memory;
    if (known->begin && first >= known->begin && first < known->end &&
        bytes <= (size_t)(known->end - first))
        return true;
    return sp_memory_find_range(memory, bytes, known);
}

static poolError_t look_at(const struct sp_batch *batch, size_t i, struct look *look,
                           enum kind *kind) {
    const void *from = batch->from[i], *to = batch->to[i];
    size_t bytes = batch->sizes[i];
    *kind = NOTHING;
    if (bytes == 0)
        return poolSuccess;
    if (!from || !to)
        return sp_refuse(poolErrorInvalidValue, "%s of piece %zu is null", from ? "dst" : "src", i);
    if (bytes > PTRDIFF_MAX)
        return sp_refuse(poolErrorInvalidValue, "piece %zu has %zu bytes", i, bytes);
    bool from_is = is_direct(&look->from, from, bytes), to_is = is_direct(&look->to, to, bytes);
    if (!from_is && !to_is)
        return sp_refuse(poolErrorInvalidValue,
                         "neither side of piece %zu is memory that the driver knows", i);
    if (batch->captures && !(from_is && to_is))
        return sp_refuse(poolErrorStreamCaptureUnsupported,
                         "the stream captures, and a side of piece %zu isn't pinned", i);
    if (from_is && to_is)
        *kind = look->from.is_for_kernels && look->to.is_for_kernels ? FOR_KERNEL : STRAIGHT;
    else
        *kind = to_is ? FROM_HOST : TO_HOST;
    return poolSuccess;
}

// ---------------------------------------------------------------------------------------- groups

struct group {
    const struct sp_batch *batch;
    CUfunction kernel; // null: each piece is given to the driver, by cuMemcpyAsync
    char *block;       // of the chunks' pool; null: not taken yet
    struct sp_gather_piece *pieces;
    size_t count;
    char *bytes; // of pageable pieces
    size_t used;
    bool has_outs;
    size_t outs[PIECES_MOST]; // of each piece: 1 + the number of the one in the batch; 0: none
};

static poolError_t open_group(struct group *group) {
    void *block = NULL;
    size_t head = PIECES_MOST * sizeof *group->pieces;
    if (group->block)
        return poolSuccess;
    poolError_t error = sp_staging_take(group->batch->device, head + BYTES_MOST, &block);
    if (error != poolSuccess)
        return error;
    group->block = block;
    group->pieces = block;
    group->bytes = group->block + head;
    group->count = group->used = 0;
    group->has_outs = false;
    return poolSuccess;
}

static struct sp_outcome give_pieces(const struct group *group) {
    struct sp_outcome outcome = sp_outcome_done();
    CUstream stream = group->batch->stream;
    if (group->kernel)
        return sp_gather_launch(group->kernel, group->batch->device, group->pieces, group->count,
                                stream);
    for (size_t i = 0; i < group->count && sp_is_done(outcome); i++)
        outcome = DRIVER(cuMemcpyAsync, group->pieces[i].to, group->pieces[i].from,
                         group->pieces[i].bytes, stream);
    return outcome;
}

static void unpack(const struct group *group) {
    for (size_t i = 0; i < group->count; i++) {
        size_t out = group->outs[i];
        const struct sp_gather_piece *piece = &group->pieces[i];
        if (out > 0)
            memcpy(group->batch->to[out - 1], (const void *)(uintptr_t)piece->to, piece->bytes);
    }
}

// Gives what the group has to the stream, and its block back.
static poolError_t close_group(struct group *group) {
    if (!group->block)
        return poolSuccess;
    struct sp_outcome outcome = give_pieces(group);
    if (sp_is_done(outcome) && group->has_outs) {
        outcome = sp_stream_await(group->batch->stream);
        if (sp_is_done(outcome))
            unpack(group);
    }
    poolError_t error = sp_staging_give(group->block, group->batch->stream);
    group->block = NULL;
    return sp_is_done(outcome) ? error : sp_refuse_outcome(outcome, "copying a batch");
}

static void add(struct group *group, uint64_t to, uint64_t from, size_t bytes, size_t out) {
    group->pieces[group->count] = (struct sp_gather_piece){to, from, bytes};
    group->outs[group->count] = out;
    group->count++;
    group->has_outs = group->has_outs || out > 0;
}

// A kernel's blocks of threads share a large piece.
static poolError_t add_direct(struct group *group, size_t i) {
    uint64_t to = (uintptr_t)group->batch->to[i], from = (uintptr_t)group->batch->from[i];
    size_t most = group->kernel ? SP_GATHER_MOST : SIZE_MAX;
    poolError_t error = poolSuccess;
    for (size_t left = group->batch->sizes[i]; left > 0 && error == poolSuccess;) {
        size_t part = left < most ? left : most;
        if (group->block && group->count == PIECES_MOST)
            error = close_group(group);
        if (error == poolSuccess)
            error = open_group(group);
        if (error == poolSuccess)
            add(group, to, from, part, 0);
        to += part;
        from += part;
        left -= part;
    }
    return error;
}

static poolError_t add_pageable(struct group *group, size_t i, enum kind kind) {
    const struct sp_batch *batch = group->batch;
    size_t bytes = batch->sizes[i], room = (bytes + 15) / 16 * 16;
    poolError_t error = poolSuccess;
    if (group->block && (group->count == PIECES_MOST || group->used + room > BYTES_MOST))
        error = close_group(group);
    if (error == poolSuccess)
        error = open_group(group);
    if (error != poolSuccess)
        return error;
    char *packed = group->bytes + group->used;
    group->used += room;
    if (kind == FROM_HOST) {
        memcpy(packed, batch->from[i], bytes);
        add(group, (uintptr_t)batch->to[i], (uintptr_t)packed, bytes, 0);
    } else {
        add(group, (uintptr_t)packed, (uintptr_t)batch->from[i], bytes, 1 + i);
    }
    return poolSuccess;
}

static poolError_t give_driver(const struct sp_batch *batch, size_t i) {
    struct sp_outcome outcome = DRIVER(cuMemcpyAsync, (uintptr_t)batch->to[i],
                                       (uintptr_t)batch->from[i], batch->sizes[i], batch->stream);
    return sp_is_done(outcome) ? poolSuccess : sp_refuse_outcome(outcome, "copying a batch");
}

static poolError_t copy_alone(const struct sp_batch *batch, size_t i, enum kind kind) {
    size_t bytes = batch->sizes[i];
    bool in = kind == FROM_HOST;
    const struct sp_copy copy = {
        .to_device = in,
        .host = in ? (char *)(uintptr_t)batch->from[i] : batch->to[i],
        .address = in ? (uintptr_t)batch->to[i] : (uintptr_t)batch->from[i],
        .width = bytes,
        .height = 1,
        .host_pitch = bytes,
        .device_pitch = bytes,
        .stream = batch->stream,
        .device = batch->device,
    };
    return sp_transfer_now(&copy);
}

// ----------------------------------------------------------------------------------------- batches

static poolError_t give_piece(struct group *group, size_t i, enum kind kind) {
    switch (kind) {
    case NOTHING:
        return poolSuccess;
    case STRAIGHT:
        return give_driver(group->batch, i);
    case FOR_KERNEL:
        return add_direct(group, i);
    default:
        return group->batch->sizes[i] < LARGE ? add_pageable(group, i, kind)
                                              : copy_alone(group->batch, i, kind);
    }
}

static poolError_t give_pieces_by(const struct sp_batch *batch, const unsigned char *kinds,
                                  bool by_kernel) {
    struct group *group = calloc(1, sizeof *group);
    poolError_t error = poolSuccess;
    if (!group)
        return sp_refuse(poolErrorMemoryAllocation, "the host has no memory for a batch");
    group->batch = batch;
    by_kernel = by_kernel && sp_gather_find(&group->kernel);
    for (size_t i = 0; i < batch->count && error == poolSuccess; i++) {
        bool is_of_driver = !by_kernel && kinds[i] == FOR_KERNEL;
        error = give_piece(group, i, is_of_driver ? STRAIGHT : (enum kind)kinds[i]);
    }
    poolError_t closed = close_group(group);
    free(group);
    return error == poolSuccess ? closed : error;
}

// A graph mustn't have pieces that lie in a block of ours: none is given to the kernel there.
poolError_t sp_batch_copy(const struct sp_batch *batch) {
    struct look look = {0};
    size_t pieces = 0, bytes = 0;
    poolError_t error = poolSuccess;
    unsigned char *kinds = malloc(batch->count);
    if (!kinds)
        return sp_refuse(poolErrorMemoryAllocation, "the host has no memory for a batch");
    for (size_t i = 0; i < batch->count && error == poolSuccess; i++) {
        enum kind kind = NOTHING;
        error = look_at(batch, i, &look, &kind);
        kinds[i] = (unsigned char)kind;
        pieces += kind == FOR_KERNEL;
        bytes += kind == FOR_KERNEL ? batch->sizes[i] : 0;
    }
    bool are_large = pieces > 0 && bytes / pieces >= LARGE;
    if (error == poolSuccess)
        error = give_pieces_by(batch, kinds, !batch->captures && !are_large);
    free(kinds);
    return error;
}
