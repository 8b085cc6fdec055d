// The end of what src/library/order/ keeps for the process. No other thread is about.
#ifndef STREAMPOOL_TESTS_INSIDE_ORDER_H
#define STREAMPOOL_TESTS_INSIDE_ORDER_H

#include "order/context.h"

// Waits until no thread of a context wait is left.
void inside_order_end_context_waits(void);

// Forgets all users' events.
void inside_order_forget_events(void);

// Forgets all streams and contexts, and destroys the events that the streams had.
void inside_order_forget_streams(void);

// Frees all sentinels.
void inside_order_free_sentinels(void);

// Gives a primary context back.
void inside_order_release_primary(struct sp_primary *primary, int ordinal);

#endif
