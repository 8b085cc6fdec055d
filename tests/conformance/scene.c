#include "conformance/scene.h"

#include "support/check.h"

void scene_open_on(struct scene *scene, size_t size, CUstream a, CUstream b) {
    size_t most = size < MIB(32) ? MIB(32) : size;
    *scene = (struct scene){.pool = test_pool_of_at_most(most), .a = a, .b = b, .size = size};
    test_set_attribute(scene->pool, poolMemPoolAttrReleaseThreshold, UINT64_MAX);
    test_set_all_policies(scene->pool, 0);
    if (most > size)
        test_malloc(scene->pool, most - size, a);
    scene->block = test_malloc(scene->pool, size, a);
    REQUIRE_EQUAL(test_reserved(scene->pool), most);
    test_fill(scene->block, 1, size, a);
}

void scene_open(struct scene *scene, size_t size) {
    scene_open_on(scene, size, test_stream(), test_stream());
}

void scene_hold_and_write(struct scene *scene, CUstream stream) {
    test_hold(&scene->hold, stream);
    test_fill(scene->block, 2, scene->size, stream);
}

void scene_free_held(struct scene *scene, CUstream stream) {
    scene_hold_and_write(scene, stream);
    test_free(scene->block, stream);
}

void scene_open_pending(struct scene *scene, size_t size) {
    scene_open(scene, size);
    scene_free_held(scene, scene->a);
}

bool scene_gives_with(struct scene *scene, CUstream stream, unsigned int flags) {
    struct test_figures before = test_figures(scene->pool);
    void *pointer = NULL;
    poolError_t error = poolMallocAsyncWithFlags(&pointer, scene->size, scene->pool, stream, flags);
    if (error == poolSuccess) {
        REQUIRE(pointer == scene->block);
        return true;
    }
    EXPECT(error, poolErrorMemoryAllocation);
    REQUIRE(!pointer);
    REQUIRE_FIGURES(scene->pool, before);
    return false;
}

bool scene_gives(struct scene *scene, CUstream stream) {
    return scene_gives_with(scene, stream, poolMallocDefault);
}

void scene_let_go(struct scene *scene) {
    test_let_go(&scene->hold);
    EXPECT(poolDeviceSynchronize(), poolSuccess);
}

void scene_require_order(struct scene *scene, CUstream stream) {
    test_fill(scene->block, 3, scene->size, stream);
    scene_let_go(scene);
    REQUIRE(test_is_filled(scene->block, 3, scene->size));
}

void scene_for_each_size(void (*row)(size_t size)) {
    row(SCENE_SMALL);
    row(SCENE_LARGE);
}
