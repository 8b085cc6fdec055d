#include "simcuda/work/question.h"

#include "simcuda/common/host.h"
#include "simcuda/queue/context.h"
#include "simcuda/queue/queue.h"
#include "simcuda/work/work.h"

// A question holds the pieces of work that it looks at: others may change the queues while one of
// the pieces is waited for.
struct question {
    struct sim_item **items;
    size_t count;
    size_t capacity;
    struct sim_clock *clock; // what is complete besides
};

static void look_at(struct question *question, struct sim_item *item) {
    if (!item)
        return;
    SIM_RESERVE_ONE(question->items, question->count, question->capacity);
    question->items[question->count++] = item;
    sim_item_hold(item);
}

static void look_at_queues(struct question *question, const struct sim_context *context,
                           bool (*concerns)(const struct sim_queue *queue)) {
    SP_LIST_FOR_EACH(link, &context->queues) {
        struct sim_queue *queue = SP_CONTAINER_OF(link, struct sim_queue, link);
        if (concerns(queue))
            look_at(question, queue->last);
    }
}

static void ask_queue(struct question *question, const struct sim_queue *queue) {
    *question = (struct question){.clock = sim_clock_share(queue->vouched)};
    look_at(question, queue->seen);
    if (queue->kind != SIM_QUEUE_LEGACY)
        return;
    sim_clock_merge(&question->clock, queue->context->departed_blocking);
    look_at_queues(question, queue->context, sim_queue_is_blocking);
}

static bool is_any(const struct sim_queue *queue) {
    (void)queue;
    return true;
}

static void ask_context(struct question *question, const struct sim_context *context) {
    sim_clock_merge(&question->clock, context->departed);
    look_at_queues(question, context, is_any);
}

static void ask_device(struct question *question, int device) {
    for (struct sim_context *context = sim_context_next(NULL); context;
         context = sim_context_next(context)) {
        if (context->device == device)
            ask_context(question, context);
    }
}

static void for_each_item(const struct question *question, void (*act)(struct sim_item *item)) {
    for (size_t i = 0; i < question->count; i++)
        act(question->items[i]);
}

static void end(struct question *question) {
    for_each_item(question, sim_item_drop);
    sim_free(question->items);
    sim_clock_drop(question->clock);
}

static void learn(struct sim_item *item) {
    sim_host_learn(item->slot, item->sequence, item->clock);
}

// The host learns nothing of those that are done while others are not: the answer doesn't tell
// which.
bool sim_question_poll_queue(struct sim_queue *queue) {
    struct question question;
    bool is_done = true;
    ask_queue(&question, queue);
    for (size_t i = 0; i < question.count; i++)
        is_done &= sim_work_look(question.items[i]);
    if (is_done) {
        for_each_item(&question, learn);
        sim_host_learn_clock(question.clock);
    }
    end(&question);
    return is_done;
}

static void wait_and_end(struct question *question) {
    for_each_item(question, sim_work_wait);
    sim_host_learn_clock(question->clock);
    end(question);
}

void sim_question_wait_queue(struct sim_queue *queue) {
    struct question question;
    ask_queue(&question, queue);
    wait_and_end(&question);
}

void sim_question_wait_context(struct sim_context *context) {
    struct question question = {0};
    ask_context(&question, context);
    wait_and_end(&question);
}

void sim_question_wait_device(int device) {
    struct question question = {0};
    ask_device(&question, device);
    wait_and_end(&question);
}

static void finish_all_once(void) {
    struct question question = {0};
    for (struct sim_context *context = sim_context_next(NULL); context;
         context = sim_context_next(context))
        ask_context(&question, context);
    for_each_item(&question, sim_work_finish);
    end(&question);
}

// A piece may have written the word that one of another stream is held by.
void sim_question_finish_all(void) {
    uint64_t before;
    do {
        before = sim_work_pending();
        finish_all_once();
    } while (sim_work_pending() > 0 && sim_work_pending() < before);
}
