#include "simcuda/queue/history.h"

#include <string.h>

#include "base/list.h"
#include "simcuda/common/host.h"

static struct sim_segment *segment_of(struct sp_tree_node *node) {
    return node ? SP_CONTAINER_OF(node, struct sim_segment, node) : NULL;
}

static int compare(const struct sp_tree_node *a, const struct sp_tree_node *b) {
    uint64_t left = SP_CONTAINER_OF(a, const struct sim_segment, node)->begin;
    uint64_t right = SP_CONTAINER_OF(b, const struct sim_segment, node)->begin;
    return (left > right) - (left < right);
}

static int compare_end(const void *key, const struct sp_tree_node *node) {
    const uint64_t *offset = key;
    return SP_CONTAINER_OF(node, const struct sim_segment, node)->end > *offset ? -1 : 1;
}

// The first segment that ends after `offset`.
static struct sim_segment *find(const struct sim_history *history, uint64_t offset) {
    return segment_of(sp_tree_lower_bound(&history->segments, &offset, compare_end));
}

static struct sim_segment *next_of(const struct sim_segment *segment) {
    return segment_of(sp_tree_next(&segment->node));
}

static struct sim_segment *add(struct sim_history *history, struct sim_segment contents) {
    struct sim_segment *segment = sim_allocate(sizeof *segment);
    *segment = contents;
    history->segments.compare = compare;
    sp_tree_insert(&history->segments, &segment->node);
    history->count++;
    return segment;
}

static void drop(struct sim_history *history, struct sim_segment *segment) {
    sp_tree_remove(&history->segments, &segment->node);
    sim_free(segment->reads);
    sim_free(segment);
    history->count--;
}

void sim_history_destroy(struct sim_history *history) {
    while (!sp_tree_empty(&history->segments))
        drop(history, segment_of(sp_tree_first(&history->segments)));
}

static void copy_reads(struct sim_segment *to, const struct sim_segment *from) {
    to->reads = NULL;
    to->read_capacity = to->read_count = from->read_count;
    if (from->read_count == 0)
        return;
    to->reads = sim_reallocate(NULL, from->read_count, sizeof(*to->reads));
    memcpy(to->reads, from->reads, from->read_count * sizeof(*to->reads));
}

// Cuts the segment at `offset`, which lies inside it, in two; returns the second one.
static struct sim_segment *split(struct sim_history *history, struct sim_segment *left,
                                 uint64_t offset) {
    struct sim_segment right = *left;
    copy_reads(&right, left);
    left->end = right.begin = offset;
    return add(history, right);
}

// Makes [begin, end) consist of whole segments; returns the first one.
static struct sim_segment *isolate(struct sim_history *history, uint64_t begin, uint64_t end) {
    struct sim_segment *segment = find(history, begin), *first = NULL;
    if (segment && segment->begin < begin)
        segment = split(history, segment, begin);
    for (uint64_t at = begin; at < end; at = segment->end, segment = next_of(segment)) {
        bool is_gap = !segment || segment->begin > at;
        uint64_t gap_end = segment && segment->begin < end ? segment->begin : end;
        if (is_gap)
            segment = add(history, (struct sim_segment){.begin = at, .end = gap_end});
        else if (segment->end > end)
            split(history, segment, end);
        first = first ? first : segment;
    }
    return first;
}

static bool ordered(const struct sim_touch *old, const struct sim_touch *touch,
                    const struct sim_clock *clock) {
    if (old->slot == touch->slot)
        return old->sequence <= touch->sequence;
    return sim_clock_at(clock, old->slot) >= old->sequence;
}

static bool races(const struct sim_segment *segment, const struct sim_touch *touch,
                  const struct sim_clock *clock, struct sim_touch *other) {
    if (segment->written && !ordered(&segment->write, touch, clock)) {
        *other = segment->write;
        return true;
    }
    for (size_t i = 0; touch->writes && i < segment->read_count; i++) {
        if (!ordered(&segment->reads[i], touch, clock)) {
            *other = segment->reads[i];
            return true;
        }
    }
    return false;
}

bool sim_history_conflicts(const struct sim_history *history, uint64_t begin, uint64_t end,
                           bool writes, const struct sim_clock *clock, struct sim_touch *other) {
    const struct sim_touch touch = {.slot = SIZE_MAX, .writes = writes};
    const struct sim_segment *segment = find(history, begin);
    for (; segment && segment->begin < end; segment = next_of(segment)) {
        if (races(segment, &touch, clock, other))
            return true;
    }
    return false;
}

static void enter_read(struct sim_segment *segment, const struct sim_touch *touch) {
    size_t i = 0;
    while (i < segment->read_count && segment->reads[i].slot != touch->slot)
        i++;
    if (i == segment->read_count) {
        SIM_RESERVE_ONE(segment->reads, segment->read_count, segment->read_capacity);
        segment->read_count++;
    }
    segment->reads[i] = *touch;
}

// Makes one of the segments from `first` to `end`, which `touch` wrote.
static void enter_write(struct sim_history *history, struct sim_segment *first, uint64_t end,
                        const struct sim_touch *touch) {
    struct sim_segment *next;
    while ((next = next_of(first)) != NULL && next->begin < end)
        drop(history, next);
    sim_free(first->reads);
    first->reads = NULL;
    first->read_count = first->read_capacity = 0;
    first->end = end;
    first->written = true;
    first->write = *touch;
}

bool sim_history_touch(struct sim_history *history, uint64_t begin, uint64_t end,
                       const struct sim_touch *touch, const struct sim_clock *clock,
                       struct sim_touch *other) {
    bool raced = false;
    struct sim_segment *first = isolate(history, begin, end);
    for (struct sim_segment *segment = first; segment && segment->begin < end;
         segment = next_of(segment)) {
        raced = raced || races(segment, touch, clock, other);
        if (!touch->writes)
            enter_read(segment, touch);
    }
    if (touch->writes)
        enter_write(history, first, end, touch);
    return !raced;
}

void sim_history_forget_known(struct sim_history *history, const struct sim_clock *clock) {
    const struct sim_touch all = {.slot = SIZE_MAX, .writes = true};
    struct sim_touch other;
    struct sim_segment *segment = find(history, 0), *next;
    for (; segment; segment = next) {
        next = next_of(segment);
        if (!races(segment, &all, clock, &other))
            drop(history, segment);
    }
}

static const struct sim_touch *
find_in(const struct sim_segment *segment,
        bool (*is_one)(const struct sim_touch *touch, const void *data), const void *data) {
    if (segment->written && is_one(&segment->write, data))
        return &segment->write;
    for (size_t i = 0; i < segment->read_count; i++) {
        if (is_one(&segment->reads[i], data))
            return &segment->reads[i];
    }
    return NULL;
}

bool sim_history_find(const struct sim_history *history, uint64_t begin, uint64_t end,
                      bool (*is_one)(const struct sim_touch *touch, const void *data),
                      const void *data, struct sim_touch *found) {
    const struct sim_segment *segment = find(history, begin);
    for (; segment && segment->begin < end; segment = next_of(segment)) {
        const struct sim_touch *touch = find_in(segment, is_one, data);
        if (!touch)
            continue;
        *found = *touch;
        return true;
    }
    return false;
}
