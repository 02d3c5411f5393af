#include "expansion.h"
#include <math.h>
#include <stdlib.h>
#include "base/op.h"
#include "kernels/float_ops.h"

static uint64_t state_of_picks;

void start_picks(void)
{
    state_of_picks = 1;
}

int64_t pick(int64_t lo, int64_t hi)
{
    state_of_picks = state_of_picks * 6364136223846793005u + 1442695040888963407u;
    return lo + (int64_t)((state_of_picks >> 33) % (uint64_t)(hi - lo + 1));
}

itg_shape dims4(int32_t rank, int64_t a, int64_t b, int64_t c, int64_t d)
{
    return (itg_shape){.rank = rank, .dims = {a, b, c, d}};
}

itg_graph *graph_of(const itg_shape *x)
{
    itg_graph *g = make_graph();
    itg_id id = add_input(g, "x", "1");
    g->values[id].shape = *x;
    return g;
}

itg_id put_constant(itg_graph *g, const char *name, const itg_shape *shape)
{
    char text[128];
    itg_shape_text(shape, text, sizeof text);
    text[strlen(text) - 1] = 0; /* without brackets */
    return add_floats(g, name, text + 1, NULL);
}

const float *constant_of(const itg_graph *g, const char *name)
{
    return g->values[itg_graph_find_value(g, name)].data;
}

float *numbers_of_x(const itg_shape *x)
{
    itg_graph *g = graph_of(x);
    int64_t count;
    set_output(g, ADD_OP(g, ITG_OP_NEG, "y", NULL, 0));
    assert_int_equal(infer_all(g, NULL), ITG_OK);
    float *out = evaluate(g, &count);
    for (int64_t i = 0; i < count; ++i)
        out[i] = -out[i];
    itg_graph_destroy(g);
    return out;
}

void assert_gives(const itg_graph *g, const double *want, int64_t count)
{
    itg_graph *p = prepared(g, true);
    int64_t has;
    float *y = evaluate(p, &has);
    for (int32_t i = 0; i < p->node_count; ++i)
        assert_false(itg_op_is(p->nodes[i].op, ITG_IS_COMPOSITE));
    assert_int_equal(has, count);
    for (int64_t i = 0; i < count; ++i)
        if (!(fabs((double)y[i] - want[i]) <= 2e-5 * (1 + fabs(want[i]))))
            fail_msg("element %lld is %g; expected %g", (long long)i, (double)y[i], want[i]);
    free(y);
    itg_graph_destroy(p);
}

void assert_refuses(const itg_graph *g, itg_status status, const char *text)
{
    itg_prepare_options options = {.eval = itg_float_eval, .keep_batch = true};
    itg_graph *out = NULL;
    itg_error err = {0};
    assert_int_equal(itg_graph_prepare(g, &options, &out, &err), status);
    assert_null(out);
    if (!strstr(err.message, text)) fail_msg("'%s' is not in '%s'", text, err.message);
}
