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

// ------------------------------------------------------------------ what a thread has, and its end
//
// The end of a thread takes the thread's own default streams along, and the driver tells nobody. So
// each thread keeps a list of those that it has used, one for each context, and its end says that
// they are gone: see order/registry.h. No driver call is made then, for the driver's own state of
// the thread may be gone already. A thread that uses one still later, in a destructor of the
// program's, finds it again if nobody has its slot, and gets tables once more.

struct sp_own_default {
    struct sp_own_default *next;
    struct sp_stream *stream;
    struct sp_stream_name name;
};

static struct sp_stream_cache nothing; // is never written
_Thread_local struct sp_stream_cache *sp_stream_cache = &nothing;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key; // of a thread that has tables of its own
static bool has_key;

// The program's own destructors, which may use the streams, come in the first round. So this acts
// in the second: what a later one uses is told in the round behind that. The last round stays free,
// since a lock taken there leaves state of its own behind, and the thread sanitizer takes none.
enum { ROUND = 2 };

static void end_thread(void *tables) {
    static _Thread_local uint8_t rounds;
    struct sp_stream_cache *mine = tables;
    if (++rounds < ROUND && pthread_setspecific(key, mine) == 0)
        return;
    sp_stream_cache = &nothing;
    while (mine->defaults) {
        struct sp_own_default *own = mine->defaults;
        mine->defaults = own->next;
        sp_registry_set_gone(own->stream, &own->name);
        free(own);
    }
    free(mine);
}

static void make_key(void) {
    has_key = pthread_key_create(&key, end_thread) == 0;
}

// A library that is unloaded leaves no thread with a call to it.
__attribute__((destructor)) static void delete_key(void) {
    if (has_key)
        pthread_key_delete(key);
}

// Returns the calling thread's own tables, to be written; null without host memory.
static struct sp_stream_cache *own_tables(void) {
    if (sp_stream_cache != &nothing)
        return sp_stream_cache;
    pthread_once(&once, make_key);
    struct sp_stream_cache *made = has_key ? calloc(1, sizeof *made) : NULL;
    if (!made || pthread_setspecific(key, made) != 0) {
        free(made);
        return NULL;
    }
    return sp_stream_cache = made;
}

// Notes that the stream is the thread's own default stream of some context, unless it is noted.
// Without host memory it stays for good. Streams whose slots other streams have are forgotten.
static void end_with_thread(struct sp_stream_cache *mine, struct sp_stream *stream,
                            const struct sp_stream_name *name) {
    bool is_noted = false;
    for (struct sp_own_default **link = &mine->defaults; *link;) {
        struct sp_own_default *own = *link;
        if (sp_stream_has_name(own->stream, &own->name)) {
            is_noted |= own->stream == stream;
            link = &own->next;
        } else {
            *link = own->next;
            free(own);
        }
    }
    struct sp_own_default *own = is_noted ? NULL : malloc(sizeof *own);
    if (own) {
        *own = (struct sp_own_default){mine->defaults, stream, *name};
        mine->defaults = own;
    }
}

// ----------------------------------------------------------------------------------- by its handle

static _Atomic bool has_handles; // any handle

void sp_stream_cache_add(struct sp_stream *stream, CUstream handle) {
    uintptr_t name = (uintptr_t)sp_stream_proper_handle(handle);
    if (!sp_load_relaxed(&has_handles))
        atomic_store(&has_handles, true);
    if (sp_load_relaxed(&stream->known_as) != name) {
        sp_store_relaxed(&stream->handle_use.was_cached, true);
        sp_store_release(&stream->known_as, name);
        atomic_fetch_add(&stream->handle_use.learned, 1);
    }
    struct sp_stream_cache *own = own_tables();
    if (own)
        own->by_handle[sp_hash(name) % SP_STREAM_CACHE_HANDLES] = stream;
}

// A thread that borrows the stream from here on finds that it isn't known.
static void forget_handle_of(struct sp_stream *stream) {
    sp_stream_forget_handle(stream);
    for (unsigned round = 0; atomic_load(&stream->handle_use.borrowers) != 0; round++)
        sp_lock_pause(round);
}

// A default stream can't be destroyed.
void sp_stream_cache_forget_handle(CUstream handle, struct sp_stream *of) {
    struct sp_stream *in_use;
    if (!atomic_load(&has_handles) || sp_stream_is_default(handle))
        return;
    while ((in_use = sp_registry_find_in_use_by(handle)))
        forget_handle_of(in_use);
    if (of)
        forget_handle_of(of);
}

void sp_stream_cache_forget_handles(void) {
    uint32_t count = atomic_load(&has_handles) ? sp_stream_count() : 0;
    for (uint32_t slot = 0; slot < count; slot++)
        forget_handle_of(sp_stream_at(slot));
}

// ------------------------------------------------------------------------------------------ adding

// The name of an anonymous stream may be that of a blocking one, so it acts whatever its kind.
//
// Where a context comes to many, some may have gone that nobody has asked about. One that is known
// is alive: its new stream was just passed to us. What the driver says of the events of those that
// are gone, others will know.
static struct sp_outcome add(CUstream handle, const struct sp_stream_name *name,
                             struct sp_stream **stream) {
    struct sp_stream_description fresh = {
        .name = *name, .handle = handle, .identified = sp_identity_has_ids()};
    struct sp_stream *pending[LOOKS];
    unsigned int flags = 0;
    bool is_legacy = sp_stream_is_legacy(handle);
    struct sp_outcome outcome = sp_context_of_stream(handle, &fresh.context);
    if (sp_is_done(outcome))
        outcome = sp_context_id(fresh.context, &fresh.context_id);
    if (sp_is_done(outcome) && !is_legacy)
        outcome =
            sp_outcome_of_driver(sp_driver->cuStreamGetFlags(handle, &flags), "cuStreamGetFlags");
    if (!sp_is_done(outcome))
        return outcome;
    bool is_blocking = !(flags & CU_STREAM_NON_BLOCKING);
    fresh.kind = is_legacy     ? SP_STREAM_LEGACY
                 : is_blocking ? SP_STREAM_BLOCKING
                               : SP_STREAM_NON_BLOCKING;
    fresh.acts = !fresh.identified || fresh.kind != SP_STREAM_NON_BLOCKING;
    int count = sp_registry_find_pending(&fresh, pending, LOOKS);
    if (fresh.device < 0) {
        if (sp_registry_context_count() >= LOOKS)
            sp_end_some_gone_contexts(NULL);
        outcome = sp_context_device(fresh.context, &fresh.device);
        if (!sp_is_done(outcome))
            return outcome;
    }
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
    struct sp_stream_cache *own = own_tables();
    if (own && handle == CU_STREAM_PER_THREAD)
        end_with_thread(own, *stream, name);
    if (own)
        own->by_name[sp_stream_cache_place(name)] = *stream;
    return sp_outcome_done();
}

// ---------------------------------------------------------------------------------- legacy streams

// The legacy streams that this thread has named last, by the id of the context that was current
// then. A context has one such stream as long as it lives, so its id, which the driver tells in two
// thirds of the time, stands for the stream's. Green contexts, too, have an id each: see the
// conformance program's group gpu. The stream is kept where the context's id is known: never 0.
static struct sp_outcome ask_for_legacy(CUstream handle, unsigned long long context_id,
                                        struct sp_stream **stream) {
    unsigned long long id = 0;
    struct sp_outcome outcome =
        sp_outcome_of_driver(sp_driver->cuStreamGetId(handle, &id), "cuStreamGetId");
    if (sp_is_done(outcome))
        outcome = sp_resolve_name(handle, &(struct sp_stream_name){{id}}, stream);
    struct sp_stream_cache *own = sp_is_done(outcome) && context_id != 0 ? own_tables() : NULL;
    if (own)
        own->legacies[context_id % SP_STREAM_CACHE_LEGACIES] =
            (struct sp_legacy){context_id, id, *stream};
    return outcome;
}

SP_APART struct sp_outcome sp_resolve_legacy(CUstream handle, struct sp_stream **stream) {
    unsigned long long context_id = 0;
    if (sp_driver->cuCtxGetId(NULL, &context_id) != CUDA_SUCCESS)
        context_id = 0;
    const struct sp_legacy *legacy =
        &sp_stream_cache->legacies[context_id % SP_STREAM_CACHE_LEGACIES];
    bool is_it = context_id != 0 && legacy->stream && legacy->context_id == context_id &&
                 sp_stream_word(legacy->stream, 0) == legacy->id;
    if (SP_UNLIKELY(!is_it))
        return ask_for_legacy(handle, context_id, stream);
    *stream = legacy->stream;
    return sp_outcome_done();
}

// --------------------------------------------------------------------------------------- borrowing

static bool is_legacy(const struct sp_stream *stream) {
    return sp_stream_kind_of(stream) == SP_STREAM_LEGACY;
}

bool sp_borrow_is_possible(const struct sp_stream *stream) {
    return !sp_identity_records_each_free(stream) && (is_legacy(stream) || !stream->is_default);
}

_Atomic bool sp_borrow_allowed;
static _Atomic uint32_t borrowed; // streams that are borrowed by their handles

// Whoever suspends it says so first, and then looks for borrowers.
void sp_borrow_suspend(void) {
    atomic_store(&sp_borrow_allowed, false);
    for (unsigned round = 0; atomic_load(&borrowed) != 0; round++)
        sp_lock_pause(round);
}

void sp_borrow_allow(void) {
    atomic_store(&sp_borrow_allowed, true);
}

static void give_back(struct sp_stream *stream) {
    atomic_fetch_sub(&stream->handle_use.borrowers, 1);
    atomic_fetch_sub(&borrowed, 1);
}

// A thread that destroys the stream takes the handle back first, and then looks for borrowers.
bool sp_borrow_stream(struct sp_stream *stream, const struct sp_stream *callers, bool is_promised) {
    if (is_legacy(stream)) {
        bool is_alive =
            (callers && sp_stream_is_of(stream, callers->context, callers->context_id)) ||
            sp_context_is_current(stream->context, stream->context_id);
        return is_alive && sp_driver->cuCtxPushCurrent(stream->context) == CUDA_SUCCESS;
    }
    atomic_fetch_add(&borrowed, 1);
    atomic_fetch_add(&stream->handle_use.borrowers, 1);
    if ((is_promised || atomic_load(&sp_borrow_allowed)) && atomic_load(&stream->known_as) != 0)
        return true;
    give_back(stream);
    return false;
}

void sp_borrow_end(struct sp_stream *stream) {
    if (is_legacy(stream))
        sp_context_leave();
    else
        give_back(stream);
}

// ----------------------------------------------------------------------------------------- the end

// By the driver, or by who stands in for it.
static CUresult (*_Atomic destroyer)(CUstream stream);

void sp_end_set_destroyer(CUresult (*destroy)(CUstream stream)) {
    destroyer = destroy;
}

// The mark comes first; that it can't be made is no reason to keep the stream. Once the driver has
// destroyed it, another thread may find a new stream at the handle, which may be given the slot.
struct sp_outcome sp_end_stream(struct sp_stream *stream, CUstream handle) {
    struct sp_stream_name name = stream ? sp_stream_name_of(stream) : (struct sp_stream_name){{0}};
    CUresult (*destroy)(CUstream) = destroyer;
    if (stream)
        sp_mark_record(stream);
    sp_stream_cache_forget_handle(handle, stream); // before the driver can give it to another
    struct sp_outcome outcome = sp_outcome_of_driver(
        destroy ? destroy(handle) : sp_driver->cuStreamDestroy(handle), "cuStreamDestroy");
    if (!sp_is_done(outcome))
        return outcome;
    if (stream)
        sp_identity_of(stream)->set_destroyed(stream, &name);
    return outcome;
}
