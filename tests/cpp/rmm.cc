// The resource of rmm.hpp, as RMM's containers call it.
#include <streampool/cccl.hpp>
#include <streampool/rmm.hpp>

#include <rmm/version_config.hpp>

#include "device.h"

using streampool::pool;
using streampool::rmm_resource;

// A container takes the resource by itself, and the map of devices' resources takes it too: as an
// object or as a pointer.
static_assert(std::is_convertible_v<rmm_resource &, rmm::device_async_resource_ref>);
static_assert(std::is_copy_constructible_v<rmm_resource>);
static_assert(
    std::is_convertible_v<streampool::pinned_resource &, rmm::host_device_async_resource_ref>);
#if __has_include(<rmm/mr/device_memory_resource.hpp>) || RMM_VERSION_MAJOR < 26
static_assert(std::is_convertible_v<rmm_resource *, rmm::mr::device_memory_resource *>);
#else
using any_resource = cuda::mr::any_resource<cuda::mr::device_accessible>;
static_assert(std::is_convertible_v<rmm_resource &, any_resource>);
#endif

static void *allocate(rmm::device_async_resource_ref memory, size_t bytes, CUstream stream) {
#if RMM_VERSION_MAJOR > 25 || (RMM_VERSION_MAJOR == 25 && RMM_VERSION_MINOR >= 12)
    return memory.allocate(cuda::stream_ref(stream), bytes, 256);
#else
    return memory.allocate_async(bytes, 256, cuda::stream_ref(stream));
#endif
}

static void deallocate(rmm::device_async_resource_ref memory, void *block, size_t bytes,
                       CUstream stream) {
#if RMM_VERSION_MAJOR > 25 || (RMM_VERSION_MAJOR == 25 && RMM_VERSION_MINOR >= 12)
    memory.deallocate(cuda::stream_ref(stream), block, bytes, 256);
#else
    memory.deallocate_async(block, bytes, 256, cuda::stream_ref(stream));
#endif
}

static void memory_comes_from_the_pool_and_goes_back() {
    const pool owner(0);
    const CUstream stream = test::stream();
    rmm_resource resource(owner);
    void *const block = allocate(resource, 1024, stream);
    REQUIRE(block != nullptr && test::used(owner.get()) == 1024);
    REQUIRE(resource.upstream() == owner);
    deallocate(resource, block, 1024, stream);
    REQUIRE(test::used(owner.get()) == 0);
}

static void too_much_is_rmms_out_of_memory_and_says_why() {
    const pool owner(0);
    rmm_resource resource(owner);
    try {
        allocate(resource, size_t{1} << 50, nullptr);
    } catch (const rmm::out_of_memory &reason) {
        const auto *failure = dynamic_cast<const streampool::failure *>(&reason);
        REQUIRE(failure && failure->code() == poolErrorMemoryAllocation);
        REQUIRE(std::string(reason.what()).find(failure->detail()) != std::string::npos);
        return;
    }
    throw std::logic_error("an allocation that should have thrown has returned");
}

static void another_failure_is_rmms_bad_alloc_and_says_why() {
    const pool owner(0);
    const CUstream stream = test::stream();
    rmm_resource resource(owner);
    const test::capture captures(stream);
    try {
        allocate(resource, 1024, stream);
    } catch (const rmm::bad_alloc &reason) {
        const auto *failure = dynamic_cast<const streampool::failure *>(&reason);
        REQUIRE(failure && failure->code() == poolErrorStreamCaptureUnsupported);
        return;
    }
    throw std::logic_error("an allocation that should have thrown has returned");
}

static void resources_of_one_pool_and_flags_are_equal() {
    const pool owner(0);
    const rmm_resource resource(owner);
    const rmm_resource copy = resource;
    REQUIRE(copy == resource && copy == rmm_resource(owner));
    REQUIRE(resource != rmm_resource() && resource != rmm_resource(owner, poolMallocFixed));
}

int main() {
    return test::run({TEST(memory_comes_from_the_pool_and_goes_back),
                      TEST(too_much_is_rmms_out_of_memory_and_says_why),
                      TEST(another_failure_is_rmms_bad_alloc_and_says_why),
                      TEST(resources_of_one_pool_and_flags_are_equal)});
}
