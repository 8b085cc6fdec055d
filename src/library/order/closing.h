// Closing: the numbers of many streams of a context are closed together before one act of the
// driver that is about all of them, such as a synchronise of the context, a query of the legacy
// stream, or an event behind the work of all. When the act has succeeded what was freed under these
// numbers is complete, or a stream runs after it.
#ifndef STREAMPOOL_ORDER_CLOSING_H
#define STREAMPOOL_ORDER_CLOSING_H

#include "order/progress.h"

struct sp_closing {
    uint32_t count;
    uint64_t *numbers; // by slot; 0 for streams that the act isn't about
};

// A filter is true of the streams of the context that the act is about.
typedef bool sp_closing_filter(const struct sp_stream *stream);

// Closes the numbers, those of all streams of the context without a filter. False without host
// memory: then nothing was closed, and there is nothing to end.
bool sp_closing_begin(struct sp_closing *closing, CUcontext context, uint64_t id,
                      sp_closing_filter *is_about);
void sp_closing_end(struct sp_closing *closing);

// Says that the act has shown all of it to be complete.
void sp_closing_publish(const struct sp_closing *closing, enum sp_knowledge how);

// Says that a stream runs after all of it.
void sp_closing_join(const struct sp_closing *closing, struct sp_stream *stream);

#endif
