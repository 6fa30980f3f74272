/* runtime/cuda/fleet: replicas that decode their own answers side by side, over the emulated driver. The results of
 * each replica are bit-identical to those of a replica that decodes alone, by passes of its own. */
#include "support/lh_test.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "eval/evaluate.h"
#include "longhand/cuda_place.h"
#include "support/lh_run.h"
#include "support/toy_fleet.h"
#include "support/toy_program.h"

enum { REPLICAS = 5, EXAMPLES = 40, LENGTHS = 2 };

/* Lengths 6 and 9. */
static const lh_eval_request greedy = {.lengths = {NULL, 0, 6, 9, 3}, .examples = EXAMPLES, .draws = 2, .seed = 1};

/* The results of an evaluation, the text of its lines for single examples and for wrong answers, and its number of
 * launches. */
typedef struct evaluated {
    lh_eval_result results[LENGTHS];
    char *text[2];
    size_t size[2];
    int launches;
} evaluated;

static lh_status try_evaluation(lh_engine *engine, const lh_eval_request *original, evaluated *e, lh_error *error) {
    lh_eval_request request = *original;
    int old_launches = lh_emulation_launches();
    request.per_example = tmpfile();
    request.wrong = tmpfile();
    assert_true(request.per_example != NULL && request.wrong != NULL);
    FILE *files[] = {request.per_example, request.wrong};
    lh_status status = lh_evaluate(engine, &request, e->results, error);
    e->launches = lh_emulation_launches() - old_launches;
    for (int i = 0; i < 2; i++) {
        e->size[i] = (size_t)ftell(files[i]);
        e->text[i] = malloc(e->size[i] + 1);
        assert_non_null(e->text[i]);
        rewind(files[i]);
        assert_int_equal(fread(e->text[i], 1, e->size[i], files[i]), e->size[i]);
        fclose(files[i]);
    }
    return status;
}

static evaluated evaluate(lh_engine *engine, const lh_eval_request *request) {
    evaluated e;
    lh_error error;
    lh_assert_ok(try_evaluation(engine, request, &e, &error), &error);
    return e;
}

/* Evaluates a single replica with this engine's state; eval/decode.h runs its passes. */
static evaluated evaluate_alone(lh_engine *engine, const lh_eval_request *request) {
    lh_engine *single;
    lh_error error;
    lh_state s = lh_test_copy_state(engine);
    lh_toy_open_fleet(engine->spec, NULL, 1, 1, &single);
    lh_assert_ok(single->ops->write_state(single, &s, engine->step, &error), &error);
    single->answers_greedily = false;
    evaluated e = evaluate(single, request);
    lh_state_close(&s);
    single->ops->close(single);
    return e;
}

static void release(evaluated *e) {
    free(e->text[0]);
    free(e->text[1]);
}

static void assert_same(const evaluated *a, const evaluated *b) {
    for (int i = 0; i < 2; i++) {
        assert_int_equal(a->size[i], b->size[i]);
        assert_memory_equal(a->text[i], b->text[i], a->size[i]);
    }
    for (int i = 0; i < LENGTHS; i++) assert_memory_equal(&a->results[i], &b->results[i], sizeof a->results[i]);
}

/* Compares the evaluations of replicas, one after the other, with those of single ones. launches: those of each
 * replica; single_launches: the sum over single replicas. */
static void check_replicas(lh_engine **engines, const lh_eval_request *request, int launches[REPLICAS],
                           int *single_launches) {
    *single_launches = 0;
    for (int i = 0; i < REPLICAS; i++) {
        evaluated together = evaluate(engines[i], request), single = evaluate_alone(engines[i], request);
        assert_same(&together, &single);
        assert_true(single.size[0] > 0 && (single.size[1] > 0) == (request->noise.count == 0));
        launches[i] = together.launches;
        *single_launches += single.launches;
        release(&together);
        release(&single);
    }
    assert_int_equal(((lh_cuda_engine *)engines[0])->fleet->early_bytes, 0);
}

/* Opens replicas and makes ten steps of each. */
static lh_cuda_fleet *open_trained(const lh_spec *spec, int multiprocessors, lh_engine **engines) {
    lh_toy_record *records = lh_toy_new_records(REPLICAS);
    lh_toy_use_device((lh_emulation){.multiprocessors = multiprocessors, .order = (unsigned)multiprocessors});
    lh_toy_open_fleet(spec, NULL, 3, REPLICAS, engines);
    lh_toy_run_fleet(engines, REPLICAS, 10, 5, records);
    free(records);
    return ((lh_cuda_engine *)engines[0])->fleet;
}

static void close_trained(lh_engine **engines) {
    lh_toy_close_all(engines, REPLICAS);
    lh_toy_end_device();
}

/* The first replica's passes serve all replicas, on fewer blocks than replicas and on more. */
static void test_greedy_replicas_share_passes(void **state) {
    lh_spec spec = lh_toy_fleet_pair();
    for (int multiprocessors = 1; multiprocessors <= 8; multiprocessors *= 2) {
        lh_engine *engines[REPLICAS];
        int launches[REPLICAS], single_launches;
        open_trained(&spec, multiprocessors, engines);
        check_replicas(engines, &greedy, launches, &single_launches);
        for (int i = 1; i < REPLICAS; i++) assert_int_equal(launches[i], 0);
        if (lh_toy_device.evaluate_blocks >= REPLICAS)
            assert_true(3 * launches[0] < single_launches); /* 21 launches, not 87 */
        close_trained(engines);
    }
}

static const void *batches; /* the fleet's batches in pinned memory */
static size_t most_copied;  /* bytes of the largest copy from there to the device */

static CUresult copy_and_measure(CUdeviceptr to, const void *from, size_t bytes, CUstream stream) {
    if (from == batches && bytes > most_copied) most_copied = bytes;
    return lh_emulated_driver()->cuMemcpyHtoDAsync(to, from, bytes, stream);
}

/* A pass has as many replicas, in their order, as fit into the memory of batches. */
static void test_greedy_in_several_passes_if_batches_do_not_fit(void **state) {
    lh_spec spec = lh_toy_fleet_pair();
    lh_engine *engines[REPLICAS];
    int launches[REPLICAS], single_launches, previous_launches = 0;
    lh_cuda_fleet *fleet = open_trained(&spec, 8, engines);
    lh_cuda_driver driver = *lh_toy_device.driver;
    driver.cuMemcpyHtoDAsync = copy_and_measure;
    fleet->driver = &driver;
    for (int fitting = REPLICAS; fitting >= 1; fitting -= 2) {
        check_replicas(engines, &greedy, launches, &single_launches); /* reserves all memory */
        size_t batch = fleet->forward.reserved[LH_CUDA_NEED_BATCH];
        if (fitting == REPLICAS) assert_int_equal(fleet->forward.batch_bytes, REPLICAS * batch);
        fleet->forward.batch_bytes = (size_t)fitting * batch;
        batches = fleet->forward.host_batch;
        most_copied = 0;
        check_replicas(engines, &greedy, launches, &single_launches);
        assert_in_range(most_copied, fleet->forward.batch_bytes / 2, fleet->forward.batch_bytes);
        assert_true(launches[0] > previous_launches && launches[0] < single_launches);
        previous_launches = launches[0];
    }
    close_trained(engines);
}

/* If only two replicas fit into a pass, the first, third and fifth request compute for two, two and one; no replica is
 * computed twice. */
static void test_passes_of_few_replicas_compute_each_replica_once(void **state) {
    lh_spec spec = lh_toy_fleet_pair();
    lh_eval_request forced = greedy;
    lh_engine *engines[REPLICAS];
    int launches[REPLICAS], single_launches;
    forced.teacher_forced = true;
    lh_cuda_fleet *fleet = open_trained(&spec, 8, engines);
    check_replicas(engines, &forced, launches, &single_launches);
    assert_int_equal(launches[0], 2 * LENGTHS);
    fleet->forward.replicas_per_pass = 2;
    for (int round = 0; round < 2; round++) {
        check_replicas(engines, &forced, launches, &single_launches);
        for (int i = 0; i < REPLICAS; i++) assert_int_equal(launches[i], i % 2 == 0 ? 2 * LENGTHS : 0);
    }
    check_replicas(engines, &greedy, launches, &single_launches);
    for (int i = 0; i < REPLICAS; i++) assert_int_equal(launches[i] > 0, i % 2 == 0);
    close_trained(engines);
}

static int sizes_asked;

static size_t count_sizes(const lh_shape *shape, lh_mode mode) {
    sizes_asked++;
    return toy_cuda.workspace_bytes(shape, mode);
}

/* One size of each length suffices for any number of replicas. */
static void test_reserve_asks_for_each_length_once(void **state) {
    lh_cuda_program counted = toy_cuda;
    lh_engine *engines[REPLICAS];
    lh_error error;
    const lh_lengths lengths = {NULL, 0, 1, 20, 1}; /* lengths 1 to 20 */
    counted.workspace_bytes = count_sizes;
    lh_toy_program = &counted;
    lh_spec spec = lh_toy_fleet_pair();
    open_trained(&spec, 8, engines);
    for (int i = 0; i < REPLICAS; i++) {
        sizes_asked = 0;
        lh_assert_ok(engines[i]->ops->reserve(engines[i], &lengths, EXAMPLES, &error), &error);
        assert_int_equal(sizes_asked, 20);
    }
    close_trained(engines);
    lh_toy_program = &toy_cuda;
}

static size_t count_each(const lh_shape *shape) { return (size_t)shape->sequences * toy_cuda.draw_count(shape); }

/* Makes draws that depend on the batch index of the first sequence. */
static void draw_by_index(const lh_draw *from, const lh_shape *shape, const int32_t *const positions[LH_MAX_STREAMS],
                          const int32_t *const distances[LH_MAX_STREAMS], int *scratch, int *out) {
    for (int s = 0; s < shape->sequences; s++, out += toy_cuda.draw_count(shape)) {
        toy_cuda.draw(from, shape, positions, distances, scratch, out);
        for (size_t i = 0; i < toy_cuda.draw_count(shape); i++) out[i] = (out[i] + (int)from->first) % 64;
    }
}

/* Unfinished sequences of a replica begin at an index of its own, on which its draws and noise depend. */
static void test_greedy_draws_by_index_in_the_batch(void **state) {
    lh_cuda_program by_index = toy_cuda;
    lh_engine *engines[REPLICAS];
    int launches[REPLICAS], single_launches;
    by_index.draw_count = count_each;
    by_index.draw = draw_by_index;
    lh_toy_program = &by_index;
    lh_spec spec = lh_toy_fleet_pair();
    const lh_cuda_fleet *fleet = open_trained(&spec, 8, engines);
    for (int has_noise = 0; has_noise < 2; has_noise++) {
        const double deviation = 0.5;
        lh_eval_request request = greedy;
        if (has_noise) request.noise = (lh_noise){.deviation = &deviation, .count = 1};
        spec.draws_by_sequence = !has_noise;
        check_replicas(engines, &request, launches, &single_launches);
        for (int i = 1; i < REPLICAS; i++) assert_int_equal(launches[i], 0);
        const lh_cuda_step *step = fleet->forward.host_models;
        assert_true(step->rate == (has_noise ? deviation : 0));
    }
    close_trained(engines);
    lh_toy_program = &toy_cuda;
}

/* A replica at another step (4), and one that decodes fewer examples (1), are evaluated on their own. */
static void test_greedy_of_other_steps_and_requests_apart(void **state) {
    lh_spec spec = lh_toy_fleet_pair();
    lh_eval_request short_request = greedy;
    lh_engine *engines[REPLICAS];
    lh_error error;
    short_request.greedy_examples = EXAMPLES / 4;
    open_trained(&spec, 8, engines);
    lh_state s = lh_test_copy_state(engines[2]);
    lh_assert_ok(engines[4]->ops->write_state(engines[4], &s, 11, &error), &error);
    lh_state_close(&s);
    for (int i = 0; i < REPLICAS; i++) {
        const lh_eval_request *request = i == 1 ? &short_request : &greedy;
        evaluated together = evaluate(engines[i], request), single = evaluate_alone(engines[i], request);
        assert_same(&together, &single);
        assert_int_equal(together.launches > 0, i == 0 || i == 1 || i == 4);
        release(&together);
        release(&single);
    }
    close_trained(engines);
}

/* A signal between passes ends the evaluation without stored results. A repeated evaluation gives the same results. */
static void test_greedy_ends_after_the_pass_at_a_signal(void **state) {
    lh_spec spec = lh_toy_fleet_pair();
    lh_engine *engines[REPLICAS];
    lh_error error;
    int launches[REPLICAS], single_launches;
    evaluated e;
    lh_cuda_fleet *fleet = open_trained(&spec, 8, engines);
    engines[0]->stop = &lh_toy_interrupted.stop;
    for (int launch = 1; launch <= 4; launch++) {
        fleet->driver = lh_toy_interrupt(false);
        lh_toy_interrupted.interrupted_launch = launch;
        assert_int_equal(try_evaluation(engines[0], &greedy, &e, &error), LH_STOPPED);
        assert_int_equal(lh_toy_interrupted.launch_count, launch);
        assert_int_equal(e.size[0] + e.size[1], 0);
        assert_int_equal(fleet->early_bytes, 0);
        release(&e);
    }
    engines[0]->stop = NULL;
    check_replicas(engines, &greedy, launches, &single_launches);
    close_trained(engines);
}

/* The device fails in a pass over the targets or over answers: it is lost, and all memory is released. */
static void test_greedy_on_a_failing_device_is_reported(void **state) {
    lh_spec spec = lh_toy_fleet_pair();
    for (int launch = 1; launch <= 3; launch++) {
        lh_engine *engines[REPLICAS];
        lh_error error;
        evaluated e;
        lh_cuda_fleet *fleet = open_trained(&spec, 8, engines);
        fleet->driver = lh_toy_interrupt(true);
        lh_toy_interrupted.interrupted_launch = launch;
        lh_assert_error(try_evaluation(engines[0], &greedy, &e, &error), LH_ERR_ENVIRONMENT, &error, "is lost");
        assert_int_equal(fleet->early_bytes, 0);
        release(&e);
        close_trained(engines);
    }
}

static const void *listed_parameters; /* parameters of the last listed launches */
static int models_listed;             /* number of times that these parameters changed */

/* Lists the only phase of the toy as a wide model. */
static int wide_launches(const lh_shape *shape, lh_cuda_passes passes, lh_mode mode, void *workspace,
                         const void *parameters, void *gradient, lh_cuda_launch *launch) {
    models_listed += parameters != listed_parameters;
    listed_parameters = parameters;
    *launch = (lh_cuda_launch){.phase = mode == LH_MODE_TRAIN ? (int)LH_CUDA_END : (int)LH_CUDA_FIRST};
    return 1;
}

/* The first request starts the passes of all replicas. A replica has the same groups as if it were alone. */
static void test_greedy_wide_replicas_share_passes(void **state) {
    lh_cuda_program wide = toy_cuda;
    lh_engine *engines[REPLICAS];
    int launches[REPLICAS], single_launches;
    wide.most_launches = 1;
    wide.launches = wide_launches;
    wide.train_kernel = "toy_wide_train_kernel";
    lh_toy_program = &wide;
    lh_spec spec = lh_toy_fleet_pair();
    const lh_cuda_fleet *fleet = open_trained(&spec, 1, engines);
    assert_non_null(fleet->library);
    check_replicas(engines, &greedy, launches, &single_launches);
    assert_int_equal(launches[0], single_launches);
    for (int i = 1; i < REPLICAS; i++) assert_int_equal(launches[i], 0);
    models_listed = 0;
    evaluated repeated = evaluate(engines[0], &greedy);
    assert_true(models_listed >= 2 * LENGTHS * REPLICAS); /* those of every replica in each pass over targets */
    release(&repeated);
    close_trained(engines);
    lh_toy_program = &toy_cuda;
}

static atomic_bool signals;

/* Sends SIGTERM once, if `signals`, while example 2 of step 11 of seed 4 is sampled. */
static void sample_and_signal(lh_rng *rng, int n, lh_example *example) {
    lh_toy_spec.task->sample(rng, n, example);
    if (rng->counter[3] == 11 && rng->counter[2] == 2 && rng->key.word[0] == 4 && atomic_exchange(&signals, false))
        raise(SIGTERM);
}

static void train(void **state, const lh_spec *spec, int code, const char *out, int first, int last,
                  const char *flags) {
    char command[160];
    snprintf(command, sizeof command, "train --device cuda --out %s --steps 33 --seeds %d:%d%s", out, first, last,
             flags);
    lh_run_expect(spec, *state, code, command, NULL);
}

/* A run has the same files if it trains in a group, alone, or in a group that a signal stops and that is resumed.
 * eval.jsonl has the run's own answers, during training and at its end. */
static void test_greedy_runs_equal_single_and_resumed_runs(void **state) {
    lh_emulation_set(&(lh_emulation){.multiprocessors = 4});
    lh_emulated_driver()->cuInit(0); /* cuda/driver.c calls cuInit only once per process */
    lh_spec spec = lh_toy_fleet_pair();
    lh_task task = *spec.task;
    task.sample = sample_and_signal;
    spec.task = &task;
    spec.eval.during_every = 7;
    train(state, &spec, 0, "group", 3, 5, "");
    for (int seed = 3; seed <= 5; seed++) train(state, &spec, 0, "alone", seed, seed, "");
    atomic_store(&signals, true);
    train(state, &spec, LH_STOPPED, "cut", 3, 5, "");
    train(state, &spec, 0, "cut", 3, 5, " --resume");
    for (int seed = 3; seed <= 5; seed++) {
        char run[64];
        snprintf(run, sizeof run, "toy_pair/0123456789abcdef/lr0.01-seed%d", seed);
        lh_assert_same_run(*state, "group", "alone", run);
        lh_assert_same_run(*state, "group", "cut", run);
    }
    size_t bytes;
    char *lines = lh_test_read(lh_test_path(*state, "group/toy_pair/0123456789abcdef/lr0.01-seed3/eval.jsonl"), &bytes);
    assert_non_null(strstr(lines, "greedy"));
    free(lines);
    assert_int_equal(lh_emulation_held(), 0);
}

int main(void) {
    setenv("LONGHAND_CUDA_DRIVER", LH_EMULATED_LIBRARY, 1);
    setenv("LONGHAND_CUBLASLT", LH_EMULATED_LIBRARY, 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_greedy_replicas_share_passes),
        cmocka_unit_test(test_greedy_in_several_passes_if_batches_do_not_fit),
        cmocka_unit_test(test_passes_of_few_replicas_compute_each_replica_once),
        cmocka_unit_test(test_reserve_asks_for_each_length_once),
        cmocka_unit_test(test_greedy_draws_by_index_in_the_batch),
        cmocka_unit_test(test_greedy_of_other_steps_and_requests_apart),
        cmocka_unit_test(test_greedy_ends_after_the_pass_at_a_signal),
        cmocka_unit_test(test_greedy_on_a_failing_device_is_reported),
        cmocka_unit_test(test_greedy_wide_replicas_share_passes),
        cmocka_unit_test_setup_teardown(test_greedy_runs_equal_single_and_resumed_runs, lh_test_make_directory,
                                        lh_test_remove_directory),
    };
    return cmocka_run_group_tests_name("cuda_together", tests, NULL, NULL);
}
