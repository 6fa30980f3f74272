/* See trace_answers.h. */
#include "cli/trace_answers.h"

#include <stdlib.h>
#include <string.h>

#include "data/batch.h"
#include "data/symbols.h"
#include "train/json_text.h"

/* One input and what the model made of it. */
typedef struct answered {
    const lh_task *task;
    int inputs, labels, length; /* tokens; of the answer up to its end */
    const int32_t *token;
    const int32_t *answer, *target; /* [labels]; target NULL: nothing is known */
    bool known;
    int wrong; /* answers that are, or are missing */
} answered;

static bool is_wrong(const answered *a, int i) {
    return a->target != NULL && a->target[i] >= 0 && a->answer[i] != a->target[i];
}

static answered look_at(const lh_traces *traces, const lh_trace_group *group, int draw, int example) {
    const lh_spec *spec = traces->spec;
    const lh_traced *tokens = lh_traces_find(traces, group, LH_TRACE_TOKENS);
    const lh_traced *answers = lh_traces_find(traces, group, LH_TRACE_ANSWERS);
    const lh_traced *targets = lh_traces_find(traces, group, LH_TRACE_TARGETS);
    answered a = {.task = spec->task,
                  .inputs = lh_input_length(spec, group->n),
                  .labels = (int)answers->each,
                  .token = (const int32_t *)tokens->data + example * tokens->each,
                  .answer = (const int32_t *)answers->data + (draw * group->examples + example) * answers->each};
    if (targets != NULL) a.target = (const int32_t *)targets->data + example * targets->each;
    for (int i = 0; i < a.labels; i++) {
        a.length += a.answer[i] >= 0;
        a.known = a.known || (a.target != NULL && a.target[i] >= 0);
        a.wrong += is_wrong(&a, i);
    }
    return a;
}

/* Names of so many tokens, for free(). One that does not count is in parentheses. */
static lh_status names_of(const char *const *names, int symbols, const int32_t *tokens, int count, char **out,
                          lh_error *error) {
    lh_text text;
    uint16_t *own = calloc((size_t)count + 1, sizeof *own);
    uint8_t *mask = calloc((size_t)count + 1, 1);
    lh_status status = own != NULL && mask != NULL
                           ? lh_text_open(&text, error)
                           : lh_fail(error, LH_ERR_ENVIRONMENT, "no memory for %d symbols", count);
    if (status == LH_OK) {
        for (int i = 0; i < count; i++) {
            own[i] = (uint16_t)tokens[i];
            mask[i] = tokens[i] >= 0;
        }
        lh_print_symbols(text.out, names, symbols, own, mask, count);
        status = lh_text_close(&text, error);
        *out = text.text;
    }
    free(own);
    free(mask);
    return status;
}

/* The line of ^ below an answer whose symbols have one character each; else the places, from 1. */
static void mark(const answered *a, const char *answer) {
    bool single = strlen(answer) == (size_t)a->length;
    int last = 0;
    printf(single ? "        " : "wrong  ");
    for (int i = 0; i < a->labels; i++)
        if (is_wrong(a, i)) last = i;
    for (int i = 0; i <= last; i++)
        if (single) putchar(is_wrong(a, i) ? '^' : ' ');
        else if (is_wrong(a, i)) printf(" %d", i + 1);
    printf("\n");
}

static void print_text(const answered *a, char *const text[3]) {
    printf("input   %s\nanswer  %s%s\n", text[0], text[1], !a->known ? "" : a->wrong > 0 ? "  wrong" : "  right");
    if (a->wrong == 0) return;
    mark(a, text[1]);
    printf("right   %s\n", text[2]);
}

static void print_json(const answered *a, char *const text[3]) {
    lh_json line;
    lh_json_begin(&line, stdout);
    lh_json_string(&line, "input", text[0]);
    lh_json_string(&line, "answer", text[1]);
    lh_json_raw(&line, "right", !a->known ? "null" : a->wrong > 0 ? "false" : "true");
    if (a->wrong > 0) {
        lh_json_string(&line, "target", text[2]);
        lh_json_raw(&line, "wrong", "[");
        for (int i = 0, told = 0; i < a->labels; i++)
            if (is_wrong(a, i)) printf("%s%d", told++ > 0 ? "," : "", i);
        printf("]");
    }
    lh_json_end(&line);
    putchar('\n');
}

static lh_status print_one(const answered *a, bool json, lh_error *error) {
    const lh_task *task = a->task;
    char *text[3] = {NULL};
    lh_status status = names_of(task->input_symbol, task->input_symbols, a->token, a->inputs, &text[0], error);
    if (status == LH_OK)
        status = names_of(task->output_symbol, task->output_symbols, a->answer, a->length, &text[1], error);
    if (status == LH_OK && a->wrong > 0)
        status = names_of(task->output_symbol, task->output_symbols, a->target, a->labels, &text[2], error);
    if (status == LH_OK) (json ? print_json : print_text)(a, text);
    for (int i = 0; i < 3; i++) free(text[i]);
    return status;
}

lh_status lh_print_answers(const lh_traces *traces, bool json, lh_error *error) {
    lh_status status = LH_OK;
    int unknown = 0;
    for (int g = 0; g < traces->group_count; g++) {
        const lh_trace_group *group = &traces->groups[g];
        if (lh_traces_find(traces, group, LH_TRACE_ANSWERS) == NULL) continue;
        for (int draw = 0; draw < traces->request.draws; draw++)
            for (int i = 0; status == LH_OK && i < group->examples; i++) {
                answered a = look_at(traces, group, draw, i);
                unknown += !a.known;
                status = print_one(&a, json, error);
            }
    }
    if (unknown > 0)
        fprintf(stderr, "trace: the right answer is not known to %s; nothing is marked%s\n", traces->spec->task->kind,
                traces->spec->task->solve != NULL ? " where an input does not stand as its examples do" : "");
    return status;
}
