/* Softmax, and a network of layers that ends in one. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "cmsis_run.h"
#include "kernels/int_ops.h"
#include "kernels/requant.h"

double softmax_scale(int64_t multiplier, int64_t shift)
{
    return ldexp((double)multiplier, (int)shift - 31 - 26);
}

case_verdict run_softmax(const cmsis_case *c, const case_array *input, int64_t rows,
                         int64_t row_size, double scale, char *reason)
{
    const itg_dtype wide = case_find(c, "output_ref")->dtype;
    const int64_t least = itg_dtype_min(wide);
    int32_t table[256];
    int64_t acc[ITG_TFLITE_MOST_ROW];
    if (input->dtype != ITG_S8 || row_size < 1 || row_size > ITG_TFLITE_MOST_ROW ||
        rows * row_size > input->count || !(scale >= 0x1p-26))
        return case_fail(reason, "rows or scale are out of range");
    const itg_int_operand x = {ITG_S8, input->data, 0, -128, 127};
    void *got = malloc((size_t)(rows * row_size) * itg_dtype_size(wide) + 1);
    if (!got) return case_fail(reason, "no memory");
    itg_int_tflite_exponentials(scale, 256, table);
    const itg_int_tflite_softmax k = {table, wide == ITG_S8 ? 8 : 16, row_size, 1};
    for (int64_t r = 0; r < rows; r++) {
        itg_int_tflite_softmax_row(&k, &x, r * row_size, acc);
        for (int64_t i = 0; i < row_size; i++)
            itg_store(wide, got, r * row_size + i,
                      itg_clamp(acc[i] + least, least, itg_dtype_max(wide)));
    }
    case_verdict verdict = case_compare(c, got, rows * row_size, reason);
    free(got);
    return verdict;
}

/* ---- a network: layers in order, each named by its kind and place ---- */

/* The mean of each channel over all pixels, half away from zero. */
static void *mean_codes(const case_array *input, int64_t channels, int64_t *count)
{
    const int64_t pixels = input->count / channels;
    int8_t *out = malloc((size_t)channels + 1);
    for (int64_t k = 0; out && k < channels; k++) {
        int64_t sum = 0;
        for (int64_t p = 0; p < pixels; p++)
            sum += itg_load(ITG_S8, input->data, p * channels + k);
        out[k] = (int8_t)itg_round_divide(sum, pixels, ITG_ROUND_HALF_AWAY);
    }
    *count = channels;
    return out;
}

/* Sets c to layer i; false: there is none of the kind. */
static bool is_layer(cmsis_case *c, const char *kind, int i, char keys[64], char arrays[64])
{
    snprintf(keys, 64, "%s_%d_", kind, i);
    snprintf(arrays, 64, "layer_%d_%s_", i, kind);
    c->key_prefix = keys;
    c->array_prefix = arrays;
    return case_has(c, "in_ch");
}

/* The zero point that layer i reads, whichever kind it is; 0: none follows. */
static int64_t zero_of_input(cmsis_case *c, int i)
{
    static const char *const kinds[] = {"conv_2d", "depthwise_conv_2d", "average_pool_2d",
                                        "fully_connected"};
    char keys[64], arrays[64];
    for (int k = 0; k < 4; k++)
        if (is_layer(c, kinds[k], i, keys, arrays)) return -case_int(c, "input_offset", 0);
    return 0;
}

case_verdict run_network(const cmsis_case *of, char *reason)
{
    static const char *const kinds[] = {"conv_2d", "depthwise_conv_2d", "fully_connected",
                                        "average_pool_2d"};
    cmsis_case c = *of;
    case_array x = *case_find(of, "input"), next = x;
    char keys[64], arrays[64];
    void *codes = NULL;
    case_verdict verdict = CASE_PASSED;
    for (int i = 1; i < 32 && verdict == CASE_PASSED; i++)
        for (int k = 0; k < 4; k++) {
            const int64_t zero = zero_of_input(&c, i + 1);
            if (!is_layer(&c, kinds[k], i, keys, arrays)) continue;
            next.data = k == 3 ? mean_codes(&x, case_int(&c, "in_ch", 1), &next.count)
                               : layer_codes(&c, (layer_kind)k, &x,
                                             case_int(&c, "output_offset", zero), &next.count);
            if (!next.data) verdict = case_fail(reason, "layer %d cannot be run", i);
            free(codes);
            codes = next.data;
            x = next;
            break;
        }
    for (int i = 1; i < 32 && verdict == CASE_PASSED; i++)
        if (is_layer(&c, "softmax", i, keys, arrays))
            verdict = run_softmax(of, &x, case_int(&c, "num_rows", 0), case_int(&c, "row_size", 0),
                                  softmax_scale(case_int(&c, "mult", 0), case_int(&c, "shift", 0)),
                                  reason);
    free(codes);
    return verdict;
}
