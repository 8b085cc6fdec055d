#include "simcuda/work/copy.h"

#include <inttypes.h>
#include <string.h>

#include "base/number.h"
#include "simcuda/common/host.h"
#include "simcuda/common/shared.h"
#include "simcuda/memory/allocation.h"
#include "simcuda/memory/block.h"
#include "simcuda/memory/bytes.h"
#include "simcuda/memory/device.h"
#include "simcuda/memory/mapping.h"
#include "simcuda/memory/pinned.h"
#include "simcuda/queue/capture.h"
#include "simcuda/queue/context.h"
#include "simcuda/queue/cost.h"
#include "simcuda/queue/item.h"
#include "simcuda/queue/stream.h"
#include "simcuda/report/report.h"
#include "simcuda/work/launch.h"
#include "simcuda/work/question.h"
#include "simcuda/work/work.h"

#define CHUNK      ((uint64_t)8 << 10)
#define SMALL      ((uint64_t)64 << 10) // a synchronous copy of this size waits for nothing
#define NEXT_PIECE ((uint64_t)1000)     // ns that a further copy of a batch begins later

struct sim_copy sim_copy_row(enum sim_operand to_operand, uint64_t to,
                             enum sim_operand from_operand, uint64_t from, uint64_t size) {
    return (struct sim_copy){.to = {.operand = to_operand, .address = to},
                             .from = {.operand = from_operand, .address = from},
                             .width = size,
                             .height = 1,
                             .depth = 1};
}

struct sim_copy sim_copy_set(uint64_t address, uint64_t pitch, uint32_t value, unsigned size,
                             uint64_t elements, uint64_t height) {
    struct sim_copy copy = sim_copy_row(SIM_OPERAND_DEVICE, address, SIM_OPERAND_ANY, value, 0);
    copy.from.kind = SIM_PLACE_VALUE;
    copy.from.pitch = size;
    copy.to.pitch = pitch;
    copy.height = height;
    if (!sp_checked_mul(elements, size, &copy.width))
        copy.width = UINT64_MAX;
    return copy;
}

static bool is_host(const struct sim_place *place) {
    return place->kind == SIM_PLACE_PINNED || place->kind == SIM_PLACE_PAGEABLE;
}

static bool is_empty(const struct sim_copy *copy) {
    return copy->width == 0 || copy->height == 0 || copy->depth == 0;
}

static uint64_t size_of(const struct sim_copy *copy) {
    return copy->width * copy->height * copy->depth;
}

static uint64_t row_of(const struct sim_place *place, uint64_t y, uint64_t z) {
    return place->address + z * place->slice + y * place->pitch;
}

// ---------------------------------------------------------------------------------- finding places

// Returns whether a place's last byte has an address, and the copy a size.
static bool ends_somewhere(const struct sim_place *place, const struct sim_copy *copy) {
    size_t rows, layers, size, end;
    return sp_checked_mul(copy->height - 1, place->pitch, &rows) &&
           sp_checked_mul(copy->depth - 1, place->slice, &layers) &&
           sp_checked_add(place->address, rows, &end) && sp_checked_add(end, layers, &end) &&
           sp_checked_add(end, copy->width, &end) &&
           sp_checked_mul(copy->width, copy->height, &size) &&
           sp_checked_mul(size, copy->depth, &size);
}

static uint64_t end_of(const struct sim_place *place, const struct sim_copy *copy) {
    return row_of(place, copy->height - 1, copy->depth - 1) + copy->width;
}

// An allocation may have another one behind it, and registered memory too, which a copy doesn't
// reach from there. Mappings may be side by side.
static bool exists(const struct sim_place *place, const struct sim_copy *copy) {
    const struct sim_mapping *mapping = sim_mapping_at(place->address);
    const struct sim_pinned *pinned = mapping ? NULL : sim_pinned_at(place->address);
    if (mapping && mapping->extent->kind == SIM_EXTENT_OF_ALLOCATION)
        return end_of(place, copy) - mapping->address <= mapping->told;
    if (pinned)
        return end_of(place, copy) - pinned->address <= pinned->size;
    for (uint64_t z = 0; z < copy->depth; z++) {
        for (uint64_t y = 0; y < copy->height; y++) {
            if (!sim_bytes_exist(row_of(place, y, z), copy->width))
                return false;
        }
    }
    return true;
}

// Memory that neither the device nor the host has access to is told of when the copy runs, as that
// of a device is.
static enum sim_place_kind kind_of_mapped_host(const struct sim_mapping *mapping, int device) {
    if (mapping->access[device] != CU_MEM_ACCESS_FLAGS_PROT_NONE)
        return SIM_PLACE_PINNED;
    return mapping->access[SIM_HOST] != CU_MEM_ACCESS_FLAGS_PROT_NONE ? SIM_PLACE_PAGEABLE
                                                                      : SIM_PLACE_DEVICE;
}

// `device` is the one whose stream has the copy.
static enum sim_place_kind kind_of(struct sim_place *place, int device) {
    const struct sim_mapping *mapping = sim_mapping_at(place->address);
    place->device = device;
    if (sim_bytes_on_device(place->address, &place->device))
        return SIM_PLACE_DEVICE;
    if (mapping)
        return kind_of_mapped_host(mapping, device);
    return sim_pinned_at(place->address) ? SIM_PLACE_PINNED : SIM_PLACE_PAGEABLE;
}

static bool is_mapped(uint64_t address) {
    return sim_mapping_at(address) != NULL;
}

// Memory of which a part alone is pinned may be the host's all the same: that is no fault.
static CUresult refuse(const struct sim_place *place, const struct sim_copy *copy) {
    char fate[SIM_BLOCK_FATE];
    if (place->kind == SIM_PLACE_PINNED && !is_mapped(place->address))
        return CUDA_ERROR_INVALID_VALUE;
    sim_report(simcudaReport_fault, "%s: no device reaches all of [0x%" PRIx64 ", 0x%" PRIx64 ")%s",
               sim_report_call(), place->address, end_of(place, copy),
               sim_block_fate(place->address, fate));
    return CUDA_ERROR_INVALID_VALUE;
}

// Returns whether the host has nothing at the address.
static bool is_nobodys(const struct sim_place *place) {
    return place->kind == SIM_PLACE_PAGEABLE && !is_mapped(place->address) &&
           (place->address == 0 || sim_allocation_is_device_address(place->address));
}

// A copy of a device's memory takes mapped memory of the host alone, too; a set does not, as seen
// on an H200.
static bool is_there(const struct sim_place *place, const struct sim_copy *copy) {
    if (place->kind != SIM_PLACE_PAGEABLE || is_mapped(place->address))
        return exists(place, copy) &&
               (place->kind != SIM_PLACE_PAGEABLE || copy->from.kind != SIM_PLACE_VALUE);
    return place->operand != SIM_OPERAND_DEVICE && !is_nobodys(place);
}

static CUresult find_place(struct sim_place *place, const struct sim_copy *copy, int device) {
    if (!ends_somewhere(place, copy))
        return CUDA_ERROR_INVALID_VALUE;
    place->kind = kind_of(place, device);
    if (place->operand == SIM_OPERAND_HOST &&
        (is_nobodys(place) || place->kind == SIM_PLACE_DEVICE))
        return CUDA_ERROR_INVALID_VALUE;
    return is_there(place, copy) ? CUDA_SUCCESS : refuse(place, copy);
}

static CUresult find_places(struct sim_copy *copy, int device) {
    if (is_empty(copy))
        return CUDA_SUCCESS;
    CUresult result = find_place(&copy->to, copy, device);
    if (result == CUDA_SUCCESS && copy->from.kind != SIM_PLACE_VALUE)
        result = find_place(&copy->from, copy, device);
    return result;
}

// ------------------------------------------------------------------------------------------ moving

// The bytes of host memory behind an address.
static void *host_bytes(uint64_t address) {
    void *bytes;
    memcpy(&bytes, &address, sizeof(bytes));
    return bytes;
}

// Fills bytes with an element, each time with as many as are there.
static void repeat(unsigned char *bytes, uint64_t size, uint64_t value, uint64_t element) {
    uint64_t done = sp_min(element, size);
    memcpy(bytes, &value, done);
    for (uint64_t part; done < size; done += part) {
        part = sp_min(done, size - done);
        memcpy(bytes + done, bytes, part);
    }
}

static bool set_row(const struct sim_copy *copy, uint64_t to) {
    unsigned char bytes[CHUNK];
    repeat(bytes, sp_min(CHUNK, copy->width), copy->from.address, copy->from.pitch);
    for (uint64_t done = 0; done < copy->width; done += CHUNK) {
        if (!sim_bytes_write(to + done, bytes, sp_min(copy->width - done, CHUNK)))
            return false;
    }
    return true;
}

static bool move_in_chunks(uint64_t to, uint64_t from, uint64_t size) {
    unsigned char bytes[CHUNK];
    for (uint64_t done = 0; done < size; done += CHUNK) {
        uint64_t part = sp_min(size - done, CHUNK);
        if (!sim_bytes_read(from + done, bytes, part) || !sim_bytes_write(to + done, bytes, part))
            return false;
    }
    return true;
}

// Mapped memory is moved as a device's is: the host may have lost its access by now.
static bool is_of_process(const struct sim_place *place) {
    return place->kind == SIM_PLACE_PAGEABLE && !is_mapped(place->address);
}

static bool move_row(const struct sim_copy *copy, uint64_t to, uint64_t from) {
    if (copy->from.kind == SIM_PLACE_VALUE)
        return set_row(copy, to);
    bool is_to_host = is_of_process(&copy->to);
    if (is_of_process(&copy->from) && is_to_host)
        memmove(host_bytes(to), host_bytes(from), copy->width);
    else if (is_of_process(&copy->from))
        return sim_bytes_write(to, host_bytes(from), copy->width);
    else if (is_to_host)
        return sim_bytes_read(from, host_bytes(to), copy->width);
    else
        return move_in_chunks(to, from, copy->width);
    return true;
}

static bool move(const struct sim_copy *copy) {
    for (uint64_t z = 0; !is_empty(copy) && z < copy->depth; z++) {
        for (uint64_t y = 0; y < copy->height; y++) {
            if (!move_row(copy, row_of(&copy->to, y, z), row_of(&copy->from, y, z)))
                return false;
        }
    }
    return true;
}

static CUresult run(const struct sim_job *job, int device) {
    (void)device;
    for (size_t i = 0; i < job->copy_count; i++) {
        if (!move(&job->copies[i]))
            return CUDA_ERROR_ILLEGAL_ADDRESS;
    }
    return CUDA_SUCCESS;
}

// ----------------------------------------------------------------------------------------- staging

// Returns whether the call itself reads the source.
static bool is_taken(const struct sim_copy *copy) {
    if (!is_host(&copy->from) || is_host(&copy->to) || copy->source == SIM_SOURCE_IN_ORDER)
        return false;
    return copy->from.kind == SIM_PLACE_PAGEABLE || copy->source == SIM_SOURCE_AT_CALL;
}

static uint64_t taken_size(const struct sim_copy *copies, size_t count) {
    uint64_t size = 0;
    for (size_t i = 0; i < count; i++)
        size += is_taken(&copies[i]) ? size_of(&copies[i]) : 0;
    return size;
}

static void take_row(uint64_t from, char *staged, uint64_t size) {
    if (is_mapped(from))
        (void)sim_bytes_read(from, staged, size);
    else
        memcpy(staged, host_bytes(from), size);
}

// Copies a source to the staged bytes, which the copy then reads.
static char *take(struct sim_copy *copy, char *staged) {
    const struct sim_place place = copy->from;
    copy->from = (struct sim_place){.kind = SIM_PLACE_PAGEABLE,
                                    .address = (uintptr_t)staged,
                                    .pitch = copy->width,
                                    .slice = copy->width * copy->height};
    for (uint64_t z = 0; z < copy->depth; z++) {
        for (uint64_t y = 0; y < copy->height; y++, staged += copy->width)
            take_row(row_of(&place, y, z), staged, copy->width);
    }
    return staged;
}

// ------------------------------------------------------------------------------------ making a job

// Rows that follow each other without a gap are named as one.
static void name_rows(struct sim_job *job, const struct sim_place *place,
                      const struct sim_copy *copy, simcudaAccessKind kind) {
    bool is_whole = copy->height == 1 || place->pitch == copy->width;
    uint64_t layer = copy->width * copy->height;
    if (is_whole && (copy->depth == 1 || place->slice == layer)) {
        sim_job_touches(job, place->address, layer * copy->depth, kind);
        return;
    }
    for (uint64_t z = 0; z < copy->depth; z++) {
        for (uint64_t y = 0; y < (is_whole ? 1 : copy->height); y++)
            sim_job_touches(job, row_of(place, y, z), is_whole ? layer : copy->width, kind);
    }
}

// Names what the device touches, or the driver for it in pageable memory: that of staged bytes is
// nobody else's.
static void name_places(struct sim_job *job, const struct sim_copy *copies, size_t count,
                        bool is_pageable) {
    for (size_t i = 0; i < count; i++) {
        const struct sim_copy *copy = &copies[i];
        if (is_empty(copy))
            continue;
        bool is_read = copy->from.kind != SIM_PLACE_VALUE && !is_taken(copy);
        if (is_read && (copy->from.kind == SIM_PLACE_PAGEABLE) == is_pageable)
            name_rows(job, &copy->from, copy, simcudaAccessRead);
        if ((copy->to.kind == SIM_PLACE_PAGEABLE) == is_pageable)
            name_rows(job, &copy->to, copy, simcudaAccessWrite);
    }
}

static enum sim_cost_way way_of(const struct sim_copy *copy, bool is_staged) {
    bool is_in = is_host(&copy->from), is_out = is_host(&copy->to);
    if (is_in && is_out)
        return SIM_COST_ON_HOST;
    if (is_in && !is_staged)
        return SIM_COST_BUS;
    if (is_out)
        return copy->to.kind == SIM_PLACE_PINNED ? SIM_COST_BUS : SIM_COST_PAGEABLE_OUT;
    if (copy->from.device == copy->to.device)
        return SIM_COST_ON_DEVICE;
    return sim_device_can_access(copy->to.device, copy->from.device) ? SIM_COST_BETWEEN
                                                                     : SIM_COST_BY_WAY_OF_HOST;
}

// When the host is done with staging, all but the last part is on its way.
static uint64_t duration_of(const struct sim_copy *copy, bool is_staged) {
    if (copy->from.kind == SIM_PLACE_VALUE)
        return sim_cost_bytes(size_of(copy)) - sim_cost_bytes(0);
    if (is_staged)
        return sim_cost_copy(SIM_COST_BUS, sp_min(size_of(copy), SMALL));
    return sim_cost_copy(way_of(copy, false), size_of(copy));
}

static enum sim_engine engine_of(const struct sim_copy *copy) {
    if (copy->from.kind == SIM_PLACE_VALUE)
        return SIM_ENGINE_NONE;
    if (is_host(&copy->from))
        return is_host(&copy->to) ? SIM_ENGINE_NONE : SIM_ENGINE_IN;
    return is_host(&copy->to) ? SIM_ENGINE_OUT : SIM_ENGINE_ACROSS;
}

static const char *name_of(const struct sim_copy *copy) {
    static const char *const names[] = {[SIM_ENGINE_NONE] = "copy on host",
                                        [SIM_ENGINE_IN] = "copy to device",
                                        [SIM_ENGINE_OUT] = "copy to host",
                                        [SIM_ENGINE_ACROSS] = "copy on device"};
    if (copy->from.kind == SIM_PLACE_VALUE)
        return "memset";
    if (engine_of(copy) == SIM_ENGINE_ACROSS && copy->from.device != copy->to.device)
        return "copy between devices";
    return names[engine_of(copy)];
}

static void add_to_job(struct sim_job *job, struct sim_copy *copy, char **staged) {
    bool is_staged = is_taken(copy);
    job->duration += duration_of(copy, is_staged);
    job->engine = job->engine ? job->engine : engine_of(copy);
    if (is_staged)
        *staged = take(copy, *staged);
}

// Bytes of the host that the copy will read later are remembered by a sum, where nothing that is
// pending may rightly change them until then.
static void watch_sources(struct sim_job *job) {
    job->watches_source = sim_config.onReport != simcudaOnReportKeep && !sim_work_waits_outside() &&
                          sim_bytes_can_watch(job);
    if (job->watches_source)
        job->source_sum = sim_bytes_sum_of_sources(job);
}

// Makes a job that owns the copies.
static void make_job(struct sim_job *job, struct sim_copy *copies, size_t count) {
    uint64_t taken = taken_size(copies, count);
    char *staged = taken > 0 ? sim_reallocate(NULL, taken, 1) : NULL;
    *job = (struct sim_job){
        .effect = run, .is_copy = true, .copies = copies, .copy_count = count, .owned = staged};
    job->duration = sim_cost_copy_start() + (count - 1) * NEXT_PIECE;
    sim_job_name(job, name_of(copies));
    name_places(job, copies, count, false);
    size_t reached = job->count;
    name_places(job, copies, count, true);
    job->pageable_count = job->count - reached;
    for (size_t i = 0; i < count; i++) {
        if (!is_empty(&copies[i]))
            add_to_job(job, &copies[i], &staged);
    }
    sim_now += sim_cost_copy(SIM_COST_STAGING, taken);
    watch_sources(job);
}

// ----------------------------------------------------------------------------------------- waiting

static bool waits_sync(const struct sim_copy *copy) {
    return is_host(&copy->to) || (is_host(&copy->from) && !is_taken(copy));
}

static bool waits_async(const struct sim_copy *copy) {
    bool is_read_late = copy->source == SIM_SOURCE_AT_CALL && !is_taken(copy);
    return copy->to.kind == SIM_PLACE_PAGEABLE || (is_host(&copy->to) && is_host(&copy->from)) ||
           is_read_late;
}

static bool any(const struct sim_copy *copies, size_t count,
                bool (*is_one)(const struct sim_copy *copy)) {
    for (size_t i = 0; i < count; i++) {
        if (!is_empty(&copies[i]) && is_one(&copies[i]))
            return true;
    }
    return false;
}

static CUresult wait(struct sim_context *context, struct sim_item *item) {
    sim_work_wait(item);
    return sim_context_error(context);
}

static CUresult launch_async(CUstream stream, struct sim_context *context, struct sim_copy *copies,
                             size_t count) {
    struct sim_item *item;
    struct sim_job job;
    bool waits = any(copies, count, waits_async);
    make_job(&job, copies, count);
    CUresult result = sim_launch_item(stream, sim_report_call(), &job, &item);
    if (item && waits)
        result = wait(context, item);
    sim_item_drop(item);
    return result;
}

static struct sim_copy *duplicate(const struct sim_copy *copies, size_t count) {
    struct sim_copy *own = sim_reallocate(NULL, count, sizeof(*own));
    memcpy(own, copies, count * sizeof(*own));
    return own;
}

CUresult sim_copy_async(CUstream stream, const struct sim_copy *copies, size_t count) {
    struct sim_queue *queue;
    CUresult result = sim_stream_queue(stream, &queue);
    if (result != CUDA_SUCCESS)
        return result;
    struct sim_copy *own = duplicate(copies, count);
    for (size_t i = 0; i < count && result == CUDA_SUCCESS; i++)
        result = find_places(&own[i], queue->context->device);
    if (result == CUDA_SUCCESS)
        return launch_async(stream, queue->context, own, count);
    sim_free(own);
    return result;
}

// A large copy from pageable memory first waits for the stream.
static void await_stream(struct sim_queue *queue, const struct sim_copy *copy) {
    if (is_taken(copy) && size_of(copy) > SMALL)
        sim_question_wait_queue(queue);
}

// If no other work of the stream is in their way, bytes that were taken go to the device at once.
static bool is_under_way(const struct sim_copy *copy, const struct sim_item *item) {
    return is_taken(copy) && item->state != SIM_QUEUED;
}

static CUresult launch_sync(struct sim_queue *queue, struct sim_copy *copy,
                            struct sim_item **item) {
    struct sim_job job;
    *item = NULL;
    CUresult result = queue->context ? find_places(copy, queue->context->device)
                                     : CUDA_ERROR_CONTEXT_IS_DESTROYED;
    if (result == CUDA_SUCCESS)
        result = sim_capture_check_queue(queue, sim_report_call());
    if (result != CUDA_SUCCESS)
        return result;
    struct sim_context *context = queue->context;
    await_stream(queue, copy);
    make_job(&job, duplicate(copy, 1), 1);
    result = sim_launch_synchronous(&job, item);
    if (*item && (any(copy, 1, waits_sync) || is_under_way(copy, *item)))
        result = wait(context, *item);
    return result;
}

CUresult sim_copy_sync(const struct sim_copy *copy) {
    struct sim_queue *queue;
    struct sim_item *item = NULL;
    struct sim_copy found = *copy;
    CUresult result = sim_stream_queue(NULL, &queue);
    if (result == CUDA_SUCCESS)
        result = launch_sync(queue, &found, &item);
    sim_item_drop(item);
    return result;
}

// -------------------------------------------------------------------------------- between contexts

struct items {
    struct sim_item **items;
    size_t count;
    size_t capacity;
};

static void collect(struct items *items, const struct sim_context *context) {
    SP_LIST_FOR_EACH(link, &context->queues) {
        struct sim_item *last = SP_CONTAINER_OF(link, struct sim_queue, link)->last;
        if (!last)
            continue;
        SIM_RESERVE_ONE(items->items, items->count, items->capacity);
        items->items[items->count++] = last;
        sim_item_hold(last);
    }
}

// Returns whether the host knows it to be complete, as then all later work runs after it.
static bool is_known(const struct sim_item *item) {
    return sim_clock_at(sim_host_clock, item->slot) >= item->sequence;
}

// Makes the queue's next work run after all of both contexts.
static CUresult order_after_contexts(struct sim_queue *queue, const struct sim_context *first,
                                     const struct sim_context *second) {
    struct items items = {0};
    CUresult result = CUDA_SUCCESS;
    collect(&items, first);
    collect(&items, second);
    for (size_t i = 0; i < items.count; i++) {
        if (result == CUDA_SUCCESS && !is_known(items.items[i]))
            result = sim_work_order_after(queue, items.items[i]);
        sim_item_drop(items.items[i]);
    }
    sim_free(items.items);
    return result;
}

// Other threads may have ended the context by now.
static void order_context_after(struct sim_context *context, uint64_t identity,
                                struct sim_item *item) {
    if (sim_context_identity(context) != identity)
        return;
    sim_queue_hold(context->legacy);
    struct sim_queue *legacy = context->legacy;
    (void)sim_work_order_after(legacy, item);
    sim_queue_drop(legacy);
}

CUresult sim_copy_peer(const struct sim_copy *copy, struct sim_context *first,
                       struct sim_context *second) {
    struct sim_queue *queue;
    struct sim_item *item = NULL;
    struct sim_copy found = *copy;
    uint64_t identities[] = {sim_context_identity(first), sim_context_identity(second)};
    CUresult result = sim_stream_queue(NULL, &queue);
    if (result == CUDA_SUCCESS)
        result = sim_capture_check_queue(queue, sim_report_call());
    if (result != CUDA_SUCCESS)
        return result;
    sim_queue_hold(queue);
    result = order_after_contexts(queue, first, second);
    if (result == CUDA_SUCCESS)
        result = launch_sync(queue, &found, &item);
    sim_queue_drop(queue);
    if (item) {
        order_context_after(first, identities[0], item);
        order_context_after(second, identities[1], item);
    }
    sim_item_drop(item);
    return result;
}
