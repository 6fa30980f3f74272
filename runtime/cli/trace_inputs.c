/* See trace_inputs.h. */
#include "cli/trace_inputs.h"

#include <stdlib.h>
#include <string.h>

#include "base/files.h"

static bool is_blank(const char *line) { return line[strspn(line, " \t\r\n")] == 0; }

static int count_lines(const char *text) {
    int lines = 1;
    for (; *text != 0; text++) lines += *text == '\n';
    return lines;
}

/* The number of the shape with these sizes, which is added if it is new; there is room for one per line. */
static int shape_of(lh_corpus *corpus, const lh_sizes *sizes) {
    int i = 0;
    while (i < corpus->shapes && (corpus->sizes[i].input != sizes->input || corpus->sizes[i].output != sizes->output))
        i++;
    if (i == corpus->shapes) corpus->sizes[corpus->shapes++] = *sizes;
    return i + 1;
}

static lh_status read_line(lh_trace_inputs *inputs, lh_line_shapes *lines, int64_t number, const char *line,
                           lh_error *error) {
    lh_input *input = &inputs->list[inputs->count];
    lh_status status = lh_input_read_json(input, &lines->spec, number, line, error);
    if (status == LH_OK && lines->spec.corpus != NULL) input->n = shape_of(&inputs->corpus, &lines->sizes[0]);
    inputs->queries[inputs->count++] = lh_input_query(input);
    return status;
}

static lh_status read_lines(lh_trace_inputs *inputs, const lh_spec *spec, const char *path, char *text,
                            lh_error *error) {
    int64_t number = 0;
    lh_line_shapes lines;
    lh_line_shapes_open(&lines, spec);
    for (char *rest = text, *line; (line = strsep(&rest, "\n")) != NULL;) {
        lh_error problem = {""};
        number++;
        if (is_blank(line)) continue;
        lh_status status = read_line(inputs, &lines, number, line, &problem);
        if (status != LH_OK) return lh_fail(error, status, "%s: %s", path, problem.text);
    }
    return inputs->count > 0 ? LH_OK : lh_fail(error, LH_ERR_INPUT, "%s: there is no input in it", path);
}

lh_status lh_trace_inputs_read(lh_trace_inputs *inputs, const lh_spec *spec, const char *path, lh_error *error) {
    char *text;
    size_t bytes;
    *inputs = (lh_trace_inputs){.spec = *spec};
    if (spec->data != NULL) inputs->spec.corpus = &inputs->corpus;
    lh_status status = lh_read_file(path, &text, &bytes, error);
    if (status != LH_OK) return status;
    size_t most = (size_t)count_lines(text);
    inputs->list = calloc(most, sizeof *inputs->list);
    inputs->queries = calloc(most, sizeof *inputs->queries);
    inputs->corpus.sizes = calloc(most, sizeof *inputs->corpus.sizes);
    if (inputs->list != NULL && inputs->queries != NULL && inputs->corpus.sizes != NULL)
        status = read_lines(inputs, spec, path, text, error);
    else status = lh_fail(error, LH_ERR_ENVIRONMENT, "%s: no memory", path);
    free(text);
    return status;
}

void lh_trace_inputs_free(lh_trace_inputs *inputs) {
    for (int i = 0; i < inputs->count; i++) lh_input_free(&inputs->list[i]);
    free(inputs->list);
    free(inputs->queries);
    free(inputs->corpus.sizes);
}
