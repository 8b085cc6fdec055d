#include "api/interpose.h"
#include "api/api.h"
#include "base/page_map.h"
#include "driver/driver.h"
#include "process/give_way.h"

void sp_interpose_set_find(void *(*find)(void *library, const char *name)) {
    sp_driver_set_find(find);
}

bool sp_interpose_simulated_path(char path[PATH_MAX]) {
    return sp_driver_simulated_path(path);
}

poolError_t sp_interpose_start(void) {
    return sp_runtime_start();
}

bool sp_interpose_demand_context(bool demand) {
    return sp_api_demand_context(demand);
}

bool sp_interpose_has_address(uint64_t address) {
    return sp_page_map_has(address);
}

static struct sp_device *device_to_ask(int ordinal) {
    return sp_fork_is_child() ? NULL : sp_device_at(ordinal);
}

bool sp_interpose_give_enough(int ordinal, size_t bytes) {
    struct sp_device *device = device_to_ask(ordinal);
    return device && sp_give_way_enough(device, bytes);
}

bool sp_interpose_give_all(int ordinal, size_t bytes) {
    struct sp_device *device = device_to_ask(ordinal);
    return device && sp_give_way_all(device, bytes);
}

bool sp_interpose_give_awaited(int ordinal, size_t bytes) {
    struct sp_device *device = device_to_ask(ordinal);
    return device && sp_give_way_await_frees(device, bytes) && sp_give_way_all(device, bytes);
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
    return sp_tell_visit(visit, data);
}
