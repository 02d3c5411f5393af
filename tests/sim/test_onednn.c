/* Real networks by oneDNN's float kernels against the reference kernels: outputs within 1e-4 of the
 * largest one, the same class for nearly every image (printed), statistics of the same elements. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <string.h>
#include <unistd.h>
#include "sim/sim.h"

#define DATA "../shared/data/"
#define TOLERANCE 1e-4

enum { IMAGES = 100 };

static const char *const models[] = {DATA "models/resnet8_cifar10.onnx",
                                     DATA "models/mbv2_cifar10.onnx",
                                     DATA "models/vit_ln_cifar10.onnx"};
enum { MODELS = sizeof models / sizeof *models };

static bool can_run(void)
{
    if (!itg_float_kernels_built(ITG_FLOAT_ONEDNN))
        print_message("built without oneDNN: skipped\n");
    else if (access(models[0], R_OK) != 0)
        print_message("no " DATA ": skipped\n");
    else
        return true;
    return false;
}

static itg_preprocess cifar(void)
{
    itg_preprocess p = itg_preprocess_default();
    const float mean[] = {0.4914f, 0.4822f, 0.4465f}, std[] = {0.2470f, 0.2435f, 0.2616f};
    p.scale = 1.0f / 255.0f;
    p.mean_count = p.std_count = 3;
    memcpy(p.mean, mean, sizeof mean);
    memcpy(p.std, std, sizeof std);
    return p;
}

static int64_t largest(const itg_tensor *t)
{
    const float *x = t->data;
    int64_t n = 0, best = 0;
    itg_shape_elements(&t->shape, &n);
    for (int64_t i = 1; i < n; i++)
        if (x[i] > x[best]) best = i;
    return best;
}

/* The largest difference as a share of the largest output. */
static double difference(const itg_tensor *a, const itg_tensor *b)
{
    const float *x = a->data, *y = b->data;
    int64_t n = 0;
    double worst = 0, most = 0;
    itg_shape_elements(&a->shape, &n);
    for (int64_t i = 0; i < n; i++) {
        worst = fmax(worst, fabs((double)x[i] - (double)y[i]));
        most = fmax(most, fabs((double)x[i]));
    }
    return worst / most;
}

static void outputs_are_near_the_reference(void **state)
{
    const itg_preprocess p = cifar();
    (void)state;
    if (!can_run()) return;
    for (int m = 0; m < MODELS; m++) {
        itg_model *model = NULL;
        itg_dataset *data = NULL;
        itg_float_exec *exec[2] = {NULL, NULL};
        double worst = 0;
        int same = 0;
        assert_int_equal(itg_model_open(models[m], NULL, &model, NULL), ITG_OK);
        assert_int_equal(itg_data_open(DATA "cifar10/test_images_u8.npy", IMAGES, &data, NULL),
                         ITG_OK);
        for (int k = 0; k < 2; k++)
            assert_int_equal(itg_float_exec_create(model, (itg_float_kernels)k, &exec[k], NULL),
                             ITG_OK);
        for (int64_t i = 0; i < IMAGES; i++) {
            itg_tensor out[2];
            for (int k = 0; k < 2; k++) {
                itg_tensor input = itg_graph_tensor(model, model->inputs[0]);
                input.data = itg_float_exec_input(exec[k], 0);
                assert_int_equal(itg_preprocess_sample(&p, data, i, &input, NULL), ITG_OK);
                assert_int_equal(itg_float_exec_run(exec[k], NULL), ITG_OK);
                out[k] = itg_float_exec_output(exec[k], 0);
            }
            worst = fmax(worst, difference(&out[0], &out[1]));
            same += largest(&out[0]) == largest(&out[1]);
        }
        print_message("%s: %d of %d images get the same class, outputs differ by at most %.2g of "
                      "the largest\n",
                      itg_model_name(model), same, IMAGES, worst);
        assert_true(worst > 0); /* else oneDNN did not run */
        assert_true(worst <= TOLERANCE);
        assert_true(same >= IMAGES - 1);
        itg_float_exec_destroy(exec[0]);
        itg_float_exec_destroy(exec[1]);
        itg_data_close(data);
        itg_model_close(model);
    }
}

static itg_stats *calibrate(const itg_model *model, const itg_dataset *data,
                            itg_float_kernels kernels, int threads)
{
    const itg_calibration_source source = {.data = data};
    const itg_calibrate_options options = {ITG_CALIBRATE_OPTIONS_VERSION, .kernels = kernels,
                                           .threads = threads};
    const itg_preprocess p = cifar();
    itg_stats *stats = NULL;
    itg_error err = {.message = ""};
    if (itg_calibrate_from(model, &source, &p, &options, &stats, &err) != ITG_OK)
        fail_msg("%s", err.message);
    return stats;
}

static void statistics_are_near_and_do_not_depend_on_threads(void **state)
{
    (void)state;
    if (!can_run()) return;
    for (int m = 0; m < MODELS; m++) {
        itg_model *model = NULL;
        itg_dataset *data = NULL;
        assert_int_equal(itg_model_open(models[m], NULL, &model, NULL), ITG_OK);
        assert_int_equal(itg_data_open(DATA "cifar10/calib_images_u8.npy", 30, &data, NULL),
                         ITG_OK);
        itg_stats *reference = calibrate(model, data, ITG_FLOAT_REFERENCE, 2),
                  *fast = calibrate(model, data, ITG_FLOAT_ONEDNN, 1);
        assert_int_equal(reference->kernels, ITG_FLOAT_REFERENCE);
        assert_int_equal(fast->kernels, ITG_FLOAT_ONEDNN);
        for (int threads = 2; threads <= 3; threads++) {
            itg_stats *again = calibrate(model, data, ITG_FLOAT_ONEDNN, threads);
            assert_memory_equal(again->hash, fast->hash, 32);
            itg_stats_destroy(again);
        }
        for (int32_t v = 0; v < reference->value_count; v++) {
            const itg_value_stats *a = &reference->values[v], *b = &fast->values[v];
            const double range = fmax(fabs((double)a->min), fabs((double)a->max));
            assert_int_equal(a->present, b->present);
            if (!a->present) continue;
            assert_int_equal(a->count, b->count);
            assert_true(fabs((double)a->min - (double)b->min) <= TOLERANCE * range);
            assert_true(fabs((double)a->max - (double)b->max) <= TOLERANCE * range);
            assert_true(fabs(a->mean - b->mean) <= TOLERANCE * range);
        }
        itg_stats_destroy(reference);
        itg_stats_destroy(fast);
        itg_data_close(data);
        itg_model_close(model);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outputs_are_near_the_reference),
        cmocka_unit_test(statistics_are_near_and_do_not_depend_on_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
