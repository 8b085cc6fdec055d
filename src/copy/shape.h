// The shape of a copy: rows of bytes, cut into *parts*, each of which fills at most one chunk of
// staging memory, and the parts into *slices*, each of which one thread copies.
//
// A part is a piece of one row, or some whole rows, which lie in the chunk without gaps. So is a
// slice of a part.
#ifndef STREAMPOOL_COPY_SHAPE_H
#define STREAMPOOL_COPY_SHAPE_H

#include <stdbool.h>
#include <stddef.h>

struct sp_shape {
    size_t width, height;            // bytes of a row, and rows; neither is 0
    size_t host_pitch, device_pitch; // bytes from a row to the next one
    size_t columns, rows;            // of a part: one of both is that of all
    size_t parts_of_row, parts;
    size_t slice_least; // bytes that a slice has at least, where its part has them
};

// Rows of bytes at one place: the first one's distance from the beginning, and their size.
struct sp_piece {
    size_t host, device, staging;
    size_t width, height;
};

// Cuts a copy into parts of at most so many bytes. Rows without gaps become one.
struct sp_shape sp_shape_of(size_t width, size_t height, size_t host_pitch, size_t device_pitch,
                            size_t chunk);

size_t sp_shape_bytes(const struct sp_shape *shape);

struct sp_piece sp_shape_part(const struct sp_shape *shape, size_t part);

// How many slices a part has, and each of them, with its place in the part's chunk.
size_t sp_shape_slices(const struct sp_shape *shape, const struct sp_piece *part);
struct sp_piece sp_shape_slice(const struct sp_shape *shape, const struct sp_piece *part,
                               size_t slice);

#endif
