// A text that is put together piece by piece, for the detail of an error or a line of the log. What
// doesn't fit is left out.
#ifndef STREAMPOOL_TELL_TEXT_H
#define STREAMPOOL_TELL_TEXT_H

#include "order/stream.h"
#include "region/fail.h"

struct sp_text {
    char buffer[SP_ERROR_DETAIL];
    size_t length;
};

// Appends what printf() would print.
__attribute__((format(printf, 2, 3))) void sp_text_add(struct sp_text *text, const char *format,
                                                       ...);

// A few words that a text can be given as a string.
struct sp_words {
    char text[80];
};

// Returns an amount of memory with its unit: "512 bytes", "1.5 MiB".
struct sp_words sp_text_bytes(uint64_t bytes);

// Returns what people call the stream: as a default stream, by the driver's id and the handle, or
// as one that is gone; and that it is of another context than the current one.
struct sp_words sp_text_stream(const struct sp_stream *stream);

// Returns why most of the memory that was free at a growth was not used.
enum poolGrowthCause sp_text_cause(const struct poolMemPoolGrowth *growth);

// Appends a growth in words, on one line without its end: for the log and for
// poolMemPoolPrintGrowth. The struct may be longer or shorter than this version's: a program that
// was built with another may have made it.
void sp_text_growth(struct sp_text *text, const struct poolMemPoolGrowth *growth);

#endif
