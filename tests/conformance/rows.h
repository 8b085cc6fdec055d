// Every row of the conformance program: its name, which is its test's, and the promise of the pool
// that it tests, which is that of CUDA's own pool unless the public header says otherwise.
//
// COMMON rows run on any driver and any device, and print the same on all of them. TWO_DEVICE rows
// need a second device. SIMULATED rows bring about what no real device does on demand. GPU rows
// need what the simulated driver doesn't have. DRIVER rows are not about the pool: they are what
// the driver itself promises programs, on the simulated driver as on a real one. HELPERS are the
// other processes that rows start.
#ifndef STREAMPOOL_TESTS_CONFORMANCE_ROWS_H
#define STREAMPOOL_TESTS_CONFORMANCE_ROWS_H

#include "support/runner.h"

// clang-format off
#define ALLOCATION_ROWS(X) \
    X(malloc_of_zero_bytes_is_a_null_pointer, "a size of 0 succeeds with a null pointer") \
    X(malloc_aligns_every_size_to_512_bytes, "every pointer is aligned to 512 bytes") \
    X(malloc_takes_from_the_current_pool_of_the_streams_device, "the pool is the current pool of the stream's device") \
    X(malloc_gives_memory_that_keeps_what_is_written, "two allocations share no byte") \
    X(malloc_without_a_place_for_the_pointer_is_invalid, "a null ptr: InvalidValue") \
    X(malloc_of_an_absurd_size_fails_and_changes_nothing, "2^50 and SIZE_MAX bytes: MemoryAllocation, at once, and nothing changed") \
    X(malloc_on_a_default_stream_needs_no_context, "a default stream with no current context: the primary context of device 0 is made current") \
    X(a_fresh_thread_needs_no_context, "the same in the first call of each thread") \
    X(a_synchronise_needs_no_context, "the same for a synchronise, a query, a record and a wait") \
    X(malloc_on_a_users_stream_needs_no_context, "a user's stream works with no current context") \
    X(a_users_stream_needs_no_context_in_any_thread, "a created stream, in a thread with no current context or a destroyed one: allocation and free succeed, and the thread has none afterwards") \
    X(malloc_from_a_pool_takes_from_that_pool, "the given pool, whatever the device's current one") \
    X(malloc_from_no_pool_is_invalid, "a null pool: InvalidValue") \
    X(malloc_from_a_destroyed_pool_is_invalid, "a handle that is no pool any more: InvalidValue") \
    X(free_of_null_succeeds, "a null pointer: success") \
    X(free_may_name_any_stream_that_comes_after_the_uses, "any stream, if the accesses are ordered before it") \
    X(free_twice_is_invalid, "a double free: InvalidValue") \
    X(free_of_an_interior_pointer_is_invalid, "an interior pointer: InvalidValue") \
    X(free_of_a_host_pointer_is_invalid, "a host pointer: InvalidValue") \
    X(free_of_other_memory_of_the_device_is_the_drivers, "memory that is not a pool's: freed by the driver; InvalidValue before CUDA 11.2") \
    X(free_of_other_memory_in_no_streams_order_is_the_drivers, "poolFree of it: freed by the driver, which waits") \
    X(free_on_a_default_stream_needs_no_context, "a default stream with no current context: as an allocation") \
    X(free_in_no_streams_order_does_not_wait, "poolFree of pool memory is legal and waits for nothing") \
    X(free_in_no_streams_order_twice_is_invalid, "poolFree twice: InvalidValue") \
    X(a_capturing_stream_is_refused_an_allocation, "malloc in a capturing stream: StreamCaptureUnsupported, with no side effect") \
    X(the_legacy_stream_is_refused_an_allocation_while_a_blocking_stream_captures, "malloc on the legacy stream meanwhile: StreamCaptureImplicit") \
    X(the_legacy_stream_is_refused_a_free_while_a_blocking_stream_captures, "a free on the legacy stream beside it: 906, and memory and capture stay valid") \
    X(a_capturing_stream_is_refused_a_free_and_both_stay_valid, "free in a capturing stream: InvalidValue; the capture and the memory stay valid")

#define BEHIND_ROWS(X) \
    X(memory_freed_behind_two_streams_waits_for_both, "poolFreeAsyncAfter: reused on others after both streams have come so far") \
    X(memory_freed_behind_two_streams_goes_to_one_of_them_once_the_other_is_complete, "and on one of them as soon as the other has") \
    X(memory_freed_behind_two_streams_goes_to_a_stream_that_runs_after_both, "or on a stream that events order behind both, not behind one") \
    X(a_wait_is_inserted_for_each_stream_that_memory_was_freed_behind, "AllowInternalDependencies: a third stream is made to wait for both") \
    X(a_free_behind_one_stream_is_that_streams_own, "of one stream, named once or often: a free on it") \
    X(the_legacy_stream_follows_the_blocking_ones_of_the_streams_alone, "the legacy stream's order holds for each stream by itself") \
    X(streams_that_memory_was_freed_behind_may_be_destroyed, "streams destroyed behind the free: not reused until their work is complete") \
    X(small_memory_freed_behind_two_streams_is_not_written_too_early, "small blocks too: no byte is wrong") \
    X(a_free_behind_no_stream_is_invalid, "a count of 0 or a null list: InvalidValue; a null pointer: success") \
    X(a_free_behind_streams_of_what_is_not_live_is_invalid, "a double free, an interior or a host pointer: InvalidValue") \
    X(a_free_behind_streams_of_other_memory_of_the_device_is_invalid, "memory that is not a pool's, behind two streams: InvalidValue") \
    X(a_capturing_stream_among_several_is_refused_a_free_and_all_stay_valid, "a capturing stream in the list: InvalidValue; the legacy one beside it: 906; all stays valid")

#define POINTER_ROWS(X) \
    X(an_address_of_a_block_tells_its_pool_and_what_was_asked_for, "poolPointerGetAttributes: pool, base, sizes, stream and device of any address in a block") \
    X(a_fixed_block_lies_in_one_extent, "extents: 1 of a fixed block") \
    X(an_address_of_no_pool_is_no_error, "memory of the host or of the driver, and null: success, and foreign; null attributes: InvalidValue") \
    X(an_address_that_was_freed_is_not_live, "a freed block: not live, while the free is pending and after") \
    X(an_address_can_be_asked_about_during_a_capture, "during a capture, which stays valid") \
    X(memory_of_a_destroyed_pool_is_live_and_names_no_pool, "live memory of a destroyed pool: live, and no pool")

#define POOL_ROWS(X) \
    X(create_makes_an_empty_pool_that_is_not_current, "pinned memory of a device; nothing reserved; not the current pool") \
    X(create_accepts_file_descriptor_handles, "handle types none or file descriptor") \
    X(create_with_a_null_argument_is_invalid, "a null pool or null properties: InvalidValue") \
    X(create_with_a_bad_allocation_type_is_invalid, "an allocation type that is neither pinned nor managed: InvalidValue") \
    X(create_with_a_bad_location_type_is_invalid, "a location type that is none: InvalidValue") \
    X(create_with_a_bad_device_is_invalid, "no such device: InvalidValue") \
    X(create_with_a_bad_handle_type_is_invalid, "a handle type other than none or file descriptor: InvalidValue") \
    X(create_takes_any_usage, "any usage and any security attributes: a pool like others") \
    X(create_with_a_limit_beyond_all_address_space_is_out_of_memory, "maxSize 2^60: MemoryAllocation") \
    X(create_with_unknown_properties_is_invalid, "reserved bytes that are not 0: InvalidValue") \
    X(reserved_bytes_never_exceed_the_largest_size, "maxSize bounds the reserved bytes") \
    X(malloc_beyond_the_largest_size_fails_and_changes_nothing, "a request beyond maxSize: MemoryAllocation") \
    X(destroy_returns_while_work_is_pending, "destroy returns at once") \
    X(destroy_leaves_live_allocations_valid, "live allocations stay valid and can be freed") \
    X(destroyed_pools_give_their_memory_back_with_the_last_free, "a destroyed pool's memory goes with the last allocation") \
    X(destroying_the_current_pool_makes_the_default_pool_current, "destroying the current pool makes the default pool current") \
    X(destroy_of_null_is_invalid, "null: InvalidValue") \
    X(destroy_twice_is_invalid, "twice: InvalidValue, and so is any other call with the handle") \
    X(destroy_of_a_default_pool_is_invalid, "the default pool: InvalidValue") \
    X(the_default_pool_is_current_at_first, "each device has a default pool, which is current at first") \
    X(the_current_pool_is_the_one_that_was_set, "setting the current pool") \
    X(default_pool_of_a_bad_device_is_invalid, "poolDeviceGetDefaultMemPool: no such device: InvalidDevice, looked at first; null: InvalidValue") \
    X(current_pool_of_a_bad_device_is_invalid, "poolDeviceGetMemPool: null, or no such device: InvalidValue") \
    X(setting_a_current_pool_that_is_none_is_invalid, "poolDeviceSetMemPool: null, a destroyed pool, or no such device: InvalidValue")

#define ATTRIBUTE_ROWS(X) \
    X(reuse_policies_default_to_1_and_read_back_as_1, "attributes 1 to 3: default 1; any other number than 0 reads back 1") \
    X(release_threshold_defaults_to_0_and_keeps_64_bits, "attribute 4: default 0, 64 bits") \
    X(unfenced_bytes_default_to_64_mib, "attribute 1000: default 64 MiB, 64 bits") \
    X(usage_figures_start_at_0, "attributes 5 to 8 of a new pool are 0") \
    X(attributes_tell_what_the_pool_was_made_with, "attributes 9 to 15") \
    X(unknown_attributes_are_invalid, "an unknown attribute: InvalidValue, to read and to write") \
    X(null_values_are_invalid, "a null value: InvalidValue, to read and to write") \
    X(attributes_of_no_pool_are_invalid, "null, or a destroyed pool: InvalidValue, to read and to write") \
    X(current_figures_are_read_only, "setting attribute 5 or 7: InvalidValue") \
    X(high_figures_can_only_be_set_to_0, "setting attribute 6 or 8 to anything but 0: InvalidValue") \
    X(a_high_figure_set_to_0_is_the_current_figure, "setting a High figure to 0 resets it to the current one") \
    X(what_a_pool_was_made_with_is_read_only, "setting attributes 9 to 15: InvalidValue") \
    X(trim_of_no_pool_is_invalid, "poolMemPoolTrimTo: null, or a destroyed pool: InvalidValue")

#define ACCESS_ROWS(X) \
    X(the_own_device_has_access, "the own device reads and writes; to say so again succeeds") \
    X(the_own_device_can_not_be_denied_access, "revoking the own device: InvalidDevice; read-only for it: NotSupported") \
    X(access_of_no_device_is_refused, "SetAccess for a device that there isn't: InvalidDevice") \
    X(access_with_a_bad_argument_is_invalid, "a null list with a count, a bad location type, unknown flags: InvalidValue; a count of 0: success") \
    X(asking_for_access_with_a_bad_argument_is_invalid, "GetAccess of a location that is no device, or with a null parameter: InvalidValue")

#define STATISTICS_ROWS(X) \
    X(used_counts_the_requested_bytes_exactly, "1 byte counts 1") \
    X(reserved_counts_the_physical_bytes, "reserved is what the device has less") \
    X(high_figures_keep_the_peak, "High is the largest Current since the last reset") \
    X(used_falls_at_the_free_while_work_is_pending, "used falls when the free is called, not when it completes") \
    X(trim_leaves_memory_whose_free_is_pending, "trim to 0 while the free is pending: nothing happens; after the stream's synchronise it works") \
    X(trim_releases_down_to_what_is_to_be_kept, "trim releases down to keep") \
    X(trim_leaves_live_memory, "trim to 0 with a live allocation: it stays valid") \
    X(a_stream_synchronise_trims_to_the_threshold, "the threshold acts at a synchronise of the stream") \
    X(an_event_synchronise_trims_to_the_threshold, "the threshold acts at a synchronise of an event after the free") \
    X(an_event_before_the_free_does_not_trim, "and not of an event before it") \
    X(a_device_synchronise_trims_to_the_threshold, "the threshold acts at a synchronise of the device") \
    X(a_synchronise_of_an_unrelated_stream_does_not_trim, "not at a synchronise of an unrelated stream") \
    X(an_event_of_an_unrelated_stream_does_not_trim, "nor at a synchronise of an event in one") \
    X(a_query_does_not_trim, "not at a query of the stream or of an event") \
    X(queries_tell_pending_work_from_complete_work, "queries: NotReady, then success") \
    X(a_synchronise_leaves_the_threshold_of_what_is_cached, "threshold 64 MiB and 224 MiB cached: 64 MiB are left") \
    X(halves_of_a_freed_block_serve_smaller_requests, "a freed 64 MiB block serves two 16 MiB requests, at offsets 0 and 16 MiB, with no growth") \
    X(a_primed_pool_serves_small_and_large_requests_with_no_growth, "poolMemPoolPrime: allocations up to the sum take no memory from the device") \
    X(a_primed_pool_serves_one_request_of_all_of_it_with_no_growth, "and so does one of all of it") \
    X(priming_adds_to_what_is_in_use_and_to_nothing_that_is_free, "poolMemPoolPrime: so many bytes free, beside those in use; again: nothing") \
    X(a_synchronise_leaves_what_was_primed_until_a_trim_takes_it, "poolMemPoolPrime: kept whatever the threshold, until poolMemPoolTrimTo") \
    X(priming_beyond_what_there_is_fails_and_changes_nothing, "poolMemPoolPrime beyond maxSize, or absurdly much: MemoryAllocation; of no pool: InvalidValue")

#define REUSE_ROWS(X) \
    X(with_all_policies_off_a_stream_reuses_what_was_freed_on_it, "all policies off: memory freed on A is reused on A") \
    X(with_all_policies_off_another_stream_reuses_after_a_stream_synchronise, "all policies off: on B after the host synchronised A, and not before") \
    X(with_all_policies_off_another_stream_reuses_after_a_device_synchronise, "all policies off: on B after the host synchronised the device, and not before") \
    X(a_new_stream_at_a_destroyed_streams_handle_inherits_nothing, "a stream destroyed with a free pending, a new one with its handle: not reused until the old work is complete")

#define ORDER_ROWS(X) \
    X(memory_freed_before_an_event_goes_to_a_stream_that_waits_for_it, "free on A, record on A, wait on B: reused on B while A still runs") \
    X(trap_1_an_event_recorded_before_the_free_gives_no_order, "an event recorded before the free gives no order to the free") \
    X(an_event_between_two_frees_orders_the_first_alone, "an event stands behind the frees before it, and no other") \
    X(order_passes_along_a_chain_of_100_streams, "order by events is transitive, and others have none of it") \
    X(order_that_a_stream_gets_after_its_record_is_not_passed_on, "a record hands on what its stream ran after then, not later") \
    X(a_synchronise_completes_what_the_stream_ran_after, "what is complete takes along all that it ran after") \
    X(memory_taken_while_older_work_is_pending_keeps_that_works_claim, "memory reused on its stream and freed on another: a third waits for both") \
    X(a_free_in_no_streams_order_keeps_the_last_owners_claim, "poolFree vouches for its caller, not for the last owner") \
    X(policies_can_be_changed_at_any_time, "a policy acts from the next allocation on") \
    X(an_event_recorded_anew_counts_from_its_last_record, "an event recorded again, after the free: its order counts") \
    X(an_event_recorded_anew_elsewhere_gives_no_order, "an event recorded again on another stream gives no order to the first") \
    X(an_event_recorded_anew_by_cudas_own_call_gives_no_false_order, "a record that the pool does not see makes it believe nothing wrong") \
    X(an_event_that_was_never_recorded_gives_no_order, "a wait for an event before its first record gives no order") \
    X(a_new_event_at_a_destroyed_ones_handle_gives_no_false_order, "an event destroyed, by either call, and its handle come back: no false order") \
    X(a_destroyed_event_takes_no_order_back, "an event destroyed after the wait: the order stays") \
    X(an_event_synchronise_tells_of_the_frees_before_it_alone, "all policies off: on B after a synchronise of an event behind the free, not of one before") \
    X(an_event_synchronise_trims_what_a_query_has_found_complete, "the threshold acts at an event after the free, even if the work was known to be complete") \
    X(memory_of_a_blocking_stream_goes_to_the_legacy_stream_at_once, "freed on a blocking stream: reused on the legacy stream at once") \
    X(memory_of_the_legacy_stream_goes_to_a_blocking_stream_once_an_event_stands_behind_the_free, "and the other way round, behind an event on the legacy stream") \
    X(a_non_blocking_stream_has_no_order_with_the_legacy_stream, "not so with a non-blocking stream") \
    X(two_blocking_streams_have_no_order, "nor between two blocking streams") \
    X(the_legacy_streams_order_is_not_passed_on, "the legacy stream hands on no order by an event before the free") \
    X(complete_memory_is_found_by_asking_where_the_policy_allows_it, "AllowOpportunistic: complete memory is found, though nobody told") \
    X(pending_memory_is_not_found_by_asking, "AllowOpportunistic: pending memory is not") \
    X(a_wait_is_inserted_when_the_pool_can_not_grow, "AllowInternalDependencies, the pool at its largest size: off fails, on makes B wait for A") \
    X(no_wait_is_inserted_while_the_pool_can_grow, "AllowInternalDependencies: while there is memory, the pool grows") \
    X(with_the_device_full_internal_dependencies_decide, "the device full: off MemoryAllocation; on, the work on B runs after A's") \
    X(a_wait_is_inserted_where_the_pool_would_grow_beyond_the_bound, "attribute 1014: default no limit; beyond it B waits for A, and the pool does not grow") \
    X(the_pool_grows_beyond_the_bound_where_no_wait_would_do, "attribute 1014: too little pending memory, or a wait that a flag forbids: the pool grows") \
    X(the_host_waits_no_longer_than_the_attribute_says, "attribute 1001: default 0, and then nothing waits; else no longer than it says") \
    X(the_host_waits_until_memory_is_complete_where_the_attribute_allows_it, "attribute 1001: an allocation that would fail waits for memory")

#define LEGACY_ROWS(X) \
    X(driver_streams_without_order_do_not_see_each_other, "the driver: a non-blocking stream and the legacy one, or two blocking ones, neither hold nor see each other") \
    X(driver_an_idle_blocking_stream_passes_for_idle_beside_the_legacy_stream, "the driver: beside the legacy stream's work neither a plain record nor a wait for a complete event makes its stream busy") \
    X(driver_an_action_of_a_blocking_stream_makes_it_busy_beside_the_legacy_stream, "the driver: work, other records and waits for pending events do") \
    X(driver_a_plain_record_behind_the_legacy_stream_is_pending, "the driver: an event of an idle blocking stream is pending behind the legacy stream's work") \
    X(driver_the_legacy_stream_sees_blocking_streams_that_are_gone_too, "the driver: the legacy stream is busy while a blocking or per-thread stream is, destroyed or not") \
    X(driver_the_legacy_stream_sees_what_a_blocking_stream_waits_for, "the driver: so it is while a blocking stream waits for work of a non-blocking one") \
    X(driver_an_event_on_the_legacy_stream_orders_two_blocking_streams, "the driver: and without it there is no order") \
    X(a_free_beside_the_other_sides_work_is_pending_while_that_runs, "freed on an idle stream behind the legacy stream's work, or the other way round: pending for every question, allocation and trim") \
    X(each_question_behind_such_a_free_makes_the_memory_anybodys, "and complete by a synchronise or a query of the stream or of an event behind it") \
    X(each_question_behind_such_a_free_lets_a_trim_have_the_memory, "likewise for a trim") \
    X(a_synchronise_behind_such_a_free_waits_for_the_other_sides_work, "poolStreamSynchronize waits for the work on the other stream that came before the free") \
    X(a_synchronise_vouches_for_no_stream_that_has_no_order_with_its_own, "a synchronise, a query or an event of one stream tells nothing of one that has no order with it") \
    X(a_stream_that_takes_memory_is_busy_while_the_other_side_uses_it, "memory used on the legacy stream and taken by a blocking one, or the other way round: the taker's queries say NotReady") \
    X(memory_that_a_stream_has_taken_is_anybodys_after_a_synchronise, "allocate, synchronise by the pool's or CUDA's own calls, use on any stream") \
    X(a_small_block_that_a_stream_takes_again_is_anybodys_after_a_synchronise, "likewise for a small block, freed and taken on the same stream") \
    X(new_memory_is_anybodys_after_a_synchronise, "likewise for memory that is new to the pool") \
    X(memory_passes_over_the_legacy_stream_to_a_blocking_one_in_order_or_not_at_all, "used on A, freed on the legacy stream: B's work comes after A's, or B does not get it") \
    X(memory_that_the_legacy_stream_takes_can_be_used_on_any_blocking_stream, "allocated on the legacy stream: a blocking stream comes after what was there before") \
    X(memory_of_the_legacy_stream_can_be_used_on_blocking_streams_that_the_pool_never_meets, "allocated and freed on the legacy stream alone, used on blocking streams: each comes after the one before")

#define FLAG_ROWS(X) \
    X(same_stream_only_leaves_memory_of_other_streams, "poolMallocSameStreamOnly: no memory of another stream, ordered or not") \
    X(same_stream_only_takes_memory_on_which_nothing_is_pending, "poolMallocSameStreamOnly: what is known to be complete is anybody's") \
    X(no_inserted_waits_inserts_none, "poolMallocNoInsertedWaits: no wait, and no other rule is lost") \
    X(no_growth_takes_nothing_from_the_device, "poolMallocNoGrowth: MemoryAllocation rather than growth") \
    X(a_fixed_block_is_not_put_together_of_two_extents, "poolMallocFixed: one extent for the whole block") \
    X(small_fixed_blocks_are_served_too, "poolMallocFixed: any size") \
    X(flags_widen_no_policy, "flags never widen the pool's policies") \
    X(unknown_flags_are_invalid_and_no_pool_is_the_current_one, "other flags: InvalidValue; a null pool is the current one") \
    X(own_attributes_have_their_defaults, "attributes 1001 to 1003, 1006 and 1011: default 0; 1007: 1") \
    X(a_loop_with_a_release_delay_grows_in_its_first_round_alone, "attribute 1011: what was in use is held for so many synchronises, and goes with the last") \
    X(a_trim_left_to_the_reaper_comes_to_the_threshold, "attribute 1006: a synchronise leaves its trim to the library's thread, which ends at the threshold; TrimTo doesn't") \
    X(promises_are_none_at_first_and_can_be_combined, "attribute 1010: 0, and each combination; another number: InvalidValue") \
    X(promised_streams_are_given_the_memory_that_they_freed, "attribute 1010: the same stream at once, another one not") \
    X(a_new_stream_at_a_promised_ones_handle_inherits_no_memory, "attribute 1010: with streams destroyed as promised, a recycled handle is another stream") \
    X(a_promise_is_of_one_pool, "attribute 1010: a capturing stream is still refused memory of another pool") \
    X(promised_default_streams_are_told_apart_by_their_handles, "attribute 1010: in one context null and legacy are one stream, and each thread's own is another") \
    X(a_deterministic_pool_does_the_same_on_a_fast_and_a_slow_device, "attribute 1002: addresses and growth depend on the program alone") \
    X(a_deterministic_pool_takes_what_a_synchronise_has_shown, "attribute 1002: a query teaches nothing, a synchronise does") \
    X(a_deterministic_pool_takes_what_a_stream_synchronise_has_shown, "attribute 1002: a synchronise of the stream does, of another one not") \
    X(statistics_are_read_by_name_and_set_to_0_alone, "statistics: names, start at 0, set to anything but 0: InvalidValue") \
    X(statistic_reuse_same_stream_counts_the_streams_own_memory, "statistic ReuseSameStream counts the streams own memory") \
    X(statistic_reuse_complete_counts_memory_known_to_be_complete, "statistic ReuseComplete counts memory known to be complete") \
    X(statistic_reuse_ordered_counts_memory_that_the_stream_runs_after, "statistic ReuseOrdered counts memory that the stream runs after") \
    X(statistic_reuse_found_complete_counts_memory_that_a_question_found, "statistic ReuseFoundComplete counts memory that a question found") \
    X(statistic_reuse_made_ordered_counts_memory_that_a_wait_brought, "statistic ReuseMadeOrdered counts memory that a wait brought") \
    X(statistic_waits_inserted_counts_the_waits, "statistic WaitsInserted counts the waits") \
    X(statistic_growths_counts_what_was_mapped, "statistic Growths counts what was mapped") \
    X(statistic_growths_after_trim_counts_what_caches_made_room_for, "statistic GrowthsAfterTrim counts what caches made room for") \
    X(statistic_context_fences_counts_waits_for_a_whole_context, "statistic ContextFences counts waits for a whole context") \
    X(statistic_host_waits_counts_allocations_that_waited, "statistic HostWaits counts allocations that waited") \
    X(statistic_other_region_counts_small_blocks_out_of_large_memory, "statistic OtherRegion counts small blocks out of large memory") \
    X(statistic_events_recorded_counts_the_events_behind_frees, "statistic EventsRecorded counts the events behind frees") \
    X(statistic_failures_counts_allocations_that_found_no_memory, "statistic Failures counts allocations that found no memory")

#define STREAM_ROWS(X) \
    X(per_thread_default_streams_of_two_threads_are_two_streams, "the per-thread default stream is one for each host thread") \
    X(stream_0_is_the_threads_own_in_the_ptsz_variants, "stream 0 of the _ptsz variants is the thread's own") \
    X(frees_of_a_thread_that_has_ended_stay_pending, "a thread that ends takes its frees nowhere") \
    X(many_threads_share_one_stream, "many threads on one stream: no byte is wrong") \
    X(trap_6_memory_keeps_its_bytes_under_load_on_several_streams, "memory keeps what is written under load on several streams") \
    X(trap_5_everything_goes_on_while_a_thread_waits_in_a_synchronise, "a synchronise in one thread holds up no call of another") \
    X(memory_pending_on_a_destroyed_stream_is_found_once_it_is_complete, "poolStreamDestroy with frees pending: they are found when complete") \
    X(memory_pending_on_a_destroyed_stream_can_be_waited_for, "poolStreamDestroy with frees pending: a wait can be inserted for them") \
    X(trap_2_a_new_stream_at_a_handle_that_the_pool_destroyed_inherits_no_memory, "a new stream at a destroyed stream's handle inherits no memory") \
    X(trap_2_a_new_stream_at_a_destroyed_ones_handle_inherits_no_order, "nor what that one ran after") \
    X(trap_2_a_new_stream_inherits_no_slab_that_a_destroyed_one_was_given_by_order, "nor small blocks that one was given behind pending work") \
    X(streams_that_come_and_go_leave_nothing_behind, "streams destroyed with frees pending: all memory goes back") \
    X(trap_7_free_memory_in_pieces_and_in_other_streams_lists_is_found, "complete memory in pieces, in three streams' lists: found before the pool fails") \
    X(trap_7_pending_memory_in_pieces_is_found_too, "pending memory in pieces, of streams that the taker runs after: found") \
    X(trap_8_a_threshold_that_holds_what_is_used_ends_the_growing, "with a threshold that holds the working set no synchronise makes the pool grow again") \
    X(a_program_that_calls_no_hook_needs_no_more_memory_than_it_uses, "a program that waits by CUDA's own calls: memory is found again") \
    X(a_program_that_calls_no_hook_can_trim, "and goes back to the device") \
    X(a_program_that_calls_no_hook_gives_memory_back_when_it_grows, "down to the threshold, when its stream is idle") \
    X(pending_memory_of_a_program_that_calls_no_hook_is_kept, "and not before")

#define CAPTURE_ROWS(X) \
    X(growth_leaves_a_capture_valid, "a capture in this or another thread stays valid while pools grow") \
    X(a_trim_leaves_a_capture_valid, "while a pool is trimmed") \
    X(priming_leaves_a_capture_valid, "while a pool is primed") \
    X(remapping_leaves_a_capture_valid, "while memory in pieces is joined, and trimmed") \
    X(records_and_waits_leave_a_capture_valid, "while events are recorded and waited for on other streams") \
    X(questions_leave_a_capture_valid, "while events are asked") \
    X(inserted_waits_leave_a_capture_valid, "while waits are inserted into other streams") \
    X(an_allocation_that_finds_no_memory_leaves_a_capture_valid, "while an allocation tries everything and fails") \
    X(a_wait_on_the_host_leaves_a_capture_valid, "while an allocation waits on the host") \
    X(destroying_streams_events_and_pools_leaves_a_capture_valid, "while streams, events and pools are destroyed") \
    X(new_streams_leave_a_capture_valid, "while streams come that the library has not seen") \
    X(the_legacy_stream_allocates_beside_a_capture_of_a_non_blocking_stream, "malloc and free on the legacy stream beside a non-blocking capture: success") \
    X(a_capture_forks_and_joins_through_the_pools_calls, "poolEventRecord and poolStreamWaitEvent in a capture: what the driver does, and nothing is learned") \
    X(a_capture_forks_through_an_event_that_the_pool_knows_otherwise, "an event of an earlier record, recorded in a capture by CUDA's own call: waited for as CUDA does") \
    X(memory_that_a_capture_may_not_free_is_freed_after_it, "a free refused in a capture is made after it") \
    X(memory_is_freed_in_no_streams_order_beside_a_capture, "poolFree beside a capture: success")

#define CONTEXT_ROWS(X) \
    X(two_contexts_of_a_device_share_a_pool, "two contexts on one device: memory freed in one is not reused in the other before it is complete") \
    X(an_event_orders_streams_of_two_contexts, "two contexts on one device: an event orders their streams") \
    X(default_streams_of_two_contexts_are_two_streams, "two contexts on one device: the default streams of each are its own") \
    X(what_is_complete_in_the_current_context_serves_a_stream_of_another, "complete in the context that is current: a stream of another context may have it") \
    X(a_context_may_be_destroyed_with_frees_pending, "a context destroyed with frees pending: the pool goes on, and touches none of its events") \
    X(a_context_may_be_reset_with_frees_pending, "the primary context reset with frees pending: likewise") \
    X(memory_of_a_context_that_was_reset_is_given_again, "what was freed before the reset is complete after it") \
    X(memory_of_a_context_that_was_destroyed_is_given_again, "what was freed in a context that was destroyed is complete") \
    X(memory_of_a_context_that_was_destroyed_is_trimmed, "and goes back to the device") \
    X(memory_of_another_context_that_is_alive_is_left, "what is pending in a context that is alive is neither given again nor trimmed")

#define REMAP_ROWS(X) \
    X(memory_in_pieces_serves_a_large_request_with_no_new_memory, "free memory in pieces is joined, at no byte more reserved") \
    X(joined_memory_and_its_neighbours_share_no_byte, "where an end of it lies in memory that is partly used, no byte is wrong on either side") \
    X(a_view_of_pieces_serves_the_same_request_again, "the same request again: the same address, though the memory was used by its other one meanwhile") \
    X(joined_memory_comes_after_its_last_work_on_the_same_stream, "pieces with work pending on A are joined for A, behind that work") \
    X(memory_that_another_stream_has_pending_is_not_joined, "and not for B") \
    X(work_through_joined_memory_has_a_claim_on_the_pieces, "joined memory freed with work pending: its pieces are neither given to B nor trimmed before") \
    X(joined_memory_keeps_the_claims_on_all_its_pieces, "joined by B behind A's work and freed on C: C waits for A") \
    X(a_view_that_makes_way_for_others_stands_until_all_work_through_it_is_complete, "and a view that is no longer kept is not unmapped before") \
    X(a_resident_kernel_does_not_delay_joining, "joining waits for no kernel of another stream") \
    X(joined_memory_is_freed_by_its_first_address_alone, "free of a piece's own address, or inside, or twice: InvalidValue")

#define EVICT_ROWS(X) \
    X(an_evicted_pools_memory_is_the_devices_again, "poolMemPoolEvict: what the device has free grows by it, and shrinks at poolMemPoolMakeResident") \
    X(blocks_of_all_sizes_hold_what_a_loader_brings, "contents that are saved and loaded by the visitors are at the same addresses") \
    X(eviction_waits_for_all_work_of_the_context, "poolMemPoolEvict: what streams were given before has ended when contents are saved") \
    X(joined_memory_is_evicted_with_its_pieces, "memory in pieces that was mapped side by side comes back side by side") \
    X(an_evicted_pool_allocates_nothing_and_takes_back_what_is_freed, "an evicted pool: IllegalState for allocations; what is freed gets no memory again") \
    X(eviction_and_its_end_are_no_error_twice, "a pool that is evicted, or resident, stays so; a destroyed one: InvalidValue") \
    X(fixed_blocks_keep_their_memory_in_an_evicted_pool, "blocks of poolMallocFixed stay, and their bytes are told") \
    X(a_paused_pool_comes_back_with_its_contents, "poolMemPoolPause, Resume: blocks of all sizes have their contents again, from the host") \
    X(a_paused_pool_comes_back_from_a_file, "beyond the host's limit contents go to a file, and come back") \
    X(tags_pause_apart_and_keep_what_is_saved, "tags pause apart, at their levels, and resume together")

#define LIVE_ROWS(X) \
    X(live_a_small_free_hides_no_large_one, "a free with no event behind it keeps nobody from what lies beside it") \
    X(live_pending_memory_beside_a_small_free_is_had_by_waiting, "likewise while work is pending: the allocation waits") \
    X(live_what_one_stream_freed_is_anothers_once_it_is_idle, "freed on a stream that is idle by now, whoever has synchronised it: anybody's") \
    X(live_blocks_of_many_sizes_are_anothers_too, "likewise, each block of another size") \
    X(live_blocks_of_slabs_are_anothers_too, "likewise small blocks") \
    X(live_a_trim_releases_what_an_idle_stream_freed, "likewise for a trim") \
    X(live_another_pool_has_it_on_the_same_stream, "the device full: what a pool keeps makes room for another one") \
    X(live_pools_that_were_given_up_make_room, "pools that come and go with the driver's own synchronises leave room for the next") \
    X(live_a_given_up_pool_makes_room_for_its_own_stream, "a destroyed pool whose work is complete makes room in the call that needs it") \
    X(live_a_given_up_pool_makes_room_for_another_stream, "likewise on another stream") \
    X(live_a_given_up_pool_makes_room_for_fixed_memory, "likewise for poolMallocFixed") \
    X(live_a_given_up_pool_makes_room_for_priming, "likewise for poolMemPoolPrime") \
    X(live_a_cache_and_the_rest_of_the_device_make_room_together, "what is free on the device and what another pool keeps, together") \
    X(live_a_pool_that_is_destroyed_when_idle_gives_its_memory_back_at_once, "a pool destroyed once all is complete: its memory is the device's in that call") \
    X(live_a_refusal_leaves_every_cache_as_it_was, "a request that can't be served: no cache is given back for it") \
    X(live_what_is_left_of_a_fixed_extent_serves_any_request, "free memory beside a fixed block in its extent: any other request can have it") \
    X(live_pending_memory_of_another_pool_is_had_by_a_wait_on_the_host, "the device full, and what another pool has free is pending: the host waits for it, where the attribute allows that") \
    X(live_pending_pieces_and_new_memory_together_are_had_by_waiting, "pending memory in pieces, together with what the pool may yet grow by: the allocation waits") \
    X(live_a_failure_of_the_device_is_no_lack_of_memory, "the work that an allocation waits for fails: that error is told, and not that memory is lacking") \
    X(live_a_silent_stream_is_told_of_where_the_program_says_that_nothing_captures, "freed on a non-blocking stream that is named no more: anybody's where ContextFence is set") \
    X(live_streams_that_come_and_go_leave_room, "streams destroyed by the driver's own call keep no memory from others") \
    X(live_small_blocks_of_streams_that_come_and_go_leave_room, "nor by small blocks alone") \
    X(live_threads_that_come_and_go_leave_room, "likewise the default streams of threads that ended") \
    X(live_pending_memory_of_a_thread_that_ended_is_had_by_waiting, "what a thread's default stream freed while its work is pending, and the thread has ended: the allocation waits") \
    X(live_a_refusal_leaves_the_capture_of_a_blocking_stream_valid, "beside a blocking stream that captures nothing is asked that would break the capture") \
    X(live_a_refusal_leaves_the_capture_of_a_non_blocking_stream_valid, "nor beside a non-blocking one")

#define MAM_ROWS(X) \
    X(a_manager_takes_its_chunk_at_the_first_malloc, "poolMamMalloc: the first one takes the chunk, whole; poolMamDestroy gives it back") \
    X(memory_of_a_manager_is_usable_by_any_stream, "at once, on streams of every kind") \
    X(a_managers_free_is_immediate, "poolMamFree: the next malloc may return the memory, whatever runs") \
    X(a_manager_joins_neighbours, "freed blocks are joined with both neighbours, in whatever order they are freed") \
    X(a_fixed_chunk_is_never_exceeded, "poolMamFixed: MemoryAllocation when it is full; else the manager grows") \
    X(an_automatic_chunk_leaves_a_share_free, "poolMamCreateAuto: a sixteenth of the device, or half of what is free") \
    X(a_manager_frees_nothing_but_its_own, "null: success; freed, interior, another's, the driver's, the host's: InvalidValue") \
    X(live_blocks_outlive_their_manager, "poolMamDestroy: live blocks stay valid, and poolFree frees them")

#define TRAP_ROWS(X) \
    X(trap_3_a_failed_allocation_keeps_nothing_of_what_it_grew, "a failed allocation leaks nothing, keeps nothing, and frees nothing twice later") \
    X(trap_4_no_lock_is_held_after_an_error, "after each error the next call of another thread goes through") \
    X(trap_9_the_first_large_allocation_reserves_what_it_needs, "the first large allocation reserves no more than it needs") \
    X(trap_10_a_pool_may_be_destroyed_while_another_thread_frees_into_it, "destroying a pool while another thread frees into it") \
    X(trap_11_pools_are_made_while_frees_of_earlier_ones_are_queued, "queued frees of destroyed pools don't keep the next pool from being made") \
    X(trap_14_a_process_ends_quietly_with_everything_alive, "exit with memory, streams and pending frees alive: no hang, no crash, no print") \
    X(trap_15_a_forked_child_gets_a_clear_error, "a fork without exec: InitializationError in the child, and the parent goes on") \
    X(the_drivers_version_is_told_without_the_device, "poolDriverGetVersion before a fork: the child may use the device")

#define HOST_POOL_ROWS(X) \
    X(create_on_the_host_makes_an_empty_pool_that_is_not_current, "pinned memory of the host, or of a node: nothing reserved; not the current pool") \
    X(create_on_the_host_ignores_the_number, "Host with any id") \
    X(create_on_a_node_that_there_is_not_is_invalid, "HostNuma with no such node: InvalidValue") \
    X(create_on_the_node_of_the_thread_is_invalid, "HostNumaCurrent: InvalidValue") \
    X(memory_of_the_whole_host_has_no_handles, "Host with a handle type: InvalidValue") \
    X(memory_of_a_node_may_have_file_descriptor_handles, "HostNuma with file descriptors: success") \
    X(create_on_the_host_takes_any_usage, "any usage: a pool like others") \
    X(create_on_the_host_takes_a_limit, "maxSize; beyond all address space: MemoryAllocation; reserved bytes that are not 0: InvalidValue") \
    X(attributes_tell_where_on_the_host_a_pool_is, "location, allocation type, limit, and the defaults of others") \
    X(each_place_of_the_host_has_a_default_pool, "poolMemGetDefaultMemPool: current at first, and not to be destroyed") \
    X(the_host_has_one_default_pool_whatever_the_number, "Host with any id: the same pool") \
    X(a_node_has_another_default_pool_than_the_host, "HostNuma: another pool than Host") \
    X(the_default_pool_of_a_devices_location_is_the_devices, "Device: the pools of poolDeviceGetDefaultMemPool and poolDeviceGetMemPool") \
    X(a_location_that_is_none_of_pinned_memory_is_refused, "None, no such device: InvalidValue; HostNumaCurrent and later types: NotSupported") \
    X(a_node_that_there_is_not_has_no_default_pool, "no such node: InvalidValue") \
    X(default_pools_of_no_allocation_type_are_refused, "InvalidValue; of HostNumaCurrent and later types: NotSupported") \
    X(a_default_pool_of_a_null_argument_is_invalid, "a null pool or location: InvalidValue") \
    X(the_current_pool_of_the_host_is_the_one_that_was_set, "poolMemSetMemPool") \
    X(destroying_the_current_pool_of_the_host_makes_the_default_pool_current, "destroying the current pool of the host: the default pool is current") \
    X(setting_the_current_pool_of_another_place_is_invalid, "a pool of the host as a device's, and the other way round: InvalidValue") \
    X(setting_the_current_pool_of_a_node_and_the_host_are_two_things, "a pool of a node as the host's, and the other way round: InvalidValue") \
    X(the_host_alone_has_access_to_its_memory_at_first, "the host, by any node: reads and writes; devices: nothing") \
    X(access_of_a_device_to_memory_of_the_host_is_given_and_taken, "SetAccess of a device; read-only: NotSupported; no such device: InvalidDevice") \
    X(a_new_pool_of_the_host_lets_no_device_in, "whatever pools that were destroyed let in") \
    X(the_host_can_not_be_denied_its_memory, "SetAccess of the host: success; read-only, none: NotSupported") \
    X(the_host_has_no_access_to_memory_of_a_device, "SetAccess of the host on a pool of a device: NotSupported") \
    X(access_to_memory_of_the_host_with_a_bad_argument_is_invalid, "no such location, unknown flags, a null list: InvalidValue") \
    X(a_list_for_memory_of_the_host_is_taken_wholly_or_not_at_all, "a list with an entry that is refused: nothing is changed") \
    X(create_of_managed_memory_takes_any_place_and_none, "Managed at None, a device, the host") \
    X(create_of_managed_memory_takes_a_node, "Managed at HostNuma and HostNumaCurrent; no such node: InvalidValue") \
    X(create_of_managed_memory_where_nothing_is_is_refused, "Managed at no such device: InvalidValue; at later types: NotSupported") \
    X(managed_memory_has_no_handles_no_limit_and_no_use, "Managed with a handle type, maxSize, or usage: InvalidValue") \
    X(managed_memory_has_a_default_pool_for_each_place, "None, a device, the host: a pool each, and not that of pinned memory") \
    X(pinned_and_managed_memory_of_a_place_have_current_pools_of_their_own, "poolMemSetMemPool of a pool of another place or type: InvalidValue") \
    X(a_devices_pool_of_managed_memory_may_be_set_by_the_device, "poolDeviceSetMemPool: the current pool of the device's managed memory; of other managed memory: InvalidValue") \
    X(access_to_managed_memory_is_noted, "SetAccess of devices and the host: GetAccess tells it; read-only: NotSupported")

#define HOST_BLOCK_ROWS(X) \
    X(the_host_reads_and_writes_its_blocks_at_their_address, "blocks of all sizes, at once") \
    X(a_device_with_access_uses_blocks_of_the_host, "kernels and copies, of what was allocated before SetAccess and after; the host sees each byte, and they see its own") \
    X(copies_from_and_to_blocks_of_the_host_need_no_access, "copies of host memory, in both directions") \
    X(access_that_is_taken_away_leaves_the_host_its_own, "SetAccess none: the driver lets the device in no longer, and the host as before") \
    X(the_driver_takes_blocks_of_the_host_for_host_memory, "cuPointerGetAttribute: host memory, at its address") \
    X(the_driver_takes_blocks_of_managed_memory_for_managed, "cuPointerGetAttribute: managed memory") \
    X(managed_memory_prefers_the_place_of_its_pool, "the driver is advised of the device or the host, from CUDA 12.2 on") \
    X(an_address_of_a_block_of_the_host_names_no_device, "poolPointerGetAttributes: device -1, and all else as of a device's block") \
    X(calls_with_blocks_of_the_host_refuse_what_others_do, "an interior pointer, a double free: InvalidValue; 2^50 bytes: MemoryAllocation; 0 bytes: null") \
    X(destroy_leaves_the_host_its_live_blocks, "live blocks of a destroyed pool: the host's until they are freed") \
    X(a_block_of_the_host_is_reused_behind_its_kernels, "freed behind a pending kernel: on that stream at once, on no other") \
    X(a_block_of_the_host_is_reused_behind_copies_from_it, "freed behind a pending copy from it: likewise") \
    X(a_block_of_the_host_follows_events, "an event hands it on to a stream that waits") \
    X(used_and_reserved_count_memory_of_the_host, "as of a device's pool, and while a free is pending") \
    X(a_synchronise_and_a_trim_release_memory_of_the_host, "to the threshold, and to what is to be kept; live blocks stay") \
    X(a_limit_holds_for_memory_of_the_host, "a request beyond maxSize: MemoryAllocation") \
    X(a_devices_pool_overflows_to_the_host, "attribute HostOverflowMax: default 0; a request beyond maxSize gets memory of the host, which kernels use, and the next is of the device if that has room") \
    X(a_primed_pool_of_the_host_serves_with_no_growth, "poolMemPoolPrime") \
    X(a_pool_of_the_host_needs_no_context, "a user's stream without one; a default stream: the primary context of device 0 is made current") \
    X(a_capturing_stream_is_refused_memory_of_the_host, "malloc and free in a capturing stream, and in no stream's order beside a blocking one: refused, and nothing changed") \
    X(a_pool_of_the_host_grows_beside_a_capture, "another stream's capture stays valid") \
    X(memory_of_the_host_in_pieces_keeps_every_byte, "a large block of pieces: every byte, to the host and to a device that is let in then") \
    X(a_device_with_access_uses_memory_of_the_host_that_is_joined_later, "and to one that was let in before") \
    X(the_host_uses_memory_by_both_of_its_addresses, "pieces by their own addresses and by that of the block that they were joined to") \
    X(work_through_joined_memory_of_the_host_has_a_claim_on_the_pieces, "pending work through it: other streams, and who wants complete memory, get none of it")

#define COMPLETE_ROWS(X) \
    X(complete_only_leaves_memory_whose_last_use_is_pending, "poolMallocCompleteOnly and poolMallocFromPool: other memory, on whatever stream, and no wait") \
    X(complete_only_is_refused_until_the_last_use_is_complete, "no other memory: MemoryAllocation, and nothing changed; success once the work is complete") \
    X(complete_only_is_refused_small_memory_whose_last_use_is_pending, "small blocks too") \
    X(memory_in_no_streams_order_is_not_that_of_pending_default_streams, "poolMallocFromPool: default and blocking streams count as any others") \
    X(memory_in_no_streams_order_is_counted_and_freed_as_any_other, "poolMallocFromPool: Used, and both ways to free") \
    X(memory_in_no_streams_order_with_a_bad_argument_is_refused, "a null ptr, no pool: InvalidValue; too much: MemoryAllocation; 0 bytes: null") \
    X(a_loop_of_complete_memory_needs_no_more, "freed behind copies that the driver's own synchronise waits for: the pool doesn't grow") \
    X(the_host_writes_to_complete_memory_at_once, "copies from blocks that were freed before: no byte is wrong") \
    X(complete_only_waits_as_host_wait_max_allows, "HostWaitMax: the call waits for pending work, or gives up") \
    X(complete_memory_shares_no_byte_with_other_memory, "blocks of all sizes, by the flag and without it")

#define PAGEABLE_ROWS(X) \
    X(copies_bring_all_bytes_both_ways, "poolCopyToDeviceAsync and poolCopyToHostAsync: any size and alignment, on streams of every kind; the source may be changed on return") \
    X(rows_of_bytes_are_copied_without_what_is_between_them, "poolCopyToDevice2DAsync and poolCopyToHost2DAsync") \
    X(a_copy_with_a_completion_waits_for_its_turn_alone, "it returns at once, and the bytes are there behind the driver's own synchronise") \
    X(a_completion_tells_that_its_source_was_read, "bytes that fit into the chunks are read while the stream is held") \
    X(copies_of_many_streams_wait_for_one_and_all_arrive, "40 streams with copies both ways behind one that is held") \
    X(a_held_copy_holds_up_no_other_stream, "copies of other streams go on") \
    X(pinned_and_managed_memory_is_copied_at_its_turn, "pinned memory is read when the stream comes to the copy") \
    X(a_capture_takes_pinned_copies_and_outlives_others, "pageable memory and files: StreamCaptureUnsupported, and the capture stays valid") \
    X(a_copy_of_what_the_driver_does_not_know_is_invalid, "a device's side that is pageable, null addresses, a pitch that is too small: InvalidValue; 0 bytes: success") \
    X(many_pieces_are_copied_at_once_both_ways, "poolCopyBatchAsync: 1,000 pieces of pinned and of pageable memory") \
    X(a_file_is_copied_both_ways, "poolFileToDeviceAsync and poolDeviceToFileAsync") \
    X(a_process_ends_with_copies_under_way, "it doesn't hang")

#define COMMON_ROWS(X) \
    ALLOCATION_ROWS(X) \
    BEHIND_ROWS(X) \
    POINTER_ROWS(X) \
    POOL_ROWS(X) \
    ATTRIBUTE_ROWS(X) \
    ACCESS_ROWS(X) \
    HOST_POOL_ROWS(X) \
    HOST_BLOCK_ROWS(X) \
    COMPLETE_ROWS(X) \
    STATISTICS_ROWS(X) \
    REUSE_ROWS(X) \
    ORDER_ROWS(X) \
    LEGACY_ROWS(X) \
    FLAG_ROWS(X) \
    STREAM_ROWS(X) \
    CAPTURE_ROWS(X) \
    CONTEXT_ROWS(X) \
    REMAP_ROWS(X) \
    EVICT_ROWS(X) \
    LIVE_ROWS(X) \
    MAM_ROWS(X) \
    PAGEABLE_ROWS(X) \
    TRAP_ROWS(X)

#define TWO_DEVICE_ROWS(X) \
    X(each_device_has_a_default_pool_of_its_own, "default and current pools are those of one device") \
    X(malloc_takes_from_the_pool_of_the_streams_device, "the pool is that of the stream's device, whatever device is current") \
    X(a_pool_of_another_device_serves_a_stream, "the pool may be of another device than the stream") \
    X(a_call_with_another_devices_pool_and_no_context_gets_that_devices, "a default stream with no current context, and another device's pool: that device's primary context") \
    X(setting_another_devices_pool_as_current_is_an_invalid_device, "another device's pool: InvalidDevice") \
    X(memory_freed_on_another_devices_stream_waits_for_that_stream, "memory freed on a stream of another device: not reused before that is complete") \
    X(an_event_orders_streams_of_two_devices, "an event orders streams of two devices") \
    X(the_legacy_streams_of_two_devices_have_no_order, "a blocking stream is ordered with the legacy stream of its own device alone") \
    X(streams_of_two_devices_share_no_memory, "memory freed on the streams of two devices stays with its device") \
    X(no_other_device_has_access_at_first, "other devices have no access at first") \
    X(a_peer_with_access_uses_what_was_allocated_before, "SetAccess holds for what is allocated already") \
    X(trap_13_a_peer_with_access_uses_what_is_allocated_later, "and for all that is allocated later") \
    X(a_peer_with_access_uses_memory_that_was_joined, "and for memory in pieces that was joined before") \
    X(a_peer_with_access_uses_memory_that_is_joined_later, "and for what is joined later") \
    X(access_that_is_taken_away_is_gone_for_present_and_later_memory, "access can be taken away, and given again") \
    X(a_list_with_one_bad_entry_changes_nothing, "a list with an entry that is refused: nothing is changed") \
    X(streams_of_all_devices_use_a_pool_of_the_host, "a pool of the host serves streams of each device, and those that are let in use it") \
    X(memory_of_the_host_waits_for_streams_of_another_device, "freed on a stream of another device: not reused before that is complete") \
    X(each_device_is_let_in_to_memory_of_the_host_by_itself, "SetAccess of one device says nothing of another") \
    X(memory_that_ended_with_another_device_is_not_given_again, "a device is reset in whose context memory for staging or managed memory was got: a stream of another device gets none that it had freed") \
    X(memory_for_staging_is_got_on_the_device_that_is_current, "the first memory for staging makes no context on another device than that of its stream, or the current one")

#define SIMULATED_ROWS(X) \
    X(the_drivers_failures_are_passed_on, "a synchronise, a query or a record that the driver fails: its number and its entry point") \
    X(a_fault_that_a_call_has_told_of_is_told_by_all, "work has failed, and a call has said so: allocations and frees return the same, whatever is promised, and change nothing") \
    X(trap_3_a_failed_driver_call_leaves_nothing_behind, "growth that fails at any of its driver calls is undone") \
    X(trap_9_the_first_large_allocation_takes_few_driver_calls, "the first large allocation takes few driver calls, and its repetition none") \
    X(trap_11_address_space_that_runs_out_is_an_error, "no address space left: MemoryAllocation, and what is there goes on working") \
    X(trap_12_a_device_without_virtual_memory_gives_plain_memory, "no virtual memory management: memory comes from cuMemAlloc") \
    X(trap_12_a_device_that_refuses_what_it_says_it_supports_gives_plain_memory, "the device says it can and then refuses: memory comes from cuMemAlloc") \
    X(trap_12_a_pool_grows_while_plain_memory_is_given_back, "cuMemFree waits for the device: others allocate meanwhile") \
    X(trap_12_what_is_being_given_back_is_waited_for_at_the_limit, "likewise, and the limit leaves no room: others wait") \
    X(a_host_that_is_not_mapped_gives_pinned_memory, "memory of the host can't be mapped: it comes from cuMemHostAlloc, and of a node there is none") \
    X(a_driver_that_refuses_to_map_the_host_gives_pinned_memory, "the driver says that it maps the host and then refuses: cuMemHostAlloc") \
    X(each_node_of_the_host_has_pools_of_its_own, "two nodes: a default pool each; a third: InvalidValue") \
    X(a_host_that_has_no_more_is_an_error, "the driver has no more memory of the host: MemoryAllocation, and nothing changed") \
    X(caches_of_the_host_make_room_for_others, "a host that has no more, of which other pools keep some: success") \
    X(caches_of_the_host_that_are_too_small_stay, "where they can't be enough: a refusal changes nothing") \
    X(caches_of_managed_memory_make_room_for_others, "the driver has no more managed memory, of which pools of any place keep some: success") \
    X(a_context_that_the_driver_can_not_tell_of_is_taken_for_alive_and_left_alone, "nobody knows whether a context is gone: what was freed there is not reused, and its events are not touched") \
    X(a_free_that_comes_late_to_its_slab_hides_no_later_one, "two threads free on one stream: the later free counts, whichever reaches the slab first") \
    X(a_stream_is_not_destroyed_while_another_thread_asks_it, "a stream whose memory another thread wants is asked, or destroyed, but not both at once")

#define GPU_ROWS(X) \
    X(programmatic_dependent_launch_keeps_every_byte, "kernels that start before those in front of them have ended, and wait for them: no byte is wrong") \
    X(programmatic_dependent_launch_keeps_every_byte_of_joined_memory, "nor when memory is joined behind such kernels; fixed memory is never joined") \
    X(green_contexts_have_default_streams_of_their_own, "the null stream of one green context is not that of another, nor of the context they were made in") \
    X(green_contexts_legacy_streams_have_no_order_with_the_primarys_streams, "memory of one is not the other's, and a synchronise of one tells nothing of the other")

#define COPY_ROWS(X) \
    X(a_small_copy_from_pageable_memory_has_taken_its_source, "pageable memory of up to 64 KiB is taken when the call returns") \
    X(a_copy_from_pinned_memory_reads_its_source_when_it_runs, "pinned memory is read when the stream comes to the copy") \
    X(a_copy_to_pageable_memory_is_complete_when_it_returns, "the bytes are there when the call returns") \
    X(a_copy_to_pinned_memory_is_pending_behind_its_stream, "the call returns before its stream comes to the copy") \
    X(a_copy_on_the_device_does_not_wait_on_the_host, "cuMemcpyDtoD returns while earlier work is pending") \
    X(a_set_of_device_memory_does_not_wait_on_the_host, "cuMemsetD8 returns while earlier work is pending") \
    X(a_copy_between_streams_is_ordered_by_an_event, "a copy waits for an event as other work does") \
    X(a_copy_finds_out_where_its_memory_is, "cuMemcpy: host or device on either side, by the address") \
    X(a_copy_of_no_bytes_succeeds, "a size of 0: success") \
    X(a_copy_of_memory_that_is_nobodys_is_invalid, "a null pointer or an address of no allocation: INVALID_VALUE") \
    X(a_copy_past_the_end_of_an_allocation_is_invalid, "more than the allocation has: INVALID_VALUE") \
    X(a_copy_over_two_allocations_is_invalid, "an allocation and the one behind it: INVALID_VALUE, of sets too") \
    X(a_copy_that_leaves_registered_memory_is_invalid, "registered memory and what is behind it, registered or not: INVALID_VALUE; one that begins in front of it: success") \
    X(a_copy_of_rows_takes_the_pitch_of_both_sides, "2-D copies") \
    X(a_pitch_that_is_less_than_a_row_is_invalid, "a pitch below the width, or no description: INVALID_VALUE") \
    X(a_copy_of_planes_takes_pitch_and_height_of_both_sides, "3-D copies") \
    X(a_set_of_words_writes_whole_words, "sets of 16 and 32 bits") \
    X(a_set_of_words_wants_them_aligned, "an address that is no multiple of the word: INVALID_VALUE") \
    X(a_set_of_rows_leaves_what_is_between_them, "2-D sets") \
    X(a_stream_waits_for_a_value, "cuStreamWaitValue32, not less: pending until a write reaches it") \
    X(a_stream_waits_for_bits_or_an_equal_value, "likewise for a common bit and for an equal value of 64 bits") \
    X(a_word_of_a_stream_is_aligned_and_somebodys, "an unaligned or a null address: INVALID_VALUE") \
    X(a_stream_waits_for_a_bit_that_neither_has, "cuStreamWaitValue32, NOR: pending until a bit is 0 in both words") \
    X(a_wait_for_a_word_that_flushes_is_not_supported, "CU_STREAM_WAIT_VALUE_FLUSH: NOT_SUPPORTED, and nothing is queued") \
    X(a_condition_of_a_word_that_is_none_is_invalid, "unknown flags of a wait or a write: INVALID_VALUE") \
    X(several_words_come_in_order, "cuStreamBatchMemOp: writes and waits, one behind the other") \
    X(several_words_have_a_barrier_among_them, "CU_STREAM_MEM_OP_BARRIER") \
    X(several_words_are_below_256_and_all_valid, "256 operations, flags, an unaligned word: INVALID_VALUE") \
    X(no_words_and_a_flush_are_told_apart, "no operations: success; CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES: NOT_SUPPORTED") \
    X(copies_of_a_batch_are_all_made, "cuMemcpyBatchAsync") \
    X(a_batch_may_read_its_source_during_the_call, "DURING_API_CALL: the source is free when the call returns") \
    X(a_batch_takes_no_null_stream, "the null and the legacy stream: INVALID_VALUE") \
    X(a_batch_has_copies_and_an_order, "no copies, no order, an unknown one, one that begins behind the first: INVALID_VALUE") \
    X(a_copy_between_contexts_of_one_device_is_a_copy, "cuMemcpyPeer") \
    X(a_copy_between_contexts_may_leave_out_the_current_one, "cuMemcpyPeerAsync with a null context: success")

#define HOST_ROWS(X) \
    X(pinned_memory_has_the_same_address_on_the_device, "cuMemHostGetDevicePointer gives the host's address") \
    X(work_writes_to_pinned_memory_by_its_address, "sets and kernels reach pinned memory") \
    X(memory_is_registered_once, "twice: ALREADY_REGISTERED; unknown: NOT_REGISTERED; nothing: INVALID_VALUE") \
    X(registered_memory_is_read_when_a_copy_runs, "registered memory is pinned") \
    X(flags_of_pinned_memory_are_told, "flags; 0 bytes: success; unknown flags or memory: INVALID_VALUE") \
    X(a_pointer_tells_what_memory_it_is_of, "memory type and device of any address in an allocation; of other memory: INVALID_VALUE") \
    X(several_answers_about_a_pointer_come_at_once, "cuPointerGetAttributes: what is unknown is 0") \
    X(an_address_in_an_allocation_tells_its_range, "cuMemGetAddressRange; unknown: NOT_FOUND") \
    X(an_allocation_is_as_large_as_was_asked_for, "1,000 bytes: its range, and the most that is copied or set") \
    X(memory_for_rows_has_a_pitch_of_512_bytes, "cuMemAllocPitch; no width or a bad element: INVALID_VALUE") \
    X(memory_that_overlaps_registered_memory_is_refused, "ALREADY_REGISTERED; neighbours: success") \
    X(memory_of_the_driver_is_not_registered, "cuMemHostRegister of pinned memory: INVALID_VALUE") \
    X(memory_that_is_none_of_the_hosts_is_not_registered, "of a device, of nobody: INVALID_VALUE") \
    X(memory_that_the_host_only_reads_needs_a_flag_to_be_registered, "without CU_MEMHOSTREGISTER_READ_ONLY: INVALID_VALUE") \
    X(memory_is_unregistered_by_its_first_address, "an address inside, pinned memory, null: INVALID_VALUE") \
    X(registered_memory_is_not_freed, "cuMemFreeHost of registered memory: INVALID_VALUE") \
    X(flags_of_a_registration_that_are_none_are_invalid, "INVALID_VALUE") \
    X(registered_memory_tells_flags, "cuMemHostGetFlags of registered memory: success") \
    X(registered_memory_may_begin_within_a_page, "and end there") \
    X(pageable_memory_has_no_address_on_the_device, "cuMemHostGetDevicePointer of other memory or null: INVALID_VALUE") \
    X(an_address_on_the_device_takes_no_flags, "flags or no place for the address: INVALID_VALUE; inside of an allocation: success") \
    X(pinned_memory_of_no_bytes_is_null, "0 bytes: success and null; no place for the address: INVALID_VALUE") \
    X(pinned_memory_that_is_null_may_be_freed, "cuMemFreeHost of null: success") \
    X(pinned_memory_is_freed_by_its_first_address, "and once: else INVALID_VALUE") \
    X(device_memory_tells_where_it_is, "its context and address; its address on the host: INVALID_VALUE") \
    X(device_memory_tells_what_it_is, "not managed, mapped, of no pool, readable and writable") \
    X(device_memory_tells_its_range_and_mapping, "RANGE and MAPPING of an allocation: the allocation") \
    X(each_allocation_has_an_id_of_its_own, "BUFFER_ID") \
    X(pinned_memory_tells_both_its_addresses, "HOST_POINTER and DEVICE_POINTER, its device, that it is mapped") \
    X(registered_memory_is_told_as_memory_of_the_host, "until it is unregistered") \
    X(what_a_pointer_does_not_tell_is_refused, "an unknown attribute, null, no attributes: INVALID_VALUE")

#define HOST_MAPPED_ROWS(X) \
    X(memory_is_made_on_the_host_and_its_nodes, "cuMemCreate at HOST, with any id, and at HOST_NUMA: success") \
    X(memory_is_made_at_no_other_place, "at the calling thread's node, no place, no node; managed: INVALID_VALUE") \
    X(memory_of_the_host_tells_its_node, "cuMemGetAllocationPropertiesFromHandle: the first node") \
    X(memory_of_a_node_may_be_shared, "by a file descriptor; memory at HOST: INVALID_VALUE") \
    X(the_granule_of_every_place_is_told, "cuMemGetAllocationGranularity of places where nothing is made: success") \
    X(the_host_touches_mapped_memory_by_its_access, "without access a touch of the host faults") \
    X(the_host_may_be_let_read_alone, "PROT_READ: a write of the host faults") \
    X(access_of_the_host_is_told_of_each_node, "access of any node is the host's; the calling thread's node: INVALID_VALUE") \
    X(memory_of_a_device_is_not_the_hosts, "access of the host to memory of a device: NOT_SUPPORTED") \
    X(work_and_the_host_see_the_same_bytes, "kernels and the host, at one address") \
    X(memory_that_is_mapped_twice_has_the_same_bytes, "of the host, at two addresses") \
    X(memory_that_the_device_has_access_to_is_read_when_a_copy_runs, "as pinned memory") \
    X(memory_of_the_host_alone_is_copied_as_pageable_memory, "a copy reads it in the call") \
    X(copies_reach_memory_that_the_device_alone_has_access_to, "on the host's side of a copy, too") \
    X(memory_of_the_host_alone_is_copied_and_not_set, "a copy of a device's memory: success; a set: INVALID_VALUE") \
    X(memory_that_the_device_alone_reaches_has_no_address_on_the_host, "HOST_POINTER: INVALID_VALUE; its flags, range and address on the device are told") \
    X(memory_that_both_reach_tells_both_addresses, "HOST_POINTER and DEVICE_POINTER") \
    X(memory_that_the_host_alone_reaches_has_no_address_on_the_device, "DEVICE_POINTER, flags: INVALID_VALUE; the range: NOT_FOUND") \
    X(mapped_memory_is_not_registered, "cuMemHostRegister: INVALID_VALUE")

#define MANAGED_ROWS(X) \
    X(managed_memory_is_made_for_the_device_or_the_host, "cuMemAllocManaged: no bytes, other flags than one of both: INVALID_VALUE") \
    X(work_and_the_host_touch_managed_memory_at_one_address, "kernels and the host see the same bytes") \
    X(copies_take_managed_memory_on_either_side, "as memory of the host and of the device") \
    X(managed_memory_tells_what_it_is, "device memory that is managed, with both addresses, of its context") \
    X(managed_memory_is_a_range_and_no_pinned_memory, "cuMemGetAddressRange, cuMemHostGetFlags; cuMemHostGetDevicePointer: INVALID_VALUE") \
    X(a_prefetch_names_a_place_and_managed_memory, "no bytes, bytes past the end, other memory: INVALID_VALUE; no such device: INVALID_DEVICE") \
    X(a_prefetch_takes_its_turn_and_changes_no_byte, "in its stream's order") \
    X(advice_is_told_where_all_pages_have_it, "cuMemAdvise, cuMemRangeGetAttribute") \
    X(those_that_access_managed_memory_are_told, "ACCESSED_BY: the devices, then CU_DEVICE_INVALID") \
    X(the_place_of_the_last_prefetch_is_told, "LAST_PREFETCH_LOCATION") \
    X(advice_about_other_memory_is_refused, "other memory, no bytes, unknown advice, a value of another size: INVALID_VALUE")

#define CALL_ROWS(X) \
    X(each_error_has_a_sentence, "cuGetErrorString; unknown: INVALID_VALUE and null") \
    X(events_tell_the_time_between_them, "cuEventElapsedTime: above 0 across work, 0 of one event") \
    X(a_pending_event_tells_no_time, "a pending event: NOT_READY") \
    X(an_event_without_time_or_record_tells_none, "no timing, no record, no place for the answer: INVALID_HANDLE") \
    X(a_streams_priority_is_brought_into_the_range, "priorities beyond the range are brought into it") \
    X(a_callback_runs_behind_the_work_before_it, "cuStreamAddCallback: in the stream's order, with the status; flags or no function: INVALID_VALUE") \
    X(a_null_stream_of_the_per_thread_forms_is_the_threads_own, "_ptsz forms: the null stream is the thread's") \
    X(contexts_tell_flags_version_and_limits, "flags, version and limits of a context; an unknown limit: INVALID_VALUE") \
    X(a_device_is_named_by_its_place_on_the_bus, "PCI bus ids, both ways; unknown: INVALID_DEVICE") \
    X(an_image_that_is_none_is_refused, "text that is no image: INVALID_IMAGE; a missing kernel: NOT_FOUND") \
    X(a_launch_beyond_the_devices_limits_is_invalid, "blocks beyond 1,024 threads or 64 in z, grids beyond 65,535 in y, nothing: INVALID_VALUE") \
    X(parameters_may_come_in_one_buffer, "CU_LAUNCH_PARAM_BUFFER_POINTER") \
    X(a_kernels_parameters_are_told, "cuFuncGetParamInfo: offset and size; beyond the last: INVALID_VALUE") \
    X(a_library_gives_kernels_that_launch, "cuLibraryLoadData; a kernel is launched as a function is")

#define DEVICE_CALL_ROWS(X) \
    X(an_attribute_or_device_that_is_none_is_refused, "INVALID_VALUE, INVALID_DEVICE") \
    X(a_device_tells_the_limits_of_its_launches, "blocks, grids, shared memory, registers") \
    X(a_device_of_capability_9_0_tells_its_multiprocessors, "their number, threads, blocks, shared memory, registers") \
    X(a_device_of_capability_9_0_tells_its_cache, "the sizes of the cache, and of a window in it") \
    X(a_device_tells_the_alignment_of_textures, "textures, surfaces and their rows") \
    X(a_device_tells_how_streams_may_use_words, "waits and writes of words, and their old form") \
    X(a_device_tells_what_its_host_shares, "addresses, pinned memory, atomics, NUMA") \
    X(a_devices_properties_are_its_attributes, "cuDeviceGetProperties, cuDeviceComputeCapability") \
    X(a_device_has_one_uuid_and_no_luid, "the same in both forms; cuDeviceGetLuid: NOT_SUPPORTED") \
    X(a_place_on_the_bus_needs_its_room, "13 bytes; less: INVALID_VALUE") \
    X(a_place_on_the_bus_may_lack_its_zeros, "cuDeviceGetByPCIBusId without leading zeros and function") \
    X(a_place_on_the_bus_that_is_none_is_refused, "another function: INVALID_DEVICE; no place: INVALID_VALUE") \
    X(a_device_is_no_peer_of_itself, "cuDeviceCanAccessPeer: 0; cuDeviceGetP2PAttribute: INVALID_DEVICE") \
    X(flags_of_a_context_that_are_none_are_refused, "two ways to wait, unknown flags, no place for the context: INVALID_VALUE; no device, whatever the flags: INVALID_DEVICE") \
    X(a_context_tells_the_flags_it_was_made_with, "cuCtxGetFlags") \
    X(a_contexts_flags_may_be_changed, "cuCtxSetFlags; two ways to wait: INVALID_VALUE") \
    X(an_active_primary_contexts_flags_may_be_changed, "cuDevicePrimaryCtxSetFlags, seen at once; cuCtxGetFlags adds MAP_HOST") \
    X(a_reset_drops_the_flags_of_the_primary_context, "cuDevicePrimaryCtxReset: 0") \
    X(a_context_may_be_limited_to_nothing, "cuCtxCreate_v4 and _v3: no description, or an empty one: success; a list that is null: INVALID_VALUE") \
    X(a_share_of_a_device_needs_its_service, "cuCtxCreate_v3 with some multiprocessors, without MPS: UNSUPPORTED_EXEC_AFFINITY") \
    X(a_destroyed_context_tells_no_version, "version 3020; of a destroyed context: INVALID_CONTEXT") \
    X(a_new_context_has_these_limits, "stack, printf, heap, launches, cache") \
    X(a_limit_that_a_device_lacks_is_unsupported, "UNSUPPORTED_LIMIT; one that is none: INVALID_VALUE; SHMEM_SIZE is told") \
    X(a_limit_beyond_what_a_device_has_is_invalid, "INVALID_VALUE, and nothing is changed") \
    X(a_limit_that_is_set_is_told, "printf, heap, cache") \
    X(a_contexts_preferred_cache_is_told_again, "cuCtxSetCacheConfig; unknown: INVALID_VALUE") \
    X(banks_of_shared_memory_are_four_bytes_wide, "whatever cuCtxSetSharedMemConfig asks for; unknown: INVALID_VALUE") \
    X(what_belongs_to_a_context_needs_one, "no current context: INVALID_CONTEXT") \
    X(a_profiler_needs_a_context, "cuProfilerStart, cuProfilerStop; no current context: INVALID_CONTEXT") \
    X(contexts_of_one_device_are_no_peers, "itself, another: PEER_ACCESS_UNSUPPORTED; flags: INVALID_VALUE; none: INVALID_CONTEXT")

#define STREAM_CALL_ROWS(X) \
    X(either_end_of_the_priorities_may_be_left_out, "cuCtxGetStreamPriorityRange: 0 and -5") \
    X(default_streams_have_the_least_priority, "the null stream and the thread's: 0") \
    X(a_streams_priority_is_an_attribute, "CU_LAUNCH_ATTRIBUTE_PRIORITY; brought into the range") \
    X(a_new_stream_has_these_attributes, "policy -1, priority 0, domain 0, domains {0, 1}") \
    X(a_new_stream_has_no_window_of_the_cache, "all of it 0") \
    X(an_attribute_of_launches_alone_is_none_of_a_stream, "INVALID_VALUE") \
    X(a_policy_of_a_stream_that_is_none_is_invalid, "INVALID_VALUE") \
    X(a_domain_that_the_device_lacks_is_invalid, "INVALID_VALUE") \
    X(a_window_of_the_cache_has_a_share_of_at_most_all, "a hit ratio above 1: INVALID_VALUE") \
    X(attributes_are_copied_within_a_context, "cuStreamCopyAttributes; to another context: INVALID_VALUE") \
    X(a_stream_tells_its_device, "cuStreamGetDevice") \
    X(a_stream_of_a_context_tells_no_green_one, "cuStreamGetCtx_v2: the context, and null") \
    X(an_event_for_other_processes_has_no_timing, "CU_EVENT_INTERPROCESS without CU_EVENT_DISABLE_TIMING: INVALID_VALUE") \
    X(the_legacy_stream_tells_of_no_capture_beside_one, "cuStreamGetCaptureInfo beside a blocking capture: IMPLICIT, and the capture stays valid") \
    X(a_stream_without_a_capture_tells_of_none, "cuStreamGetCaptureInfo: status NONE; no place for the status: INVALID_VALUE") \
    X(a_callback_breaks_a_capture, "cuStreamAddCallback: UNSUPPORTED; then the status is INVALIDATED") \
    X(a_callback_is_given_its_stream, "null for the null stream") \
    X(events_of_two_contexts_tell_no_time, "cuEventElapsedTime: INVALID_HANDLE") \
    X(an_event_of_a_capture_tells_no_time, "cuEventElapsedTime: INVALID_VALUE") \
    X(events_tell_the_time_beside_a_capture, "cuEventElapsedTime is allowed beside a global capture") \
    X(an_external_record_needs_a_capture, "cuEventRecordWithFlags, EXTERNAL without one: ILLEGAL_STATE; unknown: INVALID_VALUE") \
    X(flags_of_finding_functions_may_both_be_set, "cuGetProcAddress: success") \
    X(a_function_is_found_in_the_form_of_a_version, "the newest form that is not newer than the version") \
    X(a_function_that_is_not_there_is_not_found, "cuGetProcAddress: success, null, and the status") \
    X(a_function_of_a_later_version_is_not_found, "likewise, with a status of its own") \
    X(a_private_table_that_is_none_is_invalid, "cuGetExportTable: INVALID_VALUE and null")

#define KERNEL_CALL_ROWS(X) \
    X(a_variable_that_a_module_lacks_is_not_found, "cuModuleGetGlobal: NOT_FOUND; no name: INVALID_VALUE") \
    X(a_module_counts_and_lists_its_functions, "cuModuleEnumerateFunctions; no place: INVALID_VALUE") \
    X(no_image_and_no_place_for_the_module_are_invalid, "INVALID_VALUE; no file: FILE_NOT_FOUND") \
    X(no_module_has_a_function, "no module: INVALID_HANDLE; no name, no place: INVALID_VALUE") \
    X(a_library_counts_and_lists_its_kernels, "cuLibraryEnumerateKernels; a kernel tells its library") \
    X(a_kernel_and_a_function_tell_their_name, "cuFuncGetName, cuKernelGetName") \
    X(an_image_of_a_library_is_looked_at_later, "text that is no image: success; null: INVALID_VALUE; no file: FILE_NOT_FOUND") \
    X(what_a_library_lacks_is_not_found, "cuLibraryGetGlobal: NOT_FOUND; no name, no place: INVALID_VALUE") \
    X(no_library_and_no_kernel_are_invalid_handles, "INVALID_HANDLE") \
    X(a_plain_kernel_has_these_attributes, "threads, memory and registers of a kernel without any demands") \
    X(a_plain_kernel_needs_no_cluster, "attributes of clusters: 0") \
    X(a_kernel_tells_what_it_was_compiled_for, "versions of its PTX and its binary") \
    X(an_attribute_of_a_kernel_that_is_none_is_refused, "INVALID_VALUE; of no kernel: INVALID_HANDLE") \
    X(what_a_compiler_decided_of_a_kernel_can_not_be_set, "threads, registers, whether there must be clusters: INVALID_VALUE") \
    X(a_width_of_a_cluster_that_the_compiler_left_open_may_be_set, "CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH") \
    X(a_kernels_shared_memory_is_that_of_the_device_at_most, "the device's most: success; beyond it, or below 0: INVALID_VALUE") \
    X(a_kernels_share_of_shared_memory_is_in_percent, "-1 to 100; else INVALID_VALUE") \
    X(a_kernel_of_a_library_has_attributes_on_a_device, "cuKernelSetAttribute; no device: INVALID_DEVICE") \
    X(a_kernel_of_a_library_tells_its_parameters, "cuKernelGetParamInfo; beyond the last: INVALID_VALUE") \
    X(a_kernel_without_parameters_tells_of_none, "INVALID_VALUE") \
    X(a_cache_that_a_kernel_prefers_is_one, "cuFuncSetCacheConfig; unknown: INVALID_VALUE") \
    X(shared_memory_beyond_48_kib_must_be_asked_for, "INVALID_VALUE until the attribute allows it") \
    X(a_launch_by_a_description_does_the_same, "cuLaunchKernelEx") \
    X(an_empty_description_of_a_launch_is_invalid, "cuLaunchKernelEx without a grid: INVALID_VALUE") \
    X(no_description_of_a_launch_is_invalid, "cuLaunchKernelEx of null: INVALID_VALUE") \
    X(a_launch_of_no_kernel_is_an_invalid_handle, "INVALID_HANDLE") \
    X(a_launch_in_another_context_is_an_invalid_handle, "a kernel of one context on a stream of another: INVALID_HANDLE; on one of its own, whatever is current: success") \
    X(parameters_come_in_one_way_only, "in a list and in a buffer: INVALID_VALUE") \
    X(a_cooperative_grid_runs_at_a_time, "more blocks than that: COOPERATIVE_LAUNCH_TOO_LARGE") \
    X(a_grid_has_whole_clusters, "a grid that they don't fill, a cluster that is too large: INVALID_CLUSTER_SIZE") \
    X(a_multiprocessor_runs_its_threads_in_blocks, "cuOccupancyMaxActiveBlocksPerMultiprocessor: by threads, in warps") \
    X(shared_memory_that_a_kernel_may_not_have_leaves_no_block, "0 blocks") \
    X(a_block_that_is_too_large_leaves_no_block, "0 blocks") \
    X(occupancy_of_no_block_is_invalid, "no threads, no place, unknown flags: INVALID_VALUE; no kernel: INVALID_HANDLE") \
    X(the_best_block_fills_the_device, "cuOccupancyMaxPotentialBlockSize; no place, a limit below 0: INVALID_VALUE")

#define DRIVER_ROWS(X) \
    COPY_ROWS(X) \
    HOST_ROWS(X) \
    HOST_MAPPED_ROWS(X) \
    MANAGED_ROWS(X) \
    CALL_ROWS(X) \
    DEVICE_CALL_ROWS(X) \
    STREAM_CALL_ROWS(X) \
    KERNEL_CALL_ROWS(X)

#define HELPER_ROWS(X) \
    X(end_with_everything_alive, "ends with memory, streams and pending frees alive") \
    X(end_with_copies_under_way, "ends with copies under way") \
    X(ask_the_version_and_fork, "has a child use the device after the driver's version alone was asked for")
// clang-format on

COMMON_ROWS(TEST_ROW_DECLARE)
TWO_DEVICE_ROWS(TEST_ROW_DECLARE)
SIMULATED_ROWS(TEST_ROW_DECLARE)
GPU_ROWS(TEST_ROW_DECLARE)
DRIVER_ROWS(TEST_ROW_DECLARE)
HELPER_ROWS(TEST_ROW_DECLARE)

#endif
