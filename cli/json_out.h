/* One JSON object, built in memory and printed whole. Failed allocations are remembered and
 * reported at the end. */
#ifndef ITG_CLI_JSON_OUT_H
#define ITG_CLI_JSON_OUT_H
#include <intaglio/intaglio.h>

typedef struct itg_cli_json {
    char *text;
    size_t length, capacity;
    bool failed, needs_comma;
} itg_cli_json; /* zero-initialize */

/* key NULL: an element of a list, or the root. */
void itg_cli_json_begin(itg_cli_json *json, const char *key, char bracket);     /* '{' or '[' */
void itg_cli_json_end(itg_cli_json *json, char bracket);                        /* '}' or ']' */
void itg_cli_json_text(itg_cli_json *json, const char *key, const char *value); /* NULL: null */
void itg_cli_json_integer(itg_cli_json *json, const char *key, int64_t value);
void itg_cli_json_number(itg_cli_json *json, const char *key, double value); /* not finite: null */
void itg_cli_json_bool(itg_cli_json *json, const char *key, bool value);
void itg_cli_json_null(itg_cli_json *json, const char *key);
void itg_cli_json_unsigned(itg_cli_json *json, const char *key, uint64_t value);
/* What the library says is not known (below zero) is null. */
void itg_cli_json_known_integer(itg_cli_json *json, const char *key, int64_t value);
void itg_cli_json_known_number(itg_cli_json *json, const char *key, double value);

/* Prints it on stdout and frees it; an exit status. */
int itg_cli_json_print(itg_cli_json *json);
void itg_cli_json_deinit(itg_cli_json *json);
#endif
