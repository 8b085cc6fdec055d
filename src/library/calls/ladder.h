// The ladder: what a request that its lane can't serve tries, from the cheapest to the dearest.
#ifndef STREAMPOOL_CALLS_LADDER_H
#define STREAMPOOL_CALLS_LADDER_H

#include "region/request.h"

// Its parts, from ONCE to HOST in the order in which they are climbed. A question that has shown
// something to be complete leads to NEWS: the rungs at which it may be found, which ask nothing and
// make nobody wait. POLL is climbed again and again while the host waits, FREE alone.
enum sp_ladder_parts {
    SP_LADDER_ONCE = 1, // on the first climb alone
    SP_LADDER_NEWS = 2,
    SP_LADDER_QUESTION = 4, // about all that may be pending
    SP_LADDER_EVENTS = 8,   // the stream waits for events that are there
    SP_LADDER_BEHIND = 16,  // and for others
    SP_LADDER_POLL = 32,    // events are asked, while the host waits
    SP_LADDER_HOST = 64,    // the host waits
    SP_LADDER_FREE = 128,   // memory that is within reach as it is: the first rung of ONCE

    SP_LADDER_AT_ONCE = SP_LADDER_ONCE | SP_LADDER_QUESTION,
    SP_LADDER_STREAM_WAITS = SP_LADDER_EVENTS | SP_LADDER_BEHIND,
    SP_LADDER_ALL = SP_LADDER_AT_ONCE | SP_LADDER_STREAM_WAITS | SP_LADDER_HOST,
    // Memory that came back since the ladder was climbed is looked for.
    SP_LADDER_AGAIN = SP_LADDER_NEWS | SP_LADDER_EVENTS,
};

// Tries the rungs of these parts, up to the first that has a block, which is live. When none has,
// the outcome says what the last growth has lacked, or that the request forbids to grow.
struct sp_outcome sp_ladder_climb(struct sp_request *request, unsigned parts,
                                  struct sp_block **block);

#endif
