#include "cli/complain.h"

#include <stdarg.h>
#include <stdio.h>

bool sp_complain(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fputs("streampool: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    return false;
}
