/* Writes a description anew, with measured speeds. */
#include "base/json_write.h"
#include "keys.h"
#include <string.h>

static void put_rate(itg_json_writer *w, const char *key, double value)
{
    if (value > 0) itg_json_put(w, key, "%.4g", value);
}

static bool is_speed(const char *key)
{
    return strcmp(key, "macs_per_cycle") == 0 || strcmp(key, "depthwise_macs_per_cycle") == 0 ||
           strcmp(key, "output_cycles") == 0;
}

static void copy(itg_json_writer *w, const char *key, const itg_json_value *v)
{
    itg_json_key(w, key);
    itg_json_print(v, &w->text);
}

static void write_spec(itg_json_writer *w, const itg_json_value *v, const itg_hw_speed *speed)
{
    itg_json_begin(w, NULL, '{');
    for (size_t i = 0; i < itg_json_length(v); i++)
        if (!speed->known || !is_speed(itg_json_key_at(v, i)))
            copy(w, itg_json_key_at(v, i), itg_json_at(v, i));
    if (speed->known) {
        put_rate(w, "macs_per_cycle", speed->macs_per_cycle);
        put_rate(w, "depthwise_macs_per_cycle", speed->depthwise_macs_per_cycle);
        put_rate(w, "output_cycles", speed->output_cycles);
    }
    itg_json_end(w, '}');
}

/* The speeds of an entry of "operators"; NULL: of none of its operators. */
static const itg_hw_speed *speeds_of(const itg_hw_speeds *speeds, const itg_json_value *operators,
                                     const char *name, int32_t spec)
{
    itg_op op;
    if (itg_op_from_name(name, &op)) return &speeds->of[op][spec];
    for (int k = 0; k < ITG_OP_COUNT; k++)
        if (itg_op_is((itg_op)k, ITG_IS_UNIVARIATE) && speeds->of[k][spec].known &&
            !itg_json_find(operators, itg_op_name((itg_op)k)))
            return &speeds->of[k][spec];
    return NULL;
}

static void write_specs(itg_json_writer *w, const char *key, const itg_json_value *list,
                        const itg_hw_speeds *speeds, const itg_json_value *operators,
                        const char *name)
{
    static const itg_hw_speed unknown = {0};
    itg_json_begin_as(w, key, '[', ITG_JSON_LINES);
    for (size_t i = 0; i < itg_json_length(list); i++) {
        const itg_hw_speed *speed = speeds_of(speeds, operators, name, (int32_t)i);
        write_spec(w, itg_json_at(list, i), speed ? speed : &unknown);
    }
    itg_json_end(w, ']');
}

/* An entry is a list of specs, or an object with the list among its keys. */
static void write_operator(itg_json_writer *w, const itg_json_value *operators, size_t index,
                           const itg_hw_speeds *speeds)
{
    const char *name = itg_json_key_at(operators, index);
    const itg_json_value *entry = itg_json_at(operators, index);
    if (itg_json_typeof(entry) == ITG_JSON_ARRAY) {
        write_specs(w, name, entry, speeds, operators, name);
        return;
    }
    itg_json_begin(w, name, '{');
    for (size_t i = 0; i < itg_json_length(entry); i++) {
        const char *key = itg_json_key_at(entry, i);
        if (strcmp(key, "specs") == 0)
            write_specs(w, key, itg_json_at(entry, i), speeds, operators, name);
        else
            copy(w, key, itg_json_at(entry, i));
    }
    itg_json_end(w, '}');
}

static void write_member(itg_json_writer *w, const itg_json_value *root, size_t index,
                         const itg_hardware *hw, const itg_hw_speeds *speeds)
{
    const char *key = itg_json_key_at(root, index);
    const itg_json_value *v = itg_json_at(root, index);
    if (strcmp(key, "name") == 0) {
        char name[sizeof hw->name];
        snprintf(name, sizeof name, "%.50s-measured", hw->name);
        itg_json_put_text(w, key, name);
    } else if (strcmp(key, "operators") == 0) {
        itg_json_begin_as(w, key, '{', ITG_JSON_LINES);
        for (size_t i = 0; i < itg_json_length(v); i++)
            write_operator(w, v, i, speeds);
        itg_json_end(w, '}');
    } else if (strcmp(key, "float_macs_per_cycle") != 0 || !(speeds->float_macs_per_cycle > 0))
        copy(w, key, v);
}

itg_status itg_hardware_with_speeds(const itg_hardware *hw, const itg_hw_speeds *speeds,
                                    itg_strbuf *out, itg_error *err)
{
    itg_json *json = NULL;
    itg_json_writer w = {0};
    itg_status status = itg_json_parse(hw->json, strlen(hw->json), hw->name, &json, err);
    if (status != ITG_OK) return status;
    const itg_json_value *root = itg_json_root(json);
    itg_json_begin_as(&w, NULL, '{', ITG_JSON_LINES);
    for (size_t i = 0; i < itg_json_length(root); i++)
        write_member(&w, root, i, hw, speeds);
    put_rate(&w, "float_macs_per_cycle", speeds->float_macs_per_cycle);
    itg_json_end(&w, '}');
    itg_json_destroy(json);
    if (itg_strbuf_ok(&w.text))
        itg_strbuf_format(out, "%s\n", w.text.text);
    else
        status = itg_fail(err, ITG_NO_MEMORY, "no memory for a description");
    itg_strbuf_deinit(&w.text);
    return status;
}
