#include "order/resolve.h"

#include "order/context.h"
#include "order/mark.h"
#include "order/poll.h"
#include "order/registry.h"

#include <pthread.h>
#include <stdlib.h>

// A look at all streams and contexts would take too long.
enum { LOOKS = 8 };

// ----------------------------------------------------------------------------------- gone contexts

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
//
// The end of a thread takes the thread's own default streams along.
//
// The driver tells nobody of it, and no call with such a stream comes any more. So each thread
// keeps a list of its default streams, one for each context in which it has used one, and its end
// says that they are gone: see order/registry.h. No driver call is made then, for the driver's own
// state of the thread may be gone already. A thread that uses one still later, in a destructor of
// the program's, finds it again if nobody has its slot.

// A thread's list is the value of the key.
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

// Notes that the stream is the calling thread's own default stream of some context; it may be noted
// already. Without host memory it stays for good; but once a thread has a list, its head can be set
// without. Streams whose slots other streams have ended with their contexts, and are forgotten.
static void end_with_thread(struct sp_stream *stream, const struct sp_stream_name *name) {
    pthread_once(&once, make_key);
    if (!has_key)
        return;
    bool is_noted = false;
    struct own *mine = pthread_getspecific(key);
    for (struct own **link = &mine; *link;) {
        struct own *own = *link;
        if (sp_stream_has_name(own->stream, &own->name)) {
            is_noted |= own->stream == stream;
            link = &own->next;
        } else {
            *link = own->next;
            free(own);
        }
    }
    struct own *own = is_noted ? NULL : malloc(sizeof *own);
    if (own) {
        *own = (struct own){mine, stream, *name};
        mine = own;
    }
    if (pthread_setspecific(key, mine) != 0)
        free(own);
}

// -------------------------------------------------------------------------------------- describing

// Where a context comes to many, some may have gone that nobody has asked about.
static struct sp_outcome find_device(struct sp_stream_description *fresh) {
    fresh->device = sp_registry_device(fresh);
    if (fresh->device >= 0)
        return sp_outcome_done();
    if (sp_registry_context_count() >= LOOKS)
        sp_end_some_gone_contexts(NULL);
    return sp_context_device(fresh->context, &fresh->device);
}

// The name of an anonymous stream may be that of a blocking one, so it acts whatever its kind.
static struct sp_outcome describe(CUstream handle, struct sp_stream_description *fresh) {
    unsigned int flags = 0;
    bool is_legacy = sp_stream_is_legacy(handle);
    fresh->handle = handle;
    fresh->identified = sp_identity_has_ids();
    struct sp_outcome outcome = sp_context_of_stream(handle, &fresh->context);
    if (sp_is_done(outcome))
        outcome = sp_context_id(fresh->context, &fresh->context_id);
    if (sp_is_done(outcome) && !is_legacy)
        outcome =
            sp_outcome_of_driver(sp_driver->cuStreamGetFlags(handle, &flags), "cuStreamGetFlags");
    if (!sp_is_done(outcome))
        return outcome;
    if (is_legacy)
        fresh->kind = SP_STREAM_LEGACY;
    else
        fresh->kind = flags & CU_STREAM_NON_BLOCKING ? SP_STREAM_NON_BLOCKING : SP_STREAM_BLOCKING;
    fresh->acts = !fresh->identified || fresh->kind != SP_STREAM_NON_BLOCKING;
    return find_device(fresh);
}

// ------------------------------------------------------------------------------------------ adding

static struct sp_outcome add(CUstream handle, const struct sp_stream_name *name,
                             struct sp_stream **stream) {
    struct sp_stream_description fresh = {.name = *name};
    struct sp_stream *pending[LOOKS];
    struct sp_outcome outcome = describe(handle, &fresh);
    if (!sp_is_done(outcome))
        return outcome;
    // The context is alive: its new stream was just passed to us. What the driver says of the
    // events of those that are gone, others will know.
    int count = sp_registry_find_pending(&fresh, pending, LOOKS);
    for (int i = 0; i < count; i++)
        sp_poll_stream(pending[i]);
    *stream = sp_registry_add(&fresh);
    return *stream ? sp_outcome_done() : sp_outcome_of(SP_NO_HOST_MEMORY);
}

struct sp_outcome sp_resolve_name(CUstream handle, const struct sp_stream_name *name,
                                  struct sp_stream **stream) {
    *stream = sp_registry_find(name);
    struct sp_outcome outcome = *stream ? sp_outcome_done() : add(handle, name, stream);
    if (!sp_is_done(outcome))
        return outcome;
    if (handle == CU_STREAM_PER_THREAD)
        end_with_thread(*stream, name);
    struct sp_stream_cache *own = sp_stream_cache_own();
    if (own)
        own->by_name[sp_stream_cache_place(name)] = *stream;
    return sp_outcome_done();
}

struct sp_outcome sp_resolve_id(CUstream handle, uint64_t id, struct sp_stream **stream) {
    return sp_resolve_name(handle, &(struct sp_stream_name){{id, 0, 0}}, stream);
}

// --------------------------------------------------------------------------------- legacy streams

// The legacy streams that this thread has named last, by the id of the context that was current
// then. A context has one such stream as long as it lives, so its id, which the driver tells in two
// thirds of the time, stands for the stream's. Green contexts, too, have an id each: see the
// conformance program's group gpu. The driver counts ids one by one.
static unsigned place_of(unsigned long long context_id) {
    return context_id % SP_STREAM_CACHE_LEGACIES;
}

static bool is_legacy_of(const struct sp_legacy *legacy, unsigned long long context_id) {
    return legacy->stream && legacy->context_id == context_id &&
           sp_stream_word(legacy->stream, 0) == legacy->id;
}

// The stream is asked for its own id. It is kept where the context's is known, which is never 0.
static struct sp_outcome ask_for_legacy(CUstream handle, unsigned long long context_id,
                                        struct sp_stream **stream) {
    unsigned long long id = 0;
    struct sp_outcome outcome =
        sp_outcome_of_driver(sp_driver->cuStreamGetId(handle, &id), "cuStreamGetId");
    if (sp_is_done(outcome))
        outcome = sp_resolve_id(handle, id, stream);
    struct sp_stream_cache *own =
        sp_is_done(outcome) && context_id != 0 ? sp_stream_cache_own() : NULL;
    if (own)
        own->legacies[place_of(context_id)] = (struct sp_legacy){context_id, id, *stream};
    return outcome;
}

SP_APART struct sp_outcome sp_resolve_legacy(CUstream handle, struct sp_stream **stream) {
    unsigned long long context_id = 0;
    if (sp_driver->cuCtxGetId(NULL, &context_id) != CUDA_SUCCESS)
        context_id = 0;
    const struct sp_legacy *legacy = &sp_stream_cache->legacies[place_of(context_id)];
    if (SP_UNLIKELY(context_id == 0 || !is_legacy_of(legacy, context_id)))
        return ask_for_legacy(handle, context_id, stream);
    *stream = legacy->stream;
    return sp_outcome_done();
}

// --------------------------------------------------------------------------------------- the end

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
