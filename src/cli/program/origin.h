// An origin says where and when results were measured.
#ifndef STREAMPOOL_CLI_ORIGIN_H
#define STREAMPOOL_CLI_ORIGIN_H

#include "cli/program/device.h"

#include <streampool/streampool.h>

// The version of the program, which is the library's, as text.
#define SP_TEXT(value)    #value
#define SP_TEXT_OF(macro) SP_TEXT(macro)
#define SP_PROGRAM_VERSION                                                                         \
    SP_TEXT_OF(STREAMPOOL_VERSION_MAJOR)                                                           \
    "." SP_TEXT_OF(STREAMPOOL_VERSION_MINOR) "." SP_TEXT_OF(STREAMPOOL_VERSION_PATCH)

enum { SP_ORIGIN_TEXT = 64 };

struct sp_origin {
    // Holds the version of the driver's kernel module, such as "580.159.04"; "unknown" where the
    // system doesn't tell it, and "simulated" on the simulated driver.
    char driver_version[SP_ORIGIN_TEXT];
    char cuda_version[SP_ORIGIN_TEXT]; // that the driver names
    char streampool[SP_ORIGIN_TEXT];   // the version of the program
    char date[SP_ORIGIN_TEXT];         // in UTC, such as "2026-11-23"
};

// Returns the origin of what is measured on a device today.
struct sp_origin sp_origin_of(const struct sp_device *device);

// Writes the version that stands in the text of /proc/driver/nvidia/version. False when the text
// has none.
bool sp_origin_find_version(const char *text, char version[SP_ORIGIN_TEXT]);

#endif
