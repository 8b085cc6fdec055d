// Threads whose streams and captures are noted, as the drop-in does.
#include "dropin/captures.h"
#include "dropin/seen.h"

#include "api/interpose.h"
#include "process/promises.h"
#include "stress/crew.h"
#include "stress/rows.h"
#include "support/check.h"
#include "support/device.h"
#include "support/pools.h"

enum { ROUNDS = 600 };

static struct crew crew;

static bool captures(CUstream stream) {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    DRIVER(test_driver()->cuStreamIsCapturing(stream, &status));
    return status != CU_STREAM_CAPTURE_STATUS_NONE;
}

static void use_a_block(const struct crew_member *member, size_t size, CUstream stream) {
    unsigned char tag = (unsigned char)(member->number + 1);
    void *pointer = NULL;
    bool is_foreign;
    EXPECT(sp_interpose_malloc_from_pool(&pointer, size, member->crew->pool, stream,
                                         sp_seen_promises(stream)),
           poolSuccess);
    test_fill_block(pointer, tag, size, stream);
    test_check_block(pointer, tag, size, stream);
    EXPECT(sp_interpose_free(pointer, stream, sp_seen_promises(stream), &is_foreign), poolSuccess);
}

static CUresult destroy_noted(CUstream stream) {
    uint64_t before = sp_captures_now();
    sp_seen_ends(stream);
    CUresult result = test_driver()->cuStreamDestroy(stream);
    if (result == CUDA_SUCCESS)
        sp_captures_end_of_stream(stream, before);
    return result;
}

static void destroy(struct crew_member *member, CUstream stream) {
    if (crew_draw(member, 2))
        EXPECT(poolStreamDestroy(stream), poolSuccess);
    else
        DRIVER(destroy_noted(stream));
}

// Its handle has been another thread's, and is again. Some come unseen.
static void live_a_streams_life(struct crew_member *member) {
    CUstream stream = test_stream();
    if (crew_draw(member, 4))
        sp_seen_created(stream, NULL, -1);
    for (unsigned i = 0; i < 4; i++)
        use_a_block(member, 1 + crew_draw(member, i % 2 ? MIB(2) : KIB(4)), stream);
    destroy(member, stream);
}

// Each knows that its own stream captures, whatever others begin and end meanwhile.
static void capture(const struct crew_member *member) {
    void *pointer = NULL;
    CUgraph graph;
    sp_captures_begins(member->stream, NULL);
    DRIVER(test_driver()->cuStreamBeginCapture(member->stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    sp_captures_begun(member->stream, NULL);
    EXPECT(sp_interpose_malloc_from_pool(&pointer, 1000, member->crew->pool, member->stream,
                                         sp_seen_promises(member->stream)),
           poolErrorStreamCaptureUnsupported);
    DRIVER(test_driver()->cuStreamEndCapture(member->stream, &graph));
    sp_captures_ended(member->stream, NULL, captures);
    DRIVER(test_driver()->cuGraphDestroy(graph));
}

static void live_or_capture_or_allocate(struct crew_member *member) {
    switch (crew_draw(member, 16)) {
    case 0:
    case 1:
        live_a_streams_life(member);
        break;
    case 2:
    case 3:
        capture(member);
        break;
    case 4: // of no thread's context
        sp_seen_context_ended((CUcontext)(void *)&crew, -1, sp_seen_context_ends());
        sp_captures_end_of_context((CUcontext)(void *)&crew, sp_captures_now());
        break;
    case 5:
        sp_seen_created(member->stream, NULL, -1);
        break;
    default:
        use_a_block(member, 1 + crew_draw(member, crew_draw(member, 2) ? KIB(4) : MIB(2)),
                    member->stream);
    }
}

void row_threads_are_observed(void) {
    poolMemPool_t pool = test_keeping_pool();
    sp_interpose_set_destroy(destroy_noted, false);
    sp_captures_promise();
    crew_open(&crew, pool);
    crew_start(&crew, live_or_capture_or_allocate, ROUNDS);
    crew_join(&crew);
    REQUIRE(sp_promises_that_hold(poolPromiseNoCapture));
    sp_interpose_set_destroy(NULL, false);
    crew_close(&crew);
    crew_require_all_back(pool);
}
