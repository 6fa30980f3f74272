/* runtime/cuda: fleets of replicas over the emulated driver. The toy model's numbers are those of its CPU program;
 * every replica has the bits it has alone, whatever its neighbours, teams, launches and the order of threads. */
#include "support/lh_test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/finite/epoch.h"
#include "emulation.h"
#include "eval/evaluate.h"
#include "runtime/cuda/fleet/fleet.h"
#include "runtime/cuda/fleet/fleet_parts.h"
#include "support/toy_cuda.h"
#include "support/toy_program.h"

enum { MOST = 8, STEPS = 30 };

/* The sanitizer's allocator must answer a hopeless request as malloc does. */
const char *__asan_default_options(void);
const char *__asan_default_options(void) { return "allocator_may_return_null=1"; }

/* --- a device, and fleets on it --------------------------------------------------------------------------------- */

static lh_cuda_device device;
static const lh_cuda_program *program = &toy_cuda; /* that the device runs */

static void use_device(lh_emulation emulation) {
    lh_error error;
    lh_emulation_set(&emulation);
    lh_emulated_driver()->cuInit(0); /* cuda/driver.c calls it once per process */
    lh_assert_ok(lh_cuda_device_open(&device, program, 0, &error), &error);
}

static void end_device(void) {
    lh_cuda_device_close(&device);
    assert_int_equal(lh_emulation_held(), 0);
}

static lh_spec toy(void) {
    lh_spec spec = lh_toy_spec_with(toy_drawn_list);
    spec.position_range[0] = 64;
    spec.cuda = &toy_cuda;
    spec.train.batch = 13;
    return spec;
}

static lh_engine_config config_of(const lh_spec *spec, int seed) {
    return (lh_engine_config){
        .spec = spec, .seed = (uint64_t)seed, .learning_rate = 0.01 * (1 + seed % 3), .threads = 3, .trains = true};
}

/* Seeds first, first + 1, ... */
static void open_fleet(const lh_spec *spec, const lh_cuda_variant *variant, int first, int count, lh_engine **engines) {
    lh_error error;
    lh_engine_config configs[MOST];
    for (int i = 0; i < count; i++) configs[i] = config_of(spec, first + i);
    lh_assert_ok(lh_cuda_fleet_open(&device, variant, configs, count, engines, &error), &error);
}

static void close_all(lh_engine **engines, int count) {
    for (int i = 0; i < count; i++) engines[i]->ops->close(engines[i]);
}

typedef struct record {
    lh_step_metrics metrics[200];
    int64_t steps; /* recorded */
    lh_status status;
    lh_error error;
} record;

/* Asks every engine for `asked` steps in turn, as a group of loops does, until each has `wanted` or has failed. */
static void run_fleet(lh_engine **engines, int count, int wanted, int asked, record *records) {
    for (bool busy = true; busy;) {
        busy = false;
        for (int i = 0; i < count; i++) {
            record *r = &records[i];
            int done, left = wanted - (int)r->steps;
            if (left == 0 || r->status != LH_OK) continue;
            busy = true;
            r->status =
                engines[i]->ops->step(engines[i], left < asked ? left : asked, r->metrics + r->steps, &done, &r->error);
            r->steps += done;
            if (r->status != LH_OK || r->steps == wanted) lh_cuda_leave((lh_cuda_engine *)engines[i]);
        }
    }
}

static void run_one(lh_engine *engine, int wanted, int asked, record *r) { run_fleet(&engine, 1, wanted, asked, r); }

static record *new_records(int count) {
    record *records = calloc((size_t)count, sizeof *records);
    assert_non_null(records);
    return records;
}

static lh_state state_of(lh_engine *engine) {
    lh_error error;
    lh_state state;
    lh_assert_ok(lh_state_open(&state, engine, true, &error), &error);
    lh_assert_ok(engine->ops->read_state(engine, &state, &error), &error);
    return state;
}

static void assert_same_states(const lh_state *a, const lh_state *b) {
    size_t bytes = TOY_STORAGE * sizeof(float);
    assert_memory_equal(a->parameters, b->parameters, bytes);
    assert_memory_equal(a->optimizer[0], b->optimizer[0], bytes);
    assert_memory_equal(a->optimizer[1], b->optimizer[1], bytes);
}

/* A replica alone in its variant: what all others are compared with. */
typedef struct alone {
    record *record;
    lh_state state;
} alone;

static alone train_alone(const lh_spec *spec, const lh_cuda_variant *variant, int seed, int steps) {
    lh_engine *engine;
    alone one = {.record = new_records(1)};
    open_fleet(spec, variant, seed, 1, &engine);
    run_one(engine, steps, 5, one.record);
    lh_test_ok(one.record->status, &one.record->error, __FILE__, __LINE__);
    one.state = state_of(engine);
    engine->ops->close(engine);
    return one;
}

static void assert_as_alone(lh_engine *engine, const record *r, const alone *one) {
    lh_state state = state_of(engine);
    assert_int_equal(engine->step, one->record->steps);
    assert_memory_equal(r->metrics, one->record->metrics, (size_t)r->steps * sizeof r->metrics[0]);
    assert_same_states(&state, &one->state);
    lh_state_close(&state);
}

static void free_alone(alone *one) {
    free(one->record);
    lh_state_close(&one->state);
}

/* --- grids ------------------------------------------------------------------------------------------------------ */

static void assert_grid(bool chip, int replicas, int shards, int resident, int team, int at_once, int rounds) {
    lh_cuda_grid grid = lh_cuda_grid_of(chip, replicas, shards, resident);
    assert_int_equal(grid.team, team);
    assert_int_equal(grid.at_once, at_once);
    assert_int_equal(grid.rounds, rounds);
}

static void test_grid_teams_and_rounds(void **state) {
    (void)state;
    assert_grid(true, 1, 128, 132, 128, 1, 1);
    assert_grid(true, 1, 128, 84, 84, 1, 1);
    assert_grid(false, 1, 4, 132, 4, 1, 1);
    assert_grid(false, 8, 16, 132, 16, 8, 1);
    assert_grid(false, 20, 16, 132, 6, 20, 1);
    assert_grid(false, 30, 16, 132, 4, 30, 1);
    assert_grid(false, 33, 4, 132, 4, 33, 1);
    assert_grid(false, 34, 4, 132, 3, 34, 1);
    assert_grid(false, 66, 4, 132, 2, 66, 1);
    assert_grid(false, 67, 4, 132, 1, 67, 1);
    assert_grid(false, 132, 4, 132, 1, 132, 1);
    assert_grid(false, 133, 4, 132, 1, 67, 2);
    assert_grid(false, 400, 4, 132, 1, 100, 4);
    assert_grid(false, 3, 3, 132, 3, 3, 1);
    for (int replicas = 1; replicas < 300; replicas++)
        for (int resident = 1; resident < 20; resident++) {
            lh_cuda_grid grid = lh_cuda_grid_of(false, replicas, 4, resident);
            assert_true(grid.at_once * grid.team <= resident);
            assert_true(grid.at_once * grid.rounds >= replicas);
            assert_true(grid.at_once * (grid.rounds - 1) < replicas);
        }
}

/* --- the engine against the CPU's ------------------------------------------------------------------------------- */

static void assert_metrics_close(const lh_step_metrics *got, const lh_step_metrics *want, int count) {
    for (int i = 0; i < count; i++) {
        const lh_step_metrics *a = &got[i], *b = &want[i];
        lh_assert_close(&a->sums.loss, &b->sums.loss, 1, 1e-5, 0);
        lh_assert_close(&a->gradient_norm, &b->gradient_norm, 1, 1e-4, 0);
        lh_assert_close(&a->parameter_norm, &b->parameter_norm, 1, 1e-6, 0);
        lh_assert_close(&a->update_norm, &b->update_norm, 1, 1e-4, 0);
        lh_assert_close(&a->heavy_share, &b->heavy_share, 1, 1e-3, 0);
        assert_int_equal(a->heavy_chunk, b->heavy_chunk);
        assert_int_equal(a->sums.positions, b->sums.positions);
        assert_int_equal(a->sums.counted, b->sums.counted);
        assert_int_equal(a->sums.correct, b->sums.correct);
        assert_int_equal(a->sums.sequences, b->sums.sequences);
        assert_int_equal(a->sums.exact, b->sums.exact);
        assert_int_equal(a->clipped, b->clipped);
        assert_int_equal(a->length, b->length);
    }
}

/* The same batches, draws, dropout, order of sums and update: only the last digits of the update differ. */
static void check_against_cpu(const lh_spec *spec, lh_engine_config config) {
    lh_error error;
    lh_step_metrics metrics[STEPS];
    int done;
    lh_engine *cpu, *cuda;
    record *r = new_records(1);
    config.spec = spec;
    use_device((lh_emulation){0});
    lh_assert_ok(lh_cpu_engine_open(&config, &toy_drawn, &cpu, &error), &error);
    lh_assert_ok(cpu->ops->step(cpu, STEPS, metrics, &done, &error), &error);
    lh_assert_ok(lh_cuda_fleet_open(&device, NULL, &config, 1, &cuda, &error), &error);
    run_one(cuda, STEPS, 7, r);
    lh_test_ok(r->status, &r->error, __FILE__, __LINE__);
    assert_metrics_close(r->metrics, metrics, STEPS);
    lh_state a = state_of(cuda), b = state_of(cpu);
    lh_assert_close_float(a.parameters, b.parameters, TOY_STORAGE, 0, 1e-5);
    assert_true(cuda->seconds > 0 && cpu->seconds > 0);
    lh_state_close(&a);
    lh_state_close(&b);
    cuda->ops->close(cuda);
    cpu->ops->close(cpu);
    free(r);
    end_device();
}

static void test_step_numbers_are_those_of_the_cpu(void **state) {
    (void)state;
    lh_spec spec = toy();
    check_against_cpu(&spec, config_of(&spec, 7));
    spec.train.batch = 3; /* fewer than shards */
    check_against_cpu(&spec, config_of(&spec, 7));
    spec.train.schedule = (lh_schedule){LH_SCHEDULE_COSINE, 5, 0.1};
    check_against_cpu(&spec, config_of(&spec, 7));
}

static void test_step_fixed_length_and_distinct_examples_are_those_of_the_cpu(void **state) {
    (void)state;
    lh_spec spec = toy();
    lh_engine_config config = config_of(&spec, 5);
    config.fixed_length = 6;
    config.distinct = 5;
    check_against_cpu(&spec, config);
}

static void test_engine_names_itself(void **state) {
    (void)state;
    lh_spec spec = toy();
    lh_engine *engines[3];
    char text[128];
    use_device((lh_emulation){.multiprocessors = 8});
    open_fleet(&spec, NULL, 1, 1, engines);
    assert_string_equal(engines[0]->level, "sm_90 chip");
    assert_string_equal(engines[0]->variant, "chip");
    assert_string_equal(engines[0]->compiler, "driver 13.0 from compute_75");
    assert_string_equal(engines[0]->device, "emulated sm_90");
    lh_cuda_fleet_describe(engines[0], text, sizeof text);
    assert_string_equal(text, "one model on 4 of 8 resident blocks");
    close_all(engines, 1);
    open_fleet(&spec, NULL, 1, 3, engines);
    assert_string_equal(engines[2]->level, "sm_90 replicas");
    lh_cuda_fleet_describe(engines[1], text, sizeof text);
    assert_string_equal(text, "3 replicas x 2 blocks, 8 are resident");
    close_all(engines, 3);
    end_device();
    use_device((lh_emulation){.multiprocessors = 2});
    open_fleet(&spec, NULL, 1, 3, engines);
    lh_cuda_fleet_describe(engines[1], text, sizeof text);
    assert_string_equal(text, "3 replicas in 2 rounds of 2, a block each: 2 blocks are resident");
    close_all(engines, 3);
    end_device();
}

/* --- fleets ----------------------------------------------------------------------------------------------------- */

/* Teams of 4, 2 and 1, rounds, and several orders of threads. */
static void test_fleet_every_replica_as_alone(void **state) {
    (void)state;
    static const int multiprocessors[] = {16, 6, 3, 2, 1};
    lh_spec spec = toy();
    alone ones[5];
    use_device((lh_emulation){0});
    for (int i = 0; i < 5; i++) ones[i] = train_alone(&spec, &toy_cuda.replicas, 3 + i, STEPS);
    end_device();
    for (unsigned order = 0; order < 5; order++) {
        lh_engine *engines[5];
        record *records = new_records(5);
        use_device((lh_emulation){.multiprocessors = multiprocessors[order], .order = order});
        open_fleet(&spec, NULL, 3, 5, engines);
        run_fleet(engines, 5, STEPS, 9, records);
        for (int i = 0; i < 5; i++) assert_as_alone(engines[i], &records[i], &ones[i]);
        close_all(engines, 5);
        end_device();
        free(records);
    }
    for (int i = 0; i < 5; i++) free_alone(&ones[i]);
}

static void test_chip_same_bits_on_any_number_of_blocks(void **state) {
    (void)state;
    static const int multiprocessors[] = {1, 2, 3, 4, 9};
    lh_spec spec = toy();
    use_device((lh_emulation){0});
    alone want = train_alone(&spec, NULL, 4, STEPS);
    end_device();
    for (unsigned order = 0; order < 5; order++) {
        use_device((lh_emulation){.multiprocessors = multiprocessors[order], .order = order});
        alone got = train_alone(&spec, NULL, 4, STEPS);
        assert_memory_equal(got.record->metrics, want.record->metrics, STEPS * sizeof(lh_step_metrics));
        assert_same_states(&got.state, &want.state);
        free_alone(&got);
        end_device();
    }
    free_alone(&want);
}

/* How many steps a launch makes, and how many batches lie ahead, is of no consequence. */
static void test_fleet_same_bits_however_many_steps_are_asked_for(void **state) {
    (void)state;
    static const int asked[] = {1, 2, 7, 64, 150};
    enum { MANY = 150 };
    lh_spec spec = toy();
    use_device((lh_emulation){0});
    alone ones[2] = {train_alone(&spec, &toy_cuda.replicas, 3, MANY), train_alone(&spec, &toy_cuda.replicas, 4, MANY)};
    for (int i = 0; i < 5; i++) {
        lh_engine *engines[2];
        record *records = new_records(2);
        open_fleet(&spec, NULL, 3, 2, engines);
        run_fleet(engines, 2, MANY, asked[i], records);
        for (int k = 0; k < 2; k++) assert_as_alone(engines[k], &records[k], &ones[k]);
        close_all(engines, 2);
        free(records);
    }
    for (int i = 0; i < 2; i++) free_alone(&ones[i]);
    end_device();
}

static int ask(lh_engine *engine, int count) {
    lh_error error;
    lh_step_metrics metrics[64];
    int done;
    int64_t before = engine->step;
    lh_assert_ok(engine->ops->step(engine, count, metrics, &done, &error), &error);
    assert_int_equal(engine->step, before + done);
    return done;
}

/* Nobody's state is ever ahead of what it handed out when it is looked at. */
static void test_step_waits_for_the_others(void **state) {
    (void)state;
    lh_spec spec = toy();
    lh_engine *e[3];
    use_device((lh_emulation){0});
    open_fleet(&spec, NULL, 3, 3, e);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 2; i++) assert_true(ask(e[i], 10) == 0 && e[i]->ready == 0 && e[i]->step == e[2]->step);
        assert_int_equal(ask(e[0], 10), 0);
        int launched = ask(e[2], 4);
        assert_true(launched >= 1 && launched <= 4);
        assert_true(e[0]->ready == launched && e[1]->ready == launched && e[2]->ready == 0);
        for (int i = 0; i < 2; i++) assert_int_equal(ask(e[i], 10), launched);
    }
    for (int i = 0; i < 2; i++) assert_int_equal(ask(e[i], 10), 0);
    int launched = ask(e[2], 4);
    assert_int_equal(ask(e[2], 4), 0); /* the others have not handed out theirs */
    assert_int_equal(ask(e[0], 10), launched);
    assert_int_equal(ask(e[0], 10), 0);
    assert_int_equal(ask(e[1], 10), launched);
    assert_true(ask(e[1], 10) > 0 && e[0]->ready > 0 && e[2]->ready > 0); /* now all three have asked */
    close_all(e, 3);
    end_device();
}

static void test_fleet_goes_on_without_those_that_are_closed(void **state) {
    (void)state;
    lh_spec spec = toy();
    lh_engine *engines[4];
    use_device((lh_emulation){.multiprocessors = 5});
    alone ones[4];
    for (int i = 0; i < 4; i++) ones[i] = train_alone(&spec, &toy_cuda.replicas, 3 + i, 10 * (i % 2 + 1) + 5 * i);
    record *records = new_records(4);
    open_fleet(&spec, NULL, 3, 4, engines);
    for (bool open[4] = {true, true, true, true}; open[0] || open[1] || open[2] || open[3];)
        for (int i = 0; i < 4; i++) {
            record *r = &records[i];
            int done, left = (int)ones[i].record->steps - (int)r->steps;
            if (!open[i]) continue;
            lh_assert_ok(
                engines[i]->ops->step(engines[i], left < 6 ? left : 6, r->metrics + r->steps, &done, &r->error),
                &r->error);
            r->steps += done;
            if (r->steps < ones[i].record->steps) continue;
            assert_as_alone(engines[i], r, &ones[i]);
            engines[i]->ops->close(engines[i]);
            open[i] = false;
        }
    end_device();
    for (int i = 0; i < 4; i++) free_alone(&ones[i]);
    free(records);
}

static void test_fleet_resumes_from_different_steps(void **state) {
    (void)state;
    lh_spec spec = toy();
    lh_error error;
    lh_engine *engines[3];
    use_device((lh_emulation){0});
    alone whole[3], halves[2];
    for (int i = 0; i < 3; i++) whole[i] = train_alone(&spec, &toy_cuda.replicas, 3 + i, STEPS);
    halves[0] = train_alone(&spec, &toy_cuda.replicas, 3, 11);
    halves[1] = train_alone(&spec, &toy_cuda.replicas, 5, 4);
    record *records = new_records(3);
    open_fleet(&spec, NULL, 3, 3, engines);
    lh_assert_ok(engines[0]->ops->write_state(engines[0], &halves[0].state, 11, &error), &error);
    lh_assert_ok(engines[2]->ops->write_state(engines[2], &halves[1].state, 4, &error), &error);
    memcpy(records[0].metrics, halves[0].record->metrics, sizeof records[0].metrics);
    memcpy(records[2].metrics, halves[1].record->metrics, sizeof records[2].metrics);
    records[0].steps = 11;
    records[2].steps = 4;
    run_fleet(engines, 3, STEPS, 8, records);
    for (int i = 0; i < 3; i++) assert_as_alone(engines[i], &records[i], &whole[i]);
    close_all(engines, 3);
    for (int i = 0; i < 3; i++) free_alone(&whole[i]);
    for (int i = 0; i < 2; i++) free_alone(&halves[i]);
    free(records);
    end_device();
}

/* --- failures --------------------------------------------------------------------------------------------------- */

static void break_bias(lh_engine *engine) {
    lh_error error;
    lh_state s = state_of(engine);
    ((float *)s.parameters)[lh_toy_spec.tensors[TOY_BIAS].offset] = NAN;
    lh_assert_ok(engine->ops->write_state(engine, &s, engine->step, &error), &error);
    lh_state_close(&s);
}

static void test_fleet_one_replica_not_finite_the_others_go_on(void **state) {
    (void)state;
    lh_spec spec = toy();
    lh_engine *engines[3], *cpu;
    lh_error error;
    lh_step_metrics metrics;
    int done;
    use_device((lh_emulation){0});
    alone ones[2] = {train_alone(&spec, &toy_cuda.replicas, 3, STEPS),
                     train_alone(&spec, &toy_cuda.replicas, 5, STEPS)};
    record *records = new_records(3);
    open_fleet(&spec, NULL, 3, 3, engines);
    break_bias(engines[1]);
    run_fleet(engines, 3, STEPS, 8, records);
    assert_as_alone(engines[0], &records[0], &ones[0]);
    assert_as_alone(engines[2], &records[2], &ones[1]);
    assert_int_equal(records[1].status, LH_ERR_INPUT);
    assert_int_equal(records[1].steps, 0);
    assert_true(isnan(records[1].metrics[0].sums.loss) && records[1].metrics[0].sums.positions > 0);
    lh_engine_config config = config_of(&spec, 4);
    lh_assert_ok(lh_cpu_engine_open(&config, &toy_drawn, &cpu, &error), &error);
    break_bias(cpu);
    lh_assert_error(cpu->ops->step(cpu, 1, &metrics, &done, &error), LH_ERR_INPUT, &error, "step 1: the loss is");
    assert_string_equal(records[1].error.text, error.text);
    lh_state s = state_of(engines[1]); /* no update was made */
    assert_true(((float *)s.optimizer[0])[lh_toy_spec.tensors[TOY_TOKEN].offset] == 0);
    lh_state_close(&s);
    lh_assert_error(engines[1]->ops->step(engines[1], 1, &metrics, &done, &error), LH_ERR_INPUT, &error, "step 1: ");
    cpu->ops->close(cpu);
    close_all(engines, 3);
    for (int i = 0; i < 2; i++) free_alone(&ones[i]);
    free(records);
    end_device();
}

/* A learning rate that throws parameters to infinity in the first update. */
static void test_step_infinite_update_stops(void **state) {
    (void)state;
    lh_spec spec = toy();
    lh_error error;
    lh_engine *engine;
    lh_engine_config config = config_of(&spec, 3);
    config.learning_rate = INFINITY;
    record *r = new_records(1);
    use_device((lh_emulation){0});
    lh_assert_ok(lh_cuda_fleet_open(&device, NULL, &config, 1, &engine, &error), &error);
    run_one(engine, 5, 5, r);
    lh_assert_error(r->status, LH_ERR_INPUT, &r->error, "step 1: after the update the parameters' norm is");
    assert_null(strstr(r->error.text, "gradient"));
    assert_int_equal(r->steps, 0);
    assert_int_equal(engine->step, 0);
    engine->ops->close(engine);
    free(r);
    end_device();
}

static void sample_masked(lh_rng *rng, int n, lh_example *example) {
    bool all = rng->counter[2] % 4 == 1;
    lh_toy_spec.task->sample(rng, n, example);
    memset(example->mask, !all, (size_t)n);
    if (n > 1) example->mask[0] = 0;
}

/* What the device does not count: labels in the loss, and sequences that are asked for anything, 10 of 13. */
static void test_step_with_masks_counts_labels_and_sequences_that_count(void **state) {
    (void)state;
    lh_spec spec = toy();
    lh_task task = *lh_toy_spec.task;
    lh_engine *engine;
    record *r = new_records(1);
    task.sample = sample_masked;
    spec.task = &task;
    for (int i = 0; i < 2; i++) {
        task.loss = i == 0 ? LH_LOSS_COUNTED : LH_LOSS_ALL;
        use_device((lh_emulation){0});
        open_fleet(&spec, NULL, 3, 1, &engine);
        memset(r, 0, sizeof *r);
        run_one(engine, STEPS, 7, r);
        for (int step = 0; step < STEPS; step++) {
            const lh_step_metrics *m = &r->metrics[step];
            int64_t counted = 10 * (m->length > 1 ? m->length - 1 : 1);
            assert_int_equal(m->sums.counted, counted);
            assert_int_equal(m->sums.positions, i == 0 ? counted : 13 * m->length);
            assert_int_equal(m->sums.sequences, 10);
        }
        close_all(&engine, 1);
        end_device();
    }
    free(r);
}

static uint32_t wrong_step; /* its batch has a token that no alphabet has */

static void sample_wrong_once(lh_rng *rng, int n, lh_example *example) {
    bool wrong = rng->counter[3] == wrong_step && rng->counter[2] == 9 && rng->key.word[0] == 4;
    lh_toy_spec.task->sample(rng, n, example);
    if (wrong) example->input[0] = 77;
}

/* The batch of a later step of one replica cannot be had: it makes every step before that, and the others all. */
static void test_fleet_batch_that_cannot_be_had_ends_its_replica(void **state) {
    (void)state;
    static const int asked[] = {1, 3, 8, 30};
    lh_spec spec = toy();
    lh_task task = *lh_toy_spec.task;
    use_device((lh_emulation){0});
    alone ones[2] = {train_alone(&spec, &toy_cuda.replicas, 3, STEPS), train_alone(&spec, &toy_cuda.replicas, 4, 13)};
    task.sample = sample_wrong_once;
    task.source = "own.c";
    spec.task = &task;
    for (int i = 0; i < 4; i++) {
        lh_engine *engines[2];
        record *records = new_records(2);
        wrong_step = 13;
        open_fleet(&spec, NULL, 3, 2, engines);
        run_fleet(engines, 2, STEPS, asked[i], records);
        assert_as_alone(engines[0], &records[0], &ones[0]);
        assert_as_alone(engines[1], &records[1], &ones[1]);
        lh_assert_error(records[1].status, LH_ERR_INPUT, &records[1].error, "example 9 of step 14: input[0] is 77");
        assert_int_equal(records[1].metrics[13].sums.positions, 0);
        close_all(engines, 2);
        free(records);
    }
    for (int i = 0; i < 2; i++) free_alone(&ones[i]);
    end_device();
}

static void test_open_without_memory_says_what_for_and_what_is_free(void **state) {
    (void)state;
    lh_spec spec = toy();
    lh_error error;
    lh_engine *engine;
    lh_engine_config config = config_of(&spec, 3);
    use_device((lh_emulation){.memory = 200 << 10});
    lh_assert_error(lh_cuda_fleet_open(&device, NULL, &config, 1, &engine, &error), LH_ERR_ENVIRONMENT, &error,
                    "no memory on emulated sm_90: 131072 bytes for ");
    assert_non_null(strstr(error.text, "of 204800 bytes are free"));
    end_device();
}

/* Whatever call fails at opening, nothing is kept. */
static void test_open_failing_calls_release_everything(void **state) {
    (void)state;
    static const char *const calls[] = {"cuMemAlloc",      "cuMemAllocHost",    "cuStreamCreate",
                                        "cuMemsetD8Async", "cuMemcpyHtoDAsync", "cuStreamSynchronize"};
    int failures = 0;
    lh_spec spec = toy();
    for (int call = 0; call < 6; call++)
        for (int after = 0; after < 20; after++) {
            lh_error error;
            lh_engine *engines[2];
            lh_engine_config configs[2] = {config_of(&spec, 3), config_of(&spec, 4)};
            use_device((lh_emulation){.failing_call = calls[call], .failing_after = after, .failing_result = 999});
            lh_status status = lh_cuda_fleet_open(&device, NULL, configs, 2, engines, &error);
            if (status == LH_OK) {
                close_all(engines, 2);
            } else {
                lh_assert_error(status, LH_ERR_ENVIRONMENT, &error, calls[call]);
                failures++;
            }
            end_device();
        }
    assert_true(failures > 30);
}

static void test_step_device_that_fails_is_lost_to_all(void **state) {
    (void)state;
    lh_spec spec = toy();
    lh_error error;
    lh_state s;
    lh_engine *engines[2];
    record *records = new_records(2);
    use_device((lh_emulation){.failing_call = "cuLaunchCooperativeKernel", .failing_after = 2, .failing_result = 719});
    open_fleet(&spec, NULL, 3, 2, engines);
    run_fleet(engines, 2, STEPS, 3, records);
    for (int i = 0; i < 2; i++) {
        lh_assert_error(records[i].status, LH_ERR_ENVIRONMENT, &records[i].error, "CUDA_ERROR_LAUNCH_FAILED");
        assert_non_null(strstr(records[i].error.text, "emulated sm_90 is lost"));
        assert_true(records[i].steps > 0 && records[i].steps < STEPS);
        lh_assert_ok(lh_state_open(&s, engines[i], true, &error), &error);
        lh_assert_error(engines[i]->ops->read_state(engines[i], &s, &error), LH_ERR_ENVIRONMENT, &error, "is lost");
        lh_state_close(&s);
    }
    close_all(engines, 2);
    free(records);
    end_device();
}

/* --- evaluation ------------------------------------------------------------------------------------------------- */

static void check_evaluation(lh_engine *cuda, lh_engine *cpu, int n, int examples) {
    lh_error error;
    lh_lengths lengths = {NULL, 0, n, n, 1};
    lh_condition condition = lh_condition_at(n, examples, 1, 2);
    condition.first = 7;
    lh_sums got, want, again, each[100], reference[100], total = {0};
    static uint16_t answers[100 * 20], wanted[100 * 20];
    lh_assert_ok(cuda->ops->reserve(cuda, &lengths, examples, &error), &error);
    lh_assert_ok(cpu->ops->reserve(cpu, &lengths, examples, &error), &error);
    lh_assert_ok(cuda->ops->evaluate(cuda, &condition, &got, each, &error), &error);
    condition.answers = answers;
    lh_assert_ok(cuda->ops->evaluate(cuda, &condition, &again, NULL, &error), &error);
    condition.answers = wanted;
    lh_assert_ok(cpu->ops->evaluate(cpu, &condition, &want, reference, &error), &error);
    assert_true(examples <= 100 && n <= 20);
    assert_memory_equal(answers, wanted, (size_t)(examples * n) * sizeof *answers);
    assert_memory_equal(&got, &again, sizeof got);
    lh_assert_close(&got.loss, &want.loss, 1, 1e-12, 0);
    got.loss = want.loss;
    assert_memory_equal(&got, &want, sizeof got);
    for (int i = 0; i < examples; i++) {
        lh_assert_close(&each[i].loss, &reference[i].loss, 1, 1e-6, 0);
        lh_sums_add(&total, &each[i]);
        each[i].loss = reference[i].loss;
        assert_memory_equal(&each[i], &reference[i], sizeof each[i]);
    }
    assert_true(total.loss == again.loss); /* in the order of the examples */
}

static void check_evaluations(const lh_spec *spec) {
    lh_error error;
    lh_engine *cuda, *cpu;
    for (unsigned order = 0; order < 4; order++) {
        use_device((lh_emulation){.multiprocessors = 1 + (int)order, .order = order});
        lh_engine_config config = {.spec = spec, .seed = 7, .threads = 1 + (int)order};
        lh_assert_ok(lh_cuda_fleet_open(&device, NULL, &config, 1, &cuda, &error), &error);
        lh_assert_ok(lh_cpu_engine_open(&config, &toy_drawn, &cpu, &error), &error);
        check_evaluation(cuda, cpu, 9, 100);
        check_evaluation(cuda, cpu, 3, 1);
        check_evaluation(cuda, cpu, 20, 33);
        cuda->ops->close(cuda);
        cpu->ops->close(cpu);
        end_device();
    }
}

static void test_evaluate_sums_are_those_of_the_cpu(void **state) {
    (void)state;
    lh_spec spec = toy();
    check_evaluations(&spec);
}

/* Launches that take seconds are ended where the device has a watchdog: a condition goes in several, each block a group
 * of sequences at a time, to the same sums. */
static void test_evaluate_under_a_watchdog_in_short_launches(void **state) {
    (void)state;
    lh_spec spec = toy();
    lh_error error;
    int launches[2];
    for (int watchdog = 0; watchdog < 2; watchdog++) {
        lh_engine *cuda, *cpu;
        use_device((lh_emulation){.multiprocessors = 2, .watchdog = watchdog});
        lh_engine_config config = {.spec = &spec, .seed = 7, .threads = 2};
        lh_assert_ok(lh_cuda_fleet_open(&device, NULL, &config, 1, &cuda, &error), &error);
        lh_assert_ok(lh_cpu_engine_open(&config, &toy_drawn, &cpu, &error), &error);
        int before = lh_emulation_launches();
        check_evaluation(cuda, cpu, 9, 100);
        launches[watchdog] = (lh_emulation_launches() - before) / 2; /* it evaluates twice */
        cuda->ops->close(cuda);
        cpu->ops->close(cpu);
        end_device();
    }
    int together = 2 * toy_cuda.evaluation_group(&(lh_shape){100, {18, 0}, 9});
    assert_int_equal(launches[0], 1);
    assert_int_equal(launches[1], (100 + together - 1) / together);
    assert_true(launches[1] > 1);
}

static volatile sig_atomic_t stop;
static int launched, stop_at;

/* In the place of the driver's: a signal comes while the kernel computes. */
static CUresult launch_and_stop(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                                CUstream stream, void **arguments) {
    stop = ++launched == stop_at;
    return lh_emulated_driver()->cuLaunchCooperativeKernel(function, grid_x, grid_y, grid_z, block_x, block_y, block_z,
                                                           shared_bytes, stream, arguments);
}

/* Where a signal may come launches begin short and grow, to the same sums; one that came ends the condition behind the
 * launch that was under way, and the device is none the worse for it. */
static void test_evaluate_ends_behind_a_launch_at_a_signal(void **state) {
    (void)state;
    lh_spec spec = toy();
    lh_error error;
    lh_engine *cuda, *cpu;
    lh_sums sums;
    use_device((lh_emulation){.multiprocessors = 1});
    lh_cuda_driver driver = *device.driver;
    driver.cuLaunchCooperativeKernel = launch_and_stop;
    device.driver = &driver;
    lh_engine_config config = {.spec = &spec, .seed = 7, .threads = 2};
    lh_assert_ok(lh_cuda_fleet_open(&device, NULL, &config, 1, &cuda, &error), &error);
    lh_assert_ok(lh_cpu_engine_open(&config, &toy_drawn, &cpu, &error), &error);
    cuda->stop = &stop;
    launched = stop_at = stop = 0;
    check_evaluation(cuda, cpu, 9, 100);
    int all = launched / 2, group = toy_cuda.evaluation_group(&(lh_shape){100, {18, 0}, 9});
    assert_in_range(all, 2, 100 / group); /* it evaluates twice */
    launched = 0;
    stop_at = 2;
    lh_condition condition = lh_condition_at(9, 100, 1, 2);
    assert_int_equal(cuda->ops->evaluate(cuda, &condition, &sums, NULL, &error), LH_STOPPED);
    assert_int_equal(launched, 2);
    assert_int_equal(cuda->ops->evaluate(cuda, &condition, &sums, NULL, &error), LH_STOPPED); /* before the first */
    assert_int_equal(launched, 2);
    stop_at = stop = 0;
    check_evaluation(cuda, cpu, 9, 100);
    cuda->ops->close(cuda);
    cpu->ops->close(cpu);
    end_device();
}

/* Likewise steps: a launch has at most twice those of the one before, so that one of long sequences is no surprise. */
static void test_step_under_a_watchdog_launches_grow_slowly(void **state) {
    (void)state;
    enum { STEPS_IN_ALL = 31 };
    lh_spec spec = toy();
    int launches[2];
    for (int watchdog = 0; watchdog < 2; watchdog++) {
        lh_error error;
        lh_engine *engine;
        lh_step_metrics metrics[STEPS_IN_ALL];
        use_device((lh_emulation){.watchdog = watchdog});
        open_fleet(&spec, &toy_cuda.chip, 3, 1, &engine);
        for (int done, steps = 0; steps < STEPS_IN_ALL; steps += done)
            lh_assert_ok(engine->ops->step(engine, STEPS_IN_ALL - steps, metrics, &done, &error), &error);
        launches[watchdog] = lh_emulation_launches();
        engine->ops->close(engine);
        end_device();
    }
    assert_true(launches[1] >= 5); /* 1, 2, 4, 8, 16 at most */
    assert_true(launches[0] <= launches[1]);
}

/* The toy's draws, once more for every sequence; it reads those of the first. */
static size_t count_each(const lh_shape *shape) { return (size_t)shape->sequences * toy_cuda.draw_count(shape); }

static uint32_t first_drawn; /* the first sequence of the last draw, in its batch */

static void draw_each(const lh_draw *from, const lh_shape *shape, const int32_t *const positions[LH_MAX_STREAMS],
                      const int32_t *const distances[LH_MAX_STREAMS], int *scratch, int *out) {
    first_drawn = from->first;
    for (int s = 0; s < shape->sequences; s++, out += toy_cuda.draw_count(shape))
        toy_cuda.draw(from, shape, positions, distances, scratch, out);
}

/* What a query of that example of its batch draws, and drops, is what it was in the batch. */
static void check_query_of(lh_engine *cuda, uint32_t example) {
    uint16_t input[9] = {1, 0, 4, 2, 2}, target[9] = {0};
    double logits[9 * TOY_CLASSES];
    lh_error error;
    lh_query query = {
        .n = 9, .input = input, .target = target, .draw = lh_condition_at(9, 1, 3, 0).draw, .example = example};
    lh_assert_ok(cuda->ops->predict(cuda, &query, logits, &error), &error);
    assert_int_equal(first_drawn, example);
    const lh_cuda_step *step = ((lh_cuda_engine *)cuda)->fleet->forward.host_step;
    assert_int_equal(step->first, example);
}

static void test_draws_of_every_sequence_numbers_are_those_of_the_cpu(void **state) {
    (void)state;
    lh_spec spec = toy();
    lh_cuda_program by_sequence = toy_cuda;
    lh_error error;
    lh_engine *cuda, *cpu;
    by_sequence.draw_count = count_each;
    by_sequence.draw = draw_each;
    program = &by_sequence;
    check_against_cpu(&spec, config_of(&spec, 7));
    use_device((lh_emulation){0});
    lh_engine_config config = {.spec = &spec, .seed = 7, .threads = 2};
    lh_assert_ok(lh_cuda_fleet_open(&device, NULL, &config, 1, &cuda, &error), &error);
    lh_assert_ok(lh_cpu_engine_open(&config, &toy_drawn, &cpu, &error), &error);
    check_evaluation(cuda, cpu, 9, 100);
    check_query_of(cuda, 70);
    cuda->ops->close(cuda);
    cpu->ops->close(cpu);
    end_device();
    program = &toy_cuda;
}

static void test_evaluate_each_replica_its_own_parameters(void **state) {
    (void)state;
    lh_spec spec = toy();
    lh_error error;
    lh_engine *engines[2];
    lh_sums sums[2], want;
    lh_lengths lengths = {NULL, 0, 5, 5, 1};
    lh_condition condition = lh_condition_at(5, 20, 1, 0);
    record *records = new_records(2);
    use_device((lh_emulation){0});
    open_fleet(&spec, NULL, 3, 2, engines);
    run_fleet(engines, 2, 10, 5, records);
    lh_assert_ok(engines[0]->ops->reserve(engines[0], &lengths, 20, &error), &error);
    for (int i = 0; i < 2; i++) engines[i]->ops->evaluate(engines[i], &condition, &sums[i], NULL, &error);
    assert_true(sums[0].loss != sums[1].loss);
    lh_state s = state_of(engines[1]);
    lh_assert_ok(engines[0]->ops->write_state(engines[0], &s, 10, &error), &error);
    engines[0]->ops->evaluate(engines[0], &condition, &want, NULL, &error);
    assert_memory_equal(&want, &sums[1], sizeof want);
    lh_state_close(&s);
    close_all(engines, 2);
    free(records);
    end_device();
}

static void test_evaluate_beyond_the_limit_or_memory_says_so(void **state) {
    (void)state;
    lh_spec spec = toy();
    lh_error error;
    lh_engine *engine;
    lh_engine_config config = {.spec = &spec, .seed = 7, .threads = 1};
    lh_lengths beyond = {NULL, 0, 33, 33, 1}, within = {NULL, 0, 30, 30, 1};
    use_device((lh_emulation){.memory = 1 << 20});
    lh_assert_ok(lh_cuda_fleet_open(&device, NULL, &config, 1, &engine, &error), &error);
    lh_assert_error(engine->ops->reserve(engine, &beyond, 4, &error), LH_ERR_INPUT, &error, "the encoding allows 64");
    lh_assert_error(engine->ops->reserve(engine, &within, 100000, &error), LH_ERR_ENVIRONMENT, &error,
                    "bytes for the examples of an evaluation");
    lh_assert_ok(engine->ops->reserve(engine, &within, 10, &error), &error); /* the engine is as good as before */
    engine->ops->close(engine);
    end_device();
}

static void test_evaluate_examples_that_cannot_be_had_say_why(void **state) {
    (void)state;
    lh_spec spec = toy();
    lh_task task = *lh_toy_spec.task;
    lh_error error;
    lh_sums sums;
    lh_engine *engine;
    lh_engine_config config = {.spec = &spec, .seed = 7, .threads = 3};
    lh_lengths lengths = {NULL, 0, 4, 4, 1};
    task.sample = sample_wrong_once;
    task.source = "own.c";
    spec.task = &task;
    wrong_step = 4;
    use_device((lh_emulation){0});
    lh_assert_ok(lh_cuda_fleet_open(&device, NULL, &config, 1, &engine, &error), &error);
    lh_assert_ok(engine->ops->reserve(engine, &lengths, 100, &error), &error);
    lh_condition condition = lh_condition_at(4, 100, 4, 0);
    lh_assert_error(engine->ops->evaluate(engine, &condition, &sums, NULL, &error), LH_ERR_INPUT, &error,
                    "own.c: task length 4, example 9 of the evaluation: input[0] is 77");
    engine->ops->close(engine);
    end_device();
}

/* stream: whose positions are given */
static void check_predictions(const lh_spec *spec, int stream) {
    enum { N = 5 };
    lh_error error;
    lh_engine *cuda, *cpu;
    lh_lengths lengths = {NULL, 0, N, N, 1};
    uint16_t input[N] = {1, 0, 4, 2, 2}, target[N] = {0, 3, 3, 1, 2};
    int32_t positions[2 * N] = {3, 9, 11, 40, 63, 1, 1, 1, 1, 1};
    double got[N * TOY_CLASSES], want[N * TOY_CLASSES], drawn[N * TOY_CLASSES];
    lh_engine_config config = {.spec = spec, .seed = 7, .threads = 1};
    use_device((lh_emulation){0});
    lh_assert_ok(lh_cuda_fleet_open(&device, NULL, &config, 1, &cuda, &error), &error);
    lh_assert_ok(lh_cpu_engine_open(&config, &toy_drawn, &cpu, &error), &error);
    lh_assert_ok(cuda->ops->reserve(cuda, &lengths, 1, &error), &error);
    lh_assert_ok(cpu->ops->reserve(cpu, &lengths, 1, &error), &error);
    for (int given = 0; given < 2; given++) {
        lh_query query = {.n = N, .input = input, .target = target, .draw = lh_condition_at(N, 1, 3, 0).draw};
        if (given) query.positions[stream] = positions;
        lh_assert_ok(cuda->ops->predict(cuda, &query, got, &error), &error);
        lh_assert_ok(cpu->ops->predict(cpu, &query, want, &error), &error);
        lh_assert_close(got, want, N * TOY_CLASSES, 1e-6, 1e-7);
        if (given) assert_memory_not_equal(got, drawn, sizeof got);
        memcpy(drawn, got, sizeof got);
    }
    cuda->ops->close(cuda);
    cpu->ops->close(cpu);
    end_device();
}

static void test_predict_logits_are_those_of_the_cpu(void **state) {
    (void)state;
    lh_spec spec = toy();
    check_predictions(&spec, 0);
}

static lh_spec toy_pair(void) {
    lh_spec spec = lh_toy_pair_with(toy_drawn_list);
    spec.position_range[0] = 64;
    spec.cuda = &toy_cuda;
    spec.train.batch = 13;
    return spec;
}

/* A model's own answers: a pass for each, over all sequences together; the CPU's are cached. */
static void check_own_answers(const lh_spec *spec) {
    lh_error error;
    lh_engine *engines[2];
    lh_eval_result results[2][2];
    use_device((lh_emulation){.multiprocessors = 2});
    lh_engine_config config = {.spec = spec, .seed = 7, .threads = 2};
    lh_assert_ok(lh_cuda_fleet_open(&device, NULL, &config, 1, &engines[0], &error), &error);
    lh_assert_ok(lh_cpu_engine_open(&config, &toy_drawn, &engines[1], &error), &error);
    assert_true(!engines[0]->decodes && engines[1]->decodes);
    for (int i = 0; i < 2; i++) {
        lh_eval_request request = {.lengths = {NULL, 0, 6, 9, 3}, .examples = 70, .draws = 2, .seed = 1};
        lh_assert_ok(lh_evaluate(engines[i], &request, results[i], &error), &error);
        engines[i]->ops->close(engines[i]);
    }
    for (int i = 0; i < 2; i++) {
        assert_ptr_equal(results[0][i].decoding, lh_greedy);
        assert_true(results[0][i].accuracy == results[1][i].accuracy);
        assert_true(results[0][i].teacher_forced == results[1][i].teacher_forced);
        assert_true(results[0][i].exact_match == results[1][i].exact_match);
        assert_true(results[0][i].accuracy != results[0][i].teacher_forced);
    }
    end_device();
}

static void test_two_streams_numbers_are_those_of_the_cpu(void **state) {
    (void)state;
    lh_spec spec = toy_pair();
    check_against_cpu(&spec, config_of(&spec, 7));
    check_evaluations(&spec);
    check_predictions(&spec, 1);
    check_own_answers(&spec);
}

/* --- finite data ------------------------------------------------------------------------------------------------ */

static void shape_of(int input, int output, lh_shape *shape) {
    shape->length[0] = input + output;
    shape->labels = output;
}

static const char *write_lines(const char *directory) {
    const char *path = lh_test_path(directory, "train.jsonl");
    FILE *file = fopen(path, "w");
    for (int i = 0; i < 40; i++) {
        int n = 1 + i % 3, a = i % 5, b = i / 5 % 5;
        if (n == 1) fprintf(file, "{\"input\":[%d],\"target\":[%d]}\n", a, b);
        if (n == 2) fprintf(file, "{\"input\":[%d,%d],\"target\":[%d,%d]}\n", a, b, b, a);
        if (n == 3) fprintf(file, "{\"input\":[%d,1,%d],\"target\":[%d,1,%d]}\n", a, b, b, a);
    }
    fclose(file);
    return path;
}

/* Epochs, batches of one shape, and short ones. */
static void check_finite_data(lh_spec spec, const lh_format *format, const char *path) {
    lh_task task = *spec.task;
    lh_data data = {.train = path, .longest = 6};
    lh_corpus corpus;
    lh_error error;
    task.sample = NULL;
    task.input_length = task.output_length = NULL;
    spec.format = format;
    spec.task = &task;
    spec.data = &data;
    spec.train.batch = 6;
    lh_assert_ok(lh_corpus_open(&corpus, &spec, NULL, &error), &error);
    lh_assert_ok(lh_corpus_bind(&corpus, &spec, &error), &error);
    check_against_cpu(&spec, config_of(&spec, 7));
    lh_corpus_close(&corpus);
}

static void test_step_finite_data_is_that_of_the_cpu(void **state) {
    lh_spec spec = toy();
    lh_format format = *spec.format;
    format.labels = NULL;
    format.stream[0].length = NULL;
    format.shape = shape_of;
    check_finite_data(spec, &format, write_lines(*state));
}

static void test_step_finite_data_in_two_streams_is_that_of_the_cpu(void **state) {
    check_finite_data(toy_pair(), &lh_toy_pair_data_format, write_lines(*state));
}

int main(void) {
    setenv("LONGHAND_CUDA_DRIVER", LH_EMULATED_LIBRARY, 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_grid_teams_and_rounds),
        cmocka_unit_test(test_step_numbers_are_those_of_the_cpu),
        cmocka_unit_test(test_step_fixed_length_and_distinct_examples_are_those_of_the_cpu),
        cmocka_unit_test(test_step_with_masks_counts_labels_and_sequences_that_count),
        cmocka_unit_test(test_engine_names_itself),
        cmocka_unit_test(test_fleet_every_replica_as_alone),
        cmocka_unit_test(test_chip_same_bits_on_any_number_of_blocks),
        cmocka_unit_test(test_fleet_same_bits_however_many_steps_are_asked_for),
        cmocka_unit_test(test_step_waits_for_the_others),
        cmocka_unit_test(test_fleet_goes_on_without_those_that_are_closed),
        cmocka_unit_test(test_fleet_resumes_from_different_steps),
        cmocka_unit_test(test_fleet_one_replica_not_finite_the_others_go_on),
        cmocka_unit_test(test_step_infinite_update_stops),
        cmocka_unit_test(test_fleet_batch_that_cannot_be_had_ends_its_replica),
        cmocka_unit_test(test_open_without_memory_says_what_for_and_what_is_free),
        cmocka_unit_test(test_open_failing_calls_release_everything),
        cmocka_unit_test(test_step_device_that_fails_is_lost_to_all),
        cmocka_unit_test(test_evaluate_sums_are_those_of_the_cpu),
        cmocka_unit_test(test_evaluate_under_a_watchdog_in_short_launches),
        cmocka_unit_test(test_evaluate_ends_behind_a_launch_at_a_signal),
        cmocka_unit_test(test_step_under_a_watchdog_launches_grow_slowly),
        cmocka_unit_test(test_draws_of_every_sequence_numbers_are_those_of_the_cpu),
        cmocka_unit_test(test_evaluate_each_replica_its_own_parameters),
        cmocka_unit_test(test_evaluate_beyond_the_limit_or_memory_says_so),
        cmocka_unit_test(test_evaluate_examples_that_cannot_be_had_say_why),
        cmocka_unit_test(test_predict_logits_are_those_of_the_cpu),
        cmocka_unit_test(test_two_streams_numbers_are_those_of_the_cpu),
        cmocka_unit_test_setup_teardown(test_step_finite_data_is_that_of_the_cpu, lh_test_make_directory,
                                        lh_test_remove_directory),
        cmocka_unit_test_setup_teardown(test_step_finite_data_in_two_streams_is_that_of_the_cpu, lh_test_make_directory,
                                        lh_test_remove_directory),
    };
    return cmocka_run_group_tests_name("cuda_engine", tests, NULL, NULL);
}
