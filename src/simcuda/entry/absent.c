#include "simcuda/entry/absent.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

// Returns whether an exported name is a form of the name: the same, or with its version behind it.
static bool is_form_of(const char *exported, const char *name) {
    size_t length = strlen(name);
    return strncmp(exported, name, length) == 0 &&
           (!exported[length] || strncmp(exported + length, "_v", 2) == 0);
}

const struct sim_entry_info *sim_absent_find(const char *name) {
    for (size_t i = 0; i < sim_absent_count; i++) {
        if (is_form_of(sim_absent[i].name, name))
            return &sim_absent[i];
    }
    return NULL;
}

// Each of these is asked for by a runtime that goes on without it.
static const CUuuid dispensable[] = {
    {"\xf8\xcf\xf9\x51\x21\x46\x8b\x4e\xb9\xe2\xfb\x46\x9e\x7c\x0d\xd9"},
};

static bool is_dispensable(const CUuuid *identity) {
    for (size_t i = 0; i < sizeof dispensable / sizeof dispensable[0]; i++) {
        if (memcmp(&dispensable[i], identity, sizeof *identity) == 0)
            return true;
    }
    return false;
}

void sim_absent_tell_table(const CUuuid *identity) {
    static atomic_flag is_told = ATOMIC_FLAG_INIT;
    const unsigned char *at = (const unsigned char *)identity->bytes;
    if (is_dispensable(identity) || atomic_flag_test_and_set(&is_told))
        return;
    fprintf(stderr,
            "simulated driver: the CUDA runtime asks for the driver's private table "
            "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x, which is not "
            "documented: this program can't run here\n",
            at[0], at[1], at[2], at[3], at[4], at[5], at[6], at[7], at[8], at[9], at[10], at[11],
            at[12], at[13], at[14], at[15]);
}
