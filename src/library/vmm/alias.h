// Aliases: a second mapping of extents, side by side in a span of its own.
//
// The driver lets an extent be mapped at several addresses at once, also while work runs on it, and
// the bytes are equal at all of them. An *alias* is a span onto which a list of extents is mapped
// in order. Each of its mappings can be unmapped alone. An extent knows all its mappings, as it
// can't be released while one stands. Before an extent is evicted they are, and made resident
// behind it. Waits and threads are as with views (vmm/view.h).
//
//   entries lie side by side from `address` on; alias.mapped = entries with an extent
#ifndef STREAMPOOL_VMM_ALIAS_H
#define STREAMPOOL_VMM_ALIAS_H

#include "vmm/view.h"

struct sp_alias;

struct sp_alias_entry {
    struct sp_list link; // in extent->aliases
    struct sp_space_extent in_space;
    struct sp_alias *alias;
    struct sp_extent *extent; // null: unmapped for good
    bool evicted;
    CUdeviceptr address;
    size_t size;
};

struct sp_alias {
    void *owner; // the caller's
    struct sp_space *space;
    CUdeviceptr address;
    size_t size;
    size_t count;
    size_t mapped;
    struct sp_alias_entry entries[];
};

// Maps the extents, all or nothing, readable and writable by the space's device, and accessible to
// the peers (null: there are none). After a failure `opened` is null; but if the driver doesn't let
// all of it be unmapped again, `opened` has the rest, and its owner.
struct sp_outcome sp_alias_open(struct sp_alias **opened, void *owner, struct sp_space *space,
                                const struct sp_access *access, struct sp_extent *const *extents,
                                size_t count);

// Unmap one entry, if it is mapped; and all that the driver lets be unmapped, with the first error.
struct sp_outcome sp_alias_unmap(struct sp_alias_entry *entry);
struct sp_outcome sp_alias_unmap_all(struct sp_alias *alias);

// Evict a mapping, and make one resident whose extent is, with the access as above: see vmm/view.h.
struct sp_outcome sp_alias_evict(struct sp_alias_entry *entry);
struct sp_outcome sp_alias_make_resident(struct sp_alias_entry *entry,
                                         const struct sp_access *access);

// Gives the span back. Nothing of it may be mapped.
void sp_alias_close(struct sp_alias *alias);

#endif
