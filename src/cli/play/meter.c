#include "cli/play/meter.h"

#include <dlfcn.h>
#include <string.h>

enum sp_time_base sp_meter_base(const struct sp_driver *driver, bool with_work) {
    if (!sp_device_is_simulated(driver))
        return SP_TIME_OF_HOST;
    return with_work ? SP_TIME_OF_VIRTUAL_CLOCK : SP_TIME_OF_MODEL_AND_HOST;
}

// Looks a function up. Returns its name where it is not there.
static const char *find(const struct sp_meter *meter, const char *name, void *function) {
    void *found = dlsym(meter->library, name);
    if (!found)
        return name;
    memcpy(function, &found, sizeof found);
    return NULL;
}

const char *sp_meter_open(struct sp_meter *meter, const struct sp_driver *driver,
                          const struct sp_work *work) {
    *meter = (struct sp_meter){.base = sp_meter_base(driver, work != NULL), .work = work};
    if (meter->base != SP_TIME_OF_VIRTUAL_CLOCK)
        meter->clock_cost = sp_clock_cost();
    if (meter->base != SP_TIME_OF_MODEL_AND_HOST)
        return NULL;
    meter->library = dlopen(driver->path, RTLD_LAZY | RTLD_NOLOAD);
    if (!meter->library)
        return driver->path;
    const char *missing = find(meter, "simcudaMeterHost", &meter->meter_host);
    if (!missing)
        missing = find(meter, "simcudaThreadCost", &meter->thread_cost);
    if (missing)
        dlclose(meter->library);
    else
        meter->meter_host(1);
    return missing;
}

void sp_meter_close(struct sp_meter *meter) {
    if (!meter->library)
        return;
    meter->meter_host(0);
    dlclose(meter->library);
}
