// The free spans of an address space, in trees: a hundred thousand of them cost no more than a few.
//
// All free spans stand in a tree by address. Those with fewer bytes than `wide_least` are *narrow*
// and stand in a tree by size as well, for the best fit. The others are *wide*: a space has few of
// them, and they stand in a second tree by address, for the first fit.
//
// A span's node outlives its time in the trees: a *spare* node waits in a list until there is a
// span to free. So whoever has seen to enough spare nodes can put spans in without a failure.
//
// The lock of the space guards the struct. The functions reserve nothing and call no driver.
#ifndef STREAMPOOL_VMM_SPANS_H
#define STREAMPOOL_VMM_SPANS_H

#include "base/list.h"
#include "base/tree.h"
#include "driver/abi.h"

// A piece of address space: a free one, or a whole reserved range; or a spare node.
struct sp_span {
    struct sp_tree_node by_address;
    struct sp_tree_node in_kind; // narrow or wide
    struct sp_list link;         // a range, or spare
    CUdeviceptr address;
    size_t size;
    // The start of the range that it lies in: spans are merged inside a range only.
    CUdeviceptr range;
};

struct sp_spans {
    size_t wide_least;         // bytes of the smallest wide span
    struct sp_tree by_address; // all, no two adjacent ones of one range
    struct sp_tree narrow;     // by (size, address)
    struct sp_tree wide;       // by address
    struct sp_list spare;      // struct sp_span
};

void sp_spans_init(struct sp_spans *spans, size_t wide_least);

// Makes one more spare node. False without host memory.
bool sp_spans_add_spare(struct sp_spans *spans);

// Frees one spare node, of which there must be one.
void sp_spans_drop_spare(struct sp_spans *spans);

// Takes a spare node, of which there must be one, and sets it to a span that is in no tree.
struct sp_span *sp_spans_use_spare(struct sp_spans *spans, CUdeviceptr address, size_t size,
                                   CUdeviceptr range);

// Puts a span that is in no tree into the trees, or makes its node spare if it has no bytes.
void sp_spans_insert(struct sp_spans *spans, struct sp_span *span);

// Takes a span out of the trees; then its address and size may be changed.
void sp_spans_remove(struct sp_spans *spans, struct sp_span *span);

// Puts an unused piece of address space in, as one span with the free ones that touch it in its
// range. Where none does, it uses a spare node.
void sp_spans_merge(struct sp_spans *spans, CUdeviceptr address, size_t size, CUdeviceptr range);

// The functions below find a span, or return null.

// The narrow span that best fits `size` bytes.
struct sp_span *sp_spans_best_narrow(const struct sp_spans *spans, size_t size);

// The wide span of at least `size` bytes with the lowest address, and that with the highest.
struct sp_span *sp_spans_first_wide(const struct sp_spans *spans, size_t size);
struct sp_span *sp_spans_last_wide(const struct sp_spans *spans, size_t size);

// The largest span, the one with the lowest address among wide ones of one size.
struct sp_span *sp_spans_largest(const struct sp_spans *spans);

// The first span that does not begin before an address.
struct sp_span *sp_spans_from(const struct sp_spans *spans, CUdeviceptr address);

// The span whose link this is.
static inline struct sp_span *sp_spans_at(struct sp_list *link) {
    return SP_CONTAINER_OF(link, struct sp_span, link);
}

#endif
