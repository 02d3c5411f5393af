/* JSON: parsed, walked with every getter, printed; what was printed parses and prints the same. */
#include "fuzz.h"
#include "base/json.h"
#include <string.h>

static void walk(const itg_json *json, const itg_json_value *v)
{
    char path[64], hex[40];
    int64_t integer;
    double number, back;
    bool boolean;
    const char *text;
    itg_error err;
    itg_json_path(json, v, path, sizeof path);
    (void)itg_json_get_int(json, v, -100, 100, &integer, &err);
    (void)itg_json_get_bool(json, v, &boolean, &err);
    if (itg_json_get_number(json, v, &number, &err) == ITG_OK)
        REQUIRE(itg_parse_hex_double(itg_hex_double(number, hex), &back) && back == number);
    if (itg_json_get_string(json, v, &text, &err) == ITG_OK)
        (void)itg_parse_hex_double(text, &number);
    for (size_t i = 0; i < itg_json_length(v); i++) {
        const char *key = itg_json_key_at(v, i);
        if (itg_json_typeof(v) == ITG_JSON_OBJECT)
            REQUIRE(itg_json_find(v, key) == itg_json_at(v, i));
        walk(json, itg_json_at(v, i));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    itg_json *json = NULL, *again = NULL;
    itg_strbuf first = {0}, second = {0};
    itg_error err = {0};
    itg_status status = itg_json_parse((const char *)data, bytes, "fuzz.json", &json, &err);
    if (status != ITG_OK) {
        REQUIRE(err.code == status && strncmp(err.message, "fuzz.json: ", 11) == 0);
        return 0;
    }
    walk(json, itg_json_root(json));
    itg_json_print(itg_json_root(json), &first);
    REQUIRE(itg_json_parse(first.text, first.length, "printed", &again, &err) == ITG_OK);
    itg_json_print(itg_json_root(again), &second);
    REQUIRE(strcmp(first.text, second.text) == 0);
    itg_strbuf_deinit(&first);
    itg_strbuf_deinit(&second);
    itg_json_destroy(json);
    itg_json_destroy(again);
    return 0;
}

bool fuzz_seed(int index, itg_strbuf *out)
{
    static const char *const texts[] = {
        "{\"a\": [1, -2.5, 1e10, 0, -0, 123456789012345678, 1E-7], \"b\": {\"c\": null, \"d\": "
        "true, \"e\": false}, \"\": \"\"}",
        "[\"\\u00e9\\ud83d\\ude00\\n\\t\\\"\\\\\\/\", \"\xc3\xa9\xf0\x9f\x98\x80\", \"0x1.8p+1\", "
        "\"-inf\", \"1.25\"]",
        " [ [ [ [ [ { \"x\" : [ { } , [ ] ] } ] ] ] ] ] ", "\"text\"", "-1.5e+300"};
    if (index >= 5) return false;
    itg_strbuf_add(out, texts[index]);
    return true;
}
