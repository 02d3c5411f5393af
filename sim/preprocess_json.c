/* Preprocessing in strategy files. float32 values are hex floats, which are read back exactly. */
#include "base/json_take.h"
#include "base/json_write.h"
#include "sim/sim.h"
#include <math.h>
#include <string.h>

static void put_list(itg_json_writer *w, const char *key, const float *values, int32_t count)
{
    itg_json_begin(w, key, '[');
    for (int32_t i = 0; i < count; i++)
        itg_json_put_hex(w, NULL, (double)values[i]);
    itg_json_end(w, ']');
}

void itg_preprocess_write(const itg_preprocess *p, itg_strbuf *json)
{
    itg_json_writer w = {.text = *json};
    itg_json_begin(&w, NULL, '{');
    itg_json_put_bool(&w, "bgr", p->bgr);
    itg_json_put_text(&w, "layout", itg_sample_layout_name(p->layout));
    itg_json_put_hex(&w, "scale", (double)p->scale);
    put_list(&w, "mean", p->mean, p->mean_count);
    put_list(&w, "std", p->std, p->std_count);
    if (p->allow_nonfinite) itg_json_put_bool(&w, "allow_nonfinite", true);
    if (*p->inputs) itg_json_put_text(&w, "inputs", p->inputs);
    itg_json_end(&w, '}');
    *json = w.text;
}

/* Returns a number that is written as a number or as a hex float in a string. */
static float float_of(itg_json_taker *t, const itg_json_value *v)
{
    double value = 0;
    bool is_text = itg_json_typeof(v) == ITG_JSON_STRING;
    const char *text = is_text ? itg_json_text_of(t, v) : NULL;
    if (text && !itg_parse_hex_double(text, &value))
        itg_json_refuse(t, v, ITG_BAD_FILE, "'%.40s' is no number", text);
    if (!is_text) value = itg_json_number_of(t, v);
    if (fabs(value) <= 0x1.fffffep127) return (float)value;
    itg_json_refuse(t, v, ITG_BAD_FILE, "expected a finite float32");
    return 0;
}

static void read_list(itg_json_taker *t, const itg_json_value *object, const char *key,
                      bool divides, float *out, int32_t *count)
{
    if (!itg_json_find(object, key)) return;
    const itg_json_value *list = itg_json_take(t, object, key, ITG_JSON_ARRAY);
    size_t n = list ? itg_json_length(list) : 0;
    if (n > ITG_MAX_CHANNELS)
        itg_json_refuse(t, list, ITG_BAD_FILE, "%zu values; at most %d", n, ITG_MAX_CHANNELS);
    for (size_t i = 0; i < n && t->status == ITG_OK; i++) {
        const itg_json_value *item = itg_json_at(list, i);
        out[i] = float_of(t, item);
        if (divides && out[i] == 0.0f) itg_json_refuse(t, item, ITG_BAD_FILE, "a divisor of zero");
    }
    *count = (int32_t)n;
}

static void read_bool(itg_json_taker *t, const itg_json_value *object, const char *key, bool *out)
{
    const itg_json_value *v = itg_json_find(object, key);
    if (v) *out = itg_json_bool_of(t, v);
}

static void read_layout(itg_json_taker *t, const itg_json_value *object, itg_sample_layout *out)
{
    const itg_json_value *v = itg_json_find(object, "layout");
    const char *name = v ? itg_json_text_of(t, v) : NULL;
    if (name && !itg_sample_layout_from_name(name, out))
        itg_json_refuse(t, v, ITG_BAD_FILE, "expected same, nchw or nhwc");
}

static void read_inputs(itg_json_taker *t, const itg_json_value *object, char *out)
{
    const itg_json_value *v = itg_json_find(object, "inputs");
    const char *names = v ? itg_json_text_of(t, v) : NULL;
    if (names && snprintf(out, ITG_MAX_INPUT_NAMES, "%s", names) >= ITG_MAX_INPUT_NAMES)
        itg_json_refuse(t, v, ITG_BAD_FILE, "at most %d characters", ITG_MAX_INPUT_NAMES - 1);
}

itg_status itg_preprocess_read(const itg_json *json, const itg_json_value *v, itg_preprocess *out,
                               itg_error *err)
{
    static const char *const keys[] = {"bgr", "layout",          "scale",  "mean",
                                       "std", "allow_nonfinite", "inputs", NULL};
    itg_preprocess p = itg_preprocess_default();
    itg_json_taker t = {json, err, ITG_OK};
    if (itg_json_typeof(v) != ITG_JSON_OBJECT)
        itg_json_refuse(&t, v, ITG_BAD_FILE, "expected an object: preprocessing");
    itg_json_take_keys(&t, v, keys);
    if (t.status != ITG_OK) return t.status;
    read_bool(&t, v, "bgr", &p.bgr);
    read_layout(&t, v, &p.layout);
    read_bool(&t, v, "allow_nonfinite", &p.allow_nonfinite);
    const itg_json_value *scale = itg_json_find(v, "scale");
    if (scale) p.scale = float_of(&t, scale);
    read_list(&t, v, "mean", false, p.mean, &p.mean_count);
    read_list(&t, v, "std", true, p.std, &p.std_count);
    read_inputs(&t, v, p.inputs);
    if (t.status == ITG_OK) *out = p;
    return t.status;
}

itg_status itg_preprocess_text(const itg_preprocess *p, char **out, itg_error *err)
{
    itg_strbuf text = {0};
    itg_preprocess_write(p, &text);
    return itg_take_text(&text, out, err);
}

itg_status itg_preprocess_from_text(const char *text, const char *source, itg_preprocess *out,
                                    itg_error *err)
{
    itg_json *json = NULL;
    itg_status status = itg_json_parse(text, strlen(text), source, &json, err);
    if (status == ITG_OK) status = itg_preprocess_read(json, itg_json_root(json), out, err);
    itg_json_destroy(json);
    return status;
}
