#include "cli/play/part.h"

#include "cli/trace/record.h"

#include <stdio.h>

void sp_part_count_error(struct sp_part *part, size_t operation, const char *what,
                         const char *error) {
    if (part->errors++ > 0)
        return;
    part->first_error_operation = operation;
    snprintf(part->first_error, sizeof part->first_error, "%s at line %lu: %s", what,
             sp_record_line_of(operation), error);
}

void sp_part_check(struct sp_part *part, size_t operation, const char *what, int status) {
    if (status != 0)
        sp_part_count_error(part, operation, what,
                            part->player->play.allocator->error_name(status));
}

void sp_part_check_driver(struct sp_part *part, size_t operation, const char *what,
                          CUresult result) {
    if (result != CUDA_SUCCESS)
        sp_part_count_error(part, operation, what, sp_driver_error_name(result));
}
