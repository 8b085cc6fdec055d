// A mapping gets the access that the pool allows when it is made (vmm/device.h). A change walks all
// mappings that there are.
//
// The map lock keeps mappers out meanwhile, so no mapping is missed. The walk goes through the
// extents where they are at home, and from each to its aliases, also those of zombies. When the
// driver refuses one mapping, those before it get back what they had.
#include "supply/access.h"

#include "base/log.h"
#include "region/device.h"
#include "vmm/alias.h"

static_assert((int)SP_ACCESS_DEVICES == (int)SP_MAX_DEVICES, "each device has a place");
static_assert((int)poolMemAccessFlagsProtNone == (int)CU_MEM_ACCESS_FLAGS_PROT_NONE &&
                  (int)poolMemAccessFlagsProtRead == (int)CU_MEM_ACCESS_FLAGS_PROT_READ &&
                  (int)poolMemAccessFlagsProtReadWrite == (int)CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
              "the flags are the driver's");

// The access to be set for the peers that a call names, each once.
struct change {
    CUmemAccessDesc descriptors[SP_ACCESS_DEVICES];
    size_t count;
    int host; // the host's access to managed memory, or -1
};

// A walk sets the access of the first `most` mappings, in the order in which it finds them. One
// that `undoes` another leaves no mapping out, and counts those that the driver refuses.
struct walk {
    const struct change *change;
    size_t most;
    size_t passed;
    size_t refused;
    bool undoes;
};

static struct sp_outcome set_one(struct walk *walk, CUdeviceptr address, size_t size,
                                 bool is_mapped) {
    if (walk->passed == walk->most || !is_mapped) // it gets the pool's access when it is
        return sp_outcome_done();
    struct sp_outcome outcome =
        sp_access_set(address, size, walk->change->descriptors, walk->change->count);
    if (!sp_is_done(outcome) && !walk->undoes)
        return outcome;
    walk->refused += !sp_is_done(outcome);
    walk->passed++;
    return sp_outcome_done();
}

static struct sp_outcome set_all(struct walk *walk, const struct sp_pool *pool) {
    struct sp_outcome outcome = sp_outcome_done();
    for (int kind = 0; kind < SP_REGION_COUNT; kind++) {
        SP_LIST_FOR_EACH_OF(const struct sp_segment, segment, link, &pool->regions[kind].segments) {
            if (!segment->view.provider->joins) // it is not mapped: all have access
                continue;
            struct sp_extent *extent = sp_view_extent_from(&segment->view, 0);
            for (; extent && sp_is_done(outcome); extent = sp_view_extent_next(extent)) {
                outcome = set_one(walk, extent->address, extent->size, extent->mapped);
                SP_LIST_FOR_EACH_OF(const struct sp_alias_entry, entry, link, &extent->aliases) {
                    if (sp_is_done(outcome))
                        outcome = set_one(walk, entry->address, entry->size, !entry->evicted);
                }
            }
        }
    }
    return outcome;
}

// Sets all of a pool, and of its overflow.
static struct sp_outcome set_both(struct walk *walk, const struct sp_pool *pool,
                                  const struct sp_pool *overflow) {
    struct sp_outcome outcome = set_all(walk, pool);
    return sp_is_done(outcome) && overflow ? set_all(walk, overflow) : outcome;
}

// A mapping that can't be put back lets a peer in that the pool doesn't name, or keeps one out
// until the next change, which sets each mapping again whatever the pool says.
static struct sp_outcome change_locked(struct sp_pool *pool, struct sp_pool *overflow,
                                       const struct change *change) {
    struct change before = *change;
    for (size_t i = 0; i < before.count; i++)
        before.descriptors[i].flags =
            sp_access_of(&pool->access, before.descriptors[i].location.id);
    struct walk walk = {.change = change, .most = SIZE_MAX};
    struct sp_outcome outcome = set_both(&walk, pool, overflow);
    if (!sp_is_done(outcome)) {
        struct walk back = {.change = &before, .most = walk.passed, .undoes = true};
        set_both(&back, pool, overflow);
        if (back.refused > 0)
            sp_log_warn("access to %zu mappings of a pool could not be put back", back.refused);
        return outcome;
    }
    for (size_t i = 0; i < change->count; i++) {
        const CUmemAccessDesc *set = &change->descriptors[i];
        sp_access_note(&pool->access, set->location.id, set->flags);
        if (overflow)
            sp_access_note(&overflow->access, set->location.id, set->flags);
    }
    if (change->host >= 0)
        sp_store_relaxed(&pool->access.host, (unsigned char)change->host);
    return sp_outcome_done();
}

// Memory of the host is the host's to read and write, always, and that of a device is not
// for it. Of managed memory it is noted.
static poolError_t check_host(const struct sp_vmm_device *device, enum poolMemAccessFlags flags) {
    if (device->ordinal >= 0)
        return sp_fail(poolErrorNotSupported, "the host has no access to memory of a device");
    if (flags == poolMemAccessFlagsProtRead)
        return sp_fail(poolErrorNotSupported, "the host writes to memory of its own");
    if (flags == poolMemAccessFlagsProtNone && !device->place.is_managed)
        return sp_fail(poolErrorNotSupported, "the host can't be denied memory of its own");
    return poolSuccess;
}

static poolError_t check_own(int own, enum poolMemAccessFlags flags) {
    if (flags == poolMemAccessFlagsProtNone)
        return sp_fail(poolErrorInvalidDevice,
                       "device %d can't be denied the memory of its own pool", own);
    if (flags == poolMemAccessFlagsProtRead)
        return sp_fail(poolErrorNotSupported, "device %d writes to the memory of its own pool",
                       own);
    return poolSuccess;
}

static poolError_t check_peer(const struct sp_vmm_device *device, int peer) {
    int own = device->ordinal;
    bool possible = false;
    struct sp_outcome outcome = sp_access_is_possible(device, peer, &possible);
    if (!sp_is_done(outcome))
        return sp_fail_outcome(outcome, "asking whether a device can access another's memory");
    if (!possible)
        return sp_fail(poolErrorInvalidDevice,
                       "device %d can't access memory of device %d (cuDeviceCanAccessPeer)", peer,
                       own);
    if (!sp_vmm_provider(device)->lets_peers_in)
        return sp_fail(poolErrorNotSupported,
                       "device %d has no virtual memory management, so access to one pool can't "
                       "be given; cuCtxEnablePeerAccess lets device %d in to all of its memory",
                       own, peer);
    return poolSuccess;
}

static bool is_host(const struct poolMemLocation *location) {
    return location->type == poolMemLocationTypeHost ||
           location->type == poolMemLocationTypeHostNuma;
}

static poolError_t check(const struct sp_pool *pool, const struct poolMemAccessDesc *desc) {
    const struct poolMemLocation *location = &desc->location;
    const struct sp_vmm_device *device = &pool->device->vmm;
    if (location->type != poolMemLocationTypeDevice && !is_host(location))
        return sp_fail(poolErrorInvalidValue, "%d is not a location that can be given access",
                       (int)location->type);
    if (desc->flags != poolMemAccessFlagsProtNone && desc->flags != poolMemAccessFlagsProtRead &&
        desc->flags != poolMemAccessFlagsProtReadWrite)
        return sp_fail(poolErrorInvalidValue, "%d is not one of poolMemAccessFlags",
                       (int)desc->flags);
    if (is_host(location))
        return check_host(device, desc->flags);
    if (!sp_device_exists(location->id))
        return sp_fail(poolErrorInvalidDevice, "there is no device %d", location->id);
    if (location->id == device->ordinal)
        return check_own(location->id, desc->flags);
    if (desc->flags == poolMemAccessFlagsProtNone)
        return poolSuccess;
    if (device->ordinal >= 0)
        return check_peer(device, location->id);
    return desc->flags == poolMemAccessFlagsProtRead
               ? sp_fail(poolErrorNotSupported, "devices can't be given this memory to read only")
               : poolSuccess;
}

// The last of several entries for one device counts.
poolError_t sp_access_change(struct sp_pool *pool, const struct poolMemAccessDesc *list,
                             size_t count) {
    struct change change = {.count = 0, .host = -1};
    for (size_t i = 0; i < count; i++) {
        poolError_t error = check(pool, &list[i]);
        int id = list[i].location.id;
        if (error != poolSuccess)
            return error;
        if (is_host(&list[i].location))
            change.host = (int)list[i].flags;
        if (is_host(&list[i].location) || id == pool->device->vmm.ordinal)
            continue;
        size_t at = 0;
        while (at < change.count && change.descriptors[at].location.id != id)
            at++;
        change.count += at == change.count;
        change.descriptors[at] =
            (CUmemAccessDesc){{CU_MEM_LOCATION_TYPE_DEVICE, id}, (CUmemAccess_flags)list[i].flags};
    }
    bool is_noted = change.host >= 0 && pool->device->vmm.place.is_managed;
    if ((change.count == 0 && !is_noted) || (!sp_vmm_provider(&pool->device->vmm)->lets_peers_in &&
                                             !sp_access_has_peers(&pool->access)))
        return poolSuccess; // nobody was let in
    sp_pool_begin_mapping(pool);
    struct sp_pool *overflow = sp_load_acquire(&pool->overflow);
    if (overflow)
        sp_pool_begin_mapping(overflow);
    struct sp_outcome outcome = change_locked(pool, overflow, &change);
    if (overflow)
        sp_pool_end_mapping(overflow);
    sp_pool_end_mapping(pool);
    return sp_is_done(outcome) ? poolSuccess : sp_fail_outcome(outcome, "setting the access");
}

poolError_t sp_access_read(const struct sp_pool *pool, const struct poolMemLocation *location,
                           enum poolMemAccessFlags *flags) {
    const struct sp_vmm_device *device = &pool->device->vmm;
    bool is_device = location->type == poolMemLocationTypeDevice && sp_device_exists(location->id);
    if (!is_device && !is_host(location))
        return sp_fail(poolErrorInvalidValue,
                       "(%d, %d) is not the location of a device or the host", (int)location->type,
                       location->id);
    bool is_own = is_device ? location->id == device->ordinal : sp_vmm_device_is_of_host(device);
    int noted = is_device ? (int)sp_access_of(&pool->access, location->id)
                          : (int)sp_load_relaxed(&pool->access.host);
    *flags = is_own ? poolMemAccessFlagsProtReadWrite : (enum poolMemAccessFlags)noted;
    return poolSuccess;
}
