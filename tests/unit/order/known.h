// Streams of the simulated driver as the allocator knows them: what a test does often, each with
// its own check.
#ifndef STREAMPOOL_TESTS_UNIT_KNOWN_H
#define STREAMPOOL_TESTS_UNIT_KNOWN_H

#include "order/identity.h"
#include "order/mark.h"
#include "order/poll.h"
#include "order/resolve.h"
#include "unit/fixture/simulated.h"
#include "unit/outcomes.h"

static inline struct sp_stream *known(CUstream handle) {
    struct sp_stream *stream = NULL;
    assert_done(sp_resolve_stream(handle, &stream));
    assert_non_null(stream);
    assert_ptr_equal(sp_stream_at(stream->slot), stream);
    return stream;
}

static inline struct sp_stream *known_stream(void) {
    return known(simulated_stream());
}

// A free in the stream: the number that its memory is stamped with.
static inline uint64_t free_on(struct sp_stream *stream) {
    uint64_t sequence = 0;
    assert_done(sp_identity_at_free(stream, &sequence));
    return sequence;
}

// A free behind work that stays pending.
static inline uint64_t free_behind_work_on(struct sp_stream *stream) {
    simulated_work(stream->handle);
    return free_on(stream);
}

// A mark of the stream, which the caller releases.
static inline struct sp_mark *mark_on(struct sp_stream *stream) {
    struct sp_mark *made = NULL;
    assert_done(sp_mark_stream(stream, &made));
    assert_non_null(made);
    return made;
}

// What poolEventRecord and poolStreamWaitEvent do between two streams.
static inline void order_behind(struct sp_stream *later, struct sp_stream *earlier) {
    struct sp_mark *between = mark_on(earlier);
    assert_done(sp_mark_wait(later, between));
    sp_mark_release(between);
}

// What a call that destroys streams says behind the driver's.
static inline void say_destroyed(struct sp_stream *stream) {
    struct sp_stream_name name = sp_stream_name_of(stream);
    sp_identity_of(stream)->set_destroyed(stream, &name);
}

static inline bool is_complete(const struct sp_stream *stream, uint64_t sequence) {
    return sp_progress_is_complete((struct sp_fence){stream->slot, sequence});
}

static inline bool is_synchronized(const struct sp_stream *stream, uint64_t sequence) {
    return sp_progress_is_synchronized((struct sp_fence){stream->slot, sequence});
}

// Whether the clock of a stream says that it runs after a number of another.
static inline bool runs_after(struct sp_stream *stream, const struct sp_stream *other,
                              uint64_t sequence) {
    struct sp_fence_set clock = {0};
    sp_progress_copy_clock(stream, &clock);
    bool after = sp_fence_set_number(&clock, other->slot) >= sequence;
    sp_fence_set_clear(&clock);
    return after;
}

// The call that tells whether a context is alive.
static inline const char *context_question(void) {
    return sp_driver->cuCtxGetId ? "cuCtxGetId" : "cuPointerGetAttribute";
}

static inline uint64_t live_events(void) {
    simcudaLive live;
    simcudaGetLive(&live);
    return live.events;
}

#endif
