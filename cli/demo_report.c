/* Prints the results of the demo: commands, a table, its meaning, and the location of files. */
#include "cli/demo.h"
#include "cli/table.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { LINE = 98 };

void itg_cli_demo_begin(const itg_cli_demo_work *d)
{
    printf(
        "A small network knows drawn digits; a Cortex-M without floating point is to run it. All "
        "files go to\n%s. These commands do the same:\n",
        d->folder);
}

/* Writes the word, quoted if a shell would not take it literally. */
static void quote(const char *word, char *out, size_t size)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_./%:=+,-";
    size_t used = 0;
    if (*word && word[strspn(word, plain)] == '\0') {
        snprintf(out, size, "%s", word);
        return;
    }
    out[used++] = '\'';
    for (; *word && used + 6 < size; word++) {
        const char *text = *word == '\'' ? "'\\''" : (const char[]){*word, '\0'};
        used += (size_t)snprintf(out + used, size - used, "%s", text);
    }
    snprintf(out + used, size - used, "'");
}

void itg_cli_demo_show(const itg_cli_demo_work *d, int step)
{
    const itg_cli_demo_words *c = &d->commands[step];
    int at = printf("\n$ intaglio");
    for (int i = 0; i < c->count; i++) {
        char word[2400], value[2400];
        quote(c->words[i], word, sizeof word);
        /* An option stays on one line with its value. */
        bool pair = c->words[i][0] == '-' && i + 1 < c->count && c->words[i + 1][0] != '-';
        if (pair) quote(c->words[i + 1], value, sizeof value);
        int width = (int)strlen(word) + (pair ? 1 + (int)strlen(value) : 0);
        if (at + 1 + width > LINE) at = printf(" \\\n   ") - 3;
        at += printf(" %s", word);
        if (pair) at += printf(" %s", value);
        i += pair;
    }
    putchar('\n');
    fflush(stdout);
}

/* ---- the table ---- */

static void row(itg_cli_table *table, const char *name, const itg_score *s, double bytes,
                double float_bytes)
{
    char text[32];
    double lo, hi, top1 = s->value[ITG_METRIC_TOP1];
    itg_cli_interval(top1, s->samples, &lo, &hi);
    itg_cli_table_cell(table, "%s", name);
    itg_cli_table_cell(table, "%.2f %%", 100 * top1);
    itg_cli_table_cell(table, "%.2f to %.2f", 100 * lo, 100 * hi);
    itg_cli_table_cell(table, "%s bytes", itg_cli_amount(bytes, text));
    itg_cli_table_cell(table, "%.1f times", float_bytes / bytes);
}

static int print_table(const itg_cli_demo_work *d)
{
    const itg_search_result *r = d->search.result;
    const itg_score *u = itg_search_uniform8(r, true), *b = itg_search_best_holdout(r);
    double floats = itg_cli_float_bytes(u);
    itg_cli_table table;
    itg_cli_table_init(&table, "lrlrr");
    itg_cli_table_texts(&table, "network", "correct", "95 % interval", "weights", "smaller", NULL);
    row(&table, "float, as it came", itg_search_float(r, true), floats, floats);
    row(&table, "8 bits everywhere", u, u->value[ITG_METRIC_WEIGHT_BYTES], floats);
    row(&table, "searched", b, b->value[ITG_METRIC_WEIGHT_BYTES], floats);
    return itg_cli_table_print(&table);
}

static void print_meaning(const itg_cli_demo_work *d)
{
    const itg_search_result *r = d->search.result;
    const itg_score *u = itg_search_uniform8(r, true), *b = itg_search_best_holdout(r);
    itg_cli_drop drop = itg_cli_drop_of(itg_search_float(r, true), b);
    printf("\nThe search tried %lld strategies in %.1f seconds. The best has %.2f bits a weight on "
           "average, and takes\n%.0f %% of the bytes that 8 bits take. It is right on %.2f points "
           "fewer of these images than the float\nnetwork (95 %% interval %.2f to %.2f); on the "
           "images that it was searched with, 1 point was allowed.\n\n"
           "The program computes in integers alone. It ran on the same images, and all its outputs "
           "are those\nthat the search had scored, bit for bit: that is the promise.\n",
           (long long)itg_search_trial_count(r), d->search.seconds,
           b->value[ITG_METRIC_AVERAGE_WEIGHT_BITS],
           100 * (double)b->value[ITG_METRIC_WEIGHT_BYTES] /
               (double)u->value[ITG_METRIC_WEIGHT_BYTES],
           100 * drop.drop, 100 * drop.lo, 100 * drop.hi);
}

int itg_cli_demo_text(const itg_cli_demo_work *d)
{
    printf("\nOn %lld images that the search never saw:\n\n", (long long)d->ran.samples);
    int status = print_table(d);
    print_meaning(d);
    printf("\nIn %s:\n", d->folder);
    itg_cli_print_line("digits.onnx", "the float network; its images and labels are beside it");
    itg_cli_print_line("best.json",
                       "the strategy: bits and range of every edge; codes of weights beside it");
    itg_cli_print_line("digits.itg",
                       "the integer program; beside it its certificate (intaglio verify)");
    itg_cli_print_line("runs.db", "the log: intaglio runs list --db %s/runs.db", d->folder);
    puts(
        "\nYour own network: intaglio search NET.onnx --hw cortex-m --data X.npy --labels Y.npy -o "
        "best.json\nTargets: intaglio hw list. All options: intaglio help search.");
    return status;
}

/* ---- JSON ---- */

static void json_scores(itg_json_writer *json, const char *key, const itg_score *s, double bytes)
{
    itg_json_begin(json, key, '{');
    itg_json_put_int(json, "samples", s->samples);
    itg_json_put_number(json, "top1", s->value[ITG_METRIC_TOP1]);
    itg_cli_json_interval(json, "interval", s->value[ITG_METRIC_TOP1], s->samples);
    itg_json_put_number(json, "weight_bytes", bytes);
    itg_json_put_hash(json, "digest", s->digest);
    itg_json_end(json, '}');
}

int itg_cli_demo_json(const itg_cli_demo_work *d)
{
    const itg_search_result *r = d->search.result;
    const itg_score *u = itg_search_uniform8(r, true), *b = itg_search_best_holdout(r);
    itg_json_writer json = {0};
    itg_json_begin(&json, NULL, '{');
    itg_json_put_text(&json, "folder", d->folder);
    itg_json_put_text(&json, "model", d->paths[ITG_CLI_DEMO_MODEL]);
    itg_json_put_text(&json, "strategy", d->paths[ITG_CLI_DEMO_STRATEGY]);
    itg_json_put_text(&json, "program", d->paths[ITG_CLI_DEMO_PROGRAM]);
    itg_json_put_text(&json, "db", d->paths[ITG_CLI_DEMO_LOG]);
    itg_json_begin(&json, "commands", '[');
    for (int step = 0; step < ITG_CLI_DEMO_STEPS; step++) {
        itg_json_begin(&json, NULL, '[');
        itg_json_put_text(&json, NULL, "intaglio");
        for (int i = 0; i < d->commands[step].count; i++)
            itg_json_put_text(&json, NULL, d->commands[step].words[i]);
        itg_json_end(&json, ']');
    }
    itg_json_end(&json, ']');
    itg_json_put(&json, "seed", "%" PRIu64, d->search.options.seed);
    itg_json_put_int(&json, "trials", itg_search_trial_count(r));
    itg_json_put_number(&json, "seconds", d->search.seconds);
    itg_json_put_bool(&json, "goal_met", itg_search_goal_met(r));
    itg_json_put_bool(&json, "goal_met_on_holdout", itg_search_goal_holds(r));
    json_scores(&json, "float", itg_search_float(r, true), itg_cli_float_bytes(u));
    json_scores(&json, "uniform8", u, u->value[ITG_METRIC_WEIGHT_BYTES]);
    json_scores(&json, "best", b, b->value[ITG_METRIC_WEIGHT_BYTES]);
    json_scores(&json, "ran", &d->ran, b->value[ITG_METRIC_WEIGHT_BYTES]);
    itg_json_end(&json, '}');
    return itg_cli_json_print(&json);
}
