/* Reads inputs of predict and trace as users write them: a JSON line of token ids or names, or text in the task's
 * symbols. */
#ifndef LONGHAND_INPUT_H
#define LONGHAND_INPUT_H

#include "data/datasets/corpus.h"
#include "engine/engine.h"

/* A list in a line of input, with a number for each token: given positions, or values that replace the random positions
 * or distances of a stream. */
typedef struct lh_input_list {
    int32_t *numbers; /* NULL: the line has no such list */
    int count;
} lh_input_list;

typedef struct lh_input {
    int n;           /* task length; with a dataset, the index of a shape in lh_line_shapes or in lh_trace_inputs */
    int outputs;     /* number of tokens to predict, with a dataset; 0: unspecified */
    int passes;      /* with lh_spec.pass_axis, the number of passes; else 0 */
    uint16_t *input; /* [input_length] tokens */
    int input_length;
    lh_input_list positions[LH_MAX_STREAMS]; /* values that replace the random positions of each stream */
    lh_input_list distances[LH_MAX_STREAMS]; /* values that replace the random distances: 0, then ascending */
    lh_input_list line_positions;            /* see lh_dataset.positions, if the model reads positions from lines */
    int32_t *token_positions; /* positions of all streams, from the task or the line; NULL: none are given */
    uint16_t *target;         /* [target_length] the right answer; NULL: unknown */
    uint8_t *mask;            /* [target_length] 0: the target's token does not count; NULL if target is NULL */
    int target_length;
} lh_input;

/* The source of the right answer. LH_LINE_ONLY: only the line. LH_LINE_OR_TASK: the line or, if it has none, the task's
 * solution of the input. */
typedef enum lh_answer_source { LH_LINE_ONLY, LH_LINE_OR_TASK } lh_answer_source;

/* A spec for reading lines of inputs. With a dataset, `corpus` has two shapes: shape 1 is that of the current
 * line, and shape 2 is large enough for all lines so far. Without a dataset, `spec` is a copy of the original spec. */
typedef struct lh_line_shapes {
    lh_spec spec;
    lh_corpus corpus;
    lh_sizes sizes[2];
} lh_line_shapes;

void lh_line_shapes_open(lh_line_shapes *lines, const lh_spec *spec);

/* Reads {"input":[...]} with, optionally, "positions":[...], "distances":[...] and, with a dataset, "outputs":N. If
 * the model has several streams, positions and distances are {"<stream>":[...]} for one or more streams. If the model
 * reads positions from lines, "positions" is a list of them (lh_dataset.positions). The right answer is "target":[...]
 * with an optional "mask":[...], which also give the number of outputs; or the task's solution, if the input has the
 * form of the task's examples. Keys of the task's axes are allowed, and the key of lh_spec.pass_axis is required.
 * line: number of the line, for messages. LH_ERR_INPUT: no JSON, an unknown key, a value of a wrong type or out of
 * range, distances that do not ascend from 0, lists of unequal lengths, a length that the task does not have, or an
 * input that does not determine the place of its answer. With a dataset, `spec` must be that of lh_line_shapes. Call
 * lh_input_free also after an error. */
lh_status lh_input_read_json(lh_input *input, const lh_spec *spec, int64_t line, const char *text,
                             lh_answer_source source, lh_error *error);

/* Reads text in symbols of the task's input alphabet. A task that can solve inputs converts the text to the form of its
 * examples. frame: the width to which the task pads numbers (lh_literal.frame); LH_NO_VALUE: the task's own width.
 * LH_ERR_INPUT also if the input is too long for the encoding, or if the spec has a pass_axis, since a text does not
 * state its value. */
lh_status lh_input_read_literal(lh_input *input, const lh_spec *spec, int64_t line, const char *text, int frame,
                                lh_error *error);

/* Reads text in symbols without conversion and without a right answer. */
lh_status lh_input_read_symbols(lh_input *input, const lh_spec *spec, int64_t line, const char *text, lh_error *error);

/* The query of an input, which points into input. The caller sets its draw if the model has random values. */
lh_query lh_input_make_query(const lh_input *input);

void lh_input_free(lh_input *input);

#endif
