/* Inputs of predict and trace as people write them: one JSON line, of ids or of names, or the task's symbols. */
#ifndef LONGHAND_INPUT_H
#define LONGHAND_INPUT_H

#include "data/datasets/corpus.h"
#include "engine/engine.h"

/* Numbers that stand in place of a stream's draws, one per token; NULL where the line has none. */
typedef struct lh_input_list {
    int32_t *numbers;
    int count;
} lh_input_list;

typedef struct lh_input {
    int n;           /* task length; 1 with finite data */
    int outputs;     /* tokens to predict, with finite data; 0: not said */
    uint16_t *input; /* [input_length] tokens */
    int input_length;
    lh_input_list positions[LH_MAX_STREAMS], distances[LH_MAX_STREAMS]; /* distances: 0, then ascending */
    uint16_t *target; /* [output tokens of n] the right answer, where it is known; or NULL */
    uint8_t *mask;    /* [output tokens of n] of it: 0 does not count; NULL: all do */
    int target_length;
} lh_input;

/* The right answer: what the line says of it; or also what the task makes of the input, where the line says nothing. */
typedef enum lh_right { LH_IF_GIVEN, LH_IF_KNOWN } lh_right;

/* Lines of inputs for finite data bring their shapes with them: a spec to read them with, whose corpus has two shapes,
 * 1 that of the line at hand, 2 large enough for every line so far. Without finite data the spec is as it was. */
typedef struct lh_line_shapes {
    lh_spec spec;
    lh_corpus corpus;
    lh_sizes sizes[2];
} lh_line_shapes;

void lh_line_shapes_open(lh_line_shapes *lines, const lh_spec *spec);

/* Reads {"input":[...]} with, optionally, "positions":[...], "distances":[...] and, with finite data, "outputs":N;
 * where the model has several streams, positions and distances are {"<stream>":[...]}, of one stream or more. The right
 * answer is "target":[...] with "mask":[...], which say how many outputs there are, too; or what the task says, if it
 * solves an input that stands as its examples do. Numbers on the task's axes may stand there. line: its number, for
 * messages. LH_ERR_INPUT says what is wrong: no JSON, another key, tokens, positions or distances out of range,
 * distances that do not ascend from 0, a length that the task does not have. With finite data the spec is that of
 * lh_line_shapes. Whatever the outcome, input is for lh_input_free. */
lh_status lh_input_read_json(lh_input *input, const lh_spec *spec, int64_t line, const char *text, lh_right right,
                             lh_error *error);

/* Reads what someone writes: symbols of the task's input alphabet, which a task that solves them puts the way its
 * examples are. frame: see lh_literal; LH_NO_VALUE where the task has no such axis. LH_ERR_INPUT also where the
 * encoding has no place for it. */
lh_status lh_input_read_literal(lh_input *input, const lh_spec *spec, int64_t line, const char *text, int frame,
                                lh_error *error);

/* Reads symbols as they stand, without a right answer. */
lh_status lh_input_read_symbols(lh_input *input, const lh_spec *spec, int64_t line, const char *text, lh_error *error);

/* The model's input, without random positions. Points into input. */
lh_query lh_input_query(const lh_input *input);

void lh_input_free(lh_input *input);

#endif
