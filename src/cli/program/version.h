// The version of the program, which is the library's, as text.
#ifndef STREAMPOOL_CLI_VERSION_H
#define STREAMPOOL_CLI_VERSION_H

#include <streampool/streampool.h>

#define SP_TEXT(value)    #value
#define SP_TEXT_OF(macro) SP_TEXT(macro)

#define SP_PROGRAM_VERSION                                                                         \
    SP_TEXT_OF(STREAMPOOL_VERSION_MAJOR)                                                           \
    "." SP_TEXT_OF(STREAMPOOL_VERSION_MINOR) "." SP_TEXT_OF(STREAMPOOL_VERSION_PATCH)

#endif
