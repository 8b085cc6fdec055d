#include "tell/text.h"

#include "order/context.h"

#include <stdarg.h>
#include <stdio.h>

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
    if (handle == CU_STREAM_PER_THREAD)
        snprintf(words.text, sizeof words.text, "a per-thread default stream%s", where);
    else if (sp_stream_is_legacy(handle))
        snprintf(words.text, sizeof words.text, "the legacy stream%s", where);
    else if (sp_load_relaxed(&stream->gone))
        snprintf(words.text, sizeof words.text, "a stream that was destroyed%s", where);
    else
        snprintf(words.text, sizeof words.text, "stream %p%s", (void *)handle, where);
    return words;
}
