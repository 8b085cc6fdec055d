// A growth in words, on one line: for the log and for poolMemPoolPrintGrowth.
#ifndef STREAMPOOL_TELL_GROWTH_TEXT_H
#define STREAMPOOL_TELL_GROWTH_TEXT_H

#include "tell/text.h"

// Appends the line, without a newline. The struct may be longer or shorter than this version's: a
// program that was built with another may have made it.
void sp_growth_text(struct sp_text *text, const struct poolMemPoolGrowth *growth);

#endif
