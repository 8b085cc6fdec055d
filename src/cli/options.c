// The command options: the environment variables that the library reads, from its own table.
#include "base/options.h"

#include "cli/program/command.h"
#include "cli/program/output.h"
#include "cli/program/page.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPTION_MARKDOWN = 256 };

static const char *initial_text(const struct sp_option_entry *entry) {
    if (strcmp(entry->initial, "NULL") == 0)
        return "not set";
    sp_option_type_bool value = false;
    if (entry->kind == SP_OPTION_bool && sp_options_parse(entry->kind, entry->initial, &value))
        return value ? "1" : "0";
    return entry->initial;
}

static void print_markdown(void) {
    printf("| variable | value | default | effect |\n| --- | --- | --- | --- |\n");
    for (size_t i = 0; i < sp_option_count; i++) {
        const struct sp_option_entry *entry = &sp_option_entries[i];
        printf("| `%s` | %s | %s | %s |\n", entry->environment, sp_option_values[entry->kind],
               initial_text(entry), entry->help);
    }
}

static void print_plain(void) {
    struct sp_page page = {.out = stdout};
    for (size_t i = 0; i < sp_option_count; i++) {
        const struct sp_option_entry *entry = &sp_option_entries[i];
        const char *value = getenv(entry->environment);
        sp_page_say(&page, "%s (%s; default: %s)\n    %s\n", entry->environment,
                    sp_option_values[entry->kind], initial_text(entry), entry->help);
        if (value && *value)
            sp_page_say(&page, "    is set now: %s%s\n", value,
                        sp_options_ignored(i) ? " (ignored: not such a value)" : "");
    }
    printf("\nattributes, for STREAMPOOL_POOL and --set (streampool.h has values and defaults)\n");
    for (size_t i = 0; sp_option_attributes[i].name; i++) {
        const char *attribute = sp_option_attributes[i].name + strlen("poolMemPool");
        bool is_long = strncmp(attribute, "Attr", strlen("Attr")) == 0;
        printf("    %s\n", is_long ? attribute + strlen("Attr") : attribute);
    }
    const char *name, *meant;
    for (size_t i = 0; (name = sp_options_unknown(i, &meant)); i++)
        printf(meant ? "%s is set now, and nobody reads it; did you mean %s?\n"
                     : "%s is set now, and nobody reads it\n",
               name, meant);
}

static error_t parse(int key, char *argument, struct argp_state *state) {
    (void)argument;
    if (key != OPTION_MARKDOWN)
        return ARGP_ERR_UNKNOWN;
    *(bool *)state->input = true;
    return 0;
}

int sp_command_options(int argc, char **argv) {
    static const struct argp_option options[] = {
        {"markdown", OPTION_MARKDOWN, NULL, 0, "Print a table in Markdown, as the docs have it", 0},
        {0},
    };
    static const struct argp argp = {
        .options = options,
        .parser = parse,
        .children = sp_help_children,
        .doc = "Shows the environment variables that the library reads, and what they are set to.",
    };
    bool markdown = false;
    argp_parse(&argp, argc, argv, 0, NULL, &markdown);
    if (markdown)
        print_markdown();
    else
        print_plain();
    return sp_output_flush() ? EXIT_SUCCESS : EXIT_FAILURE;
}
