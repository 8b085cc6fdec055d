#include "copies.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

const char *const copies_direction_text[COPIES_DIRECTIONS] = {
    [COPIES_IN] = "in",
    [COPIES_OUT] = "out",
};

// ------------------------------------------------------------------------------------------ memory

static void fill(char *memory, size_t bytes) {
    for (size_t i = 0; i + sizeof(uint64_t) <= bytes; i += sizeof(uint64_t)) {
        uint64_t word = (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
        memcpy(memory + i, &word, sizeof word);
    }
}

int copies_take_settings(struct copies *copies) {
    struct poolCopySettings settings = {0};
    int error = (int)poolCopyGetSettings(&settings);
    copies->chunk = settings.chunkBytes;
    copies->ring = settings.chunkBytes * settings.depth;
    return error;
}

int copies_open(struct copies *copies, const struct sp_driver *driver, CUstream stream,
                size_t size) {
    *copies = (struct copies){.driver = driver, .stream = stream, .size = size};
    int error = copies_take_settings(copies);
    copies->source = malloc(size);
    copies->target = malloc(size);
    if (!error && (!copies->source || !copies->target))
        error = CUDA_ERROR_OUT_OF_MEMORY;
    if (!error)
        error = (int)driver->cuMemAlloc(&copies->device, size);
    if (!error)
        error = (int)driver->cuMemHostAlloc((void **)&copies->pinned, size,
                                            CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP);
    if (error)
        return error;
    fill(copies->source, size);
    memset(copies->target, 0, size);
    memcpy(copies->pinned, copies->source, size);
    return 0;
}

int copies_close(struct copies *copies) {
    int freed = copies->device ? (int)copies->driver->cuMemFree(copies->device) : 0;
    int unpinned = copies->pinned ? (int)copies->driver->cuMemFreeHost(copies->pinned) : 0;
    free(copies->source);
    free(copies->target);
    return freed ? freed : unpinned;
}

bool copies_fit(const struct bench *bench, const struct copies *copies, size_t bytes) {
    char text[16];
    if (bytes <= copies->size)
        return true;
    bench_print(bench, "%s: left out, copies have %zu MiB here", bench_size_text(bytes, text),
                copies->size >> 20);
    bench_end_line(bench);
    return false;
}

void copies_drop_pages(const struct copies *copies, size_t bytes) {
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), begin = (uintptr_t)copies->target;
    uintptr_t skipped = (page - begin % page) % page, end = (begin + bytes) / page * page;
    if (begin + skipped < end)
        madvise(copies->target + skipped, end - (begin + skipped), MADV_DONTNEED);
}

// -------------------------------------------------------------------------------------------- ways

// A copy, and how far it is.
struct copy {
    struct copies *copies;
    enum copies_direction direction;
    size_t at, bytes;
};

static bool is_in(const struct copy *copy) {
    return copy->direction == COPIES_IN;
}

static CUdeviceptr device_of(const struct copy *copy) {
    return copy->copies->device + copy->at;
}

static char *source_of(const struct copy *copy) {
    return copy->copies->source + copy->at;
}

static char *target_of(const struct copy *copy) {
    return copy->copies->target + copy->at;
}

static int synchronize(const struct copy *copy) {
    return (int)copy->copies->driver->cuStreamSynchronize(copy->copies->stream);
}

static int issue_ours(const struct copy *copy) {
    void *device = (void *)(uintptr_t)device_of(copy);
    CUstream stream = copy->copies->stream;
    return (int)(is_in(copy) ? poolCopyToDeviceAsync(device, source_of(copy), copy->bytes, stream)
                             : poolCopyToHostAsync(target_of(copy), device, copy->bytes, stream));
}

static int issue_with_completion(const struct copy *copy) {
    void *device = (void *)(uintptr_t)device_of(copy);
    CUstream stream = copy->copies->stream;
    poolCopyCompletion_t *completion = &copy->copies->completion;
    return (int)(is_in(copy) ? poolCopyToDeviceAsyncWithCompletion(device, source_of(copy),
                                                                   copy->bytes, stream, completion)
                             : poolCopyToHostAsyncWithCompletion(target_of(copy), device,
                                                                 copy->bytes, stream, completion));
}

static int finish_with_completion(const struct copy *copy) {
    int error = synchronize(copy);
    if (!error)
        error = (int)poolCopyCompletionSynchronize(copy->copies->completion);
    int destroyed = (int)poolCopyCompletionDestroy(copy->copies->completion);
    copy->copies->completion = NULL;
    return error ? error : destroyed;
}

static int issue_pageable(const struct copy *copy) {
    const struct sp_driver *driver = copy->copies->driver;
    CUstream stream = copy->copies->stream;
    return (int)(is_in(copy) ? driver->cuMemcpyHtoDAsync(device_of(copy), source_of(copy),
                                                         copy->bytes, stream)
                             : driver->cuMemcpyDtoHAsync(target_of(copy), device_of(copy),
                                                         copy->bytes, stream));
}

static int issue_pinned(const struct copy *copy) {
    CUdeviceptr pinned = (CUdeviceptr)(uintptr_t)(copy->copies->pinned + copy->at);
    return (int)copy->copies->driver->cuMemcpyAsync(is_in(copy) ? device_of(copy) : pinned,
                                                    is_in(copy) ? pinned : device_of(copy),
                                                    copy->bytes, copy->copies->stream);
}

static int issue_words(const struct copy *copy) {
    CUresult error = CUDA_SUCCESS;
    uint32_t word;
    for (size_t i = 0; i < copy->bytes && error == CUDA_SUCCESS; i += sizeof word) {
        memcpy(&word, source_of(copy) + i, sizeof word);
        error = copy->copies->driver->cuStreamWriteValue32(copy->copies->stream,
                                                           device_of(copy) + i, word, 0);
    }
    return (int)error;
}

// ----------------------------------------------------------------------------------- the one chunk

// Its bytes that begin so far behind the beginning.
static size_t piece_of(const struct copy *copy, size_t done) {
    size_t left = copy->bytes - done;
    return left < copy->copies->chunk ? left : copy->copies->chunk;
}

static void fill_chunk(const struct copy *copy, size_t done) {
    size_t bytes = piece_of(copy, done);
    team_copy(&copy->copies->team, &(struct team_copy){copy->copies->pinned, source_of(copy) + done,
                                                       bytes, bytes, bytes});
}

static void empty_chunk(const struct copy *copy, size_t done) {
    size_t bytes = piece_of(copy, done);
    team_copy(&copy->copies->team, &(struct team_copy){target_of(copy) + done, copy->copies->pinned,
                                                       bytes, bytes, bytes});
}

static int chunk_to_device(const struct copy *copy, size_t done) {
    return (int)copy->copies->driver->cuMemcpyHtoDAsync(
        device_of(copy) + done, copy->copies->pinned, piece_of(copy, done), copy->copies->stream);
}

static int chunk_from_device(const struct copy *copy, size_t done) {
    return (int)copy->copies->driver->cuMemcpyDtoHAsync(
        copy->copies->pinned, device_of(copy) + done, piece_of(copy, done), copy->copies->stream);
}

// The chunk is filled anew when the device has read it.
static int issue_by_chunk(const struct copy *copy) {
    int error = 0;
    if (!is_in(copy))
        return chunk_from_device(copy, 0);
    for (size_t done = 0; done < copy->bytes && !error; done += piece_of(copy, done)) {
        if (done > 0)
            error = synchronize(copy);
        fill_chunk(copy, done);
        if (!error)
            error = chunk_to_device(copy, done);
    }
    return error;
}

static int finish_by_chunk(const struct copy *copy) {
    int error = synchronize(copy);
    if (is_in(copy) || error)
        return error;
    empty_chunk(copy, 0);
    for (size_t done = piece_of(copy, 0); done < copy->bytes && !error;
         done += piece_of(copy, done)) {
        error = chunk_from_device(copy, done);
        if (!error)
            error = synchronize(copy);
        empty_chunk(copy, done);
    }
    return error;
}

// --------------------------------------------------------------------------------------- the floor

static int copy_on_host(const struct copy *copy) {
    const struct copies *copies = copy->copies;
    size_t bytes = copy->bytes, ring = copies->ring < bytes ? copies->ring : bytes;
    if (is_in(copy))
        team_copy(&copy->copies->team,
                  &(struct team_copy){copies->pinned, source_of(copy), ring, bytes, bytes});
    else
        team_copy(&copy->copies->team,
                  &(struct team_copy){target_of(copy), copies->pinned, bytes, ring, bytes});
    return 0;
}

static int is_finished(const struct copy *copy) {
    (void)copy;
    return 0;
}

// ------------------------------------------------------------------------------------ all of these

static const struct {
    const char *name;
    enum subject_role role;
    int (*issue)(const struct copy *copy);
    int (*finish)(const struct copy *copy);
} ways[COPIES_WAYS] = {
    [COPIES_OURS] = {"streampool", SUBJECT_IS_MEASURED, issue_ours, synchronize},
    [COPIES_COMPLETION] = {"streampool, completion", SUBJECT_IS_MEASURED, issue_with_completion,
                           finish_with_completion},
    [COPIES_PAGEABLE] = {"CUDA, pageable", SUBJECT_IS_REFERENCE, issue_pageable, synchronize},
    [COPIES_PINNED] = {"CUDA, pinned", SUBJECT_IS_MEASURED, issue_pinned, synchronize},
    [COPIES_CHUNK] = {"one chunk", SUBJECT_IS_MEASURED, issue_by_chunk, finish_by_chunk},
    [COPIES_WORDS] = {"cuStreamWriteValue32", SUBJECT_IS_MEASURED, issue_words, synchronize},
    [COPIES_FLOOR] = {"floor: memcpy", SUBJECT_IS_FLOOR, copy_on_host, is_finished},
};

void copies_line_up(const struct copies *copies, struct copies_lineup *lineup,
                    const enum copies_way wanted[], size_t count) {
    lineup->count = 0;
    for (size_t i = 0; i < count; i++) {
        if (wanted[i] == COPIES_WORDS && !copies->driver->cuStreamWriteValue32)
            continue;
        lineup->ways[lineup->count] = wanted[i];
        lineup->subjects[lineup->count++] =
            (struct subject){.name = ways[wanted[i]].name, .role = ways[wanted[i]].role};
    }
}

void copies_print_head(const struct bench *bench, const struct copies_lineup *lineup,
                       const char *title) {
    bench_print_head_of(bench,
                        &(struct bench_field){.subjects = (struct subject *)lineup->subjects,
                                              .subject_count = lineup->count},
                        title);
}

enum copies_way copies_way_of(const struct copies_lineup *lineup, const struct subject *subject) {
    return lineup->ways[subject - lineup->subjects];
}

int copies_issue(struct copies *copies, enum copies_way way, enum copies_direction direction,
                 size_t at, size_t bytes) {
    return ways[way].issue(&(struct copy){copies, direction, at, bytes});
}

int copies_finish(struct copies *copies, enum copies_way way, enum copies_direction direction,
                  size_t at, size_t bytes) {
    return ways[way].finish(&(struct copy){copies, direction, at, bytes});
}

static int copy(struct copies *copies, enum copies_way way, enum copies_direction direction,
                size_t bytes) {
    int error = copies_issue(copies, way, direction, 0, bytes);
    return error ? error : copies_finish(copies, way, direction, 0, bytes);
}

// Memory that is pinned keeps its bytes, and the floor copies nothing to the device.
int copies_check(struct copies *copies, enum copies_way way, size_t bytes) {
    const struct sp_driver *driver = copies->driver;
    bool is_pageable = way != COPIES_PINNED && way != COPIES_FLOOR;
    int error = (int)driver->cuMemsetD8Async(copies->device, 0, bytes, copies->stream);
    memset(copies->target, 0, bytes);
    if (!error)
        error = copy(copies, way, COPIES_IN, bytes);
    if (!error)
        error = copy(copies, way, COPIES_OUT, bytes);
    return !error && is_pageable && memcmp(copies->target, copies->source, bytes) != 0
               ? (int)poolErrorUnknown
               : error;
}
