#include "bench/bench.h"
#include <stdlib.h>
#include <string.h>

struct bench_peer {
    bench_child *child; /* NULL: absent */
    char name[160];
    char answers[512]; /* a file for outputs */
};

itg_status bench_peer_start(const char *python, const char *folder, bench_peer **out,
                            itg_error *err)
{
    const char *const words[] = {python, "bench/peer.py", NULL};
    char line[200] = "";
    bench_peer *p = calloc(1, sizeof *p);
    if (!p) return itg_fail(err, ITG_NO_MEMORY, "no memory for the peer");
    snprintf(p->name, sizeof p->name, "ONNX Runtime is absent");
    snprintf(p->answers, sizeof p->answers, "%s/outputs.f32", folder);
    *out = p;
    if (!python || bench_child_start(words, &p->child, NULL) != ITG_OK) return ITG_OK;
    if (bench_child_ask(p->child, NULL, line, sizeof line, NULL) == ITG_OK &&
        strncmp(line, "ready ", 6) == 0) {
        snprintf(p->name, sizeof p->name, "%.150s", line + 6);
        return ITG_OK;
    }
    snprintf(p->name, sizeof p->name, "ONNX Runtime is absent (%.100s)",
             line[0] ? line : "no answer");
    bench_child_end(p->child);
    p->child = NULL;
    return ITG_OK;
}

void bench_peer_end(bench_peer *peer)
{
    if (peer) bench_child_end(peer->child);
    free(peer);
}

bool bench_peer_present(const bench_peer *peer)
{
    return peer->child != NULL;
}

const char *bench_peer_name(const bench_peer *peer)
{
    return peer->name;
}

/* The answer behind "ok ", or behind "error " with *refused. */
static itg_status ask(bench_peer *peer, const char *question, char *answer, size_t size,
                      bool *refused, itg_error *err)
{
    char line[400];
    itg_status status = bench_child_ask(peer->child, question, line, sizeof line, err);
    if (status != ITG_OK) return status;
    *refused = strncmp(line, "ok", 2) != 0;
    const char *space = strchr(line, ' ');
    snprintf(answer, size, "%s", space ? space + 1 : "");
    return ITG_OK;
}

static itg_status open_session(bench_peer *peer, const char *question, const char *label,
                               bench_session *s, itg_error *err)
{
    char answer[256];
    bool refused = false;
    long long batch = 0;
    itg_status status = ask(peer, question, answer, sizeof answer, &refused, err);
    if (status != ITG_OK) return status;
    if (!refused && sscanf(answer, "%d %lld", &s->number, &batch) == 2) {
        s->batch = batch;
        snprintf(s->name, sizeof s->name, "%.60s, %.50s, batch %lld", peer->name, label, batch);
    } else {
        s->number = -1;
        snprintf(s->name, sizeof s->name, "%.40s refuses: %.100s", label, answer);
    }
    return ITG_OK;
}

static itg_status open_either(bench_peer *peer, const char *command, const char *label,
                              const char *model, const char *samples, const itg_shape *shape,
                              int threads, bench_session *out, itg_error *err)
{
    itg_strbuf question = {0};
    *out = (bench_session){.peer = peer, .number = -1, .samples = shape->dims[0]};
    snprintf(out->name, sizeof out->name, "%s", peer->name);
    if (!peer->child) return ITG_OK;
    itg_strbuf_format(&question, "%s\t%s\t%s\t", command, model, samples);
    for (int32_t i = 0; i < shape->rank; i++)
        itg_strbuf_format(&question, "%s%lld", i ? "," : "", (long long)shape->dims[i]);
    itg_strbuf_format(&question, "\t%d", threads);
    itg_status status = itg_strbuf_ok(&question)
                            ? open_session(peer, question.text, label, out, err)
                            : itg_fail(err, ITG_NO_MEMORY, "no memory for the peer");
    itg_strbuf_deinit(&question);
    return status;
}

itg_status bench_session_open(bench_peer *peer, const char *label, const char *model,
                              const char *samples, const itg_shape *shape, int threads,
                              bench_session *out, itg_error *err)
{
    return open_either(peer, "open", label, model, samples, shape, threads, out, err);
}

itg_status bench_session_open_artefact(bench_peer *peer, const char *label, const char *artefact,
                                       const char *samples, const itg_shape *shape, int threads,
                                       bench_session *out, itg_error *err)
{
    return open_either(peer, "open-artefact", label, artefact, samples, shape, threads, out, err);
}

void bench_session_close(bench_session *s)
{
    char question[64], answer[64];
    bool refused;
    if (!s->peer || s->number < 0 || !s->peer->child) return;
    snprintf(question, sizeof question, "close\t%d", s->number);
    (void)ask(s->peer, question, answer, sizeof answer, &refused, NULL);
    s->number = -1;
}

static itg_status read_floats(const char *path, int64_t count, float **out, itg_error *err)
{
    unsigned char *bytes = NULL;
    size_t size = 0;
    itg_status status = itg_file_read(path, (size_t)1 << 30, &bytes, &size, err);
    if (status != ITG_OK) return status;
    if (size != (size_t)count * sizeof(float)) {
        free(bytes);
        return itg_fail(err, ITG_MISMATCH, "%s: not as many values as the peer said", path);
    }
    *out = (float *)(void *)bytes;
    return ITG_OK;
}

itg_status bench_session_outputs(bench_session *s, int64_t count, float **out, int64_t *elements,
                                 itg_error *err)
{
    const char *path = s->peer->answers;
    char answer[256] = "";
    itg_strbuf question = {0};
    bool refused = false;
    itg_strbuf_format(&question, "outputs\t%d\t%lld\t%s", s->number, (long long)count, path);
    itg_status status = itg_strbuf_ok(&question)
                            ? ask(s->peer, question.text, answer, sizeof answer, &refused, err)
                            : itg_fail(err, ITG_NO_MEMORY, "no memory for the peer");
    if (status == ITG_OK && refused)
        status = itg_fail(err, ITG_FAILURE, "the peer fails: %s", answer);
    int64_t each = status == ITG_OK ? strtoll(answer, NULL, 10) : 0;
    if (status == ITG_OK) status = read_floats(path, count * each, out, err);
    if (status == ITG_OK) *elements = each;
    itg_strbuf_deinit(&question);
    remove(path);
    return status;
}

static itg_status time_pass(void *context, int64_t runs, double *seconds, itg_error *err)
{
    const bench_session *s = context;
    char question[64], answer[256];
    bool refused = false;
    snprintf(question, sizeof question, "time\t%d\t%lld", s->number, (long long)runs);
    itg_status status = ask(s->peer, question, answer, sizeof answer, &refused, err);
    if (status != ITG_OK) return status;
    if (refused) return itg_fail(err, ITG_FAILURE, "%s: the peer fails: %s", s->name, answer);
    *seconds = strtod(answer, NULL);
    return ITG_OK;
}

bench_contender bench_session_contender(bench_session *s)
{
    return (bench_contender){s->number >= 0 ? time_pass : NULL, s};
}
