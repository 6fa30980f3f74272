/* See trace_inputs.h. */
#include "cli/verbs/trace_inputs.h"

#include <stdlib.h>
#include <string.h>

#include "base/files.h"

static bool is_blank(const char *line) { return line[strspn(line, " \t\r\n")] == 0; }

static size_t count_lines(const char *text) {
    size_t lines = 1;
    for (; *text != 0; text++) lines += *text == '\n';
    return lines;
}

/* Returns the shape n with these sizes (sizes[n - 1]). Adds the shape if it is new; the corpus has space for one shape
 * per line. */
static int find_or_add_shape(lh_corpus *corpus, const lh_sizes *sizes) {
    int i = 0;
    while (i < corpus->shapes && memcmp(&corpus->sizes[i], sizes, sizeof *sizes) != 0) i++;
    if (i == corpus->shapes) corpus->sizes[corpus->shapes++] = *sizes;
    return i + 1;
}

/* Completes the input that was read last: adds it to the count, also after an error so that it is freed, and makes its
 * query. */
static void add_input(lh_trace_inputs *inputs, const lh_line_shapes *lines, lh_status status) {
    lh_input *input = &inputs->list[inputs->count];
    if (status == LH_OK && lines->spec.corpus != NULL) input->n = find_or_add_shape(&inputs->corpus, &lines->sizes[0]);
    inputs->right_answers[inputs->count] = (lh_right_answer){input->target, input->mask};
    inputs->queries[inputs->count++] = lh_input_make_query(input);
}

static lh_status read_lines(lh_trace_inputs *inputs, const lh_spec *spec, const char *path, char *text,
                            lh_error *error) {
    int64_t number = 0;
    lh_line_shapes lines;
    lh_line_shapes_open(&lines, spec);
    for (char *unread = text, *line; (line = strsep(&unread, "\n")) != NULL;) {
        lh_error problem = {""};
        number++;
        if (is_blank(line)) continue;
        lh_status status =
            lh_input_read_json(&inputs->list[inputs->count], &lines.spec, number, line, LH_LINE_OR_TASK, &problem);
        add_input(inputs, &lines, status);
        if (status != LH_OK) return lh_fail(error, status, "%s: %s", path, problem.text);
    }
    return inputs->count > 0 ? LH_OK
                             : lh_fail(error, LH_ERR_INPUT, "%s: contains no line\n  expected: JSON lines", path);
}

static lh_status allocate_inputs(lh_trace_inputs *inputs, const lh_spec *spec, size_t capacity, lh_error *error) {
    *inputs = (lh_trace_inputs){.spec = *spec};
    inputs->list = calloc(capacity, sizeof *inputs->list);
    inputs->queries = calloc(capacity, sizeof *inputs->queries);
    inputs->right_answers = calloc(capacity, sizeof *inputs->right_answers);
    inputs->corpus.sizes = calloc(capacity, sizeof *inputs->corpus.sizes);
    if (spec->data != NULL) inputs->spec.corpus = &inputs->corpus;
    if (inputs->list != NULL && inputs->queries != NULL && inputs->right_answers != NULL &&
        inputs->corpus.sizes != NULL)
        return LH_OK;
    return lh_fail(error, LH_ERR_ENVIRONMENT, "no memory for %zu inputs", capacity);
}

lh_status lh_trace_inputs_read(lh_trace_inputs *inputs, const lh_spec *spec, const char *path, lh_error *error) {
    char *text;
    size_t bytes;
    *inputs = (lh_trace_inputs){.count = 0};
    lh_status status = lh_read_file(path, &text, &bytes, error);
    if (status != LH_OK) return status;
    if (strlen(text) != bytes)
        status = lh_fail(error, LH_ERR_INPUT, "%s: byte %zu is 0\n  expected: text", path, strlen(text));
    if (status == LH_OK) status = allocate_inputs(inputs, spec, count_lines(text), error);
    if (status == LH_OK) status = read_lines(inputs, spec, path, text, error);
    free(text);
    return status;
}

lh_status lh_trace_inputs_read_texts(lh_trace_inputs *inputs, const lh_spec *spec, const lh_option_texts *texts,
                                     int frame, lh_error *error) {
    lh_line_shapes lines;
    lh_status status = allocate_inputs(inputs, spec, (size_t)texts->count, error);
    lh_line_shapes_open(&lines, spec);
    for (int i = 0; status == LH_OK && i < texts->count; i++) {
        lh_error problem = {""};
        status = lh_input_read_literal(&inputs->list[i], &lines.spec, i + 1, texts->list[i], frame, &problem);
        add_input(inputs, &lines, status);
        if (status != LH_OK) return lh_fail(error, status, "--text: %s", problem.text);
    }
    return status;
}

void lh_trace_inputs_free(lh_trace_inputs *inputs) {
    for (int i = 0; i < inputs->count; i++) lh_input_free(&inputs->list[i]);
    free(inputs->list);
    free(inputs->queries);
    free(inputs->right_answers);
    free(inputs->corpus.sizes);
}
