// The routes by which the process reaches the driver: how many look-ups each had, how many of them
// we answered with a function of ours, and who asked. Nothing is noted where no report is wanted.
#ifndef STREAMPOOL_DROPIN_ROUTE_H
#define STREAMPOOL_DROPIN_ROUTE_H

#include "dropin/format.h"
#include "dropin/wanted.h"

enum sp_route {
#define SP_ROUTE_ROW(name, what) SP_ROUTE_##name,
    SP_REPORT_ROUTES(SP_ROUTE_ROW)
#undef SP_ROUTE_ROW
        SP_ROUTE_COUNT
};

// Notes a look-up that returns to `caller`.
void sp_route_note_wanted(enum sp_route route, const void *caller, bool ours);
static inline void sp_route_note(enum sp_route route, const void *caller, bool ours) {
    if (sp_wanted_is())
        sp_route_note_wanted(route, caller, ours);
}

// To be called in a forked child. No more objects get a name there: the dynamic linker's lock may
// be one that a thread of the parent has held.
void sp_route_begin_child(void);

struct sp_route_figures {
    uint64_t lookups, ours;
};
struct sp_route_figures sp_route_figures(enum sp_route route);

// An object that asked. The first ones of a process are noted, each once.
enum { SP_ROUTE_ASKERS = 32, SP_ROUTE_NAME = 64 };
struct sp_route_asker {
    char name[SP_ROUTE_NAME]; // its soname or else the name of its file
    struct sp_route_figures figures;
};

// False where there is none of this index.
bool sp_route_asker(size_t index, struct sp_route_asker *asker);

// Reads what the dynamic linker has loaded: the path of the driver, and the objects that are linked
// with functions of ours, which is the route that needs no look-up. Takes the dynamic linker's
// lock.
struct sp_route_loaded {
    char driver[256]; // "" where there is none
    size_t count;
    struct sp_route_linked {
        char name[SP_ROUTE_NAME];
        uint64_t names;
    } linked[SP_ROUTE_ASKERS];
};
void sp_route_read_loaded(struct sp_route_loaded *loaded);

#endif
