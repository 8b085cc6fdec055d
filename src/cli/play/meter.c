#include "cli/play/meter.h"

#include <dlfcn.h>
#include <string.h>

enum sp_time_base sp_meter_base(const struct sp_driver *driver, bool with_work) {
    if (!sp_device_is_simulated(driver))
        return SP_TIME_OF_HOST;
    return with_work ? SP_TIME_OF_VIRTUAL_CLOCK : SP_TIME_OF_MODEL_AND_HOST;
}

static bool find_function(const struct sp_meter *meter, const char *name, void *function,
                          const char **problem) {
    void *found = dlsym(meter->library, name);
    if (found)
        memcpy(function, &found, sizeof found);
    else
        *problem = name;
    return found != NULL;
}

static bool open_simulated(struct sp_meter *meter, const struct sp_driver *driver,
                           const char **problem) {
    *problem = driver->path;
    meter->library = dlopen(driver->path, RTLD_LAZY | RTLD_NOLOAD);
    if (meter->library && find_function(meter, "simcudaMeterHost", &meter->meter_host, problem) &&
        find_function(meter, "simcudaThreadCost", &meter->thread_cost, problem)) {
        meter->meter_host(1);
        return true;
    }
    if (meter->library)
        dlclose(meter->library);
    return false;
}

bool sp_meter_open(struct sp_meter *meter, const struct sp_driver *driver,
                   const struct sp_work *work, const char **problem) {
    *meter = (struct sp_meter){.base = sp_meter_base(driver, work != NULL), .work = work};
    if (meter->base != SP_TIME_OF_VIRTUAL_CLOCK)
        meter->clock_cost = sp_clock_cost();
    return meter->base != SP_TIME_OF_MODEL_AND_HOST || open_simulated(meter, driver, problem);
}

void sp_meter_close(struct sp_meter *meter) {
    if (!meter->library)
        return;
    meter->meter_host(0);
    dlclose(meter->library);
}
