// Numbers that are drawn: by a seed and an index, and by nothing else, so that threads need no
// state to share.
#ifndef STREAMPOOL_CLI_DRAW_H
#define STREAMPOOL_CLI_DRAW_H

#include <stdint.h>

static inline uint64_t sp_draw(uint64_t seed, uint64_t index) {
    uint64_t mixed = (seed + 1) * 0x9E3779B97F4A7C15u ^ (index + 1) * 0xD1B54A32D192ED03u;
    mixed = (mixed ^ mixed >> 29) * 0x9E3779B97F4A7C15u;
    return mixed ^ mixed >> 32;
}

#endif
