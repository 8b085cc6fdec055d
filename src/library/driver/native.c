// Names of driver errors, and the calling thread's last one.
#include "driver/driver.h"

static _Thread_local struct {
    CUresult error;
    const char *entry_point;
} last_native_error;

static const struct {
    CUresult error;
    const char *name;
} error_names[] = {
#define SP_DRIVER_ERROR_NAME(name, number) {name, #name},
    SP_DRIVER_ERRORS(SP_DRIVER_ERROR_NAME)
#undef SP_DRIVER_ERROR_NAME
};

static const char *name_in_table(CUresult error) {
    for (size_t i = 0; i < sizeof(error_names) / sizeof(error_names[0]); i++) {
        if (error_names[i].error == error)
            return error_names[i].name;
    }
    return "CUDA_ERROR_?";
}

const char *sp_driver_error_name(CUresult error) {
    const struct sp_driver *driver = sp_driver;
    const char *name = NULL;
    if (driver && driver->cuGetErrorName(error, &name) == CUDA_SUCCESS && name)
        return name;
    return name_in_table(error);
}

void sp_native_error_note(CUresult error, const char *entry_point) {
    last_native_error.error = error;
    last_native_error.entry_point = entry_point;
}

void sp_native_error_last(CUresult *error, const char **entry_point) {
    *error = last_native_error.error;
    *entry_point = last_native_error.entry_point ? last_native_error.entry_point : "";
}
