/* Opens a log. The first bytes of the file are checked before SQLite opens it, because SQLite may
 * write to it (it rolls back a journal, or creates a -wal file). Everything else is checked in one
 * transaction.
 *
 * Journal mode. SQLite 3.7.0 to 3.51.2 (Debian 12 has 3.40.1) can corrupt a database in WAL mode
 * when two connections write and checkpoint at the same moment ("WAL-reset bug", fixed in 3.51.3).
 * A log is read while a search writes it, and a reader also checkpoints when it closes. So a log is
 * always in DELETE mode, with a rollback journal, which the bug does not affect. A writer must
 * therefore wait for readers to finish, at most every 200 ms. */
#include "logs/store.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HEADER_BYTES = 100, PAGE_AT = 16, PAGES_AT = 28, VERSION_AT = 60, APPLICATION_AT = 68 };

/* ---- the file, before SQLite ---- */

static uint32_t big_endian(const unsigned char *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static itg_status check_identity(const char *path, const unsigned char *header, itg_error *err)
{
    if (memcmp(header, "SQLite format 3", 16) != 0)
        return itg_fail(err, ITG_BAD_FILE, "%s: is no SQLite database; it was left as it is", path);
    if (big_endian(header + APPLICATION_AT) != ITG_LOG_APPLICATION_ID)
        return itg_fail(err, ITG_BAD_FILE,
                        "%s: is another application's database; it was left as it is", path);
    uint32_t version = big_endian(header + VERSION_AT);
    if (version < 1)
        return itg_fail(err, ITG_BAD_FILE, "%s: is damaged: it has schema version 0", path);
    if (version != ITG_LOG_SCHEMA_VERSION)
        return itg_fail(err, ITG_UNSUPPORTED,
                        "%s: has schema version %lu, this program knows version %d; it was left as "
                        "it is",
                        path, (unsigned long)version, ITG_LOG_SCHEMA_VERSION);
    return ITG_OK;
}

/* empty: the file is absent or has no bytes. */
static itg_status check_file(const char *path, bool *empty, itg_error *err)
{
    unsigned char header[HEADER_BYTES] = {0};
    int file = -1;
    int64_t size = 0;
    *empty = true;
    if (itg_file_is_absent(path)) return ITG_OK;
    itg_status status = itg_file_open(path, &file, &size, err);
    if (status != ITG_OK) return status;
    *empty = size == 0;
    if (!*empty && pread(file, header, sizeof header, 0) < 0) {
        char why[ITG_ERRNO_TEXT];
        status = itg_fail(err, ITG_IO, "%s: cannot read: %s", path, itg_errno_text(errno, why));
    } else if (!*empty) {
        status = check_identity(path, header, err);
    }
    close(file);
    return status;
}

/* ---- the database ---- */

/* The header counts the pages. It is read through SQLite's own file: to close another one would
 * give up this process's locks. */
bool itg_log_is_cut(const itg_run_log *log, char *out, size_t size)
{
    unsigned char header[HEADER_BYTES];
    sqlite3_file *file = NULL;
    sqlite3_int64 bytes = 0;
    out[0] = '\0';
    sqlite3_file_control(log->db, "main", SQLITE_FCNTL_FILE_POINTER, &file);
    if (!file || !file->pMethods || file->pMethods->xFileSize(file, &bytes) != SQLITE_OK ||
        file->pMethods->xRead(file, header, HEADER_BYTES, 0) != SQLITE_OK)
        return false;
    const int64_t page = (int64_t)header[PAGE_AT] << 8 | header[PAGE_AT + 1];
    const int64_t whole = (page == 1 ? 65536 : page) * big_endian(header + PAGES_AT);
    if (bytes >= whole) return false;
    snprintf(out, size, "it ends after %lld of its %lld bytes", (long long)bytes, (long long)whole);
    return true;
}

/* Returns the first column of the first row as malloc'd text. */
static itg_status query_text(itg_run_log *log, const char *sql, char **out, itg_error *err)
{
    sqlite3_stmt *statement = NULL;
    itg_status status = itg_log_prepare(log, sql, "check it", &statement, err);
    if (status != ITG_OK) return status;
    int rc = sqlite3_step(statement);
    const char *text = rc == SQLITE_ROW ? (const char *)sqlite3_column_text(statement, 0) : NULL;
    if (rc != SQLITE_ROW)
        status = itg_log_fail(log, err, "check it");
    else if (!text || !(*out = strdup(text)))
        status = itg_fail(err, ITG_NO_MEMORY, "%s: no memory to check it", log->path);
    sqlite3_finalize(statement);
    return status;
}

static itg_status check_pages(itg_run_log *log, itg_error *err)
{
    char *finding = NULL;
    itg_status status = query_text(log, "PRAGMA quick_check(1)", &finding, err);
    if (status == ITG_OK && strcmp(finding, "ok") != 0) status = itg_log_damaged(log, finding, err);
    free(finding);
    return status;
}

/* Reads the number of tables and the version, which may have changed since check_file. */
static itg_status read_version(itg_run_log *log, bool *fresh, int64_t *version, itg_error *err)
{
    char *tables = NULL, *number = NULL;
    itg_status status = query_text(log, "SELECT count(*) FROM sqlite_master", &tables, err);
    if (status == ITG_OK) status = query_text(log, "PRAGMA user_version", &number, err);
    if (status == ITG_OK) {
        *fresh = strcmp(tables, "0") == 0;
        *version = strtoll(number, NULL, 10);
    }
    free(tables);
    free(number);
    return status;
}

/* Creates the tables in a database without any, within a transaction. */
static itg_status create(itg_run_log *log, itg_error *err)
{
    static const char what[] = "create its tables";
    char identity[256];
    snprintf(identity, sizeof identity,
             "PRAGMA application_id = %d; PRAGMA user_version = %d; "
             "INSERT INTO meta VALUES ('schema_version', '%d')",
             ITG_LOG_APPLICATION_ID, ITG_LOG_SCHEMA_VERSION, ITG_LOG_SCHEMA_VERSION);
    itg_status status = itg_log_execute(log, (const char *)itg_log_schema, what, err);
    return status == ITG_OK ? itg_log_execute(log, identity, what, err) : status;
}

static itg_status check_or_create(itg_run_log *log, bool writer, itg_error *err)
{
    bool fresh = false;
    int64_t version = 0;
    char cut[96];
    itg_status status = read_version(log, &fresh, &version, err);
    /* SQLite reads zeros behind the end of the last page. */
    if (status == ITG_OK && itg_log_is_cut(log, cut, sizeof cut))
        status = itg_log_damaged(log, cut, err);
    /* A reader meets damage where it reads; a writer looks at all pages first. */
    if (status == ITG_OK && writer) status = check_pages(log, err);
    if (status != ITG_OK) return status;
    if (fresh)
        return writer ? create(log, err)
                      : itg_fail(err, ITG_BAD_FILE, "%s: holds no log", log->path);
    if (version != ITG_LOG_SCHEMA_VERSION)
        return itg_fail(err, ITG_UNSUPPORTED, "%s: has schema version %lld, expected %d", log->path,
                        (long long)version, ITG_LOG_SCHEMA_VERSION);
    return ITG_OK;
}

const char *itg_run_log_sqlite(void)
{
    return sqlite3_libversion();
}

/* The mode that this connection is in must be the one asked for: elsewhere the file may have been
 * set to WAL. */
static itg_status set_journal_mode(itg_run_log *log, itg_error *err)
{
    char *mode = NULL;
    itg_status status = query_text(log, "PRAGMA journal_mode = DELETE", &mode, err);
    if (status == ITG_OK && strcmp(mode, "delete") != 0)
        status = itg_fail(err, ITG_IO, "%s: stays in journal mode '%s', expected 'delete'",
                          log->path, mode);
    free(mode);
    return status;
}

static itg_status configure(itg_run_log *log, itg_error *err)
{
    sqlite3_extended_result_codes(log->db, 1);
    sqlite3_busy_timeout(log->db, ITG_LOG_BUSY_TIMEOUT_MS);
    return itg_log_execute(log,
                           "PRAGMA trusted_schema = OFF; PRAGMA foreign_keys = ON; "
                           "PRAGMA temp_store = MEMORY; PRAGMA synchronous = EXTRA",
                           "open", err);
}

static itg_status set_up(itg_run_log *log, bool writer, itg_error *err)
{
    itg_status status = configure(log, err);
    if (status == ITG_OK)
        status = itg_log_execute(log, writer ? "BEGIN IMMEDIATE" : "BEGIN", "open", err);
    if (status == ITG_OK) status = check_or_create(log, writer, err);
    if (status == ITG_OK) status = itg_log_execute(log, "COMMIT", "open", err);
    if (status == ITG_OK) return ITG_OK;
    itg_log_execute(log, "ROLLBACK", "open", NULL);
    return status;
}

/* Returns a path that begins with a dot or a slash. SQLite gives other names a meaning ("file:",
 * ":memory:"). */
static char *plain_path(const char *path)
{
    size_t bytes = strlen(path) + 3;
    char *plain = malloc(bytes);
    if (plain) snprintf(plain, bytes, "%s%s", *path == '/' ? "" : "./", path);
    return plain;
}

static itg_status connect(itg_run_log *log, const char *path, bool writer, itg_error *err)
{
    char *plain = plain_path(path);
    log->path = strdup(path);
    if (!plain || !log->path) {
        free(plain);
        return itg_fail(err, ITG_NO_MEMORY, "%s: no memory to open it", path);
    }
    /* A reader opens for writing, too, to roll back what a killed writer left. query_only prevents
     * other writes. */
    int flags = SQLITE_OPEN_READWRITE | (writer ? SQLITE_OPEN_CREATE : 0) | SQLITE_OPEN_NOMUTEX;
    int rc = sqlite3_open_v2(plain, &log->db, flags, NULL);
    free(plain);
    if (rc != SQLITE_OK) return itg_log_fail(log, err, "open");
    if (writer && sqlite3_db_readonly(log->db, "main") == 1)
        return itg_fail(err, ITG_IO, "%s: cannot be written", path);
    itg_status status = set_up(log, writer, err);
    if (status != ITG_OK) return status;
    return writer ? set_journal_mode(log, err)
                  : itg_log_execute(log, "PRAGMA query_only = ON", "open", err);
}

static itg_status open_log(const char *path, bool writer, itg_run_log **out, itg_error *err)
{
    bool empty;
    if (*path == '\0') return itg_fail(err, ITG_BAD_ARGUMENT, "the name of a log is empty");
    itg_status status = check_file(path, &empty, err);
    if (status == ITG_OK && empty && !writer)
        status = itg_fail(err, ITG_IO, "%s: there is no log", path);
    if (status != ITG_OK) return status;
    itg_run_log *log = calloc(1, sizeof *log);
    if (!log) return itg_fail(err, ITG_NO_MEMORY, "%s: no memory to open it", path);
    status = connect(log, path, writer, err);
    if (status == ITG_OK)
        *out = log;
    else
        itg_run_log_close(log, NULL);
    return status;
}

itg_status itg_run_log_open(const char *path, itg_run_log **out, itg_error *err)
{
    return open_log(path, true, out, err);
}

itg_status itg_run_log_open_reader(const char *path, itg_run_log **out, itg_error *err)
{
    return open_log(path, false, out, err);
}
