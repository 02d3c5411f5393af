/* Backends of the prepared graph and the annotated graph (sim/evaluate.h). */
#include "sim/evaluate.h"

static itg_tensor graph_input(const void *context, int32_t index, const char **name)
{
    const itg_graph *g = context;
    *name = g->values[g->inputs[index]].name;
    return itg_graph_tensor(g, g->inputs[index]);
}

itg_input_list itg_graph_inputs(const itg_graph *graph)
{
    return (itg_input_list){graph, graph->input_count, graph_input};
}

/* ---- float ---- */

static itg_status float_create(const void *context, void **instance, itg_error *err)
{
    itg_float_exec *exec = NULL;
    itg_status status = itg_float_exec_create(context, ITG_FLOAT_REFERENCE, &exec, err);
    if (status == ITG_OK) *instance = exec;
    return status;
}

static itg_status onednn_create(const void *context, void **instance, itg_error *err)
{
    itg_float_exec *exec = NULL;
    itg_status status = itg_float_exec_create(context, ITG_FLOAT_ONEDNN, &exec, err);
    if (status == ITG_OK) *instance = exec;
    return status;
}

static void float_destroy(void *instance)
{
    itg_float_exec_destroy(instance);
}

static itg_status float_run(void *instance, const itg_sample_source *source, int64_t first,
                            int64_t count, itg_error *err)
{
    (void)count;
    itg_status status = ITG_OK;
    for (int32_t i = 0; i < itg_float_exec_input_count(instance) && status == ITG_OK; i++)
        status = source->fill(source->context, i, first, itg_float_exec_input(instance, i), err);
    return status == ITG_OK ? itg_float_exec_run(instance, err) : status;
}

static itg_tensor float_output(const void *instance, int32_t index, int64_t k)
{
    (void)k;
    return itg_float_exec_output(instance, index);
}

static const itg_quantizer *float_quantizer(const void *context, int32_t index)
{
    (void)context;
    (void)index;
    return NULL;
}

itg_backend itg_backend_float(const itg_graph *graph, itg_float_kernels kernels)
{
    return (itg_backend){.context = graph,
                         .inputs = itg_graph_inputs(graph),
                         .output_count = graph->output_count,
                         .block = 1,
                         .create = kernels == ITG_FLOAT_ONEDNN ? onednn_create : float_create,
                         .destroy = float_destroy,
                         .run = float_run,
                         .output = float_output,
                         .quantizer = float_quantizer};
}

/* ---- simulation ---- */

static itg_status sim_create(const void *context, void **instance, itg_error *err)
{
    itg_sim *sim = NULL;
    itg_status status = itg_sim_create(context, &sim, err);
    if (status == ITG_OK) *instance = sim;
    return status;
}

static void sim_destroy(void *instance)
{
    itg_sim_destroy(instance);
}

static itg_status sim_run(void *instance, const itg_sample_source *source, int64_t first,
                          int64_t count, itg_error *err)
{
    (void)count;
    itg_status status = ITG_OK;
    for (int32_t i = 0; i < itg_sim_input_count(instance) && status == ITG_OK; i++)
        status = source->fill(source->context, i, first, itg_sim_input(instance, i), err);
    return status == ITG_OK ? itg_sim_run(instance, err) : status;
}

static itg_tensor sim_output(const void *instance, int32_t index, int64_t k)
{
    (void)k;
    return itg_sim_output(instance, index, NULL);
}

static const itg_quantizer *sim_quantizer(const void *context, int32_t index)
{
    const itg_annotated *a = context;
    const itg_edge *edge = itg_annotated_edge(a, ITG_NONE, index);
    return edge->kind == ITG_EDGE_QUANT ? &a->values[edge->value].encodings[edge->encoding].q
                                        : NULL;
}

itg_backend itg_backend_sim(const itg_annotated *annotated)
{
    const itg_graph *g = annotated->graph;
    return (itg_backend){.context = annotated,
                         .inputs = itg_graph_inputs(g),
                         .output_count = g->output_count,
                         .block = 1,
                         .create = sim_create,
                         .destroy = sim_destroy,
                         .run = sim_run,
                         .output = sim_output,
                         .quantizer = sim_quantizer};
}
