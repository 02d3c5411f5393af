/* intaglio demo: runs search, realize and run on the built-in example. Writes its files to a new
 * folder and shows the equivalent commands, so that the user can continue from there. */
#include "cli/cmd_search.h"
#include "cli/commands.h"
#include "cli/demo.h"
#include "cli/example.h"
#include "cli/staging.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the folder ---- */

static bool is_empty_folder(const char *path)
{
    DIR *folder = opendir(path);
    int entries = 0;
    if (!folder) return false;
    while (entries <= 2 && readdir(folder))
        entries++;
    closedir(folder);
    return entries <= 2; /* "." and ".." */
}

static itg_status fail_errno(itg_error *err, const char *path, const char *what)
{
    return itg_fail(err, ITG_IO, "%.300s: cannot %s: %s", path, what, strerror(errno));
}

/* Creates the folder. A given folder must be new or empty; otherwise the first free name is used.
 */
static itg_status make_folder(itg_cli_demo_work *d, itg_error *err)
{
    enum { MOST = 1000 };
    const char *given = d->args->values[ITG_CLI_OPT_OUT_FOLDER].text;
    if (given && strlen(given) >= sizeof d->folder)
        return itg_fail(err, ITG_BAD_ARGUMENT, "%.100s...: the name is too long", given);
    for (int i = 1; i <= MOST; i++) {
        if (given)
            snprintf(d->folder, sizeof d->folder, "%s", given);
        else if (i == 1)
            snprintf(d->folder, sizeof d->folder, "intaglio-demo");
        else
            snprintf(d->folder, sizeof d->folder, "intaglio-demo-%d", i);
        if (mkdir(d->folder, 0777) == 0) return ITG_OK;
        if (errno != EEXIST) return fail_errno(err, d->folder, "make the folder");
        if (given && is_empty_folder(given)) return ITG_OK;
        if (given)
            return itg_fail(err, ITG_BAD_ARGUMENT,
                            "%.300s: is there already, and not an empty folder; nothing was "
                            "written",
                            given);
    }
    return itg_fail(err, ITG_IO, "%s: is there already, and so are %d others", d->folder, MOST - 1);
}

static itg_status write_file(const char *path, const itg_cli_example *file, itg_error *err)
{
    FILE *out = fopen(path, "wbx"); /* x: never over a file that is there */
    if (!out) return fail_errno(err, path, "write");
    bool whole = fwrite(file->data, 1, file->bytes, out) == file->bytes;
    if (fclose(out) == 0 && whole) return ITG_OK;
    itg_status status = fail_errno(err, path, "write");
    remove(path);
    return status;
}

static itg_status write_example(itg_cli_demo_work *d, itg_error *err)
{
    static const char *const names[ITG_CLI_DEMO_FILES] = {
        [ITG_CLI_DEMO_MODEL] = "digits.onnx",
        [ITG_CLI_DEMO_DATA] = "digits_search_images.npy",
        [ITG_CLI_DEMO_LABELS] = "digits_search_labels.npy",
        [ITG_CLI_DEMO_HOLDOUT] = "digits_test_images.npy",
        [ITG_CLI_DEMO_HOLDOUT_LABELS] = "digits_test_labels.npy",
        [ITG_CLI_DEMO_STRATEGY] = "best.json",
        [ITG_CLI_DEMO_PROGRAM] = "digits.itg",
        [ITG_CLI_DEMO_LOG] = "runs.db",
    };
    itg_status status = make_folder(d, err);
    if (status != ITG_OK) return status;
    for (int i = 0; i < ITG_CLI_DEMO_FILES; i++)
        snprintf(d->paths[i], sizeof d->paths[i], "%s/%s", d->folder, names[i]);
    for (const itg_cli_example *file = itg_cli_examples; file->name && status == ITG_OK; file++)
        for (int i = 0; i < ITG_CLI_DEMO_FILES && status == ITG_OK; i++)
            if (strcmp(names[i], file->name) == 0) status = write_file(d->paths[i], file, err);
    return status;
}

/* ---- the commands ---- */

static void add(itg_cli_demo_words *c, const char *word)
{
    c->words[c->count++] = word;
}

static void add_option(itg_cli_demo_words *c, const char *option, const char *value)
{
    add(c, option);
    add(c, value);
}

static void make_commands(itg_cli_demo_work *d)
{
    itg_cli_demo_words *search = &d->commands[0], *realize = &d->commands[1],
                       *run = &d->commands[2];
    snprintf(d->seed, sizeof d->seed, "%llu",
             (unsigned long long)d->args->values[ITG_CLI_OPT_SEED].seed);
    snprintf(d->threads, sizeof d->threads, "%lld",
             (long long)d->args->values[ITG_CLI_OPT_THREADS].integer);
    add_option(search, "search", d->paths[ITG_CLI_DEMO_MODEL]);
    add_option(search, "--hw", "cortex-m");
    add_option(search, "--scale", "1/255");
    add_option(search, "--max-drop", "1%");
    add_option(search, "--confidence", "99%");
    add_option(search, "--data", d->paths[ITG_CLI_DEMO_DATA]);
    add_option(search, "--labels", d->paths[ITG_CLI_DEMO_LABELS]);
    add_option(search, "--holdout", d->paths[ITG_CLI_DEMO_HOLDOUT]);
    add_option(search, "--holdout-labels", d->paths[ITG_CLI_DEMO_HOLDOUT_LABELS]);
    add_option(search, "--seed", d->seed);
    if (d->args->given[ITG_CLI_OPT_THREADS]) add_option(search, "--threads", d->threads);
    if (d->args->given[ITG_CLI_OPT_QUIET]) add(search, "--quiet");
    add_option(search, "--db", d->paths[ITG_CLI_DEMO_LOG]);
    add_option(search, "-o", d->paths[ITG_CLI_DEMO_STRATEGY]);
    add_option(realize, "realize", d->paths[ITG_CLI_DEMO_MODEL]);
    add_option(realize, d->paths[ITG_CLI_DEMO_STRATEGY], "-o");
    add(realize, d->paths[ITG_CLI_DEMO_PROGRAM]);
    add_option(run, "run", d->paths[ITG_CLI_DEMO_PROGRAM]);
    add_option(run, "--data", d->paths[ITG_CLI_DEMO_HOLDOUT]);
    add_option(run, "--labels", d->paths[ITG_CLI_DEMO_HOLDOUT_LABELS]);
}

static itg_status search(itg_cli_demo_work *d, itg_error *err)
{
    const itg_cli_demo_words *c = &d->commands[0];
    char *words[ITG_CLI_DEMO_WORDS];
    for (int i = 0; i < c->count; i++) /* the parser changes none of them */
        words[i] = (char *)(uintptr_t)c->words[i];
    if (itg_cli_parse(&itg_cli_search, c->count - 1, words + 1, &d->search_args) != ITG_CLI_OK)
        return itg_fail(err, ITG_FAILURE, "the demo's own command is wrong");
    if (itg_cli_keep_apart(&d->search_args, NULL, 0, err) != ITG_OK) return ITG_BAD_ARGUMENT;
    itg_status status = itg_cli_search_perform(&d->search_args, &d->search, err);
    d->searched = true;
    if (status != ITG_OK) return status;
    if (d->search.log_failure.code != ITG_OK) {
        if (err) *err = d->search.log_failure;
        return d->search.log_failure.code;
    }
    if (itg_search_best(d->search.result) && !itg_search_best_holdout(d->search.result))
        return itg_fail(err, ITG_CANCELLED, "interrupted; the best so far is in %s",
                        d->paths[ITG_CLI_DEMO_STRATEGY]);
    if (!itg_search_best(d->search.result))
        return itg_fail(err, ITG_INFEASIBLE, "the search found no strategy: %s",
                        itg_search_limited_by(d->search.result));
    return ITG_OK;
}

/* From the file, as the command would. */
static itg_status realize(itg_cli_demo_work *d, itg_error *err)
{
    const itg_model *model = d->search.model;
    itg_strategy_file *file = NULL;
    itg_program *program = NULL;
    itg_status status = itg_strategy_open(model, d->paths[ITG_CLI_DEMO_STRATEGY], &file, err);
    if (status == ITG_OK) status = itg_realize_strategy(model, file, NULL, &program, err);
    if (status == ITG_OK)
        status = itg_cli_write_program(program, model, file, d->paths[ITG_CLI_DEMO_PROGRAM], err);
    itg_program_destroy(program);
    itg_strategy_close(file);
    return status;
}

static itg_status run_program(itg_cli_demo_work *d, itg_error *err)
{
    itg_program *program = NULL;
    const itg_cli_data *data = &d->search.holdout;
    const itg_run_options options = {ITG_RUN_OPTIONS_VERSION, .labels = data->labels,
                                     .threads = (int)d->args->values[ITG_CLI_OPT_THREADS].integer};
    itg_status status = itg_program_open(d->paths[ITG_CLI_DEMO_PROGRAM], &program, err);
    if (status == ITG_OK) status = itg_program_run(program, data->samples, &options, &d->ran, err);
    itg_program_destroy(program);
    if (status != ITG_OK) return status;
    const itg_score *promised = itg_search_best_holdout(d->search.result);
    if (memcmp(promised->digest, d->ran.digest, sizeof d->ran.digest) != 0)
        return itg_fail(err, ITG_FAILURE,
                        "the program's outputs are not those that the search scored");
    return ITG_OK;
}

static itg_status demonstrate(itg_cli_demo_work *d, itg_error *err)
{
    bool shows = !d->args->given[ITG_CLI_OPT_JSON];
    itg_status status = write_example(d, err);
    if (status != ITG_OK) return status;
    make_commands(d);
    if (shows) itg_cli_demo_begin(d);
    if (shows) itg_cli_demo_show(d, 0);
    status = search(d, err);
    if (status == ITG_OK && shows) itg_cli_demo_show(d, 1);
    if (status == ITG_OK) status = realize(d, err);
    if (status == ITG_OK && shows) itg_cli_demo_show(d, 2);
    if (status == ITG_OK) status = run_program(d, err);
    return status;
}

static int run(const itg_cli_args *args)
{
    static const itg_cli_demo_work nothing;
    itg_cli_demo_work d = nothing;
    itg_error err = {0};
    d.args = args;
    int result;
    if (demonstrate(&d, &err) != ITG_OK)
        result = itg_cli_fail_error(&err);
    else
        result = args->given[ITG_CLI_OPT_JSON] ? itg_cli_demo_json(&d) : itg_cli_demo_text(&d);
    if (!d.searched) return result;
    if (result == ITG_CLI_OK && !itg_search_goal_met(d.search.result))
        result = itg_cli_fail("the goal is not met: %s", itg_search_limited_by(d.search.result));
    else if (result == ITG_CLI_OK)
        result = itg_cli_search_held(d.search.result);
    itg_status status = itg_cli_search_close(&d.search, &err);
    return status != ITG_OK && result == ITG_CLI_OK ? itg_cli_fail_error(&err) : result;
}

const itg_cli_command itg_cli_demo = {
    .name = "demo",
    .summary = "Shows all of it on a small example that the program carries",
    .usage = "[-o DIR] [--seed N]",
    .details =
        "Writes a network that knows drawn digits and its images to a fresh folder, searches "
        "its bit widths for a\n"
        "Cortex-M, turns the best into an integer program, and runs that. The commands that "
        "do the same are\n"
        "shown on the way. Needs no network and about ten seconds; nothing that is there "
        "is overwritten.",
    .options = {ITG_CLI_OPT_OUT_FOLDER, ITG_CLI_OPT_SEED, ITG_CLI_OPT_QUIET},
    .run = run,
};
