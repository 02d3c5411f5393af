/* intaglio verify: derives a program's certificate again and compares it. */
#include "cli/commands.h"
#include "cli/common.h"
#include "cli/table.h"
#include <dirent.h>
#include <stdio.h>
#include <string.h>

static int32_t fitting(const itg_verification *v)
{
    int32_t count = 0;
    for (int32_t i = 0; i < itg_verification_sum_count(v); i++)
        count += itg_verification_sum(v, i)->fits;
    return count;
}

/* Whether nothing is wrong and no accumulator can overflow, unless overflow is allowed. */
static bool is_verified(const itg_cli_args *args, const itg_verification *v)
{
    return itg_verification_problem_count(v) == 0 && (args->given[ITG_CLI_OPT_VERIFY_OVERFLOW] ||
                                                      fitting(v) == itg_verification_sum_count(v));
}

static void json_sum(itg_json_writer *json, const itg_verified_sum *sum)
{
    itg_json_begin(json, NULL, '{');
    itg_json_put_text(json, "node", sum->node);
    itg_json_put_text(json, "type", sum->type);
    itg_json_put_text(json, "part", sum->part);
    itg_json_put_text(json, "rule", sum->rule);
    itg_json_put_text(json, "lo", sum->lo);
    itg_json_put_text(json, "hi", sum->hi);
    itg_json_put_int(json, "accumulator_bits", sum->acc.bits);
    itg_json_put_text(json, "overflow",
                      sum->acc.overflow == ITG_OVERFLOW_SATURATE ? "saturate" : "wrap");
    itg_json_put_int(json, "spare_bits", sum->spare_bits);
    itg_json_put_bool(json, "fits", sum->fits);
    itg_json_end(json, '}');
}

static int print_json(const itg_cli_args *args, const itg_verification *v)
{
    itg_json_writer json = {0};
    itg_json_begin(&json, NULL, '{');
    itg_json_put_text(&json, "program", args->arguments[0]);
    itg_json_put_hash(&json, "sha256", itg_verification_hash(v));
    itg_json_put_bool(&json, "verified", is_verified(args, v));
    itg_json_put_int(&json, "problem_count", itg_verification_problem_count(v));
    itg_json_begin(&json, "problems", '[');
    for (int32_t i = 0; i < itg_verification_problem_texts(v); i++)
        itg_json_put_text(&json, NULL, itg_verification_problem(v, i));
    itg_json_end(&json, ']');
    itg_json_begin(&json, "accumulators", '[');
    for (int32_t i = 0; i < itg_verification_sum_count(v); i++)
        json_sum(&json, itg_verification_sum(v, i));
    itg_json_end(&json, ']');
    itg_json_end(&json, '}');
    int result = itg_cli_json_print(&json);
    return result == ITG_CLI_OK && !is_verified(args, v) ? ITG_CLI_FAILURE : result;
}

static int print_sums(const itg_verification *v)
{
    itg_cli_table table;
    itg_cli_table_init(&table, "llrrrrl");
    itg_cli_table_texts(&table, "node", "operator", "lowest", "highest", "bits", "spare", "", NULL);
    for (int32_t i = 0; i < itg_verification_sum_count(v); i++) {
        const itg_verified_sum *sum = itg_verification_sum(v, i);
        itg_cli_table_cell(&table, "%s", sum->node);
        itg_cli_table_cell(&table, "%s%s%s", sum->type, sum->part ? ", " : "",
                           sum->part ? sum->part : "");
        itg_cli_table_texts(&table, sum->lo, sum->hi, NULL);
        itg_cli_table_cell(&table, "%d", (int)sum->acc.bits);
        itg_cli_table_cell(&table, "%d", (int)sum->spare_bits);
        itg_cli_table_cell(&table, "%s", sum->fits ? "" : "may overflow");
    }
    return itg_cli_table_print(&table);
}

static int print_text(const itg_cli_args *args, const itg_verification *v)
{
    int32_t count = itg_verification_sum_count(v), fit = fitting(v);
    int32_t problems = itg_verification_problem_count(v), shown = itg_verification_problem_texts(v);
    int result = print_sums(v);
    if (result != ITG_CLI_OK) return result;
    itg_cli_print_line("bounds", "%d of %d accumulator%s cannot overflow", (int)fit, (int)count,
                       itg_plural(count));
    itg_cli_print_line(
        "hashes", "the file, %d tensor%s, %d node%s", (int)itg_verification_tensor_count(v),
        itg_plural(itg_verification_tensor_count(v)), (int)itg_verification_node_count(v),
        itg_plural(itg_verification_node_count(v)));
    if (is_verified(args, v)) {
        printf("verified\n");
        return ITG_CLI_OK;
    }
    for (int32_t i = 0; i < shown; i++)
        printf("  %s\n", itg_verification_problem(v, i));
    if (problems > shown) printf("  and %d more\n", (int)(problems - shown));
    if (problems > 0)
        return itg_cli_fail("%s: NOT verified, %d %s", args->arguments[0], (int)problems,
                            problems == 1 ? "discrepancy" : "discrepancies");
    return itg_cli_fail("%s: the certificate is true, but %d accumulator%s may overflow "
                        "(--allow-overflow accepts that)",
                        args->arguments[0], (int)(count - fit), itg_plural(count - fit));
}

/* Finds the name of the C source in a folder: that of its only certificate that does not belong to
 * an .itg file. */
static itg_status name_in(DIR *folder, const char *path, char *out, size_t size, itg_error *err)
{
    static const char end[] = ".cert.json", program[] = ".itg.cert.json";
    int found = 0;
    for (const struct dirent *e = readdir(folder); e != NULL; e = readdir(folder)) {
        size_t length = strlen(e->d_name), tail = strlen(end), other = strlen(program);
        if (length <= tail || length - tail >= size || strcmp(e->d_name + length - tail, end) != 0)
            continue;
        if (length >= other && strcmp(e->d_name + length - other, program) == 0) continue;
        snprintf(out, size, "%.*s", (int)(length - tail), e->d_name);
        found++;
    }
    if (found == 1) return ITG_OK;
    return itg_fail(err, ITG_BAD_ARGUMENT, "%s: %s", path,
                    found == 0 ? "no certificate of C source in this folder"
                               : "several certificates of C source in one folder");
}

static itg_status verify(const itg_cli_args *args, itg_verification **out, itg_error *err)
{
    const char *path = args->arguments[0];
    char name[128] = "";
    DIR *folder = opendir(path);
    if (folder == NULL)
        return itg_verify(path, args->values[ITG_CLI_OPT_CERTIFICATE].text, out, err);
    itg_status status = name_in(folder, path, name, sizeof name, err);
    (void)closedir(folder);
    if (status == ITG_OK && args->given[ITG_CLI_OPT_CERTIFICATE])
        status = itg_fail(err, ITG_BAD_ARGUMENT, "--certificate: not for a folder");
    return status == ITG_OK ? itg_verify_source(path, name, out, err) : status;
}

static int run(const itg_cli_args *args)
{
    itg_verification *v = NULL;
    itg_error err = {0};
    int result;
    if (verify(args, &v, &err) != ITG_OK)
        result = itg_cli_fail_error(&err);
    else
        result = args->given[ITG_CLI_OPT_JSON] ? print_json(args, v) : print_text(args, v);
    itg_verification_destroy(v);
    return result;
}

const itg_cli_command itg_cli_verify = {
    .name = "verify",
    .summary = "Proves an integer program's bounds anew, and that nobody changed it",
    .usage = "PROGRAM [--certificate FILE] [--allow-overflow]\n"
             "DIR [--allow-overflow]",
    .details =
        "Derives every accumulator's interval, every requantization's, and the hash of every "
        "tensor "
        "and node from\nPROGRAM's own bytes, by code of its own, and compares them with the "
        "certificate that 'intaglio realize'\nwrote beside it. Any difference fails and is named.\n"
        "\n"
        "DIR holds C source that 'realize --emit c' wrote: it is written anew from the "
        "program\nthat lies beside it, which is verified, too, and must be the same.",
    .min_arguments = 1,
    .max_arguments = 1,
    .arguments = {"PROGRAM"},
    .options = {ITG_CLI_OPT_CERTIFICATE, ITG_CLI_OPT_VERIFY_OVERFLOW},
    .run = run,
};
