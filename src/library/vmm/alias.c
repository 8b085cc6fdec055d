#include "vmm/alias.h"

#include "base/page_map.h"

#include <stdlib.h>

// Makes an alias with its span, in which nothing is mapped yet. Null after a failure.
static struct sp_outcome new_alias(struct sp_space *space, struct sp_extent *const *extents,
                                   size_t count, struct sp_alias **made) {
    struct sp_alias *alias = calloc(1, sizeof *alias + count * sizeof alias->entries[0]);
    size_t size = 0;
    for (size_t i = 0; i < count; i++)
        size += extents[i]->size;
    *made = NULL;
    if (!alias)
        return sp_outcome_of(SP_NO_HOST_MEMORY);
    alias->space = space;
    struct sp_outcome outcome =
        sp_space_take(space, SP_SPAN_HIGH, size, size, &alias->address, &alias->size);
    if (!sp_is_done(outcome)) {
        free(alias);
        return outcome;
    }
    CUdeviceptr address = alias->address;
    for (size_t i = 0; i < count; i++) {
        alias->entries[i] = (struct sp_alias_entry){
            .alias = alias, .extent = NULL, .address = address, .size = extents[i]->size};
        sp_list_init(&alias->entries[i].link);
        address += extents[i]->size;
    }
    alias->count = count;
    *made = alias;
    return sp_outcome_done();
}

struct sp_outcome sp_alias_open(struct sp_alias **opened, void *owner, struct sp_space *space,
                                const struct sp_access *access, struct sp_extent *const *extents,
                                size_t count) {
    struct sp_outcome outcome = new_alias(space, extents, count, opened);
    if (!sp_is_done(outcome))
        return outcome;
    struct sp_alias *alias = *opened;
    alias->owner = owner;
    for (size_t i = 0; i < count; i++) {
        struct sp_alias_entry *entry = &alias->entries[i];
        outcome = sp_outcome_of_driver(
            sp_driver->cuMemMap(entry->address, entry->size, 0, extents[i]->handle, 0), "cuMemMap");
        if (!sp_is_done(outcome))
            break;
        entry->extent = extents[i];
        alias->mapped++;
        sp_page_map_set_begin(entry->address, true);
        sp_list_push_back(&extents[i]->aliases, &entry->link);
        sp_space_note_extent(space, &entry->in_space, entry->address, entry->size,
                             &extents[i]->in_space);
    }
    if (sp_is_done(outcome))
        outcome = sp_access_give(access, space->device, alias->address, alias->size);
    if (!sp_is_done(outcome) && sp_is_done(sp_alias_unmap_all(alias))) {
        sp_alias_close(alias);
        *opened = NULL;
    }
    return outcome;
}

struct sp_outcome sp_alias_evict(struct sp_alias_entry *entry) {
    if (entry->evicted)
        return sp_outcome_done();
    struct sp_outcome outcome =
        sp_outcome_of_driver(sp_driver->cuMemUnmap(entry->address, entry->size), "cuMemUnmap");
    entry->evicted = sp_is_done(outcome);
    return outcome;
}

struct sp_outcome sp_alias_make_resident(struct sp_alias_entry *entry,
                                         const struct sp_access *access) {
    struct sp_outcome outcome = sp_outcome_done();
    if (entry->evicted)
        outcome = sp_outcome_of_driver(
            sp_driver->cuMemMap(entry->address, entry->size, 0, entry->extent->handle, 0),
            "cuMemMap");
    if (!sp_is_done(outcome))
        return outcome;
    entry->evicted = false;
    return sp_access_give(access, entry->alias->space->device, entry->address, entry->size);
}

struct sp_outcome sp_alias_unmap(struct sp_alias_entry *entry) {
    if (!entry->extent)
        return sp_outcome_done();
    struct sp_outcome outcome = sp_alias_evict(entry);
    if (!sp_is_done(outcome))
        return outcome;
    sp_list_remove(&entry->link);
    sp_space_forget_extent(entry->alias->space, &entry->in_space);
    entry->extent = NULL;
    sp_page_map_set_begin(entry->address, false);
    entry->alias->mapped--;
    return sp_outcome_done();
}

struct sp_outcome sp_alias_unmap_all(struct sp_alias *alias) {
    struct sp_outcome first = sp_outcome_done();
    for (size_t i = 0; i < alias->count; i++)
        first = sp_outcome_first(first, sp_alias_unmap(&alias->entries[i]));
    return first;
}

void sp_alias_close(struct sp_alias *alias) {
    sp_space_give(alias->space, alias->address, alias->size, true);
    free(alias);
}
