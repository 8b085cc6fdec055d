#include "api/interpose.h"
#include "api/api.h"
#include "base/page_map.h"
#include "driver/driver.h"

void sp_interpose_set_find(void *(*find)(void *library, const char *name)) {
    sp_driver_set_find(find);
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
