// A picture in SVG 1.1, which needs nothing but a viewer: one text with a style sheet for light and
// for dark viewers.
//
// Coordinates are pixels from the top left. Where host memory runs out in between, sp_svg_write()
// says so.
#ifndef STREAMPOOL_CLI_SVG_H
#define STREAMPOOL_CLI_SVG_H

#include <stdbool.h>
#include <stdio.h>

struct sp_svg {
    FILE *out;
    char *text;
    size_t size;
};

struct sp_box {
    double left, top, width, height;
};

// Begins a picture of this size, on paper. The title is for who can't see it. False without host
// memory; then there is nothing to end.
bool sp_svg_begin(struct sp_svg *svg, double width, double height, const char *title);

// Ends the picture, and writes it to a file as sp_output_write() does. False when that fails;
// standard error says why.
bool sp_svg_write(struct sp_svg *svg, const char *path);

// Write an element of a class of the style sheet. Texts may be of any bytes: what XML can't have
// becomes U+FFFD.
void sp_svg_text(struct sp_svg *svg, const char *class, double x, double y, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
void sp_svg_line(struct sp_svg *svg, const char *class, double x1, double y1, double x2, double y2);
void sp_svg_box(struct sp_svg *svg, const char *class, const struct sp_box *box);
void sp_svg_circle(struct sp_svg *svg, const char *class, double x, double y, double radius);

// Write what elements have in common, and what a viewer shows of them under the pointer. The group
// has attributes data-..., each a pair of name and text, up to a null name.
void sp_svg_begin_group(struct sp_svg *svg, const char *class, const char *const attributes[][2]);
void sp_svg_end_group(struct sp_svg *svg);
void sp_svg_title(struct sp_svg *svg, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

// Write a path of horizontal and vertical lines. Its points are in tenths of a pixel, so that the
// steps between them add up exactly.
struct sp_svg_path {
    long x, y; // where it has come to
};
void sp_svg_begin_path(struct sp_svg *svg, const char *class, struct sp_svg_path *path, long x,
                       long y);
void sp_svg_step(struct sp_svg *svg, struct sp_svg_path *path, long x, long y);
void sp_svg_end_path(struct sp_svg *svg);

#endif
