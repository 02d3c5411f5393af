/* Runs the ONNX project's backend node tests: onnx_nodes DIR...
 * Every folder below DIR that has a model.onnx is a test; its folders test_data_set_* hold
 * input_*.pb and output_*.pb. Each is imported, prepared as it stands (batch and Softmax kept),
 * executed in float32 and compared as ONNX's backend does; outputs that the file calls 16-bit
 * floats, which are float32 here, within two units of their last place. Prints a line for each test
 * that is skipped or fails, then the totals; exit status 1 if any failed. */
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "graph/onnx/onnx_write.h"
#include "graph/onnx/tensor_types.h"
#include "kernels/float_ops.h"
#include "sim/sim.h"

#define RTOL 1e-3
#define ATOL 1e-7
enum { MAX_TENSORS = 64 };

typedef enum outcome { PASSED, FAILED, SKIPPED } outcome;

typedef struct totals {
    int count[3];
} totals;

/* One data set of one test; everything lies in the arena but graph and exec. */
typedef struct test {
    const char *folder;
    itg_arena *arena;
    itg_graph *imported, *prepared;
    itg_float_exec *exec;
    itg_tensor inputs[MAX_TENSORS], outputs[MAX_TENSORS];
    double rtol[MAX_TENSORS]; /* of the outputs */
    int input_count, output_count;
    itg_error err;
} test;

/* What this engine says it does not do is a skip; anything else is a failure. */
static outcome verdict(itg_status status)
{
    return status == ITG_OK ? PASSED : status == ITG_UNSUPPORTED ? SKIPPED : FAILED;
}

static bool exists(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0;
}

static itg_status load_tensors(test *t, const char *data_set, const char *kind, itg_tensor *out,
                               int *count)
{
    for (*count = 0; *count < MAX_TENSORS; (*count)++) {
        const char *path = itg_arena_format(t->arena, "%s/%s_%d.pb", data_set, kind, *count);
        if (!path || !exists(path))
            return path ? ITG_OK : itg_fail(&t->err, ITG_NO_MEMORY, "out of memory");
        itg_status status = itg_onnx_tensor_read(path, t->arena, &out[*count], &t->err);
        if (status != ITG_OK) return status;
    }
    return itg_fail(&t->err, ITG_LIMIT, "%s: too many tensors", data_set);
}

static double rtol_of(const char *type)
{
    if (strcmp(type, "FLOAT16") == 0) return 0x1p-9;
    return strcmp(type, "BFLOAT16") == 0 ? 0x1p-6 : RTOL;
}

static itg_status read_tolerances(test *t, const char *model)
{
    itg_onnx_file *file = NULL;
    itg_status status = itg_onnx_file_read(model, &file, &t->err);
    if (status != ITG_OK) return status;
    for (int32_t i = 0; i < file->output_count && i < MAX_TENSORS; i++)
        t->rtol[i] = rtol_of(itg_onnx_type_name(file->outputs[i].type));
    itg_onnx_file_destroy(file);
    return ITG_OK;
}

/* ---- feeding ---- */
/* May input slot `slot` of this operator vary at run time? What else a test feeds (weights, shapes,
 * axes, bounds, whatever decides a shape) is a constant here. */
static bool may_vary(itg_op op, int32_t slot)
{
    if (itg_op_is(op, ITG_IS_BROADCAST)) return true;
    switch (op) {
    case ITG_OP_RANGE:
    case ITG_OP_NON_ZERO:
    case ITG_OP_UNIQUE:
        return false;
    case ITG_OP_ONE_HOT:
        return slot != 1;
    case ITG_OP_MATMUL:
    case ITG_OP_GEMM:
    case ITG_OP_GATHER_ELEMENTS:
    case ITG_OP_GATHER_ND:
    case ITG_OP_TRILU:
    case ITG_OP_CUM_SUM:
    case ITG_OP_CUM_PROD:
    case ITG_OP_REVERSE_SEQUENCE:
        return slot <= 1;
    case ITG_OP_CONCAT:
    case ITG_OP_EINSUM:
    case ITG_OP_CAST_LIKE:
    case ITG_OP_SCATTER_ELEMENTS:
    case ITG_OP_SCATTER_ND:
        return true;
    case ITG_OP_ATTENTION:
        return slot <= 2;
    case ITG_OP_RNN:
    case ITG_OP_GRU:
    case ITG_OP_LSTM:
        return slot == 0 || slot == 5 || slot == 6;
    default:
        return slot == 0;
    }
}

/* Whether a slot that may not vary reads the value, or what is computed of it. */
static bool must_be_constant(const itg_graph *g, itg_id value)
{
    for (int32_t n = 0; n < g->node_count; n++) {
        const itg_node *node = &g->nodes[n];
        for (int32_t i = 0; i < node->input_count; i++) {
            if (node->inputs[i] != value) continue;
            if (!may_vary(node->op, i)) return true;
            if (itg_op_is(node->op, ITG_READS_SHAPE)) continue;
            for (int32_t o = 0; o < node->output_count; o++)
                if (node->outputs[o] != ITG_NONE && must_be_constant(g, node->outputs[o]))
                    return true;
        }
    }
    return false;
}

static bool is_run_time_input(const itg_graph *g, itg_id value, const itg_tensor *data)
{
    int64_t elements = 0;
    if (!itg_shape_elements(&data->shape, &elements) || elements == 0) return false;
    return !must_be_constant(g, value);
}

/* The tests' shapes are those of their data. Inputs that may not vary become constants; the others
 * are packed to the front of t->inputs. */
static itg_status bind_inputs(test *t)
{
    itg_graph *g = t->imported;
    itg_id varying[MAX_TENSORS];
    int32_t count = 0;
    if (g->input_count != t->input_count)
        return itg_fail(&t->err, ITG_BAD_FILE, "%d inputs, %d files", (int)g->input_count,
                        t->input_count);
    for (int32_t i = 0; i < t->input_count; i++) {
        itg_value *v = &g->values[g->inputs[i]];
        if (v->dtype != t->inputs[i].dtype)
            return itg_fail(&t->err, ITG_UNSUPPORTED, "input '%s': the data's type is another",
                            v->name);
        v->shape = t->inputs[i].shape;
        if (is_run_time_input(g, g->inputs[i], &t->inputs[i])) {
            t->inputs[count] = t->inputs[i];
            varying[count++] = g->inputs[i];
        } else {
            v->data = itg_arena_copy(g->arena, t->inputs[i].data, itg_tensor_bytes(&t->inputs[i]));
            v->is_input = false;
            if (!v->data) return itg_fail(&t->err, ITG_NO_MEMORY, "out of memory");
        }
    }
    t->input_count = count;
    return itg_graph_set_inputs(g, varying, count, &t->err);
}

static itg_status execute(test *t)
{
    static const itg_prepare_options options = {
        .eval = itg_float_eval, .model.keep_softmax = true, .keep_batch = true};
    itg_status status = itg_graph_prepare(t->imported, &options, &t->prepared, &t->err);
    if (status == ITG_OK)
        status = itg_float_exec_create(t->prepared, ITG_FLOAT_REFERENCE, &t->exec, &t->err);
    if (status != ITG_OK) return status;
    if (t->prepared->input_count != t->input_count)
        return itg_fail(&t->err, ITG_FAILURE, "preparation changed the number of inputs");
    for (int32_t i = 0; i < t->input_count; i++) {
        const itg_value *input = &t->prepared->values[t->prepared->inputs[i]];
        itg_tensor to = {input->dtype, input->shape, itg_float_exec_input(t->exec, i)};
        if (to.dtype != t->inputs[i].dtype || !itg_shape_equal(&to.shape, &t->inputs[i].shape))
            return itg_fail(&t->err, ITG_FAILURE, "preparation changed input %d", (int)i);
        memcpy(to.data, t->inputs[i].data, itg_tensor_bytes(&to));
    }
    return itg_float_exec_run(t->exec, &t->err);
}

/* ---- comparing ---- */
static double number(const itg_tensor *t, int64_t i)
{
    return t->dtype == ITG_F32 ? (double)((const float *)t->data)[i] : ((const double *)t->data)[i];
}

static bool is_close(double got, double want, double rtol)
{
    if (isnan(want) || isnan(got)) return isnan(want) && isnan(got);
    if (isinf(want) || isinf(got)) return got == want;
    return fabs(got - want) <= ATOL + rtol * fabs(want);
}

static itg_status compare(test *t, int index, const itg_tensor *got, const itg_tensor *want)
{
    char text[2][128];
    int64_t elements = 0;
    if (got->dtype == ITG_F32 && want->dtype == ITG_U16) /* bits of bfloat16 */
        return itg_fail(&t->err, ITG_UNSUPPORTED, "16-bit floats are float32 here");
    if (got->dtype != want->dtype)
        return itg_fail(&t->err, ITG_FAILURE, "output %d is %s; expected %s", index,
                        itg_dtype_name(got->dtype), itg_dtype_name(want->dtype));
    if (!itg_shape_equal(&got->shape, &want->shape) || !itg_shape_elements(&got->shape, &elements))
        return itg_fail(&t->err, ITG_FAILURE, "output %d has shape %s; expected %s", index,
                        itg_shape_text(&got->shape, text[0], sizeof text[0]),
                        itg_shape_text(&want->shape, text[1], sizeof text[1]));
    if (got->dtype != ITG_F32 && got->dtype != ITG_F64)
        return memcmp(got->data, want->data, itg_tensor_bytes(got)) == 0
                   ? ITG_OK
                   : itg_fail(&t->err, ITG_FAILURE, "output %d differs", index);
    for (int64_t i = 0; i < elements; i++)
        if (!is_close(number(got, i), number(want, i), t->rtol[index]))
            return itg_fail(&t->err, ITG_FAILURE, "output %d: element %lld is %.9g; expected %.9g",
                            index, (long long)i, number(got, i), number(want, i));
    return ITG_OK;
}

static itg_status compare_all(test *t)
{
    const itg_graph *g = t->prepared;
    if (g->output_count != t->output_count)
        return itg_fail(&t->err, ITG_FAILURE, "%d outputs, %d files", (int)g->output_count,
                        t->output_count);
    for (int32_t i = 0; i < g->output_count; i++) {
        itg_tensor got = itg_float_exec_output(t->exec, i);
        itg_status status = compare(t, i, &got, &t->outputs[i]);
        if (status != ITG_OK) return status;
    }
    return ITG_OK;
}

/* ---- running ---- */
static itg_status run_data_set(test *t, const char *data_set)
{
    const char *model = itg_arena_format(t->arena, "%s/model.onnx", t->folder);
    itg_status status = model ? itg_onnx_import(model, "", &t->imported, &t->err)
                              : itg_fail(&t->err, ITG_NO_MEMORY, "out of memory");
    if (status == ITG_OK) status = read_tolerances(t, model);
    if (status == ITG_OK) status = load_tensors(t, data_set, "input", t->inputs, &t->input_count);
    if (status == ITG_OK)
        status = load_tensors(t, data_set, "output", t->outputs, &t->output_count);
    if (status == ITG_OK) status = bind_inputs(t);
    if (status == ITG_OK) status = execute(t);
    return status == ITG_OK ? compare_all(t) : status;
}

static void report(const char *folder, outcome result, const char *why)
{
    static const char *const words[] = {"pass", "FAIL", "skip"};
    const char *name = strrchr(folder, '/');
    if (result != PASSED) printf("%s %s: %s\n", words[result], name ? name + 1 : folder, why);
}

static void run_test(const char *folder, totals *sum)
{
    outcome worst = SKIPPED;
    char why[sizeof((itg_error *)0)->message] = "no data";
    for (int i = 0;; i++) {
        test t = {.folder = folder, .arena = itg_arena_create(0)};
        const char *data_set =
            t.arena ? itg_arena_format(t.arena, "%s/test_data_set_%d", folder, i) : NULL;
        if (!data_set || !exists(data_set)) {
            itg_arena_destroy(t.arena);
            break;
        }
        outcome result = verdict(run_data_set(&t, data_set));
        if (i == 0 || result == FAILED) {
            worst = result;
            memcpy(why, t.err.message, sizeof why);
        }
        itg_float_exec_destroy(t.exec);
        itg_graph_destroy(t.prepared);
        itg_graph_destroy(t.imported);
        itg_arena_destroy(t.arena);
        if (result == FAILED) break;
    }
    report(folder, worst, why);
    sum->count[worst]++;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Names of the folders in a folder, sorted. */
static char **list_folders(const char *folder, itg_arena *arena, size_t *count)
{
    size_t capacity = 4096;
    char **names = itg_arena_array(arena, capacity, sizeof *names);
    DIR *dir = opendir(folder);
    *count = 0;
    for (struct dirent *entry; dir && names && *count < capacity && (entry = readdir(dir));) {
        struct stat info;
        if (entry->d_name[0] == '.') continue;
        names[*count] = itg_arena_format(arena, "%s/%s", folder, entry->d_name);
        if (names[*count] && stat(names[*count], &info) == 0 && S_ISDIR(info.st_mode)) (*count)++;
    }
    if (dir) closedir(dir);
    if (names) qsort(names, *count, sizeof *names, by_name);
    return names;
}

static void run_below(const char *folder, int depth, totals *sum)
{
    size_t count = 0;
    itg_arena *arena = itg_arena_create(0);
    const char *model = arena ? itg_arena_format(arena, "%s/model.onnx", folder) : NULL;
    if (model && exists(model)) {
        run_test(folder, sum);
    } else if (model && depth > 0) {
        char **names = list_folders(folder, arena, &count);
        for (size_t i = 0; names && i < count; i++)
            run_below(names[i], depth - 1, sum);
    }
    itg_arena_destroy(arena);
}

int main(int argc, char **argv)
{
    totals sum = {{0}};
    if (argc < 2) {
        fprintf(stderr, "usage: onnx_nodes DIR...\n");
        return 2;
    }
    for (int i = 1; i < argc; i++)
        run_below(argv[i], 8, &sum);
    printf("%d passed, %d failed, %d skipped\n", sum.count[PASSED], sum.count[FAILED],
           sum.count[SKIPPED]);
    return sum.count[FAILED] > 0 || sum.count[PASSED] + sum.count[SKIPPED] == 0;
}
