// A copy of pageable memory: the device's part of it, which is given to a stream.
//
// *At once* (sp_transfer_now) the caller gives the stream each part when the host has filled its
// chunk, or empties each chunk when the device has filled it, and waits for the device by events.
//
// *Ahead* (sp_transfer_ahead) the stream is given everything before the host has done anything. It
// waits, between the parts, for a word of memory that the host counts up, and counts up another one
// itself (stream memory operations). So only the host's threads are needed from then on, and no
// call of the driver. Both words lie behind the chunks.
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

// A copy under way that was given to the stream ahead.
struct sp_transfer {
    struct sp_job job;
    struct sp_copy_file file;
    CUevent event; // behind all of it
    // Guarded by the crew's lock:
    bool is_done;           // by the host
    bool is_dropped;        // the completion is gone: what ends last frees it
    poolError_t stopped_by; // the error that has ended it; poolSuccess: none
};

// Tells the program what has gone wrong with a file: poolSuccess where nothing has.
poolError_t sp_transfer_refuse_problem(bool reads, struct sp_copy_file_problem problem);

poolError_t sp_transfer_now(const struct sp_copy *copy);
poolError_t sp_transfer_now_with(const struct sp_copy *copy,
                                 const struct poolCopySettings *settings);

// The bytes that the chunks of a copy have at most.
size_t sp_transfer_chunks(const struct poolCopySettings *settings);

// True where the device can wait for words.
bool sp_transfer_can_be_ahead(int device);

// Where the driver refuses a command, as it may for memory of a kind, and where there are no
// threads, the copy is made at once from its beginning: `transfer` receives null then.
poolError_t sp_transfer_ahead(const struct sp_copy *copy, struct sp_transfer **transfer);

// Tells if the host's part is done; and waits for that, until a point in time.
bool sp_transfer_is_done(struct sp_transfer *transfer);
bool sp_transfer_await(struct sp_transfer *transfer, uint64_t until);

// Tells what has gone wrong with its file, when the host's part is done.
poolError_t sp_transfer_problem(struct sp_transfer *transfer);

// An error has ended the copy: the host's memory isn't touched any more.
void sp_transfer_stop(struct sp_transfer *transfer, poolError_t error);

// The completion is gone.
void sp_transfer_drop(struct sp_transfer *transfer);

#endif
