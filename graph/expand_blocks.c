/* DepthToSpace and SpaceToDepth: Reshape, Transpose, Reshape. */
#include "expand.h"

static void rearrange(itg_expansion *e, itg_shape blocks, const int64_t *perm)
{
    itg_id x = itg_put_reshape(e, "blocks", itg_expanded_input(e, 0), blocks);
    x = itg_put_transpose(e, "order", x, perm);
    itg_shape y = itg_shape_at(e, e->node.outputs[0]);
    itg_expanded_output(e, 0, itg_put_reshape(e, "image", x, y));
}

void itg_expand_depth_to_space(itg_expansion *e)
{
    static const int64_t dcr[] = {0, 3, 4, 1, 5, 2}, crd[] = {0, 1, 4, 2, 5, 3};
    itg_shape x = itg_shape_at(e, itg_expanded_input(e, 0));
    int64_t n = x.dims[0], h = x.dims[2], w = x.dims[3], b = e->node.attrs.size;
    int64_t c = x.dims[1] / (b * b);
    if (e->node.attrs.order == 0)
        rearrange(e, (itg_shape){.rank = 6, .dims = {n, b, b, c, h, w}}, dcr);
    else
        rearrange(e, (itg_shape){.rank = 6, .dims = {n, c, b, b, h, w}}, crd);
}

void itg_expand_space_to_depth(itg_expansion *e)
{
    static const int64_t dcr[] = {0, 3, 5, 1, 2, 4}, crd[] = {0, 1, 3, 5, 2, 4};
    itg_shape x = itg_shape_at(e, itg_expanded_input(e, 0));
    int64_t b = e->node.attrs.size;
    rearrange(
        e,
        (itg_shape){.rank = 6, .dims = {x.dims[0], x.dims[1], x.dims[2] / b, b, x.dims[3] / b, b}},
        e->node.attrs.order == 0 ? dcr : crd);
}
