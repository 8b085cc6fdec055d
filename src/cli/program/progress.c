#include "cli/program/progress.h"

#include "cli/program/times.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { BAR_WIDTH = 16, LABEL_BYTES = 20 };

// Returns the time that the rest takes if it goes on as it went so far; "" before anything is done.
static const char *time_left(const struct sp_progress *progress, char text[48]) {
    double passed = (double)(sp_clock_now() - progress->begin) / 1e9;
    double done = (double)progress->done, rest = (double)progress->total - done;
    uint64_t seconds = done > 0 ? (uint64_t)(passed * rest / done + 0.5) : 0;
    if (done <= 0)
        text[0] = '\0';
    else if (seconds < 60)
        snprintf(text, 48, ", %" PRIu64 " s left", seconds);
    else if (seconds < 3600)
        snprintf(text, 48, ", %" PRIu64 " min %" PRIu64 " s left", seconds / 60, seconds % 60);
    else
        snprintf(text, 48, ", %" PRIu64 " h %" PRIu64 " min left", seconds / 3600,
                 seconds / 60 % 60);
    return text;
}

// Returns how many bytes of the label are drawn: no half of a character.
static int label_length(const char *label) {
    size_t length = strlen(label);
    if (length > LABEL_BYTES)
        length = LABEL_BYTES;
    while (length > 0 && ((unsigned char)label[length] & 0xc0) == 0x80)
        length--;
    return (int)length;
}

static void draw(const struct sp_progress *progress) {
    static const char bar[] = "################";
    char left[48];
    int filled = (int)(progress->percent * BAR_WIDTH / 100);
    fprintf(stderr, "\r\033[K[%.*s%*s] %zu of %zu%s: %.*s", filled, bar, BAR_WIDTH - filled, "",
            progress->task, progress->tasks, time_left(progress, left),
            label_length(progress->label), progress->label);
}

struct sp_progress sp_progress_begin(size_t tasks, size_t total) {
    return (struct sp_progress){.visible = isatty(STDERR_FILENO) == 1,
                                .tasks = tasks,
                                .label = "",
                                .total = total,
                                .begin = sp_clock_now()};
}

void sp_progress_next(struct sp_progress *progress, const char *label) {
    progress->task++;
    progress->label = label;
    if (progress->visible)
        draw(progress);
}

void sp_progress_skip(struct sp_progress *progress, size_t tasks, size_t amount) {
    progress->tasks -= tasks;
    progress->total -= amount;
}

void sp_progress_add(struct sp_progress *progress, size_t amount) {
    progress->done += amount;
    unsigned percent = progress->total ? (unsigned)(progress->done * 100 / progress->total) : 100;
    if (!progress->visible || percent == progress->percent)
        return;
    progress->percent = percent;
    draw(progress);
}

void sp_progress_end(struct sp_progress *progress) {
    if (progress->visible)
        fputs("\r\033[K", stderr);
    progress->visible = false;
}
