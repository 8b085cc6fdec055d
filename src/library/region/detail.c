#include "region/detail.h"

#include "base/fork.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

static _Thread_local char *room; // of SP_ERROR_DETAIL bytes, or null

// Holds what there is host memory for nowhere else: that there is none is such a sentence. In a
// forked child no memory is asked for, since another thread may have held the allocator's lock.
enum { SHORT = 96 };
static _Thread_local char short_room[SHORT];
static _Thread_local bool is_short;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key; // of a thread that has room
static bool has_key;

// A later destructor of the program's may fail once more, and then gets room once more.
static void end(void *text) {
    room = NULL;
    free(text);
}

static void make_key(void) {
    has_key = pthread_key_create(&key, end) == 0;
}

// A library that is unloaded leaves no thread with a call to it.
__attribute__((destructor)) static void delete_key(void) {
    if (has_key)
        pthread_key_delete(key);
}

static void make_room(void) {
    pthread_once(&once, make_key);
    char *made = has_key ? malloc(SP_ERROR_DETAIL) : NULL;
    if (made && pthread_setspecific(key, made) == 0)
        room = made;
    else
        free(made);
}

void sp_detail_write(const char *format, va_list arguments) {
    if (!room && !sp_fork_is_child())
        make_room();
    is_short = !room;
    vsnprintf(room ? room : short_room, room ? SP_ERROR_DETAIL : SHORT, format, arguments);
}

const char *sp_detail_read(void) {
    if (is_short)
        return short_room;
    return room ? room : "";
}
