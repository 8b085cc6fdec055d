// Findings as JSON:
//
//   {"mistakes": their number, "counts": {kind: number},
//    "findings": a list of
//        {"kind", "text", "count": how often it was found,
//         "sides": a list of {"name": of the work or call, "does", "stream" or null, "thread",
//                             "thread_name" or null, "address": as text, "size", "stack": a list}}}
//
// Names come from the program and may be any bytes: one that is no UTF-8 is written as the
// character with its number.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "simcuda/report/finding.h"

// Returns the length of the UTF-8 character at the text; 0 where none is. As in RFC 3629: no longer
// form than needed, no surrogates, nothing above U+10FFFF.
static size_t character_length(const unsigned char *text) {
    unsigned char first = text[0], low = 0x80, high = 0xBF;
    size_t length = first < 0x80                    ? 1
                    : first >= 0xC2 && first < 0xE0 ? 2
                    : first >= 0xE0 && first < 0xF0 ? 3
                    : first >= 0xF0 && first < 0xF5 ? 4
                                                    : 0;
    low = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : low;
    high = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : high;
    for (size_t i = 1; i < length; i++) {
        if (text[i] < low || text[i] > high)
            return 0;
        low = 0x80, high = 0xBF;
    }
    return length;
}

static void write_text(FILE *out, const char *text) {
    if (!text) {
        fputs("null", out);
        return;
    }
    fputc('"', out);
    for (const unsigned char *at = (const unsigned char *)text; *at;) {
        size_t length = character_length(at);
        if (length == 0 || *at < 0x20 || *at == 0x7F)
            fprintf(out, "\\u%04x", *at);
        else if (*at == '"' || *at == '\\')
            fprintf(out, "\\%c", *at);
        else
            fwrite(at, 1, length, out);
        at += length ? length : 1;
    }
    fputc('"', out);
}

static void write_named(FILE *out, const char *key, const char *text) {
    fprintf(out, "\"%s\": ", key);
    write_text(out, text);
    fputs(", ", out);
}

static void write_side(FILE *out, const struct sim_finding_side *side) {
    fputc('{', out);
    write_named(out, "name", side->name);
    write_named(out, "does", side->does);
    write_named(out, "stream", side->stream);
    fprintf(out, "\"thread\": %u, ", side->thread);
    write_named(out, "thread_name", side->thread_name);
    fprintf(out, "\"address\": \"0x%" PRIx64 "\", \"size\": %" PRIu64 ", \"stack\": [",
            side->address, side->size);
    for (size_t i = 0; i < side->frame_count; i++) {
        fputs(i > 0 ? ", " : "", out);
        write_text(out, side->frames[i]);
    }
    fputs("]}", out);
}

static void write_finding(FILE *out, const struct sim_finding *finding) {
    fputc('{', out);
    write_named(out, "kind", finding->kind);
    write_named(out, "text", finding->text);
    fprintf(out, "\"count\": %" PRIu64 ", \"sides\": [", finding->count);
    for (size_t i = 0; i < finding->side_count; i++) {
        fputs(i > 0 ? ", " : "", out);
        write_side(out, &finding->sides[i]);
    }
    fputs("]}", out);
}

static void write_counts(FILE *out, const struct sim_finding *findings, size_t count) {
    for (size_t i = 0, written = 0; i < count; i++) {
        size_t first = 0, sum = 0;
        while (strcmp(findings[first].kind, findings[i].kind) != 0)
            first++;
        for (size_t j = i; first == i && j < count; j++)
            sum += strcmp(findings[j].kind, findings[i].kind) == 0;
        if (sum > 0)
            fprintf(out, "%s\"%s\": %zu", written++ > 0 ? ", " : "", findings[i].kind, sum);
    }
}

bool sim_finding_write(const char *file, const struct sim_finding *findings, size_t count) {
    FILE *out = fopen(file, "we");
    if (!out)
        return false;
    fprintf(out, "{\"mistakes\": %zu, \"counts\": {", count);
    write_counts(out, findings, count);
    fputs("},\n \"findings\": [", out);
    for (size_t i = 0; i < count; i++) {
        fputs(i > 0 ? ",\n  " : "\n  ", out);
        write_finding(out, &findings[i]);
    }
    fputs("]}\n", out);
    bool is_written = ferror(out) == 0;
    return fclose(out) == 0 && is_written;
}
