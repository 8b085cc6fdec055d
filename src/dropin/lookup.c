#include "dropin/lookup.h"
#include "dropin/real.h"

#include <string.h>

const struct sp_lookup sp_lookups[] = {
#define ROW(name, symbol, version, flags, kind, parameters)                                        \
    {#name,                                                                                        \
     #symbol,                                                                                      \
     version,                                                                                      \
     flags,                                                                                        \
     kind,                                                                                         \
     offsetof(struct sp_real, symbol),                                                             \
     (void *)(uintptr_t)symbol},
    SP_DROPIN_TABLE(ROW)
#undef ROW
};

const size_t sp_lookup_count = sizeof sp_lookups / sizeof sp_lookups[0];

const struct sp_lookup *sp_lookup_symbol(const char *symbol) {
    if (symbol[0] != 'c' || symbol[1] != 'u')
        return NULL;
    for (size_t i = 0; i < sp_lookup_count; i++) {
        if (strcmp(sp_lookups[i].symbol, symbol) == 0)
            return &sp_lookups[i];
    }
    return NULL;
}

static const void *real_of(const struct sp_lookup *row) {
    const void *function;
    memcpy(&function, (const char *)sp_real() + row->real, sizeof function);
    return function;
}

static const struct sp_lookup *by_address(const char *name, const void *found) {
    for (size_t i = 0; i < sp_lookup_count; i++) {
        if (strcmp(sp_lookups[i].name, name) == 0 && real_of(&sp_lookups[i]) == found)
            return &sp_lookups[i];
    }
    return NULL;
}

// The newest form that is no newer than `version`; of forms for both kinds of stream 0 the one that
// the flags name.
static const struct sp_lookup *by_key(const char *name, int version, unsigned int flags) {
    const struct sp_lookup *best = NULL;
    for (size_t i = 0; i < sp_lookup_count; i++) {
        const struct sp_lookup *row = &sp_lookups[i];
        if (strcmp(row->name, name) != 0 || row->version > version || row->flags & ~flags)
            continue;
        if (!best || row->flags > best->flags ||
            (row->flags == best->flags && row->version > best->version))
            best = row;
    }
    return best;
}

// A driver tells its version before it is initialised.
bool sp_lookup_is_ours_alone(const struct sp_lookup *row) {
    int version = 0;
    if (row->kind != SP_POOL_CALL || row->version <= SP_POOLS_SINCE)
        return row->kind == SP_POOL_CALL;
    return sp_real_call(cuDriverGetVersion, (&version)) == CUDA_SUCCESS && version >= row->version;
}

const struct sp_lookup *sp_lookup_answer(const char *name, int version, uint64_t flags,
                                         const void *found) {
    const struct sp_lookup *asked = by_key(name, version, (unsigned int)flags & SP_PER_THREAD);
    if (!found)
        return asked && sp_lookup_is_ours_alone(asked) ? asked : NULL;
    const struct sp_lookup *answered = by_address(name, found);
    return answered || !asked || sp_real_exports(found) ? answered : asked;
}
