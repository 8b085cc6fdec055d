// The bytes of a file: unpacked where it is gzipped, else as they are. Which of both its first two
// bytes tell.
//
// As the format says, gzip streams that stand one behind the other are one file. Not thread safe.
#ifndef STREAMPOOL_CLI_UNPACK_H
#define STREAMPOOL_CLI_UNPACK_H

#include <stddef.h>

struct sp_unpack;

// Takes the descriptor over, unless it returns null: then there is no host memory.
struct sp_unpack *sp_unpack_open(int descriptor);
void sp_unpack_close(struct sp_unpack *unpack);

// Fills the buffer as far as the file goes and returns how many bytes came; fewer than `capacity`
// only at the end. `trouble` is why that came before its time, in words, or null; then what came
// before it is in the buffer.
size_t sp_unpack_read(struct sp_unpack *unpack, char *buffer, size_t capacity,
                      const char **trouble);

#endif
