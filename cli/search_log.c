/* Writes the beginning and the end of a run to the log. cmd_search.c adds trials as they come. */
#include "base/base.h"
#include "cli/cmd_search.h"
#include "cli/holder.h"
#include <string.h>

static itg_run_data data_of(const char *name, const itg_dataset *samples)
{
    itg_run_data data = {.name = name};
    if (!samples) return data;
    data.samples = itg_data_samples(samples);
    memcpy(data.hash, itg_data_hash(samples), sizeof data.hash);
    return data;
}

static itg_status make_texts(itg_cli_search_work *w, itg_error *err)
{
    if (w->space_json) return ITG_OK;
    itg_status status = itg_preprocess_text(&w->preprocess, &w->preprocess_json, err);
    if (status == ITG_OK) status = itg_search_options_text(&w->options, &w->options_json, err);
    if (status == ITG_OK)
        status = itg_search_space_text(w->model, w->hw, &w->options, &w->space_json, err);
    return status;
}

itg_status itg_cli_search_info(itg_cli_search_work *w, itg_run_info *out, itg_error *err)
{
    itg_status status = make_texts(w, err);
    if (status != ITG_OK) return status;
    *out = (itg_run_info){.model_name = w->files.model,
                          .hardware_name = itg_hardware_name(w->hw),
                          .searcher = w->options.searcher,
                          .options_json = w->options_json,
                          .hardware_json = itg_hardware_json(w->hw),
                          .preprocess_json = w->preprocess_json,
                          .engine_version = itg_engine_version(),
                          .space_json = w->space_json,
                          .data = data_of(w->files.data, w->data.samples),
                          .holdout = data_of(w->files.holdout, w->holdout.samples),
                          .labels = w->labels,
                          .holdout_labels = w->holdout_labels,
                          .seed = w->options.seed};
    memcpy(out->model_hash, itg_model_hash(w->model), sizeof out->model_hash);
    return ITG_OK;
}

static itg_status begin_run(itg_cli_search_work *w, const char *db, itg_error *err)
{
    char started[32];
    itg_run_info info;
    itg_status status = itg_cli_search_info(w, &info, err);
    if (status != ITG_OK) return status;
    info.started = itg_cli_utc(started, sizeof started);
    return itg_cli_recorder_open(db, &info, &w->recorder, err);
}

itg_status itg_cli_search_begin_log(itg_cli_search_work *w, itg_error *err)
{
    const char *db = w->args->values[ITG_CLI_OPT_DB].text;
    if (!db) return ITG_OK;
    if (!w->resumed) return begin_run(w, db, err);
    if (itg_run_record_is_complete(w->resumed)) return ITG_OK; /* it is replayed */
    return itg_cli_recorder_resume(db, w->resumed->run, &w->recorder, err);
}

/* Fills in the best strategy's two files, in the form that the log keeps. */
static itg_status take_strategy(itg_cli_search_work *w, itg_error *err)
{
    itg_buffer text = {0}, codes = {0};
    itg_status status =
        itg_strategy_save_memory(itg_search_strategy(w->result), w->model, &text, &codes, err);
    if (status != ITG_OK) return status;
    w->strategy_json = text.data;
    if (codes.data) w->codes = itg_hex_text(codes.data, codes.bytes);
    if (codes.data && !w->codes) status = itg_fail(err, ITG_NO_MEMORY, "no memory for the log");
    itg_free(codes.data);
    return status;
}

itg_status itg_cli_search_end_log(itg_cli_search_work *w, itg_error *err)
{
    const itg_trial *best = w->is_survey ? NULL : itg_search_best(w->result);
    if (!w->recorder) return ITG_OK;
    itg_status status = best ? take_strategy(w, err) : ITG_OK;
    if (status != ITG_OK) return status;
    itg_run_end end = {.stop_reason = itg_search_stop_reason(w->result),
                       .strategy_json = w->strategy_json,
                       .codes = w->codes,
                       .best_trial = best ? best->index : -1,
                       .goal_met = best && itg_search_goal_met(w->result),
                       .result[ITG_RESULT_FLOAT] = itg_search_float(w->result, true),
                       .result[ITG_RESULT_UNIFORM8] = itg_search_uniform8(w->result, true),
                       .result[ITG_RESULT_HAGO] = itg_search_hago(w->result, true),
                       .result[ITG_RESULT_BEST] = best ? itg_search_best_holdout(w->result) : NULL,
                       .result[ITG_RESULT_SEARCH_FLOAT] = itg_search_float(w->result, false),
                       .selection = itg_search_selection(w->result)};
    return itg_cli_recorder_end(w->recorder, &end, err);
}

void itg_cli_search_fail_log(itg_cli_search_work *w, const itg_error *why)
{
    bool cancelled = why->code == ITG_CANCELLED;
    itg_run_end end = {.stop_reason = cancelled ? "cancelled" : why->message, .best_trial = -1};
    if (w->recorder) itg_cli_recorder_end(w->recorder, &end, NULL);
}
