#include "cli/plot/svg.h"

#include "cli/program/complain.h"
#include "cli/program/output.h"
#include "cli/program/utf8.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

// The colours c0 to c7 are of Okabe and Ito's palette, which also who doesn't see all colours can
// tell apart. A class beside the colour says what is drawn in it.
static const char style[] =
    "text{font:12px system-ui,'Segoe UI',Helvetica,Arial,sans-serif;fill:#222}\n"
    ".small{font-size:11px;fill:#555}\n"
    ".title{font-size:17px;font-weight:bold}\n"
    ".heading{font-size:14px;font-weight:bold}\n"
    ".right{text-anchor:end}\n"
    ".middle{text-anchor:middle}\n"
    ".paper{fill:#fff}\n"
    ".grid{stroke:#ddd}\n"
    ".frame,.off{stroke:#888;fill:none}\n"
    ".pass{stroke:#888;stroke-dasharray:2 3}\n"
    ".on{fill:#222}\n"
    ".whisker{stroke:#222;stroke-width:1.2}\n"
    ".area,.bar{fill:currentColor}\n"
    ".sometimes{fill-opacity:.5}\n"
    ".band{fill:currentColor;fill-opacity:.3;stroke:currentColor;stroke-width:1.6}\n"
    ".line,.dashed{fill:none;stroke:currentColor;stroke-width:1.6;stroke-linejoin:round}\n"
    ".dashed{stroke-dasharray:7 4}\n"
    ".point{fill:currentColor}\n"
    ".mark{fill:currentColor;stroke:#fff}\n"
    ".live{color:#a6b5c0}\n"
    ".pending{color:#e0bd6c}\n"
    ".pinned{color:#7a2b66}\n"
    ".c0{color:#0072b2}\n"
    ".c1{color:#d55e00}\n"
    ".c2{color:#009e73}\n"
    ".c3{color:#b0508a}\n"
    ".c4{color:#a67c00}\n"
    ".c5{color:#56b4e9}\n"
    ".c6{color:#777}\n"
    ".c7{color:#5b3fa8}\n"
    "@media (prefers-color-scheme:dark){\n"
    "text,.on{fill:#e4e4e4}\n"
    ".small{fill:#aaa}\n"
    ".whisker{stroke:#e4e4e4}\n"
    ".paper{fill:#181818}\n"
    ".grid{stroke:#383838}\n"
    ".mark{stroke:#181818}\n"
    ".live{color:#4f5e69}\n"
    ".pending{color:#8a6d1f}\n"
    ".pinned{color:#f0a8dc}\n"
    ".c0{color:#4ba3e3}\n"
    ".c1{color:#f0803c}\n"
    ".c2{color:#2fc298}\n"
    ".c3{color:#e48cc0}\n"
    ".c4{color:#dcb02c}\n"
    ".c5{color:#a5d8f7}\n"
    ".c6{color:#aaa}\n"
    ".c7{color:#a994ea}\n"
    "}\n";

// ---------------------------------------------------------------------------------------- the text

// These have three bytes in UTF-8 and no place in XML.
static bool is_noncharacter(const char *c) {
    return c[0] == '\xef' && c[1] == '\xbf' && (c[2] == '\xbe' || c[2] == '\xbf');
}

static size_t put_character(FILE *out, const char *c) {
    bool noncharacter = is_noncharacter(c);
    if (*c == '&')
        fputs("&amp;", out);
    else if (*c == '<')
        fputs("&lt;", out);
    else if (*c == '>')
        fputs("&gt;", out);
    else if (*c == '"')
        fputs("&quot;", out);
    else if ((unsigned char)*c < ' ' || noncharacter)
        fputs("\xef\xbf\xbd", out);
    else
        fputc(*c, out);
    return noncharacter ? 3 : 1;
}

static void put_text(FILE *out, const char *text) {
    char *valid = sp_utf8_of(text);
    const char *c = valid ? valid : "";
    while (*c)
        c += put_character(out, c);
    free(valid);
}

static void put_formatted(FILE *out, const char *format, va_list arguments) {
    char *text;
    if (vasprintf(&text, format, arguments) < 0)
        return;
    put_text(out, text);
    free(text);
}

// "%.7g" leaves out what follows the last digit that counts.
static double tenths(double pixels) {
    return round(pixels * 10) / 10;
}

// ------------------------------------------------------------------------------------- the picture

bool sp_svg_begin(struct sp_svg *svg, const char *path) {
    *svg = (struct sp_svg){.text = NULL};
    svg->out = open_memstream(&svg->text, &svg->size);
    return svg->out || sp_complain("out of host memory for %s", path);
}

// The picture around what stands within it; null without host memory.
static char *frame(const struct sp_svg *svg, double width, double height, const char *title) {
    char *whole;
    int length =
        asprintf(&whole,
                 "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
                 "viewBox=\"0 0 %.0f %.0f\" role=\"img\">\n<title>%s</title>\n"
                 "<style>\n%s</style>\n<rect class=\"paper\" width=\"%.0f\" height=\"%.0f\"/>\n"
                 "%s</svg>",
                 width, height, width, height, title, style, width, height, svg->text);
    return length < 0 ? NULL : whole;
}

bool sp_svg_end(struct sp_svg *svg, const char *path, double width, double height,
                const char *title) {
    bool whole = !ferror(svg->out);
    whole = fclose(svg->out) == 0 && whole;
    char *picture = whole ? frame(svg, width, height, title) : NULL;
    bool good =
        picture ? sp_output_write(path, picture) : sp_complain("out of host memory for %s", path);
    free(picture);
    free(svg->text);
    return good;
}

// ------------------------------------------------------------------------------------ the elements

void sp_svg_text(struct sp_svg *svg, const char *class, double x, double y, const char *format,
                 ...) {
    va_list arguments;
    fprintf(svg->out, "<text class=\"%s\" x=\"%.7g\" y=\"%.7g\">", class, tenths(x), tenths(y));
    va_start(arguments, format);
    put_formatted(svg->out, format, arguments);
    va_end(arguments);
    fputs("</text>\n", svg->out);
}

void sp_svg_line(struct sp_svg *svg, const char *class, double x1, double y1, double x2,
                 double y2) {
    fprintf(svg->out, "<line class=\"%s\" x1=\"%.7g\" y1=\"%.7g\" x2=\"%.7g\" y2=\"%.7g\"/>\n",
            class, tenths(x1), tenths(y1), tenths(x2), tenths(y2));
}

void sp_svg_box(struct sp_svg *svg, const char *class, const struct sp_box *box) {
    fprintf(svg->out, "<rect class=\"%s\" x=\"%.7g\" y=\"%.7g\" width=\"%.7g\" height=\"%.7g\"/>\n",
            class, tenths(box->left), tenths(box->top), tenths(box->width), tenths(box->height));
}

void sp_svg_circle(struct sp_svg *svg, const char *class, double x, double y, double radius) {
    fprintf(svg->out, "<circle class=\"%s\" cx=\"%.7g\" cy=\"%.7g\" r=\"%.7g\"/>\n", class,
            tenths(x), tenths(y), tenths(radius));
}

void sp_svg_begin_path(struct sp_svg *svg, const char *class) {
    fprintf(svg->out, "<path class=\"%s\" d=\"", class);
    svg->is_on_path = false;
}

void sp_svg_go(struct sp_svg *svg, double x, double y) {
    long to_x = lround(x * 10), to_y = lround(y * 10);
    double across = (double)(to_x - svg->x) / 10, down = (double)(to_y - svg->y) / 10;
    if (!svg->is_on_path)
        fprintf(svg->out, "M%.7g %.7g", (double)to_x / 10, (double)to_y / 10);
    else if (across != 0 && down != 0)
        fprintf(svg->out, "l%.7g %.7g", across, down);
    else if (across != 0)
        fprintf(svg->out, "h%.7g", across);
    else if (down != 0)
        fprintf(svg->out, "v%.7g", down);
    svg->x = to_x;
    svg->y = to_y;
    svg->is_on_path = true;
}

void sp_svg_step(struct sp_svg *svg, double x, double y) {
    sp_svg_go(svg, x, (double)svg->y / 10);
    sp_svg_go(svg, x, y);
}

void sp_svg_end_path(struct sp_svg *svg) {
    fputs("\"/>\n", svg->out);
}

void sp_svg_begin_group(struct sp_svg *svg, const char *class, ...) {
    va_list arguments;
    fprintf(svg->out, "<g class=\"%s\"", class);
    va_start(arguments, class);
    for (const char *name; (name = va_arg(arguments, const char *));) {
        fprintf(svg->out, " data-%s=\"", name);
        put_text(svg->out, va_arg(arguments, const char *));
        fputc('"', svg->out);
    }
    va_end(arguments);
    fputs(">\n", svg->out);
}

void sp_svg_end_group(struct sp_svg *svg) {
    fputs("</g>\n", svg->out);
}

void sp_svg_title(struct sp_svg *svg, const char *format, ...) {
    va_list arguments;
    fputs("<title>", svg->out);
    va_start(arguments, format);
    put_formatted(svg->out, format, arguments);
    va_end(arguments);
    fputs("</title>\n", svg->out);
}
