/// @file
/// Classes for C++17 programs: exceptions, a pool, typed attributes, a buffer, a memory resource.
///
///     streampool::pool pool(0);
///     pool.set_attribute<poolMemPoolAttrReleaseThreshold>(UINT64_MAX);
///     streampool::buffer<float> numbers(1 << 20, stream, pool);
///     kernel<<<grid, block, 0, stream>>>(numbers.data(), numbers.size());
///
/// Everything is inline and stands on the calls of streampool.h, whose comments say what orders,
/// blocks and calls the driver. docs/cpp.md is the short tour.
///
/// **Errors.** What fails throws: out_of_memory where a call returned poolErrorMemoryAllocation,
/// error for any other code. Destructors and what is noexcept can't throw. When a free in them is
/// refused, the memory stays live, and poolGetLastErrorDetail says why.
///
/// **Host.** Memory of a device can't be written to by the host. So a buffer constructs and copies
/// nothing, and a resource doesn't derive from std::pmr::memory_resource, through which the
/// standard library would write. host_resource does, and is for pools of memory of the host alone.
///
/// **Threads.** An object is used by one thread at a time, or by many that only read it. A resource
/// can be used by any number of threads.
///
/// **Default streams.** With CUDA_API_PER_THREAD_DEFAULT_STREAM defined, stream 0 is the per-thread
/// default stream. What takes a stream is a type of its own then, so that both kinds of file can be
/// parts of one program.
#ifndef STREAMPOOL_STREAMPOOL_HPP
#define STREAMPOOL_STREAMPOOL_HPP

#if __cplusplus < 201703L
#error "streampool/streampool.hpp needs C++17: compile with -std=c++17 or newer"
#elif !defined(__cpp_exceptions)
#error "streampool/streampool.hpp throws exceptions: compile without -fno-exceptions"
#else

#include <streampool/lists.h>
#include <streampool/streampool.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#if __has_include(<memory_resource>)
#include <memory_resource>
#endif
#include <new>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

namespace streampool {

// -------------------------------------------------------------------------------------- exceptions

// A call that fails throws one of these.

/// Tells what a failed call ran into. It is a base of every exception that this header throws, and
/// not itself derived from std::exception, so `catch (const std::exception &)` finds all of them.
class STREAMPOOL_API failure {
  public:
    virtual ~failure() = default;

    /// Returns the code that the call returned.
    poolError_t code() const noexcept {
        return told_->code;
    }

    /// Returns what poolGetLastErrorDetail said then: one sentence, or "".
    const char *detail() const noexcept {
        return told_->detail.c_str();
    }

    /// Returns the CUresult behind the failure, or 0 when the driver had no part in it.
    int native_result() const noexcept {
        return told_->native_result;
    }

    /// Returns the name of the driver's entry point that returned it, or "".
    const char *native_entry_point() const noexcept {
        return told_->native_entry_point.c_str();
    }

    /// Returns call, code and detail in one line.
    const char *message() const noexcept {
        return told_->message.c_str();
    }

  protected:
    /// Takes what the calling thread's last failed call left behind.
    failure(poolError_t code, const char *call) {
        const char *entry_point = "";
        int result = 0;
        poolGetLastNativeError(&result, &entry_point);
        tell(code, call, poolGetLastErrorDetail(), result, entry_point);
    }

    /// Tells of a mistake that no call of the library was made for.
    failure(poolError_t code, const char *call, const std::string &detail) {
        tell(code, call, detail, 0, "");
    }

  private:
    struct told {
        poolError_t code;
        int native_result;
        std::string native_entry_point;
        std::string detail;
        std::string message;
    };

    void tell(poolError_t code, const char *call, const std::string &detail, int result,
              const char *entry_point) {
        const std::string words = detail.empty() ? poolGetErrorString(code) : detail;
        told_ = std::make_shared<const told>(
            told{code, result, entry_point, detail,
                 std::string(call) + ": " + poolGetErrorName(code) + ": " + words});
    }

    // A copy of an exception must not throw, so copies share it.
    std::shared_ptr<const told> told_;
};

/// Is thrown where a call returned anything but poolSuccess and poolErrorMemoryAllocation.
class STREAMPOOL_API error : public std::runtime_error, public failure {
  public:
    /// Takes what the calling thread's last failed call left behind.
    ///
    /// @param code Is what the call returned.
    /// @param call Is the name of the call.
    error(poolError_t code, const char *call)
        : std::runtime_error(poolGetErrorName(code)), failure(code, call) {
    }

    /// Tells of a mistake that no call of the library was made for.
    ///
    /// @param code Says what kind of mistake it is.
    /// @param call Is the name of the function that tells.
    /// @param detail Says what happened, in one sentence.
    error(poolError_t code, const char *call, const std::string &detail)
        : std::runtime_error(poolGetErrorName(code)), failure(code, call, detail) {
    }

    /// Returns call, code and detail in one line.
    const char *what() const noexcept override {
        return message();
    }
};

/// Is thrown where a call returned poolErrorMemoryAllocation.
class STREAMPOOL_API out_of_memory : public std::bad_alloc, public failure {
  public:
    /// Takes what the calling thread's last failed call left behind.
    ///
    /// @param call Is the name of the call.
    explicit out_of_memory(const char *call) : failure(poolErrorMemoryAllocation, call) {
    }

    /// Returns call, code and detail in one line.
    const char *what() const noexcept override {
        return message();
    }
};

/// Throws unless `code`, which `call` has just returned on this thread, is poolSuccess.
///
///     streampool::check(poolStreamSynchronize(stream), "poolStreamSynchronize");
///
/// @param code Is what the call returned.
/// @param call Is the name of the call.
inline void check(poolError_t code, const char *call) {
    if (code == poolErrorMemoryAllocation)
        throw out_of_memory(call);
    if (code != poolSuccess)
        throw error(code, call);
}

// -------------------------------------------------------------------------------------- attributes

// The type of an attribute is known when the program is compiled.

namespace detail {

template <poolMemPoolAttr attribute> struct attribute_value;

#define STREAMPOOL_ATTRIBUTE(name, number, value)                                                  \
    template <> struct attribute_value<name> { using type = value; };
#define STREAMPOOL_STATISTIC(name, number, text)                                                   \
    STREAMPOOL_ATTRIBUTE(poolMemPoolStat##name, number, uint64_t)
STREAMPOOL_POOL_ATTRIBUTES(STREAMPOOL_ATTRIBUTE)
STREAMPOOL_POOL_STATISTICS(STREAMPOOL_STATISTIC)
STREAMPOOL_POOL_GAUGES(STREAMPOOL_STATISTIC)
#undef STREAMPOOL_STATISTIC
#undef STREAMPOOL_ATTRIBUTE

} // namespace detail

/// The type of an attribute's or a statistic's value: int or uint64_t, as lists.h says. Other
/// numbers have none, and don't compile.
template <poolMemPoolAttr attribute>
using attribute_t = typename detail::attribute_value<attribute>::type;

// ------------------------------------------------------------------------------------------ places

// A pool of these, or of managed memory that prefers one of them, is made, and is asked for by it.

/// Returns the place of a device's memory.
///
/// @param device Is the ordinal of the device.
constexpr poolMemLocation on_device(int device) noexcept {
    return {poolMemLocationTypeDevice, device};
}

/// Returns the place of memory of the host, on any of its NUMA nodes.
constexpr poolMemLocation on_host() noexcept {
    return {poolMemLocationTypeHost, 0};
}

/// Returns the place of memory of one NUMA node of the host.
///
/// @param node Is the number of the node.
constexpr poolMemLocation on_node(int node) noexcept {
    return {poolMemLocationTypeHostNuma, node};
}

/// Returns what managed memory prefers that prefers no place.
constexpr poolMemLocation nowhere() noexcept {
    return {poolMemLocationTypeNone, 0};
}

// ------------------------------------------------------------------------------------------- pools

// A pool is owned by one object, and named by others.

/// The calls about a pool that pool and pool_ref have in common.
class pool_calls {
  public:
    /// Returns the pool's handle, for the calls of streampool.h; null when there is no pool.
    poolMemPool_t get() const noexcept {
        return handle_;
    }

    /// Returns an attribute or a statistic:
    /// `pool.get_attribute<poolMemPoolAttrUsedMemCurrent>()`.
    ///
    /// - Throws as poolMemPoolGetAttribute fails.
    template <poolMemPoolAttr name> attribute_t<name> get_attribute() const {
        attribute_t<name> value = 0;
        check(poolMemPoolGetAttribute(handle_, name, &value), "poolMemPoolGetAttribute");
        return value;
    }

    /// Sets an attribute, or counts a statistic anew:
    /// `pool.set_attribute<poolMemPoolAttrReleaseThreshold>(UINT64_MAX)`.
    ///
    /// @param value Is the new value, in the unit of the attribute.
    ///
    /// - Throws as poolMemPoolSetAttribute fails.
    template <poolMemPoolAttr name> void set_attribute(attribute_t<name> value) const {
        check(poolMemPoolSetAttribute(handle_, name, &value), "poolMemPoolSetAttribute");
    }

    /// Returns the name that all that is told of the pool has for it.
    ///
    /// - Throws as poolMemPoolGetName fails.
    std::string name() const {
        char text[STREAMPOOL_NAME_BYTES];
        check(poolMemPoolGetName(handle_, text, sizeof text), "poolMemPoolGetName");
        return text;
    }

    /// Gives the pool a name; "" takes it back.
    ///
    /// @param name Is the name in UTF-8, of at most 63 bytes.
    ///
    /// - Throws as poolMemPoolSetName fails.
    void set_name(const std::string &name) const {
        check(poolMemPoolSetName(handle_, name.c_str()), "poolMemPoolSetName");
    }

    /// Returns what a device may do with the pool's memory.
    ///
    /// @param device Is the ordinal of the device.
    ///
    /// - Throws as poolMemPoolGetAccess fails.
    poolMemAccessFlags get_access(int device) const {
        return get_access(on_device(device));
    }

    /// Returns what a device or the host may do with the pool's memory.
    ///
    /// @param location Is the place of a device or of the host.
    ///
    /// - Throws as poolMemPoolGetAccess fails.
    poolMemAccessFlags get_access(const poolMemLocation &location) const {
        poolMemAccessFlags flags = poolMemAccessFlagsProtNone;
        check(poolMemPoolGetAccess(&flags, handle_, &location), "poolMemPoolGetAccess");
        return flags;
    }

    /// Says what a device may do with the pool's memory.
    ///
    /// @param device Is the ordinal of the device.
    /// @param flags Says what it may do.
    ///
    /// - Throws as poolMemPoolSetAccess fails.
    void set_access(int device, poolMemAccessFlags flags) const {
        set_access(on_device(device), flags);
    }

    /// Says what a device or the host may do with the pool's memory.
    ///
    /// @param location Is the place of a device or of the host.
    /// @param flags Says what it may do.
    ///
    /// - Throws as poolMemPoolSetAccess fails.
    void set_access(const poolMemLocation &location, poolMemAccessFlags flags) const {
        const poolMemAccessDesc entry{location, flags};
        check(poolMemPoolSetAccess(handle_, &entry, 1), "poolMemPoolSetAccess");
    }

    /// Gives free memory back to the device, down to so many bytes.
    ///
    /// @param bytes Is the number of bytes that may stay reserved.
    ///
    /// - Throws as poolMemPoolTrimTo fails.
    void trim_to(std::size_t bytes) const {
        check(poolMemPoolTrimTo(handle_, bytes), "poolMemPoolTrimTo");
    }

    /// Prepares so many bytes ahead of need.
    ///
    /// @param bytes Is the number of bytes that shall be free for any stream.
    ///
    /// - Throws as poolMemPoolPrime fails.
    void prime(std::size_t bytes) const {
        check(poolMemPoolPrime(handle_, bytes), "poolMemPoolPrime");
    }

    /// Has an object called with each growth that raises ReservedMemHigh, in the place of the
    /// observer before:
    ///
    ///     auto observer = [&](const poolMemPoolGrowth &growth) noexcept { ++growths; };
    ///     pool.set_growth_observer(observer);
    ///
    /// It is called on the threads of the allocations, and doesn't throw.
    ///
    /// @param observer Is the object. It must live until another observer is set, or none, or until
    /// the pool has ended.
    ///
    /// - Throws as poolMemPoolSetGrowthObserver fails.
    template <typename Observer, typename = std::enable_if_t<std::is_nothrow_invocable_v<
                                     Observer &, const poolMemPoolGrowth &>>>
    void set_growth_observer(Observer &observer) const {
        set_growth_observer(
            [](const poolMemPoolGrowth *growth, void *user) {
                (*static_cast<Observer *>(user))(*growth);
            },
            const_cast<void *>(static_cast<const void *>(std::addressof(observer))));
    }

    /// Has a function called with each growth that raises ReservedMemHigh; with null, none.
    ///
    /// @param observer Is the function, which doesn't throw. May be null.
    /// @param user Is passed to it.
    ///
    /// - Throws as poolMemPoolSetGrowthObserver fails.
    void set_growth_observer(poolMemPoolGrowthObserver observer, void *user = nullptr) const {
        check(poolMemPoolSetGrowthObserver(handle_, observer, user),
              "poolMemPoolSetGrowthObserver");
    }

  protected:
    explicit pool_calls(poolMemPool_t handle) noexcept : handle_(handle) {
    }
    ~pool_calls() = default;
    pool_calls(const pool_calls &) = default;
    pool_calls &operator=(const pool_calls &) = default;

    poolMemPool_t handle_;
};

/// Prints one line that explains a growth, as poolMemPoolPrintGrowth does.
///
/// @param growth Is what an observer was called with.
/// @param out Receives the line.
///
/// - Throws as poolMemPoolPrintGrowth fails.
inline void print_growth(const poolMemPoolGrowth &growth, std::FILE *out) {
    check(poolMemPoolPrintGrowth(&growth, out), "poolMemPoolPrintGrowth");
}

/// Names a pool that someone else owns, such as the default pool of a device or of the host. An
/// empty one stands for the current pool of whatever device an allocation's stream belongs to;
/// calls about the pool itself fail on it with poolErrorInvalidValue.
class pool_ref : public pool_calls {
  public:
    /// Names no pool.
    pool_ref() noexcept : pool_calls(nullptr) {
    }

    /// Names the pool of a handle.
    ///
    /// @param handle Is the handle of a pool, or null for none.
    pool_ref(poolMemPool_t handle) noexcept : pool_calls(handle) {
    }

    /// Returns the pool that a device starts with.
    ///
    /// @param device Is the ordinal of the device.
    ///
    /// - Throws as poolDeviceGetDefaultMemPool fails.
    static pool_ref default_of(int device) {
        poolMemPool_t handle = nullptr;
        check(poolDeviceGetDefaultMemPool(&handle, device), "poolDeviceGetDefaultMemPool");
        return handle;
    }

    /// Returns the pool that a device allocates from now.
    ///
    /// @param device Is the ordinal of the device.
    ///
    /// - Throws as poolDeviceGetMemPool fails.
    static pool_ref current_of(int device) {
        poolMemPool_t handle = nullptr;
        check(poolDeviceGetMemPool(&handle, device), "poolDeviceGetMemPool");
        return handle;
    }

    /// Returns the pool that a place starts with for a type of memory.
    ///
    /// @param location Is the place.
    /// @param type Is pinned or managed.
    ///
    /// - Throws as poolMemGetDefaultMemPool fails.
    static pool_ref default_of(const poolMemLocation &location,
                               poolMemAllocationType type = poolMemAllocationTypePinned) {
        poolMemPool_t handle = nullptr;
        check(poolMemGetDefaultMemPool(&handle, &location, type), "poolMemGetDefaultMemPool");
        return handle;
    }

    /// Returns the pool that is the current one of a place and a type of memory now.
    ///
    /// @param location Is the place.
    /// @param type Is pinned or managed.
    ///
    /// - Throws as poolMemGetMemPool fails.
    static pool_ref current_of(const poolMemLocation &location,
                               poolMemAllocationType type = poolMemAllocationTypePinned) {
        poolMemPool_t handle = nullptr;
        check(poolMemGetMemPool(&handle, &location, type), "poolMemGetMemPool");
        return handle;
    }

    /// Returns true when both name one pool.
    ///
    /// @param left Is one pool.
    /// @param right Is the other one.
    friend bool operator==(pool_ref left, pool_ref right) noexcept {
        return left.get() == right.get();
    }

    /// Returns true when the two do not name one pool.
    ///
    /// @param left Is one pool.
    /// @param right Is the other one.
    friend bool operator!=(pool_ref left, pool_ref right) noexcept {
        return left.get() != right.get();
    }
};

/// Owns a pool. Its end gives the pool up by poolMemPoolDestroy: memory that is live then stays
/// valid and is freed as usual.
class pool : public pool_calls {
  public:
    /// Makes a pool on a device.
    ///
    /// @param device Is the ordinal of the device.
    ///
    /// - Throws as poolMemPoolCreate fails.
    explicit pool(int device) : pool(properties_of(device)) {
    }

    /// Makes a pool of memory of a place, such as `pool(on_host())`, or of managed memory that
    /// prefers it.
    ///
    /// @param location Is the place.
    /// @param type Is pinned or managed.
    ///
    /// - Throws as poolMemPoolCreate fails.
    explicit pool(const poolMemLocation &location,
                  poolMemAllocationType type = poolMemAllocationTypePinned)
        : pool(properties_of(location, type)) {
    }

    /// Makes a pool with other properties, such as a maxSize or a use.
    ///
    /// @param properties Says where the pool's memory is, its limit in bytes, and its use.
    ///
    /// - Throws as poolMemPoolCreate fails.
    explicit pool(const poolMemPoolProps &properties) : pool_calls(nullptr) {
        check(poolMemPoolCreate(&handle_, &properties), "poolMemPoolCreate");
    }

    /// Takes the pool of another object, which has none any more.
    ///
    /// @param other Is the object that owned the pool.
    pool(pool &&other) noexcept : pool_calls(other.release()) {
    }

    /// Gives its own pool up, and takes that of another object. Returns this object.
    ///
    /// @param other Is the object that owned the pool.
    pool &operator=(pool &&other) noexcept {
        pool taken(std::move(other));
        std::swap(handle_, taken.handle_);
        return *this;
    }

    /// Gives the pool up, as poolMemPoolDestroy does.
    ~pool() {
        if (handle_)
            poolMemPoolDestroy(handle_);
    }

    /// Returns the handle, and owns it no longer.
    [[nodiscard]] poolMemPool_t release() noexcept {
        return std::exchange(handle_, nullptr);
    }

    /// Names the pool for a buffer or a resource. One that is about to end can't be named.
    operator pool_ref() const &noexcept {
        return pool_ref(handle_);
    }
    operator pool_ref() const && = delete;

    /// Returns what a pool on a device is made with, to be changed and passed to the constructor.
    ///
    /// @param device Is the ordinal of the device.
    static poolMemPoolProps properties_of(int device) noexcept {
        return properties_of(on_device(device));
    }

    /// Returns what a pool of pinned memory of a place is made with, to be changed and passed to
    /// the constructor: usage = poolMemPoolUsageStaging makes a pool of the host one for staging.
    ///
    /// @param location Is the place.
    static poolMemPoolProps properties_of(const poolMemLocation &location) noexcept {
        return properties_of(location, poolMemAllocationTypePinned);
    }

    /// Returns what a pool of memory of a place is made with, or of managed memory that prefers it.
    ///
    /// @param location Is the place.
    /// @param type Is pinned or managed.
    static poolMemPoolProps properties_of(const poolMemLocation &location,
                                          poolMemAllocationType type) noexcept {
        poolMemPoolProps properties{};
        properties.allocType = type;
        properties.location = location;
        return properties;
    }
};

// -------------------------------------------------------------------------------- buffer, resource

// A buffer owns memory of a pool; a resource gives memory to containers.

#if defined(CUDA_API_PER_THREAD_DEFAULT_STREAM)
inline namespace per_thread_default_stream {
#endif

/// Owns memory for `size()` objects of type T, which was allocated in the order of a stream and is
/// freed in it. No constructor and no destructor runs. With memory of the host or managed memory
/// the host may write at once if the flags have poolMallocCompleteOnly; else it first waits for the
/// stream.
template <typename T> class buffer {
    static_assert(std::is_object_v<T> && !std::is_const_v<T> && !std::is_volatile_v<T>,
                  "a buffer holds objects that can be written");
    static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>,
                  "a buffer constructs and destroys nothing, so T must be trivial to copy");
    static_assert(alignof(T) <= 512, "poolMallocAsync aligns to 512 bytes");

  public:
    /// Holds nothing.
    buffer() noexcept = default;

    /// Allocates memory for `count` objects in the order of `stream`, from `pool` or the current
    /// pool of the stream's device, by flags of poolMallocFlags. 0 objects need no memory.
    ///
    /// @param count Is the number of objects, not of bytes.
    /// @param stream Is the stream in whose order the memory is allocated.
    /// @param pool Is the pool to allocate from, or an empty one.
    /// @param flags Is a combination of poolMallocFlags.
    ///
    /// - Throws as poolMallocAsyncWithFlags fails; out_of_memory where so many objects have more
    ///   bytes than can be counted.
    buffer(std::size_t count, CUstream stream, pool_ref pool = pool_ref(),
           unsigned int flags = poolMallocDefault)
        : size_(count), stream_(stream) {
        const std::size_t bytes = count > SIZE_MAX / sizeof(T) ? SIZE_MAX : count * sizeof(T);
        check(poolMallocAsyncWithFlags(&data_, bytes, pool.get(), stream, flags),
              "poolMallocAsyncWithFlags");
    }

    /// Takes the memory of another buffer, which is empty from now on.
    ///
    /// @param other Is the buffer that owned the memory.
    buffer(buffer &&other) noexcept
        : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)),
          stream_(other.stream_) {
    }

    /// Frees its own memory, and takes that of another buffer. Returns this buffer.
    ///
    /// @param other Is the buffer that owned the memory.
    buffer &operator=(buffer &&other) noexcept {
        buffer taken(std::move(other));
        std::swap(data_, taken.data_);
        std::swap(size_, taken.size_);
        std::swap(stream_, taken.stream_);
        return *this;
    }

    /// Frees the memory in the order of `stream()`.
    ~buffer() {
        if (data_)
            poolFreeAsync(data_, stream_);
    }

    /// Returns the address, on the device or the host; null when there are no objects.
    T *data() const noexcept {
        return data_;
    }

    /// Returns the number of objects.
    std::size_t size() const noexcept {
        return size_;
    }

    /// Returns the number of bytes.
    std::size_t size_bytes() const noexcept {
        return size_ * sizeof(T);
    }

    /// Returns true when there are no objects.
    bool empty() const noexcept {
        return size_ == 0;
    }

    /// Returns the stream in whose order the memory will be freed.
    CUstream stream() const noexcept {
        return stream_;
    }

    /// Frees the memory in another stream's order later: each use must be ordered before that.
    ///
    /// @param stream Is the stream in whose order the memory is freed.
    void set_stream(CUstream stream) noexcept {
        stream_ = stream;
    }

    /// Returns the address, and owns the memory no longer: poolFreeAsync frees it.
    [[nodiscard]] T *release() noexcept {
        size_ = 0;
        return std::exchange(data_, nullptr);
    }

    /// Frees the memory now, in the order of `stream()`. When it throws, the buffer still has it.
    ///
    /// - Throws as poolFreeAsync fails.
    void reset() {
        if (data_)
            check(poolFreeAsync(data_, stream_), "poolFreeAsync");
        size_ = 0;
        data_ = nullptr;
    }

  private:
    T *data_ = nullptr;
    std::size_t size_ = 0;
    CUstream stream_ = nullptr;
};

/// Allocates from a pool for containers of a program's own: std::pmr::memory_resource with a
/// stream. It owns nothing, so the pool must live as long as it allocates. It can be copied.
class resource {
  public:
    /// The largest alignment that can be asked for.
    static constexpr std::size_t max_alignment = 512;

    /// Allocates from `pool`, or the current pool of each stream's device, by flags of
    /// poolMallocFlags.
    ///
    /// @param pool Is the pool to allocate from, or an empty one.
    /// @param flags Is a combination of poolMallocFlags.
    explicit resource(pool_ref pool = pool_ref(), unsigned int flags = poolMallocDefault) noexcept
        : pool_(pool), flags_(flags) {
    }

    /// Allocates `bytes` bytes in the order of `stream`. Returns the address on the device; null
    /// for 0 bytes.
    ///
    /// @param bytes Is the number of bytes.
    /// @param alignment Is the alignment in bytes.
    /// @param stream Is the stream in whose order the memory is allocated.
    ///
    /// - Throws as poolMallocAsyncWithFlags fails; error with poolErrorInvalidValue when
    ///   `alignment` is not a power of two, or is above max_alignment.
    [[nodiscard]] void *allocate(std::size_t bytes, std::size_t alignment, CUstream stream) const {
        if (alignment == 0 || (alignment & (alignment - 1)) != 0 || alignment > max_alignment)
            throw error(poolErrorInvalidValue, "streampool::resource::allocate",
                        "alignment " + std::to_string(alignment) +
                            " is not a power of two from 1 to " + std::to_string(max_alignment));
        void *memory = nullptr;
        check(poolMallocAsyncWithFlags(&memory, bytes, pool_.get(), stream, flags_),
              "poolMallocAsyncWithFlags");
        return memory;
    }

    /// Frees memory of `allocate` in the order of `stream`, which may be another one: each use must
    /// be ordered before that. Sizes are not looked at.
    ///
    /// @param memory Is an address that was allocated here, or null.
    /// @param stream Is the stream in whose order the memory is freed.
    void deallocate(void *memory, std::size_t /*bytes*/, std::size_t /*alignment*/,
                    CUstream stream) const noexcept {
        poolFreeAsync(memory, stream);
    }

    /// Returns true when both allocate from one pool by the same flags. Either one can free what
    /// the other allocated in any case.
    ///
    /// @param other Is the resource to compare with.
    bool is_equal(const resource &other) const noexcept {
        return pool_ == other.pool_ && flags_ == other.flags_;
    }

    /// Returns the pool that it allocates from.
    pool_ref upstream() const noexcept {
        return pool_;
    }

    /// Returns true when both allocate from one pool by the same flags.
    ///
    /// @param left Is one resource.
    /// @param right Is the other one.
    friend bool operator==(const resource &left, const resource &right) noexcept {
        return left.is_equal(right);
    }

    /// Returns true when the two do not allocate from one pool by the same flags.
    ///
    /// @param left Is one resource.
    /// @param right Is the other one.
    friend bool operator!=(const resource &left, const resource &right) noexcept {
        return !left.is_equal(right);
    }

  private:
    pool_ref pool_;
    unsigned int flags_;
};

#if defined(__cpp_lib_memory_resource)

/// Allocates from a pool of memory of the host, or of managed memory, for containers of the
/// standard library, such as std::pmr::vector: their memory is written to at once, and devices that
/// have access copy from it and to it by themselves. It owns nothing, so the pool must live as long
/// as it allocates. It can be used by any number of threads.
class host_resource final : public std::pmr::memory_resource {
  public:
    /// The largest alignment that can be asked for.
    static constexpr std::size_t max_alignment = resource::max_alignment;

    /// Allocates from `pool` by poolMallocFromPool and frees by poolFree: work that uses a
    /// container's memory must be complete when the container gives it back.
    ///
    /// @param pool Is the pool to allocate from, which the host has access to.
    explicit host_resource(pool_ref pool) noexcept : pool_(pool) {
    }

    /// Allocates likewise, and frees in the order of `stream`: work that uses a container's memory
    /// must be ordered before that when the container gives it back, and may still run.
    ///
    /// @param pool Is the pool to allocate from, which the host has access to.
    /// @param stream Is the stream in whose order the memory is freed.
    host_resource(pool_ref pool, CUstream stream) noexcept
        : pool_(pool), stream_(stream), has_stream_(true) {
    }

    /// Returns the pool that it allocates from.
    pool_ref upstream() const noexcept {
        return pool_;
    }

  private:
    void *do_allocate(std::size_t bytes, std::size_t alignment) override {
        if (alignment > max_alignment)
            throw error(poolErrorInvalidValue, "streampool::host_resource::allocate",
                        "alignment " + std::to_string(alignment) + " is more than " +
                            std::to_string(max_alignment));
        void *memory = nullptr;
        check(poolMallocFromPool(&memory, bytes > 0 ? bytes : 1, pool_.get()),
              "poolMallocFromPool");
        return memory;
    }

    void do_deallocate(void *memory, std::size_t /*bytes*/, std::size_t /*alignment*/) override {
        if (has_stream_)
            poolFreeAsync(memory, stream_);
        else
            poolFree(memory);
    }

    bool do_is_equal(const std::pmr::memory_resource &other) const noexcept override {
        const auto *same_kind = dynamic_cast<const host_resource *>(&other);
        return same_kind && pool_ == same_kind->pool_ && stream_ == same_kind->stream_ &&
               has_stream_ == same_kind->has_stream_;
    }

    pool_ref pool_;
    CUstream stream_ = nullptr;
    bool has_stream_ = false;
};

#endif

#if defined(CUDA_API_PER_THREAD_DEFAULT_STREAM)
} // namespace per_thread_default_stream
#endif

} // namespace streampool

#endif

#endif
