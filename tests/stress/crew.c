#include "stress/crew.h"
#include "inside/teardown.h"

#include <sched.h>

#include "inside/check.h"
#include "process/runtime.h"
#include "support/check.h"
#include "support/device.h"
#include "support/pools.h"
#include "support/simulated.h"

// ---------------------------------------------------------------------------------------- the crew

void crew_open(struct crew *crew, poolMemPool_t pool) {
    *crew = (struct crew){.pool = pool};
    REQUIRE(pthread_mutex_init(&crew->box.lock, NULL) == 0);
    for (unsigned i = 0; i < CREW; i++) {
        crew->members[i].crew = crew;
        crew->members[i].number = i;
        crew->members[i].random = i + 1;
        crew->members[i].stream = test_stream();
    }
}

void crew_share_stream(struct crew *crew) {
    for (unsigned i = 1; i < CREW; i++) {
        DRIVER(test_driver()->cuStreamDestroy(crew->members[i].stream));
        crew->members[i].stream = crew->members[0].stream;
    }
}

static void free_block(struct crew_block *block) {
    if (block->filled)
        test_check_block(block->address, block->value, block->size, block->stream);
    test_free(block->address, block->stream);
    block->address = NULL;
}

static void *work_in_thread(void *argument) {
    struct crew_member *member = argument;
    test_use_device(0);
    while (!member->crew->ready)
        sched_yield();
    for (unsigned i = 0; i < member->crew->rounds; i++)
        member->crew->work(member);
    for (unsigned i = 0; i < CREW_BLOCKS; i++) {
        if (member->blocks[i].address)
            free_block(&member->blocks[i]);
    }
    return NULL;
}

void crew_start(struct crew *crew, void (*work)(struct crew_member *member), unsigned rounds) {
    crew->work = work;
    crew->rounds = rounds;
    for (unsigned i = 0; i < CREW; i++)
        REQUIRE(pthread_create(&crew->members[i].thread, NULL, work_in_thread, &crew->members[i]) ==
                0);
    crew->ready = true;
}

void crew_join(struct crew *crew) {
    for (unsigned i = 0; i < CREW; i++)
        REQUIRE(pthread_join(crew->members[i].thread, NULL) == 0);
}

void crew_close(struct crew *crew) {
    for (unsigned i = 0; i < crew->box.count; i++)
        free_block(&crew->box.blocks[i]);
    for (unsigned i = 0; i < CREW; i++) {
        if (i == 0 || crew->members[i].stream != crew->members[0].stream) {
            EXPECT(poolStreamSynchronize(crew->members[i].stream), poolSuccess);
            DRIVER(test_driver()->cuStreamDestroy(crew->members[i].stream));
        }
    }
    pthread_mutex_destroy(&crew->box.lock);
}

static void require_sound(poolMemPool_t pool) {
    char why[256] = "";
    if (!inside_check(pool, why, sizeof why))
        test_fail(__FILE__, __LINE__, "an invariant of the pool is broken: %s", why);
}

// All threads are gone and everything was freed: the pool is empty, and the device has every byte
// back.
void crew_require_all_back(poolMemPool_t pool) {
    EXPECT(poolDeviceSynchronize(), poolSuccess);
    require_sound(pool);
    REQUIRE_EQUAL(test_used(pool), 0);
    EXPECT(poolMemPoolTrimTo(pool, 0), poolSuccess);
    REQUIRE_EQUAL(test_reserved(pool), 0);
    test_unload_kernels();
    REQUIRE_EQUAL(test_require_simulated()->simcudaMemoryInUse(0), 0);
    inside_teardown();
    test_require_no_leaks();
}

// --------------------------------------------------------------------------------- what members do

// xorshift64*
uint64_t crew_draw(struct crew_member *member, uint64_t below) {
    uint64_t x = member->random;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    member->random = x;
    return x * 0x2545f4914f6cdd1du % below;
}

static size_t draw_size(struct crew_member *member) {
    switch (crew_draw(member, 10)) {
    case 0:
        return MIB(1) + crew_draw(member, MIB(6));
    case 1:
    case 2:
        return KIB(16) + crew_draw(member, MIB(1));
    default:
        return 1 + crew_draw(member, KIB(8));
    }
}

static struct crew_block allocate(struct crew_member *member) {
    struct crew_block block = {
        .size = draw_size(member),
        .stream = member->stream,
        .value = (unsigned char)crew_draw(member, 256),
        .filled = crew_draw(member, 16) ==
                  0, // work takes long beside the calls that are to meet each other
    };
    if (member->crew->pool)
        block.address = test_malloc(member->crew->pool, block.size, block.stream);
    else
        EXPECT(poolMallocAsync(&block.address, block.size, block.stream), poolSuccess);
    if (block.filled)
        test_fill_block(block.address, block.value, block.size, block.stream);
    return block;
}

void crew_allocate_or_free(struct crew_member *member) {
    struct crew_block *place = &member->blocks[crew_draw(member, CREW_BLOCKS)];
    if (place->address)
        free_block(place);
    else
        *place = allocate(member);
}

// Few places and large sizes, so that free memory lies in pieces.
void crew_allocate_large_or_free(struct crew_member *member) {
    struct crew_block *place = &member->blocks[crew_draw(member, 4)];
    if (place->address) {
        free_block(place);
        return;
    }
    struct crew_block block = {.size = MIB(1) + crew_draw(member, MIB(20)),
                               .stream = member->stream,
                               .value = (unsigned char)crew_draw(member, 256),
                               .filled = crew_draw(member, 4) == 0};
    poolError_t error =
        poolMallocFromPoolAsync(&block.address, block.size, member->crew->pool, block.stream);
    if (error == poolErrorMemoryAllocation)
        return;
    EXPECT(error, poolSuccess);
    if (block.filled)
        test_fill_block(block.address, block.value, block.size, block.stream);
    *place = block;
}

void crew_pass_on(struct crew_member *member) {
    struct crew_box *box = &member->crew->box;
    struct crew_block block = allocate(member);
    pthread_mutex_lock(&box->lock);
    bool room = box->count < CREW_BOX;
    if (room)
        box->blocks[box->count++] = block;
    pthread_mutex_unlock(&box->lock);
    if (!room)
        free_block(&block);
}

void crew_free_from_box(struct crew_member *member) {
    struct crew_box *box = &member->crew->box;
    struct crew_block block = {.address = NULL};
    pthread_mutex_lock(&box->lock);
    if (box->count != 0)
        block = box->blocks[--box->count];
    pthread_mutex_unlock(&box->lock);
    if (block.address)
        free_block(&block);
}
