#include "devheap/fail.h"

#include <stdarg.h>
#include <stdio.h>

poolError_t sp_heap_fail(poolError_t error, const char *format, ...) {
    char detail[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(detail, sizeof detail, format, arguments);
    va_end(arguments);
    return poolSetLastError(error, detail);
}
