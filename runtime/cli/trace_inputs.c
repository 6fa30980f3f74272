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

static lh_status read_lines(lh_trace_inputs *inputs, const lh_spec *spec, const char *path, char *text,
                            lh_error *error) {
    int64_t number = 0;
    for (char *rest = text, *line; (line = strsep(&rest, "\n")) != NULL;) {
        lh_error problem = {""};
        number++;
        if (is_blank(line)) continue;
        lh_input *input = &inputs->list[inputs->count];
        lh_status status = lh_input_read_json(input, spec, number, line, &problem);
        inputs->queries[inputs->count++] = lh_input_query(input);
        if (status != LH_OK) return lh_fail(error, status, "%s: %s", path, problem.text);
    }
    return inputs->count > 0 ? LH_OK : lh_fail(error, LH_ERR_INPUT, "%s: there is no input in it", path);
}

lh_status lh_trace_inputs_read(lh_trace_inputs *inputs, const lh_spec *spec, const char *path, lh_error *error) {
    char *text;
    size_t bytes;
    *inputs = (lh_trace_inputs){NULL, NULL, 0};
    lh_status status = lh_read_file(path, &text, &bytes, error);
    if (status != LH_OK) return status;
    size_t most = (size_t)count_lines(text);
    inputs->list = calloc(most, sizeof *inputs->list);
    inputs->queries = calloc(most, sizeof *inputs->queries);
    if (inputs->list != NULL && inputs->queries != NULL) status = read_lines(inputs, spec, path, text, error);
    else status = lh_fail(error, LH_ERR_ENVIRONMENT, "%s: no memory", path);
    free(text);
    return status;
}

void lh_trace_inputs_free(lh_trace_inputs *inputs) {
    for (int i = 0; i < inputs->count; i++) lh_input_free(&inputs->list[i]);
    free(inputs->list);
    free(inputs->queries);
}
