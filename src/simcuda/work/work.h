// These functions add pieces of work to queues, complete them, and wait for them.
//
// Each queue runs in order, one piece at a time. A piece may start when the one before it and all
// that it depends on are complete; it is then *due* at start + duration (+ a seeded delay). Due
// pieces lie in a heap by their end. The virtual clock completes them when it passes their end
// (earliest, seeded), or only a waiter does (latest). What a piece does to memory happens when it
// completes, all at once.
//
// A copy also waits for its device's engine, which does one after another. A piece with a condition
// on a word of memory is held until that holds; then it is due, and what comes after it runs after
// who wrote the word.
//
// A host function is started instead of completed; it is complete when it returns
// (host_function.h).
//
//   QUEUED: in its queue; HELD: also in the list of those that are; DUE: also in the heap;
//   RUNNING: a host function that was started; DONE: in none
//   a piece's dependencies were added before it, so waiting for one always ends
#ifndef STREAMPOOL_SIMCUDA_WORK_WORK_H
#define STREAMPOOL_SIMCUDA_WORK_WORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "driver/abi.h"
#include "simcuda/memory/block.h"
#include "simcuda/queue/item.h"
#include "simcuda/queue/queue.h"

// Adds a piece to a queue that is not capturing. May wait for a place in the queue, so other
// threads may run meanwhile; the caller holds a reference to the queue. The job's accesses are
// taken over, or freed on failure. If `result` is not null it gets a reference to the piece.
// CONTEXT_IS_DESTROYED when the context went while it waited.
CUresult sim_work_add(struct sim_queue *queue, struct sim_job *job,
                      struct sim_item *const *dependencies, size_t dependency_count,
                      struct sim_item **result);

// Makes the queue's next work run after the item, by a piece of work that waits for it. Else as
// sim_work_add.
CUresult sim_work_order_after(struct sim_queue *queue, struct sim_item *item);

// Returns what a free would run after that a call made in the queue's order now.
struct sim_block_order sim_work_free_order(struct sim_queue *queue, const char *call);

// Lets complete what the virtual clock has passed.
void sim_work_progress(void);

// Lets what is pending complete without effects, so that what it touches is looked at, as far as
// it needs no host function and no word of memory. For the end of the process.
void sim_work_touch_pending(void);

// Lets time pass up to the next end of a piece. False when none is due.
bool sim_work_step(void);

// Waits until the item is done; the host has then learned it.
void sim_work_wait(struct sim_item *item);
// Asks whether it is done; the host learns it if it is. A poll that finds it pending counts for the
// patience.
bool sim_work_poll(struct sim_item *item);
// Asks whether it is done as sim_work_poll does, but the host learns nothing.
bool sim_work_look(struct sim_item *item);

// Makes the item complete, as if the device had been quick; the host learns nothing. It stays
// pending behind a word of memory that is waited for.
void sim_work_finish(struct sim_item *item);
void sim_work_finish_first(struct sim_queue *queue, uint64_t n);

// Makes what names bytes of the range complete in that way.
void sim_work_finish_touching(uint64_t address, uint64_t size);

// Returns whether a pending piece can change memory that it doesn't name, or let the host do so: a
// host function, a wait for a word, or a write of one.
bool sim_work_waits_outside(void);

// Bytes were written from outside: spinning kernels look at their flags.
void sim_work_look_at_flags(void);

// Takes the next host function whose turn has come, null when there is none;
// sim_work_host_function_done follows when it has returned.
struct sim_item *sim_work_take_host_function(void);
void sim_work_host_function_done(struct sim_item *item);

uint64_t sim_work_pending(void);
uint64_t sim_work_full_count(void);
void sim_work_reset(void);

#endif
