#include "swap/saved.h"

#include "base/number.h"
#include "beside/capture.h"
#include "beside/refuse.h"
#include "swap/file.h"
#include "swap/host.h"

#include <stdlib.h>
#include <streampool/copy.h>

#define DRIVER(call, ...) sp_outcome_of_driver(sp_driver->call(__VA_ARGS__), #call)

#define ALIGNMENT ((uint64_t)4096)
#define NO_MEMORY "the host has no memory for a list of ranges"

// Copies of a file pass through so much pinned memory.
#define FOR_COPIES ((size_t)32 << 20)

// -------------------------------------------------------------------------------------- the ranges

static bool keep(struct sp_saved *saved, size_t *room, uint64_t begin, uint64_t end) {
    if (saved->count == *room) {
        size_t more = sp_max(2 * *room, 64);
        struct sp_kept *longer = realloc(saved->kept, more * sizeof *longer);
        if (!longer)
            return false;
        saved->kept = longer;
        *room = more;
    }
    saved->kept[saved->count++] = (struct sp_kept){begin, end - begin, saved->line};
    saved->line += sp_round_up(end - begin, ALIGNMENT);
    return true;
}

// Keeps what lies between unwanted ranges.
static bool list_kept(struct sp_saved *saved, const struct poolMemRange *ranges, size_t count,
                      const struct sp_unwanted *unwanted) {
    size_t room = 0, next = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t begin = (uintptr_t)ranges[i].ptr, end = begin + ranges[i].size;
        while (begin < end) {
            uint64_t from = end, to = end; // the first unwanted range that ends behind `begin`
            for (; next < unwanted->count; next++) {
                from = (uintptr_t)unwanted->list[next].ptr;
                to = from + unwanted->list[next].size;
                if (to > begin)
                    break;
                from = to = end;
            }
            from = sp_min(from, end);
            if (from > begin && !keep(saved, &room, begin, from))
                return false;
            saved->unwanted += sp_min(to, end) - sp_max(from, begin);
            begin = sp_min(to, end);
        }
    }
    return true;
}

// Lists what was saved of ranges, for the caller to free. Null without memory.
static struct sp_kept *find_in(const struct sp_saved *saved, const struct poolMemRange *ranges,
                               size_t count, size_t *found) {
    struct sp_kept *list = malloc((saved->count + count + 1) * sizeof *list);
    *found = 0;
    for (size_t i = 0, range = 0; list && i < saved->count && range < count;) {
        const struct sp_kept *kept = &saved->kept[i];
        uint64_t first = (uintptr_t)ranges[range].ptr, last = first + ranges[range].size;
        uint64_t begin = sp_max(kept->address, first),
                 end = sp_min(kept->address + kept->size, last);
        if (begin < end)
            list[(*found)++] =
                (struct sp_kept){begin, end - begin, kept->at + (begin - kept->address)};
        if (kept->address + kept->size <= last)
            i++;
        else
            range++;
    }
    return list;
}

// -------------------------------------------------------------------------------------- the stream

// Copies are made in a stream of their own. The thread may capture in another one.
static poolError_t open_stream(int device, CUstream *stream) {
    int current = -1;
    struct sp_outcome outcome = DRIVER(cuCtxGetDevice, &current);
    if (sp_is_done(outcome) && current != device)
        return sp_refuse(poolErrorInvalidDevice, "the current context isn't one of device %d",
                         device);
    if (sp_is_done(outcome))
        outcome = DRIVER(cuStreamCreate, stream, CU_STREAM_NON_BLOCKING);
    return sp_is_done(outcome) ? poolSuccess : sp_refuse_outcome(outcome, "copying a pool");
}

// Waits for all copies, by all means: when it returns the memory on both sides may go. Where
// neither call waits the context has failed, and no copy goes on.
static poolError_t close_stream(CUstream stream, poolError_t error) {
    poolError_t before = poolPeekAtLastError();
    poolError_t waited = poolStreamSynchronize(stream);
    if (waited != poolSuccess)
        sp_driver->cuCtxSynchronize();
    if (error == poolSuccess && waited != poolSuccess)
        before = error = sp_refuse_again(waited, "waiting for the copies of a pool");
    if (poolStreamDestroy(stream) != poolSuccess)
        sp_driver->cuStreamDestroy(stream);
    sp_refuse_nothing(before);
    return error;
}

// -------------------------------------------------------------------------------------- the copies

enum way { OUT, IN };

// Copies go along the line: `next` is the first range that isn't done.
struct copies {
    enum way way;
    const struct sp_kept *list;
    size_t count;
    size_t next;
    CUstream stream;
};

static poolError_t copy_host(const struct copies *copies, void *device, void *host, size_t size) {
    CUdeviceptr address = (uintptr_t)device;
    struct sp_outcome outcome =
        copies->way == OUT ? DRIVER(cuMemcpyDtoHAsync, host, address, size, copies->stream)
                           : DRIVER(cuMemcpyHtoDAsync, address, host, size, copies->stream);
    return sp_is_done(outcome) ? poolSuccess : sp_refuse_outcome(outcome, "copying a pool");
}

static poolError_t copy_file(const struct copies *copies, void *device, int fd, uint64_t offset,
                             size_t size) {
    return copies->way == OUT ? poolDeviceToFileAsync(fd, offset, device, size, copies->stream)
                              : poolFileToDeviceAsync(device, fd, offset, size, copies->stream);
}

// Copies a part of the line: one that lies in the host's memory, or, if that is null, in the file.
static poolError_t copy_part(struct copies *copies, uint64_t at, uint64_t size, char *memory,
                             int fd) {
    poolError_t error = poolSuccess;
    while (copies->next < copies->count && error == poolSuccess) {
        const struct sp_kept *kept = &copies->list[copies->next];
        uint64_t begin = sp_max(kept->at, at), end = sp_min(kept->at + kept->size, at + size);
        void *device = (void *)(uintptr_t)(kept->address + (begin - kept->at));
        if (begin < end)
            error = memory ? copy_host(copies, device, memory + (begin - at), end - begin)
                           : copy_file(copies, device, fd, begin - at, end - begin);
        if (kept->at + kept->size > at + size) // goes on in the next part
            break;
        copies->next++;
    }
    return error;
}

// ------------------------------------------------------------------------------------------ saving

static bool add_piece(struct sp_saved *saved, void *memory, size_t size) {
    struct sp_piece *longer =
        realloc(saved->pieces, (saved->piece_count + 1) * sizeof *saved->pieces);
    if (!longer)
        return false;
    saved->pieces = longer;
    saved->pieces[saved->piece_count++] = (struct sp_piece){memory, saved->in_host, size};
    saved->in_host += size;
    return true;
}

// Goes on until all is saved, or the host has no more memory.
static poolError_t save_in_host(struct sp_saved *saved, int device, struct copies *copies) {
    while (saved->in_host < saved->line) {
        void *memory = NULL;
        size_t size = 0;
        uint64_t at = saved->in_host;
        poolError_t error = sp_host_take(device, saved->line - at, &memory, &size);
        if (error != poolSuccess || !memory)
            return error;
        if (!add_piece(saved, memory, size)) {
            sp_host_give(memory, size);
            return sp_refuse(poolErrorMemoryAllocation, NO_MEMORY);
        }
        error = copy_part(copies, at, size, memory, -1);
        if (error != poolSuccess)
            return error;
    }
    return poolSuccess;
}

static poolError_t save_in_file(struct sp_saved *saved, const char *folder, struct copies *copies) {
    uint64_t rest = saved->line - saved->in_host;
    if (!folder)
        return sp_refuse(poolErrorMemoryAllocation,
                         "there are %llu bytes to save, and %llu of the host for them; "
                         "STREAMPOOL_SWAP_DIR names no folder for the others",
                         (unsigned long long)saved->line, (unsigned long long)saved->in_host);
    poolError_t error = sp_swap_file_open(folder, rest, &saved->fd);
    return error == poolSuccess ? copy_part(copies, saved->in_host, rest, NULL, saved->fd) : error;
}

// Holds what copies of the file will need, while the rest of the host's memory may be taken. Null
// where there is none, or no file.
static void *hold_for_copies(const char *folder) {
    poolMemPool_t pool = NULL;
    void *held = NULL;
    poolError_t before = poolPeekAtLastError();
    if (folder && poolCopyGetPool(&pool) == poolSuccess)
        poolMallocFromPool(&held, FOR_COPIES, pool);
    sp_refuse_nothing(before);
    return held;
}

static poolError_t save(struct sp_saved *saved, int device) {
    struct copies copies = {.way = OUT, .list = saved->kept, .count = saved->count};
    const char *folder = sp_swap_file_folder();
    poolError_t error = open_stream(device, &copies.stream);
    if (error != poolSuccess)
        return error;
    void *held = hold_for_copies(folder);
    error = save_in_host(saved, device, &copies);
    poolFree(held);
    if (error == poolSuccess && saved->in_host < saved->line)
        error = save_in_file(saved, folder, &copies);
    return close_stream(copies.stream, error);
}

poolError_t sp_saved_make(struct sp_saved *saved, int device, const struct poolMemRange *ranges,
                          size_t count, const struct sp_unwanted *unwanted) {
    *saved = SP_SAVED_NOTHING;
    poolError_t error = list_kept(saved, ranges, count, unwanted)
                            ? poolSuccess
                            : sp_refuse(poolErrorMemoryAllocation, NO_MEMORY);
    if (error == poolSuccess && saved->count > 0) {
        CUstreamCaptureMode mode = sp_capture_relax();
        error = save(saved, device);
        sp_capture_restore(mode);
    }
    if (error != poolSuccess)
        sp_saved_drop(saved);
    return error;
}

// ----------------------------------------------------------------------------------------- loading

static poolError_t load(const struct sp_saved *saved, int device, const struct sp_kept *list,
                        size_t count) {
    struct copies copies = {.way = IN, .list = list, .count = count};
    poolError_t error = open_stream(device, &copies.stream);
    if (error != poolSuccess)
        return error;
    for (size_t i = 0; i < saved->piece_count && error == poolSuccess; i++) {
        const struct sp_piece *piece = &saved->pieces[i];
        error = copy_part(&copies, piece->at, piece->size, piece->memory, -1);
    }
    if (error == poolSuccess && saved->fd >= 0)
        error = copy_part(&copies, saved->in_host, saved->line - saved->in_host, NULL, saved->fd);
    return close_stream(copies.stream, error);
}

poolError_t sp_saved_load(const struct sp_saved *saved, int device,
                          const struct poolMemRange *ranges, size_t count) {
    size_t found = 0;
    struct sp_kept *list = find_in(saved, ranges, count, &found);
    if (!list)
        return sp_refuse(poolErrorMemoryAllocation, NO_MEMORY);
    poolError_t error = poolSuccess;
    if (found > 0) {
        CUstreamCaptureMode mode = sp_capture_relax();
        error = load(saved, device, list, found);
        sp_capture_restore(mode);
    }
    free(list);
    return error;
}

void sp_saved_drop(struct sp_saved *saved) {
    for (size_t i = 0; i < saved->piece_count; i++)
        sp_host_give(saved->pieces[i].memory, saved->pieces[i].size);
    if (saved->piece_count > 0)
        sp_host_trim();
    if (saved->fd >= 0)
        sp_swap_file_close(saved->fd);
    free(saved->pieces);
    free(saved->kept);
    *saved = SP_SAVED_NOTHING;
}
