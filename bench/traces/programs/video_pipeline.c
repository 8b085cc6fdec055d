// video_pipeline [FRAMES [SEED]]: a program in the style of one that transcodes video. It is no
// part of a trace's replay: record.sh runs it under `streampool run --record`, which makes
// bench/traces/video_pipeline.csv.gz.
//
// Each of ten threads has a stream of its own, and bounded queues lead from one to the next:
//
//     3 decoders -> 3 filters -> 3 encoders
//                        \-> 1 analyser
//
// A decoder makes the frames of clips, whose resolutions differ, and keeps the latest ones as
// references. A filter makes of each frame the smaller ones of an output ladder. An encoder looks
// some frames ahead before it encodes one. The analyser keeps thumbnails for long.
//
// A frame is freed by whoever is the last to drop it, on that thread's stream, which first waits
// for the others' uses. What a thread does is drawn from random numbers of its own; how the threads
// interleave is up to the machine. Memsets stand for the work.
#include <cuda.h>

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    EACH = 3, // decoders, filters, encoders
    STAGES = 3 * EACH + 1,
    QUEUE = 6,
    MOST_HOLDERS = 4,
    MOST_REFERENCES = 8,
    MOST_KEPT = 3,
    LOOKAHEAD = 12,
    RECONSTRUCTED = 4,
    FEATURES = 16,
    THUMBNAILS = 256,
    SHOWN_EVERY = 12, // this frame of a filter goes to the analyser
    SYNCHRONIZED_EVERY = 8,
    PARSE_MICROSECONDS = 3000, // at most, by the decoder's host thread for a frame
    KIB = 1024
};

struct block {
    CUdeviceptr address;
    size_t size;
};

// The maker records `written` once. Whoever is not the last to drop the frame records a use.
struct frame {
    struct block block;
    unsigned width, height;
    CUevent written;
    pthread_mutex_t lock; // guards what follows
    unsigned holders;
    unsigned used; // events in `uses` that were recorded; used + holders <= MOST_HOLDERS
    CUevent uses[MOST_HOLDERS];
};

// What goes through a queue: a frame that the taker holds, and data beside it (or 0).
struct item {
    struct frame *frame;
    struct block beside;
    unsigned ladder; // the rungs that the filter makes, as bits
    unsigned keep;   // how many pictures the filter keeps of this clip
};

struct queue {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct item items[QUEUE];
    unsigned first, count;
    unsigned makers; // threads that may still put something in
};

struct stage {
    void (*run)(struct stage *);
    unsigned number; // among its like
    unsigned frames; // a decoder's share
    uint64_t random;
    CUstream stream;
    pthread_t thread;
};

static const struct {
    unsigned width, height, sample_bytes, weight;
} kinds[] = {
    {640, 360, 1, 3},   {854, 480, 1, 2},   {1280, 720, 1, 4},
    {1920, 1080, 1, 6}, {1920, 1080, 2, 2}, {2560, 1440, 1, 2},
    {3840, 2160, 1, 3}, {3840, 2160, 2, 2}, {7680, 4320, 1, 1},
};
static const struct {
    unsigned width, height;
} rungs[] = {{3840, 2160}, {2560, 1440}, {1920, 1080}, {1280, 720}, {854, 480}, {426, 240}};

enum { KINDS = sizeof kinds / sizeof *kinds, RUNGS = sizeof rungs / sizeof *rungs };

static CUcontext context;
static struct queue to_filter[EACH], to_encoder[EACH], to_analyser;

static void must(CUresult result, const char *call) {
    if (result == CUDA_SUCCESS)
        return;
    fprintf(stderr, "video_pipeline: %s: error %d\n", call, (int)result);
    exit(EXIT_FAILURE);
}

#define MUST(call) must((call), #call)

static uint64_t draw(struct stage *stage, uint64_t below) {
    stage->random = stage->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (stage->random >> 33) % below;
}

// ---------------------------------------------------------------------------------- memory

static struct block allocate(struct stage *stage, size_t size) {
    struct block block = {.size = size};
    MUST(cuMemAllocAsync(&block.address, size, stage->stream));
    return block;
}

static void release(struct stage *stage, struct block block) {
    if (block.address)
        MUST(cuMemFreeAsync(block.address, stage->stream));
}

static void work(struct stage *stage, struct block block, unsigned rounds) {
    for (unsigned i = 0; i < rounds; i++)
        MUST(cuMemsetD8Async(block.address, (unsigned char)i, block.size, stage->stream));
}

static CUevent new_event(void) {
    CUevent event = NULL;
    MUST(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    return event;
}

static CUevent recorded_event(struct stage *stage) {
    CUevent event = new_event();
    MUST(cuEventRecord(event, stage->stream));
    return event;
}

// Luma, and chroma of half the resolution; lines are padded to 256 bytes.
static size_t frame_bytes(unsigned width, unsigned height, unsigned sample_bytes) {
    size_t pitch = ((size_t)width * sample_bytes + 255) / 256 * 256;
    return pitch * height + pitch * (height / 2);
}

static struct frame *new_frame(struct stage *stage, unsigned width, unsigned height,
                               unsigned sample_bytes) {
    struct frame *frame = calloc(1, sizeof *frame);
    if (!frame)
        must((CUresult)2, "calloc");
    frame->block = allocate(stage, frame_bytes(width, height, sample_bytes));
    frame->width = width;
    frame->height = height;
    frame->holders = 1;
    pthread_mutex_init(&frame->lock, NULL);
    return frame;
}

static void hold(struct frame *frame) {
    pthread_mutex_lock(&frame->lock);
    frame->holders++;
    pthread_mutex_unlock(&frame->lock);
}

static void wait_until_written(struct stage *stage, struct frame *frame) {
    MUST(cuStreamWaitEvent(stage->stream, frame->written, 0));
}

static void drop(struct stage *stage, struct frame *frame) {
    pthread_mutex_lock(&frame->lock);
    bool is_last = --frame->holders == 0;
    if (!is_last)
        frame->uses[frame->used++] = recorded_event(stage);
    pthread_mutex_unlock(&frame->lock);
    if (!is_last)
        return;
    for (unsigned i = 0; i < frame->used; i++) {
        MUST(cuStreamWaitEvent(stage->stream, frame->uses[i], 0));
        MUST(cuEventDestroy(frame->uses[i]));
    }
    release(stage, frame->block);
    MUST(cuEventDestroy(frame->written));
    pthread_mutex_destroy(&frame->lock);
    free(frame);
}

// ---------------------------------------------------------------------------------- queues

static void init_queue(struct queue *queue, unsigned makers) {
    pthread_mutex_init(&queue->lock, NULL);
    pthread_cond_init(&queue->changed, NULL);
    queue->makers = makers;
}

static void put(struct queue *queue, struct item item) {
    pthread_mutex_lock(&queue->lock);
    while (queue->count == QUEUE)
        pthread_cond_wait(&queue->changed, &queue->lock);
    queue->items[(queue->first + queue->count++) % QUEUE] = item;
    pthread_cond_broadcast(&queue->changed);
    pthread_mutex_unlock(&queue->lock);
}

static bool take(struct queue *queue, struct item *item) {
    pthread_mutex_lock(&queue->lock);
    while (queue->count == 0 && queue->makers > 0)
        pthread_cond_wait(&queue->changed, &queue->lock);
    bool found = queue->count > 0;
    if (found) {
        *item = queue->items[queue->first];
        queue->first = (queue->first + 1) % QUEUE;
        queue->count--;
        pthread_cond_broadcast(&queue->changed);
    }
    pthread_mutex_unlock(&queue->lock);
    return found;
}

static void leave(struct queue *queue) {
    pthread_mutex_lock(&queue->lock);
    queue->makers--;
    pthread_cond_broadcast(&queue->changed);
    pthread_mutex_unlock(&queue->lock);
}

// ---------------------------------------------------------------------------------- decoders

static unsigned draw_kind(struct stage *stage) {
    unsigned sum = 0, kind = 0;
    for (unsigned i = 0; i < KINDS; i++)
        sum += kinds[i].weight;
    uint64_t drawn = draw(stage, sum);
    while (drawn >= kinds[kind].weight)
        drawn -= kinds[kind++].weight;
    return kind;
}

static struct frame *decode_frame(struct stage *stage, unsigned kind) {
    size_t whole = frame_bytes(kinds[kind].width, kinds[kind].height, kinds[kind].sample_bytes);
    struct block bits = allocate(stage, 512 + whole / (15 + draw(stage, 300)));
    work(stage, bits, 1);
    struct frame *frame =
        new_frame(stage, kinds[kind].width, kinds[kind].height, kinds[kind].sample_bytes);
    work(stage, frame->block, 3);
    release(stage, bits);
    frame->written = recorded_event(stage);
    return frame;
}

static void decode_clip(struct stage *stage, unsigned frames) {
    unsigned kind = draw_kind(stage);
    unsigned references = 2 + (unsigned)draw(stage, MOST_REFERENCES - 1);
    struct frame *kept[MOST_REFERENCES] = {0};
    struct item item = {.ladder = 1 + (unsigned)draw(stage, (1 << RUNGS) - 1),
                        .keep = (unsigned)draw(stage, MOST_KEPT + 1)};
    struct queue *queue = &to_filter[draw(stage, EACH)];
    for (unsigned i = 0; i < frames; i++) {
        item.beside = allocate(stage, 256 + draw(stage, 16 * KIB));
        item.frame = decode_frame(stage, kind);
        struct frame **reference = &kept[i % references];
        if (*reference)
            drop(stage, *reference);
        *reference = item.frame;
        hold(item.frame);
        put(queue, item);
        usleep((useconds_t)draw(stage, PARSE_MICROSECONDS));
    }
    for (unsigned i = 0; i < references; i++)
        if (kept[i])
            drop(stage, kept[i]);
}

static void decode(struct stage *stage) {
    while (stage->frames > 0) {
        unsigned frames = 12 + (unsigned)draw(stage, 60);
        if (frames > stage->frames)
            frames = stage->frames;
        stage->frames -= frames;
        decode_clip(stage, frames);
    }
    for (unsigned i = 0; i < EACH; i++)
        leave(&to_filter[i]);
}

// ---------------------------------------------------------------------------------- filters

// The encoder of the first rung gets what lies beside the frame.
static void make_rungs(struct stage *stage, struct item item) {
    struct block *beside = &item.beside;
    for (unsigned i = 0; i < RUNGS; i++) {
        bool is_least = i == RUNGS - 1;
        if (rungs[i].height > item.frame->height ||
            !(item.ladder >> i & 1 || (is_least && beside->address)))
            continue;
        struct item made = {new_frame(stage, rungs[i].width, rungs[i].height, 1), *beside, 0, 0};
        work(stage, made.frame->block, 2);
        made.frame->written = recorded_event(stage);
        beside->address = 0;
        put(&to_encoder[i % EACH], made);
    }
}

static void filter(struct stage *stage) {
    struct block kept[MOST_KEPT] = {{0}};
    struct item item;
    for (unsigned i = 0; take(&to_filter[stage->number], &item); i++) {
        wait_until_written(stage, item.frame);
        if (i % SHOWN_EVERY == 0) {
            hold(item.frame);
            put(&to_analyser, (struct item){.frame = item.frame});
        }
        struct block histogram = allocate(stage, KIB << draw(stage, 6));
        size_t pixels = (size_t)item.frame->width * item.frame->height;
        struct block linear = allocate(stage, pixels * 8); // four channels of half precision
        work(stage, histogram, 1);
        work(stage, linear, 2);
        make_rungs(stage, item);
        drop(stage, item.frame);
        release(stage, histogram);
        for (unsigned last = item.keep; last < MOST_KEPT; last++) {
            release(stage, kept[last]);
            kept[last] = (struct block){0};
        }
        struct block *place = item.keep ? &kept[i % item.keep] : &linear;
        release(stage, *place);
        *place = place == &linear ? (struct block){0} : linear;
    }
    for (unsigned i = 0; i < MOST_KEPT; i++)
        release(stage, kept[i]);
    for (unsigned i = 0; i < EACH; i++)
        leave(&to_encoder[i]);
    leave(&to_analyser);
}

// ---------------------------------------------------------------------------------- encoders

struct seen {
    struct item item;
    struct block vectors;
};

static void encode_frame(struct stage *stage, struct seen seen, struct block *reconstructed) {
    struct frame *frame = seen.item.frame;
    release(stage, *reconstructed);
    *reconstructed = allocate(stage, frame->block.size);
    struct block bits = allocate(stage, 2 * KIB + frame->block.size / (8 + draw(stage, 400)));
    work(stage, *reconstructed, 4);
    work(stage, bits, 1);
    drop(stage, frame);
    release(stage, seen.vectors);
    release(stage, seen.item.beside);
    if (draw(stage, SYNCHRONIZED_EVERY) == 0)
        MUST(cuStreamSynchronize(stage->stream));
    release(stage, bits);
}

static void encode(struct stage *stage) {
    struct seen ahead[LOOKAHEAD] = {0};
    struct block reconstructed[RECONSTRUCTED] = {{0}};
    unsigned done = 0, seen = 0;
    for (struct item item; take(&to_encoder[stage->number], &item); seen++) {
        if (seen - done == LOOKAHEAD) {
            encode_frame(stage, ahead[done % LOOKAHEAD], &reconstructed[done % RECONSTRUCTED]);
            done++;
        }
        wait_until_written(stage, item.frame);
        size_t macroblocks = (size_t)(item.frame->width / 16) * (item.frame->height / 16);
        ahead[seen % LOOKAHEAD] = (struct seen){item, allocate(stage, macroblocks * 4)};
        work(stage, ahead[seen % LOOKAHEAD].vectors, 1);
    }
    for (; done < seen; done++)
        encode_frame(stage, ahead[done % LOOKAHEAD], &reconstructed[done % RECONSTRUCTED]);
    for (unsigned i = 0; i < RECONSTRUCTED; i++)
        release(stage, reconstructed[i]);
}

// ---------------------------------------------------------------------------------- the analyser

static void replace(struct stage *stage, struct block *block, size_t size) {
    release(stage, *block);
    *block = allocate(stage, size);
    work(stage, *block, 1);
}

static void analyse(struct stage *stage) {
    struct block features[FEATURES] = {{0}}, thumbnails[THUMBNAILS] = {{0}};
    struct item item;
    for (unsigned i = 0; take(&to_analyser, &item); i++) {
        wait_until_written(stage, item.frame);
        struct block pyramid = allocate(stage, item.frame->block.size * 4 / 3);
        work(stage, pyramid, 1);
        replace(stage, &features[i % FEATURES], item.frame->block.size / 16);
        for (unsigned j = 0; j < 4; j++)
            replace(stage, &thumbnails[(4 * i + j) % THUMBNAILS], (20 + draw(stage, 40)) * KIB);
        release(stage, pyramid);
        drop(stage, item.frame);
    }
    for (unsigned i = 0; i < FEATURES; i++)
        release(stage, features[i]);
    for (unsigned i = 0; i < THUMBNAILS; i++)
        release(stage, thumbnails[i]);
}

// ---------------------------------------------------------------------------------- all of them

static void *run_stage(void *argument) {
    struct stage *stage = argument;
    MUST(cuCtxSetCurrent(context));
    MUST(cuStreamCreate(&stage->stream, CU_STREAM_NON_BLOCKING));
    stage->run(stage);
    MUST(cuStreamSynchronize(stage->stream));
    return NULL;
}

int main(int count, char **arguments) {
    static struct stage stages[STAGES];
    static void (*const runs[])(struct stage *) = {decode, filter, encode, analyse};
    unsigned frames = count > 1 ? (unsigned)strtoul(arguments[1], NULL, 10) : 1100;
    uint64_t seed = count > 2 ? strtoull(arguments[2], NULL, 10) : 1;
    MUST(cuInit(0));
    MUST(cuDevicePrimaryCtxRetain(&context, 0));
    init_queue(&to_analyser, EACH);
    for (unsigned i = 0; i < EACH; i++) {
        init_queue(&to_filter[i], EACH);
        init_queue(&to_encoder[i], EACH);
    }
    for (unsigned i = 0; i < STAGES; i++) {
        stages[i] = (struct stage){runs[i / EACH], i % EACH, frames / EACH, .random = seed};
        stages[i].random += i * UINT64_C(0x9e3779b97f4a7c15);
        if (pthread_create(&stages[i].thread, NULL, run_stage, &stages[i]) != 0)
            must((CUresult)2, "pthread_create");
    }
    for (unsigned i = 0; i < STAGES; i++)
        pthread_join(stages[i].thread, NULL);
    for (unsigned i = 0; i < STAGES; i++)
        MUST(cuStreamDestroy(stages[i].stream));
    return EXIT_SUCCESS;
}
