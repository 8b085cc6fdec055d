// Copies and sets: which bytes they move, from where to where, when their source is read, and how
// long they take.
//
// A copy is a block of rows (width, height, depth) between two places. A place has a kind, which
// says who reaches its bytes: device memory, pinned host memory (which a device reaches, too), or
// pageable host memory (which the driver reads and writes itself). Managed memory counts as pinned,
// and so does memory of the host that is mapped where the device has access, or else as pageable.
// An H200 waits in an asynchronous call for the turn of a large copy from managed or pageable
// memory, on which a program can't count.
//
// When the call returns, as CUDA documents it ("API synchronization behavior"):
//
//                            synchronous                        asynchronous
//   pageable to device       the source is taken, larger ones   the source is taken
//                            than 64 KiB after the stream's
//                            work; the copy is complete where
//                            nothing was in its way
//   pinned to device         the copy is complete               nothing has happened
//   device to pageable       the copy is complete               the copy is complete
//   device to pinned         the copy is complete               nothing has happened
//   device to device         nothing has happened               nothing has happened
//   host to host             the copy is complete               the copy is complete
#ifndef STREAMPOOL_SIMCUDA_WORK_COPY_H
#define STREAMPOOL_SIMCUDA_WORK_COPY_H

#include <stddef.h>
#include <stdint.h>

#include "driver/abi.h"

struct sim_context;

// A caller says what an address is: a device address (of pinned memory, too), host memory, or
// either.
enum sim_operand { SIM_OPERAND_DEVICE, SIM_OPERAND_HOST, SIM_OPERAND_ANY };

enum sim_place_kind { SIM_PLACE_DEVICE, SIM_PLACE_PINNED, SIM_PLACE_PAGEABLE, SIM_PLACE_VALUE };

// Row y of layer z begins at address + z * slice + y * pitch.
struct sim_place {
    enum sim_operand operand;
    uint64_t address; // VALUE: what every element is set to
    uint64_t pitch;   // VALUE: the bytes of an element
    uint64_t slice;
    enum sim_place_kind kind; // found by the calls below, as is the device
    int device;
};

// When the source is read, if it is host memory.
enum sim_source {
    SIM_SOURCE_USUAL,    // as the table above says
    SIM_SOURCE_AT_CALL,  // before the call returns
    SIM_SOURCE_IN_ORDER, // when the stream comes to the copy, pageable or not
};

struct sim_copy {
    struct sim_place to;
    struct sim_place from;
    uint64_t width; // bytes
    uint64_t height;
    uint64_t depth;
    enum sim_source source;
};

// Describes a copy of bytes in one row.
struct sim_copy sim_copy_row(enum sim_operand to_operand, uint64_t to,
                             enum sim_operand from_operand, uint64_t from, uint64_t size);

// These add copies, one or more, to a stream as one piece of work, and wait as the table says.
// INVALID_VALUE for a device address where nothing is, which is reported, and for a host address
// that is null or a device's.
CUresult sim_copy_async(CUstream stream, const struct sim_copy *copies, size_t count);
// In the legacy stream of the current context.
CUresult sim_copy_sync(const struct sim_copy *copy);

// A copy between the memory of two contexts, serialised with all work of theirs as well. Else as
// sim_copy_sync.
CUresult sim_copy_peer(const struct sim_copy *copy, struct sim_context *first,
                       struct sim_context *second);

// Sets: `elements` in a row, of 1, 2 or 4 bytes each. INVALID_VALUE where the address or pitch is
// no multiple of that. A synchronous set waits only for one of host memory.
struct sim_copy sim_copy_set(uint64_t address, uint64_t pitch, uint32_t value, unsigned size,
                             uint64_t elements, uint64_t height);

#endif
