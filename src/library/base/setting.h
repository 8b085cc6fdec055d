// Settings of a pool as text, for STREAMPOOL_POOL and for programs that write it: NAME=NUMBER, and
// lists of them with commas between.
#ifndef STREAMPOOL_BASE_SETTING_H
#define STREAMPOOL_BASE_SETTING_H

#include <stdbool.h>
#include <stdint.h>
#include <streampool/streampool.h>

enum { SP_SETTING_TEXT = 128 };

struct sp_setting {
    enum poolMemPoolAttr attribute;
    bool is_int; // the attribute's type is int, else uint64_t
    uint64_t value;
};

// Reads one setting. Returns null, or why it is none.
const char *sp_setting_read(const char *text, struct sp_setting *setting);

// Takes the first setting off a list: copies it, with no blanks around it, and moves on. An empty
// one is "". False when it is too long; its beginning is copied then.
bool sp_setting_next(const char **list, char text[SP_SETTING_TEXT]);

#endif
