// streampool info: what is there, what is missing, and whether the library works with it.
#include "cli/info/absence.h"
#include "cli/info/facts.h"
#include "cli/program/command.h"
#include "cli/program/complain.h"
#include "cli/program/output.h"
#include "cli/program/page.h"
#include "cli/program/quantity.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

// ---------------------------------------------------------------------------------------- the text

static void say(const char *indent, const char *what, const char *before, const char *value) {
    struct sp_page page = {.out = stdout};
    sp_page_say(&page, "%s%-*s  %s%s\n", indent, 20 - (int)strlen(indent), what, before, value);
}

static void print_line(const char *what, const char *value) {
    say("", what, "", value);
}

static void print_of_device(const char *what, const char *value) {
    say("  ", what, "", value);
}

static void print_driver(const struct sp_facts *facts) {
    const struct sp_driver *driver = facts->driver;
    char version[SP_VERSION_TEXT];
    print_line("driver", driver->path);
    print_line("CUDA version", sp_version_text(driver->version, version));
    if (driver->api_version != driver->version)
        print_line("entry points up to", sp_version_text(driver->api_version, version));
    if (facts->simulated)
        print_line("kind", "simulated: no GPU, times by a model of an H200");
}

static void print_fact(const char *what, const struct sp_fact *fact) {
    char text[SP_QUANTITY_TEXT];
    say("  ", what, fact->lacks_context ? "no context: " : "",
        fact->result == CUDA_SUCCESS ? sp_bytes_text(fact->bytes, text)
                                     : sp_driver_error_name(fact->result));
}

static void print_verdict(const struct sp_device_facts *facts) {
    if (facts->verdict == poolSuccess)
        print_of_device("streampool",
                        facts->maps ? "works" : "works with cuMemAlloc, and maps no memory twice");
    else
        say("  ", "streampool", "does not work: ", facts->verdict_detail);
}

static void print_device(const struct sp_device_facts *facts) {
    bool found = facts->found == CUDA_SUCCESS;
    char device[32];
    snprintf(device, sizeof device, "device %d", facts->ordinal);
    putchar('\n');
    print_line(device, found ? facts->name : sp_driver_error_name(facts->found));
    if (!found)
        return;
    print_fact("memory", &facts->memory);
    print_fact("free memory", &facts->free_memory);
    print_of_device("compute capability", facts->capability);
    print_fact("granule", &facts->granule);
#define ABILITY(name, text, attribute) print_of_device(text, facts->name ? "yes" : "no");
    SP_DEVICE_ABILITIES(ABILITY)
#undef ABILITY
    print_verdict(facts);
}

static void print_devices(const struct sp_facts *facts) {
    if (facts->counted != CUDA_SUCCESS)
        print_line("devices", sp_driver_error_name(facts->counted));
    else if (facts->device_count == 0)
        print_line("devices", "none");
    for (int i = 0; i < facts->device_count; i++)
        print_device(&facts->devices[i]);
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
    print_driver(facts);
    print_devices(facts);
    print_missing(facts->driver);
    return sp_output_flush();
}

// ------------------------------------------------------------------------------------- the command

static const struct argp_option options[] = {
    SP_DEVICE_OPTION,
    {"json", 'j', "FILE", 0, "Write it as JSON too; with '-', to standard output and no text", 0},
    {0},
};

static const struct argp_child children[] = {SP_HELP_CHILD, {0}};

static const struct argp argp = {
    .options = options,
    .children = children,
    .parser = parse,
    .doc =
        "Shows the driver and the devices, every entry point that the driver lacks and what that "
        "means. The exit status is 0 when the library works on a device: a GPU, or one of the "
        "simulated driver if that was asked for. It is 3 when it works on no GPU, and the "
        "simulated "
        "driver wasn't asked for, though it may be shown; else 1.",
};

static bool show(const struct request *request, const struct sp_facts *facts) {
    if (!sp_output_is_standard(request->json) && !print_all(facts))
        return false;
    return !request->json || sp_facts_write(request->json, facts);
}

static int status_of(const struct request *request, const struct sp_facts *facts) {
    if (facts->working == 0)
        sp_complain("the library works on none of the devices");
    bool works = facts->working > 0 && !sp_device_fell_back();
    return works ? EXIT_SUCCESS : sp_device_failure(request->choice);
}

int sp_command_info(int argc, char **argv) {
    struct request request = {.choice = SP_DEVICE_AUTO};
    if (argp_parse(&argp, argc, argv, 0, NULL, &request) != 0)
        return EXIT_FAILURE;

    const struct sp_driver *driver;
    if (!sp_output_ready(request.json))
        return EXIT_FAILURE;
    if (!sp_device_choose(request.choice, &driver))
        return sp_device_failure(request.choice);
    struct sp_facts facts;
    if (!sp_facts_gather(&facts, driver)) {
        sp_complain("out of host memory");
        return EXIT_FAILURE;
    }
    int status = show(&request, &facts) ? status_of(&request, &facts) : EXIT_FAILURE;
    sp_facts_release(&facts);
    return status;
}
