#include "simcuda/work/work.h"

#include <string.h>

#include "simcuda/common/host.h"
#include "simcuda/common/shared.h"
#include "simcuda/common/thread.h"
#include "simcuda/entry/abi.h"
#include "simcuda/memory/block.h"
#include "simcuda/memory/bytes.h"
#include "simcuda/queue/context.h"
#include "simcuda/queue/heap.h"
#include "simcuda/queue/schedule.h"

#define LONGEST ((uint64_t)1 << 60) // ns, 36 years: so that the clock doesn't overflow

static struct sim_heap due;
static struct sp_list watching = {&watching, &watching};
static struct sp_list held = {&held, &held};          // in the order in which their turns came
static struct sp_list started = {&started, &started}; // host functions, in order
static uint64_t pending;
static uint64_t pending_with_words; // of those, that wait for a word of memory or write one
static uint64_t full_count;
static uint64_t engines[SIMCUDA_MAX_DEVICES][SIM_ENGINES]; // the end of what each does
static bool has_acquired;                                  // whether any queue has

static struct sim_item *first_of(const struct sim_queue *queue) {
    struct sp_list *link = sp_list_first(&queue->items);
    return link ? SP_CONTAINER_OF(link, struct sim_item, link) : NULL;
}

static bool has_word(const struct sim_job *job) {
    return job->condition.size > 0 || job->flag_address != 0 || job->writes_word;
}

// ------------------------------------------------------------------------------------ becoming due

static uint64_t later(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

static uint64_t delay(void) {
    if (sim_config.completion != simcudaCompletionSeeded)
        return 0;
    return sim_random_below(&sim_chance, 2) ? sim_random_below(&sim_chance, sim_config.delay) : 0;
}

static bool flag_is_set(const struct sim_item *item) {
    uint32_t word = 0;
    return item->job.flag_address && sim_bytes_read(item->job.flag_address, &word, sizeof(word)) &&
           word != 0;
}

// The end of what the piece's engine does; null where it needs none. An engine does one copy after
// another, in the order in which they come to it.
static uint64_t *engine_of(const struct sim_item *item) {
    enum sim_engine engine = item->job.engine;
    return engine == SIM_ENGINE_NONE ? NULL : &engines[item->queue->context->device][engine];
}

static void make_due(struct sim_item *item) {
    uint64_t duration = item->job.duration < LONGEST ? item->job.duration : LONGEST;
    uint64_t start = later(item->end, item->queue->free_at);
    uint64_t *engine = engine_of(item);
    if (engine)
        start = later(start, *engine);
    item->end = start + (flag_is_set(item) ? 0 : duration) + delay();
    if (engine)
        *engine = item->end;
    item->state = SIM_DUE;
    sim_heap_push(&due, item);
    if (item->job.flag_address)
        sp_list_push_back(&watching, &item->flag_link);
}

// -------------------------------------------------------------------------------- waits for a word

static bool holds(const struct sim_condition *condition) {
    uint64_t word = 0;
    if (!sim_bytes_read(condition->address, &word, condition->size))
        return false;
    unsigned unused = 64 - 8 * condition->size;
    uint64_t difference = (word - condition->value) << unused;
    switch (condition->kind) {
    case CU_STREAM_WAIT_VALUE_EQ:
        return difference == 0;
    case CU_STREAM_WAIT_VALUE_AND:
        return (word & condition->value) != 0;
    case CU_STREAM_WAIT_VALUE_NOR:
        return ~(word | condition->value) << unused != 0;
    default:
        return difference >> 63 == 0;
    }
}

static void acquire(struct sim_queue *queue, struct sim_clock *clock) {
    sim_clock_merge(&queue->acquired, clock);
    sim_clock_merge(&queue->clock, queue->acquired);
    has_acquired = true;
}

// It is not known who wrote the word: any piece that is complete may have, or the host.
static void acquire_all(struct sim_queue *queue) {
    struct sim_clock *clock = sim_clock_share(sim_host_clock);
    for (struct sim_context *context = sim_context_next(NULL); context;
         context = sim_context_next(context)) {
        sim_clock_merge(&clock, context->departed);
        SP_LIST_FOR_EACH(link, &context->queues) {
            const struct sim_queue *other = SP_CONTAINER_OF(link, struct sim_queue, link);
            sim_clock_raise(&clock, other->slot, other->sequence - other->count);
        }
    }
    acquire(queue, clock);
    sim_clock_drop(clock);
}

// The piece's condition holds, and `by` wrote the word; null: someone did.
static void acquire_from(struct sim_queue *queue, const struct sim_item *by) {
    if (!by) {
        acquire_all(queue);
        return;
    }
    struct sim_clock *clock = sim_clock_share(by->clock);
    sim_clock_raise(&clock, by->slot, by->sequence);
    acquire(queue, clock);
    sim_clock_drop(clock);
}

// Lets go on whose condition has come to hold.
static void look_at_held(const struct sim_item *by) {
    SP_LIST_FOR_EACH_SAFE(link, &held) {
        struct sim_item *item = SP_CONTAINER_OF(link, struct sim_item, flag_link);
        if (!holds(&item->job.condition))
            continue;
        sp_list_remove(&item->flag_link);
        acquire_from(item->queue, by);
        item->end = later(item->end, sim_now);
        make_due(item);
    }
}

// Its turn has come.
static void start(struct sim_item *item) {
    if (item->job.condition.size == 0) {
        make_due(item);
        return;
    }
    item->state = SIM_HELD;
    sp_list_push_back(&held, &item->flag_link);
    look_at_held(NULL);
}

// All that depend on a piece that is complete run after what it had acquired.
static void inherit(struct sim_queue *queue, const struct sim_item *dependency) {
    if (has_acquired)
        acquire(queue, dependency->clock);
}

// ---------------------------------------------------------------------------------------- its turn

// Looks at the queue's first piece, which may have become ready.
static void advance(struct sim_queue *queue) {
    struct sim_item *item = first_of(queue);
    if (!item || item->state != SIM_QUEUED)
        return;
    while (item->dependency_count > 0) {
        struct sim_item *dependency = item->dependencies[item->dependency_count - 1];
        if (dependency->state != SIM_DONE) {
            sp_list_remove(&queue->waiting);
            sp_list_push_back(&dependency->waiters, &queue->waiting);
            return;
        }
        item->end = later(item->end, dependency->end);
        item->dependency_count--;
        inherit(queue, dependency);
        sim_item_drop(dependency);
    }
    start(item);
}

// -------------------------------------------------------------------------------------- completing

static void leave_queue(struct sim_item *item) {
    struct sim_queue *queue = item->queue;
    sp_list_remove(&item->link);
    sp_list_remove(&item->touching_link);
    sp_list_remove(&item->flag_link);
    queue->count--;
    queue->free_at = item->end;
    pending--;
    sim_pending_host_functions -= item->job.host_function != NULL;
    pending_with_words -= has_word(&item->job);
    item->state = SIM_DONE;
    item->queue = NULL;
    sim_free(item->job.owned);
    item->job.owned = NULL;
}

static void done(struct sim_item *item) {
    struct sim_queue *queue = item->queue;
    leave_queue(item);
    struct sp_list *link;
    while ((link = sp_list_pop_front(&item->waiters)) != NULL)
        advance(SP_CONTAINER_OF(link, struct sim_queue, waiting));
    advance(queue);
    sim_queue_drop(queue);
    sim_item_drop(item);
}

static void look_at_flags(const struct sim_item *by) {
    SP_LIST_FOR_EACH(link, &watching) {
        struct sim_item *item = SP_CONTAINER_OF(link, struct sim_item, flag_link);
        if (item->end > sim_now && flag_is_set(item)) {
            item->end = sim_now;
            sim_heap_hasten(&due, item);
        }
    }
    look_at_held(by);
}

void sim_work_look_at_flags(void) {
    look_at_flags(NULL);
}

static void perform(struct sim_item *item) {
    struct sim_context *context = item->queue->context;
    if (sim_context_error(context) != CUDA_SUCCESS)
        return;
    CUresult result = sim_bytes_touch(item, context->device);
    if (result == CUDA_SUCCESS && item->job.effect)
        result = item->job.effect(&item->job, context->device);
    if (result != CUDA_SUCCESS)
        sim_context_fail(context, result);
    look_at_flags(item);
}

static void complete(struct sim_item *item) {
    sim_heap_remove(&due, item);
    sim_clock_merge(&item->clock, item->queue->acquired);
    sim_now = later(sim_now, item->end);
    if (sim_config.completion == simcudaCompletionLatest)
        item->end = sim_now;
    if (item->job.host_function) {
        item->state = SIM_RUNNING;
        sim_host_learn(item->slot, item->sequence - 1, item->clock);
        sp_list_push_back(&started, &item->start_link);
        sim_changed();
        return;
    }
    perform(item);
    done(item);
}

void sim_work_progress(void) {
    look_at_held(NULL); // the host can write words without a call
    if (sim_config.completion == simcudaCompletionLatest)
        return;
    struct sim_item *item;
    while ((item = sim_heap_top(&due)) != NULL && item->end <= sim_now)
        complete(item);
}

bool sim_work_step(void) {
    struct sim_item *item = sim_heap_top(&due);
    if (item)
        complete(item);
    return item != NULL;
}

struct sim_item *sim_work_take_host_function(void) {
    struct sp_list *link = sp_list_pop_front(&started);
    return link ? SP_CONTAINER_OF(link, struct sim_item, start_link) : NULL;
}

void sim_work_host_function_done(struct sim_item *item) {
    item->end = sim_now;
    sim_host_learn(item->slot, item->sequence, item->clock);
    done(item);
    sim_work_progress();
    sim_changed();
}

// ----------------------------------------------------------------------------------------- waiting

// The piece that must complete before this one can, or this one: it is due, a host function that
// runs, or held.
static struct sim_item *needed(struct sim_item *item) {
    while (item->state == SIM_QUEUED) {
        struct sim_item *first = first_of(item->queue);
        item = first == item ? item->dependencies[item->dependency_count - 1] : first;
    }
    return item;
}

// A word is waited for that work of other streams may write, or another thread by a store.
static void await_word(void) {
    if (!sim_work_step() && !sim_schedule_away(sim_thread_self()))
        sim_sleep_for(1);
    look_at_held(NULL);
}

static void wait_until_done(struct sim_item *item) {
    while (item->state != SIM_DONE) {
        struct sim_item *next = needed(item);
        if (next->state == SIM_HELD)
            await_word();
        else if (next->state == SIM_RUNNING)
            sim_sleep();
        else
            complete(sim_config.completion == simcudaCompletionLatest ? next : sim_heap_top(&due));
    }
}

void sim_work_wait(struct sim_item *item) {
    sim_item_hold(item);
    if (item->state != SIM_DONE)
        sim_schedule_away(sim_thread_self());
    wait_until_done(item);
    sim_host_learn(item->slot, item->sequence, item->clock);
    sim_item_drop(item);
}

void sim_work_finish(struct sim_item *item) {
    sim_item_hold(item);
    while (item->state != SIM_DONE) {
        struct sim_item *next = needed(item);
        if (next->state == SIM_HELD)
            break;
        if (next->state == SIM_RUNNING) {
            sim_sleep();
            continue;
        }
        if (next->end > sim_now) {
            next->end = sim_now;
            sim_heap_hasten(&due, next);
        }
        complete(next);
    }
    sim_item_drop(item);
}

void sim_work_finish_first(struct sim_queue *queue, uint64_t n) {
    uint64_t index = 0;
    struct sim_item *item = NULL;
    SP_LIST_FOR_EACH(link, &queue->items) {
        if (index++ == n)
            break;
        item = SP_CONTAINER_OF(link, struct sim_item, link);
    }
    if (item)
        sim_work_finish(item);
}

// A host function that runs is not waited for, nor a word: a poll never blocks.
static void hurry(struct sim_item *item) {
    struct sim_item *next;
    while (item->state != SIM_DONE && (next = needed(item))->state == SIM_DUE)
        complete(next);
}

bool sim_work_look(struct sim_item *item) {
    bool is_patient = sim_config.completion != simcudaCompletionLatest || sim_config.patience == 0;
    sim_item_hold(item);
    if (item->state != SIM_DONE && !is_patient && ++item->polls >= sim_config.patience)
        hurry(item);
    bool is_done = item->state == SIM_DONE;
    sim_item_drop(item);
    return is_done;
}

bool sim_work_poll(struct sim_item *item) {
    sim_item_hold(item);
    bool is_done = sim_work_look(item);
    if (is_done)
        sim_host_learn(item->slot, item->sequence, item->clock);
    sim_item_drop(item);
    return is_done;
}

// ------------------------------------------------------------------------------------------ adding

// Orders the queue's clock after the item, whose own may have grown since the queue's was raised.
// The piece to be added, null for none, depends on it while it is pending.
static void depend(struct sim_queue *queue, struct sim_item *item, struct sim_item *dependency) {
    if (sim_clock_raise(&queue->clock, dependency->slot, dependency->sequence) || has_acquired)
        sim_clock_merge(&queue->clock, dependency->clock);
    if (!item || dependency->state == SIM_DONE || dependency->queue == queue)
        return;
    SIM_RESERVE_ONE(item->dependencies, item->dependency_count, item->dependency_capacity);
    item->dependencies[item->dependency_count++] = dependency;
    sim_item_hold(dependency);
}

static void order_after_host(struct sim_queue *queue) {
    if (queue->host_version == sim_host_version)
        return;
    sim_clock_merge(&queue->clock, sim_host_clock);
    queue->host_version = sim_host_version;
}

// The legacy stream and the blocking streams of its context run after each other, in the order of
// the calls.
static void order_by_legacy(struct sim_queue *queue, struct sim_item *item) {
    struct sim_context *context = queue->context;
    if (sim_queue_is_blocking(queue) && context->legacy->last)
        depend(queue, item, context->legacy->last);
    if (queue->kind != SIM_QUEUE_LEGACY)
        return;
    sim_clock_merge(&queue->clock, context->departed_blocking);
    SP_LIST_FOR_EACH(link, &context->queues) {
        struct sim_queue *other = SP_CONTAINER_OF(link, struct sim_queue, link);
        if (sim_queue_is_blocking(other) && other->last)
            depend(queue, item, other->last);
    }
}

// Brings in what another queue has acquired since pieces were added that run after it. Returns
// whether the next piece runs behind one there that still waits for a word.
static bool is_behind_word(struct sim_queue *queue, const struct sim_queue *other) {
    SP_LIST_FOR_EACH(link, &other->items) {
        const struct sim_item *item = SP_CONTAINER_OF(link, struct sim_item, link);
        if (other != queue && sim_clock_at(queue->clock, item->slot) < item->sequence)
            return false;
        sim_clock_merge(&queue->clock, other->acquired);
        if (pending_with_words == 0 || item->job.condition.size > 0)
            return pending_with_words > 0;
    }
    return false;
}

static bool is_order_open(struct sim_queue *queue) {
    bool is_open = false;
    if (!has_acquired && pending_with_words == 0)
        return false;
    for (struct sim_context *context = sim_context_next(NULL); context;
         context = sim_context_next(context)) {
        SP_LIST_FOR_EACH(link, &context->queues)
            is_open |= is_behind_word(queue, SP_CONTAINER_OF(link, struct sim_queue, link));
    }
    return is_open;
}

struct sim_block_order sim_work_free_order(struct sim_queue *queue, const char *call) {
    order_after_host(queue);
    order_by_legacy(queue, NULL);
    bool is_open = is_order_open(queue);
    return (struct sim_block_order){.has_slot = true,
                                    .slot = queue->slot,
                                    .sequence = queue->sequence,
                                    .is_open = is_open,
                                    .clock = queue->clock,
                                    .who = sim_queue_who(queue),
                                    .call = call};
}

static void wait_for_place(struct sim_queue *queue) {
    if (queue->count < sim_config.queue)
        return;
    full_count++;
    while (queue->count >= sim_config.queue) {
        struct sim_item *first = first_of(queue);
        sim_schedule_away(sim_thread_self());
        if (first == first_of(queue)) {
            sim_item_hold(first);
            wait_until_done(first);
            sim_item_drop(first);
        }
    }
}

static struct sim_item *make(struct sim_queue *queue, struct sim_job *job) {
    struct sim_item *item = sim_allocate(sizeof(*item));
    item->references = 1;
    item->queue = queue;
    item->serial = ++sim_item_last_serial;
    item->enqueued_at = item->end = sim_now;
    item->who = sim_queue_who(queue);
    item->job = *job;
    *job = (struct sim_job){0};
    sp_list_init(&item->waiters);
    sp_list_init(&item->link);
    sp_list_init(&item->touching_link);
    sp_list_init(&item->flag_link);
    sp_list_init(&item->start_link);
    sim_queue_hold(queue);
    return item;
}

static void enter(struct sim_queue *queue, struct sim_item *item) {
    item->slot = queue->slot;
    item->sequence = ++queue->sequence;
    item->clock = sim_clock_share(queue->clock);
    sim_item_drop(queue->last);
    queue->last = item;
    sim_item_hold(item);
    sp_list_push_back(&queue->items, &item->link);
    if (item->job.count > 0)
        sp_list_push_back(&sim_touching, &item->touching_link);
    queue->count++;
    pending++;
    sim_pending_host_functions += item->job.host_function != NULL;
    pending_with_words += has_word(&item->job);
}

static void see(struct sim_queue *queue, struct sim_item *item) {
    sim_item_drop(queue->seen);
    queue->seen = item;
    sim_item_hold(item);
    sim_clock_drop(queue->vouched);
    queue->vouched = NULL;
}

// The piece waits for these, which are all done.
static void vouch(struct sim_queue *queue, struct sim_item *const *dependencies, size_t count) {
    for (size_t i = 0; i < count; i++) {
        sim_clock_raise(&queue->vouched, dependencies[i]->slot, dependencies[i]->sequence);
        sim_clock_merge(&queue->vouched, dependencies[i]->clock);
    }
}

static bool is_quiet(const struct sim_queue *queue, const struct sim_item *item,
                     struct sim_item *const *dependencies, size_t count) {
    if (!item->job.is_quiet || !sim_queue_is_blocking(queue))
        return false;
    for (size_t i = 0; i < count; i++) {
        if (dependencies[i]->state != SIM_DONE)
            return false;
    }
    return true;
}

CUresult sim_work_add(struct sim_queue *queue, struct sim_job *job,
                      struct sim_item *const *dependencies, size_t dependency_count,
                      struct sim_item **result) {
    wait_for_place(queue);
    if (!queue->context) {
        sim_job_drop(job);
        return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    }
    struct sim_item *item = make(queue, job);
    order_after_host(queue);
    order_by_legacy(queue, item);
    for (size_t i = 0; i < dependency_count; i++)
        depend(queue, item, dependencies[i]);
    enter(queue, item);
    if (sim_checks() && !item->job.is_told && !item->job.is_free)
        item->job.is_told = sim_block_check(item);
    if (is_quiet(queue, item, dependencies, dependency_count))
        vouch(queue, dependencies, dependency_count);
    else
        see(queue, item);
    if (result) {
        sim_item_hold(item);
        *result = item;
    }
    advance(queue);
    sim_work_progress();
    return CUDA_SUCCESS;
}

// A piece of work even if the other one is done already: whoever waits for this queue, or runs
// after it by the legacy stream's order, runs after what it waited for.
CUresult sim_work_order_after(struct sim_queue *queue, struct sim_item *item) {
    struct sim_job job = {.name = "wait", .is_quiet = true};
    sim_item_hold(item);
    CUresult result = sim_work_add(queue, &job, &item, 1, NULL);
    sim_item_drop(item);
    return result;
}

// ----------------------------------------------------------------------------------------- looking

uint64_t sim_work_pending(void) {
    return pending;
}

bool sim_work_waits_outside(void) {
    return sim_pending_host_functions > 0 || pending_with_words > 0;
}

void sim_work_finish_touching(uint64_t address, uint64_t size) {
    struct sim_item *item;
    enum sim_item_state state = SIM_DONE;
    while (state == SIM_DONE && (item = sim_item_naming(address, size)) != NULL) {
        sim_item_hold(item);
        sim_work_finish(item);
        state = item->state;
        sim_item_drop(item);
    }
}

uint64_t sim_work_full_count(void) {
    return full_count;
}

static void forget_waiting(struct sim_queue *queue) {
    sp_list_remove(&queue->waiting);
}

// Ends every piece without its effect.
static void abandon(struct sim_queue *queue) {
    struct sim_item *item;
    sim_queue_hold(queue);
    while ((item = first_of(queue)) != NULL) {
        leave_queue(item);
        sim_queue_drop(queue);
        sim_item_drop(item);
    }
    sim_queue_drop(queue);
}

static void for_each_queue(void (*visit)(struct sim_queue *queue)) {
    for (struct sim_context *context = sim_context_next(NULL); context;
         context = sim_context_next(context)) {
        SP_LIST_FOR_EACH_SAFE(link, &context->queues)
            visit(SP_CONTAINER_OF(link, struct sim_queue, link));
    }
}

// Memory of the host that a copy reads may be gone by now.
static void drop_effects(struct sim_queue *queue) {
    SP_LIST_FOR_EACH(link, &queue->items) {
        struct sim_item *item = SP_CONTAINER_OF(link, struct sim_item, link);
        item->job.effect = NULL;
        item->job.watches_source = false;
    }
}

void sim_work_touch_pending(void) {
    struct sim_item *item;
    for_each_queue(drop_effects);
    while ((item = sim_heap_top(&due)) != NULL) {
        if (!item->job.host_function) {
            complete(item);
            continue;
        }
        sim_heap_remove(&due, item);
        item->state = SIM_RUNNING; // for good: nobody runs it any more, and threads may wait for it
    }
}

void sim_work_reset(void) {
    sp_list_init(&started);
    for_each_queue(forget_waiting);
    for_each_queue(abandon);
    sim_heap_destroy(&due);
    memset(engines, 0, sizeof(engines));
    has_acquired = false;
    sim_item_last_serial = full_count = 0;
}
