#include "driver/native.h"

#include <stddef.h>

static _Thread_local struct {
    CUresult error;
    const char *entry_point;
} last;

void sp_native_error_note(CUresult error, const char *entry_point) {
    last.error = error;
    last.entry_point = entry_point;
}

void sp_native_error_last(CUresult *error, const char **entry_point) {
    *error = last.error;
    *entry_point = last.entry_point ? last.entry_point : "";
}
