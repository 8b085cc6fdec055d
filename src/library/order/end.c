#include "order/end.h"

#include "order/context.h"
#include "order/identity.h"
#include "order/mark.h"
#include "order/registry.h"
#include "order/stream_cache.h"

#include <pthread.h>
#include <stdlib.h>

// By the driver, or by who stands in for it.
static CUresult (*_Atomic destroyer)(CUstream stream);

void sp_end_set_destroyer(CUresult (*destroy)(CUstream stream)) {
    destroyer = destroy;
}

// The mark comes first: afterwards the stream can't be recorded any more. That it can't be made is
// no reason to keep the stream. Once the driver has destroyed it, another thread may find a new
// stream at the handle, and that one may be given the slot.
struct sp_outcome sp_end_stream(struct sp_stream *stream, CUstream handle) {
    uint64_t word = stream ? sp_stream_word(stream, 0) : 0;
    CUresult (*destroy)(CUstream) = destroyer;
    if (stream)
        sp_mark_record(stream);
    sp_stream_cache_forget_handle(handle, stream); // before the driver can give it to another
    struct sp_outcome outcome = sp_outcome_of_driver(
        destroy ? destroy(handle) : sp_driver->cuStreamDestroy(handle), "cuStreamDestroy");
    if (!sp_is_done(outcome))
        return outcome;
    if (stream)
        sp_identity_of(stream)->set_destroyed(stream, word);
    return outcome;
}

// ----------------------------------------------------------------------------------- gone contexts

// A look at all contexts would take too long.
enum { LOOKS = 8 };

static bool end_those_gone(const struct sp_registry_context *names, uint32_t count) {
    bool ended = false;
    for (uint32_t i = 0; i < count; i++) {
        if (!sp_context_is_gone(names[i].handle, names[i].id))
            continue;
        sp_registry_end_context(&names[i]);
        ended = true;
    }
    return ended;
}

// A context that comes meanwhile is asked next time. Without host memory nothing is asked, and
// nothing learned.
bool sp_end_gone_contexts(const struct sp_stream *alive) {
    uint32_t most = sp_registry_context_count();
    struct sp_registry_context *names = most > 0 ? malloc(most * sizeof *names) : NULL;
    bool ended =
        names && end_those_gone(names, sp_registry_name_contexts(names, most, alive, true));
    free(names);
    return ended;
}

bool sp_end_some_gone_contexts(const struct sp_stream *alive) {
    struct sp_registry_context names[LOOKS];
    return end_those_gone(names, sp_registry_name_contexts(names, LOOKS, alive, false));
}

// ---------------------------------------------------------------------------------- ended threads

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

static void end_thread(void *list) {
    static _Thread_local uint8_t rounds;
    struct own *mine = list;
    if (++rounds < ROUND && pthread_setspecific(key, mine) == 0)
        return;
    sp_stream_cache_forget_by_thread();
    while (mine) {
        struct own *own = mine;
        mine = own->next;
        sp_registry_set_threadless(own->stream, &own->name);
        free(own);
    }
}

static void make_key(void) {
    has_key = pthread_key_create(&key, end_thread) == 0;
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
void sp_end_with_thread(struct sp_stream *stream, const struct sp_stream_name *name) {
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
