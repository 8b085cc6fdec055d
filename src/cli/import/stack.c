#include "cli/import/stack.h"

#include <string.h>

static bool fail(struct sp_stack *stack, const char *trouble) {
    stack->values->trouble = trouble;
    return false;
}

void sp_stack_release(struct sp_stack *stack) {
    sp_values_array_release(&stack->slots);
    sp_values_array_release(&stack->memo);
}

bool sp_stack_push(struct sp_stack *stack, sp_value value) {
    if (!sp_values_array_reserve(stack->values, &stack->slots, 1))
        return false;
    stack->slots.cells[stack->slots.count++] = value;
    return true;
}

bool sp_stack_push_number(struct sp_stack *stack, uint64_t number) {
    sp_value value;
    return sp_values_number(stack->values, number, &value) && sp_stack_push(stack, value);
}

bool sp_stack_push_list(struct sp_stack *stack) {
    sp_value value;
    return sp_values_list(stack->values, &value) && sp_stack_push(stack, value);
}

bool sp_stack_push_dictionary(struct sp_stack *stack) {
    sp_value value;
    return sp_values_dictionary(stack->values, &value) && sp_stack_push(stack, value);
}

// The last `count` values; null when there are fewer above the last mark.
static sp_value *last(struct sp_stack *stack, size_t count) {
    if (stack->slots.count < count) {
        fail(stack, "there are too few values before this");
        return NULL;
    }
    sp_value *values = stack->slots.cells + stack->slots.count - count;
    for (size_t i = 0; i < count; i++) {
        if (sp_values_kind_of(values[i]) == SP_VALUE_MARK) {
            fail(stack, "a mark is where a value should be");
            return NULL;
        }
    }
    return values;
}

// How many values lie above the last mark. False when there is no mark. The caller removes what was
// searched, so all searches together take no longer than all pushes.
static bool count_marked(struct sp_stack *stack, size_t *count) {
    size_t i = stack->slots.count;
    while (i > 0 && sp_values_kind_of(stack->slots.cells[i - 1]) != SP_VALUE_MARK)
        i--;
    *count = stack->slots.count - i;
    return i > 0 || fail(stack, "there is no mark before this");
}

static void drop(struct sp_stack *stack, size_t count) {
    stack->slots.count -= count;
}

bool sp_stack_duplicate(struct sp_stack *stack) {
    sp_value *value = last(stack, 1);
    return value && sp_stack_push(stack, *value);
}

bool sp_stack_pop(struct sp_stack *stack, sp_value *value) {
    sp_value *popped = last(stack, 1);
    if (!popped)
        return false;
    *value = *popped;
    drop(stack, 1);
    return true;
}

bool sp_stack_pop_marked(struct sp_stack *stack) {
    size_t count;
    if (!count_marked(stack, &count))
        return false;
    drop(stack, count + 1);
    return true;
}

// ------------------------------------------------------------------------- lists and dictionaries

// Appends the last values to the list below them and what lies between (nothing, or the mark).
static bool append(struct sp_stack *stack, size_t count, size_t between) {
    const sp_value *values = stack->slots.cells + stack->slots.count - count;
    if (stack->slots.count <= count + between)
        return fail(stack, "there is no list before this");
    if (!sp_values_append(stack->values, *(values - between - 1), values, count))
        return false;
    drop(stack, count + between);
    return true;
}

bool sp_stack_append(struct sp_stack *stack) {
    return last(stack, 1) && append(stack, 1, 0);
}

bool sp_stack_append_marked(struct sp_stack *stack) {
    size_t count;
    return count_marked(stack, &count) && append(stack, count, 1);
}

static bool set_pairs(struct sp_stack *stack, sp_value dictionary, const sp_value *values,
                      size_t count) {
    if (count % 2 != 0)
        return fail(stack, "a key has no value");
    for (size_t i = 0; i < count; i += 2)
        if (!sp_values_set(stack->values, dictionary, values[i], values[i + 1]))
            return false;
    return true;
}

static bool set(struct sp_stack *stack, size_t count, size_t between) {
    const sp_value *values = stack->slots.cells + stack->slots.count - count;
    if (stack->slots.count <= count + between)
        return fail(stack, "there is no dictionary before this");
    if (!set_pairs(stack, *(values - between - 1), values, count))
        return false;
    drop(stack, count + between);
    return true;
}

bool sp_stack_set(struct sp_stack *stack) {
    return last(stack, 2) && set(stack, 2, 0);
}

bool sp_stack_set_marked(struct sp_stack *stack) {
    size_t count;
    return count_marked(stack, &count) && set(stack, count, 1);
}

bool sp_stack_make_list(struct sp_stack *stack, size_t count) {
    const sp_value *values = last(stack, count);
    sp_value list;
    if (!values || !sp_values_list(stack->values, &list) ||
        !sp_values_append(stack->values, list, values, count))
        return false;
    drop(stack, count);
    return sp_stack_push(stack, list);
}

bool sp_stack_make_marked_list(struct sp_stack *stack) {
    size_t count;
    if (!count_marked(stack, &count) || !sp_stack_make_list(stack, count))
        return false;
    sp_value list = stack->slots.cells[stack->slots.count - 1];
    drop(stack, 1);
    stack->slots.cells[stack->slots.count - 1] = list;
    return true;
}

bool sp_stack_make_marked_dictionary(struct sp_stack *stack) {
    size_t count;
    sp_value dictionary;
    if (!count_marked(stack, &count) || !sp_values_dictionary(stack->values, &dictionary))
        return false;
    if (!set_pairs(stack, dictionary, stack->slots.cells + stack->slots.count - count, count))
        return false;
    drop(stack, count);
    stack->slots.cells[stack->slots.count - 1] = dictionary;
    return true;
}

// ---------------------------------------------------------------------------------------- the memo

static bool reach(struct sp_stack *stack, uint64_t index) {
    struct sp_values_array *memo = &stack->memo;
    if (index < memo->count)
        return true;
    if (index > *stack->values->read)
        return fail(stack, "the number in the memo is larger than the file is long");
    size_t more = (size_t)index + 1 - memo->count;
    if (!sp_values_array_reserve(stack->values, memo, more))
        return false;
    memset(memo->cells + memo->count, 0, more * sizeof *memo->cells);
    memo->count += more;
    return true;
}

bool sp_stack_put(struct sp_stack *stack, uint64_t index) {
    const sp_value *value = last(stack, 1);
    if (!value || !reach(stack, index))
        return false;
    stack->memo_count += stack->memo.cells[index] == sp_values_simple(SP_VALUE_ABSENT);
    stack->memo.cells[index] = *value;
    return true;
}

bool sp_stack_put_next(struct sp_stack *stack) {
    return sp_stack_put(stack, stack->memo_count);
}

bool sp_stack_get(struct sp_stack *stack, uint64_t index) {
    if (index >= stack->memo.count || stack->memo.cells[index] == sp_values_simple(SP_VALUE_ABSENT))
        return fail(stack, "nothing has this number in the memo");
    return sp_stack_push(stack, stack->memo.cells[index]);
}
