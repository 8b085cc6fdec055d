#include "bench.h"

#include <stdarg.h>
#include <stdio.h>

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
    bench_print(bench, bench->simulated ? "  simulated driver\n" : "\n");
    fflush(stdout);
}

void bench_print_title(const struct bench *bench, const char *title) {
    bench_print(bench, "\n%s: %s", bench->case_name, title);
    bench_end_line(bench);
}

static void print_head(const struct bench *bench, const char *title, const struct subject *subjects,
                       size_t count, bool compared) {
    bench_print_title(bench, title);
    bench_print(bench, "%-26s  %-12s", "median [least .. most]", "");
    for (size_t i = 0; i < count; i++)
        bench_print(bench, "  %-32s", subjects[i].name);
    bench_print(bench, compared ? "  ratio [quartiles]" : "");
    bench_end_line(bench);
}

void bench_print_head(const struct bench *bench, const char *title) {
    print_head(bench, title, bench->subjects, (size_t)bench->subject_count,
               bench->subject_count > SUBJECT_CUDAS);
}

void bench_print_head_of(const struct bench *bench, const struct bench_field *field, const char *title) {
    print_head(bench, title, field->subjects, field->subject_count, field->compared);
}

// What a subject is compared with, or null.
static struct samples *divisor_of(const struct bench_field *field, struct samples *samples, size_t subject) {
    size_t last = field->subject_count - 1;
    return field->compared && subject != last ? &samples[last] : NULL;
}

static void keep(struct bench *bench, const struct bench_field *field, const struct bench_row *row,
                 struct samples *samples) {
    for (size_t i = 0; i < field->subject_count; i++) {
        struct result result = {
            .case_name = bench->case_name, .unit = row->unit, .subject = field->subjects[i].name};
        snprintf(result.label, sizeof result.label, "%s", row->label);
        results_add(&bench->results, &result, &samples[i], divisor_of(field, samples, i));
    }
}

// ------------------------------------------------------------------------------- a line for each quantity

static void print_row(struct bench *bench, const struct bench_field *field, const struct bench_row *row,
                      struct samples *samples) {
    bench_print(bench, "%-26s  %-12s", row->label, row->unit);
    for (size_t i = 0; i < field->subject_count; i++) {
        char text[64];
        snprintf(text, sizeof text, "%.1f [%.1f .. %.1f]", samples_at(&samples[i], 0.5),
                 samples_at(&samples[i], 0), samples_at(&samples[i], 1));
        bench_print(bench, "  %-32s", text);
    }
    struct samples *divisor = divisor_of(field, samples, SUBJECT_OURS);
    struct ratio ratio;
    if (divisor && samples_ratio(&samples[SUBJECT_OURS], divisor, &ratio))
        bench_print(bench, "  %.3f [%.3f .. %.3f]", ratio.median, ratio.low, ratio.high);
    bench_end_line(bench);
}

void bench_print_rows(struct bench *bench, const struct bench_field *field, struct samples *samples) {
    for (size_t i = 0; i < field->row_count; i++) {
        print_row(bench, field, &field->rows[i], &samples[i * field->subject_count]);
        keep(bench, field, &field->rows[i], &samples[i * field->subject_count]);
    }
}

// -------------------------------------------------------------------------------- a line for each subject

static void print_cell(const struct bench *bench, struct samples *samples, struct samples *divisor) {
    char text[64];
    struct ratio ratio;
    int length = snprintf(text, sizeof text, "%.1f [%.1f .. %.1f]", samples_at(samples, 0.5),
                          samples_at(samples, 0.25), samples_at(samples, 0.75));
    if (divisor && samples_ratio(samples, divisor, &ratio))
        snprintf(text + length, sizeof text - (size_t)length, " %.3f", ratio.median);
    bench_print(bench, "  %-32s", text);
}

static void print_line(const struct bench *bench, const struct bench_field *field, struct samples *samples,
                       size_t subject) {
    bench_print(bench, "%-26s", field->subjects[subject].name);
    for (size_t i = 0; i < field->row_count; i++) {
        struct samples *row = &samples[i * field->subject_count];
        print_cell(bench, &row[subject], divisor_of(field, row, subject));
    }
    bench_end_line(bench);
}

void bench_print_lines(struct bench *bench, const struct bench_field *field, struct samples *samples) {
    bench_print(bench, "%-26s", "median [quartiles] ratio");
    for (size_t i = 0; i < field->row_count; i++) {
        char title[64];
        snprintf(title, sizeof title, "%s, %s", field->rows[i].label, field->rows[i].unit);
        bench_print(bench, "  %-32s", title);
    }
    bench_end_line(bench);
    for (size_t i = 0; i < field->subject_count; i++)
        print_line(bench, field, samples, i);
    for (size_t i = 0; i < field->row_count; i++)
        keep(bench, field, &field->rows[i], &samples[i * field->subject_count]);
}
