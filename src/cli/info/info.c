// streampool info: what is there, what is missing, and whether the library works with it.
#include "cli/info/facts.h"
#include "cli/program/command.h"
#include "cli/program/complain.h"
#include "cli/program/json.h"
#include "cli/program/origin.h"
#include "cli/program/output.h"
#include "cli/program/page.h"
#include "cli/program/quantity.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---------------------------------------------------------------------------------------- the text

// The names of what a device has begin with two blanks.
static void say(const char *what, const char *before, const char *value) {
    struct sp_page page = {.out = stdout};
    sp_page_say(&page, "%-20s  %s%s\n", what, before, value);
}

static void print_fact(const char *what, const struct sp_fact *fact) {
    char text[SP_QUANTITY_TEXT];
    say(what, fact->lacks_context ? "no context: " : "",
        fact->result == CUDA_SUCCESS ? sp_bytes_text(fact->bytes, text)
                                     : sp_driver_error_name(fact->result));
}

static void print_verdict(const char *what, const struct sp_pool_facts *facts, const char *plain) {
    if (facts->verdict == poolSuccess)
        say(what, "", facts->maps ? "works" : plain);
    else
        say(what, "does not work: ", facts->detail);
}

static void print_device(const struct sp_device_facts *facts) {
    bool found = facts->found == CUDA_SUCCESS;
    char device[32];
    snprintf(device, sizeof device, "device %d", facts->ordinal);
    putchar('\n');
    say(device, "", found ? facts->name : sp_driver_error_name(facts->found));
    if (!found)
        return;
    print_fact("  memory", &facts->memory);
    print_fact("  free memory", &facts->free_memory);
    say("  compute capability", "", facts->capability);
    print_fact("  granule", &facts->granule);
#define ABILITY(name, text, attribute) say("  " text, "", facts->name ? "yes" : "no");
    SP_DEVICE_ABILITIES(ABILITY)
#undef ABILITY
    print_verdict("  streampool", &facts->pools, "works with cuMemAlloc, and maps no memory twice");
}

// The numbers of the nodes, with commas between them.
static void print_nodes(const struct sp_host_facts *facts) {
    char numbers[SP_NODES_TRIED * sizeof ", 63"] = "";
    size_t length = 0;
    for (int node = 0; node < SP_NODES_TRIED; node++)
        if (facts->nodes[node])
            length += (size_t)snprintf(numbers + length, sizeof numbers - length, "%s%d",
                                       length > 0 ? ", " : "", node);
    if (length > 0)
        say("  NUMA nodes", "works on ", numbers);
    else
        say("  NUMA nodes", "does not work: ", facts->first_node.detail);
}

static void print_host(const struct sp_host_facts *facts) {
    puts("\nmemory of the host");
#define KIND(name, text, location, type, use)                                                      \
    print_verdict("  " text, &facts->name,                                                         \
                  type == poolMemAllocationTypePinned && use == poolMemPoolUsageNone               \
                      ? "works with cuMemHostAlloc, and maps no memory twice"                      \
                      : "works");
    SP_HOST_KINDS(KIND)
#undef KIND
    print_nodes(facts);
}

static void print_missing(const struct sp_driver *driver) {
    char version[SP_VERSION_TEXT];
    struct sp_page page = {.out = stdout};
    size_t missing = 0;
    for (size_t i = 0; i < sp_driver_entry_count; i++) {
        const struct sp_driver_entry *entry = &sp_driver_entries[i];
        if (!sp_entry_is_missing(driver, entry))
            continue;
        if (missing++ == 0)
            puts("\nmissing entry points");
        sp_page_say(&page, "  %-26s  %-8s  CUDA %s\n    %s\n", entry->name,
                    sp_need_name(entry->need), sp_version_text(entry->version, version),
                    sp_absence_meaning(entry));
    }
    if (missing == 0)
        puts("\nmissing entry points  none");
}

static bool print_all(const struct sp_facts *facts) {
    const struct sp_driver *driver = facts->driver;
    char version[SP_VERSION_TEXT];
    say("driver", "", driver->path);
    say("CUDA version", "", sp_version_text(driver->version, version));
    if (driver->api_version != driver->version)
        say("entry points up to", "", sp_version_text(driver->api_version, version));
    if (sp_device_is_simulated(driver))
        say("kind", "", "simulated: no GPU, times by a model of an H200");
    if (facts->counted != CUDA_SUCCESS)
        say("devices", "", sp_driver_error_name(facts->counted));
    else if (facts->device_count == 0)
        say("devices", "", "none");
    for (int i = 0; i < facts->device_count; i++)
        print_device(&facts->devices[i]);
    if (facts->device_count > 0)
        print_host(&facts->host);
    print_missing(driver);
    return sp_output_flush();
}

// ------------------------------------------------------------------------------------------ JSON

// Null where the driver had no answer.
static bool add_fact(cJSON *object, const char *key, const struct sp_fact *fact) {
    return fact->result == CUDA_SUCCESS ? sp_json_add_count(object, key, fact->bytes)
                                        : cJSON_AddNullToObject(object, key) != NULL;
}

static bool add_verdict(cJSON *object, const struct sp_pool_facts *facts) {
    bool works = facts->verdict == poolSuccess;
    return sp_json_add_flag(object, "works", works) &&
           (works ? sp_json_add_flag(object, "maps", facts->maps)
                  : sp_json_add_text(object, "problem", facts->detail));
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
    return good && add_verdict(object, &facts->pools);
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

static bool add_host(cJSON *object, const struct sp_host_facts *facts) {
    cJSON *host = cJSON_AddObjectToObject(object, "host"), *kind;
    bool good = host != NULL;
#define KIND(name, text, location, type, use)                                                      \
    kind = good ? cJSON_AddObjectToObject(host, #name) : NULL;                                     \
    good = kind && add_verdict(kind, &facts->name);
    SP_HOST_KINDS(KIND)
#undef KIND
    cJSON *nodes = good ? cJSON_AddArrayToObject(host, "nodes") : NULL;
    good = nodes != NULL;
    for (int node = 0; node < SP_NODES_TRIED && good; node++)
        good = !facts->nodes[node] || cJSON_AddItemToArray(nodes, cJSON_CreateNumber(node));
    return good;
}

static bool add_missing(cJSON *object, const struct sp_driver *driver) {
    cJSON *array = cJSON_AddArrayToObject(object, "missing_entry_points");
    char version[SP_VERSION_TEXT];
    bool good = array != NULL;
    for (size_t i = 0; i < sp_driver_entry_count && good; i++) {
        const struct sp_driver_entry *entry = &sp_driver_entries[i];
        if (!sp_entry_is_missing(driver, entry))
            continue;
        cJSON *missing = sp_json_add_object(array);
        good =
            missing && sp_json_add_text(missing, "name", entry->name) &&
            sp_json_add_text(missing, "need", sp_need_name(entry->need)) &&
            sp_json_add_text(missing, "cuda_version", sp_version_text(entry->version, version)) &&
            sp_json_add_text(missing, "meaning", sp_absence_meaning(entry));
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
           sp_json_add_flag(object, "simulated", sp_device_is_simulated(driver)) &&
           add_devices(object, facts) &&
           (facts->device_count == 0 || add_host(object, &facts->host)) &&
           add_missing(object, driver);
}

// ------------------------------------------------------------------------------------- the command

struct request {
    enum sp_device_choice choice;
    const char *json;
};

static error_t parse(int key, char *argument, struct argp_state *state) {
    struct request *request = state->input;
    switch (key) {
    case 'd':
        request->choice = sp_device_choice_of(argument, state);
        return 0;
    case 'j':
        request->json = argument;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option options[] = {
    SP_DEVICE_OPTION,
    {"json", 'j', "FILE", 0, "Write it as JSON too; with '-', to standard output and no text", 0},
    {0},
};

static const struct argp argp = {
    .options = options,
    .children = sp_help_children,
    .parser = parse,
    .doc =
        "Shows the driver and the devices, which memory of the host pools can have, every entry "
        "point that the driver lacks and what that means. The exit status is 0 when the library "
        "works on a device: a GPU, or one of the "
        "simulated driver if that was asked for. It is 3 when it works on no GPU, and the "
        "simulated driver wasn't asked for, though it may be shown; else 1.",
};

int sp_command_info(int argc, char **argv) {
    struct request request = {.choice = SP_DEVICE_AUTO};
    const struct sp_driver *driver;
    struct sp_facts facts;
    if (argp_parse(&argp, argc, argv, 0, NULL, &request) != 0 || !sp_output_ready(request.json))
        return EXIT_FAILURE;
    if (!sp_device_choose(request.choice, &driver))
        return sp_device_failure(request.choice);
    if (!sp_facts_gather(&facts, driver)) {
        sp_complain("out of host memory");
        return EXIT_FAILURE;
    }
    bool shown = sp_output_is_standard(request.json) || print_all(&facts);
    if (shown && request.json)
        shown = sp_json_write_object(request.json, fill, &facts);
    free(facts.devices);
    if (!shown)
        return EXIT_FAILURE;
    if (facts.working == 0)
        sp_complain("the library works on none of the devices");
    bool works = facts.working > 0 && !sp_device_fell_back();
    return works ? EXIT_SUCCESS : sp_device_failure(request.choice);
}
