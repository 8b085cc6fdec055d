#include "copy/shape.h"

// A part has this many slices, so that several threads are soon done with it, unless they would be
// so small that to hand one out costs much beside copying it, or larger than it needs to be.
enum { SLICES = 8 };
#define SLICE_LEAST ((size_t)64 << 10)
#define SLICE_MOST  ((size_t)512 << 10)

// Slices of a file begin at whole pages where the part does.
#define PAGE ((size_t)4 << 10)

static size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}

static size_t ceiling(size_t number, size_t unit) {
    return number / unit + (number % unit != 0);
}

struct sp_shape sp_shape_of(size_t width, size_t height, size_t host_pitch, size_t device_pitch,
                            size_t chunk) {
    if (height == 1 || (host_pitch == width && device_pitch == width)) {
        width *= height;
        height = 1;
    }
    struct sp_shape shape = {.width = width,
                             .height = height,
                             .host_pitch = host_pitch,
                             .device_pitch = device_pitch,
                             .columns = least(width, chunk),
                             .slice_least = SLICE_LEAST};
    shape.rows = width < chunk ? chunk / width : 1;
    shape.parts_of_row = ceiling(width, shape.columns);
    shape.parts = shape.parts_of_row * ceiling(height, shape.rows);
    return shape;
}

size_t sp_shape_bytes(const struct sp_shape *shape) {
    return shape->width * shape->height;
}

struct sp_piece sp_shape_part(const struct sp_shape *shape, size_t part) {
    size_t row = part / shape->parts_of_row * shape->rows;
    size_t column = part % shape->parts_of_row * shape->columns;
    return (struct sp_piece){.host = row * shape->host_pitch + column,
                             .device = row * shape->device_pitch + column,
                             .width = least(shape->columns, shape->width - column),
                             .height = least(shape->rows, shape->height - row)};
}

static size_t bytes_of_slice(const struct sp_shape *shape, const struct sp_piece *part) {
    size_t share = ceiling(part->width * part->height, SLICES * PAGE) * PAGE;
    return share < shape->slice_least ? shape->slice_least : least(share, SLICE_MOST);
}

static size_t rows_of_slice(const struct sp_shape *shape, const struct sp_piece *part) {
    size_t bytes = bytes_of_slice(shape, part);
    return part->width < bytes ? bytes / part->width : 1;
}

size_t sp_shape_slices(const struct sp_shape *shape, const struct sp_piece *part) {
    return part->height == 1 ? ceiling(part->width, bytes_of_slice(shape, part))
                             : ceiling(part->height, rows_of_slice(shape, part));
}

struct sp_piece sp_shape_slice(const struct sp_shape *shape, const struct sp_piece *part,
                               size_t slice) {
    struct sp_piece piece = *part;
    size_t bytes = bytes_of_slice(shape, part), rows = rows_of_slice(shape, part);
    if (part->height == 1) {
        piece.width = least(bytes, part->width - slice * bytes);
        piece.host += slice * bytes;
        piece.staging = slice * bytes;
    } else {
        piece.height = least(rows, part->height - slice * rows);
        piece.host += slice * rows * shape->host_pitch;
        piece.staging = slice * rows * part->width;
    }
    return piece;
}
