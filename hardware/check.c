/* Checks that involve several keys. Every message names the key to change. */
#include "keys.h"
#include <string.h>

#define HAS(set, form) (((set) >> (form)) & 1u)

/* Bits of a storage type: 8, 16 or 32. */
static int32_t storage_bits(itg_dtype storage)
{
    return (int32_t)itg_dtype_size(storage) * 8;
}

static bool is_signed(itg_dtype storage)
{
    return itg_dtype_min(storage) < 0;
}

/* Fails with "expected ..." at the member `key` if the file states it, else at the object. */
static ITG_PRINTF(5, 6) itg_status
    expected(const itg_json *json, const itg_json_value *object, const char *key, itg_error *err,
             const char *format, ...)
{
    const itg_json_value *member = itg_json_find(object, key);
    char text[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return itg_json_fail(json, member ? member : object, err, ITG_BAD_FILE, "expected %s", text);
}

/* Codes of one bit have no zero, so no activation has them. */
static itg_status check_signs(const itg_json *json, const itg_json_value *v, const itg_hardware *hw,
                              const char *key, uint32_t mask, itg_error *err)
{
    for (int32_t i = 0; i < hw->dtype_count; i++)
        if (HAS(mask, i) && hw->dtypes[i].bits_min < 2)
            return expected(json, v, key, err, "dtypes of 2 bits and more, '%s' has 1",
                            hw->dtypes[i].name);
    return ITG_OK;
}

static bool suits_weights(const itg_hw_dtype *dtype)
{
    return dtype->zero_point ? dtype->bits_min >= 2 && dtype->bits_max <= 8
                             : is_signed(dtype->storage);
}

static itg_status check_weight_dtypes(const itg_json *json, const itg_json_value *v,
                                      const itg_hardware *hw, const char *key, uint32_t mask,
                                      itg_error *err)
{
    for (int32_t i = 0; i < hw->dtype_count; i++)
        if (HAS(mask, i) && !suits_weights(&hw->dtypes[i]))
            return expected(json, v, key, err,
                            "dtypes of signed storage, or of 2 to 8 bits with a zero point, "
                            "got '%s'",
                            hw->dtypes[i].name);
    return ITG_OK;
}

itg_status itg_hw_check_file(const itg_json *json, const itg_hardware *hw, itg_error *err)
{
    const itg_json_value *root = itg_json_root(json);
    const itg_json_value *operators = itg_json_find(root, "operators");
    bool lists_operators = operators && itg_json_length(operators) > 0;
    if (hw->all_float && !hw->float_allowed)
        return expected(json, root, "all_float", err, "'float': true beside 'all_float': true");
    if (hw->all_float && lists_operators)
        return expected(json, root, "operators", err, "no operators beside 'all_float': true");
    const bool holds_weights = hw->float_weight_mask != 0;
    if (holds_weights && (hw->all_float || !hw->float_allowed))
        return expected(json, root, "float_weights", err,
                        "'float': true, and no 'all_float', beside 'float_weights'");
    if (!hw->all_float && !lists_operators && !holds_weights)
        return expected(json, root, "operators", err, "'operators' with at least one operator");
    itg_status status = check_signs(json, root, hw, "model_inputs", hw->graph_input_mask, err);
    if (status == ITG_OK)
        status = check_signs(json, root, hw, "model_outputs", hw->graph_output_mask, err);
    if (status == ITG_OK)
        status = check_weight_dtypes(json, itg_json_find(root, "float_weights"), hw, "dtypes",
                                     hw->float_weight_mask, err);
    for (int32_t i = 0; status == ITG_OK && i < hw->override_count; i++) {
        const itg_hw_override *o = &hw->overrides[i];
        const itg_json_value *list = itg_json_find(root, "overrides");
        if (o->has_float && o->is_float && !hw->float_allowed)
            return expected(json, itg_json_at(list, (size_t)i), "float", err,
                            "false: this hardware has no float ('float' is false)");
    }
    return status;
}

itg_status itg_hw_check_dtype(const itg_json *json, const itg_json_value *v,
                              const itg_hw_dtype *dtype, itg_error *err)
{
    if (dtype->bits_max > storage_bits(dtype->storage))
        return expected(json, v, "bits", err, "at most the %d bits of storage %s, got %d",
                        (int)storage_bits(dtype->storage), itg_dtype_name(dtype->storage),
                        (int)dtype->bits_max);
    if (dtype->full_range && (dtype->zero_point || !is_signed(dtype->storage)))
        return expected(json, v, "full_range", err,
                        "signed storage without zero point beside 'full_range': true");
    return ITG_OK;
}

itg_status itg_hw_check_requant(const itg_json *json, const itg_json_value *v,
                                const itg_hardware *hw, const itg_requant_spec *spec,
                                itg_error *err)
{
    if (spec->form == ITG_REQUANT_SHIFT && !hw->power_of_two_scales)
        return expected(json, v, "form", err, "'power_of_two_scales': true beside form 'shift'");
    return ITG_OK;
}

static itg_status check_weights(const itg_json *json, const itg_json_value *v,
                                const itg_hardware *hw, itg_op op, const itg_hw_spec *spec,
                                itg_error *err)
{
    if (spec->form == ITG_FORM_MAC && spec->weight_mask == 0 && op != ITG_OP_MATMUL)
        return expected(json, v, "weights", err, "'weights': %s has constant ones",
                        itg_op_name(op));
    itg_status status = check_weight_dtypes(json, v, hw, "weights", spec->weight_mask, err);
    if (status != ITG_OK) return status;
    if (spec->weight_mask == 0 && spec->per_channel)
        return expected(json, v, "per_channel", err, "'weights' beside 'per_channel': true");
    if (spec->bias_bits > itg_hw_bias_limit(spec))
        return expected(json, v, "bias_bits", err, "at most the accumulator's %d bits, got %d",
                        (int)itg_hw_bias_limit(spec), (int)spec->bias_bits);
    return ITG_OK;
}

/* Checks for keys that the arithmetic requires. */
static itg_status check_present(const itg_json *json, const itg_json_value *v,
                                const itg_hw_spec *spec, itg_error *err)
{
    bool requantizes =
        spec->form != ITG_FORM_F32 && spec->form != ITG_FORM_KEEP && spec->form != ITG_FORM_LUT;
    const char *missing = NULL;
    if (spec->form != ITG_FORM_KEEP && spec->output_mask == 0)
        missing = "outputs";
    else if (requantizes && spec->requant < 0)
        missing = "requantize";
    else if (spec->form == ITG_FORM_MAC && !itg_json_find(v, "accumulator"))
        missing = "accumulator";
    if (!missing) return ITG_OK;
    char form[32];
    return itg_json_fail(json, v, err, ITG_BAD_FILE,
                         "expected key '%s' beside 'arithmetic': \"%s\"", missing,
                         itg_hw_form_names(1u << spec->form, form, sizeof form));
}

static bool normalizes(const itg_hw_spec *spec)
{
    return spec->form == ITG_FORM_SOFTMAX || spec->form == ITG_FORM_TFLITE_SOFTMAX ||
           spec->form == ITG_FORM_LAYER_NORM;
}

static itg_status check_width(const itg_json *json, const itg_json_value *v, const itg_hardware *hw,
                              const itg_hw_spec *spec, itg_error *err)
{
    if (spec->form != ITG_FORM_LUT && !normalizes(spec)) return ITG_OK;
    const int32_t widest = spec->form == ITG_FORM_TFLITE_SOFTMAX ? 8 : 16;
    for (int32_t i = 0; i < hw->dtype_count; i++)
        if (HAS(spec->input_mask, i) && hw->dtypes[i].bits_max > widest)
            return expected(json, v, "inputs", err, "dtypes of at most %d bits for %s, '%s' has %d",
                            (int)widest, normalizes(spec) ? "a normalization" : "a lookup table",
                            hw->dtypes[i].name, (int)hw->dtypes[i].bits_max);
    if (normalizes(spec) && spec->acc.bits < 32)
        return expected(json, itg_json_find(v, "accumulator"), "bits", err,
                        "at least 32 bits for a normalization, got %d", (int)spec->acc.bits);
    return ITG_OK;
}

static itg_status check_split(const itg_json *json, const itg_json_value *v,
                              const itg_hw_spec *spec, itg_error *err)
{
    const itg_json_value *acc = itg_json_find(v, "accumulator");
    if (!acc) return ITG_OK;
    static const char *const joins[] = {"join_bits", "join_rounding", "join_cycles"};
    for (int i = 0; i < 3 && !spec->split.allowed; i++)
        if (itg_json_find(acc, joins[i]))
            return expected(json, acc, joins[i], err, "'split': true beside '%s'", joins[i]);
    if (!spec->split.allowed) return ITG_OK;
    if (spec->form != ITG_FORM_MAC)
        return expected(json, acc, "split", err, "'arithmetic': \"mac\" beside 'split': true");
    if (spec->acc.bits > ITG_HW_MAX_SPLIT_BITS)
        return expected(json, acc, "bits", err, "at most %d bits beside 'split': true, got %d",
                        ITG_HW_MAX_SPLIT_BITS, (int)spec->acc.bits);
    if (spec->split.join_bits < spec->acc.bits)
        return expected(json, acc, "join_bits", err, "at least the accumulator's %d bits, got %d",
                        (int)spec->acc.bits, (int)spec->split.join_bits);
    return ITG_OK;
}

itg_status itg_hw_check_spec(const itg_json *json, const itg_json_value *v, const itg_hardware *hw,
                             itg_op op, const itg_hw_spec *spec, itg_error *err)
{
    uint32_t legal = itg_hw_legal_forms(op);
    char names[128];
    if (!HAS(legal, spec->form))
        return expected(json, v, "arithmetic", err, "one of %s for %s",
                        itg_hw_form_names(legal, names, sizeof names), itg_op_name(op));
    itg_status status = check_present(json, v, spec, err);
    if (status == ITG_OK) status = check_signs(json, v, hw, "inputs", spec->input_mask, err);
    if (status == ITG_OK) status = check_signs(json, v, hw, "outputs", spec->output_mask, err);
    if (status == ITG_OK) status = check_weights(json, v, hw, op, spec, err);
    if (status == ITG_OK) status = check_width(json, v, hw, spec, err);
    if (status == ITG_OK) status = check_split(json, v, spec, err);
    if (status != ITG_OK) return status;
    if (itg_json_find(v, "left_shift") && op != ITG_OP_ADD && op != ITG_OP_SUB)
        return expected(json, v, "left_shift", err, "only for Add and Sub");
    if (itg_json_find(v, "rounding") && !itg_op_is(op, ITG_IS_AVERAGE))
        return expected(json, v, "rounding", err,
                        "only for AveragePool, GlobalAveragePool and ReduceMean");
    return ITG_OK;
}
