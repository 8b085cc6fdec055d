#include "beside/refuse.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { SENTENCE = 1024 };

static void write_sentence(char text[SENTENCE], const char *format, va_list arguments) {
    if (vsnprintf(text, SENTENCE, format, arguments) < 0)
        text[0] = '\0';
}

poolError_t sp_refuse(poolError_t error, const char *format, ...) {
    char text[SENTENCE];
    va_list arguments;
    va_start(arguments, format);
    write_sentence(text, format, arguments);
    va_end(arguments);
    return poolSetLastError(error, text);
}

poolError_t sp_refuse_again(poolError_t error, const char *format, ...) {
    char text[SENTENCE];
    va_list arguments;
    va_start(arguments, format);
    write_sentence(text, format, arguments);
    va_end(arguments);
    size_t length = strlen(text);
    snprintf(text + length, SENTENCE - length, ": %s", poolGetLastErrorDetail());
    return poolSetLastError(error, text);
}

void sp_refuse_nothing(poolError_t before) {
    if (before == poolSuccess)
        poolGetLastError();
    else if (poolPeekAtLastError() != before)
        poolSetLastError(before, NULL);
}

// Our numbers are the driver's, but some of the driver's are none of ours.
static poolError_t error_of(CUresult code) {
    static const char unknown[] = "unrecognized error code";
    poolError_t error = (poolError_t)code;
    return strcmp(poolGetErrorName(error), unknown) == 0 ? poolErrorUnknown : error;
}

poolError_t sp_refuse_outcome(struct sp_outcome outcome, const char *what) {
    if (outcome.cause != SP_DRIVER_FAILED)
        return sp_refuse(poolErrorNotSupported, "%s: the driver can't do that for this device",
                         what);
    return sp_refuse(error_of(outcome.code), "%s: %s returned %s", what, outcome.entry_point,
                     sp_driver_error_name(outcome.code));
}
