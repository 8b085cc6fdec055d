#include "simcuda/entry/entry.h"

#include <stdbool.h>
#include <string.h>

const struct sim_entry_info sim_entries[SIM_ENTRY_COUNT] = {
#define SIM_ENTRY_INFO(name, symbol, version, need, parameters)                                    \
    [SIM_ENTRY_##symbol] = {#name, version, (void (*)(void))symbol},
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
static bool is_better(const struct sim_entry_info *one, const struct sim_entry_info *other,
                      int version) {
    if (one->version <= version && other->version <= version)
        return one->version > other->version;
    return one->version < other->version;
}

size_t sim_entry_find_row(const struct sim_entry_info *rows, size_t count, const char *name,
                          int version) {
    size_t found = count;
    for (size_t i = 0; i < count; i++) {
        if (strcmp(rows[i].name, name) == 0 &&
            (found == count || is_better(&rows[i], &rows[found], version)))
            found = i;
    }
    return found;
}

enum sim_entry sim_entry_find(const char *name, int version) {
    return (enum sim_entry)sim_entry_find_row(sim_entries, SIM_ENTRY_COUNT, name, version);
}
