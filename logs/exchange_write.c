/* Writes a run as JSON text, with one line per member and per trial. */
#include "base/selection.h"
#include "base/user_metric.h"
#include "logs/exchange.h"
#include <math.h>

const char *const itg_log_data_names[ITG_LOG_DATA_SETS] = {"data", "labels", "holdout",
                                                           "holdout_labels"};

itg_run_data *itg_log_data_set(itg_run_info *info, int index)
{
    itg_run_data *const sets[] = {&info->data, &info->labels, &info->holdout,
                                  &info->holdout_labels};
    return sets[index];
}

/* JSON has no infinity; it is written as a string. */
static void put_number(itg_json_writer *w, const char *key, double number)
{
    if (isinf(number))
        itg_json_put_text(w, key, number > 0 ? "inf" : "-inf");
    else
        itg_json_put_number(w, key, number);
}

static void put_score(itg_json_writer *w, const char *key, const itg_score *score)
{
    itg_json_begin(w, key, '{');
    itg_json_put_int(w, "samples", score->samples);
    for (int m = 0; m < ITG_METRIC_USER1; m++)
        if (!isnan(score->value[m]))
            put_number(w, itg_metric_about((itg_metric)m)->name, score->value[m]);
    if (score->stopped_at > 0)
        itg_json_put_null(w, "digest");
    else
        itg_json_put_hash(w, "digest", score->digest);
    itg_user_metrics_write(w, score->user, &score->value[ITG_METRIC_USER1]);
    itg_json_end(w, '}');
}

static void put_data(itg_json_writer *w, const char *key, const itg_run_data *data)
{
    if (!data->name) {
        itg_json_put_null(w, key);
        return;
    }
    itg_json_begin(w, key, '{');
    itg_json_put_text(w, "name", data->name);
    itg_json_put_int(w, "samples", data->samples);
    itg_json_put_hash(w, "hash", data->hash);
    itg_json_end(w, '}');
}

static void put_inputs(itg_json_writer *w, const itg_run_info *info)
{
    itg_run_info copy = *info;
    itg_json_begin(w, "model", '{');
    itg_json_put_text(w, "name", info->model_name);
    itg_json_put_hash(w, "hash", info->model_hash);
    itg_json_end(w, '}');
    itg_json_begin(w, "hardware", '{');
    itg_json_put_text(w, "name", info->hardware_name);
    itg_json_put_text(w, "description", info->hardware_json);
    itg_json_end(w, '}');
    for (int i = 0; i < ITG_LOG_DATA_SETS; i++)
        put_data(w, itg_log_data_names[i], itg_log_data_set(&copy, i));
    itg_json_put_text(w, "searcher", info->searcher);
    itg_json_put_text(w, "options", info->options_json);
    itg_json_put_text(w, "preprocess", info->preprocess_json);
    itg_json_put_text(w, "space", info->space_json);
    itg_json_put_text(w, "engine_version", info->engine_version);
    itg_json_put_text(w, "started", info->started);
    itg_json_put_seed(w, "seed", info->seed);
}

static void put_end(itg_json_writer *w, const itg_run_record *r)
{
    itg_json_put_text(w, "stop_reason", r->stop_reason);
    if (r->ended)
        itg_json_put_bool(w, "goal_met", r->goal_met);
    else
        itg_json_put_null(w, "goal_met");
    if (r->best_trial >= 0)
        itg_json_put_int(w, "best_trial", r->best_trial);
    else
        itg_json_put_null(w, "best_trial");
    itg_json_put_text(w, "strategy", r->strategy_json);
    if (r->codes) itg_json_put_text(w, "codes", r->codes);
    if (r->selection.samples > 0) itg_selection_write(w, &r->selection);
    itg_json_begin_as(w, "results", '{', ITG_JSON_LINES);
    for (int i = 0; i < ITG_RESULT_COUNT; i++)
        if (r->known[i]) put_score(w, itg_log_result_names[i], &r->result[i]);
    itg_json_end(w, '}');
}

static void put_trial(itg_json_writer *w, const itg_trial *trial)
{
    itg_json_begin(w, NULL, '{');
    itg_json_put_int(w, "number", trial->index);
    itg_json_put_int(w, "round", trial->round);
    itg_json_begin(w, "point", '[');
    for (int32_t i = 0; i < trial->dim_count; i++)
        itg_json_put_int(w, NULL, trial->point[i]);
    itg_json_end(w, ']');
    put_number(w, "seconds", trial->seconds);
    if (trial->feasible && trial->score.stopped_at > 0)
        itg_json_put_int(w, "stopped_at", trial->score.stopped_at);
    if (trial->feasible)
        put_score(w, "score", &trial->score);
    else
        itg_json_put_text(w, "error", trial->error);
    itg_json_end(w, '}');
}

void itg_log_write_run(const itg_log_run *run, bool numbered, itg_strbuf *out)
{
    itg_json_writer w = {.text = *out};
    itg_json_begin_as(&w, NULL, '{', ITG_JSON_LINES);
    itg_json_put_text(&w, "kind", ITG_LOG_EXCHANGE_KIND);
    itg_json_put_int(&w, "version", ITG_LOG_EXCHANGE_VERSION);
    if (numbered) itg_json_put_int(&w, "run", run->record->run);
    put_inputs(&w, &run->record->info);
    put_end(&w, run->record);
    itg_json_begin_as(&w, "trials", '[', ITG_JSON_LINES);
    for (int64_t i = 0; i < run->count; i++)
        put_trial(&w, &run->trials[i]);
    itg_json_end(&w, ']');
    itg_json_end(&w, '}');
    itg_strbuf_add(&w.text, "\n");
    *out = w.text;
}
