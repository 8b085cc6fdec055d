// A stack of values, from which readers of snapshots build what a snapshot says (values.h), and the
// memo of a pickle.
//
// A mark on the stack is where the values of a list or dictionary begin that is being read; it can
// be popped by what asks for marked values only. All functions that return false leave the reason
// in the trouble of its `values`. The stack and the memo count as memory of these. Not thread safe.
#ifndef STREAMPOOL_CLI_STACK_H
#define STREAMPOOL_CLI_STACK_H

#include "cli/import/values.h"

struct sp_stack {
    struct sp_values *values;
    struct sp_values_array slots;
    struct sp_values_array memo; // SP_VALUE_ABSENT where nothing was put
    size_t memo_count;           // of those that are not absent
};

void sp_stack_release(struct sp_stack *stack);

bool sp_stack_push(struct sp_stack *stack, sp_value value);
bool sp_stack_push_number(struct sp_stack *stack, uint64_t number);
bool sp_stack_push_list(struct sp_stack *stack);
bool sp_stack_push_dictionary(struct sp_stack *stack);
bool sp_stack_duplicate(struct sp_stack *stack);
bool sp_stack_pop(struct sp_stack *stack, sp_value *value);
bool sp_stack_pop_marked(struct sp_stack *stack);

// The last value, or all behind the last mark, which goes too, into the list below.
bool sp_stack_append(struct sp_stack *stack);
bool sp_stack_append_marked(struct sp_stack *stack);

// The last key and value, or all pairs behind the last mark, which goes too, into the dictionary
// below.
bool sp_stack_set(struct sp_stack *stack);
bool sp_stack_set_marked(struct sp_stack *stack);

// A new list of the last values, or of all behind the last mark, takes their place, or a new
// dictionary of pairs.
bool sp_stack_make_list(struct sp_stack *stack, size_t count);
bool sp_stack_make_marked_list(struct sp_stack *stack);
bool sp_stack_make_marked_dictionary(struct sp_stack *stack);

// The memo keeps the last value, which stays. `index` may not be larger than the number of bytes
// that were read: picklers count from 0.
bool sp_stack_put(struct sp_stack *stack, uint64_t index);
bool sp_stack_put_next(struct sp_stack *stack);
bool sp_stack_get(struct sp_stack *stack, uint64_t index);

#endif
