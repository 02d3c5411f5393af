#include "base/selection.h"
#include <math.h>

itg_selection itg_selection_none(void)
{
    return (itg_selection){.bound = (double)NAN, .floats = (double)NAN};
}

bool itg_selection_fits(const itg_selection *s)
{
    return s->samples > 0 && s->tested > 0 && s->wanted >= 0 && (s->passed || !s->certified);
}

void itg_selection_write(itg_json_writer *w, const itg_selection *s)
{
    itg_json_begin(w, "selection", '{');
    itg_json_put_int(w, "samples", s->samples);
    itg_json_put_int(w, "tested", s->tested);
    itg_json_put_bool(w, "certified", s->certified);
    itg_json_put_bool(w, "passed", s->passed);
    itg_json_put_number(w, "bound", s->bound);
    itg_json_put_number(w, "float", s->floats);
    itg_json_put_int(w, "samples_wanted", s->wanted);
    itg_json_end(w, '}');
}
