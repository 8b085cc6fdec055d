/// @file
/// A heap inside kernels: device code that allocates from slabs of a streampool pool.
///
/// The host makes the heap (streampool/heap.h) and hands poolHeapDevice(heap) to kernels. There any
/// thread allocates, and any thread frees what any other allocated: in the same kernel, in a later
/// one, in kernels of several streams at once, or from the host (poolHeapFree). Threads of a warp
/// that call together are served together. No call waits for another thread without a bound.
///
/// Needs CUDA C++ and compute capability 7.0 or later. Compiles as C11 too, for tests on a CPU
/// (streampool/heap/machine.cuh).
///
/// With POOL_HEAP_CHECK defined, a free that is no free of a live block is printed with its
/// address. It is counted in any case, and does nothing else (poolHeapStatistics).
///
/// The ideas come from Halloc (A. Adinetz and D. Pleiter, "Halloc: a high-throughput dynamic memory
/// allocator for GPGPU architectures", GTC 2014): slabs with counters, bits that are found by
/// hashed probing, and classes of fullness.
#ifndef STREAMPOOL_HEAP_CUH
#define STREAMPOOL_HEAP_CUH

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 700
#error "streampool/heap.cuh needs compute capability 7.0 or later"
#endif

#include "heap/admit.cuh"
#include <streampool/heap/descriptor.h>

#if defined(POOL_HEAP_CHECK)
#include <stdio.h>
#endif

POOL_HEAP_CALL void ph_note_error(struct ph_book *book, uint32_t kind, uint64_t address) {
    ph_add64(kind == poolHeapErrorForeign ? &book->foreign_frees : &book->double_frees, 1);
    uint32_t i = ph_add(&book->error_count, 1);
    if (i < POOL_HEAP_ERRORS) {
        ph_store64(&book->error[i].address, address);
        ph_store(&book->error[i].kind, kind);
    }
#if defined(POOL_HEAP_CHECK)
    printf("pool_heap: %p %s\n", (void *)(uintptr_t)address,
           kind == poolHeapErrorForeign ? "is no block of this heap" : "is free already");
#endif
}

POOL_HEAP_CALL void ph_note_failure(struct ph_book *book, uint32_t cls, uint64_t bytes) {
    ph_add64(&book->failures[cls], 1);
    ph_max64(&book->bytes_failed_most, bytes);
}

// The smallest class of at least so many bytes: 16, 32, 48, 64, 96, ...
POOL_HEAP_FN uint32_t ph_class_of(uint64_t bytes) {
    if (bytes <= 16)
        return 0;
    uint32_t power = ph_highest64(bytes - 1); // 2^power < bytes <= 2^(power + 1)
    uint64_t half = (UINT64_C(1) << power) + (UINT64_C(1) << (power - 1));
    uint32_t cls = (power - 4) * 2 + (bytes <= half ? 0 : 1);
    return cls != 0 ? cls : 1; // there is none of 24 bytes: a block lies at a multiple of 16
}

// A block that a lane gets: the one with this rank among those that were won in a word.
POOL_HEAP_FN void *ph_block(struct ph_book *book, uint32_t cls, uint32_t slab, uint32_t word,
                            uint32_t won, uint32_t rank) {
    const struct ph_class *c = &book->cls[cls];
    uint32_t bit = ph_lowest(won) + rank;
    if (won >> ph_lowest(won) != (ph_count(won) == 32 ? ~0u : (1u << ph_count(won)) - 1)) {
        for (; rank != 0; rank--)
            won &= won - 1;
        bit = ph_lowest(won);
    }
    uint64_t offset = c->begin + (uint64_t)(word * 32 + bit) * c->size;
    return (void *)(uintptr_t)(book->slab[slab].base + offset);
}

// Threads that want blocks of one class: the first reserves for all of them, and takes bits a word
// at a time, which the next ones in turn get.
POOL_HEAP_FN void *ph_malloc_block(struct ph_book *book, uint32_t group, uint32_t cls,
                                   uint64_t bytes) {
    uint32_t leader = ph_lowest(group), rank = ph_count(group & ((1u << ph_lane()) - 1));
    uint32_t served = 0, count = ph_count(group);
    struct ph_grant grant = {0, 0, 0, 0};
    void *block = NULL;
    do {
        uint32_t word = 0, won = 0;
        if (rank == 0) {
            if (grant.blocks != 0 || ph_find(book, cls, count - served, &grant) != 0)
                won = ph_take(book, cls, &grant, &word);
        }
        won = ph_tell(group, won, leader);
        if (won == 0)
            break;
        word = ph_tell(group, word, leader);
        uint32_t slab = ph_tell(group, grant.slab, leader);
        if (rank >= served && rank - served < ph_count(won))
            block = ph_block(book, cls, slab, word, won, rank - served);
        served += ph_count(won);
    } while (served < count);
    ph_order(group); // behind the free that the leader found
    if (block == NULL)
        ph_note_failure(book, cls, bytes);
    return block;
}

/// Allocates memory in a kernel. (malloc)
///
/// @param heap Is the kernel's heap.
/// @param bytes Is the number of bytes. A block has the next size of 16, 32, 48, 64, 96, ...; above
///     half a slab it has whole slabs (poolHeapSlabSize).
/// @return The block, at a multiple of 16, and where its size is a power of two, of the least of
///     that and 512. Its contents are undefined. Null for 0 bytes, and when there is no memory,
///     which is counted. The last blocks of a heap may be overlooked while other threads are in
///     the middle of taking or freeing some.
POOL_HEAP_CALL void *pool_heap_malloc(struct pool_heap heap, size_t bytes) {
    struct ph_book *book = heap.book;
    uint32_t cls = bytes == 0 ? POOL_HEAP_CLASSES + 1 : ph_class_of(bytes);
    if (cls >= book->classes && bytes != 0)
        cls = POOL_HEAP_CLASSES;
    uint32_t group = ph_match(ph_together(), cls);
    if (cls < POOL_HEAP_CLASSES)
        return ph_malloc_block(book, group, cls, bytes);
    if (bytes == 0)
        return NULL;
    uint64_t slabs = ((uint64_t)(bytes - 1) >> book->shift) + 1;
    uint64_t run = ph_take_run(book, slabs);
    if (run == 0) {
        ph_note_failure(book, POOL_HEAP_CLASSES, bytes);
        if (slabs <= book->slabs) // else no growth could serve it
            ph_max64(&book->run_failed_most, bytes);
    }
    return (void *)(uintptr_t)run;
}

// An address that was looked up.
struct ph_found {
    uint32_t slab;  // POOL_HEAP_NONE: no block begins there
    uint32_t cls;   // POOL_HEAP_CLASSES: a run
    uint32_t index; // of the block in its slab
    int free;       // no block begins there, but the slab is the heap's, and has none
};

POOL_HEAP_FN struct ph_found ph_look_up(struct ph_book *book, uint64_t address) {
    uint64_t place = ph_place_of(book, address);
    struct ph_found found = {ph_place_slab(place), 0, 0, 0};
    if (found.slab == POOL_HEAP_NONE)
        return found;
    uint32_t tag = ph_tag(ph_load(&book->slab[found.slab].state));
    uint64_t offset = address - ph_place_base(place);
    int good = tag == POOL_HEAP_RUN && offset == 0;
    found.cls = POOL_HEAP_CLASSES;
    found.free = tag == POOL_HEAP_FREE;
    if (tag >= POOL_HEAP_FIRST) {
        found.cls = tag - POOL_HEAP_FIRST;
        const struct ph_class *c = &book->cls[found.cls];
        uint32_t inside = (uint32_t)offset - c->begin;
        found.index = inside / c->size;
        good = offset >= c->begin && found.index < c->blocks && found.index * c->size == inside;
    }
    if (!good)
        found.slab = POOL_HEAP_NONE;
    return found;
}

// Frees blocks of one word, one of which lies at the address: clears their bits, and counts them.
POOL_HEAP_FN void ph_free_blocks(struct ph_book *book, const struct ph_found *found, uint32_t bits,
                                 uint64_t address) {
    const struct ph_class *c = &book->cls[found->cls];
    uint32_t *word = ph_bits(&book->slab[found->slab], c) + found->index / 32;
    uint32_t freed = ph_and(word, ~bits) & bits;
    if (freed != 0)
        ph_give(book, found->slab, ph_count(freed));
    uint64_t first = address - (uint64_t)(found->index % 32) * c->size;
    for (uint32_t twice = bits & ~freed; twice != 0; twice &= twice - 1)
        ph_note_error(book, poolHeapErrorDouble, first + (uint64_t)ph_lowest(twice) * c->size);
}

/// Frees memory in a kernel. All accesses to it by other threads come before, in the order that the
/// program makes: the block may be handed out again at once. (free)
///
/// @param heap Is the heap that it came from.
/// @param block Is what pool_heap_malloc or pool_heap_realloc returned, or null, which does
///     nothing. Anything else does nothing but be counted; a block that was freed is found out only
///     as long as it wasn't handed out again.
POOL_HEAP_CALL void pool_heap_free(struct pool_heap heap, void *block) {
    struct ph_book *book = heap.book;
    uint64_t address = (uint64_t)(uintptr_t)block;
    struct ph_found found = {POOL_HEAP_NONE, 0, 0, 0};
    if (block != NULL)
        found = ph_look_up(book, address);
    int in_slab = found.slab != POOL_HEAP_NONE && found.cls != POOL_HEAP_CLASSES;
    uint32_t key = in_slab ? found.slab << 12 | found.index / 32 : UINT32_MAX;
    uint32_t group = ph_match(ph_together(), key);
    if (in_slab) {
        uint32_t bits = ph_join(group, 1u << found.index % 32);
        if (ph_count(bits) != ph_count(group)) { // some free the same block
            uint32_t same = ph_match(group, found.index % 32);
            if (ph_lane() != ph_lowest(same))
                ph_note_error(book, poolHeapErrorDouble, address);
        }
        ph_order(group); // what each wrote comes before the leader's free
        if (ph_lane() == ph_lowest(group))
            ph_free_blocks(book, &found, bits, address);
    } else if (found.slab != POOL_HEAP_NONE) {
        if (!ph_give_run(book, found.slab))
            ph_note_error(book, poolHeapErrorDouble, address);
    } else if (block != NULL) {
        ph_note_error(book, found.free ? poolHeapErrorDouble : poolHeapErrorForeign, address);
    }
}

/// Tells how many bytes a block can hold: at least those that were asked for. (malloc_usable_size)
///
/// @param heap Is the heap that it came from.
/// @param block Is a live block, or null.
/// @return The bytes; 0 for null, and for an address where no block begins.
POOL_HEAP_CALL size_t pool_heap_usable_size(struct pool_heap heap, const void *block) {
    struct ph_book *book = heap.book;
    if (block == NULL)
        return 0;
    struct ph_found found = ph_look_up(book, (uint64_t)(uintptr_t)block);
    if (found.slab == POOL_HEAP_NONE)
        return 0;
    if (found.cls == POOL_HEAP_CLASSES)
        return (size_t)book->slab[found.slab].run << book->shift;
    return book->cls[found.cls].size;
}

/// Changes a block's size, and moves it where it doesn't fit, or would fit into half. (realloc)
///
/// @param heap Is the heap that it came from.
/// @param block Is a live block. Null: allocates.
/// @param bytes Is the new number of bytes. 0: frees, and returns null.
/// @return The block with what it held, up to the lesser size. Null when there is no memory: then
///     the old block is as it was.
POOL_HEAP_CALL void *pool_heap_realloc(struct pool_heap heap, void *block, size_t bytes) {
    size_t usable = pool_heap_usable_size(heap, block);
    if (block != NULL && bytes != 0 && bytes <= usable && (bytes > usable / 2 || usable <= 32))
        return block;
    if (block != NULL && bytes != 0 && usable == 0) {
        pool_heap_free(heap, block); // tells why there is none
        return NULL;
    }
    void *moved = pool_heap_malloc(heap, bytes);
    if (moved == NULL && bytes != 0) // a smaller block isn't worth a failure
        return bytes <= usable ? block : NULL;
    if (moved != NULL && block != NULL) // sizes are multiples of 16
        ph_copy(moved, block, ((bytes < usable ? bytes : usable) + 15) & ~(size_t)15);
    pool_heap_free(heap, block);
    return moved;
}

#endif
