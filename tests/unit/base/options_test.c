#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/options.h"
#include "unit/base/child.h"

static struct child_outcome outcome;

static void sizes_are_read_with_their_suffix(void **state) {
    (void)state;
    static const struct {
        const char *text;
        uint64_t bytes;
    } rows[] = {
        {"0", 0},
        {"1", 1},
        {"007", 7},
        {"4096", 4096},
        {"1K", 1u << 10},
        {"1k", 1u << 10},
        {"3M", 3u << 20},
        {"3m", 3u << 20},
        {"2G", (uint64_t)2 << 30},
        {"2g", (uint64_t)2 << 30},
        {"16T", (uint64_t)16 << 40},
        {"16t", (uint64_t)16 << 40},
        {"0T", 0},
        {"18446744073709551615", UINT64_MAX},
        {"16777215T", (uint64_t)16777215 << 40},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        uint64_t bytes = 42;
        assert_true(sp_options_parse_size(rows[i].text, &bytes));
        assert_true(bytes == rows[i].bytes);
    }
}

static void texts_that_are_no_size_are_refused_and_write_nothing(void **state) {
    (void)state;
    static const char *const texts[] = {
        "",
        "K",
        "-1",
        "+1",
        " 1",
        "1 ",
        "1KB",
        "1Q",
        "1KK",
        "1.5G",
        "0x10",
        "max",
        "1,000",
        "18446744073709551616",
        "99999999999999999999999",
        "16777216T",
        "17179869184G",
        "18446744073709551615K",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        uint64_t bytes = 42;
        assert_false(sp_options_parse_size(texts[i], &bytes));
        assert_true(bytes == 42);
    }
}

static void ints_are_read_up_to_their_limits(void **state) {
    (void)state;
    int value = 42;
    assert_true(sp_options_parse(SP_OPTION_int, "10020", &value));
    assert_int_equal(value, 10020);
    assert_true(sp_options_parse(SP_OPTION_int, "2147483647", &value));
    assert_true(value == INT_MAX);
    assert_true(sp_options_parse(SP_OPTION_int, "-2147483648", &value));
    assert_true(value == INT_MIN);
    value = 42;
    static const char *const texts[] = {"",     "-",  "2147483648", "-2147483649",
                                        "10.2", "1K", " 1",         "--1"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        assert_false(sp_options_parse(SP_OPTION_int, texts[i], &value));
    assert_int_equal(value, 42);
}

static void bools_are_read_in_their_usual_spellings(void **state) {
    (void)state;
    static const char *const yes[] = {"1", "true", "yes", "on", "ON"};
    static const char *const no[] = {"0", "false", "no", "off", "False"};
    static const char *const neither[] = {"", "2", "y", "truely"};
    bool value;
    for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++) {
        value = false;
        assert_true(sp_options_parse(SP_OPTION_bool, yes[i], &value));
        assert_true(value);
    }
    for (size_t i = 0; i < sizeof(no) / sizeof(no[0]); i++) {
        value = true;
        assert_true(sp_options_parse(SP_OPTION_bool, no[i], &value));
        assert_false(value);
    }
    for (size_t i = 0; i < sizeof(neither) / sizeof(neither[0]); i++)
        assert_false(sp_options_parse(SP_OPTION_bool, neither[i], &value));
}

static void a_report_is_a_text_or_a_file(void **state) {
    (void)state;
    const char *report = "as it was";
    assert_true(sp_options_parse(SP_OPTION_report, "yes", &report));
    assert_string_equal(report, "yes");
    assert_true(sp_options_parse(SP_OPTION_report, "0", &report));
    assert_null(report);
    assert_true(sp_options_parse(SP_OPTION_report, "json:a b.json", &report));
    assert_string_equal(report, "json:a b.json");
    static const char *const neither[] = {"", "json:", "json", "JSON:x", "file:x", "2"};
    for (size_t i = 0; i < sizeof neither / sizeof neither[0]; i++)
        assert_false(sp_options_parse(SP_OPTION_report, neither[i], &report));
    assert_string_equal(report, "json:a b.json");
}

// --------------------------------------------------------------------------------- near names

static const char *const colours[] = {"red", "green", "blue", "aquamarine", NULL};
static const char *colour_at(size_t index) {
    return colours[index];
}

static void the_nearest_name_has_most_of_the_letters(void **state) {
    (void)state;
    static const struct {
        const char *text, *nearest;
    } rows[] = {
        {"greem", "green"},
        {"GRENE", NULL},
        {"reen", "green"},
        {"bblue", "blue"},
        {"aqamarin", "aquamarine"},
        {"aquamxrxnx", "aquamarine"},
        {"redd", "red"},
        {"ed", NULL},
        {"black", NULL},
        {"", NULL},
        {"green", "green"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *nearest = sp_options_nearest(rows[i].text, colour_at);
        if (rows[i].nearest)
            assert_string_equal(nearest ? nearest : "none", rows[i].nearest);
        else
            assert_null(nearest);
    }
}

static void settings_name_pools_and_attributes(void **state) {
    (void)state;
    struct sp_option_setting setting;
    assert_null(sp_options_read_setting("ReleaseThreshold=5", &setting));
    assert_string_equal(setting.pool, "");
    assert_null(sp_options_read_setting("a: b:poolMemPoolAttrReleaseDelay = 5", &setting));
    assert_string_equal(setting.pool, "a: b");
    assert_int_equal(setting.attribute, poolMemPoolAttrReleaseDelay);
    assert_true(setting.value == 5 && !setting.is_int);
    assert_null(sp_options_read_setting("pool 1:reaper=0", &setting));
    assert_string_equal(setting.pool, "pool 1");
    assert_true(setting.is_int);
    assert_string_equal(sp_options_read_setting("x:RelaseTreshold=1", &setting),
                        "no attribute has this name; did you mean ReleaseThreshold?");
    assert_string_equal(
        sp_options_read_setting("poolMemPoolReusFollowEventDependencies=1", &setting),
        "no attribute has this name; did you mean ReuseFollowEventDependencies?");
    assert_string_equal(sp_options_read_setting("defrag=1", &setting), // a name's beginning
                        "no attribute has this name; did you mean Defragmentation?");
    assert_string_equal(sp_options_read_setting("x:=1", &setting), "no attribute has this name");
    assert_string_equal(sp_options_read_setting("x:Reaper", &setting), "it is not NAME=NUMBER");
    assert_string_equal(sp_options_read_setting("Reaper=x:1", &setting),
                        "the value is a number, with K, M, G or T behind it, or max");
}

// Strings do not cross to the parent, so they are compared in the child.
struct seen {
    bool driver_is_null;
    bool driver_is_a_path;
    bool log_is_null;
    int driver_api;
    uint64_t address_space;
    bool same_after_setenv;
};

// The log chooses its level when it is first asked for it, and reports then.
static void look(void *result) {
    struct seen *seen = result;
    const struct sp_options *options = sp_options();
    setenv("STREAMPOOL_DRIVER_API", "1", 1);
    seen->same_after_setenv = sp_options() == options;
    seen->driver_is_null = !options->driver;
    seen->driver_is_a_path = options->driver && strcmp(options->driver, "/some/where.so") == 0;
    seen->log_is_null = !options->log;
    seen->driver_api = options->driver_api;
    seen->address_space = options->address_space;
    sp_log_enabled(SP_LOG_WARN);
    sp_log_enabled(SP_LOG_WARN);
}

static void clear_environment(void) {
    for (size_t i = 0; i < sp_option_count; i++)
        assert_int_equal(unsetenv(sp_option_entries[i].environment), 0);
}

static struct seen look_in_child(void) {
    struct seen seen;
    assert_true(child_run(look, &seen, sizeof(seen), &outcome));
    assert_int_equal(outcome.status, 0);
    return seen;
}

static void what_is_not_set_has_its_default(void **state) {
    (void)state;
    clear_environment();
    struct seen seen = look_in_child();
    assert_true(seen.driver_is_null);
    assert_true(seen.log_is_null);
    assert_int_equal(seen.driver_api, 0);
    assert_true(seen.address_space == 0);
}

static void an_empty_value_counts_as_not_set(void **state) {
    (void)state;
    clear_environment();
    setenv("STREAMPOOL_LOG", "debug", 1);
    setenv("STREAMPOOL_DRIVER", "", 1);
    setenv("STREAMPOOL_DRIVER_API", "", 1);
    struct seen seen = look_in_child();
    assert_true(seen.driver_is_null);
    assert_int_equal(seen.driver_api, 0);
    assert_string_equal(outcome.errors, "");
}

static void the_environment_is_read_once(void **state) {
    (void)state;
    clear_environment();
    setenv("STREAMPOOL_DRIVER", "/some/where.so", 1);
    setenv("STREAMPOOL_DRIVER_API", "10020", 1);
    setenv("STREAMPOOL_ADDRESS_SPACE", "2T", 1);
    struct seen seen = look_in_child();
    assert_true(seen.driver_is_a_path);
    assert_int_equal(seen.driver_api, 10020);
    assert_true(seen.address_space == (uint64_t)2 << 40);
    assert_true(seen.same_after_setenv);
}

static void a_malformed_value_is_ignored_with_one_warning(void **state) {
    (void)state;
    clear_environment();
    setenv("STREAMPOOL_LOG", "warn", 1);
    setenv("STREAMPOOL_DRIVER_API", "10.2", 1);
    setenv("STREAMPOOL_ADDRESS_SPACE", "lots", 1);
    struct seen seen = look_in_child();
    assert_int_equal(seen.driver_api, 0);
    assert_true(seen.address_space == 0);
    const char *first = strstr(outcome.errors, "STREAMPOOL_DRIVER_API=10.2 is ignored");
    assert_non_null(first);
    assert_null(strstr(first + 1, "STREAMPOOL_DRIVER_API=10.2 is ignored"));
    assert_non_null(strstr(outcome.errors, "streampool: STREAMPOOL_ADDRESS_SPACE=lots is ignored"));
}

static void a_malformed_value_is_named_when_no_log_is_wanted_too(void **state) {
    (void)state;
    clear_environment();
    setenv("STREAMPOOL_DRIVER_API", "10.2", 1);
    assert_int_equal(look_in_child().driver_api, 0);
    assert_non_null(strstr(outcome.errors, "streampool: STREAMPOOL_DRIVER_API=10.2 is ignored"));
}

static void a_name_that_nobody_knows_is_told_once_with_the_nearest(void **state) {
    (void)state;
    clear_environment();
    setenv("STREAMPOOL_STATTS", "1", 1);
    setenv("STREAMPOOL_QUITE_ANOTHER", "1", 1);
    setenv("STREAMPOOLS", "1", 1);
#define SET(name) setenv(name, "1", 1);
    SP_FOREIGN_VARIABLES(SET)
#undef SET
    look_in_child();
    const char *told = strstr(outcome.errors,
                              "STREAMPOOL_STATTS is not known; did you mean "
                              "STREAMPOOL_STATS?\n");
    assert_non_null(told);
    assert_null(strstr(told + sizeof "STREAMPOOL_STATTS", "STATTS"));
    assert_non_null(strstr(outcome.errors, "STREAMPOOL_QUITE_ANOTHER is not known (the command "));
    size_t count = 0;
    for (const char *at = outcome.errors; (at = strstr(at, "not known")); at++)
        count++;
    assert_int_equal(count, 2);
#define UNSET(name) unsetenv(name);
    SP_FOREIGN_VARIABLES(UNSET)
#undef UNSET
    unsetenv("STREAMPOOL_STATTS");
    unsetenv("STREAMPOOL_QUITE_ANOTHER");
    unsetenv("STREAMPOOLS");
}

// ------------------------------------------------------------------------------ raised privileges

#define LOOK "--look"

enum { LOOK_SECURE = 10, LOOK_READS = 11, LOOK_IS_PLAIN = 12 };

// The program as one with raised privileges: tells by its status what it sees.
static int look_with_privileges(void) {
    if (getauxval(AT_SECURE) == 0)
        return LOOK_IS_PLAIN;
    const char *meant;
    bool tells = sp_options_unknown(0, &meant);
    return tells || sp_options()->log || sp_options()->stats ? LOOK_READS : LOOK_SECURE;
}

// Copies this program, for another user and with the set-uid bit. False where that can't be done.
static bool copy_set_uid(const char *path) {
    char bytes[65536];
    int from = open("/proc/self/exe", O_RDONLY), to = open(path, O_WRONLY);
    ssize_t count = -1;
    while (from >= 0 && to >= 0 && (count = read(from, bytes, sizeof bytes)) > 0)
        if (write(to, bytes, (size_t)count) != count)
            break;
    bool copied = count == 0 && fchown(to, 65534, 65534) == 0 && fchmod(to, 04755) == 0;
    close(from);
    close(to);
    return copied;
}

static int run_and_wait(const char *path) {
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        execl(path, path, LOOK, (char *)NULL);
        _exit(LOOK_IS_PLAIN);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status))
        return -1;
    return WEXITSTATUS(status);
}

static void a_program_with_raised_privileges_reads_nothing(void **state) {
    (void)state;
    char path[] = "/tmp/streampool_options_XXXXXX";
    int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    clear_environment();
    setenv("STREAMPOOL_LOG", "debug", 1);
    setenv("STREAMPOOL_STATS", "1", 1);
    setenv("STREAMPOOL_STATTS", "1", 1);
    int status = copy_set_uid(path) ? run_and_wait(path) : LOOK_IS_PLAIN;
    unlink(path);
    unsetenv("STREAMPOOL_STATTS");
    if (status == LOOK_IS_PLAIN)
        skip(); // only root can make such a program, and not in a folder mounted with nosuid
    assert_int_equal(status, LOOK_SECURE);
}

static void *read_in_thread(void *result) {
    *(const struct sp_options **)result = sp_options();
    return NULL;
}

static void read_in_threads(void *result) {
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    const struct sp_options *seen[THREADS] = {0};
    int equal = 0;
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, read_in_thread, &seen[i]) != 0)
            _exit(1);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        equal += seen[i] == sp_options() && seen[i]->driver_api == 12000;
    }
    *(int *)result = equal == THREADS;
}

static void threads_that_come_first_together_read_the_same(void **state) {
    (void)state;
    int all_equal = 0;
    clear_environment();
    setenv("STREAMPOOL_DRIVER_API", "12000", 1);
    setenv("STREAMPOOL_ADDRESS_SPACE", "lots", 1);
    assert_true(child_run(read_in_threads, &all_equal, sizeof(all_equal), &outcome));
    assert_int_equal(outcome.status, 0);
    assert_true(all_equal);
}

static void every_option_has_its_own_name_and_a_help_text(void **state) {
    (void)state;
    for (size_t i = 0; i < sp_option_count; i++) {
        assert_int_equal(
            strncmp(sp_option_entries[i].environment, "STREAMPOOL_", strlen("STREAMPOOL_")), 0);
        assert_true(strlen(sp_option_entries[i].help) > 0);
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(sp_option_entries[i].environment,
                                    sp_option_entries[j].environment);
    }
}

int main(int argc, char **argv) {
    if (argc == 2 && strcmp(argv[1], LOOK) == 0)
        _exit(look_with_privileges()); // a leak checker can't look into such a program at its end
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_are_read_with_their_suffix),
        cmocka_unit_test(texts_that_are_no_size_are_refused_and_write_nothing),
        cmocka_unit_test(ints_are_read_up_to_their_limits),
        cmocka_unit_test(bools_are_read_in_their_usual_spellings),
        cmocka_unit_test(a_report_is_a_text_or_a_file),
        cmocka_unit_test(the_nearest_name_has_most_of_the_letters),
        cmocka_unit_test(settings_name_pools_and_attributes),
        cmocka_unit_test(a_name_that_nobody_knows_is_told_once_with_the_nearest),
        cmocka_unit_test(what_is_not_set_has_its_default),
        cmocka_unit_test(an_empty_value_counts_as_not_set),
        cmocka_unit_test(the_environment_is_read_once),
        cmocka_unit_test(a_malformed_value_is_ignored_with_one_warning),
        cmocka_unit_test(a_program_with_raised_privileges_reads_nothing),
        cmocka_unit_test(a_malformed_value_is_named_when_no_log_is_wanted_too),
        cmocka_unit_test(threads_that_come_first_together_read_the_same),
        cmocka_unit_test(every_option_has_its_own_name_and_a_help_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
