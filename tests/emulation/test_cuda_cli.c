/* --device cuda in the other verbs of a trainer, over the emulated driver: evaluation, predictions, gradients, speed,
 * facts, and messages about missing parts. */
#include "toy_device.h"

/* --- evaluation --------------------------------------------------------------------------------------------------- */

/* Returns the mean accuracy of a split, which the output prints after the split's lengths and their number. */
static double read_accuracy(void **state, const char *command, const char *split) {
    lh_run_result result = run(state, 0, command);
    const char *line = strstr(result.out, split);
    assert_non_null(line);
    double accuracy;
    assert_int_equal(sscanf(line + strlen(split), " %*s %*d %lf", &accuracy), 1);
    return accuracy;
}

static void test_checkpoint_evaluates_and_initialises_on_either_device(void **state) {
    run(state, 0, "train --out . --steps 20 --no-eval --seed 1");
    const char *const checkpoint = PLAN "lr0.01-seed1/checkpoint.safetensors";
    char command[256];
    for (int validation = 0; validation < 2; validation++) {
        double accuracy[2];
        for (int cuda = 0; cuda < 2; cuda++) {
            snprintf(command, sizeof command, "eval --checkpoint %s --out eval%d --device %s%s", checkpoint, cuda,
                     cuda ? "cuda" : "cpu", validation ? " --splits validation --lengths 3:6" : "");
            accuracy[cuda] = read_accuracy(state, command, validation ? "all validation" : "all beyond");
        }
        assert_true(accuracy[0] == accuracy[1]);
    }
    snprintf(command, sizeof command, "train --device cuda --out init --steps 5 --no-eval --init %s", checkpoint);
    run(state, 0, command);
    snprintf(command, sizeof command, "train --out back --steps 5 --no-eval --init init/%s",
             PLAN "lr0.01-seed0/checkpoint.safetensors");
    run(state, 0, command);
}

static void test_predict_equals_the_cpu(void **state) {
    static const char *const devices[] = {"cpu", "cuda"};
    json_t *logits[2];
    run(state, 0, "train --out . --steps 20 --no-eval");
    for (int i = 0; i < 2; i++) {
        char command[160];
        snprintf(command, sizeof command,
                 "predict --device %s --checkpoint " PLAN "lr0.01-seed0/checkpoint.safetensors", devices[i]);
        lh_run_result result =
            lh_run_main(&toy, *state, command,
                        "{\"input\":[1,4,2]}\n{\"input\":[3,3,0,1,2],\"positions\":[1,5,8,9,11,20,21,"
                        "22,23,24]}\n");
        assert_int_equal(result.code, 0);
        json_t *line = json_loads(strchr(result.out, '\n'), 0, NULL);
        logits[i] = json_incref(json_object_get(line, "logits"));
        json_decref(line);
    }
    for (size_t row = 0; row < 5; row++)
        for (size_t c = 0; c < TOY_CLASSES; c++) {
            double actual = json_number_value(json_array_get(json_array_get(logits[1], row), c));
            double expected = json_number_value(json_array_get(json_array_get(logits[0], row), c));
            lh_assert_close(&actual, &expected, 1, 1e-6, 1e-7);
        }
    json_decref(logits[0]);
    json_decref(logits[1]);
}

/* --- gradients --------------------------------------------------------------------------------------------------- */

static void use_double_toy(void) {
    program = toy_double_cuda;
    toy.precision = "float64";
}

/* Returns the line of a tensor in the report. */
static const char *find_line(const lh_run_result *result, const char *tensor) {
    static char line[128];
    const char *found = strstr(result->out, tensor);
    assert_non_null(found);
    snprintf(line, sizeof line, "%.*s", (int)strcspn(found, "\n"), found);
    return line;
}

static void test_gradcheck_right_gradients_pass(void **state) {
    use_double_toy();
    lh_run_result result = run(state, 0, "gradcheck --device cuda");
    assert_text(result.out, "147 checks of 7 tensors");
    assert_null(strstr(result.out, "WRONG"));
    run(state, 0, "gradcheck --device cuda:0 --lengths 3 --seed 5");
    toy.cpu = toy_double_list;
    assert_text(run(state, 0, "gradcheck --device cpu").out, "147 checks of 7 tensors");
}

static void test_gradcheck_wrong_gradient_named(void **state) {
    use_double_toy();
    program.train_kernel = "toy_wrong_train_kernel";
    lh_run_result result = run(state, 1, "gradcheck --device cuda --lengths 4");
    assert_text(find_line(&result, "layers.0.norm1.scale"), "WRONG");
    assert_text(find_line(&result, "embed.token.weight"), "ok");
    assert_text(result.err, "the gradients of 1 of 7 tensors are wrong");
}

/* The precision is checked before the device: there is none. */
static void test_gradcheck_float_build_refused(void **state) {
    set_device((lh_emulation){.devices = -1});
    assert_text(run(state, 2, "gradcheck --device cuda").err, "computes in float32, too coarse for differences");
}

static void test_gradcheck_on_a_failing_device_reports_the_cause(void **state) {
    use_double_toy();
    set_device((lh_emulation){
        .multiprocessors = 4, .failing_call = "cuLaunchCooperativeKernel", .failing_after = 3, .failing_result = 719});
    assert_text(run(state, 4, "gradcheck --device cuda").err, "is lost to this process");
    set_device((lh_emulation){.memory = 100000});
    assert_text(run(state, 4, "gradcheck --device cuda").err, "no memory on emulated sm_90");
    set_device((lh_emulation){0});
    assert_text(run(state, 1, "gradcheck --device cuda --lengths 40").err, "length 40: a sequence has");
}

/* --- bench, info, missing parts ----------------------------------------------------------------------------------- */

static void test_bench_on_a_device_has_all_keys_and_no_peak(void **state) {
    static const char *const keys[] = {"mode",
                                       "length",
                                       "tokens",
                                       "replicas",
                                       "threads",
                                       "steps_per_second",
                                       "processor_seconds_per_step",
                                       "flops_per_second",
                                       "peak_flops_per_second",
                                       "share_of_peak",
                                       "share_of_peak_nominal"};
    for (int replicas = 0; replicas < 4; replicas += 3) {
        char command[128];
        snprintf(command, sizeof command, "bench --device cuda --lengths 3 --seconds 0.2 --json%s",
                 replicas > 0 ? " --replicas 3" : "");
        lh_run_result result = run(state, 0, command);
        char *text = strdup(result.out), *cursor = text;
        int lines = 0;
        for (char *line; (line = strsep(&cursor, "\n")) != NULL && line[0] != 0; lines++) {
            json_t *json = json_loads(line, 0, NULL);
            for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) assert_non_null(json_object_get(json, keys[i]));
            assert_int_equal(json_integer_value(json_object_get(json, "replicas")), replicas > 0 ? 3 : 1);
            assert_true(json_number_value(json_object_get(json, "steps_per_second")) > 0);
            assert_true(json_number_value(json_object_get(json, "peak_flops_per_second")) == 0);
            assert_true(json_is_null(json_object_get(json, "share_of_peak")));
            assert_true(json_is_null(json_object_get(json, "processor_seconds_per_step")));
            json_decref(json);
        }
        assert_int_equal(lines, 2);
        free(text);
    }
    lh_run_result result = run(state, 0, "bench --device cuda --lengths 3 --seconds 0.05");
    assert_text(result.out, "toy, sm_90 (emulated sm_90); code: compute_75");
}

static void test_info_describes_the_cuda_half(void **state) {
    lh_run_result result = run(state, 0, "info --json");
    json_t *json = json_loads(result.out, 0, NULL), *cuda = json_object_get(json, "cuda");
    assert_int_equal(json_array_size(json_object_get(json, "targets")), 2);
    assert_int_equal(json_array_size(json_object_get(json, "architectures")), 0);
    assert_string(json_array_get(json_object_get(cuda, "devices"), 0), "runs", "compute_75");
    assert_string(json_array_get(json_object_get(cuda, "devices"), 0), "architecture", "sm_90");
    assert_string(cuda, "source_digest", "00000000deadbeef");
    assert_int_equal(json_array_size(json_object_get(cuda, "ptx")), 1);
    assert_int_equal(json_integer_value(json_object_get(json_object_get(cuda, "shards"), "chip")), 4);
    const json_t *driver = json_object_get(cuda, "least_driver");
    assert_true(json_is_null(json_object_get(driver, "images")));
    assert_string(json_object_get(driver, "ptx"), "cuda", "13.0");
    assert_int_equal(json_integer_value(json_object_get(json_object_get(driver, "ptx"), "release")), 580);
    json_decref(json);
    result = run(state, 0, "info");
    assert_text(result.out, "compute_75 by toolkit 13.0; needs sm_75 or later; float32");
    assert_text(result.out, "\n               needs a driver of release 580 or later (CUDA 13.0)\n");
    assert_text(result.out, "cuda:0 emulated sm_90, sm_90, 4 multiprocessors: runs compute_75");
    const lh_cuda_image images[] = {{.architecture = "sm_80"}, {.architecture = "compute_80"}, {0}};
    program.images = images;
    program.toolkit = "12.4";
    result = run(state, 0, "info");
    assert_text(result.out, "needs a driver of release 525 or later (CUDA 12.0); the PTX needs release 550 or later "
                            "(CUDA 12.4)\n");
    program.least_architecture = 100;
    result = run(state, 0, "info");
    assert_text(result.out, "this program needs sm_100 or later");
    set_device((lh_emulation){.devices = -1});
    result = run(state, 0, "info");
    assert_text(result.out, "the CUDA driver failed in cuDeviceGetCount");
    toy.cuda = NULL;
    result = run(state, 0, "info");
    assert_text(result.out, "--target cpu,cuda");
    result = run(state, 0, "info --json");
    assert_text(result.out, "\"cuda\":null");
}

static void test_unavailable_device_is_refused(void **state) {
    static const char *const verbs[] = {"train --no-eval", "eval --checkpoint x", "predict --checkpoint x", "bench",
                                        "gradcheck"};
    toy.precision = "float64";
    for (int i = 0; i < 5; i++) {
        char command[128];
        snprintf(command, sizeof command, "%s --device tpu", verbs[i]);
        assert_text(run(state, 2, command).err, "'tpu' is not a device\n  expected: cpu or cuda");
        snprintf(command, sizeof command, "%s --device cuda:x", verbs[i]);
        assert_text(run(state, 2, command).err, "'cuda:x' is not a device");
        snprintf(command, sizeof command, "%s --device cuda:3", verbs[i]);
        assert_text(run(state, 4, command).err, "no device cuda:3 here");
        set_device((lh_emulation){.devices = -1});
        snprintf(command, sizeof command, "%s --device cuda", verbs[i]);
        assert_text(run(state, 4, command).err, "the CUDA driver failed in cuDeviceGetCount");
        toy.cuda = NULL;
        assert_text(run(state, 4, command).err, "./longhand build SPEC --target cpu,cuda");
        toy.cuda = &program;
        set_device((lh_emulation){0});
    }
    assert_false(lh_test_exists(lh_test_path(*state, "runs")));
}

int main(void) {
    setenv("LONGHAND_CUDA_DRIVER", LH_EMULATED_LIBRARY, 1);
    const struct CMUnitTest tests[] = {
        RUN_TEST(test_checkpoint_evaluates_and_initialises_on_either_device),
        RUN_TEST(test_predict_equals_the_cpu),
        RUN_TEST(test_gradcheck_right_gradients_pass),
        RUN_TEST(test_gradcheck_wrong_gradient_named),
        RUN_TEST(test_gradcheck_float_build_refused),
        RUN_TEST(test_gradcheck_on_a_failing_device_reports_the_cause),
        RUN_TEST(test_bench_on_a_device_has_all_keys_and_no_peak),
        RUN_TEST(test_info_describes_the_cuda_half),
        RUN_TEST(test_unavailable_device_is_refused),
    };
    return cmocka_run_group_tests_name("cuda_cli", tests, NULL, NULL);
}
