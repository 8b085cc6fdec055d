// A copy through chunks of pinned memory: what both ways to make one share.
//
// *At once* (copy/now.h) the caller gives the stream each part when that may be done. *Ahead*
// (copy/ahead.h) the stream is given everything before the host has done anything.
#ifndef STREAMPOOL_COPY_TRANSFER_H
#define STREAMPOOL_COPY_TRANSFER_H

#include "copy/crew.h"
#include "driver/driver.h"

#include <streampool/streampool.h>

struct sp_copy {
    bool to_device;
    char *host; // the program's memory; of a file null, and the next two:
    bool is_of_file;
    int fd;
    uint64_t file_offset; // of the first byte
    CUdeviceptr address;  // of the device's memory
    size_t width, height;
    size_t host_pitch, device_pitch;
    CUstream stream;
    int device; // the stream's, whose context is current
};

// The driver's copies of rows take no larger pitch: such rows are copied one by one.
#define SP_TRANSFER_PITCH_MOST ((size_t)INT32_MAX)

// A copy has so many parts or more, so that the host and the device soon work at the same time.
enum { SP_TRANSFER_PARTS = 8 };

static inline size_t sp_transfer_round_up(size_t number, size_t unit) {
    return (number + unit - 1) / unit * unit;
}

// The bytes that the chunks of a copy have at most.
size_t sp_transfer_chunks(const struct poolCopySettings *settings);

// Describes the host's part of a copy, which has no chunks yet; and takes chunks for it, too.
struct sp_job sp_transfer_job(const struct sp_copy *copy, size_t chunk_bytes);
poolError_t sp_transfer_begin(const struct sp_copy *copy, size_t chunk_bytes, size_t depth,
                              struct sp_job *job);

// Gives the stream the device's copy of a part.
struct sp_outcome sp_transfer_give_part(const struct sp_copy *copy, const struct sp_job *job,
                                        size_t number);

// Gives the block of the chunks back. What failed first is what the program is told.
poolError_t sp_transfer_end(const struct sp_copy *copy, void *block, struct sp_outcome outcome);

// Tells the program what has gone wrong with a file: poolSuccess where nothing has.
poolError_t sp_transfer_refuse_problem(bool reads, struct sp_copy_file_problem problem);

#endif
