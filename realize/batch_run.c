/* A batch and its runs. A run first walks backwards from the outputs to find which values are
 * cached and which steps are needed. Then it computes these steps. */
#include "realize/batch_plan.h"
#include <stdlib.h>
#include <time.h>

static int32_t place_count(const itg_batch_plan *plan)
{
    return plan->program->value_count * ITG_LAYOUT_COUNT;
}

static bool create_operands(itg_batch *b)
{
    const itg_program *p = b->plan->program;
    size_t in = 1, out = 1;
    for (int32_t i = 0; i < p->step_count; i++) {
        if ((size_t)p->steps[i].input_count > in) in = (size_t)p->steps[i].input_count;
        if ((size_t)p->steps[i].output_count > out) out = (size_t)p->steps[i].output_count;
    }
    b->inputs = calloc(in, sizeof *b->inputs);
    b->outputs = calloc(out, sizeof *b->outputs);
    b->epilogues = calloc(out, sizeof *b->epilogues);
    b->scales = calloc(out, sizeof *b->scales);
    return b->inputs != NULL && b->outputs != NULL && b->epilogues != NULL && b->scales != NULL;
}

static void set_places(itg_batch *b)
{
    for (int32_t i = 0; i < place_count(b->plan); i++)
        b->where[i] = b->plan->places[i].used ? b->memory + b->plan->places[i].offset : NULL;
}

itg_status itg_batch_create(const itg_batch_plan *plan, itg_batch **out, itg_error *err)
{
    size_t places = (size_t)place_count(plan) + 1;
    itg_batch *b = calloc(1, sizeof *b);
    bool ok = b != NULL;
    if (ok) {
        b->plan = plan;
        b->allocation = malloc(plan->bytes + 64);
        b->where = calloc(places, sizeof *b->where);
        b->held = calloc(places, sizeof *b->held);
        b->needed = calloc(places, sizeof *b->needed);
        b->costs = calloc(places, sizeof *b->costs);
        b->runs = calloc((size_t)plan->operation_count + 1, sizeof *b->runs);
        ok = create_operands(b) && b->allocation != NULL && b->where != NULL && b->held != NULL &&
             b->needed != NULL && b->costs != NULL && b->runs != NULL;
    }
    if (!ok) {
        itg_batch_destroy(b);
        return itg_fail(err, ITG_NO_MEMORY, "%s: no memory for a batch of %zu bytes",
                        plan->program->name, plan->bytes);
    }
    b->memory = b->allocation;
    b->memory += (64 - (uintptr_t)b->allocation % 64) % 64;
    set_places(b);
    *out = b;
    return ITG_OK;
}

static void release(itg_batch *b, int32_t place)
{
    if (b->held[place] == NULL) return;
    itg_cache_release(b->activations, b->held[place]);
    b->held[place] = NULL;
}

static void release_all(itg_batch *b)
{
    for (int32_t i = 0; b->held != NULL && i < place_count(b->plan); i++)
        release(b, i);
}

void itg_batch_destroy(itg_batch *batch)
{
    if (batch == NULL) return;
    release_all(batch);
    free(batch->allocation);
    free(batch->where);
    free(batch->held);
    free(batch->needed);
    free(batch->costs);
    free(batch->runs);
    free(batch->inputs);
    free(batch->outputs);
    free(batch->epilogues);
    free(batch->scales);
    free(batch);
}

/* ---- operands ---- */

void *itg_batch_data(const itg_batch *batch, int32_t place)
{
    const bool is_part = batch->plan->places[place].inner && batch->held[place] == NULL;
    return (unsigned char *)batch->where[place] +
           (size_t)(batch->sample - (is_part ? batch->part : 0)) *
               itg_place_value(batch->plan, place)->bytes;
}

itg_int_operand itg_batch_operand(const itg_batch *batch, const itg_batch_operation *o,
                                  int32_t slot)
{
    const itg_pvalue *v = &batch->plan->program->values[o->step->inputs[slot]];
    const void *data =
        o->inputs[slot] == ITG_NONE ? v->data : itg_batch_data(batch, o->inputs[slot]);
    return (itg_int_operand){v->dtype, data, v->q.zero_point, v->q.qmin, v->q.qmax};
}

itg_epilogue itg_batch_epilogue_of(const itg_batch_plan *plan, const itg_batch_operation *o,
                                   int32_t out)
{
    const itg_pvalue *v = itg_place_value(plan, o->outputs[out]);
    const itg_step_out *e = &o->step->outs[out];
    return (itg_epilogue){.storage = v->dtype,
                          .requant = e->requant,
                          .requant_count = e->requant_count,
                          .zero_point = v->quantized ? v->q.zero_point : 0,
                          .lo = e->lo,
                          .hi = e->hi,
                          .dequant = e->dequant,
                          .dequant_count = e->dequant_count,
                          .float_lo = o->step->float_lo,
                          .float_hi = o->step->float_hi};
}

itg_epilogue itg_batch_epilogue(const itg_batch *batch, const itg_batch_operation *o, int32_t out)
{
    itg_epilogue e = itg_batch_epilogue_of(batch->plan, o, out);
    e.out = itg_batch_data(batch, o->outputs[out]);
    return e;
}

void *itg_batch_input(itg_batch *batch, int32_t index)
{
    return batch->where[batch->plan->program->inputs[index] * ITG_LAYOUT_COUNT];
}

itg_tensor itg_batch_output(const itg_batch *batch, int32_t index, int64_t k)
{
    const itg_program *p = batch->plan->program;
    const itg_pvalue *v = &p->values[p->outputs[index]];
    itg_tensor t = itg_pvalue_tensor(v);
    if (v->data != NULL) return t;
    t.data =
        (unsigned char *)batch->where[p->outputs[index] * ITG_LAYOUT_COUNT] + (size_t)k * v->bytes;
    return t;
}

itg_batch_counts itg_batch_statistics(const itg_batch *batch)
{
    return batch->counts;
}

/* ---- reuse ---- */

typedef struct run {
    itg_batch *b;
    const itg_block *block;
    const itg_batch_io *io;
} run;

/* The key of a place's content in a run: value, samples, layout. */
static itg_key key_of(const run *r, int32_t place)
{
    itg_key_state k;
    itg_key_begin(&k, (uint64_t)(place % ITG_LAYOUT_COUNT));
    itg_key_key(&k, &r->b->plan->keys[place / ITG_LAYOUT_COUNT]);
    itg_key_word(&k, r->block->source);
    itg_key_int(&k, r->block->first);
    itg_key_int(&k, r->block->count);
    return itg_key_end(&k);
}

static size_t bytes_of(const run *r, int32_t place)
{
    return itg_place_value(r->b->plan, place)->bytes * (size_t)r->block->count;
}

/* Takes all needed outputs of o from the cache of activations. False: one is missing. */
static bool fetch(const run *r, const itg_batch_operation *o)
{
    itg_batch *b = r->b;
    if (b->activations == NULL) return false;
    for (int32_t k = 0; k < o->output_count; k++) {
        int32_t place = o->outputs[k];
        if (!b->needed[place]) continue;
        itg_key key = key_of(r, place);
        b->held[place] = itg_cache_fetch(b->activations, &key, bytes_of(r, place));
        if (b->held[place] != NULL) continue;
        for (int32_t i = 0; i < k; i++)
            release(b, o->outputs[i]);
        return false;
    }
    for (int32_t k = 0; k < o->output_count; k++)
        if (b->held[o->outputs[k]] != NULL) {
            b->where[o->outputs[k]] = (void *)(uintptr_t)b->held[o->outputs[k]];
            b->counts.fetched++;
        }
    return true;
}

/* Decides which operations run, from the last to the first, so that readers come before writers. */
static void decide(const run *r)
{
    itg_batch *b = r->b;
    const itg_batch_plan *plan = b->plan;
    memset(b->needed, 0, (size_t)place_count(plan) * sizeof *b->needed);
    for (int32_t i = 0; i < plan->program->output_count; i++)
        b->needed[plan->program->outputs[i] * ITG_LAYOUT_COUNT] = true;
    for (int32_t i = plan->operation_count - 1; i >= 0; i--) {
        const itg_batch_operation *o = &plan->operations[i];
        b->runs[i] = false;
        for (int32_t k = 0; k < o->output_count; k++)
            b->runs[i] |= b->needed[o->outputs[k]];
        if (!b->runs[i]) continue;
        b->runs[i] = !fetch(r, o);
        for (int32_t k = 0; k < o->input_count && b->runs[i]; k++)
            if (o->inputs[k] != ITG_NONE) b->needed[o->inputs[k]] = true;
    }
}

/* Writes samples [first, first + count) of the block to the inputs that lie inside the first
 * section, or to the others. */
static itg_status fill_inputs(const run *r, bool inner, int64_t first, int64_t count)
{
    itg_batch *b = r->b;
    const itg_program *p = b->plan->program;
    itg_status status = ITG_OK;
    for (int32_t i = 0; i < p->input_count && r->io->fill != NULL; i++) {
        const int32_t place = p->inputs[i] * ITG_LAYOUT_COUNT;
        if (!b->needed[place] || b->plan->places[place].inner != inner) continue;
        for (b->sample = first; b->sample < first + count && status == ITG_OK; b->sample++)
            status = r->io->fill(r->io->context, i, r->block->first + b->sample,
                                 itg_batch_data(b, place), b->err);
    }
    return status;
}

/* The cost of computing o's outputs again: its own and that of the inputs that are not kept. */
static double cost_again(const itg_batch *b, const itg_batch_operation *o)
{
    double sum = o->cost;
    for (int32_t k = 0; k < o->input_count; k++)
        if (o->inputs[k] != ITG_NONE && b->held[o->inputs[k]] == NULL)
            sum += b->costs[o->inputs[k]];
    return sum;
}

/* Reserves cache memory for the outputs that are worth keeping. */
static void reserve(const run *r, const itg_batch_operation *o)
{
    itg_batch *b = r->b;
    double again = cost_again(b, o);
    for (int32_t k = 0; k < o->output_count; k++) {
        int32_t place = o->outputs[k];
        b->costs[place] = again;
        if (!b->needed[place] || !r->io->keep) continue;
        itg_key key = key_of(r, place);
        void *data = itg_cache_reserve(b->activations, &key, bytes_of(r, place),
                                       again * (double)r->block->count, false);
        if (data == NULL) continue;
        b->held[place] = data;
        b->where[place] = data;
        b->counts.kept++;
    }
}

/* Runs samples [first, first + count) of the block. */
static itg_status run_operation(itg_batch *b, const itg_batch_operation *o, int64_t first,
                                int64_t count)
{
    itg_status status = ITG_OK;
    b->sample = first;
    if (!o->kernel->single) status = o->kernel->run(b, o, count);
    for (; o->kernel->single && b->sample < first + count && status == ITG_OK; b->sample++)
        status = o->kernel->run(b, o, 1);
    if (status == ITG_OK || o->step == NULL) return status;
    return itg_prefix_error(b->err, status, "%s: node '%s'", b->plan->program->name, o->step->name);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Counts an operation that has run, and shares what is worth keeping. */
static void finish(itg_batch *b, const itg_batch_operation *o)
{
    b->counts.computed += o->step != NULL;
    for (int32_t k = 0; k < o->output_count; k++)
        if (b->held[o->outputs[k]] != NULL)
            itg_cache_commit(b->activations, b->held[o->outputs[k]]);
}

/* Runs a section's operations on samples [first, first + count) of the block. */
static itg_status run_part(const run *r, const itg_batch_section *s, int64_t first, int64_t count)
{
    itg_batch *b = r->b;
    const itg_batch_plan *plan = b->plan;
    b->part = first;
    itg_status status = s == plan->sections ? fill_inputs(r, true, first, count) : ITG_OK;
    double begun = r->io->seconds != NULL ? now() : 0;
    for (int32_t i = s->first; i < s->end && status == ITG_OK; i++) {
        const itg_batch_operation *o = &plan->operations[i];
        if (b->runs[i]) status = run_operation(b, o, first, count);
        if (b->runs[i] && r->io->seconds != NULL && o->step != NULL) {
            const double ended = now();
            r->io->seconds[o->step - plan->program->steps] += ended - begun;
            begun = ended;
        }
    }
    return status;
}

static itg_status forward(const run *r)
{
    itg_batch *b = r->b;
    const itg_batch_plan *plan = b->plan;
    const int64_t count = r->block->count;
    itg_status status = fill_inputs(r, false, 0, count);
    for (int32_t k = 0; k < plan->section_count && status == ITG_OK; k++) {
        const itg_batch_section *s = &plan->sections[k];
        for (int32_t i = s->first; i < s->end && b->activations != NULL; i++)
            if (b->runs[i]) reserve(r, &plan->operations[i]);
        for (int64_t first = 0; first < count && status == ITG_OK; first += s->part)
            status = run_part(r, s, first, count - first < s->part ? count - first : s->part);
        for (int32_t i = s->first; i < s->end && status == ITG_OK; i++)
            if (b->runs[i]) finish(b, &plan->operations[i]);
    }
    return status;
}

/* Releases everything except outputs. */
static void release_inner(itg_batch *b)
{
    const itg_program *p = b->plan->program;
    memset(b->needed, 0, (size_t)place_count(b->plan) * sizeof *b->needed);
    for (int32_t i = 0; i < p->output_count; i++)
        b->needed[p->outputs[i] * ITG_LAYOUT_COUNT] = true;
    for (int32_t i = 0; i < place_count(b->plan); i++)
        if (!b->needed[i]) release(b, i);
}

itg_status itg_batch_run(itg_batch *batch, const itg_block *block, const itg_batch_io *io,
                         itg_error *err)
{
    const itg_batch_plan *plan = batch->plan;
    if (block->count < 1 || block->count > plan->block)
        return itg_fail(err, ITG_BAD_ARGUMENT, "%s: a run of %lld samples, the plan holds %lld",
                        plan->program->name, (long long)block->count, (long long)plan->block);
    release_all(batch);
    set_places(batch);
    batch->activations = io->activations;
    batch->err = err;
    run r = {batch, block, io};
    decide(&r);
    itg_status status = forward(&r);
    if (status == ITG_OK)
        release_inner(batch);
    else
        release_all(batch);
    return status;
}
