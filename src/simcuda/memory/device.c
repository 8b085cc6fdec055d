#include "simcuda/memory/device.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/number.h"
#include "simcuda/common/host.h"
#include "simcuda/common/shared.h"
#include "simcuda/common/thread.h"
#include "simcuda/entry/attributes.h"

#define HOST_PAGE 4096
// A memory handle has an index into `handles` in so many low bits, and above them a number that no
// other handle has.
#define HANDLE_BITS 24
// The system lets a process have some 65,000 mappings, which are the program's to use.
#define WINDOWS_MAX    4096
#define FIRST_IDENTITY ((uint64_t)1 << 63)
// More than a process has addresses for.
#define UNLIMITED ((uint64_t)1 << 46)

struct sp_list sim_extents = {&sim_extents, &sim_extents};

static struct device {
    int file; // -1 until a byte is written
    uint64_t next_base;
    uint64_t file_size;
    uint64_t used;
    uint64_t created;
    uint64_t peak;
} devices[SIM_PLACES];

static struct sim_extent **handles;
static size_t handle_count;
static size_t handle_capacity;
static size_t *free_handles;
static size_t free_handle_count;
static size_t free_handle_capacity;
static uint64_t last_handle_serial;
static uint64_t extents_made; // in this process

static uint64_t window_count;

void sim_device_start(void) {
    for (size_t i = 0; i < SIM_PLACES; i++)
        devices[i] = (struct device){.file = -1};
}

static bool is_of_level(uint64_t since) {
    return sim_config.api >= since;
}

bool sim_device_exists(int device) {
    return device >= 0 && (uint64_t)device < sim_config.devices;
}

bool sim_device_knows_host(void) {
    return is_of_level(12020);
}

bool sim_device_can_access(int device, int peer) {
    return device == peer || sim_config.peers != 0;
}

uint64_t sim_device_used(int device) {
    return devices[device].used;
}

uint64_t sim_device_created(int device) {
    return devices[device].created;
}

uint64_t sim_device_peak(int device) {
    return devices[device].peak;
}

void sim_device_peak_reset(void) {
    for (size_t i = 0; i < SIM_PLACES; i++)
        devices[i].peak = devices[i].created;
}

static uint64_t left_of(int device) {
    uint64_t of_host = sim_config.hostMemory ? sim_config.hostMemory : UNLIMITED;
    return (device == SIM_HOST ? of_host : sim_config.device[device].memory) - devices[device].used;
}

bool sim_host_memory_take(uint64_t size) {
    if (size > left_of(SIM_HOST))
        return false;
    devices[SIM_HOST].used += size;
    return true;
}

void sim_host_memory_give(uint64_t size) {
    devices[SIM_HOST].used -= size;
}

// An attribute that a driver of that level does not know is an invalid value.
CUresult sim_device_attribute(int *value, int attribute, int device) {
    bool has_vmm = sim_config.device[device].vmm != simcudaVmmMissing;
    bool has_host_vmm = has_vmm && sim_config.hostVmm != simcudaVmmMissing;
    switch (attribute) {
#define SIM_ATTRIBUTE(name, number, since, its_value)                                              \
    case number:                                                                                   \
        if (!is_of_level(since))                                                                   \
            return CUDA_ERROR_INVALID_VALUE;                                                       \
        *value = its_value;                                                                        \
        return CUDA_SUCCESS;
        SIM_DEVICE_ATTRIBUTES(SIM_ATTRIBUTE)
#undef SIM_ATTRIBUTE
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

// ----------------------------------------------------------------------------------------- handles

static CUmemGenericAllocationHandle give_handle(struct sim_extent *extent) {
    size_t index = 0;
    if (free_handle_count > 0) {
        index = free_handles[--free_handle_count];
    } else {
        SIM_RESERVE_ONE(handles, handle_count, handle_capacity);
        index = handle_count++;
    }
    handles[index] = extent;
    return ++last_handle_serial << HANDLE_BITS | index;
}

struct sim_extent *sim_extent_find(CUmemGenericAllocationHandle handle) {
    size_t index = handle & (((uint64_t)1 << HANDLE_BITS) - 1);
    if (index >= handle_count || !handles[index] || handles[index]->handle != handle)
        return NULL;
    return handles[index];
}

static void take_handle(struct sim_extent *extent) {
    size_t index = extent->handle & (((uint64_t)1 << HANDLE_BITS) - 1);
    handles[index] = NULL;
    SIM_RESERVE_ONE(free_handles, free_handle_count, free_handle_capacity);
    free_handles[free_handle_count++] = index;
    extent->handle = 0;
}

// ----------------------------------------------------------------------------------------- extents

static bool has_file(const struct sim_extent *extent) {
    return extent->file >= 0;
}

static int file_of(const struct sim_extent *extent) {
    return has_file(extent) ? extent->file : devices[extent->device].file;
}

// The kernel ends a process by a signal whose file becomes larger than its limit.
static bool may_have(uint64_t size) {
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) != 0 || size <= limit.rlim_cur;
}

// A byte beyond the file's end can't be looked at through a window.
static bool reach(const struct sim_extent *extent) {
    struct device *device = &devices[extent->device];
    uint64_t end = extent->base + extent->size;
    if (sim_extent_is_of_host(extent) || (!has_file(extent) && end <= device->file_size))
        return true;
    bool reached = may_have(end) && ftruncate(file_of(extent), (off_t)end) == 0;
    if (reached && !has_file(extent))
        device->file_size = end;
    return reached;
}

// A limit of address space is for the program and the library.
static bool address_space_is_limited(void) {
    struct rlimit limit;
    return getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur != RLIM_INFINITY;
}

static void open_window(struct sim_extent *extent) {
    if (extent->window || window_count == WINDOWS_MAX || address_space_is_limited() ||
        !reach(extent))
        return;
    void *at = mmap(NULL, extent->size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
                    file_of(extent), (off_t)extent->base);
    if (at == MAP_FAILED)
        return;
    extent->window = at;
    window_count++;
}

static void close_window(struct sim_extent *extent) {
    if (!extent->window)
        return;
    munmap(extent->window, extent->size);
    extent->window = NULL;
    window_count--;
}

// The host touches its memory wherever it likes, so the file has all bytes from the beginning.
static CUresult make_file(int device, uint64_t size, int *file) {
    *file = memfd_create("simulated extent", MFD_CLOEXEC);
    if (*file < 0)
        return CUDA_ERROR_OPERATING_SYSTEM;
    if (device != SIM_HOST || (may_have(size) && ftruncate(*file, (off_t)size) == 0))
        return CUDA_SUCCESS;
    close(*file);
    return CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult sim_extent_create(enum sim_extent_kind kind, int device, uint64_t size, bool shareable,
                           struct sim_extent **result) {
    struct device *owner = &devices[device];
    if (size > left_of(device))
        return CUDA_ERROR_OUT_OF_MEMORY;
    int file = -1;
    bool is_alone = shareable || device == SIM_HOST;
    CUresult made = is_alone ? make_file(device, size, &file) : CUDA_SUCCESS;
    if (made != CUDA_SUCCESS)
        return made;
    struct sim_extent *extent = sim_allocate(sizeof(*extent));
    extent->is_of_library = sim_is_for_library();
    extent->kind = kind;
    extent->device = device;
    extent->size = size;
    extent->identity = FIRST_IDENTITY + extents_made++;
    extent->shareable = shareable;
    extent->file = file;
    extent->written = device == SIM_HOST; // as far as the driver can tell
    extent->base = is_alone ? 0 : owner->next_base;
    owner->next_base += is_alone ? 0 : sp_round_up(size, HOST_PAGE);
    owner->used += size;
    owner->created += kind == SIM_EXTENT_OF_HANDLE ? size : 0;
    owner->peak = owner->created > owner->peak ? owner->created : owner->peak;
    extent->handle = kind == SIM_EXTENT_OF_HANDLE ? give_handle(extent) : 0;
    sp_list_push_back(&sim_extents, &extent->link);
    if (device == SIM_HOST)
        open_window(extent);
    *result = extent;
    return CUDA_SUCCESS;
}

// Gives the extent's pages back to the host.
static void drop_bytes(struct sim_extent *extent) {
    close_window(extent);
    if (has_file(extent))
        close(extent->file);
    else if (extent->written)
        fallocate(devices[extent->device].file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                  (off_t)extent->base, (off_t)sp_round_up(extent->size, HOST_PAGE));
}

static void destroy(struct sim_extent *extent) {
    devices[extent->device].used -= extent->size;
    devices[extent->device].created -= extent->kind == SIM_EXTENT_OF_HANDLE ? extent->size : 0;
    drop_bytes(extent);
    sim_history_destroy(&extent->history);
    sim_advice_destroy(&extent->advice);
    sp_list_remove(&extent->link);
    sim_free(extent);
}

void sim_extent_release(struct sim_extent *extent) {
    take_handle(extent);
    if (extent->mappings == 0)
        destroy(extent);
}

void sim_extent_unmapped(struct sim_extent *extent) {
    if (--extent->mappings == 0 && extent->handle == 0)
        destroy(extent);
}

// ------------------------------------------------------------------------------------------- bytes

// Bytes that were never written read as zero.
bool sim_extent_read(const struct sim_extent *extent, uint64_t offset, void *to, size_t size) {
    char *at = to;
    if (extent->window) {
        memcpy(to, extent->window + offset, size);
        return true;
    }
    while (extent->written && size > 0) {
        ssize_t done = pread(file_of(extent), at, size, (off_t)(extent->base + offset));
        if (done < 0)
            return false;
        if (done == 0)
            break;
        at += done;
        offset += (size_t)done;
        size -= (size_t)done;
    }
    memset(at, 0, size);
    return true;
}

bool sim_extent_write(struct sim_extent *extent, uint64_t offset, const void *from, size_t size) {
    struct device *device = &devices[extent->device];
    const char *at = from;
    if (device->file < 0 && !has_file(extent))
        device->file = memfd_create("simulated device", MFD_CLOEXEC);
    extent->written = true;
    open_window(extent);
    if (extent->window) {
        memcpy(extent->window + offset, from, size);
        return true;
    }
    if (!may_have(extent->base + offset + size))
        return false;
    if (!has_file(extent) && extent->base + offset + size > device->file_size)
        device->file_size = extent->base + offset + size;
    while (size > 0) {
        ssize_t done = pwrite(file_of(extent), at, size, (off_t)(extent->base + offset));
        if (done <= 0)
            return false;
        at += done;
        offset += (size_t)done;
        size -= (size_t)done;
    }
    return true;
}

void sim_device_reset(void) {
    SP_LIST_FOR_EACH_SAFE(link, &sim_extents)
        destroy(SP_CONTAINER_OF(link, struct sim_extent, link));
    for (size_t i = 0; i < SIM_PLACES; i++) {
        if (devices[i].file >= 0)
            close(devices[i].file);
    }
    sim_free(handles);
    sim_free(free_handles);
    handles = NULL;
    free_handles = NULL;
    handle_count = handle_capacity = free_handle_count = free_handle_capacity = 0;
}
