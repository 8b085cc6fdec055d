// What a refusal advises (calls/advice.h): a request is refused in a drawn scene, what the text
// says is done, and the request is served then. Where it says that nothing but freeing helps,
// nothing else does.
#ifndef STREAMPOOL_TESTS_UNIT_ADVICE_H
#define STREAMPOOL_TESTS_UNIT_ADVICE_H

#include "unit/pool/scene.h"

// The request, of the scene's first pool.
struct advice_request {
    CUstream stream;
    size_t size;
    unsigned flags;
};
extern struct advice_request advice_request;

// True when it is served now.
bool advice_is_served(void);

// Draws requests until one is refused with a word about anything but growth and freeing, mostly.
// Returns the text, or null: all were served.
const char *advice_refuse(void);

// Does what the text says, and tells whether it was true.
bool advice_is_as_said(const char *detail);

#endif
