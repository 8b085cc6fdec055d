// Threads whose streams and captures the library is told of.
#include "api/observe.h"
#include "order/captures.h"
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
    EXPECT(sp_observe_malloc_from_pool(&pointer, size, member->crew->pool, stream), poolSuccess);
    test_fill_block(pointer, tag, size, stream);
    test_check_block(pointer, tag, size, stream);
    EXPECT(sp_observe_free(pointer, stream, &is_foreign), poolSuccess);
}

static void destroy(struct crew_member *member, CUstream stream) {
    if (crew_draw(member, 2)) {
        EXPECT(poolStreamDestroy(stream), poolSuccess);
        return;
    }
    uint64_t before = sp_observe_now();
    sp_observe_stream_ends(stream);
    DRIVER(test_driver()->cuStreamDestroy(stream));
    sp_observe_stream_ended(stream, before);
}

// Its handle has been another thread's, and is again. Some come unseen.
static void live_a_streams_life(struct crew_member *member) {
    CUstream stream = test_stream();
    if (crew_draw(member, 4))
        sp_observe_created(stream, NULL, -1);
    for (unsigned i = 0; i < 4; i++)
        use_a_block(member, 1 + crew_draw(member, i % 2 ? MIB(2) : KIB(4)), stream);
    destroy(member, stream);
}

// Each knows that its own stream captures, whatever others begin and end meanwhile.
static void capture(const struct crew_member *member) {
    void *pointer = NULL;
    CUgraph graph;
    sp_observe_capture_begins(member->stream, NULL);
    DRIVER(test_driver()->cuStreamBeginCapture(member->stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    sp_observe_capture_begun(member->stream, NULL);
    EXPECT(sp_observe_malloc_from_pool(&pointer, 1000, member->crew->pool, member->stream),
           poolErrorStreamCaptureUnsupported);
    DRIVER(test_driver()->cuStreamEndCapture(member->stream, &graph));
    sp_observe_capture_ended(member->stream, NULL, captures);
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
        sp_observe_streams_ended((CUcontext)(void *)&crew, -1, sp_observe_now());
        sp_observe_captures_ended((CUcontext)(void *)&crew, sp_observe_now());
        break;
    case 5:
        sp_observe_created(member->stream, NULL, -1);
        break;
    default:
        use_a_block(member, 1 + crew_draw(member, crew_draw(member, 2) ? KIB(4) : MIB(2)),
                    member->stream);
    }
}

void row_threads_are_observed(void) {
    poolMemPool_t pool = test_keeping_pool();
    sp_observe_all();
    crew_open(&crew, pool);
    crew_start(&crew, live_or_capture_or_allocate, ROUNDS);
    crew_join(&crew);
    REQUIRE(sp_captures_are_none());
    crew_close(&crew);
    crew_require_all_back(pool);
}
