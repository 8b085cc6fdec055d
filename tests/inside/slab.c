#include "inside/slab.h"

static uint32_t count_bits(const uint64_t *bits) {
    return (uint32_t)(__builtin_popcountll(bits[0]) + __builtin_popcountll(bits[1]));
}

static bool has_bit(const uint64_t *bits, uint32_t index) {
    return (bits[index / 64] >> index % 64 & 1) != 0;
}

// Blocks that there aren't have no bit.
static bool bits_are_of_blocks(const uint64_t *bits, uint32_t blocks) {
    for (uint32_t i = blocks; i < SP_SLAB_WORDS * 64; i++) {
        if (has_bit(bits, i))
            return false;
    }
    return true;
}

static bool asked_is_possible(const struct sp_slab *slab) {
    const struct sp_size_class *class = sp_slab_class(slab);
    if (slab->asked != SP_SLAB_MIXED)
        return slab->live == 0 || (slab->asked > 0 && slab->asked <= class->block_size);
    for (uint32_t i = 0; i < class->blocks; i++) {
        uint16_t asked = slab->asked_each[i];
        if (sp_slab_is_live(slab, i) && (asked == 0 || asked > class->block_size))
            return false;
    }
    return true;
}

bool inside_slab_check(const struct sp_slab *slab) {
    uint32_t blocks = sp_slab_class(slab)->blocks;
    bool both = (slab->free[0] & slab->returned_blocks[0]) != 0 ||
                (slab->free[1] & slab->returned_blocks[1]) != 0;
    return !both && bits_are_of_blocks(slab->free, blocks) &&
           bits_are_of_blocks(slab->returned_blocks, blocks) && asked_is_possible(slab) &&
           count_bits(slab->returned_blocks) == slab->returned &&
           slab->live + count_bits(slab->free) + slab->returned == blocks &&
           slab->run->slab == slab && slab->run->address == slab->address;
}
