/* How a convolution or a matrix product uses memory that is free at its time: more positions at a
 * time, so that weights are unpacked less often; or filters that stay unpacked for all positions,
 * so that they are unpacked once, and positions are gathered once for each part of the filters. */
#include "realize/emit/c_mac.h"

/* Approximate instructions to unpack a code, to gather one, for a position, and for a tile of a
 * block. Of codes that stay in their place: START for each that is gathered, OUTPUT for an output,
 * and for each product 1 / SLOWER, bits * bits / JOIN of a width with spare bits, and 1 / UNPAIRED
 * without instructions for pairs. The last is less than a Cortex-M3 takes (0.4), for it unpacks
 * slowly. */
enum { UNPACK = 5, GATHER = 3, POSITION = 40, TILE = 100, MOST_AT_ONCE = 64 };
enum { START = 2, OUTPUT = 20, SLOWER = 24, JOIN = 300, UNPAIRED = 48 };

static int64_t parts(int64_t count, int64_t size)
{
    return (count + size - 1) / size;
}

/* Returns the instructions of one group that depend on the choice. */
static double cost_of(const itg_emit_mac_view *t)
{
    const int64_t blocks = parts(t->patches, t->block);
    const int64_t passes = t->held > 0 ? parts(t->filters, t->held) : 1;
    const double codes = (double)(t->filters * t->depth) * (double)(t->held > 0 ? 1 : blocks);
    const double positions = (double)(t->patches * passes);
    return UNPACK * codes + positions * (double)(GATHER * t->depth + POSITION) +
           TILE * (double)(blocks * parts(t->filters, t->rows)) +
           (double)(ITG_EMIT_FILTERS - t->rows) * (double)(t->patches * t->filters * t->depth);
}

/* Returns the most positions at a time that fit into `most` bytes, spread evenly over the blocks; 0
 * if none fits. */
static int64_t block_within(itg_emit_mac_view t, uint64_t most)
{
    int64_t low = 0, high = t.held > 0 && t.patches > MOST_AT_ONCE ? MOST_AT_ONCE : t.patches;
    while (low < high) {
        t.block = low + (high - low + 1) / 2;
        if (itg_emit_view_scratch(&t) <= most)
            low = t.block;
        else
            high = t.block - 1;
    }
    if (low == t.patches || low < 2) return low;
    low &= ~INT64_C(1); /* two at a time are quickest */
    const int64_t even = (parts(t.patches, parts(t.patches, low)) + 1) & ~INT64_C(1);
    return even < low ? even : low;
}

static void keep_better(const itg_emit_mac_view *t, uint64_t most, itg_emit_mac_view *best)
{
    itg_emit_mac_view tried = *t;
    tried.block = block_within(tried, most);
    if (tried.block < 1 || (tried.block < 2 && t->patches > 1)) return;
    if (best->block == 0 || cost_of(&tried) < cost_of(best)) *best = tried;
}

/* What takes the fewest instructions within so many bytes, if it takes fewer than *best, which
 * may be none (block 0). */
static void choose(const itg_emitter *e, itg_emit_mac_view t, uint64_t most, bool again,
                   itg_emit_mac_view *best)
{
    t.rows = ITG_EMIT_FILTERS;
    t.held = 0;
    keep_better(&t, most, best);
    const bool constant = e->p->values[t.s->inputs[1]].data != NULL;
    for (int64_t count = 1, last = 0; constant && count <= t.filters; count++) {
        t.held = (parts(t.filters, count) + ITG_EMIT_FILTERS - 1) & ~(ITG_EMIT_FILTERS - 1);
        if (t.held > t.filters) t.held = t.filters;
        if (t.held != last && (again || t.held == t.filters)) keep_better(&t, most, best);
        last = t.held;
    }
}

/* The same if codes of this width stay where they are. */
static double cost_in_place(const itg_emit_mac_view *t, int64_t bits)
{
    const double outputs = (double)(t->patches * t->filters);
    const double joins = 16 % bits != 0 ? (double)(bits * bits) / JOIN : 0;
    return (double)t->patches * (double)((GATHER + START) * t->depth + 2 * POSITION) +
           outputs * (OUTPUT + (double)t->depth * (1.0 / SLOWER + joins));
}

bool itg_emit_stays_quicker(const itg_emit_mac_view *t, int64_t bits, bool pairs)
{
    const double products = (double)(t->patches * t->filters * t->depth);
    return cost_in_place(t, bits) + (pairs ? 0 : products / UNPAIRED) < cost_of(t);
}

static bool has_choice(const itg_emit_mac_view *t)
{
    return !itg_emit_is_depthwise(t) && t->row == ITG_S16;
}

double itg_emit_mac_work(itg_emitter *e, const itg_emit_layer *l)
{
    itg_emit_mac_view t;
    if (!itg_emit_is_mac(l)) return 0;
    itg_emit_mac_describe(e, l, &t);
    const double macs = (double)l->macs;
    if (!has_choice(&t)) return 2 * macs;
    const int64_t bits = e->p->values[t.s->inputs[1]].q.bits;
    return macs +
           (double)t.groups * (itg_emit_stays(e, &t) ? cost_in_place(&t, bits) : cost_of(&t));
}

void itg_emit_mac_spend(itg_emitter *e, itg_emit_layer *l, uint64_t most, bool again)
{
    itg_emit_mac_view best;
    if (!itg_emit_is_mac(l)) return;
    itg_emit_mac_describe(e, l, &best);
    const size_t others = l->scratch_bytes - itg_emit_view_scratch(&best);
    if (!has_choice(&best) || most < others) return;
    choose(e, best, most - others, again, &best);
    l->block = best.block;
    l->rows = best.rows;
    l->held = best.held;
    l->scratch_bytes = others + itg_emit_view_scratch(&best);
}

bool itg_emit_mac_overlap_helps(itg_emitter *e, const itg_emit_layer *l, uint64_t apart,
                                uint64_t behind)
{
    itg_emit_mac_view t, best[2];
    itg_emit_mac_describe(e, l, &t);
    const size_t others = l->scratch_bytes - itg_emit_view_scratch(&t);
    if (!has_choice(&t) || apart < others) return true;
    best[0] = best[1] = t;
    best[0].block = best[1].block = 0;
    choose(e, t, apart - others, true, &best[0]);
    choose(e, t, behind - others, false, &best[1]);
    return best[0].block == 0 || (best[1].block > 0 && cost_of(&best[1]) < cost_of(&best[0]));
}
