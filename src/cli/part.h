// For the files of the player: what one of its parts has for itself.
#ifndef STREAMPOOL_CLI_PART_H
#define STREAMPOOL_CLI_PART_H

#include "cli/player.h"

struct sp_part {
    struct sp_player *player;
    const size_t *operations; // that it plays; null: all
    size_t operation_count;
    struct sp_samples mallocs; // parts of the player's arrays
    struct sp_samples frees;
    uint64_t work_ns;
    uint64_t errors;
    size_t first_error_operation;
    char first_error[256];
};

#endif
