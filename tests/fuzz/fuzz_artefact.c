/* Artefacts: an accepted one is printed, and run where that is little work. The verifier, which
 * reads files itself, must survive what the reader refuses as well, and find nothing wrong with
 * what it accepts. */
#include "fuzz.h"
#include "realize/program.h"
#include "realize/verify/certificate.h"
#include "tests/single.h"
#include <string.h>

enum { MOST_WORK = 2000000, MOST_BYTES = 1 << 22 };

static int64_t work_of(const itg_program *p)
{
    int64_t total = 0;
    for (int32_t s = 0; s < p->step_count; s++) {
        const itg_step *step = &p->steps[s];
        int64_t in = 1, out = 1;
        for (int32_t i = 0; i < step->input_count; i++)
            if (step->inputs[i] >= 0 && p->values[step->inputs[i]].elements > in)
                in = p->values[step->inputs[i]].elements;
        for (int32_t i = 0; i < step->output_count; i++)
            if (step->outputs[i] >= 0 && p->values[step->outputs[i]].elements > out)
                out = p->values[step->outputs[i]].elements;
        for (int d = 0; d < 2; d++)
            if (step->attrs.kernel[d] > in) in = step->attrs.kernel[d];
        if (out > INT64_MAX / 4 / in || (total += out * in) > INT64_MAX / 4) return INT64_MAX;
    }
    return total;
}

static void run(const itg_program *p)
{
    single *instance = NULL;
    itg_error err = {0};
    if (single_bytes(p) > MOST_BYTES || work_of(p) > MOST_WORK) return;
    if (single_create(p, &instance, &err) != ITG_OK) return;
    (void)single_run(instance, &err);
    single_destroy(instance);
}

static void verify(const char *path, bool accepted)
{
    itg_certificate c = {0};
    itg_error err = {0};
    itg_status status = itg_certificate_derive(path, &c, &err);
    REQUIRE(!accepted || (status == ITG_OK && c.view.problem_count == 0));
    itg_certificate_deinit(&c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    itg_program *p = NULL;
    itg_strbuf text = {0};
    itg_error err = {0};
    const char *path = fuzz_file(data, bytes);
    itg_status status = itg_program_open(path, &p, &err);
    verify(path, status == ITG_OK);
    if (status != ITG_OK) {
        REQUIRE(err.code == status && strncmp(err.message, path, strlen(path)) == 0);
        return 0;
    }
    itg_program_print(p, &text);
    itg_strbuf_deinit(&text);
    run(p);
    itg_program_destroy(p);
    return 0;
}

bool fuzz_seed(int index, itg_strbuf *out)
{
    return fuzz_program(index, out);
}
