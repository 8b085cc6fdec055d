#include "simcuda/memory/advice.h"

#include <string.h>

#include "simcuda/common/host.h"

// Returns how many spans begin before an offset.
static size_t count_before(const struct sim_advice *advice, uint64_t offset) {
    size_t low = 0, high = advice->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (advice->spans[middle].begin < offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void insert(struct sim_advice *advice, size_t index, struct sim_advice_span span) {
    SIM_RESERVE_ONE(advice->spans, advice->count, advice->capacity);
    memmove(&advice->spans[index + 1], &advice->spans[index],
            (advice->count - index) * sizeof(*advice->spans));
    advice->spans[index] = span;
    advice->count++;
}

// Makes a span begin at an offset, and returns its index.
static size_t split(struct sim_advice *advice, uint64_t offset) {
    size_t index = count_before(advice, offset);
    if (index < advice->count && advice->spans[index].begin == offset)
        return index;
    struct sim_advice_span span = {.begin = offset};
    if (index > 0)
        span.said = advice->spans[index - 1].said;
    insert(advice, index, span);
    return index;
}

void sim_advice_say(struct sim_advice *advice, uint64_t begin, uint64_t end,
                    sim_advice_change change, const void *data) {
    split(advice, 0);
    size_t first = split(advice, begin), last = split(advice, end);
    for (size_t i = first; i < last; i++)
        change(&advice->spans[i].said, data);
}

struct sim_advice_said sim_advice_at(const struct sim_advice *advice, uint64_t offset,
                                     uint64_t *end) {
    size_t next = count_before(advice, offset + 1);
    *end = next < advice->count ? advice->spans[next].begin : UINT64_MAX;
    return next > 0 ? advice->spans[next - 1].said : (struct sim_advice_said){0};
}

void sim_advice_destroy(struct sim_advice *advice) {
    sim_free(advice->spans);
    *advice = (struct sim_advice){0};
}
