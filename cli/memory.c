#include "cli/memory.h"
#include "cli/goal.h"
#include "cli/table.h"
#include <math.h>
#include <stdio.h>

static const itg_metric kinds[] = {ITG_METRIC_PARAMETER_BYTES, ITG_METRIC_PEAK_ACTIVATION_BYTES};
enum { KINDS = sizeof kinds / sizeof *kinds };

bool itg_cli_memory_exceeded(const itg_hardware *hw, const itg_score *score, itg_metric kind)
{
    double limit = itg_hardware_limit(hw, kind);
    return limit > 0 && score->value[kind] > limit;
}

void itg_cli_warn_memory(const itg_hardware *hw, const itg_score *score)
{
    char takes[32], has[32];
    for (int i = 0; i < KINDS; i++) {
        if (!itg_cli_memory_exceeded(hw, score, kinds[i])) continue;
        fprintf(stderr, "intaglio: warning: it takes %s %s; %s has %s (memory.%s_bytes)\n",
                itg_cli_count_text((long long)score->value[kinds[i]], takes),
                itg_metric_about(kinds[i])->words, itg_hardware_name(hw),
                itg_cli_count_text((long long)itg_hardware_limit(hw, kinds[i]), has),
                itg_metric_about(kinds[i])->goal);
    }
}

void itg_cli_print_memory(const char *name, const itg_hardware *hw, const itg_score *score)
{
    char text[256] = "", takes[32], has[32];
    size_t used = 0;
    bool fits = true;
    for (int i = 0; i < KINDS && used < sizeof text; i++) {
        double limit = itg_hardware_limit(hw, kinds[i]), cost = score->value[kinds[i]];
        if (!(limit > 0) || isnan(cost)) continue;
        fits &= cost <= limit;
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s of %s %s",
                                 used > 0 ? ", " : "", itg_cli_count_text((long long)cost, takes),
                                 itg_cli_count_text((long long)limit, has),
                                 itg_metric_about(kinds[i])->words);
    }
    if (used > 0) itg_cli_print_line(name, "%s%s", text, fits ? "" : ": does NOT fit");
}

void itg_cli_json_memory(itg_json_writer *json, const itg_hardware *hw, const itg_score *score)
{
    bool stated = false, known = true, fits = true;
    for (int i = 0; i < KINDS; i++) {
        if (!(itg_hardware_limit(hw, kinds[i]) > 0)) continue;
        stated = true;
        known &= itg_score_knows(score, kinds[i]);
        fits &= !itg_cli_memory_exceeded(hw, score, kinds[i]);
    }
    if (!stated) {
        itg_json_put_null(json, "memory");
        return;
    }
    itg_json_begin(json, "memory", '{');
    for (int i = 0; i < KINDS; i++) {
        char key[32];
        double limit = itg_hardware_limit(hw, kinds[i]);
        snprintf(key, sizeof key, "%s_bytes", itg_metric_about(kinds[i])->goal);
        itg_cli_json_known(json, key, limit > 0 ? limit : -1);
    }
    itg_cli_json_known_bool(json, "fits", known || !fits, fits);
    itg_json_end(json, '}');
}
