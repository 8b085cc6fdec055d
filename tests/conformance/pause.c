// Rows of pools that pause (streampool/swap.h).
#include <stdint.h>
#include <stdlib.h>
#include <streampool/swap.h>

#include "conformance/rows.h"
#include "support/check.h"
#include "support/device.h"
#include "support/pools.h"

enum { COUNT = 12 };

struct scene {
    poolMemPool_t pool;
    CUstream stream;
    void *blocks[COUNT];
    size_t sizes[COUNT];
};

// Blocks of all sizes: one is larger than a piece of the host's memory.
static void open_scene(struct scene *scene) {
    test_require_virtual_memory();
    scene->pool = test_pool();
    scene->stream = test_stream();
    for (unsigned i = 0; i < COUNT; i++) {
        scene->sizes[i] = i == 5 ? MIB(257) + 3 : (size_t)700 << i;
        scene->blocks[i] = test_malloc(scene->pool, scene->sizes[i], scene->stream);
        test_fill(scene->blocks[i], (unsigned char)(i + 1), scene->sizes[i], scene->stream);
    }
}

static void pause_and_resume(const struct scene *scene, struct poolMemPoolPaused *paused) {
    EXPECT(poolMemPoolPause(scene->pool, NULL, poolPauseSave, NULL, 0, paused), poolSuccess);
    REQUIRE_EQUAL(test_reserved(scene->pool), 0);
    EXPECT(poolMemPoolResume(scene->pool, NULL), poolSuccess);
}

static void close_scene(const struct scene *scene) {
    for (unsigned i = 0; i < COUNT; i++) {
        REQUIRE(test_is_filled(scene->blocks[i], (unsigned char)(i + 1), scene->sizes[i]));
        test_free(scene->blocks[i], scene->stream);
    }
}

void row_a_paused_pool_comes_back_with_its_contents(void) {
    struct scene scene;
    struct poolMemPoolPaused paused;
    open_scene(&scene);
    for (unsigned i = 0; i < 2; i++) {
        pause_and_resume(&scene, &paused);
        REQUIRE_EQUAL(paused.pools, 1);
        REQUIRE(paused.hostBytes > MIB(257));
        REQUIRE_EQUAL(paused.fileBytes + paused.discardedBytes + paused.stayedBytes, 0);
    }
    close_scene(&scene);
}

void row_a_paused_pool_comes_back_from_a_file(void) {
    struct scene scene;
    struct poolMemPoolPaused paused;
    open_scene(&scene);
    REQUIRE(setenv("STREAMPOOL_SWAP_DIR", "/tmp", 1) == 0);
    EXPECT(poolSwapSetHostLimit(MIB(10)), poolSuccess);
    pause_and_resume(&scene, &paused);
    REQUIRE_EQUAL(paused.hostBytes, MIB(10));
    REQUIRE(paused.fileBytes > MIB(247));
    close_scene(&scene);
}

void row_tags_pause_apart_and_keep_what_is_saved(void) {
    test_require_virtual_memory();
    poolMemPool_t pool = test_pool(), saved = NULL, discarded = NULL;
    CUstream stream = test_stream();
    EXPECT(poolMemPoolGetTagged(pool, "saved", &saved), poolSuccess);
    EXPECT(poolMemPoolGetTagged(pool, "discarded", &discarded), poolSuccess);
    void *blocks[] = {test_malloc(pool, MIB(32), stream), test_malloc(saved, MIB(32), stream),
                      test_malloc(discarded, MIB(32), stream)};
    for (unsigned i = 0; i < 3; i++)
        test_fill(blocks[i], (unsigned char)(i + 1), MIB(32), stream);
    EXPECT(poolMemPoolPause(pool, "discarded", poolPauseDiscard, NULL, 0, NULL), poolSuccess);
    EXPECT(poolMemPoolPause(pool, "saved", poolPauseSave, NULL, 0, NULL), poolSuccess);
    REQUIRE_EQUAL(test_reserved(saved) + test_reserved(discarded), 0);
    REQUIRE(test_is_filled(blocks[0], 1, MIB(32)));
    EXPECT(poolMemPoolResume(pool, NULL), poolSuccess);
    REQUIRE(test_is_filled(blocks[1], 2, MIB(32)));
    for (unsigned i = 0; i < 3; i++) {
        test_fill(blocks[i], 9, MIB(32), stream);
        test_free(blocks[i], stream);
    }
    EXPECT(poolMemPoolDestroyTagged(pool, NULL), poolSuccess);
}
