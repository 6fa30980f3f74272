/* data/datasets/corpus.h and epoch.h: files of examples, messages about invalid files, and the order of epochs. */
#include "lh_test.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/batch.h"
#include "data/datasets/epoch.h"
#include "lh_engines.h"
#include "toy_files.h"
#include "toy_program.h"

static const char *const lines = "{\"input\":[1,2,3],\"target\":[3]}\n"
                                 "{\"input\":[4],\"target\":[0,1],\"mask\":[1,0]}\n"
                                 "\n"
                                 "{\"target\":[2],\"input\":[0,0,1]}\r\n"
                                 "{\"input\":[1,1,1],\"target\":[0,0]}\n"
                                 "{\"input\":[2,2,2],\"target\":[4]}";

static void test_corpus_groups_by_shape_in_order_of_the_file(void **state) {
    toy_files f;
    toy_open_files(&f, lh_test_write_text(*state, "a.jsonl", lines), NULL);
    assert_int_equal(f.corpus.shapes, 3); /* (1, 2), (3, 1), (3, 2) */
    assert_int_equal(f.corpus.train.count, 5);
    const int expected[3][3] = {{1, 2, 1}, {3, 1, 3}, {3, 2, 1}};
    for (int n = 1; n <= 3; n++) {
        assert_int_equal(f.corpus.sizes[n - 1].input, expected[n - 1][0]);
        assert_int_equal(f.corpus.sizes[n - 1].output, expected[n - 1][1]);
        assert_int_equal(lh_dataset_count_examples(&f.corpus.train, n), expected[n - 1][2]);
    }
    uint16_t input[3], target[2];
    uint8_t mask[2];
    lh_example example = {.input_length = 3, .output_length = 1, .input = input, .target = target, .mask = mask};
    const int first[3] = {1, 0, 2}, targets[3] = {3, 2, 4};
    for (int i = 0; i < 3; i++) {
        lh_dataset_copy(&f.corpus.train, 2, i, &example);
        assert_int_equal(input[0], first[i]);
        assert_int_equal(target[0], targets[i]);
        assert_int_equal(mask[0], 1);
    }
    example.input_length = 1;
    example.output_length = 2;
    lh_dataset_copy(&f.corpus.train, 1, 0, &example);
    assert_int_equal(mask[0], 1);
    assert_int_equal(mask[1], 0);
    assert_int_equal(f.corpus.train.masked, 1);
    assert_int_equal(lh_corpus_find_shape(&f.corpus, 3), 2); /* the more frequent of the two shapes */
    assert_int_equal(lh_corpus_find_shape(&f.corpus, 2), 0);
    assert_int_equal(f.corpus.length_count, 2);
    lh_corpus_close(&f.corpus);
}

static void test_corpus_numbers_shapes_over_both_files(void **state) {
    toy_files f;
    lh_error error;
    const char *train = lh_test_write_text(*state, "a.jsonl", lines);
    const char *eval =
        lh_test_write_text(*state, "b.jsonl", "{\"input\":[1,1],\"target\":[0]}\n{\"input\":[1],\"target\":[0,0]}\n");
    toy_make_files(&f, "nowhere", NULL);
    const lh_corpus_request flags = {.path = {train, eval}}; /* flags have priority */
    lh_assert_ok(lh_corpus_open(&f.corpus, &f.spec, &flags, &error), &error);
    assert_true(f.corpus.has_test_set);
    assert_int_equal(f.corpus.shapes, 4);
    assert_int_equal(f.corpus.train_shape_count, 3);
    assert_int_equal(f.corpus.length_count, 2);
    assert_int_equal(lh_dataset_count_examples(&f.corpus.train, 2), 0); /* (2, 1) */
    assert_int_equal(lh_dataset_count_examples(&f.corpus.eval, 2), 1);
    lh_lengths middle_lengths = {.first = 2, .last = 9, .step = 1};
    assert_int_equal(lh_corpus_select(&f.corpus, &f.corpus.eval, &middle_lengths).count, 1);
    assert_int_equal(lh_corpus_select(&f.corpus, &f.corpus.eval, &middle_lengths).list[0], 2);
    assert_int_equal(lh_corpus_select(&f.corpus, &f.corpus.train, &middle_lengths).list[0], 3);
    lh_assert_ok(lh_corpus_bind(&f.corpus, &f.spec, &error), &error);
    assert_int_equal(lh_lengths_find_longest(&f.spec.train.lengths), 4);
    assert_int_equal(f.spec.train.steps, lh_toy_spec.train.steps);
    f.spec.train.epochs = 7;
    lh_assert_ok(lh_corpus_bind(&f.corpus, &f.spec, &error), &error);
    assert_int_equal(f.spec.train.steps, 7 * 3); /* batches of 8: one batch of each shape */
    int64_t log_every = f.spec.train.log_every, steps_kept[] = {0, 4};
    f.spec.train.by_epochs = true;
    f.spec.train.keep_steps = steps_kept;
    f.spec.eval.during_every = 2;
    for (int repetition = 0; repetition < 2; repetition++) { /* a second bind converts nothing again */
        lh_assert_ok(lh_corpus_bind(&f.corpus, &f.spec, &error), &error);
        assert_int_equal(f.spec.train.log_every, 3 * log_every);
        assert_int_equal(f.spec.eval.during_every, 6);
        assert_int_equal(lh_get_kept_step(&f.spec.train, 0), 0);
        assert_int_equal(lh_get_kept_step(&f.spec.train, 1), 12);
    }
    lh_corpus_close(&f.corpus);
}

/* A string in the file is a symbol's name, even if the name consists of digits. A number in the file is an id. */
static void test_corpus_takes_names_and_ids(void **state) {
    static const char *const input[] = {"b", "a", "0", "+", "1"}, *const output[] = {"1", "0", "longer", "~", "L"};
    static const uint16_t expected[] = {1, 0, 2, 4, 0, 1, 3, 2, 0, 1, 3};
    toy_files f;
    lh_error error;
    toy_make_files(
        &f,
        lh_test_write_text(*state, "x.jsonl",
                           "{\"input\":[\"a\",\"b\",\"0\",\"1\",0,1,\"+\"],\"target\":[\"longer\",\"1\",1,\"~\"]}\n"),
        NULL);
    f.task.input_symbol = input;
    f.task.output_symbol = output;
    lh_assert_ok(lh_corpus_open(&f.corpus, &f.spec, NULL, &error), &error);
    assert_memory_equal(f.corpus.train.tokens, expected, sizeof expected);
    lh_corpus_close(&f.corpus);
}

/* A null in a target is a label that does not count, whether the line has a mask or not. */
static void test_corpus_masks_labels_that_are_null(void **state) {
    toy_files f;
    toy_open_files(&f,
                   lh_test_write_text(*state, "a.jsonl",
                                      "{\"input\":[1],\"target\":[null,3,null]}\n"
                                      "{\"input\":[2],\"target\":[1,null,2],\"mask\":[1,1,0]}\n"),
                   NULL);
    const uint8_t expected[2][3] = {{0, 1, 0}, {1, 0, 0}};
    for (int i = 0; i < 2; i++) {
        uint16_t input[1], target[3];
        uint8_t mask[3];
        lh_example example = {.input_length = 1, .output_length = 3, .input = input, .target = target, .mask = mask};
        lh_dataset_copy(&f.corpus.train, 1, i, &example);
        assert_memory_equal(mask, expected[i], sizeof mask);
        assert_int_equal(target[1], i == 0 ? 3 : 0);
    }
    assert_int_equal(f.corpus.train.masked, 4);
    lh_corpus_close(&f.corpus);
}

static int count_one(int input) { return input > 0; }

static void test_corpus_errors_name_file_line_and_cause(void **state) {
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"", "x.jsonl: there are no examples"},
        {"\n  \n", "x.jsonl: there are no examples"},
        {"{\"input\":[1],\"target\":[1]}\n{\"input\":[1],\"target\":[1}\n", "x.jsonl:2:25: "},
        {"{\"input\":[1],\"target\":[1]}\n{\"input\":[1],\"targ", "x.jsonl:2:18: the last line is torn: "},
        {"[1,2]\n",
         "x.jsonl:1: the line is not an example\n  expected: {\"input\":[...],\"target\":[...]}; or input and "
         "target separated by a tab; or IN: ... OUT: ... (docs/own-task.md)"},
        {"{\"input\":[1],\"target\":[1]}\n[1,2]\n",
         "x.jsonl:2: not a JSON object\n  expected: {\"input\":[...],\"target\":[...]}"},
        {"{\"input\":[1]}\n", "x.jsonl:1: target is missing\n  expected: a list of tokens"},
        {"{\"input\":1,\"target\":[1]}\n", "x.jsonl:1: input is not a list"},
        {"\n{\"input\":[],\"target\":[1]}\n", "x.jsonl:2: input is empty"},
        {"{\"input\":[1],\"target\":[]}\n", "x.jsonl:1: target is empty"},
        {"{\"input\":[0,5],\"target\":[1]}\n", "x.jsonl:1: input[1] is 5\n  expected: 0 to 4, or a symbol's name"},
        {"{\"input\":[0],\"target\":[1,-1]}\n", "x.jsonl:1: target[1] is -1\n  expected: 0 to 4"},
        {"{\"input\":[0.5],\"target\":[1]}\n", "x.jsonl:1: input[0] is neither an integer nor a name"},
        {"{\"input\":[\"a\"],\"target\":[1]}\n",
         "x.jsonl:1: input[0] is \"a\", which is not a symbol\n  expected: one of 0 1 2 3 4; or a number, 0 to 4"},
        {"{\"input\":[1],\"target\":[\"\\u001b[31m\"]}\n", "target[0] is \"\\u001B[31m\", which is not a symbol"},
        {"{\"input\":[null],\"target\":[1]}\n", "x.jsonl:1: input[0] is neither an integer nor a name"},
        {"{\"input\":[99999999999999],\"target\":[1]}\n", "x.jsonl:1: input[0] is 99999999999999\n"},
        {"{\"input\":[1],\"target\":[1],\"mask\":[2]}\n", "x.jsonl:1: mask[0] is neither 0 nor 1"},
        {"{\"input\":[1],\"target\":[1],\"mask\":[1,1]}\n",
         "x.jsonl:1: mask has 2 items\n  expected: 1, as many as target"},
        {"{\"input\":[1],\"labels\":[1]}\n",
         "x.jsonl:1: target is missing; keys without a meaning: \"labels\"\n  expected: a list of tokens"},
        {"{\"input\":[1],\"\\u001b[2J\\r\":[1]}\n",
         "x.jsonl:1: target is missing; keys without a meaning: \"?[2J?\"\n"},
        {"{\"input\":[1],\"input\":[1],\"target\":[1]}\n", "x.jsonl:1:"},
        {"{\"input\":[1,1,1,1,1,1,1,1,1,1],\"target\":[1,1,1]}\n",
         "x.jsonl:1: input and target have 10 and 3 tokens\n  expected: at most task.longest = 12 together"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        toy_files f;
        lh_error error;
        toy_make_files(&f, lh_test_write_text(*state, "x.jsonl", cases[i].text), NULL);
        lh_assert_error(lh_corpus_open(&f.corpus, &f.spec, NULL, &error), LH_ERR_INPUT, &error, cases[i].message);
    }
    toy_files f;
    lh_error error;
    toy_make_files(&f, lh_test_write_text(*state, "x.jsonl", "{\"input\":[1,2],\"target\":[0,1]}\n"), NULL);
    f.format.outputs = count_one;
    lh_assert_error(lh_corpus_open(&f.corpus, &f.spec, NULL, &error), LH_ERR_INPUT, &error,
                    "x.jsonl:1: input and target have 2 and 2 tokens\n  expected: 1 target tokens, as many as");
    toy_make_files(&f, lh_test_path(*state, "none.jsonl"), NULL);
    lh_assert_error(lh_corpus_open(&f.corpus, &f.spec, NULL, &error), LH_ERR_INPUT, &error,
                    "none.jsonl: cannot open: No such file or directory\n  hint: --data FILE");
    toy_make_files(&f, lh_test_write_text(*state, "a.jsonl", lines), *state);
    lh_assert_error(lh_corpus_open(&f.corpus, &f.spec, NULL, &error), LH_ERR_INPUT, &error, "--eval-data FILE");
}

/* Any bytes are read as examples or refused with a message; the sanitizers check the reader. Up to four bytes of the
 * valid text change, and a quarter of the files are cut. The changes of a case depend on its index. */
static void test_corpus_mutated_files_are_read_or_refused(void **state) {
    enum { CASES = 3000 };
    static const char likely[] = "{}[],:\"0123456789-.eE \n\t\\abc";
    char text[512];
    size_t bytes = strlen(lines);
    int refused_count = 0;
    for (uint32_t case_index = 0; case_index < CASES; case_index++) {
        toy_files f;
        lh_error error = {""};
        lh_rng rng = lh_rng_at(lh_key_of_seed(1), case_index, 0, 0);
        memcpy(text, lines, bytes);
        for (uint32_t changes = 1 + lh_rng_below(&rng, 4); changes > 0; changes--) {
            size_t index = lh_rng_below(&rng, (uint32_t)bytes);
            bool is_any_byte = lh_rng_below(&rng, 8) == 0;
            text[index] = is_any_byte ? (char)lh_rng_below(&rng, 256) : likely[lh_rng_below(&rng, sizeof likely - 1)];
        }
        const char *path = lh_test_path(*state, "mutated.jsonl");
        lh_test_write(path, text, lh_rng_below(&rng, 4) == 0 ? lh_rng_below(&rng, (uint32_t)bytes) : bytes);
        toy_make_files(&f, path, NULL);
        lh_status status = lh_corpus_open(&f.corpus, &f.spec, NULL, &error);
        if (status == LH_OK) {
            assert_in_range(f.corpus.train.count, 1, 6);
            lh_corpus_close(&f.corpus);
            continue;
        }
        refused_count++;
        assert_int_equal(status, LH_ERR_INPUT);
        assert_non_null(strstr(error.text, "mutated.jsonl:"));
    }
    assert_in_range(refused_count, CASES / 2, CASES - 1);
}

/* Writes examples i = 0 .. count - 1 of shapes n = 1 .. `shapes`. The input has n tokens: the first is i modulo 5, the
 * others are i / 5 modulo 5. The target is n modulo 5. */
static const char *write_many(const char *directory, int shapes, int count) {
    const char *path = lh_test_path(directory, "many.jsonl");
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    for (int i = 0; i < count; i++)
        for (int n = 1; n <= shapes; n++) {
            fprintf(file, "{\"input\":[%d", i % 5);
            for (int j = 1; j < n; j++) fprintf(file, ",%d", i / 5 % 5);
            fprintf(file, "],\"target\":[%d]}\n", n % 5);
        }
    fclose(file);
    return path;
}

static void test_epoch_has_every_example_once_in_batches_of_one_shape(void **state) {
    enum { SHAPES = 6, COUNT = 11, BATCH = 4, BATCHES = SHAPES * 3 };
    toy_files f;
    lh_epoch e;
    lh_error error;
    toy_open_files(&f, write_many(*state, SHAPES, COUNT), NULL);
    lh_assert_ok(lh_epoch_open(&e, &f.corpus, BATCH, &error), &error);
    assert_int_equal(e.batches, BATCHES);
    for (uint32_t epoch = 0; epoch < 3; epoch++) {
        int pick_count[SHAPES + 1][COUNT] = {{0}}, short_batches = 0;
        for (uint32_t b = 0; b < BATCHES; b++) {
            const lh_epoch_batch *batch = lh_epoch_find_batch(&e, lh_key_of_seed(5), epoch * BATCHES + b);
            assert_in_range(batch->sequences, 1, BATCH);
            short_batches += batch->sequences < BATCH;
            for (int i = 0; i < batch->sequences; i++) pick_count[batch->n][e.indices_in_shape[batch->first + i]]++;
        }
        assert_int_equal(short_batches, SHAPES); /* 4 + 4 + 3 */
        for (int n = 1; n <= SHAPES; n++)
            for (int i = 0; i < COUNT; i++) assert_int_equal(pick_count[n][i], 1);
    }
    lh_epoch_close(&e);
    lh_corpus_close(&f.corpus);
}

/* The digest of a step's training examples. */
static uint64_t digest_step(lh_epoch *e, uint64_t seed, uint32_t step) {
    const lh_epoch_batch *batch = lh_epoch_find_batch(e, lh_key_of_seed(seed), step);
    uint64_t sum = (uint64_t)batch->n;
    for (int i = 0; i < batch->sequences; i++) sum = sum * 1000003u + e->indices_in_shape[batch->first + i];
    return sum;
}

static void test_epoch_follows_from_seed_and_step_alone(void **state) {
    enum { STEPS = 54 };
    toy_files f;
    lh_epoch forward, jumping;
    lh_error error;
    uint64_t expected[STEPS];
    int equal_in_next_epoch = 0, equal_by_another_seed = 0;
    toy_open_files(&f, write_many(*state, 6, 11), NULL);
    lh_assert_ok(lh_epoch_open(&forward, &f.corpus, 4, &error), &error);
    lh_assert_ok(lh_epoch_open(&jumping, &f.corpus, 4, &error), &error);
    for (uint32_t step = 0; step < STEPS; step++) expected[step] = digest_step(&forward, 5, step);
    for (uint32_t i = 0; i < STEPS; i++) {
        uint32_t step = i * 31 % STEPS; /* alternates between epochs */
        assert_true(digest_step(&jumping, 5, step) == expected[step]);
    }
    for (uint32_t step = 0; step < 18; step++) {
        equal_in_next_epoch += expected[step] == expected[step + 18];
        jumping.index = -1; /* forgets the order by seed 5 */
        equal_by_another_seed += digest_step(&jumping, 6, step) == expected[step];
    }
    assert_true(equal_in_next_epoch < 4 && equal_by_another_seed < 4); /* epochs and seeds have different orders */
    lh_epoch_close(&forward);
    lh_epoch_close(&jumping);
    lh_corpus_close(&f.corpus);
}

/* In 600 epochs of one shape, with 5 examples in one batch, the first example is equally often at each index. */
static void test_epoch_order_is_uniform(void **state) {
    toy_files f;
    lh_epoch e;
    lh_error error;
    long index_counts[5] = {0};
    toy_open_files(&f, write_many(*state, 1, 5), NULL);
    lh_assert_ok(lh_epoch_open(&e, &f.corpus, 8, &error), &error);
    for (uint32_t step = 0; step < 600; step++) {
        lh_epoch_find_batch(&e, lh_key_of_seed(1), step);
        for (int i = 0; i < 5; i++)
            if (e.indices_in_shape[i] == 0) index_counts[i]++;
    }
    assert_true(lh_test_compute_chi_square(index_counts, 5) < 18.47); /* 99.9% point, 4 degrees of freedom */
    lh_epoch_close(&e);
    lh_corpus_close(&f.corpus);
}

static void test_batch_copies_the_picked_examples(void **state) {
    toy_files f;
    lh_batch batch;
    lh_error error;
    static const uint32_t indices_in_shape[3] = {7, 0, 3};
    toy_open_files(&f, write_many(*state, 4, 11), NULL);
    lh_assert_ok(lh_corpus_bind(&f.corpus, &f.spec, &error), &error);
    lh_assert_ok(lh_batch_open(&batch, &f.spec, 4, 3, &error), &error);
    lh_source source = {.key = lh_key_of_seed(1), .domain = LH_DOMAIN_DATA, .indices_in_shape = indices_in_shape};
    lh_assert_ok(lh_batch_fill(&batch, &f.spec, &source, 3, 0, 3, &error), &error);
    assert_int_equal(batch.shape.length[0], 4);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(batch.tokens[0][4 * i], indices_in_shape[i] % 5);
        assert_int_equal(batch.tokens[0][4 * i + 1], indices_in_shape[i] / 5);
        assert_int_equal(batch.labels[i], 3);
    }
    source.indices_in_shape = NULL; /* examples in order; after the last, again the first */
    lh_assert_ok(lh_batch_fill(&batch, &f.spec, &source, 3, 10, 3, &error), &error);
    assert_int_equal(batch.tokens[0][0], 10 % 5);
    assert_int_equal(batch.tokens[0][4], 0);
    assert_int_equal(lh_get_reported_length(&f.spec, 3), 3);
    lh_batch_close(&batch);
    lh_corpus_close(&f.corpus);
}

/* Examples are from the requested set, or there are none. */
static void test_batch_takes_no_examples_of_another_set(void **state) {
    toy_files f;
    lh_batch batch;
    lh_error error;
    const char *eval = lh_test_write_text(*state, "eval.jsonl", "{\"input\":[1],\"target\":[1]}\n");
    toy_open_files(&f, write_many(*state, 3, 2), eval);
    lh_assert_ok(lh_corpus_bind(&f.corpus, &f.spec, &error), &error);
    lh_assert_ok(lh_batch_open(&batch, &f.spec, 3, 1, &error), &error);
    lh_source source = {.domain = LH_DOMAIN_EVAL};
    lh_assert_ok(lh_batch_fill(&batch, &f.spec, &source, 1, 0, 1, &error), &error);
    for (int is_named = 0; is_named < 2; is_named++) {
        source.set = is_named ? &f.corpus.eval : NULL;
        lh_assert_error(lh_batch_fill(&batch, &f.spec, &source, 2, 0, 1, &error), LH_ERR_INPUT, &error,
                        "eval.jsonl has no example with an input of 2 tokens and a target of 1");
    }
    lh_batch_close(&batch);
    lh_corpus_close(&f.corpus);
}

/* Counts of trained examples, by input length and by the example's index in its shape. The index is modulo 5 for inputs
 * of one token. */
static atomic_int trained[7][25];
static atomic_int wrong_blocks;

static void record_block(const lh_cpu_step *step, const lh_cpu_block *block, void *workspace, void *gradient,
                         lh_sums *sums) {
    int tokens = step->shape.length[0], inputs = tokens - step->shape.labels;
    if (block->loss_scale * step->shape.sequences * step->shape.labels < 0.999999) wrong_blocks++;
    if ((int)block->first_example + block->sequences > step->shape.sequences) wrong_blocks++;
    for (int i = 0; i < block->sequences; i++) {
        const uint16_t *input = block->tokens[0] + i * tokens;
        trained[inputs][input[0] + (inputs > 1 ? 5 * input[1] : 0)]++;
        if (block->labels[i] != inputs % 5) wrong_blocks++;
    }
    sums->positions += block->sequences;
}

/* 11 examples in batches of 8 and 3; with 4 shards the short batch leaves one empty. */
static void test_engine_trains_on_every_example_once_in_an_epoch(void **state) {
    enum { SHAPES = 6, COUNT = 11, BATCHES = SHAPES * 2, EPOCHS = 3 };
    static lh_step_metrics metrics[BATCHES * EPOCHS];
    toy_files f;
    lh_error error;
    int short_batches = 0;
    lh_cpu_program program = toy_float;
    program.train_block = record_block;
    program.end_shard = NULL;
    toy_open_files(&f, write_many(*state, SHAPES, COUNT), NULL);
    lh_assert_ok(lh_corpus_bind(&f.corpus, &f.spec, &error), &error);
    lh_engine_config config = {.spec = &f.spec, .seed = 7, .learning_rate = 0.01, .threads = 3, .trains = true};
    lh_engine *engine = lh_test_open_engine(config, &program);
    for (int epoch = 1; epoch <= EPOCHS; epoch++) {
        lh_test_step(engine, BATCHES, metrics);
        for (int n = 1; n <= SHAPES; n++) {
            int expected[25] = {0};
            for (int i = 0; i < COUNT; i++) expected[i % 5 + (n > 1 ? 5 * (i / 5 % 5) : 0)] += epoch;
            for (int i = 0; i < 25; i++) assert_int_equal(trained[n][i], expected[i]);
        }
        for (int b = 0; b < BATCHES; b++) short_batches += metrics[b].sums.positions == 3;
    }
    assert_int_equal(wrong_blocks, 0);
    assert_int_equal(short_batches, SHAPES * EPOCHS);
    engine->ops->close(engine);
    lh_corpus_close(&f.corpus);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        lh_test_in_directory(test_corpus_groups_by_shape_in_order_of_the_file),
        lh_test_in_directory(test_corpus_numbers_shapes_over_both_files),
        lh_test_in_directory(test_corpus_takes_names_and_ids),
        lh_test_in_directory(test_corpus_masks_labels_that_are_null),
        lh_test_in_directory(test_corpus_errors_name_file_line_and_cause),
        lh_test_in_directory(test_corpus_mutated_files_are_read_or_refused),
        lh_test_in_directory(test_epoch_has_every_example_once_in_batches_of_one_shape),
        lh_test_in_directory(test_epoch_follows_from_seed_and_step_alone),
        lh_test_in_directory(test_epoch_order_is_uniform),
        lh_test_in_directory(test_batch_copies_the_picked_examples),
        lh_test_in_directory(test_batch_takes_no_examples_of_another_set),
        lh_test_in_directory(test_engine_trains_on_every_example_once_in_an_epoch),
    };
    return cmocka_run_group_tests_name("corpus", tests, NULL, NULL);
}
