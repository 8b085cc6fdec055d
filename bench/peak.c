#include "peak.h"

#include "cli/program/draw.h"

#include <math.h>
#include <stdlib.h>

#define MIB ((double)(1 << 20))

// ----------------------------------------------------------------------------------------- drawing

static bool make(struct peak *peak, size_t room) {
    *peak = (struct peak){.blocks = calloc(room, sizeof *peak->blocks),
                          .order = calloc(room, sizeof *peak->order),
                          .streams = 1};
    return peak->blocks && peak->order;
}

void peak_release(struct peak *peak) {
    free(peak->blocks);
    free(peak->order);
    *peak = (struct peak){.blocks = NULL};
}

static void add(struct peak *peak, size_t size, bool survives) {
    peak->blocks[peak->count] = (struct peak_block){.size = size, .survives = survives};
    peak->bytes += size;
    peak->surviving += survives ? size : 0;
    if (!survives)
        peak->order[peak->freed++] = peak->count;
    peak->count++;
}

bool peak_make_even(struct peak *peak, size_t size, size_t count, size_t share) {
    if (!make(peak, count))
        return false;
    for (size_t i = 0; i < count; i++)
        add(peak, size, i % share == 0);
    peak->huge_first = peak->huge_again = true;
    return true;
}

bool peak_make_scattered(struct peak *peak, size_t size, size_t count, size_t share) {
    if (!make(peak, count))
        return false;
    for (size_t i = 0; i < count; i++)
        add(peak, size, sp_draw(3, i) % share == 0);
    return true;
}

// Each factor between the bounds is as likely.
static double draw_between(double least, double most, uint64_t sequence, uint64_t index) {
    double fraction = (double)(sp_draw(sequence, index) >> 11) / (double)(UINT64_C(1) << 53);
    return least * pow(most / least, fraction);
}

enum order { AS_ALLOCATED, REVERSED, SHUFFLED, ORDERS };

static void swap(size_t *one, size_t *other) {
    size_t kept = *one;
    *one = *other;
    *other = kept;
}

static void put_in_order(struct peak *peak, enum order order, uint64_t sequence) {
    size_t *list = peak->order, count = peak->freed;
    for (size_t i = 0; i < count / 2 && order == REVERSED; i++)
        swap(&list[i], &list[count - 1 - i]);
    for (size_t i = 0; i < count && order == SHUFFLED; i++)
        swap(&list[i], &list[i + sp_draw(sequence, i) % (count - i)]);
}

bool peak_make_drawn(struct peak *peak, uint64_t number, uint64_t bytes, unsigned streams) {
    enum { LEAST = 64 << 10, MOST = 64 << 20, WHAT = 100 };
    uint64_t sequence = WHAT * (number + 1);
    size_t room = (size_t)(bytes / LEAST) + 1;
    if (!make(peak, room))
        return false;
    bool small_ones_survive = sp_draw(sequence, 0) % 2;
    double bound = draw_between(LEAST, 1 << 20, sequence, 1);
    double share = draw_between(4, 100, sequence, 2);
    for (uint64_t i = 0; peak->bytes < bytes; i++) {
        size_t size = (size_t)draw_between(LEAST, MOST, sequence + 1, i);
        bool chosen = sp_draw(sequence + 2, i) % (uint64_t)share == 0;
        add(peak, size, small_ones_survive ? (double)size < bound : chosen);
    }
    put_in_order(peak, (enum order)(sp_draw(sequence, 3) % ORDERS), sequence + 3);
    peak->huge_first = sp_draw(sequence, 4) % 2;
    peak->streams = streams;
    return true;
}

// ----------------------------------------------------------------------------------------- playing

struct play {
    struct peak *peak;
    const struct subject *subject;
    const CUstream *streams;
    CUevent event;
};

static CUstream stream_of(const struct play *play, size_t i) {
    return play->streams[i % play->peak->streams];
}

static int pass_on(const struct play *play, CUstream from, CUstream to) {
    const struct sp_driver *driver = play->subject->driver;
    int error = play->subject->record ? play->subject->record(play->subject, play->event, from)
                                      : (int)driver->cuEventRecord(play->event, from);
    if (error)
        return error;
    return play->subject->wait ? play->subject->wait(play->subject, to, play->event)
                               : (int)driver->cuStreamWaitEvent(to, play->event, 0);
}

static int release(const struct play *play, size_t i) {
    struct peak_block *block = &play->peak->blocks[i];
    CUstream from = stream_of(play, i), to = stream_of(play, i + i / play->peak->streams % 2);
    int error = to != from ? pass_on(play, from, to) : 0;
    if (!error)
        error = subject_release(play->subject, block->at, block->size, to);
    block->at = NULL;
    return error;
}

static int synchronize(const struct play *play) {
    int error = 0;
    for (unsigned i = 0; i < play->peak->streams && !error; i++)
        error = play->subject->synchronize(play->subject, play->streams[i]);
    return error;
}

// What was primed is held until a trim.
static int rise_and_fall(const struct play *play) {
    const struct peak *peak = play->peak;
    const struct subject *subject = play->subject;
    void *huge;
    int error = 0;
    if (peak->huge_first) {
        error = subject->allocate(subject, &huge, peak->bytes, play->streams[0]);
        if (!error)
            error = subject_release(subject, huge, peak->bytes, play->streams[0]);
    }
    for (size_t i = 0; i < peak->count && !error; i++)
        error = subject->allocate(subject, &peak->blocks[i].at, peak->blocks[i].size,
                                  stream_of(play, i));
    for (size_t i = 0; i < peak->freed && !error; i++)
        error = release(play, peak->order[i]);
    if (!error)
        error = synchronize(play);
    return error || !subject->prime ? error : subject->trim(subject);
}

static int held(const struct subject *subject, double *mebibytes) {
    uint64_t bytes = 0;
    int error = subject->reserved(subject, &bytes);
    *mebibytes = (double)bytes / MIB;
    return error;
}

// A refusal is no failure.
static int want_again(const struct play *play, struct peak_figures *figures) {
    const struct subject *subject = play->subject;
    void *huge;
    double begin = samples_clock();
    int error = subject->allocate(subject, &huge, play->peak->bytes, play->streams[0]);
    figures->calls += (samples_clock() - begin) / 1e6;
    figures->served = error == 0;
    if (error == CUDA_ERROR_OUT_OF_MEMORY)
        return 0;
    if (!error)
        error = held(subject, &figures->again);
    return error ? error : subject_release(subject, huge, play->peak->bytes, play->streams[0]);
}

static int free_survivors(const struct play *play) {
    int error = 0;
    for (size_t i = 0; i < play->peak->count && !error; i++)
        if (play->peak->blocks[i].at)
            error = release(play, i);
    int synchronized = synchronize(play);
    return error ? error : synchronized;
}

int peak_play(struct peak *peak, const struct subject *subject, const CUstream *streams,
              CUevent event, struct peak_figures *figures) {
    const struct play play = {peak, subject, streams, event};
    *figures = (struct peak_figures){0};
    int error = subject->prime ? subject->prime(subject, peak->bytes) : 0;
    double begin = samples_clock();
    if (!error)
        error = rise_and_fall(&play);
    figures->calls = (samples_clock() - begin) / 1e6;
    if (!error)
        error = held(subject, &figures->held);
    if (!error && peak->huge_again)
        error = want_again(&play, figures);
    int freed = free_survivors(&play);
    return error ? error : freed;
}
