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
    "text{font:12px system-ui,'Segoe UI',Helvetica,Arial,sans-serif;fill:#222}"
    ".small{font-size:11px;fill:#555}.title{font-size:17px;font-weight:bold}"
    ".heading{font-size:14px;font-weight:bold}.right{text-anchor:end}.middle{text-anchor:middle}\n"
    ".paper{fill:#fff}.grid{stroke:#ddd}.frame{stroke:#888}.pass{stroke:#888;stroke-dasharray:2 3}"
    ".whisker{stroke:#222;stroke-width:1.2}\n"
    ".area,.bar{fill:currentColor}.sometimes{fill:currentColor;fill-opacity:.5}"
    ".band{fill:currentColor;fill-opacity:.3;stroke:currentColor;stroke-width:1.6}"
    ".line,.dashed{fill:none;stroke:currentColor;stroke-width:1.6;stroke-linejoin:round}"
    ".dashed{stroke-dasharray:7 4}.mark{fill:currentColor;stroke:#fff;stroke-width:.7}\n"
    ".c100{color:#a6b5c0}.c101{color:#e0bd6c}.c102{color:#7a2b66}"
    ".c0{color:#0072b2}.c1{color:#d55e00}.c2{color:#009e73}.c3{color:#b0508a}"
    ".c4{color:#a67c00}.c5{color:#56b4e9}.c6{color:#777}.c7{color:#5b3fa8}\n"
    "@media (prefers-color-scheme:dark){\n"
    "text{fill:#e4e4e4}.small{fill:#aaa}.whisker{stroke:#e4e4e4}"
    ".paper{fill:#181818}.grid{stroke:#383838}.mark{stroke:#181818}"
    ".c100{color:#4f5e69}.c101{color:#8a6d1f}.c102{color:#f0a8dc}"
    ".c0{color:#4ba3e3}.c1{color:#f0803c}.c2{color:#2fc298}.c3{color:#e48cc0}"
    ".c4{color:#dcb02c}.c5{color:#a5d8f7}.c6{color:#aaa}.c7{color:#a994ea}\n}\n";

struct sp_class sp_class(const char *what, size_t colour) {
    struct sp_class class;
    size_t index = colour < SP_COLOUR_LIVE ? colour % SP_COLOURS : colour;
    snprintf(class.text, sizeof class.text, "%s c%zu", what, index);
    return class;
}

// ---------------------------------------------------------------------------------------- the text

static void put_text(FILE *out, const char *text) {
    char *valid = sp_utf8_of(text);
    for (const char *c = valid ? valid : ""; *c; c++) {
        // U+FFFE and U+FFFF have three bytes in UTF-8 and no place in XML.
        bool noncharacter = c[0] == '\xef' && c[1] == '\xbf' && (c[2] & 0xfe) == 0xbe;
        if (*c == '&' || *c == '<' || *c == '>' || *c == '"')
            fprintf(out, "&#%d;", *c);
        else if ((unsigned char)*c < ' ' || noncharacter)
            fputs("\xef\xbf\xbd", out);
        else
            fputc(*c, out);
        c += noncharacter ? 2 : 0;
    }
    free(valid);
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

// The size is known at the end, so the frame is written around what is there.
bool sp_svg_end(struct sp_svg *svg, const char *path, double width, double height) {
    char *picture = NULL;
    bool whole = !ferror(svg->out);
    whole = fclose(svg->out) == 0 && whole &&
            asprintf(&picture,
                     "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
                     "viewBox=\"0 0 %.0f %.0f\">\n<style>\n%s</style>\n"
                     "<rect class=\"paper\" width=\"%.0f\" height=\"%.0f\"/>\n%s</svg>",
                     width, height, width, height, style, width, height, svg->text) >= 0;
    bool good =
        whole ? sp_output_write(path, picture) : sp_complain("out of host memory for %s", path);
    if (whole)
        free(picture);
    free(svg->text);
    return good;
}

// ------------------------------------------------------------------------------------ the elements

void sp_svg_text(struct sp_svg *svg, const char *class, double x, double y, const char *text) {
    fprintf(svg->out, "<text class=\"%s\" x=\"%.7g\" y=\"%.7g\">", class, tenths(x), tenths(y));
    put_text(svg->out, text);
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

void sp_svg_begin_path(struct sp_svg *svg, const char *class) {
    fprintf(svg->out, "<path class=\"%s\" d=\"", class);
    svg->is_on_path = false;
}

void sp_svg_go(struct sp_svg *svg, double x, double y) {
    x = tenths(x);
    y = tenths(y);
    if (!svg->is_on_path)
        fprintf(svg->out, "M%.7g %.7g", x, y);
    else if (x != svg->x && y != svg->y)
        fprintf(svg->out, "l%.7g %.7g", tenths(x - svg->x), tenths(y - svg->y));
    else if (x != svg->x)
        fprintf(svg->out, "h%.7g", tenths(x - svg->x));
    else if (y != svg->y)
        fprintf(svg->out, "v%.7g", tenths(y - svg->y));
    svg->x = x;
    svg->y = y;
    svg->is_on_path = true;
}

void sp_svg_step(struct sp_svg *svg, double x, double y) {
    if (tenths(y) == svg->y)
        return;
    sp_svg_go(svg, x, svg->y);
    sp_svg_go(svg, x, y);
}

void sp_svg_end_path(struct sp_svg *svg) {
    fputs("\"/>\n", svg->out);
}

void sp_svg_begin_group(struct sp_svg *svg, const char *title, ...) {
    va_list arguments;
    fputs("<g", svg->out);
    va_start(arguments, title);
    for (const char *name; (name = va_arg(arguments, const char *));) {
        fprintf(svg->out, " data-%s=\"", name);
        put_text(svg->out, va_arg(arguments, const char *));
        fputc('"', svg->out);
    }
    va_end(arguments);
    fputs(">\n", svg->out);
    if (!title)
        return;
    fputs("<title>", svg->out);
    put_text(svg->out, title);
    fputs("</title>\n", svg->out);
}

void sp_svg_end_group(struct sp_svg *svg) {
    fputs("</g>\n", svg->out);
}
