#include "cli/program/quantity.h"

#include <inttypes.h>
#include <stdio.h>

const char *sp_bytes_text(uint64_t bytes, char text[SP_QUANTITY_TEXT]) {
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    if (bytes < 1024) {
        snprintf(text, SP_QUANTITY_TEXT, "%" PRIu64 " B", bytes);
        return text;
    }
    double value = (double)bytes / 1024;
    size_t unit = 0;
    while (value >= 1023.95 && unit + 1 < sizeof units / sizeof units[0]) {
        value /= 1024;
        unit++;
    }
    snprintf(text, SP_QUANTITY_TEXT, "%.1f %s", value, units[unit]);
    return text;
}

// Three digits or more count: 340 ns, 1.25 µs, 12.5 µs, 125 µs.
const char *sp_time_text(double nanoseconds, char text[SP_QUANTITY_TEXT]) {
    static const char *const units[] = {"ns", "µs", "ms", "s"};
    size_t unit = 0;
    double value = nanoseconds;
    while (value >= 999.5 && unit + 1 < sizeof units / sizeof units[0]) {
        value /= 1000;
        unit++;
    }
    int decimals = unit == 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
    snprintf(text, SP_QUANTITY_TEXT, "%.*f %s", decimals, value, units[unit]);
    return text;
}
