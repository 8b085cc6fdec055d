#include "cli/info/facts.h"

#include "cli/info/absence.h"
#include "cli/program/json.h"
#include "cli/program/version.h"

// Null where the driver had no answer.
static bool add_fact(cJSON *object, const char *key, const struct sp_fact *fact) {
    return fact->result == CUDA_SUCCESS ? sp_json_add_count(object, key, fact->bytes)
                                        : cJSON_AddNullToObject(object, key) != NULL;
}

static bool add_verdict(cJSON *object, const struct sp_device_facts *facts) {
    bool works = facts->verdict == poolSuccess;
    return sp_json_add_flag(object, "works", works) &&
           (works ? sp_json_add_flag(object, "maps", facts->maps)
                  : sp_json_add_text(object, "problem", facts->verdict_detail));
}

static bool fill_device(cJSON *object, const struct sp_device_facts *facts) {
    bool good = sp_json_add_count(object, "ordinal", (uint64_t)facts->ordinal);
    if (facts->found != CUDA_SUCCESS)
        return good && sp_json_add_flag(object, "works", false) &&
               sp_json_add_text(object, "problem", sp_driver_error_name(facts->found));
    good = good && sp_json_add_text(object, "name", facts->name) &&
           add_fact(object, "memory_bytes", &facts->memory) &&
           add_fact(object, "free_memory_bytes", &facts->free_memory) &&
           sp_json_add_text(object, "compute_capability", facts->capability) &&
           add_fact(object, "granule_bytes", &facts->granule);
#define ABILITY(name, text, attribute) good = good && sp_json_add_flag(object, #name, facts->name);
    SP_DEVICE_ABILITIES(ABILITY)
#undef ABILITY
    return good && add_verdict(object, facts);
}

static bool add_devices(cJSON *object, const struct sp_facts *facts) {
    cJSON *array = cJSON_AddArrayToObject(object, "devices");
    bool good = array != NULL;
    for (int i = 0; i < facts->device_count && good; i++) {
        cJSON *device = sp_json_add_object(array);
        good = device && fill_device(device, &facts->devices[i]);
    }
    if (facts->counted != CUDA_SUCCESS)
        good = good &&
               sp_json_add_text(object, "devices_problem", sp_driver_error_name(facts->counted));
    return good;
}

static bool fill_missing(cJSON *object, const struct sp_driver_entry *entry) {
    char version[SP_VERSION_TEXT];
    return sp_json_add_text(object, "name", entry->name) &&
           sp_json_add_text(object, "need", sp_need_name(entry->need)) &&
           sp_json_add_text(object, "cuda_version", sp_version_text(entry->version, version)) &&
           sp_json_add_text(object, "meaning", sp_absence_meaning(entry));
}

static bool add_missing(cJSON *object, const struct sp_driver *driver) {
    cJSON *array = cJSON_AddArrayToObject(object, "missing_entry_points");
    bool good = array != NULL;
    for (size_t i = 0; i < sp_driver_entry_count && good; i++) {
        if (!sp_entry_is_missing(driver, &sp_driver_entries[i]))
            continue;
        cJSON *missing = sp_json_add_object(array);
        good = missing && fill_missing(missing, &sp_driver_entries[i]);
    }
    return good;
}

static bool fill(cJSON *object, const void *item) {
    const struct sp_facts *facts = item;
    const struct sp_driver *driver = facts->driver;
    char version[SP_VERSION_TEXT];
    return sp_json_add_text(object, "streampool", SP_PROGRAM_VERSION) &&
           sp_json_add_text(object, "driver", driver->path) &&
           sp_json_add_text(object, "cuda_version", sp_version_text(driver->version, version)) &&
           sp_json_add_text(object, "entry_points_up_to",
                            sp_version_text(driver->api_version, version)) &&
           sp_json_add_flag(object, "simulated", facts->simulated) && add_devices(object, facts) &&
           add_missing(object, driver);
}

bool sp_facts_write(const char *path, const struct sp_facts *facts) {
    return sp_json_write_object(path, fill, facts);
}
