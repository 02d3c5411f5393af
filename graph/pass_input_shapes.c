/* Sizes of inputs as the caller states them: "x=1,3,224,224,mask=1,16". The name may be left out if
 * there is one input. A size that the file fixes cannot change, except the first, which may be a
 * batch. */
#include <stdlib.h>
#include <string.h>
#include "passes.h"

static itg_status fail(const itg_graph *g, const char *text, itg_error *err, const char *why)
{
    return itg_fail(err, ITG_BAD_ARGUMENT,
                    "%s: input shape '%.200s': %s; NAME=N,N.. is expected, of several inputs one "
                    "behind the other with commas",
                    g->name, text, why);
}

/* Finds the input named before the "=" at *at, and moves *at behind it; without a name, the only
 * input. */
static itg_status find_input(const itg_graph *g, const char *text, const char **at, itg_id *input,
                             itg_error *err)
{
    size_t longest = 0;
    for (int32_t i = 0; i < g->input_count; ++i) {
        const char *name = g->values[g->inputs[i]].name;
        const size_t length = strlen(name);
        if (length < longest || strncmp(name, *at, length) != 0 || (*at)[length] != '=') continue;
        longest = length;
        *input = g->inputs[i];
    }
    if (longest > 0) {
        *at += longest + 1;
        return ITG_OK;
    }
    if (**at < '0' || **at > '9') return fail(g, text, err, "no input has such a name");
    if (g->input_count != 1) return fail(g, text, err, "the model has several inputs");
    *input = g->inputs[0];
    return ITG_OK;
}

/* Reads numbers up to the end or to the next name. */
static itg_status read_sizes(const itg_graph *g, const char *text, const char **at, itg_shape *out,
                             itg_error *err)
{
    *out = (itg_shape){.rank = 0};
    while (**at) {
        char *end;
        const long long size = strtoll(*at, &end, 10);
        const bool is_number = **at >= '0' && **at <= '9' && (*end == 0 || *end == ',');
        if (!is_number && out->rank > 0) return ITG_OK;
        if (!is_number || size < 1 || size > ITG_MAX_ELEMENTS || out->rank == ITG_MAX_RANK)
            return fail(g, text, err, "at most 8 sizes of 1 or more are expected");
        out->dims[out->rank++] = size;
        if (*end == ',' && end[1] == 0) return fail(g, text, err, "it ends in a comma");
        *at = end + (*end == ',');
    }
    return out->rank > 0 ? ITG_OK : fail(g, text, err, "sizes are missing");
}

static itg_status set_sizes(itg_graph *g, itg_id input, const itg_shape *sizes, itg_error *err)
{
    itg_value *v = &g->values[input];
    if (v->shape.rank >= 0 && v->shape.rank != sizes->rank)
        return itg_fail(err, ITG_BAD_ARGUMENT,
                        "%s: input '%.100s' has %d dimensions; its stated shape has %d", g->name,
                        v->name, (int)v->shape.rank, (int)sizes->rank);
    for (int32_t d = 1; d < v->shape.rank; ++d)
        if (v->shape.dims[d] > 0 && v->shape.dims[d] != sizes->dims[d])
            return itg_fail(err, ITG_BAD_ARGUMENT,
                            "%s: input '%.100s': dimension %d is %lld in the file, and %lld is "
                            "stated",
                            g->name, v->name, (int)d, (long long)v->shape.dims[d],
                            (long long)sizes->dims[d]);
    v->shape = *sizes;
    return ITG_OK;
}

itg_status itg_pass_input_shapes(itg_graph *g, const char *text, itg_error *err)
{
    itg_status status = ITG_OK;
    for (const char *at = text; *at && status == ITG_OK;) {
        itg_id input = ITG_NONE;
        itg_shape sizes;
        status = find_input(g, text, &at, &input, err);
        if (status == ITG_OK) status = read_sizes(g, text, &at, &sizes, err);
        if (status == ITG_OK) status = set_sizes(g, input, &sizes, err);
    }
    return status;
}
