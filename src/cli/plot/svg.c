#include "cli/plot/svg.h"

#include "cli/program/complain.h"
#include "cli/program/output.h"
#include "cli/program/utf8.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

// The colours are of Okabe and Ito's palette, which also who doesn't see all colours can tell
// apart; and one of each two figures in a panel is an area, the other a line.
static const char style[] =
    "text{font:12px system-ui,'Segoe UI',Helvetica,Arial,sans-serif;fill:#222}\n"
    ".small{font-size:11px;fill:#555}\n"
    ".title{font-size:17px;font-weight:bold}\n"
    ".heading{font-size:14px;font-weight:bold}\n"
    ".right{text-anchor:end}\n"
    ".middle{text-anchor:middle}\n"
    ".paper{fill:#fff}\n"
    ".grid{stroke:#ddd}\n"
    ".frame{stroke:#888}\n"
    ".pass{stroke:#888;stroke-dasharray:2 3}\n"
    ".live{fill:#56b4e9;stroke:none}\n"
    ".sometimes{fill-opacity:.45}\n"
    ".reserved{fill:#d55e00;stroke:#d55e00;stroke-width:1.6}\n"
    ".pending{fill:#cc9a00;stroke:none}\n"
    ".pinned{fill:#7a2b66;stroke:#7a2b66;stroke-width:1.4}\n"
    ".band{fill-opacity:.3;stroke-linejoin:round}\n"
    ".on{fill:#222}\n"
    ".off{fill:none;stroke:#999}\n"
    ".bar{fill:#0072b2}\n"
    ".series{stroke-width:1.6}\n"
    ".first{fill:#0072b2;stroke:#0072b2}\n"
    ".second{fill:#d55e00;stroke:#d55e00}\n"
    ".third{fill:#009e73;stroke:#009e73}\n"
    ".fourth{fill:#c25e9b;stroke:#c25e9b}\n"
    ".fifth{fill:#b38600;stroke:#b38600}\n"
    ".sixth{fill:#777;stroke:#777}\n"
    "@media (prefers-color-scheme:dark){\n"
    "text,.on{fill:#e4e4e4}\n"
    ".small{fill:#aaa}\n"
    ".paper{fill:#181818}\n"
    ".grid{stroke:#383838}\n"
    ".live{fill:#3a8fc4}\n"
    ".reserved{fill:#f0803c;stroke:#f0803c}\n"
    ".pending{fill:#e6ac00}\n"
    ".pinned{fill:#f0a8dc;stroke:#f0a8dc}\n"
    ".bar{fill:#4a9fd8}\n"
    "}\n";

// ---------------------------------------------------------------------------------------- the text

// These have three bytes in UTF-8 and no place in XML.
static bool is_noncharacter(const char *c) {
    return c[0] == '\xef' && c[1] == '\xbf' && (c[2] == '\xbe' || c[2] == '\xbf');
}

static size_t put_character(FILE *out, const char *c) {
    static const char replacement[] = "\xef\xbf\xbd";
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
        fputs(replacement, out);
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

// In tenths, and without what follows the last digit that counts.
static void put_tenths(FILE *out, long tenths) {
    long size = labs(tenths);
    fprintf(out, "%s%ld", tenths < 0 ? "-" : "", size / 10);
    if (size % 10 != 0)
        fprintf(out, ".%ld", size % 10);
}

static void put_attribute(FILE *out, const char *name, double value) {
    fprintf(out, " %s=\"", name);
    put_tenths(out, (long)(value * 10 + (value < 0 ? -0.5 : 0.5)));
    fputc('"', out);
}

static void begin_element(FILE *out, const char *name, const char *class) {
    fprintf(out, "<%s class=\"%s\"", name, class);
}

// ------------------------------------------------------------------------------------- the picture

bool sp_svg_begin(struct sp_svg *svg, double width, double height, const char *title) {
    *svg = (struct sp_svg){.text = NULL};
    svg->out = open_memstream(&svg->text, &svg->size);
    if (!svg->out)
        return false;
    fprintf(svg->out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
            "viewBox=\"0 0 %.0f %.0f\" role=\"img\">\n",
            width, height, width, height);
    sp_svg_title(svg, "%s", title);
    fprintf(svg->out, "<style>\n%s</style>\n", style);
    sp_svg_box(svg, "paper", &(struct sp_box){0, 0, width, height});
    return true;
}

bool sp_svg_write(struct sp_svg *svg, const char *path) {
    fputs("</svg>", svg->out);
    bool whole = !ferror(svg->out);
    whole = fclose(svg->out) == 0 && whole;
    bool good =
        whole ? sp_output_write(path, svg->text) : sp_complain("out of host memory for %s", path);
    free(svg->text);
    return good;
}

void sp_svg_text(struct sp_svg *svg, const char *class, double x, double y, const char *format,
                 ...) {
    begin_element(svg->out, "text", class);
    put_attribute(svg->out, "x", x);
    put_attribute(svg->out, "y", y);
    fputc('>', svg->out);
    va_list arguments;
    va_start(arguments, format);
    put_formatted(svg->out, format, arguments);
    va_end(arguments);
    fputs("</text>\n", svg->out);
}

void sp_svg_line(struct sp_svg *svg, const char *class, double x1, double y1, double x2,
                 double y2) {
    begin_element(svg->out, "line", class);
    put_attribute(svg->out, "x1", x1);
    put_attribute(svg->out, "y1", y1);
    put_attribute(svg->out, "x2", x2);
    put_attribute(svg->out, "y2", y2);
    fputs("/>\n", svg->out);
}

void sp_svg_box(struct sp_svg *svg, const char *class, const struct sp_box *box) {
    begin_element(svg->out, "rect", class);
    put_attribute(svg->out, "x", box->left);
    put_attribute(svg->out, "y", box->top);
    put_attribute(svg->out, "width", box->width);
    put_attribute(svg->out, "height", box->height);
    fputs("/>\n", svg->out);
}

void sp_svg_circle(struct sp_svg *svg, const char *class, double x, double y, double radius) {
    begin_element(svg->out, "circle", class);
    put_attribute(svg->out, "cx", x);
    put_attribute(svg->out, "cy", y);
    put_attribute(svg->out, "r", radius);
    fputs("/>\n", svg->out);
}

void sp_svg_begin_group(struct sp_svg *svg, const char *class, const char *const attributes[][2]) {
    begin_element(svg->out, "g", class);
    for (size_t i = 0; attributes[i][0]; i++) {
        fprintf(svg->out, " data-%s=\"", attributes[i][0]);
        put_text(svg->out, attributes[i][1]);
        fputc('"', svg->out);
    }
    fputs(">\n", svg->out);
}

void sp_svg_end_group(struct sp_svg *svg) {
    fputs("</g>\n", svg->out);
}

void sp_svg_title(struct sp_svg *svg, const char *format, ...) {
    fputs("<title>", svg->out);
    va_list arguments;
    va_start(arguments, format);
    put_formatted(svg->out, format, arguments);
    va_end(arguments);
    fputs("</title>\n", svg->out);
}

// ---------------------------------------------------------------------------------------- the path

void sp_svg_begin_path(struct sp_svg *svg, const char *class, struct sp_svg_path *path, long x,
                       long y) {
    *path = (struct sp_svg_path){x, y};
    begin_element(svg->out, "path", class);
    fputs(" d=\"M", svg->out);
    put_tenths(svg->out, x);
    fputc(' ', svg->out);
    put_tenths(svg->out, y);
}

static void step_by(FILE *out, char command, long tenths) {
    if (tenths == 0)
        return;
    fputc(command, out);
    put_tenths(out, tenths);
}

void sp_svg_step(struct sp_svg *svg, struct sp_svg_path *path, long x, long y) {
    step_by(svg->out, 'h', x - path->x);
    step_by(svg->out, 'v', y - path->y);
    *path = (struct sp_svg_path){x, y};
}

void sp_svg_end_path(struct sp_svg *svg) {
    fputs("z\"/>\n", svg->out);
}
