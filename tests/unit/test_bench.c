/* longhand/timings.h and bench: ticks count for the part that a thread is in, waiting is detected, and as many replicas
 * run as reported. */
#include "lh_test.h"

#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "base/team.h"
#include "bench/bench.h"
#include "bench/replica_set.h"
#include "lh_engines.h"
#include "toy_program.h"

static void sleep_ms(int milliseconds) {
    struct timespec time = {0, milliseconds * 1000000L};
    nanosleep(&time, NULL);
}

/* Runs work on a team and returns the ticks of each part. */
static void measure_ticks(int threads, lh_team_work *work, double ticks[LH_PARTS]) {
    uint64_t old_ticks[LH_PARTS], new_ticks[LH_PARTS];
    lh_timings_read(old_ticks);
    lh_team_run(threads, work, NULL);
    lh_timings_read(new_ticks);
    for (int i = 0; i < LH_PARTS; i++) ticks[i] = (double)(new_ticks[i] - old_ticks[i]);
}

static void sleep_in_attention(void) {
    LH_TIMED(LH_PART_ATTENTION);
    sleep_ms(60);
}

static void sleep_in_parts(void *argument, int index, int count) {
    LH_TIMED(LH_PART_PRODUCTS);
    sleep_ms(20);
    sleep_in_attention();
    sleep_ms(20);
}

/* Sleeps are never too short and seldom much too long: the measured ratio is 60 ms / 40 ms within a factor of two. */
static void test_timings_of_nested_parts_are_separate(void **state) {
    double ticks[LH_PARTS];
    measure_ticks(1, sleep_in_parts, ticks);
    double ratio = ticks[LH_PART_ATTENTION] / ticks[LH_PART_PRODUCTS];
    assert_true(ratio > 0.75 && ratio < 3.0);
    assert_true(ticks[LH_PART_WAITING] == 0);
    assert_true(ticks[LH_PART_REST] < ticks[LH_PART_PRODUCTS]);
}

static void sleep_in_exponentials(void *argument, int index, int count) {
    LH_TIMED(LH_PART_ATTENTION);
    sleep_ms(20);
    LH_TIMED_FINELY(LH_PART_EXPONENTIALS);
    sleep_ms(40);
}

/* Exponentials are a separate part in a fine profile; in a coarse one they belong to attention. */
static void test_timings_of_exponentials_are_separate_in_a_fine_profile_alone(void **state) {
    double ticks[LH_PARTS];
    measure_ticks(1, sleep_in_exponentials, ticks);
    assert_true(ticks[LH_PART_EXPONENTIALS] == 0 && ticks[LH_PART_ATTENTION] > 0);
    lh_timings_fine = true;
    measure_ticks(1, sleep_in_exponentials, ticks);
    lh_timings_fine = false;
    double ratio = ticks[LH_PART_EXPONENTIALS] / ticks[LH_PART_ATTENTION];
    assert_true(ratio > 1 && ratio < 4);
}

static void sleep_then_meet(void *argument, int index, int count) {
    if (index == 0) sleep_ms(60);
    lh_team_barrier();
}

/* Thread 1 waits as long as thread 0 sleeps. */
static void test_timings_count_a_barrier_as_waiting(void **state) {
    double ticks[LH_PARTS];
    measure_ticks(2, sleep_then_meet, ticks);
    assert_true(ticks[LH_PART_WAITING] > 0.5 * ticks[LH_PART_REST]);
    assert_true(ticks[LH_PART_WAITING] < 1.5 * ticks[LH_PART_REST]);
}

/* The first shard of a step takes 40 ms, later shards take no time. */
static void train_slow_first_block(const lh_cpu_step *step, const lh_cpu_block *block, void *workspace, void *gradient,
                                   lh_sums *sums) {
    if (block->first_example == 0) sleep_ms(40);
    toy_float.train_block(step, block, workspace, gradient, sums);
}

static lh_bench_result bench_toy(const lh_cpu_program *program, int threads, int replicas) {
    static const lh_cpu_program *list[2];
    list[0] = program;
    lh_error error;
    lh_bench_result result;
    lh_spec spec = lh_toy_make_spec(list);
    lh_target target = {.spec = spec, .cpu = program};
    lh_bench_request request = {.target = &target,
                                .mode = LH_MODE_TRAIN,
                                .length = 3,
                                .threads = threads,
                                .replicas = replicas,
                                .seconds = 0.5};
    lh_assert_ok(lh_bench(&request, &result, &error), &error);
    return result;
}

/* The slow first shard delays a step: of two threads one waits for it; a single thread never waits. */
static void test_bench_counts_waiting_for_a_slow_shard(void **state) {
    lh_cpu_program slow = toy_float;
    slow.train_block = train_slow_first_block;
    lh_bench_result two_threads = bench_toy(&slow, 2, 0), one_thread = bench_toy(&slow, 1, 0);
    assert_true(two_threads.parts[LH_PART_WAITING] > 0.35 && two_threads.parts[LH_PART_WAITING] < 0.65);
    assert_true(one_thread.parts[LH_PART_WAITING] < 0.1);
    assert_true(one_thread.parts[LH_PART_REST] > 0.8);
}

static double count_skipped_flops(const lh_shape *shape, lh_mode mode) {
    return 2.0 * shape->sequences * (mode == LH_MODE_TRAIN ? 3 : 1);
}

/* Operations that the code of a level leaves out are not counted as executed; nominal operations are not changed. */
static void test_bench_counts_no_skipped_work_as_executed(void **state) {
    lh_cpu_program skips = toy_float;
    skips.skipped_flops = count_skipped_flops;
    lh_bench_result full = bench_toy(&toy_float, 1, 0), fewer = bench_toy(&skips, 1, 0);
    lh_spec spec = lh_toy_make_spec(toy_float_list);
    lh_shape shape = lh_make_shape(&spec, 3, spec.train.batch);
    const double nominal = spec.nominal_flops(&shape, LH_MODE_TRAIN),
                 skipped = count_skipped_flops(&shape, LH_MODE_TRAIN);
    assert_true(full.flops_per_second == full.nominal_per_second);
    assert_true(fewer.nominal_per_second == nominal * fewer.steps_per_second);
    assert_true(fewer.flops_per_second == (nominal - skipped) * fewer.steps_per_second);
}

static atomic_int in_first_shard; /* number of replicas that are in the first shard of a step */
static atomic_bool have_met;

/* Once, the first shard of a step waits until another replica is in its first shard, for at most a minute. */
static void train_block_and_meet(const lh_cpu_step *step, const lh_cpu_block *block, void *workspace, void *gradient,
                                 lh_sums *sums) {
    if (block->first_example == 0) {
        if (atomic_fetch_add(&in_first_shard, 1) > 0) atomic_store(&have_met, true);
        for (int i = 0; i < 60000 && !atomic_load(&have_met); i++) sleep_ms(1);
        atomic_fetch_sub(&in_first_shard, 1);
    }
    train_slow_first_block(step, block, workspace, gradient, sums);
}

/* Replicas do not wait for each other, and the rate counts the steps of all replicas. A step only sleeps, so the number
 * of processors does not matter. */
static void test_bench_runs_replicas_side_by_side(void **state) {
    lh_cpu_program slow = toy_float, meeting = toy_float;
    slow.train_block = train_slow_first_block;
    meeting.train_block = train_block_and_meet;
    lh_bench_result one_replica = bench_toy(&slow, 4, 1), two_replicas = bench_toy(&meeting, 4, 2);
    assert_int_equal(one_replica.threads, 1);
    assert_int_equal(two_replicas.threads, 2);
    assert_int_equal(two_replicas.replicas, 2);
    assert_true(atomic_load(&have_met));
    assert_true(two_replicas.steps_per_second > one_replica.steps_per_second);
}

/* Three replicas on two threads, four steps: the same bits as single engines with equal seeds. */
static void test_replicas_have_the_bits_of_single_engines(void **state) {
    lh_error error;
    lh_replica_set set;
    lh_spec spec = lh_toy_make_spec(toy_float_list);
    lh_target target = {.spec = spec, .cpu = &toy_float};
    lh_bench_request request = {
        .target = &target, .mode = LH_MODE_TRAIN, .length = 5, .threads = 2, .replicas = 3, .seconds = 1.0};
    lh_assert_ok(lh_replica_set_open(&set, &request, &error), &error);
    assert_int_equal(set.workers, 2);
    lh_assert_ok(lh_replica_set_step(&set, 4, &error), &error);
    for (int seed = 0; seed < 3; seed++) {
        lh_step_metrics metrics[4];
        lh_engine_config config = {.spec = &spec,
                                   .seed = (uint64_t)seed,
                                   .learning_rate = spec.train.learning_rate,
                                   .threads = 2,
                                   .trains = true,
                                   .fixed_length = 5};
        lh_engine *single = lh_test_open_engine(config, &toy_float);
        lh_test_step(single, 4, metrics);
        assert_int_equal(set.replicas[seed].engine->step, 4);
        lh_state a = lh_test_copy_state(single), b = lh_test_copy_state(set.replicas[seed].engine);
        assert_memory_equal(a.parameters, b.parameters, TOY_STORAGE * sizeof(float));
        lh_state_close(&a);
        lh_state_close(&b);
        single->ops->close(single);
    }
    lh_replica_set_close(&set);
}

/* A failure of any replica is reported. */
static void test_failure_of_a_replica_is_reported(void **state) {
    lh_error error;
    lh_replica_set set;
    lh_spec spec = lh_toy_make_spec(toy_float_list);
    lh_target target = {.spec = spec, .cpu = &toy_float};
    lh_bench_request request = {
        .target = &target, .mode = LH_MODE_TRAIN, .length = 5, .threads = 2, .replicas = 3, .seconds = 1.0};
    lh_assert_ok(lh_replica_set_open(&set, &request, &error), &error);
    lh_state diverged;
    lh_assert_ok(lh_state_open(&diverged, set.replicas[2].engine, false, &error), &error);
    memset(diverged.parameters, 0xff, TOY_STORAGE * sizeof(float));
    set.replicas[2].engine->ops->write_state(set.replicas[2].engine, &diverged, 0, NULL);
    assert_int_equal(lh_replica_set_step(&set, 1, &error), LH_ERR_INPUT);
    assert_non_null(strstr(error.text, "no update was made"));
    lh_state_close(&diverged);
    lh_replica_set_close(&set);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_timings_of_nested_parts_are_separate),
        cmocka_unit_test(test_timings_of_exponentials_are_separate_in_a_fine_profile_alone),
        cmocka_unit_test(test_timings_count_a_barrier_as_waiting),
        cmocka_unit_test(test_bench_counts_waiting_for_a_slow_shard),
        cmocka_unit_test(test_bench_runs_replicas_side_by_side),
        cmocka_unit_test(test_replicas_have_the_bits_of_single_engines),
        cmocka_unit_test(test_failure_of_a_replica_is_reported),
        cmocka_unit_test(test_bench_counts_no_skipped_work_as_executed),
    };
    return cmocka_run_group_tests_name("bench", tests, NULL, NULL);
}
