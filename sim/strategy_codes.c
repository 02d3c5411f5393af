/* The file beside a strategy file that holds its weight codes, in the order of edges; the codes of
 * each edge begin at a whole byte. The file's name is its SHA-256, so that saving a strategy again
 * does not change a file that an older strategy file refers to. */
#include "base/packed.h"
#include "sim/strategy_file.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static size_t edge_bytes(const itg_edge_choice *edge)
{
    return (size_t)itg_packed_bytes(edge->code_count, edge->bits);
}

size_t itg_strategy_codes_bytes(const itg_strategy *s)
{
    size_t bytes = 0;
    for (int32_t e = 0; e < s->edge_count; e++)
        bytes += edge_bytes(&s->edges[e]);
    return bytes;
}

void itg_strategy_codes_hash(const itg_strategy *s, unsigned char out[32])
{
    itg_sha256 h;
    itg_sha256_init(&h);
    for (int32_t e = 0; e < s->edge_count; e++)
        if (s->edges[e].codes) itg_sha256_update(&h, s->edges[e].codes, edge_bytes(&s->edges[e]));
    itg_sha256_final(&h, out);
}

void itg_strategy_codes_name(const unsigned char hash[32], char out[72])
{
    itg_sha256_hex(hash, out);
    strcpy(out + 64, ".codes");
}

itg_status itg_strategy_codes_pack(const itg_strategy *s, itg_buffer *out, itg_error *err)
{
    size_t bytes = itg_strategy_codes_bytes(s), at = 0;
    unsigned char *data = bytes > 0 ? malloc(bytes) : NULL;
    if (bytes > 0 && !data) return itg_fail(err, ITG_NO_MEMORY, "no memory for weight codes");
    for (int32_t e = 0; e < s->edge_count; at += edge_bytes(&s->edges[e++]))
        if (s->edges[e].codes) memcpy(data + at, s->edges[e].codes, edge_bytes(&s->edges[e]));
    *out = (itg_buffer){data, bytes};
    return ITG_OK;
}

itg_status itg_strategy_codes_write(const itg_strategy *s, const itg_buffer *codes,
                                    const char *path, char **made, itg_error *err)
{
    unsigned char hash[32];
    char name[72];
    *made = NULL;
    if (!codes->data) return ITG_OK;
    itg_strategy_codes_hash(s, hash);
    itg_strategy_codes_name(hash, name);
    char *to = itg_path_beside(path, name);
    if (!to) return itg_fail(err, ITG_NO_MEMORY, "no memory for %s", name);
    bool there = access(to, F_OK) == 0;
    itg_status status = itg_file_write(to, codes->data, codes->bytes, err);
    if (status == ITG_OK && !there)
        *made = to;
    else
        free(to);
    return status;
}

size_t itg_strategy_codes_expect(itg_strategy *s, const itg_graph *g)
{
    int32_t e = 0;
    for (itg_id n = 0; n < g->node_count; n++)
        for (int32_t i = 0; i < g->nodes[n].input_count; i++) {
            itg_id value = g->nodes[n].inputs[i];
            itg_edge_choice *edge = &s->edges[e];
            e += value != ITG_NONE;
            if (value != ITG_NONE && edge->code_count > 0)
                (void)itg_shape_elements(&g->values[value].shape, &edge->code_count);
        }
    for (; e < s->edge_count; e++)
        s->edges[e].code_count = 0;
    return itg_strategy_codes_bytes(s);
}

static itg_status take_edges(itg_strategy *s, const char *file, const unsigned char *data,
                             itg_error *err)
{
    for (int32_t e = 0; e < s->edge_count; e++) {
        itg_edge_choice *edge = &s->edges[e];
        if (edge->code_count == 0) continue;
        if (!itg_packed_ends(data, edge->bits, edge->code_count))
            return itg_fail(err, ITG_BAD_FILE, "%s: edge %d: bits behind the last code, expected 0",
                            file, e);
        edge->codes = itg_arena_copy(s->arena, data, edge_bytes(edge));
        if (!edge->codes) return itg_fail(err, ITG_NO_MEMORY, "no memory for weight codes");
        data += edge_bytes(edge);
    }
    return ITG_OK;
}

static itg_status check_file(const itg_strategy *s, const char *file, const itg_buffer *codes,
                             const unsigned char hash[32], itg_error *err)
{
    size_t bytes = itg_strategy_codes_bytes(s);
    unsigned char actual[32];
    char expected[65], hex[65];
    if (codes->bytes != bytes)
        return itg_fail(err, ITG_BAD_FILE,
                        "%s: has %zu bytes, expected %zu for codes of the strategy's widths", file,
                        codes->bytes, bytes);
    itg_sha256_of(codes->data, bytes, actual);
    if (memcmp(actual, hash, sizeof actual) == 0) return ITG_OK;
    itg_sha256_hex(hash, expected);
    itg_sha256_hex(actual, hex);
    return itg_fail(err, ITG_MISMATCH, "%s: its SHA-256 is %s, expected %s", file, hex, expected);
}

itg_status itg_strategy_codes_take(itg_strategy *s, const char *file, const itg_buffer *codes,
                                   const unsigned char hash[32], itg_error *err)
{
    itg_status status = check_file(s, file, codes, hash, err);
    return status == ITG_OK ? take_edges(s, file, codes->data, err) : status;
}

itg_status itg_strategy_codes_read(itg_strategy *s, const char *path, const char *name,
                                   const unsigned char hash[32], itg_error *err)
{
    unsigned char *data = NULL;
    itg_buffer codes = {0};
    char *file = itg_path_beside(path, name);
    if (!file) return itg_fail(err, ITG_NO_MEMORY, "no memory for %s", name);
    const size_t bytes = itg_strategy_codes_bytes(s);
    itg_status status = itg_file_read(file, bytes, &data, &codes.bytes, err);
    if (status == ITG_LIMIT)
        status = itg_fail(err, ITG_BAD_FILE,
                          "%s: has more than %zu bytes, expected %zu for codes of the strategy's "
                          "widths",
                          file, bytes, bytes);
    codes.data = data;
    if (status == ITG_OK) status = itg_strategy_codes_take(s, file, &codes, hash, err);
    free(data);
    free(file);
    return status;
}
