/* Reads points that others reached (--peers of `intaglio report`). */
#include "cli/report.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 1 << 20, MOST_FIELDS = 64, NONE = -1 };

typedef struct reader {
    const char *path;
    int64_t line; /* from 1 */
    char *fields[MOST_FIELDS];
    int count;
    int name, cost, quality; /* columns */
    const itg_metric_info *about_cost, *about_quality;
} reader;

/* Cuts the next field of a line: up to a comma, or within quotes, where "" stands for one. Returns
 * what follows; NULL at the end of the line. */
static char *cut_field(char *at, char **field)
{
    char *to = at;
    *field = at;
    if (*at != '"') {
        at += strcspn(at, ",");
        char *next = *at ? at + 1 : NULL;
        *at = '\0';
        return next;
    }
    for (at++; *at && (*at != '"' || at[1] == '"'); at++) {
        at += *at == '"';
        *to++ = *at;
    }
    at += strcspn(at, ",");
    char *next = *at ? at + 1 : NULL;
    *to = '\0';
    return next;
}

static void cut_line(reader *r, char *line)
{
    line[strcspn(line, "\r")] = '\0';
    for (r->count = 0; line && r->count < MOST_FIELDS; r->count++)
        line = cut_field(line, &r->fields[r->count]);
}

static int column_of(const reader *r, const char *name)
{
    for (int i = 0; i < r->count; i++)
        if (strcmp(r->fields[i], name) == 0) return i;
    return NONE;
}

static itg_status read_titles(reader *r, itg_error *err)
{
    r->name = column_of(r, "name");
    r->cost = column_of(r, r->about_cost->name);
    r->quality = column_of(r, r->about_quality->name);
    if (r->name != NONE && r->cost != NONE && r->quality != NONE) return ITG_OK;
    return itg_fail(err, ITG_BAD_FILE,
                    "%.300s: line 1: expected titles of columns, among them name, %s and %s",
                    r->path, r->about_quality->name, r->about_cost->name);
}

/* Parses a field; a share may be followed by '%'. */
static itg_status read_number(const reader *r, int column, const itg_metric_info *about,
                              double *out, itg_error *err)
{
    char *end = NULL;
    const char *text = column < r->count ? r->fields[column] : "";
    *out = strtod(text, &end);
    if (about->unit == ITG_UNIT_SHARE && end != text && *end == '%') {
        *out /= 100;
        end++;
    }
    if (end != text && *end == '\0' && isfinite(*out)) return ITG_OK;
    return itg_fail(err, ITG_BAD_FILE, "%.300s: line %lld: %s '%.40s': expected a number", r->path,
                    (long long)r->line, about->name, text);
}

static itg_status add_peer(const reader *r, itg_peers *out, itg_error *err)
{
    itg_peer peer = {0};
    itg_status status = read_number(r, r->cost, r->about_cost, &peer.cost, err);
    if (status == ITG_OK) status = read_number(r, r->quality, r->about_quality, &peer.quality, err);
    if (status != ITG_OK) return status;
    itg_peer *grown = realloc(out->list, sizeof *grown * (size_t)(out->count + 1));
    if (grown) out->list = grown;
    peer.name = grown ? strdup(r->name < r->count ? r->fields[r->name] : "") : NULL;
    if (!peer.name) return itg_fail(err, ITG_NO_MEMORY, "%.300s: no memory for it", r->path);
    out->list[out->count++] = peer;
    return ITG_OK;
}

itg_status itg_peers_read(const char *path, const itg_metric_info *cost,
                          const itg_metric_info *quality, itg_peers *out, itg_error *err)
{
    reader r = {.path = path, .about_cost = cost, .about_quality = quality};
    unsigned char *data = NULL;
    size_t bytes = 0;
    itg_status status = itg_file_read(path, MOST_BYTES, &data, &bytes, err);
    if (status != ITG_OK) return status;
    char *text = realloc(data, bytes + 1);
    if (!text) {
        free(data);
        return itg_fail(err, ITG_NO_MEMORY, "%.300s: no memory for it", path);
    }
    text[bytes] = '\0';
    for (char *line = text; line && status == ITG_OK;) {
        char *next = strchr(line, '\n');
        if (next) *next++ = '\0';
        r.line++;
        cut_line(&r, line);
        if (r.line == 1)
            status = read_titles(&r, err);
        else if (r.count > 1 || *r.fields[0])
            status = add_peer(&r, out, err);
        line = next;
    }
    free(text);
    return status;
}

void itg_peers_free(itg_peers *peers)
{
    for (int64_t i = 0; i < peers->count; i++)
        free(peers->list[i].name);
    free(peers->list);
    *peers = (itg_peers){0};
}
