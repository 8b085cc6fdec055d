#include "vmm/device.h"

#include "base/host_memory.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/number.h"
#include "base/options.h"
#include "base/page_map.h"
#include "vmm/staged.h"

// ---------------------------------------------------------------------------------- plain memory

static struct sp_outcome allocate(const struct sp_vmm_device *device, CUdeviceptr *base,
                                  size_t size) {
    (void)device;
    return sp_outcome_of_driver(sp_driver->cuMemAlloc(base, size), "cuMemAlloc");
}

static struct sp_outcome release(CUdeviceptr base, size_t size) {
    (void)size;
    return sp_outcome_of_driver(sp_driver->cuMemFree(base), "cuMemFree");
}

// All contexts may use it.
static struct sp_outcome allocate_pinned(const struct sp_vmm_device *device, CUdeviceptr *base,
                                         size_t size) {
    void *memory = NULL;
    (void)device;
    struct sp_outcome outcome = sp_outcome_of_driver(
        sp_driver->cuMemHostAlloc(&memory, size,
                                  CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP),
        "cuMemHostAlloc");
    *base = (uintptr_t)memory;
    return outcome;
}

static struct sp_outcome release_pinned(CUdeviceptr base, size_t size) {
    (void)size;
    return sp_outcome_of_driver(sp_driver->cuMemFreeHost((void *)(uintptr_t)base), "cuMemFreeHost");
}

// Where it prefers to be is advice: a driver that doesn't take it has the memory all the same.
static struct sp_outcome allocate_managed(const struct sp_vmm_device *device, CUdeviceptr *base,
                                          size_t size) {
    struct sp_outcome outcome = sp_outcome_of_driver(
        sp_driver->cuMemAllocManaged(base, size, CU_MEM_ATTACH_GLOBAL), "cuMemAllocManaged");
    if (sp_is_done(outcome) && device->location.type != CU_MEM_LOCATION_TYPE_NONE &&
        sp_driver->cuMemAdvise)
        (void)sp_outcome_of_driver(sp_driver->cuMemAdvise(*base, size,
                                                          CU_MEM_ADVISE_SET_PREFERRED_LOCATION,
                                                          device->location),
                                   "cuMemAdvise");
    return outcome;
}

const struct sp_vmm_provider sp_vmm_virtual = {
    .joins = true, .divides = true, .lets_peers_in = true};
const struct sp_vmm_provider sp_vmm_plain = {.get = allocate,
                                             .give = release,
                                             .is_of_context = true,
                                             .is_contexts_own = true,
                                             .waits_to_give = true};
const struct sp_vmm_provider sp_vmm_managed = {.get = allocate_managed,
                                               .give = release,
                                               .lets_peers_in = true,
                                               .is_of_context = true,
                                               .waits_to_give = true};
const struct sp_vmm_provider sp_vmm_pinned = {.get = allocate_pinned,
                                              .give = release_pinned,
                                              .lets_peers_in = true,
                                              .is_of_context = true,
                                              .waits_to_give = true};

// ---------------------------------------------------------------------------------------- opening

static struct sp_outcome attribute(int ordinal, CUdevice_attribute which, int *value) {
    CUdevice handle = 0;
    struct sp_outcome outcome =
        sp_outcome_of_driver(sp_driver->cuDeviceGet(&handle, ordinal), "cuDeviceGet");
    return sp_is_done(outcome)
               ? sp_outcome_of_driver(sp_driver->cuDeviceGetAttribute(value, which, handle),
                                      "cuDeviceGetAttribute")
               : outcome;
}

// Asks for an attribute that the driver may be too old for: then it is 0.
static struct sp_outcome attribute_or_none(int ordinal, CUdevice_attribute which, int *value) {
    struct sp_outcome outcome = attribute(ordinal, which, value);
    if (outcome.code != CUDA_ERROR_INVALID_VALUE)
        return outcome;
    *value = 0;
    return sp_outcome_done();
}

CUmemAllocationProp sp_vmm_device_prop(const struct sp_vmm_device *device,
                                       CUmemAllocationHandleType handles) {
    CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                .requestedHandleTypes = handles,
                                .location = device->location};
    return prop;
}

// The unit of mappings is made a whole number of pages of the page map, which finds a block by its
// page.
static struct sp_outcome ask_granule(struct sp_vmm_device *device) {
    CUmemAllocationProp prop = sp_vmm_device_prop(device, CU_MEM_HANDLE_TYPE_NONE);
    struct sp_outcome outcome =
        sp_outcome_of_driver(sp_driver->cuMemGetAllocationGranularity(
                                 &device->granule, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM),
                             "cuMemGetAllocationGranularity");
    if (sp_is_done(outcome) && !sp_is_power_of_two(device->granule))
        return sp_outcome_of(SP_NOT_SUPPORTED);
    device->granule = sp_max(device->granule, SP_PAGE_SIZE);
    return outcome;
}

// Asks what a device with virtual memory management can do.
static struct sp_outcome ask_vmm(struct sp_vmm_device *device) {
    int exports_fd = 0, rdma = 0;
    struct sp_outcome outcome = ask_granule(device);
    if (sp_is_done(outcome))
        outcome =
            attribute(device->ordinal,
                      CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, &exports_fd);
    if (sp_is_done(outcome))
        outcome = attribute_or_none(
            device->ordinal, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED, &rdma);
    device->exports_fd = exports_fd != 0;
    device->rdma = rdma != 0;
    return outcome;
}

static struct sp_outcome total_memory(int ordinal, size_t *bytes) {
    CUdevice handle = 0;
    struct sp_outcome outcome =
        sp_outcome_of_driver(sp_driver->cuDeviceGet(&handle, ordinal), "cuDeviceGet");
    return sp_is_done(outcome) ? sp_outcome_of_driver(sp_driver->cuDeviceTotalMem(bytes, handle),
                                                      "cuDeviceTotalMem")
                               : outcome;
}

static void make_plain(struct sp_vmm_device *device, const struct sp_vmm_provider *provider) {
    device->plain = provider;
    device->granule = SP_PLAIN_GRANULE;
    atomic_init(&device->means, SP_VMM_PLAIN);
}

static struct sp_outcome open_device(struct sp_vmm_device *device) {
    int has_vmm = 0;
    device->plain = &sp_vmm_plain;
    struct sp_outcome outcome = attribute(
        device->ordinal, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, &has_vmm);
    if (sp_is_done(outcome))
        outcome = total_memory(device->ordinal, &device->total_memory);
    if (sp_is_done(outcome) && has_vmm && sp_options()->vmm) {
        outcome = ask_vmm(device);
    } else if (sp_is_done(outcome)) {
        make_plain(device, &sp_vmm_plain);
        sp_log_info("device %d maps no virtual memory: its pools use cuMemAlloc", device->ordinal);
    }
    return outcome;
}

// The driver tells whether the node is there when it is asked for memory on it, had or not.
static struct sp_outcome try_node(const struct sp_vmm_device *device) {
    CUmemGenericAllocationHandle handle;
    CUmemAllocationProp prop = sp_vmm_device_prop(device, CU_MEM_HANDLE_TYPE_NONE);
    struct sp_outcome outcome = sp_outcome_of_driver(
        sp_driver->cuMemCreate(&handle, device->granule, &prop, 0), "cuMemCreate");
    if (sp_is_done(outcome))
        (void)sp_outcome_of_driver(sp_driver->cuMemRelease(handle), "cuMemRelease");
    return outcome.code == CUDA_ERROR_OUT_OF_MEMORY ? sp_outcome_done() : outcome;
}

// A driver that doesn't know the node says -1: then it is the first.
static struct sp_outcome ask_node_beside(int ordinal, int *node) {
    struct sp_outcome outcome = attribute_or_none(ordinal, CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID, node);
    *node = *node > 0 ? *node : 0;
    return outcome;
}

struct sp_outcome sp_vmm_device_node_beside(const struct sp_vmm_device *device, int *node) {
    int maps_nodes = 0;
    struct sp_outcome outcome = attribute_or_none(
        device->ordinal, CU_DEVICE_ATTRIBUTE_HOST_NUMA_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED,
        &maps_nodes);
    if (sp_is_done(outcome) && !maps_nodes)
        outcome = sp_outcome_of(SP_NOT_SUPPORTED);
    return sp_is_done(outcome) ? ask_node_beside(device->ordinal, node) : outcome;
}

// Drivers of CUDA 12.2 map memory of a node, later ones that of the whole host, too. Where they
// don't, the whole host's is the memory of the node next to the first device.
static struct sp_outcome open_host(struct sp_vmm_device *device) {
    bool is_node = device->location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA;
    int maps_host = 0, maps_nodes = 0, node = 0, exports_fd = 0;
    device->plain = &sp_vmm_pinned;
    struct sp_outcome outcome = attribute_or_none(
        0, CU_DEVICE_ATTRIBUTE_HOST_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, &maps_host);
    if (sp_is_done(outcome))
        outcome = attribute_or_none(
            0, CU_DEVICE_ATTRIBUTE_HOST_NUMA_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, &maps_nodes);
    if (sp_is_done(outcome) && is_node && maps_nodes)
        outcome = attribute(0, CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED,
                            &exports_fd);
    if (sp_is_done(outcome) && !is_node && !maps_host && maps_nodes) {
        outcome = ask_node_beside(0, &node);
        device->location = (CUmemLocation){CU_MEM_LOCATION_TYPE_HOST_NUMA, node};
    }
    if (!sp_is_done(outcome))
        return outcome;
    device->exports_fd = exports_fd != 0;
    bool maps = sp_options()->vmm && (maps_nodes || (maps_host && !is_node));
    outcome = maps ? ask_granule(device) : sp_outcome_of(SP_NOT_SUPPORTED);
    if (is_node || !sp_outcome_lacks_support(outcome))
        return is_node && sp_is_done(outcome) ? try_node(device) : outcome;
    device->location = device->place.location; // which may have been a node's
    make_plain(device, &sp_vmm_pinned);
    sp_log_info("memory of the host is not mapped: its pools use cuMemHostAlloc");
    return sp_outcome_done();
}

// A device of a location must be there; that of a node is found out by memory of its own.
static struct sp_outcome open_managed(struct sp_vmm_device *device) {
    int has_managed = 0;
    bool is_on_device = device->location.type == CU_MEM_LOCATION_TYPE_DEVICE;
    int home = is_on_device ? device->location.id : 0;
    struct sp_vmm_device node = {.place = {.location = device->location},
                                 .location = device->location};
    struct sp_outcome outcome =
        attribute_or_none(home, CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY, &has_managed);
    if (sp_is_done(outcome) && (!has_managed || !sp_driver->cuMemAllocManaged))
        return sp_outcome_of(SP_NOT_SUPPORTED);
    if (sp_is_done(outcome) && device->location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA)
        outcome = open_host(&node);
    size_t on_device = 0;
    if (sp_is_done(outcome))
        outcome = total_memory(home, &on_device);
    device->total_memory = sp_host_memory_total(-1) + on_device;
    if (is_on_device)
        atomic_init(&device->home, home);
    make_plain(device, &sp_vmm_managed);
    return outcome;
}

static struct sp_outcome open_staged(struct sp_vmm_device *device) {
    make_plain(device, &sp_vmm_staged);
    return sp_driver->cuMemHostRegister && sp_driver->cuMemHostUnregister
               ? sp_staged_check(&device->place)
               : sp_outcome_of(SP_NOT_SUPPORTED);
}

struct sp_outcome sp_vmm_device_open(const struct sp_place *place, struct sp_vmm_device *device) {
    bool is_device = place->location.type == CU_MEM_LOCATION_TYPE_DEVICE && !place->is_managed;
    struct sp_vmm_device opened = {.place = *place,
                                   .location = place->location,
                                   .ordinal = is_device ? place->location.id : -1};
    atomic_init(&opened.home, opened.ordinal);
    if (!is_device)
        opened.total_memory = sp_host_memory_total(sp_place_node(place));
    struct sp_outcome outcome = is_device           ? open_device(&opened)
                                : place->is_managed ? open_managed(&opened)
                                : place->is_staged  ? open_staged(&opened)
                                                    : open_host(&opened);
    if (sp_is_done(outcome))
        *device = opened;
    return outcome;
}

// The kernel needs some for its own ends, and other processes go on meanwhile.
#define LEFT_FOR_OTHERS ((uint64_t)32 << 20)

uint64_t sp_vmm_device_left(const struct sp_vmm_device *device) {
    return sp_excess(sp_host_memory_left(sp_vmm_device_node(device)).bytes, LEFT_FOR_OTHERS);
}

// The bytes that are being taken; and who looks, one at a time, so that nobody who waits is passed.
static _Atomic uint64_t taking;
static struct sp_lock looking;

void sp_vmm_device_begin_exchange(const struct sp_vmm_device *device, uint64_t bytes) {
    if (sp_vmm_device_is_of_host(device))
        atomic_fetch_add(&taking, bytes);
}

// The sum is read first: memory that is got meanwhile counts twice, and not never.
struct sp_outcome sp_vmm_device_begin_taking(const struct sp_vmm_device *device, uint64_t bytes) {
    uint64_t others = 1;
    bool fits = false;
    if (bytes == 0 || !sp_vmm_device_is_of_host(device))
        return sp_outcome_done();
    sp_lock_acquire(&looking);
    for (unsigned looks = 0; !fits && others > 0; looks++) {
        if (looks > 0)
            sp_lock_pause(SP_LOCK_SLEEPS);
        others = sp_load_acquire(&taking);
        fits = sp_excess(sp_vmm_device_left(device), others) >= bytes;
    }
    if (fits)
        sp_vmm_device_begin_exchange(device, bytes);
    sp_lock_release(&looking);
    return sp_outcome_of(fits ? SP_DONE : SP_HOST_IS_FULL);
}

void sp_vmm_device_end_taking(const struct sp_vmm_device *device, uint64_t bytes) {
    if (sp_vmm_device_is_of_host(device))
        atomic_fetch_sub(&taking, bytes);
}

bool sp_vmm_device_change_from(struct sp_vmm_device *device,
                               const struct sp_vmm_provider *provider) {
    int untried = SP_VMM_UNTRIED;
    bool may_change = sp_place_node(&device->place) < 0; // other memory would be of any node
    if (may_change && atomic_compare_exchange_strong(&device->means, &untried, SP_VMM_PLAIN)) {
        char name[SP_PLACE_NAME];
        sp_place_text(&device->place, name);
        sp_log_info("%s refuses to map virtual memory: its pools use %s", name,
                    device->ordinal < 0 ? "cuMemHostAlloc" : "cuMemAlloc");
    }
    return sp_vmm_provider(device) != provider;
}

// ------------------------------------------------------------------------------------------ access

static CUmemAccessDesc descriptor_of(int ordinal, CUmemAccess_flags flags) {
    return (CUmemAccessDesc){{CU_MEM_LOCATION_TYPE_DEVICE, ordinal}, flags};
}

void sp_access_clear(struct sp_access *access) {
    sp_store_relaxed(&access->host, CU_MEM_ACCESS_FLAGS_PROT_NONE);
    for (int ordinal = 0; ordinal < SP_ACCESS_DEVICES; ordinal++)
        sp_access_note(access, ordinal, CU_MEM_ACCESS_FLAGS_PROT_NONE);
}

bool sp_access_has_peers(const struct sp_access *access) {
    bool any = false;
    for (int ordinal = 0; ordinal < SP_ACCESS_DEVICES; ordinal++)
        any = any || sp_access_of(access, ordinal) != CU_MEM_ACCESS_FLAGS_PROT_NONE;
    return any;
}

struct sp_outcome sp_access_set(CUdeviceptr address, size_t size,
                                const CUmemAccessDesc *descriptors, size_t count) {
    return sp_outcome_of_driver(sp_driver->cuMemSetAccess(address, size, descriptors, count),
                                "cuMemSetAccess");
}

struct sp_outcome sp_access_give(const struct sp_access *access, const struct sp_vmm_device *device,
                                 CUdeviceptr address, size_t size) {
    CUmemAccessDesc descriptors[SP_ACCESS_DEVICES + 1];
    size_t count = 0;
    descriptors[count++] = (CUmemAccessDesc){device->location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    for (int ordinal = 0; access && ordinal < SP_ACCESS_DEVICES; ordinal++) {
        CUmemAccess_flags flags = sp_access_of(access, ordinal);
        if (flags != CU_MEM_ACCESS_FLAGS_PROT_NONE)
            descriptors[count++] = descriptor_of(ordinal, flags);
    }
    return sp_access_set(address, size, descriptors, count);
}

struct sp_outcome sp_access_is_possible(const struct sp_vmm_device *device, int peer,
                                        bool *possible) {
    CUdevice own, other;
    int can = 0;
    struct sp_outcome outcome =
        sp_outcome_of_driver(sp_driver->cuDeviceGet(&own, device->ordinal), "cuDeviceGet");
    if (sp_is_done(outcome))
        outcome = sp_outcome_of_driver(sp_driver->cuDeviceGet(&other, peer), "cuDeviceGet");
    if (sp_is_done(outcome))
        outcome = sp_outcome_of_driver(sp_driver->cuDeviceCanAccessPeer(&can, other, own),
                                       "cuDeviceCanAccessPeer");
    *possible = can != 0;
    return outcome;
}
