/* Scores: as columns, where -1 (not known) is NULL, and by name in a run. */
#include "logs/store.h"
#include <math.h>
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

#define MOST 0x1p53 /* the largest integer that JSON readers agree on */
#define FIELD(member, integer, max)                                                                \
    {                                                                                              \
#member, offsetof(itg_score, member), integer, max                                         \
    }
const itg_log_field itg_log_fields[ITG_LOG_FIELDS] = {
    FIELD(samples, true, MOST),
    FIELD(top1, false, 1),
    FIELD(agreement, false, 1),
    FIELD(weight_bytes, true, MOST),
    FIELD(parameter_bytes, true, MOST),
    FIELD(peak_activation_bytes, true, MOST),
    FIELD(bops, false, (double)INFINITY),
    FIELD(cycles, false, (double)INFINITY),
    FIELD(average_weight_bits, false, 64),
    FIELD(distortion, false, (double)INFINITY),
};

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

itg_score itg_log_no_score(void)
{
    itg_score score = {0};
    for (int i = 0; i < ITG_LOG_FIELDS; i++) {
        char *to = (char *)&score + itg_log_fields[i].offset;
        const int64_t integer = -1;
        const double number = -1;
        memcpy(to, itg_log_fields[i].is_integer ? (const void *)&integer : &number, sizeof integer);
    }
    return score;
}

/* NULL is not known; false: what stands there is no such value. */
static bool read_field(sqlite3_stmt *s, int at, const itg_log_field *field, itg_score *out)
{
    char *to = (char *)out + field->offset;
    int type = sqlite3_column_type(s, at);
    int64_t integer = type == SQLITE_NULL ? -1 : sqlite3_column_int64(s, at);
    double number = type == SQLITE_NULL ? -1 : sqlite3_column_double(s, at);
    if (field->is_integer)
        memcpy(to, &integer, sizeof integer);
    else
        memcpy(to, &number, sizeof number);
    return type == SQLITE_NULL ||
           ((type == SQLITE_INTEGER || (type == SQLITE_FLOAT && !field->is_integer)) &&
            number >= 0 && number <= field->max);
}

itg_status itg_log_read_score(const itg_run_log *log, sqlite3_stmt *statement, int first,
                              const char *where, itg_score *out, itg_error *err)
{
    const char *digest = (const char *)sqlite3_column_text(statement, first + ITG_LOG_FIELDS);
    for (int i = 0; i < ITG_LOG_FIELDS; i++) {
        const itg_log_field *field = &itg_log_fields[i];
        if (read_field(statement, first + i, field, out)) continue;
        const unsigned char *text = sqlite3_column_text(statement, first + i);
        return itg_fail(err, ITG_BAD_FILE, "%s: %s: %s is %.40s, expected %s from 0 to %.17g",
                        log->path, where, field->name, text ? (const char *)text : "nothing",
                        field->is_integer ? "an integer" : "a number", field->max);
    }
    if (out->stopped_at > 0 && out->stopped_at >= out->samples)
        return itg_fail(err, ITG_BAD_FILE, "%s: %s: stopped_at is %lld of %lld samples", log->path,
                        where, (long long)out->stopped_at, (long long)out->samples);
    bool known = itg_log_parse_hash(digest, out->digest);
    if (out->stopped_at > 0 ? digest != NULL : !known)
        return itg_fail(err, ITG_BAD_FILE, "%s: %s: digest is %.70s, expected %s", log->path, where,
                        digest ? digest : "nothing",
                        out->stopped_at > 0 ? "none" : "64 hexadecimal digits");
    return ITG_OK;
}
