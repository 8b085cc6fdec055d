#include "vmm/alias.h"

#include <stdlib.h>

static size_t size_of_all(struct sp_extent *const *extents, size_t count) {
    size_t size = 0;
    for (size_t i = 0; i < count; i++)
        size += extents[i]->size;
    return size;
}

// Makes an alias with its span, in which nothing is mapped yet. Null without host memory or address
// space.
static struct sp_alias *new_alias(struct sp_space *space, struct sp_extent *const *extents,
                                  size_t count) {
    struct sp_alias *alias = calloc(1, sizeof *alias + count * sizeof alias->entries[0]);
    size_t size = size_of_all(extents, count);
    if (!alias)
        return NULL;
    alias->space = space;
    if (sp_space_take(space, SP_SPAN_HIGH, size, size, &alias->address, &alias->size) !=
        CUDA_SUCCESS) {
        free(alias);
        return NULL;
    }
    CUdeviceptr address = alias->address;
    for (size_t i = 0; i < count; i++) {
        alias->entries[i] = (struct sp_alias_entry){
            .alias = alias, .extent = NULL, .address = address, .size = extents[i]->size};
        sp_list_init(&alias->entries[i].link);
        address += extents[i]->size;
    }
    alias->count = count;
    return alias;
}

static CUresult map_entry(struct sp_alias_entry *entry, struct sp_extent *extent) {
    CUresult error = sp_native_noted(
        sp_driver->cuMemMap(entry->address, entry->size, 0, extent->handle, 0), "cuMemMap");
    if (error != CUDA_SUCCESS)
        return error;
    entry->extent = extent;
    entry->alias->mapped++;
    sp_list_push_back(&extent->aliases, &entry->link);
    return CUDA_SUCCESS;
}

static CUresult map_all(struct sp_alias *alias, const struct sp_access *access,
                        struct sp_extent *const *extents) {
    for (size_t i = 0; i < alias->count; i++) {
        CUresult error = map_entry(&alias->entries[i], extents[i]);
        if (error != CUDA_SUCCESS)
            return error;
    }
    return sp_access_give(access, alias->space->device, alias->address, alias->size);
}

CUresult sp_alias_open(struct sp_alias **opened, void *owner, struct sp_space *space,
                       const struct sp_access *access, struct sp_extent *const *extents,
                       size_t count) {
    struct sp_alias *alias = new_alias(space, extents, count);
    *opened = alias;
    if (!alias)
        return CUDA_ERROR_OUT_OF_MEMORY;
    alias->owner = owner;
    CUresult error = map_all(alias, access, extents);
    if (error != CUDA_SUCCESS && sp_alias_unmap_all(alias) == CUDA_SUCCESS) {
        sp_alias_close(alias);
        *opened = NULL;
    }
    return error;
}

CUresult sp_alias_unmap(struct sp_alias_entry *entry) {
    if (!entry->extent)
        return CUDA_SUCCESS;
    CUresult error =
        sp_native_noted(sp_driver->cuMemUnmap(entry->address, entry->size), "cuMemUnmap");
    if (error != CUDA_SUCCESS)
        return error;
    sp_list_remove(&entry->link);
    entry->extent = NULL;
    entry->alias->mapped--;
    return CUDA_SUCCESS;
}

CUresult sp_alias_unmap_all(struct sp_alias *alias) {
    CUresult first = CUDA_SUCCESS;
    for (size_t i = 0; i < alias->count; i++) {
        CUresult error = sp_alias_unmap(&alias->entries[i]);
        first = first == CUDA_SUCCESS ? error : first;
    }
    return first;
}

void sp_alias_close(struct sp_alias *alias) {
    sp_space_give(alias->space, alias->address, alias->size);
    free(alias);
}
