#include "random/operations.h"

#include <assert.h>

#include "random/blocks.h"
#include "random/capture.h"
#include "random/choose.h"
#include "random/evicting.h"
#include "random/faults.h"
#include "random/living.h"
#include "random/ordering.h"
#include "random/peak.h"
#include "random/renewal.h"
#include "random/reserved.h"
#include "random/settling.h"
#include "random/work.h"
#include "support/check.h"
#include "support/device.h"

static operation spin, trim, prime, set_release_delay;

static const struct {
    const char *name;
    operation *run;
    // How often, compared with the others, where the program has no mind of its own.
    unsigned weight;
} table[] = {
    {"malloc_block", blocks_malloc, 36},
    {"free_block", blocks_free, 30},
    {"move_block", blocks_move, 10},
    {"use_block", blocks_use, 6},
    {"settle_block", settling_of_block, 12},
    {"record_event", ordering_record_event, 10},
    {"wait_event", ordering_wait_event, 12},
    {"spin", spin, 6},
    {"query_stream", ordering_query_stream, 2},
    {"query_event", ordering_query_event, 3},
    {"synchronize_stream", ordering_synchronize_stream, 1},
    {"synchronize_event", ordering_synchronize_event, 2},
    {"renew_stream", renewal_of_stream, 3},
    {"renew_event", renewal_of_event, 2},
    {"trim", trim, 1},
    {"prime", prime, 1},
    {"set_release_delay", set_release_delay, 1},
    {"renew_promises", renewal_of_promises, 1},
    {"enter_capture", capture_enter, 1},
    {"look_for_room", living_look, 1},
    {"peak", peak_come_and_go, 1},
    {"renew_pool", peak_renew_pool, 1},
    {"touch_block", blocks_touch, 8},
    {"evict_pool", evicting_of_pool, 1},
};

enum { OPERATION_COUNT = sizeof table / sizeof table[0] };
static_assert((int)OPERATION_COUNT <= (int)MAX_OPERATIONS, "each operation has a weight");

// ------------------------------------------------------------ spinning, and what the pools reserve

static void spin(struct thread *thread) {
    struct stream *stream = thread_claim_stream(thread);
    if (!stream)
        return;
    work_spin(thread, stream);
    claim_return(&stream->claim);
}

static void trim(struct thread *thread) {
    uint64_t left = numbers_below(&thread->numbers, 4) * thread->world->plan.bytes / 4;
    reserved_trim(thread, choose_pool(thread), left);
}

// Up to twice the limit, but mostly far less: what is reserved for nobody can't be pending
// anywhere.
static void prime(struct thread *thread) {
    uint64_t most = thread->world->plan.bytes * 2 >> numbers_below(&thread->numbers, 8);
    uint64_t bytes = 1 + numbers_below(&thread->numbers, most);
    reserved_prime(thread, choose_pool(thread), bytes);
}

static void set_release_delay(struct thread *thread) {
    uint64_t delay = numbers_below(&thread->numbers, INTERVALS + 1);
    reserved_delay(thread, choose_pool(thread), delay);
}

// ---------------------------------------------------------------------------------------- choosing

// The first two keep theirs: there is always something to allocate and to free. Memory that was
// primed needs no order, so half the programs do without: they are about the rules of reuse.
void operations_weigh(struct world *world, struct numbers *numbers) {
    static const unsigned eighths[] = {0, 2, 8, 8, 32, 96};
    bool primes = numbers_once_in(numbers, 2);
    for (size_t i = 0; i < OPERATION_COUNT; i++) {
        bool is_of_peaks = table[i].run == peak_come_and_go || table[i].run == peak_renew_pool;
        if (is_of_peaks && !world->plan.peaks)
            continue;
        if (table[i].run == blocks_touch && !world->plan.host)
            continue;
        world->weights[i] = table[i].weight * (i < 2 ? 8 : eighths[numbers_below(numbers, 6)]);
        if (table[i].run == prime && !primes)
            world->weights[i] = 0;
    }
}

static size_t choose(struct thread *thread) {
    const unsigned *weights = thread->world->weights;
    uint64_t all = 0;
    for (size_t i = 0; i < OPERATION_COUNT; i++)
        all += weights[i];
    uint64_t number = numbers_below(&thread->numbers, all);
    size_t i = 0;
    while (number >= weights[i])
        number -= weights[i++];
    return i;
}

void operations_next(struct thread *thread) {
    struct world *world = thread->world;
    if (world->context_count > 1 && numbers_once_in(&thread->numbers, 400)) {
        thread->name = "renew_context";
        renewal_of_context(thread);
    }
    size_t chosen = choose(thread);
    thread->name = table[chosen].name;
    faults_perform(thread, table[chosen].run);
    if (world->plan.large && world->plan.threads == 1)
        thread_require_order(thread);
    thread_require_no_reports(thread);
}

// ----------------------------------------------------------------------------------------- leaving

static bool is_of_thread(const struct block *block, unsigned thread) {
    return block->pointer && block->last->kind == STREAM_PER_THREAD &&
           block->last->thread == thread;
}

void operations_leave(struct thread *thread) {
    struct world *world = thread->world;
    for (unsigned i = 0; i < world->block_count; i++) {
        struct block *block = &world->blocks[i];
        struct stream *heir = thread_claim_stream(thread);
        if (heir && claim_alone(&block->claim)) {
            if (is_of_thread(block, thread->index) && ordering_make(thread, block->last, heir))
                block->last = heir;
            claim_return(&block->claim);
        }
        if (heir)
            claim_return(&heir->claim);
    }
}

// A thread's default stream can't be named any more once the thread has ended, so its work is
// waited for.
void operations_adopt(struct thread *thread) {
    struct world *world = thread->world;
    for (unsigned i = 0; i < world->block_count; i++) {
        struct block *block = &world->blocks[i];
        if (!block->pointer || block->last->kind != STREAM_PER_THREAD)
            continue;
        thread_enter(thread, block->last->context);
        DRIVER(test_driver()->cuCtxSynchronize());
        block->last = &world->streams[0];
    }
}

void operations_free_all(struct thread *thread) {
    for (unsigned i = 0; i < thread->world->block_count; i++) {
        struct block *block = &thread->world->blocks[i];
        if (!block->pointer)
            continue;
        if (block->used)
            work_check(thread, block, block->last);
        blocks_free_on(thread, block, block->last);
    }
}
