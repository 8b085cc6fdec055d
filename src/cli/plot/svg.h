// A picture in SVG 1.1, which needs nothing but a viewer: one text with a style sheet for light and
// for dark viewers.
//
// Coordinates are pixels from the top left. Where host memory runs out in between, sp_svg_end()
// says so.
#ifndef STREAMPOOL_CLI_SVG_H
#define STREAMPOOL_CLI_SVG_H

#include <stdbool.h>
#include <stdio.h>

struct sp_svg {
    FILE *out; // what will stand within the picture
    char *text;
    size_t size;
    long x, y; // where the path has come to, in tenths of a pixel
    bool is_on_path;
};

struct sp_box {
    double left, top, width, height;
};

// Begins a picture. False without host memory, which it says on standard error for the file that is
// named; then there is nothing to end.
bool sp_svg_begin(struct sp_svg *svg, const char *path);

// Ends the picture, and writes it to the file as sp_output_write() does: this size, on paper, with
// a title for who can't see it. False when that fails; standard error says why.
bool sp_svg_end(struct sp_svg *svg, const char *path, double width, double height,
                const char *title);

// Write an element of a class of the style sheet. Texts may be of any bytes: what XML can't have
// becomes U+FFFD.
void sp_svg_text(struct sp_svg *svg, const char *class, double x, double y, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
void sp_svg_line(struct sp_svg *svg, const char *class, double x1, double y1, double x2, double y2);
void sp_svg_box(struct sp_svg *svg, const char *class, const struct sp_box *box);
void sp_svg_circle(struct sp_svg *svg, const char *class, double x, double y, double radius);

// Write a path, point by point: straight to a point, or across and then up or down to it. Points
// are rounded to tenths of a pixel, so that the steps between them add up exactly.
void sp_svg_begin_path(struct sp_svg *svg, const char *class);
void sp_svg_go(struct sp_svg *svg, double x, double y);
void sp_svg_step(struct sp_svg *svg, double x, double y);
void sp_svg_end_path(struct sp_svg *svg);

// Write what elements have in common, and what a viewer shows of them under the pointer. The group
// has attributes data-..., each a pair of name and text, up to a null name.
void sp_svg_begin_group(struct sp_svg *svg, const char *class, ...) __attribute__((sentinel));
void sp_svg_end_group(struct sp_svg *svg);
void sp_svg_title(struct sp_svg *svg, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
