// An intrusive doubly linked ring: one struct is the head of a list and the link inside an element.
//
// The owner of the head owns the list and guards it. The code that embeds the link allocates and
// frees the elements. A link that is in no list points to itself, so removing it again is harmless,
// and membership can be asked. A zeroed link is not initialised: call sp_list_init() first.
//
//   next->prev == this && prev->next == this, for the head and for every link
#ifndef STREAMPOOL_BASE_LIST_H
#define STREAMPOOL_BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct sp_list {
    struct sp_list *next;
    struct sp_list *prev;
};

// The struct of type `type` whose member `member` is at `pointer`.
#define SP_CONTAINER_OF(pointer, type, member)                                                     \
    ((type *)(void *)((char *)(pointer)-offsetof(type, member)))

#define SP_LIST_FOR_EACH(node, head)                                                               \
    for (struct sp_list *node = (head)->next; node != (head); node = node->next)

// For each struct of a list whose structs are linked by `member`.
#define SP_LIST_FOR_EACH_OF(type, element, member, head)                                           \
    for (type *element = SP_LIST_AT((head)->next, head, type, member); element;                    \
         element = SP_LIST_AT(element->member.next, head, type, member))

// The struct at a link of a list, or null at the head.
#define SP_LIST_AT(node, head, type, member)                                                       \
    ((node) == (head) ? NULL : SP_CONTAINER_OF(node, type, member))

// The body may remove (and free) the current node, but no other.
#define SP_LIST_FOR_EACH_SAFE(node, head)                                                          \
    for (struct sp_list *node = (head)->next, *node##_next = node->next; node != (head);           \
         node = node##_next, node##_next = node->next)

static inline void sp_list_init(struct sp_list *list) {
    list->next = list;
    list->prev = list;
}

// For a head: the list has no element. For an element's link: it is in no list.
static inline bool sp_list_empty(const struct sp_list *list) {
    return list->next == list;
}

static inline void sp_list_push_back(struct sp_list *head, struct sp_list *node) {
    node->prev = head->prev;
    node->next = head;
    head->prev->next = node;
    head->prev = node;
}

// The place before the first element is the end of the ring that begins there.
static inline void sp_list_push_front(struct sp_list *head, struct sp_list *node) {
    sp_list_push_back(head->next, node);
}

static inline void sp_list_remove(struct sp_list *node) {
    node->prev->next = node->next;
    node->next->prev = node->prev;
    sp_list_init(node);
}

// Moves all elements of another list to the end of this one.
static inline void sp_list_append_all(struct sp_list *head, struct sp_list *from) {
    if (sp_list_empty(from))
        return;
    from->next->prev = head->prev;
    head->prev->next = from->next;
    from->prev->next = head;
    head->prev = from->prev;
    sp_list_init(from);
}

static inline struct sp_list *sp_list_first(const struct sp_list *head) {
    return sp_list_empty(head) ? NULL : head->next;
}

static inline struct sp_list *sp_list_pop_front(struct sp_list *head) {
    struct sp_list *node = sp_list_first(head);
    if (node)
        sp_list_remove(node);
    return node;
}

#endif
