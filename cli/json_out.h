/* --json: one object on stdout. */
#ifndef ITG_CLI_JSON_OUT_H
#define ITG_CLI_JSON_OUT_H
#include "base/json_write.h"
#include <intaglio/intaglio.h>

/* Writes a number, or null if it is below zero, which means that it is not known. */
void itg_cli_json_known(itg_json_writer *json, const char *key, double value);
void itg_cli_json_known_bool(itg_json_writer *json, const char *key, bool known, bool value);
/* [lo, hi] */
void itg_cli_json_pair(itg_json_writer *json, const char *key, double lo, double hi);
/* Prints the JSON on stdout and frees it. Returns an exit status. */
int itg_cli_json_print(itg_json_writer *json);
#endif
