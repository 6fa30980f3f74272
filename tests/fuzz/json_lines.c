/* JSON lines with any content; see fuzz.h. */
#include <stdlib.h>
#include <string.h>

#include "base/json_lines.h"
#include "cli/verbs/input.h"
#include "eval/eval_lines.h"
#include "fuzz/fuzz.h"
#include "toy_spec.h"
#include "training/window.h"

enum { MAX_BYTES = 1 << 16 };

static const char *const seeds[] = {
    "\x00{\"input\":[0,1,2,3,4,3,2,1]}",
    "\x00{\"input\":[\"4\",0,\"1\"]}",
    "\x00{\"input\":[4,0],\"positions\":[0,1,5,63]}",
    "\x00{\"input\":[4,0],\"distances\":[0,1,5,31]}",
    "\x01"
    "0 1 2 3 4",
    "\x02{\"step\":10,\"steps\":3,\"loss\":1.5,\"accuracy\":0.25,\"exact_match\":0,\"grad_norm\":2,"
    "\"clipped_share\":0.5,\"parameter_norm\":9,\"update_norm\":0.01}\n{\"step\":20,\"steps\":1,\"loss\":null}\n",
    "\x03{\"step\":10,\"split\":\"train\",\"by\":{\"length\":4},\"examples\":5,\"draws\":1,\"accuracy\":0.5,"
    "\"exact_match\":0,\"loss\":1.25,\"sd_over_draws\":0}\n{\"step\":9,\"split\":\"beyond\"",
};

uint8_t *lh_fuzz_json_lines_seed(int index, size_t *bytes) {
    if (index >= (int)(sizeof seeds / sizeof *seeds)) return NULL;
    *bytes = 1 + strlen(seeds[index] + 1);
    uint8_t *data = malloc(*bytes);
    lh_fuzz_require(data != NULL, "memory", "for a seed");
    memcpy(data, seeds[index], *bytes);
    return data;
}

/* Checks that positions are below 64, and that distances ascend from 0 and are below 32. */
static void check_lists(const lh_input_list *positions, const lh_input_list *distances, const char *text) {
    for (int i = 0; i < positions->count; i++)
        lh_fuzz_require(positions->numbers[i] >= 0 && positions->numbers[i] < 64, "a position", text);
    for (int i = 0; i < distances->count; i++) {
        int min = i > 0 ? distances->numbers[i - 1] + 1 : 0, max = i > 0 ? 31 : 0;
        lh_fuzz_require(distances->numbers[i] >= min && distances->numbers[i] <= max, "a distance", text);
    }
}

/* Checks that an accepted input of predict is within the alphabet and the range, and has the task's length. */
static void read_input(const char *text, int as_symbols, lh_spec spec) {
    lh_error error = {""};
    lh_input input;
    spec.position_range[0] = 64;
    spec.distance_range[0] = 32;
    lh_status status = as_symbols ? lh_input_read_literal(&input, &spec, 7, text, LH_NO_VALUE, &error)
                                  : lh_input_read_json(&input, &spec, 7, text, LH_LINE_OR_TASK, &error);
    if (status != LH_OK) lh_fuzz_require(status == LH_ERR_INPUT && strlen(error.text) > 8, "a message", error.text);
    if (status == LH_OK) {
        lh_fuzz_require(spec.task->input_length(input.n) == input.input_length, "the length", text);
        for (int i = 0; i < input.input_length; i++)
            lh_fuzz_require(input.input[i] < spec.task->input_symbols, "a token", text);
        for (int i = 0; i < input.target_length; i++)
            lh_fuzz_require(input.target[i] < spec.task->output_symbols && input.mask[i] <= 1, "a target", text);
        for (int s = 0; s < LH_MAX_STREAMS; s++) check_lists(&input.positions[s], &input.distances[s], text);
    }
    lh_input_free(&input);
}

/* Checks that lines are read (evaluations: of eval.jsonl, otherwise of metrics.jsonl) and cut, and that none is torn
 * after the first cut. */
static void read_file(const char *path, int evaluations) {
    lh_error error = {""};
    lh_window window;
    lh_eval_result results[2] = {{.split = "train", .n = 4, .axis = "length", .examples = 5, .draws = 1},
                                 {.split = "beyond", .n = 9, .axis = "length"}};
    bool found[2] = {false, false};
    lh_truncation cut;
    bool is_complete;
    lh_status status = evaluations ? lh_eval_find(path, 10, LH_EVAL_SEED, results, found, 2, &error)
                                   : lh_window_load(&window, path, 10, &is_complete, &error);
    lh_fuzz_require(status == LH_OK, "reads lines", error.text);
    status = lh_truncate_lines(path, "step", 10, &cut, &error);
    lh_fuzz_require(status == LH_OK, "cuts lines", error.text);
    status = lh_truncate_lines(path, "step", 10, &cut, &error);
    lh_fuzz_require(status == LH_OK && cut.torn_lines == 0, "nothing is torn any more", error.text);
}

void lh_fuzz_json_lines(const uint8_t *data, size_t bytes) {
    if (bytes == 0 || bytes > MAX_BYTES) return;
    int reader = data[0] % 4;
    if (reader < 2) {
        char *text = malloc(bytes);
        lh_fuzz_require(text != NULL, "memory", "for a line");
        memcpy(text, data + 1, bytes - 1);
        text[bytes - 1] = 0;
        read_input(text, reader, lh_toy_spec);
        read_input(text, reader, lh_toy_make_pair(NULL));
        free(text);
        return;
    }
    lh_fuzz_write(lh_fuzz_path("lines"), data + 1, bytes - 1);
    read_file(lh_fuzz_path("lines"), reader == 3);
}
