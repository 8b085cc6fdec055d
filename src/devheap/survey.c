#include "devheap/survey.h"

#include "devheap/fail.h"
#include "devheap/grow.h"
#include "devheap/marks.h"

static uint64_t units_of(uint64_t bytes) {
    return bytes / SP_HEAP_UNIT_BYTES + (bytes % SP_HEAP_UNIT_BYTES != 0);
}

// Slabs that have to be added so that the mark's part is free: at least a quarter of all.
//
//   (free + more) / (slabs + more) >= percent / 100
static uint64_t slabs_wanted(const struct sp_heap_facts *facts) {
    uint64_t marked = facts->mark_percent * facts->slabs, free = 100 * facts->slabs_free;
    if (facts->mark_percent == 0 || (free >= marked && facts->slabs != 0))
        return 0;
    uint64_t rest = 100 - facts->mark_percent;
    uint64_t more = (marked - free + rest - 1) / rest, quarter = (facts->slabs + 3) / 4;
    uint64_t wanted = more > quarter ? more : quarter;
    return wanted != 0 ? wanted : 1;
}

struct sp_heap_wish sp_heap_survey_decide(const struct sp_heap_facts *facts) {
    struct sp_heap_wish wish = {0, 0};
    uint64_t run = units_of(facts->run_failed_most);
    if (run <= facts->units_left) // else no growth could serve it
        wish.units_run = (uint32_t)run;
    uint64_t units = units_of(slabs_wanted(facts) << facts->shift);
    units = units > wish.units_run ? units - wish.units_run : 0;
    uint32_t left = facts->units_left - wish.units_run;
    wish.units = units < left ? (uint32_t)units : left;
    return wish;
}

static poolError_t grow_by(struct poolHeap_st *heap, struct sp_heap_wish wish, CUstream stream) {
    poolError_t error = poolSuccess;
    if (wish.units_run != 0)
        error = sp_heap_grow(heap, wish.units_run, SP_HEAP_WHOLE, stream);
    if (error != poolSuccess && error != poolErrorMemoryAllocation)
        return error;
    // Less is better than nothing.
    poolError_t more = poolSuccess;
    for (uint32_t units = wish.units; units != 0; units /= 2) {
        more = sp_heap_grow(heap, units, SP_HEAP_UNITS, stream);
        if (more != poolErrorMemoryAllocation)
            break;
    }
    return sp_heap_fail_first(error, more);
}

static poolError_t act(struct poolHeap_st *heap, CUstream stream) {
    const struct sp_heap_surveyed *found = &heap->told->surveyed;
    struct sp_heap_facts facts = {
        .slabs = found->slabs + heap->look.slabs_unseen,
        .slabs_free = found->slabs_free + heap->look.slabs_unseen,
        .run_failed_most = found->run_failed_most,
        .mark_percent = heap->mark_percent,
        .shift = heap->plan.shift,
        .units_left = sp_heap_grow_left(heap),
    };
    return grow_by(heap, sp_heap_survey_decide(&facts), stream);
}

static poolError_t look(struct poolHeap_st *heap, CUstream stream) {
    struct sp_heap_machine *machine = heap->machine;
    struct sp_heap_survey survey = {heap->book, heap->told};
    size_t mark;
    poolError_t error = sp_heap_marks_reserve(heap, stream, &mark);
    if (error != poolSuccess)
        return error;
    uint32_t unseen = sp_heap_marks_slabs(heap, mark);
    error = machine->launch(machine, SP_HEAP_KERNEL_survey, 1, stream, &survey);
    if (error != poolSuccess)
        return error;
    heap->look.slabs_unseen = unseen;
    heap->look.pending = machine->record(machine, heap->look.event, stream) == poolSuccess;
    return sp_heap_marks_set(heap, mark, 0);
}

poolError_t sp_heap_survey(struct poolHeap_st *heap, CUstream stream) {
    struct sp_heap_machine *machine = heap->machine;
    uint64_t number;
    poolError_t error = machine->identify(machine, stream, &number);
    if (error != poolSuccess)
        return error;
    if (heap->look.pending) {
        error = machine->query(machine, heap->look.event);
        if (error != poolSuccess)
            return error == poolErrorNotReady ? poolSuccess : error;
        heap->look.pending = false;
        error = act(heap, stream);
    }
    return sp_heap_fail_first(error, look(heap, stream));
}
