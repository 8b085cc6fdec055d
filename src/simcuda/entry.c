#include "simcuda/entry.h"

#include <string.h>

const struct sim_entry_info sim_entries[SIM_ENTRY_COUNT] = {
#define SIM_ENTRY_INFO(name, symbol, version, need, parameters)                                    \
    [SIM_ENTRY_##name] = {#name, version, (void (*)(void))symbol},
    SP_DRIVER_TABLE(SIM_ENTRY_INFO)
#undef SIM_ENTRY_INFO
        [SIM_ENTRY_cuGetProcAddress] = {"cuGetProcAddress", 11030,
                                        (void (*)(void))cuGetProcAddress},
    [SIM_ENTRY_cuGetProcAddress_v2] = {"cuGetProcAddress_v2", 12000,
                                       (void (*)(void))cuGetProcAddress_v2},
};

enum sim_entry sim_entry_find(const char *name) {
    enum sim_entry entry = 0;
    while (entry < SIM_ENTRY_COUNT && strcmp(sim_entries[entry].name, name) != 0)
        entry++;
    return entry;
}
