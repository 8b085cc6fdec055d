#include "simcuda/memory/block.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/list.h"
#include "base/tree.h"
#include "simcuda/common/clock.h"
#include "simcuda/common/host.h"
#include "simcuda/memory/mapping.h"
#include "simcuda/queue/item.h"
#include "simcuda/queue/queue.h"
#include "simcuda/report/report.h"

#define MOST_FREED 65536

struct block {
    struct sp_tree_node node; // by `begin`
    uint64_t begin;           // the bytes that are still the block's: all of it while it lives
    uint64_t end;
    uint64_t address; // all of it
    uint64_t size;
    uint64_t number;                   // of its kind, from 1
    const struct sim_context *context; // null: an allocator's
    bool is_managed;
    uint64_t serial; // of the newest piece of work when it began
    struct sim_who made;
    struct sim_block_order freed;
    struct sp_list age; // among the freed ones, oldest first
};

static int compare(const struct sp_tree_node *a, const struct sp_tree_node *b);
static struct sp_tree live = {.compare = compare};
static struct sp_tree freed = {.compare = compare};
static struct sp_list ages = {&ages, &ages};
static uint64_t freed_count;
static uint64_t last_of_driver, last_of_allocators;

static struct block *block_of(const struct sp_tree_node *node) {
    return node ? SP_CONTAINER_OF(node, struct block, node) : NULL;
}

static int compare(const struct sp_tree_node *a, const struct sp_tree_node *b) {
    uint64_t left = block_of(a)->begin, right = block_of(b)->begin;
    return (left > right) - (left < right);
}

static int compare_end(const void *key, const struct sp_tree_node *node) {
    const uint64_t *address = key;
    return block_of(node)->end > *address ? -1 : 1;
}

// Returns the first block that has bytes behind the address.
static struct block *first_behind(const struct sp_tree *tree, uint64_t address) {
    return block_of(sp_tree_lower_bound(tree, &address, compare_end));
}

static struct block *overlapping(const struct sp_tree *tree, uint64_t begin, uint64_t end) {
    struct block *block = first_behind(tree, begin);
    return block && block->begin < end ? block : NULL;
}

static struct block *live_at(uint64_t address) {
    return overlapping(&live, address, address + 1);
}

static struct block *live_beginning_at(uint64_t address) {
    struct block *block = live_at(address);
    return block && block->address == address ? block : NULL;
}

static struct block *live_or_freed_at(uint64_t address) {
    struct block *block = live_at(address);
    return block ? block : overlapping(&freed, address, address + 1);
}

bool sim_block_find(uint64_t address, uint64_t *begin, uint64_t *size) {
    const struct block *block = live_or_freed_at(address);
    if (!block)
        return false;
    *begin = block->begin;
    *size = block->end - block->begin;
    return true;
}

bool sim_block_begins_at(uint64_t address) {
    return live_beginning_at(address) != NULL;
}

// ------------------------------------------------------------------------------------------- texts

static const char *source_of(const struct block *block) {
    if (!block->context)
        return "a pool, allocation";
    return block->is_managed ? "cuMemAllocManaged" : "cuMemAlloc";
}

#define DESCRIPTION 100
static void describe(const struct block *block, char text[DESCRIPTION]) {
    snprintf(text, DESCRIPTION, "the block of %" PRIu64 " bytes from %s #%" PRIu64, block->size,
             source_of(block), block->number);
}

const char *sim_block_text(uint64_t address, uint64_t serial, char text[SIM_BLOCK_TEXT]) {
    char description[DESCRIPTION];
    const struct block *block = live_or_freed_at(address);
    text[0] = '\0';
    if (!block || block->serial >= serial)
        return text;
    describe(block, description);
    snprintf(text, SIM_BLOCK_TEXT, " of %s", description);
    return text;
}

const char *sim_block_fate(uint64_t address, char text[SIM_BLOCK_FATE]) {
    char description[DESCRIPTION], who[SIM_WHO_LENGTH];
    const struct block *block = live_or_freed_at(address);
    text[0] = '\0';
    if (!block)
        return text;
    describe(block, description);
    if (live_at(address))
        snprintf(text, SIM_BLOCK_FATE, "; %s ends at 0x%" PRIx64, description, block->end);
    else
        snprintf(text, SIM_BLOCK_FATE, "; %s was freed %s", description,
                 sim_who_text(&block->freed.who, who));
    return text;
}

static struct sim_side made_side(const struct block *block) {
    return (struct sim_side){block->made, "the block", "was allocated", block->address,
                             block->size};
}

static struct sim_side freed_side(const struct block *block) {
    return (struct sim_side){block->freed.who, "the block", "was freed", block->address,
                             block->size};
}

static const char *verb(bool writes) {
    return writes ? "writes" : "reads";
}

// ----------------------------------------------------------------------------------- begin and end

static void forget_freed(struct block *block) {
    sp_tree_remove(&freed, &block->node);
    sp_list_remove(&block->age);
    sim_clock_drop(block->freed.clock);
    sim_free(block);
    freed_count--;
}

static void enter_freed(struct block *block) {
    sp_tree_insert(&freed, &block->node);
    sp_list_push_back(&ages, &block->age);
    freed_count++;
}

static void forget_oldest(void) {
    if (freed_count > MOST_FREED)
        forget_freed(SP_CONTAINER_OF(sp_list_first(&ages), struct block, age));
}

// The bytes behind the address get an entry of their own.
static void keep_rest(const struct block *block, uint64_t address) {
    struct block *rest = sim_allocate(sizeof *rest);
    *rest = *block;
    rest->begin = address;
    rest->freed.clock = sim_clock_share(block->freed.clock);
    enter_freed(rest);
}

void sim_block_forget(uint64_t address, uint64_t size) {
    struct block *block;
    while ((block = overlapping(&freed, address, address + size)) != NULL) {
        uint64_t begin = block->begin;
        if (block->end > address + size)
            keep_rest(block, address + size);
        if (begin < address)
            block->end = address;
        else
            forget_freed(block);
    }
}

static void forget_live(struct block *block) {
    sp_tree_remove(&live, &block->node);
    sim_clock_drop(block->freed.clock);
    sim_free(block);
}

void sim_block_forget_live(uint64_t address, uint64_t size) {
    struct block *block;
    while ((block = overlapping(&live, address, address + size)) != NULL)
        forget_live(block);
}

void sim_block_begin(uint64_t address, uint64_t size, const struct sim_context *context,
                     struct sim_who who) {
    sim_block_forget_live(address, size);
    sim_block_forget(address, size);
    struct block *block = sim_allocate(sizeof *block);
    const struct sim_mapping *mapping = sim_mapping_at(address);
    *block = (struct block){
        .begin = address,
        .end = address + size,
        .address = address,
        .size = size,
        .number = context ? ++last_of_driver : ++last_of_allocators,
        .context = context,
        .is_managed = context && mapping && sim_extent_is_managed(mapping->extent),
        .serial = sim_item_last_serial,
        .made = who,
    };
    sp_tree_insert(&live, &block->node);
    forget_oldest(); // the rest of a freed one may be one more
}

void sim_block_reset(void) {
    while (!sp_tree_empty(&live))
        forget_live(block_of(sp_tree_first(&live)));
    while (!sp_tree_empty(&freed))
        forget_freed(block_of(sp_tree_first(&freed)));
    last_of_driver = last_of_allocators = 0;
}

// ------------------------------------------------------------------------------------- early frees

static bool runs_before(const struct sim_block_order *order, size_t slot, uint64_t sequence) {
    return (order->has_slot && slot == order->slot) || sim_clock_at(order->clock, slot) >= sequence;
}

static void report_early(const struct block *block, const struct sim_touch *touch) {
    char freeing[SIM_WHO_LENGTH], using[SIM_WHO_LENGTH], text[DESCRIPTION];
    const struct sim_side sides[] = {
        {block->freed.who, block->freed.call, "frees", block->address, block->size},
        {touch->who, touch->name, verb(touch->writes), touch->address, touch->size},
        made_side(block)};
    describe(block, text);
    sim_report_sides(simcudaReport_earlyFree, sides, 3,
                     "%s %s frees %s, and nothing orders that after \"%s\" %s, which %s [0x%" PRIx64
                     ", 0x%" PRIx64 ") there",
                     block->freed.call, sim_who_text(&block->freed.who, freeing), text, touch->name,
                     sim_who_text(&touch->who, using), verb(touch->writes), touch->address,
                     touch->address + touch->size);
}

static bool touches(const struct sim_item *item, const struct block *block,
                    struct sim_touch *touch) {
    for (size_t i = 0; i < item->job.count; i++) {
        const simcudaAccess *access = &item->job.accesses[i];
        if (access->address < block->end && block->begin < access->address + access->size) {
            *touch = sim_item_touch(item, access);
            return true;
        }
    }
    return false;
}

// All such pieces are told of by the one report: what comes of them is the same mistake. They are
// in the order of their serials, and most blocks are young.
static bool is_pending_work_early(struct block *block, struct sim_touch *first) {
    bool is_early = false;
    for (struct sp_list *link = sim_touching.prev; link != &sim_touching; link = link->prev) {
        struct sim_item *item = SP_CONTAINER_OF(link, struct sim_item, touching_link);
        struct sim_touch touch;
        if (item->serial <= block->serial)
            break;
        if (item->job.is_told || !touches(item, block, &touch) ||
            runs_before(&block->freed, item->slot, item->sequence))
            continue;
        item->job.is_told = true;
        *first = touch;
        is_early = true;
    }
    return is_early;
}

static bool is_past_touch_early(const struct sim_touch *touch, const void *data) {
    const struct block *block = data;
    return touch->serial > block->serial && !touch->is_told &&
           !runs_before(&block->freed, touch->slot, touch->sequence);
}

static bool is_past_work_early(const struct block *block, struct sim_touch *touch) {
    const struct sim_mapping *mapping;
    for (uint64_t at = block->begin; at < block->end; at = mapping->address + mapping->size) {
        mapping = sim_mapping_at(at);
        if (!mapping)
            return false;
        uint64_t offset = at - mapping->address, rest = block->end - at;
        uint64_t end = mapping->size - offset < rest ? mapping->size : offset + rest;
        if (sim_history_find(&mapping->extent->history, offset, end, is_past_touch_early, block,
                             touch))
            return true;
    }
    return false;
}

void sim_block_behind(uint64_t address, const struct sim_block_order *order) {
    struct block *block = live_beginning_at(address);
    if (!block)
        return;
    sim_clock_merge(&block->freed.clock, order->clock);
    if (order->has_slot)
        sim_clock_raise(&block->freed.clock, order->slot, order->sequence);
    block->freed.is_open |= order->is_open;
}

bool sim_block_end(uint64_t address, const struct sim_block_order *order) {
    struct block *block = live_beginning_at(address);
    struct sim_touch touch;
    if (!block)
        return false;
    struct sim_clock *behind = block->freed.clock;
    bool is_open = order->is_open || block->freed.is_open;
    sp_tree_remove(&live, &block->node);
    block->freed = *order;
    block->freed.is_open = is_open;
    block->freed.clock = sim_clock_share(order->clock);
    sim_clock_merge(&block->freed.clock, behind);
    sim_clock_drop(behind);
    enter_freed(block);
    forget_oldest();
    bool is_early = !block->freed.is_open &&
                    (is_pending_work_early(block, &touch) || is_past_work_early(block, &touch));
    if (is_early)
        report_early(block, &touch);
    return is_early;
}

// --------------------------------------------------------------------------- work that is enqueued

// A free that waits for nothing which the host doesn't know to be complete is over.
static bool is_after_free(const struct sim_item *item, const struct sim_block_order *order) {
    return !order->has_slot || item->slot == order->slot ||
           sim_clock_at(item->clock, order->slot) > order->sequence ||
           (sim_clock_at(sim_host_clock, order->slot) >= order->sequence &&
            sim_clock_covers(sim_host_clock, order->clock));
}

static void report_late(const struct sim_touch *touch, bool is_after, const struct block *block) {
    char using[SIM_WHO_LENGTH], freeing[SIM_WHO_LENGTH], text[DESCRIPTION];
    const struct sim_side sides[] = {
        {touch->who, touch->name, verb(touch->writes), touch->address, touch->size},
        freed_side(block),
        made_side(block)};
    describe(block, text);
    sim_report_sides(is_after ? simcudaReport_useAfterFree : simcudaReport_earlyFree, sides, 3,
                     "\"%s\" %s %s [0x%" PRIx64 ", 0x%" PRIx64 ") of %s, which was freed %s %s",
                     touch->name, sim_who_text(&touch->who, using), verb(touch->writes),
                     touch->address, touch->address + touch->size, text,
                     sim_who_text(&block->freed.who, freeing),
                     is_after ? "before" : "with no order to that");
}

static void report_past_end(const struct sim_touch *touch, const struct block *block) {
    char using[SIM_WHO_LENGTH], text[DESCRIPTION];
    uint64_t end = touch->address + touch->size;
    const struct sim_side sides[] = {
        {touch->who, touch->name, verb(touch->writes), touch->address, touch->size},
        made_side(block)};
    describe(block, text);
    sim_report_sides(simcudaReport_outOfBounds, sides, 2,
                     "\"%s\" %s %s [0x%" PRIx64 ", 0x%" PRIx64 "), which is %" PRIu64
                     " byte%s past the end of %s",
                     touch->name, sim_who_text(&touch->who, using), verb(touch->writes),
                     touch->address, end, end - block->end, end - block->end == 1 ? "" : "s", text);
}

static void report_between(const struct sim_touch *touch) {
    char using[SIM_WHO_LENGTH];
    const struct sim_side side = {touch->who, touch->name, verb(touch->writes), touch->address,
                                  touch->size};
    sim_report_sides(simcudaReport_outOfBounds, &side, 1,
                     "\"%s\" %s %s [0x%" PRIx64 ", 0x%" PRIx64
                     "), where memory of a pool is that no block has",
                     touch->name, sim_who_text(&touch->who, using), verb(touch->writes),
                     touch->address, touch->address + touch->size);
}

// The library maps memory for its pools alone. One that tells of no block has blocks there that
// nobody knows.
static bool is_of_pool(uint64_t address) {
    const struct sim_mapping *mapping = sim_mapping_at(address);
    return last_of_allocators > 0 && mapping && mapping->extent->is_of_library &&
           mapping->extent->kind == SIM_EXTENT_OF_HANDLE;
}

// Rows of one copy, of which those of a side follow each other, lie in the block of the first one.
static const struct block *live_of(const struct sim_item *item, const simcudaAccess *access) {
    bool is_next_row =
        item->job.copy_count == 1 && access > item->job.accesses && access[-1].kind == access->kind;
    const struct block *block = is_next_row ? live_at(access[-1].address) : NULL;
    return block ? block : live_at(access->address);
}

static bool check_access(const struct sim_item *item, const simcudaAccess *access) {
    struct sim_touch touch = sim_item_touch(item, access);
    uint64_t end = access->address + access->size;
    const struct block *block = live_of(item, access);
    if (block) {
        if (end > block->end)
            report_past_end(&touch, block);
        return end > block->end;
    }
    block = overlapping(&freed, access->address, end);
    bool is_after = block && is_after_free(item, &block->freed);
    if (block && block->freed.is_open && !is_after)
        return false;
    if (block)
        report_late(&touch, is_after, block);
    else if (is_of_pool(access->address))
        report_between(&touch);
    else
        return false;
    return true;
}

static pthread_t ender; // written before the flag
static _Atomic bool has_ender;

void sim_block_process_ends(void) {
    ender = pthread_self();
    atomic_store_explicit(&has_ender, true, memory_order_release);
}

static bool ends_elsewhere(void) {
    return atomic_load_explicit(&has_ender, memory_order_acquire) &&
           !pthread_equal(ender, pthread_self());
}

bool sim_block_check(const struct sim_item *item) {
    if (ends_elsewhere())
        return false;
    for (size_t i = 0; i < item->job.count; i++) {
        if (check_access(item, &item->job.accesses[i]))
            return true;
    }
    return false;
}

// ----------------------------------------------------------------------------- bad frees and leaks

bool sim_block_is_of_allocator(uint64_t address) {
    const struct block *block = live_or_freed_at(address);
    return block ? !block->context : is_of_pool(address);
}

void sim_block_report_bad_free(const char *call, uint64_t address) {
    char text[DESCRIPTION], who[SIM_WHO_LENGTH];
    const struct block *block = live_at(address);
    const struct block *gone = overlapping(&freed, address, address + 1);
    if (block) {
        describe(block, text);
        sim_report(simcudaReport_badFree,
                   "%s of 0x%" PRIx64 " does not name the first byte of a block, but one %" PRIu64
                   " bytes behind that of %s",
                   call, address, address - block->address, text);
    } else if (gone) {
        const struct sim_side sides[] = {
            {sim_who_calls(), call, "is called", address, 0}, freed_side(gone), made_side(gone)};
        describe(gone, text);
        sim_report_sides(simcudaReport_badFree, sides, 3,
                         "%s of 0x%" PRIx64 " frees %s a second time; it was freed %s", call,
                         address, text, sim_who_text(&gone->freed.who, who));
    } else {
        sim_report(simcudaReport_badFree,
                   "%s of 0x%" PRIx64 " frees an address that is not that of a live block", call,
                   address);
    }
}

uint64_t sim_block_report_leaks(void) {
    uint64_t count = 0;
    for (struct sp_tree_node *node = sp_tree_first(&live); node; node = sp_tree_next(node)) {
        char text[DESCRIPTION], who[SIM_WHO_LENGTH];
        const struct block *block = block_of(node);
        const struct sim_side side = made_side(block);
        describe(block, text);
        sim_report_sides(simcudaReport_leak, &side, 1, "%s, allocated %s, was never freed", text,
                         sim_who_text(&block->made, who));
        count++;
    }
    return count;
}
