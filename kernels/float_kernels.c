/* Names of the sets of float kernels, and the functions of oneDNN in a build without it. */
#include "kernels/f32_onednn.h"

#include <string.h>

static const char *const names[ITG_FLOAT_KERNELS_COUNT] = {"reference", "onednn"};

const char *itg_float_kernels_name(itg_float_kernels kernels)
{
    return names[kernels];
}

bool itg_float_kernels_from_name(const char *name, itg_float_kernels *out)
{
    for (int i = 0; i < ITG_FLOAT_KERNELS_COUNT; ++i)
        if (strcmp(name, names[i]) == 0) {
            *out = (itg_float_kernels)i;
            return true;
        }
    return false;
}

bool itg_float_kernels_built(itg_float_kernels kernels)
{
#if defined(ITG_WITH_ONEDNN)
    return kernels == ITG_FLOAT_REFERENCE || kernels == ITG_FLOAT_ONEDNN;
#else
    return kernels == ITG_FLOAT_REFERENCE;
#endif
}

#if !defined(ITG_WITH_ONEDNN)
itg_status itg_onednn_create(itg_onednn **out, itg_error *err)
{
    (void)out;
    return itg_fail(err, ITG_UNSUPPORTED,
                    "float kernels 'onednn': this build of Intaglio has no oneDNN");
}

void itg_onednn_destroy(itg_onednn *context)
{
    (void)context;
}

itg_status itg_onednn_prepare(itg_onednn *context, itg_op op, const itg_attrs *attrs,
                              const itg_tensor *inputs, const bool *is_constant,
                              int32_t input_count, const itg_tensor *output, itg_onednn_node **out,
                              itg_error *err)
{
    (void)context, (void)op, (void)attrs, (void)inputs, (void)is_constant, (void)input_count;
    (void)output, (void)out, (void)err;
    return ITG_OK;
}

itg_status itg_onednn_run(itg_onednn *context, itg_onednn_node *node, itg_error *err)
{
    (void)context, (void)node, (void)err;
    return ITG_OK;
}

void itg_onednn_release(itg_onednn_node *node)
{
    (void)node;
}
#endif
