// Copies between files and a device by cuFile, NVIDIA's library for GPUDirect Storage: the disk
// reads and writes the device's memory by itself, and the bytes don't pass the host's.
//
// The library libcufile.so.0 is loaded at the first copy that it may make, and only where the
// system has GPUDirect Storage's kernel module: without it cuFile copies by way of the host, as
// chunks do. The variable STREAMPOOL_CUFILE, which is read then, may say otherwise
// (docs/copies.md).
//
// cuFile gets whole pages of large copies, and nothing of what it does is needed: all that it
// leaves is copied by way of chunks.
#ifndef STREAMPOOL_COPY_CUFILE_H
#define STREAMPOOL_COPY_CUFILE_H

#include "copy/transfer.h"

// Copies what cuFile can of a copy of a file, from the first byte on, and tells how many bytes that
// were, also after an error. The stream is waited for before the first one, if there is one. Any
// failure of cuFile leaves bytes; an error is the driver's.
poolError_t sp_cufile_copy(const struct sp_copy *copy, size_t *done);

#endif
