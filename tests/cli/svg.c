#include "svg.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH_MAX = 32 };

struct reader {
    const char *at;
    struct svg *svg;
    size_t open[DEPTH_MAX]; // the elements that have begun and not ended
    size_t depth;
};

static void require(const struct reader *reader, bool holds, const char *what) {
    if (!holds)
        fail_msg("%s at: %.60s", what, reader->at);
}

// ------------------------------------------------------------------------------------------- texts

// XML 1.0 has tab, newline, carriage return, and what follows the blank.
static bool is_character(unsigned char c) {
    return c >= ' ' || c == '\t' || c == '\n' || c == '\r';
}

static char entity_at(const struct reader *reader, size_t *length) {
    int code = 0, read = 0;
    require(reader, sscanf(reader->at, "&#%d;%n", &code, &read) == 1 && read > 0, "no entity");
    *length = (size_t)read;
    return (char)code;
}

// Appends what stands up to one of these characters.
static char *read_text(struct reader *reader, char *text, const char *ends) {
    size_t length = text ? strlen(text) : 0;
    text = realloc(text, length + strlen(reader->at) + 1);
    assert_non_null(text);
    while (*reader->at && !strchr(ends, *reader->at)) {
        size_t step = 1;
        char c = *reader->at == '&' ? entity_at(reader, &step) : *reader->at;
        require(reader, is_character((unsigned char)c) && *reader->at != '<', "bad character");
        text[length++] = c;
        reader->at += step;
    }
    text[length] = '\0';
    text = realloc(text, length + 1);
    assert_non_null(text);
    return text;
}

static char *read_name(struct reader *reader) {
    size_t length = 0;
    while (isalnum((unsigned char)reader->at[length]) || reader->at[length] == '-')
        length++;
    require(reader, length > 0, "no name");
    char *name = strndup(reader->at, length);
    assert_non_null(name);
    reader->at += length;
    return name;
}

static void skip_blanks(struct reader *reader) {
    while (isspace((unsigned char)*reader->at))
        reader->at++;
}

static void read_mark(struct reader *reader, const char *text) {
    require(reader, strncmp(reader->at, text, strlen(text)) == 0, text);
    reader->at += strlen(text);
}

// ---------------------------------------------------------------------------------------- elements

static void read_attribute(struct reader *reader, struct svg_element *element) {
    size_t i = element->attribute_count;
    require(reader, i < SVG_ATTRIBUTES_MAX, "too many attributes");
    element->names[i] = read_name(reader);
    require(reader, !svg_value(element, element->names[i]), "an attribute twice");
    read_mark(reader, "=\"");
    element->values[i] = read_text(reader, NULL, "\"");
    read_mark(reader, "\"");
    element->attribute_count++;
}

static void begin_element(struct reader *reader) {
    struct svg *svg = reader->svg;
    svg->list = realloc(svg->list, (svg->count + 1) * sizeof *svg->list);
    assert_non_null(svg->list);
    require(reader, reader->depth < DEPTH_MAX && (reader->depth > 0 || svg->count == 0), "depth");
    struct svg_element *element = &svg->list[svg->count];
    *element = (struct svg_element){.depth = reader->depth, .text = strdup("")};
    read_mark(reader, "<");
    element->name = read_name(reader);
    for (skip_blanks(reader); *reader->at != '>' && *reader->at != '/'; skip_blanks(reader))
        read_attribute(reader, element);
    element->end = ++svg->count;
    if (*reader->at == '/')
        read_mark(reader, "/");
    else
        reader->open[reader->depth++] = svg->count - 1;
    read_mark(reader, ">");
}

static void end_element(struct reader *reader) {
    require(reader, reader->depth > 0, "nothing to end");
    struct svg_element *element = &reader->svg->list[reader->open[--reader->depth]];
    read_mark(reader, "</");
    read_mark(reader, element->name);
    read_mark(reader, ">");
    element->end = reader->svg->count;
}

static void read_within(struct reader *reader) {
    struct svg_element *element = &reader->svg->list[reader->open[reader->depth - 1]];
    element->text = read_text(reader, element->text, "<");
    require(reader, *reader->at == '<', "an element without an end");
}

struct svg *svg_parse(const char *text) {
    struct reader reader = {.at = text, .svg = calloc(1, sizeof(struct svg))};
    assert_non_null(reader.svg);
    begin_element(&reader);
    while (reader.depth > 0) {
        read_within(&reader);
        if (reader.at[1] == '/')
            end_element(&reader);
        else
            begin_element(&reader);
    }
    skip_blanks(&reader);
    require(&reader, *reader.at == '\0', "something behind the root");
    assert_string_equal(reader.svg->list[0].name, "svg");
    assert_string_equal(svg_value(&reader.svg->list[0], "xmlns"), "http://www.w3.org/2000/svg");
    return reader.svg;
}

void svg_forget(struct svg *svg) {
    for (size_t i = 0; i < svg->count; i++) {
        struct svg_element *element = &svg->list[i];
        free(element->name);
        free(element->text);
        for (size_t a = 0; a < element->attribute_count; a++) {
            free(element->names[a]);
            free(element->values[a]);
        }
    }
    free(svg->list);
    free(svg);
}

// ----------------------------------------------------------------------------------- what there is

const char *svg_value(const struct svg_element *element, const char *name) {
    for (size_t i = 0; i < element->attribute_count; i++)
        if (strcmp(element->names[i], name) == 0)
            return element->values[i];
    return NULL;
}

const struct svg_element *svg_find(const struct svg *svg, const struct svg_element *within,
                                   const struct svg_element *after, const char *attribute,
                                   const char *value) {
    const struct svg_element *end = svg->list + within->end;
    for (const struct svg_element *e = after ? after + 1 : within; e < end; e++) {
        const char *found = svg_value(e, attribute);
        if (found && strcmp(found, value) == 0)
            return e;
    }
    return NULL;
}

const struct svg_element *svg_find_text(const struct svg *svg, const struct svg_element *within,
                                        const char *text) {
    for (const struct svg_element *e = within; e < svg->list + within->end; e++)
        if (strcmp(e->text, text) == 0)
            return e;
    return NULL;
}

// ------------------------------------------------------------------------------------------
// extents

static void reach(struct svg_extent *extent, double x, double y) {
    extent->left = fmin(extent->left, x);
    extent->right = fmax(extent->right, x);
    extent->top = fmin(extent->top, y);
    extent->bottom = fmax(extent->bottom, y);
}

// Paths consist of one M, and of steps h, v and l.
static void reach_path(struct svg_extent *extent, const char *d) {
    char *at;
    assert_int_equal(*d, 'M');
    double x = strtod(d + 1, &at), y = strtod(at, &at);
    reach(extent, x, y);
    while (*at == 'h' || *at == 'v' || *at == 'l') {
        char command = *at++;
        x += command != 'v' ? strtod(at, &at) : 0;
        y += command != 'h' ? strtod(at, &at) : 0;
        reach(extent, x, y);
    }
    assert_string_equal(at, "");
}

struct svg_extent svg_extent_of(const struct svg *svg, const struct svg_element *element) {
    struct svg_extent extent = {INFINITY, -INFINITY, INFINITY, -INFINITY};
    for (const struct svg_element *e = element; e < svg->list + element->end; e++) {
        if (strcmp(e->name, "path") == 0)
            reach_path(&extent, svg_value(e, "d"));
        if (strcmp(e->name, "circle") == 0)
            reach(&extent, atof(svg_value(e, "cx")), atof(svg_value(e, "cy")));
        if (strcmp(e->name, "line") == 0) {
            reach(&extent, atof(svg_value(e, "x1")), atof(svg_value(e, "y1")));
            reach(&extent, atof(svg_value(e, "x2")), atof(svg_value(e, "y2")));
        }
    }
    return extent;
}
