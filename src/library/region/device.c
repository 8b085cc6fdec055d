#include "region/device.h"

struct sp_device sp_devices[SP_MAX_DEVICES];
int sp_device_count;

bool sp_device_exists(int ordinal) {
    return ordinal >= 0 && ordinal < sp_device_count;
}

// ------------------------------------------------------------------------------------------ places

struct sp_lock sp_device_places_lock;
static struct sp_device *_Atomic first_place;

static bool is_device(const struct sp_device *device) {
    return device >= sp_devices && device < sp_devices + SP_MAX_DEVICES;
}

struct sp_device *sp_device_next(const struct sp_device *device) {
    if (device && !is_device(device))
        return sp_load_acquire(&device->next_place);
    int ordinal = device ? (int)(device - sp_devices) + 1 : 0;
    while (ordinal < sp_device_count && !sp_load_acquire(&sp_devices[ordinal].open))
        ordinal++;
    return ordinal < sp_device_count ? &sp_devices[ordinal] : sp_load_acquire(&first_place);
}

// The first of these places, but for the device itself, whose memory is managed or isn't.
static struct sp_device *another_from(struct sp_device *place, const struct sp_device *device,
                                      bool is_managed) {
    while (place && (place == device || place->vmm.place.is_managed != is_managed))
        place = sp_load_acquire(&place->next_place);
    return place;
}

// Managed memory is quicker to get anew than pinned memory, so it comes first.
struct sp_device *sp_device_next_place_sharing(const struct sp_device *device,
                                               const struct sp_device *other) {
    bool is_managed = other->vmm.place.is_managed;
    struct sp_device *first = sp_load_acquire(&first_place);
    if (is_device(device))
        return NULL;
    struct sp_device *next = another_from(
        other == device ? first : sp_load_acquire(&other->next_place), device, is_managed);
    return next || !is_managed ? next : another_from(first, device, false);
}

struct sp_device *sp_device_of_place(const struct sp_place *place) {
    struct sp_device *device = sp_load_acquire(&first_place);
    while (device && !sp_place_is_same(&device->vmm.place, place))
        device = sp_load_acquire(&device->next_place);
    return device;
}

struct sp_device *sp_device_of_host(CUmemLocation location) {
    struct sp_place place = {.location = location};
    struct sp_device *device = sp_device_of_place(&place);
    if (!device)
        device = sp_load_acquire(&first_place);
    while (device && !sp_vmm_device_is_of_host(&device->vmm))
        device = sp_load_acquire(&device->next_place);
    return device;
}

struct sp_device *sp_device_seat(struct sp_device *device) {
    struct sp_place place = device->vmm.place;
    if (!place.is_staged)
        return device;
    place.is_staged = false;
    return sp_device_of_place(&place);
}

void sp_device_list_place(struct sp_device *device) {
    struct sp_device *last = sp_load_relaxed(&first_place);
    while (last && sp_load_relaxed(&last->next_place))
        last = sp_load_relaxed(&last->next_place);
    sp_store_release(last ? &last->next_place : &first_place, device);
}

bool sp_device_free_memory(const struct sp_device *device, CUcontext context, size_t *bytes) {
    const struct sp_vmm_device *vmm = &device->vmm;
    bool is_of_host = sp_vmm_device_is_of_host(vmm);
    if (is_of_host)
        *bytes = sp_vmm_device_left(vmm);
    else if (context)
        *bytes = sp_context_free_memory(context);
    return is_of_host || context;
}

int sp_device_home(const struct sp_device *device) {
    int home = sp_load_relaxed(&device->vmm.home);
    return home < 0 ? 0 : home;
}

// The device of the current context, or the first.
static int current_device(void) {
    CUcontext context = NULL;
    uint64_t id;
    int ordinal = 0;
    if (sp_is_done(sp_context_current(&context, &id)) && context)
        (void)sp_context_device(context, &ordinal);
    return ordinal;
}

struct sp_outcome sp_device_retain_context(struct sp_device *device, const struct sp_stream *stream,
                                           CUcontext *context, uint64_t *id) {
    int home = sp_load_relaxed(&device->vmm.home), none = -1;
    if (home < 0) {
        int chosen = stream ? stream->device : current_device();
        home = atomic_compare_exchange_strong(&device->vmm.home, &none, chosen) ? chosen : none;
    }
    return sp_context_retain_primary(&sp_devices[home].primary, home, context, id);
}

// --------------------------------------------------------------------------- the structs of pools

void sp_device_give_struct(struct sp_pool *pool) {
    sp_lock_acquire(&pool->device->lock);
    pool->stage = SP_POOL_SPARE;
    sp_list_remove(&pool->listing.link);
    sp_list_push_front(&pool->device->spare_pools, &pool->listing.link);
    sp_lock_release(&pool->device->lock);
}

// --------------------------------------------------------------------------- the pools of a device

// A pool is in the list of those that have memory from its first byte on. It is taken out when a
// walk leaves it and finds that it has none; so no walk loses its place, and one pool in ten
// thousand that has memory is found without a look at the others.

static struct sp_pool *holder_of(struct sp_list *link) {
    return SP_CONTAINER_OF(link, struct sp_pool, listing.holds);
}

// With both locks held. Pools in use count, whichever way they come and go.
static void unlist_locked(struct sp_pool *pool) {
    if (sp_list_empty(&pool->listing.holds))
        return;
    sp_list_remove(&pool->listing.holds);
    if (!pool->listing.given_up)
        sp_subtract_relaxed(&pool->device->holders_in_use, 1);
}

static void list_locked(struct sp_pool *pool, bool given_up) {
    pool->listing.given_up = given_up;
    sp_list_push_back(&pool->device->holders[given_up ? SP_HOLDERS_GIVEN_UP : SP_HOLDERS_IN_USE],
                      &pool->listing.holds);
    if (!given_up)
        sp_add_relaxed(&pool->device->holders_in_use, 1);
}

// A walk that takes the pool out looks whether it has memory under the same lock. So it sees what
// the caller has counted, or has taken it out before, and then it is put in again here.
void sp_device_note_memory(struct sp_pool *pool) {
    struct sp_device *device = pool->device;
    sp_lock_acquire(&device->holders_lock);
    if (sp_list_empty(&pool->listing.holds))
        list_locked(pool, false);
    sp_lock_release(&device->holders_lock);
}

void sp_device_relist_locked(struct sp_pool *pool, bool given_up) {
    sp_lock_acquire(&pool->device->holders_lock);
    unlist_locked(pool);
    if (given_up)
        list_locked(pool, true);
    sp_lock_release(&pool->device->holders_lock);
}

// Returns the pool behind another, or the first; null at the end.
static struct sp_pool *walk(struct sp_device *device, struct sp_pool *pool, bool in_use_alone) {
    struct sp_list *in_use = &device->holders[SP_HOLDERS_IN_USE];
    struct sp_list *given_up = &device->holders[SP_HOLDERS_GIVEN_UP];
    sp_lock_acquire(&device->lock);
    sp_lock_acquire(&device->holders_lock);
    struct sp_list *link = pool ? pool->listing.holds.next : in_use->next;
    if (link == in_use)
        link = given_up->next;
    bool ends = link == given_up || (in_use_alone && holder_of(link)->listing.given_up);
    struct sp_pool *next = ends ? NULL : holder_of(link);
    if (pool && --pool->pins == 0 && sp_load_relaxed(&pool->reserved) == 0 &&
        !sp_pool_has_zombies(pool))
        unlist_locked(pool);
    if (next)
        next->pins++;
    sp_lock_release(&device->holders_lock);
    sp_lock_release(&device->lock);
    return next;
}

struct sp_pool *sp_device_next_pool(struct sp_device *device, struct sp_pool *pool) {
    return walk(device, pool, false);
}

struct sp_pool *sp_device_next_in_use(struct sp_device *device, struct sp_pool *pool) {
    return walk(device, pool, true);
}

struct sp_pool *sp_device_next_sharing(struct sp_device *device, struct sp_pool *pool) {
    struct sp_device *at = pool ? pool->device : device;
    pool = sp_device_next_pool(at, pool);
    while (!pool && (at = sp_device_next_place_sharing(device, at)))
        pool = sp_device_next_pool(at, NULL);
    return pool;
}

uint64_t sp_device_reserved(struct sp_device *device) {
    uint64_t sum = 0;
    struct sp_pool *pool = NULL;
    while ((pool = sp_device_next_pool(device, pool)))
        sum += sp_load_relaxed(&pool->reserved);
    return sum;
}

// -------------------------------------------------------------------------------- handles of pools

enum { INDEX_BITS = 20, MAX_POOLS = SP_HANDLE_MOST + 1 };
static_assert(MAX_POOLS == 1 << INDEX_BITS, "an index has just the bits that it needs");

// Indices that were in use before and are free are a stack, so that a handle is found whatever the
// number of pools. The arrays take memory as far as they are used.
static struct {
    struct sp_lock lock;
    uintptr_t last_serial;
    uint32_t last_index; // that was ever in use; 0 is none
    uint32_t free_index; // the top of the stack, or 0
    uint32_t free_below[MAX_POOLS];
    struct sp_pool *_Atomic pools[MAX_POOLS]; // by index; null: free
} registry;

struct sp_pool *sp_handle_pool(poolMemPool_t handle) {
    size_t index = (uintptr_t)handle & (MAX_POOLS - 1);
    struct sp_pool *pool = sp_load_acquire(&registry.pools[index]);
    return pool && sp_load_acquire(&pool->handle) == handle ? pool : NULL;
}

bool sp_handle_publish(struct sp_pool *pool) {
    sp_lock_acquire(&registry.lock);
    uint32_t index = registry.free_index; // 0 when all are in use
    if (index != 0)
        registry.free_index = registry.free_below[index];
    else if (registry.last_index < MAX_POOLS - 1)
        index = ++registry.last_index;
    if (index != 0) {
        uintptr_t value = ++registry.last_serial << INDEX_BITS | index;
        sp_store_release(&pool->handle, (poolMemPool_t)value);
        sp_store_release(&registry.pools[index], pool);
    }
    sp_lock_release(&registry.lock);
    return index != 0;
}

bool sp_handle_withdraw(struct sp_pool *pool, poolMemPool_t handle) {
    size_t index = (uintptr_t)handle & (MAX_POOLS - 1);
    sp_lock_acquire(&registry.lock);
    bool ours =
        sp_load_relaxed(&registry.pools[index]) == pool && sp_load_acquire(&pool->handle) == handle;
    if (ours) {
        sp_store_release(&registry.pools[index], NULL);
        registry.free_below[index] = registry.free_index;
        registry.free_index = (uint32_t)index;
    }
    sp_lock_release(&registry.lock);
    return ours;
}
