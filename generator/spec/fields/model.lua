-- Fields of the section `model`, the network. schema.lua describes entries.

local features = require("spec.rules.features")

local WITH_ATTENTION = { "encoder", "decoder", "encoder_decoder" } -- the kinds of models that have attention

return {
  { path = "model", type = "table", doc = "the network" },
  { path = "model.kind", type = "kind", default = "encoder", doc = "the kind of network",
    kinds = {
      { name = "encoder", families = { "self" }, has_layers = true,
        doc = "reads the whole input, then one empty token per output, and answers at the empty tokens" },
      { name = "decoder", families = { "self" }, has_layers = true,
        doc = "reads input, separator and target as one causal sequence, and from the separator on predicts the "
          .. "target's next token" },
      { name = "encoder_decoder", families = { "encoder", "decoder", "cross" },
        doc = "an encoder reads the input; a decoder reads a separator and the target, and attends to the encoder" },
      { name = "recurrent", families = { "self" },
        doc = "without attention; reads the input, then one empty token per output, one token after another, and "
          .. "answers at the empty tokens (Deletang et al. 2023)" },
    } },
  { path = "model.cell", type = "choice", default = "lstm", only = { "recurrent" },
    doc = "the computation of a step from the step's token and the state",
    choices = {
      { "rnn", "h = relu(W x + b + U h + b') (Elman 1990)" },
      { "lstm", "c = sigmoid(f + 1) c + sigmoid(i) tanh(g), h = sigmoid(o) tanh(c) (Hochreiter and Schmidhuber 1997)" },
      { "stack_rnn", "rnn that also reads the top of a stack, which every step pushes, pops and keeps with learned "
        .. "probabilities (Joulin and Mikolov 2015)" },
      { "tape_rnn", "rnn that also reads the first cell of a circular tape, which every step writes and then moves "
        .. "with learned probabilities (Deletang et al. 2023)" } } },
  { path = "model.cells", type = "integer", min = 1, max = 65536, optional = true, only = { "recurrent" },
    unit = "cells", doc = "tape: number of cells, by default as many as the longest input has tokens; stack: largest "
      .. "number of cells, by default without a limit; a push on a full stack loses the bottom cell" },
  { path = "model.source", only = WITH_ATTENTION, type = "network", optional = true,
    doc = "the Lua file of a network of your own, relative to the spec file (docs/own-network.md); kind then "
      .. "determines the tokens that the network reads" },
  { path = "model.options", only = WITH_ATTENTION, type = "settings", optional = true, requires = "source",
    doc = "options of a network of your own, by name" },
  { path = "model.layers", type = "integer", min = 1, max = 64, default = 5, unit = "blocks",
    only = { "encoder", "decoder" }, doc = "number of blocks, each with an attention and a feed-forward part" },
  { path = "model.encoder_layers", type = "integer", min = 0, max = 64, default = 5, unit = "blocks",
    only = { "encoder_decoder" }, doc = "number of encoder blocks; 0: the decoder attends to the embedded input" },
  { path = "model.decoder_layers", type = "integer", min = 1, max = 64, default = 5, unit = "blocks",
    only = { "encoder_decoder" }, doc = "number of decoder blocks" },
  { path = "model.loops", is_rare = true, type = "table", optional = true, only = { "encoder", "decoder" },
    doc = "several passes through the blocks, all with the same parameters (docs/looped.md); absent: one pass" },
  { path = "model.loops.times", type = "integer", min = 2, max = 64, word = "length", takes_names = true,
    required = true, unit = "passes", fingerprints = { "w->passes" },
    doc = "number of passes; length: as many as the task length n of the example (Fan et al. 2024); the name of an "
      .. "axis of the task, such as digits: as many as the example's value on this axis" },
  { path = "model.loops.max_times", is_rare = true, type = "integer", min = 2, max = 1024, optional = true,
    unit = "passes", doc = "the maximum number of passes in training, if times is the name of an axis" },
  { path = "model.loops.progressive", is_rare = true, type = "boolean", default = false, omitted_value = false,
    fingerprints = { "free_passes" },
    doc = "whether every training step samples its numbers of passes: first passes without gradient, then at most "
      .. "times / 2 passes with gradient (the progressive loss of McLeish et al. 2024); evaluation has `times` "
      .. "passes" },
  { path = "model.loops.loss", is_rare = true, type = "choice", default = "last", omitted_value = "last",
    doc = "the passes whose answers enter the loss", fingerprints = { "pass_sums" },
    choices = {
      { "last", "the last pass" },
      { "every", "every pass; the loss is the mean over the losses of all passes" } } },
  { path = "model.loops.inject", type = "boolean", default = false,
    doc = "whether every pass adds the embedding of the tokens to its input" },
  { path = "model.loops.start", type = "choice", default = "embedding", doc = "the input of the first pass",
    fingerprints = { "draw_start" }, used = features.starts_from_noise,
    choices = {
      { "embedding", "the embedding of the tokens" },
      { "zeros", "zeros, with inject = true (Fan et al. 2024)" },
      { "noise", "normal noise, with inject = true (McLeish et al. 2024)" } } },
  { path = "model.loops.deviation", is_rare = true, type = "number", min = 0, max = 100, optional = true,
    doc = "the standard deviation of start = \"noise\", by default 0.02" },
  { path = "model.loops.norm", type = "choice", default = "outside",
    doc = "the place of the final norm, with model.norm.place = \"pre\"",
    choices = {
      { "outside", "after the last pass" },
      { "inside", "at the end of every pass (Fan et al. 2024)" } } },
  { path = "model.heads", only = WITH_ATTENTION, type = "integer", min = 1, max = 64, default = 8, unit = "heads",
    doc = "number of attention heads of a block; width / heads must be a multiple of 4" },
  { path = "model.width", type = "integer", min = 16, max = 1024, multiple = 16, default = 64, unit = "channels",
    doc = "size of a token's vector, or of the state of a recurrent model" },
  { path = "model.feedforward", only = WITH_ATTENTION, type = "integer", min = 16, max = 8192, multiple = 16,
    default = 256, unit = "channels", doc = "size of the hidden layer of a feed-forward part" },
  { path = "model.dropout", only = WITH_ATTENTION, type = "number", min = 0, max = 0.99, default = 0.1,
    unit = "share of elements", fingerprints = { "dropout" }, used = features.has_dropout,
    doc = "share of the outputs of attention and feed-forward parts that is dropped in training" },
  { path = "model.attention_dropout", is_rare = true, only = WITH_ATTENTION, type = "number", min = 0, max = 0.99,
    default = 0, omitted_value = 0, unit = "share of elements", fingerprints = { "ATTENTION_KEEP_SCALE" },
    doc = "share of the attention weights that is dropped after the softmax, in training" },
  { path = "model.hidden_dropout", is_rare = true, only = WITH_ATTENTION, type = "number", min = 0, max = 0.99,
    default = 0, omitted_value = 0, unit = "share of elements", fingerprints = { "HIDDEN_KEEP_SCALE" },
    doc = "share of the hidden values of feed-forward parts that is dropped after the activation, in training" },
  { path = "model.embedding_dropout", is_rare = true, only = WITH_ATTENTION, type = "number", min = 0, max = 0.99,
    optional = true, unit = "share of elements",
    doc = "share of the sum of embedding and encoding that is dropped in training; absent: encoding.additive.dropout, "
      .. "if there is one" },
  { path = "model.norm", only = WITH_ATTENTION, type = "table", omitted_value = "empty",
    doc = "the normalisation of the residual stream" },
  { path = "model.norm.kind", type = "kind", default = "layer", omitted_value = "layer", doc = "the kind of norm",
    kinds = {
      { name = "layer", doc = "layer norm, by mean and variance, with a learned scale and offset (Ba et al. 2016)" },
      { name = "rms", doc = "RMS norm, by the root mean square, with a learned scale (Zhang and Sennrich 2019)" },
    } },
  { path = "model.norm.place", type = "choice", default = "post", omitted_value = "post",
    doc = "the values that are normalised",
    choices = {
      { "post", "the sum after every branch (Vaswani et al. 2017)" },
      { "pre", "the input of every branch, and the final output (Xiong et al. 2020)" } } },
  { path = "model.norm.embedding", is_rare = true, type = "boolean", default = false, omitted_value = false,
    doc = "whether the sum of token and position vectors is normalised, after the dropout of the sum (McLeish et al. "
      .. "2024)" },
  { path = "model.activation", only = WITH_ATTENTION, type = "choice", default = "relu", omitted_value = "relu",
    choices = { "relu", "gelu", "gelu_tanh", "silu", "swiglu", "geglu" },
    doc = "the activation of the hidden layer; swiglu, geglu: a gated unit of two halves, each with as many "
      .. "channels as model.feedforward" },
  { path = "model.branch_activation", is_rare = true, only = WITH_ATTENTION, type = "choice",
    choices = { "none", "relu", "gelu", "gelu_tanh", "silu" },
    default = "none", omitted_value = "none",
    doc = "an activation after the second linear map of a feed-forward part" },
  { path = "model.bias", only = WITH_ATTENTION, type = "choice", default = "feedforward", omitted_value = "feedforward",
    doc = "the linear maps of a block that have biases",
    choices = {
      { "feedforward", "the maps of the feed-forward part" },
      { "all", "the maps of the feed-forward part and of attention" },
      { "none", "no map" } } },
  { path = "model.init", is_rare = true, type = "choice", default = "haiku", omitted_value = "haiku",
    doc = "the distribution of initial weights and biases",
    choices = {
      { "haiku", "truncated normal of standard deviation 1 / sqrt(fan in), biases 0, as in Ruoss et al.'s code" },
      { "torch", "PyTorch's defaults: uniform in +-1 / sqrt(fan in); queries, keys and values as with xavier; "
        .. "embeddings normal" },
      { "xavier", "matrices uniform in +-sqrt(6 / (fan in + fan out)), with queries, keys and values as one "
        .. "matrix (Glorot and Bengio 2010)" } } },
  { path = "model.embedding", is_rare = true, only = WITH_ATTENTION, type = "choice", default = "table",
    omitted_value = "table", doc = "the computation of a token's vector",
    choices = {
      { "table", "a learned row for each token, times sqrt(width)" },
      { "linear", "a linear map of the one-hot token, with a bias; tokens that the task declares blank are zero "
        .. "vectors" } } },
  { path = "model.readout", is_rare = true, type = "choice", default = "outputs", omitted_value = "outputs",
    only = { "encoder" }, doc = "the tokens at which answers are read",
    choices = {
      { "outputs", "one empty token per output" },
      { "last", "for tasks with one output, the last token of the input" },
      { "in_place", "for tasks with an output for each input token, this token" },
      { "probe", "for tasks with one output, the token that the task declares as its probe" } } },
  { path = "model.output", is_rare = true, only = WITH_ATTENTION, type = "choice", default = "linear",
    omitted_value = "linear", doc = "the operations between the last block, with its final norm if any, and the logits",
    choices = {
      { "linear", "a linear map" },
      { "feedforward", "a feed-forward part without a residual connection, a norm, a linear map with as many outputs "
        .. "as inputs, and a linear map (McLeish et al. 2024)" } } },
  { path = "model.output_bias", is_rare = true, only = WITH_ATTENTION, type = "boolean", default = true,
    omitted_value = true, doc = "whether the linear maps of the output have biases; a tied output has none" },
  { path = "model.tied", is_rare = true, type = "boolean", default = false, omitted_value = false,
    only = { "decoder", "encoder_decoder" },
    doc = "whether the output layer has the embeddings of the output symbols as its weights, instead of weights of its "
      .. "own" },
  { path = "model.spare_token", is_rare = true, type = "boolean", default = true, omitted_value = true,
    only = { "encoder" },
    doc = "whether the token embedding has one more row, for computation tokens; with this row, parameter counts equal "
      .. "those of Ruoss et al.; no effect with a linear embedding or a readout other than outputs" },
}
