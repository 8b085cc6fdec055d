// Tables have 80 columns: below each quantity stands a line for each subject. Wide ones have a
// column for each subject, or, where there are many, for each quantity.
#include "bench.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *bench_size_text(size_t size, char text[16]) {
    static const char *const units[] = {"B", "KiB", "MiB", "GiB"};
    int unit = 0;
    while (unit < 3 && size >= 1024 && size % 1024 == 0) {
        size /= 1024;
        unit++;
    }
    snprintf(text, 16, "%zu %s", size, units[unit]);
    return text;
}

void bench_print(const struct bench *bench, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    if (!bench->silent)
        vprintf(format, arguments);
    va_end(arguments);
}

void bench_end_line(const struct bench *bench) {
    bench_print(bench, !bench->simulated ? "\n" : bench->wide ? "  simulated driver\n" : "  sim\n");
    fflush(stdout);
}

void bench_print_text(const struct bench *bench, const char *text) {
    size_t width = bench->wide ? SIZE_MAX : bench->simulated ? 75 : 80;
    while (strlen(text) > width) {
        size_t length = width;
        while (length > 1 && text[length] != ' ')
            length--;
        bench_print(bench, "%.*s", (int)length, text);
        bench_end_line(bench);
        text += length + 1;
    }
    bench_print(bench, "%s", text);
    bench_end_line(bench);
}

void bench_print_title(const struct bench *bench, const char *title) {
    char text[512];
    snprintf(text, sizeof text, "%s: %s", bench->case_name, title);
    bench_print(bench, "\n");
    bench_print_text(bench, text);
}

// The one of a field that is the reference or the floor, or null.
static const struct subject *in_role(const struct bench_field *field, enum subject_role role) {
    for (size_t i = 0; i < field->subject_count; i++)
        if (field->subjects[i].role == role)
            return &field->subjects[i];
    return NULL;
}

static void print_narrow_head(const struct bench *bench, const struct bench_field *field,
                              const char *spread) {
    bench_print(bench, "%36s %-25s%s%s", "median", spread,
                in_role(field, SUBJECT_IS_REFERENCE) ? "  ratio " : "",
                in_role(field, SUBJECT_IS_FLOOR) ? " /floor" : "");
    bench_end_line(bench);
}

void bench_print_head_of(const struct bench *bench, const struct bench_field *field,
                         const char *title) {
    bench_print_title(bench, title);
    if (!bench->wide) {
        print_narrow_head(bench, field, "[least .. most]");
        return;
    }
    bench_print(bench, "%-34s  %-13s", "median [least .. most]", "");
    for (size_t i = 0; i < field->subject_count; i++)
        bench_print(bench, "  %-32s", field->subjects[i].name);
    bench_print(bench, in_role(field, SUBJECT_IS_REFERENCE) ? "  ratio [quartiles]     " : "");
    bench_print(bench, in_role(field, SUBJECT_IS_FLOOR) ? "  to the floor" : "");
    bench_end_line(bench);
}

void bench_print_head(const struct bench *bench, const struct lineup *lineup, const char *title) {
    bench_print_head_of(bench,
                        &(struct bench_field){.subjects = (struct subject *)lineup->subjects,
                                              .subject_count = lineup->count},
                        title);
}

// The samples of what a subject is compared with, or null.
static struct samples *divisor_of(const struct bench_field *field, struct samples *samples,
                                  size_t subject, enum subject_role role) {
    const struct subject *other = in_role(field, role);
    return other && other != &field->subjects[subject] ? &samples[other - field->subjects] : NULL;
}

static struct ratio ratio_to(const struct bench_field *field, struct samples *samples,
                             size_t subject, enum subject_role role) {
    struct ratio ratio = {0};
    struct samples *divisor = divisor_of(field, samples, subject, role);
    if (divisor)
        samples_ratio(&samples[subject], divisor, &ratio);
    return ratio;
}

static void keep(struct bench *bench, const struct bench_field *field, const struct bench_row *row,
                 struct samples *samples) {
    for (size_t i = 0; i < field->subject_count; i++) {
        if (samples[i].count == 0)
            continue;
        struct result result = {.case_name = bench->case_name,
                                .unit = row->unit,
                                .at = field->at,
                                .subject = field->subjects[i].name,
                                .to_reference = ratio_to(field, samples, i, SUBJECT_IS_REFERENCE),
                                .to_floor = ratio_to(field, samples, i, SUBJECT_IS_FLOOR)};
        snprintf(result.label, sizeof result.label, "%s", row->label);
        results_add(&bench->results, &result, &samples[i]);
    }
}

// ------------------------------------------------------------------------------------------ narrow

static int say_value(char *text, double value) {
    return sprintf(text, value < 1000 ? "%.1f" : "%.0f", value);
}

// The values between two percentiles, and the p99 if the samples are calls.
static void say_spread(char *text, struct samples *samples, double low, bool of_calls) {
    text += sprintf(text, "[");
    text += say_value(text, samples_at(samples, low));
    text += sprintf(text, " .. ");
    text += say_value(text, samples_at(samples, 1 - low));
    text += sprintf(text, of_calls ? "] p99 " : "]");
    if (of_calls)
        say_value(text, samples_at(samples, 0.99));
}

static void print_narrow_ratio(const struct bench *bench, const struct bench_field *field,
                               struct samples *samples, size_t subject, enum subject_role role) {
    struct ratio ratio = ratio_to(field, samples, subject, role);
    if (ratio.is_known)
        bench_print(bench, "%8.3f", ratio.median);
    else if (in_role(field, role))
        bench_print(bench, "%8s", "");
}

static void print_narrow(const struct bench *bench, const struct bench_field *field,
                         const struct bench_row *row, struct samples *samples, double low,
                         bool of_calls) {
    bench_print(bench, "%s (%s)", row->label, row->unit);
    bench_end_line(bench);
    for (size_t i = 0; i < field->subject_count; i++) {
        char median[32] = "", spread[128] = "";
        if (samples[i].count > 0) {
            say_value(median, samples_at(&samples[i], 0.5));
            say_spread(spread, &samples[i], low, of_calls);
        }
        bench_print(bench, "  %-26s%8s %-25s", field->subjects[i].name, median, spread);
        print_narrow_ratio(bench, field, samples, i, SUBJECT_IS_REFERENCE);
        print_narrow_ratio(bench, field, samples, i, SUBJECT_IS_FLOOR);
        bench_end_line(bench);
    }
}

// ------------------------------------------------------------------ wide: a line for each quantity

// The median, and the values between two percentiles; nothing of a subject that was left out.
static int say_cell(char text[64], struct samples *samples, double low) {
    text[0] = '\0';
    return samples->count == 0 ? 0
                               : snprintf(text, 64, "%.1f [%.1f .. %.1f]", samples_at(samples, 0.5),
                                          samples_at(samples, low), samples_at(samples, 1 - low));
}

// The ratio of the first subject stands at the end of the line.
static void print_median(const struct bench *bench, const struct bench_field *field,
                         struct samples *samples, size_t subject) {
    char text[64];
    struct ratio ratio = ratio_to(field, samples, subject, SUBJECT_IS_REFERENCE);
    int length = say_cell(text, &samples[subject], 0);
    if (subject > 0 && ratio.is_known && field->subjects[subject].role == SUBJECT_IS_MEASURED)
        snprintf(text + length, sizeof text - (size_t)length, " %.3f", ratio.median);
    bench_print(bench, "  %-32s", text);
}

static void print_ratio(const struct bench *bench, const struct bench_field *field,
                        struct samples *samples, enum subject_role role) {
    struct ratio ratio = ratio_to(field, samples, 0, role);
    if (ratio.is_known)
        bench_print(bench, "  %.3f [%.3f .. %.3f]", ratio.median, ratio.low, ratio.high);
    else if (in_role(field, role))
        bench_print(bench, "  %-22s", "-");
}

static void print_row(struct bench *bench, const struct bench_field *field,
                      const struct bench_row *row, struct samples *samples) {
    bench_print(bench, "%-34s  %-13s", row->label, row->unit);
    for (size_t i = 0; i < field->subject_count; i++)
        print_median(bench, field, samples, i);
    print_ratio(bench, field, samples, SUBJECT_IS_REFERENCE);
    print_ratio(bench, field, samples, SUBJECT_IS_FLOOR);
    bench_end_line(bench);
}

static void print_p99(const struct bench *bench, const struct bench_field *field,
                      const struct bench_row *row, struct samples *samples) {
    char label[RESULT_TEXT];
    snprintf(label, sizeof label, "%.42s, p99", row->label);
    bench_print(bench, "%-34s  %-13s", label, row->unit);
    for (size_t i = 0; i < field->subject_count; i++) {
        char text[32] = "";
        if (samples[i].count > 0)
            snprintf(text, sizeof text, "%.1f", samples_at(&samples[i], 0.99));
        bench_print(bench, "  %-32s", text);
    }
    bench_end_line(bench);
}

void bench_print_rows(struct bench *bench, const struct bench_field *field,
                      struct samples *samples) {
    for (size_t i = 0; i < field->row_count; i++) {
        struct samples *row = &samples[i * field->subject_count];
        bool of_calls = i < field->call_rows;
        if (!bench->wide)
            print_narrow(bench, field, &field->rows[i], row, 0, of_calls);
        else
            print_row(bench, field, &field->rows[i], row);
        if (bench->wide && of_calls)
            print_p99(bench, field, &field->rows[i], row);
        keep(bench, field, &field->rows[i], row);
    }
}

// ------------------------------------------------------------------- wide: a line for each subject

static void print_cell(const struct bench *bench, const struct bench_field *field,
                       struct samples *samples, size_t subject) {
    char text[64];
    struct ratio ratio = ratio_to(field, samples, subject, SUBJECT_IS_REFERENCE);
    int length = say_cell(text, &samples[subject], 0.25);
    if (ratio.is_known)
        snprintf(text + length, sizeof text - (size_t)length, " %.3f", ratio.median);
    bench_print(bench, "  %-32s", text);
}

static void print_line(const struct bench *bench, const struct bench_field *field,
                       struct samples *samples, size_t subject) {
    bench_print(bench, "%-26s", field->subjects[subject].name);
    for (size_t i = 0; i < field->row_count; i++)
        print_cell(bench, field, &samples[i * field->subject_count], subject);
    bench_end_line(bench);
}

static void print_wide_lines(const struct bench *bench, const struct bench_field *field,
                             struct samples *samples) {
    bench_print(bench, "%-26s", "median [quartiles] ratio");
    for (size_t i = 0; i < field->row_count; i++) {
        char title[64];
        snprintf(title, sizeof title, "%s, %s", field->rows[i].label, field->rows[i].unit);
        bench_print(bench, "  %-32s", title);
    }
    bench_end_line(bench);
    for (size_t i = 0; i < field->subject_count; i++)
        print_line(bench, field, samples, i);
}

void bench_print_lines(struct bench *bench, const struct bench_field *field,
                       struct samples *samples) {
    if (bench->wide)
        print_wide_lines(bench, field, samples);
    else
        print_narrow_head(bench, field, "[quartiles]");
    for (size_t i = 0; i < field->row_count; i++) {
        struct samples *row = &samples[i * field->subject_count];
        if (!bench->wide)
            print_narrow(bench, field, &field->rows[i], row, 0.25, false);
        keep(bench, field, &field->rows[i], row);
    }
}
