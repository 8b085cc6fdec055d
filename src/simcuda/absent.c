#include "simcuda/absent.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static CUresult refuse(const char *name, atomic_flag *is_told) {
    if (!atomic_flag_test_and_set(is_told))
        fprintf(stderr, "simulated driver: %s is not simulated: CUDA_ERROR_NOT_SUPPORTED\n", name);
    return CUDA_ERROR_NOT_SUPPORTED;
}

// Where the arguments lie doesn't matter to a function that looks at none.
#define X(name)                                                                                    \
    SIM_EXPORT CUresult name(void);                                                                \
    CUresult name(void) {                                                                          \
        static atomic_flag is_told = ATOMIC_FLAG_INIT;                                             \
        return refuse(#name, &is_told);                                                            \
    }
#include "absent_names.inc"
#undef X

static const struct sim_entry_info absent[] = {
#define X(name) {#name, 0, (void (*)(void))name},
#include "absent_names.inc"
#undef X
};

// Returns whether an exported name is a form of the name: the same, or with its version behind it.
static bool is_form_of(const char *exported, const char *name) {
    size_t length = strlen(name);
    return strncmp(exported, name, length) == 0 &&
           (!exported[length] || strncmp(exported + length, "_v", 2) == 0);
}

const struct sim_entry_info *sim_absent_find(const char *name) {
    for (size_t i = 0; i < sizeof absent / sizeof absent[0]; i++) {
        if (is_form_of(absent[i].name, name))
            return &absent[i];
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
