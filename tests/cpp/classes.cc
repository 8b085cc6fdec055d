// The classes of streampool.hpp: exceptions, pools, buffers and resources.
#include <streampool/streampool.hpp>

#include <cstring>
#include <typeinfo>
#include <vector>

#include "device.h"

using streampool::buffer;
using streampool::on_host;
using streampool::on_node;
using streampool::pool;
using streampool::pool_ref;
using streampool::resource;

// ------------------------------------------------------------------------------ what compiles

template <typename T>
constexpr bool moves_only =
    std::is_nothrow_move_constructible_v<T> &&std::is_nothrow_move_assignable_v<T> &&
    !std::is_copy_constructible_v<T> && !std::is_copy_assignable_v<T>;
static_assert(moves_only<pool> && moves_only<buffer<float>>, "there is one owner");

// A pool can be named while it lives, and not when it is about to end.
static_assert(std::is_constructible_v<resource, pool &>);
static_assert(!std::is_constructible_v<resource, pool>);
static_assert(!std::is_constructible_v<buffer<int>, int, CUstream, pool>);
static_assert(std::is_constructible_v<pool_ref, poolMemPool_t>);
static_assert(!std::is_convertible_v<int, pool>);

static_assert(std::is_same_v<streampool::attribute_t<poolMemPoolReuseAllowOpportunistic>, int>);
static_assert(std::is_same_v<streampool::attribute_t<poolMemPoolAttrReleaseThreshold>, uint64_t>);
static_assert(std::is_same_v<streampool::attribute_t<poolMemPoolStatGrowths>, uint64_t>);
static_assert(std::is_same_v<streampool::attribute_t<poolMemPoolStatPinnedBytes>, uint64_t>);

static_assert(std::is_nothrow_copy_constructible_v<streampool::error>);
static_assert(std::is_nothrow_copy_constructible_v<streampool::out_of_memory>);

// ------------------------------------------------------------------------------------- exceptions

template <typename Exception, typename Call> static Exception thrown_by(Call call) {
    try {
        call();
    } catch (const Exception &reason) {
        return reason;
    }
    throw std::logic_error("a call that should have thrown has returned");
}

template <typename Exception, typename Call> static bool throws(Call call) {
    thrown_by<Exception>(call);
    return true;
}

static void memory_that_the_driver_refuses_is_bad_alloc_and_says_why() {
    const pool owner(0);
    const auto ask = [&] {
        const test::refused_entry refused("cuMemCreate", 2);
        const buffer<char> memory(4096, test::stream(), owner);
    };
    const auto reason = thrown_by<streampool::out_of_memory>(ask);
    REQUIRE(reason.code() == poolErrorMemoryAllocation);
    REQUIRE(reason.native_result() == 2);
    REQUIRE(std::strcmp(reason.native_entry_point(), "cuMemCreate") == 0);
    REQUIRE(std::strcmp(reason.detail(), poolGetLastErrorDetail()) == 0);
    REQUIRE(std::strstr(reason.what(), "poolErrorMemoryAllocation"));
    REQUIRE(std::strstr(reason.what(), reason.detail()));
    REQUIRE(throws<std::bad_alloc>(ask));
    REQUIRE(throws<streampool::failure>(ask));
    try {
        ask();
    } catch (const std::exception &standard) {
        REQUIRE(std::strcmp(standard.what(), reason.what()) == 0);
    }
}

static void another_error_is_a_runtime_error_and_says_why() {
    const auto ask = [] { pool nowhere(99); };
    const auto reason = thrown_by<streampool::error>(ask);
    REQUIRE(reason.code() == poolErrorInvalidValue);
    REQUIRE(reason.native_result() == 0);
    REQUIRE(std::strcmp(reason.native_entry_point(), "") == 0);
    REQUIRE(std::strlen(reason.detail()) > 0);
    REQUIRE(std::strstr(reason.what(), "poolMemPoolCreate: poolErrorInvalidValue: ") ==
            reason.what());
    REQUIRE(throws<std::runtime_error>(ask));
    REQUIRE(throws<streampool::failure>(ask));
}

static void an_exception_outlives_the_next_failure() {
    const auto first = thrown_by<streampool::error>([] { pool nowhere(99); });
    const std::string detail = first.detail();
    const auto copy = first;
    REQUIRE(poolMemPoolTrimTo(nullptr, 0) == poolErrorInvalidValue);
    REQUIRE(detail == copy.detail());
    REQUIRE(detail != poolGetLastErrorDetail());
}

static void success_throws_nothing() {
    streampool::check(poolSuccess, "a call");
    REQUIRE(throws<streampool::error>([] { streampool::check(poolErrorNotReady, "a call"); }));
}

// ------------------------------------------------------------------------------------------- pools

static void attributes_have_their_types() {
    const pool owner(0);
    owner.set_attribute<poolMemPoolAttrReleaseThreshold>(UINT64_MAX);
    REQUIRE(owner.get_attribute<poolMemPoolAttrReleaseThreshold>() == UINT64_MAX);
    owner.set_attribute<poolMemPoolReuseAllowOpportunistic>(0);
    REQUIRE(owner.get_attribute<poolMemPoolReuseAllowOpportunistic>() == 0);
    owner.set_attribute<poolMemPoolAttrDefragmentation>(poolDefragmentNever);
    REQUIRE(owner.get_attribute<poolMemPoolAttrDefragmentation>() == poolDefragmentNever);
    REQUIRE(throws<streampool::error>(
        [&] { owner.set_attribute<poolMemPoolAttrReservedMemCurrent>(0); }));
}

static void each_attribute_and_statistic_can_be_read() {
    const pool owner(0);
#define READ(name, number, type)                                                                   \
    {                                                                                              \
        streampool::attribute_t<name> value = 0;                                                   \
        REQUIRE(poolMemPoolGetAttribute(owner.get(), name, &value) == poolSuccess);                \
        REQUIRE(owner.get_attribute<name>() == value);                                             \
    }
#define READ_STATISTIC(name, number, text) READ(poolMemPoolStat##name, number, text)
    STREAMPOOL_POOL_ATTRIBUTES(READ)
    STREAMPOOL_POOL_STATISTICS(READ_STATISTIC)
    STREAMPOOL_POOL_GAUGES(READ_STATISTIC)
#undef READ_STATISTIC
#undef READ
}

static void a_pool_ends_with_its_owner() {
    poolMemPool_t handle = nullptr;
    {
        pool first(0);
        handle = first.get();
        pool second(std::move(first));
        REQUIRE(first.get() == nullptr && second.get() == handle);
        pool third(0);
        const poolMemPool_t replaced = third.get();
        third = std::move(second);
        REQUIRE(second.get() == nullptr && third.get() == handle);
        REQUIRE(poolMemPoolTrimTo(replaced, 0) == poolErrorInvalidValue);
        pool &same = third;
        third = std::move(same);
        REQUIRE(third.get() == handle);
        REQUIRE(poolMemPoolTrimTo(handle, 0) == poolSuccess);
    }
    REQUIRE(poolMemPoolTrimTo(handle, 0) == poolErrorInvalidValue);
}

static void a_released_pool_is_the_callers() {
    poolMemPool_t handle = nullptr;
    {
        pool owner(0);
        handle = owner.release();
        REQUIRE(owner.get() == nullptr);
    }
    REQUIRE(poolMemPoolDestroy(handle) == poolSuccess);
}

static void a_pool_has_the_properties_that_it_is_made_with() {
    poolMemPoolProps properties = pool::properties_of(0);
    properties.maxSize = size_t{64} << 20;
    const pool owner(properties);
    REQUIRE(owner.get_attribute<poolMemPoolAttrMaxPoolSize>() == properties.maxSize);
    REQUIRE(throws<streampool::out_of_memory>(
        [&] { const buffer<char> memory(size_t{65} << 20, nullptr, owner); }));
}

static void a_pool_is_primed_and_trimmed() {
    const pool owner(0);
    owner.prime(size_t{8} << 20);
    REQUIRE(owner.get_attribute<poolMemPoolAttrReservedMemCurrent>() >= size_t{8} << 20);
    owner.trim_to(0);
    REQUIRE(owner.get_attribute<poolMemPoolAttrReservedMemCurrent>() == 0);
}

static void access_is_read_and_set() {
    const pool owner(0);
    REQUIRE(owner.get_access(0) == poolMemAccessFlagsProtReadWrite);
    owner.set_access(0, poolMemAccessFlagsProtReadWrite);
    const auto reason = thrown_by<streampool::error>(
        [&] { owner.set_access(99, poolMemAccessFlagsProtReadWrite); });
    REQUIRE(reason.code() == poolErrorInvalidDevice);
    REQUIRE(throws<streampool::error>([&] { owner.get_access(99); }));
}

static void a_pool_has_a_name() {
    const pool owner(0);
    const std::string own = owner.name();
    REQUIRE(own.rfind("pool ", 0) == 0);
    owner.set_name("cache");
    REQUIRE(pool_ref(owner).name() == "cache");
    REQUIRE(throws<streampool::error>([&] { owner.set_name(std::string(64, 'x')); }));
    REQUIRE(throws<streampool::error>([] { pool_ref().name(); }));
    REQUIRE(owner.name() == "cache");
    owner.set_name("");
    REQUIRE(owner.name() == own);
    REQUIRE(pool_ref::default_of(0).name() == "default pool of device 0");
}

static void a_device_has_a_default_and_a_current_pool() {
    const pool owner(0);
    const pool_ref before = pool_ref::default_of(0);
    REQUIRE(before == pool_ref::current_of(0) && before != owner);
    REQUIRE(poolDeviceSetMemPool(0, owner.get()) == poolSuccess);
    REQUIRE(pool_ref::current_of(0) == owner && pool_ref::default_of(0) == before);
    REQUIRE(poolDeviceSetMemPool(0, before.get()) == poolSuccess);
    REQUIRE(throws<streampool::error>([] { pool_ref::default_of(99); }));
    REQUIRE(throws<streampool::error>([] { pool_ref().trim_to(0); }));
}

static void a_pool_is_made_at_a_place() {
    const pool of_device(streampool::on_device(0)), of_host(on_host()), of_node(on_node(0));
    REQUIRE(of_device.get_attribute<poolMemPoolAttrLocationType>() == poolMemLocationTypeDevice);
    REQUIRE(of_host.get_attribute<poolMemPoolAttrLocationType>() == poolMemLocationTypeHost);
    REQUIRE(of_node.get_attribute<poolMemPoolAttrLocationType>() == poolMemLocationTypeHostNuma);
    REQUIRE(of_node.get_attribute<poolMemPoolAttrAllocationType>() == poolMemAllocationTypePinned);
    const auto reason = thrown_by<streampool::error>([] { pool missing(on_node(99)); });
    REQUIRE(reason.code() == poolErrorInvalidValue);
    poolMemPoolProps properties = pool::properties_of(on_host());
    properties.usage = poolMemPoolUsageStaging;
    properties.maxSize = size_t{64} << 20;
    const pool of_staging(properties);
    REQUIRE(of_staging.get_attribute<poolMemPoolAttrMaxPoolSize>() == properties.maxSize);
    REQUIRE(of_staging.get_attribute<poolMemPoolAttrVirtualMemory>() == 0);
}

static void a_pool_of_managed_memory_prefers_a_place_or_none() {
    for (const poolMemLocation &place :
         {streampool::on_device(0), on_host(), streampool::nowhere()}) {
        const pool owner(place, poolMemAllocationTypeManaged);
        REQUIRE(owner.get_attribute<poolMemPoolAttrAllocationType>() ==
                poolMemAllocationTypeManaged);
        REQUIRE(owner.get_attribute<poolMemPoolAttrLocationType>() == place.type);
        const buffer<char> memory(1000, test::stream(), owner);
        REQUIRE(test::used(owner.get()) == 1000);
    }
    const auto managed = poolMemAllocationTypeManaged;
    REQUIRE(pool_ref::default_of(streampool::nowhere(), managed).name() ==
            "default pool of any place (managed)");
    REQUIRE(pool_ref::current_of(streampool::on_device(0), managed) ==
            pool_ref::default_of(streampool::on_device(0), managed));
    REQUIRE(throws<streampool::error>([] { pool pinned(streampool::nowhere()); }));
}

static void a_pool_of_the_host_lets_devices_in() {
    const pool owner(on_host());
    REQUIRE(owner.get_access(on_host()) == poolMemAccessFlagsProtReadWrite);
    REQUIRE(owner.get_access(0) == poolMemAccessFlagsProtNone);
    owner.set_access(0, poolMemAccessFlagsProtReadWrite);
    REQUIRE(owner.get_access(streampool::on_device(0)) == poolMemAccessFlagsProtReadWrite);
    REQUIRE(throws<streampool::error>(
        [&] { owner.set_access(on_host(), poolMemAccessFlagsProtNone); }));
}

static void a_place_has_a_default_and_a_current_pool() {
    const pool owner(on_host());
    const pool_ref before = pool_ref::default_of(on_host());
    REQUIRE(before.name() == "default pool of the host");
    REQUIRE(before == pool_ref::current_of(on_host()) && before != owner);
    const poolMemLocation host = on_host();
    REQUIRE(poolMemSetMemPool(&host, poolMemAllocationTypePinned, owner.get()) == poolSuccess);
    REQUIRE(pool_ref::current_of(on_host()) == owner && pool_ref::default_of(on_host()) == before);
    REQUIRE(pool_ref::default_of(on_node(0)).name() == "default pool of NUMA node 0");
    REQUIRE(pool_ref::default_of(streampool::on_device(0)) == pool_ref::default_of(0));
    REQUIRE(throws<streampool::error>([] { pool_ref::default_of(on_node(99)); }));
    REQUIRE(throws<streampool::error>([] { pool_ref::current_of(streampool::nowhere()); }));
}

// ----------------------------------------------------------------------------------------- growths

// An observer is called by C code, so it can't throw, and it outlives the call that sets it.
template <typename Observer, typename = void> constexpr bool observes = false;
template <typename Observer>
constexpr bool observes<Observer, std::void_t<decltype(std::declval<pool &>().set_growth_observer(
                                      std::declval<Observer>()))>> = true;
struct silent_observer {
    void operator()(const poolMemPoolGrowth &growth) const noexcept;
};
struct throwing_observer {
    void operator()(const poolMemPoolGrowth &growth) const;
};
static_assert(observes<silent_observer &> && observes<const silent_observer &>);
static_assert(!observes<throwing_observer &>);
static_assert(!observes<silent_observer>);
static_assert(observes<poolMemPoolGrowthObserver> && observes<std::nullptr_t>);

static void an_object_observes_growths() {
    const pool owner(0);
    poolMemPool_t told = nullptr;
    uint64_t wanted = 0;
    int calls = 0;
    const auto observer = [&](const poolMemPoolGrowth &growth) noexcept {
        told = growth.pool;
        wanted = growth.wanted;
        calls++;
    };
    owner.set_growth_observer(observer);
    {
        const buffer<char> memory(size_t{64} << 20, test::stream(), owner);
        REQUIRE(calls == 1 && told == owner.get() && wanted == size_t{64} << 20);
    }
    pool_ref(owner).set_growth_observer(nullptr);
    const buffer<char> more(size_t{256} << 20, test::stream(), owner);
    REQUIRE(calls == 1);
}

static void a_function_observes_growths_and_prints_them() {
    const pool owner(0);
    std::FILE *out = std::tmpfile();
    REQUIRE(out != nullptr);
    owner.set_growth_observer(
        [](const poolMemPoolGrowth *growth, void *user) {
            streampool::print_growth(*growth, static_cast<std::FILE *>(user));
        },
        out);
    { const buffer<char> memory(size_t{64} << 20, test::stream(), owner); }
    owner.set_growth_observer(nullptr);
    char line[64] = "";
    std::rewind(out);
    REQUIRE(std::fgets(line, sizeof line, out) != nullptr && std::strstr(line, "grew by 64.0 MiB"));
    std::fclose(out);
    const poolMemPoolGrowth nothing{};
    REQUIRE(throws<streampool::error>([&] { streampool::print_growth(nothing, nullptr); }));
    REQUIRE(throws<streampool::error>([] { pool_ref().set_growth_observer(nullptr); }));
}

static void growth_is_bounded_by_waits() {
    const pool owner(0);
    owner.set_attribute<poolMemPoolAttrGrowthBeyondUse>(0);
    const CUstream first = test::stream(), second = test::stream();
    {
        const buffer<char> memory(size_t{64} << 20, first, owner);
        test::add_work(first);
    }
    const buffer<char> memory(size_t{64} << 20, second, owner);
    REQUIRE(owner.get_attribute<poolMemPoolAttrGrowthBeyondUse>() == 0);
    REQUIRE(owner.get_attribute<poolMemPoolAttrReservedMemCurrent>() == size_t{64} << 20);
    REQUIRE(owner.get_attribute<poolMemPoolStatWaitsForGrowth>() == 1);
    REQUIRE(owner.get_attribute<poolMemPoolStatGrowthsAfterWaits>() == 0);
    test::finish_work();
}

// ----------------------------------------------------------------------------------------- buffers

static void a_buffer_has_the_memory_that_it_asked_for() {
    const pool owner(0);
    const CUstream stream = test::stream();
    {
        const buffer<double> numbers(512, stream, owner);
        REQUIRE(numbers.data() != nullptr && numbers.size() == 512 && !numbers.empty());
        REQUIRE(numbers.size_bytes() == 4096 && numbers.stream() == stream);
        REQUIRE(test::used(owner.get()) == 4096);
    }
    REQUIRE(test::used(owner.get()) == 0);
}

static void a_buffer_of_no_pool_has_memory_of_the_current_one() {
    const uint64_t before = test::used(pool_ref::current_of(0).get());
    const buffer<int> numbers(1024, test::stream());
    REQUIRE(test::used(pool_ref::current_of(0).get()) == before + 4096);
}

static void a_buffer_of_nothing_has_no_memory() {
    const pool owner(0);
    buffer<int> none;
    buffer<int> no_objects(0, test::stream(), owner);
    REQUIRE(none.data() == nullptr && none.empty());
    REQUIRE(no_objects.data() == nullptr && no_objects.empty());
    none.reset();
    no_objects.reset();
}

static void more_objects_than_bytes_can_be_counted_are_refused() {
    const pool owner(0);
    REQUIRE(throws<streampool::out_of_memory>(
        [&] { const buffer<double> numbers(SIZE_MAX / 8 + 2, nullptr, owner); }));
    REQUIRE(test::used(owner.get()) == 0);
}

static void a_buffer_moves() {
    const pool owner(0);
    const CUstream stream = test::stream();
    const CUstream other_stream = test::stream();
    buffer<char> first(1000, stream, owner);
    char *const data = first.data();
    buffer<char> second(std::move(first));
    REQUIRE(first.data() == nullptr && first.empty());
    REQUIRE(second.data() == data && second.size() == 1000 && second.stream() == stream);
    buffer<char> third(2000, other_stream, owner);
    third = std::move(second);
    REQUIRE(second.data() == nullptr && second.empty());
    REQUIRE(third.data() == data && third.size() == 1000 && third.stream() == stream);
    REQUIRE(test::used(owner.get()) == 1000);
    buffer<char> &same = third;
    third = std::move(same);
    REQUIRE(third.data() == data && third.size() == 1000);
    third = buffer<char>();
    REQUIRE(test::used(owner.get()) == 0);
}

static void a_released_buffer_is_the_callers() {
    const pool owner(0);
    const CUstream stream = test::stream();
    char *data = nullptr;
    {
        buffer<char> memory(1000, stream, owner);
        data = memory.release();
        REQUIRE(memory.data() == nullptr && memory.empty());
    }
    REQUIRE(test::used(owner.get()) == 1000);
    REQUIRE(poolFreeAsync(data, stream) == poolSuccess);
}

// Work is pending on the stream that the memory came from, so only a free on the other one lets
// that have the memory at once.
static void a_buffer_is_freed_on_the_stream_that_was_set() {
    const pool owner(0);
    const CUstream first = test::stream();
    const CUstream second = test::stream();
    char *data = nullptr;
    {
        buffer<char> memory(size_t{4} << 20, first, owner);
        test::add_work(first);
        test::add_work(nullptr);
        data = memory.data();
        memory.set_stream(second);
        REQUIRE(memory.stream() == second);
    }
    const buffer<char> again(size_t{4} << 20, second, owner, poolMallocSameStreamOnly);
    REQUIRE(again.data() == data);
    test::finish_work();
}

static void a_buffer_keeps_what_is_refused_to_be_freed() {
    const pool owner(0);
    const CUstream stream = test::stream();
    buffer<char> memory(1000, stream, owner);
    {
        const test::capture captures(stream);
        REQUIRE(throws<streampool::error>([&] { memory.reset(); }));
        REQUIRE(memory.data() != nullptr && memory.size() == 1000);
    }
    memory.reset();
    REQUIRE(memory.data() == nullptr && memory.empty());
    REQUIRE(test::used(owner.get()) == 0);
}

// The stream's work may still use what the first buffer gave back.
static void the_host_writes_to_a_buffer_at_once() {
    const pool owner(on_host());
    const CUstream stream = test::stream();
    char *data = nullptr;
    {
        const buffer<char> memory(size_t{4} << 20, stream, owner);
        data = memory.data();
        test::add_work(stream);
    }
    const buffer<char> fresh(size_t{4} << 20, stream, owner, poolMallocCompleteOnly);
    REQUIRE(fresh.data() != data);
    std::memset(fresh.data(), 'x', fresh.size_bytes());
    test::finish_work();
    const buffer<char> again(size_t{4} << 20, stream, owner, poolMallocCompleteOnly);
    REQUIRE(again.data() == data);
}

// --------------------------------------------------------------------------------------- resources

static void a_resource_allocates_from_its_pool() {
    const pool owner(0);
    const CUstream stream = test::stream();
    const resource memory(owner);
    void *const block = memory.allocate(1000, 512, stream);
    REQUIRE(block != nullptr && reinterpret_cast<uintptr_t>(block) % 512 == 0);
    REQUIRE(test::used(owner.get()) == 1000);
    memory.deallocate(block, 1000, 512, stream);
    REQUIRE(test::used(owner.get()) == 0);
    REQUIRE(memory.allocate(0, 1, stream) == nullptr);
    REQUIRE(memory.upstream() == owner);
}

static void a_resource_refuses_alignments_that_it_does_not_have() {
    const pool owner(0);
    const resource memory(owner);
    for (const size_t alignment : {size_t{0}, size_t{3}, size_t{1024}}) {
        const auto reason = thrown_by<streampool::error>(
            [&] { static_cast<void>(memory.allocate(1000, alignment, nullptr)); });
        REQUIRE(reason.code() == poolErrorInvalidValue);
        REQUIRE(std::strstr(reason.what(), std::to_string(alignment).c_str()));
    }
    REQUIRE(test::used(owner.get()) == 0);
}

static void resources_of_one_pool_and_flags_are_equal() {
    const pool owner(0);
    const resource memory(owner);
    const resource fixed(owner, poolMallocFixed);
    REQUIRE(memory == resource(owner) && memory.is_equal(memory));
    REQUIRE(memory != resource() && memory != fixed);
    REQUIRE(throws<streampool::out_of_memory>([&] {
        static_cast<void>(resource(owner, poolMallocNoGrowth).allocate(1000, 1, nullptr));
    }));
}

using streampool::host_resource;

static void a_vector_has_memory_of_the_host() {
    const pool owner(on_host());
    host_resource memory(owner);
    {
        std::pmr::vector<int> numbers(1 << 20, 7, &memory);
        REQUIRE(numbers.front() == 7 && numbers.back() == 7);
        REQUIRE(test::used(owner.get()) == size_t{4} << 20);
    }
    REQUIRE(test::used(owner.get()) == 0);
    REQUIRE(memory.upstream() == owner);
    void *const block = memory.allocate(0);
    REQUIRE(block != nullptr);
    memory.deallocate(block, 0);
    REQUIRE(throws<streampool::error>([&] { static_cast<void>(memory.allocate(1, 1024)); }));
    REQUIRE(throws<streampool::error>(
        [] { static_cast<void>(host_resource(pool_ref()).allocate(1)); }));
}

static void memory_of_the_host_is_freed_in_the_order_of_a_stream() {
    const pool owner(on_host());
    const CUstream stream = test::stream();
    host_resource memory(owner, stream);
    owner.set_attribute<poolMemPoolAttrUnfencedBytesMax>(0);
    const int *first = nullptr;
    {
        const std::pmr::vector<int> numbers(1 << 20, 7, &memory);
        first = numbers.data();
        test::add_work(stream);
    }
    const std::pmr::vector<int> others(1 << 20, 8, &memory);
    REQUIRE(others.data() != first);
    test::finish_work();
    const std::pmr::vector<int> last(1 << 20, 9, &memory);
    REQUIRE(last.data() == first);
}

static void resources_of_one_pool_and_stream_are_equal() {
    const pool owner(on_host()), other(on_host());
    const host_resource memory(owner), ordered(owner, test::stream());
    REQUIRE(memory == host_resource(owner) && ordered == host_resource(ordered));
    REQUIRE(memory != host_resource(other) && memory != ordered);
    REQUIRE(host_resource(owner, nullptr) != memory);
    REQUIRE(memory != *std::pmr::new_delete_resource());
}

// ---------------------------------------------------------------------------------- default
// streams

static void stream_0_is_that_of_the_file() {
    const pool owner(0);
    const test::capture captures(test::thread_stream());
    const auto of_buffer =
        thrown_by<streampool::error>([&] { const buffer<char> memory(1000, nullptr, owner); });
    REQUIRE(of_buffer.code() == test::refused_on_stream_0);
    const auto of_resource = thrown_by<streampool::error>(
        [&] { static_cast<void>(resource(owner).allocate(1000, 1, nullptr)); });
    REQUIRE(of_resource.code() == test::refused_on_stream_0);
}

static void types_with_another_stream_0_are_other_types() {
#if defined(CUDA_API_PER_THREAD_DEFAULT_STREAM)
    const bool expected = true;
#else
    const bool expected = false;
#endif
    const auto named_after = [](const std::type_info &type) {
        return std::strstr(type.name(), "per_thread_default_stream") != nullptr;
    };
    REQUIRE(named_after(typeid(buffer<int>)) == expected);
    REQUIRE(named_after(typeid(resource)) == expected);
    REQUIRE(named_after(typeid(host_resource)) == expected);
    REQUIRE(!named_after(typeid(pool)) && !named_after(typeid(streampool::error)));
}

int main() {
    return test::run({TEST(memory_that_the_driver_refuses_is_bad_alloc_and_says_why),
                      TEST(another_error_is_a_runtime_error_and_says_why),
                      TEST(an_exception_outlives_the_next_failure),
                      TEST(success_throws_nothing),
                      TEST(attributes_have_their_types),
                      TEST(each_attribute_and_statistic_can_be_read),
                      TEST(a_pool_ends_with_its_owner),
                      TEST(a_released_pool_is_the_callers),
                      TEST(a_pool_has_the_properties_that_it_is_made_with),
                      TEST(a_pool_is_primed_and_trimmed),
                      TEST(access_is_read_and_set),
                      TEST(a_pool_has_a_name),
                      TEST(a_device_has_a_default_and_a_current_pool),
                      TEST(a_pool_is_made_at_a_place),
                      TEST(a_pool_of_managed_memory_prefers_a_place_or_none),
                      TEST(a_pool_of_the_host_lets_devices_in),
                      TEST(a_place_has_a_default_and_a_current_pool),
                      TEST(an_object_observes_growths),
                      TEST(a_function_observes_growths_and_prints_them),
                      TEST(growth_is_bounded_by_waits),
                      TEST(a_buffer_has_the_memory_that_it_asked_for),
                      TEST(a_buffer_of_no_pool_has_memory_of_the_current_one),
                      TEST(a_buffer_of_nothing_has_no_memory),
                      TEST(more_objects_than_bytes_can_be_counted_are_refused),
                      TEST(a_buffer_moves),
                      TEST(a_released_buffer_is_the_callers),
                      TEST(a_buffer_is_freed_on_the_stream_that_was_set),
                      TEST(a_buffer_keeps_what_is_refused_to_be_freed),
                      TEST(the_host_writes_to_a_buffer_at_once),
                      TEST(a_vector_has_memory_of_the_host),
                      TEST(memory_of_the_host_is_freed_in_the_order_of_a_stream),
                      TEST(resources_of_one_pool_and_stream_are_equal),
                      TEST(a_resource_allocates_from_its_pool),
                      TEST(a_resource_refuses_alignments_that_it_does_not_have),
                      TEST(resources_of_one_pool_and_flags_are_equal),
                      TEST(stream_0_is_that_of_the_file),
                      TEST(types_with_another_stream_0_are_other_types)});
}
