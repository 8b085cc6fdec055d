// Quantities as people read them: "12.7 GiB", "340 ns", "1.25 ms", "1.013".
#ifndef STREAMPOOL_CLI_QUANTITY_H
#define STREAMPOOL_CLI_QUANTITY_H

#include <stdint.h>

#define SP_QUANTITY_TEXT 32

enum sp_unit {
    SP_UNIT_COUNT,
    SP_UNIT_BYTES,
    SP_UNIT_NANOSECONDS,
    SP_UNIT_RATIO,
    SP_UNIT_FLAG, // "on" where it isn't 0
};

// All return the buffer that they fill. Bytes and times take ten characters at most, and ratios
// eight.
const char *sp_quantity_text(enum sp_unit unit, double value, char text[SP_QUANTITY_TEXT]);
const char *sp_bytes_text(uint64_t bytes, char text[SP_QUANTITY_TEXT]);
const char *sp_time_text(double nanoseconds, char text[SP_QUANTITY_TEXT]);

#endif
