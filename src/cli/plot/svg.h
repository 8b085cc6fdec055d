// A picture in SVG 1.1, which needs nothing but a viewer: one text with a style sheet for light and
// for dark viewers. Coordinates are pixels from the top left. Where host memory runs out in
// between, sp_svg_end() says so.
#ifndef STREAMPOOL_CLI_SVG_H
#define STREAMPOOL_CLI_SVG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct sp_svg {
    FILE *out; // what will stand within the picture
    char *text;
    size_t size;
    double x, y; // where the path has come to
    bool is_on_path;
};

struct sp_box {
    double left, top, width, height;
};

// Begins a picture, and ends it: it is written to the file as sp_output_write() does. False when
// that fails, or without host memory; standard error says why. If the begin fails there is nothing
// to end.
bool sp_svg_begin(struct sp_svg *svg, const char *path);
bool sp_svg_end(struct sp_svg *svg, const char *path, double width, double height);

// Returns a class of the style sheet: what is drawn, in one of the colours. From 8 on a colour is
// that of the colour before by 8, but for those that have a name.
enum sp_colour { SP_COLOURS = 8, SP_COLOUR_LIVE = 100, SP_COLOUR_PENDING, SP_COLOUR_PINNED };
struct sp_class {
    char text[32];
};
struct sp_class sp_class(const char *what, size_t colour);

// Write an element of a class. Texts may be of any bytes: what XML can't have becomes U+FFFD.
void sp_svg_text(struct sp_svg *svg, const char *class, double x, double y, const char *text);
void sp_svg_line(struct sp_svg *svg, const char *class, double x1, double y1, double x2, double y2);
void sp_svg_box(struct sp_svg *svg, const char *class, const struct sp_box *box);

// Write a path, point by point: straight to a point, or, only where y changes, across and then up
// or down to it. Points are rounded to tenths of a pixel, so that the steps between them add up.
void sp_svg_begin_path(struct sp_svg *svg, const char *class);
void sp_svg_go(struct sp_svg *svg, double x, double y);
void sp_svg_step(struct sp_svg *svg, double x, double y);
void sp_svg_end_path(struct sp_svg *svg);

// Write what elements have in common: attributes data-..., each a pair of name and text, up to
// SP_SVG_END. A viewer shows the title under the pointer, if it isn't null.
#define SP_SVG_END ((const char *)NULL)
void sp_svg_begin_group(struct sp_svg *svg, const char *title, ...) __attribute__((sentinel));
void sp_svg_end_group(struct sp_svg *svg);

#endif
