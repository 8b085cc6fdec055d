#include "simcuda/common/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/number.h"
#include "base/options.h"
#include "driver/abi.h"

#define SETTING_LENGTH 128
#define NODES_MAX      64

static const char *const mode_words[] = {"free", "scheduled", NULL};
static const char *const completion_words[] = {"earliest", "latest", "seeded", NULL};
static const char *const vmm_words[] = {"supported", "missing", "refused", NULL};
static const char *const report_words[] = {"keep", "print", "abort", "check", NULL};

static const char *const host_vmm_words[] = {"supported", "missing", NULL};

enum field {
    FIELD_NUMBER,
    FIELD_MODE,
    FIELD_COMPLETION,
    FIELD_REPORTS,
    FIELD_MEMORY,
    FIELD_VMM,
    FIELD_HOST_VMM
};

// Every setting of the text form, once.
static const struct setting {
    const char *name;
    enum field field;
    const char *const *words; // null: a number
    size_t offset;            // of a number in the configuration
} settings[] = {
    {"devices", FIELD_NUMBER, NULL, offsetof(simcudaConfig, devices)},
    {"memory", FIELD_MEMORY, NULL, 0},
    {"vmm", FIELD_VMM, vmm_words, 0},
    {"granule", FIELD_NUMBER, NULL, offsetof(simcudaConfig, granule)},
    {"api", FIELD_NUMBER, NULL, offsetof(simcudaConfig, api)},
    {"address_space", FIELD_NUMBER, NULL, offsetof(simcudaConfig, addressSpace)},
    {"mappings", FIELD_NUMBER, NULL, offsetof(simcudaConfig, mappings)},
    {"queue", FIELD_NUMBER, NULL, offsetof(simcudaConfig, queue)},
    {"mode", FIELD_MODE, mode_words, 0},
    {"seed", FIELD_NUMBER, NULL, offsetof(simcudaConfig, seed)},
    {"burst", FIELD_NUMBER, NULL, offsetof(simcudaConfig, burst)},
    {"completion", FIELD_COMPLETION, completion_words, 0},
    {"delay", FIELD_NUMBER, NULL, offsetof(simcudaConfig, delay)},
    {"patience", FIELD_NUMBER, NULL, offsetof(simcudaConfig, patience)},
    {"reports", FIELD_REPORTS, report_words, 0},
    {"peers", FIELD_NUMBER, NULL, offsetof(simcudaConfig, peers)},
    {"scatter", FIELD_NUMBER, NULL, offsetof(simcudaConfig, scatter)},
    {"stacks", FIELD_NUMBER, NULL, offsetof(simcudaConfig, stacks)},
    {"nodes", FIELD_NUMBER, NULL, offsetof(simcudaConfig, nodes)},
    {"host_memory", FIELD_NUMBER, NULL, offsetof(simcudaConfig, hostMemory)},
    {"host_vmm", FIELD_HOST_VMM, host_vmm_words, 0},
};

void simcudaConfigDefault(simcudaConfig *config) {
    *config = (simcudaConfig){
        .devices = 1,
        .granule = (uint64_t)2 << 20,
        .api = 13000,
        .mappings = 524288,
        .queue = 1024,
        .mode = simcudaModeFree,
        .seed = 1,
        .burst = 1,
        .completion = simcudaCompletionEarliest,
        .delay = 1000000,
        .patience = 1000,
        .onReport = simcudaOnReportKeep,
        .peers = 1,
        .nodes = 1,
        .hostVmm = simcudaVmmSupported,
    };
    for (size_t i = 0; i < SIMCUDA_MAX_DEVICES; i++)
        config->device[i] =
            (simcudaDevice){.memory = (uint64_t)16 << 30, .vmm = simcudaVmmSupported};
}

const char *sim_config_problem(const simcudaConfig *config) {
    if (config->devices > SIMCUDA_MAX_DEVICES)
        return "there are at most 16 devices";
    if (!sp_is_power_of_two(config->granule) || config->granule < 4096 ||
        config->granule > (uint64_t)1 << 30)
        return "the granule is a power of two from 4K to 1G";
    if (config->api < 10020 || config->api > 99999)
        return "the API level is a CUDA version such as 10020 or 13000";
    if (config->queue == 0)
        return "a queue holds at least one piece of work";
    if (config->burst == 0)
        return "a thread goes on for at least one point";
    if (config->delay == 0)
        return "the longest delay is at least 1 ns";
    if ((unsigned)config->mode > simcudaModeScheduled ||
        (unsigned)config->completion > simcudaCompletionSeeded ||
        (unsigned)config->onReport > simcudaOnReportCheck)
        return "a mode is out of range";
    if (config->nodes == 0 || config->nodes > NODES_MAX)
        return "there are 1 to 64 nodes of host memory";
    if ((unsigned)config->hostVmm > simcudaVmmMissing)
        return "the support of host memory is out of range";
    for (uint64_t i = 0; i < config->devices; i++) {
        if ((unsigned)config->device[i].vmm > simcudaVmmRefused)
            return "a device's support is out of range";
    }
    return NULL;
}

static bool parse_word(const char *const *words, const char *text, uint64_t *value) {
    for (uint64_t i = 0; words[i]; i++) {
        if (strcmp(words[i], text) == 0) {
            *value = i;
            return true;
        }
    }
    return false;
}

static void store_device(simcudaDevice *device, enum field field, uint64_t value) {
    if (field == FIELD_MEMORY)
        device->memory = value;
    else
        device->vmm = (simcudaVmm)value;
}

static void store(simcudaConfig *config, const struct setting *setting, uint64_t value) {
    switch (setting->field) {
    case FIELD_NUMBER:
        memcpy((char *)config + setting->offset, &value, sizeof(value));
        break;
    case FIELD_MODE:
        config->mode = (simcudaMode)value;
        break;
    case FIELD_COMPLETION:
        config->completion = (simcudaCompletion)value;
        break;
    case FIELD_REPORTS:
        config->onReport = (simcudaOnReport)value;
        break;
    case FIELD_HOST_VMM:
        config->hostVmm = (simcudaVmm)value;
        break;
    case FIELD_MEMORY:
    case FIELD_VMM:
        for (size_t i = 0; i < SIMCUDA_MAX_DEVICES; i++)
            store_device(&config->device[i], setting->field, value);
        break;
    }
}

// Splits "memory.1" into the name and the device; *device is -1 when there is no dot.
static bool split_device(char *name, int *device) {
    char *dot = strchr(name, '.');
    uint64_t number;
    *device = -1;
    if (!dot)
        return true;
    *dot = '\0';
    if (!sp_options_parse_size(dot + 1, &number) || number >= SIMCUDA_MAX_DEVICES)
        return false;
    *device = (int)number;
    return true;
}

static const struct setting *find_setting(const char *name) {
    for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
        if (strcmp(settings[i].name, name) == 0)
            return &settings[i];
    }
    return NULL;
}

static const char *apply(simcudaConfig *config, char *text) {
    char *value_text = strchr(text, '=');
    uint64_t value;
    int device;
    if (!value_text)
        return "a setting is name=value";
    *value_text++ = '\0';
    if (!split_device(text, &device))
        return "no such device";
    const struct setting *setting = find_setting(text);
    if (!setting)
        return "unknown setting";
    bool is_per_device = setting->field == FIELD_MEMORY || setting->field == FIELD_VMM;
    if (device >= 0 && !is_per_device)
        return "not a setting of one device";
    if (!(setting->words ? parse_word(setting->words, value_text, &value)
                         : sp_options_parse_size(value_text, &value)))
        return "bad value";
    if (device >= 0)
        store_device(&config->device[device], setting->field, value);
    else
        store(config, setting, value);
    return NULL;
}

static int fail(char *problem, size_t size, const char *setting, const char *why) {
    if (problem && size > 0)
        snprintf(problem, size, "%s%s%s", setting, *setting ? ": " : "", why);
    return CUDA_ERROR_INVALID_VALUE;
}

int simcudaConfigParse(const char *text, simcudaConfig *config, char *problem, size_t size) {
    simcudaConfig result = *config;
    while (*text) {
        char setting[SETTING_LENGTH];
        char copy[SETTING_LENGTH];
        size_t length = strcspn(text, ",");
        if (length >= sizeof(setting))
            return fail(problem, size, "", "a setting is too long");
        memcpy(setting, text, length);
        setting[length] = '\0';
        memcpy(copy, setting, length + 1);
        text += length + (text[length] == ',');
        if (length == 0)
            continue;
        const char *why = apply(&result, copy);
        if (why)
            return fail(problem, size, setting, why);
    }
    const char *why = sim_config_problem(&result);
    if (why)
        return fail(problem, size, "", why);
    *config = result;
    return CUDA_SUCCESS;
}

bool sim_config_from_environment(simcudaConfig *config) {
    char problem[2 * SETTING_LENGTH];
    const char *text = getenv("STREAMPOOL_SIMCUDA");
    simcudaConfigDefault(config);
    if (!text || simcudaConfigParse(text, config, problem, sizeof(problem)) == CUDA_SUCCESS)
        return true;
    sp_log_write("simulated driver: STREAMPOOL_SIMCUDA: %s", problem);
    return false;
}
