#include "inside/space.h"

#include <stdlib.h>

#include "driver/driver.h"
#include "inside/tree.h"

static struct sp_span *span_at(struct sp_list *link) {
    return SP_CONTAINER_OF(link, struct sp_span, link);
}

static struct sp_span *by_address(const struct sp_tree_node *node) {
    return node ? SP_CONTAINER_OF(node, struct sp_span, by_address) : NULL;
}

static bool is_narrow(const struct sp_tree_node *node, size_t wide_least) {
    return SP_CONTAINER_OF(node, struct sp_span, in_kind)->size < wide_least;
}

// Counts the spans of the tree that belong there.
static size_t count_kind(const struct sp_tree *kind, bool narrow, size_t wide_least) {
    size_t count = 0;
    for (struct sp_tree_node *n = sp_tree_first(kind); n; n = sp_tree_next(n))
        count += is_narrow(n, wide_least) == narrow;
    return count;
}

static CUdeviceptr range_of(const struct sp_space *space, CUdeviceptr address) {
    SP_LIST_FOR_EACH(link, &space->ranges) {
        const struct sp_span *range = span_at(link);
        if (address - range->address < range->size)
            return range->address;
    }
    return 0;
}

// Spans that touch are of different ranges.
static bool follows(const struct sp_span *span, const struct sp_span *before) {
    CUdeviceptr end = before->address + before->size;
    return end < span->address || (end == span->address && before->range != span->range);
}

static bool check_locked(const struct sp_space *space) {
    const struct sp_spans *spans = &space->free;
    const struct sp_span *before = NULL;
    size_t count = 0;
    for (struct sp_tree_node *n = sp_tree_first(&spans->by_address); n; n = sp_tree_next(n)) {
        const struct sp_span *span = by_address(n);
        if (span->size == 0 || span->range != range_of(space, span->address) ||
            (before && !follows(span, before)))
            return false;
        before = span;
        count++;
    }
    return count == count_kind(&spans->narrow, true, spans->wide_least) +
                        count_kind(&spans->wide, false, spans->wide_least) &&
           inside_tree_check(&spans->by_address) && inside_tree_check(&spans->narrow) &&
           inside_tree_check(&spans->wide);
}

bool inside_space_check(struct sp_space *space) {
    sp_lock_acquire(&space->lock);
    bool in_order = check_locked(space);
    sp_lock_release(&space->lock);
    return in_order;
}

static void free_spans(struct sp_spans *spans) {
    struct sp_span *span;
    while ((span = by_address(sp_tree_first(&spans->by_address)))) {
        sp_tree_remove(&spans->by_address, &span->by_address);
        free(span);
    }
    struct sp_list *link;
    while ((link = sp_list_pop_front(&spans->spare)))
        free(span_at(link));
}

void inside_space_close(struct sp_space *space) {
    struct sp_list *link;
    while ((link = sp_list_pop_front(&space->ranges))) {
        struct sp_span *range = span_at(link);
        sp_driver->cuMemAddressFree(range->address, range->size);
        free(range);
    }
    free_spans(&space->free);
}
