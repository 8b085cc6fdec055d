#include "simcuda/history.h"

#include <string.h>

#include "simcuda/host.h"

void sim_history_destroy(struct sim_history *history) {
    for (size_t i = 0; i < history->count; i++)
        sim_free(history->segments[i].reads);
    sim_free(history->segments);
    *history = (struct sim_history){0};
}

// The first segment that ends after `offset`.
static size_t find(const struct sim_history *history, uint64_t offset) {
    size_t low = 0;
    size_t high = history->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (history->segments[middle].end > offset)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static struct sim_segment *insert(struct sim_history *history, size_t index) {
    SIM_RESERVE_ONE(history->segments, history->count, history->capacity);
    struct sim_segment *at = &history->segments[index];
    memmove(at + 1, at, (history->count - index) * sizeof(*at));
    history->count++;
    *at = (struct sim_segment){0};
    return at;
}

static void copy_reads(struct sim_segment *to, const struct sim_segment *from) {
    to->reads = NULL;
    to->read_capacity = to->read_count = from->read_count;
    if (from->read_count == 0)
        return;
    to->reads = sim_reallocate(NULL, from->read_count, sizeof(*to->reads));
    memcpy(to->reads, from->reads, from->read_count * sizeof(*to->reads));
}

// Cuts the segment at `offset`, which lies inside it, in two.
static void split(struct sim_history *history, size_t index, uint64_t offset) {
    struct sim_segment *right = insert(history, index + 1);
    struct sim_segment *left = &history->segments[index];
    *right = *left;
    copy_reads(right, left);
    left->end = right->begin = offset;
}

// Makes [begin, end) consist of whole segments; returns the first one's index.
static size_t isolate(struct sim_history *history, uint64_t begin, uint64_t end) {
    size_t first = find(history, begin);
    if (first < history->count && history->segments[first].begin < begin)
        split(history, first++, begin);
    uint64_t at = begin;
    size_t index = first;
    for (; at < end; index++) {
        bool is_gap = index == history->count || history->segments[index].begin > at;
        if (is_gap) {
            uint64_t gap_end = index == history->count ? end : history->segments[index].begin;
            struct sim_segment *gap = insert(history, index);
            gap->begin = at;
            gap->end = gap_end < end ? gap_end : end;
        } else if (history->segments[index].end > end) {
            split(history, index, end);
        }
        at = history->segments[index].end;
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
    for (size_t i = find(history, begin); i < history->count; i++) {
        if (history->segments[i].begin >= end)
            return false;
        if (races(&history->segments[i], &touch, clock, other))
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

// Replaces the segments [first, end) by one that `touch` wrote.
static void enter_write(struct sim_history *history, size_t first, uint64_t begin, uint64_t end,
                        const struct sim_touch *touch) {
    size_t last = first;
    while (last < history->count && history->segments[last].begin < end)
        sim_free(history->segments[last++].reads);
    struct sim_segment *segment = &history->segments[first];
    memmove(segment + 1, &history->segments[last], (history->count - last) * sizeof(*segment));
    history->count -= last - first - 1;
    *segment = (struct sim_segment){.begin = begin, .end = end, .written = true, .write = *touch};
}

bool sim_history_touch(struct sim_history *history, uint64_t begin, uint64_t end,
                       const struct sim_touch *touch, const struct sim_clock *clock,
                       struct sim_touch *other) {
    bool raced = false;
    size_t first = isolate(history, begin, end);
    for (size_t i = first; i < history->count && history->segments[i].begin < end; i++) {
        raced = raced || races(&history->segments[i], touch, clock, other);
        if (!touch->writes)
            enter_read(&history->segments[i], touch);
    }
    if (touch->writes)
        enter_write(history, first, begin, end, touch);
    return !raced;
}

void sim_history_forget_known(struct sim_history *history, const struct sim_clock *clock) {
    const struct sim_touch all = {.slot = SIZE_MAX, .writes = true};
    struct sim_touch other;
    size_t kept = 0;
    for (size_t i = 0; i < history->count; i++) {
        if (races(&history->segments[i], &all, clock, &other))
            history->segments[kept++] = history->segments[i];
        else
            sim_free(history->segments[i].reads);
    }
    history->count = kept;
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
    for (size_t i = find(history, begin); i < history->count && history->segments[i].begin < end;
         i++) {
        const struct sim_touch *touch = find_in(&history->segments[i], is_one, data);
        if (!touch)
            continue;
        *found = *touch;
        return true;
    }
    return false;
}
