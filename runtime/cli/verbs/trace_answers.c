/* See trace_answers.h. */
#include "cli/verbs/trace_answers.h"

#include <stdlib.h>
#include <string.h>

#include "base/json_text.h"
#include "data/batch.h"
#include "data/symbols/symbols.h"

/* One input with the model's answer under one draw. */
typedef struct trace_answer {
    const lh_task *task;
    const lh_query *query;
    const lh_right_answer *right_answers;
    int index;             /* index of the input */
    int draw, draws;       /* index of the draw, and number of draws */
    int inputs, labels;    /* numbers of input tokens and labels */
    const int32_t *answer; /* [labels] classes; -1 after the end */
    int length;            /* number of classes up to the end */
    bool is_known;         /* at least one right answer is known */
    int wrong_count;       /* number of wrong or missing answers */
} trace_answer;

/* Texts of symbols: the input, the answer, and the right answer if the answer is wrong. */
enum { INPUT, ANSWER, RIGHT, TEXTS };

static bool is_counted(const trace_answer *a, int i) {
    return a->right_answers->target != NULL && (a->right_answers->mask == NULL || a->right_answers->mask[i]);
}

static bool is_wrong(const trace_answer *a, int i) {
    return is_counted(a, i) && a->answer[i] != a->right_answers->target[i];
}

/* The answer to an example of a group under one draw. */
static trace_answer find_answer(const lh_traces *traces, const lh_trace_group *group, int draw, int example) {
    const lh_spec *spec = traces->spec;
    const lh_trace_request *request = &traces->request;
    const lh_trace_tensor *answers = lh_traces_find(traces, group, LH_TRACE_ANSWERS);
    int index = lh_find_trace_input(request, group->n, example);
    trace_answer a = {.task = spec->task,
                      .query = &request->inputs[index],
                      .right_answers = &request->right_answers[index],
                      .index = index,
                      .draw = draw,
                      .draws = request->draws,
                      .inputs = lh_get_input_length(spec, group->n),
                      .labels = (int)answers->elements,
                      .answer =
                          (const int32_t *)answers->data + (draw * group->examples + example) * answers->elements};
    for (int i = 0; i < a.labels; i++) {
        a.length += a.answer[i] >= 0;
        a.is_known = a.is_known || is_counted(&a, i);
        a.wrong_count += is_wrong(&a, i);
    }
    return a;
}

/* Writes the symbols of the model's answer as text, which the caller frees. */
static lh_status write_answer_symbols(const trace_answer *a, char **out, lh_error *error) {
    uint16_t *tokens = calloc((size_t)a->length + 1, sizeof *tokens);
    if (tokens == NULL) return lh_fail(error, LH_ERR_ENVIRONMENT, "no memory for %d symbols", a->length);
    for (int i = 0; i < a->length; i++) tokens[i] = (uint16_t)a->answer[i];
    lh_status status =
        lh_write_symbols(a->task->output_symbol, a->task->output_symbols, tokens, NULL, a->length, out, error);
    free(tokens);
    return status;
}

/* Prints a line with ^ under each wrong symbol if all symbols of both answers are single characters; if not, prints the
 * places of wrong symbols, from 1. */
static void mark_wrong_symbols(const trace_answer *a, char *const texts[TEXTS]) {
    bool are_characters = strlen(texts[ANSWER]) == (size_t)a->length && strlen(texts[RIGHT]) == (size_t)a->labels;
    int last = 0;
    printf(are_characters ? "        " : "wrong  ");
    for (int i = 0; i < a->labels; i++)
        if (is_wrong(a, i)) last = i;
    for (int i = 0; i <= last; i++)
        if (are_characters) putchar(is_wrong(a, i) ? '^' : ' ');
        else if (is_wrong(a, i)) printf(" %d", i + 1);
    printf("\n");
}

static void print_text(const trace_answer *a, char *const texts[TEXTS]) {
    printf("input   %s\n", texts[INPUT]);
    if (a->draws > 1) printf("draw    %d of %d\n", a->draw + 1, a->draws);
    printf("answer  %s%s\n", texts[ANSWER], !a->is_known ? "" : a->wrong_count > 0 ? "  wrong" : "  right");
    if (a->wrong_count == 0) return;
    mark_wrong_symbols(a, texts);
    printf("right   %s\n", texts[RIGHT]);
}

static void print_json(const trace_answer *a, char *const texts[TEXTS]) {
    lh_json line;
    lh_json_begin(&line, stdout);
    lh_json_integer(&line, "index", a->index);
    if (a->draws > 1) lh_json_integer(&line, "draw", a->draw);
    lh_json_string(&line, "input", texts[INPUT]);
    lh_json_string(&line, "answer", texts[ANSWER]);
    lh_json_raw(&line, "right", !a->is_known ? "null" : a->wrong_count > 0 ? "false" : "true");
    if (a->wrong_count > 0) {
        lh_json_string(&line, "target", texts[RIGHT]);
        lh_json_raw(&line, "wrong", "[");
        for (int i = 0, printed = 0; i < a->labels; i++)
            if (is_wrong(a, i)) printf("%s%d", printed++ > 0 ? "," : "", i);
        printf("]");
    }
    lh_json_end_line(&line);
}

static lh_status print_answer(const trace_answer *a, bool as_json, lh_error *error) {
    const lh_task *task = a->task;
    char *texts[TEXTS] = {NULL};
    lh_status status = lh_write_symbols(task->input_symbol, task->input_symbols, a->query->input, NULL, a->inputs,
                                        &texts[INPUT], error);
    if (status == LH_OK) status = write_answer_symbols(a, &texts[ANSWER], error);
    if (status == LH_OK && a->wrong_count > 0)
        status = lh_write_symbols(task->output_symbol, task->output_symbols, a->right_answers->target,
                                  a->right_answers->mask, a->labels, &texts[RIGHT], error);
    if (status == LH_OK && as_json) print_json(a, texts);
    else if (status == LH_OK) print_text(a, texts);
    for (int i = 0; i < TEXTS; i++) free(texts[i]);
    return status;
}

lh_status lh_print_answers(const lh_traces *traces, bool as_json, lh_error *error) {
    lh_status status = LH_OK;
    int unknown = 0;
    if (traces->request.inputs == NULL) return LH_OK;
    for (int g = 0; g < traces->group_count; g++)
        for (int i = 0; i < traces->groups[g].examples; i++)
            for (int draw = 0; status == LH_OK && draw < traces->request.draws; draw++) {
                trace_answer a = find_answer(traces, &traces->groups[g], draw, i);
                unknown += !a.is_known;
                status = print_answer(&a, as_json, error);
            }
    if (unknown > 0)
        fprintf(stderr,
                "trace: %s does not know all right answers; answers without a known right answer are not marked%s\n",
                traces->spec->task->kind,
                traces->spec->task->solve != NULL ? " (their inputs do not have the form of the task's examples)" : "");
    return status;
}
