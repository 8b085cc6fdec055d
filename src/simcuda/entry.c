#include "simcuda/entry.h"

#include <stdbool.h>
#include <string.h>

const struct sim_entry_info sim_entries[SIM_ENTRY_COUNT] = {
#define SIM_ENTRY_INFO(name, symbol, version, need, parameters)                                    \
    [SIM_ENTRY_##name] = {#name, version, (void (*)(void))symbol},
    SP_DRIVER_TABLE(SIM_ENTRY_INFO)
#undef SIM_ENTRY_INFO
#define SIM_ENTRY_INFO(name, symbol, version, parameters)                                          \
    [SIM_ENTRY_##symbol] = {#name, version, (void (*)(void))symbol},
        SIM_TABLE(SIM_ENTRY_INFO)
#undef SIM_ENTRY_INFO
            [SIM_ENTRY_cuGetProcAddress] = {"cuGetProcAddress", 11030,
                                            (void (*)(void))cuGetProcAddress},
    [SIM_ENTRY_cuGetProcAddress_v2] = {"cuGetProcAddress", 12000,
                                       (void (*)(void))cuGetProcAddress_v2},
};

// Tells whether one form is the one to give, rather than another, to who asks for that version.
static bool is_better(enum sim_entry one, enum sim_entry other, int version) {
    int first = sim_entries[one].version, second = sim_entries[other].version;
    if (first <= version && second <= version)
        return first > second;
    return first < second;
}

enum sim_entry sim_entry_find(const char *name, int version) {
    enum sim_entry found = SIM_ENTRY_COUNT;
    for (enum sim_entry entry = 0; entry < SIM_ENTRY_COUNT; entry++) {
        if (strcmp(sim_entries[entry].name, name) == 0 &&
            (found == SIM_ENTRY_COUNT || is_better(entry, found, version)))
            found = entry;
    }
    return found;
}
