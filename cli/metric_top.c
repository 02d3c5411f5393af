/* --metric topK: the share of samples whose label is among the first K classes, for any K. The list
 * of metrics has top1 and top5; for any other K this file defines a user metric. */
#include "base/base.h"
#include "cli/metric.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PLACES = 1000000 };

static int64_t places(const char *name)
{
    char *end = NULL;
    if (strncmp(name, "top", 3) != 0 || name[3] < '1' || name[3] > '9') return 0;
    const long k = strtol(name + 3, &end, 10);
    itg_metric listed;
    return *end != '\0' || k > MOST_PLACES || itg_metric_from_name(name, &listed) ? 0 : k;
}

static double label_at(const itg_tensor *labels, int64_t i)
{
    if (labels->dtype == ITG_F32) return (double)((const float *)labels->data)[i];
    return (double)itg_load(labels->dtype, labels->data, i);
}

/* Returns how many classes rank before the label: by value, ties by the lower index. */
static int64_t before(const float *x, int64_t classes, int64_t label)
{
    int64_t count = 0;
    for (int64_t i = 0; i < classes; i++)
        count += !(x[label] > x[i]) && (i < label || x[label] != x[i]);
    return count;
}

static double share(void *context, const itg_outputs *outputs)
{
    const int64_t k = (int64_t)(intptr_t)context, n = outputs->samples;
    const itg_tensor *y = &outputs->outputs[0];
    int64_t all = 0, labels = 0, hits = 0;
    if (!outputs->labels || n < 1 || !itg_shape_elements(&y->shape, &all) ||
        !itg_shape_elements(&outputs->labels->shape, &labels) || labels != n || all / n <= k)
        return (double)NAN;
    for (int64_t i = 0; i < n; i++) {
        const double label = label_at(outputs->labels, i);
        if (!(label >= 0 && label < (double)(all / n)) || label != floor(label)) return (double)NAN;
        hits += before((const float *)y->data + i * (all / n), all / n, (int64_t)label) < k;
    }
    return (double)hits / (double)n;
}

bool itg_cli_top_metric(const char *name, itg_user_metric *out)
{
    const int64_t k = places(name);
    if (k == 0) return false;
    *out = (itg_user_metric){.info = {.unit = ITG_UNIT_SHARE, .up = true},
                             .score = share,
                             .context = (void *)(intptr_t)k};
    snprintf(out->info.name, sizeof out->info.name, "top%lld", (long long)k);
    return true;
}

bool itg_cli_names_top_metric(const itg_cli_args *args)
{
    return args->given[ITG_CLI_OPT_METRIC] && places(args->values[ITG_CLI_OPT_METRIC].text) > 0;
}
