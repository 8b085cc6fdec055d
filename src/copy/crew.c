#include "copy/crew.h"

#include "base/atomic.h"
#include "base/thread.h"

#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

// How long a thread sleeps between two looks at what a device writes, in nanoseconds.
enum { LOOK_SOON = 10 * 1000, LOOK_LATE = 200 * 1000 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work;     // there may be a slice
static pthread_cond_t progress; // a part or a job is done
static struct sp_list jobs = {&jobs, &jobs};
static _Atomic unsigned int news; // changes when there may be a slice
static unsigned int hired;
static unsigned int busy; // threads of the crew
static bool someone_looks;
static bool is_ending;
static pid_t process;

// A thread that has the lock gives it back in less time than a sleep takes.
void sp_crew_lock(void) {
    enum { TRIES = 100 };
    for (int i = 0; i < TRIES; i++) {
        if (pthread_mutex_trylock(&lock) == 0)
            return;
    }
    pthread_mutex_lock(&lock);
}

void sp_crew_unlock(void) {
    pthread_mutex_unlock(&lock);
}

void sp_crew_order(void) {
    sp_crew_lock();
    sp_crew_unlock();
}

void sp_crew_wait_locked(uint64_t until) {
    sp_thread_wait_until(&progress, &lock, until);
}

// Gives the lock back, and tells threads that there may be a slice: all that are awake, and of
// those that sleep one or all. To wake them takes long, so that the lock isn't held meanwhile.
static void unlock_with_news(int (*wake)(pthread_cond_t *)) {
    sp_store_relaxed(&news, sp_load_relaxed(&news) + 1);
    sp_crew_unlock();
    wake(&work);
}

// ---------------------------------------------------------------------------------------- slices

struct slice {
    struct sp_job *job;
    struct sp_piece piece;
    size_t part;
    bool is_skipped; // as one before it has failed
    struct sp_copy_file_problem problem;
};

#ifdef __SSE2__
// Past the caches the host writes without having read what is overwritten: four threads bring 50
// GB/s to an H200's host like this, and 32 by memcpy. Only what is aligned goes like this.
static void write_past_caches(char *to, const char *from, size_t bytes) {
    enum { LINE = 64 };
    size_t before = -(uintptr_t)to % LINE, at = before < bytes ? before : bytes;
    memcpy(to, from, at);
    for (; bytes - at >= LINE; at += LINE) {
        __m128i word[4];
        memcpy(word, from + at, sizeof word);
        for (int i = 0; i < 4; i++)
            _mm_stream_si128((__m128i *)(void *)(to + at) + i, word[i]);
    }
    memcpy(to + at, from + at, bytes - at);
    _mm_sfence();
}
#else
static void write_past_caches(char *to, const char *from, size_t bytes) {
    memcpy(to, from, bytes);
}
#endif

static void copy_memory(const struct slice *slice, char *chunk) {
    const struct sp_job *job = slice->job;
    const struct sp_piece *piece = &slice->piece;
    char *host = job->host + piece->host;
    for (size_t row = 0; row < piece->height; row++) {
        if (job->to_device)
            memcpy(chunk, host, piece->width);
        else if (job->is_streamed)
            write_past_caches(host, chunk, piece->width);
        else
            memcpy(host, chunk, piece->width);
        host += job->shape.host_pitch;
        chunk += piece->width;
    }
}

// Bytes that can't be read are zeros: else the device would get another copy's bytes.
static void move_file(struct slice *slice, char *chunk) {
    const struct sp_piece *piece = &slice->piece;
    if (!slice->is_skipped)
        slice->problem = sp_copy_file_move(slice->job->file, piece->host, chunk, piece->width);
    if (slice->job->to_device && (slice->is_skipped || slice->problem.code != 0))
        memset(chunk, 0, piece->width);
}

static void copy(struct slice *slice) {
    const struct sp_job *job = slice->job;
    char *chunk = job->chunks + slice->part % job->depth * job->chunk_bytes + slice->piece.staging;
    if (job->file)
        move_file(slice, chunk);
    else
        copy_memory(slice, chunk);
}

// The number of parts whose chunks are the host's to use.
static size_t within_reach_locked(const struct sp_job *job) {
    size_t by_device = sp_load_acquire(job->by_device);
    size_t reach = job->to_device ? by_device + job->depth : by_device;
    return reach < job->parts ? reach : job->parts;
}

// Once all is done the words may be another copy's, or gone with their pool.
static bool take_locked(struct sp_job *job, struct slice *slice) {
    if (job->part >= job->parts || job->part >= within_reach_locked(job))
        return false;
    struct sp_piece part = sp_shape_part(&job->shape, job->part);
    size_t slices = sp_shape_slices(&job->shape, &part);
    if (job->slice == 0) {
        job->left[job->part % job->depth] = slices;
        job->begun++;
    }
    *slice = (struct slice){.job = job,
                            .piece = sp_shape_slice(&job->shape, &part, job->slice),
                            .part = job->part,
                            .is_skipped = job->problem.code != 0};
    if (++job->slice == slices) {
        job->slice = 0;
        job->part++;
    }
    job->busy++;
    return true;
}

// True when the job is to be released.
static bool end_if_done_locked(struct sp_job *job) {
    if (job->done < job->parts || !job->finish)
        return false;
    sp_list_remove(&job->link);
    pthread_cond_broadcast(&progress);
    return job->finish(job);
}

// The host's number is published last: the chunks may be another copy's then. True when the job is
// to be released.
static bool note_done_locked(const struct slice *slice) {
    struct sp_job *job = slice->job;
    size_t before = job->done;
    const struct sp_copy_file_problem *problem = &slice->problem;
    if (problem->code != 0 && (job->problem.code == 0 || problem->at < job->problem.at))
        job->problem = *problem;
    job->busy--;
    job->left[slice->part % job->depth]--;
    while (job->done < job->begun && job->left[job->done % job->depth] == 0)
        job->done++;
    if (job->done != before)
        sp_store_release(job->by_host, (uint32_t)job->done);
    if (job->done != before || job->busy == 0)
        pthread_cond_broadcast(&progress);
    return end_if_done_locked(job);
}

// As one of the threads that may be at the job, or beside them.
static bool do_slice(struct sp_job *job, bool is_helper) {
    struct slice slice;
    sp_crew_lock();
    bool taken = (!is_helper || job->helping < job->helpers) && take_locked(job, &slice);
    job->helping += taken && is_helper;
    sp_crew_unlock();
    if (!taken)
        return false;
    copy(&slice);
    sp_crew_lock();
    job->helping -= is_helper;
    note_done_locked(&slice);
    sp_crew_unlock();
    return true;
}

bool sp_crew_work(struct sp_job *job) {
    return do_slice(job, false);
}

bool sp_crew_help(struct sp_job *job) {
    return do_slice(job, true);
}

void sp_crew_do_alone(struct sp_job *job) {
    const struct slice all = {.job = job, .piece = sp_shape_part(&job->shape, 0)};
    copy_memory(&all, job->chunks);
}

// ---------------------------------------------------------------------------------------- threads

static bool find_slice_locked(struct slice *slice) {
    SP_LIST_FOR_EACH(link, &jobs) {
        struct sp_job *job = SP_CONTAINER_OF(link, struct sp_job, link);
        if (job->helping < job->helpers && take_locked(job, slice)) {
            job->helping++;
            return true;
        }
    }
    return false;
}

// Tells if a job has, or will have, a slice for one more thread; a job whose device is looked at,
// or any.
static bool is_wanted_locked(bool is_watched) {
    SP_LIST_FOR_EACH(link, &jobs) {
        const struct sp_job *job = SP_CONTAINER_OF(link, struct sp_job, link);
        if (job->is_watched >= is_watched && job->part < job->parts && job->helping < job->helpers)
            return true;
    }
    return false;
}

// A thread that has nothing to do.
struct idle {
    uint64_t since; // 0: it has just had something
    uint64_t pause; // until its next look
};

// Stays awake, without the lock: one thread until its next look at what a device writes, others
// until there are news.
static void stay_awake_locked(const struct idle *idle) {
    unsigned int seen = sp_load_relaxed(&news);
    bool looks = !someone_looks && is_wanted_locked(true);
    someone_looks = someone_looks || looks;
    sp_crew_unlock();
    do
        sched_yield();
    while (!looks && sp_load_relaxed(&news) == seen && sp_time_now() - idle->since < SP_CREW_AWAKE);
    sp_crew_lock();
    someone_looks = someone_looks && !looks;
}

// A single thread looks, the longer between two looks the longer it has found nothing.
static void wait_for_slice_locked(struct idle *idle) {
    uint64_t now = sp_time_now();
    idle->since = idle->since ? idle->since : now;
    if (!is_ending && now - idle->since < SP_CREW_AWAKE) {
        stay_awake_locked(idle);
        return;
    }
    if (someone_looks || !is_wanted_locked(true)) {
        pthread_cond_wait(&work, &lock);
        *idle = (struct idle){0, LOOK_SOON};
        return;
    }
    someone_looks = true;
    sp_thread_wait_until(&work, &lock, now + idle->pause);
    someone_looks = false;
    idle->pause = idle->pause * 2 < LOOK_LATE ? idle->pause * 2 : LOOK_LATE;
}

// A program may have a handler for faults in its own memory.
static void take_faults(void) {
    sigset_t faults;
    sigemptyset(&faults);
    sigaddset(&faults, SIGSEGV);
    sigaddset(&faults, SIGBUS);
    pthread_sigmask(SIG_UNBLOCK, &faults, NULL);
}

static void *run(void *unused) {
    struct slice slice;
    struct idle idle = {0, LOOK_SOON};
    take_faults();
    sp_crew_lock();
    for (;;) {
        if (is_ending || !find_slice_locked(&slice)) {
            wait_for_slice_locked(&idle);
            continue;
        }
        idle = (struct idle){0, LOOK_SOON};
        busy++;
        if (is_wanted_locked(false)) // others find slices too, or one looks from now on
            unlock_with_news(pthread_cond_broadcast);
        else
            sp_crew_unlock();
        copy(&slice);
        sp_crew_lock();
        busy--;
        slice.job->helping--;
        bool is_over = note_done_locked(&slice);
        if (is_ending)
            pthread_cond_broadcast(&progress);
        if (is_over) { // without the lock: to close a file may take long
            sp_crew_unlock();
            slice.job->release(slice.job);
            sp_crew_lock();
        }
    }
    return unused;
}

// The device no longer waits for the host.
static void let_device_pass(const struct sp_job *job) {
    if (job->is_watched && job->done < job->shape.parts)
        sp_store_release(job->by_host, (uint32_t)job->shape.parts);
}

// Memory that a slice is about may be gone behind exit(), so the crew stops; and who synchronises
// there is to get through, so devices are told that all is done. In a forked child there is no
// crew.
static void end_at_exit(void) {
    if (getpid() != process)
        return;
    sp_crew_lock();
    is_ending = true;
    while (busy > 0)
        sp_crew_wait_locked(sp_time_now() + SP_SECOND);
    SP_LIST_FOR_EACH(link, &jobs)
        let_device_pass(SP_CONTAINER_OF(link, struct sp_job, link));
    sp_crew_unlock();
}

static bool begin_locked(void) {
    static bool begun;
    if (!begun && sp_thread_init_condition(&work) && sp_thread_init_condition(&progress))
        begun = atexit(end_at_exit) == 0;
    process = getpid();
    return begun;
}

bool sp_crew_hire(unsigned int threads) {
    pthread_t thread;
    sp_crew_lock();
    bool begun = begin_locked();
    while (begun && hired < threads && sp_thread_start(&thread, run, NULL)) {
        pthread_detach(thread);
        hired++;
    }
    begun = begun && (threads == 0 || (hired > 0 && !is_ending));
    sp_crew_unlock();
    return begun;
}

// ------------------------------------------------------------------------------------------- jobs

// A copy to the device has slices for all threads at once. But who is to return soon wakes one, and
// that one the others.
void sp_crew_add(struct sp_job *job) {
    bool wakes_all = job->to_device && !job->is_watched;
    sp_crew_lock();
    job->parts = job->shape.parts;
    sp_list_push_back(&jobs, &job->link);
    unlock_with_news(wakes_all ? pthread_cond_broadcast : pthread_cond_signal);
}

void sp_crew_stop_locked(struct sp_job *job) {
    job->finish = NULL;
    job->parts = job->part;
    while (job->busy > 0)
        pthread_cond_wait(&progress, &lock);
    sp_list_remove(&job->link);
    let_device_pass(job);
}

struct sp_job *sp_crew_find_locked(bool (*is_it)(const struct sp_job *job, const void *what),
                                   const void *what) {
    SP_LIST_FOR_EACH(link, &jobs) {
        struct sp_job *job = SP_CONTAINER_OF(link, struct sp_job, link);
        if (is_it(job, what))
            return job;
    }
    return NULL;
}

void sp_crew_remove(struct sp_job *job) {
    sp_crew_lock();
    sp_crew_stop_locked(job);
    sp_crew_unlock();
}

void sp_crew_go_on(void) {
    sp_crew_lock();
    unlock_with_news(pthread_cond_signal);
}

bool sp_crew_is_ending(void) {
    sp_crew_lock();
    bool ends = is_ending;
    sp_crew_unlock();
    return ends;
}

bool sp_crew_has(unsigned int threads) {
    sp_crew_lock();
    bool has = hired >= threads && !is_ending;
    sp_crew_unlock();
    return has;
}

struct sp_copy_file_problem sp_crew_problem(struct sp_job *job) {
    sp_crew_lock();
    struct sp_copy_file_problem problem = job->problem;
    sp_crew_unlock();
    return problem;
}

bool sp_crew_await(struct sp_job *job, uint32_t parts) {
    bool waited = false;
    sp_crew_lock();
    while (job->busy > 0 && job->done <= parts) {
        pthread_cond_wait(&progress, &lock);
        waited = true;
    }
    waited = waited || job->done > parts;
    sp_crew_unlock();
    return waited;
}
