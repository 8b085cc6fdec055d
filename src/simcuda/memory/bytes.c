#include "simcuda/memory/bytes.h"

#include <inttypes.h>
#include <string.h>

#include "simcuda/entry/abi.h"
#include "simcuda/memory/block.h"
#include "simcuda/memory/mapping.h"
#include "simcuda/memory/pinned.h"
#include "simcuda/queue/item.h"
#include "simcuda/queue/queue.h"
#include "simcuda/report/report.h"

#define PAGEABLE_MAX 1024 // segments, more than which are looked through

// This says who touched host memory that isn't pinned, by host address.
static struct sim_history pageable;

// The first part of a range that lies in one mapping, or in one piece of host memory.
struct part {
    struct sim_mapping *mapping; // null: it is host memory
    const struct sim_pinned *pinned;
    struct sim_history *history;
    uint64_t offset; // in the history
    uint64_t size;
};

static uint64_t smaller(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

static bool translate_pinned(uint64_t address, uint64_t size, struct part *part) {
    struct sim_pinned *pinned = sim_pinned_at(address);
    if (!pinned)
        return false;
    *part = (struct part){.pinned = pinned, .history = &pinned->history};
    part->offset = address - pinned->address;
    part->size = smaller(pinned->size - part->offset, size);
    return true;
}

static bool translate(uint64_t address, uint64_t size, struct part *part) {
    struct sim_mapping *mapping = sim_mapping_at(address);
    if (!mapping)
        return translate_pinned(address, size, part);
    if (address - mapping->address >= mapping->valid)
        return false;
    *part = (struct part){.mapping = mapping, .history = &mapping->extent->history};
    part->offset = address - mapping->address;
    part->size = smaller(mapping->valid - part->offset, size);
    return true;
}

static bool is_pageable(const struct sim_job *job, const simcudaAccess *access) {
    return access >= &job->accesses[job->count - job->pageable_count];
}

// Translates a part of an access, from `done` bytes on.
static bool translate_access(const struct sim_job *job, const simcudaAccess *access, uint64_t done,
                             struct part *part) {
    if (!is_pageable(job, access) || sim_mapping_at(access->address))
        return translate(access->address + done, access->size - done, part);
    *part = (struct part){.history = &pageable, .offset = access->address, .size = access->size};
    return true;
}

// The bytes of host memory behind an address.
static void *host_bytes(uint64_t address) {
    void *bytes;
    memcpy(&bytes, &address, sizeof(bytes));
    return bytes;
}

// A word of host memory goes whole, as a device moves it: another thread may load or store it at
// the same time.
static void move_from_host(void *to, uint64_t address, size_t size) {
    const void *from = host_bytes(address);
    if (size == sizeof(uint32_t) && address % size == 0) {
        uint32_t word = __atomic_load_n((const uint32_t *)from, __ATOMIC_ACQUIRE);
        memcpy(to, &word, sizeof word);
    } else if (size == sizeof(uint64_t) && address % size == 0) {
        uint64_t word = __atomic_load_n((const uint64_t *)from, __ATOMIC_ACQUIRE);
        memcpy(to, &word, sizeof word);
    } else {
        memmove(to, from, size);
    }
}

static void move_to_host(uint64_t address, const void *from, size_t size) {
    void *to = host_bytes(address);
    if (size == sizeof(uint32_t) && address % size == 0) {
        uint32_t word;
        memcpy(&word, from, sizeof word);
        __atomic_store_n((uint32_t *)to, word, __ATOMIC_RELEASE);
    } else if (size == sizeof(uint64_t) && address % size == 0) {
        uint64_t word;
        memcpy(&word, from, sizeof word);
        __atomic_store_n((uint64_t *)to, word, __ATOMIC_RELEASE);
    } else {
        memmove(to, from, size);
    }
}

// Memory of the host is touched where the program itself touches it.
static bool is_seen_by_host(const struct part *part, CUmemAccess_flags access) {
    return !part->mapping || (part->mapping->access[SIM_HOST] & access) == (unsigned)access;
}

bool sim_bytes_read(uint64_t address, void *to, size_t size) {
    char *at = to;
    struct part part;
    for (; size > 0; size -= part.size, address += part.size, at += part.size) {
        if (!translate(address, size, &part))
            return false;
        if (is_seen_by_host(&part, CU_MEM_ACCESS_FLAGS_PROT_READ))
            move_from_host(at, address, part.size);
        else if (!sim_extent_read(part.mapping->extent, part.offset, at, part.size))
            return false;
    }
    return true;
}

bool sim_bytes_write(uint64_t address, const void *from, size_t size) {
    const char *at = from;
    struct part part;
    for (; size > 0; size -= part.size, address += part.size, at += part.size) {
        if (!translate(address, size, &part))
            return false;
        if (is_seen_by_host(&part, CU_MEM_ACCESS_FLAGS_PROT_READWRITE))
            move_to_host(address, at, part.size);
        else if (!sim_extent_write(part.mapping->extent, part.offset, at, part.size))
            return false;
    }
    return true;
}

bool sim_bytes_exist(uint64_t address, uint64_t size) {
    struct part part;
    for (; size > 0; size -= part.size, address += part.size) {
        if (!translate(address, size, &part))
            return false;
    }
    return true;
}

bool sim_bytes_on_device(uint64_t address, int *device) {
    struct part part;
    if (!translate(address, 1, &part) || !part.mapping ||
        sim_extent_is_of_host(part.mapping->extent))
        return false;
    *device = part.mapping->extent->device;
    return true;
}

// ------------------------------------------------------------------------------------ work touches

static CUresult report_unmapped(const struct sim_touch *touch, uint64_t address) {
    char who[SIM_WHO_LENGTH], block[SIM_BLOCK_TEXT];
    const struct sim_side side = sim_touch_side(touch);
    if (!touch->is_told)
        sim_report_sides(simcudaReport_fault, &side, 1,
                         "\"%s\" %s %s 0x%" PRIx64 "%s, where no memory is mapped", touch->name,
                         sim_who_text(&touch->who, who), sim_touch_verb(touch), address,
                         sim_block_text(address, touch->serial, block));
    return CUDA_ERROR_ILLEGAL_ADDRESS;
}

static CUresult report_no_access(const struct sim_touch *touch, uint64_t address, int device) {
    char who[SIM_WHO_LENGTH];
    const struct sim_side side = sim_touch_side(touch);
    if (!touch->is_told)
        sim_report_sides(
            simcudaReport_noAccess, &side, 1,
            "\"%s\" %s %s 0x%" PRIx64 ", to which cuMemSetAccess gave device %d no such access",
            touch->name, sim_who_text(&touch->who, who), sim_touch_verb(touch), address, device);
    return CUDA_ERROR_ILLEGAL_ADDRESS;
}

static bool has_access(const struct sim_mapping *mapping, int device, bool writes) {
    unsigned needed = writes ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_READ;
    return (mapping->access[device] & needed) == needed;
}

// A copy goes by way of the host where one device can't reach the other's memory.
static bool is_allowed(const struct sim_job *job, const struct part *part, int device,
                       bool writes) {
    if (job->needs_no_access)
        return true;
    if (part->pinned)
        return !writes || !part->pinned->is_registered ||
               !(part->pinned->flags & CU_MEMHOSTREGISTER_READ_ONLY);
    if (!part->mapping)
        return true;
    return has_access(part->mapping, device, writes) ||
           (job->is_copy && has_access(part->mapping, part->mapping->extent->device, writes));
}

static void report_race(const struct sim_touch *old, const struct sim_touch *touch) {
    char first[SIM_WHO_LENGTH], second[SIM_WHO_LENGTH], block[SIM_BLOCK_TEXT];
    const struct sim_side sides[] = {sim_touch_side(touch), sim_touch_side(old)};
    uint64_t begin = touch->address > old->address ? touch->address : old->address;
    uint64_t end = touch->address + touch->size, old_end = old->address + old->size;
    uint64_t serial = touch->serial > old->serial ? touch->serial : old->serial;
    end = end < old_end ? end : old_end;
    if (begin >= end) { // the same bytes at two addresses
        begin = touch->address;
        end = begin + touch->size;
    }
    sim_report_sides(simcudaReport_race, sides, 2,
                     "\"%s\" %s %s bytes that \"%s\" %s %s, and nothing orders the two: [0x%" PRIx64
                     ", 0x%" PRIx64 ")%s",
                     touch->name, sim_who_text(&touch->who, first), sim_touch_verb(touch),
                     old->name, sim_who_text(&old->who, second), sim_touch_verb(old), begin, end,
                     sim_block_text(begin, serial, block));
}

// A touch that the host knows to be complete races with nothing that comes.
static void keep_pageable_small(void) {
    if (pageable.count > PAGEABLE_MAX)
        sim_history_forget_known(&pageable, sim_host_clock);
}

// A write races with all that a read of the same bytes races with, so it is told of alone.
static bool is_written_too(const struct sim_job *job, const simcudaAccess *read) {
    for (size_t i = 0; i < job->count; i++) {
        const simcudaAccess *access = &job->accesses[i];
        if (access->kind == simcudaAccessWrite && access->address == read->address &&
            access->size == read->size)
            return true;
    }
    return false;
}

static CUresult touch_range(const struct sim_item *item, const simcudaAccess *access, int device) {
    const struct sim_touch touch = sim_item_touch(item, access);
    struct sim_touch other;
    struct part part;
    for (uint64_t done = 0; done < access->size; done += part.size) {
        uint64_t address = access->address + done;
        if (!translate_access(&item->job, access, done, &part))
            return report_unmapped(&touch, address);
        if (!is_allowed(&item->job, &part, device, touch.writes))
            return report_no_access(&touch, address, device);
        if (part.mapping)
            sim_mapping_note_use(part.mapping, &touch);
        if (!sim_history_touch(part.history, part.offset, part.offset + part.size, &touch,
                               item->clock, &other) &&
            !touch.is_told && !other.is_told &&
            (touch.writes || !is_written_too(&item->job, access)))
            report_race(&other, &touch);
    }
    return CUDA_SUCCESS;
}

// ------------------------------------------------------------------------------- what a copy reads

static uint64_t sum_of(uint64_t sum, const char *bytes, uint64_t size) {
    uint64_t word;
    for (; size >= sizeof(word); size -= sizeof(word), bytes += sizeof(word)) {
        memcpy(&word, bytes, sizeof(word));
        sum = ((sum ^ word) * 0x9E3779B97F4A7C15u) ^ (sum >> 29);
    }
    for (; size > 0; size--)
        sum = (sum ^ (unsigned char)*bytes++) * 0x100000001B3u;
    return sum;
}

// Device memory has no bytes that the host can change.
static bool is_source(const simcudaAccess *access) {
    const struct sim_mapping *mapping = sim_mapping_at(access->address);
    return access->kind == simcudaAccessRead &&
           (!mapping || sim_extent_is_of_host(mapping->extent));
}

// The host may have lost its access by now, so the bytes are not looked at where it has them.
static uint64_t sum_of_mapped(uint64_t sum, const simcudaAccess *access) {
    char bytes[8192];
    for (uint64_t done = 0; done < access->size; done += sizeof bytes) {
        uint64_t part = smaller(access->size - done, sizeof bytes);
        if (sim_bytes_read(access->address + done, bytes, part))
            sum = sum_of(sum, bytes, part);
    }
    return sum;
}

uint64_t sim_bytes_sum_of_sources(const struct sim_job *job) {
    uint64_t sum = 0xCBF29CE484222325u;
    for (size_t i = 0; i < job->count; i++) {
        const simcudaAccess *access = &job->accesses[i];
        if (!is_source(access))
            continue;
        sum = sim_mapping_at(access->address)
                  ? sum_of_mapped(sum, access)
                  : sum_of(sum, host_bytes(access->address), access->size);
    }
    return sum;
}

// Finds pending work that names the bytes of a part of a mapping at another address (an alias).
static const struct sim_item *find_pending_alias(const struct part *part, bool writes,
                                                 uint64_t *at) {
    SP_LIST_FOR_EACH(link, &sim_mappings) {
        const struct sim_mapping *other = SP_CONTAINER_OF(link, struct sim_mapping, link);
        if (other == part->mapping || other->extent != part->mapping->extent)
            continue;
        *at = other->address + part->offset;
        const struct sim_item *item = sim_item_conflicting(*at, part->size, writes);
        if (item)
            return item;
    }
    return NULL;
}

// Finds pending work that writes bytes, or touches them at all if `writes`, and the address by
// which it names one of them.
static const struct sim_item *find_pending(uint64_t address, uint64_t size, bool writes,
                                           uint64_t *at) {
    struct part part;
    const struct sim_item *item = sim_item_conflicting(address, size, writes);
    *at = address;
    for (uint64_t done = 0; !item && done < size; done += part.size) {
        if (!translate(address + done, size - done, &part))
            return NULL;
        if (part.mapping && part.mapping->extent->mappings > 1)
            item = find_pending_alias(&part, writes, at);
    }
    return item;
}

bool sim_bytes_can_watch(const struct sim_job *job) {
    bool has_source = false;
    for (size_t i = 0; i < job->count; i++) {
        const simcudaAccess *access = &job->accesses[i];
        if (!is_source(access))
            continue;
        uint64_t at;
        if (find_pending(access->address, access->size, false, &at))
            return false;
        has_source = true;
    }
    return has_source;
}

static void check_sources(const struct sim_item *item) {
    const simcudaAccess *source = item->job.accesses;
    if (sim_bytes_sum_of_sources(&item->job) == item->job.source_sum)
        return;
    while (!is_source(source))
        source++;
    char who[SIM_WHO_LENGTH];
    const struct sim_touch touch = sim_item_touch(item, source);
    const struct sim_side side = sim_touch_side(&touch);
    sim_report_sides(simcudaReport_sourceChanged, &side, 1,
                     "\"%s\" %s reads [0x%" PRIx64 ", 0x%" PRIx64
                     "), which the host changed after the call and before the copy read it",
                     touch.name, sim_who_text(&touch.who, who), source->address,
                     source->address + source->size);
}

CUresult sim_bytes_touch(const struct sim_item *item, int device) {
    CUresult result = CUDA_SUCCESS;
    keep_pageable_small();
    for (size_t i = 0; i < item->job.count && result == CUDA_SUCCESS; i++)
        result = touch_range(item, &item->job.accesses[i], device);
    if (result == CUDA_SUCCESS && item->job.watches_source)
        check_sources(item);
    return result;
}

// ------------------------------------------------------------------------------------ host touches

// Returns whether the range has a touch that the host doesn't know to be complete.
static bool is_unknown(uint64_t address, uint64_t size, bool writes, struct sim_touch *touch) {
    struct part part;
    if (sim_history_conflicts(&pageable, address, address + size, writes, sim_host_clock, touch))
        return true;
    for (uint64_t done = 0; done < size; done += part.size) {
        if (!translate(address + done, size - done, &part))
            return false;
        if (sim_history_conflicts(part.history, part.offset, part.offset + part.size, writes,
                                  sim_host_clock, touch))
            return true;
    }
    return false;
}

// Finds work that may still touch bytes that conflict with a touch of the host. *is_pending says
// that it is not complete, or else that the host doesn't know it to be.
static bool find_unknown(const simcudaAccess *access, struct sim_touch *touch, bool *is_pending) {
    bool writes = access->kind == simcudaAccessWrite;
    uint64_t at;
    const struct sim_item *item = find_pending(access->address, access->size, writes, &at);
    *is_pending = item != NULL;
    if (item)
        *touch = sim_item_touch(item, sim_item_access_to(item, at, access->size));
    return item || is_unknown(access->address, access->size, writes, touch);
}

void sim_bytes_touch_by_host(uint64_t address, uint64_t size, simcudaAccessKind kind) {
    const simcudaAccess access = {address, size, kind};
    const struct sim_who caller = sim_who_calls();
    char first[SIM_WHO_LENGTH], second[SIM_WHO_LENGTH];
    struct sim_touch touch;
    bool is_pending;
    if (!find_unknown(&access, &touch, &is_pending) || touch.is_told)
        return;
    const char *does = kind == simcudaAccessWrite ? "writes" : "reads";
    const struct sim_side sides[] = {{caller, "the host", does, address, size},
                                     sim_touch_side(&touch)};
    sim_report_sides(simcudaReport_race, sides, 2,
                     "the host (%s) %s [0x%" PRIx64 ", 0x%" PRIx64 "), which \"%s\" %s %s, and %s",
                     sim_who_thread(&caller, first), does, address, address + size, touch.name,
                     sim_who_text(&touch.who, second), sim_touch_verb(&touch),
                     is_pending ? "that is pending" : "the host does not know that to be complete");
}

void sim_bytes_reset(void) {
    sim_history_destroy(&pageable);
}
