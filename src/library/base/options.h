// Options that are set from the environment: one table, read once.
//
//   SP_OPTIONS(X) expands X(name, environment, kind, default, help) once for each option, where
//   kind is string (null when not set), size (bytes: a number with an optional suffix K, M, G or
//   T), int, bool (1/0, true/false, yes/no, on/off) or report (as a bool, or json:FILE).
//
// The environment is read at the first sp_options(), by one thread, and never again. An empty value
// counts as not set. A value that can't be read is ignored, and named on standard error, and so is
// a variable that begins as the options do and that nobody reads. A program that runs with raised
// privileges (setuid) reads nothing, as an option can name a library to load.
#ifndef STREAMPOOL_BASE_OPTIONS_H
#define STREAMPOOL_BASE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <streampool/streampool.h>

// clang-format off
#define SP_OPTIONS(X) \
    X(driver, "STREAMPOOL_DRIVER", string, NULL, \
      "the driver library to load: a path or a soname, or sim for the simulated driver " \
      "beside the library; libcuda.so.1 if not set") \
    X(driver_api, "STREAMPOOL_DRIVER_API", int, 0, \
      "hide entry points of the driver newer than this version (10020 is 10.2); 0 hides " \
      "none") \
    X(vmm, "STREAMPOOL_VMM", bool, true, \
      "0 takes memory by cuMemAlloc, as on devices without virtual memory management: then no " \
      "memory is mapped a second time") \
    X(log, "STREAMPOOL_LOG", string, NULL, \
      "write a log to standard error: error, warn, info or debug") \
    X(address_space, "STREAMPOOL_ADDRESS_SPACE", size, 0, \
      "bytes of address space to reserve for each device; 0 lets the library choose") \
    X(pool, "STREAMPOOL_POOL", string, NULL, \
      "attributes of default pools, NAME=NUMBER with commas between them, such as " \
      "ReleaseThreshold=max,ReleaseDelay=1; POOL:NAME=NUMBER is for pools of that name") \
    X(stats, "STREAMPOOL_STATS", report, NULL, \
      "print at exit what each pool did, and what was never freed, to standard error; with " \
      "json:FILE write it as JSON (%p in the name becomes the process id, - is standard output)") \
    X(stats_signal, "STREAMPOOL_STATS_SIGNAL", bool, false, \
      "at each SIGUSR1, too, write what STREAMPOOL_STATS has written at exit") \
    X(explain_growth, "STREAMPOOL_EXPLAIN_GROWTH", bool, false, \
      "say at each growth that raises the most that a pool has reserved, to standard error, why " \
      "its free memory didn't do") \
    X(leaks, "STREAMPOOL_LEAKS", bool, false, \
      "list at exit the blocks that were never freed, the 1,000 largest, to standard error") \
    X(stacks, "STREAMPOOL_STACKS", int, 0, \
      "number of stack frames, 0 to 64, that STREAMPOOL_LEAKS prints for each block") \
    X(trace, "STREAMPOOL_TRACE", string, NULL, \
      "record a trace for streampool replay into this file; %p in the name becomes the " \
      "process id, and a name that ends with .gz is gzipped")

// Variables with the same beginning that others read: X(name). The simulated driver, the drop-in
// and the libraries of copies and of swapping do, find_package(), and people have those of a build
// set.
#define SP_FOREIGN_VARIABLES(X) \
    X("STREAMPOOL_SIMCUDA") X("STREAMPOOL_SIMCUDA_JSON") X("STREAMPOOL_DROPIN_REPORT") \
    X("STREAMPOOL_CUFILE") X("STREAMPOOL_SWAP_DIR") X("STREAMPOOL_SWAP_HOST") \
    X("STREAMPOOL_DIR") X("STREAMPOOL_ROOT") X("STREAMPOOL_CLI") \
    X("STREAMPOOL_BENCH") X("STREAMPOOL_DROPIN") X("STREAMPOOL_HEAP") X("STREAMPOOL_TESTS") \
    X("STREAMPOOL_TESTS_CXX") X("STREAMPOOL_WERROR") X("STREAMPOOL_INSTALL") \
    X("STREAMPOOL_SANITIZE") X("STREAMPOOL_NVCC")
// clang-format on

enum sp_option_kind {
    SP_OPTION_string,
    SP_OPTION_size,
    SP_OPTION_int,
    SP_OPTION_bool,
    SP_OPTION_report
};

typedef const char *sp_option_type_string;
typedef uint64_t sp_option_type_size;
typedef int sp_option_type_int;
typedef bool sp_option_type_bool;
typedef const char *sp_option_type_report; // null: none; json:FILE; or any other text

struct sp_options {
#define SP_OPTION_FIELD(name, environment, kind, initial, help) sp_option_type_##kind name;
    SP_OPTIONS(SP_OPTION_FIELD)
#undef SP_OPTION_FIELD
};

// A row of the table, for code that walks it (help texts, docs, tests).
struct sp_option_entry {
    const char *name;
    const char *environment;
    enum sp_option_kind kind;
    const char *initial; // as the table has it
    const char *help;
    size_t offset; // of the value in struct sp_options
};

extern const struct sp_option_entry sp_option_entries[];
extern const size_t sp_option_count;

// These are words for what an option takes, by its kind.
extern const char *const sp_option_values[];

// The options, which stay unchanged for the life of the process. Never null.
const struct sp_options *sp_options(void);

// The value of an option, by its place in the table, that was ignored because it can't be read.
// Null when none was. The log reports it when it chooses its level.
const char *sp_options_ignored(size_t index);

// A variable of the environment that nobody reads, by a number from 0, and the one that was meant,
// or null. The name is null when there are no more: of very many some are left out.
const char *sp_options_unknown(size_t index, const char **meant);

// Returns the nearest of some names to one that isn't among them, or null where none is near.
// `name_at` gives the names by number, and null behind the last one. Case doesn't matter.
const char *sp_options_nearest(const char *text, const char *(*name_at)(size_t index));

// Reads a value of one kind into the object at `value`, of type sp_option_type_<kind>. False, and
// nothing written, when the text is not such a value. Of a string nothing is copied.
bool sp_options_parse(enum sp_option_kind kind, const char *text, void *value);

// Reads a number of bytes: a decimal number with at most one suffix K, M, G or T, in either case,
// for powers of 1024, and nothing around it. False, and nothing written, for anything else and for
// 2^64 bytes or more.
bool sp_options_parse_size(const char *text, uint64_t *bytes);

// The attributes by the public list. A name of null ends them.
extern const struct sp_option_attribute {
    const char *name;
    enum poolMemPoolAttr attribute;
    bool is_int; // the attribute's type is int, else uint64_t
} sp_option_attributes[];

// Settings of a pool as text, for STREAMPOOL_POOL and for programs that write it: NAME=NUMBER or
// POOL:NAME=NUMBER, and lists of them with commas between.
enum { SP_SETTING_TEXT = 128 };

struct sp_option_setting {
    enum poolMemPoolAttr attribute;
    bool is_int;
    uint64_t value;
    char pool[SP_SETTING_TEXT];   // "": default pools
    char reason[SP_SETTING_TEXT]; // why it is none
};

// Reads one setting. Returns null, or why it is none, which the struct may hold.
const char *sp_options_read_setting(const char *text, struct sp_option_setting *setting);

// Takes the first setting off a list: copies it, with no blanks around it, and moves on. An empty
// one is "". False when it is too long; its beginning is copied then.
bool sp_options_next_setting(const char **list, char text[SP_SETTING_TEXT]);

#endif
