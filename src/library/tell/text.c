#include "tell/text.h"

#include "base/number.h"
#include "order/context.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
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

struct sp_words sp_text_stream(const struct sp_stream *stream) {
    struct sp_words words;
    const char *where =
        sp_context_is_current(stream->context, stream->context_id) ? "" : " of another context";
    CUstream handle = sp_stream_handle_now(stream);
    const char *kind = handle == CU_STREAM_PER_THREAD   ? "a per-thread default stream"
                       : sp_stream_is_legacy(handle)    ? "the legacy stream"
                       : sp_load_relaxed(&stream->gone) ? "a stream that was destroyed"
                                                        : NULL;
    if (kind)
        snprintf(words.text, sizeof words.text, "%s%s", kind, where);
    else
        snprintf(words.text, sizeof words.text, "stream %p%s", (void *)handle, where);
    return words;
}

static double mib(uint64_t bytes) {
    return (double)bytes / (double)(1 << 20);
}

static void say_stream(struct sp_text *text, CUstream stream, uint64_t bytes) {
    if (bytes > 0 && stream)
        sp_text_add(text, " (%.1f of stream %p)", mib(bytes), (void *)stream);
    else if (bytes > 0)
        sp_text_add(text, " (%.1f of a stream that is gone)", mib(bytes));
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
        sp_text_add(text, "; not remapped: %.1f would be new", mib(growth->remapMissing));
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
    sp_text_add(text, "pool %p grew by %.1f MiB in %" PRIu64 " extent%s to %.1f, for %s of %.1f",
                (void *)growth->pool, mib(growth->mapped), growth->extents,
                growth->extents == 1 ? "" : "s", mib(growth->reservedBefore + growth->mapped), kind,
                mib(growth->wanted));
    if (growth->fromFree > 0)
        sp_text_add(text, " with %.1f of free memory", mib(growth->fromFree));
    sp_text_add(text, " on stream %p; in use %.1f", (void *)growth->stream, mib(growth->used));
    sp_text_add(text, "; free here: whole %.1f, pinned %.1f, beside pending %.1f, largest %.1f",
                mib(growth->freeWhole), mib(growth->freePinned), mib(growth->freeBesidePending),
                mib(growth->largestPiece));
    sp_text_add(text, "; pending: whole %.1f, pinned %.1f", mib(growth->pendingWhole),
                mib(growth->pendingPinned));
    say_stream(text, growth->pendingStream, growth->pendingStreamBytes);
    sp_text_add(text, "; unfenced: whole %.1f, pinned %.1f", mib(growth->unfencedWhole),
                mib(growth->unfencedPinned));
    say_stream(text, growth->unfencedStream, growth->unfencedStreamBytes);
    sp_text_add(text, "; listed: here %.1f, pending %.1f", mib(growth->listedFree),
                mib(growth->listedPending));
    sp_text_add(text, "; other kinds %.1f, slack %.1f", mib(growth->otherKinds),
                mib(growth->slack));
    say_remap(text, growth);
    if (!growth->askedDriver)
        sp_text_add(text, "; driver not asked");
    sp_text_add(text, growth->afterWaits ? "; no wait would do"
                      : growth->mayWait  ? "; waits come later"
                                         : "; no waits allowed");
    if (growth->cutShort)
        sp_text_add(text, "; not all looked at");
    if (growth->afterTrim)
        sp_text_add(text, "; after a trim");
}
