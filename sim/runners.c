/* The prepared graph and the annotated graph as runners (sim/evaluate.h). */
#include "sim/evaluate.h"
#include <stdlib.h>

static itg_shape first_input_shape(const itg_graph *g)
{
    itg_shape none = {0};
    return g->input_count > 0 ? g->values[g->inputs[0]].shape : none;
}

/* ---- float ---- */

typedef struct float_instance {
    const itg_graph *graph;
    itg_float_exec *exec;
} float_instance;

static itg_status float_create(const void *context, void **instance, itg_error *err)
{
    float_instance *made = calloc(1, sizeof *made);
    if (!made) return itg_fail(err, ITG_NO_MEMORY, "no memory for a float instance");
    made->graph = context;
    itg_status status = itg_float_exec_create(context, &made->exec, err);
    if (status != ITG_OK)
        free(made);
    else
        *instance = made;
    return status;
}

static void float_destroy(void *instance)
{
    float_instance *f = instance;
    itg_float_exec_destroy(f->exec);
    free(f);
}

static float *float_input(void *instance, int32_t index)
{
    return itg_float_exec_input(((float_instance *)instance)->exec, index);
}

static itg_status float_run(void *instance, itg_error *err)
{
    return itg_float_exec_run(((float_instance *)instance)->exec, err);
}

static itg_tensor float_output(const void *instance, int32_t index)
{
    const float_instance *f = instance;
    return itg_float_exec_value(f->exec, f->graph->outputs[index]);
}

static const itg_quantizer *float_quantizer(const void *context, int32_t index)
{
    (void)context;
    (void)index;
    return NULL;
}

itg_runner itg_runner_float(const itg_graph *graph)
{
    itg_runner r = {graph,
                    graph->input_count,
                    graph->output_count,
                    first_input_shape(graph),
                    float_create,
                    float_destroy,
                    float_input,
                    float_run,
                    float_output,
                    float_quantizer,
                    0,
                    NULL,
                    NULL};
    return r;
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
static float *sim_input(void *instance, int32_t index)
{
    return itg_sim_input(instance, index);
}
static itg_status sim_run(void *instance, itg_error *err)
{
    return itg_sim_run(instance, err);
}
static itg_tensor sim_output(const void *instance, int32_t index)
{
    return itg_sim_output(instance, index, NULL);
}

static const itg_quantizer *sim_quantizer(const void *context, int32_t index)
{
    const itg_annotated *a = context;
    const itg_edge *edge = itg_annotated_edge(a, ITG_NONE, index);
    return edge->kind == ITG_EDGE_QUANT ? &a->values[edge->value].versions[edge->version].q : NULL;
}

itg_runner itg_runner_sim(const itg_annotated *annotated)
{
    const itg_graph *g = annotated->graph;
    itg_runner r = {
        annotated, g->input_count, g->output_count, first_input_shape(g), sim_create, sim_destroy,
        sim_input, sim_run,        sim_output,      sim_quantizer,        0,          NULL,
        NULL};
    return r;
}
