// Rows of threads in one process.
#include "process/runtime.h"
#include "region/device.h"
#include "stress/crew.h"
#include "stress/rows.h"
#include "support/check.h"
#include "support/device.h"
#include "support/pools.h"
#include "support/simulated.h"

enum { ROUNDS = 6000 };

static struct crew crew;

static void run_crew(poolMemPool_t pool, void (*work)(struct crew_member *member)) {
    crew_start(&crew, work, ROUNDS);
    crew_join(&crew);
    crew_close(&crew);
    crew_require_all_back(pool);
}

void row_threads_on_streams_of_their_own_share_a_pool(void) {
    poolMemPool_t pool = test_keeping_pool();
    crew_open(&crew, pool);
    run_crew(pool, crew_allocate_or_free);
}

void row_threads_share_one_stream(void) {
    poolMemPool_t pool = test_keeping_pool();
    crew_open(&crew, pool);
    crew_share_stream(&crew);
    run_crew(pool, crew_allocate_or_free);
}

// All of them free under the same numbers, and each free closes one.
void row_threads_share_a_stream_on_which_each_free_records(void) {
    poolMemPool_t pool = test_keeping_pool();
    test_set_attribute(pool, poolMemPoolAttrUnfencedBytesMax, 0);
    crew_open(&crew, pool);
    crew_share_stream(&crew);
    run_crew(pool, crew_allocate_or_free);
}

static void pass_on_or_free(struct crew_member *member) {
    if (crew_draw(member, 2))
        crew_pass_on(member);
    else
        crew_free_from_box(member);
}

void row_threads_free_what_others_allocated(void) {
    poolMemPool_t pool = test_keeping_pool();
    crew_open(&crew, pool);
    run_crew(pool, pass_on_or_free);
}

// A stream lives for one round, with work pending at its end.
static void live_a_streams_life(struct crew_member *member) {
    CUstream stream = test_stream();
    for (unsigned char i = 1; i < 5; i++) {
        size_t size = 1 + crew_draw(member, crew_draw(member, 2) ? KIB(4) : MIB(2));
        void *pointer = test_malloc(member->crew->pool, size, stream);
        test_fill_block(pointer, i, size, stream);
        test_check_block(pointer, i, size, stream);
        test_free(pointer, stream);
    }
    EXPECT(poolStreamDestroy(stream), poolSuccess);
}

static void make_a_stream_or_allocate(struct crew_member *member) {
    if (crew_draw(member, 8) == 0)
        live_a_streams_life(member);
    else
        crew_allocate_or_free(member);
}

void row_threads_make_and_destroy_streams_as_promised(void) {
    poolMemPool_t pool = test_keeping_pool();
    test_set_flag(pool, poolMemPoolAttrStreamPromises,
                  poolPromiseStreamDestroy | poolPromiseNoCapture);
    crew_open(&crew, pool);
    crew_start(&crew, make_a_stream_or_allocate, ROUNDS / 8);
    crew_join(&crew);
    crew_close(&crew);
    crew_require_all_back(pool);
}

// If the pool has room for it.
static void use_a_block(poolMemPool_t pool, size_t size, unsigned char tag, CUstream stream) {
    void *pointer = NULL;
    poolError_t error = poolMallocFromPoolAsync(&pointer, size, pool, stream);
    REQUIRE(error == poolSuccess || error == poolErrorMemoryAllocation);
    if (error != poolSuccess)
        return;
    test_fill_block(pointer, tag, size, stream);
    test_check_block(pointer, tag, size, stream);
    test_free(pointer, stream);
}

// A stream that frees more than any lane may hold back, and is destroyed while others may be asking
// it.
static void live_an_open_streams_life(struct crew_member *member) {
    CUstream stream = test_stream();
    for (unsigned char i = 1; i < 4; i++) {
        size_t size = MIB(1) + crew_draw(member, MIB(8));
        use_a_block(member->crew->pool, size, i, stream);
    }
    EXPECT(poolStreamDestroy(stream), poolSuccess);
}

enum { OPEN = poolPromiseStreamDestroy | poolPromiseNeverCapture | poolPromiseOneContext };

static poolMemPool_t beside; // whose promises end, too

static void promise_anew(struct crew_member *member) {
    static const int promises[] = {OPEN, OPEN, OPEN & ~poolPromiseOneContext,
                                   poolPromiseStreamDestroy, poolPromiseNothing};
    poolMemPool_t pool = crew_draw(member, 2) ? beside : member->crew->pool;
    if (crew_draw(member, 4) == 0)
        test_set_flag(member->crew->pool, poolMemPoolAttrDeterministic, (int)crew_draw(member, 2));
    test_set_flag(pool, poolMemPoolAttrStreamPromises, promises[crew_draw(member, 5)]);
}

static void use_pool_beside(struct crew_member *member) {
    poolMemPool_t pool = test_pool();
    test_set_flag(pool, poolMemPoolAttrStreamPromises, OPEN);
    test_free(test_malloc(beside, 1 + crew_draw(member, KIB(8)), member->stream), member->stream);
    void *pointer = test_malloc(pool, MIB(4), member->stream);
    EXPECT(poolMemPoolDestroy(pool), poolSuccess);
    test_free(pointer, member->stream);
}

// All threads have one context.
static void use_default_streams(struct crew_member *member) {
    static CUstream const streams[] = {NULL, CU_STREAM_LEGACY, CU_STREAM_PER_THREAD};
    for (unsigned char i = 1; i < 4; i++) {
        CUstream stream = streams[crew_draw(member, 3)];
        size_t size = 1 + crew_draw(member, KIB(8));
        poolMemPool_t pool = crew_draw(member, 2) ? beside : member->crew->pool;
        use_a_block(pool, size, i, stream);
    }
}

static void borrow_or_allocate(struct crew_member *member) {
    switch (crew_draw(member, 40)) {
    case 0:
    case 1:
    case 2:
        live_an_open_streams_life(member);
        break;
    case 3:
        promise_anew(member);
        break;
    case 4:
        use_pool_beside(member);
        break;
    case 5:
        EXPECT(poolMemPoolTrimTo(member->crew->pool, crew_draw(member, MIB(128))), poolSuccess);
        break;
    case 6:
        EXPECT(poolStreamSynchronize(member->stream), poolSuccess);
        break;
    case 7:
        use_default_streams(member);
        break;
    default:
        crew_allocate_large_or_free(member);
    }
}

void row_threads_ask_the_streams_of_others(void) {
    poolMemPool_t pool = test_pool_of_at_most(MIB(192));
    beside = test_keeping_pool();
    test_set_attribute(pool, poolMemPoolAttrReleaseThreshold, UINT64_MAX);
    test_set_flag(pool, poolMemPoolAttrStreamPromises, OPEN);
    crew_open(&crew, pool);
    crew_start(&crew, borrow_or_allocate, ROUNDS / 6);
    crew_join(&crew);
    test_set_flag(pool, poolMemPoolAttrStreamPromises, poolPromiseNothing);
    test_set_flag(beside, poolMemPoolAttrStreamPromises, poolPromiseNothing);
    crew_close(&crew);
    EXPECT(poolMemPoolDestroy(beside), poolSuccess);
    crew_require_all_back(pool);
}

static void synchronise_or_trim_or_allocate(struct crew_member *member) {
    switch (crew_draw(member, 40)) {
    case 0:
        EXPECT(poolStreamSynchronize(member->stream), poolSuccess);
        break;
    case 1:
        EXPECT(poolDeviceSynchronize(), poolSuccess);
        break;
    case 2:
        EXPECT(poolMemPoolTrimTo(member->crew->pool, crew_draw(member, MIB(64))), poolSuccess);
        break;
    case 3:
        EXPECT(poolStreamSynchronize(member->crew->members[crew_draw(member, CREW)].stream),
               poolSuccess);
        break;
    case 4:
        EXPECT(poolMemPoolPrime(member->crew->pool, crew_draw(member, MIB(64))), poolSuccess);
        break;
    default:
        crew_allocate_or_free(member);
        break;
    }
}

void row_threads_synchronise_and_trim_while_others_allocate(void) {
    poolMemPool_t pool = test_pool();
    crew_open(&crew, pool);
    run_crew(pool, synchronise_or_trim_or_allocate);
}

// Its last memory is a block of pieces.
static void join_in_a_pool_that_is_given_up(struct crew_member *member) {
    poolMemPool_t pool = test_pool_of_at_most(MIB(64));
    void *blocks[8];
    for (unsigned i = 0; i < 8; i++)
        blocks[i] = test_malloc(pool, MIB(8), member->stream);
    for (unsigned i = 0; i < 8; i += 2)
        test_free(blocks[i], member->stream);
    void *joined = test_malloc(pool, MIB(20), member->stream);
    EXPECT(poolMemPoolDestroy(pool), poolSuccess);
    for (unsigned i = 1; i < 8; i += 2)
        test_free(blocks[i], member->stream);
    test_free(joined, member->stream);
}

static void join_or_trim(struct crew_member *member) {
    poolMemPool_t pool = member->crew->pool;
    switch (crew_draw(member, 60)) {
    case 0:
        EXPECT(poolMemPoolTrimTo(pool, crew_draw(member, MIB(128))), poolSuccess);
        break;
    case 1:
        EXPECT(poolStreamSynchronize(member->stream), poolSuccess);
        break;
    case 2:
        join_in_a_pool_that_is_given_up(member);
        break;
    default:
        crew_allocate_large_or_free(member);
    }
}

// Few views are kept, so that they go while others are made. How often threads join memory in a
// while is the system's to decide.
void row_threads_join_memory_in_pieces(void) {
    test_require_virtual_memory();
    poolMemPool_t pool = test_pool_of_at_most(MIB(192));
    test_set_attribute(pool, poolMemPoolAttrReleaseThreshold, UINT64_MAX);
    sp_handle_pool(pool)->kept.views_max = 6;
    crew_open(&crew, pool);
    for (unsigned again = 0; again < 20 && test_attribute(pool, poolMemPoolStatRemaps) <= 100;
         again++) {
        crew_start(&crew, join_or_trim, ROUNDS / 4);
        crew_join(&crew);
    }
    REQUIRE(test_attribute(pool, poolMemPoolStatRemaps) > 100);
    crew_close(&crew);
    crew_require_all_back(pool);
}

// ---------------------------------------------------------------------------------- another device

static void let_peer(poolMemPool_t pool, enum poolMemAccessFlags flags) {
    const struct poolMemAccessDesc desc = {{poolMemLocationTypeDevice, 1}, flags};
    EXPECT(poolMemPoolSetAccess(pool, &desc, 1), poolSuccess);
}

static void change_access_or_join(struct crew_member *member) {
    static const struct poolMemLocation peer = {poolMemLocationTypeDevice, 1};
    poolMemPool_t pool = member->crew->pool;
    enum poolMemAccessFlags flags;
    if (crew_draw(member, 20) != 0) {
        join_or_trim(member);
        return;
    }
    let_peer(pool,
             crew_draw(member, 2) ? poolMemAccessFlagsProtReadWrite : poolMemAccessFlagsProtNone);
    EXPECT(poolMemPoolGetAccess(&flags, pool, &peer), poolSuccess);
    REQUIRE(flags == poolMemAccessFlagsProtNone || flags == poolMemAccessFlagsProtReadWrite);
}

// By the driver's word, for whatever is free now and what is joined from it.
static void require_peer_has(poolMemPool_t pool, enum poolMemAccessFlags flags, CUstream stream) {
    enum { BLOCKS = 24 };
    const CUmemLocation peer = {CU_MEM_LOCATION_TYPE_DEVICE, 1};
    void *blocks[BLOCKS];
    let_peer(pool, flags);
    for (unsigned i = 0; i < BLOCKS; i++)
        blocks[i] = test_malloc(pool, MIB(1) << i % 4, stream);
    for (unsigned i = 0; i < BLOCKS; i++) {
        unsigned long long found = 7;
        DRIVER(test_driver()->cuMemGetAccess(&found, &peer, (CUdeviceptr)(uintptr_t)blocks[i]));
        REQUIRE_EQUAL(found, (unsigned long long)flags);
        test_free(blocks[i], stream);
    }
}

void row_threads_let_a_peer_in_and_out_while_others_map(void) {
    test_require_virtual_memory();
    poolMemPool_t pool = test_pool_of_at_most(MIB(192));
    test_set_attribute(pool, poolMemPoolAttrReleaseThreshold, UINT64_MAX);
    crew_open(&crew, pool);
    crew_start(&crew, change_access_or_join, ROUNDS / 8);
    crew_join(&crew);
    require_peer_has(pool, poolMemAccessFlagsProtReadWrite, crew.members[0].stream);
    require_peer_has(pool, poolMemAccessFlagsProtNone, crew.members[0].stream);
    crew_close(&crew);
    crew_require_all_back(pool);
}

// ------------------------------------------------------------------------------------------- pools

// Pools of different sizes, and of each device that there is: a struct that is used again is
// another pool's in every way.
static poolMemPool_t any_pool(struct crew_member *member, int device) {
    poolMemPool_t pool = NULL;
    struct poolMemPoolProps props = test_pool_props(device);
    props.maxSize = crew_draw(member, 3) * MIB(32);
    EXPECT(poolMemPoolCreate(&pool, &props), poolSuccess);
    return pool;
}

// A pool lives for one round: it becomes current, serves, and is given up with memory of it alive.
static void live_a_pools_life(struct crew_member *member) {
    int device = (int)crew_draw(member, (uint64_t)test_device_count());
    poolMemPool_t pool = any_pool(member, device);
    void *pointer = test_malloc(pool, 1 + crew_draw(member, MIB(3)), member->stream);
    if (crew_draw(member, 2))
        EXPECT(poolDeviceSetMemPool(device, pool), poolSuccess);
    EXPECT(poolMemPoolDestroy(pool), poolSuccess);
    test_free(pointer, member->stream);
}

static void make_pools_or_allocate(struct crew_member *member) {
    if (crew_draw(member, 10) == 0)
        live_a_pools_life(member);
    else
        synchronise_or_trim_or_allocate(member);
}

// The current pool may be given up between its choice and its use, which the caller must not
// notice.
static void allocate_from_current_or_make_pools(struct crew_member *member) {
    if (crew_draw(member, 2)) {
        make_pools_or_allocate(member);
        return;
    }
    void *pointer = NULL;
    EXPECT(poolMallocAsync(&pointer, KIB(40), member->stream), poolSuccess);
    test_free(pointer, member->stream);
}

void row_threads_make_and_destroy_pools(void) {
    poolMemPool_t pool = test_pool();
    crew_open(&crew, pool);
    crew_start(&crew, allocate_from_current_or_make_pools, ROUNDS);
    crew_join(&crew);
    crew_close(&crew);
    EXPECT(poolDeviceSynchronize(), poolSuccess);
    for (int device = 0; device < test_device_count(); device++)
        EXPECT(poolMemPoolTrimTo(test_default_pool(device), 0), poolSuccess);
    crew_require_all_back(pool);
}

// The pool may be given up between two calls, which is told, and harms nothing.
static void look_at_current(struct crew_member *member) {
    static const enum poolMemPoolAttr looked_at[] = {
        poolMemPoolAttrMaxPoolSize, poolMemPoolAttrUsedMemCurrent, poolMemPoolStatReuseSameStream};
    uint64_t value;
    poolMemPool_t pool = NULL;
    EXPECT(poolDeviceGetMemPool(&pool, 0), poolSuccess);
    poolError_t error = poolMemPoolGetAttribute(pool, looked_at[crew_draw(member, 3)], &value);
    REQUIRE(error == poolSuccess || error == poolErrorInvalidValue);
    error = poolDeviceSetMemPool(1, pool);
    REQUIRE(error == poolErrorInvalidDevice || error == poolErrorInvalidValue);
}

// Half of the threads only look, many times while a pool lives, and have no lock in common with the
// others but where the library takes one.
static void replace_or_look_at_current(struct crew_member *member) {
    enum { LOOKS = 100 };
    if (member->number % 2 == 0)
        live_a_pools_life(member);
    for (int i = 0; member->number % 2 != 0 && i < LOOKS; i++)
        look_at_current(member);
}

void row_threads_look_at_pools_that_others_destroy(void) {
    crew_open(&crew, NULL);
    crew_start(&crew, replace_or_look_at_current, ROUNDS / 4);
    crew_join(&crew);
    crew_close(&crew);
    EXPECT(poolDeviceSynchronize(), poolSuccess);
    crew_require_all_back(test_default_pool(0));
}

void row_a_pool_is_destroyed_while_threads_free_into_it(void) {
    for (unsigned i = 0; i < 20; i++) {
        poolMemPool_t pool = test_pool();
        if (i % 2)
            test_set_attribute(pool, poolMemPoolAttrUnfencedBytesMax, KIB(64));
        crew_open(&crew, pool);
        for (unsigned k = 0; k < CREW_BOX; k++)
            crew_pass_on(&crew.members[k % CREW]);
        crew_start(&crew, crew_free_from_box, CREW_BOX);
        EXPECT(poolMemPoolDestroy(pool), poolSuccess);
        crew_join(&crew);
        crew_close(&crew);
    }
    crew_require_all_back(test_default_pool(0));
}

// ----------------------------------------------------------------------------------- short threads

static void *use_per_thread_stream(void *pool) {
    static const size_t sizes[] = {100, KIB(300), MIB(2)};
    test_use_device(0);
    for (unsigned i = 0; i < 3; i++) {
        void *pointer = test_malloc(pool, sizes[i], CU_STREAM_PER_THREAD);
        test_fill_block(pointer, 1, sizes[i], CU_STREAM_PER_THREAD);
        test_check_block(pointer, 1, sizes[i], CU_STREAM_PER_THREAD);
        test_free(pointer, CU_STREAM_PER_THREAD);
    }
    return NULL;
}

void row_threads_that_end_leave_nothing_behind(void) {
    poolMemPool_t pool = test_keeping_pool();
    pthread_t threads[CREW];
    for (unsigned round = 0; round < 20; round++) {
        for (unsigned i = 0; i < CREW; i++)
            REQUIRE(pthread_create(&threads[i], NULL, use_per_thread_stream, pool) == 0);
        for (unsigned i = 0; i < CREW; i++)
            REQUIRE(pthread_join(threads[i], NULL) == 0);
    }
    crew_require_all_back(pool);
}

// ------------------------------------------------------------------------------------- new streams

// A stream that has come to the slot of one before, and threads that see it first, all at a time.
static struct {
    pthread_barrier_t barrier;
    poolMemPool_t pool;
    CUstream stream;
} meeting;

enum { MEETINGS = 2000, MEETING = 3 };

static void *meet(void *unused) {
    test_use_device(0);
    CUevent event = test_event();
    for (unsigned round = 0; round < MEETINGS; round++) {
        pthread_barrier_wait(&meeting.barrier);
        EXPECT(poolEventRecord(event, meeting.stream), poolSuccess);
        test_free(test_malloc(meeting.pool, 100, meeting.stream), meeting.stream);
        pthread_barrier_wait(&meeting.barrier);
    }
    EXPECT(poolEventDestroy(event), poolSuccess);
    return unused;
}

void row_threads_meet_at_a_new_stream(void) {
    pthread_t threads[MEETING];
    meeting.pool = test_keeping_pool();
    REQUIRE(pthread_barrier_init(&meeting.barrier, NULL, MEETING + 1) == 0);
    for (unsigned i = 0; i < MEETING; i++)
        REQUIRE(pthread_create(&threads[i], NULL, meet, NULL) == 0);
    for (unsigned round = 0; round < MEETINGS; round++) {
        meeting.stream = test_stream();
        pthread_barrier_wait(&meeting.barrier);
        pthread_barrier_wait(&meeting.barrier);
        EXPECT(poolStreamSynchronize(meeting.stream), poolSuccess);
        EXPECT(poolStreamDestroy(meeting.stream), poolSuccess);
    }
    for (unsigned i = 0; i < MEETING; i++)
        REQUIRE(pthread_join(threads[i], NULL) == 0);
    REQUIRE(pthread_barrier_destroy(&meeting.barrier) == 0);
    crew_require_all_back(meeting.pool);
}
