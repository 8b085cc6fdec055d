#include "tell/refusal.h"

#include "tell/advice.h"
#include "tell/shortage.h"
#include "tell/text.h"

static void say_cause(const struct sp_shortage *shortage, const char *call, struct sp_text *text) {
    struct sp_words growth = sp_text_bytes(shortage->least);
    switch (shortage->lack) {
    case SP_LACK_FLAG:
        sp_text_add(text, "poolMallocNoGrowth forbids to grow by %s", growth.text);
        break;
    case SP_LACK_LIMIT:
        sp_text_add(text, "to grow by %s would take the pool beyond its limit of %s", growth.text,
                    sp_text_bytes(shortage->request->pool->limit).text);
        break;
    case SP_LACK_HOST:
        sp_text_add(text, "out of host memory");
        break;
    default:
        sp_text_add(text, "%s returned CUDA_ERROR_OUT_OF_MEMORY", call);
        sp_text_add(text, " when the pool was to grow by %s", growth.text);
    }
}

static void say_held(const struct sp_room *room, const char *how, struct sp_text *text) {
    sp_text_add(text, " %s", sp_text_bytes(room->bytes).text);
    if (room->most)
        sp_text_add(text, " (%s %s %s)", sp_text_bytes(room->most_bytes).text, how,
                    sp_text_stream(room->most).text);
}

static uint64_t largest_piece(const struct sp_shortage *shortage) {
    const struct sp_room *here = &shortage->rooms[SP_HERE];
    bool own_alone = shortage->request->kind == SP_REGION_FIXED || here->row > here->other_row;
    return own_alone ? here->row : here->other_row;
}

static void say_figures(const struct sp_shortage *shortage, struct sp_text *text) {
    const struct sp_room *all = &shortage->rooms[SP_ALL];
    sp_text_add(text, "; in use %s of %s reserved, free here %s (largest piece %s), pending",
                sp_text_bytes(shortage->used).text, sp_text_bytes(shortage->reserved).text,
                sp_text_bytes(shortage->rooms[SP_HERE].useful).text,
                sp_text_bytes(largest_piece(shortage)).text);
    say_held(&shortage->rooms[SP_PENDING], "behind", text);
    sp_text_add(text, ", unfenced");
    say_held(&shortage->rooms[SP_UNFENCED], "of", text);
    sp_text_add(text, ", pinned in pieces %s", sp_text_bytes(all->bytes - all->whole).text);
    if (shortage->knows_device)
        sp_text_add(text, ", free on the device %s", sp_text_bytes(shortage->on_device).text);
}

poolError_t sp_refusal_tell(const struct sp_shortage *shortage, struct sp_outcome lacking) {
    struct sp_text text = {.length = 0};
    size_t asked = shortage->asked;
    sp_text_add(&text, "no room for %zu bytes", asked);
    if (asked >= (size_t)1 << 20)
        sp_text_add(&text, " (%s)", sp_text_bytes(asked).text);
    sp_text_add(&text, ": ");
    say_cause(shortage, lacking.entry_point, &text);
    say_figures(shortage, &text);
    sp_text_add(&text, "; ");
    sp_advice_say(shortage, &text);
    sp_fail(poolErrorMemoryAllocation, "%s", text.buffer);
    sp_fail_of_driver(lacking);
    return poolErrorMemoryAllocation;
}
