/* Matches data to inputs by name. */
#include "sim/feed.h"
#include <stdlib.h>
#include <string.h>

/* ---- messages ---- */

/* Returns "image f32 [1,3,8,8], ids s64 [1,5]"; malloc'd. */
static char *list_inputs(const itg_feed *feed)
{
    itg_strbuf text = {0};
    char shape[128];
    for (int32_t i = 0; i < feed->count; i++) {
        const itg_feed_input *input = &feed->inputs[i];
        itg_strbuf_format(&text, "%s%s %s %s", i > 0 ? ", " : "", input->name,
                          itg_dtype_name(input->tensor.dtype),
                          itg_shape_text(&input->tensor.shape, shape, sizeof shape));
    }
    return text.text;
}

static itg_status refuse(const itg_feed *feed, const char *path, const char *what, const char *name,
                         itg_error *err)
{
    char *inputs = list_inputs(feed);
    itg_status status =
        itg_fail(err, ITG_MISMATCH, "%s: %s%s%s%s; the model's input%s %s: %.300s", path, what,
                 name ? " '" : "", name ? name : "", name ? "'" : "", itg_plural(feed->count),
                 feed->count == 1 ? "is" : "are", inputs ? inputs : "none");
    free(inputs);
    return status;
}

/* ---- data of each input ---- */

static const itg_dataset *part_of(const itg_dataset *data, const char *input)
{
    while (data && (!data->input || strcmp(data->input, input) != 0))
        data = data->next_input;
    return data;
}

static bool is_used(const itg_feed *feed, const itg_dataset *part)
{
    bool used = false;
    for (int32_t i = 0; i < feed->count; i++)
        used |= feed->inputs[i].data == part;
    return used;
}

static itg_status find_parts(itg_feed *feed, const itg_dataset *data, itg_error *err)
{
    if (!data->input && !data->next_input) {
        if (feed->count != 1)
            return refuse(feed, data->path,
                          "expected an .npz file with one array for each input, or "
                          "INPUT=FILE,INPUT=FILE",
                          NULL, err);
        feed->inputs[0].data = data;
        return ITG_OK;
    }
    if (feed->count == 1 && data->next_input)
        return refuse(feed, data->path, "one of several arrays; expected one, as in FILE:ARRAY",
                      NULL, err);
    for (int32_t i = 0; i < feed->count; i++) {
        feed->inputs[i].data = part_of(data, feed->inputs[i].name);
        if (!feed->inputs[i].data)
            return refuse(feed, data->path, "there is no data for input", feed->inputs[i].name,
                          err);
    }
    for (const itg_dataset *part = data; part; part = part->next_input)
        if (!is_used(feed, part))
            return refuse(feed, part->path, "the model takes no data for", part->input, err);
    return ITG_OK;
}

/* ---- preprocessing of each input ---- */

static bool is_default(const itg_preprocess *p)
{
    return !p->bgr && p->scale == 1.0f && p->mean_count == 0 && p->std_count == 0 &&
           p->layout == ITG_SAMPLES_SAME;
}

/* Whether names, separated by commas, contain `wanted`. */
static bool is_named(const char *names, const char *wanted)
{
    size_t length = strlen(wanted);
    const char *at = length > 0 ? strstr(names, wanted) : NULL;
    for (; at; at = strstr(at + 1, wanted))
        if ((at == names || at[-1] == ',') && (at[length] == ',' || at[length] == '\0'))
            return true;
    return false;
}

static itg_status spread_preprocess(itg_feed *feed, const itg_preprocess *p, itg_error *err)
{
    size_t found = 0; /* length of the found names with a comma each */
    for (int32_t i = 0; i < feed->count; i++) {
        itg_feed_input *input = &feed->inputs[i];
        const bool listed = is_named(p->inputs, input->name);
        const bool meant = *p->inputs ? listed : feed->count == 1;
        input->preprocess = meant ? *p : itg_preprocess_default();
        input->preprocess.allow_nonfinite = p->allow_nonfinite;
        if (listed) found += strlen(input->name) + 1;
    }
    if (*p->inputs && found != strlen(p->inputs) + 1)
        return refuse(feed, "preprocessing", "--preprocess names what is no input:", p->inputs,
                      err);
    if (!*p->inputs && feed->count > 1 && !is_default(p))
        return refuse(feed, "preprocessing", "--preprocess has to say which inputs it is for", NULL,
                      err);
    return ITG_OK;
}

static itg_status check(const itg_feed *feed, itg_error *err)
{
    itg_status status = ITG_OK;
    for (int32_t i = 0; i < feed->count && status == ITG_OK; i++) {
        const itg_feed_input *input = &feed->inputs[i];
        status = itg_preprocess_check(&input->preprocess, input->data, &input->tensor, err);
        if (status != ITG_OK && feed->count > 1)
            itg_prefix_error(err, status, "input '%s'", input->name);
    }
    return status;
}

itg_status itg_feed_init(const itg_input_list *list, const itg_dataset *data,
                         const itg_preprocess *p, itg_feed *out, itg_error *err)
{
    itg_feed feed = {list->count, calloc((size_t)list->count + 1, sizeof *feed.inputs)};
    if (!feed.inputs) return itg_fail(err, ITG_NO_MEMORY, "no memory for inputs");
    for (int32_t i = 0; i < list->count; i++)
        feed.inputs[i].tensor = list->input(list->context, i, &feed.inputs[i].name);
    itg_status status = find_parts(&feed, data, err);
    if (status == ITG_OK) status = spread_preprocess(&feed, p, err);
    if (status == ITG_OK) status = check(&feed, err);
    if (status == ITG_OK)
        *out = feed;
    else
        itg_feed_deinit(&feed);
    return status;
}

void itg_feed_deinit(itg_feed *feed)
{
    free(feed->inputs);
    *feed = (itg_feed){0};
}

itg_status itg_feed_fill(const itg_feed *feed, int32_t index, int64_t sample, void *x,
                         itg_error *err)
{
    const itg_feed_input *input = &feed->inputs[index];
    itg_tensor tensor = input->tensor;
    tensor.data = x;
    return itg_preprocess_sample(&input->preprocess, input->data, sample, &tensor, err);
}

itg_status itg_feed_fill_all(const itg_feed *feed, int64_t sample, itg_float_exec *exec,
                             itg_error *err)
{
    itg_status status = ITG_OK;
    for (int32_t i = 0; i < feed->count && status == ITG_OK; i++)
        status = itg_feed_fill(feed, i, sample, itg_float_exec_input(exec, i), err);
    return status;
}
