#include "vmm/spans.h"

#include "base/number.h"

#include <stdlib.h>

static struct sp_span *by_address(const struct sp_tree_node *node) {
    return node ? SP_CONTAINER_OF(node, struct sp_span, by_address) : NULL;
}

static struct sp_span *in_kind(const struct sp_tree_node *node) {
    return node ? SP_CONTAINER_OF(node, struct sp_span, in_kind) : NULL;
}

static int compare_addresses(const struct sp_tree_node *a, const struct sp_tree_node *b) {
    return sp_compare(by_address(a)->address, by_address(b)->address);
}

static int compare_wide(const struct sp_tree_node *a, const struct sp_tree_node *b) {
    return sp_compare(in_kind(a)->address, in_kind(b)->address);
}

static int compare_narrow(const struct sp_tree_node *a, const struct sp_tree_node *b) {
    return sp_compare_pairs(in_kind(a)->size, in_kind(a)->address, in_kind(b)->size,
                            in_kind(b)->address);
}

static int compare_address(const void *address, const struct sp_tree_node *node) {
    return sp_compare(*(const CUdeviceptr *)address, by_address(node)->address);
}

static int compare_size(const void *size, const struct sp_tree_node *node) {
    return sp_compare_pairs(*(const size_t *)size, 0, in_kind(node)->size, in_kind(node)->address);
}

void sp_spans_init(struct sp_spans *spans, size_t wide_least) {
    spans->wide_least = wide_least;
    sp_list_init(&spans->spare);
    sp_tree_init(&spans->by_address, compare_addresses);
    sp_tree_init(&spans->narrow, compare_narrow);
    sp_tree_init(&spans->wide, compare_wide);
}

// ------------------------------------------------------------------------------------- spare nodes

bool sp_spans_add_spare(struct sp_spans *spans) {
    struct sp_span *span = malloc(sizeof *span);
    if (!span)
        return false;
    sp_list_push_front(&spans->spare, &span->link);
    return true;
}

void sp_spans_drop_spare(struct sp_spans *spans) {
    free(sp_spans_at(sp_list_pop_front(&spans->spare)));
}

struct sp_span *sp_spans_use_spare(struct sp_spans *spans, CUdeviceptr address, size_t size,
                                   CUdeviceptr range) {
    struct sp_span *span = sp_spans_at(sp_list_pop_front(&spans->spare));
    span->address = address;
    span->size = size;
    span->range = range;
    return span;
}

// --------------------------------------------------------------------------------------- the trees

static struct sp_tree *kind_of(struct sp_spans *spans, const struct sp_span *span) {
    return span->size >= spans->wide_least ? &spans->wide : &spans->narrow;
}

void sp_spans_insert(struct sp_spans *spans, struct sp_span *span) {
    if (span->size == 0) {
        sp_list_push_front(&spans->spare, &span->link);
        return;
    }
    sp_tree_insert(&spans->by_address, &span->by_address);
    sp_tree_insert(kind_of(spans, span), &span->in_kind);
}

void sp_spans_remove(struct sp_spans *spans, struct sp_span *span) {
    sp_tree_remove(&spans->by_address, &span->by_address);
    sp_tree_remove(kind_of(spans, span), &span->in_kind);
}

static bool adjacent(const struct sp_span *low, const struct sp_span *high) {
    return low && high && low->range == high->range && low->address + low->size == high->address;
}

// Takes a neighbour of the given piece out of the trees and makes the two one span. The node
// becomes spare.
static void absorb(struct sp_spans *spans, struct sp_span *given, struct sp_span *neighbour) {
    sp_spans_remove(spans, neighbour);
    given->address = sp_min(given->address, neighbour->address);
    given->size += neighbour->size;
    sp_list_push_front(&spans->spare, &neighbour->link);
}

void sp_spans_merge(struct sp_spans *spans, CUdeviceptr address, size_t size, CUdeviceptr range) {
    struct sp_span given = {.address = address, .size = size, .range = range};
    struct sp_span *next = sp_spans_from(spans, address);
    struct sp_span *prev =
        by_address(next ? sp_tree_prev(&next->by_address) : sp_tree_last(&spans->by_address));
    if (adjacent(&given, next))
        absorb(spans, &given, next);
    if (adjacent(prev, &given))
        absorb(spans, &given, prev);
    sp_spans_insert(spans, sp_spans_use_spare(spans, given.address, given.size, range));
}

// ----------------------------------------------------------------------------------------- looking

struct sp_span *sp_spans_best_narrow(const struct sp_spans *spans, size_t size) {
    return in_kind(sp_tree_lower_bound(&spans->narrow, &size, compare_size));
}

struct sp_span *sp_spans_first_wide(const struct sp_spans *spans, size_t size) {
    struct sp_tree_node *node = sp_tree_first(&spans->wide);
    while (node && in_kind(node)->size < size)
        node = sp_tree_next(node);
    return in_kind(node);
}

struct sp_span *sp_spans_last_wide(const struct sp_spans *spans, size_t size) {
    struct sp_tree_node *node = sp_tree_last(&spans->wide);
    while (node && in_kind(node)->size < size)
        node = sp_tree_prev(node);
    return in_kind(node);
}

struct sp_span *sp_spans_largest(const struct sp_spans *spans) {
    struct sp_span *found = in_kind(sp_tree_last(&spans->narrow));
    for (struct sp_tree_node *n = sp_tree_first(&spans->wide); n; n = sp_tree_next(n)) {
        if (!found || in_kind(n)->size > found->size)
            found = in_kind(n);
    }
    return found;
}

struct sp_span *sp_spans_from(const struct sp_spans *spans, CUdeviceptr address) {
    return by_address(sp_tree_lower_bound(&spans->by_address, &address, compare_address));
}
