#include "region/survey.h"

#include "base/number.h"

static uint64_t whole_between(const struct sp_view *view, uint64_t begin, uint64_t end) {
    uint64_t sum = 0;
    const struct sp_extent *extent = sp_view_extent_from(view, begin);
    for (; extent && extent->address + extent->size <= end; extent = sp_view_extent_next(extent))
        sum += extent->size;
    return sum;
}

// Without the whole ones.
static struct sp_survey_row ends_of(const struct sp_view *view, uint64_t begin, uint64_t end) {
    const struct sp_extent *low = sp_view_extent_at(view, begin);
    const struct sp_extent *high = sp_view_extent_at(view, end - 1);
    uint64_t low_end = low->address + low->size;
    bool has_tail = low->address < begin && low_end <= end;
    bool has_front = high->address >= begin && high->address + high->size > end;
    return (struct sp_survey_row){.tail = has_tail ? low_end - begin : 0,
                                  .front = has_front ? end - high->address : 0};
}

struct sp_survey_row sp_survey_row(const struct sp_block *first, const struct sp_block *last) {
    const struct sp_view *view = &sp_segment_of(first)->view;
    struct sp_survey_row extents = ends_of(view, first->address, sp_block_end(last));
    extents.whole = whole_between(view, first->address, sp_block_end(last));
    return extents;
}
