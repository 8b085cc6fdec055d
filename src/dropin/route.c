// Threads note at once, and take no lock once an object is known: its place is had by the first
// thread that writes where the object lies, and the rest is there before `named`. Names are copied,
// as an object may be unloaded. The dynamic linker's own search by address would read all symbols
// of the object.
#include "dropin/route.h"
#include "dropin/elf.h"
#include "dropin/lookup.h"

#include <stdio.h>
#include <string.h>

static struct counts { _Atomic uint64_t lookups, ours; } routes[SP_ROUTE_COUNT];

// The object fills the addresses from `first` to `end`.
static struct asker {
    _Atomic uintptr_t first;
    _Atomic bool named;
    uintptr_t end;
    char name[SP_ROUTE_NAME];
    struct counts counts;
} askers[SP_ROUTE_ASKERS];

static _Atomic bool is_child;

void sp_route_begin_child(void) {
    sp_store_relaxed(&is_child, true);
}

static void add(struct counts *counts, bool ours) {
    sp_add_relaxed(&counts->lookups, 1);
    sp_add_relaxed(&counts->ours, (uint64_t)ours);
}

static struct sp_route_figures read(struct counts *counts) {
    return (struct sp_route_figures){sp_load_relaxed(&counts->lookups),
                                     sp_load_relaxed(&counts->ours)};
}

// The program's own file has no name here.
static void name(char text[SP_ROUTE_NAME], const struct link_map *object) {
    const char *soname = sp_elf_soname(object);
    const char *slash = object->l_name ? strrchr(object->l_name, '/') : NULL;
    const char *file = slash ? slash + 1 : object->l_name;
    if (!soname)
        soname = file && *file ? file : "the program";
    snprintf(text, SP_ROUTE_NAME, "%s", soname);
}

static struct link_map object_of(const struct dl_phdr_info *info) {
    struct link_map object = {.l_addr = info->dlpi_addr, .l_name = (char *)info->dlpi_name};
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const Elf64_Phdr *part = &info->dlpi_phdr[i];
        if (part->p_type == PT_DYNAMIC) // NOLINTNEXTLINE(performance-no-int-to-ptr)
            object.l_ld = (Elf64_Dyn *)(info->dlpi_addr + part->p_vaddr);
    }
    return object;
}

// Ends the walk at the object that has the address, and names it while it can't be unloaded.
static int find_place(struct dl_phdr_info *info, size_t size, void *data) {
    struct asker *asker = data;
    uintptr_t address = asker->first, first = UINTPTR_MAX, end = 0;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const Elf64_Phdr *part = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + part->p_vaddr;
        if (part->p_type != PT_LOAD)
            continue;
        first = start < first ? start : first;
        end = start + part->p_memsz > end ? start + part->p_memsz : end;
    }
    struct link_map object = object_of(info);
    if (address < first || address >= end || !object.l_ld)
        return 0;
    asker->first = first;
    asker->end = end;
    name(asker->name, &object);
    return 1;
}

// The place of the object at an address, or null when all are taken.
static struct asker *known(uintptr_t address) {
    for (int i = 0; i < SP_ROUTE_ASKERS; i++) {
        struct asker *asker = &askers[i];
        if (sp_load_acquire(&asker->named) && address >= sp_load_relaxed(&asker->first) &&
            address < asker->end)
            return asker;
    }
    return NULL;
}

// Another thread that has the same object at the same moment has the same place.
static struct asker *take_place(const struct asker *found) {
    for (int i = 0; i < SP_ROUTE_ASKERS; i++) {
        uintptr_t nobody = 0;
        struct asker *asker = &askers[i];
        if (atomic_compare_exchange_strong(&asker->first, &nobody, found->first)) {
            asker->end = found->end;
            memcpy(asker->name, found->name, sizeof asker->name);
            sp_store_release(&asker->named, true);
            return asker;
        }
        if (nobody == found->first)
            return asker;
    }
    return NULL;
}

static struct asker *asker_of(const void *caller) {
    struct asker found = {.first = (uintptr_t)caller};
    struct asker *asker = known((uintptr_t)caller);
    bool is_full = sp_load_relaxed(&askers[SP_ROUTE_ASKERS - 1].first) != 0;
    if (asker || is_full || sp_load_relaxed(&is_child))
        return asker;
    return dl_iterate_phdr(find_place, &found) != 0 ? take_place(&found) : NULL;
}

void sp_route_note_wanted(enum sp_route route, const void *caller, bool ours) {
    add(&routes[route], ours);
    struct asker *asker = asker_of(caller);
    if (asker)
        add(&asker->counts, ours);
}

struct sp_route_figures sp_route_figures(enum sp_route route) {
    return read(&routes[route]);
}

bool sp_route_asker(size_t index, struct sp_route_asker *asker) {
    if (index >= SP_ROUTE_ASKERS || !sp_load_acquire(&askers[index].named))
        return false;
    memcpy(asker->name, askers[index].name, SP_ROUTE_NAME);
    asker->figures = read(&askers[index].counts);
    return true;
}

// -------------------------------------------------------------------------------- what is loaded

#define ONE(name, symbol, version, flags, kind, parameters) +1
enum { ROWS = 0 SP_DROPIN_TABLE(ONE) };
#undef ONE

static void mark(const char *symbol, void *seen) {
    const struct sp_lookup *row = sp_lookup_symbol(symbol);
    if (row)
        ((bool *)seen)[row - sp_lookups] = true;
}

static uint64_t count_needed(const struct link_map *object) {
    bool seen[ROWS] = {false};
    uint64_t count = 0;
    sp_elf_each_needed(object, mark, seen);
    for (int i = 0; i < ROWS; i++)
        count += seen[i];
    return count;
}

// A drop-in that stands in front of the driver under its soname has its functions, too.
static bool is_driver(const struct link_map *object) {
    return sp_elf_find(object, "cuInit") &&
           !sp_elf_contains(object, (const void *)(uintptr_t)sp_route_read_loaded);
}

static void read_object(const struct link_map *object, struct sp_route_loaded *loaded) {
    if (is_driver(object))
        snprintf(loaded->driver, sizeof loaded->driver, "%s", object->l_name);
    uint64_t names = loaded->count < SP_ROUTE_ASKERS ? count_needed(object) : 0;
    if (names == 0)
        return;
    struct sp_route_linked *linked = &loaded->linked[loaded->count++];
    name(linked->name, object);
    linked->names = names;
}

static int visit(struct dl_phdr_info *info, size_t size, void *loaded) {
    struct link_map object = object_of(info);
    (void)size;
    if (object.l_ld)
        read_object(&object, loaded);
    return 0;
}

void sp_route_read_loaded(struct sp_route_loaded *loaded) {
    *loaded = (struct sp_route_loaded){.count = 0};
    dl_iterate_phdr(visit, loaded);
}
