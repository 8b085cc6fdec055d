// The reuse rule: may a stream take memory that carries a fence?
//
// A pure function over plain values; whoever calls it gathers them. The rules are numbered as in
// docs/design.md, and a lower number is cheaper. Rules 1 and 2 hold under every policy.
#ifndef STREAMPOOL_ORDER_RULE_H
#define STREAMPOOL_ORDER_RULE_H

#include "order/fence.h"

enum sp_rule {
    SP_RULE_SAME_STREAM = 1, // the fence is of the taking stream, in its present incarnation
    SP_RULE_COMPLETE = 2,    // the host knows that the work before the fence has completed
    SP_RULE_NONE = 9,        // not now
};

// What the rule needs to know of the stream that a fence names and of the one that wants the memory.
struct sp_rule_facts {
    uint32_t taker_slot;
    uint64_t taker_first;     // the first sequence number of the taker's present incarnation
    uint64_t known_completed; // of the fence's stream: everything up to here has completed
};

static inline enum sp_rule sp_rule_decide(struct sp_fence fence, const struct sp_rule_facts *facts) {
    if (fence.sequence <= facts->known_completed)
        return SP_RULE_COMPLETE;
    if (fence.slot == facts->taker_slot && fence.sequence >= facts->taker_first)
        return SP_RULE_SAME_STREAM;
    return SP_RULE_NONE;
}

#endif
