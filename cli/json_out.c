#include "cli/json_out.h"
#include "cli/options.h"
#include <math.h>

void itg_cli_json_known(itg_json_writer *json, const char *key, double value)
{
    itg_json_put_number(json, key, value < 0 ? (double)NAN : value);
}

void itg_cli_json_known_bool(itg_json_writer *json, const char *key, bool known, bool value)
{
    itg_json_put(json, key, "%s", !known ? "null" : value ? "true" : "false");
}

void itg_cli_json_pair(itg_json_writer *json, const char *key, double lo, double hi)
{
    itg_json_begin(json, key, '[');
    itg_json_put_number(json, NULL, lo);
    itg_json_put_number(json, NULL, hi);
    itg_json_end(json, ']');
}

int itg_cli_json_print(itg_json_writer *json)
{
    int status =
        itg_strbuf_ok(&json->text) ? ITG_CLI_OK : itg_cli_fail("no memory for the JSON output");
    if (status == ITG_CLI_OK) puts(json->text.text);
    itg_strbuf_deinit(&json->text);
    return status;
}
