#include "order/thread_end.h"

#include "order/registry.h"
#include "order/remember.h"

#include <pthread.h>
#include <stdlib.h>

// A thread's own default streams stand in a list, which is the value of the key.
struct own {
    struct own *next;
    struct sp_stream *stream;
    struct sp_stream_name name;
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static bool has_key;

// The program's own destructors, which may use the streams, come in the first round. So this acts
// in the second: what a later one uses is told in the round behind that. The last round stays free,
// since a lock taken there leaves state of its own behind, and the thread sanitizer takes none.
enum { ROUND = 2 };

static void end(void *list) {
    static _Thread_local uint8_t rounds;
    struct own *mine = list;
    if (++rounds < ROUND && pthread_setspecific(key, mine) == 0)
        return;
    sp_remember_forget_by_thread();
    while (mine) {
        struct own *own = mine;
        mine = own->next;
        sp_registry_set_threadless(own->stream, &own->name);
        free(own);
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

// Forgets the streams whose slots other streams have: they ended with their contexts.
static void forget_ended(struct own **link) {
    while (*link) {
        struct own *own = *link;
        if (sp_stream_has_name(own->stream, &own->name)) {
            link = &own->next;
            continue;
        }
        *link = own->next;
        free(own);
    }
}

static bool is_in(const struct own *own, const struct sp_stream *stream) {
    while (own && own->stream != stream)
        own = own->next;
    return own != NULL;
}

// Once a thread has a list, its head can be set without host memory.
void sp_thread_end_note(struct sp_stream *stream, const struct sp_stream_name *name) {
    pthread_once(&once, make_key);
    if (!has_key)
        return;
    struct own *mine = pthread_getspecific(key);
    forget_ended(&mine);
    struct own *own = is_in(mine, stream) ? NULL : malloc(sizeof *own);
    if (own) {
        *own = (struct own){mine, stream, *name};
        mine = own;
    }
    if (pthread_setspecific(key, mine) != 0)
        free(own);
}
