#include "cli/program/progress.h"

#include <stdio.h>
#include <unistd.h>

enum { BAR_WIDTH = 40 };

static void draw(const struct sp_progress *progress) {
    static const char bar[] = "########################################";
    int filled = (int)(progress->percent * BAR_WIDTH / 100);
    fprintf(stderr, "\r\033[K[%.*s%*s] %3u%% %s", filled, bar, BAR_WIDTH - filled, "",
            progress->percent, progress->label);
}

struct sp_progress sp_progress_begin(size_t total) {
    return (struct sp_progress){.visible = isatty(STDERR_FILENO) == 1, .total = total, .label = ""};
}

void sp_progress_label(struct sp_progress *progress, const char *label) {
    progress->label = label;
    if (progress->visible)
        draw(progress);
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
