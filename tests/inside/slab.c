#include "inside/slab.h"

// Returns the length of a list of blocks that aren't live, or UINT32_MAX when one of them is live
// or the list is too long.
static uint32_t list_length(const struct sp_slab *slab, uint16_t head) {
    uint32_t length = 0;
    for (uint16_t i = head; i != SP_SLAB_END; i = sp_slab_next(slab, i)) {
        if (i >= sp_slab_class(slab)->blocks || sp_slab_is_live(slab, i) ||
            ++length > sp_slab_class(slab)->blocks)
            return UINT32_MAX;
    }
    return length;
}

bool inside_slab_check(const struct sp_slab *slab) {
    const struct sp_size_class *class = sp_slab_class(slab);
    uint32_t live = 0;
    for (uint32_t i = 0; i < class->blocks; i++) {
        if (!sp_slab_is_live(slab, i))
            continue;
        if (slab->codes[i] >= class->block_size)
            return false;
        live++;
    }
    uint64_t free_blocks = list_length(slab, slab->free_head);
    uint64_t returned = list_length(slab, slab->returned_head);
    return live == slab->live && returned == slab->returned && slab->fresh <= class->blocks &&
           live + free_blocks + returned + (class->blocks - slab->fresh) == class->blocks &&
           slab->run->slab == slab && slab->run->address == slab->address;
}
