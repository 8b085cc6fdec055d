// Fences say at which points of which streams a piece of memory was last used; and the reuse rule,
// which streams may take it.
//
// A *fence* is (stream slot, sequence number): see order/stream.h. A *fence set* holds at most one
// fence for each stream, the latest; memory gathers several when its pieces were freed on different
// streams, or when it is freed on one stream while an older fence of another is pending. A *clock*
// is such a set, too: for each other stream, the latest number that the clock's owner is known to
// run after. Entries that are complete say nothing, and may be dropped: so a clock is no larger
// than the number of streams with work pending. Without host memory it says less than it might, and
// nothing that isn't so. Plain values: nothing here knows a driver or a lock.
//
//   fences[i].slot < fences[i + 1].slot; the first SP_FENCE_INLINE stand in the set itself;
//   count <= SP_FENCE_INLINE + capacity
#ifndef STREAMPOOL_ORDER_FENCE_H
#define STREAMPOOL_ORDER_FENCE_H

#include "base/list.h"

#include <assert.h>
#include <stdint.h>

struct sp_fence {
    uint32_t slot;
    uint64_t sequence;
};

enum { SP_FENCE_INLINE = 2 };

// A set with one fence at most has room for a link of its owner's.
struct sp_fence_set {
    uint32_t count;
    uint32_t capacity; // of `more`
    union {
        struct sp_fence some[SP_FENCE_INLINE];
        struct {
            struct sp_fence alone;
            struct sp_list link;
        };
    };
    struct sp_fence *more;
};
static_assert(sizeof(struct sp_list) == sizeof(struct sp_fence),
              "the link takes the place of one fence");

// A zeroed set is empty. Clearing gives back what the set allocated.
void sp_fence_set_give_more(struct sp_fence_set *set);
static inline void sp_fence_set_clear(struct sp_fence_set *set) {
    set->count = 0;
    if (set->more)
        sp_fence_set_give_more(set);
}

static inline bool sp_fence_set_empty(const struct sp_fence_set *set) {
    return set->count == 0;
}

// A pointer to the fence at an index, which is evaluated twice. It is const if the set is.
#define sp_fence_set_at(set, index)                                                                \
    ((index) < SP_FENCE_INLINE ? &(set)->some[index] : &(set)->more[(index)-SP_FENCE_INLINE])

// Makes room for `extra` more fences: as many additions can't fail. False without host memory.
bool sp_fence_set_reserve(struct sp_fence_set *set, uint32_t extra);

// Adds a fence, or raises the sequence number of its stream's, in steps as many as there are fences
// of higher slots. False, and nothing changed, without host memory.
bool sp_fence_set_add(struct sp_fence_set *set, struct sp_fence fence);

// Returns the number of the stream's fence; 0 when there is none.
uint64_t sp_fence_set_number(const struct sp_fence_set *set, uint32_t slot);

// True when the set has a fence of the same stream and of the same number or a later one.
static inline bool sp_fence_set_covers(const struct sp_fence_set *set, struct sp_fence fence) {
    return sp_fence_set_number(set, fence.slot) >= fence.sequence;
}

// True in the common case: the set is empty, or holds a fence of this stream alone.
static inline bool sp_fence_set_is_of(const struct sp_fence_set *set, uint32_t slot) {
    return set->count == 0 || (set->count == 1 && set->some[0].slot == slot);
}

// Adds a fence of the stream in that case, with no way to fail.
static inline void sp_fence_set_advance(struct sp_fence_set *set, uint32_t slot,
                                        uint64_t sequence) {
    struct sp_fence *fence = &set->some[0];
    if (set->count == 0 || fence->sequence < sequence)
        *fence = (struct sp_fence){slot, sequence};
    set->count = 1;
}

// Adds all of `from`: all or nothing, in steps as many as both have fences. False without host
// memory. In common there is nothing to add, or one fence to a set with none or the same stream's.
bool sp_fence_set_join_any(struct sp_fence_set *set, const struct sp_fence_set *from);
static inline bool sp_fence_set_join(struct sp_fence_set *set, const struct sp_fence_set *from) {
    if (from->count == 0)
        return true;
    if (from->count > 1 ||
        (set->count != 0 && (set->count > 1 || set->some[0].slot != from->some[0].slot)))
        return sp_fence_set_join_any(set, from);
    if (set->count == 0 || set->some[0].sequence < from->some[0].sequence)
        set->some[0] = from->some[0];
    set->count = 1;
    return true;
}

// Removes every fence for which `gone` says so. In common there is one at most.
void sp_fence_set_prune_any(struct sp_fence_set *set, bool (*gone)(struct sp_fence fence));
static inline void sp_fence_set_prune(struct sp_fence_set *set,
                                      bool (*gone)(struct sp_fence fence)) {
    if (set->count > 1 || set->more)
        sp_fence_set_prune_any(set, gone);
    else if (set->count == 1 && gone(set->some[0]))
        set->count = 0;
}

// ---------------------------------------------------------------------------------- the reuse rule
//
// It says whether a stream may take memory with a fence. The rules are numbered as in
// docs/stream-order.md, and a lower number is cheaper: the rule for a piece of memory is the
// dearest that one of its fences needs. Rules 1 and 2 hold under every policy. Rule 4 is rule 2
// after a question: the caller asks, and decides again.

enum sp_rule {
    SP_RULE_SAME_STREAM = 1,    // the fence is of the taking stream, in its present incarnation
    SP_RULE_COMPLETE = 2,       // the host knows that the work before the fence has completed
    SP_RULE_ORDERED = 3,        // the taking stream is known to run after the fence
    SP_RULE_FOUND_COMPLETE = 4, // rule 2, found by asking an event just now
    SP_RULE_MADE_ORDERED = 5,   // a wait in it for an event behind the fence makes it so
    SP_RULE_NONE = 9,           // not now
};

// The facts are what the rule needs to know of the stream that a fence names and of the one that
// wants the memory.
struct sp_rule_facts {
    uint32_t taker_slot;
    uint64_t taker_first;     // the first sequence number of the taker's present incarnation
    uint64_t known_completed; // of the fence's stream: everything up to here has completed
    uint64_t ordered_until;   // of the fence's stream: the taker runs after everything up to here
    uint64_t fenced_until;    // of the fence's stream: an event stands behind everything up to here
    bool legacy_ordered;      // the taker's next action runs after it, by the legacy stream's order
    bool follow_dependencies; // the policy that allows rule 3
    bool insert_dependencies; // the policy that allows rule 5
};

static inline enum sp_rule sp_fence_rule(struct sp_fence fence, const struct sp_rule_facts *facts) {
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

#endif
