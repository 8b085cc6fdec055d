// For the files of the player: what one of its parts has for itself.
#ifndef STREAMPOOL_CLI_PART_H
#define STREAMPOOL_CLI_PART_H

#include "cli/play/player.h"

struct sp_part {
    struct sp_player *player;
    const size_t *operations; // that it plays; null: all
    size_t operation_count;
    struct sp_samples mallocs; // parts of the player's arrays
    struct sp_samples frees;
    uint64_t modelled_ns;
    uint64_t work_ns;
    uint64_t errors;
    size_t first_error_operation;
    char first_error[256];
};

static inline const struct sp_trace_operation *sp_part_operation(const struct sp_part *part,
                                                                 size_t i) {
    return &part->player->play.trace->operations[i];
}

// Counts an error of an operation. The first one is kept in words.
void sp_part_count_error(struct sp_part *part, size_t operation, const char *what,
                         const char *error);

// These count an error where the status, of the allocator's or of the driver's, is one.
void sp_part_check(struct sp_part *part, size_t operation, const char *what, int status);
void sp_part_check_driver(struct sp_part *part, size_t operation, const char *what,
                          CUresult result);

#endif
