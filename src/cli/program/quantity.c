#include "cli/program/quantity.h"

#include <inttypes.h>
#include <stddef.h>
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

// Three digits or more count: 340 ns, 1.25 µs, 12.5 µs, 125 µs. Seconds go on for a day.
const char *sp_time_text(double nanoseconds, char text[SP_QUANTITY_TEXT]) {
    static const struct {
        const char *name;
        double next; // so many of them are one of the next unit
    } units[] = {{"ns", 1000}, {"µs", 1000}, {"ms", 1000}, {"s", 86400}, {"d", 1e9}};
    size_t unit = 0;
    double value = nanoseconds;
    while (value >= units[unit].next - 0.5 && unit + 1 < sizeof units / sizeof units[0])
        value /= units[unit++].next;
    int decimals = unit == 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
    snprintf(text, SP_QUANTITY_TEXT, "%.*f %s", decimals, value, units[unit].name);
    return text;
}

const char *sp_quantity_text(enum sp_unit unit, double value, char text[SP_QUANTITY_TEXT]) {
    switch (unit) {
    case SP_UNIT_BYTES:
        return sp_bytes_text(value < 0x1p64 ? (uint64_t)value : UINT64_MAX, text);
    case SP_UNIT_NANOSECONDS:
        return sp_time_text(value, text);
    case SP_UNIT_RATIO:
        if (value > 0)
            snprintf(text, SP_QUANTITY_TEXT, value < 9999.5 ? "%.3f" : "%.2e", value);
        else
            snprintf(text, SP_QUANTITY_TEXT, "-"); // nothing was alive
        return text;
    case SP_UNIT_FLAG:
        snprintf(text, SP_QUANTITY_TEXT, "%s", value > 0 ? "on" : "-");
        return text;
    case SP_UNIT_COUNT:
        break;
    }
    snprintf(text, SP_QUANTITY_TEXT, "%.16g", value); // a median may be half of a number
    return text;
}
