// Many threads at once, and processes that end or fork in the middle of it. On the simulated driver
// in free mode, where threads run as they will; the thread sanitizer is what sees most.
#ifndef STREAMPOOL_TESTS_STRESS_ROWS_H
#define STREAMPOOL_TESTS_STRESS_ROWS_H

#include "support/runner.h"

// clang-format off
#define STRESS_ROWS(X) \
    X(threads_on_streams_of_their_own_share_a_pool, "8 threads, a stream each, one pool: figures and contents are exact at the end") \
    X(threads_share_one_stream, "8 threads, one stream, one pool") \
    X(threads_share_a_stream_on_which_each_free_records, "the same, with a cap of 0 unfenced bytes") \
    X(threads_free_what_others_allocated, "each block is freed by another thread than the one that allocated it") \
    X(threads_ask_about_memory_that_others_free, "poolPointerGetAttributes: exact for live memory, and whole for what comes and goes") \
    X(threads_make_and_destroy_streams_as_promised, "handles come back in other threads, and no thread takes the new stream for the old one") \
    X(threads_are_observed, "the library is told of streams and captures that come and go in all threads, and asks for no others") \
    X(threads_ask_the_streams_of_others, "lazy lanes: streams that others borrow are destroyed, promises end and are made again meanwhile") \
    X(threads_synchronise_and_trim_while_others_allocate, "a synchronise or a trim of one thread and a malloc of another") \
    X(threads_join_memory_in_pieces, "threads map the same free memory again and again, while others trim and free it") \
    X(threads_let_a_peer_in_and_out_while_others_map, "access of a second device changes while threads grow, trim and join memory in pieces") \
    X(threads_make_and_destroy_pools, "pools come and go, with the current pool changing meanwhile") \
    X(threads_look_at_pools_that_others_destroy, "attributes and the current pool are read while pools come and go, on two devices") \
    X(a_pool_is_destroyed_while_threads_free_into_it, "the last free takes the pool apart, whoever comes last") \
    X(threads_that_end_leave_nothing_behind, "short-lived threads on per-thread default streams") \
    X(threads_meet_at_a_new_stream, "streams come to used slots, and three threads name each one for the first time") \
    X(threads_map_while_the_reaper_works, "views are dropped and trims left to the reaper while threads map, trim and switch it off and on") \
    X(pools_end_while_the_reaper_works, "a pool is destroyed with views to bury and a trim that waits") \
    X(a_fork_while_the_reaper_works_gives_the_child_none, "the child gets an error and ends, and the parent's goes on") \
    X(a_process_that_ends_while_the_reaper_works_ends_quietly, "exit in the middle of its calls, of other threads' too") \
    X(a_process_ends_with_its_last_thread_though_the_reaper_has_run, "the main thread ends by pthread_exit: nothing of the library's keeps the process alive") \
    X(the_reaper_makes_no_call_once_the_process_ends, "handlers at exit that were registered before it find the driver at rest") \
    X(a_fork_while_threads_allocate_gives_the_child_a_clear_error, "no lock that another thread held hangs the child") \
    X(a_process_that_ends_while_threads_allocate_ends_quietly, "exit in the middle of other threads' calls")

#define STRESS_HELPERS(X) \
    X(end_while_threads_allocate, "ends while its threads allocate and free") \
    X(end_while_the_reaper_works, "ends while its threads give the reaper work") \
    X(end_with_the_main_thread_gone, "its main thread ends by pthread_exit with work left to the reaper") \
    X(end_with_much_left_to_the_reaper, "ends with a trim that has begun, and looks for calls after that")
// clang-format on

STRESS_ROWS(TEST_ROW_DECLARE)
STRESS_HELPERS(TEST_ROW_DECLARE)

#endif
