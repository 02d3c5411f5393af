/* The table of keys. docs/adding-a-target.md describes them too; a test compares the two. */
#include "keys.h"
#include <string.h>

#define FORM(x) (1u << ITG_FORM_##x)
#define REQUANT(x) (1u << ITG_REQUANT_##x)
#define COUNT(list) ((int32_t)(sizeof(list) / sizeof *(list)))

/* An enumeration is stored as int, a range as two adjacent int32_t. */
_Static_assert(sizeof(itg_form) == sizeof(int) && sizeof(itg_rounding) == sizeof(int) &&
                   sizeof(itg_overflow) == sizeof(int) && sizeof(itg_dtype) == sizeof(int) &&
                   sizeof(itg_requant_form) == sizeof(int),
               "enumerations are int-sized");
#define NEIGHBOURS(type, low, high, size)                                                          \
    _Static_assert(offsetof(type, high) == offsetof(type, low) + (size), "adjacent fields")
NEIGHBOURS(itg_hw_dtype, bits_min, bits_max, sizeof(int32_t));
NEIGHBOURS(itg_hardware, output_bits_min, output_bits_max, sizeof(int32_t));
NEIGHBOURS(itg_hw_override, weight_bits_min, weight_bits_max, sizeof(int32_t));
NEIGHBOURS(itg_hw_override, activation_bits_min, activation_bits_max, sizeof(int32_t));
NEIGHBOURS(itg_hw_override, has_float, is_float, sizeof(bool));
NEIGHBOURS(itg_requant_spec, pre_rounding, multiply_rounding, sizeof(int));
NEIGHBOURS(itg_requant_spec, multiply_rounding, shift_rounding, sizeof(int));

static const itg_hw_choice roundings[] = {{"half_even", ITG_ROUND_HALF_EVEN},
                                          {"half_up", ITG_ROUND_HALF_UP},
                                          {"half_away", ITG_ROUND_HALF_AWAY},
                                          {"floor", ITG_ROUND_FLOOR},
                                          {NULL, 0}};
static const itg_hw_choice overflows[] = {
    {"wrap", ITG_OVERFLOW_WRAP}, {"saturate", ITG_OVERFLOW_SATURATE}, {NULL, 0}};
static const itg_hw_choice storages[] = {{"s8", ITG_S8},   {"u8", ITG_U8},   {"s16", ITG_S16},
                                         {"u16", ITG_U16}, {"s32", ITG_S32}, {NULL, 0}};
static const itg_hw_choice requant_forms[] = {{"tflite_double", ITG_REQUANT_TFLITE_DOUBLE},
                                              {"s64_reduced", ITG_REQUANT_S64_REDUCED},
                                              {"shift", ITG_REQUANT_SHIFT},
                                              {"preshift", ITG_REQUANT_PRESHIFT},
                                              {"f32", ITG_REQUANT_F32},
                                              {"stages", ITG_REQUANT_STAGES},
                                              {NULL, 0}};
static const itg_hw_choice arithmetics[] = {{"mac", ITG_FORM_MAC},
                                            {"product", ITG_FORM_PRODUCT},
                                            {"rescale", ITG_FORM_RESCALE},
                                            {"f32", ITG_FORM_F32},
                                            {"equal_scale", ITG_FORM_EQUAL},
                                            {"keep_scale", ITG_FORM_KEEP},
                                            {"lut", ITG_FORM_LUT},
                                            {"softmax", ITG_FORM_SOFTMAX},
                                            {"tflite_softmax", ITG_FORM_TFLITE_SOFTMAX},
                                            {"layer_norm", ITG_FORM_LAYER_NORM},
                                            {NULL, 0}};

#define AT(field) .offset = offsetof(OWNER, field)

#define OWNER itg_hw_dtype
static const itg_hw_key dtype_keys[] = {
    {"storage", ITG_HW_CHOICE, ITG_HW_REQUIRED, AT(storage), .choices = storages,
     .help = "Element type in memory."},
    {"bits", ITG_HW_RANGE, ITG_HW_REQUIRED, AT(bits_min), .min = 1, .max = 32,
     .help = "Narrowest and widest code, within the storage."},
    {"zero_point", ITG_HW_BOOL, ITG_HW_OPTIONAL, AT(zero_point),
     .help = "Asymmetric: codes have a zero point. Without one, unsigned storage holds values >= 0 "
             "only."},
    {"full_range", ITG_HW_BOOL, ITG_HW_OPTIONAL, AT(full_range),
     .help = "Signed and symmetric: the code -2^(bits-1) is used too."},
};
#undef OWNER

#define OWNER itg_requant_spec
#define ROUNDED (REQUANT(SHIFT) | REQUANT(PRESHIFT) | REQUANT(STAGES))
static const itg_hw_key requant_keys[] = {
    {"form", ITG_HW_CHOICE, ITG_HW_REQUIRED, AT(form), .choices = requant_forms,
     .help = "How a real ratio becomes integer constants."},
    {"multiplier_bits", ITG_HW_INT, ITG_HW_OPTIONAL, AT(multiplier_bits), .min = 2, .max = 32,
     .preset = 32, .only = REQUANT(PRESHIFT) | REQUANT(STAGES),
     .help = "Width of the multiplier, sign included."},
    {"multiply_shift", ITG_HW_INT, ITG_HW_OPTIONAL, AT(multiply_shift), .min = -1, .max = 62,
     .preset = -1, .only = REQUANT(STAGES),
     .help = "Right shift that belongs to the multiplication; the rest is a stage of its own. -1: "
             "all of it."},
    {"pre_shift_bits", ITG_HW_INT, ITG_HW_OPTIONAL, AT(pre_shift_bits), .min = 0, .max = 63,
     .preset = 0, .only = REQUANT(PRESHIFT) | REQUANT(STAGES),
     .help = "The accumulator is shifted first, until its magnitude is below 2^(this-1). 0: no "
             "pre-shift."},
    {"max_shift", ITG_HW_INT, ITG_HW_OPTIONAL, AT(max_shift), .min = 1, .max = 62, .preset = 62,
     .only = ROUNDED | REQUANT(TFLITE_DOUBLE) | REQUANT(S64_REDUCED),
     .help = "The longest right shift of one stage."},
    {"rounding", ITG_HW_ROUNDINGS, ITG_HW_DERIVED, AT(pre_rounding), .choices = roundings,
     .only = ROUNDED, .help = "Rounding of every stage; the keys below overrule it."},
    {"pre_rounding", ITG_HW_CHOICE, ITG_HW_OPTIONAL, AT(pre_rounding), .choices = roundings,
     .preset = ITG_ROUND_FLOOR, .only = REQUANT(PRESHIFT) | REQUANT(STAGES),
     .help = "Rounding of the pre-shift."},
    {"multiply_rounding", ITG_HW_CHOICE, ITG_HW_OPTIONAL, AT(multiply_rounding),
     .choices = roundings, .preset = ITG_ROUND_HALF_UP, .only = REQUANT(STAGES),
     .help = "Rounding of the multiplication's shift."},
    {"shift_rounding", ITG_HW_CHOICE, ITG_HW_OPTIONAL, AT(shift_rounding), .choices = roundings,
     .preset = ITG_ROUND_HALF_UP, .only = ROUNDED, .help = "Rounding of the last shift."},
};
#undef OWNER

/* Fills the enclosing spec. */
#define OWNER itg_hw_spec
static const itg_hw_key accumulator_keys[] = {
    {"bits", ITG_HW_INT, ITG_HW_REQUIRED, AT(acc.bits), .min = 8, .max = 64, .preset = 32,
     .help = "Width of the sum, two's complement."},
    {"overflow", ITG_HW_CHOICE, ITG_HW_OPTIONAL, AT(acc.overflow), .choices = overflows,
     .preset = ITG_OVERFLOW_WRAP, .help = "What a sum beyond that width does."},
    {"split", ITG_HW_BOOL, ITG_HW_OPTIONAL, AT(split.allowed),
     .help = "Sums that might leave that width are taken apart (mac)."},
    {"join_bits", ITG_HW_INT, ITG_HW_DERIVED, AT(split.join_bits), .min = 8, .max = 62,
     .help = "Width in which parts are added. Default: the width of a part."},
    {"join_rounding", ITG_HW_CHOICE, ITG_HW_OPTIONAL, AT(split.rounding), .choices = roundings,
     .preset = ITG_ROUND_HALF_UP, .help = "Rounding of a part that is shifted to be added."},
    {"join_cycles", ITG_HW_RATE, ITG_HW_DERIVED, AT(split.join_cycles),
     .help = "Cost: cycles to add one part to the joined sum. Default: those of one MAC."},
};
#undef OWNER
static const itg_hw_object accumulator_object = {"accumulator", NULL, COUNT(accumulator_keys),
                                                 accumulator_keys};

#define OWNER itg_hw_spec
#define SUMMING                                                                                    \
    (FORM(MAC) | FORM(PRODUCT) | FORM(RESCALE) | FORM(EQUAL) | FORM(SOFTMAX) |                     \
     FORM(TFLITE_SOFTMAX) | FORM(LAYER_NORM))
static const itg_hw_key spec_keys[] = {
    {"arithmetic", ITG_HW_CHOICE, ITG_HW_REQUIRED, AT(form), .choices = arithmetics,
     .help = "How the operator computes."},
    {"inputs", ITG_HW_DTYPE_MASK, ITG_HW_REQUIRED, AT(input_mask),
     .help = "Dtypes of the activations that it reads."},
    {"weights", ITG_HW_DTYPE_MASK, ITG_HW_OPTIONAL, AT(weight_mask), .only = FORM(MAC),
     .help =
         "Dtypes of the constant operand of Conv, Gemm, MatMul. Absent: two activations (MatMul)."},
    {"outputs", ITG_HW_DTYPE_MASK, ITG_HW_DERIVED, AT(output_mask), .only = ~(FORM(KEEP)),
     .help =
         "Dtypes of the result. Required, but for keep_scale, where the result is as the input."},
    {"accumulator", ITG_HW_OBJECT, ITG_HW_DERIVED, .object = &accumulator_object, .only = SUMMING,
     .help = "Where products are summed. Required for mac; else 32 bits, wrap."},
    {"per_channel", ITG_HW_BOOL, ITG_HW_OPTIONAL, AT(per_channel), .only = FORM(MAC),
     .help = "Weights have one scale per output channel."},
    {"bias", ITG_HW_BOOL, ITG_HW_OPTIONAL, AT(bias), .preset = 1, .only = FORM(MAC),
     .help = "The sum may start at a bias."},
    {"bias_bits", ITG_HW_INT, ITG_HW_DERIVED, AT(bias_bits), .min = 2, .max = 64, .only = FORM(MAC),
     .help = "Width of the bias. Default: the accumulator's (split: join_bits), at most 32."},
    {"requantize", ITG_HW_REQUANT_INDEX, ITG_HW_DERIVED, AT(requant), .preset = -1, .only = SUMMING,
     .help = "Name in the top-level `requantize`. Required for mac, product, rescale, equal_scale, "
             "softmax, tflite_softmax, layer_norm."},
    {"left_shift", ITG_HW_INT, ITG_HW_OPTIONAL, AT(left_shift), .min = 0, .max = 32,
     .only = FORM(RESCALE),
     .help = "Add, Sub: operands are shifted left before they are rescaled."},
    {"table_bits", ITG_HW_INT, ITG_HW_OPTIONAL, AT(table_bits), .min = 2, .max = 16, .preset = 16,
     .only = FORM(LUT),
     .help = "Inputs of more bits have an entry for every 2^(bits - table_bits) codes, and are "
             "interpolated between two."},
    {"rounding", ITG_HW_CHOICE, ITG_HW_OPTIONAL, AT(rounding), .choices = roundings,
     .preset = ITG_ROUND_HALF_AWAY, .only = FORM(KEEP),
     .help = "AveragePool, GlobalAveragePool, ReduceMean: rounding of the division."},
    {"macs_per_cycle", ITG_HW_RATE, ITG_HW_OPTIONAL, AT(macs_per_cycle), .preset = 1,
     .help = "Speed: multiply-accumulates a cycle; elements a cycle where nothing is multiplied."},
    {"depthwise_macs_per_cycle", ITG_HW_RATE, ITG_HW_DERIVED, AT(depthwise_macs_per_cycle),
     .only = FORM(MAC),
     .help = "Speed of convolutions with one input channel a group. Default: macs_per_cycle."},
    {"output_cycles", ITG_HW_RATE, ITG_HW_OPTIONAL, AT(output_cycles), .preset = 0,
     .only = FORM(MAC),
     .help = "Cost: cycles of each output, besides its multiply-accumulates. Default: none."},
};
#undef OWNER

#define OWNER itg_hw_op
static const itg_hw_key operator_keys[] = {
    {"follow", ITG_HW_BOOL, ITG_HW_OPTIONAL, AT(follow),
     .help = "Quantized only where every input comes from a quantized node or is the model's."},
    {"specs", ITG_HW_SPEC_LIST, ITG_HW_REQUIRED, AT(specs), .object = &itg_hw_spec_keys,
     .max = ITG_HW_MAX_SPECS, .help = "Ways to run it, in order of preference."},
};
#undef OWNER

#define OWNER itg_hw_override
static const itg_hw_key override_keys[] = {
    {"node", ITG_HW_TEXT, ITG_HW_REQUIRED, AT(pattern), .min = 1, .max = 127,
     .help = "Name of nodes; * stands for any text, ? for one character."},
    {"float", ITG_HW_OPTIONAL_BOOL, ITG_HW_DERIVED, AT(has_float),
     .help = "true: these nodes stay float. false: they must not. Absent: as the operators say."},
    {"weight_bits", ITG_HW_RANGE, ITG_HW_DERIVED, AT(weight_bits_min), .min = 1, .max = 32,
     .help = "Narrowest and widest weights of these nodes."},
    {"activation_bits", ITG_HW_RANGE, ITG_HW_DERIVED, AT(activation_bits_min), .min = 2, .max = 32,
     .help = "Narrowest and widest activations that these nodes read."},
};
#undef OWNER

#define OWNER itg_hardware
#define MOST_BYTES ((int64_t)1 << 50)
static const itg_hw_key memory_keys[] = {
    {"flash_bytes", ITG_HW_BYTES, ITG_HW_OPTIONAL, AT(flash_bytes), .max = MOST_BYTES,
     .help = "For parameters. 0: not stated."},
    {"ram_bytes", ITG_HW_BYTES, ITG_HW_OPTIONAL, AT(ram_bytes), .max = MOST_BYTES,
     .help = "For activations. 0: not stated."},
};
static const itg_hw_object memory_object = {"memory", NULL, COUNT(memory_keys), memory_keys};

static const itg_hw_key float_weight_keys[] = {
    {"dtypes", ITG_HW_DTYPE_MASK, ITG_HW_REQUIRED, AT(float_weight_mask),
     .help = "Signed, or of 2 to 8 bits with a zero point."},
    {"per_channel", ITG_HW_BOOL, ITG_HW_OPTIONAL, AT(float_weights_per_channel),
     .help = "One scale per output channel."},
};
static const itg_hw_object float_weight_object = {"weights of float nodes", NULL,
                                                  COUNT(float_weight_keys), float_weight_keys};

/* In reading order: names are defined before they are used. */
static const itg_hw_key file_keys[] = {
    {"intaglio_hardware", ITG_HW_FORMAT, ITG_HW_REQUIRED, .min = ITG_HW_VERSION,
     .max = ITG_HW_VERSION, .help = "Version of this format."},
    {"name", ITG_HW_TEXT, ITG_HW_REQUIRED, AT(name), .min = 1, .max = 63, .help = "Target's name."},
    {"description", ITG_HW_TEXT, ITG_HW_OPTIONAL, AT(description), .max = 255,
     .help = "One line for people."},
    {"float", ITG_HW_BOOL, ITG_HW_OPTIONAL, AT(float_allowed),
     .help = "Operators that are not listed may run in float32."},
    {"all_float", ITG_HW_BOOL, ITG_HW_OPTIONAL, AT(all_float),
     .help = "Nothing is quantized at all; needs float."},
    {"power_of_two_scales", ITG_HW_BOOL, ITG_HW_OPTIONAL, AT(power_of_two_scales),
     .help = "Every scale is a power of two."},
    {"float_macs_per_cycle", ITG_HW_RATE, ITG_HW_OPTIONAL, AT(float_macs_per_cycle), .preset = 1,
     .help = "Speed of float nodes, as macs_per_cycle."},
    {"dtypes", ITG_HW_DTYPE_MAP, ITG_HW_OPTIONAL, .object = &itg_hw_dtype_keys,
     .max = ITG_HW_MAX_DTYPES, .help = "Classes of integers, by names of your own."},
    {"requantize", ITG_HW_REQUANT_MAP, ITG_HW_OPTIONAL, .object = &itg_hw_requant_keys,
     .max = ITG_HW_MAX_REQUANTS, .help = "Ways from accumulator to output, by names of your own."},
    {"fuse", ITG_HW_FUSE_PAIRS, ITG_HW_OPTIONAL, .max = 2 * ITG_OP_COUNT,
     .help = "Operators that take a following Relu or Clip into their clamp."},
    {"operators", ITG_HW_OPERATOR_MAP, ITG_HW_OPTIONAL, .object = &itg_hw_operator_keys,
     .help = "What runs as integers: operator -> list of specs, or an object with follow."},
    {"float_weights", ITG_HW_OBJECT, ITG_HW_OPTIONAL, .object = &float_weight_object,
     .help = "Weights of Conv, Gemm and MatMul that run in float are kept as codes."},
    {"model_inputs", ITG_HW_DTYPE_MASK, ITG_HW_OPTIONAL, AT(graph_input_mask),
     .help = "Dtypes of the model's inputs. Absent: what their consumers read."},
    {"model_outputs", ITG_HW_DTYPE_MASK, ITG_HW_OPTIONAL, AT(graph_output_mask),
     .help = "Dtypes of the model's outputs. Absent: what their producers write."},
    {"output_bits", ITG_HW_RANGE, ITG_HW_DERIVED, AT(output_bits_min), .min = 2, .max = 32,
     .help = "Narrowest and widest model output. Absent: as the dtype."},
    {"memory", ITG_HW_OBJECT, ITG_HW_OPTIONAL, .object = &memory_object,
     .help = "What the chip has."},
    {"overrides", ITG_HW_OVERRIDE_LIST, ITG_HW_OPTIONAL, .object = &itg_hw_override_keys,
     .max = ITG_HW_MAX_OVERRIDES, .help = "Exceptions by node name; later ones win."},
};
#undef OWNER

const itg_hw_object itg_hw_file_keys = {"hardware description", NULL, COUNT(file_keys), file_keys};
const itg_hw_object itg_hw_dtype_keys = {"dtype", NULL, COUNT(dtype_keys), dtype_keys};
const itg_hw_object itg_hw_requant_keys = {"requantization", "form", COUNT(requant_keys),
                                           requant_keys};
const itg_hw_object itg_hw_operator_keys = {"operator", NULL, COUNT(operator_keys), operator_keys};
const itg_hw_object itg_hw_spec_keys = {"spec", "arithmetic", COUNT(spec_keys), spec_keys};
const itg_hw_object itg_hw_override_keys = {"override", NULL, COUNT(override_keys), override_keys};

_Static_assert(COUNT(file_keys) < ITG_HW_MAX_KEYS && COUNT(spec_keys) < ITG_HW_MAX_KEYS,
               "key lists fit the reader's array");

const itg_hw_key *itg_hw_find_key(const itg_hw_object *object, const char *name)
{
    for (int32_t i = 0; i < object->key_count; i++)
        if (strcmp(object->keys[i].name, name) == 0) return &object->keys[i];
    return NULL;
}

const itg_hw_choice *itg_hw_find_choice(const itg_hw_choice *choices, const char *name)
{
    for (; choices->name; choices++)
        if (strcmp(choices->name, name) == 0) return choices;
    return NULL;
}

const char *itg_hw_choice_name(const itg_hw_choice *choices, int value)
{
    for (; choices->name; choices++)
        if (choices->value == value) return choices->name;
    return "?";
}
