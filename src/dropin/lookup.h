// Which of our functions stands in for which of the driver's.
#ifndef STREAMPOOL_DROPIN_LOOKUP_H
#define STREAMPOOL_DROPIN_LOOKUP_H

#include "dropin/table.h"

#include <stdbool.h>
#include <stddef.h>

// A row of the table.
struct sp_lookup {
    const char *name;
    const char *symbol;
    int version;
    unsigned int flags;
    enum sp_call_kind kind;
    size_t real;    // offset of the driver's function in struct sp_real
    void *function; // ours
};

extern const struct sp_lookup sp_lookups[];
extern const size_t sp_lookup_count;

// The row of an exported name, or null.
const struct sp_lookup *sp_lookup_symbol(const char *symbol);

// True when a call is ours though the driver has none: a runtime tells the driver's age by the
// calls that came after the first ones about pools.
bool sp_lookup_is_ours_alone(const struct sp_lookup *row);

// The row that stands in for what cuGetProcAddress was asked for, which answered with `found` or,
// where that is null, had none. Null: leave the answer as it is.
//
// The form is that of the driver's answer. An answer that is none of the driver's exported
// functions is judged by what was asked for; an exported function that no row knows is a form that
// we don't have.
const struct sp_lookup *sp_lookup_answer(const char *name, int version, uint64_t flags,
                                         const void *found);

#endif
