/* The certificate's accumulators: one entry per node with an accumulator, one line per channel. */
#include "base/json.h"
#include "realize/verify/certificate.h"
#include "realize/verify/stages.h"
#include "realize/verify/sums.h"

/* A requantized output: the data that all channels share. */
typedef struct output {
    int32_t index;
    itg_stage_sets sets;
    itg_view_codes codes;
    int64_t lo, hi; /* the clamp */
    bool traced;    /* some channel was traced */
    itg_span product, written;
} output;

void itg_certificate_span(itg_strbuf *out, itg_span s)
{
    char lo[ITG_WIDE_TEXT], hi[ITG_WIDE_TEXT];
    itg_strbuf_format(out, "[\"%s\",\"%s\"]", itg_wide_text(s.lo, lo), itg_wide_text(s.hi, hi));
}

static void add_member(itg_strbuf *out, const char *name, itg_span s)
{
    itg_strbuf_format(out, ", \"%s\": ", name);
    itg_certificate_span(out, s);
}

/* ---- outputs ---- */

/* Lists the outputs that are written as codes, through requantization and clamp. */
static output *outputs_of(itg_view *v, const itg_sums *s, int32_t *count)
{
    const itg_onnx_node *node = itg_view_node(v);
    output *list = itg_view_array(v, node->output_count, sizeof *list);
    *count = 0;
    for (int32_t k = 0; list != NULL && k < node->output_count; k++) {
        char prefix[32];
        output o = {.index = k};
        if (!itg_view_output_codes(v, k, &o.codes)) continue;
        snprintf(prefix, sizeof prefix, "y%d_", (int)k);
        o.lo = itg_view_int(v, prefix, "clamp_lo");
        o.hi = itg_view_int(v, prefix, "clamp_hi");
        snprintf(prefix, sizeof prefix, "y%d_requant", (int)k);
        if (o.lo > o.hi || o.lo < o.codes.qmin || o.hi > o.codes.qmax)
            itg_view_problem(v, "output %d: clamp [%lld,%lld] leaves [%lld,%lld]", (int)k,
                             (long long)o.lo, (long long)o.hi, (long long)o.codes.qmin,
                             (long long)o.codes.qmax);
        if (!itg_stage_sets_read(v, prefix, &o.sets)) continue;
        if (o.sets.count != 1 && o.sets.count < s->count)
            itg_view_problem(v, "output %d: %lld sets of constants for %lld channels", (int)k,
                             (long long)o.sets.count, (long long)s->count);
        else
            list[(*count)++] = o;
    }
    return list;
}

static int64_t limited(int64_t x, int64_t lo, int64_t hi)
{
    return x < lo ? lo : x > hi ? hi : x;
}

static itg_span codes_of(const output *o, itg_span result)
{
    itg_span code = itg_span_add(result, itg_span_of(o->codes.zero, o->codes.zero));
    return itg_span_of(limited(itg_wide_saturated(code.lo), o->lo, o->hi),
                       limited(itg_wide_saturated(code.hi), o->lo, o->hi));
}

/* Returns the content of the accumulator. If it may overflow, that is anything that it can hold. */
static itg_span content_of(const itg_sums *s, itg_span sum)
{
    int32_t bits = s->join_bits > 0 ? s->join_bits : s->bits;
    if (itg_span_fits(sum, bits)) return sum;
    return s->saturates ? itg_span_saturated(sum, bits)
                        : itg_span_saturated(itg_span_of(INT64_MIN, INT64_MAX), bits);
}

/* Adds ,"y0": [product, result, ..., codes] of one channel; a ratio comes first, if there is
 * one. */
static void add_trace(itg_certificate *c, const itg_sums *s, int64_t channel, output *o)
{
    itg_stage_trace trace;
    itg_span in = content_of(s, s->channels[channel].sum);
    if (!itg_stage_sets_trace(&c->view, &o->sets, channel, in, &trace)) return;
    itg_span written = codes_of(o, trace.result);
    itg_strbuf_format(&c->text, ", \"y%d\": [", (int)o->index);
    if (o->sets.ratio != NULL) {
        char ratio[48];
        itg_hex_double((double)o->sets.ratio[o->sets.count == 1 ? 0 : channel], ratio);
        itg_strbuf_format(&c->text, "\"%s\", ", ratio);
    }
    for (int32_t i = 0; i < trace.count; i++) {
        o->product =
            o->traced ? itg_span_hull(o->product, trace.step[i].product) : trace.step[i].product;
        o->written = o->traced ? itg_span_hull(o->written, written) : written;
        o->traced = true;
        itg_certificate_span(&c->text, trace.step[i].product);
        itg_strbuf_add(&c->text, ", ");
        itg_certificate_span(&c->text, trace.step[i].result);
        itg_strbuf_add(&c->text, ", ");
    }
    itg_certificate_span(&c->text, written);
    itg_strbuf_add(&c->text, "]");
}

static void add_channels(itg_certificate *c, const itg_sums *s, output *outputs, int32_t count)
{
    itg_strbuf_add(&c->text, ",\n  \"channels\": [");
    for (int64_t i = 0; i < s->count; i++) {
        itg_strbuf_add(&c->text, i > 0 ? ",\n   {\"sum\": " : "\n   {\"sum\": ");
        itg_certificate_span(&c->text, s->channels[i].sum);
        add_member(&c->text, "partial", s->channels[i].partial);
        for (int32_t k = 0; k < count; k++)
            add_trace(c, s, i, &outputs[k]);
        itg_strbuf_add(&c->text, "}");
    }
    itg_strbuf_add(&c->text, "]");
}

/* Adds ,"requantized": [{...}]: the range of each output's constants, and the widths that they
 * require. */
static void add_outputs(itg_certificate *c, const output *outputs, int32_t count)
{
    itg_strbuf_add(&c->text, ",\n  \"requantized\": [");
    for (int32_t k = 0; k < count; k++) {
        const output *o = &outputs[k];
        const itg_stage_sets *sets = &o->sets;
        itg_strbuf_format(&c->text, "%s{\"output\": %d, \"clamp\": ", k > 0 ? ", " : "",
                          (int)o->index);
        itg_certificate_span(&c->text, itg_span_of(o->lo, o->hi));
        int64_t stages = sets->ratio != NULL || sets->count == 0
                             ? 0
                             : sets->first[sets->count - 1] + sets->stages[sets->count - 1];
        if (stages > 0) {
            int64_t most = 0, left = 0, right = 0;
            for (int64_t i = 0; i < stages; i++) {
                if (sets->multiplier[i] > most) most = sets->multiplier[i];
                if (sets->shift[i] > right) right = sets->shift[i];
                if (-sets->shift[i] > left) left = -sets->shift[i];
            }
            itg_strbuf_format(&c->text,
                              ", \"multiplier_bits\": %d, \"left_shift\": %d, \"right_shift\": %d",
                              (int)itg_span_bits(itg_span_of(0, most)), (int)left, (int)right);
        }
        if (o->traced) {
            itg_strbuf_format(&c->text, ", \"product_bits\": %d", (int)itg_span_bits(o->product));
            add_member(&c->text, "codes", o->written);
        }
        itg_strbuf_add(&c->text, "}");
    }
    itg_strbuf_add(&c->text, "]");
}

/* ---- the artefact's own claim ---- */

static itg_span to_64(itg_span s)
{
    return itg_span_saturated(s, 64);
}

static bool equal(itg_span a, itg_span b)
{
    return a.lo == b.lo && a.hi == b.hi;
}

static bool within(itg_span inner, itg_span outer)
{
    return equal(itg_span_hull(inner, outer), outer);
}

static void check_claim(itg_view *v, const char *what, bool exact, itg_span claimed, itg_span found)
{
    char text[4][ITG_WIDE_TEXT];
    found = to_64(found);
    if (exact ? equal(found, claimed) : within(found, claimed)) return;
    itg_view_problem(v, "%s: the artefact states [%s,%s], its codes give [%s,%s]", what,
                     itg_wide_text(claimed.lo, text[0]), itg_wide_text(claimed.hi, text[1]),
                     itg_wide_text(found.lo, text[2]), itg_wide_text(found.hi, text[3]));
}

/* ---- the node ---- */

static const char *kept_text(itg_view *v, itg_wide number)
{
    char text[ITG_WIDE_TEXT];
    const char *kept = itg_arena_strdup(v->arena, itg_wide_text(number, text));
    if (kept == NULL) v->failed = true;
    return kept;
}

static void add_row(itg_certificate *c, const itg_sums *s, itg_span sum, int32_t bits,
                    const char *part)
{
    c->sums[c->sum_count++] =
        (itg_verified_sum){.node = itg_view_node(&c->view)->name,
                           .type = itg_view_node(&c->view)->op_type,
                           .part = part,
                           .rule = s->rule,
                           .lo = kept_text(&c->view, sum.lo),
                           .hi = kept_text(&c->view, sum.hi),
                           .acc = {bits, s->saturates ? ITG_OVERFLOW_SATURATE : ITG_OVERFLOW_WRAP},
                           .spare_bits = bits - itg_span_bits(sum),
                           .fits = itg_span_fits(sum, bits)};
}

static void add_split(itg_certificate *c, const itg_sums *s)
{
    itg_strbuf_format(&c->text, ",\n  \"join_bits\": %d", (int)s->join_bits);
    add_member(&c->text, "joined", s->all.sum);
    itg_strbuf_format(&c->text, ", \"join_spare_bits\": %d,\n  \"parts\": [",
                      (int)(s->join_bits - itg_span_bits(s->all.sum)));
    for (int64_t i = 0; i < s->part_count; i++) {
        itg_strbuf_format(&c->text, "%s{\"end\": %lld, \"sum\": ", i > 0 ? ", " : "",
                          (long long)s->part_end[i]);
        itg_certificate_span(&c->text, s->parts[i]);
        itg_strbuf_add(&c->text, "}");
    }
    itg_strbuf_add(&c->text, "]");
}

static void add_head(itg_certificate *c, const itg_sums *s)
{
    itg_span sum = itg_sums_accumulated(s);
    itg_strbuf_add(&c->text, c->sum_count > 0 ? ",\n {\"node\": " : "\n {\"node\": ");
    itg_strbuf_json_string(&c->text, itg_view_node(&c->view)->name);
    itg_strbuf_format(
        &c->text, ", \"type\": \"%s\", \"bits\": %d, \"overflow\": \"%s\", \"terms\": %lld",
        s->type, (int)s->bits, s->saturates ? "saturate" : "wrap", (long long)s->terms);
    itg_strbuf_format(&c->text, ",\n  \"rule\": \"%s\",\n  \"fits\": %s, \"spare_bits\": %d",
                      s->rule, s->fits ? "true" : "false", (int)(s->bits - itg_span_bits(sum)));
    add_member(&c->text, "sum", sum);
    add_member(&c->text, "partial", s->all.partial);
    if (!s->exact) add_member(&c->text, "stated", s->claimed);
    if (s->has_bias) add_member(&c->text, "bias", s->bias);
    for (int i = 0; i < 2 && s->has_operands; i++) {
        itg_strbuf_format(&c->text, ", \"operand%d\": [", i);
        itg_certificate_span(&c->text, s->operand_product[i]);
        itg_strbuf_add(&c->text, ", ");
        itg_certificate_span(&c->text, s->operand[i]);
        itg_strbuf_add(&c->text, "]");
    }
}

static void add_node(itg_certificate *c)
{
    itg_view *v = &c->view;
    itg_sums s;
    int32_t count = 0;
    if (!itg_sums_derive(v, &s)) return;
    itg_span sum = itg_sums_accumulated(&s);
    output *outputs = outputs_of(v, &s, &count);
    if (outputs == NULL) return;
    check_claim(v, "acc_lo, acc_hi", s.exact, s.claimed, sum);
    if (s.join_bits > 0) check_claim(v, "join_lo, join_hi", s.exact, s.claimed_join, s.all.sum);
    add_head(c, &s);
    add_row(c, &s, sum, s.bits, s.join_bits > 0 ? "parts" : NULL);
    if (s.join_bits > 0) {
        add_split(c, &s);
        add_row(c, &s, s.all.sum, s.join_bits, "joined");
    }
    add_channels(c, &s, outputs, count);
    add_outputs(c, outputs, count);
    itg_strbuf_add(&c->text, "}");
}

void itg_certificate_sums(itg_certificate *c)
{
    c->sums = itg_view_array(&c->view, 2 * (int64_t)c->file->node_count, sizeof *c->sums);
    if (c->sums == NULL) return;
    itg_strbuf_add(&c->text, "\"accumulators\": [");
    for (c->view.node = 0; c->view.node < c->file->node_count; c->view.node++)
        add_node(c);
    c->view.node = -1;
    itg_strbuf_add(&c->text, "\n],\n");
}
