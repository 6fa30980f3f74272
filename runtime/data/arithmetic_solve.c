/* Solves arithmetic inputs as users write them; see arithmetic.h. */
#include <stddef.h>

#include "data/arithmetic.h"

/* A literal without start and end symbols. */
typedef struct reading {
    const lh_operation *o;
    const lh_literal *literal;
    int first; /* index of the first symbol after the start symbol */
    int end;   /* index of the end symbol, or the number of symbols */
    int base;
    uint8_t x[LH_MAX_PLACES], y[LH_MAX_PLACES]; /* lowest digit first */
    int digits;                                 /* significant digits of the longer number; the number 0 has one */
    lh_error *error;
} reading;

/* The token of the operator between the numbers; -1: there is one number. */
static int find_operator(const lh_operation *o) {
    return o->operands == LH_TWO_NUMBERS ? LH_PLUS : o->operands == LH_NUMBER_AND_DIGIT ? LH_TIMES : -1;
}

static const char *describe_expected(const lh_operation *o) {
    return o->operands == LH_TWO_NUMBERS        ? "two numbers with + between them"
           : o->operands == LH_NUMBER_AND_DIGIT ? "a number, *, and one digit"
                                                : "a number";
}

static lh_status fail_end(const reading *r) {
    return lh_fail(r->error, LH_ERR_INPUT, "%s: a number is missing\n  expected: %s in base %d", r->o->kind,
                   describe_expected(r->o), r->base);
}

static lh_status fail_symbol(const reading *r, int index) {
    const lh_literal *l = r->literal;
    return lh_fail(r->error, LH_ERR_INPUT, "%s: symbol %d is '%s'\n  expected: %s in base %d", r->o->kind, index + 1,
                   l->symbol[l->token[index]], describe_expected(r->o), r->base);
}

/* The digit of a token; -1: it is not a digit. */
static int read_digit(int base, uint16_t token) {
    int digit = base; /* too large: the token is not a digit */
    if (token < 10) digit = token;
    else if (token >= LH_LETTER_A) digit = token - LH_LETTER_A + 10;
    return digit < base ? digit : -1;
}

int lh_read_number(const lh_literal *literal, int base, int end, int *index, uint8_t *x) {
    const uint16_t *token = literal->token;
    int first = *index, last = first;
    while (last < end && read_digit(base, token[last]) >= 0) last++;
    while (first + 1 < last && token[first] == 0) first++;
    const int digits = last - first;
    for (int i = 0; digits <= LH_MAX_PLACES && i < digits; i++) x[i] = (uint8_t)read_digit(base, token[last - 1 - i]);
    *index = last;
    return digits;
}

static lh_status read_number(reading *r, int *index, uint8_t *x, int *digits) {
    *digits = lh_read_number(r->literal, r->base, r->end, index, x);
    if (*digits == 0) return *index < r->end ? fail_symbol(r, *index) : fail_end(r);
    if (*digits <= LH_MAX_PLACES) return LH_OK;
    return lh_fail(r->error, LH_ERR_INPUT, "%s: a number of %d digits\n  expected: at most %d", r->o->kind, *digits,
                   LH_MAX_PLACES);
}

static lh_status read_literal(reading *r) {
    int index = r->first, y_digits = 0, operator_token = find_operator(r->o);
    lh_status status = read_number(r, &index, r->x, &r->digits);
    if (status == LH_OK && operator_token >= 0) {
        if (index == r->end) return fail_end(r);
        if (r->literal->token[index] != operator_token) return fail_symbol(r, index);
        index++;
        status = read_number(r, &index, r->y, &y_digits);
        if (status == LH_OK && r->o->operands == LH_NUMBER_AND_DIGIT && y_digits > 1) return fail_symbol(r, index - 1);
        if (r->o->operands == LH_TWO_NUMBERS && y_digits > r->digits) r->digits = y_digits;
    }
    return status != LH_OK || index == r->end ? status : fail_symbol(r, index);
}

/* Sets *framed to the options with the requested frame. */
static lh_status choose_frame(const reading *r, lh_framed_options *framed) {
    const lh_literal *l = r->literal;
    int min_width = lh_find_least_width(r->o, l->options, r->digits);
    int width = l->frame > 0 ? l->frame : min_width;
    if (l->frame == LH_NO_VALUE) width = 0; /* the width in the task's options */
    if (width > LH_MAX_PLACES && l->frame > 0)
        return lh_fail(r->error, LH_ERR_INPUT, "%s: a frame of %d places\n  expected: 0 to %d", r->o->kind, width,
                       LH_MAX_PLACES);
    if (min_width > LH_MAX_PLACES)
        return lh_fail(r->error, LH_ERR_INPUT,
                       "%s: a number of %d digits, which needs a frame of %d places\n  expected: at most %d",
                       r->o->kind, r->digits, min_width, LH_MAX_PLACES);
    *framed = lh_set_width(r->o, l->options, width);
    if (r->digits <= framed->frame.digits) return LH_OK;
    return lh_fail(r->error, LH_ERR_INPUT,
                   "%s: a number of %d digits, but a frame of %d places holds at most %d\n"
                   "  expected: a frame of at least %d",
                   r->o->kind, r->digits, framed->frame.width, framed->frame.digits, min_width);
}

lh_status lh_arithmetic_solve(const lh_operation *o, const lh_literal *literal, lh_example *example, lh_error *error) {
    lh_framed_options framed;
    reading r = {.o = o,
                 .literal = literal,
                 .first = literal->count > 0 && literal->token[0] == LH_START,
                 .end = literal->count,
                 .base = lh_set_width(o, literal->options, 0).frame.base,
                 .error = error};
    if (r.end > r.first && literal->token[r.end - 1] == LH_END) r.end--;
    lh_status status = read_literal(&r);
    if (status == LH_OK) status = choose_frame(&r, &framed);
    if (status != LH_OK) return status;
    example->input_length = framed.frame.input_length;
    example->output_length = framed.frame.output_length;
    if (example->input != NULL) o->write(framed.options, r.x, r.y, example);
    return LH_OK;
}
