#include "bench/bench.h"
#include <stdarg.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void figure_text(bench_unit unit, double value, char *out, size_t size)
{
    if (unit == BENCH_SECONDS && value < 1)
        snprintf(out, size, "%.*f ms", value < 0.01 ? 3 : value < 0.1 ? 2 : 1, 1e3 * value);
    else if (unit == BENCH_SECONDS)
        snprintf(out, size, "%.2f s", value);
    else if (unit == BENCH_PER_SECOND)
        snprintf(out, size, "%.*f /s", value < 100 ? 1 : 0, value);
    else if (unit == BENCH_MACS)
        snprintf(out, size, "%.*f GMAC/s", value < 100e9 ? 1 : 0, 1e-9 * value);
    else
        snprintf(out, size, "%.1f MiB", value / (1 << 20));
}

static bool less_is_better(bench_unit unit)
{
    return unit == BENCH_SECONDS || unit == BENCH_BYTES;
}

static double ratio_of(const bench_row *r)
{
    if (!(r->peer > 0) || !(r->ours > 0)) return 0;
    return less_is_better(r->unit) ? r->peer / r->ours : r->ours / r->peer;
}

static void goal_text(const bench_row *r, char *out, size_t size)
{
    double ratio = ratio_of(r);
    if (r->least_ratio > 0 && ratio > 0)
        snprintf(out, size, "ratio %g: %s", r->least_ratio,
                 ratio >= r->least_ratio ? "met" : "**not met**");
    else if (r->least_ratio > 0)
        snprintf(out, size, "ratio %g: no peer", r->least_ratio);
    else if (r->least_ours > 0)
        snprintf(out, size, "%g /s: %s", r->least_ours,
                 r->ours >= r->least_ours ? "met" : "**not met**");
    else
        snprintf(out, size, "-");
}

static void ours_text(const bench_row *r, char *out, size_t size)
{
    char median[48];
    figure_text(r->unit, r->ours, out, size);
    if (!(r->ours_median > 0)) return;
    figure_text(r->unit, r->ours_median, median, sizeof median);
    snprintf(out + strlen(out), size - strlen(out), " (median %s)", median);
}

void bench_add(bench_table *table, const bench_row *r)
{
    char ours[112] = "-", peer[48] = "-", ratio[32] = "-", goal[64] = "-";
    if (r->failed) {
        table->failed++;
        printf("%s\n    FAILED: %s\n", r->what, r->verified);
        itg_strbuf_format(&table->rows, "| %s | - | - | - | - | - | **failed**: %s |\n", r->what,
                          r->verified);
        return;
    }
    ours_text(r, ours, sizeof ours);
    if (r->peer > 0) figure_text(r->unit, r->peer, peer, sizeof peer);
    if (ratio_of(r) > 0) snprintf(ratio, sizeof ratio, "%.2f", ratio_of(r));
    goal_text(r, goal, sizeof goal);
    table->count++;
    printf("%s\n    %s; %s: %s; ratio %s; goal %s\n    verified: %s\n", r->what, ours, r->peer_name,
           peer, ratio, goal, r->verified);
    fflush(stdout);
    itg_strbuf_format(&table->rows, "| %s | %s | %s | %s | %s | %s | %s |\n", r->what, ours,
                      r->peer_name, peer, ratio, goal, r->verified);
}

void bench_remark(bench_table *table, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    printf("%s\n", text);
    fflush(stdout);
    itg_strbuf_format(&table->rows, "| %s | | | | | | |\n", text);
}

itg_status bench_write_table(const bench_table *table, const char *path, itg_error *err)
{
    itg_strbuf text = {0};
    char processor[256], day[16] = "";
    time_t seconds = time(NULL);
    struct tm utc;
    bench_processor(processor, sizeof processor);
    if (gmtime_r(&seconds, &utc)) strftime(day, sizeof day, "%Y-%m-%d", &utc);
    itg_strbuf_format(&text, "%s, %ld processors; commit %s; %s\n\n", processor,
                      sysconf(_SC_NPROCESSORS_ONLN), bench_commit(), day);
    itg_strbuf_add(&text, "| what | ours | peer's name | peer | ratio | goal | verified |\n"
                          "|---|---|---|---|---|---|---|\n");
    if (table->rows.text) itg_strbuf_add(&text, table->rows.text);
    itg_status status = ITG_OK;
    if (!itg_strbuf_ok(&table->rows) || !itg_strbuf_ok(&text))
        status = itg_fail(err, ITG_NO_MEMORY, "no memory for the table");
    else
        status = itg_file_write(path, text.text, text.length, err);
    itg_strbuf_deinit(&text);
    return status;
}
