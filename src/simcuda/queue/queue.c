#include "simcuda/queue/queue.h"

#include "simcuda/common/host.h"
#include "simcuda/queue/context.h"
#include "simcuda/queue/item.h"

struct sim_clock *sim_host_clock;
uint64_t sim_host_version;

// Slots without a queue, with the sequence number that they have reached.
static struct free_slot {
    size_t slot;
    uint64_t sequence;
} * free_slots;
static size_t free_slot_count;
static size_t free_slot_capacity;
static size_t slot_count;

static void take_slot(struct sim_queue *queue) {
    for (size_t i = 0; i < free_slot_count; i++) {
        struct free_slot *found = &free_slots[i];
        if (sim_clock_at(sim_host_clock, found->slot) < found->sequence)
            continue;
        queue->slot = found->slot;
        queue->sequence = found->sequence;
        *found = free_slots[--free_slot_count];
        return;
    }
    queue->slot = slot_count++;
}

static void give_slot(const struct sim_queue *queue) {
    SIM_RESERVE_ONE(free_slots, free_slot_count, free_slot_capacity);
    free_slots[free_slot_count++] = (struct free_slot){queue->slot, queue->sequence};
}

struct sim_queue *sim_queue_create(struct sim_context *context, enum sim_queue_kind kind,
                                   uint64_t stream_id) {
    struct sim_queue *queue = sim_allocate(sizeof(*queue));
    queue->references = 1;
    queue->kind = kind;
    queue->context = context;
    queue->stream_id = stream_id;
    // As seen on an H200: it is none of the policies that can be set.
    queue->attributes.policy = (CUsynchronizationPolicy)-1;
    queue->attributes.domain_map.remote = 1;
    sp_list_init(&queue->items);
    sp_list_init(&queue->waiting);
    take_slot(queue);
    sp_list_push_back(&context->queues, &queue->link);
    return queue;
}

void sim_queue_hold(struct sim_queue *queue) {
    queue->references++;
}

struct sim_who sim_queue_who(const struct sim_queue *queue) {
    struct sim_who who = sim_who_calls();
    who.kind = queue->kind == SIM_QUEUE_LEGACY       ? SIM_WHO_LEGACY
               : queue->kind == SIM_QUEUE_PER_THREAD ? SIM_WHO_PER_THREAD
                                                     : SIM_WHO_STREAM;
    who.number = queue->number;
    return who;
}

static void note_departed(const struct sim_queue *queue, struct sim_clock **departed) {
    if (!queue->last)
        return;
    sim_clock_raise(departed, queue->slot, queue->last->sequence);
    sim_clock_merge(departed, queue->last->clock);
}

void sim_queue_drop(struct sim_queue *queue) {
    if (--queue->references > 0)
        return;
    if (queue->context)
        note_departed(queue, &queue->context->departed);
    if (queue->context && sim_queue_is_blocking(queue))
        note_departed(queue, &queue->context->departed_blocking);
    sp_list_remove(&queue->link);
    give_slot(queue);
    sim_item_drop(queue->last);
    sim_item_drop(queue->seen);
    sim_clock_drop(queue->vouched);
    sim_clock_drop(queue->clock);
    sim_clock_drop(queue->acquired);
    sim_free(queue);
}

void sim_queue_retire(struct sim_queue *queue) {
    queue->retired = true;
    queue->status_mirror = NULL;
    sim_queue_drop(queue);
}

// A host that knows of a piece of work knows of all that it ran after.
void sim_host_learn(size_t slot, uint64_t sequence, struct sim_clock *clock) {
    if (!sim_clock_raise(&sim_host_clock, slot, sequence))
        return;
    sim_clock_merge(&sim_host_clock, clock);
    sim_host_version++;
}

void sim_host_learn_clock(struct sim_clock *clock) {
    sim_host_version += sim_clock_merge(&sim_host_clock, clock);
}

void sim_queue_reset(void) {
    sim_free(free_slots);
    free_slots = NULL;
    free_slot_count = free_slot_capacity = slot_count = 0;
    sim_clock_drop(sim_host_clock);
    sim_host_clock = NULL;
    sim_host_version = 0;
}
