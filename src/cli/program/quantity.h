// Bytes and times as people read them: "12.7 GiB", "340 ns", "1.25 ms".
#ifndef STREAMPOOL_CLI_QUANTITY_H
#define STREAMPOOL_CLI_QUANTITY_H

#include <stdint.h>

#define SP_QUANTITY_TEXT 32

// Both return the buffer that they fill.
const char *sp_bytes_text(uint64_t bytes, char text[SP_QUANTITY_TEXT]);
const char *sp_time_text(double nanoseconds, char text[SP_QUANTITY_TEXT]);

#endif
