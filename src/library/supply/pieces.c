#include "supply/pieces.h"

#include "base/number.h"
#include "region/device.h"
#include "region/segment.h"
#include "supply/grow.h"
#include "supply/growth.h"

#include <stdlib.h>

// A row of free memory, with the bounds of the whole extents in it.
struct candidate {
    struct sp_segment *segment;
    uint64_t begin, end;
    uint64_t first, last; // first > end: no extent begins here; last < begin: none ends here
    uint64_t extent_size; // of the whole ones, in the mean
    bool used;
};

struct choice {
    struct candidate *candidates;
    size_t candidate_count, candidate_capacity;
    uint64_t longest_front;
    uint64_t granule;
    bool failed;             // for want of host memory
    struct sp_pieces pieces; // one more than candidates at most
};

// -------------------------------------------------------------------------------------- candidates

static uint64_t whole(const struct candidate *candidate) {
    return sp_excess(candidate->last, candidate->first);
}

// The part that a view can end with, and then the part that it can begin with.
static uint64_t front(const struct candidate *candidate) {
    return sp_excess(candidate->end, candidate->first);
}

static uint64_t tail(const struct candidate *candidate) {
    return sp_excess(candidate->last, candidate->begin);
}

// The free end of an extent that is partly used.
static uint64_t tail_before_whole(const struct candidate *candidate) {
    return tail(candidate) - whole(candidate);
}

// The part of the front that lies in the extent behind the whole ones, so that it is there even
// when those are used.
static uint64_t front_behind_whole(const struct candidate *candidate) {
    return candidate->last >= candidate->first && candidate->end > candidate->last
               ? candidate->end - candidate->last
               : 0;
}

static void add_candidate(struct choice *choice, const struct sp_block *first,
                          const struct sp_block *last) {
    struct candidate candidate = {
        sp_segment_of(first), first->address, sp_block_end(last), 0, 0, 0, false};
    const struct sp_view *view = &candidate.segment->view;
    const struct sp_extent *low = sp_view_extent_at(view, candidate.begin);
    const struct sp_extent *high = sp_view_extent_at(view, candidate.end - 1);
    candidate.first = low->address == candidate.begin ? candidate.begin : low->address + low->size;
    candidate.last = high->address + high->size == candidate.end ? candidate.end : high->address;
    uint64_t count = 0; // of whole extents
    const struct sp_extent *extent = sp_view_extent_from(view, candidate.first);
    for (; extent && extent->address < candidate.last; extent = sp_view_extent_next(extent))
        count++;
    candidate.extent_size = count > 0 ? whole(&candidate) / count : 0;
    if ((front(&candidate) == 0 && tail(&candidate) == 0) ||
        sp_free_extents_has_released(first, last))
        return;
    if (choice->candidate_count == choice->candidate_capacity) {
        size_t capacity = choice->candidate_capacity ? choice->candidate_capacity * 2 : 64;
        struct candidate *more = realloc(choice->candidates, capacity * sizeof *more);
        choice->failed = choice->failed || !more;
        if (!more)
            return;
        choice->candidates = more;
        choice->candidate_capacity = capacity;
    }
    choice->candidates[choice->candidate_count++] = candidate;
    if (front(&candidate) > choice->longest_front)
        choice->longest_front = front(&candidate);
}

// Adds the row that a block within reach is in. Returns its end.
static uint64_t add_row_of(const struct sp_request *request, struct choice *choice,
                           struct sp_block *block) {
    struct sp_block *first = block;
    struct sp_block *last = block;
    while (first->prev && sp_request_usable(request, first->prev))
        first = first->prev;
    while (last->next && sp_request_usable(request, last->next))
        last = last->next;
    add_candidate(choice, first, last);
    return sp_block_end(last);
}

// Adds the rows on both sides of an address where an extent begins or ends, but for those that end
// at `seen` or before. Returns up to where all are seen by now.
static uint64_t add_rows_at(const struct sp_request *request, struct choice *choice,
                            const struct sp_chain *chain, uint64_t address, uint64_t seen) {
    struct sp_block *behind =
        address < chain->address + chain->size ? sp_chain_find(chain, address) : NULL;
    struct sp_block *before = behind ? behind->prev : sp_chain_find(chain, address - 1);
    if (behind && behind->address < address)
        before = NULL; // it is on both sides
    if (before && sp_block_end(before) > seen && sp_request_usable(request, before))
        seen = add_row_of(request, choice, before);
    if (behind && sp_block_end(behind) > seen && sp_request_usable(request, behind))
        seen = add_row_of(request, choice, behind);
    return seen;
}

// A row is of use if an extent begins or ends in it. So the extents are looked through and not the
// rows, of which there may be any number more.
static void add_rows_of(const struct sp_request *request, struct choice *choice,
                        const struct sp_segment *segment) {
    uint64_t seen = 0; // all rows that end here or before
    uint64_t end = 0;  // of the last extent
    for (const struct sp_extent *e = sp_view_extent_from(&segment->view, 0); e;
         e = sp_view_extent_next(e)) {
        if (end != e->address && end > 0)
            seen = add_rows_at(request, choice, &segment->chain, end, seen);
        seen = add_rows_at(request, choice, &segment->chain, e->address, seen);
        end = e->address + e->size;
    }
    if (end > 0)
        add_rows_at(request, choice, &segment->chain, end, seen);
}

// Puts the largest whole extents first, for each costs a call; then the most of them; then goes by
// address, so that equal pools choose alike.
static int compare_candidates(const void *a, const void *b) {
    const struct candidate *left = a;
    const struct candidate *right = b;
    if (left->extent_size != right->extent_size)
        return left->extent_size > right->extent_size ? -1 : 1;
    if (whole(left) != whole(right))
        return whole(left) > whole(right) ? -1 : 1;
    return left->begin < right->begin ? -1 : left->begin > right->begin;
}

// -------------------------------------------------------------------------------------- the choice

static void use(struct choice *choice, struct candidate *candidate, uint64_t begin, uint64_t end) {
    candidate->used = true;
    choice->pieces.list[choice->pieces.count++] = (struct sp_piece){candidate->segment, begin, end};
}

// Returns the candidate whose front fits best. To ask costs nothing where none is long enough.
static struct candidate *best_last(const struct choice *choice, uint64_t size) {
    struct candidate *best = NULL;
    for (size_t i = 0; i < choice->candidate_count && size <= choice->longest_front; i++) {
        struct candidate *candidate = &choice->candidates[i];
        if (!candidate->used && front(candidate) >= size &&
            (!best || front(candidate) < front(best)))
            best = candidate;
    }
    return best;
}

// Returns the candidate that has most of such a part, or null: none has any.
typedef uint64_t part_of(const struct candidate *candidate);
static struct candidate *longest(const struct choice *choice, part_of *part) {
    struct candidate *best = NULL;
    for (size_t i = 0; i < choice->candidate_count; i++) {
        struct candidate *candidate = &choice->candidates[i];
        if (part(candidate) > (best ? part(best) : 0))
            best = candidate;
    }
    return best;
}

// Behind the new memory, which is of whole extents then, the front of an old one takes the rest, if
// that saves a granule.
static void end_with_front(struct choice *choice) {
    struct sp_pieces *pieces = &choice->pieces;
    struct candidate *last = longest(choice, front_behind_whole);
    uint64_t left = pieces->missing;
    uint64_t front = last ? front_behind_whole(last) : 0;
    uint64_t missing = front < left ? sp_round_up(left - front, choice->granule) : 0;
    if (missing >= left)
        return;
    pieces->missing = missing;
    use(choice, last, last->last, last->last + (left - missing));
}

// Chooses pieces of `size` bytes together, the first of which is the tail of `begin` unless that is
// null. What could not be found is missing.
static void choose_behind(struct choice *choice, struct candidate *begin, uint64_t size) {
    for (size_t i = 0; i < choice->candidate_count; i++)
        choice->candidates[i].used = false;
    choice->pieces.count = 0;
    uint64_t left = size;
    if (begin) {
        // A row that is enough by itself could not be joined.
        uint64_t taken = tail(begin) < size ? tail(begin) : size;
        use(choice, begin, begin->last - taken, begin->last);
        left -= taken;
    }
    size_t next = 0;
    while (left > 0) {
        struct candidate *last = best_last(choice, left);
        if (last) {
            use(choice, last, last->first, last->first + left);
            choice->pieces.before_new = choice->pieces.count;
            choice->pieces.missing = 0;
            return;
        }
        while (next < choice->candidate_count && choice->candidates[next].used)
            next++;
        if (next == choice->candidate_count || whole(&choice->candidates[next]) == 0)
            break;
        struct candidate *middle = &choice->candidates[next];
        left -= whole(middle);
        use(choice, middle, middle->first, middle->last);
    }
    // The front behind whole extents that stand in the middle, where that is long enough.
    struct candidate *last = left > 0 ? longest(choice, front_behind_whole) : NULL;
    if (last && front_behind_whole(last) >= left) {
        use(choice, last, last->last, last->last + left);
        left = 0;
    }
    choice->pieces.before_new = choice->pieces.count;
    choice->pieces.missing = left;
}

// Where the free memory is not enough, it is put together with new memory if that saves much of
// what growing alone would take; a call's time is not spent on little. The front behind the new
// memory doesn't count: with it nearly everything would be worth a remap. All of it is welcome
// where nothing else is left, and so is memory that is had by waiting: growing alone was tried.
static bool is_worth_it(const struct sp_request *request, const struct choice *choice) {
    bool waits = request->policies & SP_POLICY_OWN_ORDER || request->reach == SP_RULE_MADE_ORDERED;
    bool held = request->bound == SP_BOUND_HOLDS;
    if (choice->pieces.missing == 0 || choice->pieces.count == 0)
        return choice->pieces.missing == 0;
    uint64_t missing = sp_round_up(choice->pieces.missing, choice->granule);
    if (request->flags & poolMallocNoGrowth ||
        (held && !waits && missing > sp_growth_room(request->pool, request->size)))
        return false;
    if ((waits || request->sources & 1U << SP_REGION_PAGES) && !held)
        return missing < request->size;
    uint64_t otherwise = sp_grow_least(request);
    return missing < otherwise - otherwise / SP_SAVING_SHARE;
}

bool sp_pieces_choose(const struct sp_request *request, struct sp_pieces *pieces) {
    struct choice choice = {0};
    bool chosen = false;
    for (int kind = 0; kind < SP_REGION_COUNT; kind++) {
        SP_LIST_FOR_EACH_OF(struct sp_segment, segment, link,
                            &request->pool->regions[kind].segments)
            if (request->sources & 1U << kind)
                add_rows_of(request, &choice, segment);
    }
    choice.granule = request->pool->device->vmm.granule;
    if (!choice.failed && choice.candidate_count > 0)
        choice.pieces.list = malloc((choice.candidate_count + 1) * sizeof *choice.pieces.list);
    if (choice.pieces.list) {
        qsort(choice.candidates, choice.candidate_count, sizeof *choice.candidates,
              compare_candidates);
        choose_behind(&choice, NULL, request->size);
        struct candidate *begin =
            choice.pieces.missing > 0 ? longest(&choice, tail_before_whole) : NULL;
        if (begin)
            choose_behind(&choice, begin, request->size);
        chosen = is_worth_it(request, &choice);
        if (chosen && choice.pieces.missing > 0)
            end_with_front(&choice);
    }
    free(choice.candidates);
    *pieces = choice.pieces;
    if (!chosen)
        sp_pieces_free(pieces);
    return chosen;
}

void sp_pieces_free(struct sp_pieces *pieces) {
    free(pieces->list);
    pieces->list = NULL;
}
