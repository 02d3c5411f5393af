/* A run as JSON text: a line a member, a line a trial. */
#include "base/user_metric.h"
#include "logs/exchange.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const itg_log_data_names[ITG_LOG_DATA_SETS] = {"data", "labels", "holdout",
                                                           "holdout_labels"};

itg_run_data *itg_log_data_set(itg_run_info *info, int index)
{
    itg_run_data *const sets[] = {&info->data, &info->labels, &info->holdout,
                                  &info->holdout_labels};
    return sets[index];
}

/* ---- values ---- */

static void add_text(itg_strbuf *out, const char *key, const char *value)
{
    itg_strbuf_format(out, "\"%s\": ", key);
    if (value)
        itg_strbuf_json_string(out, value);
    else
        itg_strbuf_add(out, "null");
}

static void add_hash(itg_strbuf *out, const char *key, const unsigned char hash[32])
{
    char hex[65];
    itg_sha256_hex(hash, hex);
    itg_strbuf_format(out, "\"%s\": \"%s\"", key, hex);
}

/* The fewest digits that read back as the same double. Infinity, which JSON does not have, is a
 * string. */
static void add_number(itg_strbuf *out, double number)
{
    char text[40];
    if (isinf(number)) {
        itg_strbuf_add(out, number > 0 ? "\"inf\"" : "\"-inf\"");
        return;
    }
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, number);
        if (strtod(text, NULL) == number) break;
    }
    itg_strbuf_add(out, text);
    /* A large whole number must not look like an integer: readers would round it. */
    if (fabs(number) > 0x1p53 && !strpbrk(text, ".e")) itg_strbuf_add(out, ".0");
}

static void add_score(itg_strbuf *out, const itg_score *score)
{
    itg_strbuf_format(out, "{\"samples\": %lld, ", (long long)score->samples);
    for (int m = 0; m < ITG_METRIC_USER1; m++) {
        if (isnan(score->value[m])) continue;
        itg_strbuf_format(out, "\"%s\": ", itg_metric_about((itg_metric)m)->name);
        add_number(out, score->value[m]);
        itg_strbuf_add(out, ", ");
    }
    if (score->stopped_at > 0)
        add_text(out, "digest", NULL);
    else
        add_hash(out, "digest", score->digest);
    itg_user_results_write(score, out);
    itg_strbuf_add(out, "}");
}

/* ---- members of a run ---- */

static void add_data(itg_strbuf *out, const char *key, const itg_run_data *data)
{
    itg_strbuf_format(out, "\"%s\": ", key);
    if (!data->name) {
        itg_strbuf_add(out, "null");
        return;
    }
    itg_strbuf_add(out, "{");
    add_text(out, "name", data->name);
    itg_strbuf_format(out, ", \"samples\": %lld, ", (long long)data->samples);
    add_hash(out, "hash", data->hash);
    itg_strbuf_add(out, "}");
}

static void add_inputs(itg_strbuf *out, const itg_run_info *info)
{
    itg_run_info copy = *info;
    itg_strbuf_add(out, "  \"model\": {");
    add_text(out, "name", info->model_name);
    itg_strbuf_add(out, ", ");
    add_hash(out, "hash", info->model_hash);
    itg_strbuf_add(out, "},\n  \"hardware\": {");
    add_text(out, "name", info->hardware_name);
    itg_strbuf_add(out, ", ");
    add_text(out, "description", info->hardware_json);
    itg_strbuf_add(out, "},\n");
    for (int i = 0; i < ITG_LOG_DATA_SETS; i++) {
        itg_strbuf_add(out, "  ");
        add_data(out, itg_log_data_names[i], itg_log_data_set(&copy, i));
        itg_strbuf_add(out, ",\n");
    }
}

static void add_texts(itg_strbuf *out, const itg_run_info *info)
{
    const struct {
        const char *key, *value;
    } texts[] = {{"searcher", info->searcher},
                 {"options", info->options_json},
                 {"preprocess", info->preprocess_json},
                 {"space", info->space_json},
                 {"engine_version", info->engine_version},
                 {"started", info->started}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        itg_strbuf_add(out, "  ");
        add_text(out, texts[i].key, texts[i].value);
        itg_strbuf_add(out, ",\n");
    }
    itg_strbuf_format(out, "  \"seed\": \"%llu\",\n", (unsigned long long)info->seed);
}

static void add_end(itg_strbuf *out, const itg_run_record *r)
{
    bool first = true;
    itg_strbuf_add(out, "  ");
    add_text(out, "stop_reason", r->stop_reason);
    itg_strbuf_format(out, ",\n  \"goal_met\": %s,\n  \"best_trial\": ",
                      !r->ended     ? "null"
                      : r->goal_met ? "true"
                                    : "false");
    itg_strbuf_format(out, r->best_trial < 0 ? "null" : "%lld", (long long)r->best_trial);
    itg_strbuf_add(out, ",\n  ");
    add_text(out, "strategy", r->strategy_json);
    itg_strbuf_add(out, ",\n  \"results\": {");
    for (int i = 0; i < ITG_RESULT_COUNT; i++) {
        if (!r->known[i]) continue;
        itg_strbuf_format(out, "%s\n    \"%s\": ", first ? "" : ",", itg_log_result_names[i]);
        add_score(out, &r->result[i]);
        first = false;
    }
    itg_strbuf_add(out, first ? "},\n" : "\n  },\n");
}

static void add_trial(itg_strbuf *out, const itg_trial *trial)
{
    itg_strbuf_format(out, "    {\"number\": %lld, \"point\": [", (long long)trial->index);
    for (int32_t i = 0; i < trial->dim_count; i++)
        itg_strbuf_format(out, "%s%d", i > 0 ? ", " : "", (int)trial->point[i]);
    itg_strbuf_add(out, "], \"seconds\": ");
    add_number(out, trial->seconds);
    if (trial->feasible && trial->score.stopped_at > 0)
        itg_strbuf_format(out, ", \"stopped_at\": %lld", (long long)trial->score.stopped_at);
    if (trial->feasible) {
        itg_strbuf_add(out, ", \"score\": ");
        add_score(out, &trial->score);
    } else {
        itg_strbuf_add(out, ", ");
        add_text(out, "error", trial->error);
    }
    itg_strbuf_add(out, "}");
}

void itg_log_write_run(const itg_log_run *run, bool numbered, itg_strbuf *out)
{
    itg_strbuf_format(out, "{\n  \"kind\": \"%s\",\n  \"version\": %d,\n", ITG_LOG_EXCHANGE_KIND,
                      ITG_LOG_EXCHANGE_VERSION);
    if (numbered) itg_strbuf_format(out, "  \"run\": %lld,\n", (long long)run->record->run);
    add_inputs(out, &run->record->info);
    add_texts(out, &run->record->info);
    add_end(out, run->record);
    itg_strbuf_add(out, "  \"trials\": [");
    for (int64_t i = 0; i < run->count; i++) {
        itg_strbuf_add(out, i > 0 ? ",\n" : "\n");
        add_trial(out, &run->trials[i]);
    }
    itg_strbuf_add(out, run->count > 0 ? "\n  ]\n}\n" : "]\n}\n");
}
