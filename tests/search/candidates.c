#include "candidates.h"
#include "realize/batch_plan.h"
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

kept_constants keep_constants(const itg_graph *g, size_t bytes)
{
    kept_constants kept = {{NULL, NULL}, calloc((size_t)g->value_count + 1, sizeof(itg_key))};
    assert_non_null(kept.content);
    for (itg_id v = 0; v < g->value_count; v++) {
        if (!itg_graph_is_constant(g, v)) continue;
        itg_tensor t = itg_graph_tensor(g, v);
        kept.content[v] = itg_content_key(t.data, itg_tensor_bytes(&t));
    }
    assert_int_equal(itg_cache_create(bytes, &kept.constants.cache, NULL), ITG_OK);
    kept.constants.content = kept.content;
    return kept;
}

void drop_constants(kept_constants *kept)
{
    itg_cache_destroy(kept->constants.cache);
    free(kept->content);
}

/* cmocka's own checks are not made for several threads; a failed one of these ends the program. */
static void must(bool holds, const char *what)
{
    if (holds) return;
    fprintf(stderr, "with constants kept and without: %s\n", what);
    abort();
}

static void same_text(itg_strbuf *a, itg_strbuf *b, const char *what)
{
    must(itg_strbuf_ok(a) && itg_strbuf_ok(b) && a->length == b->length &&
             memcmp(a->text, b->text, a->length) == 0,
         what);
    itg_strbuf_deinit(a);
    itg_strbuf_deinit(b);
}

static void same_annotated(const itg_annotated *a, const itg_annotated *b)
{
    itg_strbuf texts[2] = {{0}, {0}};
    itg_annotated_print(a, &texts[0]);
    itg_annotated_print(b, &texts[1]);
    same_text(&texts[0], &texts[1], "annotated graphs differ");
}

static void same_program(const itg_program *p, const itg_program *q)
{
    itg_strbuf texts[2] = {{0}, {0}};
    itg_program_print(p, &texts[0]);
    itg_program_print(q, &texts[1]);
    same_text(&texts[0], &texts[1], "programs differ");
    must(p->value_count == q->value_count && p->step_count == q->step_count, "sizes differ");
    for (int32_t i = 0; i < p->value_count; i++) {
        const itg_pvalue *a = &p->values[i], *b = &q->values[i];
        must(a->bytes == b->bytes && (a->data == NULL) == (b->data == NULL), "values differ");
        must(a->data == NULL || memcmp(a->data, b->data, a->bytes) == 0, "constants differ");
        must(a->quantized == b->quantized && (!a->quantized || itg_quantizer_equal(&a->q, &b->q)),
             "quantizers differ");
    }
    for (int32_t i = 0; i < p->step_count; i++) {
        const itg_step *s = &p->steps[i], *t = &q->steps[i];
        must(s->acc_lo == t->acc_lo && s->acc_hi == t->acc_hi && s->join_lo == t->join_lo &&
                 s->join_hi == t->join_hi && s->kernel_bound == t->kernel_bound,
             "bounds differ");
    }
}

static void same_keys(const itg_program *p, const itg_program *q, itg_cache *weights)
{
    itg_batch_options first = {0}, second = {.weights = weights};
    itg_batch_plan *a = NULL, *b = NULL;
    must(itg_accel_choose(NULL, &first.kernels, NULL) == ITG_OK, "there are no kernels");
    second.kernels = first.kernels;
    must(itg_batch_plan_create(p, &first, &a, NULL) == ITG_OK &&
             itg_batch_plan_create(q, &second, &b, NULL) == ITG_OK,
         "there is no plan");
    for (int32_t v = 0; v < p->value_count; v++)
        must(itg_key_equal(&a->keys[v], &b->keys[v]), "keys of values differ");
    itg_batch_plan_destroy(a);
    itg_batch_plan_destroy(b);
}

bool candidates_agree(const itg_graph *g, const itg_hardware *hw, const itg_strategy *strategy,
                      const itg_constants *constants)
{
    itg_annotated *a = NULL, *b = NULL;
    itg_program *p = NULL, *q = NULL;
    itg_error errors[2] = {{0}, {0}};
    itg_status status = itg_annotate(g, hw, strategy, &a, &errors[0]);
    itg_status other = itg_annotate_with(g, hw, strategy, constants, &b, &errors[1]);
    must(status == other && strcmp(errors[0].message, errors[1].message) == 0,
         "annotation succeeds or fails differently");
    if (status == ITG_OK) {
        same_annotated(a, b);
        status = itg_realize_program(a, NULL, &p, &errors[0]);
        other = itg_realize_program(b, NULL, &q, &errors[1]);
        must(status == other && strcmp(errors[0].message, errors[1].message) == 0,
             "realization succeeds or fails differently");
    }
    if (status == ITG_OK) {
        same_program(p, q);
        same_keys(p, q, constants->cache);
    }
    itg_program_destroy(p);
    itg_program_destroy(q);
    itg_annotated_destroy(a);
    itg_annotated_destroy(b);
    return status == ITG_OK;
}
