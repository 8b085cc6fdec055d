// The floor of a pair: a lock is taken, a piece goes from a list or back to it, and the lock is
// given back. Each thread has a list of its own, with a lock that nobody else wants. It is the
// library's own lock.
//
// The pieces stand for blocks of device memory, and are of no size; they are given back when the
// subject is closed.
#include "subject.h"

#include "base/lock.h"

#include <stdlib.h>

struct piece {
    struct piece *next;
    struct piece *made_before; // of all that the list ever had
};

struct list {
    _Alignas(128) struct sp_lock lock; // two lists share no pair of cache lines
    struct piece *first;
    struct piece *made;
};

struct lists {
    struct list lists[SUBJECT_PLACES];
};

static int open_list(struct subject *subject, uint64_t threshold) {
    size_t size = sizeof(struct lists);
    struct lists *lists = aligned_alloc(_Alignof(struct lists), size);
    if (!lists)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *lists = (struct lists){0};
    subject->pool = lists;
    subject->threshold = threshold;
    return 0;
}

static void forget(struct list *list) {
    for (struct piece *piece = list->made, *before; piece; piece = before) {
        before = piece->made_before;
        free(piece);
    }
}

static int close_list(struct subject *subject) {
    struct lists *lists = subject->pool;
    for (int i = 0; lists && i < SUBJECT_PLACES; i++)
        forget(&lists->lists[i]);
    free(lists);
    subject->pool = NULL;
    return 0;
}

static struct piece *make(struct list *list) {
    struct piece *piece = malloc(sizeof *piece);
    if (!piece)
        return NULL;
    piece->made_before = list->made;
    list->made = piece;
    return piece;
}

static struct list *list_of(const struct subject *subject) {
    struct lists *lists = subject->pool;
    return &lists->lists[subject_place()];
}

static int allocate_list(const struct subject *subject, void **pointer, size_t size,
                         CUstream stream) {
    (void)size, (void)stream;
    struct list *list = list_of(subject);
    sp_lock_acquire(&list->lock);
    struct piece *piece = list->first;
    if (piece)
        list->first = piece->next;
    else
        piece = make(list);
    sp_lock_release(&list->lock);
    *pointer = piece;
    return piece ? 0 : CUDA_ERROR_OUT_OF_MEMORY;
}

static int release_list(const struct subject *subject, void *pointer, CUstream stream) {
    (void)stream;
    struct list *list = list_of(subject);
    struct piece *piece = pointer;
    sp_lock_acquire(&list->lock);
    piece->next = list->first;
    list->first = piece;
    sp_lock_release(&list->lock);
    return 0;
}

static int synchronize_list(const struct subject *subject, CUstream stream) {
    (void)subject, (void)stream;
    return 0;
}

const struct subject subject_list = {.role = SUBJECT_IS_FLOOR,
                                     .open = open_list,
                                     .close = close_list,
                                     .allocate = allocate_list,
                                     .release = release_list,
                                     .synchronize = synchronize_list};
