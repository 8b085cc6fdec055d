// Reads a picture in SVG as a viewer would: fails the test where it is not well-formed, and finds
// elements and what they draw.
#ifndef STREAMPOOL_TESTS_CLI_SVG_H
#define STREAMPOOL_TESTS_CLI_SVG_H

#include <stddef.h>

enum { SVG_ATTRIBUTES_MAX = 12 };

struct svg_element {
    char *name;
    size_t depth; // 0: the root
    size_t end;   // the index behind the last element in it
    char *names[SVG_ATTRIBUTES_MAX];
    char *values[SVG_ATTRIBUTES_MAX]; // with the entities resolved
    size_t attribute_count;
    char *text; // that stands directly in it, likewise
};

struct svg {
    struct svg_element *list; // in the order of the document
    size_t count;
};

struct svg *svg_parse(const char *text);
void svg_forget(struct svg *svg);

// The value of an attribute; null when there is none.
const char *svg_value(const struct svg_element *element, const char *name);

// The first element within another that has this value in an attribute, or null. To go on, pass the
// last one as `after`; null begins.
const struct svg_element *svg_find(const struct svg *svg, const struct svg_element *within,
                                   const struct svg_element *after, const char *attribute,
                                   const char *value);

// The first element within another with this text, or null.
const struct svg_element *svg_find_text(const struct svg *svg, const struct svg_element *within,
                                        const char *text);

// How far the paths, circles and lines within an element reach.
struct svg_extent {
    double left, right, top, bottom;
};
struct svg_extent svg_extent_of(const struct svg *svg, const struct svg_element *element);

#endif
