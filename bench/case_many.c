// Many pools, and many sizes.
//
// *many_pools*: pools that are all alive. Each has allocated 1 MiB, freed it and been trimmed; or
// holds it. *given_up*: pools that were destroyed while work was pending behind their frees.
// *fixed_sizes*: fixed blocks of growing sizes, each of which is freed before the next.
#include "bounded.h"

#include <stdlib.h>
#include <streampool/streampool.h>

enum { BLOCK = 1 << 20, GRANULE = 2 << 20 };

// -------------------------------------------------------------------------------------- many pools

enum { TIME, MEMORY, SPACE = MEMORY + 2, FIGURES };

struct pools {
    poolMemPool_t *list;
    void **blocks; // null where none is held
    uint64_t count;
};

static int make_pool(poolMemPool_t *pool) {
    struct poolMemPoolProps props = {.allocType = poolMemAllocationTypePinned,
                                     .location = {poolMemLocationTypeDevice, 0}};
    return (int)poolMemPoolCreate(pool, &props);
}

static int add_pool(const struct bounded *bounded) {
    struct pools *pools = bounded->state;
    int error = make_pool(&pools->list[pools->count]);
    if (error)
        return error;
    uint64_t i = pools->count++;
    return (int)poolMallocFromPoolAsync(&pools->blocks[i], BLOCK, pools->list[i],
                                        bounded->bench->streams[0]);
}

static int hold_in_pool(const struct bounded *bounded, uint64_t index) {
    (void)index;
    return add_pool(bounded);
}

static int trim_pool(const struct bounded *bounded, uint64_t index) {
    struct pools *pools = bounded->state;
    CUstream stream = bounded->bench->streams[0];
    int error = add_pool(bounded);
    if (!error)
        error = (int)poolFreeAsync(pools->blocks[index], stream);
    if (error)
        return error;
    pools->blocks[index] = NULL;
    error = (int)poolStreamSynchronize(stream);
    return error ? error : (int)poolMemPoolTrimTo(pools->list[index], 0);
}

static int add_space(const struct bounded *bounded) {
    const struct pools *pools = bounded->state;
    uint64_t sum = 0, space = 0;
    int error = 0;
    for (uint64_t i = 0; i < pools->count && !error; i++) {
        error = (int)poolMemPoolGetAttribute(pools->list[i], poolMemPoolStatAddressSpace, &space);
        sum += space;
    }
    bounded_add(bounded, SPACE, (double)sum / (1 << 30));
    return error;
}

static int advance_pools(struct bounded *bounded,
                         int (*work)(const struct bounded *bounded, uint64_t index)) {
    int error = bounded_repeat(bounded, TIME, work);
    bounded_add_memory(bounded, MEMORY);
    return error ? error : add_space(bounded);
}

static int advance_trimmed(struct bounded *bounded) {
    return advance_pools(bounded, trim_pool);
}

static int advance_holding(struct bounded *bounded) {
    return advance_pools(bounded, hold_in_pool);
}

static int close_pools(struct pools *pools, CUstream stream) {
    int first = 0;
    for (uint64_t i = 0; i < pools->count; i++) {
        int error = pools->blocks[i] ? (int)poolFreeAsync(pools->blocks[i], stream) : 0;
        int destroyed = (int)poolMemPoolDestroy(pools->list[i]);
        first = first ? first : error ? error : destroyed;
    }
    int error = (int)poolStreamSynchronize(stream);
    return first ? first : error;
}

static int run_pools(struct bench *bench, const struct bounded_loop *loop) {
    size_t most = (size_t)loop->points[loop->point_count - 1];
    struct pools pools = {.list = calloc(most, sizeof *pools.list),
                          .blocks = calloc(most, sizeof *pools.blocks)};
    int error =
        pools.list && pools.blocks ? bounded_run(bench, loop, &pools) : CUDA_ERROR_OUT_OF_MEMORY;
    int closed = close_pools(&pools, bench->streams[0]);
    free(pools.list);
    free(pools.blocks);
    return error ? error : closed;
}

int case_many_pools(struct bench *bench) {
    static const struct bench_row figures[FIGURES] = {
        {"each", "us"}, BOUNDED_MEMORY_FIGURES, [SPACE] = {"address space", "GiB"}};
    static const struct bounded_loop trimmed = {.what = "pools",
                                                .form = "trimmed",
                                                .points = {1000, 10000, 100000},
                                                .point_count = 3,
                                                .figures = figures,
                                                .figure_count = FIGURES,
                                                .advance = advance_trimmed};
    static const struct bounded_loop holding = {.what = "pools",
                                                .form = "holding",
                                                .points = {500, 5000, 50000},
                                                .point_count = 3,
                                                .figures = figures,
                                                .figure_count = FIGURES,
                                                .advance = advance_holding};
    bounded_print_head(
        bench, "pools that are made and allocate 1 MiB: trimmed behind its free, or holding it");
    int error = run_pools(bench, &trimmed);
    if (!error && bench_fits(bench, 50000 / bench->divisor * GRANULE, "pools, holding"))
        error = run_pools(bench, &holding);
    return error;
}

// ---------------------------------------------------------------------------------------- given up

enum { CREATE, SYNCHRONIZE, OTHERS };

static int give_up(const struct bounded *bounded) {
    CUstream stream = *(const CUstream *)bounded->state;
    poolMemPool_t pool;
    void *block = NULL;
    int error = make_pool(&pool);
    if (error)
        return error;
    error = (int)poolMallocFromPoolAsync(&block, BLOCK, pool, stream);
    if (!error)
        error = bounded_hold(bounded, stream, block, BLOCK);
    int released = block ? (int)poolFreeAsync(block, stream) : 0;
    int destroyed = (int)poolMemPoolDestroy(pool);
    return error ? error : released ? released : destroyed;
}

static int create(const struct bounded *bounded, uint64_t index) {
    (void)bounded;
    (void)index;
    poolMemPool_t pool;
    int error = make_pool(&pool);
    return error ? error : (int)poolMemPoolDestroy(pool);
}

static int synchronize(const struct bounded *bounded, uint64_t index) {
    (void)index;
    return (int)poolStreamSynchronize(bounded->bench->streams[0]);
}

static int advance_given_up(struct bounded *bounded) {
    int error = 0;
    for (uint64_t i = bounded->done; i < bounded->amount && !error; i++)
        error = give_up(bounded);
    if (!error)
        error = bounded_measure(bounded, CREATE, create);
    return error ? error : bounded_measure(bounded, SYNCHRONIZE, synchronize);
}

int case_given_up(struct bench *bench) {
    static const struct bench_row figures[OTHERS] = {{"create and destroy", "us"},
                                                     {"synchronise", "us"}};
    static const struct bounded_loop loop = {.what = "given up",
                                             .points = {20, 200, 2000},
                                             .point_count = 3,
                                             .figures = figures,
                                             .figure_count = OTHERS,
                                             .advance = advance_given_up};
    CUstream stream;
    bounded_print_head(
        bench,
        "pools that were destroyed with work pending: another one made and destroyed, and another "
        "stream synchronised");
    int error = bench_open_streams(bench, &stream, 1);
    if (error)
        return error;
    error = bounded_run(bench, &loop, &stream);
    int closed = (int)poolStreamSynchronize(stream);
    bench_close_streams(&stream, 1);
    return error ? error : closed;
}

// ------------------------------------------------------------------------------------- fixed sizes

enum { FIXED_TIME, HELD_SPACE, BESIDE_PEAK, FIXED_FIGURES };

static int come_and_go(const struct bounded *bounded, uint64_t index) {
    CUstream stream = bounded->bench->streams[0];
    void *block;
    int error = (int)poolMallocAsyncWithFlags(&block, (index + 1) * GRANULE, bounded->subject->pool,
                                              stream, poolMallocFixed);
    if (!error)
        error = (int)poolFreeAsync(block, stream);
    if (!error)
        error = (int)poolStreamSynchronize(stream);
    return error ? error : (int)poolMemPoolTrimTo(bounded->subject->pool, 0);
}

static int advance_fixed(struct bounded *bounded) {
    uint64_t space = 0;
    int error = bounded_repeat(bounded, FIXED_TIME, come_and_go);
    if (!error)
        error = (int)poolMemPoolGetAttribute(bounded->subject->pool, poolMemPoolStatAddressSpace,
                                             &space);
    bounded_add(bounded, HELD_SPACE, (double)space / (1 << 20));
    bounded_add(bounded, BESIDE_PEAK, (double)space / (double)(bounded->amount * GRANULE));
    return error;
}

int case_fixed_sizes(struct bench *bench) {
    static const struct bench_row figures[FIXED_FIGURES] = {
        {"each", "us"}, {"address space", "MiB"}, {"beside the peak in use", "times"}};
    static const struct bounded_loop loop = {.what = "sizes",
                                             .points = {10, 100, 1000},
                                             .point_count = 3,
                                             .figures = figures,
                                             .figure_count = FIXED_FIGURES,
                                             .advance = advance_fixed};
    bounded_print_head(
        bench, "fixed blocks of 2 MiB, 4 MiB and so on, each freed and trimmed before the next");
    return bounded_run(bench, &loop, NULL);
}
