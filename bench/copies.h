// Bytes between a device and the host, by the ways that the case `copy` compares.
//
// A copy is *issued* and then *finished*: behind that all bytes are where they belong, whoever
// looks. What a program gains by a way that issues quickly is the time between the two.
#ifndef STREAMPOOL_BENCH_COPIES_H
#define STREAMPOOL_BENCH_COPIES_H

#include "bench.h"
#include "team.h"

#include <streampool/copy.h>

enum copies_way {
    COPIES_OURS,       // the call without a completion, and a synchronise
    COPIES_COMPLETION, // the call with one, and a synchronise of the stream and of it
    COPIES_PAGEABLE,   // the driver's own copy of pageable memory
    COPIES_PINNED,     // the driver's copy of memory that it has pinned: what the bus can do
    COPIES_CHUNK,      // by way of one pinned chunk, without overlap
    COPIES_WORDS,      // words that the stream writes; only to the device
    COPIES_FLOOR,      // the host's part alone: memory that is copied to pinned chunks or from them
    COPIES_WAYS
};

enum copies_direction { COPIES_IN, COPIES_OUT, COPIES_DIRECTIONS };
extern const char *const copies_direction_text[COPIES_DIRECTIONS]; // "in", "out"

struct copies {
    const struct sp_driver *driver;
    CUstream stream;
    size_t size; // of each of the following
    CUdeviceptr device;
    char *source; // pageable: is copied to the device
    char *target; // pageable, and its pages are there: is copied to
    char *pinned;
    size_t chunk;                    // bytes of the one chunk
    size_t ring;                     // bytes of the floor's chunks together
    poolCopyCompletion_t completion; // of the copy under way
    struct team team;                // copies for the floor and the one chunk, while it is started
};

// What stands side by side in a table.
struct copies_lineup {
    struct subject subjects[COPIES_WAYS];
    enum copies_way ways[COPIES_WAYS];
    size_t count;
};

// Gets so many bytes of each memory. Returns 0 or the error's number; one that could not be opened
// is closed all the same.
int copies_open(struct copies *copies, const struct sp_driver *driver, CUstream stream,
                size_t size);
int copies_close(struct copies *copies);

// The one chunk and the floor's are as large as those of the library, from now on.
int copies_take_settings(struct copies *copies);

// Whether there are so many bytes. If not, a line says that they are left out.
bool copies_fit(const struct bench *bench, const struct copies *copies, size_t bytes);

// Lines up those of these ways that the driver has.
void copies_line_up(const struct copies *copies, struct copies_lineup *lineup,
                    const enum copies_way wanted[], size_t count);
void copies_print_head(const struct bench *bench, const struct copies_lineup *lineup,
                       const char *title);
enum copies_way copies_way_of(const struct copies_lineup *lineup, const struct subject *subject);

// One copy of `bytes` bytes that begin `at` bytes behind the beginning of each memory. The floor
// and the chunk need a team.
int copies_issue(struct copies *copies, enum copies_way way, enum copies_direction direction,
                 size_t at, size_t bytes);
int copies_finish(struct copies *copies, enum copies_way way, enum copies_direction direction,
                  size_t at, size_t bytes);

// Copies in and out, and compares: poolErrorUnknown where a byte is another one.
int copies_check(struct copies *copies, enum copies_way way, size_t bytes);

// Gives the pages of the target's first bytes back, so that they are touched for the first time
// again.
void copies_drop_pages(const struct copies *copies, size_t bytes);

#endif
