#include "cli/metric_command.h"
#include "base/base.h"
#include "base/user_metric.h"
#include "cli/child.h"
#include "cli/interrupt.h"
#include "cli/metric.h"
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NAME "the metric command"

struct itg_cli_metric {
    itg_user_metric users[ITG_USER_METRICS];
    const char **names; /* of the outputs */
    int32_t count;
    double seconds;
    char folder[256];                           /* of its own, "": none yet */
    char *outputs_path, *labels_path, *command; /* command: both paths in it */
    pthread_mutex_t lock;                       /* of failure */
    itg_error failure;                          /* code ITG_OK: none */
};

/* ---- options ---- */

static bool mentions(const itg_cli_args *args, const char *placeholder)
{
    return strstr(args->values[ITG_CLI_OPT_METRIC_COMMAND].text, placeholder) != NULL;
}

int itg_cli_metric_check(const itg_cli_args *args)
{
    static const itg_cli_option about[] = {ITG_CLI_OPT_METRIC_NAME, ITG_CLI_OPT_METRIC_DOWN,
                                           ITG_CLI_OPT_METRIC_TIMEOUT};
    if (args->given[ITG_CLI_OPT_METRIC_COMMAND] && !mentions(args, "{outputs}"))
        return itg_cli_fail_usage(args->command,
                                  "--metric-command says nowhere {outputs}, the file that it is to "
                                  "read, as in 'python3 map.py {outputs} {labels}'");
    if (args->given[ITG_CLI_OPT_METRIC_COMMAND] && mentions(args, "{labels}") &&
        !args->given[ITG_CLI_OPT_LABELS] && !args->given[ITG_CLI_OPT_RESUME])
        return itg_cli_fail_usage(args->command,
                                  "--metric-command says {labels}, and --labels is missing");
    for (size_t i = 0; i < sizeof about / sizeof *about; i++)
        if (args->given[about[i]] && !args->given[ITG_CLI_OPT_METRIC_COMMAND])
            return itg_cli_fail_usage(args->command, "--%s goes with --metric-command",
                                      itg_cli_option_spec(about[i])->name);
    return ITG_CLI_OK;
}

/* ---- the command's words ---- */

/* Appends a path quoted as one word of the shell. */
static void add_quoted(itg_strbuf *out, const char *path)
{
    itg_strbuf_add(out, "'");
    for (; *path; path++)
        if (*path == '\'')
            itg_strbuf_add(out, "'\\''");
        else
            itg_strbuf_bytes(out, path, 1);
    itg_strbuf_add(out, "'");
}

/* Returns the text with its placeholders replaced, malloc'd; NULL without memory. */
static char *fill(const char *text, const char *outputs, const char *labels)
{
    static const char at_outputs[] = "{outputs}", at_labels[] = "{labels}";
    itg_strbuf out = {0};
    while (*text) {
        if (strncmp(text, at_outputs, strlen(at_outputs)) == 0) {
            add_quoted(&out, outputs);
            text += strlen(at_outputs);
        } else if (strncmp(text, at_labels, strlen(at_labels)) == 0) {
            add_quoted(&out, labels);
            text += strlen(at_labels);
        } else {
            itg_strbuf_bytes(&out, text++, 1);
        }
    }
    if (itg_strbuf_ok(&out)) return out.text;
    itg_strbuf_deinit(&out);
    return NULL;
}

/* ---- one number ---- */

static const char *skip_blanks(const char *text)
{
    return text + strspn(text, " \t\r\n");
}

static itg_status parse(const char *text, double *out, itg_error *err)
{
    char seen[48];
    char *end;
    const char *start = skip_blanks(text);
    double value = strtod(start, &end);
    if (end != start && *skip_blanks(end) == '\0' && isfinite(value)) {
        *out = value;
        return ITG_OK;
    }
    snprintf(seen, sizeof seen, "%.40s", start);
    seen[strcspn(seen, "\r\n")] = '\0';
    for (char *c = seen; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 127) *c = ' ';
    return itg_fail(err, ITG_BAD_ARGUMENT, NAME " printed '%s%s', expected one finite number", seen,
                    *skip_blanks(start + strlen(seen)) ? "..." : "");
}

static itg_status compute(itg_cli_metric *m, const itg_outputs *o, double *out, itg_error *err)
{
    char *printed = NULL;
    itg_status status = itg_tensors_write_npz(m->names, o->outputs, o->count, m->outputs_path, err);
    if (status == ITG_OK && o->labels)
        status = itg_tensor_write_npy(o->labels, m->labels_path, err);
    if (status == ITG_OK)
        status = itg_cli_child_run(NAME, m->command, m->folder, m->seconds, &printed, err);
    if (status == ITG_OK) status = parse(printed, out, err);
    itg_free(printed);
    return status;
}

static void keep_failure(itg_cli_metric *m, const itg_error *err)
{
    pthread_mutex_lock(&m->lock);
    if (m->failure.code == ITG_OK) m->failure = *err;
    pthread_mutex_unlock(&m->lock);
}

static double score(void *context, const itg_outputs *outputs)
{
    itg_cli_metric *m = context;
    itg_error err = {0};
    double value = 0;
    if (itg_cli_metric_failure(m, NULL) != ITG_OK) return (double)NAN;
    if (compute(m, outputs, &value, &err) == ITG_OK) return value;
    keep_failure(m, &err);
    return (double)NAN;
}

/* ---- its life ---- */

static char *path_in(const itg_cli_metric *m, const char *name)
{
    itg_strbuf path = {0};
    itg_strbuf_format(&path, "%s/%s", m->folder, name);
    if (itg_strbuf_ok(&path)) return path.text;
    itg_strbuf_deinit(&path);
    return NULL;
}

static itg_status make_folder(itg_cli_metric *m, itg_error *err)
{
    const char *where = getenv("TMPDIR");
    char name[sizeof m->folder];
    int length =
        snprintf(name, sizeof name, "%s/intaglio-XXXXXX", where && *where ? where : "/tmp");
    if (length >= (int)sizeof name || !mkdtemp(name))
        return itg_fail(err, ITG_IO, "%.200s: no folder can be made there (TMPDIR)", name);
    memcpy(m->folder, name, sizeof name);
    return ITG_OK;
}

static itg_status prepare(itg_cli_metric *m, const itg_cli_args *args, itg_error *err)
{
    itg_status status = make_folder(m, err);
    if (status != ITG_OK) return status;
    m->outputs_path = path_in(m, "outputs.npz");
    m->labels_path = path_in(m, "labels.npy");
    if (m->outputs_path && m->labels_path)
        m->command =
            fill(args->values[ITG_CLI_OPT_METRIC_COMMAND].text, m->outputs_path, m->labels_path);
    return m->command ? ITG_OK : itg_fail(err, ITG_NO_MEMORY, "no memory for " NAME);
}

void itg_cli_metric_info(const itg_cli_args *args, itg_user_info *out)
{
    itg_user_metric top;
    if (itg_cli_names_top_metric(args) &&
        itg_cli_top_metric(args->values[ITG_CLI_OPT_METRIC].text, &top)) {
        *out = top.info;
        return;
    }
    if (!args->given[ITG_CLI_OPT_METRIC_COMMAND]) return;
    snprintf(out->name, sizeof out->name, "%s", args->values[ITG_CLI_OPT_METRIC_NAME].text);
    out->unit = ITG_UNIT_NUMBER;
    out->up = !args->given[ITG_CLI_OPT_METRIC_DOWN];
}

static itg_status name_metric(itg_cli_metric *m, const itg_cli_args *args, itg_error *err)
{
    itg_cli_metric_info(args, &m->users[0].info);
    m->users[0].score = score;
    m->users[0].context = m;
    m->seconds = args->values[ITG_CLI_OPT_METRIC_TIMEOUT].number;
    return itg_user_check(&m->users[0].info, err);
}

static itg_status name_outputs(itg_cli_metric *m, const itg_model *model,
                               const itg_program *program, itg_error *err)
{
    m->count = model ? itg_model_output_count(model) : itg_program_output_count(program);
    m->names = calloc((size_t)m->count + 1, sizeof *m->names);
    if (!m->names) return itg_fail(err, ITG_NO_MEMORY, "no memory for " NAME);
    for (int32_t i = 0; i < m->count; i++)
        m->names[i] = model ? itg_model_output_name(model, i) : itg_program_output(program, i).name;
    return ITG_OK;
}

itg_status itg_cli_metric_open(const itg_cli_args *args, const itg_model *model,
                               const itg_program *program, itg_cli_metric **out, itg_error *err)
{
    const bool tops = itg_cli_names_top_metric(args);
    *out = NULL;
    if (!args->given[ITG_CLI_OPT_METRIC_COMMAND] && !tops) return ITG_OK;
    itg_cli_metric *m = calloc(1, sizeof *m);
    if (!m) return itg_fail(err, ITG_NO_MEMORY, "no memory for " NAME);
    pthread_mutex_init(&m->lock, NULL);
    if (tops) {
        (void)itg_cli_top_metric(args->values[ITG_CLI_OPT_METRIC].text, &m->users[0]);
        *out = m;
        return ITG_OK;
    }
    itg_cli_catch_interrupts();
    itg_status status = name_outputs(m, model, program, err);
    if (status == ITG_OK) status = name_metric(m, args, err);
    if (status == ITG_OK) status = prepare(m, args, err);
    if (status == ITG_OK)
        *out = m;
    else
        itg_cli_metric_close(m);
    return status;
}

const itg_user_metric *itg_cli_metric_users(const itg_cli_metric *metric)
{
    return metric ? metric->users : NULL;
}

itg_status itg_cli_metric_failure(itg_cli_metric *metric, itg_error *err)
{
    if (!metric) return ITG_OK;
    pthread_mutex_lock(&metric->lock);
    const itg_error why = metric->failure;
    pthread_mutex_unlock(&metric->lock);
    return why.code == ITG_OK ? ITG_OK : itg_fail(err, why.code, "%s", why.message);
}

static void remove_files(const itg_cli_metric *m)
{
    static const char *const names[] = {"outputs.npz", "labels.npy", "stdout", "stderr"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *path = path_in(m, names[i]);
        if (path) unlink(path);
        free(path);
    }
    rmdir(m->folder);
}

void itg_cli_metric_close(itg_cli_metric *m)
{
    if (!m) return;
    if (*m->folder) remove_files(m);
    pthread_mutex_destroy(&m->lock);
    free((void *)m->names);
    free(m->outputs_path);
    free(m->labels_path);
    free(m->command);
    free(m);
}
