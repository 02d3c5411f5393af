/* Prints a parsed value as compact text. Members keep their order. */
#include "base/json_tree.h"
#include "base/json_write.h"
#include <math.h>
#include <string.h>

const char *itg_json_source(const itg_json *json)
{
    return json->source;
}

/* Prints integers up to 2^53 plainly, other numbers with the fewest digits. */
static void print_number(double number, itg_strbuf *out)
{
    char text[40];
    if (number >= -9007199254740992.0 && number <= 9007199254740992.0 &&
        number == (double)(int64_t)number && !(number == 0 && signbit(number))) {
        itg_strbuf_format(out, "%lld", (long long)number);
        return;
    }
    itg_strbuf_add(out, itg_json_digits(number, text));
    if (!strpbrk(text, ".e")) itg_strbuf_add(out, ".0");
}

/* The scan limits the depth to 64. */
void itg_json_print(const itg_json_value *value, itg_strbuf *out)
{
    itg_json_type type = itg_json_typeof(value);
    bool object = type == ITG_JSON_OBJECT;
    if (type == ITG_JSON_NULL)
        itg_strbuf_add(out, "null");
    else if (type == ITG_JSON_BOOL)
        itg_strbuf_add(out, cJSON_IsTrue(value->node) ? "true" : "false");
    else if (type == ITG_JSON_NUMBER)
        print_number(value->node->valuedouble, out);
    else if (type == ITG_JSON_STRING)
        itg_strbuf_json_string(out, value->node->valuestring);
    else {
        itg_strbuf_add(out, object ? "{" : "[");
        for (size_t i = 0; i < value->length; i++) {
            if (i) itg_strbuf_add(out, ", ");
            if (object) {
                itg_strbuf_json_string(out, itg_json_key_at(value, i));
                itg_strbuf_add(out, ": ");
            }
            itg_json_print(itg_json_at(value, i), out);
        }
        itg_strbuf_add(out, object ? "}" : "]");
    }
}
