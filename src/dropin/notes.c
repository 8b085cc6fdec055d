// The notes are a table with open addressing, by the base of the allocation: a note is in the first
// free place from its own on, and no free place is between the two. `lock` guards it, also across a
// fork.
#include "dropin/notes.h"

#include <pthread.h>
#include <stdlib.h>

// The driver counts from 1 on, and never comes here.
static unsigned long long last_number = 1ULL << 62;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct sp_note *table;
static size_t room; // a power of two, more than the notes
_Atomic size_t sp_notes_count;

static void take_lock(void) {
    pthread_mutex_lock(&lock);
}

static void give_lock(void) {
    pthread_mutex_unlock(&lock);
}

// A child that frees before the driver tells it that it can't must not find the lock taken.
static void watch_forks(void) {
    pthread_atfork(take_lock, give_lock, give_lock);
}

static size_t own_place(CUdeviceptr base) {
    return (size_t)((base >> 9) * 0x9E3779B97F4A7C15 >> 32) & (room - 1);
}

static size_t next_place(size_t place) {
    return (place + 1) & (room - 1);
}

// The note's place, or the free one where it would be.
static struct sp_note *find_locked(CUdeviceptr base) {
    size_t place = own_place(base);
    while (table[place].base && table[place].base != base)
        place = next_place(place);
    return &table[place];
}

static bool make_room_locked(void) {
    size_t count = sp_load_relaxed(&sp_notes_count), had = room;
    if (2 * (count + 1) <= room)
        return true;
    struct sp_note *old = table, *larger = calloc(room ? 2 * room : 16, sizeof *table);
    if (!larger)
        return false;
    table = larger;
    room = room ? 2 * room : 16;
    for (size_t i = 0; i < had; i++) {
        if (old[i].base)
            *find_locked(old[i].base) = old[i];
    }
    free(old);
    return true;
}

// Notes that stood behind the one that goes, because its place was taken, move up.
static void remove_locked(struct sp_note *note) {
    size_t empty = (size_t)(note - table);
    for (size_t place = next_place(empty); table[place].base; place = next_place(place)) {
        size_t from_own = (place - own_place(table[place].base)) & (room - 1);
        if (from_own < ((place - empty) & (room - 1)))
            continue;
        table[empty] = table[place];
        empty = place;
    }
    table[empty] = (struct sp_note){0};
    sp_subtract_relaxed(&sp_notes_count, 1);
}

static bool is_of(const struct sp_note *note, const struct poolPointerAttributes *allocation) {
    return note->base && note->size == allocation->requestedSize;
}

// The note of the allocation, which is made if need be. Null without host memory.
static struct sp_note *note_locked(const struct poolPointerAttributes *allocation) {
    CUdeviceptr base = (CUdeviceptr)(uintptr_t)allocation->base;
    if (!make_room_locked())
        return NULL;
    struct sp_note *note = find_locked(base);
    if (is_of(note, allocation))
        return note;
    sp_add_relaxed(&sp_notes_count, !note->base);
    *note = (struct sp_note){base, ++last_number, false, allocation->requestedSize};
    return note;
}

bool sp_notes_find(const struct poolPointerAttributes *allocation, struct sp_note *found) {
    pthread_once(&once, watch_forks);
    take_lock();
    const struct sp_note *note = note_locked(allocation);
    if (note)
        *found = *note;
    give_lock();
    return note != NULL;
}

bool sp_notes_set_synchronizes(const struct poolPointerAttributes *allocation, bool synchronizes) {
    pthread_once(&once, watch_forks);
    take_lock();
    struct sp_note *note = note_locked(allocation);
    if (note)
        note->synchronizes = synchronizes;
    give_lock();
    return note != NULL;
}

struct sp_note sp_notes_take_noted(CUdeviceptr base) {
    struct sp_note taken = {0};
    take_lock();
    struct sp_note *note = room > 0 ? find_locked(base) : NULL;
    if (note && note->base) {
        taken = *note;
        remove_locked(note);
    }
    give_lock();
    return taken;
}

// There was room for it; another thread's note may have taken that.
void sp_notes_give_back_noted(struct sp_note note) {
    take_lock();
    if (make_room_locked()) {
        struct sp_note *place = find_locked(note.base);
        sp_add_relaxed(&sp_notes_count, !place->base);
        *place = note;
    }
    give_lock();
}
