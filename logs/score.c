/* Scores: as columns, where -1 (not known) is NULL, and by name in a run. */
#include "logs/store.h"
#include <string.h>

const char *const itg_log_result_names[ITG_LOG_RESULTS] = {"float", "uniform8", "hago-greedy",
                                                           "best", "float-search"};

itg_score *itg_log_result(itg_run_record *record, int index, bool **has)
{
    bool *const flags[] = {&record->has_float, &record->has_uniform8, &record->has_hago,
                           &record->has_best, &record->has_search_float};
    itg_score *const scores[] = {&record->holdout_float, &record->holdout_uniform8,
                                 &record->holdout_hago, &record->holdout_best,
                                 &record->search_float};
    *has = flags[index];
    return scores[index];
}

static int bind_count(sqlite3_stmt *statement, int at, int64_t value)
{
    return value < 0 ? sqlite3_bind_null(statement, at) : sqlite3_bind_int64(statement, at, value);
}

static int bind_number(sqlite3_stmt *statement, int at, double value)
{
    return value < 0 ? sqlite3_bind_null(statement, at) : sqlite3_bind_double(statement, at, value);
}

bool itg_log_bind_score(sqlite3_stmt *statement, int first, const itg_score *score)
{
    enum { COLUMNS = 11 };
    int rc = SQLITE_OK;
    if (!score) {
        for (int i = 0; i < COLUMNS; i++)
            rc |= sqlite3_bind_null(statement, first + i);
        return rc == SQLITE_OK;
    }
    char digest[65];
    bool costs = score->weight_bytes >= 0; /* else a float network, whose costs are not counted */
    itg_sha256_hex(score->digest, digest);
    rc |= bind_count(statement, first, score->samples);
    rc |= bind_number(statement, first + 1, score->top1);
    rc |= bind_number(statement, first + 2, score->agreement);
    rc |= bind_count(statement, first + 3, score->weight_bytes);
    rc |= bind_count(statement, first + 4, score->parameter_bytes);
    rc |= bind_count(statement, first + 5, score->peak_activation_bytes);
    rc |= bind_number(statement, first + 6, costs ? score->bops : -1);
    rc |= bind_number(statement, first + 7, costs ? score->cycles : -1);
    rc |= bind_number(statement, first + 8, costs ? score->average_weight_bits : -1);
    rc |= bind_number(statement, first + 9, score->distortion);
    rc |= score->stopped_at > 0
              ? sqlite3_bind_null(statement, first + 10)
              : sqlite3_bind_text(statement, first + 10, digest, 64, SQLITE_TRANSIENT);
    return rc == SQLITE_OK;
}

static int64_t read_count(sqlite3_stmt *statement, int at)
{
    return sqlite3_column_type(statement, at) == SQLITE_NULL ? -1
                                                             : sqlite3_column_int64(statement, at);
}

static double read_number(sqlite3_stmt *statement, int at)
{
    return sqlite3_column_type(statement, at) == SQLITE_NULL ? -1
                                                             : sqlite3_column_double(statement, at);
}

static int hex_digit(unsigned char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool itg_log_parse_hash(const char *text, unsigned char out[32])
{
    memset(out, 0, 32);
    if (!text || strlen(text) != 64) return false;
    for (int i = 0; i < 32; i++) {
        int high = hex_digit((unsigned char)text[2 * i]);
        int low = hex_digit((unsigned char)text[2 * i + 1]);
        if (high < 0 || low < 0) {
            memset(out, 0, 32);
            return false;
        }
        out[i] = (unsigned char)(high * 16 + low);
    }
    return true;
}

void itg_log_read_score(sqlite3_stmt *statement, int first, itg_score *out)
{
    out->samples = read_count(statement, first);
    out->top1 = read_number(statement, first + 1);
    out->agreement = read_number(statement, first + 2);
    out->weight_bytes = read_count(statement, first + 3);
    out->parameter_bytes = read_count(statement, first + 4);
    out->peak_activation_bytes = read_count(statement, first + 5);
    out->bops = read_number(statement, first + 6);
    out->cycles = read_number(statement, first + 7);
    out->average_weight_bits = read_number(statement, first + 8);
    out->distortion = read_number(statement, first + 9);
    itg_log_parse_hash((const char *)sqlite3_column_text(statement, first + 10), out->digest);
}
