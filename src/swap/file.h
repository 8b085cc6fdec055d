// Files without a name, for contents that the host's memory has no room for. Such a file ends with
// its descriptor, so it ends with the process, however that ends.
#ifndef STREAMPOOL_SWAP_FILE_H
#define STREAMPOOL_SWAP_FILE_H

#include <stdint.h>
#include <streampool/streampool.h>

// The folder that the program's environment names, or null.
const char *sp_swap_file_folder(void);

// Makes a file with room for so many bytes.
poolError_t sp_swap_file_open(const char *folder, uint64_t bytes, int *fd);

// Gives it back, with its room, though a forked child may have the descriptor too.
void sp_swap_file_close(int fd);

#endif
