/* Windows in the C source: one struct that all window operators share. */
#include "realize/emit/emit.h"

static const char struct_text[] =
    "/* How a window moves over an image of `channels` channels, of which it sees `run`. */\n"
    "typedef struct window {\n"
    "    $1 height, width, channels, run;\n"
    "    $1 out_width, rows, columns;\n"
    "    $1 stride_y, stride_x, dilation_y, dilation_x, top, left;\n"
    "} window;\n\n";

const char *itg_emit_window(itg_emitter *e, int32_t indent, const itg_window *w)
{
    const int64_t fields[] = {w->height,    w->width,       w->channels,    w->channels / w->group,
                              w->out_width, w->kernel[0],   w->kernel[1],   w->stride[0],
                              w->stride[1], w->dilation[0], w->dilation[1], w->pad_top,
                              w->pad_left};
    enum { FIELDS = sizeof fields / sizeof *fields };
    const char *name = "shape";
    for (int i = 0; i < FIELDS; i++)
        if (fields[i] > INT16_MAX) e->wide_windows = true;
    if (itg_emit_needs(e, "window"))
        itg_emit_template(&e->helpers, struct_text, e->wide_windows ? "int32_t" : "int16_t", NULL);
    ITG_EMIT_FORMAT(e, "%*sstatic const window %s = {", (int)indent, "", name);
    for (int i = 0; i < FIELDS; i++)
        itg_strbuf_format(&e->body, "%s%s", i > 0 ? ", " : "", itg_emit_number(e, fields[i]));
    itg_strbuf_add(&e->body, "};\n");
    e->layer->constant_bytes += FIELDS * (e->wide_windows ? 4 : 2);
    return name;
}

int32_t itg_emit_images(itg_emitter *e, const itg_window_view *v, const char **in, const char **out)
{
    *in = *out = "";
    if (v->batch == 1) return 0;
    const itg_window *w = &v->w;
    ITG_EMIT_FORMAT(e, "    for (int32_t image = 0; image < %s; image++) {\n",
                    itg_emit_number(e, v->batch));
    *in = itg_emit_text(e, " + image * %s", itg_emit_number(e, w->channels * w->height * w->width));
    *out = itg_emit_text(e, " + image * %s",
                         itg_emit_number(e, w->out_channels * w->out_height * w->out_width));
    return 1;
}
