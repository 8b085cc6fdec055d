// The resource of cccl.hpp, as CCCL calls it: through a reference that knows only the concept, and
// by the names that this CCCL has.
#include <streampool/cccl.hpp>

#include <cstring>

#include "device.h"

using streampool::device_resource;
using streampool::pinned_resource;
using streampool::pool;

#if CCCL_VERSION >= 3001000
static_assert(cuda::mr::resource_with<device_resource, cuda::mr::device_accessible>);
static_assert(cuda::mr::synchronous_resource_with<device_resource, cuda::mr::device_accessible>);
static_assert(!cuda::mr::resource_with<device_resource, cuda::mr::host_accessible>);
static_assert(cuda::mr::resource_with<pinned_resource, cuda::mr::host_accessible,
                                      cuda::mr::device_accessible>);
using ordered_ref = cuda::mr::resource_ref<cuda::mr::device_accessible>;
using synchronous_ref = cuda::mr::synchronous_resource_ref<cuda::mr::device_accessible>;

static void *allocate(ordered_ref memory, size_t bytes, size_t alignment, CUstream stream) {
    return memory.allocate(cuda::stream_ref(stream), bytes, alignment);
}
static void deallocate(ordered_ref memory, void *block, size_t bytes, CUstream stream) {
    memory.deallocate(cuda::stream_ref(stream), block, bytes, 256);
}
static void *allocate_sync(synchronous_ref memory, size_t bytes) {
    return memory.allocate_sync(bytes, 256);
}
static void deallocate_sync(synchronous_ref memory, void *block, size_t bytes) {
    memory.deallocate_sync(block, bytes, 256);
}
#else
static_assert(cuda::mr::async_resource_with<device_resource, cuda::mr::device_accessible>);
static_assert(cuda::mr::resource_with<device_resource, cuda::mr::device_accessible>);
static_assert(!cuda::mr::async_resource_with<device_resource, cuda::mr::host_accessible>);
static_assert(cuda::mr::async_resource_with<pinned_resource, cuda::mr::host_accessible,
                                            cuda::mr::device_accessible>);
using ordered_ref = cuda::mr::async_resource_ref<cuda::mr::device_accessible>;
using synchronous_ref = cuda::mr::resource_ref<cuda::mr::device_accessible>;

static void *allocate(ordered_ref memory, size_t bytes, size_t alignment, CUstream stream) {
    return memory.allocate_async(bytes, alignment, cuda::stream_ref(stream));
}
static void deallocate(ordered_ref memory, void *block, size_t bytes, CUstream stream) {
    memory.deallocate_async(block, bytes, 256, cuda::stream_ref(stream));
}
static void *allocate_sync(synchronous_ref memory, size_t bytes) {
    return memory.allocate(bytes, 256);
}
static void deallocate_sync(synchronous_ref memory, void *block, size_t bytes) {
    memory.deallocate(block, bytes, 256);
}
#endif

// Returns the code that the call throws.
template <typename Call> static poolError_t code_of(Call call) {
    try {
        call();
    } catch (const streampool::failure &reason) {
        return reason.code();
    }
    return poolSuccess;
}

static void memory_comes_from_the_pool_and_goes_back() {
    const pool owner(0);
    const CUstream stream = test::stream();
    device_resource resource(owner);
    void *const block = allocate(resource, 1000, 256, stream);
    REQUIRE(block != nullptr && test::used(owner.get()) == 1000);
    REQUIRE(resource.upstream() == owner);
    deallocate(resource, block, 1000, stream);
    REQUIRE(test::used(owner.get()) == 0);
}

// Work is pending on the other streams, so only a free on this one lets it have the memory at once.
static void memory_is_freed_in_the_order_of_its_stream() {
    const pool owner(0);
    const CUstream first = test::stream();
    const CUstream second = test::stream();
    device_resource resource(owner);
    device_resource of_same_stream(owner, poolMallocSameStreamOnly);
    const size_t bytes = size_t{4} << 20;
    void *const block = allocate(resource, bytes, 256, first);
    test::add_work(first);
    test::add_work(nullptr);
    deallocate(resource, block, bytes, second);
    void *const again = allocate(of_same_stream, bytes, 256, second);
    REQUIRE(again == block);
    deallocate(resource, again, bytes, second);
    test::finish_work();
}

static void memory_for_any_stream_waits_for_what_was_pending_on_it() {
    const pool owner(0);
    device_resource resource(owner);
    test::add_work(test::thread_stream());
    void *const block = allocate_sync(resource, 1000);
    REQUIRE(block != nullptr && test::used(owner.get()) == 1000);
    REQUIRE(poolStreamQuery(test::thread_stream()) == poolSuccess);
    test::add_work(test::thread_stream());
    deallocate_sync(resource, block, 1000);
    REQUIRE(test::used(owner.get()) == 0);
    REQUIRE(poolStreamQuery(test::thread_stream()) == poolErrorNotReady);
    test::finish_work();
}

static void memory_that_can_not_be_waited_for_goes_back() {
    const pool owner(0);
    device_resource resource(owner);
    {
        const int launch_failed = 719;
        const test::refused_entry refused("cuStreamSynchronize", launch_failed);
        REQUIRE(code_of([&] { allocate_sync(resource, 1000); }) == poolErrorLaunchFailure);
    }
    REQUIRE(test::used(owner.get()) == 0);
}

static void what_is_refused_throws() {
    const pool owner(0);
    device_resource resource(owner);
    REQUIRE(code_of([&] { allocate(resource, size_t{1} << 50, 256, nullptr); }) ==
            poolErrorMemoryAllocation);
    REQUIRE(code_of([&] { allocate(resource, 1000, 1024, nullptr); }) == poolErrorInvalidValue);
    REQUIRE(test::used(owner.get()) == 0);
}

static void resources_of_one_pool_and_flags_are_equal() {
    const pool owner(0);
    const device_resource resource(owner);
    const device_resource copy = resource;
    REQUIRE(copy == resource && copy == device_resource(owner));
    REQUIRE(resource != device_resource() && resource != device_resource(owner, poolMallocFixed));
}

static void memory_of_the_host_is_the_hosts_at_once() {
    const pool owner(streampool::on_host());
    owner.set_access(0, poolMemAccessFlagsProtReadWrite);
    pinned_resource resource(owner), of_complete(owner, poolMallocCompleteOnly);
    const CUstream stream = test::stream();
    const size_t bytes = size_t{4} << 20;
    void *const block = allocate_sync(resource, bytes);
    std::memset(block, 'x', bytes);
    test::add_work(stream);
    deallocate(resource, block, bytes, stream);
    void *const fresh = allocate(of_complete, bytes, 256, stream);
    REQUIRE(fresh != block);
    std::memset(fresh, 'x', bytes);
    deallocate(of_complete, fresh, bytes, stream);
    REQUIRE(resource == pinned_resource(owner) && resource != of_complete);
    test::finish_work();
}

int main() {
    return test::run({TEST(memory_comes_from_the_pool_and_goes_back),
                      TEST(memory_is_freed_in_the_order_of_its_stream),
                      TEST(memory_for_any_stream_waits_for_what_was_pending_on_it),
                      TEST(memory_that_can_not_be_waited_for_goes_back),
                      TEST(what_is_refused_throws), TEST(resources_of_one_pool_and_flags_are_equal),
                      TEST(memory_of_the_host_is_the_hosts_at_once)});
}
