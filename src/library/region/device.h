// Devices and the other places (vmm/device.h), and the pools of each.
//
// Whatever is said of a device here holds for each place where memory of pools is: each has address
// space, a default pool, a current one. A device is opened by the runtime, under its open_lock; any
// other place is made when it is first asked for, and stays. The default pool is made then and
// lives for ever; `current` is the pool that poolMallocAsync uses, of a device. The lists of pools
// are guarded by `lock`.
#ifndef STREAMPOOL_REGION_DEVICE_H
#define STREAMPOOL_REGION_DEVICE_H

#include "base/cold.h"
#include "order/context.h"
#include "region/held.h"
#include "region/pool.h"

enum { SP_MAX_DEVICES = 64 };

// The lists of a device's pools that have memory, or had some.
enum { SP_HOLDERS_IN_USE, SP_HOLDERS_GIVEN_UP, SP_HOLDERS_LISTS };

struct sp_device {
    _Atomic bool open;
    struct sp_lock open_lock;
    struct sp_device *_Atomic next_place; // behind a place that is no device
    struct sp_pool *_Atomic current;
    struct sp_pool *default_pool;
    struct sp_vmm_device vmm;
    struct sp_primary primary; // also while the device isn't open
    // Slow calls write what follows, so it stands apart from what all read.
    _Alignas(64) struct sp_space space;
    struct sp_lock gives; // of a plain device: its memory goes back. Taken before map locks
    _Alignas(64) struct sp_held held;
    _Alignas(64) struct sp_lock lock;
    struct sp_list pools;       // all that there are, given-up ones too
    struct sp_list spare_pools; // structs to be used again
    _Atomic uint32_t given_up;  // how many of them are given up and wait to be taken apart
    struct sp_list due;         // those that are to be looked at; see process/given_up.h
    // Lanes of the others, by what they wait for; the second of deterministic pools.
    struct sp_tree awaited[2];
    struct sp_lock holders_lock;
    struct sp_list holders[SP_HOLDERS_LISTS];
    _Atomic uint32_t holders_in_use; // how many stand in the first list
};

// The number of devices that the driver has, once the runtime is started.
extern int sp_device_count;
bool sp_device_exists(int ordinal);

// The device, without opening it. Null when the device isn't open yet, or is none.
extern __attribute__((visibility("hidden"))) struct sp_device sp_devices[SP_MAX_DEVICES];
static inline struct sp_device *sp_device_at(int ordinal) {
    if (SP_UNLIKELY((unsigned)ordinal >= SP_MAX_DEVICES))
        return NULL;
    struct sp_device *device = &sp_devices[ordinal];
    return SP_LIKELY(sp_load_acquire(&device->open)) ? device : NULL;
}

// The device's current pool, and its handle. A pool that is current now had its handle when that
// was read: had the struct become another pool's in between, that one would have to be current.
static inline struct sp_pool *sp_device_current_pool(const struct sp_device *device,
                                                     poolMemPool_t *handle) {
    struct sp_pool *pool;
    do {
        pool = sp_load_acquire(&device->current);
        *handle = sp_load_acquire(&pool->handle);
    } while (SP_UNLIKELY(sp_load_acquire(&device->current) != pool));
    return pool;
}

// Walks the device's pools that have memory to the end, beginning with null; each one stays valid
// until the next call. The second leaves out those that were given up, but for some that are about
// to be taken apart.
struct sp_pool *sp_device_next_pool(struct sp_device *device, struct sp_pool *pool);
struct sp_pool *sp_device_next_in_use(struct sp_device *device, struct sp_pool *pool);

// Returns the next place that can make room for the device's memory, beginning behind the device
// itself. Places of the host can for each other. For managed memory, which lies on the host unless
// a device uses it, each managed place can, and then each of the host. It can for no other: the
// driver moves it as it likes.
struct sp_device *sp_device_next_place_sharing(const struct sp_device *device,
                                               const struct sp_device *other);

// Walks likewise through the pools of all these places.
struct sp_pool *sp_device_next_sharing(struct sp_device *device, struct sp_pool *pool);

// With the device's lock held: a pool that no walk stands on is left out of walks, or is in those
// that go through given-up ones.
void sp_device_relist_locked(struct sp_pool *pool, bool given_up);

// Walks the open devices and then the other places, beginning with null.
struct sp_device *sp_device_next(const struct sp_device *device);

// Looks for a place that is no device: null where it isn't made yet. It is made with the lock held,
// and is found by all when it is listed.
extern struct sp_lock sp_device_places_lock;
struct sp_device *sp_device_of_place(const struct sp_place *place);

// The place whose current pool one of this place may be: for memory for staging that of the rest of
// the host's or node's memory, or null where that isn't made yet; and else itself.
struct sp_device *sp_device_seat(struct sp_device *device);
void sp_device_list_place(struct sp_device *device);

// A place of the host's memory, best the one of this location; null where none is made yet.
struct sp_device *sp_device_of_host(CUmemLocation location);

// The bytes that can still be had there; false where nobody knows. Of a device it is what the
// context, one of the device's, says, where there is one.
bool sp_device_free_memory(const struct sp_device *device, CUcontext context, size_t *bytes);

// The ordinal of the device whose primary context calls take that need one: the device itself; for
// other places the first.
int sp_device_home(const struct sp_device *device);

// The primary context in which plain memory is got: the device's own; of other places that of the
// device of the stream, or else of the current context, when it is first asked for.
struct sp_outcome sp_device_retain_context(struct sp_device *device, const struct sp_stream *stream,
                                           CUcontext *context, uint64_t *id);

// The pool's enum poolDefragmentation: never where memory can't be mapped side by side.
#define sp_device_defragmentation(pool)                                                            \
    (sp_vmm_provider(&(pool)->device->vmm)->joins                                                  \
         ? sp_load_relaxed(&(pool)->attributes.defragmentation)                                    \
         : (int)poolDefragmentNever)

// Returns the bytes that the device's pools have reserved together.
uint64_t sp_device_reserved(struct sp_device *device);

// The pool has got memory where it had none: walks find it from now on. With the pool's lock held.
void sp_device_note_memory(struct sp_pool *pool);

// Gives back the struct of a pool that is in no list but its device's, for another pool to use.
void sp_device_give_struct(struct sp_pool *pool);

// -------------------------------------------------------------------------------- handles of pools

// A handle is not a pointer but (serial number, index) packed into one: a handle that was never
// given out or whose pool was given up is recognised, whatever stands in memory.

// So many pools can have handles at once.
enum { SP_HANDLE_MOST = (1 << 20) - 1 };

// The pool behind a handle, or null when it is no pool (any more).
struct sp_pool *sp_handle_pool(poolMemPool_t handle);

// Gives a pool its handle. False when too many pools have one.
bool sp_handle_publish(struct sp_pool *pool);

// Takes a pool's handle back. True for one of the threads that do so: the struct may be another
// pool's by then, which keeps its own.
bool sp_handle_withdraw(struct sp_pool *pool, poolMemPool_t handle);

#endif
