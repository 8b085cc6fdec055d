#include "copy/settings.h"

#include "base/lock.h"
#include "beside/refuse.h"
#include "copy/remembered.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK_UNIT ((size_t)64 << 10)
#define CHUNK_MOST ((size_t)64 << 20)

enum { DEPTH = 8 };
#define CHUNK ((size_t)4 << 20)

static struct sp_lock lock;
// Guarded by it; a field that is 0 isn't set, or not found:
static struct poolCopySettings set;
static struct poolCopySettings found;
static bool was_sought;
static char *file; // remembers what is found; null: none does

// The crew's threads may use what the thread may that hires them. On a machine with more processors
// than the set has room for, there are more than copies ever use.
unsigned int sp_settings_processors(void) {
    cpu_set_t allowed;
    return sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? (unsigned int)CPU_COUNT(&allowed)
                                                               : CPU_SETSIZE;
}

// A program keeps half of its processors for itself.
static struct poolCopySettings begin_with(void) {
    unsigned int half = (sp_settings_processors() + 1) / 2;
    return (struct poolCopySettings){half < SP_COPY_THREADS_MOST ? half : SP_COPY_THREADS_MOST,
                                     DEPTH, CHUNK};
}

static void fill(struct poolCopySettings *settings, const struct poolCopySettings *from) {
    if (settings->threads == 0)
        settings->threads = from->threads;
    if (settings->depth == 0)
        settings->depth = from->depth;
    if (settings->chunkBytes == 0)
        settings->chunkBytes = from->chunkBytes;
}

static bool is_full(const struct poolCopySettings *settings) {
    return settings->threads != 0 && settings->depth != 0 && settings->chunkBytes != 0;
}

// A child may ask, too: it is forked while no other thread has the lock.
static void take_lock(void) {
    sp_lock_acquire(&lock);
}

static void give_lock(void) {
    sp_lock_release(&lock);
}

static void watch_forks(void) {
    pthread_atfork(take_lock, give_lock, give_lock);
}

static void enter(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
    take_lock();
}

struct poolCopySettings sp_settings_get(void) {
    const struct poolCopySettings at_first = begin_with();
    enter();
    struct poolCopySettings settings = set;
    fill(&settings, &found);
    give_lock();
    fill(&settings, &at_first);
    return settings;
}

const char *sp_settings_problem(const struct poolCopySettings *settings) {
    if (settings->threads > SP_COPY_THREADS_MOST)
        return "threads is more than 8";
    if (settings->depth == 1 || settings->depth > SP_COPY_DEPTH_MOST)
        return "depth isn't 2 to 16";
    if (settings->chunkBytes % CHUNK_UNIT != 0 || settings->chunkBytes > CHUNK_MOST)
        return "chunkBytes isn't a multiple of 64 KiB up to 64 MiB";
    return NULL;
}

void sp_settings_set(const struct poolCopySettings *settings) {
    enter();
    set = *settings;
    give_lock();
}

// ----------------------------------------------------------------------------------------- finding

// A note says what is to be written, without the lock: that may take long.
struct note {
    char *file; // null: nothing is
    struct poolCopySettings settings;
};

// A file has all of them, so what was found beside something that was set isn't written.
static struct note note_locked(void) {
    bool is_written = file && is_full(&found);
    return (struct note){is_written ? strdup(file) : NULL, found};
}

static void write_note(const struct note *note) {
    if (note->file)
        sp_remembered_write(note->file,
                            &(struct sp_remembered){sp_settings_processors(), note->settings});
    free(note->file);
}

bool sp_settings_begin_finding(struct poolCopySettings *is_set) {
    enter();
    bool seeks = !was_sought && !is_full(&set);
    was_sought = was_sought || seeks;
    *is_set = set;
    give_lock();
    return seeks;
}

void sp_settings_end_finding(const struct poolCopySettings *result) {
    enter();
    struct note note = {NULL, {0}};
    if (!is_full(&found)) { // a file was named meanwhile, else
        found = *result;
        note = note_locked();
    }
    give_lock();
    write_note(&note);
}

static struct note remember_locked(char *path, const struct poolCopySettings *read) {
    free(file);
    file = path;
    if (!is_full(read))
        return note_locked();
    found = *read;
    was_sought = true;
    return (struct note){NULL, {0}};
}

// Reads what the file says: nothing where that is of another machine.
static poolError_t read_file(const char *path, struct poolCopySettings *settings) {
    struct sp_remembered remembered = {0};
    poolError_t error = sp_remembered_read(path, &remembered);
    if (error != poolSuccess)
        return error;
    const char *problem = sp_settings_problem(&remembered.settings);
    if (problem)
        return sp_refuse(poolErrorInvalidValue, "%s: %s", path, problem);
    if (remembered.processors == sp_settings_processors())
        *settings = remembered.settings;
    return poolSuccess;
}

poolError_t sp_settings_remember(const char *path) {
    struct poolCopySettings read = {0};
    poolError_t error = path ? read_file(path, &read) : poolSuccess;
    char *whole = error == poolSuccess && path ? realpath(path, NULL) : NULL;
    if (error != poolSuccess)
        return error;
    if (path && !whole)
        return sp_refuse(errno == ENOMEM ? poolErrorMemoryAllocation : poolErrorOperatingSystem,
                         "%s: %s", path, strerror(errno));
    enter();
    const struct note note = remember_locked(whole, &read);
    give_lock();
    write_note(&note);
    return poolSuccess;
}
