#include "api/interpose.h"
#include "base/page_map.h"
#include "base/thread.h"
#include "driver/driver.h"
#include "order/resolve.h"
#include "process/promises.h"
#include "process/reclaim.h"
#include "process/runtime.h"

void sp_interpose_set_driver(const char *path, void *(*find)(void *library, const char *name)) {
    sp_driver_stand_in(path, find);
}

bool sp_interpose_simulated_path(char path[PATH_MAX]) {
    return sp_driver_path_beside(SP_DRIVER_SIMULATED, path);
}

poolError_t sp_interpose_start(void) {
    return sp_runtime_start();
}

bool sp_interpose_has_address(uint64_t address) {
    return sp_page_map_has(address);
}

bool sp_interpose_give(CUmemLocation location, size_t bytes, enum sp_interpose_share share) {
    struct sp_device *device = location.type == CU_MEM_LOCATION_TYPE_DEVICE
                                   ? sp_device_at(location.id)
                                   : sp_device_of_host(location);
    return device && !sp_fork_is_child() &&
           (share != SP_INTERPOSE_AWAITED || sp_reclaim_await_frees(device, bytes)) &&
           sp_reclaim_give(device, bytes, share != SP_INTERPOSE_ENOUGH);
}

static atomic_bool has_entered, has_one_behind;

bool sp_interpose_enter(bool is_behind) {
    if (is_behind)
        atomic_store(&has_one_behind, true);
    return !atomic_exchange(&has_entered, true);
}

bool sp_interpose_has_one_behind(void) {
    return atomic_load(&has_one_behind);
}

void sp_interpose_keep_destroyed(void) {
    sp_tell_keep_destroyed();
}

bool sp_interpose_visit_pools(void (*visit)(const struct sp_tell_pool *pool, void *data),
                              void *data) {
    return sp_tell_visit(SP_TELL_COUNTS, visit, data);
}

// ---------------------------------------------------------------------------------------- promises

void sp_interpose_hold(int promises) {
    sp_promises_hold(promises);
}

void sp_interpose_forget(CUstream stream) {
    sp_stream_cache_forget_handle(stream, NULL);
}

void sp_interpose_forget_all(void) {
    if (!sp_fork_is_child())
        sp_promises_end();
}

static atomic_bool is_destroyed_behind;

void sp_interpose_set_destroy(CUresult (*destroy)(CUstream stream), bool is_behind) {
    if (is_behind || !atomic_load(&is_destroyed_behind))
        sp_end_set_destroyer(destroy);
    if (is_behind)
        atomic_store(&is_destroyed_behind, true);
}

uint64_t sp_interpose_thread(void) {
    return sp_thread_number();
}
