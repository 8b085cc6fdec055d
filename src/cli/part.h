// For the files of the player: what one of its parts has for itself.
#ifndef STREAMPOOL_CLI_PART_H
#define STREAMPOOL_CLI_PART_H

#include "cli/player.h"

// The thread of the one part that plays all of them.
#define SP_ALL_THREADS UINT32_MAX

struct sp_part {
    struct sp_player *player;
    uint32_t thread;           // whose operations it plays
    _Atomic size_t position;   // the operation that it is at; SIZE_MAX when it is done
    struct sp_samples mallocs; // parts of the player's arrays
    struct sp_samples frees;
    uint64_t work_ns;
    uint64_t errors;
    size_t first_error_operation;
    char first_error[256];
};

#endif
