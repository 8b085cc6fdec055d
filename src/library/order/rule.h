// The reuse rule says whether a stream may take memory that carries a fence.
//
// It is a pure function over plain values, which its caller gathers. The rules are numbered as in
// docs/stream-order.md, and a lower number is cheaper: the rule for a piece of memory is the
// dearest that one of its fences needs. Rules 1 and 2 hold under every policy. Rule 4 is rule 2
// after a question: the caller asks the event, and decides again.
#ifndef STREAMPOOL_ORDER_RULE_H
#define STREAMPOOL_ORDER_RULE_H

#include "order/fence.h"

enum sp_rule {
    SP_RULE_SAME_STREAM = 1,    // the fence is of the taking stream, in its present incarnation
    SP_RULE_COMPLETE = 2,       // the host knows that the work before the fence has completed
    SP_RULE_ORDERED = 3,        // the taking stream is known to run after the fence
    SP_RULE_FOUND_COMPLETE = 4, // rule 2, found by asking an event just now
    // A wait in the taking stream for an event behind the fence makes it so.
    SP_RULE_MADE_ORDERED = 5,
    SP_RULE_NONE = 9, // not now
};

// A stream's kind says how it stands to the legacy default stream of its context.
enum sp_stream_kind { SP_STREAM_NON_BLOCKING, SP_STREAM_BLOCKING, SP_STREAM_LEGACY };

// The facts are what the rule needs to know of the stream that a fence names and of the one that
// wants the memory.
struct sp_rule_facts {
    uint32_t taker_slot;
    uint64_t taker_first;     // the first sequence number of the taker's present incarnation
    uint64_t known_completed; // of the fence's stream: everything up to here has completed
    uint64_t ordered_until;   // of the fence's stream: the taker runs after everything up to here
    uint64_t fenced_until;    // of the fence's stream: an event stands behind everything up to here
    // The taker's next action runs after the fence, by the legacy stream's order.
    bool legacy_ordered;
    bool follow_dependencies; // the policy that allows rule 3
    bool insert_dependencies; // the policy that allows rule 5
};

static inline enum sp_rule sp_rule_decide(struct sp_fence fence,
                                          const struct sp_rule_facts *facts) {
    if (fence.slot == facts->taker_slot && fence.sequence >= facts->taker_first)
        return SP_RULE_SAME_STREAM;
    if (fence.sequence <= facts->known_completed)
        return SP_RULE_COMPLETE;
    if (facts->follow_dependencies &&
        (fence.sequence <= facts->ordered_until || facts->legacy_ordered))
        return SP_RULE_ORDERED;
    if (facts->insert_dependencies && fence.sequence <= facts->fenced_until)
        return SP_RULE_MADE_ORDERED;
    return SP_RULE_NONE;
}

// The driver orders the legacy stream of a context with the context's blocking streams, both ways,
// at each action: a piece of work, or the record of an event. Our free enqueues nothing, so it
// stands for no action. What that means differs by direction, of two streams of one context:
//
//   freed on a blocking stream    The legacy stream's next action runs after all work before the
//                                 free: work of the blocking stream, or of the legacy stream.
//   freed on the legacy stream    The work before the free may be that of a third, blocking stream.
//                                 The legacy stream's next action waits for that, and another
//                                 blocking stream waits for that action alone. So an event must
//                                 stand behind the free.
//
// The order is that of the taker's next action, so it never enters a clock, and the taker owes the
// action: see order/action.h.
static inline bool sp_rule_legacy_ordered(enum sp_stream_kind freed_on, enum sp_stream_kind taker,
                                          bool recorded) {
    return (freed_on == SP_STREAM_BLOCKING && taker == SP_STREAM_LEGACY) ||
           (freed_on == SP_STREAM_LEGACY && taker == SP_STREAM_BLOCKING && recorded);
}

// An action is owed for one of these (see order/action.h), the dearer one last.
enum sp_owed {
    SP_OWED_NONE,
    SP_OWED_OWN, // what the stream freed itself: an event that stands behind that already will do
    SP_OWED_OTHERS, // what the other side freed: the action comes behind it, so it is a new one
};

#endif
