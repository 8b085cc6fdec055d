// Advice: the cheapest thing that would have a refused request served.
//
// First to wait for what is free, then to use what lies in pieces, then to grow. What a shortage
// says would fit is what the ladder would find, so a program that does as advised is served.
#ifndef STREAMPOOL_TELL_ADVICE_H
#define STREAMPOOL_TELL_ADVICE_H

#include "tell/shortage.h"
#include "tell/text.h"

// Adds the advice for a shortage to the text.
void sp_advice_say(const struct sp_shortage *shortage, struct sp_text *text);

#endif
