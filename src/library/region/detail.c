#include "region/detail.h"

#include "base/atomic.h"
#include "base/fork.h"
#include "base/list.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

struct room {
    const char *entry_point;
    char *text;
    size_t size; // of the text
};

// These hold what there is host memory for nowhere else: that there is none is such a sentence. A
// thread takes one until it gets memory, or ends. In a forked child no memory is asked for, since
// another thread may have held the allocator's lock.
enum { SHORT = 96, SHORT_ROOMS = 16 };
static struct short_room {
    struct room room;
    _Atomic bool is_taken;
    char text[SHORT];
} short_rooms[SHORT_ROOMS];

// Is never written: threads that find no room share it.
static struct room nowhere = {"", "there is no host memory for the sentence", 0};

static _Thread_local struct room *room; // null before the first failure

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key; // of a thread that has room
static bool has_key;

static bool is_long(const struct room *which) {
    return which && which->size == SP_ERROR_DETAIL;
}

static void give_back(struct room *which) {
    if (is_long(which))
        free(which);
    else if (which && which != &nowhere)
        sp_store_release(&SP_CONTAINER_OF(which, struct short_room, room)->is_taken, false);
}

// A later destructor of the program's may fail once more, and then gets room once more.
static void end(void *which) {
    room = NULL;
    give_back(which);
}

static void make_key(void) {
    has_key = pthread_key_create(&key, end) == 0;
}

// A library that is unloaded leaves no thread with a call to it.
__attribute__((destructor)) static void delete_key(void) {
    if (has_key)
        pthread_key_delete(key);
}

static struct room *make_long(void) {
    struct room *made = sp_fork_is_child() ? NULL : malloc(sizeof *made + SP_ERROR_DETAIL);
    if (made)
        *made = (struct room){"", (char *)(made + 1), SP_ERROR_DETAIL};
    return made;
}

static struct room *take_short(void) {
    for (struct short_room *some = short_rooms; some < short_rooms + SHORT_ROOMS; some++) {
        if (atomic_exchange(&some->is_taken, true))
            continue;
        some->room = (struct room){"", some->text, SHORT};
        return &some->room;
    }
    return NULL;
}

// Has the thread's end give the room back. False where it wouldn't.
static bool keep(struct room *made) {
    if (!made || pthread_setspecific(key, made) != 0) {
        give_back(made);
        return false;
    }
    give_back(room);
    room = made;
    return true;
}

static void find_room(void) {
    pthread_once(&once, make_key);
    bool has_short = room && room != &nowhere;
    if (!has_key || (!keep(make_long()) && !has_short && !keep(take_short())))
        room = &nowhere;
}

void sp_detail_write(const char *format, va_list arguments) {
    if (!is_long(room))
        find_room();
    sp_detail_set_entry_point("");
    if (room != &nowhere)
        vsnprintf(room->text, room->size, format, arguments);
}

void sp_detail_set_entry_point(const char *entry_point) {
    if (room != &nowhere)
        room->entry_point = entry_point;
}

const char *sp_detail_read(void) {
    return room ? room->text : "";
}

const char *sp_detail_entry_point(void) {
    return room ? room->entry_point : "";
}
