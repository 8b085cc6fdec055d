#include "heap/slab.h"

#include "base/lock.h"
#include "base/number.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define UNITS(size) ((size) / SP_ALIGNMENT)
#define CLASS(size, pages)                                                                         \
    {size, pages, (uint32_t)((pages)*SP_PAGE_SIZE / (size)),                                       \
     ((1ull << 32) + UNITS(size) - 1) / UNITS(size)},

// clang-format off
const struct sp_size_class sp_size_classes[SP_CLASS_COUNT] = {SP_SIZE_CLASSES(CLASS)};
// clang-format on

// Slabs are cut from chunks, each as large as all before it together. From a huge page of the host
// on chunks are such pages: among very many slabs each address that is looked up would cost the
// processor a walk through its page tables.
enum { CHUNK_MIN = 4096, HUGE_PAGE = 2 << 20 };

struct chunk {
    _Alignas(64) struct chunk *next;
};

// The spare slabs of all pools, by class. They are never given back to the system, so that a stale
// pointer from the page map still points to a slab. That has no block at any address.
static struct {
    struct sp_lock lock;
    struct sp_slab *slabs[SP_CLASS_COUNT];
    struct chunk *chunks;
    size_t bytes; // of all of these
    char *next;   // what was not cut yet of the newest
    size_t left;
} store;

_Atomic uint32_t sp_slab_mixed_classes;

static bool add_chunk_locked(void) {
    size_t size = store.bytes < CHUNK_MIN ? CHUNK_MIN : store.bytes;
    bool is_huge = size >= HUGE_PAGE;
    if (is_huge)
        size = HUGE_PAGE;
    struct chunk *chunk = aligned_alloc(is_huge ? HUGE_PAGE : _Alignof(struct chunk), size);
    if (!chunk)
        return false;
    if (is_huge)
        madvise(chunk, size, MADV_HUGEPAGE); // a system without them has small ones
    chunk->next = store.chunks;
    store.chunks = chunk;
    store.bytes += size;
    store.next = (char *)(chunk + 1);
    store.left = size - sizeof *chunk;
    return true;
}

struct sp_slab *sp_slab_create(unsigned class_index) {
    uint32_t blocks = sp_size_classes[class_index].blocks;
    size_t bytes = sp_round_up(offsetof(struct sp_slab, asked_each) + blocks * sizeof(uint16_t),
                               _Alignof(struct sp_slab));
    sp_lock_acquire(&store.lock);
    struct sp_slab *slab = store.slabs[class_index];
    if (slab) {
        store.slabs[class_index] = slab->next_spare;
    } else if (store.left >= bytes || add_chunk_locked()) {
        slab = (struct sp_slab *)(void *)store.next;
        store.next += bytes;
        store.left -= bytes;
    }
    sp_lock_release(&store.lock);
    if (!slab)
        return NULL;
    memset(slab, 0, offsetof(struct sp_slab, asked_each));
    for (uint32_t word = 0; word * 64 < blocks; word++)
        slab->free[word] = blocks - word * 64 < 64 ? ((uint64_t)1 << blocks % 64) - 1 : UINT64_MAX;
    sp_list_init(&slab->link);
    sp_list_init(&slab->returned_link);
    sp_list_init(&slab->owned_link);
    slab->class_index = (uint8_t)class_index;
    return slab;
}

void sp_slab_set_run(struct sp_slab *slab, struct sp_block *run) {
    slab->run = run;
    slab->address = run->address;
    run->is_run = true;
    // The slab lies where a live block has its account: a free of an address that isn't live must
    // see `is_run` before it sees the slab.
    atomic_thread_fence(memory_order_release);
    run->slab = slab;
}

void sp_slab_destroy(struct sp_slab *slab) {
    sp_fence_set_clear(&slab->foreign);
    slab->address = 0;
    sp_lock_acquire(&store.lock);
    slab->next_spare = store.slabs[slab->class_index];
    store.slabs[slab->class_index] = slab;
    sp_lock_release(&store.lock);
}

// A slab that becomes mixed stays so until it is made anew: if it became uniform whenever it is
// empty, a program with two sizes might write all numbers again and again.
void sp_slab_note_asked(struct sp_slab *slab, uint32_t index, uint16_t asked) {
    uint16_t of_others = slab->asked;
    if (slab->live == 0) {
        slab->asked = asked;
        return;
    }
    for (uint32_t i = 0; i < sp_slab_class(slab)->blocks; i++)
        slab->asked_each[i] = of_others;
    __atomic_store_n(&slab->asked, SP_SLAB_MIXED, __ATOMIC_RELEASE);
    atomic_fetch_or_explicit(&sp_slab_mixed_classes, (uint32_t)1 << slab->class_index,
                             memory_order_relaxed);
    slab->asked_each[index] = asked;
}

// A block has one of its bits at any time, for who looks without the lock.
void sp_slab_accept_returned(struct sp_slab *slab) {
    for (int word = 0; word < SP_SLAB_WORDS; word++) {
        slab->free[word] |= slab->returned_blocks[word];
        __atomic_store_n(&slab->returned_blocks[word], 0, __ATOMIC_RELEASE);
    }
    slab->returned = 0;
}
