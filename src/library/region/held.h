// Held extents: those of a device in which memory lies that was freed with no event behind it.
//
// A free that no event stands behind keeps its memory from all streams but its own, and an extent
// is mapped elsewhere or given back only whole. The stream may end then, and whoever else frees the
// rest of the extent can't help it. So such frees are counted in the extents that they lie in,
// whatever is live there: each extent once, whoever holds it, over all pools of the device. A lane
// that may hold no more records an event in the free.
//
// A lane adds an extent only as long as it holds no more than half of what others leave: so who
// comes later finds something left. It gives its extents back once an event or a completion covers
// its latest free; others that are refused look whether that is so.
#ifndef STREAMPOOL_REGION_HELD_H
#define STREAMPOOL_REGION_HELD_H

#include "base/list.h"
#include "base/number.h"

#include <stdatomic.h>
#include <stdbool.h>

struct sp_device;
struct sp_lane;
struct sp_pool;

// The most bytes of a device that lie in held extents, or that part of it where it is less: what
// poolMemPoolAttrUnfencedBytesMax is by default. See docs/notes/unfenced-bytes.md.
#define SP_HELD_MAX  ((uint64_t)64 << 20)
#define SP_HELD_PART 64

enum { SP_HELD_EXTENTS = 64 }; // a bit for each in sp_lane.holds

struct sp_held_extent {
    // A lane that holds it reads these without the lock. A free that is late reads another one's,
    // perhaps, under a number that is covered by then.
    _Atomic uint64_t address, size;
    uint32_t lanes; // that hold it
};

// The held extents of a device. The lock `finding` of its address space guards them, so that
// extents stay. An extent knows its place here, counted from 1, as long as it has one.
struct sp_held {
    uint64_t bytes;
    uint64_t taken;       // a bit for each place that an extent has
    struct sp_list lanes; // that hold something; those that were looked at last stand behind
    struct sp_held_extent extents[SP_HELD_EXTENTS];
};

void sp_held_init(struct sp_held *held);

// The value of poolMemPoolAttrUnfencedBytesMax now.
uint64_t sp_held_max(const struct sp_pool *pool);

// A lane may leave without an event: nothing; or what lies in one extent, which isn't counted, in a
// deterministic pool; or what lies in the extents that it holds; or all, as the library may record
// behind it at any time (region/open.h). A deterministic pool takes no part in the count: what
// others hold depends on how fast their streams are, and the program's synchronises show all of it.
enum sp_held_share { SP_HELD_NOTHING, SP_HELD_ONE, SP_HELD_SOME, SP_HELD_ALL };

// With the pool's lock held: says so to all lanes when something that this depends on has changed:
// the pool's attribute, the number of its lanes, its promises, that it is short of memory or given
// up. The second does it with no lane open any more, until the first one is called again.
void sp_held_deal(struct sp_pool *pool);
void sp_held_deal_closed(struct sp_pool *pool);

// With the lane's lock held: so many bytes of the pool at an address, which are live or were until
// now, are freed under the number. True when they may be left without an event. With no bytes the
// number alone counts.
bool sp_held_add_locked(struct sp_lane *lane, uint64_t sequence, uint64_t address, uint64_t bytes);

// The lane holds nothing any more: its pool has no memory left.
void sp_held_end(struct sp_lane *lane);

#endif
