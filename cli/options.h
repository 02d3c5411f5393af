/* Command lines: one table of all options, and one parser for all commands. */
#ifndef ITG_CLI_OPTIONS_H
#define ITG_CLI_OPTIONS_H
#include <intaglio/intaglio.h>

/* Exit statuses; also what the functions of cli return. */
enum {
    ITG_CLI_OK = 0,
    ITG_CLI_FAILURE = 1,
    ITG_CLI_USAGE = 2,
    ITG_CLI_NOT_HELD = 3, /* a goal that is met on the search samples, but not on the hold-out */
    ITG_CLI_WORSE = 4     /* than the run of --fail-if-worse */
};

typedef enum itg_cli_kind {
    ITG_CLI_FLAG,
    ITG_CLI_TEXT,
    ITG_CLI_READ,       /* a file that the command reads, as text */
    ITG_CLI_WRITTEN,    /* a file (or folder) that it writes */
    ITG_CLI_DATABASE,   /* a SQLite database, which has files of its own beside it */
    ITG_CLI_INTEGER,    /* within [min, max] */
    ITG_CLI_SEED,       /* 0 .. 2^64-1 */
    ITG_CLI_FRACTION,   /* "1%" or "0.01"; 0 .. 1 */
    ITG_CLI_DECIBELS,   /* "30dB" or "30"; more than 0 */
    ITG_CLI_SECONDS,    /* more than 0 */
    ITG_CLI_BYTES,      /* "64k" = 64,000, "64KiB" = 65,536; at least 1 */
    ITG_CLI_AMOUNT,     /* "1e6", "1M"; at least 1 */
    ITG_CLI_RANGE,      /* "MIN:MAX" or "N", each within [min, max] */
    ITG_CLI_NUMBERS,    /* decimals and ratios, at most max */
    ITG_CLI_THRESHOLD,  /* a threshold method's name */
    ITG_CLI_METHODS,    /* several, each once */
    ITG_CLI_COST,       /* the name of a cost */
    ITG_CLI_BASELINE,   /* the name of a searcher that results can be compared with */
    ITG_CLI_SEARCHER,   /* a searcher's name and parameters */
    ITG_CLI_MODEL_TEXT, /* text of itg_model_options */
    ITG_CLI_KERNELS,    /* a set of float kernels that this build has */
    ITG_CLI_RECOVER,    /* how codes of weights are chosen */
    ITG_CLI_LAYOUT,     /* the name of a layout of samples */
    ITG_CLI_PART,       /* the name of a part of a search's data */
    ITG_CLI_FORM,       /* the name of a form of reports */
    ITG_CLI_KIND_COUNT
} itg_cli_kind;

typedef enum itg_cli_option {
#define ITG_CLI_OPTION(id, name, letter, kind, argument, preset, min, max, help) ITG_CLI_OPT_##id,
#include "cli/options.def"
    ITG_CLI_OPTION_COUNT
} itg_cli_option;

typedef union itg_cli_value {
    bool flag;
    const char *text;
    int64_t integer;
    uint64_t seed;
    double fraction;
    double number; /* DECIBELS, SECONDS, BYTES, AMOUNT */
    itg_bits_range range;
    int choice; /* as which the parser sets the enumerations */
    itg_threshold_method threshold;
    struct {
        itg_metric values[ITG_MOST_OBJECTIVES];
        int32_t count;
    } costs;
    itg_float_kernels kernels;
    itg_recover_mode recover;
    itg_sample_layout layout;
    itg_split_part part;
    itg_threshold_methods methods;
    char searcher[ITG_SEARCHER_TEXT], model_text[ITG_MODEL_TEXT];
    struct {
        float values[ITG_MAX_CHANNELS];
        int32_t count;
    } numbers;
} itg_cli_value;

typedef struct itg_cli_spec {
    const char *name; /* without dashes */
    char letter;      /* 0: none */
    itg_cli_kind kind;
    const char *argument; /* as help shows it; NULL: flag */
    const char *preset;   /* NULL: none */
    int64_t min, max;
    const char *help;
} itg_cli_spec;

const itg_cli_spec *itg_cli_option_spec(itg_cli_option option);

#define ITG_CLI_MAX_ARGUMENTS 17
#define ITG_CLI_MAX_OPTIONS 80

struct itg_cli_args;
typedef struct itg_cli_command {
    const char *name, *summary;
    const char *usage;   /* lines behind "intaglio NAME " */
    const char *details; /* paragraphs below; NULL: none */
    int min_arguments, max_arguments;
    const char *arguments[ITG_CLI_MAX_ARGUMENTS]; /* their names */
    itg_cli_option required[ITG_CLI_MAX_ARGUMENTS + 1];
    int required_count;
    itg_cli_option complete_with; /* where this one is given, nothing is required; 0: none is */
    itg_cli_option options[ITG_CLI_MAX_OPTIONS + 1]; /* besides the common ones; 0 (HELP) ends */
    int (*run)(const struct itg_cli_args *args);
} itg_cli_command;

/* Values of all options: the given one, else the default, else zero. */
typedef struct itg_cli_args {
    const itg_cli_command *command;
    int argument_count;
    const char *arguments[ITG_CLI_MAX_ARGUMENTS];
    bool given[ITG_CLI_OPTION_COUNT];
    itg_cli_value values[ITG_CLI_OPTION_COUNT];
    char *project; /* text of intaglio.toml, to which values may point; the caller frees it */
} itg_cli_args;

/* Fills *out from the words after the command's name. Prints errors. --help stops the parsing;
 * later words are ignored. */
int itg_cli_parse(const itg_cli_command *command, int argc, char *const *argv, itg_cli_args *out);

#define ITG_CLI_SHARE "a share such as 1% or 0.01, from 0 to 100%" /* what a FRACTION is */
/* Parses the value of one option. Prints errors. */
int itg_cli_parse_value(const itg_cli_command *command, const itg_cli_spec *spec, const char *text,
                        itg_cli_value *out);

/* Returns a name of a kind of value, by index; NULL past the end and for a kind without names. */
const char *itg_cli_kind_name(itg_cli_kind kind, int index);

/* Returns an option that all commands have, by index; ITG_CLI_OPTION_COUNT past the end. */
itg_cli_option itg_cli_common_option(int index);
bool itg_cli_takes(const itg_cli_command *command, itg_cli_option option);
/* Prints "intaglio: message" on stderr and returns ITG_CLI_FAILURE. */
int itg_cli_fail(const char *format, ...);
int itg_cli_fail_error(const itg_error *err);
/* Prints a usage error and a hint at the command's help (NULL: the general help). Returns its exit
 * status. */
int itg_cli_fail_usage(const itg_cli_command *command, const char *format, ...);
#endif
