/* Preprocessing in strategy files: float32 values as hex floats, so that they come back exactly. */
#include "sim/sim.h"
#include <math.h>

static void write_list(const float *values, int32_t count, itg_strbuf *json)
{
    char text[40];
    itg_strbuf_add(json, "[");
    for (int32_t i = 0; i < count; i++)
        itg_strbuf_format(json, "%s\"%s\"", i ? ", " : "", itg_hex_double((double)values[i], text));
    itg_strbuf_add(json, "]");
}

void itg_preprocess_write(const itg_preprocess *p, itg_strbuf *json)
{
    char text[40];
    itg_strbuf_format(json, "{\"bgr\": %s, \"layout\": \"%s\", \"scale\": \"%s\", \"mean\": ",
                      p->bgr ? "true" : "false", itg_sample_layout_name(p->layout),
                      itg_hex_double((double)p->scale, text));
    write_list(p->mean, p->mean_count, json);
    itg_strbuf_add(json, ", \"std\": ");
    write_list(p->std, p->std_count, json);
    itg_strbuf_add(json, p->allow_nonfinite ? ", \"allow_nonfinite\": true}" : "}");
}

/* A number, or a hex float as a string. */
static itg_status read_float(const itg_json *json, const itg_json_value *v, float *out,
                             itg_error *err)
{
    double value = 0;
    const char *text = NULL;
    itg_status status = ITG_OK;
    if (itg_json_typeof(v) == ITG_JSON_STRING) {
        status = itg_json_get_string(json, v, &text, err);
        if (status == ITG_OK && !itg_parse_hex_double(text, &value))
            return itg_json_fail(json, v, err, ITG_BAD_FILE, "'%.40s' is no number", text);
    } else {
        status = itg_json_get_number(json, v, &value, err);
    }
    if (status != ITG_OK) return status;
    if (!(fabs(value) <= 0x1.fffffep127))
        return itg_json_fail(json, v, err, ITG_BAD_FILE, "expected a finite float32");
    *out = (float)value;
    return ITG_OK;
}

static itg_status read_list(const itg_json *json, const itg_json_value *object, const char *key,
                            bool divides, float *out, int32_t *count, itg_error *err)
{
    const itg_json_value *list = itg_json_find(object, key);
    if (!list) return ITG_OK;
    itg_status status = itg_json_need(json, object, key, ITG_JSON_ARRAY, &list, err);
    if (status != ITG_OK) return status;
    size_t n = itg_json_length(list);
    if (n > ITG_MAX_CHANNELS)
        return itg_json_fail(json, list, err, ITG_BAD_FILE, "%zu values; at most %d", n,
                             ITG_MAX_CHANNELS);
    for (size_t i = 0; i < n; i++) {
        const itg_json_value *item = itg_json_at(list, i);
        status = read_float(json, item, &out[i], err);
        if (status != ITG_OK) return status;
        if (divides && out[i] == 0.0f)
            return itg_json_fail(json, item, err, ITG_BAD_FILE, "a divisor of zero");
    }
    *count = (int32_t)n;
    return ITG_OK;
}

static itg_status read_bool(const itg_json *json, const itg_json_value *object, const char *key,
                            bool *out, itg_error *err)
{
    const itg_json_value *v = itg_json_find(object, key);
    return v ? itg_json_get_bool(json, v, out, err) : ITG_OK;
}

/* Older files say "nhwc": true where the model, not the samples, is NHWC. */
static itg_status read_layout(const itg_json *json, const itg_json_value *object,
                              itg_sample_layout *out, itg_error *err)
{
    const itg_json_value *v = itg_json_find(object, "layout");
    const char *name = NULL;
    bool nhwc = false;
    itg_status status = read_bool(json, object, "nhwc", &nhwc, err);
    if (status == ITG_OK && nhwc) *out = ITG_SAMPLES_NCHW;
    if (status != ITG_OK || !v) return status;
    status = itg_json_get_string(json, v, &name, err);
    if (status == ITG_OK && (nhwc || !itg_sample_layout_from_name(name, out)))
        return itg_json_fail(json, v, err, ITG_BAD_FILE,
                             "expected same, nchw or nhwc, and no \"nhwc\" beside it");
    return status;
}

itg_status itg_preprocess_read(const itg_json *json, const itg_json_value *v, itg_preprocess *out,
                               itg_error *err)
{
    static const char *const keys[] = {"bgr", "layout",          "nhwc", "scale", "mean",
                                       "std", "allow_nonfinite", NULL};
    itg_preprocess p = itg_preprocess_default();
    if (itg_json_typeof(v) != ITG_JSON_OBJECT)
        return itg_json_fail(json, v, err, ITG_BAD_FILE, "expected an object: preprocessing");
    itg_status status = itg_json_allow_keys(json, v, keys, err);
    if (status == ITG_OK) status = read_bool(json, v, "bgr", &p.bgr, err);
    if (status == ITG_OK) status = read_layout(json, v, &p.layout, err);
    if (status == ITG_OK) status = read_bool(json, v, "allow_nonfinite", &p.allow_nonfinite, err);
    const itg_json_value *scale = itg_json_find(v, "scale");
    if (status == ITG_OK && scale) status = read_float(json, scale, &p.scale, err);
    if (status == ITG_OK) status = read_list(json, v, "mean", false, p.mean, &p.mean_count, err);
    if (status == ITG_OK) status = read_list(json, v, "std", true, p.std, &p.std_count, err);
    if (status == ITG_OK) *out = p;
    return status;
}
