#include "process/preset.h"

#include "base/log.h"
#include "base/options.h"
#include "base/setting.h"
#include "process/attributes.h"
#include "region/fail.h"

static _Atomic bool told; // what is wrong with the option

static void ignore(const char *setting, const char *why) {
    if (!sp_load_relaxed(&told))
        sp_log_write("STREAMPOOL_POOL: '%s' is ignored: %s", setting, why);
}

static void set(struct sp_pool *pool, const struct sp_setting *setting, const char *text) {
    int narrow = (int)setting->value;
    const void *value = setting->is_int ? (const void *)&narrow : (const void *)&setting->value;
    poolError_t unread = sp_fail_unread();
    if (sp_attributes_set(pool, setting->attribute, value) != poolSuccess)
        ignore(text, sp_fail_detail());
    sp_fail_set_unread(unread); // the program's call doesn't fail
}

static void apply(struct sp_pool *pool, const char *text) {
    struct sp_setting setting;
    const char *why = sp_setting_read(text, &setting);
    if (why)
        ignore(text, why);
    else
        set(pool, &setting, text);
}

void sp_preset_apply(struct sp_pool *pool) {
    const char *list = sp_options()->pool;
    char text[SP_SETTING_TEXT];
    while (list && *list) {
        if (!sp_setting_next(&list, text))
            ignore(text, "it is too long");
        else if (*text)
            apply(pool, text);
    }
    sp_store_relaxed(&told, true);
}
