#include "order/known_context.h"

#include <stdlib.h>

enum { BUCKETS = 256 };

static struct {
    struct sp_known_context *buckets[BUCKETS];
    struct sp_list row;
    uint32_t count;
} table = {.row = {&table.row, &table.row}};

static struct sp_known_context **bucket_of(CUcontext handle) {
    return &table.buckets[sp_hash((uintptr_t)handle) % BUCKETS];
}

uint32_t sp_known_context_count(void) {
    return table.count;
}

struct sp_known_context *sp_known_context_at(CUcontext handle) {
    struct sp_known_context *context = *bucket_of(handle);
    while (context && context->handle != handle)
        context = context->next_in_bucket;
    return context;
}

struct sp_known_context *sp_known_context_find(CUcontext handle, uint64_t id) {
    struct sp_known_context *context = sp_known_context_at(handle);
    return context && context->id == id ? context : NULL;
}

struct sp_known_context *sp_known_context_add(const struct sp_slot_description *fresh) {
    struct sp_known_context *context = calloc(1, sizeof *context);
    if (!context)
        return NULL;
    context->handle = fresh->context;
    context->id = fresh->context_id;
    context->device = fresh->device;
    sp_list_init(&context->streams);
    sp_slot_list_init(context->unused);
    context->next_in_bucket = *bucket_of(fresh->context);
    *bucket_of(fresh->context) = context;
    sp_list_push_back(&table.row, &context->link);
    table.count++;
    return context;
}

void sp_known_context_remove(struct sp_known_context *context) {
    struct sp_known_context **link = bucket_of(context->handle);
    while (*link != context)
        link = &(*link)->next_in_bucket;
    *link = context->next_in_bucket;
    sp_list_remove(&context->link);
    table.count--;
    free(context);
}

struct sp_known_context *sp_known_context_next(void) {
    struct sp_list *link = sp_list_pop_front(&table.row);
    sp_list_push_back(&table.row, link);
    return SP_CONTAINER_OF(link, struct sp_known_context, link);
}
