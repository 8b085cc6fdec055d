#include "cli/program/complain.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

bool sp_complain(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "%s: ", program_invocation_short_name);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    return false;
}
