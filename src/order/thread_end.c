#include "order/thread_end.h"

#include <pthread.h>
#include <stdlib.h>

// Those of one thread.
struct own {
    struct own *next;
    struct sp_stream *stream;
    struct sp_stream_name name;
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key; // of struct own
static bool has_key;

static void end(void *owned) {
    struct own *own = owned;
    while (own) {
        struct own *next = own->next;
        sp_stream_set_threadless(own->stream, &own->name);
        free(own);
        own = next;
    }
}

static void make_key(void) {
    has_key = pthread_key_create(&key, end) == 0;
}

// A library that is unloaded leaves no thread with a call to it.
__attribute__((destructor)) static void delete_key(void) {
    if (has_key)
        pthread_key_delete(key);
}

// Forgets what other streams have the slots of: those streams ended with their contexts.
static struct own *without_ended(struct own *own) {
    struct own *left = NULL;
    while (own) {
        struct own *next = own->next;
        if (sp_stream_has_name(own->stream, &own->name)) {
            own->next = left;
            left = own;
        } else {
            free(own);
        }
        own = next;
    }
    return left;
}

void sp_thread_owns(struct sp_stream *stream, const struct sp_stream_name *name) {
    pthread_once(&once, make_key);
    struct own *own = has_key ? malloc(sizeof *own) : NULL;
    if (!own)
        return;
    *own = (struct own){without_ended(pthread_getspecific(key)), stream, *name};
    if (pthread_setspecific(key, own) != 0)
        free(own); // the thread's first one, for a place is there from then on
}
