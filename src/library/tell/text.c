#include "tell/text.h"

#include "base/number.h"
#include "base/page_map.h"
#include "order/context.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <streampool/lists.h>
#include <string.h>

void sp_text_add(struct sp_text *text, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    size_t left = sizeof text->buffer - text->length;
    int length = vsnprintf(text->buffer + text->length, left, format, arguments);
    va_end(arguments);
    text->length += length > 0 ? (size_t)length : 0;
    if (text->length >= sizeof text->buffer)
        text->length = sizeof text->buffer - 1;
}

struct sp_words sp_text_bytes(uint64_t bytes) {
    struct sp_words words;
    if (bytes < (uint64_t)1 << 20)
        snprintf(words.text, sizeof words.text, "%llu bytes", (unsigned long long)bytes);
    else
        snprintf(words.text, sizeof words.text, "%.1f MiB", (double)bytes / (double)(1 << 20));
    return words;
}

static const char *default_stream(CUstream handle) {
    return handle == CU_STREAM_PER_THREAD ? "a per-thread default stream"
           : handle == CU_STREAM_LEGACY   ? "the legacy stream"
                                          : NULL;
}

// Others are called by the driver's id, which no two of them have in a process, and by the handle.
static struct sp_words stream_words(CUstream handle, uint64_t id, const char *where) {
    struct sp_words words;
    if (!handle || default_stream(handle))
        snprintf(words.text, sizeof words.text, "%s%s",
                 handle ? default_stream(handle) : "a stream that is gone", where);
    else if (id > 0)
        snprintf(words.text, sizeof words.text, "stream %" PRIu64 " (%p)%s", id, (void *)handle,
                 where);
    else
        snprintf(words.text, sizeof words.text, "stream %p%s", (void *)handle, where);
    return words;
}

struct sp_words sp_text_stream(const struct sp_stream *stream) {
    CUstream handle = sp_stream_proper_handle(sp_stream_handle_now(stream));
    bool is_gone = !default_stream(handle) && sp_load_relaxed(&stream->gone);
    bool is_near = sp_context_is_current(stream->context, stream->context_id);
    return stream_words(is_gone ? NULL : handle, sp_stream_id(stream),
                        is_near ? "" : " of another context");
}

// ----------------------------------------------------------------------------------------- growths

static double mib(uint64_t bytes) {
    return (double)bytes / (double)(1 << 20);
}

#define ONE(name, text) +1
enum { CAUSES = 0 STREAMPOOL_GROWTH_CAUSES(ONE) };
#undef ONE

// Reads by each cause what is free, but for what the block has of it. Returns the sum.
static uint64_t read_causes(const struct poolMemPoolGrowth *growth, uint64_t bytes[CAUSES]) {
    uint64_t whole = sp_min(growth->freeWhole, growth->fromFree), sum = 0;
    uint64_t pinned = sp_min(growth->freePinned, growth->fromFree - whole);
    bytes[poolGrowthCauseNeed] = 0;
    bytes[poolGrowthCausePending] =
        growth->pendingWhole + growth->pendingPinned + growth->listedPending;
    bytes[poolGrowthCauseUnfenced] = growth->unfencedWhole + growth->unfencedPinned;
    bytes[poolGrowthCauseBesidePending] = growth->freeBesidePending;
    bytes[poolGrowthCausePinned] = growth->freePinned - pinned;
    bytes[poolGrowthCausePieces] = growth->freeWhole - whole;
    bytes[poolGrowthCauseListed] = growth->listedFree;
    bytes[poolGrowthCauseOtherKinds] = growth->otherKinds;
    for (int i = 0; i < CAUSES; i++)
        sum += bytes[i];
    return sum;
}

enum poolGrowthCause sp_text_cause(const struct poolMemPoolGrowth *growth) {
    uint64_t bytes[CAUSES];
    int most = poolGrowthCauseNeed;
    if (read_causes(growth, bytes) >= sp_excess(growth->wanted, growth->fromFree))
        for (int i = 0; i < CAUSES; i++)
            most = bytes[i] > bytes[most] ? i : most;
    return (enum poolGrowthCause)most;
}

// Says the figure where it isn't 0, as all others are rounded.
static void say_figure(struct sp_text *text, const char *before, uint64_t bytes,
                       const char *behind) {
    if (mib(bytes) >= 0.05)
        sp_text_add(text, "%s%.1f%s", before, mib(bytes), behind);
}

static void say_cause(struct sp_text *text, const struct poolMemPoolGrowth *growth, int cause,
                      uint64_t bytes, const char *before, const char *between) {
    static const char *const words[] = {
#define WORDS(name, text) text,
        STREAMPOOL_GROWTH_CAUSES(WORDS)
#undef WORDS
    };
    bool pending = cause == poolGrowthCausePending, unfenced = cause == poolGrowthCauseUnfenced;
    if (mib(bytes) < 0.05)
        return;
    sp_text_add(text, "%s%.1f%s%s", before, mib(bytes), between, words[cause]);
    uint64_t most = pending    ? growth->pendingStreamBytes
                    : unfenced ? growth->unfencedStreamBytes
                               : 0;
    CUstream stream = pending ? growth->pendingStream : growth->unfencedStream;
    uint64_t id = pending ? growth->pendingStreamId : growth->unfencedStreamId;
    if (most > 0)
        sp_text_add(text, " (%.1f of %s)", mib(most), stream_words(stream, id, "").text);
    if (cause == poolGrowthCausePinned && growth->pinningBlocks > 0)
        sp_text_add(text, " (%" PRIu64 " of %.1f in mostly free extents, the largest %.1f)",
                    growth->pinningBlocks, mib(growth->pinningBytes), mib(growth->largestPinning));
}

// The cause that counts comes first, and then what else is free.
static void say_causes(struct sp_text *text, const struct poolMemPoolGrowth *growth) {
    uint64_t bytes[CAUSES];
    int first = (int)sp_text_cause(growth);
    read_causes(growth, bytes);
    if (first == poolGrowthCauseNeed)
        sp_text_add(text, ": too little is free");
    else
        say_cause(text, growth, first, bytes[first], ": ",
                  mib(growth->fromFree) < 0.05 ? " MiB are free, but "
                                               : " MiB more are free, but ");
    for (int i = 0; i < CAUSES; i++)
        if (i != first)
            say_cause(text, growth, i, bytes[i], "; ", " ");
    say_figure(text, "; largest piece ", growth->largestPiece, "");
}

static void say_remap(struct sp_text *text, const struct poolMemPoolGrowth *growth) {
    static const char *const reasons[] = {
        [poolGrowthRemapWrongKind] = "never of this kind",
        [poolGrowthRemapForbidden] = "Defragmentation forbids it",
        [poolGrowthRemapFilling] = "the pool is filling",
        [poolGrowthRemapNoPieces] = "no pieces",
    };
    if (growth->remap == poolGrowthRemapUsed)
        sp_text_add(text, "; remapped beside new memory");
    else if (growth->remap == poolGrowthRemapSavesLittle)
        sp_text_add(text, "; not remapped: that saves too little, as %.1f would be new",
                    mib(growth->remapMissing));
    else if (growth->remap == poolGrowthRemapTooLong)
        sp_text_add(text, "; not remapped: %" PRIu64 " extents take longer than RemapTimeMax",
                    growth->remapExtents);
    else
        sp_text_add(text, "; not remapped: %s",
                    growth->remap < poolGrowthRemapFailed ? reasons[growth->remap]
                                                          : "no memory for it");
}

void sp_text_growth(struct sp_text *text, const struct poolMemPoolGrowth *growth) {
    struct poolMemPoolGrowth known = {0};
    memcpy(&known, growth, sp_min(growth->structSize, sizeof known));
    growth = &known;
    const char *kind = growth->kind == poolGrowthPages   ? "pages"
                       : growth->kind == poolGrowthFixed ? "a fixed block"
                                                         : "a block";
    sp_text_add(text, "%.63s grew by %.1f MiB in %" PRIu64 " extent%s to %.1f",
                *growth->poolName ? growth->poolName : "a pool", mib(growth->mapped),
                growth->extents, growth->extents == 1 ? "" : "s",
                mib(growth->reservedBefore + growth->mapped));
    say_causes(text, growth);
    if (growth->wanted < SP_PAGE_SIZE)
        sp_text_add(text, "; for a small block");
    else
        sp_text_add(text, "; for %s of %.1f", kind, mib(growth->wanted));
    say_figure(text, " with ", growth->fromFree, " of free memory");
    sp_text_add(text, " on %s", stream_words(growth->stream, growth->streamId, "").text);
    say_figure(text, "; in use ", growth->used, "");
    say_figure(text, "; slack ", growth->slack, "");
    say_remap(text, growth);
    if (!growth->askedDriver)
        sp_text_add(text, "; driver not asked");
    if (growth->afterWaits || !growth->mayWait)
        sp_text_add(text, growth->afterWaits ? "; no wait would do" : "; no waits allowed");
    if (growth->cutShort)
        sp_text_add(text, "; not all looked at");
    if (growth->afterTrim)
        sp_text_add(text, "; after a trim");
}
