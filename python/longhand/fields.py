"""The sections of a spec as functions, whose keywords are the fields.

`make gen` writes this file from the fields of specs; do not edit it.
"""

from __future__ import annotations

from typing import Any, Literal


def _make_section(given):
    return {name: value for name, value in given.items() if value is not None}


def Task(*, use: str | None = None, kind: str | None = None, source: str | None = None, data: Any = None,
         name: str | None = None, eval: Any = None, validation: Any = None, input_symbols: Any = None,
         output_symbols: Any = None, symbols: Any = None, end_symbol: str | None = None, longest: int | None = None,
         axes: list | None = None, seed: int | None = None, options: dict | None = None,
         loss: Literal["all", "counted"] | None = None, computation: int | None = None) -> dict[str, Any]:
    """The task to learn. A field that is None is left out.

    use: the name of a preset, or of a spec with this section
    kind: a built-in task, runtime/data/tasks/<kind>.c; a task has exactly one of kind, source and data [the kind of a
        task]
    source: the C file of a sampler of your own, relative to the spec file (docs/own-task.md) [a C file named <kind>.c;
        <kind> is a letter a-z, then 1 to 63 characters: a-z, 0-9 and _]
    data: a file of training examples (JSON lines, columns with tabs, or SCAN's form), relative to the spec file
        (docs/own-task.md) [the path of a file, relative to the spec file]
    name: the task's name in reports and tables; absent: the spec's name [a name of up to 40 characters: a-z, 0-9 and _,
        a letter first]
    eval: a second file of examples, for evaluation; absent: the training examples are evaluated [the path of a file,
        relative to the spec file]
    validation: a third file of examples, for validation; for a task that generates its examples, a file of puzzles
        (docs/latin-square.md) [the path of a file, relative to the spec file]
    input_symbols: the alphabet of inputs; tokens in files are symbols, or integers from 0 to the size of the alphabet -
        1; absent: the symbols of task.data [a number of symbols from 1 to 65000, or a list of their names]
    output_symbols: the alphabet of targets, in the form of input_symbols; absent: the symbols of task.data [a number of
        symbols from 1 to 65000, or a list of their names]
    symbols: one alphabet for inputs and targets, whose symbols have one vector each; it replaces input_symbols and
        output_symbols [a number of symbols from 1 to 65000, or a list of their names]
    end_symbol: the symbol that ends every target; it is appended to the targets of the files, and a model that answers
        token by token stops at it [the name of a symbol, in quotes]
    longest: the highest number of tokens that an input and its target may have together; absent, with data: 512 [an
        integer from 2 to 100000]
    axes: names of further numbers in the lines of the files, such as { 'digits' }; eval.by can evaluate by these
        numbers [a list of names of up to 40 characters: a-z, 0-9 and _, a letter first]
    seed: the seed of the examples that the task generates and of their split into sets; all other random numbers depend
        on the seed of the run [an integer from 0 to 2147483647; default: 0]
    options: options of the task, by name; ./longhand list tasks shows them [{ name = choice, ... }; default: the first
        choice of each option; for a range, the number in parentheses in ./longhand list tasks]
    loss: the labels over which the loss is a mean (docs/own-task.md) [all, counted; default: counted for data files;
        for a C file, its line `mask:` decides]
    computation: tokens without content (pause tokens) between input and outputs, which give the network space for
        computation [an integer from 0 to 1000; default: 0]
    """
    return _make_section(locals())


def Model(*, use: str | None = None, kind: Literal["encoder", "decoder", "encoder_decoder", "recurrent"] | None = None,
          cell: Literal["rnn", "lstm", "stack_rnn", "tape_rnn"] | None = None, cells: int | None = None,
          source: str | None = None, options: dict | None = None, layers: int | None = None,
          encoder_layers: int | None = None, decoder_layers: int | None = None, loops: dict | None = None,
          heads: int | None = None, width: int | None = None, feedforward: int | None = None,
          dropout: float | None = None, attention_dropout: float | None = None, hidden_dropout: float | None = None,
          embedding_dropout: float | None = None, norm: dict | None = None,
          activation: Literal["relu", "gelu", "gelu_tanh", "silu", "swiglu", "geglu"] | None = None,
          branch_activation: Literal["none", "relu", "gelu", "gelu_tanh", "silu"] | None = None,
          bias: Literal["feedforward", "all", "none"] | None = None,
          init: Literal["haiku", "torch", "xavier"] | None = None, embedding: Literal["table", "linear"] | None = None,
          readout: Literal["outputs", "last", "in_place", "probe"] | None = None,
          output: Literal["linear", "feedforward"] | None = None, output_bias: bool | None = None,
          tied: bool | None = None, spare_token: bool | None = None) -> dict[str, Any]:
    """The network. A field that is None is left out.

    use: the name of a preset, or of a spec with this section
    kind: the kind of network [encoder, decoder, encoder_decoder, recurrent; default: encoder]
    cell (kind recurrent): the computation of a step from the step's token and the state [rnn, lstm, stack_rnn,
        tape_rnn; default: lstm]
    cells (kind recurrent): tape: number of cells, by default as many as the longest input has tokens; stack: largest
        number of cells, by default without a limit; a push on a full stack loses the bottom cell [an integer from 1 to
        65536]
    source (kind encoder, decoder, encoder_decoder): the Lua file of a network of your own, relative to the spec file
        (docs/own-network.md); kind then determines the tokens that the network reads [a Lua file named <name>.lua;
        <name> is a letter a-z, then 1 to 63 characters: a-z, 0-9 and _]
    options (kind encoder, decoder, encoder_decoder): options of a network of your own, by name [{ name = value, ... }:
        names of a-z, 0-9 and _; values are numbers, words, true or false]
    layers (kind encoder, decoder): number of blocks, each with an attention and a feed-forward part [an integer from 1
        to 64; default: 5]
    encoder_layers (kind encoder_decoder): number of encoder blocks; 0: the decoder attends to the embedded input [an
        integer from 0 to 64; default: 5]
    decoder_layers (kind encoder_decoder): number of decoder blocks [an integer from 1 to 64; default: 5]
    loops (kind encoder, decoder): several passes through the blocks, all with the same parameters (docs/looped.md);
        absent: one pass
    loops.times: number of passes; length: as many as the task length n of the example (Fan et al. 2024); the name of an
        axis of the task, such as digits: as many as the example's value on this axis [an integer from 2 to 64, 'length'
        or the name of an axis; required]
    loops.max_times: the maximum number of passes in training, if times is the name of an axis [an integer from 2 to
        1024]
    loops.progressive: whether every training step samples its numbers of passes: first passes without gradient, then at
        most times / 2 passes with gradient (the progressive loss of McLeish et al. 2024); evaluation has `times` passes
        [true or false; default: false]
    loops.loss: the passes whose answers enter the loss [last, every; default: last]
    loops.inject: whether every pass adds the embedding of the tokens to its input [true or false; default: false]
    loops.start: the input of the first pass [embedding, zeros, noise; default: embedding]
    loops.deviation: the standard deviation of start = 'noise', by default 0.02 [a number from 0 to 100]
    loops.norm: the place of the final norm, with model.norm.place = 'pre' [outside, inside; default: outside]
    heads (kind encoder, decoder, encoder_decoder): number of attention heads of a block; width / heads must be a
        multiple of 4 [an integer from 1 to 64; default: 8]
    width: size of a token's vector, or of the state of a recurrent model [a multiple of 16 from 16 to 1024; default:
        64]
    feedforward (kind encoder, decoder, encoder_decoder): size of the hidden layer of a feed-forward part [a multiple of
        16 from 16 to 8192; default: 256]
    dropout (kind encoder, decoder, encoder_decoder): share of the outputs of attention and feed-forward parts that is
        dropped in training [a number from 0 to 0.99; default: 0.1]
    attention_dropout (kind encoder, decoder, encoder_decoder): share of the attention weights that is dropped after the
        softmax, in training [a number from 0 to 0.99; default: 0]
    hidden_dropout (kind encoder, decoder, encoder_decoder): share of the hidden values of feed-forward parts that is
        dropped after the activation, in training [a number from 0 to 0.99; default: 0]
    embedding_dropout (kind encoder, decoder, encoder_decoder): share of the sum of embedding and encoding that is
        dropped in training; absent: encoding.additive.dropout, if there is one [a number from 0 to 0.99]
    norm (kind encoder, decoder, encoder_decoder): the normalisation of the residual stream
    norm.kind: the kind of norm [layer, rms; default: layer]
    norm.place: the values that are normalised [post, pre; default: post]
    norm.embedding: whether the sum of token and position vectors is normalised, after the dropout of the sum (McLeish
        et al. 2024) [true or false; default: false]
    activation (kind encoder, decoder, encoder_decoder): the activation of the hidden layer; swiglu, geglu: a gated unit
        of two halves, each with as many channels as model.feedforward [relu, gelu, gelu_tanh, silu, swiglu, geglu;
        default: relu]
    branch_activation (kind encoder, decoder, encoder_decoder): an activation after the second linear map of a
        feed-forward part [none, relu, gelu, gelu_tanh, silu; default: none]
    bias (kind encoder, decoder, encoder_decoder): the linear maps of a block that have biases [feedforward, all, none;
        default: feedforward]
    init: the distribution of initial weights and biases [haiku, torch, xavier; default: haiku]
    embedding (kind encoder, decoder, encoder_decoder): the computation of a token's vector [table, linear; default:
        table]
    readout (kind encoder): the tokens at which answers are read [outputs, last, in_place, probe; default: outputs]
    output (kind encoder, decoder, encoder_decoder): the operations between the last block, with its final norm if any,
        and the logits [linear, feedforward; default: linear]
    output_bias (kind encoder, decoder, encoder_decoder): whether the linear maps of the output have biases; a tied
        output has none [true or false; default: true]
    tied (kind decoder, encoder_decoder): whether the output layer has the embeddings of the output symbols as its
        weights, instead of weights of its own [true or false; default: false]
    spare_token (kind encoder): whether the token embedding has one more row, for computation tokens; with this row,
        parameter counts equal those of Ruoss et al.; no effect with a linear embedding or a readout other than outputs
        [true or false; default: true]
    """
    return _make_section(locals())


def Encoding(*, use: str | None = None, rotation: dict | None = None, relative: dict | None = None,
             projections: dict | None = None, mask: dict | None = None, lines: dict | None = None,
             normaliser: dict | None = None, positions: dict | None = None, additive: dict | None = None,
             score: Any = None, parameters: dict | None = None, layers: Any = None,
             made_for: Literal["encoder", "decoder"] | None = None, encoder: dict | None = None,
             decoder: dict | None = None, cross: dict | None = None) -> dict[str, Any]:
    """The positional encoding; absent: none. A field that is None is left out.

    use: the name of a preset, or of a spec with this section
    rotation: the rotation of queries and keys by their positions
    rotation.kind: the kind of rotation [none, rope; default: none]
    rotation.base (kind rope): base of the angles: channel pair m of a head with D channels rotates by base^(-2 m / D)
        per position [a number above 1, at most 1000000000000; default: 10000]
    rotation.heads (kind rope): number of heads that rotate, from the first on; the others have no rotation [an integer
        from 1 to 63; default: all heads]
    rotation.scaling (kind rope): the change of the rotation for sequences longer than those of training
    rotation.scaling.kind: the kind of scaling [none, linear, ntk, yarn; default: none]
    rotation.scaling.factor (kind linear, ntk, yarn): the length to reach, as a multiple of the training length [a
        number from 1 to 1000000; required]
    rotation.scaling.original_length (kind yarn): number of positions in training [an integer from 1 to 1048576;
        default: the tokens of the longest training sequence; for randomized positions max_position]
    rotation.scaling.beta_slow (kind yarn): number of turns within original_length; the speed of channel pairs with
        fewer turns is divided by factor [a number from 0 to 1000000; default: 1]
    rotation.scaling.beta_fast (kind yarn): number of turns within original_length; channel pairs with more turns keep
        their speed; pairs between beta_slow and beta_fast have a speed in between [a number above 0, at most 1000000;
        default: 32]
    rotation.scaling.attention_factor (kind yarn): the factor by which queries and keys are multiplied [a number above
        0, at most 1000; default: 0.1 ln(factor) + 1]
    relative: vectors in the logit, for the signed distance (key - query) or for a distance that is computed from the
        query and the keys (cope)
    relative.kind: the kind of vectors [none, transformer_xl, shaw, cope; default: none]
    relative.clip (kind shaw): the longest distance that has its own vector; longer distances share this vector [an
        integer from 1 to 1048576; default: 16]
    relative.sides (kind shaw): the distances that have a vector [both, left; default: left if no query sees a later
        key, otherwise both]
    relative.rows (kind cope): the number of rows of the table, for counts from 0 to rows - 1; larger counts have the
        last row [an integer from 2 to 65536; default: 64]
    relative.divided (kind cope): whether the product of the query and a vector of the table is divided by sqrt(D), as
        in the authors' code; false: only the product of query and key is divided, as in the paper [true or false;
        default: true]
    relative.init_sigma (kind shaw): standard deviation of the table's initial values; absent: sqrt(2 / (rows + D)),
        with D channels per head [a number above 0]
    projections: the linear maps of attention: of queries, keys and values, and of its output
    projections.bias: whether these maps have biases; absent: as model.bias states [true or false]
    projections.output: whether the output of attention goes through a linear map before it is added to the residual
        stream [true or false; default: true]
    projections.init: the initial values of these maps, if model.init has separate ones for attention [attention,
        linear; default: attention]
    mask: the keys that a query sees, by their indices
    mask.kind: the shape of the mask [full, causal, window, antidiagonal; default: full]
    mask.left (kind window): number of visible keys before the query [an integer from 0 to 1048576; required]
    mask.right (kind window): number of visible keys after the query [an integer from 0 to 1048576; default: left]
    mask.width (kind antidiagonal): number of visible keys on each side of the line [an integer from 0 to 1048576;
        required]
    mask.stride (kind antidiagonal): number of keys on the line for each query, and by which the line moves left from
        one query to the next; for example stride = 2 if the digits of two operands alternate: the line then has a digit
        of each [an integer from 1 to 16; default: 1]
    mask.left_only (kind antidiagonal): whether keys to the right of the line are hidden [true or false; default: false]
    lines: constants that are added to scores along lines of query-key pairs, a table for each head; pairs on no line
        are hidden
    lines.list: the lines, in any order [{ { head = 0, direction = -1, line = 1, value = 2.5 }, ... }, no line twice;
        required]
    lines.zero_corner: heads in which the first query of cross-attention also sees the last key, with constant 0 [lines,
        all, none; default: lines]
    lines.columns: the side from which lines of direction 0 are counted; absent: right in cross-attention, otherwise
        left [left, right]
    normaliser: the function from scores to attention weights
    normaliser.kind: the kind of function [softmax, geometric, stick_breaking; default: softmax]
    normaliser.temperature (kind softmax): number that divides scores before their exponentials [a number above 0, at
        most 1000000; default: 1]
    normaliser.normalised (kind geometric): whether the weights of a query are divided by their sum [true or false;
        default: true]
    normaliser.directional (kind geometric): whether a learned map of the layer's input adds one value to the scores of
        keys on the right, and another to those on the left [true or false; default: true]
    normaliser.own_key (kind stick_breaking): whether the first key is the query's own; false: the key before it [true
        or false; default: false]
    normaliser.rest (kind stick_breaking): the use of the part of the stick that no key gets [dropped, own_value;
        default: dropped]
    positions: the position of each token
    positions.kind: the choice of positions [index, randomized, grid, cyclic, digits, by_task; default: index]
    positions.period (kind cyclic): number of different positions [an integer from 2 to 1048576; required]
    positions.max_position (kind randomized, digits, by_task): size of the range from which positions are sampled; for
        digits and by_task the greatest position [an integer from 2 to 1048576; default: 2048]
    positions.offset (kind digits): greatest number that training adds to positions above 0, sampled anew for every
        batch [an integer from 0 to 1048575; default: 100]
    positions.elsewhere (kind digits, by_task): positions that rotation, relative and score use [none, index; default:
        none]
    positions.range (kind randomized): the range of samples, with L = max_position [zero_based, one_based; default:
        zero_based]
    positions.sorted (kind randomized): whether sampled positions ascend in the order of the tokens [true or false;
        default: true]
    positions.draw (kind randomized): the part of the computation that shares one sample of positions [pass, layer,
        sequence; default: layer if there is a rotation, relative or a score that reads positions, otherwise pass]
    positions.reading (kind randomized): the meaning of the distance between two tokens [drawn, difference, clamped;
        default: drawn; in cross-attention: difference, the only choice]
    positions.sides (kind randomized): the sampled distances to the left [mirrored, independent; default: mirrored]
    additive: vectors of positions that are added to the vectors of tokens
    additive.kind: the kind of vectors [none, sinusoid, learned; default: none]
    additive.at (kind sinusoid, learned): the place at which the vectors are added [input, block; default: input]
    additive.channels (kind sinusoid): the order of the channels [halves, interleaved; default: halves]
    additive.rows (kind learned): number of positions that have a vector; no sequence can be longer [an integer from 1
        to 1048576; default: 2048; max_position for randomized positions; max_position + 1 for digits and by_task]
    additive.learned (kind learned): whether training changes the table; false: it keeps its initial values, which do
        not count as parameters [true or false; default: true]
    additive.init (kind learned): the distribution of the table's initial values [truncated_normal, normal; default:
        truncated_normal]
    additive.init_sigma (kind learned): standard deviation of the table's initial values, before truncation [a number
        above 0; default: 1]
    additive.dropout (kind sinusoid, learned): share of the elements of the sum that are set to 0 in training; if the
        vectors are added in blocks, every block has such a sum, and the residual stream continues with the sum after
        dropout [a number from 0 to 0.99; default: model.embedding_dropout if this field is given and the vectors are
        added at the input; otherwise model.dropout]
    score: the score of a query-key pair, from its scaled logit, before the mask: one formula, or a list of formulas
        that are applied in order [function(x) return x.score + ... end, a list of formulas, or { use = preset }]
    parameters: numbers that the score reads by name; for a constant, its values are enough: a number, a list or a name
        such as 'alibi_slopes' [{ name = { per, from, shape or index = { first, last }, by_distance, init or values,
        learned, outside }, or a number or list of values, ... }]
    layers: a list of encodings for the layers of an encoder or a decoder: each layer has the next encoding of the list,
        which repeats if there are more layers (docs/encodings.md) [a list of 2 to 8 encodings, such as { 'rope', 'none'
        }]
    made_for: in presets for encoder-decoders: the facets next to this field apply only to the self-attention of this
        part [encoder, decoder]
    encoder (model.kind encoder_decoder): facets of the encoder's self-attention, which replace the facets directly in
        encoding field by field
    decoder (model.kind encoder_decoder): facets of the decoder's self-attention, in the form of encoding.encoder
    cross (model.kind encoder_decoder): facets of the decoder's attention to the encoder; distance is the key's index
        minus the query's index
    """
    return _make_section(locals())


def Train(*, use: str | None = None, batch: int | None = None, shards: int | None = None,
          block_tokens: int | None = None, keep_probabilities: bool | None = None, steps: int | None = None,
          epochs: int | None = None, learning_rate: float | None = None, lengths: Any = None,
          loss_mean: Literal["token", "sequence"] | None = None, optimizer: dict | None = None,
          schedule: dict | None = None, clip: dict | None = None, cadence: Literal["steps", "epochs"] | None = None,
          log_every: int | None = None, checkpoint: dict | None = None, patience: int | None = None) -> dict[str, Any]:
    """The training. A field that is None is left out.

    use: the name of a preset, or of a spec with this section
    batch: number of sequences of a step; train.lengths.per determines whether all have the same length [an integer from
        1 to 65536; default: 128]
    shards: number of parts of a batch, whose gradients are summed in order; a step can use one thread per part; another
        number gives other bits [an integer from 1 to 256; default: 16, or batch if that is smaller]
    block_tokens: approximate number of tokens that pass all layers together on the CPU; another number gives other bits
        [an integer from 1 to 65536; default: 84]
    keep_probabilities: whether attention weights are stored for the backward pass on the CPU; false: they are
        recomputed, which takes less memory [true or false]
    steps: number of optimiser steps [an integer from 1 to 2147483647; default: 2000000]
    epochs: number of passes over all training examples, in place of steps, for tasks with a finite training set [an
        integer from 1 to 2147483647]
    learning_rate: the learning rate; with train.schedule the highest one [a number above 0, at most 1; default: 0.0003]
    lengths: task lengths; each is sampled with the same probability [{ first, last }, { first, last, step = 20 } or {
        list = { 6, 10, 50 } }, lengths from 1 to 100000; default: { 1, 40 }]
    lengths.per: the unit for which one length is sampled [batch, sequence; default: batch]
    lengths.curriculum: stages at the start of training, in which only the shorter lengths are sampled; absent: none [{
        { until_step = 1000, max = 10 }, ... }, by ascending steps; until_step: the number of training steps until a
        stage ends; max: the largest length of its examples]
    loss_mean: the mean that training minimises [token, sequence; default: token]
    optimizer: the optimiser
    optimizer.kind: the kind of optimiser [adam, adamw, sgd; default: adam]
    optimizer.beta1 (kind adam, adamw): decay of the first moment [a number from 0 to below 1; default: 0.9]
    optimizer.beta2 (kind adam, adamw): decay of the second moment [a number from 0 to below 1; default: 0.999]
    optimizer.epsilon (kind adam, adamw): number that is added to the root of the second moment [a number above 0, at
        most 1; default: 1e-8]
    optimizer.weight_decay (kind adamw): each step also multiplies a parameter by 1 - learning rate * weight_decay; 0:
        the same code as adam [a number from 0 to 1; default: 0.01]
    optimizer.decays (kind adamw): the parameters that decay [all, matrices; default: all]
    optimizer.momentum (kind sgd): share of the running sum that is kept at each step; 0: no momentum [a number from 0
        to below 1; default: 0]
    schedule: the course of the learning rate over the steps
    schedule.kind: the shape of the schedule after the warm-up [constant, linear, cosine; default: constant]
    schedule.warmup: number of steps at the start in which the rate rises: at step t it is t / warmup of its full value
        [an integer from 0 to 2147483647; default: 0]
    schedule.final (kind linear, cosine): the final rate as a share of train.learning_rate; the rate would reach it one
        step after the last [a number from 0 to below 1; default: 0]
    clip: the limit of the gradient
    clip.kind: the kind of clipping [none, global_norm; default: global_norm]
    clip.max_norm (kind global_norm): largest L2 norm of the whole gradient [a number above 0; default: 1]
    cadence: the unit of log_every, checkpoint.every, checkpoint.keep and eval.during.every [steps, epochs; default:
        steps]
    log_every: interval between two lines of metrics [an integer from 1 to 2147483647; default: 100]
    checkpoint: the times at which a checkpoint is written; the end of training always writes one
    checkpoint.every: interval between two checkpoints [an integer from 1 to 2147483647; default: 10000]
    checkpoint.minutes: a checkpoint is also written when the last one has this age; 0: no checkpoints by time [a number
        from 0 to 525600; default: 10]
    checkpoint.keep: the checkpoints that are kept [last, all, or an ascending list of steps; default: last]
    checkpoint.best: the best checkpoint by eval.during, which is kept and evaluated after training; absent: none
    checkpoint.best.metric: the metric of the score; the loss is better if it is lower [accuracy, exact_match, loss;
        default: exact_match for models that answer token by token, otherwise accuracy]
    checkpoint.best.tie: the best one of several checkpoints with equal scores [latest, earliest; default: latest]
    patience: training ends early after this number of evaluations (eval.during) without a better score; absent: all
        steps are made [an integer from 1 to 2147483647]
    """
    return _make_section(locals())


def Eval(*, use: str | None = None, lengths: Any = None, by: dict | None = None,
         noise: Literal["absolute", "relative"] | None = None, splits: list | None = None, novel: bool | None = None,
         examples: int | Literal["all"] | None = None, order: Literal["hash", "file"] | None = None,
         batch: int | None = None, draws: int | None = None,
         decoding: Literal["greedy", "teacher_forced"] | None = None, places: bool | None = None,
         dropout: bool | None = None, validation: dict | None = None, during: dict | None = None) -> dict[str, Any]:
    """The evaluation. A field that is None is left out.

    use: the name of a preset, or of a spec with this section
    lengths: task lengths to evaluate; each is one condition [{ first, last }, { first, last, step = 20 } or { list = {
        6, 10, 50 } }, lengths from 1 to 100000; default: { 41, 500 }]
    by: axes by which examples of data files are grouped: each combination of values is a condition; absent: by length
        [{ axis = true, ... }: for each axis true (all values), { first, last } or { list = { 1, 3 } }]
    noise: the unit of the deviations in eval.by.noise [absolute, relative; default: absolute]
    splits: sets of examples to evaluate, for tasks that have sets; absent: the held-out sets, or the training examples
        if there are none [a list of train, test, validation]
    novel: whether evaluation skips examples of the held-out sets that are also training examples; the task's axis
        `trained` marks these examples [true or false; default: true]
    examples: number of examples per condition; if a data file has more, eval.order chooses from them [an integer from 1
        to 1048576 or 'all'; default: 500]
    order: the examples to evaluate if a data file has more than eval.examples [hash, file; default: hash]
    batch: number of examples in a batch, which share random positions; the accuracy is the mean over batches; absent:
        one batch of all examples [an integer from 1 to 1048576]
    draws: number of times that each condition is evaluated, each with new samples of all random values: positions,
        noise (eval.by, model.loops.start), and with eval.dropout the dropped elements [an integer from 1 to 65536;
        default: 1]
    decoding: the tokens that a generative model reads before each answer [greedy, teacher_forced; default: greedy]
    places: whether the final evaluation also counts, for each place in the target, the right answers and the first
        errors [true or false; default: false]
    dropout: whether dropout is also active in evaluation; no flag of the trainer sets it [true or false; default:
        false]
    validation: the evaluation of a sampled task after training, at training lengths, with examples and random values of
        a separate stream
    validation.lengths: task lengths, each a condition; absent: at most 16 of train.lengths, spread evenly, including
        the first and the last [{ first, last }, { first, last, step = 20 } or { list = { 6, 10, 50 } }, lengths from 1
        to 100000]
    validation.examples: number of examples per condition; 0: no validation [an integer from 0 to 1048576; default: 128]
    during: evaluations during training; for a sampled task, on the validation stream; absent: none
    during.every: interval between two evaluations during training [an integer from 1 to 2147483647; required]
    during.lengths: task lengths to evaluate; each is one condition [{ first, last }, { first, last, step = 20 } or {
        list = { 6, 10, 50 } }, lengths from 1 to 100000; default: eval.lengths]
    during.by: axes of these evaluations, in the form of eval.by but without noise and passes [{ axis = true, ... }: for
        each axis true (all values), { first, last } or { list = { 1, 3 } }; default: eval.by]
    during.splits: sets of examples for these evaluations, in the form of eval.splits [a list of train, test,
        validation; default: eval.splits]
    during.examples: number of examples per condition, in one batch [an integer from 1 to 1048576 or 'all'; default:
        128]
    """
    return _make_section(locals())
