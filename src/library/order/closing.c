#include "order/closing.h"

#include "order/learn.h"

#include <stdlib.h>

static bool is_about_it(const struct sp_stream *stream, CUcontext context, uint64_t id,
                        sp_closing_filter *is_about) {
    return sp_stream_is_of(stream, context, id) && (!is_about || is_about(stream));
}

// The slot may be given to another stream at the same time, which the act isn't about: under the
// lock it is the one or the other.
static uint64_t close_if(struct sp_stream *stream, CUcontext context, uint64_t id,
                         sp_closing_filter *is_about) {
    sp_lock_acquire(&stream->lock);
    uint64_t number =
        is_about_it(stream, context, id, is_about) ? sp_progress_close_locked(stream) : 0;
    sp_lock_release(&stream->lock);
    return number;
}

bool sp_closing_begin(struct sp_closing *closing, CUcontext context, uint64_t id,
                      sp_closing_filter *is_about) {
    closing->count = sp_stream_count();
    closing->numbers = calloc(closing->count ? closing->count : 1, sizeof *closing->numbers);
    for (uint32_t slot = 0; closing->numbers && slot < closing->count; slot++) {
        struct sp_stream *stream = sp_stream_at(slot);
        if (is_about_it(stream, context, id, is_about))
            closing->numbers[slot] = close_if(stream, context, id, is_about);
    }
    return closing->numbers != NULL;
}

void sp_closing_end(struct sp_closing *closing) {
    free(closing->numbers);
    closing->numbers = NULL;
}

void sp_closing_publish(const struct sp_closing *closing, enum sp_knowledge how) {
    for (uint32_t slot = 0; slot < closing->count; slot++) {
        if (closing->numbers[slot] > 0)
            sp_progress_publish(sp_stream_at(slot), closing->numbers[slot], how);
    }
}

void sp_closing_join(const struct sp_closing *closing, struct sp_stream *stream) {
    for (uint32_t slot = 0; slot < closing->count; slot++) {
        if (closing->numbers[slot] > 0 && slot != stream->slot)
            sp_learn_join(stream, (struct sp_fence){slot, closing->numbers[slot]});
    }
}
